"""One task scored anew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from evalprep.errors import BadInput, Problem
from evalprep.packs import Pack
from evalprep.rescore import limit
from evalprep.rescore.place import find_places
from evalprep.rescore.scorer import Outcome, Scorer
from evalprep.rescore.tally import TaskRescore, primary_of, scorer_changes, tallies_beside, tally
from evalprep.rescore.values import MetricValues, filters_of
from evalprep.rescore.workers import Workers
from evalprep.rescore.writer import RunWriter
from evalprep.results import Run, TaskRun
from evalprep.samples import Metric, Sample
from evalprep.terminal import counted, shortlist


def rescore_task(
    run: Run,
    name: str,
    *,
    work_dir: Path | None = None,
    packs: Mapping[str, Pack] | None = None,
    workers: Workers | None = None,
    writer: RunWriter | None = None,
) -> TaskRescore:
    """Scores one task's saved samples anew.

    Args:
        run: The run.
        name: The task.
        work_dir: Folder of the task YAMLs; by default where the task was prepared.
        packs: Installed packs, whose templates are scorers too.
        workers: The processes that score, shared by all tasks; None for this one alone.
        writer: Where the rescored samples go; None writes nothing.

    Raises:
        BadInput: the task cannot be loaded from any place that may be used, or its scorer does not
            come to an end.
    """
    task = run.task(name)
    scorer = _scorer(run, task, work_dir, packs or {})
    fresh = scorer.task
    primary = primary_of(task, fresh)
    result = TaskRescore(
        name,
        primary.metric,
        primary.filter,
        scorer=scorer.place.title,
        scorer_changed=scorer_changes(task, fresh),
    )
    # Any one filter's lines hold every document once; the primary one also has the old verdicts.
    is_saved = primary.filter in task.table(primary.filter).filters
    saved = primary.filter if is_saved else task.primary.filter
    rows = len(task.table(saved))
    scored = _not_too_slow(
        name, (workers or Workers(1)).outcomes(scorer, task.samples(saved), rows)
    )
    pairs = tally(result, primary, scored)
    for beside in tallies_beside(task, fresh, primary):
        result.filters.append(beside.result)
        pairs = beside.take(pairs)
    if writer is not None:
        metrics = writer.write(task, fresh, pairs)
    else:
        values = MetricValues(filters_of(fresh))
        for _, outcome in pairs:
            values.add(outcome)
        metrics = values.metrics(fresh)
    if result.previous is None and result.now is None:
        _take_values_over_all_rows(result, task, metrics)
    result.filters = [item for item in result.filters if (item.previous, item.now) != (None, None)]
    return result


def _take_values_over_all_rows(
    result: TaskRescore, task: TaskRun, metrics: Sequence[Metric]
) -> None:
    """Fills in the values of a metric that rows have no score of: as logged, and as of today."""
    logged = task.metric(result.metric, result.filter)
    if logged.value is None:
        return
    result.over_all_rows = True
    result.previous = logged.value
    metric_of_key = {metric.key: metric for metric in metrics}
    if today := metric_of_key.get(logged.key):
        result.now = today.value
        result.not_computed = today.text


def _not_too_slow(
    name: str, pairs: Iterator[tuple[Sample, Outcome]]
) -> Iterator[tuple[Sample, Outcome]]:
    """Passes outcomes on, until the scorer was stopped too often to be waited for."""
    stopped: list[str] = []
    for sample, outcome in pairs:
        if outcome.stopped:
            stopped.append(sample.sample_id)
        if len(stopped) >= limit.MOST_STOPS:
            raise BadInput(
                Problem(
                    what="cannot be rescored: its scorer was stopped after "
                    f"{limit.SECONDS:g} s of CPU time on each of "
                    f"{counted(len(stopped), 'row')} ({shortlist(stopped)})",
                    where=f"task {name}",
                    fix="look for nested repeats in the patterns of its filters; "
                    "evalprep check names them (EP234)",
                )
            )
        yield sample, outcome


def _scorer(run: Run, task: TaskRun, work_dir: Path | None, packs: Mapping[str, Pack]) -> Scorer:
    """The first scorer that can be loaded.

    Raises:
        BadInput: none can be, or not the one that the user prepared.
    """
    candidates = find_places(run, task, work_dir, packs)
    if not any(place.first is not None for place in candidates.places):
        raise BadInput(
            Problem(what="no line of its samples file can be used", where=f"task {task.name}")
        )
    reasons = list(candidates.unused)
    for place in candidates.places:
        try:
            return Scorer.load(place)
        except BadInput as error:
            reasons += [problem.what for problem in error.problems]
            if place.binding:
                break
    raise BadInput(
        Problem(
            what=f"cannot be rescored: {'; '.join(reasons)}",
            where=f"task {task.name}",
            fix="name the folder of the task's YAML with --work_dir",
        )
    )
