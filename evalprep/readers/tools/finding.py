"""The logs of other tools at a place, found by their content."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from evalprep.errors import BadInput, Problem, near
from evalprep.files import StrayLink, is_stray
from evalprep.readers.pointers import what_and_fix
from evalprep.readers.results_file import read_recognised

# The module, which imports this one while it looks for readers.
from evalprep.readers.tools import formats
from evalprep.readers.tools.opening import Opening, opening_of
from evalprep.readers.tools.reading import Reader, Reading
from evalprep.readers.tools.unread import Unread, file_of_no_reader, holds_scores, unread_file
from evalprep.readers.written import SUFFIXES, is_passed_over
from evalprep.samples import LM_EVAL

#: A log at a place, and the reader of its format.
Log = tuple[Reader, Path]
_TABLES = (".csv", ".tsv")
_DEPTH = 7  # a suite of HELM or a data folder of Every Eval Ever has five levels
_LARGEST_FOLDER = 20_000  # files that are looked at
_NAMED = 3  # files that a message names
_BY_ITSELF = "pass it by itself"


def logs_at(path: Path, reading: Reading) -> list[Log]:
    """Returns the logs at a place, in the order of their names; none where nothing is known.

    Args:
        path: A file or a folder.
        reading: What the user chose.

    Raises:
        BadInput: the format that the user named does not exist or does not fit, several formats
            fit, or files were not fetched.
    """
    _check_format(reading)
    if path.is_file():
        return _log_at(path, reading)
    if not path.is_dir():
        return []
    openings = list(_places(path, _DEPTH, reading))
    logs = _logs_among(openings, reading)
    pointers = [opening.path for opening in openings if opening.kind == "pointer"]
    if not logs and pointers:
        raise _not_fetched(path, pointers)
    return _of_one_format(path, logs)


def _logs_among(openings: Sequence[Opening], reading: Reading) -> list[Log]:
    """The logs that a reader can open by themselves, else those of which it knows the format."""
    known: list[Log] = []
    alone: list[Log] = []
    for opening in openings:
        reader = _reader_of(opening, reading)
        if reader is None:
            continue
        known.append((reader, opening.path))
        if reader.stands_alone(opening):
            alone.append((reader, opening.path))
    return alone or known


def _not_fetched(place: Path, pointers: Sequence[Path]) -> BadInput:
    """The mistake that files are pointers to files that were not fetched."""
    what, fix = what_and_fix(pointers)
    return BadInput(Problem(what=what, where=str(place), fix=fix))


def _check_format(reading: Reading) -> None:
    if reading.format and reading.format not in formats.FORMATS:
        raise BadInput(
            Problem(
                what=f"no format {reading.format!r}",
                where="--input_format",
                allowed=", ".join(formats.FORMATS),
                fix=near(reading.format, formats.FORMATS),
            )
        )


def _log_at(path: Path, reading: Reading) -> list[Log]:
    """The log that a file is."""
    opening = opening_of(path)
    if opening.kind == "pointer":
        raise _not_fetched(path, [path])
    reader = _reader_of(opening, reading)
    if reader is None and reading.format:
        raise BadInput(
            Problem(
                what=f"no log of the format {reading.format}: it looks like {opening.describe()}",
                where=str(path),
                fix="leave --input_format out, or name another format",
            )
        )
    return [(reader, path)] if reader is not None else []


def _reader_of(opening: Opening, reading: Reading) -> Reader | None:
    """The reader of the format that was named, or of the first that fits."""
    for reader in formats.READERS:
        is_chosen = reading.format in ("", reader.name)
        is_tried = not reader.needs_columns or bool(reading.columns or reading.format)
        if is_chosen and is_tried and reader.recognises(opening):
            return reader
    return None


def _places(
    folder: Path, depth: int, reading: Reading, root: Path | None = None
) -> Iterator[Opening]:
    """Yields how each place below a folder begins that could be a log; a folder may be one itself.

    Raises:
        StrayLink: a file is a link that leaves `root`, by default the folder.
    """
    root = root or folder
    opening = opening_of(folder)
    if _reader_of(opening, reading) is not None:
        yield opening
        return
    suffixes = _suffixes(reading)
    entries = sorted(os.scandir(folder), key=lambda entry: entry.name)[:_LARGEST_FOLDER]
    for entry in entries:
        path = Path(entry.path)
        if entry.is_dir(follow_symlinks=False):
            if depth and not is_passed_over(path):
                yield from _places(path, depth - 1, reading, root)
        elif entry.is_file() and entry.name.endswith(suffixes):
            _refuse_stray(path, root)
            yield opening_of(path)


def _refuse_stray(path: Path, root: Path) -> None:
    """Refuses a link that leaves the folder.

    Raises:
        StrayLink: it does.
    """
    if path.is_symlink() and is_stray(path, root):
        raise StrayLink([path], root)


def _suffixes(reading: Reading) -> tuple[str, ...]:
    if reading.columns:
        return (*SUFFIXES, *_TABLES)
    return SUFFIXES


def _of_one_format(path: Path, logs: Sequence[Log]) -> list[Log]:
    """The logs of the only format.

    Raises:
        BadInput: there are several formats.
    """
    names = list(dict.fromkeys(reader.name for reader, _ in logs))
    if len(names) < 2:
        return list(logs)
    shown = []
    for name in names:
        places = [str(place.relative_to(path)) for reader, place in logs if reader.name == name]
        more = f" and {len(places) - _NAMED} more" if len(places) > _NAMED else ""
        shown.append(f"{name} ({', '.join(places[:_NAMED])}{more})")
    raise BadInput(
        Problem(
            what=f"logs of several formats: {', '.join(shown)}",
            where=str(path),
            fix=f"name the log, or its format: --input_format {names[0]}",
        )
    )


def appearance(path: Path) -> Unread:
    """Returns what a place is that no reader knows, and what to do, for a message."""
    opening = opening_of(path)
    return unread_file(opening, _known_file(opening))


def _known_file(opening: Opening) -> Unread | None:
    """What a file of a known tool is that no reader takes; None for any other file."""
    known = (reader.unread(opening) for reader in formats.READERS)
    return next(filter(None, known), None) or file_of_no_reader(opening)


def is_log(folder: Path) -> bool:
    """Returns whether a folder is a log of its own."""
    return _reader_of(opening_of(folder), Reading()) is not None


def results_beside(path: Path, tool: str) -> Unread | None:
    """Returns what a place is that holds results and is not read; None for anything else.

    Args:
        path: A file, or a folder that may be a log.
        tool: The format of the logs that are read; empty where none are.
    """
    if any(reader.belongs(path) for reader in formats.READERS):
        return None
    opening = opening_of(path)
    reader = _reader_of(opening, Reading())
    if reader is not None:
        return None if reader.name == tool else _of_format(reader, path)
    if opening.kind in {"folder", "pointer"}:
        return None
    known = _known_file(opening)
    if known is not None:
        return known
    logged = read_recognised(path) if opening.kind == "json" else None
    if logged is not None:
        return Unread(f"scores of {logged.tool or LM_EVAL} without samples", _BY_ITSELF)
    return unread_file(opening, None) if holds_scores(opening) else None


def _of_format(reader: Reader, path: Path) -> Unread:
    """A log that a reader knows; of one that it cannot open the reason."""
    try:
        reader.read(path, Reading())
    except BadInput as error:
        return Unread(error.problems[0].what, error.problems[0].fix)
    return Unread(f"results of the format {reader.name}", _BY_ITSELF)
