"""Prompts that hold the question of another side: of rows that have nothing but their prompt."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from evalprep.samples.asked import normalise
from evalprep.samples.keys import Keys, Rows

_TAIL = 8  # characters of a question's end that are looked up in a prompt


def contained(
    side: Keys, prompted: Rows, other: Keys, candidates: Rows
) -> Iterator[tuple[int, int]]:
    """Yields rows with a prompt, and the row whose question is the last one in that prompt.

    A question that several rows hold, and a row that several prompts end in, pair with nothing.

    Args:
        side: The rows with prompts.
        prompted: Those of them that have no question apart from it.
        other: The rows with questions.
        candidates: Those of them that may be paired.
    """
    if not prompted.size or not candidates.size:
        return
    with_question = candidates[other.of("only_prompt", candidates) == 0].tolist()
    questions: defaultdict[str, list[int]] = defaultdict(list)
    for row, (text, _) in zip(with_question, other.texts(with_question), strict=True):
        if question := normalise(text):
            questions[question].append(row)
    by_tail: defaultdict[str, list[str]] = defaultdict(list)
    for question in questions:
        by_tail[question[-_TAIL:]].append(question)
    lengths = sorted({len(tail) for tail in by_tail}, reverse=True)
    prompts_of: defaultdict[int, list[int]] = defaultdict(list)
    rows = prompted.tolist()
    for row, (_, prompt) in zip(rows, side.texts(rows), strict=True):
        last = _last_in(normalise(prompt), by_tail, lengths)
        if last and len(questions[last]) == 1:
            prompts_of[questions[last][0]].append(row)
    for other_row, own_rows in prompts_of.items():
        if len(own_rows) == 1:
            yield own_rows[0], other_row


def _last_in(prompt: str, by_tail: Mapping[str, list[str]], lengths: Sequence[int]) -> str:
    """The question that ends last in a prompt; empty without one, or where two end there.

    Args:
        prompt: The prompt.
        by_tail: The questions by their last characters.
        lengths: The numbers of these, largest first.
    """
    for end in range(len(prompt), 0, -1):
        ending: list[str] = []
        for length in lengths:
            questions = by_tail.get(prompt[max(0, end - length) : end], ())
            ending += [text for text in questions if prompt.endswith(text, 0, end)]
        if ending:
            return ending[0] if len(ending) == 1 else ""
    return ""
