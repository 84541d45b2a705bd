"""Scores without samples as a side of their own: logs of others that a pack can read, or a `scores.json` of ours."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from evalprep.packapi import ExportRun
from evalprep.packs.log import Log
from evalprep.packs.pack import Pack
from evalprep.results import Run, open_run
from evalprep.results.foreign import own_scores
from evalprep.score.export import export_as
from evalprep.score.suite import Scores, SuiteScore, score_run

NOTE = "holds scores without samples: rows cannot be paired, and nothing is tested"
_SUFFIXES = ("_with_metadata", "_results")


def open_side(path: Path | str, packs: Callable[[], Mapping[str, Pack]], *, timestamp: str) -> Run | Scores:
    """A run, of lm-eval or of a log with rows, or the scores of a log without rows; packs are read for logs alone.

    Raises:
        BadInput: neither.
    """
    run = open_run(path, _on_demand(packs), timestamp=timestamp)
    if run.log is None or run.tasks:
        return run
    found = open_scores(Path(path), packs())
    return run if found is None else found


def _on_demand(packs: Callable[[], Mapping[str, Pack]]) -> Iterator[Pack]:
    yield from packs().values()


def open_scores(path: Path, packs: Mapping[str, Pack]) -> Scores | None:
    """The scores that a file or folder holds; None where no pack can read it and it is no `scores.json`.

    Raises:
        BadInput: a file that a pack knows by its name and that is damaged.
    """
    if not path.exists():
        return None
    suite: list[SuiteScore] = []
    for pack in packs.values():
        module = pack.module("references")
        found = module.load(path) if module is not None else None
        suite += _suite(pack, found.results if isinstance(found, Log) else found or {})
    if not suite and (kept := own_scores(path)) is not None:
        own = kept["results"]
        for pack in packs.values():
            suite += _suite(pack, {name: result for name, result in own.items() if name.startswith(f"{pack.name}/")})
    if not suite:
        return None
    name = path.resolve().name.removesuffix(".json")
    for suffix in _SUFFIXES:
        name = name.removesuffix(suffix)
    return Scores(name, name, [], [], suite, notes=[f"{name} {NOTE}"])


def _suite(pack: Pack, results: Mapping[str, Mapping[str, Any]]) -> list[SuiteScore]:
    made = []
    for name, result in results.items():
        spec = pack.suite_scores.get(name.removeprefix(f"{pack.name}/"))
        if spec is None:
            continue
        value = result.get("agg_value")
        known = float(value) if isinstance(value, (int, float)) and math.isfinite(value) else None
        low, high = result.get("interval") or (None, None)
        made.append(
            SuiteScore(
                name=name.removeprefix(f"{pack.name}/"), pack=pack.name, title=spec.title, better=spec.better,
                range=spec.range, value=known, stderr=result.get("stderr"), low=low, high=high, n=result.get("n"),
                reason="" if known is not None else str(result.get("reason") or "the file has no value"),
                tags=spec.tags, result={**result, "agg_value": known}, made_of=spec.made_of,
                rule=str(result.get("scored_by", spec.rule)),
            )
        )  # fmt: skip
    return made


def all_scores(sides: Sequence[Run | Scores], packs: Mapping[str, Pack]) -> list[Scores]:
    """The scores of every side."""
    return [score_run(one, packs) if isinstance(one, Run) else one for one in sides]


def export_scores(scores: Scores, packs: Iterable[Pack], place: Path, out_dir: Path) -> list[Path]:
    """Let packs write their result files about scores without samples; see `evalprep.score.export`."""
    folder = (place if place.is_dir() else place.parent).resolve()
    return export_as(scores, ExportRun(scores.run, scores.model, folder, {}, None, {}), packs, out_dir)
