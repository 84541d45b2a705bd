"""The run folders of the oracle: one module per kind, each with a table `FOLDERS` of names.

A module that is added here is found by its name.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping

from tests.oracle.folder import Folder


def all_folders() -> Mapping[str, Folder]:
    """Every folder, by its name, in the order of the modules."""
    folders: dict[str, Folder] = {}
    for module in pkgutil.iter_modules(__path__):
        table = importlib.import_module(f"{__name__}.{module.name}").FOLDERS
        assert not folders.keys() & table.keys(), module.name
        folders.update(table)
    return folders
