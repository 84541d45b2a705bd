"""One's own records as named fields.

Each a column name or a JMESPath expression, checked row by row.

    read_fields(path, {"model_input": "input.question", "target_output": "join('<OR>',
    references[*].text)"})

A JSON document holds whole columns, so that an expression gives a list over all records
(`data.items[*].q.text`); in every other format it gives one value per record. A JSON list of
objects may be read either way. Values are texts, but log-probabilities; fields beyond the known
ones keep what they hold, for prompts.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from custom_metrics.fm.columns import (
    COLUMNS,
    LISTS,
    NOTHING,
    NUMBERS,
    ColumnError,
    RecordError,
    compiled,
    document_columns,
    evaluated,
    one_value,
)
from evalprep.data.cells import list_cell
from evalprep.data.located import (
    DELIMITERS,
    Located,
    file_format,
    json_document,
    located_records,
    split_elsewhere,
)
from evalprep.errors import BadInput, Problem, near
from evalprep.numbers import finite_number

_HALF_PAIR = re.compile("[\ud800-\udfff]")
OF_MODEL = "@"
"""Stands between a field and the model that it is of, where a file holds those of several."""
OPTIONAL = frozenset({"category"})
"""Fields that a record may lack: null or NaN in their column means that it has none."""
MAX_PROBLEMS = 20
"""So many mistakes of a file are told; a wrong expression is wrong in every row."""


class FieldRow(msgspec.Struct, frozen=True):
    """One record as its fields.

    Attributes:
        where: File and place, for messages.
        number: Position in the file, from 0.
        fields: Field -> value.
        record: The whole record where the format has one, else the fields.
    """

    where: str
    number: int
    fields: dict[str, Any]
    record: Mapping[str, Any]


def read_fields(
    path: Path,
    expressions: Mapping[str, str],
    *,
    declared: str | None = None,
    where: str = "",
    whole: bool = True,
) -> Iterator[FieldRow]:
    """Streams the fields of a file.

    Args:
        path: JSON, JSON Lines, parquet, CSV or TSV.
        expressions: Field -> column name or JMESPath expression.
        declared: The format, where the file's name does not tell it.
        where: Which key of which config asked for it, for messages about expressions.
        whole: Keep the whole records, which cost more memory than their fields.

    Raises:
        BadInput: with every mistake of the file (the first 20 of many). Rows before the first one
            were given out by then, so that nothing may be written before the last row is read.
    """
    form = file_format(path, declared, where=where)
    _check_expressions(path, form, expressions, where)
    if form == "json":
        reader = _of_document(path, expressions)
    else:
        reader = _of_records(located_records(path, form), expressions, form)
    return _without_problems(reader, str(path), whole=whole)


def fields_of_records(
    records: Iterable[Mapping[str, Any]], expressions: Mapping[str, str]
) -> Iterator[FieldRow]:
    """Streams the fields of records that are in memory already; see `read_fields`.

    Args:
        records: Mappings, such as rows of a table.
        expressions: Field -> column name or JMESPath expression.

    Raises:
        BadInput: with every mistake of the records (the first 20 of many).
    """
    located = (
        Located(f"rows (index {index})", index, record) for index, record in enumerate(records)
    )
    return _without_problems(_of_records(located, expressions), "rows", whole=True)


def _without_problems(
    reader: Iterator[FieldRow | Problem], where: str, *, whole: bool
) -> Iterator[FieldRow]:
    """The rows up to the first mistake; then all mistakes are raised."""
    problems: list[Problem] = []
    rows = 0
    for item in reader:
        if isinstance(item, Problem):
            problems.append(item)
            if len(problems) == MAX_PROBLEMS:
                more = Problem(
                    what="there may be more mistakes", where=where, fix="correct these first"
                )
                problems.append(more)
                break
        elif not problems:
            rows += 1
            yield item if whole else FieldRow(item.where, item.number, item.fields, item.fields)
    if problems:
        raise BadInput(problems)
    if not rows:
        fix = "give a file with one record at least"
        raise BadInput(Problem(what="holds no records", where=where, fix=fix))


def _check_expressions(path: Path, form: str, expressions: Mapping[str, str], where: str) -> None:
    """Refuses what is neither a JMESPath expression nor a column of the file."""
    problems = []
    for name, expression in expressions.items():
        try:
            compiled(expression)
        except ValueError as error:
            columns = _first_columns(path, form)
            if expression not in columns:
                problems.append(
                    Problem(
                        what=f"{name}: {error}",
                        where=where or str(path),
                        allowed=f"a column ({', '.join(columns) or 'none found'}) or a "
                        "JMESPath expression",
                        fix=_split_elsewhere(columns, form)
                        or near(str(expression), columns)
                        or 'quote names with spaces: "Review Text"',
                    )
                )
    if problems:
        raise BadInput(problems)


def _first_columns(path: Path, form: str) -> list[str]:
    if form == "json":
        document = json_document(path)
        first = document[0] if isinstance(document, list) and document else document
    else:
        first = next(
            (each.value for each in located_records(path, form) if isinstance(each, Located)), None
        )
    return [str(name) for name in first] if isinstance(first, Mapping) else []


def _value(name: str, expression: str, record: Any) -> Any:
    """Value of one field.

    The column of that very name where there is one, else what the expression finds.
    """
    is_mapping = type(record) is dict or isinstance(record, Mapping)  # the first test is fast
    literal = is_mapping and expression in record
    value = record[expression] if literal else evaluated(name, expression, record)
    if literal and kind_of(name) in OPTIONAL and (value is None or _is_nan(value)):
        return None
    return _checked(name, expression, value)


def _is_nan(value: Any) -> bool:
    """Returns whether a value is NaN, or one of the values by which pandas means the same."""
    if isinstance(value, float):
        return math.isnan(value)
    return type(value).__name__ in {"NAType", "NaTType"}


def kind_of(name: str) -> str:
    """The field that a name is of, of which a file may hold several: `model_output@model_a`."""
    return name.partition(OF_MODEL)[0]


def _checked(name: str, expression: str, value: Any, index: int | None = None) -> Any:
    """A value as its field holds it.

    Raises:
        ColumnError: it is missing, or no value for such a field.
    """
    if _is_nan(value):  # what tables hold where nothing is
        raise ColumnError(
            name, expression, "is not a number (NaN), which stands for a missing value", index
        )
    kind = kind_of(name)
    if kind not in COLUMNS:
        if value is None:
            raise ColumnError(name, expression, "is null", index)
        return value
    if kind in LISTS:
        value = list_cell(value)
    value = one_value(kind, expression, value, index)
    if isinstance(value, str) and _HALF_PAIR.search(value):
        raise ColumnError(
            name, expression, "holds half of a surrogate pair, which no file can hold", index
        )
    return value if kind not in NUMBERS else _checked_number(name, expression, value, index)


def _checked_number(name: str, expression: str, value: Any, index: int | None) -> float:
    """A finite number; of a text the number that it spells."""
    number = finite_number(value)
    if number is None and not isinstance(value, bool):
        with contextlib.suppress(TypeError, ValueError, OverflowError):
            number = finite_number(float(value))
    if number is None:
        raise ColumnError(name, expression, f"is {value!r}, expected a number", index)
    return value if isinstance(value, (int, float)) else number


def _of_records(
    records: Iterator[Located | Problem], expressions: Mapping[str, str], form: str = ""
) -> Iterator[FieldRow | Problem]:
    for each in records:
        if isinstance(each, Problem):
            yield each
            continue
        if not isinstance(each.value, (Mapping, list)):
            yield _problem(RecordError(f"holds {each.value!r:.40}, expected an object"), each.where)
            continue
        fields: dict[str, Any] = {}
        failed = False
        for name, expression in expressions.items():
            try:
                fields[name] = _value(name, expression, each.value)
            except ValueError as error:
                failed = True
                yield _problem(error, each.where, each.value, form)
        if not failed:
            record = each.value if isinstance(each.value, Mapping) else fields
            yield FieldRow(each.where, each.number, fields, record)


def _problem(error: ValueError, where: str, record: Any = None, form: str = "") -> Problem:
    """One row's mistake, with the columns that its record has."""
    if not isinstance(error, ColumnError):
        return Problem(what=str(error), where=where, allowed="one object per record")
    place = "" if error.index is None else f" (index {error.index})"
    problem = Problem(
        what=f"{error.column} ({error.expression}): {error.reason}", where=f"{where}{place}"
    )
    columns = [str(name) for name in record] if isinstance(record, Mapping) else []
    if not columns or error.reason != NOTHING:
        return problem
    fix = _split_elsewhere(columns, form) or near(error.expression, columns)
    return replace(problem, allowed=f"columns found: {', '.join(columns)}", fix=fix)


def _split_elsewhere(columns: Sequence[str], form: str) -> str:
    return split_elsewhere(columns, DELIMITERS[form]) if form in DELIMITERS else ""


def _of_document(path: Path, expressions: Mapping[str, str]) -> Iterator[FieldRow | Problem]:
    document = json_document(path)
    if _is_list_of_records(document, expressions):
        records = (
            Located(f"{path} (index {index})", index, value) for index, value in enumerate(document)
        )
        yield from _of_records(iter(records), expressions)
        return
    columns: dict[str, list[Any]] = {}
    try:
        columns = document_columns(document, expressions, _checked)
    except ValueError as error:
        yield _problem(error, str(path), document)
    for index, values in enumerate(zip(*columns.values(), strict=True)):
        fields = dict(zip(columns, values, strict=True))
        yield FieldRow(f"{path} (index {index})", index, fields, fields)


def _is_list_of_records(document: Any, expressions: Mapping[str, str]) -> bool:
    """Returns whether a document is a list of objects, and no expression fits it as a whole."""
    if not isinstance(document, list) or not any(isinstance(each, Mapping) for each in document):
        return False
    for name, expression in expressions.items():
        try:
            evaluated(name, expression, document)
        except ValueError:
            continue
        return False
    return True
