"""Every format that is read: each module of this folder lists its own under `READERS`."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module

from evalprep.readers import tools
from evalprep.readers.tools.reading import Reader


def _declared() -> Iterator[Reader]:
    """Yields the readers that the modules declare, in the order of their names."""
    for module in pkgutil.iter_modules(tools.__path__):
        yield from getattr(import_module(f"{tools.__name__}.{module.name}"), "READERS", ())


#: In the order in which they are tried; what almost any file could be comes last.
READERS = tuple(sorted(_declared(), key=lambda reader: reader.needs_columns))
FORMATS = tuple(reader.name for reader in READERS)
