"""Rows of Meta's `-evals` data sets.

They are joined with their ground truth where the data set itself lacks it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import NoneType
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
    last_part,
    near,
)

from .datasets import Dataset, dataset_of, families
from .rows import OPTIONAL, REQUIRED, Row, choice_row, common, likelihood_rows, published, with_ids
from .truth import (
    GROUND_TRUTH,
    gold_of,
    instructions_of,
    question_of,
    spellings,
    truth_kind,
    truth_of,
)

SPLIT = "latest"


def plan(context: Context) -> Plan:
    """The tasks that this data set has; refuses the others by name."""
    dataset = dataset_of(context)
    family, offered = dataset.family, dataset.offered()
    groups = {
        name: [task for task in members if task in offered]
        for name, members in family["groups"].items()
    }
    # The tasks and groups that are asked for, with the recipe's names translated. The recipe
    # calls MMLU `meta_mmlu` for instruct and for pretrained models; the pack takes it for the
    # task of pretrained models.
    requested = []
    spelled = "meta_mmlu" in context.config.core.tasks
    for name in context.requested:
        is_of_instruct = (
            spelled and name == "meta_mmlu_pretrain" and "meta_mmlu_instruct" in dataset.offered()
        )
        requested.append("meta_mmlu_instruct" if is_of_instruct else name)
        if is_of_instruct:
            note = (
                f"meta_mmlu means meta_mmlu_instruct here: {dataset.name} is of an instruct model"
            )
            context.cache.setdefault("notes", []).append(note)
    _check_requested(context, requested, dataset, groups)
    planned = context.plan_of(requested, groups)
    prompt = "rendered" if family["kind"] == "instruct" else "plain"
    planned.tasks = {
        # The published prompts hold no begin-of-text token, and the published replies had one.
        name: replace(
            task, prompt=prompt, call=replace(task.call, model_args={"add_bos_token": True})
        )
        for name, task in planned.tasks.items()
    }
    _check_entries(context)
    # A reply may not be as long as the whole context: the prompt would be cut away.
    limit = context.config.core.max_model_len
    for task in planned.tasks:
        longest = longest_reply(context, task, family)
        if longest is not None and longest >= limit:
            context.problems.add(
                f"max_model_len is {limit}, and {task} may generate {longest} tokens",
                where=context.where("max_model_len"),
                allowed=f"max_model_len > {longest}",
                fix="raise max_model_len within the context of the model, or lower "
                "meta.max_gen_toks for the task",
            )
    return planned


def _check_requested(
    context: Context, requested: list[str], dataset: Dataset, groups: dict[str, list[str]]
) -> None:
    """Each task and group that is asked for must be one of the data set's.

    Args:
        context: The preparation; gets the problems.
        requested: The names.
        dataset: The data set.
        groups: Group -> those of its tasks that the data set has.
    """
    filled = [name for name, members in groups.items() if members]
    allowed = ", ".join([*filled, *dataset.offered()]) or "nothing"
    family, offered = dataset.family, dataset.offered()
    for name in requested:
        if name in context.pack.groups:
            is_fitting = bool(groups.get(name))
            kind = "an instruct" if family["kind"] == "instruct" else "a pretrained"
            what = f"{name} does not fit {dataset.name}, which is {kind} model's data set"
            fix = near(name, groups)
        elif name in context.pack.tasks:
            is_fitting = name in offered
            what = f"{name} is not a task of {family['name']} data sets such as {dataset.name}"
            fix = near(name, offered)
            if name in family["tasks"]:
                what = f"{dataset.name} has no config {dataset.config_of(name)}, which {name} needs"
                fix = "choose another task or data set"
        else:
            continue
        if not is_fitting:
            context.problems.add(what, where=context.where("tasks"), allowed=allowed, fix=fix)


def _check_entries(context: Context) -> None:
    """Each entry must be of a known ground truth or task, and of a fitting value."""
    # Setting -> the names of its entries, what fits as a value, and that in words. Null leaves a
    # value to the pack; the long form of a ground truth is checked where it is opened.
    settings: dict[str, tuple[tuple[str, ...], tuple[type, ...], str]] = {
        "ground_truth": (
            tuple(GROUND_TRUTH),
            (str, dict, NoneType),
            "a hub id, a path, or {path: owner/name, split: test, ...}",
        ),
        "revision": (
            ("evals", *GROUND_TRUTH),
            (str, NoneType),
            "text; a commit of digits alone needs quotes",
        ),
        "max_gen_toks": (tuple(families()["longest_reply"]), (int,), "a whole number >= 1"),
    }
    for key, (known, types, allowed) in settings.items():
        entries = getattr(context.section, key)
        for name, value in entries.items() if isinstance(entries, dict) else ():
            where = context.where(key, name)
            if name not in known:
                what = f"unknown key {name!r} in {key}"
                fix = near(str(name), known)
                context.problems.add(what, where=where, allowed=", ".join(known), fix=fix)
            is_fitting = isinstance(value, types) and not isinstance(value, bool)
            if not is_fitting or (isinstance(value, int) and value < 1):
                what = f"{key}.{name} is {value!r}"
                context.problems.add(what, where=where, allowed=allowed)


def longest_reply(context: Context, task: str, family: dict[str, Any]) -> int | None:
    """Reply limit of a task in tokens: the config's, else the family's, else the recipe's."""
    for table in (
        context.section.max_gen_toks,
        family.get("max_gen_toks", {}),
        families()["longest_reply"],
    ):
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
        notes=_notes(context, dataset) if context.is_first("notes") else [],
        max_unmatched=context.section.max_unmatched,
    )


