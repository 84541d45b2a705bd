# ruff: noqa: RUF001 - replies use typographic quotes, dashes and full-width marks; the patterns
# name them
r"""The answer that a sentence states where a reply has no box.

"The final answer is $\frac12$."
"""

from __future__ import annotations

import re

from custom_metrics.patterns import any_of

MAX_CHARS = 200_000
MAX_ANSWER_CHARS = 400

# "the final answer is", "Answer to the question: "
_STATEMENT = re.compile(
    r"\b(?:final|correct)?\s?answer\b(?:\s{1,4}to\b[^.\n:]{0,80}?)?"
    r"[*_]{0,3}\s{0,4}(?:is\b|:|：|=)[\s*_:]{0,8}",
    re.IGNORECASE,
)
# "**Final Answer**" as a heading, with the answer on a later line.
_HEADING = re.compile(
    r"^[#*_> ]{0,8}(?:the\s)?(?:final|correct)?\s?answer[*_:：# ]{0,8}\n\s{0,8}",
    re.IGNORECASE | re.MULTILINE,
)
_JUDGED = any_of(
    r"correct right wrong incorrect consistent reasonable verified as\s+follows found obtained",
    r"given in\s clear not\s",
    r"the\s+(?:value|result|same|one|number|sum)\b(?![^.\n]{0,60}\d) what\b therefore\W{0,3}$",
)
# Sentences about the answer, which state none: "correct.", "the same as above"
_ABOUT = re.compile(_JUDGED, re.IGNORECASE)
_MAX_STATEMENTS = 50
# "I hope it is correct" and reasons are no part of an answer.
_CLOSING_PHRASE = re.compile(
    r"\.?\s{1,4}I hope (?:it|this) is correct\b.*"
    r"|,?\s{1,4}(?:because|since|as (?:shown|required|desired))\b.*",
    re.IGNORECASE | re.DOTALL,
)
_ANOTHER_FORMULA = re.compile(r"\s{0,4}(?:,|\bor\b|\band\b|,\s?(?:or|and)\b)\s{0,4}(?:\$|\\[(\[])")
_INLINE_MATH = re.compile(
    r"\$\$?([^$]{1,400})\$\$?|\\\((.{1,400}?)\\\)|\\\[(.{1,400}?)\\\]", re.DOTALL
)


def extract_stated(text: str) -> str | None:
    r"""Reads the answer after the last "answer is", "Answer:" or heading "Final Answer" of a reply.

    The formula that starts there counts; where another one is joined to it, or where there is none,
    the rest of the line up to the end of its sentence, without a reason ("because ..."). Sentences
    about the answer ("This answer is correct.") state none.

    Args:
        text: A reply without thinking traces.

    Returns:
        The answer without dollar signs and the closing full stop; None where nothing is stated,
        where the answer is longer than 400 characters, or where its braces do not balance.

    >>> extract_stated(r"Therefore, the final answer is $\frac{1}{2}$. I hope it is correct.")
    '\\frac{1}{2}'
    """
    text = text[-MAX_CHARS:]
    ends = [match.end() for match in (*_STATEMENT.finditer(text), *_HEADING.finditer(text))]
    for end in sorted(set(ends), reverse=True)[:_MAX_STATEMENTS]:
        tail = text[end : end + 4 * MAX_ANSWER_CHARS].lstrip()
        if tail and not _ABOUT.match(tail):
            return _answer_at_the_start(tail)
    return None


def _answer_at_the_start(tail: str) -> str | None:
    """Reads the formula or the sentence with which a text begins.

    None for what is too long or damaged.
    """
    formula = _INLINE_MATH.match(tail)
    if formula and not _ANOTHER_FORMULA.match(tail, formula.end()):
        answer = next(group for group in formula.groups() if group is not None)
    else:
        line = _CLOSING_PHRASE.sub("", tail.split("\n", 1)[0])
        sentence = re.split(r"[.!](?:\s|$)", line, maxsplit=1)[0]
        answer = re.sub(r"\\?\$|\\[()\[\]]", "", sentence)
    answer = answer.strip().strip("*_`").strip()
    if not answer or len(answer) > MAX_ANSWER_CHARS or answer.count("{") != answer.count("}"):
        return None
    return answer


METRICS = {"extract.stated": extract_stated}
