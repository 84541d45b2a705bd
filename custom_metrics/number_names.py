"""English number words from zero on, in order: the place of a word is its value."""

NUMBER_NAMES = (
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
)

_GERMAN = (
    "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn "
    "fünfzehn "
    "sechzehn siebzehn achtzehn neunzehn zwanzig"
)
_FRENCH = (
    "zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize "
    "dix-sept dix-huit dix-neuf vingt"
)
_SPANISH = (
    "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince "
    "dieciséis diecisiete dieciocho diecinueve veinte"
)
FOREIGN_NUMBER_NAMES: dict[str, int] = {}
"""German, French and Spanish names of numbers up to twenty."""
for _language in (_GERMAN, _FRENCH, _SPANISH):
    FOREIGN_NUMBER_NAMES |= {name: value for value, name in enumerate(_language.split())}
del FOREIGN_NUMBER_NAMES["un"]  # also the article

_CHINESE_DIGITS = {digit: value for value, digit in enumerate("零一二三四五六七八九")} | {"两": 2}
_CHINESE_UNITS = {"十": 10, "百": 100, "千": 1000}
CHINESE_NUMERAL = "[零一二三四五六七八九十百千两]{1,9}"


def chinese_number(numeral: str) -> int | None:
    """Reads a Chinese or Japanese numeral below ten thousand.

    >>> chinese_number("十二"), chinese_number("三百零五"), chinese_number("一二")
    (12, 305, None)
    """
    total = digit = 0
    for character in numeral:
        if character in _CHINESE_UNITS:
            total += (digit or 1) * _CHINESE_UNITS[character]
            digit = 0
        elif digit:
            return None
        else:
            digit = _CHINESE_DIGITS[character]
    return total + digit
