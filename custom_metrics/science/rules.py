"""What each rule between the two modes is worth: the change of a score when that rule alone is mended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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
    """What one rule does to the summary metrics of a task.

    Attributes:
        rule: One of `mode.RULES`.
        rows: Replies that it scores otherwise.
        change: Metric -> corrected minus original, with every other rule as in `within`.
        within: `compat` where the rule alone is mended; `corrected` where the original stops at a reply, so that the
            change is what goes when the rule is taken out.
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
    >>> changes = rule_changes(task, texts, score_rows(task, texts, "compat"), score_rows(task, texts))
    >>> [(one.rule, one.change) for one in changes]
    [('json_search', {'f1': 1.0})]
    """
    within = COMPAT if original is not None else CORRECTED
    rows = corrected if original is None else original
    open_places = [
        place
        for place in range(len(texts))
        if original is None or _scored(original[place]) != _scored(corrected[place])
    ]
    if not open_places:
        return []
    before = _summary(task, rows, within)
    found = []
    for rule in RULES:
        mode = f"{within}{'+' if original is not None else '-'}{rule}"
        try:
            others = {place: score_row(task, *texts[place], mode) for place in open_places}
            moved = [place for place, row in others.items() if _scored(row) != _scored(rows[place])]
            if not moved and rule != "empty_corpus":
                continue
            after = _summary(task, [others.get(place, row) for place, row in enumerate(rows)], mode)
        except Exception:  # noqa: BLE001 - where the original stops is what is told
            found.append(RuleChange(rule, 0, {}, within, stops=True))
            continue
        sign = 1 if original is not None else -1
        change = {name: sign * (after[name] - value) for name, value in before.items() if after.get(name) != value}
        if change:
            found.append(RuleChange(rule, len(moved), change, within))
    return found


def _scored(row: Row) -> tuple[object, ...]:
    """What of a row enters a score."""
    counts = {
        name: n for name, n in row.counts.items() if n and name not in _EXTRA and not name.startswith("canonical_")
    }
    return row.status, row.parsed, counts


def _summary(task: Task, rows: Sequence[Row], mode: str) -> dict[str, float]:
    values = summary_metrics(task, flat_metrics(task, task_metrics(task, rows, mode)))
    return {name: value for name, value in values.items() if value is not None}
