"""The columns of a leaderboard: suite scores of packs, groups, tasks."""

from __future__ import annotations

import fnmatch
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from evalprep.errors import BadInput, Problem, near
from evalprep.packs import P_VALUE, Pack
from evalprep.readers import is_mean_of_draws, is_of_draws
from evalprep.samples import SHARE
from evalprep.score import (
    WITHOUT_SAMPLES,
    Against,
    Estimate,
    Scores,
    StoredScore,
    SuiteScore,
    TaskScore,
    group_of,
    notes_of_task,
)

ARROWS = {"up": "↑", "down": "↓", "zero": "→0", "reference": "→ref"}
SCORE, GROUP, TASK = "score", "group", "task"
OTHER, INCOMPLETE = "other question", "incomplete"
UNKNOWN = "unknown"
CONTRARY = "contrary"  # two runs state opposite directions
_SECTION_TAGS = ("principle", "family", "category")


@dataclass(frozen=True)
class Column:
    """One column.

    Attributes:
        id: `pack/score`, or the name of a group or task.
        name: What people call it.
        title: The same in words.
        kind: SCORE, GROUP or TASK.
        better: `up`, `down`, `zero`, `reference`, or a word of the pack's own.
        range: Least and largest value, None for no bound.
        p_value: It is a p-value: it has no interval, and is drawn by its logarithm.
        note: One sentence about it.
        section: What it belongs to (principle, data), for pages.
        subsection: What of the section (requirement); empty where the pack does not say.
        unit: `share` where every run has it as a value between 0 and 1, which the terminal shows
            in percent; else empty.
        task: The task that it is a metric of; empty for a score or a group.
        score: The suite score that it shows; one score has several columns where runs were measured
            against things of several kinds.
        against: The kinds of what its values were measured against, but for other runs.
    """

    id: str
    name: str
    title: str
    kind: str
    better: str = "up"
    range: tuple[float | None, float | None] = (None, None)
    p_value: bool = False
    note: str = ""
    section: str = ""
    subsection: str = ""
    unit: str = ""
    task: str = ""
    score: str = ""
    against: tuple[str, ...] = ()

    @property
    def arrow(self) -> str:
        """Returns which way is better, as one sign; empty where nothing is said."""
        return ARROWS.get(self.better, "")

    def of(self, pack: str) -> bool:
        """Returns whether it is a suite score of the pack."""
        return self.kind == SCORE and self.id.startswith(f"{pack}/")

    @property
    def sign(self) -> str:
        """The unit of its values as they are shown; empty where they have none."""
        return "%" if self.unit == SHARE else ""

    @property
    def heading(self) -> str:
        """The name with its arrow."""
        return f"{self.name} {self.arrow}".strip()

    @property
    def full_heading(self) -> str:
        """The name with its unit and its arrow."""
        return " ".join(filter(None, [self.name, self.sign, self.arrow]))


@dataclass(frozen=True)
class Columns:
    """Every column that the runs have, and those that are shown.

    Attributes:
        all: Every column, in the order of packs and tasks.
        shown: The headline, or what was asked for.
        pictures: Pairs of shown columns that are drawn against each other: across, up.
        named: What is shown was asked for by name.
    """

    all: list[Column] = field(default_factory=list)
    shown: list[Column] = field(default_factory=list)
    pictures: list[tuple[Column, Column]] = field(default_factory=list)
    named: bool = False


def columns_of(
    scores: Sequence[Scores], packs: Mapping[str, Pack], column_names: Sequence[str] = ()
) -> Columns:
    """Finds the columns of some scored runs.

    Args:
        scores: One entry per run.
        packs: All packs; `leaderboard:` of a pack.yaml names its headline.
        column_names: Names or patterns of columns to show, in this order; the headline by default.

    Raises:
        BadInput: a name that no column has.
    """
    columns = [*_suite(scores, packs), *_groups(scores), *_tasks(scores)]
    distinct = _without_repeats(columns)
    times = Counter(column.name for column in distinct)
    # Scores of one name are shown by their ids.
    all_columns = [
        replace(column, name=column.id)
        if column.kind == SCORE and times[column.name] > 1
        else column
        for column in distinct
    ]
    if column_names:
        shown = _chosen(all_columns, column_names, _tables(packs))
    else:
        shown = _headline(all_columns, scores, packs)
    by_id = {column.id: column for column in shown}
    pictures = []
    for pack in packs.values():
        for name_across, name_up in pack.leaderboard.pictures:
            across = by_id.get(f"{pack.name}/{name_across}")
            up = by_id.get(f"{pack.name}/{name_up}")
            if across is not None and up is not None:
                pictures.append((across, up))
    return Columns(all_columns, shown, pictures, named=bool(column_names))


