"""One's own records turned into the columns that scores read, by a JMESPath expression each.

A JSON document holds whole columns, so that each expression returns a list; a line of JSON Lines is
one record, so that each returns one value. Unlike the original, a value that is not there is an
error here: a column that is dropped in silence, or a null, is found out only when a score is
missing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

JSON = "application/json"
JSON_LINES = "application/jsonlines"
MIME_TYPES = (JSON, JSON_LINES)

SUFFIX = "_location"
TEXTS = (
    "model_input",
    "model_output",
    "target_output",
    "category",
    "sent_more_input",
    "sent_less_input",
)
NUMBERS = ("sent_more_log_prob", "sent_less_log_prob")
LISTS = ("context",)
NOTHING = "nothing is there"
COLUMNS = (*TEXTS, *NUMBERS, *LISTS)


class ColumnError(ValueError):
    """A record or a document that does not give what an expression asks for.

    Attributes:
        column: The column.
        expression: Its expression.
        index: Position of the value in the list of a document, from 0; None where there is none.
        reason: What is wrong, without saying where.
    """

    def __init__(self, column: str, expression: str, reason: str, index: int | None = None) -> None:
        self.column = column
        self.expression = expression
        self.reason = reason
        self.index = index
        place = "" if index is None else f" at index {index}"
        super().__init__(f"{column} ({expression}){place}: {reason}")


class RecordError(ValueError):
    """A record or document that is neither an object nor a list."""


class LineError(ValueError):
    """A line that is not a JSON record; `number` counts from 1."""

    def __init__(self, number: int, reason: str) -> None:
        self.number = number
        self.reason = reason
        super().__init__(f"line {number}: {reason}")


def compiled(expression: str) -> Any:
    """Compile a JMESPath expression.

    Raises:
        ValueError: it is not one.
    """
    import jmespath
    from jmespath.exceptions import JMESPathError

    try:
        return jmespath.compile(expression)  # which keeps the last 128
    except (TypeError, JMESPathError, RecursionError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(f"{expression!r} is no JMESPath expression: {reason}") from error


def jmespath_compile(*, expression: str) -> str:
    """Checks a JMESPath expression.

    Args:
        expression: For example `a.b[0]`, `"Review Text"`, `join('<OR>', answers[*].text)`.

    Returns:
        `ok`.

    Raises:
        ValueError: it is not one, with the place.

    >>> jmespath_compile(expression="a.b[0]")
    'ok'
    """
    compiled(expression)
    return "ok"


def known_mime_type(*, mime_type: str) -> str:
    """Checks the type of a data set.

    Args:
        mime_type: `application/json` or `application/jsonlines`.

    Returns:
        `ok`.

    Raises:
        ValueError: it is another.

    >>> known_mime_type(mime_type="application/json")
    'ok'
    """
    if mime_type not in MIME_TYPES:
        raise ValueError(
            f"the MIME type {mime_type!r} is not known, allowed are {' and '.join(MIME_TYPES)}"
        )
    return "ok"


def evaluated(column: str, expression: str, data: Any) -> Any:
    """Returns the value of an expression in a record or document.

    Raises:
        ColumnError: it has none, or cannot be computed.
        ValueError: it is no expression.
    """
    from jmespath.exceptions import JMESPathError

    try:
        value = compiled(expression).search(data)
    except JMESPathError as error:
        # A function got a value that it cannot take, such as join() of a null.
        raise ColumnError(
            column, expression, f"cannot be computed: {' '.join(str(error).split())}"
        ) from error
    if value is None:
        raise ColumnError(column, expression, NOTHING)
    return value


def one_value(column: str, expression: str, value: Any, index: int | None = None) -> Any:
    """Checks one value of one column; texts are cast.

    Args:
        column: Name of the column, which decides what is allowed.
        expression: Where the value came from, for the message.
        value: The value.
        index: Its position in a document's list.

    Raises:
        ColumnError: it is null, or a list or an object where one value is due.
    """
    if value is None:
        raise ColumnError(column, expression, "is null", index)
    if column in LISTS:
        if not isinstance(value, list):
            raise ColumnError(column, expression, f"is {_kind(value)}, expected a list", index)
        return [str(item) for item in value]
    if isinstance(value, (list, dict)):
        raise ColumnError(column, expression, f"is {_kind(value)}, expected one value", index)
    return value if column in NUMBERS else str(value)


def _kind(value: Any) -> str:
    names = {
        "dict": "an object",
        "list": "a list",
        "str": "a text",
        "NoneType": "null",
        "bool": "true or false",
    }
    return names.get(type(value).__name__, "a number")


def record_columns(record: Any, expressions: Mapping[str, str]) -> dict[str, Any]:
    """Columns of one record.

    Args:
        record: A line of JSON Lines, or a row of a table as a mapping.
        expressions: Column -> expression.

    Raises:
        ColumnError: a value is missing or of the wrong kind.
        RecordError: the record is neither an object nor a list.
        ValueError: an expression is none.
    """
    if not isinstance(record, (Mapping, list)):
        raise RecordError(f"is {_kind(record)}, expected an object")
    return {
        name: one_value(name, each, evaluated(name, each, record))
        for name, each in expressions.items()
    }


def document_columns(
    document: Any,
    expressions: Mapping[str, str],
    check: Callable[[str, str, Any, int | None], Any] = one_value,
) -> dict[str, list[Any]]:
    """Columns of one JSON document, all of one length.

    Args:
        document: The document.
        expressions: Column -> expression.
        check: What each value goes through: (column, expression, value, index) -> value.

    Raises:
        ColumnError: a column is missing, empty or no list, a value is null or of the wrong kind, or
            lengths differ.
        RecordError: the document is neither an object nor a list.
        ValueError: an expression is none.
    """
    if not isinstance(document, (Mapping, list)):
        raise RecordError(f"is {_kind(document)}, expected an object or a list")
    columns: dict[str, list[Any]] = {}
    for name, expression in expressions.items():
        values = evaluated(name, expression, document)
        if not isinstance(values, list) or not values:
            problem = "is empty" if values == [] else f"is {_kind(values)}"
            raise ColumnError(
                name, expression, f"{problem}, expected a list with a value per record"
            )
        columns[name] = [
            check(name, expression, value, index) for index, value in enumerate(values)
        ]
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        first = next(iter(lengths))
        shown = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise ColumnError(first, expressions[first], f"the columns have different lengths: {shown}")
    return columns


def parse_columns(
    *, data: Any, locations: Mapping[str, str | None], mime_type: str
) -> dict[str, Any]:
    """Columns of a JSON document or of one line of JSON Lines.

    All values become texts (`True`, `1.0`), but log-probabilities, and `context`, which is a list
    of texts.

    Args:
        data: The document or record.
        locations: `<column>_location` -> JMESPath expression, or None.
        mime_type: `application/json` or `application/jsonlines`.

    Returns:
        Column -> value, or list of values for a document.

    Raises:
        ValueError: see `document_columns` and `record_columns`.

    >>> locations = {"model_input_location": "a.b"}
    >>> parse_columns(data={"a": {"b": 1}}, locations=locations, mime_type=JSON_LINES)
    {'model_input': '1'}
    """
    known_mime_type(mime_type=mime_type)
    read = document_columns if mime_type == JSON else record_columns
    # Column -> expression, from fmeval's keys `<column>_location`, those without one left out.
    unknown = [key for key in locations if key.removesuffix(SUFFIX) not in COLUMNS]
    if unknown:
        allowed = ", ".join(f"{name}{SUFFIX}" for name in COLUMNS)
        raise ValueError(f"{', '.join(unknown)}: no such column, allowed are {allowed}")
    return read(
        data,
        {key.removesuffix(SUFFIX): value for key, value in locations.items() if value is not None},
    )


def json_lines(lines: Iterable[str]) -> Iterator[tuple[int, Any]]:
    """Yields the number and the value of each line that is not blank.

    Line ends of any system, a byte-order mark and blank lines do no harm.

    Raises:
        LineError: a line is not JSON.
    """
    for number, line in enumerate(lines, start=1):
        text = line.strip("\ufeff \t\r\n") if number == 1 else line.strip(" \t\r\n")
        if not text:
            continue
        try:
            value = json.loads(text)
        except json.JSONDecodeError as error:
            raise LineError(number, f"no JSON: {error.msg} (character {error.colno})") from error
        except RecursionError as error:
            raise LineError(number, "nested too deeply") from error
        except ValueError as error:  # a whole number of thousands of digits
            raise LineError(number, f"no JSON: {error}") from error
        yield number, value


METRICS = {
    "fm.jmespath_compile": jmespath_compile,
    "fm.mime_type": known_mime_type,
    "fm.parse_columns": parse_columns,
}
