"""Rows of Meta's `-evals` data sets, joined with their ground truth where the data set itself lacks it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from evalprep.packapi import (
    BadInput,
    Context,
    GroundTruth,
    JoinReport,
    Plan,
    Previous,
    Problem,
    Repeats,
    Source,
    TaskData,
    config_names,
    join,
    make_plan,
    near,
)

Row = dict[str, Any]
HERE = Path(__file__).parent
SPLIT = "latest"
REQUIRED = ("input_question", "input_final_prompts", "input_correct_responses", "is_correct")
OPTIONAL = (
    "subtask_name",
    "input_choice_list",
    "input_question_hash",
    "input_final_prompts_hash",
    "output_prediction_text",
    "output_parsed_answer",
)
GROUND_TRUTH = {
    "ifeval": ("wis-k/instruction-following-eval", "train"),
    "math": ("DigitalLearningGmbH/MATH-lighteval", "test"),
}
# Two prompts of the published set whose "true" an earlier tool turned into Python's "True"; data that went through
# that tool still join.
MANGLED = (
    ("Is it True that the first song", "Is it true that the first song"),
    ("Is the following True", "Is the following true"),
)


@dataclass(frozen=True)
class Dataset:
    """The evals data set of this run: where it is and what it offers."""

    location: str
    name: str
    family: dict[str, Any]
    configs: tuple[str, ...]

    def config_of(self, task: str) -> str:
        """Config name of a task."""
        return f"{self.name}__{self.family['tasks'][task]}__details"

    def offered(self) -> list[str]:
        """Tasks whose config exists."""
        return [task for task in self.family["tasks"] if self.config_of(task) in self.configs]


@cache
def families() -> dict[str, Any]:
    """The table of families."""
    with (HERE / "families.yaml").open(encoding="utf-8") as handle:
        return yaml.load(handle, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - a safe loader


def known_names() -> list[str]:
    """Published data sets, for messages."""
    names = []
    for family in families()["families"]:
        pattern = family["pattern"].replace("\\", "")
        sizes = re.search(r"\(([^)]*)\)", pattern)
        if not family.get("local_only") and family["name"] != "demo":
            names += (
                [f"meta-llama/{pattern.replace(sizes[0], size)}" for size in sizes[1].split("|")]
                if sizes
                else [f"meta-llama/{pattern}"]
            )
    return names


def dataset_of(context: Context) -> Dataset:
    """Find the evals data set and its family.

    Raises:
        BadInput: the name is none of the published ones and no local folder, or the data cannot be reached.
    """
    if "dataset" in context.cache:
        return context.cache["dataset"]
    location = context.section.evals_dataset.rstrip("/")
    where = f"{context.config.path} (evals_dataset)"
    name = location.rsplit("/", 1)[-1]
    found = context.locate(location)
    local = Path(found).is_dir()
    family = next(
        (
            entry
            for entry in families()["families"]
            if re.fullmatch(entry["pattern"], name)
            and (local or not (entry.get("local_only") or entry["name"] == "demo"))
        ),
        None,
    )
    if family is None or not (local or location.startswith("meta-llama/")):
        what = f"there is no folder {context.folder / location}, and {location!r} is not a known evals data set"
        raise BadInput(
            Problem(
                what=what,
                where=where,
                fix=near(location, known_names()) or "give the path of a local copy",
                allowed=f"a local folder whose name ends in -evals, or {', '.join(known_names())}",
            )
        )
    configs = config_names(found, folder=context.folder, revision=revision_of(context, "evals")) or _configs_from_files(
        found, name
    )
    dataset = Dataset(found, name, family, tuple(configs))
    context.cache["dataset"] = dataset
    return dataset


def _configs_from_files(location: str, name: str) -> list[str]:
    """Config names of a copy that lost its card, from the names of its files."""
    files = (re.match(r"Details_(.+?)_\d{4}-\d\d-\d\d", path.name) for path in Path(location).rglob("Details_*"))
    return sorted({f"{name}__{match[1]}__details" for match in files if match})


def revision_of(context: Context, which: str) -> str | None:
    """Pinned revision of one of the data sets."""
    given = context.section.revision
    return (given if which == "evals" else None) if isinstance(given, str) else given.get(which)


def plan(context: Context) -> Plan:
    """The tasks that this data set has; refuses the others by name."""
    dataset = dataset_of(context)
    family, offered = dataset.family, dataset.offered()
    groups = {name: [task for task in members if task in offered] for name, members in family["groups"].items()}
    where = f"{context.config.path} (tasks)"
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
    planned = make_plan(context.requested, groups)
    _check_keys(context, planned)
    _check_lengths(context, planned, family)
    return planned


def _check_keys(context: Context, planned: Plan) -> None:
    """Keys of the mappings `ground_truth`, `revision` and `max_gen_toks`."""
    section, where = context.section, str(context.config.path)
    for key, known in (
        ("ground_truth", tuple(GROUND_TRUTH)),
        ("revision", ("evals", *GROUND_TRUTH)),
        ("max_gen_toks", tuple(families()["longest_reply"])),
    ):
        given = getattr(section, key)
        for name in given if isinstance(given, dict) else ():
            if name not in known:
                context.problems.add(
                    f"unknown key {name!r} in {key}", where=where, allowed=", ".join(known), fix=near(str(name), known)
                )
    for name, value in section.max_gen_toks.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            context.problems.add(f"max_gen_toks of {name} is {value!r}", where=where, allowed="a whole number >= 1")
    for task in planned.tasks:
        kind = truth_kind(task)
        location = section.ground_truth.get(kind) if kind else None
        if location is not None and not isinstance(location, str):
            context.problems.add(f"ground_truth.{kind} is {location!r}", where=where, allowed="a hub id or a path")


def _check_lengths(context: Context, planned: Plan, family: dict[str, Any]) -> None:
    """A reply may not be as long as the whole context: the prompt would be cut away."""
    limit = context.config.core.max_model_len
    for task in planned.tasks:
        longest = longest_reply(context, task, family)
        if longest is not None and longest >= limit:
            context.problems.add(
                f"max_model_len is {limit}, and {task} may generate {longest} tokens",
                where=str(context.config.path),
                allowed=f"max_model_len > {longest}",
                fix="raise max_model_len, or lower meta.max_gen_toks for the task",
            )


def longest_reply(context: Context, task: str, family: dict[str, Any]) -> int | None:
    """Reply limit of a task in tokens: the config's, else the family's, else the recipe's."""
    for table in (context.section.max_gen_toks, family.get("max_gen_toks", {}), families()["longest_reply"]):
        if isinstance(table.get(task), int):
            return int(table[task])
    return None


