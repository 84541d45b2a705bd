"""The files with the prepared rows of a task: one parquet file, or a folder of several.

    <pack>/data/<task>.parquet                     one file
    <pack>/data/<task>/00000-of-00003.parquet      several, with `rows_per_file` in the config

Whoever reads, writes, hashes or names prepared data asks here which files they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path, PurePosixPath

import msgspec

_FOLDER, _ENDING = "data", ".parquet"
_PATTERN = f"*-of-*{_ENDING}"
_NUMBERED = re.compile(rf"\d+-of-(\d+)\{_ENDING}")
_DEPTH = 4  # <pack>/data/<task>/<file>
_DIGITS = 5  # as the model hub numbers the files of a data set


class DataFiles(msgspec.Struct, frozen=True):
    """The place where the prepared rows of one task lie.

    Attributes:
        path: The parquet file, or the folder of several. The order of rows is that of the names.
    """

    path: Path

    @classmethod
    def of_task(cls, task: str, folder: Path, *, several: bool) -> DataFiles:
        """Returns the place for the rows of a task.

        Args:
            task: Its name.
            folder: The pack's folder in the work folder.
            several: Whether the rows are spread over several files.
        """
        return cls(folder / _FOLDER / (task if several else f"{task}{_ENDING}"))

    @property
    def is_folder(self) -> bool:
        """Returns whether the rows are spread over several files."""
        return self.path.suffix != _ENDING

    @property
    def pattern(self) -> Path:
        """The path, or the pattern of paths, by which `datasets` finds the files in order."""
        return self.path / _PATTERN if self.is_folder else self.path

    def files(self) -> list[Path]:
        """Returns the files in the order of the rows; none where some are missing."""
        files = matching_files(self.pattern)
        return files if all(file.is_file() for file in files) else []

    def stated_in(self, folder: Path) -> str | list[str]:
        """Returns what a task YAML names as its files.

        Files that are not made yet are named by their pattern.

        Args:
            folder: The pack's folder in the work folder, on the machine that runs the command.
        """
        place = folder / _FOLDER / self.path.name
        if not self.is_folder:
            return str(place)
        return [str(place / file.name) for file in self.files() or [self.pattern]]


def file_names(count: int) -> Iterator[str]:
    """Yields the names of so many files, whose order as texts is that of the numbers.

    >>> list(file_names(2))
    ['00000-of-00002.parquet', '00001-of-00002.parquet']
    """
    digits = max(_DIGITS, len(str(count)))
    for number in range(count):
        yield f"{number:0{digits}d}-of-{count:0{digits}d}{_ENDING}"


def names_below(place: str, names: Iterable[str]) -> list[str]:
    """Returns those of some paths that are the data file of a task, or files of its folder.

    Args:
        place: The file or the folder, below the work folder.
        names: Paths below the work folder.
    """
    return [name for name in names if place in {name, str(PurePosixPath(name).parent)}]


def matching_files(path: Path) -> list[Path]:
    """Returns the files that a path or a pattern of paths means, in order.

    A plain path also where nothing is there. Where some of the files of a task are missing, the
    first of these is among them.
    """
    if not any(sign in path.name for sign in "*?["):
        return [path]
    files = set(path.parent.glob(path.name))
    if path.name == _PATTERN:
        # Of each number of files that a name states, the first file that is missing counts, too.
        missing = set()
        for file in files:
            numbered = _NUMBERED.fullmatch(file.name)
            names = file_names(int(numbered[1])) if numbered else iter(())
            paths = (file.with_name(name) for name in names)
            missing |= set(islice((path for path in paths if path not in files), 1))
        files |= missing
    return sorted(files)


def stated_files(stated: object) -> tuple[Path, ...]:
    """Returns the local files that a task YAML names for one split, in order.

    Args:
        stated: A path, a pattern, or a list of them.
    """
    entries = stated if isinstance(stated, list) else [stated]
    texts = [entry for entry in entries if isinstance(entry, str) and entry]
    return tuple(chain.from_iterable(matching_files(Path(text)) for text in texts))


def task_of(name: str) -> str:
    """Returns the task or group to which a file of a work folder belongs.

    Args:
        name: Its path below the folder, with forward slashes.

    >>> task_of("meta/meta_bbh.yaml"), task_of("meta/data/meta_bbh.parquet")
    ('meta_bbh', 'meta_bbh')
    >>> task_of("meta/data/meta_bbh/00000-of-00002.parquet")
    'meta_bbh'
    """
    path = PurePosixPath(name)
    is_numbered = len(path.parts) == _DEPTH and path.parts[1] == _FOLDER
    return path.parent.name if is_numbered else path.stem
