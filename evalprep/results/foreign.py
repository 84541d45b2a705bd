"""A run out of results that another tool wrote.

A log that a pack reads, or a `scores.json` of this tool.

The rows of a log become samples, so that scores, comparisons, reports and judges need no second
way. What the log states of a score stands in `Run.stated`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from evalprep.errors import BadInput, Problem
from evalprep.files import name_place
from evalprep.packs import Log, LoggedRow, LoggedTask, Pack
from evalprep.readers import (
    SCORES,
    SCORES_FOLDER,
    Dataset,
    Reading,
    RowCounts,
    RunResults,
    TaskResults,
    TaskSettings,
    call_settings,
    chosen_reading,
    direction_of,
    known_metric,
    read_scores,
    stored_metrics,
)
from evalprep.results.directions import turned_notes
from evalprep.results.files import NEWEST, RunFiles, places_below
from evalprep.results.gathering import LogFiles, NamedFiles, files_of
from evalprep.results.loading import load_run
from evalprep.results.run import Run
from evalprep.results.run_places import Named, each_run
from evalprep.results.task import TaskRun
from evalprep.samples import LM_EVAL, RESERVED, InMemory, Metric, Sample, packed, row_id

_FILTER = "none"
_decoder = msgspec.msgpack.Decoder(LoggedRow)
_SUFFIXES = ("_with_metadata", "_results")  # of files that are called after their model


def _read_tool_run(path: Named, reading: Reading) -> Run | None:
    """The results of another tool at a place; None where no reader knows any."""
    from evalprep.results.tool_runs import read_tool_run  # few places are of another tool

    return read_tool_run(path, reading)


def open_run(
    path: str | os.PathLike[str], packs: Iterable[Pack], *, timestamp: str = NEWEST
) -> Run:
    """Open a run of lm-eval, a log that one of the packs reads, or results of another tool.

    Args:
        path: What `load_run` takes, or the file or folder of a log.
        packs: The packs that are asked about a log.
        timestamp: As `load_run` takes it.

    Raises:
        BadInput: none of them is there, or a log is damaged.
    """
    run = _opened(path, packs, timestamp)
    is_of_known_files = run.log is None or run.tool != LM_EVAL
    if isinstance(path, NamedFiles) or not Path(path).is_dir() or not is_of_known_files:
        return run
    from evalprep.results.other_files import notes_on_others, others_in, with_notes

    start = Path(path)
    tool = "" if run.log is None else run.tool
    return with_notes(run, notes_on_others(others_in(start, tool=tool)))


def _opened(path: str | os.PathLike[str], packs: Iterable[Pack], timestamp: str) -> Run:
    """The run at a place.

    Raises:
        BadInput: there is none, or a log is damaged.
    """
    reading = chosen_reading()
    for file in files_of(path):
        name_place(file)
    # A file of another tool is told by its first line; others would read it whole to refuse it.
    if isinstance(path, LogFiles) or Path(path).is_file() or reading.format:
        run_of_tool = _read_tool_run(path, reading)
        if run_of_tool is not None:
            return run_of_tool
    try:
        run = load_run(path, timestamp=timestamp)
    except BadInput as error:
        return _open_log(Path(path), packs, reading, error)
    is_ours = bool(run.tasks or run.files.run)
    return run if is_ours else _log_beside(Path(path), packs, reading, run)


def _log_beside(path: Path, packs: Iterable[Pack], reading: Reading, run: Run) -> Run:
    """The log of another tool, whose results file may bear the name of one of lm-eval's.

    The run of lm-eval, which has scores without samples, where there is no other.
    """
    try:
        if (with_samples := _read_tool_run(path, reading)) is not None:
            return with_samples
    except BadInput:  # scores without samples are a run of lm-eval all the same
        return run
    has_values = any(task.metrics for task in run.logged.tasks.values())
    if has_values and not run.logged.tool:
        return run
    return read_log(path, packs) or run


def _open_log(path: Path, packs: Iterable[Pack], reading: Reading, error: BadInput) -> Run:
    """A log of a pack or of another tool.

    Raises:
        BadInput: it is neither, which is why lm-eval's reader refused it.
    """
    run = read_log(path, packs)
    # Several runs of lm-eval are no reason to read another tool's beside them.
    has_samples = path.is_dir() and any(place.samples for place in places_below(path))
    if run is None and (reading.format or reading.columns or not has_samples):
        run = _read_tool_run(path, reading)
    if run is not None:
        return run
    if not path.exists():
        raise error
    raise BadInput([_with_appearance(problem, path) for problem in error.problems]) from error


def _with_appearance(problem: Problem, path: Path) -> Problem:
    """The problem of a place that nothing reads, with what it looks like."""
    from evalprep.readers import FORMATS, appearance

    if not problem.allowed:
        return problem
    others = f"{problem.allowed}; a log that a pack reads; or results of {', '.join(FORMATS)}"
    if not path.is_file():
        from evalprep.results.other_files import notes_on_others, others_in

        files = "; ".join(notes_on_others(others_in(path))) if path.is_dir() else ""
        what = f"{problem.what}; {files}" if files else problem.what
        return replace(problem, what=what, allowed=others)
    unread = appearance(path)
    what = f"no results that evalprep reads: it looks like {unread.what}"
    return replace(problem, what=what, allowed=others, fix=unread.fix)


def read_log(path: Path, packs: Iterable[Pack], *, complete: bool = True) -> Run | None:
    """The log at a path as a run; None where no pack knows it.

    Args:
        path: A file, or a folder with logs.
        packs: The packs that are asked, in order.
        complete: Also intervals of what the log states; a reference needs none.

    Raises:
        BadInput: a log is damaged, or a pack's reader fails.
    """
    if not (path.is_file() or path.is_dir()):
        return None
    for pack in packs:
        known = _log_of_pack(path, pack, complete=complete)
        if known is not None:
            log, results = known
            stated = {f"{pack.name}/{name}": dict(values) for name, values in results.items()}
            return _run(path, log, stated, pack)
    return _of_own_scores(path)


def _log_of_pack(
    path: Path, pack: Pack, *, complete: bool
) -> tuple[Log, Mapping[str, Mapping[str, Any]]] | None:
    """The log as a pack reads it, and its results; None where the pack does not know it."""
    module = pack.module("references")
    try:
        loaded = module.load(path) if module is not None else None
        if not loaded:
            return None
        log = _with_model(_as_log(loaded), module, path)
        results = log.results
        completed = getattr(module, "complete", None) if complete else None
        if completed is not None:
            results = completed(results)
    except BadInput:
        raise
    except Exception as error:
        raise BadInput(
            Problem(
                what=f"references.py of pack {pack.name} failed: {error!r}",
                where=str(path),
                fix=f"correct the file, or {pack.folder / 'references.py'}",
            )
        ) from error
    return log, results


def _as_log(loaded: Any) -> Log:
    """Returns what a pack's reader returned; a mapping holds the results alone."""
    if isinstance(loaded, Log):
        return loaded
    return Log({str(name): dict(values) for name, values in loaded.items()})


