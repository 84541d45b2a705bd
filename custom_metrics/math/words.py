"""The words of answers: units, connectives, number words, names of sets.

The normal form of a text answer is here, too.
"""

from __future__ import annotations

import re
from fractions import Fraction

from custom_metrics.number_names import NUMBER_NAMES

CONNECTIVES = {"and": "and", "or": "or", "&": "and", "und": "and", "to": "to"}

_UNIT_NAMES = {
    "mm": "millimeter millimeters millimetre millimetres",
    "cm": "centimeter centimeters centimetre centimetres cms",
    "m": "meter meters metre metres",
    "km": "kilometer kilometers kilometre kilometres kms",
    "in": "inch inches",
    "ft": "foot feet",
    "yd": "yard yards yds",
    "mi": "mile miles",
    "mg": "milligram milligrams",
    "g": "gram grams gm gms",
    "kg": "kilogram kilograms kgs",
    "lb": "pound pounds lbs",
    "oz": "ounce ounces",
    "t": "ton tons tonne tonnes",
    "ml": "milliliter milliliters millilitre millilitres mL",
    "l": "liter liters litre litres",
    "gal": "gallon gallons",
    "s": "second seconds sec secs",
    "min": "minute minutes mins",
    "h": "hour hours hr hrs",
    "day": "days",
    "week": "weeks",
    "month": "months",
    "year": "years yr yrs",
    "hz": "hertz",
    "n": "newton newtons",
    "j": "joule joules",
    "w": "watt watts",
    "v": "volt volts",
    "pa": "pascal pascals",
    "ohm": "ohms",
    "kohm": "kilohm kilohms kiloohm kiloohms",
    "megaohm": "megohm megohms mohm mohms",
    "angstrom": "å ångström ångströms angstroms",
    "nm": "nanometer nanometers nanometre nanometres",
    "microm": "micrometer micrometers micrometre micrometres um micron microns",
    "kj": "kilojoule kilojoules",
    "ev": "electronvolt electronvolts",
    "mol": "mole moles",
    "cal": "calorie calories",
    "kcal": "kilocalorie kilocalories",
    "rad": "radian radians rads",
    "deg": "degree degrees",
    "%": "percent percents percentage pct",
    "$": "dollar dollars usd bucks",
    "cent": "cents",
    "euro": "euros eur",
    "yuan": "rmb",
    "yen": "jpy",
    "sterling": "gbp",
    "rupee": "rupees inr",
    "won": "krw",
    "ruble": "rubles",
    "°C": "celsius",
    "°F": "fahrenheit",
    "unit": "units",
    "amu": "u dalton daltons",
    "mph": "",
}
UNITS: dict[str, str] = {}
"""Spelling -> unit. Other words after a number are units too, under their own name without a
plural s."""
for _symbol, _names in _UNIT_NAMES.items():
    UNITS |= dict.fromkeys([_symbol, *_names.lower().split()], _symbol)

PLAIN_UNITS = {spelling for spelling in UNITS if len(spelling) >= 2} - {
    "in",
    "pa",
    "hz",
    "min",
    "rad",
    "deg",
} | {"inches"}
"""Units that are recognised without a text macro: `10 cm`."""

SHORT_WORDS = {
    "yes",
    "no",
    "odd",
    "all",
    "none",
    "not",
    "one",
    "two",
    "six",
    "ten",
    "red",
    "am",
    "pm",
    "is",
    "if",
    "of",
    "the",
    "an",
    "for",
    "mod",
    "base",
    "per",
    "sq",
    "cu",
    "cubic",
    "square",
    "squared",
    "real",
    "old",
}

CURRENCIES = {"$", "euro", "yen", "sterling", "rupee", "won", "ruble"}
"""Units that may stand before their number."""

