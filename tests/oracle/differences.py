"""What differs between two pieces of plain data, as lines that a person reads."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterator
from typing import Any

_RELATIVE, _ABSOLUTE = 1e-6, 1e-12
_NUMBER = re.compile(r"(?<![\w.:-])-?\d+\.(?:\d{6,}(?:e-?\d+)?|\d+e-\d+)")
_NOTHING = object()


def differences(kept: Any, now: Any, place: str = "") -> Iterator[str]:
    """Yields `place: kept -> now` for each value that differs beyond the last digits of numbers."""
    if isinstance(kept, dict) and isinstance(now, dict):
        for key in sorted(kept.keys() | now.keys()):
            own = f"{place}.{key}" if place else key
            yield from differences(kept.get(key, _NOTHING), now.get(key, _NOTHING), own)
    elif isinstance(kept, list) and isinstance(now, list):
        yield from _of_lists(kept, now, place)
    elif not _is_same(kept, now):
        yield f"{place}: {' -> '.join(_both_shown(kept, now))}"


def _of_lists(kept: list[Any], now: list[Any], place: str) -> Iterator[str]:
    """Members are compared by their names where they have some, otherwise by their places."""
    names = [_names(kept), _names(now)]
    if all(names) and names[0] != names[1]:
        of_kept, of_now = (
            dict(zip(own, side, strict=True)) for own, side in zip(names, (kept, now), strict=True)
        )
        yield from differences(of_kept, of_now, place)
        if of_kept.keys() == of_now.keys():
            yield f"{place}: another order: {_shown(names[0])} -> {_shown(names[1])}"
        return
    if len(kept) != len(now) and all(isinstance(item, str) for item in (*kept, *now)):
        yield from _of_lines(kept, now, place)
        return
    for at in range(max(len(kept), len(now))):
        sides = [side[at] if at < len(side) else _NOTHING for side in (kept, now)]
        yield from differences(*sides, f"{place}[{at}]")


def _of_lines(kept: list[str], now: list[str], place: str) -> Iterator[str]:
    """Lines that went and came, whatever their numbers."""
    matcher = difflib.SequenceMatcher(None, kept, now, autojunk=False)
    for kind, first, last, start, end in matcher.get_opcodes():
        if kind != "equal":
            sides = [_shown(kept[first:last] or _NOTHING), _shown(now[start:end] or _NOTHING)]
            yield f"{place}[{first}:{last}]: {' -> '.join(sides)}"


def _names(items: list[Any]) -> list[str]:
    """A name for each member, or nothing where one has none or two share it."""
    names = []
    for item in items:
        if not isinstance(item, dict):
            return []
        known = [
            str(item[key]) for key in ("task", "name", "id", "label", "sample_id") if key in item
        ]
        names.append("/".join(known[:2]))
    return names if len({*names, ""}) == len(names) + 1 else []


def _is_same(kept: Any, now: Any) -> bool:
    numbers = (int, float)
    is_number = [isinstance(side, numbers) and not isinstance(side, bool) for side in (kept, now)]
    if all(is_number):
        return math.isclose(kept, now, rel_tol=_RELATIVE, abs_tol=_ABSOLUTE)
    if isinstance(kept, str) and isinstance(now, str) and kept != now:
        return _are_same_texts(kept, now)
    return type(kept) is type(now) and bool(kept == now)


def _are_same_texts(kept: str, now: str) -> bool:
    """Whether two texts differ in nothing but the last of many digits of their numbers."""
    if _NUMBER.sub("#", kept) != _NUMBER.sub("#", now):
        return False
    pairs = zip(_NUMBER.findall(kept), _NUMBER.findall(now), strict=True)
    return all(_is_same(float(one), float(other)) for one, other in pairs)


def _both_shown(kept: Any, now: Any) -> list[str]:
    """Both values; of long texts from shortly before the first place where they differ."""
    if not (isinstance(kept, str) and isinstance(now, str) and len(kept) + len(now) > 160):
        return [_shown(kept), _shown(now)]
    pairs = enumerate(zip(kept, now, strict=False))
    first = next((at for at, (one, other) in pairs if one != other), min(len(kept), len(now)))
    start = max(0, first - 40)
    head = "... " if start else ""
    return [_shown(f"{head}{side[start:]}") for side in (kept, now)]


def _shown(value: Any) -> str:
    if value is _NOTHING:
        return "(absent)"
    text = repr(value)
    return text if len(text) <= 400 else f"{text[:300]} ... {text[-60:]}"
