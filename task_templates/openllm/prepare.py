"""The tasks of a run, their calls, and the rows made of published samples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from custom_metrics.openllm import (
    BENCHMARKS,
    LEAVES,
    Benchmark,
    benchmark_of_task,
    details_repository,
)
from evalprep.packapi import (
    BadInput,
    Call,
    Context,
    DataFolder,
    Plan,
    Problem,
    PublishedValue,
    TaskData,
    TaskPlan,
    open_folder,
    source_spec,
)

from . import archived
from .contents import SOURCE, PublishedRow, Wanted, choose_row, read_rows
from .samples import (
    PublishedSample,
    SampleFile,
    SampleIds,
    gpqa_question,
    is_gpqa,
    newest_samples,
    read_line,
)

# lm-eval's own seeds: the first one decides the order of GPQA's options.
_SEEDS = (0, 1234, 1234, 1234)
_DTYPES = ("bfloat16", "float16", "float32")
# Published precision -> how a run gets it.
_QUANTISED = {
    "4bit": "backend: hf with model_args: {load_in_4bit: true}",
    "8bit": "backend: hf with model_args: {load_in_8bit: true}",
}
_UNFILTERED_MATH = "0.4.8"
_WITHDRAWN_MATH = ("0.4.4", "0.4.5", "0.4.6", "0.4.7")
_MATH_FIX = "install lm-eval 0.4.9 or later, or set openllm.source: published"
_TEMPLATES = {"ifeval": "frozen_ifeval.yaml", "math": "frozen_math.yaml"}
_CHOICE_TEMPLATE = "frozen_choice.yaml"
_KEPT = "published samples"  # in the context, from the plan to the rows
_OWN_COLUMNS = frozenset(("prompt", "target", "sample_id"))


@dataclass(frozen=True)
class Frozen:
    """Published samples that rows are made of.

    Attributes:
        folder: Where the files lie.
        files: Leaf task -> its newest samples file.
    """

    folder: DataFolder
    files: Mapping[str, SampleFile]


def plan(context: Context) -> Plan:
    """Decides the tasks, their calls, and the published values that stand beside the scores."""
    if context.section.version == "v1":
        return archived.plan(context)
    section = context.section
    row = None
    if section.reference:
        where = context.where("contents")
        table = context.open(section.contents, split=None, where=where)
        query = Wanted(
            section.reference, section.precision, section.revision, section.chat_template
        )
        row = choose_row(read_rows(table.rows()), query, context.where("reference"))
    planned = context.static_plan()
    frozen = _frozen(context, planned, row)
    context.cache[_KEPT] = (frozen, row)
    for name, task in planned.tasks.items():
        if name in LEAVES:
            planned.tasks[name] = _planned(task, context, row, frozen)
    _refuse_other_math(context, planned)
    if row is not None:
        planned.published = {
            score: (PublishedValue(value, SOURCE, row.title),)
            for score, value in row.values.items()
        }
        _note_settings(context, row)
    _note_seeds(context, planned)
    return planned


def _frozen(context: Context, planned: Plan, row: PublishedRow | None) -> Frozen | None:
    """The published samples that rows are made of; None where lm-eval's own tasks run."""
    section = context.section
    if section.source == "harness" or (section.source == "auto" and not section.details):
        return None
    where = context.where("details" if section.details else "source")
    details = section.details
    if not details and row is not None:
        details = details_repository(row.model)
    if not details:
        context.problems.add(
            "source: published needs published samples",
            where=where,
            allowed="details: a folder or a hub id; or reference: org/model",
            fix="add openllm.reference",
        )
        return None
    spec = source_spec(details, where)
    folder = open_folder(
        context.locate(spec.path), revision=spec.revision, folder=context.folder, where=where
    )
    files = newest_samples(folder.names)
    absent = [name for name in planned.tasks if name in LEAVES and name not in files]
    if absent:
        context.problems.add(
            f"{len(absent)} of {len(planned.tasks)} tasks have no published samples there: "
            f"{', '.join(absent[:5])}",
            where=where,
            fix="leave these tasks out, or set openllm.source: harness",
        )
    commit = f" at commit {folder.commit[:12]}" if folder.commit else ""
    context.notes.append(
        f"openllm: rows are made of the published samples of {folder.location}{commit}"
    )
    if row is not None and row.chat_template:
        context.notes.append(
            "openllm: the reference was run with its chat template, so its prompts hold that "
            "model's markup; GPQA keeps the published order of options, and the other tasks are "
            "lm-eval's own"
        )
    return Frozen(folder, files)


def _planned(
    task: TaskPlan, context: Context, row: PublishedRow | None, frozen: Frozen | None
) -> TaskPlan:
    """A leaf task with the settings of the reference."""
    is_chat = row is not None and row.chat_template
    # Whether its rows are made of published samples.
    has_samples = frozen is not None and task.name in frozen.files
    is_frozen = has_samples and (is_gpqa(task.name) or not is_chat)
    # Nothing is drawn where all rows are frozen; else one command asks for all tasks.
    seed = None if is_frozen and not is_chat else _SEEDS
    call = Call(model_args=_model_args(context, row), seed=seed)
    prompt = "chat" if is_chat else "plain"
    task = replace(task, call=call, prompt=prompt, published_prompt=prompt if row else "")
    if not is_frozen:
        return task
    benchmark = _benchmark(task.name)
    template = _TEMPLATES.get(benchmark.name, _CHOICE_TEMPLATE)
    return replace(task, stock="", template=template)


