"""The last words of a comparison: what was decided, worst first, in at most three lines."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from evalprep.compare.conclusion import (
    BETTER,
    DIFFERENT,
    NO_DIFFERENCE,
    NOT_COMPARABLE,
    NOT_ENOUGH,
    WORSE,
    Conclusion,
    constant_change,
)
from evalprep.terminal import counted, shortlist

_NAMED = 4  # unchanged or undecided quantities that a line names
_SHOWN = 8  # quantities that a line names as better, worse or changed
_SAME = (NO_DIFFERENCE, "equivalent")


def closing_lines(
    deciding: Sequence[Conclusion],
    advisory: Sequence[Conclusion],
    overall: Conclusion | None,
    *,
    missing: Sequence[str] = (),
) -> list[str]:
    """The closing sentences: worse, better, and what could not be compared and why.

    Args:
        deciding: Tasks, suite scores and metrics that decide.
        advisory: Metrics beside them that are better, worse or changed.
        overall: The mean over tasks.
        missing: Sentences about tasks and metrics that the candidate lacks.
    """
    deciding = [item for item in deciding if item.decides]
    overall = overall if len(deciding) > 1 else None
    names = _Names.of([*deciding, *advisory])
    together = [] if overall is None else [overall]
    lines = _shown_lines([*deciding, *advisory, *together], names)
    unchanged = [item for item in deciding if item.verdict in _SAME]
    if unchanged:
        if lines:
            same = shortlist([names.name(item) for item in unchanged], _NAMED)
            lines[-1] += f"; no difference shown in {same}"
        else:
            lines = [_nothing_shown(unchanged, overall)]
        lines = _with_constant_changes(lines, unchanged, names)
    undecided = _undecided(deciding, missing)
    if undecided:
        lines.append(undecided)
    return [_sentence(line) for line in lines]


def _with_constant_changes(
    lines: list[str], unchanged: Sequence[Conclusion], names: _Names
) -> list[str]:
    """The lines with rows that all changed by the same amount first: no spread shows no chance."""
    phrases = []
    for item in unchanged:
        if item.difference.constant is None:
            continue
        sentence = constant_change(item.difference)
        if sentence not in lines[0]:
            phrases.append(f"{names.name(item)}: {sentence}")
    if not phrases:
        return lines
    return ["; ".join([*_short(phrases), lines[0]]), *lines[1:]]


class _Names(msgspec.Struct, frozen=True):
    """The names of quantities in the closing lines.

    Attributes:
        alone: True where all quantities are of one task.
        with_metric: Tasks of which another metric is named.
    """

    alone: bool
    with_metric: frozenset[str]

    @classmethod
    def of(cls, items: Sequence[Conclusion]) -> _Names:
        beside = (item.task for item in items if item.kind not in {"task", "suite"})
        return cls(len({item.task for item in items}) == 1, frozenset(beside))

    def name(self, item: Conclusion) -> str:
        """The metric, the task, or both.

        The metric where there is one task, both where another metric of the task is named, else the
        task.
        """
        if not item.metric:
            return item.name
        plain = item.filter in {"", "none"}
        metric = item.metric if plain else f"{item.metric} ({item.filter})"
        if self.alone:
            return metric
        has_others = item.kind == "task" and item.name in self.with_metric
        return f"{item.name}: {metric}" if has_others else item.name


def _shown_lines(items: Sequence[Conclusion], names: _Names) -> list[str]:
    """Returns what is worse, then what is better or changed."""
    lines = []
    for verdicts in ((WORSE,), (BETTER, DIFFERENT)):
        chosen = [item for item in items if item.verdict in verdicts]
        phrases = [_phrase(item, names.name(item)) for item in chosen]
        if phrases:
            lines.append("; ".join(_short(phrases)))
    return lines


def _sentence(line: str) -> str:
    """A line with a capital letter in front, unless it begins with a name."""
    first_word = line.split(" ", 1)[0]
    plain = first_word in {"no", "not", "any", "the"}
    return line[:1].upper() + line[1:] if plain else line


def _short(phrases: Sequence[str]) -> list[str]:
    if len(phrases) <= _SHOWN:
        return list(phrases)
    return [*phrases[:_SHOWN], f"and {len(phrases) - _SHOWN} more"]


def _phrase(item: Conclusion, name: str) -> str:
    """A quantity and its verdict: `acc_norm worse by 7.0 points`."""
    change = item.difference.change(sign=item.verdict == DIFFERENT)
    verb = "changed by" if item.verdict == DIFFERENT else f"{item.verdict} by"
    phrase = f"{name} {verb} {change}"
    if sentence := item.difference.unseen_losses if item.verdict == BETTER else "":
        phrase += f" ({sentence})"
    if item.difference.constant is None:
        return phrase
    return f"{constant_change(item.difference)}: {phrase}"


def _nothing_shown(unchanged: Sequence[Conclusion], overall: Conclusion | None) -> str:
    """The sentence where nothing is better or worse."""
    if overall is not None:
        return f"{overall.verdict} in the {overall.name}: {overall.words}"
    if len(unchanged) == 1:
        return f"{unchanged[0].verdict}: {unchanged[0].words}"
    return f"no difference shown in {counted(len(unchanged), 'score')}"


def _undecided(deciding: Sequence[Conclusion], missing: Sequence[str]) -> str:
    """Returns what could not be compared, each reason once."""
    names_of: dict[tuple[str, str], list[str]] = {}
    for sentence in missing:
        names_of[NOT_ENOUGH, sentence] = []
    for item in deciding:
        if item.verdict in {NOT_COMPARABLE, NOT_ENOUGH}:
            reasons = item.not_comparable or item.not_enough or [item.words]
            names_of.setdefault((item.verdict, reasons[0]), []).append(item.name)
    parts = []
    for (verdict, reason), names in list(names_of.items())[:_NAMED]:
        where = f" on {shortlist(names, _NAMED)}" if names else ""
        parts.append(f"{verdict}{where}: {reason}")
    if len(names_of) > _NAMED:
        parts.append(f"and {len(names_of) - _NAMED} more")
    return "; ".join(parts)
