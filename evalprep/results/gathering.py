"""Folders that are one place: a model whose tasks lie in folders of their own.

Samples that are named one by one make such a place, too.

| written by | files, with their samples named `samples_<task>_<stamp>.jsonl` |
|---|---|
| `lm_eval --output_path OUT` | in `OUT/<model>`, all tasks together |
| a call per task, `--output_path OUT/<model>/<task>` | in `OUT/<model>/<task>/<name>` |
| programmes that sort what they were given | in `OUT/<model>/<task>` |

A folder belongs to a task where all its samples are of the task that it, or the folder above it, is
named after.
"""

from __future__ import annotations

import filecmp
import os
import shlex
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path

from evalprep.results.folder import Folder, free_stamp, read_folder


class NamedFiles(os.PathLike[str]):
    """Files of one run that are named one by one; a path to the first of them.

    Attributes:
        files: The files; of a log that is a folder the folder.
    """

    def __init__(self, files: Sequence[Path]) -> None:
        self.files = files

    @property
    def arguments(self) -> Sequence[Path]:
        """What names the place on a command line."""
        return self.files

    def __fspath__(self) -> str:
        return str(self.files[0])

    def __str__(self) -> str:
        return " ".join(shlex.quote(str(file)) for file in self.files)


class LogFiles(NamedFiles):
    """Logs of another tool by one model, in a folder with logs of other models."""

    @property
    def arguments(self) -> Sequence[Path]:
        """The folder of all logs; named one by one they would be a run each."""
        return [Path(os.path.commonpath(self.files))]


class SampleFiles(NamedFiles):
    """Samples files of one run, in order of their tasks."""

    def __init__(self, place: Folder) -> None:
        self.place = place
        files_by_task = dict(place.task_files())
        super().__init__([files_by_task[task] for task in sorted(files_by_task)])


def files_of(place: str | os.PathLike[str]) -> Sequence[Path]:
    """Returns the files of a place that are named one by one, else the place itself."""
    return place.files if isinstance(place, NamedFiles) else [Path(place)]


def gathered(folders: Sequence[Folder], start: Path) -> list[Folder]:
    """The folders as places: those of single tasks of one model, at or below `start`, put together.

    Two models below one task (`<task>/<model a>`, `<task>/<model b>`) are told apart by what lies
    below the task.
    """
    places: dict[tuple[Path, Path], list[Folder]] = {}
    for folder in folders:
        root = _above_task(folder)
        if root is None or not root.is_relative_to(start):
            places[folder.path, Path()] = [folder]
        else:
            rest = Path(*folder.path.relative_to(root).parts[1:])
            places.setdefault((root, rest), []).append(folder)
    merged = []
    roots = [root for root, _ in places]
    for (root, rest), several in places.items():
        if len(several) == 1 and several[0].path == root:
            merged.append(several[0])
            continue
        merged.append(
            _together(
                root if roots.count(root) == 1 else several[0].path.parent / rest.name, several
            )
        )
    return merged


def _above_task(folder: Folder) -> Path | None:
    """The folder above that of a task, for a folder with results of this task alone."""
    tasks = {task for task, _ in folder.task_files()}
    if not tasks:
        tasks = set(chain.from_iterable(call.tasks for call in folder.invocations()))
    if len(tasks) != 1 or folder.apart:
        return None
    (task,) = tasks
    return next(
        (path.parent for path in (folder.path, folder.path.parent) if path.name == task), None
    )


def _together(path: Path, several: Sequence[Folder]) -> Folder:
    whole = Folder(path, by_task=True)
    for folder in several:
        new_stamps = {
            stamp: _stamp_in(whole, stamp, file) for stamp, file in folder.results.items()
        }
        whole.results |= {new_stamps[stamp]: file for stamp, file in folder.results.items()}
        for stamp, of_task in folder.samples.items():
            whole.samples.setdefault(new_stamps.get(stamp, stamp), {}).update(of_task)
    return whole


def _stamp_in(whole: Folder, stamp: str, file: Path) -> str:
    """The stamp under which a results file joins others; a copy of one there has the same."""
    known = whole.results.get(stamp)
    is_new = known is None or filecmp.cmp(known, file, shallow=False)
    return stamp if is_new else free_stamp(stamp, whole)


def named_files(files: Sequence[Path]) -> list[SampleFiles]:
    """Samples files put together: of one folder, or of one model with a folder per task.

    Where a folder has two files of one task, those of one time stamp are a run.
    """
    folders = {file.parent: read_folder(file.parent) for file in files}
    if not folders:
        return []
    named = set(files)
    places = [_only(folder, named) for folder in folders.values()]
    sample_files = []
    for place in gathered(places, _common_folder(list(folders))):
        tasks = [task for task, _ in place.task_files()]
        if place.by_task or len(set(tasks)) == len(tasks):
            sample_files.append(SampleFiles(place))
            continue
        for stamp, of_task in sorted(place.samples.items()):
            results = {stamp: place.results[stamp]} if stamp in place.results else {}
            sample_files.append(SampleFiles(Folder(place.path, results, {stamp: of_task})))
    return sample_files


def _common_folder(folders: Sequence[Path]) -> Path:
    """The folder that holds all folders; the current one for folders that are named from there."""
    if not folders[0].is_absolute():
        return Path()
    return Path(os.path.commonpath([folder.absolute() for folder in folders]))


def _only(folder: Folder, named: Iterable[Path]) -> Folder:
    """A folder with those of its samples that were named."""
    samples = {
        stamp: {task: file for task, file in of_task.items() if file in named}
        for stamp, of_task in folder.samples.items()
    }
    kept = {stamp: of_task for stamp, of_task in samples.items() if of_task}
    return Folder(
        folder.path,
        {stamp: results for stamp, results in folder.results.items() if stamp in kept},
        kept,
    )