def table_columns(names: Iterable[str], packs: Mapping[str, Pack]) -> list[str]:
    """Returns the scores of those names that are tables of packs, in order."""
    tables = _tables(packs)
    return list(chain.from_iterable(tables.get(name, ()) for name in names))


def _tables(packs: Mapping[str, Pack]) -> dict[str, list[str]]:
    """Table that packs name -> its scores."""
    tables: dict[str, list[str]] = {}
    for pack in packs.values():
        for name, scores in pack.leaderboard.tables.items():
            tables.setdefault(name, []).extend(scores)
    return tables


def _without_repeats(columns: Iterable[Column]) -> list[Column]:
    """Each column once, with the unit and the direction that all runs with a value give it."""
    by_id: dict[str, Column] = {}
    for column in columns:
        earlier = by_id.get(column.id, column)
        unit = column.unit if column.unit == earlier.unit else ""
        better = CONTRARY
        if column.better in (earlier.better, UNKNOWN):
            better = earlier.better
        elif earlier.better == UNKNOWN:
            better = column.better
        by_id[column.id] = replace(column, unit=unit, better=better)
    return list(by_id.values())


def _suite(scores: Sequence[Scores], packs: Mapping[str, Pack]) -> Iterable[Column]:
    # What the values of a score were measured against, other runs and nothing first.
    kinds: dict[str, set[tuple[str, ...]]] = {}
    for score in chain.from_iterable(each.suite for each in scores):
        if score.value is not None:
            kinds.setdefault(score.id, set()).add(group_of(score.against))
    groups = {name: sorted(own) for name, own in kinds.items()}
    for run_scores in scores:
        for score in run_scores.suite:
            own_groups = groups.get(score.id, [()])
            group = group_of(score.against) if score.value is not None else own_groups[0]
            spec = packs[score.pack].suite_scores.get(score.name) if score.pack in packs else None
            sections = [str(score.tags[key]) for key in _SECTION_TAGS if key in score.tags]
            end = f" (against {_GROUP_WORDS.get(group, ' and '.join(group))})" if group else ""
            yield Column(
                score.id if group == own_groups[0] else f"{score.id}@{'+'.join(group)}",
                score.name + end if len(own_groups) > 1 else score.name,
                (score.title or score.name) + end,
                SCORE,
                score.better,
                score.range,
                p_value=score.made_of == P_VALUE,
                note=spec.note if spec is not None else "",
                section=sections[0] if sections else score.pack,
                subsection=str(score.tags.get("requirement", "")),
                unit=score.unit,
                score=score.id,
                against=group,
            )


#: Kinds of what values were measured against, in the name of their column.
_GROUP_WORDS: dict[tuple[str, ...], str] = {
    ("constant",): "a constant",
    ("log",): "the log's own reference",
}


def _groups(scores: Sequence[Scores]) -> Iterable[Column]:
    for score in scores:
        for group in score.groups:
            if group.micro.value is not None:
                better = group.direction
                yield Column(
                    group.group,
                    group.group,
                    f"{group.group}, all rows",
                    GROUP,
                    better,
                    section="groups",
                    unit=group.unit,
                )


