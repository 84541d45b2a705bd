"""The settings for reading results of other tools, out of the arguments of a verb."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from evalprep.errors import BadInput, Problem

_YAML = (".yaml", ".yml")
#: Words of `--input_format` that are no format: how logs of some formats are read.
_WAYS = ("strict_verdicts", "last_event")


@contextlib.contextmanager
def reading_results(args: argparse.Namespace) -> Iterator[None]:
    """Reads results of other tools as the options of a verb say, for as long as it runs.

    Raises:
        BadInput: `--columns` names no columns.
    """
    words = getattr(args, "input_format", [])
    columns = getattr(args, "columns", [])
    if not words and not columns:  # nothing is imported for it
        yield
        return
    from evalprep.readers import Reading, reading_as

    # The choices in the values of `--input_format` and `--columns`.
    formats = [word for word in words if word not in _WAYS]
    if len(formats) > 1:
        what = f"several formats: {', '.join(formats)}"
        allowed = f"one format, then {' or '.join(_WAYS)}"
        raise BadInput(Problem(what=what, where="--input_format", allowed=allowed))
    ways = {way: way in words for way in _WAYS}
    reading = Reading(format="".join(formats), columns=columns_of(columns), **ways)
    with reading_as(reading):
        yield


def columns_of(parts: Sequence[str]) -> Mapping[str, str]:
    """Returns field -> column of `question=Frage`, or of a YAML file.

    Raises:
        BadInput: a part is neither.

    >>> columns_of(["question=Frage", "score=correct"])
    {'question': 'Frage', 'score': 'correct'}
    """
    if len(parts) == 1 and parts[0].endswith(_YAML):
        from evalprep.yamlfile import load_yaml

        file = Path(parts[0])
        data = load_yaml(file).data
        if not data or not all(isinstance(column, str) for column in data.values()):
            raise _no_columns("the file names no columns", str(file))
        return {str(field): str(column) for field, column in data.items()}
    columns: dict[str, str] = {}
    for part in parts:
        field, equals, column = part.partition("=")
        if not equals or not field.strip() or not column.strip():
            raise _no_columns(f"{part!r} names no column", "--columns")
        columns[field.strip()] = column.strip()
    return columns


def _no_columns(what: str, where: str) -> BadInput:
    return BadInput(
        Problem(
            what=what,
            where=where,
            allowed="FIELD=COLUMN with commas, or a YAML file of such pairs",
            fix="for example --columns question=Frage,score=correct",
        )
    )
