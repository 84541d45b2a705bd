"""The files of one harness run: of which folder, of which time stamp, or of which run id."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from evalprep.errors import BadInput, Problem
from evalprep.results.folder import RESULTS, SAMPLES, Folder, read_folder, without_stamp
from evalprep.results.gathering import SampleFiles, gathered
from evalprep.results.invocations import Invocation, chosen, invocation_of
from evalprep.results.pointers import pointers_below, said_of, store_of

# <output>/<model>/ is depth 1; more cover an output folder per experiment, and one per model, group, call and name.
_DEPTH = 4
_WRITTEN_BY_US = "rescored_"  # below a run, and a run of its own only where it is named
_SKIPPED_FOLDERS = {".git", ".venv", "node_modules", "__pycache__"}
NEWEST = "newest"
EACH = "each"


@dataclass(frozen=True)
class RunFiles:
    """The files of one run.

    Args:
        folder: Where they lie.
        stamp: Time stamp in their names.
        results: The results file, or None when the harness could not write it.
        samples: Task name -> samples file, in name order.
        stamps: Every time stamp present in the folder, oldest first.
        notes: What was decided on the user's behalf.
        earlier: Results files of earlier time stamps that some of the samples are from, oldest first.
        run: Id of the run, empty without one.
        invocations: The calls that it consists of, oldest first.
        sources: Task -> results file of the call that its samples are from, where there are several.
        parts: Task -> all its samples files with the results file of each, oldest first, where there are several.
    """

    folder: Path
    stamp: str
    results: Path | None
    samples: dict[str, Path]
    stamps: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    earlier: tuple[Path, ...] = ()
    run: str = ""
    invocations: tuple[Invocation, ...] = ()
    sources: Mapping[str, Path] = field(default_factory=dict)
    parts: Mapping[str, tuple[tuple[Path, Path], ...]] = field(default_factory=dict)


def _search(path: Path, depth: int = _DEPTH) -> list[Folder]:
    """Folders at or below `path` that hold run files; hidden ones too, as `./m` is written to `.__m`."""
    here = read_folder(path)
    if here.stamps:
        return [here]
    if depth == 0:
        return []
    below = sorted(
        entry.path
        for entry in os.scandir(path)
        if entry.is_dir() and entry.name not in _SKIPPED_FOLDERS and not entry.name.startswith(_WRITTEN_BY_US)
    )
    return [folder for child in below for folder in _search(Path(child), depth - 1)]


def _choose_stamp(folder: Folder, wanted: str, where: str) -> tuple[str, list[str]]:
    if wanted not in {NEWEST, EACH}:
        matching = [stamp for stamp in folder.stamps if stamp.startswith(wanted)]
        if len(matching) != 1:
            raise BadInput(
                Problem(
                    what=f"{len(matching) or 'no'} run{'s' if len(matching) > 1 else ''} with time stamp {wanted!r}",
                    where=where,
                    allowed=", ".join(["newest", "each", *folder.stamps]),
                    fix="name one stamp, or enough of its beginning",
                )
            )
        return matching[0], []
    # A stamp with samples beats a newer one without: a crashed save leaves a lone results file.
    with_samples = sorted(folder.samples) or folder.stamps
    chosen = with_samples[-1]
    notes = []
    if len(folder.stamps) > 1 and wanted == NEWEST:
        notes.append(
            f"{len(folder.stamps)} runs in {folder.path}: the newest, {chosen}, is used (--timestamp chooses another, "
            "--timestamp each takes the newest samples of every task)"
        )
    return chosen, notes


def find_run(path: str | os.PathLike[str], *, timestamp: str = NEWEST, run: str = "") -> RunFiles:
    """Find the files of one run.

    Args:
        path: Output folder, model folder, `results_*.json` or `samples_*.jsonl`.
        timestamp: `newest` (default), `each` (the newest samples of each task, for runs made task by task), or the
            beginning of a stamp.
        run: Id of the run that is wanted, instead of the newest.

    Raises:
        BadInput: no run there, or no such time stamp.
    """
    if isinstance(path, SampleFiles):
        return of_place(path.place, EACH, str(path))
    start = Path(path)
    if start.is_file():
        _refuse_pointers(start)
    only_task: str | None = None
    if start.is_file():
        match = SAMPLES.fullmatch(start.name) or RESULTS.fullmatch(start.name)
        former = None if match else without_stamp(start) or _with_sample(start)
        if match is None and former is None:
            raise BadInput(
                Problem(
                    what="the name is not one that lm-eval gives to its files",
                    where=str(start),
                    allowed="results_<time stamp>.json or samples_<task>_<time stamp>.jsonl",
                    fix="pass the folder that lm_eval wrote",
                )
            )
        only_task = match.groupdict().get("task") if match else _task_in(former, start)
        timestamp = match["stamp"] if match else timestamp
        folders = [former or read_folder(start.parent)]
    elif start.is_dir():
        folders = gathered(_search(start), start)
    else:
        folders = []
    if not folders:
        _refuse_pointers(start)
        raise BadInput(
            Problem(
                what="no lm-eval run found" if start.exists() else "no such file or folder",
                where=str(start),
                allowed="a folder with results_*.json and samples_*.jsonl, the folder above it, or one of the files",
                fix="run the printed command with --log_samples and --output_path",
            )
        )
    if run:
        named = whole_run(folders, start, run)
        if named is None:
            raise BadInput(Problem(what=f"no results of the run {run}", where=str(start), fix="run its commands first"))
        return replace(named, notes=())  # that there are others is nothing to tell whoever named this one
    folder = max(folders, key=lambda found: found.stamps[-1])
    if timestamp == NEWEST and start.is_dir() and (whole := whole_run(folders, start, newest_id(folder))):
        return whole
    notes: list[str] = []
    if len(folders) > 1:
        others = ", ".join(found.path.name for found in folders if found is not folder)
        notes.append(f"several model folders in {start}: the newest, {folder.path.name}, is used (others: {others})")
    return of_place(folder, timestamp, str(start), notes, only={only_task: start} if only_task is not None else None)


def _refuse_pointers(start: Path) -> None:
    """Say it where files of a run were not fetched, and nothing else is there.

    Raises:
        BadInput: so it is.
    """
    if pointers := ([start] if store_of(start) else pointers_below(start) if start.is_dir() else []):
        what, fix = said_of(pointers)
        raise BadInput(Problem(what=what, where=str(start), fix=fix))


def of_place(
    folder: Folder, timestamp: str, where: str, notes: Iterable[str] = (), *, only: Mapping[str, Path] | None = None
) -> RunFiles:
    """The files of one of the runs in a place.

    Args:
        folder: The place.
        timestamp: Which run, as `find_run` takes it; of a place with a folder per task the newest of each.
        where: What the user named, for messages.
        notes: What was decided before.
        only: The samples that were named, where it is not all.

    Raises:
        BadInput: no such time stamp.
    """
    if folder.by_task and timestamp == NEWEST:
        timestamp = EACH
    stamp, more = _choose_stamp(folder, timestamp, where)
    samples = dict(folder.samples.get(stamp, {}))
    earlier: list[Path] = []
    parts: dict[str, tuple[tuple[Path, Path], ...]] = {}
    if timestamp == EACH:
        parts = _parts([(folder.samples[one], folder.results.get(one)) for one in sorted(folder.samples)])
        newest_of = {task: one for one in sorted(folder.samples) for task in folder.samples[one]}
        samples = {task: folder.samples[one][task] for task, one in newest_of.items()}
        used = sorted({*newest_of.values()} - {stamp})
        earlier = [folder.results[one] for one in used if one in folder.results]
    if only is not None:
        samples = dict(only)
    return RunFiles(
        folder=folder.path,
        stamp=stamp,
        results=folder.results.get(stamp),
        samples=dict(sorted(samples.items())),
        stamps=tuple(folder.stamps),
        notes=(*notes, *more),
        earlier=tuple(earlier),
        parts=parts,
    )


def _with_sample(file: Path) -> Folder | None:
    """The folder of a samples file whose name has no time stamp; None where it is none of lm-eval's."""
    found = read_folder(file.parent)
    return found if found.holds(file) else None


