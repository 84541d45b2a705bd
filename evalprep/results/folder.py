"""The files of one folder by run: by their names, or by what a results file says.

lm-eval writes `<output_path>/<model>/results_<stamp>.json` and one `samples_<task>_<stamp>.jsonl`
per task, all with the same time stamp, and adds new ones beside the old at every run. With
`--output_path X.json` it writes `X_<stamp>.json` and puts the samples into the parent folder of X.
Its versions before May 2024 knew no time stamps: `results.json`, or the name that was asked for,
and `<model arguments>_<task>.jsonl`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

import msgspec
from msgspec.structs import replace

from evalprep.files import StrayLink, is_stray, open_file
from evalprep.readers import RunResults, damage_of, read_recognised, store_of
from evalprep.results.identity import answered_by
from evalprep.results.invocations import Invocation, invocation_of

STAMP = r"\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}(?:\.\d+)?"
#: lm-eval of May and June 2024 wrote `.json`.
SAMPLES = re.compile(rf"samples_(?P<task>.+)_(?P<stamp>{STAMP})\.jsonl?", re.DOTALL)
RESULTS = re.compile(rf".+_(?P<stamp>{STAMP})\.json", re.DOTALL)
RESULTS_BEFORE = "results.json"  # of lm-eval before May 2024
_RESULTS_BEGIN = re.compile(rb'\s{0,9}\{\s{0,9}"results"\s{0,9}:\s{0,9}\{')
#: A key that no other tool writes, in whatever a script of a user wrote around it.
_STDERR_OF_METRIC = re.compile(rb'"\w{1,80}_stderr,[\w-]{1,80}"\s{0,9}:')
#: What the BigCode evaluation harness writes: a score of programs, or an argument of its own.
_OF_PROGRAMS = re.compile(rb'"(?:pass@\d{1,4}|max_length_generation)"\s{0,9}:')
_LOOKED_AT = 2**16  # bytes of a file that shows by its content whether it holds results
#: Names made of the model's arguments.
_FORMER = re.compile(r"(?:pretrained|model)(?:__|=).+\.jsonl")
_LAST_DATE = 4e9  # seconds; what is beyond is no time of a run
#: In place of the time stamp of files that state no date, neither inside nor in their names.
UNDATED = "undated"
_ENDINGS = (".json", ".jsonl")
#: What two generations of lm-eval wrote as `__` where they made a name of the model's arguments.
_REPLACED_IN_NAMES = (re.compile("/|="), re.compile(r"[\"<>:/\|\\?\*\[\]]+"))


class Folder(msgspec.Struct):
    """Files of runs in one place.

    Args:
        path: The folder.
        results: Time stamp -> results file.
        samples: Time stamp -> task -> samples file.
        by_task: Each task has a folder or a results file of its own, and was or may have been run
            by itself.
        apart: Each results file has a name that a person gave, and is a run of its own.
        unread: Results files that a person named, beside those that lm-eval named.
        damaged: Results files without a time stamp that are no whole JSON, with the reasons.
    """

    path: Path
    results: dict[str, Path] = msgspec.field(default_factory=dict)
    samples: dict[str, dict[str, Path]] = msgspec.field(default_factory=dict)
    by_task: bool = False
    apart: bool = False
    unread: tuple[str, ...] = ()
    damaged: Mapping[str, str] = msgspec.field(default_factory=dict)

    @property
    def stamps(self) -> list[str]:
        """Every time stamp, oldest first."""
        return sorted({*self.results, *self.samples})

    @property
    def is_loose(self) -> bool:
        """Whether there are results files alone, none of which lm-eval named with its time."""
        return not self.samples and not any(map(is_stamped, self.results.values()))

    def invocations(self) -> list[Invocation]:
        """The calls whose files lie here, also those whose results file is gone."""
        calls = [
            invocation_of(stamp, path, self.samples.get(stamp, {}))
            for stamp, path in self.results.items()
        ]
        for stamp in self.samples.keys() - self.results.keys():
            results = self.path / f"results_{stamp}.json"
            calls.append(invocation_of(stamp, results, self.samples[stamp], is_written=False))
        if not self.by_task:
            return calls
        # In the folder of a task lies the whole results file, of which the others have their part.
        return [
            replace(call, tasks=tuple(call.samples)) if call.samples else call for call in calls
        ]

    def task_files(self) -> Iterator[tuple[str, Path]]:
        """Yields every samples file with its task, those of one time stamp together."""
        for of_task in self.samples.values():
            yield from of_task.items()

    def holds(self, file: Path) -> bool:
        """Returns whether a samples file is one of these."""
        return any(path == file for _, path in self.task_files())


def calls_in(folders: Iterable[Folder]) -> Iterator[Invocation]:
    """Yields the calls whose files lie in some folders."""
    return chain.from_iterable(folder.invocations() for folder in folders)


def stamp_of(samples: Path) -> str:
    """Time stamp in the name of a samples file; empty for any other file."""
    match = SAMPLES.fullmatch(samples.name)
    return match["stamp"] if match else ""


def _take_stamped(folder: Folder, names: Iterable[str]) -> None:
    """Takes the files whose names have a time stamp."""
    for name in names:
        file = folder.path / name
        samples = SAMPLES.fullmatch(name)
        results = RESULTS.fullmatch(name)
        if not (samples or results) or store_of(file):
            continue
        if samples:
            of_stamp = folder.samples.setdefault(samples["stamp"], {})
            of_stamp[samples["task"]] = file
        elif results:
            folder.results.setdefault(results["stamp"], file)


def read_folder(path: Path, root: Path | None = None) -> Folder:
    """The files of runs in one folder.

    Args:
        path: The folder.
        root: The folder that the user named, which no link may leave; `path` by default.

    Raises:
        StrayLink: a file of a run is a link that leaves `root`.
    """
    folder = Folder(path)
    names = _file_names(path)
    _refuse_stray(path, names, root or path)
    _take_stamped(folder, names)
    if folder.results:
        return replace(folder, unread=tuple(_named_by_hand(path, names)))
    loose = _loose_results(path)
    if folder.samples:  # a copy beside samples that were moved
        return replace(folder, results=_results_of_stamps(folder, loose))
    former_runs = list(filter(None, map(_read_former, loose)))
    damaged = _damage_of_others(loose, former_runs)
    if former_runs:
        return replace(_put_together(path, former_runs), damaged=damaged)
    return _by_names_alone(path) or replace(folder, damaged=damaged)


def _results_of_stamps(folder: Folder, loose_results: Sequence[Path]) -> dict[str, Path]:
    """Time stamp -> its results file, of files without a time stamp in their names.

    A single file is that of every stamp. Of several, a stamp has the only one with all its tasks;
    where two have them, nothing shows which is its own.
    """
    if len(loose_results) == 1:
        return dict.fromkeys(folder.samples, loose_results[0])
    tasks_of_files = {results: _tasks_in(results) for results in loose_results}
    results_of_stamps = {}
    for stamp, samples in folder.samples.items():
        fitting = [file for file, tasks in tasks_of_files.items() if samples.keys() <= tasks]
        if len(fitting) == 1:
            results_of_stamps[stamp] = fitting[0]
    return results_of_stamps


def _tasks_in(results: Path) -> set[str]:
    """The tasks of a results file; none of a file that is no such one."""
    logged = read_recognised(results)
    return set(logged.tasks) if logged is not None else set()


def _file_names(folder: Path) -> list[str]:
    """The names of the files in a folder, in their order."""
    return sorted(entry.name for entry in os.scandir(folder) if _is_file(entry))


def _is_file(entry: os.DirEntry[str]) -> bool:
    """Returns whether an entry is a file; a link to itself is none.

    Raises:
        OSError: a link to itself with the name of a file of a run.
    """
    try:
        return entry.is_file()
    except OSError:
        if SAMPLES.fullmatch(entry.name) or RESULTS.fullmatch(entry.name):
            raise
        return False


class _FormerRun(msgspec.Struct, frozen=True):
    """A results file without a time stamp in its name, and the samples files of its tasks."""

    file: Path
    logged: RunResults
    samples: dict[str, Path]

    @property
    def stamp(self) -> str:
        """The time of the run as its results state it, else a word for none."""
        moment = self.logged.settings.started or 0  # seconds since 1970
        if not 0 < moment < _LAST_DATE:
            return UNDATED
        return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H-%M-%S")


def _read_former(results: Path) -> _FormerRun | None:
    """Returns the run of a results file without a time stamp; None where it is not lm-eval's."""
    logged = read_recognised(results)
    if logged is None:
        return None
    return _FormerRun(results, logged, _samples_without_stamp(results.parent, logged))