def truth_kind(task: str) -> str | None:
    """Which ground truth a task needs."""
    return "ifeval" if task == "meta_ifeval" else "math" if task.startswith("meta_math") else None


def prepare(context: Context, task: str) -> TaskData:
    """Rows of one task."""
    dataset = dataset_of(context)
    source = _open(context, dataset, task)
    source.require(REQUIRED)
    columns = [*REQUIRED, *(name for name in OPTIONAL if name in source.columns)]
    previous = Previous()
    rows = _published(source.rows(columns), previous)
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
        rows=_with_ids(build), values=values, join=report, previous=previous, notes=_notes(context, dataset)
    )


def _open(context: Context, dataset: Dataset, task: str) -> Source:
    """The published rows of one task; in a local copy that lost its card, the newest file of that name."""
    folder = Path(dataset.location)
    if folder.is_dir() and not (folder / "README.md").is_file():
        files = sorted(folder.rglob(f"Details_{dataset.family['tasks'][task]}_[0-9]*"))
        return context.open(str(files[-1]))
    return context.open(
        dataset.location,
        config=dataset.config_of(task),
        split=SPLIT,
        revision=revision_of(context, "evals"),
        where=f"{dataset.name} ({task})",
    )


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


def _published(rows: Iterator[Row], previous: Previous) -> Iterator[Row]:
    """Pass rows on, counting the published verdicts."""
    for row in rows:
        previous.add(row["is_correct"], row.get("subtask_name"))
        yield row


def common(row: Row) -> Row:
    """The columns that every task has."""
    prompts = row["input_final_prompts"]
    if not prompts or not isinstance(prompts[0], str):
        raise BadInput(Problem(what="has no prompt", where=f"row {name_of(row)}", fix="fetch the data set again"))
    output = row.get("output_prediction_text")
    question_hash = row.get("input_question_hash") or sha256(row["input_question"])
    hashes = row.get("input_final_prompts_hash") or [sha256(prompt) for prompt in prompts]
    return {
        "sample_id": f"{question_hash[:16]}-{hashes[0][:16]}",
        "prompt": prompts[0],
        "subtask_name": row.get("subtask_name"),
        "cluster_id": question_hash,
        "previously_is_correct": row["is_correct"],
        "previous_output_prediction_text": output[0] if isinstance(output, list) and output else output or None,
        "previous_parsed_answer": row.get("output_parsed_answer"),
        "input_question": row["input_question"],
        "input_correct_responses": row["input_correct_responses"],
        "input_question_hash": question_hash,
        "input_final_prompts_hash": hashes,
    }


