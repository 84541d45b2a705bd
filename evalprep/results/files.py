"""Which files of a folder belong to one harness run.

lm-eval writes `<output_path>/<model>/results_<stamp>.json` and one `samples_<task>_<stamp>.jsonl` per task, all with
the same time stamp, and adds new ones beside the old at every run. With `--output_path X.json` it writes
`X_<stamp>.json` and puts the samples into the parent folder of X. Its versions before May 2024 knew no time stamps:
`results.json`, or the name that was asked for, and `<model arguments>_<task>.jsonl`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from evalprep.errors import BadInput, Problem
from evalprep.files import as_mapping, read_object
from evalprep.results.invocations import Invocation, chosen, invocation_of

STAMP = r"\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}(?:\.\d+)?"
_SAMPLES = re.compile(rf"samples_(?P<task>.+)_(?P<stamp>{STAMP})\.jsonl?", re.DOTALL)  # .json in May and June 2024
_RESULTS = re.compile(rf".+_(?P<stamp>{STAMP})\.json", re.DOTALL)
# <output>/<model>/ is depth 1; two more cover an output folder per experiment.
_DEPTH = 3
_RESULTS_BEFORE = "results.json"  # of lm-eval before May 2024
_LAST_DATE = 4e9  # seconds; what is beyond is no time of a run
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


def stamp_of(samples: Path) -> str:
    """Time stamp in the name of a samples file; empty for any other file."""
    match = _SAMPLES.fullmatch(samples.name)
    return match["stamp"] if match else ""


@dataclass
class _Folder:
    path: Path
    results: dict[str, Path] = field(default_factory=dict)
    samples: dict[str, dict[str, Path]] = field(default_factory=dict)

    @property
    def stamps(self) -> list[str]:
        return sorted({*self.results, *self.samples})

    def invocations(self) -> list[Invocation]:
        return [invocation_of(stamp, path, self.samples.get(stamp, {})) for stamp, path in self.results.items()]


def _read_folder(path: Path) -> _Folder:
    found = _Folder(path)
    for name in sorted(entry.name for entry in os.scandir(path) if entry.is_file()):
        if match := _SAMPLES.fullmatch(name):
            found.samples.setdefault(match["stamp"], {})[match["task"]] = path / name
        elif match := _RESULTS.fullmatch(name):
            found.results.setdefault(match["stamp"], path / name)
    if not found.stamps and (path / _RESULTS_BEFORE).is_file():
        return _without_stamp(path / _RESULTS_BEFORE) or found
    return found


def _without_stamp(results: Path) -> _Folder | None:
    """The files of a run of lm-eval before 0.4.3; None where the file is not one of its results files.

    The time of the run stands for the stamp: as the results say, else when they were written.
    """
    content = read_object(results)
    scored, configured = (content.get(key) for key in ("results", "configs"))
    if not isinstance(scored, dict) or not isinstance(configured, dict):
        return None
    date = content.get("date")
    moment = date if isinstance(date, float) and 0 < date < _LAST_DATE else results.stat().st_mtime
    stamp = datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H-%M-%S")
    found = _Folder(results.parent, {stamp: results})
    arguments = str(as_mapping(content.get("config")).get("model_args") or "")
    own = {re.sub(rule, "__", arguments) for rule in ("/|=", r"[\"<>:/\|\\?\*\[\]]+")}
    names = [entry.name for entry in os.scandir(results.parent) if entry.is_file() and entry.name.endswith(".jsonl")]
    for task in map(str, configured):
        exact = [name for name in names if name in {f"{prefix}_{task}.jsonl" for prefix in own}]
        # Files that were moved or renamed: the rest of the name must not be a longer task's.
        longer = [f"_{one}.jsonl" for one in configured if len(str(one)) > len(task)]
        close = [name for name in names if name.endswith(f"_{task}.jsonl") and not name.endswith(tuple(longer))]
        if chosen_name := next(iter(exact or (close if len(close) == 1 else [])), None):
            found.samples.setdefault(stamp, {})[task] = results.parent / chosen_name
    return found


def _search(path: Path, depth: int = _DEPTH) -> list[_Folder]:
    """Folders at or below `path` that hold run files; hidden ones too, as `./m` is written to `.__m`."""
    here = _read_folder(path)
    if here.stamps:
        return [here]
    if depth == 0:
        return []
    below = sorted(entry.path for entry in os.scandir(path) if entry.is_dir() and entry.name not in _SKIPPED_FOLDERS)
    return [folder for child in below for folder in _search(Path(child), depth - 1)]


def _choose_stamp(folder: _Folder, wanted: str, where: str) -> tuple[str, list[str]]:
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
    start = Path(path)
    only_task: str | None = None
    if start.is_file():
        match = _SAMPLES.fullmatch(start.name) or _RESULTS.fullmatch(start.name)
        former = None if match else _without_stamp(start)
        if match is None and former is None:
            raise BadInput(
                Problem(
                    what="the name is not one that lm-eval gives to its files",
                    where=str(start),
                    allowed="results_<time stamp>.json or samples_<task>_<time stamp>.jsonl",
                    fix="pass the folder that lm_eval wrote",
                )
            )
        only_task = match.groupdict().get("task") if match else None
        timestamp = match["stamp"] if match else timestamp
        folders = [former or _read_folder(start.parent)]
    elif start.is_dir():
        folders = _search(start)
    else:
        folders = []
    if not folders:
        raise BadInput(
            Problem(
                what="no lm-eval run found" if start.exists() else "no such file or folder",
                where=str(start),
                allowed="a folder with results_*.json and samples_*.jsonl, the folder above it, or one of the files",
                fix="run the printed command with --log_samples and --output_path",
            )
        )
    if run:
        whole = _whole_run(folders, start, run)
        if whole is None:
            raise BadInput(Problem(what=f"no results of the run {run}", where=str(start), fix="run its commands first"))
        return whole
    folder = max(folders, key=lambda found: found.stamps[-1])
    if timestamp == NEWEST and start.is_dir() and (whole := _whole_run(folders, start, _newest_id(folder))):
        return whole
    notes: list[str] = []
    if len(folders) > 1:
        others = ", ".join(found.path.name for found in folders if found is not folder)
        notes.append(f"several model folders in {start}: the newest, {folder.path.name}, is used (others: {others})")
    stamp, more = _choose_stamp(folder, timestamp, str(start))
    notes += more
    samples = dict(folder.samples.get(stamp, {}))
    earlier: list[Path] = []
    parts: dict[str, tuple[tuple[Path, Path], ...]] = {}
    if timestamp == EACH:
        parts = _parts([(folder.samples[one], folder.results.get(one)) for one in sorted(folder.samples)])
        newest_of = {task: one for one in sorted(folder.samples) for task in folder.samples[one]}
        samples = {task: folder.samples[one][task] for task, one in newest_of.items()}
        used = sorted({*newest_of.values()} - {stamp})
        earlier = [folder.results[one] for one in used if one in folder.results]
    if only_task is not None:
        samples = {only_task: start}
    return RunFiles(
        folder=folder.path,
        stamp=stamp,
        results=folder.results.get(stamp),
        samples=dict(sorted(samples.items())),
        stamps=tuple(folder.stamps),
        notes=tuple(notes),
        earlier=tuple(earlier),
        parts=parts,
    )


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


def _newest_id(newest: _Folder) -> str:
    """Id of the run that the newest results file of a folder belongs to; empty where it names none."""
    stamp = max(newest.results, default="")
    if not stamp or stamp < max(newest.samples, default=""):
        return ""
    return invocation_of(stamp, newest.results[stamp], {}).run


def _whole_run(folders: list[_Folder], start: Path, run: str) -> RunFiles | None:
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
