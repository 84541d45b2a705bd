# ruff: noqa: RUF001, RUF002 - replies use typographic quotes, dashes and full-width marks; the patterns name them
r"""The final number of a reply, in one spelling, and equality of such numbers without floating point."""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Literal

from custom_metrics.extract.wording import (
    BOX,
    EASTERN_ANSWER,
    END_TOKENS,
    FOREIGN_ANSWER,
    FOREIGN_IS,
    FOREIGN_WORDS,
    OPEN_BOX,
    before_invented_question,
)
from custom_metrics.number_names import NUMBER_NAMES

MAX_CHARS = 200_000
MAX_DIGITS = 400
"""A number with more digits, or with an exponent beyond this, is compared as text."""

_CURRENCY = r"(?:\\?\$|[€£¥₹])"
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
_NUMBER = re.compile(
    rf"(?<![A-Za-z\u00c0-\u024f\d_.])(?<!\.\d)(?:{_BODY})"
    r"(?:[eE](?P<exponent>[-+]?\d{1,4})(?![\w.]\d?)"
    r"|\s?(?:[x×*·]|\\times|\\cdot)\s?10\s?(?:\^\s?\{?\s?(?P<power>[-+\u2212]?\d{1,4})\s?\}?|(?P<raised>⁻?[⁰¹²³⁴-⁹]{1,4}))"
    r"|\s?/\s?(?P<bottom>\d+)(?!\d))?"
)
_SIGN = re.compile(rf"(?P<sign>[-+\u2212–])(?P<gap>\s?){_CURRENCY}?\s?\Z")
_BEFORE_A_SIGN = re.compile(r"(?:\A[ \t]{0,2}|(?:[=:：(\[{$≈~*]|\b(?:is|equals|be))\s?)\Z", re.IGNORECASE)

# An exponent, an index, the 19 of COVID-19: no number of its own.
_INDEX = re.compile(r"(?:[\^_]\{?\s?[-\u2212]?|[A-Za-z][-–])\Z")
# Times, dates, ranges, versions, lists, powers, roots, unknowns: more than a number, and not one number.
_AFTER_PART = re.compile(
    r"\d[:.,/–—-]\Z|\d\s?(?:,|;|and|or)\s{1,2}[A-Za-z]\w?\s?=\s?[-\u2212]?\Z|\}\{\Z|\\sqrt(?:\[\d\])?\{?\s?\Z|√\s?\Z|(?:±|\\pm)\s?\Z"
)
_BEFORE_PART = re.compile(
    r"[:.,/–—-]\d|\s?/\s?\d|\s?\^(?!\s?\{?\s?\\circ)|_\{?\d|[⁰¹²³⁴-⁹]|\s?\\(?:pi|sqrt|frac)\b|[xyznkBπ√](?![A-Za-z])"
)
_AND_MORE = re.compile(
    rf"[^\w\n]{{0,4}}(?:,|\band\b|\bor\b|\bto\b|[+×*÷]|\s-\s|\\times|\\cdot)\s?{_CURRENCY}?\d"
    r"|\s?(?:hours?|h|feet|foot|ft|pounds?|lbs?|years?|weeks?|days?|minutes?|dollars?)(?:,|\s+and)?\s+\d+\s?[a-z]",
    re.IGNORECASE,
)
_MORE_AND = re.compile(rf"\d[^\w\n]{{0,4}}(?:,|\band\b|\bor\b|\bto\b|[+×*÷])\s?{_CURRENCY}?\Z", re.IGNORECASE)

_STATED = re.compile(
    rf"####|<answer>|\banswers?\b[^.\n]{{0,60}}?(?:\bis\b|\bare\b|:|=)|\bans(?:\s?[:=]|\.\s)|\bcorrection\s?:"
    rf"|\bfinal\s+(?:result|number|total)\b[^.\n]{{0,30}}?(?:\bis\b|:|=)"
    rf"|\b{FOREIGN_ANSWER}{FOREIGN_WORDS}[*_]{{0,4}}{FOREIGN_IS}|{EASTERN_ANSWER}",
    re.IGNORECASE,
)
_LEAD = re.compile(rf"(?:[\s*_:：=~≈\"'“`(\[{{.…]|\\[(\[]|{_CURRENCY}){{0,16}}")
_SENTENCE = re.compile(r"[.!?](?=\s(?!\s?=)|\Z)|\n|</answer>")
_MAX_SENTENCE = 400
_MAX_PLACES = 50
"""So many statements without a number are passed over, from the end."""
_LATEX_FRACTION = re.compile(r"(?P<whole>(?<=\d)\s?)?\\[dt]?frac\s?(?:\{\s?([-+]?\d+)\s?\}\s?\{\s?(\d+)\s?\}|(\d)(\d))")
_VULGAR = {ord(mark): f" {Fraction(unicodedata.numeric(mark)).limit_denominator(10)}" for mark in "½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"}