def _task_in(folder: Folder | None, file: Path) -> str | None:
    """The task of a samples file; None for a results file."""
    several = folder.samples.values() if folder is not None else ()
    return next((task for of_task in several for task, path in of_task.items() if path == file), None)


def places_below(start: Path) -> list[Folder]:
    """Every place with files of runs at or below a folder; without those that have no samples, where others have."""
    found = gathered(_search(start), start)
    return [one for one in found if one.samples] or found


def _parts(
    calls: Iterable[tuple[Mapping[str, Path], Path | None]],
) -> dict[str, tuple[tuple[Path, Path], ...]]:
    """Task -> its samples files with their results files, for tasks that several calls have samples of."""
    found: dict[str, list[tuple[Path, Path]]] = {}
    for samples, results in calls:
        if results is None:  # nothing tells which rows it was to have
            continue
        for task, path in samples.items():
            found.setdefault(task, []).append((path, results))
    return {task: tuple(files) for task, files in found.items() if len(files) > 1}


def run_calls(place: Path, run: str) -> list[Invocation]:
    """The calls below a folder that are of one run, oldest first."""
    folders = _search(place) if place.is_dir() else []
    every = [one for folder in folders for one in folder.invocations()]
    return sorted((one for one in every if one.run == run), key=lambda one: one.stamp)


def newest_id(newest: Folder) -> str:
    """Id of the run that the newest results file of a folder belongs to; empty where it names none."""
    stamp = max(newest.results, default="")
    if not stamp or stamp < max(newest.samples, default=""):
        return ""
    return invocation_of(stamp, newest.results[stamp], {}).run


def whole_run(folders: list[Folder], start: Path, run: str) -> RunFiles | None:
    """All calls of a run; None where there are none with samples."""
    if not run:
        return None
    every = [one for folder in folders for one in folder.invocations()]
    calls = sorted((one for one in every if one.run == run), key=lambda one: one.stamp)
    by_task = chosen(calls)
    if not by_task:
        return None
    others = sorted({one.run or one.stamp for one in every} - {run})
    notes = []
    if others:
        notes.append(
            f"{len(others) + 1} runs in {start}: the newest, {run}, is used (--timestamp chooses a call of another one)"
        )
    return RunFiles(
        folder=calls[-1].results.parent,
        stamp=calls[-1].stamp,
        results=calls[-1].results,
        samples={task: by_task[task].samples[task] for task in sorted(by_task)},
        stamps=tuple(sorted({stamp for folder in folders for stamp in folder.stamps})),
        notes=tuple(notes),
        earlier=tuple(one.results for one in calls[:-1]),
        run=run,
        invocations=tuple(calls),
        sources={task: one.results for task, one in by_task.items()},
        parts=_parts((one.samples, one.results) for one in calls),
    )
