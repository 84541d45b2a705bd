# ruff: noqa: RUF001 - replies use typographic quotes, dashes and full-width marks; the patterns name them
r"""The letter that a reply chooses, limited to the letters that were offered.

Published recipes read the letter with one regular expression such as `best answer is ([A-Z])`. That misses `**B**`,
`(B)`, `: B` and `\boxed{B}`, and reads "Both" as B. Here a letter counts only where it stands alone and where the
text says that it is the answer. A reply that weighs several letters without choosing one gives None: a guess by the
extractor would be the extractor's answer, not the model's.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_CHARS = 200_000
"""Of longer replies only this much is read, from the end (from the start for `prefer="first"`)."""

# What may stand between a phrase and its letter: blanks, Markdown marks, quotes, opening brackets, LaTeX wrappers.
_OPEN = r"(?:[\s*_`\"'“”‘’«„$(\[{（【<~]|\\[(\[]|\\(?:text|textbf|textit|mathbf|mathrm|mathit|rm|bf)\b)"
# Not a letter that chooses: the start of a word, an abbreviation (e.g., D.C.), vitamin B-12, a grade B+, "A = 5".
_ALONE = r"(?![^\W_]|['’]\w|-\w|\+|\.[A-Za-z]\b|\s{0,2}=)"
_LETTER = rf"{_OPEN}{{0,16}}(?P<letter>[A-Za-z]){_ALONE}"
_CLOSE = r"[\s*_`\"'”’.)\]}$）】>!]"
_LINK = (
    r"(?:[\s*_:：=]"
    r"|\b(?:is|was|be|must|clearly|definitely|therefore|thus|then|indeed|probably|most|likely|actually|still)\b)"
)
_LABEL = r"(?:the\s+)?(?:option|choice|letter|statement|answer)\b\s*"
_HEAD = (
    r"(?:answers?|ans|(?:correct|right|best|final|appropriate|accurate|my)\s+"
    r"(?:option|choice|letter|selection|statement|one))"
)

_STATEMENTS = tuple(
    re.compile(pattern, re.IGNORECASE | re.MULTILINE)
    for pattern in (
        # "the best answer is B", "Answer: (B)", "the answer to this question is option **B**"
        (
            rf"\b{_HEAD}\b(?:\s+(?:choice|option|letter))?(?:\s+(?:to|for|of|here|in|from|among)\b[^.:\n]{{0,80}}?)?"
            r"[*_\"'”’)]{0,4}\s{0,4}(?:is\b|was\b|must\s+be\b|would\s+be\b|should\s+be\b|has\s+to\s+be\b|:|：|=)"
            rf"{_LINK}{{0,12}}(?:{_LABEL})?{_LETTER}"
        ),
        # "### Answer" and the letter alone on a later line
        rf"^[#*_ ]{{0,8}}(?:final\s+|the\s+|correct\s+)?answer[*_:： ]{{0,8}}\n{_LETTER}(?={_CLOSE}{{0,8}}$)",
        # "Answer B" as a whole line
        rf"^[#*_ ]{{0,8}}(?:final\s+)?answer\s{_LETTER}{_CLOSE}{{0,8}}$",
        # "<answer>B</answer>"
        rf"<answer>{_LETTER}",
        # "I choose (B)", "we select option B"
        rf"\b(?:choose|select|pick|go\s+with|opt\s+for)\s+(?:{_LABEL})?{_LETTER}",
        # "option B is correct", "(B) is the right answer"
        (
            rf"(?<![\w\\'’-])(?:(?:option|choice|statement|answer|letter)\s+)?{_LETTER}{_CLOSE}{{0,8}}\s"
            r"(?:is|must\s+be|would\s+be|should\s+be)\s+(?:(?:clearly|therefore|thus|indeed|definitely)\s+)?(?:the\s+)?"
            r"(?:most\s+|only\s+)?(?:correct|right|best|accurate|appropriate|answer)\b"
        ),
    )
)
_BOX = re.compile(r"\\(?:boxed|fbox)\s{0,4}\{(?P<content>(?:[^{}]|\{[^{}]{0,200}\}){0,200})\}")
_BOXED = re.compile(rf"{_LETTER}(?:[\s*_)\]}}$]|\\[)\]])*(?:(?<=[)\]}}*]\s).*|[.:,](?:\s.*)?)?", re.DOTALL)
# "A: ..." opens an answer in a question-and-answer text and names no letter.
_OPENING = re.compile(
    rf"\A[#*\s]{{0,8}}(?i:{_LABEL})?{_LETTER}(?={_CLOSE}{{0,8}}(?:(?<=[).])\s|(?<!A):|[,;、。]|$|\n|\s[-–—]\s))"
)
_DIRECT = re.compile(rf"\A{_LETTER}")
_OPTION_LINE = re.compile(r"^[^\w\n]{0,4}([A-Z])[).:]", re.MULTILINE)
_WHOLE_LINE = re.compile(rf"\A[#>\s]{{0,8}}(?:{_LABEL})?{_LETTER}{_CLOSE}*\Z", re.IGNORECASE)
_MAX_LETTER_LINE = 40
_CONCLUSION = re.compile(
    r"\b(?i:so|thus|therefore|hence|consequently|conclude|implies|gives|leaves|guess|say|option|choice|answer|is|be)[\s,:]{1,4}"
    rf"(?i:{_LABEL})?{_OPEN}{{0,16}}(?P<letter>[A-Z]){_ALONE}{_CLOSE}{{0,8}}$"
)
_MARKED = re.compile(r"(?:[(（\[【]\s?|\*\*\(?|\\text(?:bf)?\{\(?)(?P<letter>[A-Z])(?=\s?[)）\]】]|\)?[.:]?\*\*|\)?\})")

# "A or B", "A/C", "A, B and D": no choice was made. "B, and A is wrong" is one: a verb follows the second letter.
_HEDGE = re.compile(
    rf"{_CLOSE}{{0,8}}(?:\bor\b|\band\b|/|&|,(?:\s{{0,2}}(?:or|and)\b)?)\s{{0,4}}(?:{_LABEL})?{_OPEN}{{0,16}}"
    r"[A-Z](?![^\W_]|['’]\w)"
    rf"(?!{_CLOSE}{{1,6}}(?:is|are|was|has|have|can|cannot|does|do|would|fails?|uses?|gives?|says?)\b)"
)
# "Answer: A triangle has ..." and "The answer is I think ..." hold words, "Answer: A because ..." holds a letter.
_WORD_AFTER = re.compile(
    r"[ \t]+(?!(?:because|since|as|and|or|for|due|given|which|is|with|based|but|by|if|when|while)\b)[a-z]"
)
_END_TOKENS = re.compile(r"(?:\s{0,8}(?:</s>|<\|\w{1,20}\|>)){1,8}\s{0,8}\Z")
_BLANK_THEN_MORE = re.compile(r"[ \t]+\S")


def _letters(pattern: re.Pattern[str], text: str, offered: str) -> Iterator[tuple[int, str]]:
    """Yield position and letter of each match that chooses exactly one offered letter."""
    for match in pattern.finditer(text):
        raw, start, end = match.group("letter"), match.start("letter"), match.end("letter")
        if raw.upper() not in offered or _HEDGE.match(text, end):
            continue
        bare = start == 0 or text[start - 1].isspace() or text[start - 1] in ":：="
        if bare and raw in "AIai" and _WORD_AFTER.match(text, end):
            continue
        if bare and raw.islower() and _BLANK_THEN_MORE.match(text, end):
            continue
        yield start, raw.upper()


def _boxed_letters(text: str, offered: str) -> Iterator[tuple[int, str]]:
    for box in _BOX.finditer(text):
        content = box.group("content").strip()
        inside = _BOXED.fullmatch(content)
        # A box of several letters, or a formula that starts with one, is no choice.
        if inside and inside.group("letter").upper() in offered and not _HEDGE.match(content, inside.end("letter")):
            yield box.start(), inside.group("letter").upper()


def extract_choice(text: str, letters: str = "ABCD", *, prefer: Literal["last", "first"] = "last") -> str | None:
    r"""Find the letter that a reply gives as its answer.

    In this order: statements and boxes ("best answer is B", "Answer: (B)", "B is correct", `\boxed{B}`), among which
    the last (or first) wins; a reply that begins with the letter ("B. Because ..."); a line that is only the letter;
    a last line that begins or concludes with it ("**B. 12 m/s**", "Therefore, B."); the one marked letter of the last
    line ("... **(B)** ...").

    Args:
        text: A reply without thinking traces.
        letters: The letters that the question offers, in capitals.
        prefer: Which statement wins where a reply makes several; `first` suits base models, which go on to invent
            further questions.

    Returns:
        A capital letter out of `letters`, or None where the reply chooses none.

    >>> extract_choice("Both look right, but the best answer is **(B)**.")
    'B'
    >>> extract_choice("The best answer is Both") is None
    True
    >>> extract_choice("The answer is A or B.") is None
    True
    """
    if len(text) > MAX_CHARS:
        text = text[-MAX_CHARS:] if prefer == "last" else text[:MAX_CHARS]
    text = _END_TOKENS.sub("", text)
    statements = [found for pattern in _STATEMENTS for found in _letters(pattern, text, letters)]
    statements.extend(_boxed_letters(text, letters))
    if statements:
        return (max if prefer == "last" else min)(statements)[1]

    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return None
    # A reply that repeats the options begins lines with letters that it does not choose.
    opening = () if len(set(_OPTION_LINE.findall(text))) > 1 else (_OPENING,)
    short_lines = [line for line in lines if len(line) <= _MAX_LETTER_LINE]
    attempts = [
        *((pattern, text.strip()[:400]) for pattern in opening),
        *((_WHOLE_LINE, line) for line in (reversed(short_lines) if prefer == "last" else short_lines)),
        *((pattern, lines[-1][-400:]) for pattern in (*opening, _CONCLUSION)),
    ]
    for pattern, where in attempts:
        for _, letter in _letters(pattern, where, letters):
            return letter
    last = lines[-1][-400:]
    marked = {letter for _, letter in _letters(_MARKED, last, letters)}
    return marked.pop() if len(marked) == 1 else None


def extract_direct_choice(text: str, letters: str = "ABCD") -> str | None:
    """Find the letter of a reply whose prompt already ended in "The best answer is".

    The letter at the very start counts, whatever follows it: a reply ` B. ... that Water boils` means B. Only where no
    letter stands there, `extract_choice` reads the rest.

    Args:
        text: A reply without thinking traces.
        letters: The letters that the question offers, in capitals.

    Returns:
        A capital letter out of `letters`, or None.

    >>> extract_direct_choice(" B. That is why Water boils")
    'B'
    """
    for _, letter in _letters(_DIRECT, text[:400], letters):
        return letter
    return extract_choice(text, letters)


METRICS = {"extract.choice": extract_choice, "extract.direct_choice": extract_direct_choice}
