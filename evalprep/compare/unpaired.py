"""Usual reasons, tested, why no row of one tool is the same question as a row of another."""

from __future__ import annotations

import re

from evalprep.compare.pairing import Pairs
from evalprep.compare.task import PairedTask
from evalprep.errors import BadInput, Problem
from evalprep.samples import GOLD_COLUMN, TABLE, Asked
from evalprep.terminal import counted

_WORD = re.compile(r"\w+")
_SAME_TASK = 0.5  # share of the words of the shorter side from which questions are of one kind
_ROWS = 500  # rows of a side that are looked at
_FIX = (
    "compare one task and one split on both sides, or pair the rows with "
    "`--pairing same_ids` or `--pairing position`"
)


def nothing_paired(rows: PairedTask, where: str) -> BadInput | None:
    """Returns the error for a task of two tools without a pair; None for any other."""
    pairs = rows.pairs
    if pairs.paired or not pairs.across_tools:
        return None
    texts = [list(side.asked(range(min(len(side), _ROWS)))) for side in pairs.match.sides]
    reasons = [*_prompts_only(texts), *_other_gold(pairs)]
    if 2 * len(pairs.conflicts) < pairs.smaller:
        reasons += _other_questions(texts)
    what = f"no row of task {rows.task} is on both sides: {'; '.join(reasons)}"
    return BadInput(Problem(what=what, where=where, fix=_FIX))


def _prompts_only(sides: list[list[Asked]]) -> list[str]:
    """The reason where a side keeps no question beside the prompt."""
    reasons = []
    for name, rows in zip(("candidate", "baseline"), sides, strict=True):
        has_questions = any(row.question and not row.has_only_prompt for row in rows)
        if not rows or has_questions:
            continue
        kept = "neither questions nor prompts"
        if any(row.prompt for row in rows):
            kept = "prompts without questions"
        reasons.append(f"the {name} keeps {kept}")
    return reasons


def _other_gold(pairs: Pairs) -> list[str]:
    """The reason where questions are equal and their gold answers are not."""
    count = len(pairs.conflicts)
    if not count:
        return []
    questions = counted(count, "question is", "questions are")
    reason = f"{questions} equal with another gold answer"
    if TABLE in pairs.tools:
        reason += f" ({GOLD_COLUMN})"
    return [reason]


def _other_questions(sides: list[list[Asked]]) -> list[str]:
    """Returns whether the questions are of another task, or of another part of the same data."""
    words, other_words = (_words_of(rows) for rows in sides)
    smaller = min(len(words), len(other_words))
    if not smaller:
        return []
    share = len(words & other_words) / smaller
    kind = "another split of the data" if share >= _SAME_TASK else "another task"
    shared_words = f"{share:.0%} of the words of the questions"
    return [f"{kind}: {shared_words} are on both sides"]


def _words_of(rows: list[Asked]) -> set[str]:
    """The words of all questions, in lower case."""
    questions = " ".join(row.question for row in rows)
    return set(_WORD.findall(questions.lower()))
