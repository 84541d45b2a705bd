"""Suite scores as a pack declares them, checked and put into an order in which each comes after what it needs."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from evalprep.errors import BadInput, Problem, Problems, near
from evalprep.packs.pack import Pack

KEYS = ("function", "task", "tasks", "needs", "reference", "params", "title", "better", "range", "tags", "note")
BUILT_IN = ("micro", "macro", "mean")
ScoreFunction = Callable[..., Any]


@dataclass(frozen=True)
class ScoreSpec:
    """One node of the graph; the fields are the keys of docs/architecture.md, "Suite scores"."""

    name: str
    pack: str
    function: str
    tasks: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    reference: tuple[str, ...] = ()
    params: Mapping[str, Any] = field(default_factory=dict)
    title: str = ""
    better: str = "up"
    range: tuple[float | None, float | None] = (None, None)
    tags: Mapping[str, Any] = field(default_factory=dict)


def read_specs(pack: Pack) -> dict[str, ScoreSpec]:
    """Check a pack's `suite_scores` and return them parents first.

    Raises:
        BadInput: every mistake: a missing function, a misspelt key, an unknown parent, a cycle.
    """
    problems = Problems()
    specs: dict[str, ScoreSpec] = {}
    declared = pack.suite_scores
    for name, entry in declared.items():
        where = f"{pack.folder / 'pack.yaml'} (suite_scores.{name})"
        if not isinstance(entry, Mapping) or not isinstance(entry.get("function"), str):
            problems.add("a suite score needs a function", where=where, allowed=f"{', '.join(BUILT_IN)} or module.name")
            continue
        for key in entry:
            # Packs may add keys of their own; one that looks like ours is a slip of the pen.
            if key not in KEYS and difflib.get_close_matches(str(key), KEYS, cutoff=0.75):
                problems.add(f"unknown key {key!r}", where=where, allowed=", ".join(KEYS), fix=near(str(key), KEYS))
        specs[name] = ScoreSpec(
            name=name,
            pack=pack.name,
            function=entry["function"],
            tasks=tuple(dict.fromkeys(_names(entry.get("task")) + _names(entry.get("tasks")))),
            needs=_names(entry.get("needs")),
            reference=_names(entry.get("reference")),
            params=entry.get("params") or {},
            title=str(entry.get("title", name)),
            better=str(entry.get("better", "up")),
            range=_bounds(entry.get("range")),
            tags=entry.get("tags") or {},
        )
        for kind in ("needs", "reference"):
            for parent in getattr(specs[name], kind):
                if parent not in declared:
                    problems.add(
                        f"unknown score {parent!r} in `{kind}`",
                        where=where,
                        allowed=", ".join(declared),
                        fix=near(parent, declared),
                    )
    problems.raise_if_any()
    return {name: specs[name] for name in order({name: (*spec.needs,) for name, spec in specs.items()}, pack.name)}


def _names(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    return tuple(str(one) for one in value) if isinstance(value, (list, tuple)) else (str(value),)


def _bounds(value: Any) -> tuple[float | None, float | None]:
    if isinstance(value, (list, tuple)) and len(value) == 2:
        low, high = (float(one) if isinstance(one, (int, float)) else None for one in value)
        return low, high
    return None, None


def order(needs: Mapping[str, tuple[str, ...]], owner: str = "") -> list[str]:
    """Names parents first, otherwise in the order given.

    Args:
        needs: Name -> the names that it needs; all of them keys.
        owner: The pack, for the message.

    Raises:
        BadInput: a cycle, written out.

    >>> order({"a": ("b",), "b": (), "c": ("a", "b")})
    ['b', 'a', 'c']
    """
    done: dict[str, None] = {}
    for start in needs:
        path: list[str] = []
        waiting: list[tuple[str, bool]] = [(start, False)]
        while waiting:
            name, leaving = waiting.pop()
            if leaving:
                path.pop()
                done[name] = None
            elif name in path:
                cycle = " -> ".join([*path[path.index(name) :], name])
                raise BadInput(
                    Problem(
                        what=f"suite scores need each other: {cycle}",
                        where=f"pack {owner}" if owner else "",
                        fix="remove one of the `needs`",
                    )
                )
            elif name not in done:
                path.append(name)
                waiting.append((name, True))
                waiting += [(parent, False) for parent in reversed(needs[name])]
    return list(done)


def resolve(spec: ScoreSpec, pack: Pack) -> ScoreFunction:
    """The function that a score names: `<stem>.name` from `<stem>.py` of the pack, else from an importable module.

    Raises:
        BadInput: there is no such function.
    """
    stem, _, attribute = spec.function.rpartition(".")
    where = f"{pack.folder / 'pack.yaml'} (suite_scores.{spec.name}.function)"
    module = pack.module(stem) if stem and "." not in stem else None
    if module is None and stem:
        try:
            module = importlib.import_module(stem)
        except ImportError as error:
            raise BadInput(
                Problem(
                    what=f"cannot import {stem!r}: {error}",
                    where=where,
                    allowed=f"{', '.join(BUILT_IN)}, a function of {pack.folder / 'score.py'}, or module.name",
                )
            ) from error
    function = getattr(module, attribute, None)
    if not callable(function):
        offered = [name for name in vars(module) if not name.startswith("_")] if module else list(BUILT_IN)
        raise BadInput(
            Problem(
                what=f"no function {spec.function!r}", where=where, fix=near(attribute, offered) or "check its name"
            )
        )
    return function  # type: ignore[no-any-return]
