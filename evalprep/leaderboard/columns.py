"""What the columns of a leaderboard are: suite scores of packs, groups, tasks."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evalprep.errors import BadInput, Problem, near
from evalprep.packs.pack import Pack
from evalprep.packs.plan import P_VALUE
from evalprep.score import Scores
from evalprep.score.unsampled import WITHOUT_SAMPLES

ARROWS = {"up": "↑", "down": "↓", "zero": "→0", "reference": "→ref"}
SCORE, GROUP, TASK = "score", "group", "task"


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

    @property
    def arrow(self) -> str:
        """Which way is better, as one sign; empty where nothing is said."""
        return ARROWS.get(self.better, "")

    def of(self, pack: str) -> bool:
        """Whether it is a suite score of the pack."""
        return self.kind == SCORE and self.id.startswith(f"{pack}/")

    @property
    def heading(self) -> str:
        """The name with its arrow."""
        return f"{self.name} {self.arrow}".strip()


@dataclass
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


def columns_of(scores: Sequence[Scores], packs: Mapping[str, Pack], wanted: Sequence[str] = ()) -> Columns:
    """Find the columns of some scored runs.

    Args:
        scores: One entry per run.
        packs: All packs; `leaderboard:` of a pack.yaml names its headline.
        wanted: Names or patterns of columns to show, in this order; the headline by default.

    Raises:
        BadInput: a name that no column has.
    """
    made = [*_suite(scores, packs), *_groups(scores), *_tasks(scores)]
    all_columns = _told_apart(list({one.id: one for one in made}.values()))
    shown = _chosen(all_columns, wanted) if wanted else _headline(all_columns, scores, packs)
    by_id = {one.id: one for one in shown}
    pairs = [(f"{pack.name}/{x}", f"{pack.name}/{y}") for pack in packs.values() for x, y in pack.leaderboard.pictures]
    pictures = [(by_id[x], by_id[y]) for x, y in pairs if x in by_id and y in by_id]
    return Columns(all_columns, shown, pictures, named=bool(wanted))


def _suite(scores: Sequence[Scores], packs: Mapping[str, Pack]) -> Iterable[Column]:
    for one in scores:
        for score in one.suite:
            spec = packs[score.pack].suite_scores.get(score.name) if score.pack in packs else None
            tag = next((str(score.tags[key]) for key in ("principle", "family", "category") if key in score.tags), "")
            yield Column(
                score.id,
                score.name,
                score.title or score.name,
                SCORE,
                score.better,
                score.range,
                p_value=score.made_of == P_VALUE,
                note=spec.note if spec is not None else "",
                section=tag or score.pack,
                subsection=str(score.tags.get("requirement", "")),
            )


def _groups(scores: Sequence[Scores]) -> Iterable[Column]:
    for one in scores:
        for group in one.groups:
            if group.micro.get("agg_value") is not None:
                better = "up" if group.higher_is_better else "down"
                yield Column(group.group, group.group, f"{group.group}, all rows", GROUP, better, section="groups")


def _tasks(scores: Sequence[Scores]) -> Iterable[Column]:
    for one in scores:
        for task in one.tasks:
            if task.metric:
                better = "up" if task.higher_is_better else "down"
                yield Column(task.task, task.task, f"{task.task}: {task.metric}", TASK, better, section="tasks")
        for stored in one.stored:
            if stored.primary:
                better = "up" if stored.higher_is_better else "down"
                yield Column(stored.task, stored.task, f"{stored.task}: {stored.name}", TASK, better, section="tasks")


def _told_apart(columns: list[Column]) -> list[Column]:
    """Columns of one name are shown by their ids."""
    names = [one.name for one in columns]
    return [
        Column(**{**vars(one), "name": one.id}) if names.count(one.name) > 1 and one.kind == SCORE else one
        for one in columns
    ]


def _headline(columns: Sequence[Column], scores: Sequence[Scores], packs: Mapping[str, Pack]) -> list[Column]:
    """What packs put into their headline, else their scores that have a direction; groups and tasks behind no score."""
    known = {score.id: score for one in scores for score in one.suite}
    found: list[Column] = []
    for pack in packs.values():
        own = [one for one in columns if one.of(pack.name)]
        named = [f"{pack.name}/{name}" for name in pack.leaderboard.columns]
        chosen = sorted((one for one in own if one.id in named), key=lambda one: named.index(one.id))
        found += chosen or [one for one in own if one.better in ARROWS]
    behind = {task for one in found for task in known[one.id].tasks}
    members = {group.group: group.tasks for one in scores for group in one.groups}
    for one in columns:
        if one.kind == GROUP and not set(members.get(one.id, ())) <= behind:
            found.append(one)
            behind |= set(members.get(one.id, ()))
    packed = {task for one in known.values() for task in one.tasks}
    found += [one for one in columns if one.kind == TASK and one.id not in behind and one.id not in packed]
    return found or list(columns)


def _chosen(columns: Sequence[Column], wanted: Sequence[str]) -> list[Column]:
    found: dict[str, Column] = {}
    unknown = []
    for name in wanted:
        matching = [one for one in columns if name in (one.id, one.name)]
        matching = matching or [one for one in columns if fnmatch.fnmatchcase(one.name, name)]
        unknown += [] if matching else [name]
        found |= {one.id: one for one in matching}
    if unknown:
        names = [one.name for one in columns]
        raise BadInput(
            [
                Problem(
                    what=f"no run has a score {name!r}",
                    where="--scores or --sort",
                    allowed=", ".join(names),
                    fix=near(name, names),
                )
                for name in unknown
            ]
        )
    return list(found.values())


def values_of(column: Column, scores: Scores) -> dict[str, Any]:
    """What a run says of a column: `value`, `low`, `high`, `stderr`, `n`, `reason`, `tasks`, `notes`; empty without.

    Of suite scores also `rule`, by which it was computed, `made_from`, the scores that a mean is made from, and
    `few_read`, said of one that is made of the few answers that could be read.
    """
    if column.kind == SCORE:
        for one in scores.suite:
            if one.id == column.id:
                undefined = one.result.get("undefined") is True
                notes = one.result.get("notes") or []
                return {
                    "value": None if undefined else one.value,
                    "low": None if undefined else one.low,
                    "high": None if undefined else one.high,
                    "stderr": one.stderr,
                    "n": one.n,
                    "reason": "undefined" if undefined else one.reason,
                    "tasks": list(one.tasks),
                    "notes": [notes] if isinstance(notes, str) else [str(note) for note in notes],
                    "rule": one.rule,
                    "few_read": one.few_read,
                    "made_from": frozenset(one.result.get("made_from") or ()),
                }
    elif column.kind == GROUP:
        for group in scores.groups:
            if group.group == column.id:
                return {**_of_result(group.micro), "tasks": list(group.tasks)}
    else:
        for task in scores.tasks:
            if task.task == column.id:
                return {**_of_result(task.micro), "tasks": [task.task]}
        for stored in scores.stored:
            if stored.task == column.id and stored.primary:
                known = {"agg_value": stored.value, "stderr": stored.stderr, "n": stored.n}
                return {**_of_result(known), "tasks": [stored.task], "notes": [WITHOUT_SAMPLES]}
    return {}


def _of_result(result: Mapping[str, Any]) -> dict[str, Any]:
    low, high = result.get("interval") or (None, None)
    value = result.get("agg_value")
    return {
        "value": value,
        "low": low,
        "high": high,
        "stderr": result.get("stderr"),
        "n": result.get("n"),
        "reason": str(result.get("reason") or ""),
        "notes": [],
    }
