"""What a judge is asked about a run, and what becomes of a question."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from types import ModuleType
from typing import Any, Protocol

from evalprep.errors import BadInput, Problem
from evalprep.packs.finding import find_task
from evalprep.packs.pack import Pack
from evalprep.results import Run

#: What an answer can be; only `ok` has ratings. `missing` is no answer at all and is never kept.
STATUSES = ("ok", "incomplete", "parse_error", "invalid_score", "refused", "truncated", "missing")
#: Status, in the rows of scores, of a question that has not been put to the judge.
NOT_ASKED = "not asked"

Ratings = Mapping[str, float]


class Question(Protocol):
    """One question of a pack's `judge.py`."""

    @property
    def task(self) -> str:
        """The task."""

    @property
    def sample_id(self) -> str:
        """The sample."""

    @property
    def index(self) -> int:
        """Its position in the split."""

    @property
    def prompt(self) -> str:
        """The message to the judge."""

    @property
    def fixed(self) -> Ratings | None:
        """Ratings that need no judge, None where one is asked."""

    def key(self, judge: str) -> str:
        """Under what the ratings by this judge are kept; changes with the prompt, and so with the prediction."""

    def read(self, reply: str) -> tuple[str, Ratings | None]:
        """Status and, where it is `ok`, ratings of a reply; never raises."""


@dataclass(frozen=True)
class Judgement:
    """What became of a question.

    Args:
        status: One of `STATUSES`.
        ratings: Rating name -> number; None unless the status is `ok`.
        reply: The judge's text.
        reason: Why there is no answer, or the text of a refusal.
        attempts: Requests made; 0 for a rating that needed none.
    """

    status: str
    ratings: Ratings | None = None
    reply: str | None = None
    reason: str = ""
    attempts: int = 0


@dataclass(frozen=True)
class Judge:
    """Who is asked, and with which request parameters on top of a pack's own (null takes one of these away)."""

    model: str
    gen_kwargs: Mapping[str, Any] = field(default_factory=dict)

    def sampling(self, module: ModuleType) -> dict[str, Any]:
        """Request parameters for the questions of a pack."""
        merged = {**getattr(module, "SAMPLING", {}), **self.gen_kwargs}
        return {name: value for name, value in merged.items() if value is not None}

    def name(self, sampling: Mapping[str, Any]) -> str:
        """What tells ratings of different judges apart: the model and how it was sampled."""
        return json.dumps([self.model, sampling], sort_keys=True)


@dataclass(frozen=True)
class Asked:
    """A question with the parameters of its request and the key of its ratings."""

    question: Question
    sampling: Mapping[str, Any]
    key: str


def ask_about(judge: Judge, module: ModuleType, run: Run, task: str, rows: Sequence[Mapping[str, Any]]) -> list[Asked]:
    """A pack's questions about one task of a run, ready to be asked or looked up.

    Raises:
        BadInput: the pack cannot make them.
    """
    sampling = judge.sampling(module)
    name = judge.name(sampling)
    made: Iterator[Question] = module.questions(rows={task: rows}, metadata={task: run.tasks[task].metadata})
    return [Asked(question, sampling, question.key(name)) for question in made]


def collect(
    run: Run, packs: Mapping[str, Pack], judge: Judge, *, tasks: Iterable[str] | None = None, limit: int | None = None
) -> dict[str, list[Asked]]:
    """Every question about a run, by task.

    Args:
        run: The run.
        packs: All packs.
        judge: Who is asked.
        tasks: Tasks, groups or aliases; all tasks of the run by default.
        limit: First so many questions of each task.

    Raises:
        BadInput: an unknown task, or no task of the run is one that a judge is asked about.
    """
    from evalprep.results.rows import row_mappings

    names = list(tasks or ())
    aliases = {name: found[1] for name in names if name not in run.tasks and (found := find_task(packs, name))}
    chosen = run.select([aliases.get(name, name) for name in names])
    modules = [module for pack in packs.values() if (module := pack_judge(pack)) is not None]
    askable = {task: module for module in modules for task in module.TASKS}
    found_tasks = {name: task for name, task in chosen.items() if name in askable}
    if not found_tasks:
        raise BadInput(
            Problem(
                what=f"a judge is asked about none of {', '.join(chosen) or 'no tasks'}",
                where=str(run.files.folder),
                allowed=", ".join(askable) or "tasks of a pack with judge.py",
            )
        )
    return {
        name: list(islice(ask_about(judge, askable[name], run, name, row_mappings(task)), limit))
        for name, task in found_tasks.items()
    }


def pack_judge(pack: Pack) -> ModuleType | None:
    """`judge.py` of a pack, None without one.

    Raises:
        BadInput: it cannot be imported, or lacks `TASKS` or `questions`.
    """
    module = pack.module("judge")
    if module is not None and not (hasattr(module, "TASKS") and callable(getattr(module, "questions", None))):
        raise BadInput(
            Problem(
                what="does not follow the protocol of a pack's judge",
                where=str(pack.folder / "judge.py"),
                allowed="TASKS and questions(rows=..., metadata=...), see docs/architecture.md",
            )
        )
    return module
