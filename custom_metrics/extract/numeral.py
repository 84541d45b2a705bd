# ruff: noqa: RUF001, RUF002 - replies use typographic dashes and full-width marks; the patterns name them
r"""One number in a text: how it is spelled, where it is part of something larger, equality without floating point."""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Literal

MAX_CHARS = 200_000
MAX_DIGITS = 400
"""A number with more digits, or with an exponent beyond this, is compared as text."""

CURRENCY = r"(?:\\?\$|[€£¥₹])"
_SUPERSCRIPTS = {ord(mark): str(value) for value, mark in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")} | {ord("⁻"): "-", ord("\u2212"): "-"}
# A comma belongs to a number only between groups of digits, so that "10,11" is two numbers; a full stop only before a
# digit. 1,234 | 1 234 | 1'234 | 1_234; 1,00,000 (Indian); 1.234.567 and 1.234,56 (continental); 12; .5
_BODY = (
    r"(?P<grouped>\d{1,3}(?P<mark>,|\{,\}|\\,|\\ |[ '’_\u00a0\u2009\u202f])\d{3}(?:(?P=mark)\d{3}){0,60}(?!\d)"
    r"(?:\.\d+)?"
    r"|\d{1,2}(?:,\d{2}){1,20},\d{3}(?!\d)(?:\.\d+)?)"
    r"|(?P<continental>\d{1,3}(?:\.\d{3}){1,40},\d{1,2}(?!\d)|\d{1,3}(?:\.\d{3}){2,40}(?!\d))"
    r"|(?P<mixed>\d{1,20}(?:\s|\\\s|\s?and\s)\d{1,20}\s?/\s?\d{1,20}(?!\d))"
    r"|(?P<plain>\d+(?:\.\d+)?|\.\d+)"
)
NUMBER = re.compile(
    rf"(?<![A-Za-z\u00c0-\u024f\d_.])(?<!\.\d)(?:{_BODY})"
    r"(?:[eE](?P<exponent>[-+]?\d{1,4})(?![\w.]\d?)"
    r"|\s?(?:[x×*·]|\\times|\\cdot)\s?10\s?(?:\^\s?\{?\s?(?P<power>[-+\u2212]?\d{1,4})\s?\}?|(?P<raised>⁻?[⁰¹²³⁴-⁹]{1,4}))"
    r"|\s?/\s?(?P<bottom>\d+)(?!\d))?"
)
_SIGN = re.compile(rf"(?P<sign>[-+\u2212–])(?P<gap>\s?){CURRENCY}?\s?\Z")
_BEFORE_A_SIGN = re.compile(r"(?:\A[ \t]{0,2}|(?:[=:：(\[{$≈~*]|\b(?:is|equals|be))\s?)\Z", re.IGNORECASE)

# An exponent, an index, the 19 of COVID-19: no number of its own.
_INDEX = re.compile(r"(?:[\^_]\{?\s?[-\u2212]?|[A-Za-z][-–])\Z")
# Times, dates, ranges, versions, lists, powers, roots, unknowns: more than a number, and not one number.
_AFTER_PART = re.compile(
    r"\d[:.,/–—-]\Z|\d\s?(?:,|;|and|or)\s{1,2}[A-Za-z]\w?\s?=\s?[-\u2212]?\Z|\}\{\Z|\\sqrt(?:\[\d\])?\{?\s?\Z|√\s?\Z|(?:±|\\pm)\s?\Z"
)
_BEFORE_PART = re.compile(
    r"[:.,/–—-]\d|\s?/\s?\d|\s?\^(?!\s?\{?\s?\\circ)|_\{?\d|[⁰¹²³⁴-⁹]|\s?\\(?:pi|sqrt|frac)\b|[xyznkBπ√](?![A-Za-z])|\s?\+\s?[A-Za-z]|\s?[/*]\s?[a-z](?![A-Za-z])|\(\d"
)
_LATEX_FRACTION = re.compile(r"(?P<whole>(?<=\d)\s?)?\\[dt]?frac\s?(?:\{\s?([-+]?\d+)\s?\}\s?\{\s?(\d+)\s?\}|(\d)(\d))")
_VULGAR = {ord(mark): f" {Fraction(unicodedata.numeric(mark)).limit_denominator(10)}" for mark in "½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"}

Unclear = Literal["unclear"]


def _value(match: re.Match[str], sign: str) -> str | None:
    """Write a match in one way; None for a division by zero."""
    groups = match.groupdict()
    minus = "-" if sign in ("-", "\u2212", "–") else ""
    if groups["mixed"]:
        whole, top, bottom = re.findall(r"\d+", groups["mixed"])
        return f"{minus}{Fraction(int(whole)) + Fraction(int(top), int(bottom))}" if int(bottom) else None
    if groups["continental"]:
        plain = groups["continental"].replace(".", "").replace(",", ".")
    else:
        plain = re.sub(r"[^\d.]", "", groups["grouped"] or groups["plain"])
    if groups["bottom"]:
        if len(plain) + len(groups["bottom"]) > MAX_DIGITS:
            return f"{minus}{plain}/{groups['bottom']}"
        return str(Fraction(f"{minus}{plain}") / int(groups["bottom"])) if int(groups["bottom"]) else None
    power = (groups["exponent"] or groups["power"] or groups["raised"] or "0").translate(_SUPERSCRIPTS)
    if len(plain) > MAX_DIGITS or abs(int(power)) > MAX_DIGITS:
        return f"{minus}{plain}" + (f"e{int(power)}" if int(power) else "")
    with localcontext(prec=3 * MAX_DIGITS):
        value = Decimal(f"{minus}{plain}").scaleb(int(power))
        return format(value.normalize(), "f") if value else "0"


def _sign(text: str, start: int) -> str:
    """Return the sign before a number, "" where a dash there is a subtraction, a range or part of a word."""
    near = text[max(start - 8, 0) : start]
    found = _SIGN.search(near)
    if found is None:
        return ""
    before = text[max(start - 24, 0) : start - len(near) + found.start()]
    if found.group("gap"):
        return found.group("sign") if _BEFORE_A_SIGN.search(before) else ""
    last, earlier = before[-1:], before.rstrip()[-1:]
    subtracts = last.isalnum() or last in tuple(")]}.,%") or (last.isspace() and (earlier.isdigit() or earlier == ")"))
    return "" if subtracts else found.group("sign")


def read(text: str, match: re.Match[str]) -> str | Unclear | None:
    """Read one match: its value, `unclear` where it is part of something larger, None where it is only an index."""
    start, end = match.span()
    before = text[max(start - 24, 0) : start]
    if _INDEX.search(before):
        return None
    if _AFTER_PART.search(before) or _BEFORE_PART.match(text, end):
        return "unclear"
    return _value(match, _sign(text, start)) or "unclear"


def plain_fractions(text: str) -> str:
    r"""Write `\frac{1}{2}`, `\frac12` and ½ as 1/2, with a blank after a whole number."""

    def flat(match: re.Match[str]) -> str:
        _, top, bottom, short_top, short_bottom = match.groups()
        return f"{'' if match.group('whole') is None else ' '}{top or short_top}/{bottom or short_bottom}"

    return _LATEX_FRACTION.sub(flat, text.translate(_VULGAR))


def canonical_number(text: str) -> str | None:
    """Write a number in one way: no thousands separators, no trailing zeros, ASCII minus; fractions stay fractions.

    Args:
        text: One number, with optional sign, currency or percent sign, separators, exponent or denominator.

    Returns:
        The canonical spelling, or None where `text` is not one number.

    >>> canonical_number("+1,234.50"), canonical_number("−0"), canonical_number("6/4"), canonical_number("1.5e3")
    ('1234.5', '0', '3/2', '1500')
    """
    text = plain_fractions(text[: 4 * MAX_CHARS]).strip()
    text = re.sub(r"\s?\\?%\Z", "", text)
    signed = re.match(rf"([-+\u2212–]?)\s?{CURRENCY}?\s?([-+\u2212–]?)", text)
    if signed is None or all(signed.groups()):
        return None
    match = NUMBER.fullmatch(text[signed.end() :])
    return None if match is None else _value(match, signed.group(1) or signed.group(2))


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