def _open(context: Context, dataset: Dataset, task: str) -> Source:
    """The published rows of one task.

    A local copy that lost its card is searched for the newest file of that name.
    """
    folder = Path(dataset.location)
    if folder.is_dir() and not (folder / "README.md").is_file():
        files = sorted(folder.rglob(f"Details_{dataset.family['tasks'][task]}_[0-9]*"))
        return context.open(dataset.source.changed(path=str(files[-1]), split=None))
    return context.open(
        dataset.source,
        config=dataset.config_of(task),
        split=SPLIT,
        where=f"{dataset.name} ({task})",
    )


def _notes(context: Context, dataset: Dataset) -> list[str]:
    """The notes on the whole run: replaced templates, translated names, another model."""
    named = context.config.source.data.get("template_dir")
    with_packs = {folder.name for folder in context.config.core.template_dir}
    notes = []
    for name in named if isinstance(named, list) else [named]:
        folder = Path(str(name)).name
        if folder in context.pack.replaces and folder not in with_packs:
            notes.append(
                f"template_dir {name} is the recipe's own: the pack meta stands for it, and no "
                "file in it is read"
            )
    notes += context.cache.get("notes", [])
    model = last_part(context.config.core.model_name)
    published = dataset.name.removesuffix("-evals")
    if model.lower() != published.lower():
        summary = f"the model {model} is compared with published verdicts of {published}"
        notes.append(f"{summary}: flips then tell the models apart, not two runs")
    return notes


def ifeval_rows(
    rows: Iterator[Row], truth: GroundTruth, report: JoinReport | None
) -> Iterator[Row]:
    """IFEval rows with the instructions that check them."""
    assert report is not None
    for row, match in join(
        rows, truth, texts=lambda row: spellings(question_of(row)), report=report
    ):
        names, kwargs = instructions_of(match)
        yield {
            **common(row),
            "target": "",
            "key": int(float(match["key"])),
            "instruction_id_list": names,
            "kwargs": kwargs,
        }


def math_rows(rows: Iterator[Row], truth: GroundTruth, report: JoinReport) -> Iterator[Row]:
    """MATH rows with their reference solution; the gold answer is the solution's box.

    The data set's own `input_correct_responses` are an internal form, rounded in places, and no
    gold answer.
    """
    for row, match in join(rows, truth, texts=lambda row: [row["input_question"]], report=report):
        yield {
            **common(row),
            "target": gold_of(match["solution"]),
            "solution": match["solution"],
            "level": match.get("level"),
            "type": match.get("type"),
        }
