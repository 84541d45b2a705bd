"""Suite scores of a pack, held against its tasks and functions before anything runs."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path

from evalprep.errors import BadInput, Problems, near
from evalprep.packs.entries import ScoreEntry
from evalprep.packs.pack import Pack
from evalprep.packs.plan import Plan, ScoreSpec
from evalprep.packs.stock import stock_names
from evalprep.score.spec import BUILT_IN, order


def check_scores(pack: Pack, plan: Plan) -> None:
    """Refuse scores that could never be computed.

    Raises:
        BadInput: scores that need each other, tasks that do not exist, functions that are nowhere defined, or published
            scores that cannot be read.
    """
    problems = Problems()
    known = {*pack.names(), *plan.tasks, *plan.groups, *plan.excluded}
    declared: list[tuple[str, tuple[str, ...], ScoreEntry | ScoreSpec, str]] = [
        (name, (*one.task, *one.tasks), one, f"{pack.folder / 'pack.yaml'} (suite_scores.{name})")
        for name, one in pack.suite_scores.items()
    ]
    declared += [(name, one.tasks, one, f"{pack.folder / 'prepare.py'} (plan)") for name, one in plan.scores.items()]
    scores = {name for name, *_ in declared}
    for name, tasks, score, where in declared:
        for task in tasks:
            if task not in known and task not in stock_names():
                problems.add(
                    f"{name} is over the unknown task {task!r}", where=where, allowed=", ".join(sorted(known)),
                    fix=near(task, known),
                )  # fmt: skip
        if name in plan.scores and (unknown := [one for one in score.needs if one not in scores and "/" not in one]):
            problems.add(f"{name} needs the unknown score {unknown[0]!r}", where=where, fix=near(unknown[0], scores))
        offered = _offered(score.function, pack.folder) if score.function else None
        if isinstance(score, ScoreSpec) and offered is None and not _reachable(score.function, pack):
            offered = set()
        if offered is not None and score.function.rpartition(".")[2] not in offered:
            problems.add(
                f"{name} names the unknown function {score.function!r}", where=where,
                allowed=f"{', '.join(BUILT_IN)}, a function of {pack.folder / 'score.py'}, or module.name",
                fix=near(score.function.rpartition(".")[2], offered),
            )  # fmt: skip
    try:
        order({name: tuple(one for one in score.needs if one in scores)
               for name, _, score, _ in declared}, pack.name)  # fmt: skip
        _ = pack.published
    except BadInput as error:
        problems.extend(error.problems)
    problems.raise_if_any()


def _reachable(function: str, pack: Pack) -> bool:
    """Whether a score of a record may name a function that is none of the pack's modules; see `score.spec.resolve`."""
    stem = function.rpartition(".")[0]
    own = "." not in stem and (pack.folder / f"{stem}.py").is_file()
    return (
        own
        or stem.partition(".")[0] == "custom_metrics"
        or function in {one.function for one in pack.suite_scores.values()}
    )


def _offered(function: str, folder: Path) -> set[str] | None:
    """The names that the module of a function has, by its source; None where only running it would tell."""
    stem = function.rpartition(".")[0]
    if not stem:
        return set(BUILT_IN)
    if "." in stem or not (folder / f"{stem}.py").is_file():
        return None if importlib.util.find_spec(stem.partition(".")[0]) is not None else set()
    try:
        body = ast.parse((folder / f"{stem}.py").read_text(encoding="utf-8-sig")).body
    except (SyntaxError, ValueError):
        return None  # told where it is imported
    names: set[str] = set()
    for node in body:
        for one in ast.walk(node) if not isinstance(node, ast.FunctionDef | ast.ClassDef) else [node]:
            if isinstance(one, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
                names.add(one.name)
            elif isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
                names.add(one.id)
            elif isinstance(one, ast.alias):
                names.add((one.asname or one.name).partition(".")[0])
    return None if "*" in names else names
