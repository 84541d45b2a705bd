"""The answer that a scorer read from a reply.

The answer, how it was decided and why, and what a metric is made of.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

_MATH = frozenset({"original_llama", "minerva"})  # what the math scorer logs beside its verdict
_PARTS = ("inst_level_strict_acc", "inst_level_loose_acc")
_SHORT = 80  # characters up to which a whole reply is its own answer


class Reading(NamedTuple):
    """The answer read from one reply.

    Args:
        answer: The extracted answer; None where none is known.
        method: The step that decided; empty where the scorer does not tell.
        why: The reason in a clause; empty likewise.
        parts: Name of a part (an instruction) -> whether it was met.
    """

    answer: str | None = None
    method: str = ""
    why: str = ""
    parts: Mapping[str, bool] = MappingProxyType({})

    @property
    def failed(self) -> list[str]:
        """Names of the parts that were not met."""
        return [name for name, met in self.parts.items() if not met]


def logs_instructions(metrics: Mapping[str, Any]) -> bool:
    """Returns whether a sample's values have parts, which its row names."""
    if metrics.keys().isdisjoint(_PARTS):
        return False
    return list in map(type, map(metrics.get, _PARTS))


def is_whole_reply(answer: str, response: Any) -> bool:
    """Returns whether an answer is a reply as it stands, too long to be its own answer."""
    if len(answer) <= _SHORT or not isinstance(response, str):
        return False
    return answer.strip() == response.strip()


def read(
    doc: Mapping[str, Any], target: str, response: Any, filtered: Any, metrics: Mapping[str, Any]
) -> Reading:
    """Says what the scorer of a sample read from its reply.

    The whole reply is never called its answer.

    Args:
        doc: The row; it may be empty where `logs_instructions` says no.
        target: The gold answer.
        response: The reply.
        filtered: What the filter made of it.
        metrics: The sample's values, which tell the scorer.

    >>> doc = {"instruction_id_list": ["a:b", "c:d"]}
    >>> read(doc, "", "x", "x", {"inst_level_strict_acc": [True, False]}).failed
    ['c:d']
    """
    if metrics.keys() >= _MATH:
        from custom_metrics.extract import thinking
        from custom_metrics.extract.stated import extract_stated
        from custom_metrics.math import extract_boxed, grade

        text = filtered if isinstance(filtered, str) else response
        reply = thinking.strip_thinking(text if isinstance(text, str) else "")[0]
        answer = extract_boxed(reply)
        how = "box"
        if answer is None and "\\boxed" not in reply and "\\fbox" not in reply:
            answer = extract_stated(reply)
            how = "statement"
        if answer is None:
            return Reading(None, "none", "no complete box and no stated answer")
        verdict = grade(target, rf"\boxed{{{answer}}}", algebra=False)
        right = metrics.get("exact_match") in (1, True)
        if right and not verdict.correct:  # what only the algebra system decides
            return Reading(answer, f"{how}, algebra", "equal expressions")
        return Reading(answer, f"{how}, {verdict.method}", verdict.why)
    parts = _instructions(doc, metrics)
    if parts:
        return Reading(parts=parts)
    if not isinstance(filtered, str):
        return Reading()
    return Reading(None if is_whole_reply(filtered, response) else filtered)


def _instructions(doc: Mapping[str, Any], metrics: Mapping[str, Any]) -> dict[str, bool]:
    names = doc.get("instruction_id_list")
    if not isinstance(names, list):
        return {}
    verdicts = next((metrics[name] for name in _PARTS if isinstance(metrics.get(name), list)), None)
    if verdicts is None or len(names) != len(verdicts):
        return {}
    followed: dict[str, bool] = {}
    counts: Counter[str] = Counter()
    for name, verdict in zip(map(str, names), verdicts, strict=True):
        counts[name] += 1
        # The second instruction of one kind is another part of the prompt.
        key = name if counts[name] == 1 else f"{name} ({counts[name]})"
        followed[key] = bool(verdict)
    return followed
