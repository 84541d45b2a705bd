"""All quantities of two runs, or of a run and its published verdicts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import msgspec

from evalprep.compare.agreement import lone_metric_sentences, lone_metrics
from evalprep.compare.comparison import PUBLISHED, Comparison
from evalprep.compare.concluding import conclude
from evalprep.compare.overall import overall
from evalprep.compare.quantities import Quantities, refuse_wide_margin
from evalprep.compare.rows import TaskQuantities, measure_task
from evalprep.compare.same_outputs import same_outputs
from evalprep.compare.settings import Settings
from evalprep.compare.sides import Sides
from evalprep.compare.stored import measure_stored
from evalprep.compare.tasknames import with_names_of
from evalprep.compare.unpaired import nothing_paired
from evalprep.compare.warnings import unread_warnings, warnings_of
from evalprep.errors import BadInput, Problem, Problems, near
from evalprep.packs import Pack
from evalprep.results import (
    NamedMetric,
    Run,
    agreed,
    odd_verdicts,
    read_by_choice,
    refuse_undecided,
)
from evalprep.score import packs_of

if TYPE_CHECKING:
    from evalprep.score import Scores


def compare_runs(
    run: Run,
    other: Run | None = None,
    packs: Mapping[str, Pack] | None = None,
    *,
    settings: Settings | None = None,
    tasks: Sequence[str] | None = None,
    metric: str = "",
    filter_name: str = "",
    choices: Sequence[NamedMetric] = (),
    scores: tuple[Scores, Scores] | None = None,
    **options: Any,
) -> Comparison:
    """Compares a run with the verdicts published in its rows, or with another run.

    Args:
        run: The candidate: the run under test.
        other: The baseline that it is held against; None for the published verdicts
            (`doc.previously_is_correct`).
        packs: As of `measure`, like `tasks`, `choices` and `scores`; none by default.
        settings: Levels, limits, and what may differ.
        tasks: Task or group names.
        metric: Metric to compare instead of each task's primary one.
        filter_name: Filter to read instead of each task's primary one.
        choices: Metrics of some tasks to compare instead.
        scores: Scores of both runs.
        options: Fields of `Settings`, where none are given.

    Raises:
        BadInput: as `measure`.
    """
    for_all = [NamedMetric(metric, filter=filter_name)] if metric or filter_name else []
    quantities = measure(
        run,
        other,
        packs or {},
        settings or Settings(**options),
        tasks=tasks,
        choices=[*choices, *for_all],
        scores=scores,
        with_suite=packs is not None,
    )
    return conclude([quantities])[0]


def measure(
    run: Run,
    other: Run | None,
    packs: Mapping[str, Pack],
    settings: Settings,
    *,
    tasks: Sequence[str] | None = None,
    choices: Sequence[NamedMetric] = (),
    scores: tuple[Scores, Scores] | None = None,
    without_mean: Collection[str] | None = None,
    with_suite: bool = True,
) -> Quantities:
    """Measures two runs by their tasks and by the suite scores that packs declare.

    Suite scores are part of it where all tasks are compared by their own metrics.

    Args:
        run: The candidate.
        other: The baseline; None for the published verdicts.
        packs: All packs.
        settings: Levels, limits, and what may differ.
        tasks: Task or group names; all tasks of either side by default.
        choices: Metrics of some tasks to compare instead of their primary ones.
        scores: Scores of both runs, where they are known already.
        without_mean: As `tasks_without_mean` says of all runs of the page, where there are more.
        with_suite: Whether suite scores are asked for.

    Raises:
        BadInput: an unknown task, metric, filter or fact; a confidence outside (0, 1); a margin
            that no difference can exceed; two runs without a common task; a mistake in a pack.
    """
    settings.check()
    if without_mean is None:
        sides = [run] if other is None else [run, other]
        without_mean = tasks_without_mean(sides, packs)
    quantities = _measure_tasks(run, other, settings, tasks, choices, without_mean)
    if other is None or tasks or choices or not with_suite:
        return quantities
    return add_suite(quantities, run, other, packs, settings, scores=scores)


def add_suite(
    measured: Quantities,
    run: Run,
    other: Run,
    packs: Mapping[str, Pack],
    settings: Settings,
    *,
    scores: tuple[Scores, Scores] | None = None,
) -> Quantities:
    """Measures every suite score that both runs have a declaration of, too.

    Both sides are computed over the rows that both have scored.

    Args:
        measured: The two runs by their tasks.
        run: The candidate.
        other: The baseline.
        packs: All packs.
        settings: Levels, limits, and what may differ.
        scores: Scores of both runs, where they are known already.

    Raises:
        BadInput: a mistake in a pack.
    """
    if scores is None and not (packs_of(run, packs) or packs_of(other, packs)):
        return measured
    from evalprep.compare.suite import suite_quantities  # scoring is a third of our modules

    suite = suite_quantities(measured, run, other, packs, settings, scores)
    return replace(measured, suite=suite)


def _measure_tasks(
    run: Run,
    other: Run | None,
    settings: Settings,
    names: Sequence[str] | None,
    choices: Sequence[NamedMetric],
    without_mean: Collection[str],
) -> Quantities:
    """Two runs by their tasks, and by the mean over these.

    Raises:
        BadInput: an unknown task, metric or filter; a margin that no difference can exceed; two
            runs without a common task.
    """
    run, other, matches = _read_alike(run, other, names, choices)
    selection = _select_tasks(run, other, names)
    refuse_undecided([run] if other is None else [run, other], selection.sampled)
    measured = [measure_task(Sides.of(run, other, name), settings) for name in selection.sampled]
    stored = [] if other is None else measure_stored(run, other, selection.stored, settings)
    if other is not None:
        _refuse_nothing_paired(run, other, measured)
        if not (measured or stored or run.unread or other.unread):
            raise _no_common_task(run, other)
    tasks = [task.first for task in measured]
    whole = list(chain.from_iterable(task.metrics for task in measured))
    further = list(chain.from_iterable(task.further for task in measured))
    refuse_wide_margin([*tasks, *whole, *further, *stored], settings.margin)
    rows = {task.first.name: task.rows for task in measured}
    together = overall(
        tasks,
        rows,
        selection.known,
        confidence=settings.confidence,
        without=without_mean,
        stored=bool(stored),
    )
    missing_metrics, extra_metrics = _lone_metrics(run, other, selection)
    of_rows = list(rows.values())
    same = same_outputs(run, other, selection.common, of_rows)
    return Quantities(
        run=run.label,
        other=PUBLISHED if other is None else other.label,
        tasks=tasks,
        overall=together.mean,
        overall_reason=together.reason,
        pooled=together.pooled,
        rows=rows,
        confidence=settings.confidence,
        metrics=whole,
        further=further,
        stored=stored,
        margin=settings.margin,
        allow=tuple(settings.allow),
        rule=run.rule,
        warnings=[
            *same.warnings,
            *unread_warnings(run, other, selection.unread),
            *warnings_of(run, other, of_rows, selection.missing, selection.extra, selection.shared),
            *missing_metrics,
            *extra_metrics,
        ],
        notes=[*_notes_of_runs(matches, run, other), *same.notes],
        missing_tasks=selection.missing,
        extra_tasks=selection.extra,
        unread_tasks=selection.unread,
        missing_metrics=missing_metrics,
        extra_metrics=extra_metrics,
    )


def _read_alike(
    run: Run, other: Run | None, names: Sequence[str] | None, choices: Sequence[NamedMetric]
) -> tuple[Run, Run | None, list[str]]:
    """Both runs by the metrics that the user names, and under the candidate's names of tasks.

    With one direction for each task, and notes on names that were matched.
    """
    if other is None:
        return read_by_choice([run], choices)[0], None, []
    run, other = read_by_choice(agreed([run, other]), choices)
    return run, *with_names_of(other, run, names)


def _notes_of_runs(matches: Sequence[str], run: Run, other: Run | None) -> list[str]:
    """Returns what was decided on the user's behalf, and which verdicts were not lm-eval's."""
    own = [*run.notes, *odd_verdicts(run)]
    if other is None:
        return list(dict.fromkeys([*matches, *own]))
    of_baseline = [*other.notes, *odd_verdicts(other)]
    shared = [note for note in own if note in of_baseline]
    notes = [*matches, *shared]
    notes += [f"candidate: {note}" for note in own if note not in shared]
    notes += [f"baseline: {note}" for note in of_baseline if note not in shared]
    return list(dict.fromkeys(notes))


def _refuse_nothing_paired(run: Run, other: Run, measured: Sequence[TaskQuantities]) -> None:
    """Refuse runs of two tools that have no question in common.

    Raises:
        BadInput: no task has a pair; with the usual reasons, tested.
    """
    where = " and ".join(str(side.log or side.files.folder) for side in (run, other))
    problems = [nothing_paired(task.rows, where) for task in measured]
    known = [problem for problem in problems if problem is not None]
    if known and len(known) == len(problems):
        raise BadInput(list(chain.from_iterable(error.problems for error in known)))


def _lone_metrics(run: Run, other: Run | None, selection: Selection) -> tuple[list[str], list[str]]:
    """Sentences about metrics that the candidate lacks, and that the baseline lacks.

    Two tools each have their own names for metrics.
    """
    if other is None or run.tool != other.tool:
        return [], []
    lacking = lone_metrics(run, other, [*selection.sampled, *selection.stored])
    return (
        lone_metric_sentences(lacking["candidate"], "candidate"),
        lone_metric_sentences(lacking["baseline"], "baseline"),
    )


class Selection(msgspec.Struct, frozen=True):
    """The tasks of a comparison: those of either side.

    Attributes:
        sampled: Tasks with samples on both sides.
        stored: Tasks and groups that both sides have, of which a side lacks the samples.
        missing: Tasks of the baseline that the candidate lacks.
        extra: Tasks of the candidate that the baseline lacks.
        unread: Tasks that a side lists and neither reads.
    """

    sampled: list[str]
    stored: list[str]
    missing: list[str]
    extra: list[str]
    unread: list[str] = msgspec.field(default_factory=list)

    @property
    def common(self) -> list[str]:
        """The tasks that both sides have."""
        return [*self.sampled, *self.stored]

    @property
    def shared(self) -> int:
        """Returns how many tasks both sides have."""
        return len(self.common)

    @property
    def known(self) -> int:
        """Returns how many tasks either side has."""
        return self.shared + len(self.missing) + len(self.extra) + len(self.unread)


def _select_tasks(run: Run, other: Run | None, names: Sequence[str] | None) -> Selection:
    """The tasks of either side, or those that are asked for.

    Raises:
        BadInput: a task that neither side has.
    """
    if other is None:
        sampled = run.select(list(names) if names else None)
        return Selection(list(sampled), [], [], [], [] if names else list(run.unread))
    # Groups with values on both sides, of which a side lacks the samples.
    stored = {**run.stored_groups, **other.stored_groups}
    groups = [name for name in stored if name in run.group_values and name in other.group_values]
    known = list(dict.fromkeys([*groups, *run.known_tasks, *other.known_tasks]))
    selection = Selection([], [], [], [])
    if not names:
        unread = {**run.unread, **other.unread}
        selection.unread.extend(name for name in unread if name not in known)
    wanted_names = _expanded(run, other, names, known) if names else known
    for name in wanted_names:
        if name in run.tasks and name in other.tasks:
            selection.sampled.append(name)
        elif other.known(name) is None:
            selection.extra.append(name)
        elif run.known(name) is None:
            selection.missing.append(name)
        else:
            selection.stored.append(name)
    return selection


def _expanded(run: Run, other: Run, names: Sequence[str], known: Sequence[str]) -> list[str]:
    """Task names with groups of either side resolved.

    Raises:
        BadInput: a name that neither side has.
    """
    chosen: dict[str, None] = {}
    problems = Problems()
    for name in names:
        members = [*run.group(name), *other.group(name)]
        if name in run.stored_groups or name in other.stored_groups:
            members = [name, *run.logged.tasks_below(name), *other.logged.tasks_below(name)]
        if name not in known and not members:
            problems.add(
                f"no samples of task {name!r}",
                where=f"{run.files.folder} and {other.files.folder}",
                allowed=", ".join(known),
                fix=near(name, known),
            )
        chosen |= dict.fromkeys(members or [name])
    problems.raise_if_any()
    return list(chosen)


def _no_common_task(run: Run, other: Run) -> BadInput:
    names = [", ".join(side.known_tasks) or "no task" for side in (run, other)]
    fix = ""
    if run.tool != other.tool and len(run.tasks) > len(other.tasks) == 1:
        fix = (
            f"if {names[1]} is one of the candidate's tasks under another name, name that one: "
            f"`evalprep compare {run.log or run.files.folder} {other.log or other.files.folder} "
            "--tasks NAME`"
        )
    return BadInput(
        Problem(
            what="the two runs have no task in common",
            where=f"{run.files.folder} and {other.files.folder}",
            allowed=f"the candidate has {names[0]}; the baseline has {names[1]}",
            fix=fix,
        )
    )


def tasks_without_mean(runs: Sequence[Run], packs: Mapping[str, Pack]) -> set[str]:
    """The tasks of packs that name what a comparison concludes, in place of a mean over tasks."""
    names: set[str] = set()
    for run in runs:
        for pack in packs_of(run, packs):
            if pack.conclusion is None:
                continue
            for name, task in run.known_tasks.items():
                if name in pack.tasks or task.metadata.get("pack") == pack.name:
                    names.add(name)
            for spec in pack.suite_scores.values():
                names |= {*spec.task, *spec.tasks}
    return names


def without_suite(error: BadInput) -> list[str]:
    """Why suite scores are left out, a sentence for each problem."""
    return [
        f"suite scores are left out: {problem.where}: {problem.what}" for problem in error.problems
    ]
