"""lm_eval without the index of its own 14,000 task files, which costs 10 to 15 s of CPU.

    python -m evalprep.run.launcher run --config work_dir/run.yaml

takes the words of an `lm_eval` command and gives the same files. Tasks are looked for in
`--include_path`; one of lm-eval's own is found by its file. What needs all of lm-eval's tasks (its
groups, tags and patterns) gets the whole index, as in `lm_eval` itself.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import lm_eval.tasks
from lm_eval.tasks import TaskManager
from lm_eval.tasks._index import Kind

from evalprep.packs import stock_file


class OwnTasks(TaskManager):  # type: ignore[misc]
    """A manager of tasks that reads lm-eval's own files only where they are asked for."""

    def __init__(self, *_: Any, include_path: Any = None, metadata: Any = None, **__: Any) -> None:
        self._given = list(include_path) if isinstance(include_path, list) else [include_path]
        self._metadata = metadata
        self._read([])

    def _read(self, folders: list[Path], *, complete: bool = False) -> None:
        """Builds the index of some folders, lm-eval's first, and those that the user named."""
        self._is_complete = complete
        super().__init__(
            include_path=[*folders, *filter(None, self._given)],
            include_defaults=complete,
            metadata=self._metadata,
        )

    def match_tasks(self, task_list: list[str]) -> list[str]:
        """The names that are there, after lm-eval's own were looked for."""
        missing = [name for name in task_list if not super(OwnTasks, self).match_tasks([name])]
        if missing and not self._is_complete:
            self._add(missing)
        return list(super().match_tasks(task_list))

    def load(self, spec: Any, *arguments: Any, **settings: Any) -> Any:
        """Loads tasks; members of a group may be lm-eval's own."""
        try:
            return super().load(spec, *arguments, **settings)
        except Exception:
            if self._is_complete:
                raise
        self._read([], complete=True)
        return super().load(spec, *arguments, **settings)

    def _add(self, names: list[str]) -> None:
        """Reads the files of lm-eval's tasks; all of them where one is a group, tag or pattern."""
        files = [stock_file(name) for name in names]
        self._read([file.parent for file in files if file is not None])
        entries = [self._index.get(name) for name in names]
        if any(entry is None or entry.kind not in {Kind.TASK, Kind.PY_TASK} for entry in entries):
            self._read([], complete=True)


def main() -> None:
    """Runs lm-eval on the words of the command line."""
    from lm_eval.__main__ import cli_evaluate

    lm_eval.tasks.TaskManager = OwnTasks
    sys.argv[0] = "lm_eval"
    cli_evaluate()


if __name__ == "__main__":
    main()
