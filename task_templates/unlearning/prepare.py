"""Tasks of TOFU and MUSE: which ones a config needs, and rows and template values of each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evalprep.packapi import Context, Excluded, Plan, Source, TaskData

from .datasets import (
    PARAPHRASE,
    PLAIN_TOKENS,
    TEXT_TOKENS,
    WRONG,
    Data,
    Row,
    data_of,
    open_data,
    present_in,
    read_rows,
    split_name,
    split_of,
    split_of_part,
)
from .prompts import Shot, Template
from .recipe import choices_of
from .rows import generation_rows, likelihood_rows
from .settings import check_settings, length_note, retain_results
from .style import style_of
from .unmeasured import scores_without

#: How prompts are made, by the style's name.
PROMPTS_BY_STYLE = {
    "template": "prompts hold the model's chat template",
    "plain": "prompts are plain text with tags",
    "harness": "lm-eval applies the chat template at run time",
}
SHOTS = 10
STOPWORDS = ["\n\n", "\nQuestion", "Question:"]
#: Settings that parametrise metrics; result files name them.
PARAMETERS = ("min_k", "gradient_norm", "strict_extraction", "rouge_stemmer", "cut_reference")
#: Metrics that a suite does not compute by default, and the tasks they need beyond its group, by
# the suite's prefix.
EXTRA_TASKS = {
    "mia_min_k_plus_plus": {
        "tofu_": ["tofu_forget_moments", "tofu_holdout_moments"],
        "muse_": ["muse_privleak_forget_moments", "muse_privleak_holdout_moments"],
    },
    "mia_gradnorm": {
        "tofu_": ["tofu_forget_gradient", "tofu_holdout_gradient"],
        "muse_": ["muse_privleak_forget_gradient", "muse_privleak_holdout_gradient"],
    },
}


def plan(context: Context) -> Plan:
    """The requested tasks and those that extra metrics need.

    Also reports every contradiction in the settings.
    """
    requested = list(context.requested)
    pack_groups = context.pack.groups
    groups = {}
    for name in requested:
        if name in pack_groups:
            groups[name] = list(pack_groups[name].tasks)
    own = context.plan_of(requested, groups).tasks
    # The tasks that requested metrics need beyond the group of a planned suite.
    extra: list[str] = []
    for metric in context.section.metrics:
        for suite, needed in EXTRA_TASKS.get(metric, {}).items():
            if any(task.startswith(suite) for task in own):
                extra += needed
    planned = context.plan_of(requested + extra, groups)
    if split_of_part(context.section, "holdout") is None:
        split = split_name(context.section.forget_split)
        reason = f"holdout_split: which rows no model has seen is not known for {split}"
        for name, task in planned.tasks.items():
            if name.startswith("tofu_holdout_"):
                planned.excluded[name] = Excluded("unavailable", reason, task.tags)
    check_settings(context, planned)
    note = length_note(context, planned)
    if note:
        context.cache["length_note"] = note
    return planned


def prepare(context: Context, task: str) -> TaskData:
    """Rows and template values of one task."""
    data = data_of(task, context.section)
    return build_task(context, task, data, open_data(context, data))


def build_task(context: Context, task: str, data: Data, source: Source) -> TaskData:
    """Rows and template values of a task over any source.

    The building block for benchmarks that extend this pack (docs/packs/unlearning.md).

    Args:
        context: The preparation.
        task: Its name: `..._gen` takes the template generation.yaml, `..._lp` likelihood.yaml;
            with `forget` in it, low overlap and probability are the better ones.
        data: What the rows hold.
        source: The rows.
    """
    section = context.section
    question = section.question_key if data.paraphrased else "question"
    complete = data
    data = present_in(data, source, section)
    rows = read_rows(source, data.columns(question))
    is_generation = task.endswith(("_gen", "_knowmem"))
    build = _generation if is_generation else _likelihood
    built = build(context, task, data, rows, question)
    built.notes += _notes_on_absent(context, complete, data)
    values = built.values
    reference = retain_results(context)
    settings = _settings(context, data, source, question)
    values["settings"] = settings | values.get("settings", {})
    values["rule"] = choices_of(context).rule
    values["reference"] = None if reference is None else str(reference)
    return built


def _notes_on_absent(context: Context, complete: Data, data: Data) -> list[str]:
    """A note on the scores that rows of the user's own have too few columns for, once per split."""
    roles = {
        PARAPHRASE: complete.paraphrased and not data.paraphrased,
        WRONG: complete.perturbed and not data.perturbed,
    }
    absent = [column for column, is_absent in roles.items() if is_absent]
    if not absent or not context.is_first(f"absent columns of {data.part}"):
        return []
    prefix = f"tofu_{data.part}_"
    scores = scores_without(context.pack.suite_scores, prefix, absent)
    split = split_name(getattr(context.section, f"{data.part}_split"))
    columns = " and no ".join(absent)
    return [f"{split} has no {columns}; left out: {', '.join(scores)}"]


def _settings(context: Context, data: Data, source: Source, question: str) -> Row:
    """Returns what decides the samples of a task, for the result files."""
    section = context.section
    choices = choices_of(context)
    settings: Row = {
        "suite": data.suite,
        "split": split_of(context, data),
        "metrics": list(section.metrics),
        "data": source.location,
        "revision": source.revision,
        "data_sha256": [file["sha256"] for file in source.facts()["files"]],
        "config": data.config,
        "question_key": question if data.kind == "qa" else None,
        "openunlearning": list(choices.openunlearning),
        "recipe": choices.recipe or None,
        "parameters": {name: getattr(section, name) for name in PARAMETERS},
    }
    if data.kind == "qa":
        style = style_of(context)
        settings["prompts"] = style.name
        settings["system_prompt"] = choices.system_prompt or None
        if style.name == "template":
            settings["template_arguments"] = dict(choices.template_arguments)
    if judge := section.judge_prompt:
        settings["judge_prompt"] = context.locate(judge)
    return settings


