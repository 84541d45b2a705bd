"""The files of one harness run: of which folder, of which time stamp, or of which run id."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

import msgspec
from msgspec.structs import replace

from evalprep.errors import BadInput, Problem
from evalprep.files import StrayLink, check_regular, is_stray
from evalprep.packs import Manifest
from evalprep.places import last_part
from evalprep.readers import pointers_below, store_of, what_and_fix
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
from evalprep.results.identity import AnsweredBy, Failure, Unread
from evalprep.results.invocations import (
    Choice,
    Invocation,
    each_newest,
    files_named,
    joined,
    newest_with_tasks,
    of_run,
    oldest_first,
    refuse_undecided,
)
from evalprep.results.record import failed_runs, read_failures, record_of
from evalprep.results.runstate import read_unit, runs_in, unpublished_runs
from evalprep.results.typed_options import TypedOption, sentence_of, typed_options
from evalprep.samples import WRITE_AGAIN
from evalprep.terminal import shortlist

# <output>/<model>/ is depth 1; more cover an output folder per experiment, and one per model,
# group, call and name.
_DEPTH = 4
_WRITTEN_BY_US = "rescored_"  # below a run, and a run of its own only where it is named
_NAMED = 4  # files that a note names
_SKIPPED_FOLDERS = {".git", ".venv", "node_modules", "__pycache__"}
NEWEST = "newest"
EACH = "each"
#: An id as the preparation gives it; a time stamp begins with a digit.
_RUN_ID = re.compile(r"r[0-9a-f]{11}")


class RunFiles(msgspec.Struct, frozen=True):
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
        sources: Task -> results file of the call that it is read from; None where a file was
            named, all of which counts.
        parts: Task -> all its samples files with the results file of each, oldest first, where
            there are several.
        tries: Command -> number of the try that counts, of a run with an id.
        unread: Task -> why nothing of it is read, as far as the files show it.
        is_chosen: Whether the user named this run by its id or its time stamp, or asked for the
            newest of each task.
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
    sources: Mapping[str, Path] | None = None
    parts: Mapping[str, tuple[tuple[Path, Path], ...]] = msgspec.field(default_factory=dict)
    tries: Mapping[str, int] = msgspec.field(default_factory=dict)
    unread: Mapping[str, Unread] = msgspec.field(default_factory=dict)
    is_chosen: bool = False

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

    Hidden ones too, as `./m` is written to `.__m`. Scores without samples in files that somebody
    named count where no folder below has samples.

    Raises:
        StrayLink: a file or folder of a run is a link that leaves `root`, by default `path`.
    """
    root = root or path
    here = read_folder(path, root)
    if here.stamps and not here.is_loose:
        return [here]
    found = [here] if here.stamps else []
    folders = _search_below(path, depth, root) if depth else []
    return folders if any(folder.samples for folder in folders) else found or folders


def _search_below(path: Path, depth: int, root: Path) -> list[Folder]:
    """Folders below `path` that hold run files.

    Raises:
        StrayLink: as for `_search`.
    """
    below = sorted(entry.path for entry in os.scandir(path) if _may_hold_runs(entry))
    folders: list[Folder] = []
    for child in map(Path, below):
        if child.is_symlink() and is_stray(child, root):
            if _search(child, depth - 1):
                raise StrayLink([child], root)
            continue  # a link to something else than runs
        folders += _search(child, depth - 1, root)
    return folders


#: How to read another run of a folder than its newest; the note on that choice ends with it.
OTHER_THAN_NEWEST = (
    "--timestamp chooses another, --timestamp each takes the newest samples of every task"
)


