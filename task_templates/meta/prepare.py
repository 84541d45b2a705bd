"""Rows of Meta's `-evals` data sets, joined with their ground truth where the data set itself lacks it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from evalprep.packapi import (
    Context,
    GroundTruth,
    JoinReport,
    Plan,
    Previous,
    Source,
    TaskData,
    join,
    near,
)

from .datasets import Dataset, dataset_of, families
from .rows import OPTIONAL, REQUIRED, Row, choice_row, common, likelihood_rows, published, with_ids
from .truth import GROUND_TRUTH, gold_of, instructions_of, question_of, spellings, truth_kind, truth_of

SPLIT = "latest"


def plan(context: Context) -> Plan:
    """The tasks that this data set has; refuses the others by name."""
    dataset = dataset_of(context)
    family, offered = dataset.family, dataset.offered()
    groups = {name: [task for task in members if task in offered] for name, members in family["groups"].items()}
    where = context.where("tasks")
    allowed = ", ".join([*(name for name, members in groups.items() if members), *offered]) or "nothing"
    for name in context.requested:
        if name in context.pack.groups and not groups.get(name):
            kind = "an instruct" if family["kind"] == "instruct" else "a pretrained"
            context.problems.add(
                f"{name} does not fit {dataset.name}, which is {kind} model's data set",
                where=where,
                allowed=allowed,
                fix=near(name, groups),
            )
        elif name in context.pack.tasks and name not in family["tasks"]:
            context.problems.add(
                f"{name} is no task of {family['name']} data sets such as {dataset.name}",
                where=where,
                allowed=allowed,
                fix=near(name, offered),
            )
        elif name in context.pack.tasks and name not in offered:
            context.problems.add(
                f"{dataset.name} has no config {dataset.config_of(name)}, which {name} needs",
                where=where,
                allowed=allowed,
                fix="choose another task or data set",
            )
    planned = context.plan_of(context.requested, groups)
    if family["kind"] == "instruct":
        planned.tasks = {name: replace(task, prompt="rendered") for name, task in planned.tasks.items()}
    _check_keys(context)
    _check_lengths(context, planned, family)
    return planned


def _check_keys(context: Context) -> None:
    """Keys of the mappings `ground_truth`, `revision` and `max_gen_toks`."""
    section = context.section
    for key, known in (
        ("ground_truth", tuple(GROUND_TRUTH)),
        ("revision", ("evals", *GROUND_TRUTH)),
        ("max_gen_toks", tuple(families()["longest_reply"])),
    ):
        given = getattr(section, key)
        for name in given if isinstance(given, dict) else ():
            if name not in known:
                context.problems.add(
                    f"unknown key {name!r} in {key}",
                    where=context.where(key, name),
                    allowed=", ".join(known),
                    fix=near(str(name), known),
                )
    for name, value in section.max_gen_toks.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            context.problems.add(
                f"max_gen_toks of {name} is {value!r}",
                where=context.where("max_gen_toks", name),
                allowed="a whole number >= 1",
            )
    texts = {
        "ground_truth": "a hub id, a path, or {path: owner/name, split: test, ...}",
        "revision": "text; a commit of digits alone needs quotes",
    }
    for key, allowed in texts.items():
        given = getattr(section, key)
        for name, value in given.items() if isinstance(given, dict) else ():
            long_form = key == "ground_truth" and isinstance(value, dict)  # checked where it is opened
            if value is not None and not isinstance(value, str) and not long_form:
                context.problems.add(f"{key}.{name} is {value!r}", where=context.where(key, name), allowed=allowed)


def _check_lengths(context: Context, planned: Plan, family: dict[str, Any]) -> None:
    """A reply may not be as long as the whole context: the prompt would be cut away."""
    limit = context.config.core.max_model_len
    for task in planned.tasks:
        longest = longest_reply(context, task, family)
        if longest is not None and longest >= limit:
            context.problems.add(
                f"max_model_len is {limit}, and {task} may generate {longest} tokens",
                where=context.where("max_model_len"),
                allowed=f"max_model_len > {longest}",
                fix="raise max_model_len, or lower meta.max_gen_toks for the task",
            )


def longest_reply(context: Context, task: str, family: dict[str, Any]) -> int | None:
    """Reply limit of a task in tokens: the config's, else the family's, else the recipe's."""
    for table in (context.section.max_gen_toks, family.get("max_gen_toks", {}), families()["longest_reply"]):
        if isinstance(table.get(task), int):
            return int(table[task])
    return None