def _benchmark(task: str) -> Benchmark:
    benchmark = benchmark_of_task(task)
    assert benchmark is not None, task
    return benchmark


def _model_args(context: Context, row: PublishedRow | None) -> dict[str, Any]:
    """Data type and revision of the reference, where the user sets none."""
    core = context.config.core
    if row is None or not context.backend.loads_model:
        return {}
    arguments: dict[str, Any] = {}
    if row.precision in _DTYPES and not core.states("dtype"):
        arguments["dtype"] = row.precision
    is_same = core.model_name.lower() == row.model.lower()
    if is_same and row.revision and not core.model_revision:
        arguments["revision"] = row.revision
    return arguments


def _note_settings(context: Context, row: PublishedRow) -> None:
    """Notes for each setting of the reference whether it is taken over."""
    context.notes.append(f"openllm: the reference is {row.title}")
    core, add = context.config.core, context.notes.append
    arguments = _model_args(context, row)
    dtype = core.model_args.get("dtype") or (core.dtype if core.states("dtype") else None)
    if "dtype" in arguments and not dtype:
        add(f"openllm: dtype {row.precision}, from the reference")
    elif dtype and dtype != row.precision:
        add(f"openllm: dtype {dtype} is yours; the reference has {row.precision}")
    elif row.precision not in _DTYPES:
        add(
            f"openllm: precision {row.precision} of the reference is not a dtype; "
            "evalprep does not set it: "
            f"{_QUANTISED.get(row.precision.lower(), 'name a checkpoint in that format')}"
        )
    revision = core.model_revision
    if "revision" in arguments:
        add(f"openllm: model revision {row.revision}, from the reference")
    elif revision and not row.revision.startswith(revision):
        published = row.revision or "none"
        add(f"openllm: model revision {revision} is yours; the reference has {published}")
    own, form = core.apply_chat_template, "with" if row.chat_template else "without"
    if own is None:
        add(f"openllm: {form} a chat template, as the reference")
    elif own != row.chat_template:
        add(
            f"openllm: not the published setting: apply_chat_template is {str(own).lower()}, and "
            f"the reference was run {form} a chat template"
        )


def _note_seeds(context: Context, planned: Plan) -> None:
    """Says which seeds decide the order of GPQA's options, where lm-eval shuffles them."""
    core = context.config.core
    shuffled = [name for name, task in planned.tasks.items() if is_gpqa(name) and task.stock]
    if not shuffled:
        return
    if core.states("seed"):
        context.notes.append(
            f"openllm: seed {core.seed} is yours; the leaderboard's 0,1234,1234,1234 gives GPQA's "
            "options another order"
        )
    else:
        context.notes.append("openllm: seeds 0,1234,1234,1234, lm-eval's own, as the leaderboard")


def _refuse_other_math(context: Context, planned: Plan) -> None:
    """Refuses lm-eval's own MATH tasks where they read all levels, or withdrawn data."""
    math = next(board for board in BENCHMARKS if board.name == "math")
    named = [leaf.task for leaf in math.leaves if leaf.task in planned.tasks]
    stock = [name for name in named if planned.tasks[name].stock]
    if not stock:
        return
    try:
        installed = version("lm_eval")
    except PackageNotFoundError:
        return
    examples = ", ".join(stock[:2])
    if installed == _UNFILTERED_MATH:
        context.problems.add(
            f"lm-eval {installed} reads all 5000 rows of MATH for {examples} and others, not "
            "Level 5 alone",
            where=context.where("source"),
            fix=_MATH_FIX,
        )
    if installed in _WITHDRAWN_MATH:
        context.problems.add(
            f"lm-eval {installed} reads {examples} and others from lighteval/MATH-Hard, which "
            "was withdrawn, and does not score by the rule of the published headline",
            where=context.where("source"),
            fix=_MATH_FIX,
        )


def prepare(context: Context, task: str) -> TaskData:
    """Returns the rows of a leaf task, made of the published samples."""
    frozen, row = context.cache[_KEPT]
    where = context.where("details")
    file = frozen.files[task]
    (path, *_) = frozen.folder.fetch([file.name], where)
    source = context.open(str(path), where=where)
    benchmark = _benchmark(task)
    lines = (read_line(line, benchmark) for line in source.rows())
    values: dict[str, Any] = {}
    if benchmark.name not in _TEMPLATES:
        values = {"metric": benchmark.metric, "gated": is_gpqa(task)}
    chat = row is not None and row.chat_template
    return TaskData(rows=_rows(lines, task=task, chat=chat), values=values)


def _rows(samples: Iterator[PublishedSample], *, task: str, chat: bool) -> Iterator[dict[str, Any]]:
    ids = SampleIds()
    for number, sample in enumerate(samples, start=1):
        row = {name: value for name, value in sample.doc.items() if name not in _OWN_COLUMNS}
        row |= {
            "sample_id": ids.next(sample.hashes["published_doc_hash"] or str(number)),
            "prompt": gpqa_question(sample.doc) if chat else sample.prompt,
            "target": sample.target,
            "previously_is_correct": sample.verdict,
            "previous_output_prediction_text": sample.reply,
            **sample.hashes,
        }
        if sample.endings:
            if sample.gold is None:
                options = f"{len(sample.endings)} choices"
                raise BadInput(
                    Problem(
                        what=f"the target {sample.target!r} is none of the {options}",
                        where=f"{task}, line {number} of its published samples",
                        fix="take an undamaged copy of the file, or set openllm.source: harness",
                    )
                )
            row |= {"published_choices": sample.choices, "published_gold": sample.gold}
        yield row