@dataclass(frozen=True)
class _Place:
    """The calls of a place.

    Attributes:
        path: What the user named.
        folders: Its model folders.
        calls: The calls in them.
    """

    path: Path
    folders: Sequence[Folder]
    calls: Sequence[Invocation]

    @classmethod
    def of(cls, path: Path, folders: Sequence[Folder]) -> Self:
        """Reads which calls lie in some folders."""
        return cls(path, folders, list(calls_in(folders)))

    def folder_of(self, call: Invocation) -> Folder:
        """Returns the folder of a call."""
        holds = (folder for folder in self.folders if _holds(folder, call))
        return next(holds, self.folders[0])

    @cached_property
    def records(self) -> Mapping[str, Manifest]:
        """Run id -> its record; empty for a run without one."""
        folders = {call.run: self.folder_of(call).path for call in self.calls if call.run}
        return {run: record_of(folder, run) for run, folder in folders.items()}

    def typed(self, call: Invocation) -> tuple[TypedOption, ...]:
        """Returns the options of a call that are not those of its prepared command."""
        record = self.records.get(call.run, Manifest())
        return typed_options(call.settings, call.base_command, record)

    def of_id(self, run: str) -> list[Invocation]:
        """Returns the calls of a run id, as prepared; where none is, those with other options."""
        calls = [call for call in self.calls if call.run == run]
        as_prepared = [call for call in calls if not self.typed(call)]
        if as_prepared or not calls:
            return as_prepared
        newest = self.typed(newest_with_tasks(calls))
        return [call for call in calls if self.typed(call) == newest]

    @property
    def as_prepared(self) -> Sequence[Invocation]:
        """The calls without other options than prepared; all of them where each has some."""
        return [call for call in self.calls if not self.typed(call)] or self.calls

    def newest(self) -> Invocation:
        """Returns the newest call as prepared; one with other options where all have some."""
        return newest_with_tasks(self.as_prepared)

    def refuse_rivals(self, newest: Invocation) -> None:
        """Refuses the files of other runs of which nothing tells whether they are newer.

        Raises:
            BadInput: a file has no date, or two have the same.
        """
        rivals = [call for call in self.as_prepared if call.tasks and not _is_of_run(call, newest)]
        undecided = [
            call for call in rivals if newest.moment is None or call.moment in (None, newest.moment)
        ]
        if not undecided:
            return
        files = sorted({str(call.results) for call in (newest, *undecided)})
        raise BadInput(
            Problem(
                what=f"neither a date in the files nor their names tell which run is the "
                f"newest: {shortlist(files, _NAMED)}",
                where=str(self.path),
                fix=f"name the file that counts, e.g. {files[0]}",
            )
        )


def _holds(folder: Folder, call: Invocation) -> bool:
    is_written = call.results in folder.results.values()
    return is_written or any(file in call.samples.values() for _, file in folder.task_files())


def _is_of_run(call: Invocation, newest: Invocation) -> bool:
    """Returns whether a call may be of the run of another one, by its id or its answerer."""
    return (call.run, call.answerer if not call.run else None) == (
        newest.run,
        newest.answerer if not newest.run else None,
    )


def _newest_run(place: _Place) -> RunFiles:
    """The newest run of a place.

    Raises:
        BadInput: the place holds folders of other models, or files without dates.
    """
    newest = place.newest()
    if newest.run:
        files = _of_id(place, newest.run)
        of_run = [call.results for call in place.calls if call.run == newest.run]
        _refuse_others(place.folders, of_run, place.folder_of(newest), place.path)
        place.refuse_rivals(newest)
        return files
    folder = place.folder_of(newest)
    _refuse_others(place.folders, [], folder, place.path)
    place.refuse_rivals(newest)
    calls = folder.invocations()
    choice = joined(call for call in calls if _is_of_run(call, newest))
    if not choice.calls:  # a lone file without a task that can be read
        choice = Choice((newest,), dict.fromkeys(newest.samples, newest))
    notes = _notes_on_choice(choice, calls, folder.path)
    notes += _notes_on_models(calls, newest, folder.path)
    return _files_of(choice, folder, [*notes, *_notes_on_unread(folder)])


