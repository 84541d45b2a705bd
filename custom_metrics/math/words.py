"""The words of answers: units, connectives, number words, names of sets; and the normal form of a text answer."""

from __future__ import annotations

import re

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
    "rad": "radian radians rads",
    "deg": "degree degrees",
    "%": "percent percents percentage pct",
    "$": "dollar dollars usd bucks",
    "cent": "cents",
    "euro": "euros eur",
    "yuan": "rmb",
    "unit": "units",
    "mph": "",
}
UNITS = {spelling: unit for unit, names in _UNIT_NAMES.items() for spelling in [unit, *names.lower().split()]}
"""Spelling -> unit. Other words after a number are units too, under their own name without a plural s."""

PLAIN_UNITS = {spelling for spelling in UNITS if len(spelling) >= 2} - {"in", "pa", "hz", "min", "rad", "deg"} | {
    "inches"
}
"""Units that are recognised without a text macro: `10 cm`."""

SHORT_WORDS = {
    "yes", "no", "odd", "all", "none", "not", "one", "two", "six", "ten", "red", "am", "pm", "is", "if", "of",
    "the", "mod", "base", "per", "sq", "cu", "cubic", "square", "squared", "real",
}  # fmt: skip

# Up to the largest base that is written as a word.
NUMBER_WORDS = {word: value for value, word in enumerate(NUMBER_NAMES[:17])}

_MULTIPLIERS = {"hundred": 100, "thousand": 1_000, "million": 10**6, "billion": 10**9, "trillion": 10**12, "dozen": 12}
_QUALIFIERS = {
    "or", "more", "less", "than", "at", "least", "most", "not", "no", "if", "when", "about", "approximately",
    "around", "except", "only", "but", "over", "under", "below", "above", "between", "greater", "fewer", "plus",
    "minus", "because", "since", "where", "unless", "half", "halves", "third", "thirds", "quarter", "quarters",
    "fourth", "fourths", "fifth", "fifths", "sixth", "sixths", "eighth", "eighths", "tenth", "tenths", "hundredth",
    "hundredths", "thousandth", "thousandths", "factorial", "squared", "cubed", "is", "are", "was", "false",
    "wrong", "incorrect",
}  # fmt: skip

_ALL_REALS = re.compile(
    r"(?:x is )?(?:all|any|every) ?real(?: ?numbers?| values?)?(?: x| of x)?|reals?|real numbers"
    r"|(?:set )?of (?:all )?real numbers"
)
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
    kept = [word for word in lowered.split() if word not in {"a", "an", "the"}]
    return " ".join(kept) if kept else " ".join(lowered.split())


def set_named(text: str) -> str | None:
    """Return `R` or `empty` when the words name that set."""
    form = text_form(text)
    if _ALL_REALS.fullmatch(form):
        return "R"
    if _EMPTY.fullmatch(form):
        return "empty"
    return None


def is_announcement(text: str) -> bool:
    """Whether the words only announce the answer, as `Answer:` does.

    >>> is_announcement("The final answer is: "), is_announcement("Area")
    (True, False)
    """
    return (
        re.fullmatch(
            r"(?:(?:so )?(?:the )?(?:final )?answer(?: is)?|(?:thus|so|therefore|hence))[:,. ]*", text.strip().lower()
        )
        is not None
    )


def multiplier(phrase: str) -> tuple[int, str]:
    """Split a leading number word off a unit phrase.

    >>> multiplier("million dollars")
    (1000000, 'dollars')
    """
    first, _, rest = phrase.strip().partition(" ")
    value = _MULTIPLIERS.get(first.lower().rstrip("s"), 1)
    return value, phrase if value == 1 else rest


def is_qualified(phrase: str) -> bool:
    """Whether the words after a value change it, as `or more` does; then they are no unit.

    >>> is_qualified("or more"), is_qualified("square inches")
    (True, False)
    """
    found = re.findall(r"[a-z]+", phrase.lower())
    measured = any(word in UNITS for word in found)
    return any(word in _QUALIFIERS and not (measured and word in {"squared", "cubed"}) for word in found)


def unit_form(text: str) -> str:
    """Normal form of a unit phrase: known spellings merged, powers and quotients written one way.

    >>> unit_form("square inches"), unit_form("miles per hour"), unit_form("cm^2"), unit_form("apples")
    ('in^2', 'mph', 'cm^2', 'apple')
    """
    lowered = text.casefold().replace("**", "^").replace("²", "^2").replace("³", "^3")
    lowered = re.sub(r"\bper\b", "/", lowered)
    lowered = re.sub(r"[{}\\().,]", " ", lowered)
    parts: list[str] = []
    power = ""
    for word in re.findall(r"[^\W\d_]+|[$%]|\^\s*-?\s*\d+|/|-?\d+", lowered):
        if word in {"square", "sq"}:
            power = "^2"
        elif word in {"cubic", "cu"}:
            power = "^3"
        elif word in {"squared", "cubed"} and parts:
            parts[-1] += "^2" if word == "squared" else "^3"
        elif word.startswith("^") and parts:
            parts[-1] += word.replace(" ", "")
        elif word in {"a", "an", "the", "of"}:
            continue
        elif word == "/":
            parts.append("/")
        else:
            unit = UNITS.get(word) or (
                word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
            )
            parts.append(unit + power)
            power = ""
    form = " ".join(parts).replace(" / ", "/").replace("^1 ", " ")
    return {"mi/h": "mph", "unit^2": "unit^2", "m s^-1": "m/s", "km h^-1": "km/h"}.get(form, form)
