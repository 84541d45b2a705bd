r"""Units that are written in plain characters behind a number.

Examples are `1.69 Å`, `kcal m⁻² yr⁻¹` and `9.8 m/s²`.

They are put into a text macro, where the parser expects units. Letters that may be a factor (`5 m`)
are left alone, unless a quotient or a negative power beside them shows that they are a unit.
"""

from __future__ import annotations

import re

MAX_TAIL = 60
"""Characters at the end of an answer in which a unit is looked for."""

_PREFIXES = {
    "f": "femto",
    "p": "pico",
    "n": "nano",
    "\N{MICRO SIGN}": "micro",
    "\N{GREEK SMALL LETTER MU}": "micro",
    "m": "milli",
    "c": "centi",
    "d": "deci",
    "k": "kilo",
    "M": "mega",
    "G": "giga",
    "T": "tera",
}
_PREFIXED = {
    "Hz": "hz",
    "Pa": "pa",
    "eV": "ev",
    "cal": "cal",
    "mol": "mol",
    "bar": "bar",
    "J": "j",
    "N": "n",
    "W": "w",
    "V": "v",
    "A": "amp",
    "F": "farad",
    "C": "coulomb",
    "T": "tesla",
    "S": "siemens",
    "L": "l",
    "l": "l",
    "m": "m",
    "s": "s",
    "g": "g",
    "K": "kelvin",
    "\N{GREEK CAPITAL LETTER OMEGA}": "ohm",
    "\N{OHM SIGN}": "ohm",
}
_ALONE = {
    "\N{LATIN CAPITAL LETTER A WITH RING ABOVE}": "angstrom",
    "\N{ANGSTROM SIGN}": "angstrom",
    "yr": "yr",
    "atm": "atm",
    "Torr": "torr",
    "torr": "torr",
    "mmHg": "mmhg",
    "hr": "h",
    "min": "min",
    "day": "day",
    "Btu": "btu",
    "BTU": "btu",
    "dB": "db",
    "rpm": "rpm",
    "AU": "au",
    "ly": "ly",
    "amu": "amu",
    "year": "yr",
}
_KEPT = {"milli": "m", "centi": "c", "kilo": "k", "nano": "n", "micro": "micro"}
"""Prefixes that do not clash when case is ignored; `mega` does with `milli` and is written out."""


def _spellings() -> dict[str, str]:
    spellings = dict(_ALONE)
    for unit, name in _PREFIXED.items():
        spellings[unit] = name
        for sign, prefix in _PREFIXES.items():
            spellings[sign + unit] = _KEPT.get(prefix, prefix) + name
    return spellings


_NAMES = _spellings()
_FACTORS = {name for name in _NAMES if name.isascii() and len(name) == 1} - set("JKLNVW")
"""Letters that may as well be a factor, also behind a blank."""
_PRODUCTS = {name for name in _NAMES if name.isascii() and name.islower() and len(name) == 2} - {
    "nm",
    "pm",
    "mm",
    "cm",
    "km",
    "mg",
    "kg",
    "ml",
    "ms",
    "ns",
    "ps",
    "yr",
    "hr",
}
"""Names that may as well be a product of letters, also behind a blank."""

_UNIT = r"[A-Za-z\u00b5\u03bc\u03a9\u2126\u00c5\u212b]{1,5}"
_POWER = r"(?:\^\{?-?\d\}?|[\u207b\u2212]?[\u00b9\u00b2\u00b3\u2074])"
_RAISED_UNIT = rf"{_UNIT}{_POWER}?"
_UNITS = rf"{_RAISED_UNIT}(?:\s?[/\u00b7\u22c5*]\s?{_RAISED_UNIT}|\s{_RAISED_UNIT})*"
# The unit of "12 m/s", "3 kg m^2", "5~N"
_TAIL = re.compile(
    rf"(?<=[\d)}}\u2070\u00b9\u00b2\u00b3\u2074-\u2079])(?P<gap>\s*|~|\\[,; ])"
    rf"(?P<unit>{_UNITS})\s*\.?\s*$"
)
_PART = re.compile(rf"(?P<name>{_UNIT})(?P<power>{_POWER}?)")
_NUMBER = re.compile(
    r"(?:^|[^\w^_{}\\.])\d[\d.,]*$|[})]$"
    r"|10(?:\^\{?[-\u2212]?\d{1,4}\}?|[\u207b\u2212]?[\u2070\u00b9\u00b2\u00b3\u2074-\u2079]{1,4})$"
)
"""What a unit may stand behind: a numeral that is no exponent, a power of ten, a bracket."""
_RAISED = str.maketrans("\u207b\u2212\u00b9\u00b2\u00b3\u2074", "--1234", "^{}")


_MICRO = re.compile(
    r"(\\(?:text|mathrm|textrm)\s*\{[^{}\u00b5\u03bc]{0,20})[\u00b5\u03bc](?=[A-Za-z])"
)


def mark(text: str) -> str:
    r"""Puts a plain unit at the end of an answer into a text macro.

    >>> print(mark("9.8 m/s²"), mark("5 m"), mark("1.69 Å"))
    9.8\text{ m/s^2} 5 m 1.69\text{ angstrom}
    """
    if not text.isascii():
        text = _MICRO.sub(r"\1micro", text)
    start = max(0, len(text) - MAX_TAIL)
    tail = _TAIL.search(text, start)
    if tail is None or not _NUMBER.search(text[max(0, tail.start() - 40) : tail.start()]):
        return text
    if not _is_unit(tail, is_latex="\\" in text):
        return text
    phrase = _PART.sub(_plain, tail["unit"])
    return text[: tail.start()] + rf"\text{{ {phrase}}}"


def _is_unit(tail: re.Match[str], *, is_latex: bool) -> bool:
    """Tells whether the letters behind a number are units, and no factors."""
    parts = list(_PART.finditer(tail["unit"]))
    names = [part["name"] for part in parts]
    if not _NAMES.keys() >= set(names):
        return False
    if is_latex and _is_letter(names):
        return False  # beside LaTeX, one italic letter is a factor
    if not all(map(str.isascii, names)):
        return True
    if not tail["gap"]:
        return False
    is_sure = not set(names) <= _FACTORS | _PRODUCTS
    return is_sure or (len(names) > 1 and _is_quotient(tail["unit"], parts))


def _is_letter(names: list[str]) -> bool:
    """Tells whether the only name is one letter of the Latin alphabet."""
    return len(names) == 1 and len(names[0]) == 1 and names[0].isascii()


def _is_quotient(unit: str, parts: list[re.Match[str]]) -> bool:
    """Tells whether a quotient or a negative power shows that letters are units."""
    return "/" in unit or any(part["power"].translate(_RAISED).startswith("-") for part in parts)


def _plain(part: re.Match[str]) -> str:
    power = part["power"].translate(_RAISED)
    return _NAMES[part["name"]] + (f"^{power}" if power else "")