def _without_failed(files: RunFiles, place: _Place) -> RunFiles:
    """The files of a run without the tasks that failed in a newer one, which has no results.

    Their values would be those of another run in its place.
    """
    newest = oldest_first(files.invocations)[-1]
    known = {call.run for call in place.calls}
    unread: dict[str, Unread] = {}
    for run, failures in failed_runs(files.folder).items():
        if run not in known and _may_be_of(newest, record_of(files.folder, run)):
            unread |= dict(_failed_later(run, failures, newest))
    if not unread:
        return files
    note = (
        f"a newer run has no results; --timestamp {newest.run or newest.stamp} reads the one before"
    )
    sources = files.sources or {}
    return replace(
        files,
        samples={task: path for task, path in files.samples.items() if task not in unread},
        sources={task: path for task, path in sources.items() if task not in unread},
        unread={**files.unread, **unread},
        notes=(*files.notes, note),
    )


def _may_be_of(call: Invocation, record: Manifest) -> bool:
    """Returns whether a record is of the model of a call, as far as both name one."""
    meant = last_part(record.model)
    own = "" if call.answerer is None else last_part(call.answerer.model)
    return not meant or not own or meant == own


def _failed_later(
    run: str, failures: Mapping[str, Failure], newest: Invocation
) -> Iterator[tuple[str, Unread]]:
    """Yields the tasks of a run that failed after a call began."""
    since = newest.moment[0] if newest.moment is not None else -math.inf
    for task, failure in failures.items():
        if not since < failure.seconds < math.inf:
            continue
        if failure.has_begun:
            yield task, Unread("failed", f"in run {run}: {failure.sentence}")
        else:
            yield task, Unread("not run", "is not run yet")


def _each_task(place: _Place) -> RunFiles:
    """The newest samples of each task of the newest run's model, or of its run id.

    Raises:
        BadInput: the place holds several models.
    """
    newest = place.newest()
    folder = place.folder_of(newest)
    calls = place.of_id(newest.run) if newest.run else []
    _refuse_others(place.folders, [call.results for call in calls], folder, place.path)
    if not newest.run:
        plain = [call for call in folder.invocations() if not call.run]
        _refuse_several_models(plain, folder.path)
        calls = [call for call in plain if _is_same_but_for_place(call, newest)]
    place.refuse_rivals(newest)
    choice = each_newest(calls)
    if not choice.calls:
        choice = Choice((newest,), dict.fromkeys(newest.samples, newest))
    files = _files_of(choice, folder, _notes_on_unread(folder))
    parts = _parts(oldest_first(calls))
    return replace(files, run=newest.run, parts=parts, is_chosen=True)


def _is_same_but_for_place(call: Invocation, newest: Invocation) -> bool:
    """Returns whether two calls have one answerer, whose files may have been moved."""
    own, others = call.answerer, newest.answerer
    if own is None or others is None:
        return True
    return replace(own, model=last_part(own.model)) == replace(
        others, model=last_part(others.model)
    )


def _refuse_several_models(calls: Iterable[Invocation], where: Path) -> None:
    """Refuses to make one run of the calls of several models in one folder.

    Raises:
        BadInput: the results files name several.
    """
    file_of_model: dict[str, Path] = {}
    for call in oldest_first(calls):
        if call.answerer is not None:
            file_of_model[last_part(call.answerer.model)] = call.results
    if len(file_of_model) > 1:
        raise BadInput(
            Problem(
                what=f"the newest samples of each task are of {len(file_of_model)} models: "
                f"{shortlist(list(file_of_model), _NAMED)}",
                where=str(where),
                fix=f"name a results file, e.g. {next(reversed(file_of_model.values()))}",
            )
        )


def _named_run(place: _Place, beginning: str) -> RunFiles:
    """The run of a time stamp: its file, and what the same try of its command wrote beside it.

    Raises:
        BadInput: no time stamp begins so, several do, or there are several folders.
    """
    folder = place.folder_of(place.newest() if len(place.folders) > 1 else place.calls[0])
    _refuse_others(place.folders, [], folder, place.path)
    stamp = _named_stamp(folder, beginning, str(place.path))
    files = of_stamp(folder, stamp)
    call = next(call for call in place.calls if call.stamp == stamp)
    if call.attempt is None:
        return replace(files, is_chosen=True)
    key = call.run, call.base_command, call.attempt
    calls = [
        other
        for other in folder.invocations()
        if (other.run, other.base_command, other.attempt) == key
    ]
    return replace(_files_of(each_newest(calls), folder), is_chosen=True)


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