def _with_model(log: Log, module: Any, path: Path) -> Log:
    """The log with the model's name, which a pack may read from the path."""
    model_of = getattr(module, "model_of", None)
    if log.model or model_of is None:
        return log
    return replace(log, model=str(model_of(path)))


def each_place(paths: Iterable[Named], packs: Iterable[Pack]) -> list[Named]:
    """The runs and the logs at the places that users name, one by one, folders of several opened.

    A place that is named twice counts once.

    Args:
        paths: What `each_run` takes.
        packs: The packs that are asked about logs, in order.
    """
    known_packs = list(packs)
    places = list(chain.from_iterable(_each_log(place, known_packs) for place in each_run(paths)))
    place_of: dict[tuple[str, ...], Named] = {}
    for place in places:
        files = tuple(map(os.path.realpath, files_of(place)))
        place_of.setdefault(files, place)
    return list(place_of.values())


def _each_log(path: Named, packs: Iterable[Pack]) -> list[Named]:
    """The logs below a folder that holds no run of lm-eval, at any depth.

    They are named by the first pack that reads such logs.

    Args:
        path: What `each_run` returns; what is no such folder is left as it is.
        packs: The packs that are asked, in order.
    """
    if not Path(path).is_dir() or places_below(Path(path)):
        return [path]
    for pack in packs:
        logs = _without_copies(_logs_below(Path(path), pack))
        # A single log in the folder itself is opened by the folder's name.
        is_below = len(logs) == 1 and logs[0].is_dir() and logs[0] != Path(path)
        if len(logs) > 1 or is_below:
            return [*logs]
    from evalprep.results.tool_runs import places_of_models

    return [*places_of_models(Path(path), chosen_reading())]


def _logs_below(folder: Path, pack: Pack) -> list[Path]:
    """The logs below a folder as the pack's `references.py` names them; none where it does not."""
    named = getattr(pack.module("references"), "logs", None)
    if named is None:
        return []
    with pack.explained_failures(f"logs of {folder}"):
        return [Path(log) for log in named(folder)]


def _without_copies(logs: list[Path]) -> list[Path]:
    """The logs but for those that `score` wrote of another one, in the same form, below it."""
    folders = {log if log.is_dir() else log.parent for log in logs}

    def is_copy(log: Path) -> bool:
        written = [
            folder for folder in (log, *log.parents) if folder.name.startswith(SCORES_FOLDER)
        ]
        return any(folder.parent in folders for folder in written)

    return [log for log in logs if not is_copy(log)]


