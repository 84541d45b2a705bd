"""Suite scores of a pack, held against its tasks and functions before anything runs."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from evalprep.check import names_of_module
from evalprep.errors import BadInput, Problems, near
from evalprep.files import read_text
from evalprep.packs import Pack, Plan, stock_names
from evalprep.score import BUILT_IN, order


@dataclass(frozen=True)
class _Declared:
    """One score of a pack, as pack.yaml or its plan declares it.

    Attributes:
        name: Its name.
        tasks: The tasks that it is over.
        needs: Other scores.
        function: The function that computes it; empty where there is none.
        planned: The plan declares it.
        where: The file.
    """

    name: str
    tasks: tuple[str, ...]
    needs: tuple[str, ...]
    function: str
    planned: bool
    where: str


def check_scores(pack: Pack, plan: Plan) -> None:
    """Refuses scores that could never be computed.

    Raises:
        BadInput: scores that need each other, tasks that do not exist, functions that are nowhere
            defined, or published scores that cannot be read.
    """
    problems = Problems()
    known = {*pack.names(), *plan.tasks, *plan.groups, *plan.excluded}
    declared = _declared(pack, plan)
    names = {score.name for score in declared}
    modules = _Modules(pack, {score.function for score in declared})
    for score in declared:
        for task in score.tasks:
            if task not in known and task not in stock_names():
                problems.add(
                    f"{score.name} is over the unknown task {task!r}",
                    where=score.where,
                    allowed=", ".join(sorted(known)),
                    fix=near(task, known),
                )
        unknown = [name for name in score.needs if name not in names and "/" not in name]
        if score.planned and unknown:
            problems.add(
                f"{score.name} needs the unknown score {unknown[0]!r}",
                where=score.where,
                fix=near(unknown[0], names),
            )
        if not score.function and not score.planned:
            continue
        offered = modules.offered(score.function)
        if score.planned and offered is None and not modules.reaches(score.function):
            offered = frozenset()
        name = score.function.rpartition(".")[2]
        if offered is not None and name not in offered:
            problems.add(
                f"{score.name} names the unknown function {score.function!r}",
                where=score.where,
                allowed=f"{', '.join(BUILT_IN)}, a function of {pack.folder / 'score.py'}, or "
                "module.name",
                fix=near(name, offered),
            )
    needs = {score.name: tuple(name for name in score.needs if name in names) for score in declared}
    try:
        order(needs, pack.name)
        _ = pack.published
    except BadInput as error:
        problems.extend(error.problems)
    problems.raise_if_any()


def _declared(pack: Pack, plan: Plan) -> list[_Declared]:
    """The scores of pack.yaml, then those of the plan."""
    file, code = pack.folder / "pack.yaml", pack.folder / "prepare.py"
    of_pack = [
        _Declared(
            name,
            (*entry.task, *entry.tasks),
            entry.needs,
            entry.function,
            planned=False,
            where=f"{file} (suite_scores.{name})",
        )
        for name, entry in pack.suite_scores.items()
    ]
    of_plan = [
        _Declared(name, spec.tasks, spec.needs, spec.function, planned=True, where=f"{code} (plan)")
        for name, spec in plan.scores.items()
    ]
    return [*of_pack, *of_plan]


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