def _files_of(choice: Choice, folder: Folder, notes: Iterable[str] = ()) -> RunFiles:
    """The files of the calls that were chosen in a folder."""
    newest = choice.calls[-1]
    samples = {}
    for task, call in sorted(choice.by_task.items()):
        if task in call.samples:
            samples[task] = call.samples[task]
    return RunFiles(
        folder=folder.path,
        stamp=newest.stamp,
        results=newest.results if newest.is_written else None,
        samples=samples,
        stamps=tuple(folder.stamps),
        notes=(*notes, *_notes_on_damage(folder)),
        earlier=tuple(call.results for call in choice.calls[:-1] if call.is_written),
        invocations=choice.calls,
        sources={task: call.results for task, call in choice.by_task.items()},
        tries=choice.tries,
        unread=_left_out(choice),
    )


def _left_out(choice: Choice) -> dict[str, Unread]:
    """Task -> why it is not read, of the tasks that only files which are left out have."""
    return {
        task: Unread("left out", f"is not read: only {call.name} has it, which is left out")
        for task, call in sorted(choice.unread.items())
    }


def _notes_on_choice(choice: Choice, calls: Sequence[Invocation], where: Path) -> list[str]:
    """The line about what joined, what was left out, and what is not read of it."""
    known = {id(call) for call in (*choice.calls, *choice.older, *choice.left)}
    rest = [call for call in calls if id(call) not in known]
    empty = [call for call in rest if not call.tasks]
    others = [call for call in rest if call.tasks]
    notes = [f"{files_named(empty)}: no task can be read"] if empty else []
    used = choice.calls
    is_alone = not (choice.older or choice.left or others)
    if is_alone and len(used) < 2:
        return notes
    if len(used) > 1:
        files = [f"{call.stamp} ({shortlist(call.tasks)})" for call in reversed(used)]
        listed = shortlist(files, _NAMED)
        line = f"{len(used)} results files in {where} are one run: {listed}"
    else:
        count = len(calls) - len(empty)
        line = f"{count} runs in {where}: the newest, {used[0].stamp}, is used"
    if is_alone:
        return [line, *notes]
    parts = [line]
    if choice.older:
        parts.append(f"older tries passed over: {files_named(choice.older)}")
    if choice.left:
        ending = choice.left[-1]
        again = sorted(choice.by_task.keys() & set(ending.tasks))
        parts.append(
            f"left out: {files_named(choice.left)}, as {shortlist(again, _NAMED)} was run again; "
            f"not read: {shortlist(list(choice.unread), _NAMED)}"
        )
    if others:
        parts.append(f"of other runs: {files_named(others)}{_difference(used[-1], others)}")
    return [f"{'; '.join(parts)} ({OTHER_THAN_NEWEST})", *notes]


def _difference(call: Invocation, others: Sequence[Invocation]) -> str:
    """The settings by which the newest of other calls is another answerer's; empty without any."""
    newest = oldest_first(others)[-1]
    if call.answerer is None or newest.answerer is None or newest.run:
        return ""
    differences = shortlist(list(call.answerer.differences(newest.answerer)), _NAMED)
    return f" ({differences})" if differences else ""


def _notes_on_unread(folder: Folder) -> Iterator[str]:
    """Yields which results files of a folder are of no run, as a person named them."""
    if folder.unread:
        names = shortlist(list(folder.unread), _NAMED)
        yield (
            f"{folder.path} also holds {names}, without a time stamp in the name: not read here; "
            "name the file to read it"
        )


