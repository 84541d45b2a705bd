"""A run compared with published verdicts or with another run, over all its tasks."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from evalprep.compare.agreement import lone_metric_sentences, lone_metrics
from evalprep.compare.closing import closing_lines
from evalprep.compare.conclusion import (
    BETTER,
    DIFFERENT,
    EQUIVALENT,
    NO_DIFFERENCE,
    NOT_COMPARABLE,
    NOT_ENOUGH,
    SECONDARY,
    WORSE,
    Conclusion,
    missing_rows,
    refuse_wide_margin,
)
from evalprep.compare.family import conclude_page
from evalprep.compare.flips import Flip, FlipCause
from evalprep.compare.overall import overall
from evalprep.compare.reasons import Kind, unique
from evalprep.compare.same_outputs import same_outputs
from evalprep.compare.settings import Settings
from evalprep.compare.sides import Sides, compare_further, compare_sides
from evalprep.compare.stored import compare_stored
from evalprep.compare.task import TaskComparison
from evalprep.compare.tasknames import with_names_of
from evalprep.compare.unpaired import nothing_paired
from evalprep.compare.warnings import lacking, unread_warnings, warnings_of
from evalprep.compare.whole import compare_whole, is_whole, key_over_rows
from evalprep.errors import BadInput, Problem, Problems, near
from evalprep.results import (
    Metric,
    NamedMetric,
    Run,
    SampleView,
    TaskRun,
    agreed,
    odd_verdicts,
    published_reading,
    read_by_choice,
    refuse_undecided,
)
from evalprep.terminal import shortlist

if TYPE_CHECKING:
    from evalprep.compare.reproduction import Reproduction

PUBLISHED = "published verdicts"
_NAMED = 4  # quantities, tasks or metrics that a sentence names


@dataclass
class Comparison:
    """The whole comparison.

    `to_dict` gives it as plain data, `flips` streams the changed samples with their texts.

    Args:
        run, other: Labels of the candidate and of the baseline.
        tasks: One entry per task, in name order.
        overall: The mean over all tasks that have a score, each on its own scale from 0 to 1 and in
            its own direction; None with an `overall_reason`.
        metrics: Metrics that exist for all rows together: F1, BLEU, perplexity and the like.
        further: Row metrics and filters beside the first one of each task.
        stored: Tasks without samples, by their stored scores.
        suite: Suite scores, where packs were given.
        pooled: All pairs of tasks with right-or-wrong scores together, each row weighing the same;
            None with fewer than two such tasks.
        confidence: Of all intervals; 1 - confidence is the level of the verdicts.
        margin: Differences smaller than this do not matter.
        allow: Facts of the question that may differ.
        warnings: What makes the comparison doubtful.
        notes: What was decided on the user's behalf.
        rule: The scoring rule by which both are read; empty where no rule was asked for.
        missing_tasks: Tasks of the baseline that the candidate lacks; extra_tasks the reverse.
        unread_tasks: Tasks that a side lists, of which neither side has rows.
        missing_metrics: Metrics of the baseline that the candidate lacks, as sentences;
            extra_metrics the reverse.
        candidates: Candidates of the page whose words hold together.
        described: True of a candidate that is not judged, as another one was named for that.
        reproduction: The benchmarks beside published ones, where these are the baseline.
    """

    run: str
    other: str
    tasks: list[TaskComparison]
    overall: Conclusion | None
    pooled: Conclusion | None
    confidence: float
    metrics: list[Conclusion] = field(default_factory=list)
    further: list[Conclusion] = field(default_factory=list)
    stored: list[Conclusion] = field(default_factory=list)
    suite: list[Conclusion] = field(default_factory=list)
    margin: float | None = None
    allow: tuple[str, ...] = ()
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    missing_tasks: list[str] = field(default_factory=list)
    extra_tasks: list[str] = field(default_factory=list)
    unread_tasks: list[str] = field(default_factory=list)
    missing_metrics: list[str] = field(default_factory=list)
    extra_metrics: list[str] = field(default_factory=list)
    rule: str = ""
    overall_reason: str = ""
    candidates: int = 1
    described: bool = False
    reproduction: Reproduction | None = None

    @property
    def pairs(self) -> int:
        """Pairs over all tasks."""
        return sum(task.difference.n for task in self.tasks)

    @property
    def conclusions(self) -> list[Conclusion]:
        """Everything that is concluded, the tasks first."""
        together = [item for item in (self.overall, self.pooled) if item is not None]
        of_tasks = [*self.tasks, *self.metrics, *self.further, *self.stored]
        return [*of_tasks, *self.suite, *together]

    @property
    def advisory(self) -> list[Conclusion]:
        """Metrics beside those that decide which are better, worse or changed.

        Copies of another metric are left out.
        """
        reported = {item.duplicate_of for item in self.conclusions if item.decides}
        lines = []
        for item in (*self.metrics, *self.further, *self.stored):
            if item.decides or not item.shown or item.duplicate_of in reported - {""}:
                continue
            reported.add(item.duplicate_of)
            lines.append(item)
        return lines

    @property
    def worse(self) -> list[str]:
        """Names of what is worse; what does not decide is advisory and left out, as in a gate."""
        return [item.name for item in self.conclusions if item.decides and item.verdict == WORSE]

    @property
    def lacks_evidence(self) -> bool:
        """True where the candidate lacks tasks, or what decides lacks rows that it was to have."""
        if self.missing_tasks:
            return True
        return any(
            item.decides and any(reason.kind.takes_rows for reason in item.reasons)
            for item in self.conclusions
        )

    @property
    def headline(self) -> str:
        """The worst word of what decides; empty of a candidate that is described."""
        if self.described:
            return ""
        decided = [item for item in self.conclusions if item.decides and item is not self.pooled]
        words = {item.verdict for item in decided}
        of_tasks = {item.verdict for item in decided if item.kind not in {"suite", "overall"}}
        if WORSE in words:
            return WORSE
        if NOT_COMPARABLE in of_tasks:
            return NOT_COMPARABLE
        if self.lacks_evidence or not self.concluded:
            return NOT_ENOUGH
        shown = [word for word in (DIFFERENT, BETTER) if word in words]
        if shown:
            return shown[0]
        return NO_DIFFERENCE if NO_DIFFERENCE in words else EQUIVALENT

    @property
    def exit_sentence(self) -> str:
        """Returns why something that is worse does not count.

        Empty where it counts, or nothing is worse.

        A gate decides by the same metrics, so that the two agree.
        """
        names = [item.name for item in self.advisory if item.verdict == WORSE]
        if not names or self.worse:
            return ""
        verb = "is" if len(names) == 1 else "are"
        return (
            f"{shortlist(names, _NAMED)} {verb} advisory and no failure here or in a gate; "
            "a gate's policy decides by it with `metrics: all`"
        )

    @property
    def _weighty(self) -> list[Conclusion]:
        """Everything but advisory metrics, of which a task may log one for each rule."""
        advisory = {SECONDARY, "stored"}
        return [item for item in self.conclusions if item.decides or item.kind not in advisory]

    @property
    def concluded(self) -> bool:
        """True where anything could be said at all."""
        return any(item.counts for item in self._weighty)

    @property
    def closing(self) -> list[str]:
        """Returns what was decided, worst first, in at most three lines."""
        return closing_lines(
            [*self.tasks, *self.stored, *self.suite, *_deciding_beside_tasks(self)],
            self.advisory,
            self.overall,
            missing=_missing_sentences(self),
        )

    @property
    def remarks(self) -> list[str]:
        """The notes of all quantities, each once with the names that it holds for."""
        names_of: dict[str, list[str]] = {}
        for item in (*self.tasks, *self.metrics, *self.further, *self.stored, *self.suite):
            for note in item.notes:
                names_of.setdefault(note, []).append(item.name)
        notes = [f"{shortlist(names, _NAMED)}: {note}" for note, names in names_of.items()]
        return [*self._notes_on_page, *notes]

    @property
    def _notes_on_page(self) -> list[str]:
        """Over how many candidates the words hold, and who alone is judged."""
        if self.described:
            return ["described without words: another candidate is judged (--candidate)"]
        if self.candidates < 2:
            return []
        sentence = (
            f"the words hold over {self.candidates} candidates together, and may be weaker than "
            "those of `compare` on two runs"
        )
        return [sentence]

    def flips(self) -> Iterator[Flip]:
        """Every changed sample of every task, with its texts."""
        for task in self.tasks:
            yield from task.flips()

    def flip_causes(self) -> Iterator[FlipCause]:
        """Every changed sample of every task, without its texts."""
        for task in self.tasks:
            yield from task.flip_causes()

    def lost(self) -> Iterator[SampleView]:
        """Every sample that the baseline got right and the candidate did not, with its texts."""
        for task in self.tasks:
            yield from task.lost()

    def to_dict(self) -> dict[str, Any]:
        """Everything but the texts of flips.

        NaN and infinity as None, so that it is strict JSON.
        """
        plain = dict(vars(self))
        for name in ("overall", "pooled", "reproduction"):
            del plain[name]
        for name in ("tasks", "metrics", "further", "stored", "suite"):
            del plain[name]
            plain[name] = [item.to_dict() for item in getattr(self, name)]
        for name in ("overall", "pooled", "reproduction"):
            conclusion = getattr(self, name)
            plain[name] = None if conclusion is None else conclusion.to_dict()
        plain["closing"] = self.closing
        plain["headline"] = self.headline
        plain["exit_sentence"] = self.exit_sentence
        plain["remarks"] = self.remarks
        return dict(_strict(plain))

    def to_pandas(self) -> Any:
        """One row per task as a data frame."""
        import pandas as pd

        rows = [_without_lists(task.to_dict()) for task in self.tasks]
        return pd.DataFrame(rows)

    def _repr_html_(self) -> str:
        """The tables, notes and closing lines, as a notebook shows them."""
        from evalprep.compare.screen import html_of

        return html_of(self)

    def flips_to_pandas(self) -> Any:
        """One row per changed sample as a data frame, texts included."""
        import pandas as pd

        return pd.DataFrame([flip.to_dict() for flip in self.flips()])


def _without_lists(plain: Mapping[str, Any]) -> dict[str, Any]:
    """The entries that fit into a cell of a table."""
    return {name: value for name, value in plain.items() if not isinstance(value, (list, dict))}


def _missing_sentences(comparison: Comparison) -> list[str]:
    """Returns which tasks and metrics of the baseline the candidate lacks."""
    names = comparison.missing_tasks
    sentences = [lacking("candidate", names)] if names else []
    return [*sentences, *comparison.missing_metrics[:_NAMED]]


def _strict(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _strict(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_strict(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _deciding_beside_tasks(comparison: Comparison) -> list[Conclusion]:
    """Deciding metrics beside the first one of each task."""
    of_tasks = {item.duplicate_of for item in comparison.tasks}
    beside = (*comparison.metrics, *comparison.further)
    return [item for item in beside if item.decides and item.duplicate_of not in of_tasks]


def compare_runs(
    run: Run,
    other: Run | None = None,
    *,
    tasks: Sequence[str] | None = None,
    metric: str | None = None,
    filter_name: str | None = None,
    choices: Sequence[NamedMetric] = (),
    settings: Settings | None = None,
    without_mean: Collection[str] = (),
    **options: Any,
) -> Comparison:
    """Compare a run with the verdicts published in its rows, or with another run.

    Args:
        run: The candidate: the run under test.
        other: The baseline that it is held against; None for the published verdicts
            (`doc.previously_is_correct`).
        tasks: Task or group names; all tasks of either side by default.
        metric: Metric to compare instead of each task's primary one.
        filter_name: Filter to read instead of each task's primary one.
        choices: Metrics of some tasks to compare instead.
        settings: Levels, limits, and what may differ.
        without_mean: Tasks that have no part in a mean over tasks.
        options: Fields of `Settings`, where none are given.

    Raises:
        BadInput: an unknown task, metric, filter or fact; a confidence outside (0, 1); a margin
            that no difference can exceed; two runs without a common task.
    """
    settings = settings or Settings(**options)
    settings.check()
    run, other = _aligned(run, other, _all_choices(choices, metric, filter_name))
    matches: list[str] = []
    if other is not None:
        other, matches = with_names_of(other, run, tasks)
    selection = _select_tasks(run, other, tasks)
    sides = [run] if other is None else [run, other]
    refuse_undecided(sides, selection.sampled)
    compared = _compare_tasks(run, other, selection, settings)
    _refuse_nothing_paired(run, other, compared)
    whole = _compare_whole_metrics(run, other, compared, settings)
    further = _compare_further_metrics(run, other, compared, settings)
    stored = [] if other is None else compare_stored(run, other, selection.stored, settings)
    if other is not None and not (compared or stored or run.unread or other.unread):
        raise _no_common_task(run, other)
    conclusions = [*compared, *whole, *further, *stored]
    refuse_wide_margin(conclusions, settings.margin)
    together = overall(
        compared,
        selection.known,
        confidence=settings.confidence,
        without=without_mean,
        stored=bool(stored),
    )
    missing_metrics, extra_metrics = _lone_metrics(run, other, selection)
    same = same_outputs(run, other, selection.common, compared)
    comparison = Comparison(
        run=run.label,
        other=PUBLISHED if other is None else other.label,
        tasks=compared,
        overall=together.mean,
        overall_reason=together.reason,
        pooled=together.pooled,
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
            *warnings_of(
                run, other, compared, selection.missing, selection.extra, selection.shared
            ),
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
    conclude_page([comparison])
    return comparison


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


def _refuse_nothing_paired(run: Run, other: Run | None, compared: Sequence[TaskComparison]) -> None:
    """Refuse runs of two tools that have no question in common.

    Raises:
        BadInput: no task has a pair; with the usual reasons, tested.
    """
    if other is None:
        return
    where = f"{_place(run)} and {_place(other)}"
    problems = [nothing_paired(task, where) for task in compared]
    known = [problem for problem in problems if problem is not None]
    if known and len(known) == len(problems):
        raise BadInput(list(chain.from_iterable(error.problems for error in known)))


def _place(run: Run) -> str:
    return str(run.log or run.files.folder)


def _all_choices(
    choices: Sequence[NamedMetric], metric: str | None, filter_name: str | None
) -> Sequence[NamedMetric]:
    """The choices of some tasks, and behind them that of a metric or filter for every task."""
    if metric is None and filter_name is None:
        return choices
    return [*choices, _ForAll(metric or "", filter_name or "")]


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


class _ForAll(NamedTuple):
    """A metric or filter for every task."""

    metric: str
    filter: str
    task: str = ""


@dataclass(frozen=True)
class Selection:
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
    unread: list[str] = field(default_factory=list)

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


def _aligned(run: Run, other: Run | None, choices: Sequence[NamedMetric]) -> tuple[Run, Run | None]:
    """Both runs with one direction for each task, read by the metrics that the user names."""
    if other is None:
        return read_by_choice([run], choices)[0], None
    run, other = read_by_choice(agreed([run, other]), choices)
    return run, other


def _select_tasks(run: Run, other: Run | None, names: Sequence[str] | None) -> Selection:
    """The tasks of either side, or those that are asked for.

    Raises:
        BadInput: a task that neither side has.
    """
    if other is None:
        sampled = run.select(list(names) if names else None)
        return Selection(list(sampled), [], [], [], [] if names else list(run.unread))
    groups = _groups_without_samples(run, other)
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


def _groups_without_samples(run: Run, other: Run) -> list[str]:
    """The groups with values on both sides, of which a side lacks the samples."""
    stored = {**run.stored_groups, **other.stored_groups}
    return [name for name in stored if name in run.group_values and name in other.group_values]


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


def _compare_tasks(
    run: Run, other: Run | None, selection: Selection, settings: Settings
) -> list[TaskComparison]:
    """The first metric of each task that both sides have samples of."""
    compared = []
    for name in selection.sampled:
        sides = _sides(run, other, name)
        metric = _first_metric(sides)
        compared.append(compare_sides(sides, metric, settings))
    return compared


def _sides(run: Run, other: Run | None, name: str) -> Sides:
    task = run.tasks[name]
    if other is not None:
        return Sides(run, task, other, other.tasks[name])
    reading = published_reading(task)
    return Sides(run, reading.task, published=reading, own=task)


def _first_metric(sides: Sides) -> Metric:
    """The metric that stands for a task in a comparison.

    That is a metric of rows where the task has one, else one over all rows.
    """
    if sides.published is not None:
        return sides.published.metric
    primary = sides.task.primary
    return primary if primary.metric else sides.task.headline


def _compare_whole_metrics(
    run: Run, other: Run | None, compared: Sequence[TaskComparison], settings: Settings
) -> list[Conclusion]:
    """Metrics over all rows of the compared tasks.

    The one that stands for its task is taken from there.
    """
    if other is None:
        return []
    conclusions = []
    for first in compared:
        task, against = run.tasks[first.name], other.tasks[first.name]
        others = {metric.key for metric in against.metrics if is_whole(metric)}
        for metric in task.metrics:
            if not is_whole(metric) or metric.key not in others:
                continue
            conclusions.append(_whole_metric(task, against, first, metric, settings))
    return conclusions


def _whole_metric(
    task: TaskRun, against: TaskRun, first: TaskComparison, metric: Metric, settings: Settings
) -> Conclusion:
    """A metric over all rows of a task, with what the comparison of the task settles."""
    is_first = (metric.metric, metric.filter) == (first.metric, first.filter)
    if is_first and first.whole is not None:
        own = replace(first.whole, difference=replace(first.difference))
    else:
        own = compare_whole(task, against, metric.metric, settings, filter_name=metric.filter)
    reasons, expected = [*own.refusals, *first.shortfalls], first.expected
    if not is_first:
        same = [why for why in first.reasons if why.kind in {Kind.MISSING_ROWS, Kind.SAME_FILE}]
        lacking = any(why.kind is Kind.MISSING_ROWS for why in same)
        expected = None if lacking else first.expected
        missing = [] if expected is None else missing_rows(own.difference.n, expected)
        reasons = [*own.reasons, *missing, *same]
    key = first.duplicate_of if is_first else key_over_rows(first.name, metric)
    return replace(
        own,
        decides=settings.decides(metric.metric, metric.filter, primary=is_first),
        reasons=unique([*first.refusals, *reasons]),
        expected=expected,
        duplicate_of=key,
    )


def _compare_further_metrics(
    run: Run, other: Run | None, compared: Sequence[TaskComparison], settings: Settings
) -> list[Conclusion]:
    """Every other row metric and filter of the compared tasks."""
    further = []
    for first in compared:
        further += compare_further(_sides(run, other, first.name), first, settings)
    return further


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
