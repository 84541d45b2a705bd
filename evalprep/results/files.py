"""The files of one harness run: of which folder, of which time stamp, or of which run id."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

from evalprep.errors import BadInput, Problem
from evalprep.files import StrayLink, is_stray
from evalprep.results.folder import (
    RESULTS,
    RESULTS_BEFORE,
    SAMPLES,
    Folder,
    calls_in,
    is_stamped,
    read_folder,
    without_stamp,
)
from evalprep.results.gathering import SampleFiles, gathered
from evalprep.results.invocations import Invocation, calls_that_count, invocation_of
from evalprep.results.pointers import pointers_below, store_of, what_and_fix
from evalprep.results.readers.head import read_head
from evalprep.results.readers.jsonparts import WRITE_AGAIN
from evalprep.terminal import shortlist

# <output>/<model>/ is depth 1; more cover an output folder per experiment, and one per model,
# group, call and name.
_DEPTH = 4
_WRITTEN_BY_US = "rescored_"  # below a run, and a run of its own only where it is named
_NAMED = 4  # files that a note names
_LOOKED_AT = 32  # runs of a folder whose models are compared
_SKIPPED_FOLDERS = {".git", ".venv", "node_modules", "__pycache__"}
NEWEST = "newest"
EACH = "each"
#: An id as the preparation gives it; a time stamp begins with a digit.
_RUN_ID = re.compile(r"r[0-9a-f]{11}")


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
        earlier: Results files of earlier time stamps that some of the samples are from, oldest
            first.
        run: Id of the run, empty without one.
        invocations: The calls that it consists of, oldest first.
        sources: Task -> results file of the call that its samples are from, where there are
            several.
        parts: Task -> all its samples files with the results file of each, oldest first, where
            there are several.
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

    @property
    def given_name(self) -> str:
        """The name that a person gave to the results file.

        Empty where lm-eval named it, or where the name is that of any results.
        """
        if self.results is None or is_stamped(self.results):
            return ""
        return "" if self.results.stem.lower() in _ANY_RESULTS else self.results.stem

    @property
    def output_name(self) -> str:
        """The part of a name by which what is written about the run differs from that of others.

        Its time stamp, with the name of its results file where a person gave that: files that
        state no time and were copied at once have the same one.
        """
        if self.results is None or self.earlier:
            return self.stamp
        is_named_by_lm_eval = is_stamped(self.results) or self.results.name == RESULTS_BEFORE
        return self.stamp if is_named_by_lm_eval else f"{self.stamp}_{self.results.stem}"


#: Names of results files that tell runs apart no better than their folders do.
_ANY_RESULTS = frozenset(("results", "eval_results", "eval", "metrics", "scores", "output"))


def _may_hold_runs(entry: os.DirEntry[str]) -> bool:
    is_other = entry.name in _SKIPPED_FOLDERS or entry.name.startswith(_WRITTEN_BY_US)
    return entry.is_dir() and not is_other


def _search(path: Path, depth: int = _DEPTH, root: Path | None = None) -> list[Folder]:
    """Folders at or below `path` that hold run files.

    Hidden ones too, as `./m` is written to `.__m`.

    Raises:
        StrayLink: a file or folder of a run is a link that leaves `root`, by default `path`.
    """
    root = root or path
    here = read_folder(path, root)
    if here.stamps:
        return [here]
    if depth == 0:
        return []
    below = sorted(entry.path for entry in os.scandir(path) if _may_hold_runs(entry))
    folders: list[Folder] = []
    for child in map(Path, below):
        if child.is_symlink() and is_stray(child, root):
            if _search(child, depth - 1):
                raise StrayLink([child], root)
            continue  # a link to something else than runs
        folders += _search(child, depth - 1, root)
    return folders


def _choose_stamp(folder: Folder, timestamp: str, where: str) -> tuple[str, list[str]]:
    """Returns the time stamp of the run that is read, and notes on what is not read."""
    if timestamp not in {NEWEST, EACH}:
        return _named_stamp(folder, timestamp, where), []
    # A stamp with samples beats a newer one without: a crashed save leaves a lone results file.
    with_samples = sorted(folder.samples) or folder.stamps
    chosen = with_samples[-1]
    notes = list(_notes_on_newest(folder, chosen)) if timestamp == NEWEST else []
    return chosen, [*notes, *_notes_on_unread(folder)]


def _named_stamp(folder: Folder, beginning: str, where: str) -> str:
    """The only time stamp that begins as the user wrote.

    Raises:
        BadInput: none does, or several do.
    """
    matching = [stamp for stamp in folder.stamps if stamp.startswith(beginning)]
    if len(matching) == 1:
        return matching[0]
    raise BadInput(
        Problem(
            what=f"{len(matching) or 'no'} run{'s' if len(matching) > 1 else ''} "
            f"with time stamp {beginning!r}",
            where=where,
            fix=f"name {', '.join(['newest', 'each', *folder.stamps])}; its beginning is enough",
        )
    )


#: How to read another run of a folder than its newest; the note on that choice ends with it.
OTHER_THAN_NEWEST = (
    "--timestamp chooses another, --timestamp each takes the newest samples of every task"
)


def _notes_on_newest(folder: Folder, chosen: str) -> Iterator[str]:
    """Yields which other runs of lm-eval a folder holds than the newest."""
    if len(folder.stamps) > 1:
        yield (
            f"{len(folder.stamps)} runs in {folder.path}: the newest, {chosen}, is used "
            f"({OTHER_THAN_NEWEST})"
        )
        others = _other_models(folder, chosen)
        if others:
            yield (
                f"{folder.path} also holds runs of {shortlist(others, _NAMED)}: "
                "name their results files to read them"
            )


def _notes_on_unread(folder: Folder) -> Iterator[str]:
    """Yields which results files of a folder are of no run, as a person named them."""
    if folder.unread:
        names = shortlist(list(folder.unread), _NAMED)
        yield (
            f"{folder.path} also holds {names}, without a time stamp in the name: not read here; "
            "name the file to read it"
        )


def _other_models(folder: Folder, chosen: str) -> list[str]:
    """The models of the other runs of a folder; of a large folder only the newest are looked at."""
    newest = sorted(folder.results, reverse=True)[:_LOOKED_AT]
    stamps = folder.results.keys() & {chosen, *newest}
    model_of = {stamp: read_head(folder.results[stamp]).model for stamp in stamps}
    own = model_of.get(chosen, "")
    return sorted({model for model in model_of.values() if model and own and model != own})


def _notes_on_damage(folder: Folder) -> Iterator[str]:
    """Yields which results files cannot be read."""
    for name, reason in folder.damaged.items():
        yield f"{folder.path / name} is damaged ({reason}) and is not read"


def _no_run_at(start: Path) -> BadInput:
    damaged = read_folder(start).damaged if start.is_dir() else {}
    if damaged:
        return BadInput(
            [
                Problem(what=f"is damaged: {reason}", where=str(start / name), fix=WRITE_AGAIN)
                for name, reason in damaged.items()
            ]
        )
    return BadInput(
        Problem(
            what="no lm-eval run found" if start.exists() else "no such file or folder",
            where=str(start),
            allowed="a folder with results_*.json and samples_*.jsonl, the folder above it, "
            "or one of the files",
            fix="correct the path; lm_eval writes such a folder with "
            "--output_path DIR --log_samples",
        )
    )


def find_run(path: str | os.PathLike[str], *, timestamp: str = NEWEST, run: str = "") -> RunFiles:
    """Find the files of one run.

    Args:
        path: Output folder, model folder, `results_*.json` or `samples_*.jsonl`.
        timestamp: `newest` (default), `each` (the newest samples of each task, for runs made task
            by task), the beginning of a stamp, or the id of a run.
        run: Id of the run that is wanted, instead of the newest.

    Raises:
        BadInput: no run there, or no such time stamp.
    """
    if isinstance(path, SampleFiles):
        return of_place(path.place, EACH, str(path))
    start = Path(path)
    if start.is_file():
        return _run_of_file(start, timestamp, run)
    folders = gathered(_search(start), start) if start.is_dir() else []
    if not folders:
        refuse_pointers(start)
        raise _no_run_at(start)
    if not run and _RUN_ID.fullmatch(timestamp):
        run = timestamp
    if run:
        return _run_of_id(folders, start, run)
    newest = max(folders, key=lambda folder: folder.stamps[-1])
    whole = whole_run(folders, start, newest_id(newest)) if timestamp == NEWEST else None
    of_run = [call.results for call in whole.invocations] if whole is not None else []
    _refuse_others(folders, of_run, newest, start)
    return whole or of_place(newest, timestamp, str(start))


def _refuse_others(
    folders: Sequence[Folder], files: Iterable[Path], newest: Folder, start: Path
) -> None:
    """Refuses to choose among the folders of several models.

    Args:
        folders: The model folders below a place.
        files: Results files of the run that would be read.
        newest: The folder of that run.
        start: The place.

    Raises:
        BadInput: a folder other than the newest has no file of the run.
    """
    of_run = set(files)
    others = [
        folder
        for folder in folders
        if folder is not newest and of_run.isdisjoint(folder.results.values())
    ]
    if others:
        names = [folder.path.name for folder in (newest, *others)]
        raise BadInput(
            Problem(
                what=f"runs in {len(names)} folders: {shortlist(names, _NAMED)}",
                where=str(start),
                fix=f"name the folder of one, e.g. {newest.path}",
            )
        )


def _run_of_file(file: Path, timestamp: str, run: str) -> RunFiles:
    """The run of a results file, or that of one samples file alone.

    Raises:
        BadInput: it is neither.
    """
    refuse_pointers(file)
    match = SAMPLES.fullmatch(file.name) or RESULTS.fullmatch(file.name)
    if match is not None:
        folder, timestamp = read_folder(file.parent), match["stamp"]
        task = match.groupdict().get("task")
    else:
        folder = _folder_without_stamps(file)
        task = _task_in(folder, file)
    if run:
        return _run_of_id([folder], file, run)
    only = {task: file} if task is not None else None
    return of_place(folder, timestamp, str(file), only=only)


def _folder_without_stamps(file: Path) -> Folder:
    """The folder of a file whose name has no time stamp.

    Raises:
        BadInput: the file is none of lm-eval's.
    """
    folder = without_stamp(file) or _with_sample(file)
    if folder is None:
        raise BadInput(
            Problem(
                what="the name is not one that lm-eval gives to its files",
                where=str(file),
                allowed="results_<time stamp>.json or samples_<task>_<time stamp>.jsonl",
                fix="pass the folder that lm_eval wrote",
            )
        )
    return folder


def _run_of_id(folders: list[Folder], start: Path, run: str) -> RunFiles:
    """The run of an id.

    Raises:
        BadInput: there are no results of it.
    """
    named = whole_run(folders, start, run)
    if named is None:
        what = f"no results of the run {run}"
        others = dict.fromkeys(call.run for call in calls_in(folders) if call.run)
        allowed = ", ".join(others)
        fix = "run its commands first"
        raise BadInput(Problem(what=what, where=str(start), allowed=allowed, fix=fix))
    # Whoever named this run needs no note that there are others.
    return replace(named, notes=())


def refuse_pointers(start: Path) -> None:
    """Refuses a place where files of a run were not fetched.

    Raises:
        BadInput: files of a run are pointers there.
    """
    below = pointers_below(start) if start.is_dir() else []
    pointers = [start] if store_of(start) else below
    if pointers:
        what, fix = what_and_fix(pointers)
        raise BadInput(Problem(what=what, where=str(start), fix=fix))


def of_place(
    folder: Folder, timestamp: str, where: str, *, only: Mapping[str, Path] | None = None
) -> RunFiles:
    """The files of one of the runs in a place.

    Args:
        folder: The place.
        timestamp: Which run, as `find_run` takes it; of a place with a folder per task the newest
            of each.
        where: What the user named, for messages.
        only: The samples that were named, where it is not all.

    Raises:
        BadInput: no such time stamp.
    """
    if folder.by_task and timestamp == NEWEST:
        timestamp = EACH
    stamp, notes = _choose_stamp(folder, timestamp, where)
    samples = dict(folder.samples.get(stamp, {}))
    earlier: list[Path] = []
    parts: dict[str, tuple[tuple[Path, Path], ...]] = {}
    if timestamp == EACH:
        parts = _parts(
            (folder.samples[call_stamp], folder.results.get(call_stamp))
            for call_stamp in sorted(folder.samples)
        )
        newest_stamps = _newest_stamp_of_each_task(folder)
        samples = {task: folder.samples[newest][task] for task, newest in newest_stamps.items()}
        earlier = _other_results(folder, newest_stamps.values(), stamp)
    if only is not None:
        samples = dict(only)
    return RunFiles(
        folder=folder.path,
        stamp=stamp,
        results=folder.results.get(stamp),
        samples=dict(sorted(samples.items())),
        stamps=tuple(folder.stamps),
        notes=(*notes, *_notes_on_damage(folder)),
        earlier=tuple(earlier),
        parts=parts,
    )


def _with_sample(file: Path) -> Folder | None:
    """The folder of a samples file whose name has no time stamp.

    None where it is none of lm-eval's.
    """
    folder = read_folder(file.parent)
    for stamp, of_task in folder.samples.items():
        if file in of_task.values():
            results = {stamp: folder.results[stamp]} if stamp in folder.results else {}
            return Folder(folder.path, results, {stamp: of_task})
    return None


def _task_in(folder: Folder, file: Path) -> str | None:
    """The task of a samples file; None for a results file."""
    return next((task for task, path in folder.task_files() if path == file), None)


def _newest_stamp_of_each_task(folder: Folder) -> dict[str, str]:
    """Task -> the time stamp of the newest call that has samples of it."""
    newest: dict[str, str] = {}
    for stamp in sorted(folder.samples):
        newest |= dict.fromkeys(folder.samples[stamp], stamp)
    return newest


def _other_results(folder: Folder, newest_stamps: Iterable[str], stamp: str) -> list[Path]:
    """The results files that count beside the one of a time stamp, in order.

    They belong to the calls whose samples count. Where each task has a folder of its own, calls
    without samples count, too.
    """
    stamps = set(newest_stamps)
    if folder.by_task:
        stamps |= folder.results.keys() - folder.samples.keys()
    stamps.discard(stamp)
    return [folder.results[other] for other in sorted(stamps) if other in folder.results]


def places_below(start: Path) -> list[Folder]:
    """Every place with files of runs at or below a folder.

    Places without samples are left out where others have some.
    """
    places = gathered(_search(start), start)
    return [place for place in places if place.samples] or places


def _parts(
    calls: Iterable[tuple[Mapping[str, Path], Path | None]],
) -> dict[str, tuple[tuple[Path, Path], ...]]:
    """Task of which several calls have samples -> its samples files with their results files."""
    files_by_task: dict[str, list[tuple[Path, Path]]] = {}
    for samples, results in calls:
        if results is None:  # nothing tells which rows it was to have
            continue
        for task, path in samples.items():
            files_by_task.setdefault(task, []).append((path, results))
    return {task: tuple(files) for task, files in files_by_task.items() if len(files) > 1}


def run_calls(place: Path, run: str) -> list[Invocation]:
    """The calls below a folder that are of one run, oldest first."""
    folders = _search(place) if place.is_dir() else []
    return _calls_of(run, calls_in(folders))


def _calls_of(run: str, calls: Iterable[Invocation]) -> list[Invocation]:
    """Those of some calls that are of one run, oldest first."""
    return sorted((call for call in calls if call.run == run), key=lambda call: call.stamp)


def results_below(place: Path) -> list[Path]:
    """Every results file at or below a folder.

    Raises:
        StrayLink: a file or folder of a run is a link that leaves the folder.
    """
    folders = _search(place) if place.is_dir() else []
    return list(chain.from_iterable(folder.results.values() for folder in folders))


def newest_id(newest: Folder) -> str:
    """Id of the run that the newest results file of a folder belongs to.

    Empty where it names none.
    """
    stamp = max(newest.results, default="")
    if not stamp or stamp < max(newest.samples, default=""):
        return ""
    return invocation_of(stamp, newest.results[stamp], {}).run


def _notes_on_others(calls: Iterable[Invocation], start: Path, run: str) -> list[str]:
    """Says that a place holds other runs, too."""
    others = dict.fromkeys(call.run or call.stamp for call in calls)
    others.pop(run, None)
    if not others:
        return []
    note = f"{len(others) + 1} runs in {start}: the newest, {run}, is used"
    return [f"{note} (--timestamp chooses another: {shortlist(list(others), _NAMED)})"]


def _stamps_of(folders: Iterable[Folder]) -> tuple[str, ...]:
    """The time stamps of all folders, each once, in their order."""
    return tuple(sorted(set().union(*(folder.stamps for folder in folders))))


def whole_run(folders: list[Folder], start: Path, run: str) -> RunFiles | None:
    """All calls of a run; None where there are none with samples."""
    if not run:
        return None
    every = list(calls_in(folders))
    calls = _calls_of(run, every)
    by_task = calls_that_count(calls)
    if not by_task:
        return None
    return RunFiles(
        folder=calls[-1].results.parent,
        stamp=calls[-1].stamp,
        results=calls[-1].results,
        samples={task: by_task[task].samples[task] for task in sorted(by_task)},
        stamps=_stamps_of(folders),
        notes=tuple(_notes_on_others(every, start, run)),
        earlier=tuple(call.results for call in calls[:-1]),
        run=run,
        invocations=tuple(calls),
        sources={task: call.results for task, call in by_task.items()},
        parts=_parts((call.samples, call.results) for call in calls),
    )
