# ruff: noqa: RUF002 - replies use typographic quotes, dashes and full-width marks; the patterns name them
r"""The final number of a reply, in one spelling, and equality of such numbers without floating point."""

from __future__ import annotations

import re
from decimal import Decimal, localcontext
from fractions import Fraction

MAX_CHARS = 200_000
MAX_DIGITS = 400
"""A number with more digits, or with an exponent beyond this, is compared as text."""

# A comma belongs to a number only between groups of three digits, so that "10,11" is two numbers. The sign must not
# follow a digit or a letter ("10-11", "x-1"); a full stop belongs to it only before a digit.
_NUMBER = re.compile(
    r"(?:(?<![\w)\]}.,])[-+\u2212]\s?(?:\\?\$\s?)?)?(?<![\w.])"
    r"(?:\d{1,3}(?:(?:,|\{,\}|\\,)\d{3}){1,60}(?!\d)|\d+)?(?:(?<!\d)\.\d+|(?<=\d)\.\d+|(?<=\d))"
    r"(?:[eE][-+]?\d{1,4}(?![\w.]))?(?:\s?/\s?\d+(?![\d.]))?"
)
_STATED = re.compile(
    r"(?:####|\banswers?\b[^.\n]{0,60}?(?:\bis\b|:|=)|\bfinal\s+(?:result|number|total)\b[^.\n]{0,30}?(?:\bis\b|:|=))"
    r"[\s*_:$=~≈]{0,8}(?:\\\(\s?)?(?:\\boxed\{\s?)?",
    re.IGNORECASE,
)
_FRACTION = re.compile(r"([-+]?)\s?\\[dt]?frac\s?\{\s?([-+]?\d+)\s?\}\s?\{\s?(\d+)\s?\}")


def canonical_number(text: str) -> str | None:
    """Write a number in one way: no thousands separators, no trailing zeros, ASCII minus; fractions stay fractions.

    Args:
        text: One number, with optional sign, separators, exponent or denominator.

    Returns:
        The canonical spelling, or None where `text` is not one number.

    >>> canonical_number("+1,234.50"), canonical_number("−0"), canonical_number("6/4"), canonical_number("1.5e3")
    ('1234.5', '0', '3/2', '1500')
    """
    match = _NUMBER.fullmatch(text.strip())
    if match is None:
        return None
    plain = re.sub(r"[\s,{}$+\\]", "", match.group()).replace("\u2212", "-")
    if len(plain) > MAX_DIGITS:
        return plain
    if re.search(r"[eE]", plain) and abs(int(re.split(r"[eE]", plain)[1].split("/")[0])) > MAX_DIGITS:
        return plain.lower()
    top, _, bottom = plain.partition("/")
    if bottom:
        return str(Fraction(top) / int(bottom)) if int(bottom) else plain
    with localcontext(prec=2 * MAX_DIGITS):
        value = Decimal(top)
        return format(value.normalize(), "f") if value else "0"


def extract_number(text: str) -> str | None:
    r"""Find the final number of a reply.

    A number right after a statement ("the answer is 12", "#### 12", "answer: \boxed{12}") comes before a bare one;
    among equals the last wins. Units, currency signs and a full stop after the number do not matter.

    Args:
        text: A reply without thinking traces.

    Returns:
        The number in canonical spelling, or None.

    >>> extract_number("3 + 4 = 7, so the answer is $1,234.50. I checked it 2 times.")
    '1234.5'
    >>> extract_number("It costs 3.5.")
    '3.5'
    """
    text = _FRACTION.sub(r"\1\2/\3", text[-MAX_CHARS:])
    for statement in reversed(list(_STATED.finditer(text))):
        match = _NUMBER.match(text, statement.end())
        if match:
            return canonical_number(match.group())
    last = None
    for last in _NUMBER.finditer(text):  # noqa: B007 - only the last match is wanted, and a list of all costs memory
        pass
    return canonical_number(last.group()) if last else None


def same_number(first: str, second: str) -> bool:
    """Tell whether two texts write the same number, exactly.

    Args:
        first: One number.
        second: Another.

    Returns:
        False also where one of them is not a number.

    >>> same_number("0.50", "1/2"), same_number("1,000", "1e3"), same_number("2", "two")
    (True, True, False)
    """
    left, right = canonical_number(first), canonical_number(second)
    if left is None or right is None:
        return False
    if left == right:
        return True
    try:
        return Fraction(left) == Fraction(right)
    except (ValueError, ZeroDivisionError):
        return False


METRICS = {"extract.number": extract_number, "extract.same_number": same_number}
