"""Tables of anybody: CSV, TSV, JSON Lines, JSON lists and parquet, with columns that are named."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from evalprep.errors import BadInput, Problem, Problems, near
from evalprep.readers.tools.columns import each_row
from evalprep.readers.tools.opening import Opening, delimiter_of, opening_of
from evalprep.readers.tools.paths import paths_in, values_at
from evalprep.readers.tools.reading import Reader, Reading
from evalprep.readers.tools.row import Row, ToolLog
from evalprep.readers.tools.tables import records_of
from evalprep.readers.tools.texts import prompt_text, question_in, text_or_none, texts_of
from evalprep.readers.tools.verdicts import has_decimal_comma, table_score
from evalprep.samples import TABLE, Damage, JsonParts, damaged, objects_in, opened
from evalprep.terminal import shortlist

#: Fields of a row that a column may be named for.
FIELDS = (
    *("score", "id", "question", "target", "targets", "choices", "prompt", "response", "answer"),
    *("task", "metric", "doc_id", "epoch", "doc_hash", "prompt_hash", "target_hash", "native_hash"),
)
#: Fields that hold the text of a cell as it is.
_TEXT_FIELDS = (
    *("id", "target", "response", "answer"),
    *("doc_hash", "prompt_hash", "target_hash", "native_hash"),
)
_KEYS = ("id", "question", "doc_hash", "prompt_hash", "prompt", "doc_id")
_METRIC = "score"
_LARGEST_CELL = 2**27
_LOOKED_AT = 200  # rows whose columns a message names
_NAMED = 40  # columns that a message names


def recognises(opening: Opening) -> bool:
    """Returns whether a file can be a table; only columns that are named make it one."""
    return opening.kind in {"text", "lines", "parquet", "json"}


def row_of(
    cells: Mapping[str, Any], columns: Mapping[str, str], paths: Collection[str] = ()
) -> Row:
    """Returns the row of a table.

    Args:
        cells: Column -> cell.
        columns: Field -> column.
        paths: The columns that are paths into cells.
    """
    named = {field: _cell_at(cells, column, paths) for field, column in columns.items()}
    metric = text_or_none(named.get("metric"))
    metric = metric or columns.get("score") or _METRIC  # the name of its column of scores
    row = Row()
    row.set_values({metric: table_score(named.get("score"))})
    for field in _TEXT_FIELDS:
        setattr(row, field, _cell(named.get(field)))
    row.task = _cell(named.get("task")) or ""
    row.doc_id = _whole(named.get("doc_id"))
    row.epoch = _whole(named.get("epoch")) or 1
    row.choices = _listed(named.get("choices"))
    prompt = named.get("prompt")
    row.prompt = prompt_text(prompt) or None
    row.question = _cell(named.get("question")) or question_in(prompt)  # a turn of the prompt
    row.targets = _listed(named.get("targets"))
    if row.target is None and row.targets:
        row.target = row.targets[0]  # the first accepted answer stands in for a gold answer
    return row


def _cell_at(cells: Mapping[str, Any], column: str, paths: Collection[str]) -> Any:
    """The cell of a column; None where the row lacks it."""
    return next(values_at(cells, column), None) if column in paths else cells.get(column)


def _cell(value: Any) -> str | None:
    """The text of a cell; None for an empty one."""
    return text_or_none(value) or None


def _listed(value: Any) -> list[str] | None:
    """A list, or a text with bars between its items."""
    if isinstance(value, str):
        value = [part.strip() for part in value.split("|")] if value.strip() else []
    return texts_of(value) or None


def _whole(value: Any) -> int | None:
    if isinstance(value, str) and value.strip().isdecimal():
        return int(value)
    return value if type(value) is int else None


def read(path: Path, reading: Reading) -> ToolLog:
    """Opens a table.

    Raises:
        BadInput: the columns that were named are not there, or too few were named.
    """
    opening = opening_of(path)
    columns = reading.columns
    paths = _check(path, columns, opening)
    notes: list[str] = []
    cells = _READERS[opening.kind](path)
    return ToolLog(TABLE, _rows(path, cells, columns, paths, notes), model=path.stem, notes=notes)


def _check(path: Path, columns: Mapping[str, str], opening: Opening) -> frozenset[str]:
    """Returns which columns are paths into cells.

    Raises:
        BadInput: a field or a column does not exist, or too few columns were named.
    """
    problems = Problems()
    for field in columns.keys() - set(FIELDS):
        problems.add(
            f"{field!r} is not a field of a row",
            where="--columns",
            allowed=", ".join(FIELDS),
            fix=near(field, FIELDS),
        )
    wanted = [name for name in columns.values() if name not in opening.names]
    literal, nested = _looked_up(path, opening, wanted)
    missing = [name for name in dict.fromkeys(wanted) if name not in literal | nested]
    has_too_few = "score" not in columns or not columns.keys() & set(_KEYS)
    names = _names_in(path, opening) if missing or has_too_few else []
    for column in missing:
        problems.add(
            f"no column {column!r}",
            where=str(path),
            allowed=shortlist(names, _NAMED),
            fix=near(column, names),
        )
    if has_too_few:
        problems.add(
            "a table needs a column of scores and one that names its rows",
            where=str(path),
            allowed=f"its columns: {shortlist(names, _NAMED)}",
            fix="--columns score=COLUMN,question=COLUMN (or id=, prompt=, doc_hash=, doc_id=)",
        )
    problems.raise_if_any()
    return frozenset(nested - literal)


def _names_in(path: Path, opening: Opening) -> list[str]:
    """The columns of the first rows of a table and the paths into their cells, sorted."""
    names = set(opening.names)
    for record in islice(_READERS[opening.kind](path), _LOOKED_AT):
        if not isinstance(record, Damage):
            names.update(paths_in(record))
    return sorted(names)


def _looked_up(path: Path, opening: Opening, wanted: Collection[str]) -> tuple[set[str], set[str]]:
    """Which of some names are columns, and which are paths into cells.

    Not every row need have every key: rows are read until each name is known, at least the first.
    """
    literal: set[str] = set()
    nested: set[str] = set()
    for number, record in enumerate(_READERS[opening.kind](path) if wanted else ()):
        if number >= _LOOKED_AT and literal | nested >= set(wanted):
            break
        if isinstance(record, Damage):
            continue
        for name in wanted:
            if name in record:
                literal.add(name)
            elif any(True for _ in values_at(record, name)):
                nested.add(name)
    return literal, nested


def _rows(
    path: Path,
    cells: Iterator[Mapping[str, Any] | Damage],
    columns: Mapping[str, str],
    paths: Collection[str],
    notes: list[str],
) -> Iterator[Row | Damage]:

    def records() -> Iterator[Mapping[str, Any] | Damage]:
        for number, record in enumerate(cells, start=1):
            score = (
                None if isinstance(record, Damage) else _cell_at(record, columns["score"], paths)
            )
            if has_decimal_comma(score):
                raise _comma(path, number, str(score))
            yield record

    beyond = 0
    read_row = partial(row_of, columns=columns, paths=paths)
    # Two tables of one task share the name of a table, as files do not.
    for row in each_row(path.name, records(), read_row, TABLE, numbered=True):
        score = row.score if isinstance(row, Row) else None
        beyond += score is not None and not 0 <= score <= 1
        yield row
    if beyond:
        notes.append(f"{path.name}: {beyond} scores are not between 0 and 1, so no proportions")


def _comma(path: Path, number: int, cell: str) -> BadInput:
    return BadInput(
        Problem(
            what=f"row {number} has a decimal comma: {cell!r}",
            where=str(path),
            allowed="numbers with a point, true or false, yes or no, correct or incorrect",
            fix="write the scores with a decimal point",
        )
    )


def _delimited(path: Path) -> Iterator[Mapping[str, Any] | Damage]:
    """The rows of a CSV or TSV file; a row of another length than the header is damaged."""
    csv.field_size_limit(_LARGEST_CELL)
    with opened(path) as raw:
        begin = raw.readline()
        raw.seek(0)
        text = io.TextIOWrapper(raw, "utf-8-sig", "replace", newline="")
        rows = csv.reader(text, delimiter=delimiter_of(begin.decode("utf-8-sig", "replace")))
        try:
            header = next(rows, [])
            _refuse_repeated(header, path)
            for cells in rows:
                if len(cells) == len(header):
                    yield dict(zip(header, cells, strict=True))
                elif cells:
                    yield Damage(rows.line_num, f"{len(cells)} cells in place of {len(header)}")
        except csv.Error as error:
            raise damaged(path, f"{error}, in line {rows.line_num}") from error


def _refuse_repeated(header: Sequence[str], path: Path) -> None:
    """Refuses two columns of one name, of which the last would be taken in silence.

    Raises:
        BadInput: there are such columns.
    """
    repeated = [name for name, count in Counter(header).items() if name and count > 1]
    if repeated:
        raise damaged(path, f"its header names {shortlist(repeated)} more than once")


def _json_list(path: Path) -> Iterator[dict[str, Any] | Damage]:
    try:
        return JsonParts.of_file(path).each_item()
    except ValueError as error:
        raise damaged(path, str(error)) from error


_READERS: Mapping[str, Callable[[Path], Iterator[Mapping[str, Any] | Damage]]] = {
    "text": _delimited,
    "lines": objects_in,
    "json": _json_list,
    "parquet": records_of,
}


READERS = (Reader(TABLE, recognises, read, needs_columns=True),)