# Up to the largest base that is written as a word.
NUMBER_WORDS = {word: value for value, word in enumerate(NUMBER_NAMES[:17])}
_TENS = {
    "twenty": 20,
    "thirty": 30,
    "forty": 40,
    "fifty": 50,
    "sixty": 60,
    "seventy": 70,
    "eighty": 80,
    "ninety": 90,
}
_SMALL = {word: value for value, word in enumerate(NUMBER_NAMES)} | _TENS
_PARTS = {
    "half": 2,
    "halves": 2,
    "third": 3,
    "quarter": 4,
    "fourth": 4,
    "fifth": 5,
    "sixth": 6,
    "seventh": 7,
    "eighth": 8,
    "ninth": 9,
    "tenth": 10,
}

EXCEPT = re.compile(
    r"(?P<set>.+?)\s*,?\s*(?:except(?: for)?|excluding|other than|but not)\s*(?:[a-z]\s*=)?\s*"
)
"""A set and the announcement of what it lacks: `all real numbers except`."""

_MULTIPLIERS = {
    "hundred": 100,
    "thousand": 1_000,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
    "dozen": 12,
}
_QUALIFIERS = {
    "or",
    "more",
    "less",
    "than",
    "at",
    "least",
    "most",
    "not",
    "no",
    "if",
    "when",
    "about",
    "approximately",
    "around",
    "except",
    "only",
    "but",
    "over",
    "under",
    "below",
    "above",
    "between",
    "greater",
    "fewer",
    "plus",
    "minus",
    "because",
    "since",
    "where",
    "unless",
    "half",
    "halves",
    "third",
    "thirds",
    "quarter",
    "quarters",
    "fourth",
    "fourths",
    "fifth",
    "fifths",
    "sixth",
    "sixths",
    "eighth",
    "eighths",
    "tenth",
    "tenths",
    "hundredth",
    "hundredths",
    "thousandth",
    "thousandths",
    "factorial",
    "squared",
    "cubed",
    "is",
    "are",
    "was",
    "false",
    "wrong",
    "incorrect",
}

_NUMBERS = {"real": "R", "integer": "Z", "natural": "N", "rational": "Q", "complex": "C"}
_ALL_NUMBERS = re.compile(
    r"(?:[a-z] is )?(?:(?:all|any|every)(?: of)? ?|set of (?:all )?|of all )?"
    r"(?P<sign>positive |negative |non-?negative |non ?negative |non-?positive )?"
    r"(?P<set>real|integer|natural|rational|complex)s?(?: ?numbers?| ?values?)?"
    r"(?: [a-z]| of [a-z])?"
)
_SIGNS = {"positive": ">0", "negative": "<0", "nonnegative": ">=0", "nonpositive": "<=0"}
_EMPTY = re.compile(
    r"(?:there (?:is|are) )?no (?:real )?(?:solutions?|values?|roots?)(?: exists?)?|empty ?set|none"
    r"|no such (?:number|value)s?(?: exists?)?"
)


def text_form(text: str) -> str:
    """Normal form of a text answer: lower case, no articles, no punctuation, single blanks.

    >>> text_form("The Line.")
    'line'
    """
    if text.strip().lower().rstrip(".") == "dne":
        return "does not exist"
    lowered = re.sub(r"[^\w%$<>=+*/^-]+", " ", text.casefold().replace("_", " "))
    lowered = re.sub(r"(?<=[a-z])-(?=[a-z])", " ", lowered)
    lowered = re.sub(r"\b(\d+)(?:st|nd|rd|th)\b", r"\1", lowered)
    spoken = lowered.split()
    if len(spoken) == 2 and spoken[0] in {"option", "choice", "answer"} and len(spoken[1]) == 1:
        return spoken[1]
    kept = [word for word in spoken if word not in {"a", "an", "the"}]
    return " ".join(kept) if kept else " ".join(lowered.split())


def set_named(text: str) -> str | None:
    """Returns the name of a set of numbers, with a mark for its sign, when the words name one.

    >>> (set_named("all real numbers"), set_named("nonnegative integers"),
    ... set_named("no solution"), set_named("real"))
    ('R', 'Z>=0', 'empty', None)
    """
    form = text_form(text)
    if _EMPTY.fullmatch(form):
        return "empty"
    quantified = _ALL_NUMBERS.fullmatch(form)
    if quantified is None or form in _NUMBERS:  # an adjective alone
        return None
    sign = (quantified["sign"] or "").replace("-", "").replace(" ", "")
    return _NUMBERS[quantified["set"]] + _SIGNS.get(sign, "")


