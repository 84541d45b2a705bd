"""What is to be asked about a run."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from evalprep.annotate.answers import Question, Who
from evalprep.annotate.attach import stamp_for
from evalprep.annotate.finding import annotators_for, pack_annotators
from evalprep.annotate.kept import Kept
from evalprep.annotate.promptfile import PromptFile
from evalprep.annotate.providers.wire import NO_SCHEMA
from evalprep.errors import BadInput, Problem
from evalprep.packs.annotator import Annotator, Item
from evalprep.packs.finding import find_task
from evalprep.packs.pack import Pack
from evalprep.packs.rubric import Rubric
from evalprep.results import Run
from evalprep.results.record import packs_elsewhere
from evalprep.results.rows import row_mappings


@dataclass
class Asked:
    """The questions of one call.

    Attributes:
        of_task: Task -> its questions, in the order of asking.
        who: Who is asked.
        annotators: Those whose questions they are, by name.
        other: The run that the answers are compared with, for a rubric of pairs.
        plain: Why no JSON schema is sent although the rubrics have one; empty where one is.
    """

    who: Who
    of_task: dict[str, list[Question]] = field(default_factory=dict)
    annotators: dict[str, Annotator] = field(default_factory=dict)
    other: Run | None = None
    plain: str = ""

    @property
    def every(self) -> list[Question]:
        """All questions."""
        return [one for several in self.of_task.values() for one in several]

    @property
    def has_schema(self) -> bool:
        """Whether replies are held to a JSON schema."""
        return any(self.who.schema(one) is not None for one in self.annotators.values())

    def make_anew(self, kept: Kept) -> None:
        """Make the questions anew from what is known by now; those that follow others have their texts then."""
        for task, questions in self.of_task.items():
            made: list[Question] = []
            for annotator in {id(one.annotator): one.annotator for one in questions}.values():
                own = [one.item for one in questions if one.annotator is annotator]
                made += kept.known(annotator, own, self.who)
            self.of_task[task] = made

    def drop_schema(self, kept: Kept, why: str) -> None:
        """Ask for replies in no form; answers to that have keys of their own."""
        self.who, self.plain = self.who.without_schema(), why
        self.make_anew(kept)

    def inputs(self) -> dict[str, str]:
        """What decided the questions: name -> digest or text, by which a batch is known again."""
        keys = sorted(one.key or "" for one in self.every)
        found = {"questions": _digest("\n".join(keys)), "model": self.who.model}
        for annotator in self.annotators.values():
            found[f"sampling of {annotator.name}"] = str(sorted(self.who.sampling(annotator).items()))
            found[f"version of {annotator.name}"] = annotator.version
        return found


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def chosen_tasks(run: Run, packs: Mapping[str, Pack], names: Iterable[str] | None) -> list[str]:
    """Tasks of the run by name, group or alias; all by default.

    Raises:
        BadInput: an unknown name.
    """
    wanted = list(names or ())
    aliases = {name: found[1] for name in wanted if name not in run.tasks and (found := find_task(packs, name))}
    return list(run.select([aliases.get(name, name) for name in wanted]))


def collect(
    run: Run,
    packs: Mapping[str, Pack],
    who: Who,
    kept: Kept,
    *,
    tasks: Sequence[str],
    limit: int | None = None,
    rubric: Rubric | PromptFile | None = None,
    other: Run | None = None,
) -> Asked:
    """Every question of paid annotators about some tasks of a run, with what is known of each.

    Args:
        run: The run.
        packs: All packs.
        who: Who is asked.
        kept: What is known.
        tasks: Tasks of the run.
        limit: First so many questions of each task.
        rubric: Asked in place of the packs' own annotators.
        other: The run that the answers are compared with, for a rubric of pairs.

    Raises:
        BadInput: no task is one that a judge is asked about.
    """
    asked = Asked(who, other=other)
    known = {name: one for pack in packs.values() for name, one in pack_annotators(pack).items() if one.paid}
    for task in tasks:
        metadata = run.tasks[task].metadata
        wanted: list[Annotator] = [rubric] if rubric is not None else annotators_for(known, run.tasks[task])
        if rubric is not None and rubric.tasks and task not in rubric.tasks:
            continue
        for annotator in wanted:
            rows = {task: row_mappings(run.tasks[task])}
            if isinstance(annotator, Rubric) and annotator.is_pair:
                items = pair_items(annotator, rows, other, task)
            else:
                items = iter(annotator.items(rows, {task: metadata}))
            questions = kept.known(annotator, _first(items, limit), who)
            if questions:
                asked.of_task.setdefault(task, []).extend(questions)
                asked.annotators[annotator.name] = annotator
    if not asked.of_task:
        askable = sorted({task for one in known.values() for task in one.tasks})
        raise BadInput(
            Problem(
                what=f"a judge is asked about none of {', '.join(tasks) or 'no tasks'}",
                where=str(run.files.folder),
                allowed=", ".join(askable) or "tasks of a pack with annotators.py",
                fix=packs_elsewhere(run, packs) or "or name a rubric for any task: --rubric correctness",
            )
        )
    return asked


def go_on_plainly(asked: Asked, kept: Kept) -> None:
    """Drop the JSON schema where the ledger says that this judge answers without it, or declined it.

    Once it has answered a question with the schema, that stays: one table holds answers to one way of asking.
    """
    if not asked.has_schema or any(one.answered for one in asked.every if not one.item.step):
        return
    declined = [row.reason for one in asked.every for row in one.attempts if row.reason.startswith(NO_SCHEMA)]
    plain = replace(asked, of_task=dict(asked.of_task))
    plain.drop_schema(kept, declined[0] if declined else "it has answered without one")
    if declined or any(one.answered for one in plain.every if not one.item.step):
        asked.who, asked.plain, asked.of_task = plain.who, plain.plain, plain.of_task


def _first(items: Iterable[Item], limit: int | None) -> Iterable[Item]:
    """The items of the first so many samples; a sample's votes and steps stay together."""
    if limit is None:
        return items
    seen: dict[tuple[Any, ...], None] = {}
    first = []
    for item in items:
        seen.setdefault(item.samples, None)
        if len(seen) > limit:
            break
        first.append(item)
    return islice(first, None)


def pair_items(
    rubric: Rubric, rows: Mapping[str, Sequence[Mapping[str, Any]]], other: Run | None, task: str
) -> Iterable[Item]:
    """The questions of a rubric of pairs about the samples of a task that both runs have."""
    if other is None or task not in other.tasks:
        return iter(())
    opposite = {str(row["sample_id"]): row for row in row_mappings(other.tasks[task])}
    return rubric.pairs(rows, {task: opposite}, stamp_for(other, task))
