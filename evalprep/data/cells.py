"""Cells of flat files that hold several texts: CSV and TSV know no lists."""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from typing import Any

_LIST = re.compile(r"\s*\[.*\]\s*", re.DOTALL)


def looks_like_list(value: Any) -> bool:
    """Returns whether a cell is a text in the brackets of a list.

    >>> looks_like_list('["Rome", "Oslo"]'), looks_like_list("Rome [Italy]")
    (True, False)
    """
    return isinstance(value, str) and _LIST.fullmatch(value) is not None


def list_cell(value: Any) -> Any:
    """Returns the list that a cell holds as JSON or as a Python literal; anything else unchanged.

    JSON writes `["x", "y"]`, pandas `['x', 'y']`. A text in brackets that is neither stays a text:
    `looks_like_list` tells it, and whoever needs a list refuses it.

    >>> list_cell('["Rome", "Oslo"]'), list_cell("['Rome', 'Oslo']"), list_cell("Rome")
    (['Rome', 'Oslo'], ['Rome', 'Oslo'], 'Rome')
    >>> list_cell("['Rome' 'Oslo']")
    "['Rome' 'Oslo']"
    """
    if not looks_like_list(value):
        return value
    for read in (json.loads, ast.literal_eval):
        try:
            cell = read(value.strip())
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(cell, list) and not _is_joined(value, cell):
            return cell
    return value


def _is_joined(text: str, cell: list[Any]) -> bool:
    """Returns whether Python joined texts without a comma between them, as numpy writes arrays."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    try:
        texts = sum(token.type == tokenize.STRING for token in tokens)
    except (tokenize.TokenError, SyntaxError):
        return False
    return texts > sum(isinstance(each, str) for each in cell)
