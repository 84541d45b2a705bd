"""Replies to test a scorer with.

Perfect ones made from the gold answer, an empty one, an unrelated one, hard ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

from evalprep.check.matching_text import text_with

# The ways in which evaluations ask for an answer. A filter finds a gold answer when it finds it in
# one of them.
FORMS = (
    "{gold}",
    "The best answer is {gold}.",
    "The answer is {gold}.",
    "So the answer is {gold}.",
    "The answer is ({gold}).",
    "Answer: {gold}",
    "The final answer is: \\boxed{{{gold}}}",
    "Final Answer: The final answer is ${gold}$. I hope it is correct.",
    "#### {gold}",
    " {gold}.",
    "({gold})",
    "```\n{gold}\n```",
)
# Lower case and without digits: no letter to choose, no number, no word of any question. The first
# that holds no gold answer of the row is taken: "it" is in the first of them.
_UNRELATED = ("lorem ipsum dolor sit amet, consectetur adipiscing elit", "xyzzy qwfpgj", "...")
# Replies on which extraction and parsing get slow: long nesting, long runs, and a model that
# repeats itself.
HARD = {
    "20,000 opening brackets": "(" * 20_000,
    "4,000 nested boxes": "\\boxed{" * 4_000,
    "a 20,000-digit number": "\\boxed{" + "9" * 20_000 + "}",
    "one sentence 2,000 times": "The answer is not sure. " * 2_000,
    "40,000 spaces": " " * 40_000 + "x",
    "a tower of powers": "\\boxed{" + "9^{" * 60 + "9" + "}" * 60 + "}",
}


def position_of(gold: Any, choices: Sequence[Any]) -> int | None:
    """The position of a gold answer, which is a choice or its number; None where it is neither.

    >>> position_of("b", ["a", "b"]), position_of(2, ["a", "b"])
    (1, None)
    """
    if isinstance(gold, str) and gold in choices:
        return choices.index(gold)
    return gold if isinstance(gold, int) and 0 <= gold < len(choices) else None


def gold_texts(task: Any, doc: Mapping[str, Any]) -> list[str]:
    """The gold answers of a row as texts; empty when the row has none."""
    try:
        # The gold answer of a row; of a number, the choice at that place.
        gold = task.doc_to_target(doc)
        choices = task.doc_to_choice(doc) if task.get_config("doc_to_choice") is not None else None
        if isinstance(choices, list) and (position := position_of(gold, choices)) is not None:
            gold = choices[position]
    except Exception:  # noqa: BLE001
        # A row whose gold cannot be read is reported where prompts are built.
        return []
    golds = gold if isinstance(gold, list) else [gold]
    texts = [str(answer) for answer in golds if answer is not None and str(answer).strip()]
    # A gold answer that is itself a phrase, as in "Answer: B".
    phrases = [re.fullmatch(r"\s*[Aa]nswer:\s*(\S.*)", text, re.DOTALL) for text in texts]
    return texts + [phrase[1] for phrase in phrases if phrase]


def unrelated_reply(golds: Iterable[str]) -> str:
    """A reply that has nothing to do with a question, and holds none of its gold answers.

    >>> unrelated_reply(["Paris"])[:11], unrelated_reply(["it"])
    ('lorem ipsum', 'xyzzy qwfpgj')
    """
    answers = [gold.strip().lower() for gold in golds]
    fitting = (
        text for text in _UNRELATED if not any(answer and answer in text for answer in answers)
    )
    return next(fitting, _UNRELATED[-1])


def perfect_replies(task: Any, doc: Mapping[str, Any], patterns: Iterable[str] = ()) -> list[str]:
    """Replies that a scorer ought to accept, the plainest first; any one of them is enough.

    Args:
        task: lm-eval's task.
        doc: The row.
        patterns: Regular expressions of the task's filters, each of which gets replies that it can
            read.
    """
    golds = gold_texts(task, doc)
    replies = [form.format(gold=gold) for gold, form in product(golds, FORMS)]
    made = [text_with(pattern, gold) for gold, pattern in product(golds, patterns)]
    replies += [text for text in made if text is not None]
    solution = doc.get("solution")
    if golds and isinstance(solution, str) and solution.strip():
        replies.insert(0, solution)
    return replies


def published_reply(doc: Mapping[str, Any]) -> tuple[str, bool] | None:
    """The published output of a row and its verdict; None where the row has not both."""
    text = doc.get("previous_output_prediction_text")
    verdict = doc.get("previously_is_correct")
    if isinstance(text, list):
        text = text[0] if text else None
    return (text, verdict) if isinstance(text, str) and isinstance(verdict, bool) else None