def _notes_on_models(calls: Iterable[Invocation], newest: Invocation, where: Path) -> list[str]:
    """The note on runs of other models in the folder of one model."""
    own = newest.answerer
    answerers = [call.answerer for call in calls]
    models = {last_part(answerer.model) for answerer in answerers if answerer is not None}
    others = sorted(models - {last_part(own.model)}) if own is not None else []
    if not others:
        return []
    names = shortlist(others, _NAMED)
    return [f"{where} also holds runs of {names}: name their results files to read them"]


def _notes_on_damage(folder: Folder) -> Iterator[str]:
    """Yields which results files cannot be read."""
    for name, reason in folder.damaged.items():
        yield f"{folder.path / name} is damaged ({reason}) and is not read"


def _no_run_at(start: Path) -> BadInput:
    if start.exists() and not start.is_dir():
        check_regular(start)
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


def find_run(
    path: str | os.PathLike[str],
    *,
    timestamp: str = NEWEST,
    run: str = "",
    answerer: AnsweredBy | None = None,
) -> RunFiles:
    """Find the files of one run.

    Args:
        path: Output folder, model folder, `results_*.json` or `samples_*.jsonl`.
        timestamp: `newest` (default), `each` (the newest samples of each task, for runs made task
            by task), the beginning of a stamp, or the id of a run.
        run: Id of the run that is wanted, instead of the newest.
        answerer: Who answered the run that is wanted, among those without an id.

    Raises:
        BadInput: no run there, or no such time stamp.
    """
    if isinstance(path, SampleFiles):
        return of_samples(path)
    start = Path(path)
    if start.is_file():
        return _run_of_file(start, run)
    places = _without_loose(every_place(start)) if start.is_dir() else []
    folders = [*places, *_unpublished(start)] if start.is_dir() else []
    if not folders:
        refuse_pointers(start)
        raise _no_run_at(start)
    place = _Place.of(start, folders)
    named = run or (timestamp if _RUN_ID.fullmatch(timestamp) else "")
    if named:
        return replace(_run_of_id(place, named), is_chosen=not run)
    if answerer is not None:
        return _run_of_answerer(place, answerer)
    if timestamp == NEWEST:
        return _without_failed(_newest_run(place), place)
    return _each_task(place) if timestamp == EACH else _named_run(place, timestamp)


def _unpublished(output: Path) -> list[Folder]:
    """The tasks that an unfinished run of `evalprep run` has finished, as files of its output.

    What a run has finished stands in folders of its units until the run ends. A task that is cut
    into several units is not read before.
    """
    folder = Folder(output)
    for run in unpublished_runs(output):
        for unit in sorted((run / _UNITS).glob("*/unit.json")):
            is_under_way = unit.parent.suffix == ".part"
            finished = None if is_under_way or is_stray(unit, output) else read_unit(unit)
            if finished is None or not finished.whole:
                continue
            for files in _search(unit.parent, root=output):
                folder.results |= files.results
                folder.samples |= files.samples
    return [folder] if folder.stamps else []


#: Of a run folder: it has a folder for each unit, whose name ends in `.part` until it is finished.
_UNITS = "units"


def _run_of_answerer(place: _Place, answerer: AnsweredBy) -> RunFiles:
    """The newest run without an id that somebody answered."""
    calls = [call for call in place.calls if not call.run and call.answerer == answerer]
    choice = joined(calls)
    folder = place.folder_of(choice.calls[-1])
    return _files_of(choice, folder, _notes_on_choice(choice, calls, folder.path))


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


def _run_of_file(file: Path, run: str) -> RunFiles:
    """The run of a results file, or that of one samples file alone.

    Raises:
        BadInput: it is neither.
    """
    refuse_pointers(file)
    match = SAMPLES.fullmatch(file.name) or RESULTS.fullmatch(file.name)
    if match is not None:
        folder, stamp = read_folder(file.parent), match["stamp"]
        task = match.groupdict().get("task")
    else:
        folder = _folder_without_stamps(file)
        stamp = folder.stamps[-1]
        tasks = [name for name, path in folder.task_files() if path == file]
        task = tasks[0] if tasks else None  # of a results file
    if run:
        return _run_of_id(_Place.of(file, [folder]), run)
    files = of_stamp(folder, stamp)
    return files if task is None else replace(files, samples={task: file})


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


