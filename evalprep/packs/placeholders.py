r"""Names of fields in the texts that users write: `{column}`.

A name of a field between single braces is a placeholder. Braces of JSON, of LaTeX (`\boxed{x}`,
`x^{2}`) and of Jinja (`{{ x }}`, `{% if x %}`) are text to these functions.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from evalprep.errors import near

#: One brace on each side, and nothing of `${x}`, `{{ x }}` and `{% x %}`.
_PLACE = re.compile(r"(?<![{$])\{(?![{%#])([^{}\n]{1,200})\}(?!\})")
#: The end of a text after which braces are LaTeX's.
_LATEX = re.compile(r"(?:\\[A-Za-z]+(?:\{[^{}]*\})*|[\^_])\Z")
_OF_JSON = frozenset("\"',:[]")  # signs that names of columns seldom have
_JINJA = re.compile(r"\{\{|\{%")


def places_in(text: str) -> Iterator[re.Match[str]]:
    """Yields what stands between single braces, those of LaTeX left out; the name is group 1."""
    for place in _PLACE.finditer(text):
        before = text[max(place.start() - 200, 0) : place.start()]
        if not _LATEX.search(before):
            yield place


def unknown_names(text: str, known: Collection[str], *, strict: bool) -> list[str]:
    """Names between single braces that are names of no field.

    Args:
        text: The text.
        known: Names of fields.
        strict: Every name that looks like one of a field; else those that are nearly a known one.

    >>> unknown_names('Rate {repy} as {"rating": 1}.', ["reply"], strict=False)
    ['repy']
    """
    names = [place[1] for place in places_in(text)]
    unknown = dict.fromkeys(name for name in names if name not in known and name.isidentifier())
    return [name for name in unknown if strict or near(name, known)]


def named_in(text: str) -> list[str]:
    """Returns what stands between single braces and may be the name of a column.

    >>> named_in('{Full name} as {"rating": 1}, {a, b} or {}')
    ['Full name']
    """
    names = [place[1] for place in places_in(text)]
    return [name for name in names if _OF_JSON.isdisjoint(name)]


def with_places(text: str, known: Collection[str], opening: str, closing: str) -> str:
    """A text with other marks around the names of fields that stand between single braces.

    >>> with_places("{question} in {json}", ["question"], "${", "}")
    '${question} in {json}'
    """
    # From the last place to the first, so that the positions of the others stay.
    for place in reversed(list(places_in(text))):
        if place[1] in known:
            marked = f"{opening}{place[1]}{closing}"
            text = f"{text[: place.start()]}{marked}{text[place.end() :]}"
    return text


def as_jinja(text: str, known: Collection[str]) -> tuple[str, dict[str, str]]:
    """A text with names between single braces as a Jinja text, and new names of columns in it.

    A column whose name is no name in Jinja gets another one.

    Args:
        text: The text.
        known: Names of fields.
    """
    renamed: dict[str, str] = {}
    for place in reversed(list(places_in(text))):
        column = place[1]
        if column not in known:
            continue
        name = column
        if not column.isidentifier():
            name = re.sub(r"\W+", "_", f"column {column}")
            renamed[name] = column
        expression = "{{" + name + "}}"
        text = f"{text[: place.start()]}{expression}{text[place.end() :]}"
    return text, renamed


def is_jinja(text: str) -> bool:
    """Returns whether a text has an expression or a statement of Jinja."""
    return _JINJA.search(text) is not None