def _tasks(scores: Sequence[Scores]) -> Iterable[Column]:
    """The metrics of tasks; the first of each is named where tasks have different ones."""
    tasks = chain.from_iterable(score.tasks for score in scores)
    names_metric = len({task.metric for task in tasks if task.metric}) > 1
    for score in scores:
        for task in score.tasks:
            if task.metric:
                title = f"{task.task}: {task.metric}"
                # A run without a value does not tell in which unit the others have theirs.
                unit = SHARE if task.micro.value is None else task.unit
                column = _task_column(task.task, task.task, title, task.direction, unit)
                yield replace(column, name=title) if names_metric else column
            for name, further in further_scores(task):
                title = f"{task.task}: {further.name}"
                yield _task_column(task.task, name, title, further.direction, further.unit)
        for name, stored in _stored_columns(score.stored):
            title = f"{stored.task}: {stored.name}"
            yield _task_column(stored.task, name, title, stored.direction, stored.unit)


def _stored_columns(stored: Sequence[StoredScore]) -> Iterator[tuple[str, StoredScore]]:
    """The scores of tasks without samples that have a column, with the column's id."""
    primary = {score.task: score.metric for score in stored if score.primary}
    for score in stored:
        if score.primary:
            yield score.task, score
        elif _is_shown_beside(score, primary.get(score.task, "")):
            yield f"{score.task}: {score.name}", score


def _task_column(task: str, name: str, title: str, direction: str, unit: str) -> Column:
    return Column(name, name, title, TASK, direction, section="tasks", unit=unit, task=task)


#: Metrics that both are columns where a task logs both.
_BOTH_SHOWN = frozenset({"acc", "acc_norm"})


def further_scores(task: TaskScore) -> Iterator[tuple[str, StoredScore]]:
    """The scores of a task beside its primary one that have a column, with the column's id."""
    for score in task.further:
        if _is_shown_beside(score, task.metric):
            yield f"{task.task}: {score.name}", score


def _is_shown_beside(score: StoredScore, primary: str) -> bool:
    """Returns whether a metric beside the primary one has a column of its own.

    The mean over draws has none: the primary metric of a repeated task is that mean.
    """
    if is_of_draws(score.metric):
        return not is_mean_of_draws(score.metric) and score.metric != primary
    return {score.metric, primary} == _BOTH_SHOWN


def _headline(
    columns: Sequence[Column], scores: Sequence[Scores], packs: Mapping[str, Pack]
) -> list[Column]:
    """The columns that packs name, in their order, else their scores that have a direction.

    Groups and tasks behind no score follow.
    """
    tasks_of: dict[str, Sequence[str]] = {}
    for run_scores in scores:
        tasks_of |= {score.id: score.tasks for score in run_scores.suite}
    headline: list[Column] = []
    for pack in packs.values():
        own = [column for column in columns if column.of(pack.name)]
        named: list[Column] = []
        for name in pack.leaderboard.columns:
            named += [column for column in own if column.score == f"{pack.name}/{name}"]
        headline += named or [column for column in own if column.better in ARROWS]
    in_headline: set[str] = set()
    for column in headline:
        in_headline.update(tasks_of[column.score])
    all_groups = chain.from_iterable(run_scores.groups for run_scores in scores)
    members = {group.group: group.tasks for group in all_groups}
    in_groups: set[str] = set()
    for column in columns:
        of_group = set(members.get(column.id, ()))
        # A group stands where it has a task that no earlier column shows.
        if column.kind == GROUP and not of_group <= in_headline | in_groups:
            headline.append(column)
            in_groups |= of_group
    hidden = in_groups.union(*tasks_of.values())
    tasks = [column for column in columns if column.kind == TASK]
    headline += [column for column in tasks if column.task not in hidden]
    return headline or list(columns)


def _chosen(
    columns: Sequence[Column], column_names: Sequence[str], tables: Mapping[str, Sequence[str]]
) -> list[Column]:
    """The columns of names and patterns, and of the scores of tables."""
    chosen: dict[str, Column] = {}
    problems = []
    names = [column.name for column in columns]
    score_names: list[str] = []
    for name in column_names:
        score_names += tables.get(name, [name])
    for name in score_names:
        exact = [column for column in columns if name in _names_of(column)]
        like = [column for column in columns if fnmatch.fnmatchcase(column.name, name)]
        matching = exact or like
        chosen |= {column.id: column for column in matching}
        if not matching:
            problem = Problem(
                what=f"no run has a score {name!r}",
                where="--scores or --sort",
                allowed=", ".join(names),
                fix=near(name, [*names, *tables]),
            )
            problems.append(problem)
    if problems:
        raise BadInput(problems)
    return list(chosen.values())


