"""Texts out of a text file, as `datasets` divides it."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

from evalprep.data.compressed import BROKEN, damaged, open_packed
from evalprep.errors import BadInput, Problem

#: What a card may say of how its text files are read, by the names of `datasets`.
TEXT_OPTIONS = frozenset({"encoding", "sample_by", "keep_linebreaks"})


def texts(
    path: Path,
    *,
    sample_by: str = "line",
    keep_linebreaks: bool = False,
    encoding: str = "utf-8-sig",
) -> Iterator[str]:
    """Texts of a text file, as `datasets` divides it.

    A text is a line, empty ones too; a paragraph; or the whole file.

    Raises:
        BadInput: another encoding, or a way to divide that nobody knows.
    """
    try:
        with io.TextIOWrapper(open_packed(path), encoding=encoding) as file:
            if sample_by == "line":
                yield from file if keep_linebreaks else (line.rstrip("\n") for line in file)
            elif sample_by == "paragraph":
                yield from filter(None, file.read().split("\n\n"))
            elif sample_by == "document":
                yield file.read()
            else:
                raise LookupError(f"sample_by: {sample_by} is not line, paragraph or document")  # noqa: TRY301
    except UnicodeDecodeError as error:
        raise BadInput(
            Problem(
                what=f"is not {encoding.removesuffix('-sig')}: {error}",
                where=str(path),
                fix="save it as UTF-8",
            )
        ) from None
    except BROKEN as error:
        raise damaged(path, error) from None
    except LookupError as error:
        raise BadInput(Problem(what=str(error), where=str(path), fix="correct the card")) from None
