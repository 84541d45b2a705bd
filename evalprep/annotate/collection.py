"""The questions to be asked about a run."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Any

from evalprep.annotate.answers import Question, Who
from evalprep.annotate.attachment import stamp_for
from evalprep.annotate.finding import annotators_for, pack_annotators
from evalprep.annotate.kept import Kept
from evalprep.annotate.keys import canonical
from evalprep.annotate.promptfile import PromptFile
from evalprep.annotate.providers.wire import NO_SCHEMA
from evalprep.errors import BadInput, Problem
from evalprep.packs import Annotator, Item, Pack, Rubric, RubricJudge, find_task
from evalprep.results import Run, TaskRun, packs_elsewhere, row_mappings
from evalprep.samples import pair_rows


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
        return list(chain.from_iterable(self.of_task.values()))

    @property
    def has_schema(self) -> bool:
        """Returns whether replies are held to a JSON schema."""
        return any(self.who.schema(annotator) is not None for annotator in self.annotators.values())

    @property
    def json_schema(self) -> str:
        """`sent`, `none`, or why none is sent although the rubrics have one."""
        return self.plain or ("sent" if self.has_schema else "none")

    def make_anew(self, kept: Kept) -> None:
        """Makes the questions anew from what is known by now.

        Those that follow others have their texts then.
        """
        for task, questions in self.of_task.items():
            renewed: list[Question] = []
            for annotator in {
                id(question.annotator): question.annotator for question in questions
            }.values():
                own = [question.item for question in questions if question.annotator is annotator]
                renewed += kept.known(annotator, own, self.who)
            self.of_task[task] = renewed

    def drop_schema(self, kept: Kept, why: str) -> None:
        """Asks for replies in no form; answers to that have keys of their own."""
        self.who = self.who.without_schema()
        self.plain = why
        self.make_anew(kept)

    def inputs(self) -> dict[str, str]:
        """The inputs that decided the questions: name -> digest or text.

        A batch is known again by them.
        """
        keys = sorted(question.key or "" for question in self.every)
        inputs = {
            "questions": hashlib.sha256("\n".join(keys).encode()).hexdigest(),
            "model": self.who.model,
        }
        for annotator in self.annotators.values():
            inputs[f"sampling of {annotator.name}"] = str(
                sorted(self.who.sampling(annotator).items())
            )
            inputs[f"version of {annotator.name}"] = annotator.version
        return inputs


def chosen_tasks(run: Run, packs: Mapping[str, Pack], names: Iterable[str] | None) -> list[str]:
    """Tasks of the run by name, group or alias; all by default.

    Raises:
        BadInput: an unknown name.
    """
    task_names = []
    for name in names or ():
        pack_and_name = None if name in run.tasks else find_task(packs, name)
        task_names.append(name if pack_and_name is None else pack_and_name[1])
    return list(run.select(task_names))


def paid_annotators(packs: Iterable[Pack]) -> dict[str, Annotator]:
    """Returns name -> annotator of those in packs whose answers are paid for."""
    paid: dict[str, Annotator] = {}
    for pack in packs:
        annotators = pack_annotators(pack)
        paid |= {name: annotator for name, annotator in annotators.items() if annotator.paid}
    return paid


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
    question_set = Asked(who, other=other)
    paid = paid_annotators(packs.values())
    for task in tasks:
        for annotator in _annotators_of(run, task, rubric, paid):
            own = run.tasks[task]
            rows = row_mappings(own)
            if isinstance(annotator, Rubric) and annotator.is_pair:
                items = pair_items(annotator, own, rows, other)
            else:
                items = iter(annotator.items({task: rows}, {task: own.metadata}))
            questions = kept.known(annotator, _first(items, limit), who)
            _refuse_equal(questions, run, task)
            if questions:
                question_set.of_task.setdefault(task, []).extend(questions)
                question_set.annotators[annotator.name] = annotator
    if not question_set.of_task:
        task_lists = (annotator.tasks for annotator in paid.values())
        askable = sorted(set(chain.from_iterable(task_lists)))
        raise BadInput(
            Problem(
                what=f"no rubric applies to {', '.join(tasks) or 'a run without tasks'}",
                where=str(run.files.folder),
                allowed=", ".join(askable) or "tasks of a pack with annotators.py",
                fix=packs_elsewhere(run, packs)
                or "or name a rubric for any task: --rubric correctness",
            )
        )
    return question_set


def _refuse_equal(questions: Sequence[Question], run: Run, task: str) -> None:
    """Refuses questions that are the same for every row: their answers would say nothing of rows.

    Raises:
        BadInput: there are several rows, and one text is asked about all of them.
    """
    asked = [question.item for question in questions if question.item.fixed is None]
    rows = {item.samples for item in asked}
    texts = {canonical([dict(message) for message in item.messages]) for item in asked}
    if len(rows) < 2:
        return
    annotator = questions[0].annotator
    rubric = annotator.rubric if isinstance(annotator, RubricJudge) else annotator
    steps = len(rubric.steps) if isinstance(rubric, Rubric) else 1
    if len(texts) > steps:
        return
    what = f"the judge would be asked the same of all {len(rows)} rows of {task}"
    fix = "correct what fills the prompt"
    if isinstance(annotator, Rubric):
        what += f": {_fields_of(annotator)} are the same in all of them"
        fix = "correct the places under fields of the rubric"
    columns = _columns(run, task)
    allowed = f"prompt, target, response, {columns}" if columns else ""
    raise BadInput(Problem(what=what, where=annotator.name, allowed=allowed, fix=fix))


def _fields_of(rubric: Rubric) -> str:
    """The fields of a rubric with their places."""
    return ", ".join(f"{name}: {place}" if place else name for name, place in rubric.fields.items())


def _columns(run: Run, task: str) -> str:
    """The columns of a task's rows, as a rubric names them."""
    for row in row_mappings(run.tasks[task]):
        doc = row.get("doc")
        return ", ".join(f"doc.{name}" for name in doc) if isinstance(doc, Mapping) else ""
    return ""


