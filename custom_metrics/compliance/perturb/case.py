"""Letter case carried from one word to another."""

from __future__ import annotations


def match_case(*, source: str, target: str) -> str:
    """Gives a word the case of another: all lower, all upper, first upper, else as it is.

    "All" asks each character, so that an apostrophe or a blank makes a word neither lower nor upper
    (COMPL-AI v1).

    >>> match_case(source="Hello", target="world"), match_case(source="iPhone", target="fruit")
    ('World', 'fruit')
    """
    if all(letter.islower() for letter in source):
        return target.lower()
    if all(letter.isupper() for letter in source):
        return target.upper()
    return target.capitalize() if source[0].isupper() else target


METRICS = {"compliance.match_case": match_case}
