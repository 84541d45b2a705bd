"""Scorers of other tools beside ours, and the samples on which they disagree."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from custom_metrics.math.bounded import Stopped, Worker
from custom_metrics.math.grade import grade
from custom_metrics.math.original_scorers import decided_by_text, what_counts
from custom_metrics.math.verdict import Verdict

Scorer = Literal["llama", "minerva", "leaderboard"]
SCORERS: tuple[Scorer, ...] = ("llama", "minerva", "leaderboard")
CPU_SECONDS = 10.0
"""Two comparisons of five seconds each, which is what the originals allow themselves."""

MAX_REPLY = 3_000
"""Characters of a reply that is read as a whole, from its end."""
MAX_BOX = 160
"""Characters of a box, or a gold answer, that the originals' algebra is asked about.

Its time grows without bound: two hundred characters of `(A) or (A) or ...` take two seconds. Of
longer ones only equal texts are equal.
"""

MAX_REMEMBERED = 20_000
"""Characters of a reply whose verdict is kept; longer ones would fill the memory."""

_WORKER = Worker(cpu_seconds=CPU_SECONDS, memory_mb=1_024)


class Disagreement(NamedTuple):
    """A sample on which our grader and another scorer differ.

    Attributes:
        sample_id: The sample.
        gold: The gold answer.
        ours: Our verdict.
        others: Scorer -> its verdict.
    """

    sample_id: str
    gold: str
    ours: Verdict
    others: dict[str, bool]

    def __str__(self) -> str:
        differing = ", ".join(
            name for name, verdict in self.others.items() if verdict != self.ours.correct
        )
        verdict = "right" if self.ours.correct else "wrong"
        why = f"{verdict} ({self.ours.why})"
        answers = f"{self.ours.extracted!r} for {self.gold!r}"
        return f"{self.sample_id}: {answers} is {why}; not so: {differing}"


def score_original(scorer: Scorer, gold: str, response: str) -> bool:
    """Scores a reply with another tool's scorer, inside the bounded worker.

    Args:
        scorer: `llama`, `minerva` or `leaderboard`.
        gold: Content of the gold box.
        response: The whole reply.

    Returns:
        Its verdict. A case that hangs or raises in the original is False here.
    """
    if len(response) > 2_000_000:
        return False
    counted = what_counts(scorer, response)
    if scorer == "leaderboard":
        counted = counted[-MAX_REPLY:]
    remembered = _score if len(counted) <= MAX_REMEMBERED else _score.__wrapped__
    return remembered(scorer, gold, counted)


@lru_cache(maxsize=4_096)  # every filter of a task asks again for the same box
def _score(scorer: Scorer, gold: str, response: str) -> bool:
    if len(gold) > MAX_BOX or (len(response) > MAX_BOX and scorer != "leaderboard"):
        answer = response[response.find("{") + 1 : -1].strip()
        return answer != "" and answer == gold.strip()
    decided = decided_by_text(scorer, gold, response)
    if decided is not None:
        return decided
    try:
        reply: dict[str, Any] = _WORKER.ask(
            {"kind": "original", "scorer": scorer, "gold": gold, "answer": response}
        )
    except Stopped:
        return False
    return bool(reply["equal"])


def disagreements(
    samples: Iterable[tuple[str, str, str]], scorers: Iterable[Scorer] = SCORERS
) -> list[Disagreement]:
    """Lists the samples on which ours and any of the other scorers differ.

    Args:
        samples: `(sample id, gold, response)`.
        scorers: The scorers to hold against ours.

    Returns:
        One entry per sample with a difference, in order.
    """
    names = tuple(scorers)
    differing = []
    for sample_id, gold, response in samples:
        ours = grade(gold, response)
        others = {str(name): score_original(name, gold, response) for name in names}
        if any(verdict != ours.correct for verdict in others.values()):
            differing.append(Disagreement(sample_id, gold, ours, others))
    return differing
