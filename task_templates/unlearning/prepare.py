"""Rows of TOFU and MUSE with prompts and scored continuations written out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalprep.packapi import BadInput, Context, Plan, Problem, Repeats, Source, TaskData, make_plan, near

Row = dict[str, Any]

# Rows that belong together: what is forgotten, what no model has seen, what the reference model was trained on.
SPLITS = {
    "forget01": {"holdout": "holdout01", "retain": "retain99"},
    "forget05": {"holdout": "holdout05", "retain": "retain95"},
    "forget10": {"holdout": "holdout10", "retain": "retain90"},
}
SHOTS = 10
TEXT_TOKENS = 2048  # completions are scored up to here
PLAIN_TOKENS = 512  # OpenUnlearning cuts plain rows here
STOPWORDS = ["\n\n", "\nQuestion", "Question:"]
COMPATIBILITY = ("boundary", "tail", "length")
GENERATED = {"tofu": 200, "knowmem": 32, "verbmem": 128}
# Metrics that a suite does not compute by default, and the tasks they need beyond its group.
EXTRA_TASKS = {
    "mia_min_k_plus_plus": {
        "unlearn_tofu": ["tofu_forget_moments", "tofu_holdout_moments"],
        "unlearn_muse": ["muse_privleak_forget_moments", "muse_privleak_holdout_moments"],
    },
    "mia_gradnorm": {
        "unlearn_tofu": ["tofu_forget_gradient", "tofu_holdout_gradient"],
        "unlearn_muse": ["muse_privleak_forget_gradient", "muse_privleak_holdout_gradient"],
    },
}


@dataclass(frozen=True)
class Data:
    """Where the rows of a task are.

    Attributes:
        suite: `tofu` or `muse`.
        config: Config of the data set.
        split: Split of the config.
        kind: `qa` (question and answer), `text` (a whole text) or `continuation` (a prompt and its continuation).
        perturbed: Whether rows have wrong answers; `paraphrased` whether they have a paraphrase.
    """

    suite: str
    config: str
    split: str
    kind: str = "qa"
    perturbed: bool = False
    paraphrased: bool = False

    def columns(self, question: str) -> list[str]:
        """Columns that the task cannot do without."""
        if self.kind == "text":
            return ["text"]
        if self.kind == "continuation":
            return ["prompt", "gt"]
        extra = (["paraphrased_answer"] if self.paraphrased else []) + (["perturbed_answer"] if self.perturbed else [])
        return [question, "answer", *extra]


def data_of(task: str, forget: str) -> Data:
    """The data of one task for one forget split."""
    if task.startswith("tofu_"):
        part = task.split("_")[1]
        return {
            "forget": Data("tofu", f"{forget}_perturbed", "train", perturbed=True, paraphrased=True),
            "holdout": Data("tofu", SPLITS[forget]["holdout"], "train"),
            "retain": Data("tofu", "retain_perturbed", "train", perturbed=True, paraphrased=True),
            "ra": Data("tofu", "real_authors_perturbed", "train", perturbed=True),
            "wf": Data("tofu", "world_facts_perturbed", "train", perturbed=True),
        }[part]
    if "knowmem" in task:
        return Data("muse", "knowmem", f"{task.split('_')[1]}_qa")
    if "verbmem" in task:
        return Data("muse", "verbmem", "forget", kind="continuation")
    return Data("muse", "privleak", task.split("_")[2], kind="text")


def plan(context: Context) -> Plan:
    """The requested tasks, those that extra metrics need, and every contradiction in the settings."""
    requested = list(context.requested)
    groups = {name: list(context.pack.groups[name].tasks) for name in requested if name in context.pack.groups}
    for metric in context.section.metrics:
        for group, tasks in EXTRA_TASKS.get(metric, {}).items():
            requested += [task for task in tasks if group in requested]
    planned = make_plan(requested, groups)
    _check_section(context, planned)
    return planned


def _check_section(context: Context, planned: Plan) -> None:
    section, core, problems = context.section, context.config.core, context.problems
    where = f"{context.config.path} (unlearning)"
    known = [name.removeprefix("muse_") for name in context.pack.suite_scores]
    for name in section.metrics:
        if name not in known:
            problems.add(
                f"unknown metric {name!r}",
                where=where,
                allowed=", ".join(dict.fromkeys(known)),
                fix=near(str(name), known),
            )
    for name in section.openunlearning:
        if name not in COMPATIBILITY:
            problems.add(f"unknown choice {name!r} in openunlearning", where=where, allowed=", ".join(COMPATIBILITY))
    tags = context.pack.module("prompts").PLAIN_TAGS  # type: ignore[union-attr] # the pack ships it
    for name, value in section.plain_tags.items():
        if name not in tags or not isinstance(value, str):
            problems.add(
                f"plain_tags: {name}: {value!r} is not accepted", where=where, allowed=f"texts for {', '.join(tags)}"
            )
    for name in section.revision:
        if name not in {"tofu", "muse"}:
            problems.add(f"unknown key {name!r} in revision", where=where, allowed="tofu, muse")
    if str(section.gradient_norm) not in {"1", "2", "inf"}:
        problems.add(f"gradient_norm is {section.gradient_norm!r}", where=where, allowed="1, 2 or inf")
    if core.apply_chat_template and section.prompts in {"template", "plain"}:
        problems.add(
            f"apply_chat_template is true, and prompts: {section.prompts} writes complete prompts",
            where=where,
            fix="remove apply_chat_template, or choose prompts: harness",
        )
    if section.prompts == "harness" and not core.apply_chat_template:
        problems.add(
            "prompts: harness needs lm-eval to apply the template", where=where, fix="add `apply_chat_template: true`"
        )
    completions = [task for task in planned.tasks if data_of(task, section.forget_split).kind != "qa"]
    if core.apply_chat_template and completions:
        problems.add(
            f"apply_chat_template is true, and {', '.join(completions)} continue plain texts",
            where=where,
            fix="prepare those tasks by themselves without apply_chat_template",
        )
    if core.apply_chat_template and core.system_instruction is None and section.system_prompt:
        problems.add(
            "prompts: harness takes the system message from system_instruction, and none is given",
            where=where,
            fix=f'add `system_instruction: "{section.system_prompt}"`, or set unlearning.system_prompt to ""',
        )
    needs_length = [task for task in completions if task.endswith(("_lp", "_moments", "_gradient"))]
    if needs_length and core.max_model_len < TEXT_TOKENS + 2:
        context.cache["short_context"] = (
            f"max_model_len is {core.max_model_len}: texts over that are refused and counted, not cut"
        )


def prepare(context: Context, task: str) -> TaskData:
    """Rows and template values of one task."""
    section = context.section
    data = data_of(task, section.forget_split)
    source = open_data(context, data)
    question = section.question_key if data.paraphrased else "question"
    source.require(data.columns(question))
    settings = {
        "suite": data.suite,
        "split": section.forget_split if data.suite == "tofu" else section.muse_corpus,
        "metrics": list(section.metrics),
        "data": source.location,
        "revision": source.revision,
        "config": data.config,
        "question_key": question if data.kind == "qa" else None,
        "openunlearning": list(section.openunlearning),
    }
    if data.kind == "qa":
        style = style_of(context)
        settings |= {"prompts": style.name, "system_prompt": section.system_prompt or None}
        if style.name == "template":
            settings["template_arguments"] = dict(section.template_arguments)
    if judge := section.judge_prompt:
        settings["judge_prompt"] = context.locate(judge)
    numbered = ((index, row) for index, row in enumerate(source.rows()))
    if task.endswith(("_gen", "_knowmem")):
        return _generation(context, task, data, numbered, settings, question)
    return _likelihood(context, task, data, numbered, settings, question)


def open_data(context: Context, data: Data, split: str | None = None) -> Source:
    """Open one split of TOFU or MUSE."""
    section = context.section
    location = section.tofu if data.suite == "tofu" else section.muse or f"muse-bench/MUSE-{section.muse_corpus}"
    return context.open(
        location,
        config=data.config,
        split=split or data.split,
        revision=section.revision.get(data.suite),
        where=f"{context.config.path} (unlearning.{data.suite})",
    )


def tokenizer_of(context: Context) -> Any:
    """The model's tokenizer, from the folder or hub id that the run will use.

    Raises:
        BadInput: it cannot be loaded.
    """
    if "tokenizer" not in context.cache:
        from transformers import AutoTokenizer

        core = context.config.core
        name = str(core.model_args.get("tokenizer") or core.model_name)
        try:
            context.cache["tokenizer"] = AutoTokenizer.from_pretrained(
                context.locate(name),
                revision=core.model_revision or "main",
                trust_remote_code=bool(core.model_args.get("trust_remote_code", False)),
            )
        except Exception as error:
            # transformers raises OSError, ValueError, ImportError and others, all meaning the same here.
            raise BadInput(
                Problem(
                    what=f"the tokenizer of {name} cannot be loaded: {str(error).splitlines()[0]}",
                    where=f"{context.config.path} (model_name)",
                    allowed="prompts: plain or prompts: harness need no tokenizer now",
                    fix="fetch the model first, or choose unlearning.prompts",
                )
            ) from error
    return context.cache["tokenizer"]


def style_of(context: Context) -> Any:
    """The prompt style of this run, chosen once."""
    if "style" in context.cache:
        return context.cache["style"]
    module: Any = context.pack.module("prompts")
    section, core = context.section, context.config.core
    wanted = section.prompts
    if wanted == "auto":
        wanted = (
            "harness" if core.apply_chat_template else "template" if tokenizer_of(context).chat_template else "plain"
        )
    if wanted == "template":
        tokenizer = tokenizer_of(context)
        if not tokenizer.chat_template:
            raise BadInput(
                Problem(
                    what=f"{core.model_name} has no chat template",
                    where=f"{context.config.path} (unlearning.prompts)",
                    allowed="auto, plain, harness",
                    fix="choose prompts: plain",
                )
            )
        style = module.Template(
            tokenizer,
            system=section.system_prompt or None,
            arguments=section.template_arguments,
            whole_tail="tail" in section.openunlearning,
        )
    elif wanted == "plain":
        style = module.Plain({**module.PLAIN_TAGS, **section.plain_tags})
    else:
        style = module.Harness()
    context.cache["style"] = style
    return style


def _notes(context: Context, data: Data, first: str | None) -> list[str]:
    """Said once: how prompts were made, and what follows from it."""
    notes = [context.cache.pop("short_context")] if "short_context" in context.cache else []
    if data.kind != "qa" or context.cache.get("noted"):
        return notes
    context.cache["noted"] = True
    style = style_of(context)
    how = {
        "template": "prompts hold the model's chat template",
        "plain": "prompts are plain text with tags",
        "harness": "lm-eval applies the chat template at run time",
    }[style.name]
    notes.append(f"unlearning: {how}")
    add_bos = context.config.core.add_bos_token
    if style.name == "template" and first is not None and add_bos is not False and style.adds_bos(first):
        notes.append(
            "the chat template writes no BOS, add_bos_token adds one; add_bos_token: false scores as OpenUnlearning"
        )
    if style.name == "template" and style.unaligned:
        notes.append(
            "the chat template changes the prompt once an answer follows: answers are scored with the end token alone"
        )
    if data.suite == "tofu":
        retain = SPLITS[context.section.forget_split]["retain"]
        notes.append(f"forget_quality needs a reference: the same tasks of a model trained on {retain}")
    return notes


def _identify(rows: Iterator[tuple[int, Row]], columns: Sequence[str]) -> Iterator[tuple[str, int, Row]]:
    """Give each row an id made of its content, so that it survives reordering."""
    repeats = Repeats()
    for index, row in rows:
        text = "\x1f".join(str(row.get(column)) for column in columns)
        yield repeats.unique(hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]), index, row


def wrong_answers(row: Mapping[str, Any]) -> list[str]:
    """The wrong answers of a row; lists may have any length."""
    answers = row.get("perturbed_answer")
    return [answers] if isinstance(answers, str) else [str(answer) for answer in answers or []]


def _likelihood(
    context: Context, task: str, data: Data, rows: Iterator[tuple[int, Row]], settings: Row, question: str
) -> TaskData:
    section = context.section
    compatible = set(section.openunlearning)
    options: Row = {"continuations": "continuations"}
    if "boundary" in compatible:
        options["boundary"] = "openunlearning"
    if task.endswith("_moments"):
        options["moments"] = True
    if task.endswith("_gradient"):
        options |= {
            "request": "grad_norm",
            "norm": section.gradient_norm if section.gradient_norm == "inf" else int(section.gradient_norm),
        }
    if task in {"tofu_forget_lp", "tofu_holdout_lp"} or "privleak" in task:
        options["text"] = True  # the zlib attack compresses the scored text
    if data.kind == "qa":
        options |= style_of(context).options
        if "length" in compatible and style_of(context).name == "plain":
            options["max_tokens"] = PLAIN_TOKENS
    else:
        options["max_text_tokens"] = TEXT_TOKENS
    scoring = {"min_k": section.min_k, "strict_extraction": section.strict_extraction}
    answer_only = task.endswith(("_moments", "_gradient"))
    forget = "forget" in task
    # A forgotten answer should be unlikely: low probability, high loss, steep gradient.
    directions = {"higher_is_better": not forget, "lower_is_better": forget}
    if task.endswith("_gradient"):
        del directions["higher_is_better"]
    return TaskData(
        rows=(
            row | {"scoring": scoring}
            for row in _likelihood_rows(context, data, rows, question, answer_only=answer_only)
        ),
        values={
            "token_logprobs": options,
            "settings": settings,
            **directions,
        },
        notes=_notes(context, data, None),
    )


def _likelihood_rows(
    context: Context, data: Data, rows: Iterator[tuple[int, Row]], question: str, *, answer_only: bool
) -> Iterator[Row]:
    for identifier, index, row in _identify(rows, data.columns(question)):
        common = {"sample_id": identifier, "index": index}
        if data.kind == "text":
            text = row["text"]
            yield {**common, "prompt": "", "target": text, "continuations": [text], "roles": ["answer"]}
        elif data.kind == "continuation":
            # One blank between the two: the columns hold them without.
            yield {
                **common,
                "prompt": row["prompt"],
                "target": row["gt"],
                "continuations": [f" {row['gt']}"],
                "roles": ["answer"],
            }
        else:
            answers = [("answer", row["answer"])]
            if data.paraphrased and not answer_only:
                answers.append(("paraphrase", row["paraphrased_answer"]))
            if data.perturbed and not answer_only:
                answers += [("wrong", answer) for answer in wrong_answers(row)]
            style = style_of(context)
            yield {
                **common,
                "prompt": style.prompt(row[question]),
                "target": row["answer"],
                "continuations": [style.continuation(row[question], answer) for _, answer in answers],
                "roles": [role for role, _ in answers],
                "question": row[question],
            }


def _generation(
    context: Context, task: str, data: Data, rows: Iterator[tuple[int, Row]], settings: Row, question: str
) -> TaskData:
    shots: list[tuple[str, str]] = []
    kind = "knowmem" if "knowmem" in task else "verbmem" if "verbmem" in task else "tofu"
    if kind == "knowmem":
        source = open_data(context, data, split=f"{data.split}_icl")
        source.require(["question", "answer"])
        shots = [(str(row["question"]), str(row["answer"])) for row in source.rows()][:SHOTS]
    stopwords = STOPWORDS if kind == "knowmem" else []
    harness = data.kind == "qa" and style_of(context).name == "harness"
    until = stopwords + (style_of(context).until if data.kind == "qa" else [])
    return TaskData(
        rows=_generation_rows(context, data, rows, question, shots, stopwords),
        values={
            "until": until,
            "max_gen_toks": GENERATED[kind],
            "num_fewshot": len(shots) if harness else 0,
            "shots": [{"prompt": shot, "target": answer} for shot, answer in shots] if harness else [],
            "primary_metric": "rougeL_recall" if kind == "tofu" else "rougeL_f1",
            "higher_is_better": "forget" not in task and kind != "verbmem",
            "settings": settings | {"shots": len(shots)},
        },
        notes=_notes(context, data, style_of(context).prompt("?") if data.kind == "qa" else None),
    )


def _generation_rows(
    context: Context,
    data: Data,
    rows: Iterator[tuple[int, Row]],
    question: str,
    shots: list[tuple[str, str]],
    stopwords: list[str],
) -> Iterator[Row]:
    stemmer = context.section.rouge_stemmer
    for identifier, index, row in _identify(rows, data.columns(question)):
        common = {"sample_id": identifier, "index": index, "stopwords": stopwords, "rouge_stemmer": stemmer}
        if data.kind == "continuation":
            yield {
                **common,
                "prompt": row["prompt"],
                "target": _reference(context, row["gt"]),
                "question": row["prompt"],
            }
            continue
        extra = {"paraphrased_answer": row["paraphrased_answer"]} if data.paraphrased else {}
        if data.perturbed:
            extra["perturbed_answer"] = wrong_answers(row)
        prompt = style_of(context).prompt(row[question], shots)
        yield {**common, "prompt": prompt, "target": row["answer"], "question": row[question], **extra}


def _reference(context: Context, text: str) -> str:
    """The verbatim reference, cut to the generated length if the config says so."""
    if not context.section.cut_reference:
        return text
    tokenizer = tokenizer_of(context)
    ids = tokenizer(text, add_special_tokens=False)["input_ids"][: GENERATED["verbmem"]]
    return str(tokenizer.decode(ids, skip_special_tokens=True))