def _annotators_of(
    run: Run, task: str, rubric: Rubric | PromptFile | None, paid: Mapping[str, Annotator]
) -> list[Annotator]:
    """Those that are asked about a task: the user's rubric, or those of the packs."""
    if rubric is None:
        return annotators_for(paid, run.tasks[task])
    return [rubric] if not rubric.tasks or task in rubric.tasks else []


def _any_answered(question_set: Asked) -> bool:
    return any(question.answered for question in question_set.every if not question.item.step)


def go_on_plainly(question_set: Asked, kept: Kept) -> None:
    """Drops the JSON schema for a judge that does not take it.

    The ledger says that this judge answers without it, or declined it.

    Once it has answered a question with the schema, that stays: one table holds answers to one way
    of asking.
    """
    if not question_set.has_schema or _any_answered(question_set):
        return
    declined: list[str] = []
    for question in question_set.every:
        reasons = [attempt.reason for attempt in question.attempts]
        declined += [reason for reason in reasons if reason.startswith(NO_SCHEMA)]
    plain = replace(question_set, of_task=dict(question_set.of_task))
    plain.drop_schema(kept, declined[0] if declined else "it has answered without one")
    if declined or _any_answered(plain):
        question_set.who = plain.who
        question_set.plain = plain.plain
        question_set.of_task = plain.of_task


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
    rubric: Rubric, task: TaskRun, rows: Sequence[Mapping[str, Any]], other: Run | None
) -> Iterable[Item]:
    """The questions of a rubric of pairs about the samples of a task that both runs have.

    Args:
        rubric: The rubric.
        task: The task of the run.
        rows: Its samples.
        other: The run that the answers are compared with.
    """
    if other is None or task.name not in other.tasks:
        return iter(())
    against = other.tasks[task.name]
    paired = pair_rows(task.table(), against.table(), tools=(task.tool, against.tool))
    of_other = row_mappings(against)
    opposite = {
        str(rows[left]["sample_id"]): of_other[right]
        for left, right in zip(paired.left.tolist(), paired.right.tolist(), strict=True)
    }
    return rubric.pairs({task.name: rows}, {task.name: opposite}, stamp_for(other, task.name))
