"""The files with the prepared rows of a task: one parquet file, or a folder of several.

    <pack>/data/<task>.parquet                     one file
    <pack>/data/<task>/00000-of-00003.parquet      several, with `rows_per_file` in the config

Whoever reads, writes, hashes or names prepared data asks here which files they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

_FOLDER, _ENDING = "data", ".parquet"
_PATTERN = f"*-of-*{_ENDING}"
_NUMBERED = re.compile(rf"\d+-of-(\d+)\{_ENDING}")
_DEPTH = 4  # <pack>/data/<task>/<file>
_DIGITS = 5  # as the model hub numbers the files of a data set


@dataclass(frozen=True)
class DataFiles:
    """Where the prepared rows of one task lie.

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

    def below(self, names: Iterable[str], root: Path) -> list[str]:
        """Returns those of some paths, relative to a folder, that are files of these."""
        own = self.path.relative_to(root).as_posix()
        return [name for name in names if own in {name, str(PurePosixPath(name).parent)}]

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


def file_names(count: int) -> list[str]:
    """Returns the names of so many files, whose order as texts is that of the numbers.

    >>> file_names(2)
    ['00000-of-00002.parquet', '00001-of-00002.parquet']
    """
    digits = max(_DIGITS, len(str(count)))
    return [f"{number:0{digits}d}-of-{count:0{digits}d}{_ENDING}" for number in range(count)]


def matching_files(path: Path) -> list[Path]:
    """Returns the files that a path or a pattern of paths means, in order.

    Also those that should be there: a plain path, and each of `n-of-m.parquet` where one is.
    """
    if not any(sign in path.name for sign in "*?["):
        return [path]
    files = set(path.parent.glob(path.name))
    counts = {int(match[1]) for file in files if (match := _NUMBERED.fullmatch(file.name))}
    for count in counts:
        files |= {path.parent / name for name in file_names(count)}
    return sorted(files)


def stated_files(stated: object) -> tuple[Path, ...]:
    """Returns the local files that a task YAML names for one split, in order.

    Args:
        stated: A path, a pattern, or a list of them.
    """
    entries = stated if isinstance(stated, list) else [stated]
    texts = [entry for entry in entries if isinstance(entry, str) and entry]
    return tuple(file for text in texts for file in matching_files(Path(text)))


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
