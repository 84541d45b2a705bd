"""Suite scores of a pack, held against its tasks and functions before anything runs."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path

from evalprep.errors import BadInput, Problems, near
from evalprep.packs.pack import Pack
from evalprep.packs.plan import Plan
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
    for name, score in pack.suite_scores.items():
        where = f"{pack.folder / 'pack.yaml'} (suite_scores.{name})"
        for task in (*score.task, *score.tasks):
            if task not in known and task not in stock_names():
                problems.add(
                    f"{name} is over the unknown task {task!r}", where=where, allowed=", ".join(sorted(known)),
                    fix=near(task, known),
                )  # fmt: skip
        offered = _offered(score.function, pack.folder) if score.function else None
        if offered is not None and score.function.rpartition(".")[2] not in offered:
            problems.add(
                f"{name} names the unknown function {score.function!r}", where=where,
                allowed=f"{', '.join(BUILT_IN)}, a function of {pack.folder / 'score.py'}, or module.name",
                fix=near(score.function.rpartition(".")[2], offered),
            )  # fmt: skip
    try:
        order({name: tuple(one for one in score.needs if one in pack.suite_scores)
               for name, score in pack.suite_scores.items()}, pack.name)  # fmt: skip
        _ = pack.published
    except BadInput as error:
        problems.extend(error.problems)
    problems.raise_if_any()


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
