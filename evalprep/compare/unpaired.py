"""Usual reasons, tested, why no row of one tool is the same question as a row of another."""

from __future__ import annotations

import re

from evalprep.compare.askedrows import AskedRow
from evalprep.compare.pairing import Pairs
from evalprep.compare.questions import GOLD_COLUMN
from evalprep.compare.tablerows import TableRows
from evalprep.compare.task import TaskComparison
from evalprep.errors import BadInput, Problem
from evalprep.results import TABLE
from evalprep.terminal import counted

_WORD = re.compile(r"\w+")
_SAME_TASK = 0.5  # share of the words of the shorter side from which questions are of one kind
_ROWS = 500  # rows of a side that are looked at


def nothing_paired(task: TaskComparison, where: str) -> BadInput | None:
    """Returns the error for a task of two tools without a pair; None for any other."""
    pairs, table, other = task.pairs, task.table, task.other
    if pairs is None or table is None or other is None or pairs.paired or not pairs.across_tools:
        return None
    sides = TableRows(table, pairs.tools[0]), TableRows(other, pairs.tools[1])
    texts = [list(side.texts(range(min(len(side), _ROWS)))) for side in sides]
    reasons = [*_prompts_only(texts), *_other_gold(pairs)]
    if 2 * len(pairs.conflicts) < min(map(len, sides)):
        reasons += _other_questions(texts)
    return BadInput(
        Problem(
            what=f"no row of task {task.name} is on both sides: {'; '.join(reasons)}",
            where=where,
            fix="compare one task and one split on both sides, or pair the rows with "
            "`--pairing same_ids` or `--pairing position`",
        )
    )


def _prompts_only(sides: list[list[AskedRow]]) -> list[str]:
    """The reason where a side keeps no question beside the prompt."""
    reasons = []
    for name, rows in zip(("candidate", "baseline"), sides, strict=True):
        without = sum(not row.question or row.has_only_prompt for row in rows)
        if rows and without == len(rows):
            has_prompts = any(row.prompt for row in rows)
            kept = "prompts without questions" if has_prompts else "neither questions nor prompts"
            reasons.append(f"the {name} keeps {kept}")
    return reasons


def _other_gold(pairs: Pairs) -> list[str]:
    """The reason where questions are equal and their gold answers are not."""
    count = len(pairs.conflicts)
    if not count:
        return []
    reason = f"{counted(count, 'question is', 'questions are')} equal with another gold answer"
    return [f"{reason} ({GOLD_COLUMN})" if TABLE in pairs.tools else reason]


def _other_questions(sides: list[list[AskedRow]]) -> list[str]:
    """Returns whether the questions are of another task, or of another part of the same data."""
    words = [set(_WORD.findall(" ".join(row.question for row in rows).lower())) for rows in sides]
    smaller = min(map(len, words))
    if not smaller:
        return []
    share = len(words[0] & words[1]) / smaller
    kind = "another split of the data" if share >= _SAME_TASK else "another task"
    return [f"{kind}: {share:.0%} of the words of the questions are on both sides"]
