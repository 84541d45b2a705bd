r"""Choices with their letter in front: `\textbf{(B)} 12`, `\text{(C) Plane}`, `C. Plane`."""

from __future__ import annotations

import re

_TEXT = r"\\(?:text|textbf|textrm|mathrm|mathbf)"
_BOLD = re.compile(
    rf"\s*{_TEXT}\s*\{{\s*(?:\\textbf\s*\{{)?(?:\(?([A-J])[).:]|\(([a-j])\))(?:\s|~|\\[ ,;:])*\}}+"
)
# "(B) 12 m", "\text{C. } x = 3", "D) The energy is conserved"
_WITH_WORDS = re.compile(
    rf"\s*(?P<macro>{_TEXT}\s*\{{\s*)?"
    r"(?:\((?P<round>[A-Ja-j])\)|(?P<half>[A-J])\)|(?P<stop>[A-J])[.:])"
    r"(?:(?:\s|~|\\[ ,;:]|\\q?quad(?![a-zA-Z]))+|(?<=\))(?=[\d\\$]))"
    r"(?P<rest>(?:[A-Z][A-Za-z]|\d|\$|\\(?:text|mathrm|[dt]?frac|sqrt|pi|\()|-\s?\d|[a-z]{3}).*)",
    re.DOTALL,
)
_VALUE = re.compile(r"-?\s?\d{1,9}|\\text|\$")
"""Behind a small letter without a text macro: `(a)\\ 12`; a formula there is a product."""
_MARKED = re.compile(r"\s*(?:\(([A-Ja-j])\)|([A-J])\))[.:]?\s*")
_ANOTHER = re.compile(rf"(?:{_TEXT}\s*\{{\s*\(?|\()[A-Ja-j]\)")
_BLANKS = re.compile(r"(?:\s|~|:|\\[ ,;:]|\\q?quad(?![A-Za-z]))*")
_MORE = re.compile(
    r"[.,;&]|\\&|(?:\\text\s*\{\s*)?(?:and|or|nor|is|are|implies|but)(?![a-z])", re.IGNORECASE
)


def split(answer: str) -> tuple[str, str] | None:
    r"""Returns the letter of a choice, in lower case, and what stands behind it.

    None when the answer is no choice.

    Behind a letter with a full stop only a capital, a digit or a formula may follow: `E. coli` is
    no choice E.

    >>> (split(r"\textbf{(B)} 12"), split(r"\text{(C) Plane}"), split(r"\text{(A) and (B)}"),
    ... split("E. coli"))
    (('b', '12'), ('c', '\\text{Plane}'), None, None)
    """
    bold = _BOLD.match(answer)
    if bold is not None:
        return _split_bold(answer, bold)
    return _split_with_words(answer)


def _split_bold(answer: str, bold: re.Match[str]) -> tuple[str, str] | None:
    """Splits an answer that begins with a letter in bold."""
    blanks = _BLANKS.match(answer, bold.end())
    value = answer[blanks.end() :] if blanks else ""
    if not value or _names_more(value):
        return None
    letter: str = bold.group(1) or bold.group(2)
    return letter.lower(), value


def _split_with_words(answer: str) -> tuple[str, str] | None:
    """Splits an answer that begins with a letter in brackets or before a full stop."""
    choice = _WITH_WORDS.fullmatch(answer)
    if choice is None or _names_more(choice["rest"]):
        return None
    letter = choice["round"] or choice["half"] or choice["stop"]
    rest = choice["rest"]
    if choice["stop"] and rest[0].islower():
        return None
    if choice["macro"]:
        return letter.lower(), r"\text{" + rest
    if choice["round"] and _is_operand(letter, rest):
        return None
    return letter.lower(), rest


def _names_more(rest: str) -> bool:
    """Tells whether what follows a letter goes on with another one, or with a sentence."""
    return _MORE.match(rest) is not None or _ANOTHER.search(rest) is not None


def _is_operand(letter: str, rest: str) -> bool:
    """Tells whether a letter in round brackets is a part of a formula: `(A) - 5`, `(a)x`."""
    is_factor = letter.islower() and _VALUE.match(rest) is None
    return rest[0] == "-" or is_factor


def same_letter(gold: str, answer: str) -> bool:
    """Returns whether a choice is named by its letter in brackets, which may be small.

    `C` is named by `C)` and by `(c)`.
    """
    marked = _MARKED.fullmatch(answer)
    letter = marked and (marked.group(1) or marked.group(2))
    return (
        letter is not None and letter.upper() == gold.strip("() ") and len(gold.strip("() ")) == 1
    )
