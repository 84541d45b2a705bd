"""Rules of IFBench for one task each (`custom:`), and for repeated requests (`repeat:`)."""

from __future__ import annotations

import csv
import hashlib
import io
import re
import string
from itertools import dropwhile, pairwise
from typing import NamedTuple

from custom_metrics.compliance.ifbench.texts import plain_letters, sentences, trimmed, without_marks

_DIGITS = re.compile(r"\d+")
_MULTIPLES = ["14", "21", "28", "35", "42", "49"]
_QUESTION = re.compile(r"Question \d{1,20}[.|):;]?")
_OPTION = re.compile(r"[A-Ea-e][.|)]\s*\w")
_QUESTIONS = 4
_OPTIONS = 5
_COUNTRIES = 52
_CAPITALS = """
Reykjavik Helsinki Oslo Tallinn Stockholm Riga Moscow Copenhagen Vilnius Minsk Dublin Berlin
Amsterdam Warsaw London Brussels Prague Luxembourg Paris Vienna Bratislava Budapest Vaduz Chisinau
Bern Ljubljana Zagreb
""".split()  # noqa: SIM905 - a list of names reads better so
_CITY_COLUMNS = ["ID", "Country", "City", "Year", "Count"]
_PRODUCT_COLUMNS = ("ProductID", "Category", "Brand", "Price", "Stock")
_STUDENT_COLUMNS = ("StudentID", "Subject", "Grade", "Semester", "Score")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}\Z")
_YEARS = range(1769, 1822)  # Napoleon's
_MONTHS = 12
_DAYS = {2: 29, 4: 30, 6: 30, 9: 30, 11: 30}
_SPECIAL = re.compile(r"[^\d\w\s]")
#: SHA-256 of the one sentence that a reply must be, in lower case.
_SENTENCE = "5e33157f37da8f137c1899801fb56dcae5fccd687d03c683439128ef87d1d0bb"


def multiples(text: str) -> bool:
    """The multiples of 7 from 14 to 49, and no other number."""
    return _DIGITS.findall(text) == _MULTIPLES


def mcq_count_length(text: str) -> bool:
    """Four questions of five options, each question longer than the one before."""
    if not text.startswith("Question"):
        return False
    parts = [part.strip() for part in _QUESTION.split(text)]
    questions = [_question(part) for part in parts if part]
    if len(questions) != _QUESTIONS:
        return False
    if any(question.options != _OPTIONS for question in questions):
        return False
    lengths = [question.length for question in questions]
    return all(first < second for first, second in pairwise(lengths))


class _Question(NamedTuple):
    """The length of a question's text, and the number of its options."""

    length: int
    options: int


def _question(part: str) -> _Question:
    lines = [line.strip() for line in part.split("\n")]
    places = [place for place, line in enumerate(lines) if _OPTION.match(line)]
    lines_of_text = lines[: places[0]] if places else lines
    text = " ".join(lines_of_text).strip()
    return _Question(len(text), len(places))


def reverse_newline(text: str) -> bool:
    """From the line of Zimbabwe on, 52 lines or more in falling order."""
    lines = [line for line in map(trimmed, text.split("\n")) if line]
    from_zimbabwe = dropwhile(lambda line: "Zimbabwe" not in line, lines)
    names = [plain_letters(line) for line in from_zimbabwe]
    return len(names) >= _COUNTRIES and names == sorted(names, reverse=True)


def word_reverse(text: str) -> bool:
    """Reads from its last word, one sentence on the bald eagle."""
    words = without_marks(text.lower().strip()).split()
    turned = " ".join(reversed(words))
    return "bald eagle" in turned and turned in sentences(turned)


def character_reverse(text: str) -> bool:
    """The bald eagle, letter by letter from its end."""
    return "bald eagle"[::-1] in text.lower()


def sentence_alphabet(text: str) -> bool:
    """26 sentences that begin with the letters in order."""
    firsts = [part.lstrip().lower()[:1] for part in sentences(text)]
    return firsts == list(string.ascii_lowercase)


def european_capitals_sort(text: str) -> bool:
    """Capitals from north to south."""
    names = [name.strip() for name in plain_letters(text).split(",")]
    return list(filter(None, names)) == _CAPITALS


def csv_city(text: str) -> bool:
    """A head and seven rows of five fields."""
    table = list(csv.reader(io.StringIO(text)))
    if len(table) != 1 + 7:
        return False
    head, *rows = table
    if head != _CITY_COLUMNS:
        return False
    return all(len(row) == len(_CITY_COLUMNS) for row in rows)


def _has_head(text: str, columns: tuple[str, ...], between: str) -> bool:
    """Returns whether the first line names the columns, each in quotes or not."""
    names = between.join(f'(?:{name}|"{name}")' for name in columns)
    first_line = text.partition("\n")[0]
    return bool(re.match(f"{names}\\Z", first_line.strip()))


def _quoted_rows(text: str, delimiter: str) -> list[list[str]]:
    """Rows of fields that keep their quotes."""
    source = io.StringIO(text.replace('"', '"""'))
    return list(csv.reader(source, delimiter=delimiter))


def csv_special_character(text: str) -> bool:
    """A head and 14 rows of five fields, one of which quotes a special sign."""
    if not _has_head(text, _PRODUCT_COLUMNS, ",[ \\t]*"):
        return False
    table = _quoted_rows(text, ",")
    if len(table) != 1 + 14:
        return False
    for row in table[1:]:
        if len(row) != len(_PRODUCT_COLUMNS):
            return False
        if any(map(_quotes_special, row)):
            return True
    return False


def _quotes_special(field: str) -> bool:
    """Returns whether the first line of a field quotes a sign that is no letter, digit or blank."""
    line = field.partition("\n")[0]
    if not line.startswith('"'):
        return False
    end = line.rfind('"')
    quoted = line[1 : max(end, 1)]
    return bool(_SPECIAL.search(quoted))


def csv_quotes(text: str) -> bool:
    """A head and three rows of five fields, each in quotes, parted by tabs."""
    if not _has_head(text, _STUDENT_COLUMNS, "\\t *"):
        return False
    table = _quoted_rows(text, "\t")
    return len(table) == 1 + 3 and all(map(_is_quoted_row, table))


def _is_quoted_row(row: list[str]) -> bool:
    if len(row) != len(_STUDENT_COLUMNS):
        return False
    fields = [field.strip() for field in row]
    return all(field[:1] == '"' == field[-1:] for field in fields)


def date_format_list(text: str) -> bool:
    """Dates of Napoleon's life, as YYYY-MM-DD."""
    dates = text.strip().split(",")
    return all(_is_date(date.strip()) for date in dates)


def _is_date(date: str) -> bool:
    if not _DATE.match(date):
        return False
    year, month, day = map(int, date.split("-"))
    if year not in _YEARS or month > _MONTHS:
        return False
    most = _DAYS.get(month, 31) if month else 99
    return day <= most


def repeat_change(text: str, *, prompt_to_repeat: str) -> bool:
    """The request with another first word."""
    if text == prompt_to_repeat:
        return False
    return text.split()[1:] == prompt_to_repeat.split()[1:]


def repeat_simple(text: str) -> bool:
    """One sentence of the request, and nothing else."""
    sentence = text.strip().lower()
    return hashlib.sha256(sentence.encode()).hexdigest() == _SENTENCE


def repeat_span(text: str, *, prompt_to_repeat: str, n_start: int, n_end: int) -> bool:
    """The letters of the request from one place to another."""
    span = prompt_to_repeat[n_start : n_end + 1]
    return text.strip().lower() == span.strip().lower()