def name_of_log(path: Path) -> str:
    """The name of a log: its folder, or its file without the endings that say what it holds.

    >>> name_of_log(Path("runs/gpt-3.5_results.json"))
    'gpt-3.5'
    """
    if path.is_dir():
        return path.name
    name = path.name.removesuffix(".json")
    for suffix in _SUFFIXES:
        name = name.removesuffix(suffix)
    return name


def _of_own_scores(path: Path) -> Run | None:
    """The run of a `scores.json` of this tool; None for anything else."""
    file = path / SCORES if path.is_dir() else path
    if file.suffix != ".json" or not file.is_file():
        return None
    kept = read_scores(file)
    return None if kept is None else _run(path, Log({}, model=kept.model), kept.results)


def _turned_by(pack: Pack, tasks: Iterable[str]) -> dict[str, tuple[str, str]]:
    """The directions that a pack gives to tasks of lm-eval, with its name."""
    return {name: (pack.better[name], pack.name) for name in tasks if name in pack.better}


def _run(
    path: Path, log: Log, stated: Mapping[str, Mapping[str, Any]], pack: Pack | None = None
) -> Run:
    place = path.resolve()
    folder = place if path.is_dir() else place.parent
    model = log.model or name_of_log(place)
    name = re.sub(r"[^\w.-]+", "_", place.name if path.is_dir() else place.stem)
    files = RunFiles(folder=folder, stamp=name, results=None, samples={})
    turned = _turned_by(pack, log.stored) if pack is not None else {}
    logged = _as_results(log, model, pack.name if pack is not None else "")
    tasks = {}
    for task, rows in log.tasks.items():
        samples = LoggedSamples(place, list(map(packed, rows.rows)))
        tasks[task] = TaskRun(task, samples, logged.tasks[task], values_only=not rows.has_replies)
    return Run(
        files,
        logged,
        tasks,
        [*log.notes, *turned_notes(turned)],
        stated=stated,
        log=place,
        turned=turned,
    )


def _as_results(log: Log, model: str, pack: str) -> RunResults:
    """The results of a log in the place of lm-eval's results file.

    What the log does not state is left out, and so unknown.
    """
    stored = {
        name: TaskResults(name=name, metrics=stored_metrics(values, {}, {}))
        for name, values in log.stored.items()
    }
    return RunResults(
        settings=call_settings({"config": dict(log.settings), "model_name": model}),
        tasks={**stored, **{name: _task(name, task, pack) for name, task in log.tasks.items()}},
        read=True,
    )


def _task(name: str, task: LoggedTask, pack: str) -> TaskResults:
    """The statements of a log on one task of a pack."""
    metadata = {
        **task.metadata,
        "pack": pack,
        "primary_metric": task.metric,
        "primary_filter": _FILTER,
    }
    directions = {metric: direction_of(up) for metric, up in task.higher_is_better.items()}
    known = known_metric(task.metric)
    logged = [row.values.get(task.metric) for row in task.rows]
    values = [float(value) for value in logged if isinstance(value, (int, float))]
    metric = Metric(
        metric=task.metric,
        filter=_FILTER,
        value=sum(values) / len(values) if values else None,
        direction=directions.get(task.metric, known.direction),
        aggregation="mean",
        unit=known.unit,
        range=known.range,
    )
    return TaskResults(
        name=name,
        metrics=(metric,),
        directions=directions,
        settings=TaskSettings(
            metadata=metadata, dataset=Dataset(task.data), as_logged={"metadata": metadata}
        ),
        rows=RowCounts(effective=len(task.rows)),
    )


@dataclass(frozen=True)
class LoggedSamples(InMemory):
    """The samples of a task of a log that a pack read.

    Attributes:
        path: The file or folder of the log.
        rows: Its rows, encoded: as objects they would take several times the memory.
    """

    path: Path
    rows: Sequence[bytes] = field(repr=False)

    def __len__(self) -> int:
        return len(self.rows)

    def sample(self, number: int) -> Sample:
        """Returns a sample."""
        return _sample(number, _decoder.decode(self.rows[number]))


def _sample(number: int, row: LoggedRow) -> Sample:
    """A row of a log as a sample.

    It has no digests: its columns are not all of those that lm-eval would have made them of.
    """
    replies = [] if row.reply is None else [row.reply]
    doc = {**row.doc, "index": row.index}
    return Sample(
        sample_id=row_id(doc, "", row.index)[0],
        doc_id=row.index,
        logged_doc=doc,
        target=row.target,
        logged_arguments={"gen_args_0": {"arg_0": row.prompt, "arg_1": {}}} if row.prompt else {},
        resps=[replies] if replies else [],
        filtered_resps=replies,
        filter=_FILTER,
        metrics={name: value for name, value in row.values.items() if name not in RESERVED},
        line=number + 1,
    )
