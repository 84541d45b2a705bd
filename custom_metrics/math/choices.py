r"""Choices with their letter in front: `\textbf{(B)} 12`, `\text{(C) Plane}`, `C. Plane`."""

from __future__ import annotations

import re

_TEXT = r"\\(?:text|textbf|textrm|mathrm|mathbf)"
_BOLD = re.compile(rf"\s*{_TEXT}\s*\{{\s*(?:\\textbf\s*\{{)?\(?([A-J])[).:](?:\s|~|\\[ ,;:])*\}}+")
_WITH_WORDS = re.compile(
    rf"\s*(?P<macro>{_TEXT}\s*\{{\s*)?(?:\((?P<round>[A-J])\)|(?P<half>[A-J])\)|(?P<stop>[A-J])[.:])"
    r"(?:(?:\s|~|\\[ ,;:]|\\q?quad(?![a-zA-Z]))+|(?<=\))(?=[\d\\$]))"
    r"(?P<rest>(?:[A-Z][A-Za-z]|\d|\$|\\(?:text|mathrm|[dt]?frac|sqrt|pi|\()|-\s?\d|[a-z]{3}).*)",
    re.DOTALL,
)
_MARKED = re.compile(r"\s*(?:\(([A-Ja-j])\)|([A-J])\))[.:]?\s*")
_ANOTHER = re.compile(rf"(?:{_TEXT}\s*\{{\s*\(?|\()[A-J]\)")
_BLANKS = re.compile(r"(?:\s|~|:|\\[ ,;:]|\\q?quad(?![A-Za-z]))*")
_MORE = re.compile(r"[.,;&]|\\&|(?:\\text\s*\{\s*)?(?:and|or|nor|is|are|implies|but)(?![a-z])", re.IGNORECASE)


def split(answer: str) -> tuple[str, str] | None:
    r"""Return the letter of a choice, in lower case, and what stands behind it; None when the answer is no choice.

    Behind a letter with a full stop only a capital, a digit or a formula may follow: `E. coli` is no choice E.

    >>> split(r"\textbf{(B)} 12"), split(r"\text{(C) Plane}"), split(r"\text{(A) and (B)}"), split("E. coli")
    (('b', '12'), ('c', '\\text{Plane}'), None, None)
    """
    bold = _BOLD.match(answer)
    blanks = bold and _BLANKS.match(answer, bold.end())
    if bold is not None and blanks is not None:
        if blanks.end() == len(answer) or _MORE.match(answer, blanks.end()) or _ANOTHER.search(answer, blanks.end()):
            return None
        return bold.group(1).lower(), answer[blanks.end() :]
    found = _WITH_WORDS.fullmatch(answer)
    if found is None or _MORE.match(found["rest"]) or _ANOTHER.search(found["rest"]):
        return None
    rest = found["rest"]
    if found["stop"] and rest[0].islower():
        return None
    if not found["macro"] and found["round"] and rest[0] == "-":
        return None  # `(A) - 5` is a difference
    letter = found["round"] or found["half"] or found["stop"]
    return letter.lower(), (r"\text{" + rest) if found["macro"] else rest


def same_letter(gold: str, answer: str) -> bool:
    """Whether a choice is named by its letter in brackets, which may be small: `C)`, `(c)` for `C`."""
    marked = _MARKED.fullmatch(answer)
    letter = marked and (marked.group(1) or marked.group(2))
    return letter is not None and letter.upper() == gold.strip("() ") and len(gold.strip("() ")) == 1