def number_named(text: str) -> Fraction | None:
    """Returns the number that words name, from minus 999 to 999, and simple fractions.

    >>> texts = ("twenty-one", "two thirds", "negative one hundred", "red")
    >>> [str(number_named(text)) for text in texts]
    ['21', '2/3', '-100', 'None']
    """
    spoken = re.split(r"[\s-]+", text.casefold().strip(" .").replace("hundred and ", "hundred "))
    if spoken[0] in _MINUS:
        return _negative_named(spoken[1:])
    *count_words, last = spoken
    parts = _PARTS.get(last) or _PARTS.get(last.removesuffix("s"))
    if parts is None:
        return _whole_named(spoken)
    if not count_words:
        return Fraction(1, 2) if parts == 2 else None
    count = Fraction(1) if count_words == ["a"] else _whole_named(count_words)
    return None if count is None else count / parts


_MINUS = {"negative", "minus"}


def _negative_named(spoken: list[str]) -> Fraction | None:
    """The number that the words behind a minus name, with its sign."""
    if not spoken or spoken[0] in _MINUS:
        return None
    value = number_named(" ".join(spoken))
    return None if value is None else -value


def _whole_named(spoken: list[str]) -> Fraction | None:
    """The whole number from 0 to 999 that words name."""
    has_hundreds = spoken[1:2] == ["hundred"] and _is_digit(spoken[0])
    if not has_hundreds:
        return _below_hundred(spoken)
    hundreds = Fraction(100 * _SMALL[spoken[0]])
    rest = spoken[2:]
    if not rest:
        return hundreds
    units = _below_hundred(rest)
    return hundreds + units if units else None


def _below_hundred(spoken: list[str]) -> Fraction | None:
    """The whole number from 0 to 99 that one or two words name."""
    first, *others = spoken
    if not others:
        return Fraction(_SMALL[first]) if first in _SMALL else None
    if len(others) == 1 and first in _TENS and _is_digit(others[0]):
        return Fraction(_TENS[first] + _SMALL[others[0]])
    return None


def _is_digit(word: str) -> bool:
    """Tells whether a word names a number from 1 to 9."""
    return 0 < _SMALL.get(word, 0) < 10


_ANNOUNCEMENT = re.compile(
    r"(?:(?:thus|so|therefore|hence)\b[:,. ]*)?"
    r"(?:(?:the )?(?:final )?(?:answer|value|result|total)(?: is)?"
    r"|(?:there|it|this) (?:are|is)|we (?:get|have)|both|either)?[:,. ]*",
    re.IGNORECASE,
)


def after_announcement(text: str) -> str:
    """Returns what follows the words that only announce the answer, as `Answer:` does.

    >>> after_announcement("The final answer is: 7 ways"), after_announcement("Area")
    ('7 ways', 'Area')
    """
    stripped = text.strip()
    announcement = _ANNOUNCEMENT.match(stripped)
    end = announcement.end() if announcement else 0
    if end < len(stripped) and stripped[end - 1 : end].isalpha() and stripped[end].isalpha():
        return stripped
    return stripped[end:]


def is_announcement(text: str) -> bool:
    """Returns whether the words only announce the answer.

    >>> is_announcement("The final answer is: "), is_announcement("Area")
    (True, False)
    """
    return not after_announcement(text)


def multiplier(phrase: str) -> tuple[int, str]:
    """Splits a leading number word off a unit phrase.

    >>> multiplier("million dollars")
    (1000000, 'dollars')
    """
    first, _, rest = phrase.strip().partition(" ")
    value = _MULTIPLIERS.get(first.lower().rstrip("s"), 1)
    return value, phrase if value == 1 else rest


