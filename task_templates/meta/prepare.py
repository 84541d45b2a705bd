"""Rows of Meta's `-evals` data sets.

They are joined with their ground truth where the data set itself lacks it.
"""

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
    _check_names(context)
    _check_reply_lengths(context)
    _check_places(context)
    _check_lengths(context, planned, family)
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
    for name in requested:
        if name in context.pack.groups:
            what, fix = _group_mistake(dataset, groups, name)
        elif name in context.pack.tasks:
            what, fix = _task_mistake(dataset, name)
        else:
            continue
        if what:
            context.problems.add(what, where=context.where("tasks"), allowed=allowed, fix=fix)


def _group_mistake(dataset: Dataset, groups: dict[str, list[str]], name: str) -> tuple[str, str]:
    """Returns why a group does not fit the data set, and what to do; empty where it fits."""
    if groups.get(name):
        return "", ""
    kind = "an instruct" if dataset.family["kind"] == "instruct" else "a pretrained"
    what = f"{name} does not fit {dataset.name}, which is {kind} model's data set"
    return what, near(name, groups)


def _task_mistake(dataset: Dataset, name: str) -> tuple[str, str]:
    """Returns why a task does not fit the data set, and what to do; empty where it fits."""
    family, offered = dataset.family, dataset.offered()
    if name not in family["tasks"]:
        what = f"{name} is not a task of {family['name']} data sets such as {dataset.name}"
        return what, near(name, offered)
    if name not in offered:
        what = f"{dataset.name} has no config {dataset.config_of(name)}, which {name} needs"
        return what, "choose another task or data set"
    return "", ""


def _entries_of(context: Context, key: str) -> dict[Any, Any]:
    """The entries of a setting; none where it is not a mapping."""
    setting = getattr(context.section, key)
    return setting if isinstance(setting, dict) else {}


def _check_names(context: Context) -> None:
    """Each entry must be of a known ground truth or task."""
    known_names: dict[str, tuple[str, ...]] = {
        "ground_truth": tuple(GROUND_TRUTH),
        "revision": ("evals", *GROUND_TRUTH),
        "max_gen_toks": tuple(families()["longest_reply"]),
    }
    for key, known in known_names.items():
        for name in _entries_of(context, key):
            if name not in known:
                context.problems.add(
                    f"unknown key {name!r} in {key}",
                    where=context.where(key, name),
                    allowed=", ".join(known),
                    fix=near(str(name), known),
                )


def _check_reply_lengths(context: Context) -> None:
    """Each reply limit must be a number of tokens."""
    for name, value in context.section.max_gen_toks.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            context.problems.add(
                f"max_gen_toks of {name} is {value!r}",
                where=context.where("max_gen_toks", name),
                allowed="a whole number >= 1",
            )


def _check_places(context: Context) -> None:
    """Each ground truth must be a place, each revision a text; null leaves it to the pack."""
    texts = {
        "ground_truth": "a hub id, a path, or {path: owner/name, split: test, ...}",
        "revision": "text; a commit of digits alone needs quotes",
    }
    for key, allowed in texts.items():
        # The long form of a ground truth is checked where it is opened.
        fitting = (str, dict) if key == "ground_truth" else (str,)
        for name, value in _entries_of(context, key).items():
            if value is not None and not isinstance(value, fitting):
                context.problems.add(
                    f"{key}.{name} is {value!r}", where=context.where(key, name), allowed=allowed
                )


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
                fix="raise max_model_len within the context of the model, or lower "
                "meta.max_gen_toks for the task",
            )


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
        notes=_notes(context, dataset),
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
    """The notes on the whole run, once: translated names, a model that is not the published one."""
    if not context.is_first("notes"):
        return []
    notes = [*_replaced_templates(context), *context.cache.get("notes", [])]
    model = context.config.core.model_name.rstrip("/").rsplit("/", 1)[-1]
    published = dataset.name.removesuffix("-evals")
    if model.lower() != published.lower():
        summary = f"the model {model} is compared with published verdicts of {published}"
        notes.append(f"{summary}: flips then tell the models apart, not two runs")
    return notes


def _replaced_templates(context: Context) -> list[str]:
    """A note where the config names the templates of the recipe, which this pack replaces."""
    named = context.config.source.data.get("template_dir")
    with_packs = {folder.name for folder in context.config.core.template_dir}
    notes = []
    for name in named if isinstance(named, list) else [named]:
        folder = Path(str(name)).name
        if folder in context.pack.replaces and folder not in with_packs:
            notes.append(
                f"template_dir {name} is the recipe's own: the pack meta stands for it, "
                "and no file "
                "in it is read"
            )
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
