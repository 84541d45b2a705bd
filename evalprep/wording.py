"""Words that depend on a number."""

from __future__ import annotations


def counted(count: int, one: str, several: str = "") -> str:
    """A count with its noun.

    >>> counted(1, "row"), counted(0, "row"), counted(2, "id occurs", "ids occur")
    ('1 row', '0 rows', '2 ids occur')
    """
    return f"{count} {one if count == 1 else several or one + 's'}"