def prepare(context: Context, task: str) -> TaskData:
    """Rows of one task."""
    dataset = dataset_of(context)
    source = _open(context, dataset, task)
    source.require(REQUIRED)
    columns = [*REQUIRED, *(name for name in OPTIONAL if name in source.columns)]
    previous = Previous()
    rows = published(source.rows(columns), previous)
    values: dict[str, Any] = {}
    longest = longest_reply(context, task, dataset.family)
    if task != "meta_mmlu_pretrain":
        values["max_gen_toks"] = longest
    report = JoinReport() if truth_kind(task) else None
    build: Iterator[Row]
    if task == "meta_ifeval":
        build = ifeval_rows(rows, truth_of(context, "ifeval"), report)
    elif report is not None:
        build = math_rows(rows, truth_of(context, "math"), report)
    elif task == "meta_mmlu_pretrain":
        build = likelihood_rows(rows)
    else:
        build = (choice_row(row) for row in rows)
    return TaskData(
        rows=with_ids(build),
        values=values,
        join=report,
        previous=previous,
        notes=_notes(context, dataset),
        max_unmatched=context.section.max_unmatched,
    )


def _open(context: Context, dataset: Dataset, task: str) -> Source:
    """The published rows of one task; in a local copy that lost its card, the newest file of that name."""
    folder = Path(dataset.location)
    if folder.is_dir() and not (folder / "README.md").is_file():
        files = sorted(folder.rglob(f"Details_{dataset.family['tasks'][task]}_[0-9]*"))
        return context.open(replace(dataset.source, path=str(files[-1]), split=None))
    return context.open(dataset.source, config=dataset.config_of(task), split=SPLIT, where=f"{dataset.name} ({task})")


def _notes(context: Context, dataset: Dataset) -> list[str]:
    """Said once: the model and the published data are not the same model."""
    if context.cache.get("noted"):
        return []
    context.cache["noted"] = True
    model = context.config.core.model_name.rstrip("/").rsplit("/", 1)[-1]
    published = dataset.name.removesuffix("-evals")
    if model.lower() == published.lower():
        return []
    told = f"the model {model} is compared with published verdicts of {published}"
    return [f"{told}: flips then tell the models apart, not two runs"]


def ifeval_rows(rows: Iterator[Row], truth: GroundTruth, report: JoinReport | None) -> Iterator[Row]:
    """IFEval rows with the instructions that check them."""
    assert report is not None
    for row, found in join(rows, truth, texts=lambda row: spellings(question_of(row)), report=report):
        names, kwargs = instructions_of(found)
        yield {
            **common(row),
            "target": "",
            "key": int(float(found["key"])),
            "instruction_id_list": names,
            "kwargs": kwargs,
        }


def math_rows(rows: Iterator[Row], truth: GroundTruth, report: JoinReport) -> Iterator[Row]:
    """MATH rows with their reference solution; the gold answer is the solution's box.

    The data set's own `input_correct_responses` are an internal form, rounded in places, and no gold answer.
    """
    for row, found in join(rows, truth, texts=lambda row: [row["input_question"]], report=report):
        yield {
            **common(row),
            "target": gold_of(found["solution"]),
            "solution": found["solution"],
            "level": found.get("level"),
            "type": found.get("type"),
        }