_Unclear = Literal["unclear"]


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


def _read(text: str, match: re.Match[str]) -> str | _Unclear | None:
    """Read one match: its value, `unclear` where it is part of something larger, None where it is only an index."""
    start, end = match.span()
    before = text[max(start - 24, 0) : start]
    if _INDEX.search(before):
        return None
    if _AFTER_PART.search(before) or _BEFORE_PART.match(text, end):
        return "unclear"
    return _value(match, _sign(text, start)) or "unclear"


def _plain_fractions(text: str) -> str:
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
    text = _plain_fractions(text[: 4 * MAX_CHARS]).strip()
    text = re.sub(r"\s?\\?%\Z", "", text)
    signed = re.match(rf"([-+\u2212–]?)\s?{_CURRENCY}?\s?([-+\u2212–]?)", text)
    if signed is None or all(signed.groups()):
        return None
    match = _NUMBER.fullmatch(text[signed.end() :])
    return None if match is None else _value(match, signed.group(1) or signed.group(2))


def _stated_number(tail: str) -> str | _Unclear | None:
    """Read the number of the sentence that follows "the answer is".

    What stands behind the last equals sign counts, else a number at the very start, else the last one.

    Args:
        tail: Text that begins right after the statement.

    Returns:
        The number in canonical spelling; `unclear` for a list, a range, a formula, a time; None where there is none.

    >>> _stated_number(" 3 + 4 = 7. I checked it 2 times.")
    '7'
    >>> _stated_number(" between 12 and 15")
    'unclear'
    """
    lead = _LEAD.match(tail)
    start = lead.end() if lead else 0
    end = _SENTENCE.search(tail, start)
    sentence = tail[: end.start() if end else start + _MAX_SENTENCE]
    equals = sentence.rfind("=")
    from_here = max(start, equals + 1)
    values = [(match, _read(sentence, match)) for match in _NUMBER.finditer(sentence, from_here)]
    values = [(match, value) for match, value in values if value is not None]
    if not values:
        words = re.findall(r"[a-z]+", sentence[start : start + 40].lower())
        if not words or words[0] not in NUMBER_NAMES or {*words[1:2]} & {"of", "hundred", *NUMBER_NAMES}:
            return None
        return str(NUMBER_NAMES.index(words[0]))
    between = sentence[from_here : values[0][0].start()]
    match, value = values[-1] if re.search(r"[^\W\d_]{2}", between) else values[0]
    listed = _AND_MORE.match(sentence, match.end()) or _MORE_AND.search(sentence[: match.start()])
    return "unclear" if listed else value


def _boxed_number(content: str) -> str | _Unclear | None:
    values = [_read(content, match) for match in _NUMBER.finditer(content, content.rfind("=") + 1)]
    values = [value for value in values if value is not None]
    return values[0] if len(values) == 1 else "unclear" if values else None


def _final(text: str) -> str | _Unclear | None:
    boxes = list(BOX.finditer(text))
    opened = [box.start() for box in OPEN_BOX.finditer(text)]
    if opened and (not boxes or opened[-1] >= boxes[-1].end()):
        return "unclear"  # cut off within its last box
    places = [(box.start(), box.group("content")) for box in boxes]
    places += [(statement.end(), None) for statement in _STATED.finditer(text)]
    for position, content in sorted(places, key=lambda place: place[0], reverse=True)[:_MAX_PLACES]:
        tail = text[position : position + 4 * _MAX_SENTENCE]
        value = _stated_number(tail) if content is None else _boxed_number(content)
        if value is not None:
            return value
    last = None
    for match in _NUMBER.finditer(text):
        last = _read(text, match) or last
    return last


def extract_number(text: str) -> str | None:
    r"""Find the final number of a reply.

    The last statement ("the answer is 12", "#### 12") or box comes before a bare number; among bare ones the last
    wins. What stands before a further question that the reply invents comes first. Units, currency signs and a full
    stop after the number do not matter. A list, a range, a time, a formula in the decisive place is not one number.

    Args:
        text: A reply without thinking traces.

    Returns:
        The number in canonical spelling, or None.

    >>> extract_number("3 + 4 = 7, so the answer is $1,234.50. I checked it 2 times.")
    '1234.5'
    >>> extract_number("It costs 3.5.")
    '3.5'
    >>> extract_number("The answer is 10-12.") is None
    True
    """
    text = "\n" + _plain_fractions(END_TOKENS.sub("", text[-MAX_CHARS:]))  # "- 5" opens a list, and no sum
    for part in dict.fromkeys(before_invented_question(text)):
        value = _final(part)
        if value is not None:
            return None if value == "unclear" else value
    return None


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
