"""All runs that some places hold.

A folder of several models is several runs, a list of files one run per model.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from evalprep.results.files import every_place, newest_id, places_below, that_count
from evalprep.results.folder import Folder, calls_in, read_folder, stamp_of
from evalprep.results.gathering import SampleFiles, named_files
from evalprep.results.identity import AnsweredBy
from evalprep.results.invocations import oldest_first, refuse_undecided

Named = str | os.PathLike[str]


def each_run(paths: Iterable[Named]) -> list[Named]:
    """The places that users name, one for each run, which `load_run` opens.

    Args:
        paths: What `load_run` takes; a folder of several models means all of them, and samples
            files of one model that are named one by one are one run.

    Returns:
        The places in the order in which they were named, of a folder in the order of its names;
        what holds no run is left as it is.
    """
    runs: list[Named] = []
    files: list[Path] = []
    for name in paths:
        path = Path(name)
        if path.is_file() and _is_samples(path):
            files.append(path)
        elif path.is_dir():
            places = every_place(path)
            counting = that_count(places)
            is_part = len(counting) == 1 < len(places)
            runs += [counting[0].path] if is_part else _below(name, counting)
        else:
            runs.append(name)
    named = named_files(files)
    return [
        *runs,
        *(
            sample_files if len(sample_files.files) > 1 else sample_files.files[0]
            for sample_files in named
        ),
    ]


def run_ids_at(path: Named) -> list[str]:
    """The ids of all runs that have samples at a place, in the order of their files.

    A place can hold several although it is one model's: two revisions of a model have one folder.
    """
    place = Path(path)
    folders = places_below(place) if place.is_dir() else []
    calls = calls_in(folders)
    return list(dict.fromkeys(call.run for call in calls if call.run and call.samples))


def answerers_at(path: Named) -> list[AnsweredBy]:
    """Everybody who answered runs without an id at a place, in the order of their newest calls.

    Empty where a file does not state who answered.
    """
    place = Path(path)
    folders = places_below(place) if place.is_dir() else []
    calls = [call for call in oldest_first(calls_in(folders)) if call.tasks and not call.run]
    newest_last = dict.fromkeys(call.answerer for call in reversed(calls))
    known = [answerer for answerer in reversed(newest_last) if answerer is not None]
    return known if len(known) == len(newest_last) else []


def _below(name: Named, places: Sequence[Folder]) -> list[Named]:
    """The places of a folder; calls of one run id are one run, wherever their files lie."""
    ids = [newest_id(place) for place in places]
    if _is_one_run(places, ids):
        return [name]
    places_in_folder = Counter(place.path for place in places)
    run_places: dict[str, Named] = {}
    for place, run in zip(places, ids, strict=True):
        if place.apart:
            refuse_undecided(place.invocations())
            run_places |= {str(file): file for file in place.results.values()}
        elif places_in_folder[place.path] > 1:
            run_places[str(id(place))] = SampleFiles(place)
        else:
            root = _root_of_run(place, run, places, ids)
            run_places.setdefault(str(root), root)
    return list(run_places.values())


def _is_one_run(places: Sequence[Folder], ids: Sequence[str]) -> bool:
    """Returns whether places with these run ids hold one run together."""
    if any(place.apart for place in places):
        return False
    has_one_id = len(set(ids)) == 1 and ids[0] != ""
    return has_one_id or len(places) < 2


def _root_of_run(place: Folder, run: str, places: Sequence[Folder], ids: Sequence[str]) -> Path:
    """The folder above all places of a run; the place itself where another run lies below it, too.

    Args:
        place: One place of the run.
        run: Its id; empty where no file states one.
        places: The places of all runs.
        ids: The run id of each place.
    """
    same_run = [
        folder.path for folder, other in zip(places, ids, strict=True) if run and other == run
    ]
    if len(same_run) < 2:
        return place.path
    common = Path(os.path.commonpath(same_run))
    below = [folder.path for folder in places if folder.path.is_relative_to(common)]
    return common if all(path in same_run for path in below) else place.path


def _is_samples(path: Path) -> bool:
    return bool(stamp_of(path)) or (
        path.suffix in {".json", ".jsonl"} and read_folder(path.parent).holds(path)
    )