def _damage_of_others(loose: Sequence[Path], runs: Sequence[_FormerRun]) -> dict[str, str]:
    """The results files that are none of these runs, as they are damaged, with the reasons."""
    files_of_runs = {run.file for run in runs}
    reasons = {file.name: damage_of(file) for file in loose if file not in files_of_runs}
    return {name: reason for name, reason in reasons.items() if reason}


def _put_together(path: Path, runs: Sequence[_FormerRun]) -> Folder:
    """The folder of some results files without time stamps.

    Those of one answerer over different tasks are one run, any others a run each.
    """
    folder = Folder(path)
    for run in runs:
        stamp = free_stamp(run.stamp, folder)
        folder.results[stamp] = run.file
        if run.samples:
            folder.samples[stamp] = run.samples
    answerers = {answered_by(run.logged.settings) for run in runs}
    is_one_model = len(answerers) == 1 and None not in answerers
    tasks = list(chain.from_iterable(run.logged.tasks for run in runs))
    is_one_run = is_one_model and len(set(tasks)) == len(tasks)
    several = len(runs) > 1
    return replace(folder, by_task=several and is_one_run, apart=several and not is_one_run)


def free_stamp(stamp: str, folder: Folder) -> str:
    """Returns a time stamp that no results file of a folder has yet."""
    later = (f"{stamp}.{number}" for number in range(1, len(folder.results) + 1))
    return next(free for free in (stamp, *later) if free not in folder.results)


