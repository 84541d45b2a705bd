"""The effect of each rule between the two modes.

The change of a score when that rule alone is mended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from custom_metrics.science.corpus import flat_metrics, summary_metrics, task_metrics
from custom_metrics.science.mode import COMPAT, CORRECTED, RULES
from custom_metrics.science.normalize import FAULTY, MENDED
from custom_metrics.science.rows import Row, score_row
from custom_metrics.science.tasks import Task

#: Counts that only corrected mode keeps; they are no part of a score of both.
_EXTRA = (FAULTY, MENDED)
Texts = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class RuleChange:
    """The effect of one rule on the summary metrics of a task.

    Attributes:
        rule: One of `mode.RULES`.
        rows: Replies that it scores otherwise.
        change: Metric -> corrected minus original, with every other rule as in `within`.
        within: `compat` where the rule alone is mended; `corrected` where the original stops at a
            reply, so that the change is what goes when the rule is taken out.
        stops: Whether the original stops without this rule, so that it has no number to change.
    """

    rule: str
    rows: int
    change: Mapping[str, float]
    within: str = COMPAT
    stops: bool = False


def score_rows(task: Task, texts: Texts, mode: str = CORRECTED) -> list[Row]:
    """Every reply, with its reference, scored.

    Raises:
        Exception: in compat mode, whatever the original stops with.
    """
    return [score_row(task, reply, reference, mode) for reply, reference in texts]


class _Start(NamedTuple):
    """The mode that single rules are added to, or taken from, and the rows that it scored."""

    mode: str
    mark: str
    rows: Sequence[Row]


def rule_changes(
    task: Task, texts: Texts, original: Sequence[Row] | None, corrected: Sequence[Row]
) -> list[RuleChange]:
    """The rules that change a task's summary metrics, in the order of `RULES`.

    A reply that both modes score alike is taken as scored alike by every rule between them.

    Args:
        task: The task.
        texts: Reply and reference of each row.
        original: The rows in compat mode; None where the original stops.
        corrected: The rows in corrected mode.

    >>> from custom_metrics.science.tasks import TASKS
    >>> task, texts = TASKS["bioasq_list_qa"], [('1] ["a"]', '["a"]')]
    >>> original, corrected = score_rows(task, texts, "compat"), score_rows(task, texts)
    >>> changes = rule_changes(task, texts, original, corrected)
    >>> [(change.rule, change.change) for change in changes]
    [('json_search', {'f1': 1.0})]
    """
    # The places of the rows whose scores differ between the modes. Where the original stops,
    # they are the places of all rows.
    if original is None:
        places = list(range(len(corrected)))
    else:
        places = []
        for place, (row, corrected_row) in enumerate(zip(original, corrected, strict=True)):
            if _scored(row) != _scored(corrected_row):
                places.append(place)
    if not places:
        return []
    start = _Start(COMPAT, "+", original or ())
    if original is None:
        # The original stops on these replies: each rule is taken from all of them.
        start = _Start(CORRECTED, "-", corrected)
    before = _summary(task, start.rows, start.mode)
    changes = []
    for rule in RULES:
        mode = f"{start.mode}{start.mark}{rule}"
        try:
            moved, after = _under_rule(task, texts, start.rows, places, mode)
        except Exception:  # noqa: BLE001 - that the original stops here is the result
            changes.append(RuleChange(rule, 0, {}, start.mode, stops=True))
            continue
        if after is None:
            continue
        # What the rule adds to each metric that it moves.
        sign = -1 if original is None else 1
        effects = {name: sign * (after[name] - value) for name, value in before.items()}
        change = {name: effect for name, effect in effects.items() if effect}
        if change:
            changes.append(RuleChange(rule, moved, change, start.mode))
    return changes


def _under_rule(
    task: Task, texts: Texts, rows: Sequence[Row], places: Sequence[int], mode: str
) -> tuple[int, dict[str, float] | None]:
    """The number of rows that a rule scores otherwise, and the summary of the task under it.

    None for the summary where no row moves; one rule concerns the task as a whole.
    """
    others = {place: score_row(task, *texts[place], mode) for place in places}
    moved = sum(_scored(row) != _scored(rows[place]) for place, row in others.items())
    if not moved and not mode.endswith("empty_corpus"):
        return 0, None
    under_rule = [others.get(place, row) for place, row in enumerate(rows)]
    return moved, _summary(task, under_rule, mode)


def _scored(row: Row) -> tuple[object, ...]:
    """Returns what of a row enters a score."""
    counts = {
        name: n
        for name, n in row.counts.items()
        if n and name not in _EXTRA and not name.startswith("canonical_")
    }
    return row.status, row.parsed, counts


def _summary(task: Task, rows: Sequence[Row], mode: str) -> dict[str, float]:
    values = summary_metrics(task, flat_metrics(task, task_metrics(task, rows, mode)))
    return {name: value for name, value in values.items() if value is not None}
