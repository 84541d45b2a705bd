"""Suite scores of a pack, held against its tasks and functions before anything runs."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from evalprep.check import names_of_module
from evalprep.errors import BadInput, Problems, near
from evalprep.files import read_text
from evalprep.packs import Pack, Plan, stock_names
from evalprep.score import BUILT_IN, declared_specs, order


def check_scores(pack: Pack, plan: Plan) -> None:
    """Refuses scores that could never be computed.

    Raises:
        BadInput: scores that need each other, tasks that do not exist, functions that are nowhere
            defined, or published scores that cannot be read.
    """
    problems = Problems()
    known = {*pack.names(), *plan.tasks, *plan.groups, *plan.excluded}
    scores = [(score, False) for score in declared_specs(pack).values()]
    scores += [(replace(spec, name=name), True) for name, spec in plan.scores.items()]
    names = {score.name for score, _ in scores}
    modules = _Modules(pack, {score.function for score, _ in scores})
    for score, is_planned in scores:
        where = f"{pack.folder / 'pack.yaml'} (suite_scores.{score.name})"
        if is_planned:
            where = f"{pack.folder / 'prepare.py'} (plan)"
        for task in score.tasks:
            if task not in known and task not in stock_names():
                problems.add(
                    f"{score.name} is over the unknown task {task!r}",
                    where=where,
                    allowed=", ".join(sorted(known)),
                    fix=near(task, known),
                )
        unknown = [name for name in score.needs if name not in names and "/" not in name]
        if is_planned and unknown:
            problems.add(
                f"{score.name} needs the unknown score {unknown[0]!r}",
                where=where,
                fix=near(unknown[0], names),
            )
        if not score.function and not is_planned:
            continue
        offered = modules.offered(score.function)
        if is_planned and offered is None and not modules.reaches(score.function):
            offered = frozenset()
        name = score.function.rpartition(".")[2]
        if offered is not None and name not in offered:
            problems.add(
                f"{score.name} names the unknown function {score.function!r}",
                where=where,
                allowed=f"{', '.join(BUILT_IN)}, a function of {pack.folder / 'score.py'}, or "
                "module.name",
                fix=near(name, offered),
            )
    needs = {
        score.name: tuple(name for name in score.needs if name in names) for score, _ in scores
    }
    try:
        order(needs, pack.name)
        _ = pack.published
    except BadInput as error:
        problems.extend(error.problems)
    problems.raise_if_any()


class _Modules:
    """The modules that functions of scores are named in; each is read once."""

    def __init__(self, pack: Pack, functions: Iterable[str]) -> None:
        self.pack = pack
        stems = {function.rpartition(".")[0] for function in functions if function}
        self._files = {stem: None if "." in stem else pack.file_of(stem) for stem in stems}
        self._offered = {stem: _offered(stem, file) for stem, file in self._files.items()}
        self._declared = {score.function for score in pack.suite_scores.values()}

    def offered(self, function: str) -> frozenset[str] | None:
        """The names that the module of a function has; None where only running it would tell."""
        return self._offered[function.rpartition(".")[0]] if function else None

    def reaches(self, function: str) -> bool:
        """Returns whether a score of a record may name a function that is none of the pack's.

        See `score.spec.resolve`.
        """
        stem = function.rpartition(".")[0]
        return (
            self._files.get(stem) is not None
            or stem.partition(".")[0] == "custom_metrics"
            or function in self._declared
        )


def _offered(stem: str, file: Path | None) -> frozenset[str] | None:
    """The names that a module has, by its source.

    None where only running it would tell.
    """
    if not stem:
        return frozenset(BUILT_IN)
    if file is None:
        is_importable = importlib.util.find_spec(stem.partition(".")[0]) is not None
        return None if is_importable else frozenset()
    try:
        tree = ast.parse(read_text(file, own=True, encoding="utf-8-sig"))
    except (SyntaxError, ValueError):
        return None  # told where it is imported
    return names_of_module(tree)
