"""The user's settings for reading another tool's results."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from evalprep.errors import BadInput, Problem
from evalprep.files import StrayLink, is_stray
from evalprep.samples import JsonParts

if TYPE_CHECKING:  # a run of lm-eval needs nothing of them
    from evalprep.readers.tools.opening import Opening
    from evalprep.readers.tools.row import ToolLog
    from evalprep.readers.tools.unread import Unread


class Reading(msgspec.Struct, frozen=True):
    """Choices of the user.

    Attributes:
        format: Name of a format, in place of what the content looks like.
        columns: Field of a row -> column of a table.
        strict_verdicts: Partial credit and "no answer" of inspect_ai are no verdict.
        last_event: Of several `match` events of a sample the last one counts.
    """

    format: str = ""
    columns: Mapping[str, str] = msgspec.field(default_factory=dict)
    strict_verdicts: bool = False
    last_event: bool = False


_chosen: ContextVar[Reading] = ContextVar("reading", default=Reading())  # noqa: B039 - it is frozen


def chosen_reading() -> Reading:
    """Returns what the user of this command chose."""
    return _chosen.get()


@contextlib.contextmanager
def reading_as(reading: Reading) -> Iterator[None]:
    """Reads logs of other tools as the user of this command chose."""
    token = _chosen.set(reading)
    try:
        yield
    finally:
        _chosen.reset(token)


class Reader(msgspec.Struct, frozen=True):
    """The reader of one format.

    Attributes:
        name: Name of the format, for `--input_format`.
        recognises: Returns whether a place begins as files of this format do.
        read: Opens it; rows are read when they are asked for.
        stands_alone: Returns whether a place of the format in a folder is a log of its own, and not
            a file beside one.
        unread: Returns what a file of the same tool is that holds no samples or verdicts, and what
            to pass in its place; None for any other file.
        belongs: Returns whether a file lies beside logs of the format and needs no word.
        needs_columns: Almost any file could be of the format: it is tried where the user names it,
            or columns.
    """

    name: str
    recognises: Callable[[Opening], bool]
    read: Callable[[Path, Reading], ToolLog]
    stands_alone: Callable[[Opening], bool] = lambda _: True
    unread: Callable[[Opening], Unread | None] = lambda _: None
    belongs: Callable[[Path], bool] = lambda _: False
    needs_columns: bool = False


def beside(folder: Path, *names: str) -> Path | None:
    """Returns the first of some files that a folder has; None without any.

    Raises:
        StrayLink: it is a link that leaves the folder.
    """
    file = next((folder / name for name in names if (folder / name).is_file()), None)
    if file is not None and file.is_symlink() and is_stray(file, folder):
        raise StrayLink([file], folder)
    return file


def members_beside(folder: Path, names: Iterable[str], keys: Iterable[str]) -> dict[str, Any]:
    """Returns some members of the first of some JSON files that a folder has.

    Empty where it has none, or only a damaged one.
    """
    file = beside(folder, *names)
    try:
        parts = JsonParts() if file is None else JsonParts.of_file(file)
    except (OSError, ValueError):
        return {}
    return {key: parts.get(key) for key in keys}


def no_samples(path: Path, why: str = "") -> BadInput:
    """Returns the error for a log without rows."""
    return BadInput(
        Problem(
            what=f"this log holds no samples{f': {why}' if why else ''}",
            where=str(path),
            fix="pass the log with its samples",
        )
    )
