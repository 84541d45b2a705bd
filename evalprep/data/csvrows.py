"""Rows out of a CSV file, as `datasets` reads it; errors with lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from evalprep.data.compressed import BROKEN, damaged, open_packed
from evalprep.errors import BadInput, Problem

CSV_ROWS = (
    10_000  # as `datasets` reads: a column's type is found anew in each part of that many rows
)
#: What a card may say of how its CSV files are read, by the names of pandas.
CSV_OPTIONS = frozenset(
    {
        "sep",
        "header",
        "names",
        "skiprows",
        "encoding",
        "quotechar",
        "quoting",
        "escapechar",
        "comment",
        "decimal",
    }
    | {"thousands", "na_values", "keep_default_na", "skipinitialspace", "dtype"}
)
_LINE = re.compile(r"\bline (\d+)")


def csv_rows(path: Path, options: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Rows of a CSV file with a head, as `datasets` reads it.

    A column of numbers is numbers, an empty cell is null.

    So `007` is 7 and `NA` is null; JSON Lines keeps what is written. Line breaks in quotes, a
    byte-order mark and `.gz` are read.

    Raises:
        BadInput: a line with more cells than the head, an open quote, text that is not UTF-8; names
            the line.
    """
    import pandas as pd
    import pyarrow as pa

    try:
        with open_packed(path) as handle:
            for part in pd.read_csv(handle, chunksize=CSV_ROWS, **options):
                if not isinstance(
                    part.index, pd.RangeIndex
                ):  # pandas shifts the cells of such lines in silence
                    raise pd.errors.ParserError("its lines have more cells than its head")  # noqa: TRY301
                yield from pa.Table.from_pandas(part, preserve_index=False).to_pylist()
    except pd.errors.EmptyDataError:
        raise BadInput(
            Problem(what="is empty", where=str(path), allowed="a line of column names, then rows")
        ) from None
    except UnicodeDecodeError:
        if encoding := options.get("encoding"):
            what, place = f"is not {encoding}", str(path)
            fix = "correct the card, or save the file in that encoding"
        else:
            what, place = "is not UTF-8", f"{path}:{_line_of_bytes(path)}"
            fix = "save the file as UTF-8"
        raise BadInput(Problem(what=what, where=place, fix=fix)) from None
    except (pd.errors.ParserError, pa.ArrowInvalid, pa.ArrowTypeError) as error:
        reason = str(error).strip().removeprefix("Error tokenizing data. C error: ")
        raise BadInput(
            Problem(
                what=f"is not CSV: {reason}",
                where=f"{path}:{_line_of(path, error)}",
                fix=_hint(path, options),
            )
        ) from None
    except BROKEN as error:
        raise damaged(path, error) from None
    except (LookupError, TypeError, ValueError) as error:  # what the card says is no way to read
        options_text = ", ".join(f"{key}: {value!r}" for key, value in options.items())
        raise BadInput(
            Problem(
                what=f"cannot be read with {options_text}: {error}",
                where=str(path),
                fix="correct the card",
            )
        ) from None


def _hint(path: Path, options: Mapping[str, Any]) -> str:
    """The likely mistake of a file: another separator than expected, or its quotes."""
    with open_packed(path) as handle:
        head = handle.readline().decode(errors="replace")
    other = next((name for sign, name in ((";", "semicolons"), ("\t", "tabs")) if sign in head), "")
    if other and str(options.get("sep", ",")) not in head:
        return f"its cells are separated by {other}: save it with commas (CSV) or tabs (TSV)"
    return "quote cells that hold a comma or a line break, and close every quote"


def _line_of(path: Path, error: Exception) -> int:
    """The line that a parser complains of; of an open quote, the one in which it opens."""
    match = _LINE.search(str(error))
    if match:
        return int(match[1])
    line = opened = 1
    quoted = False
    with open_packed(path) as handle:
        for line, text in enumerate(handle, 1):
            if text.count(b'"') % 2:
                quoted, opened = not quoted, line
    return opened if quoted else line


def _line_of_bytes(path: Path) -> int:
    """The first line that is not UTF-8."""
    with open_packed(path) as handle:
        for number, line in enumerate(handle, 1):
            try:
                line.decode()
            except UnicodeDecodeError:
                return number
    return 1