def _run_of_id(place: _Place, run: str) -> RunFiles:
    """The run of an id, in the newest tries of its commands.

    Raises:
        BadInput: there are no results of it.
    """
    if not place.of_id(run):
        what = f"no results of the run {run}"
        others = dict.fromkeys(call.run for call in place.calls if call.run)
        allowed = ", ".join(others)
        fix = "run its commands first"
        raise BadInput(Problem(what=what, where=str(place.path), allowed=allowed, fix=fix))
    # Whoever named this run needs no note that there are others.
    return replace(_of_id(place, run), notes=())


def _of_id(place: _Place, run: str) -> RunFiles:
    """The files of a run with an id, of which there are calls."""
    calls = oldest_first(place.of_id(run))
    failures = read_failures(_home_of(calls[-1], place), run)
    choice = of_run(calls, failures)
    unread = _left_out(choice)
    if not choice.calls:  # nothing of the newest tries was finished: the settings alone are known
        choice = replace(choice, calls=(calls[-1],))
    newest = choice.calls[-1]
    files = _files_of(choice, place.folder_of(newest), _notes_on_others(place, run))
    return replace(
        files,
        folder=_home_of(newest, place),
        stamps=tuple(sorted(set().union(*(each.stamps for each in place.folders)))),
        run=run,
        unread=unread,
        parts=_parts(oldest_first((*choice.calls, *choice.older))),
    )


def _home_of(call: Invocation, place: _Place) -> Path:
    """The folder of a call's files; of an unfinished run the output folder that it is part of."""
    home = call.results.parent
    return place.path if runs_in(place.path) in home.parents else home


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


def of_stamp(folder: Folder, stamp: str) -> RunFiles:
    """Returns the files of one time stamp of a folder."""
    return RunFiles(
        folder=folder.path,
        stamp=stamp,
        results=folder.results.get(stamp),
        samples=dict(sorted(folder.samples.get(stamp, {}).items())),
        stamps=tuple(folder.stamps),
        notes=tuple(_notes_on_damage(folder)),
    )


def of_samples(named: SampleFiles) -> RunFiles:
    """Returns the run of samples files that were named one by one; of a task the newest counts.

    Raises:
        BadInput: they are of several models.
    """
    calls = [
        replace(call, tasks=tuple(call.samples))
        for call in named.place.invocations()
        if call.samples
    ]
    _refuse_several_models(calls, named.place.path)
    files = _files_of(each_newest(calls), named.place)
    return replace(files, parts=_parts(oldest_first(calls)))


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


def timestamp_of_each(places: Sequence[str | os.PathLike[str]], timestamp: str) -> list[str]:
    """Returns which run of each of some places a `--timestamp` chooses.

    An id or a stamp is that of the places that have it, the newest run counts in the others. Of a
    place that is named twice the first has it.

    Args:
        places: What `find_run` takes.
        timestamp: The word of the user.
    """
    if timestamp in {NEWEST, EACH} or len(places) < 2:
        return [timestamp] * len(places)
    chosen: list[str] = []
    for at, place in enumerate(places):
        is_named_before = str(place) in [str(other) for other in places[:at]]
        has_it = not is_named_before and _has_run(Path(place), timestamp)
        chosen.append(timestamp if has_it else NEWEST)
    return chosen if timestamp in chosen else [timestamp] * len(places)


def _has_run(place: Path, timestamp: str) -> bool:
    """Returns whether a folder has calls of a run id or of a time stamp that begins so."""
    calls = calls_in(_search(place)) if place.is_dir() else iter(())
    return any(call.run == timestamp or call.stamp.startswith(timestamp) for call in calls)


def places_below(start: Path) -> list[Folder]:
    """Every place with files of runs at or below a folder.

    Places without samples are left out where others have some.
    """
    return that_count(every_place(start))


def _without_loose(places: list[Folder]) -> list[Folder]:
    """The places without scores in files that somebody named, where others have samples."""
    if not any(place.samples for place in places):
        return places
    return [place for place in places if place.samples or not place.is_loose]