def _names_of(column: Column) -> tuple[str, ...]:
    """The names that mean a column; a score means all of its columns."""
    if not column.against:
        return (column.id, column.name, column.score)
    return (column.id, column.name, column.score, column.score.rpartition("/")[2])


@dataclass(frozen=True)
class Cell:
    """The value of one run in one column.

    Attributes:
        value: The number; None with a `reason`.
        low, high: Its 95 % interval, where it has one.
        stderr, n: Standard error and rows.
        expected: Rows that there should be, where that is known.
        reason: Why there is no value.
        standing: OTHER or INCOMPLETE where it may not be put beside the others; empty where it may.
        why: The reasons of the standing.
        sd: Standard deviation over seeds, of a row that stands for several.
        leads: It is the best value of the column, or not shown to be worse than that.
        notes: What the score says of itself.
        tasks: The tasks that the value covers.
        against: What the value was measured against.
        rule: By which rule a suite score was computed.
        over: The scores that a mean is made of.
        few_read: Said of a suite score that is made of the few answers that could be read.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    stderr: float | None = None
    n: int | None = None
    expected: int | None = None
    reason: str = ""
    standing: str = ""
    why: Sequence[str] = ()
    sd: float | None = None
    leads: bool = False
    notes: Sequence[str] = ()
    tasks: Sequence[str] = ()
    against: tuple[Against, ...] = ()
    rule: str = ""
    over: frozenset[str] = frozenset()
    few_read: str = ""

    @classmethod
    def of_estimate(
        cls, estimate: Estimate, tasks: Sequence[str], notes: Sequence[str] = ()
    ) -> Cell:
        """Returns the numbers of an estimate over some tasks."""
        return cls(
            value=estimate.value,
            low=estimate.low,
            high=estimate.high,
            stderr=estimate.stderr,
            n=estimate.n,
            reason=estimate.reason,
            tasks=list(tasks),
            notes=list(notes),
        )

    @classmethod
    def of_stored(cls, score: StoredScore, notes: Sequence[str] = ()) -> Cell:
        """Returns the numbers of a score that lm-eval stored."""
        estimate = Estimate(score.value, score.n, stderr=score.stderr, interval=score.interval)
        return cls.of_estimate(estimate, [score.task], notes)

    @classmethod
    def of_suite_score(cls, score: SuiteScore) -> Cell:
        """Returns the numbers of a suite score; an undefined one has no value."""
        is_defined = not score.is_undefined
        return cls(
            value=score.value if is_defined else None,
            low=score.low if is_defined else None,
            high=score.high if is_defined else None,
            stderr=score.stderr,
            n=score.n,
            reason=score.reason if is_defined else "undefined",
            tasks=list(score.tasks),
            notes=score.remarks,
            rule=score.rule,
            over=frozenset(score.over),
            few_read=score.few_read,
            against=score.against,
        )


def values_of(column: Column, scores: Scores) -> Cell | None:
    """Returns the numbers of a run in a column, before its standing; None where it has none."""
    if column.kind == SCORE:
        for score in scores.suite:
            if score.id == column.score:
                values = Cell.of_suite_score(score)
                is_here = score.value is None or group_of(score.against) == column.against
                return values if is_here else Cell(None)
        return None
    if column.kind == GROUP:
        for group in scores.groups:
            if group.group == column.id:
                return Cell.of_estimate(group.micro, group.tasks)
        return None
    return _values_of_task(column, scores)


def _values_of_task(column: Column, scores: Scores) -> Cell | None:
    """The values of a task's primary score, of another one, or of one without samples."""
    for task in scores.tasks:
        if task.task == column.id and task.metric:
            values = Cell.of_estimate(task.micro, [task.task], notes_of_task(task))
            return replace(values, expected=task.expected)
        for name, score in further_scores(task):
            if name == column.id:
                notes = [] if score.stated is None else [score.stated.sentence]
                return replace(Cell.of_stored(score, notes), expected=task.expected)
    for name, stored in _stored_columns(scores.stored):
        if name == column.id:
            return Cell.of_stored(stored, [WITHOUT_SAMPLES])
    return None
