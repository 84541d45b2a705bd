"""The numbers of the document as the page shows them.

They are a tree of texts with the document's own keys and places, by the forms that the types of
`content` name.

The page rounds nothing. A number whose place has a text here is shown by it; one that has none is
shown as absent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from types import NoneType
from typing import Annotated, Any, NotRequired, get_args, get_origin, get_type_hints, is_typeddict

from evalprep.compare import OF_VERDICTS, Difference, unit_of
from evalprep.numbers import count, number, percent, probability
from evalprep.report.content import ComparisonPart, ConclusionPart, Form, Parts
from evalprep.samples import SHARE

_NOTHING = re.compile(r"[+-]?[0.]*")
_ALIKE: Mapping[Form, Callable[[Any], str]] = {
    Form.COUNT: count,
    Form.NUMBER: number,
    Form.PERCENT: percent,
    Form.PROBABILITY: probability,
    Form.LEVEL: lambda value: f"{value:.0%}".replace("%", " %"),
}
Forms = Mapping[Form, Callable[[Any], str]]


def typeset(text: str) -> str:
    r"""A number's text as print has it: a minus that is one, and no sign before nothing.

    >>> typeset("-0.5").encode("unicode_escape"), typeset("-0.0"), typeset("+1.2")
    (b'\\u22120.5', '0.0', '+1.2')
    """
    if _NOTHING.fullmatch(text):
        return text.lstrip("+-")
    return f"\N{MINUS SIGN}{text[1:]}" if text.startswith("-") else text


def shown_of(document: Parts) -> dict[str, Any]:
    """Texts of the numbers of a document, at the places of the numbers."""
    return _shown_part(document, Parts, _ALIKE)


def _shown_part(part: Mapping[str, Any], kind: Any, forms: Forms) -> dict[str, Any]:
    """The texts of a part of the document; numbers that are not known are left out."""
    own = _forms_of(part, kind, forms)
    texts = {
        name: _shown(part.get(name), hint, own)
        for name, hint in _numbers_of(kind).items()
        if part.get(name) is not None or _holds_parts(hint)
    }
    return {name: text for name, text in texts.items() if text is not None}


def _shown(value: Any, hint: Any, forms: Forms) -> Any:
    """The texts of a value of some type."""
    arguments = get_args(hint)
    if is_typeddict(hint):
        return _shown_part(value, hint, forms) if value is not None else {}
    if get_origin(hint) is Annotated:
        return _text(value, forms[arguments[1]])
    below = _innermost(arguments[-1])
    if get_origin(hint) is list:
        return [_shown(item, below, forms) for item in value or ()]
    return {name: _shown(item, below, forms) for name, item in (value or {}).items()}


def _text(value: Any, form: Callable[[Any], str]) -> Any:
    """The text of a number, and of each number in a list or a mapping; None for other values."""
    if isinstance(value, list):
        return [_text(item, form) for item in value]
    if isinstance(value, Mapping):
        return {name: _text(item, form) for name, item in value.items()}
    if isinstance(value, int | float) and not isinstance(value, bool):
        return typeset(form(value))
    return None


def _forms_of(part: Mapping[str, Any], kind: Any, forms: Forms) -> Forms:
    """The forms of a part: its unit decides how its values are written, and those below it."""
    if kind is ComparisonPart:
        return {**forms, Form.BASELINE: percent} if part["before"] is None else forms
    if kind is ConclusionPart:
        item = Difference(
            low=part["low"], high=part["high"], unit=part["unit"], binary=bool(part.get("binary"))
        )
        unit = unit_of(item)
        is_of_verdicts = Form.BASELINE in forms and part["kind"] in OF_VERDICTS
        return {
            **forms,
            Form.SCORE: unit.score,
            Form.BASELINE: forms[Form.BASELINE] if is_of_verdicts else unit.score,
            Form.CHANGE: unit.change,
            Form.DETECTABLE: unit.detectable,
        }
    if "percent" in part:
        return {**forms, Form.VALUE: percent if part["percent"] else number}
    if "unit" in part:
        return {**forms, Form.VALUE: percent if part["unit"] == SHARE else number}
    return forms


@cache
def _numbers_of(kind: Any) -> Mapping[str, Any]:
    """The fields of a part that are numbers or hold some, with their types."""
    hints = get_type_hints(kind, include_extras=True).items()
    types = {name: _innermost(hint) for name, hint in hints}
    return {name: hint for name, hint in types.items() if _has_numbers(hint)}


def _innermost(hint: Any) -> Any:
    """A type without `NotRequired` and without None."""
    if get_origin(hint) is NotRequired:
        return _innermost(get_args(hint)[0])
    if NoneType in get_args(hint):
        return next(kind for kind in get_args(hint) if kind is not NoneType)
    return hint


def _has_numbers(hint: Any) -> bool:
    if get_origin(hint) in {list, dict}:
        return _has_numbers(_innermost(get_args(hint)[-1]))
    return get_origin(hint) is Annotated or (is_typeddict(hint) and bool(_numbers_of(hint)))


@cache
def _holds_parts(hint: Any) -> bool:
    """True of a part, and of parts in a list or a mapping: they have a place also when empty."""
    if get_origin(hint) in {list, dict}:
        return _holds_parts(_innermost(get_args(hint)[-1]))
    return is_typeddict(hint)
