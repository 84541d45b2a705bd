"""Files of a folder that hold results and that nobody reads, with what they are."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec import structs

from evalprep.errors import BadInput
from evalprep.readers import SUFFIXES, is_passed_over
from evalprep.results.files import every_place, that_count
from evalprep.results.folder import RESULTS, SAMPLES, Folder
from evalprep.results.gathering import files_of
from evalprep.results.run import Run
from evalprep.results.run_places import Named
from evalprep.samples import LM_EVAL
from evalprep.terminal import shortlist

if TYPE_CHECKING:
    from evalprep.readers import Unread

_DEPTH = 5
_LOOKED_AT = 200  # files of a folder that are opened
_NAMED = 4  # files that notes name one by one
_BY_ITSELF = "pass it by itself"
_COPIES = "rescored_"  # folders of a run whose replies were scored again


class OtherFile(NamedTuple):
    """A file that is not read.

    Attributes:
        path: Where it lies.
        what: What it is.
        fix: How it is read after all.
    """

    path: Path
    what: str
    fix: str


def with_other_files(
    runs: Sequence[Run], named: Iterable[Named], read: Iterable[Named]
) -> list[Run]:
    """Returns runs with notes at the first one on what else lies in folders of several runs.

    Args:
        runs: The runs.
        named: The places that the user named.
        read: The places of the runs.
    """
    if any(run.log is not None and run.tool == LM_EVAL for run in runs):
        return list(runs)  # a pack reads these logs, and only the pack knows what belongs to them
    places = list(chain.from_iterable(map(files_of, read)))
    notes: list[str] = []
    for start in map(Path, named):
        if start.is_dir() and start not in places:
            notes += notes_on_others(others_in(start, places=places))
    return [with_notes(run, notes if run is runs[0] else ()) for run in runs]


def with_notes(run: Run, notes: Sequence[str]) -> Run:
    """Returns a run with further notes on its files."""
    if not notes:
        return run
    files = structs.replace(run.files, notes=(*run.files.notes, *notes))
    return replace(run, files=files, notes=[*run.notes, *notes])


def notes_on_others(others: Iterable[OtherFile]) -> list[str]:
    """Returns a sentence for each kind of file, with the first files of the kind."""
    files: dict[tuple[str, str], list[str]] = {}
    for other in others:
        files.setdefault((other.what, other.fix), []).append(str(other.path))
    return [
        f"not read: {shortlist(paths, _NAMED)} ({what}); {fix}"
        for (what, fix), paths in files.items()
    ]


def others_in(start: Path, *, tool: str = "", places: Collection[Path] = ()) -> list[OtherFile]:
    """Returns the files in a folder that hold results and are not read.

    Args:
        start: The folder.
        tool: The format of the logs that are read, where they are another tool's.
        places: Files and folders of runs that are read.
    """
    if tool and _is_log(start):
        return []  # the files of a folder that is one log were read
    every = every_place(start)
    kept = that_count(every)
    known = set(places)
    for place in kept:
        known.update(_files_of(place))
    what = "scores without samples, beside runs with samples"
    dropped = [place for place in every if place not in kept]
    left_out = []
    for place in dropped:
        left_out += [OtherFile(file, what, _BY_ITSELF) for file in place.results.values()]
    known.update(other.path for other in left_out)
    files = islice(_below(start, _DEPTH, known), _LOOKED_AT)
    return [*left_out, *_unread(files, tool)]


def _files_of(place: Folder) -> Iterator[Path]:
    """Yields the files of a place that are read, and those that notes name already."""
    yield from place.results.values()
    for _, file in place.task_files():
        yield file
    for name in (*place.unread, *place.damaged):
        yield place.path / name


def _below(folder: Path, depth: int, known: Collection[Path]) -> Iterator[Path]:
    """Yields the places below a folder that could hold results and are not known."""
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        path = Path(entry.path)
        if entry.is_symlink() or path in known:
            continue
        if entry.is_dir():
            if depth and not is_passed_over(path) and not entry.name.startswith(_COPIES):
                yield from [path] if _is_log(path) else _below(path, depth - 1, known)
        elif entry.name.endswith(SUFFIXES):
            is_of_lm_eval = SAMPLES.fullmatch(entry.name) or RESULTS.fullmatch(entry.name)
            if not is_of_lm_eval:
                yield path


def _is_log(folder: Path) -> bool:
    # The readers of all tools are loaded only where a place may be theirs.
    from evalprep.readers import is_log

    return is_log(folder)


def _unread(files: Iterable[Path], tool: str) -> Iterator[OtherFile]:
    """Yields those of some places that hold results."""
    for path in files:
        with suppress(OSError, BadInput):
            other = _results_beside(path, tool)
            if other is not None:
                yield OtherFile(path, other.what, other.fix)


def _results_beside(path: Path, tool: str) -> Unread | None:
    from evalprep.readers import results_beside

    return results_beside(path, tool)