def counted(phrase: str) -> tuple[Fraction, str] | None:
    """Returns the number and the unit that words name, a known unit only.

    >>> ([str(part) for part in counted("fifty percent")], counted("two dozen")[0],
    ... counted("two lines"))
    (['50', '%'], Fraction(24, 1), None)
    """
    spoken = phrase.split()
    for end in range(min(len(spoken), 5), -1, -1):
        value = number_named(" ".join(spoken[:end])) if end else Fraction(1)
        factor, unit = multiplier(" ".join(spoken[end:]))
        if value is None or (not end and factor == 1):
            continue
        if factor == 1 and not unit:
            return None
        if _is_known_unit(unit):
            return value * factor, unit_form(unit) if unit else ""
    return None


def _is_known_unit(phrase: str) -> bool:
    """Tells whether a phrase holds units and the words between them alone."""
    return all(word in UNITS or word in {"per", "square", "cubic"} for word in phrase.split())


def is_qualified(phrase: str) -> bool:
    """Returns whether the words after a value change it, as `or more` does; then they are no unit.

    >>> is_qualified("or more"), is_qualified("square inches")
    (True, False)
    """
    spoken = re.findall(r"[a-z]+", phrase.lower())
    measured = any(word in UNITS for word in spoken)
    return any(
        word in _QUALIFIERS and not (measured and word in {"squared", "cubed"}) for word in spoken
    )


_MEGA = re.compile(
    r"(?<![A-Za-z])M(?=(?:Hz|Pa|eV|J|N|W|V|A|F|C|T|S|L|g|m|s|cal|bar|ohm)(?![A-Za-z]))"
)
"""Mega, which is not milli; the rest of a unit's spelling does not depend on case."""


def unit_form(text: str) -> str:
    """Normal form of a unit phrase: known spellings merged, powers and quotients written one way.

    >>> (unit_form("square inches"), unit_form("miles per hour"), unit_form("cm^2"),
    ... unit_form("apples"))
    ('in^2', 'mph', 'cm^2', 'apple')
    >>> unit_form("m s^-2"), unit_form("degrees Celsius"), unit_form("per hour")
    ('m/s^2', '°C', '/h')
    """
    lowered = _MEGA.sub("mega", text).casefold()
    for spelling, plain in (("**", "^"), ("²", "^2"), ("³", "^3")):
        lowered = lowered.replace(spelling, plain)
    lowered = re.sub(r"\bper\b", "/", lowered)
    lowered = re.sub(r"[{}\\().,]", " ", lowered)
    tokens = re.findall(r"[^\W\d_]+|[$%]|\^\s*-?\s*\d+|/|-?\d+", lowered)
    parts = _unit_parts(tokens)
    # A negative power stands below the stroke: `m s^-2` is `m/s^2`.
    above = " ".join(part for part in parts if "^-" not in part)
    below = [part.replace("^-1", "").replace("^-", "^") for part in parts if "^-" in part]
    form = "/".join([above, *below])
    form = form.replace(" / ", "/").replace("/ ", "/").replace("deg °", "°")
    return {"mi/h": "mph"}.get(form, form)


def _unit_parts(phrase: list[str]) -> list[str]:
    """Units of a phrase with their powers, and the signs of quotients between them."""
    parts: list[str] = []
    power = ""
    for word in phrase:
        if word in _POWERS_BEFORE:
            power = _POWERS_BEFORE[word]
        elif word in _POWERS_BEHIND and parts:
            parts[-1] += _POWERS_BEHIND[word]
        elif word.startswith("^") and parts:
            parts[-1] += word.replace(" ", "")
        elif word == "/":
            parts.append("/")
        elif word not in _FILLERS:
            parts.append(_unit(word) + power)
            power = ""
    return parts


def _unit(word: str) -> str:
    """The unit that a word names: its own name where it is not known, without a plural s."""
    if word in UNITS:
        return UNITS[word]
    is_plural = len(word) > 3 and word.endswith("s") and not word.endswith("ss")
    return word[:-1] if is_plural else word


_POWERS_BEFORE = {"square": "^2", "sq": "^2", "cubic": "^3", "cu": "^3"}
_POWERS_BEHIND = {"squared": "^2", "cubed": "^3"}
_FILLERS = {"a", "an", "the", "of", "each", "total", "altogether"}
