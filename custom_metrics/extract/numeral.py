# ruff: noqa: RUF001, RUF002 - replies use typographic dashes and full-width marks; the patterns
# name them
r"""One number in a text: how it is spelled, and where it is part of something larger.

Numbers are compared without floating point.
"""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Literal

from custom_metrics.patterns import any_of

MAX_CHARS = 200_000
MAX_DIGITS = 400
"""A number with more digits, or with an exponent beyond this, is compared as text."""

CURRENCY = r"(?:\\?\$|[€£¥₹])"
_SUPERSCRIPTS = {ord(mark): str(value) for value, mark in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")}
_SUPERSCRIPTS[ord("⁻")] = "-"
_SUPERSCRIPTS[ord("\u2212")] = "-"
# A comma belongs to a number only between groups of digits, so that "10,11" is two numbers; a full
# stop only before a digit.
_MARK_OF_GROUPS = r"(?P<mark>,|\{,\}|\\,|\\ |[ '’_\u00a0\u2009\u202f])"
_GROUPED = (
    r"(?P<grouped>"
    rf"\d{{1,3}}{_MARK_OF_GROUPS}\d{{3}}(?:(?P=mark)\d{{3}}){{0,60}}(?!\d)(?:\.\d+)?"
    r"|\d{1,2}(?:,\d{2}){1,20},\d{3}(?!\d)(?:\.\d+)?)"
)
_CONTINENTAL = (
    r"(?P<continental>"
    r"\d{1,3}(?:\.\d{3}){1,40},\d{1,2}(?!\d)"
    r"|\d{1,3}(?:\.\d{3}){2,40}(?!\d))"
)
_MIXED = (
    r"(?P<mixed>\d{1,20}(?:\s|\\\s|\s?and\s)"
    r"\d{1,20}\s?/\s?\d{1,20}(?!\d))"
)
_PLAIN = r"(?P<plain>\d+(?:\.\d+)?|\.\d+)"
_BODY = (
    rf"(?:{_GROUPED}"  # 1,234 | 1 234 | 1'234 | 1_234; 1,00,000 (Indian)
    rf"|{_CONTINENTAL}"  # 1.234.567 | 1.234,56
    rf"|{_MIXED}"  # 3 1/2
    rf"|{_PLAIN})"  # 12 | 1.5 | .5
)
_EXPONENT = r"[eE](?P<exponent>[-+]?\d{1,4})(?![\w.]\d?)"  # 1e5
_TIMES_TEN = r"\s?(?:[x×*·]|\\times|\\cdot)\s?10\s?"
_POWER = (
    r"(?:\^\s?\{?\s?(?P<power>[-+\u2212]?\d{1,4})\s?\}?"  # ^{5}
    r"|(?P<raised>⁻?[⁰¹²³⁴-⁹]{1,4}))"  # ⁵
)
_BOTTOM = r"\s?/\s?(?P<bottom>\d+)(?!\d)"  # the 4 of 3/4
NUMBER = re.compile(
    rf"(?<![A-Za-z\u00c0-\u024f\d_.])(?<!\.\d){_BODY}"
    rf"(?:{_EXPONENT}|{_TIMES_TEN}{_POWER}|{_BOTTOM})?"
)
_SIGN = re.compile(rf"(?P<sign>[-+\u2212–])(?P<gap>\s?){CURRENCY}?\s?\Z")
_BEFORE_A_SIGN = re.compile(
    r"(?:\A[ \t]{0,2}|(?:[=:：(\[{$≈~*]|\b(?:is|equals|be))\s?)\Z", re.IGNORECASE
)
_OPERAND_BEFORE = re.compile(r"(?:[^\W_]|[)\]}.,%]|[\d)]\s+)\Z")
"""Behind these a dash is a subtraction."""

_REFERS = r"(?:from|(?:calculated|obtained|found|computed|shown)\sin|of|see|using|by|with)"
_STEP = rf"\b{_REFERS}\s(?i:steps?|equation|figure|table)\s\(?"
# An exponent, an index, the 19 of COVID-19, Real Estate #1, "from step 3": no number of its own.
_INDEX = re.compile(rf"(?:[\^_]\{{?\s?[-\u2212]?|[A-Za-z][-–]|(?<!#)#|{_STEP})\Z")
# Times, dates, ranges, versions, lists, powers, roots, unknowns: more than a number, and not one
# number.
_AFTER_PART = re.compile(
    r"\d[:.,/–—-]\Z"  # 12:30
    r"|\d\s?(?:,|;|and|or)\s{1,2}[A-Za-z]\w?\s?=\s?[-\u2212]?\Z"  # x = 2, y = 3
    r"|\}\{\Z"  # \frac{x}{2}
    r"|\\sqrt(?:\[\d\])?\{?\s?\Z|√\s?\Z"
    r"|(?:±|\\pm)\s?\Z"
    r"|(?<![A-Za-z])[A-Za-z]\s?/\s?\Z|[})]\s?/\s?\Z"  # x/2, (x + 1)/2
)
_BEFORE_PART = re.compile(
    r"[:.,/–—-]\d|\s?/\s?\d"  # 12:30, 3/4
    r"|\s?\^(?!\s?\{?\s?\\circ)|_\{?\d|[⁰¹²³⁴-⁹]"  # 2^n, 10_2; not 90^\circ
    r"|\s?\\(?:pi|sqrt|frac)\b|[xyznkBπ√](?![A-Za-z])"  # 2\pi, 2x
    r"|\s?\+\s?[A-Za-z]|\s?[/*]\s?[a-z](?![A-Za-z])"  # 2 + x, 2/x
    r"|\(\d|\)\s?\\(?:sqrt|pi|frac)\b"  # 2(3), (2)\sqrt
)
# Every way in which LaTeX sets digits in groups of three: 1,\\!375, 1{,}375, 1\\,375, 1\\;375,
# 1~375.
_LATEX_MARK = r"(?:,\\!|\\!,|\{,\}|\{\\,\}|\{,\\!\}|\\[,;:! ]|\\thinspace\s?|~)"
_LATEX_GROUP = re.compile(rf"(?<=\d){_LATEX_MARK}(?=\d{{3}}(?!\d))")
_CURRENCY_CODE = any_of(
    "USD EUR GBP CHF JPY CNY RMB INR AUD CAD NZD HKD SGD SEK NOK DKK ZAR BRL MXN KRW PLN CZK THB"
)
# A currency's letters right before an amount: CHF2,000, USD 58.33, US$5.
_CURRENCY_LETTERS = re.compile(
    r"(?<![A-Za-z])(?:(?:US|HK|NT|AU|CA|NZ|[ACRS])(?=\\?\$\s?\d)"
    rf"|{_CURRENCY_CODE}(?P<gap>[ \u00a0]?)(?=\d))"
)
_LATEX_CURRENCY = re.compile(r"\\(?:text|mathrm|mbox)\s?\{\s?(?P<sign>\\?\$|[€£¥₹])\s?\}")
_LATEX_FRACTION = re.compile(
    r"\\[dt]?frac\s?"
    r"(?:\{\s?([-+]?\d+)\s?\}\s?\{\s?(\d+)\s?\}|(\d)(\d))"
)


def _fraction_of(sign: str) -> str:
    """Writes a fraction of one sign in a line: 1/2 for ½."""
    value = Fraction(unicodedata.numeric(sign))
    return str(value.limit_denominator(10))


# Full-width, Arabic, Persian, Hindi, Bengali, Thai.
_ZEROS = ("\uff10", "\u0660", "\u06f0", "\u0966", "\u09e6", "\u0e50")
_NATIVE = {ord(sign): f" {_fraction_of(sign)}" for sign in "½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"}
"""Fractions of one sign, and the digits and marks of other scripts."""
for _zero in _ZEROS:
    _NATIVE |= {ord(_zero) + digit: str(digit) for digit in range(10)}
_NATIVE[ord("\u066b")] = "."
_NATIVE[ord("\u066c")] = ","
_NATIVE_SIGN = re.compile("[" + "".join(map(chr, _NATIVE)) + "\uff0c-\uff0e]")
_FULL_WIDTH_GROUP = re.compile(r"(?<=\d)\uff0c(?=\d{3}(?!\d))")
_FULL_WIDTH_MINUS = re.compile(r"\uff0d(?=\d)")
_FULL_WIDTH_POINT = re.compile(r"(?<=\d)\uff0e(?=\d)")

# Languages that write 1.234,50: their words, and no English ones.
_CONTINENTAL_RESULT = any_of(
    "antwort lautet lösung ergebnis insgesamt beträgt",  # German
    r"réponse résultat au\s+total",  # French
    r"respuesta resultado solución en\s+total",  # Spanish
    "resposta risposta ответ antwoord odpowiedź euros?",
)
_CONTINENTAL_WORD = re.compile(rf"\b{_CONTINENTAL_RESULT}\b", re.IGNORECASE)
_ENGLISH_WORD = re.compile(r"\b(?:the|and|of|are|answer|is|for)\b", re.IGNORECASE)
_DECIMAL_COMMA = re.compile(
    r"(?<![\d.,])(\d{1,3}(?:[. \u00a0\u202f]\d{3}){1,6}|\d{1,15})"
    r",(\d{1,2}|\d{4,15})(?![\d,])"
)
_GROUPING_POINT = re.compile(r"(?<![\d.,])\d{1,3}(?:\.\d{3})+(?![\d.,]\d|\d)")
_DECIMAL_POINT = re.compile(r"\d\.(?:\d{1,2}|\d{4,})(?!\d)")

Unclear = Literal["unclear"]


def _value(match: re.Match[str], sign: str) -> str | None:
    """Writes a match in one way; None for a division by zero."""
    minus = "-" if sign in ("-", "\u2212", "–") else ""
    if match["mixed"]:
        return _mixed_value(match["mixed"], minus)
    if match["continental"]:
        plain = match["continental"].replace(".", "").replace(",", ".")
    else:
        plain = re.sub(r"[^\d.]", "", match["grouped"] or match["plain"])
    if match["bottom"]:
        return _fraction_value(minus, plain, match["bottom"])
    power = match["exponent"] or match["power"] or match["raised"] or "0"
    return _decimal_value(minus, plain, int(power.translate(_SUPERSCRIPTS)))


def _mixed_value(mixed: str, minus: str) -> str | None:
    """Writes `3 1/2` as a fraction."""
    whole, top, bottom = (int(digits) for digits in re.findall(r"\d+", mixed))
    if bottom:
        return f"{minus}{whole + Fraction(top, bottom)}"
    return None


def _fraction_value(minus: str, top: str, bottom: str) -> str | None:
    if len(top) + len(bottom) > MAX_DIGITS:
        return f"{minus}{top}/{bottom}"
    if int(bottom):
        return str(Fraction(f"{minus}{top}") / int(bottom))
    return None


def _decimal_value(minus: str, plain: str, power: int) -> str:
    if len(plain) > MAX_DIGITS or abs(power) > MAX_DIGITS:
        exponent = f"e{power}" if power else ""
        return f"{minus}{plain}{exponent}"
    with localcontext(prec=3 * MAX_DIGITS):
        value = Decimal(f"{minus}{plain}").scaleb(power)
        if not value:
            return "0"
        return format(value.normalize(), "f")


def _sign(text: str, start: int) -> str:
    """Returns the sign before a number.

    "" where a dash there is a subtraction, a range or part of a word.
    """
    near = text[max(start - 8, 0) : start]
    sign = _SIGN.search(near)
    if sign is None:
        return ""
    end = start - len(near) + sign.start()
    before = text[max(start - 24, 0) : end]
    if sign.group("gap"):
        is_sign = _BEFORE_A_SIGN.search(before) is not None
    else:
        is_sign = _OPERAND_BEFORE.search(before) is None
    return sign.group("sign") if is_sign else ""


def read(text: str, match: re.Match[str]) -> str | Unclear | None:
    """Reads one match.

    Returns:
        Its value; `unclear` where it is part of something larger, None where it is only an index.
    """
    start, end = match.span()
    before = text[max(start - 24, 0) : start]
    if _INDEX.search(before):
        return None
    if _AFTER_PART.search(before) or _BEFORE_PART.match(text, end):
        return "unclear"
    return _value(match, _sign(text, start)) or "unclear"


def plain_numerals(text: str) -> str:
    r"""Writes LaTeX's groups of digits with commas, and `\frac{1}{2}`, `\frac12` and ½ as 1/2.

    >>> plain_numerals(r"1,\!375 and 3\frac12")
    '1,375 and 3 1/2'
    """
    if not text.isascii() and _NATIVE_SIGN.search(text):
        text = _with_ascii_digits(text)
    if ("," in text or "." in text) and _is_continental(text):
        text = _without_continental_marks(text)
    text = _CURRENCY_LETTERS.sub(_currency_sign, text)
    if "~" in text or "\\" in text or "{,}" in text:
        text = _LATEX_GROUP.sub(",", text)
        text = _LATEX_CURRENCY.sub(r"\g<sign>", text)
    if "frac" in text:
        return _LATEX_FRACTION.sub(_written_in_a_line, text)
    return text


def _with_ascii_digits(text: str) -> str:
    """Writes the digits and marks of other scripts in ASCII."""
    text = text.translate(_NATIVE)
    text = _FULL_WIDTH_GROUP.sub(",", text)
    text = _FULL_WIDTH_POINT.sub(".", text)
    return _FULL_WIDTH_MINUS.sub("-", text)


def _is_continental(text: str) -> bool:
    """Tells whether a text is in a language that writes a decimal comma."""
    # English words come first: most texts have one near their start.
    return not _ENGLISH_WORD.search(text) and _CONTINENTAL_WORD.search(text) is not None


def _without_continental_marks(text: str) -> str:
    """Writes `1.234,50` as `1234.50`.

    `1.234` becomes `1234` where no other point of the text is a decimal one.
    """
    has_decimal_point = _DECIMAL_POINT.search(text) is not None
    text = _DECIMAL_COMMA.sub(_with_decimal_point, text)
    if has_decimal_point:
        return text
    return _GROUPING_POINT.sub(lambda match: match.group().replace(".", ""), text)


def _with_decimal_point(match: re.Match[str]) -> str:
    """Writes the match of a number with a decimal comma without marks of groups."""
    whole, decimals = match.groups()
    digits = re.sub(r"\D", "", whole)
    return f"{digits}.{decimals}"


def _currency_sign(letters: re.Match[str]) -> str:
    """Writes the letters of a currency as a dollar sign; nothing before a sign of its own."""
    return "" if letters["gap"] is None else "$"


def _written_in_a_line(fraction: re.Match[str]) -> str:
    """Writes one fraction of LaTeX in a line, with a blank after a whole number."""
    top, bottom, short_top, short_bottom = fraction.groups()
    start = fraction.start()
    follows_digit = start > 0 and fraction.string[start - 1].isdigit()
    blank = " " if follows_digit else ""
    numerator = top or short_top
    denominator = bottom or short_bottom
    return f"{blank}{numerator}/{denominator}"


def is_one_value(first: str, second: str, *, percent: tuple[bool, bool]) -> bool:
    """Tells whether two numbers are two forms of one value: 1/4 and 0.25, 0.144 and 14.4 %.

    Args:
        first: A number in canonical spelling.
        second: Another.
        percent: Which of them a percent sign follows.
    """
    is_percent, other_is_percent = percent
    try:
        value = Fraction(first)
        other_value = Fraction(second)
    except (ValueError, ZeroDivisionError):
        return False
    if is_percent:
        value /= 100
    if other_is_percent:
        other_value /= 100
    return value == other_value


def canonical_number(text: str) -> str | None:
    """Writes a number in one way: no thousands separators, no trailing zeros, ASCII minus.

    Fractions stay fractions.

    Args:
        text: One number, with optional sign, currency or percent sign, separators, exponent or
            denominator.

    Returns:
        The canonical spelling, or None where `text` is not one number.

    >>> (canonical_number("+1,234.50"), canonical_number("−0"), canonical_number("6/4"),
    ... canonical_number("1.5e3"))
    ('1234.5', '0', '3/2', '1500')
    """
    text = plain_numerals(text[: 4 * MAX_CHARS]).strip()
    text = re.sub(r"\s?\\?%\Z", "", text)
    signed = re.match(rf"([-+\u2212–]?)\s?{CURRENCY}?\s?([-+\u2212–]?)", text)
    if signed is None or all(signed.groups()):
        return None
    match = NUMBER.fullmatch(text[signed.end() :])
    if match is None:
        return None
    return _value(match, signed.group(1) or signed.group(2))


def same_number(first: str, second: str) -> bool:
    """Tells whether two texts write the same number, exactly.

    Args:
        first: One number.
        second: Another.

    Returns:
        False also where one of them is not a number.

    >>> same_number("0.50", "1/2"), same_number("1,000", "1e3"), same_number("2", "two")
    (True, True, False)
    """
    first_number = canonical_number(first)
    second_number = canonical_number(second)
    if first_number is None or second_number is None:
        return False
    if first_number == second_number:
        return True
    try:
        return Fraction(first_number) == Fraction(second_number)
    except (ValueError, ZeroDivisionError):
        return False