def sha256(text: str) -> str:
    """SHA-256 of UTF-8 text, as the data sets' own hash columns."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def name_of(row: Row) -> str:
    """How messages call a row."""
    return str(row.get("input_question_hash") or sha256(str(row.get("input_question"))))[:16]


def choice_row(row: Row) -> Row:
    """A row whose gold answer is the published correct response: choice letters and BBH."""
    gold = row["input_correct_responses"]
    if not gold:
        raise BadInput(
            Problem(what="has no correct response", where=f"row {name_of(row)}", fix="fetch the data set again")
        )
    return {**common(row), "target": gold[0], "input_choice_list": row.get("input_choice_list")}


def likelihood_rows(rows: Iterator[Row]) -> Iterator[Row]:
    """MMLU for pretrained models: one prompt per choice, each ending in its letter; the shapes are checked."""
    for row in rows:
        prompts, gold = row["input_final_prompts"], row["input_correct_responses"]
        letters = [prompt[-1:] for prompt in prompts]
        stem = prompts[0][:-2]
        whole = all(prompt == f"{stem} {letter}" for prompt, letter in zip(prompts, letters, strict=True))
        if len(prompts) < 2 or not whole or not gold or gold[0][-1:] not in letters:
            raise BadInput(
                Problem(
                    what="is not one prompt per choice with a gold answer among them",
                    where=f"row {name_of(row)}",
                    allowed='prompts that differ only in their last letter, gold like "Answer: B"',
                )
            )
        yield {
            **common(row),
            "prompt": stem,
            "choices": letters,
            "target": letters.index(gold[0][-1]),
            "input_choice_list": row.get("input_choice_list"),
        }


def question_of(row: Row) -> str:
    """The user's text out of an IFEval row's serialised dialog.

    Raises:
        BadInput: not JSON, or no text at `dialog[0].body`; names the row.
    """
    try:
        body = json.loads(row["input_question"])["dialog"][0]["body"]
    except (ValueError, KeyError, IndexError, TypeError, RecursionError):
        body = None
    if not isinstance(body, str):
        raise BadInput(
            Problem(
                what=f"input_question holds no dialog: {str(row['input_question'])[:80]!r}",
                where=f"row {name_of(row)}",
                allowed='JSON with text at ["dialog"][0]["body"]',
                fix="fetch the data set again",
            )
        )
    return body


def _spellings(text: str) -> list[str]:
    mended = text
    for wrong, right in MANGLED:
        mended = mended.replace(wrong, right)
    return [text] if mended == text else [text, mended]


def drop_nulls(kwargs: list[Row | None] | None) -> list[Row]:
    """Keyword arguments without nulls (zeros and false stay): parquet fills absent keys of a struct with null."""
    return [{key: value for key, value in (entry or {}).items() if value is not None} for entry in kwargs or []]


def truth_of(context: Context, kind: str) -> GroundTruth:
    """Ground truth of one kind, read once per run."""
    key = f"truth_{kind}"
    if key not in context.cache:
        default, split = GROUND_TRUTH[kind]
        location = context.section.ground_truth.get(kind, default)
        source = context.open(
            location,
            split=split,
            revision=revision_of(context, kind),
            where=f"{context.config.path} (ground_truth.{kind})",
        )
        if kind == "ifeval":
            source.require(("key", "prompt", "instruction_id_list", "kwargs"))
            truth = GroundTruth(
                source.rows(), "prompt", same=lambda row: (row["instruction_id_list"], drop_nulls(row["kwargs"]))
            )
        else:
            source.require(("problem", "solution"))
            truth = GroundTruth(source.rows(), "problem", same=lambda row: gold_of(row["solution"]))
        context.cache[key] = truth
    return context.cache[key]


def ifeval_rows(rows: Iterator[Row], truth: GroundTruth, report: JoinReport | None) -> Iterator[Row]:
    """IFEval rows with the instructions that check them."""
    assert report is not None
    for row, found in join(rows, truth, texts=lambda row: _spellings(question_of(row)), report=report):
        yield {
            **common(row),
            "target": "",
            "key": int(found["key"]),
            "instruction_id_list": list(found["instruction_id_list"]),
            "kwargs": drop_nulls(found["kwargs"]),
        }


def gold_of(solution: str | None) -> str | None:
    """The box content of a reference solution."""
    from custom_metrics.math import extract_boxed

    return extract_boxed(solution or "")


def math_rows(rows: Iterator[Row], truth: GroundTruth, report: JoinReport) -> Iterator[Row]:
    """MATH rows with their reference solution; the gold answer is the solution's box.

    The data set's own `input_correct_responses` are an internal form, rounded in places, and no gold answer.
    """
    for row, found in join(rows, truth, texts=lambda row: [row["input_question"]], report=report):
        gold = gold_of(found["solution"])
        if gold is None:
            raise BadInput(
                Problem(
                    what="its reference solution has no box", where=f"row {name_of(row)}", fix="mend the ground truth"
                )
            )
        yield {
            **common(row),
            "target": gold,
            "solution": found["solution"],
            "level": found.get("level"),
            "type": found.get("type"),
        }


def _with_ids(rows: Iterator[Row]) -> Iterator[Row]:
    repeats = Repeats()
    for row in rows:
        row["sample_id"] = repeats.unique(row["sample_id"])
        yield row
