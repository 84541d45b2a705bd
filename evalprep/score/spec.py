"""Suite scores as a pack declares them, checked, each after the scores that it needs."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import Any

from evalprep.errors import BadInput, Problem, near
from evalprep.packs import Pack, ScoreSpec

BUILT_IN = ("micro", "macro", "mean")
ScoreFunction = Callable[..., Any]


def read_specs(pack: Pack, run_specs: Iterable[ScoreSpec] = ()) -> dict[str, ScoreSpec]:
    """A pack's `suite_scores`, parents first.

    Args:
        pack: The pack.
        run_specs: Scores that the configuration of a run made; those of other packs are left out.

    Raises:
        BadInput: scores that need each other.
    """
    specs = declared_specs(pack)
    specs |= {spec.name: spec for spec in run_specs if spec.pack == pack.name}
    return {
        name: specs[name]
        for name in order({name: (*spec.needs,) for name, spec in specs.items()}, pack.name)
    }


def declared_specs(pack: Pack) -> dict[str, ScoreSpec]:
    """A pack's `suite_scores`, as they are declared."""
    return {
        name: ScoreSpec(
            name=name,
            pack=pack.name,
            function=entry.function,
            tasks=tuple(dict.fromkeys((*entry.task, *entry.tasks))),
            needs=entry.needs,
            reference=entry.reference,
            finetuned=entry.finetuned,
            params=entry.params,
            title=entry.title or name,
            better=entry.better,
            range=entry.range,
            tags=entry.tags,
            made_of=entry.made_of or ("counts" if entry.counts else ""),
            counts=entry.counts,
            value=entry.value,
            of_stored=entry.of_stored,
            cluster=entry.cluster,
            rule=entry.rule,
            on_missing=entry.on_missing,
            unscored=entry.unscored,
            on_stated=entry.on_stated,
        )
        for name, entry in pack.suite_scores.items()
    }


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


def _refuse_foreign(name: str, stem: str, pack: Pack, where: str) -> None:
    """Imports nothing that only the record of a run names: whoever wrote it could name any module.

    Raises:
        BadInput: the function is none of the pack's pack.yaml, and no formula of ours.
    """
    declared: set[str] = set()
    for entry in pack.suite_scores.values():
        declared |= {entry.function, entry.counts, entry.value, entry.of_stored}
    if name not in declared and stem.partition(".")[0] != "custom_metrics":
        raise BadInput(
            Problem(
                what=f"the run's record asks for {name!r}, a module that is not imported for it",
                where=where,
                allowed=f"{', '.join(BUILT_IN)}, a function of {pack.folder}, "
                "or one of custom_metrics",
            )
        )


def _imported(stem: str, pack: Pack, where: str) -> ModuleType:
    try:
        return importlib.import_module(stem)
    except ImportError as error:
        raise BadInput(
            Problem(
                what=f"cannot import {stem!r}: {error}",
                where=where,
                allowed=f"{', '.join(BUILT_IN)}, a function of {pack.folder / 'score.py'}, "
                "or module.name",
            )
        ) from error


def resolve(spec: ScoreSpec, pack: Pack, key: str = "function") -> ScoreFunction:
    """The function that a score names.

    `<stem>.name` from `<stem>.py` of the pack, else from an importable module.

    Args:
        spec: The score.
        pack: Its pack.
        key: `function`, `counts`, `value` or `of_stored`.

    Raises:
        BadInput: there is no such function.
    """
    name: str = getattr(spec, key)
    stem, _, attribute = name.rpartition(".")
    where = f"{pack.folder / 'pack.yaml'} (suite_scores.{spec.name}.{key})"
    module = pack.module(stem) if stem and "." not in stem else None
    if module is None and stem:
        _refuse_foreign(name, stem, pack, where)
        module = _imported(stem, pack, where)
    function = getattr(module, attribute, None)
    if not callable(function):
        offered = list(BUILT_IN)
        if module:
            offered = [name for name in vars(module) if not name.startswith("_")]
        raise BadInput(
            Problem(
                what=f"no function {name!r}",
                where=where,
                fix=near(attribute, offered) or "check its name",
            )
        )
    return function  # type: ignore[no-any-return]