def _likelihood(
    context: Context, task: str, data: Data, rows: list[Row], question: str
) -> TaskData:
    answer_only = task.endswith(("_moments", "_gradient"))
    is_forgotten = "forget" in task
    prepared = likelihood_rows(context, data, rows, question, answer_only=answer_only)
    values: dict[str, Any] = {"token_logprobs": _requests(context, task, data)}
    # A forgotten answer should be unlikely: low probability, high loss, steep gradient.
    if not task.endswith("_gradient"):
        values["higher_is_better"] = not is_forgotten
    values["lower_is_better"] = is_forgotten
    return TaskData(rows=prepared, values=values, notes=_notes(context, data))


def _requests(context: Context, task: str, data: Data) -> Row:
    """Options of the task's requests; see `custom_metrics.token_logprobs`."""
    section = context.section
    options: Row = {"continuations": "continuations"}
    if "boundary" in choices_of(context).openunlearning:
        options["boundary"] = "openunlearning"
    if task.endswith("_moments"):
        options["moments"] = True
    if task.endswith("_gradient"):
        norm = section.gradient_norm
        options["request"] = "grad_norm"
        options["norm"] = norm if norm == "inf" else int(norm)
    is_attacked_in_tofu = task in {"tofu_forget_lp", "tofu_holdout_lp"}
    if is_attacked_in_tofu or "privleak" in task:
        options["text"] = True  # the zlib attack compresses the scored text
    if data.kind != "qa":
        options["max_text_tokens"] = TEXT_TOKENS
        return options
    style = style_of(context)
    options |= style.options
    has_original_length = "length" in choices_of(context).openunlearning
    if has_original_length and style.name == "plain":
        options["max_tokens"] = PLAIN_TOKENS
    return options


def _generation(
    context: Context, task: str, data: Data, rows: list[Row], question: str
) -> TaskData:
    style = style_of(context) if data.kind == "qa" else None
    shots: list[Shot] = []
    stopwords: list[str] = []
    if data.config == "knowmem":
        source = open_data(context, data, split=f"{data.split}_icl")
        solved = read_rows(source, ["question", "answer"])[:SHOTS]
        shots = [(row["question"], row["answer"]) for row in solved]
        stopwords = STOPWORDS
    rouge = "rougeL_recall" if data.suite == "tofu" else "rougeL_f1"
    is_forgotten = "forget" in task or data.config == "verbmem"
    prepared = generation_rows(context, data, rows, question, shots=shots, stopwords=stopwords)
    until = stopwords + (style.until if style else [])
    first = style.prompt("?") if style else None
    # The shots that lm-eval adds; in every other style the prompts hold them.
    added = shots if style is not None and style.name == "harness" else []
    return TaskData(
        rows=prepared,
        values={
            "until": until,
            "max_gen_toks": data.reply_tokens,
            "num_fewshot": len(added),
            "shots": [{"prompt": prompt, "target": answer} for prompt, answer in added],
            "primary_metric": rouge,
            "higher_is_better": not is_forgotten,
            "settings": {"shots": len(shots)},
        },
        notes=_notes(context, data, first=first),
    )


def _notes(context: Context, data: Data, first: str | None = None) -> list[str]:
    """Notes on how prompts were made and what follows from it, for the first task of a run."""
    cache = context.cache
    notes = [cache.pop("length_note")] if "length_note" in cache else []
    if data.kind != "qa" or not context.is_first("prompts of questions"):
        return notes
    style = style_of(context)
    choices = choices_of(context).sentence
    prompts = PROMPTS_BY_STYLE[style.name]
    notes += [f"unlearning: {choices}", f"unlearning: {prompts}"]
    if isinstance(style, Template):
        notes += _template_notes(context, style, first)
    if data.suite == "tofu" and not context.section.retain_results:
        split = split_of_part(context.section, "retain")
        retain = split_name(split) or "all but the forgotten rows"
        reference = f"the same tasks of a model trained on {retain}"
        notes.append(f"forget_quality needs a reference: {reference}")
    return notes


_ADDED_BOS = (
    "the chat template writes no BOS, and the tokenizer adds one; add_bos_token: false "
    "scores as OpenUnlearning"
)
_IN_THE_PROMPT = "Qwen3 writes it into the prompt with template_arguments: {enable_thinking: false}"
_UNALIGNED = (
    "the chat template changes the prompt once an answer follows: answers are scored "
    "with the end token alone"
)


def _template_notes(context: Context, style: Template, first: str | None) -> Iterator[str]:
    """Yields what the model's chat template does otherwise than OpenUnlearning expects."""
    may_add_bos = context.config.core.add_bos_token is not False
    if first is not None and may_add_bos and style.adds_bos(first):
        yield _ADDED_BOS
    lead = style.lead.strip()
    if lead:
        written = f"the chat template writes {lead!r} before an answer"
        yield f"{written}, and scores it together with the answer; {_IN_THE_PROMPT}"
    if style.unaligned:
        yield _UNALIGNED
