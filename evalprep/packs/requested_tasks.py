"""lm-eval's manager of tasks without the index of its own 14,000 files, 10 s of CPU at each start.

Tasks are looked for in the given folders; one of lm-eval's own is found by its file, also as a
member of a group or behind a tag. Patterns, and names that are nowhere, get the whole index.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from lm_eval.tasks import TaskManager
from lm_eval.tasks._index import Kind
from lm_eval.utils import env

from evalprep.errors import BadInput, Problem
from evalprep.packs.json_rows import guard_reader
from evalprep.packs.stock import member_names, stock_file, stock_names, stock_tagged


def _keep_templates() -> None:
    """Lets lm-eval compile each template of a task once; it does so anew for every row."""
    if hasattr(env.from_string, "cache_info"):
        return
    compiled = env.from_string

    @lru_cache(maxsize=256)
    def from_string(source: str) -> Any:
        template = compiled(source)
        # jinja2 copies them for each row, and a chain of mappings key by key.
        template.globals = dict(template.globals)
        return template

    env.from_string = from_string


class RequestedTasks(TaskManager):  # type: ignore[misc]
    """A manager of tasks that reads lm-eval's own files only where they are asked for."""

    def __init__(self, *_: Any, include_path: Any = None, metadata: Any = None, **__: Any) -> None:
        self._given = list(include_path) if isinstance(include_path, list) else [include_path]
        self._metadata = metadata
        self._stock_folders: list[Path] = []
        _keep_templates()
        guard_reader()
        self._read()

    def match_tasks(self, task_list: list[str]) -> list[str]:
        """The names that are there, after lm-eval's own were looked for."""
        self._find(task_list)
        return list(super().match_tasks(task_list))

    def load(self, task_list: Any) -> Any:
        """Loads tasks, after lm-eval's own were looked for."""
        specs = task_list if isinstance(task_list, list) else [task_list]
        names = list(member_names({"task": specs}))
        self._find(name for name in names if not Path(name).is_file())
        return super().load(task_list)

    def _read(self, *, whole: bool = False) -> None:
        """Builds the index: lm-eval's own tasks first, then the folders that the user named.

        Raises:
            BadInput: a task file gives a name that is not a text.
        """
        self._is_whole = whole
        folders = [*filter(None, self._given)]
        try:
            super().__init__(
                include_path=[*self._stock_folders, *folders],
                include_defaults=whole,
                metadata=self._metadata,
            )
        except TypeError as error:  # lm-eval sorts the names
            raise BadInput(
                Problem(
                    what=f"lm-eval cannot list the task files: {error}",
                    where=", ".join(map(str, folders)),
                    fix="give every `task`, `group` and `tag` a name that is a text, in quotes",
                )
            ) from error

    def _find(self, names: Iterable[str]) -> None:
        """Reads files until some names, and the members of the groups among them, are there."""
        requested = list(names)
        while not self._is_whole:
            absent = [name for name in requested if name not in self._index]
            members = [name for name in self._with_members(requested) if self._is_unread(name)]
            unread = list(dict.fromkeys([*absent, *members]))
            if not unread:
                return
            folders = [_stock_folder(name) for name in unread]
            known_folders = {*filter(None, folders), *self._stock_folders}
            # lm-eval reads a folder with all folders below it.
            topmost = [
                folder for folder in known_folders if known_folders.isdisjoint(folder.parents)
            ]
            is_new = set(topmost) != set(self._stock_folders)
            self._stock_folders = sorted(topmost)
            self._read(whole=None in folders or not is_new)

    def _with_members(self, requested: Iterable[str]) -> list[str]:
        """Some names, and the members of the groups among them and below."""
        names = dict.fromkeys(requested)
        waiting = list(names)
        while waiting:
            entry = self._index.get(waiting.pop())
            if entry is None or entry.kind != Kind.GROUP:
                continue
            members = [name for name in member_names(entry.cfg) if name not in names]
            names |= dict.fromkeys(members)
            waiting += members
        return list(names)

    def _is_unread(self, name: str) -> bool:
        """Returns whether a name is lm-eval's own and not, or not wholly, in the index.

        A tag is there in part: with the tasks of the files that were read.
        """
        entry = self._index.get(name)
        if entry is not None and entry.kind == Kind.TAG:
            return not entry.tags.issuperset(stock_tagged(name))
        return entry is None and name in stock_names()


def _stock_folder(name: str) -> Path | None:
    """The folder of lm-eval's own with a task, a group, or all tasks of a tag; None without one.

    Of several folders with one tag lm-eval would keep the tasks of the last.
    """
    files = [stock_file(task) for task in stock_tagged(name) or [name]]
    parents = [file.parent for file in files if file is not None]
    return Path(os.path.commonpath(parents)) if parents else None
