"""Imports of large packages, put off or left out where nothing needs them."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any


class _Postponed(ModuleType):
    """A module that is loaded in its place when something of it is first asked for.

    `importlib.util.LazyLoader` loads a module as soon as it is imported a second time.
    """

    def __getattr__(self, name: str) -> Any:
        self.__class__ = ModuleType  # type: ignore[assignment]  # its own imports ask for its parts
        spec = self.__spec__
        assert spec is not None
        assert spec.loader is not None
        if spec.submodule_search_locations is not None:
            self.__path__ = spec.submodule_search_locations
        try:
            spec.loader.exec_module(self)
        except BaseException:
            sys.modules.pop(self.__name__, None)
            raise
        return getattr(self, name)


def postpone(*names: str) -> None:
    """Makes modules that are loaded when something of them is first used.

    They are packages that others import at their top, and that few of their functions need. What is
    imported already, or is not installed, stays as it is.
    """
    for name in names:
        spec = None if name in sys.modules else importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            module = importlib.util.module_from_spec(spec)
            vars(module).pop("__path__", None)  # whoever imports a part of it loads it
            module.__class__ = _Postponed
            sys.modules[name] = module


def is_importable(package: str) -> bool:
    """Returns whether a package is installed; it is not imported."""
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):
        return False


@contextlib.contextmanager
def absent(*names: str) -> Iterator[None]:
    """Lets packages that a module can do without look as if they were not installed.

    What is imported already stays as it is.
    """
    hidden = [name for name in names if name not in sys.modules]
    for name in hidden:
        # Python's mark of a module that cannot be imported.
        sys.modules[name] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        for name in hidden:
            sys.modules.pop(name, None)