def _refuse_stray(folder: Path, names: Iterable[str], root: Path) -> None:
    """Refuses files of runs that are links out of the folder that the user named."""
    files = [folder / name for name in names if name.endswith(_ENDINGS)]
    links = [file for file in files if file.is_symlink()]
    stray = [link for link in links if is_stray(link, root)]
    if stray:
        raise StrayLink(stray, root)


def _loose_results(path: Path) -> list[Path]:
    """Results files without a time stamp in their names.

    They are called `results.json`, or as `--output_path` was set.
    """
    names = [name for name in _file_names(path) if name.endswith(_ENDINGS)]
    files = []
    if RESULTS_BEFORE in names:
        names.remove(RESULTS_BEFORE)
        files.append(path / RESULTS_BEFORE)
    others = [path / name for name in names]
    files += [file for file in others if _is_results(file)]
    return files


def _named_by_hand(path: Path, names: Iterable[str]) -> Iterator[str]:
    """Yields the results files of a folder whose names lm-eval did not make."""
    for name in names:
        stamped = RESULTS.fullmatch(name) or SAMPLES.fullmatch(name)
        if stamped or not name.endswith(".json") or not os.access(path / name, os.R_OK):
            continue
        if _is_results(path / name):
            yield name


def _is_results(path: Path) -> bool:
    """Returns whether a file begins as results of lm-eval do, or soon has a key of theirs."""
    with open_file(path) as file:
        beginning = file.read(_LOOKED_AT)
    if _RESULTS_BEGIN.match(beginning):
        return True
    if path.suffix != ".json":
        return False
    return any(key.search(beginning) for key in (_STDERR_OF_METRIC, _OF_PROGRAMS))


def _by_names_alone(path: Path) -> Folder | None:
    """Samples of lm-eval before 0.4.3 without a results file.

    Tasks of packs, by the end of the files' names.
    """
    names = [name for name in _file_names(path) if _FORMER.match(name)]
    if not names:
        return None
    from evalprep.packs import find_packs

    tasks: set[str] = set()
    for pack in find_packs().values():
        tasks |= pack.tasks.keys()
    longest_first = sorted(tasks, key=len, reverse=True)
    samples = {}
    for name in names:
        stem = name.removesuffix(".jsonl")
        task = next((task for task in longest_first if stem.endswith(f"_{task}")), "")
        if task:
            samples[task] = path / name
    if not samples:
        return None
    return Folder(path, samples={UNDATED: samples})


def is_stamped(results: Path) -> bool:
    """Returns whether lm-eval named a results file, with its time stamp."""
    return RESULTS.fullmatch(results.name) is not None


def without_stamp(results: Path) -> Folder | None:
    """Returns the files of a run whose results file has no time stamp.

    None where it is not one of lm-eval's.
    """
    run = _read_former(results)
    return None if run is None else _put_together(results.parent, [run])


def _samples_without_stamp(folder: Path, logged: RunResults) -> dict[str, Path]:
    """Task -> its samples file, of the tasks that have one."""
    names = [name for name in _file_names(folder) if name.endswith(".jsonl")]
    samples = {}
    for task in logged.tasks:
        name = _samples_named(task, names, logged)
        if name:
            samples[task] = folder / name
    return samples


def _samples_named(task: str, names: Sequence[str], logged: RunResults) -> str:
    """The name of a task's samples file, made of the model's arguments; empty without one."""
    arguments = logged.settings.arguments_text
    prefixes = [rule.sub("__", arguments) for rule in _REPLACED_IN_NAMES]
    expected = [f"{prefix}_{task}.jsonl" for prefix in prefixes]
    for name in names:
        if name in expected:
            return name
    return _renamed_samples(task, names, logged)


def _renamed_samples(task: str, names: Sequence[str], logged: RunResults) -> str:
    """The name of a task's samples file that was moved or renamed; empty without one."""
    # The rest of the name must not be a longer task's.
    longer_tasks = [other for other in logged.tasks if len(other) > len(task)]
    endings_of_others = tuple(f"_{other}.jsonl" for other in longer_tasks)
    own = [name for name in names if name.endswith(f"_{task}.jsonl")]
    candidates = [name for name in own if not name.endswith(endings_of_others)]
    return candidates[0] if len(candidates) == 1 else ""