def that_count(places: list[Folder]) -> list[Folder]:
    """The places with samples; all of them where none has any."""
    return [place for place in places if place.samples] or places


def every_place(start: Path) -> list[Folder]:
    """Every place with files of runs at or below a folder, also those without samples."""
    return gathered(_search(start), start)


def _parts(calls: Iterable[Invocation]) -> dict[str, tuple[tuple[Path, Path], ...]]:
    """Task of which several calls have samples -> its samples files with their results files."""
    files_by_task: dict[str, list[tuple[Path, Path]]] = {}
    for call in calls:
        if not call.is_written:  # nothing tells which rows it was to have
            continue
        for task, path in call.samples.items():
            files_by_task.setdefault(task, []).append((path, call.results))
    return {task: tuple(files) for task, files in files_by_task.items() if len(files) > 1}


def run_calls(place: Path, run: str) -> list[Invocation]:
    """The calls below a folder that are of one run, oldest first.

    Those with other options than prepared are of another run.
    """
    here = _Place.of(place, _search(place) if place.is_dir() else [])
    own = [call for call in here.calls if call.run == run]
    return oldest_first(call for call in own if not here.typed(call))


def typed_calls(place: Path, run: str) -> list[tuple[Invocation, tuple[TypedOption, ...]]]:
    """Returns the calls of a run id with other options than prepared, oldest first."""
    here = _Place.of(place, _search(place) if place.is_dir() else [])
    own = [call for call in here.calls if call.run == run]
    options = {id(call): here.typed(call) for call in own}
    return [(call, options[id(call)]) for call in oldest_first(own) if options[id(call)]]


def calls_below(place: Path) -> list[Invocation]:
    """Every call with a results file at or below a folder, oldest first.

    Raises:
        StrayLink: a file or folder of a run is a link that leaves the folder.
    """
    folders = _search(place) if place.is_dir() else []
    return [call for call in oldest_first(calls_in(folders)) if call.is_written]


def newest_calls(start: Path) -> tuple[list[str], list[Invocation]]:
    """Returns which runs are the newest at or below a folder.

    Of each model folder that is a run id, or its calls without one, oldest first.

    Raises:
        BadInput: nothing tells which of two files of a task is the newer one.
    """
    ids: dict[str, None] = {}
    plain: list[Invocation] = []
    for folder in gathered(_search(start), start) if start.is_dir() else []:
        calls = folder.invocations()
        newest = newest_with_tasks(_Place(folder.path, [folder], calls).as_prepared)
        if newest.run:
            ids[newest.run] = None
        else:
            own = [call for call in calls if not call.run and call.is_written]
            refuse_undecided(own)
            plain += own
    return list(ids), oldest_first(plain)


def newest_id(folder: Folder) -> str:
    """Id of the run that the newest results of a folder belong to; empty where they name none."""
    calls = _Place.of(folder.path, [folder]).as_prepared
    return newest_with_tasks(calls).run if calls else ""


def _notes_on_others(place: _Place, run: str) -> list[str]:
    """Says that a place holds other runs, too, and files of this one that do not count."""
    own = place.of_id(run)
    known = {id(call) for call in own}
    others = [call for call in place.calls if id(call) not in known]
    typed = [call for call in others if call.run == run]
    notes = []
    if options := place.typed(own[-1]):
        notes.append(f"run {run} was not called as prepared: {sentence_of(options)}")
    if typed:
        options = place.typed(oldest_first(typed)[-1])
        notes.append(
            f"{files_named(typed)}: run {run} with other options ({sentence_of(options)}) is "
            "another run; name the file to read it"
        )
    names = dict.fromkeys(call.run or call.stamp for call in others if call.run != run)
    if names:
        note = f"{len(names) + 1} runs in {place.path}: the newest, {run}, is used"
        notes.append(f"{note} (--timestamp chooses another: {shortlist(list(names), _NAMED)})")
    return notes
