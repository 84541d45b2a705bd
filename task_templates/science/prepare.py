"""Rows of SciRIFF with complete prompts.

Task filter, wrapper, worked example, room for the reply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

from custom_metrics.science.judge import PAPER_FIELDS
from custom_metrics.science.reply import json_parse
from custom_metrics.science.tasks import TASKS
from evalprep.packapi import BadInput, Context, Plan, Problem, TaskData, model_folder, near

Row = dict[str, Any]
COLUMNS = ("input", "output", "_instance_id")
ONE_SHOT = "evidence_inference"
TARGET_DELIMITER = "\n"
FEWSHOT_DELIMITER = "\n\n\n"
PLACE = "{input}"
BEGINNINGS = ("<s>", "<|begin_of_text|>")  # begin-of-text tokens that wrappers hold

WRAPPERS = {
    "general": PLACE,
    "tulu": f"<|user|>\n{PLACE}\n<|assistant|>",
    "llama2": (
        f"<s>[INST] <<SYS>>\nYou are a helpful and honest assistant.\n<</SYS>>\n\n{PLACE} [/INST]"
    ),
    "llama3": (
        "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\n"
        "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n<|eot_id|>"
        f"<|start_header_id|>user<|end_header_id|>\n\n{PLACE}<|eot_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n\n"
    ),
    "qwen": (
        "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n"
        f"<|im_start|>user\n{PLACE}<|im_end|>\n<|im_start|>assistant\n"
    ),
}

# (input, output) pairs of worked examples and the input of the question -> the prompt.
Wrap = Callable[[Sequence[tuple[str, str]], str], str]


def plan(context: Context) -> Plan:
    """Checks everything that can be checked before a file is written.

    Wrapper, columns, rows of every wanted task.
    """
    planned = context.static_plan()
    section = context.section
    _check_wrapper(context)
    if _without_bos(context):
        for name, task in planned.tasks.items():
            planned.tasks[name] = replace(
                task, call=replace(task.call, model_args={"add_bos_token": False})
            )
    try:
        rows = _rows(context, section.split)
        if ONE_SHOT in planned.tasks and section.fewshot_split != section.split:
            _rows(context, section.fewshot_split)
    except BadInput as error:
        context.problems.extend(error.problems)
        return planned
    for task in planned.tasks:
        if task not in rows:
            context.problems.add(
                f"no rows of the task {task}",
                where=f"{_name(section)} [{section.context}] split {section.split}",
                allowed=f"tasks found: {', '.join(sorted(rows)) or 'none'}",
                fix=near(task, rows),
            )
    return planned


def _without_bos(context: Context) -> bool:
    """Returns whether no BOS is put before the prompts, as by the original's vLLM.

    What the text holds is all there is.

    Not where the user says something of `add_bos_token`, nor where a server or an interface does
    what it does.
    """
    core = context.config.core
    stated = core.states("add_bos_token") or "add_bos_token" in core.model_args
    return context.backend.loads_model and not stated and not core.apply_chat_template


def prepare(context: Context, task: str) -> TaskData:
    """Rows of one task.

    Their keys: `prompt`, `target`, `task`, `cluster_id`, for one-shot prompts `shot_id`.
    """
    section = context.section
    rows = _rows(context, section.split)[task]
    shots = _shots(context, rows) if task == ONE_SHOT else [()] * len(rows)
    wrap = _wrap(context)
    read_paper = PAPER_FIELDS.get(task)
    prepared = []
    for row, examples in zip(rows, shots, strict=True):
        question = row["input"]
        entry = {
            "sample_id": row["_instance_id"],
            "prompt": wrap([(shot["input"], shot["output"]) for shot in examples], question),
            "target": row["output"],
            "task": task,
            "cluster_id": read_paper(question)["title"] if read_paper else None,
        }
        if examples:
            entry["shot_id"] = examples[0]["_instance_id"]
        prepared.append(entry)
    limit, notes = _room(context, task, prepared)
    notes += _bad_references(task, prepared)
    family = "wrapper" if section.wrapper is not None else section.prompt_family
    if _without_bos(context) and context.is_first("BOS"):
        text = section.wrapper or WRAPPERS.get(section.prompt_family, "")
        bos = next((token for token in BEGINNINGS if text.startswith(token)), "none")
        if family == "chat":
            bos = "the one of the model's chat template, if it writes one"
        notes.insert(
            0,
            f"science: BOS as the original's vLLM sends it for {family}: {bos}; add_bos_token: "
            "true adds the model's own",
        )
    return TaskData(
        rows=prepared, values={"max_gen_toks": limit, "prompt_family": family}, notes=notes
    )


# ---- rows


def _name(section: Any) -> str:
    """The data set as messages call it."""
    if isinstance(section.dataset, dict):
        return section.dataset["path"]
    return str(section.dataset)


def _rows(context: Context, split: str) -> dict[str, list[Row]]:
    """Rows of one split by task, in file order; the data set holds at most 2,500 of a task.

    Raises:
        BadInput: a missing config, split or column, a row without text or without a usable id.
    """
    return context.once(f"rows {split}", partial(_read_split, context, split))


def _read_split(context: Context, split: str) -> dict[str, list[Row]]:
    section = context.section
    source = context.open(
        section.dataset,
        config=str(section.context),
        split=split,
        revision=section.revision,
        where=context.where("dataset"),
    )
    source.require(COLUMNS, where=context.where("dataset"))
    by_task: dict[str, list[Row]] = {}
    damaged: list[str] = []
    for number, row in enumerate(source.rows(COLUMNS)):
        if (
            not all(isinstance(row[column], str) for column in COLUMNS)
            or ":" not in row["_instance_id"]
        ):
            damaged.append(str(number))
            continue
        name = row["_instance_id"].split(":")[0]
        if name in TASKS:
            by_task.setdefault(name, []).append(row)
    if damaged:
        raise BadInput(
            Problem(
                what=(
                    f"{len(damaged)} rows lack input, output or an _instance_id like "
                    "task:split:number"
                ),
                where=f"{source.describe()}, row {', '.join(damaged[:5])}",
                fix="choose another data set or mend the rows",
            )
        )
    return by_task


def _bad_references(task: str, rows: Iterable[Row]) -> list[str]:
    """A note on references that no reply can match.

    They are not the JSON that the task asks for.
    """
    default = TASKS[task].default
    name = TASKS[task].original_class
    if default is None:
        return []
    bad = []
    for row in rows:
        parsed = json_parse(row["target"], default, name)
        if parsed["status"] != "valid_json" or not isinstance(parsed["value"], type(default)):
            bad.append(row["sample_id"])
    if bad:
        return [f"{task}: {len(bad)} references are not the task's JSON ({', '.join(bad[:3])})"]
    return []


# ---- prompts


def _check_wrapper(context: Context) -> None:
    section, core = context.section, context.config.core
    if section.wrapper is not None and section.wrapper.count(PLACE) != 1:
        context.problems.add(
            f"the wrapper holds {PLACE} {section.wrapper.count(PLACE)} times",
            where=context.where("wrapper"),
            allowed=f"exactly one {PLACE}",
        )
    bare = section.wrapper is None and section.prompt_family == "general"
    if core.apply_chat_template and not bare:
        context.problems.add(
            "apply_chat_template would wrap prompts that are wrapped already",
            where=context.where("apply_chat_template"),
            allowed="true only with science.prompt_family: general and no science.wrapper",
            fix="set apply_chat_template: false",
        )
    if section.prompt_family == "chat" and section.wrapper is None:
        try:
            _wrap(context)([], "x")
        except BadInput as error:
            context.problems.extend(error.problems)


def _wrap(context: Context) -> Wrap:
    section = context.section
    if section.wrapper is None and section.prompt_family == "chat":
        return partial(_chat, _chat_template(context))
    return partial(_plain, section.wrapper or WRAPPERS[section.prompt_family])


def _plain(wrapper: str, shots: Sequence[tuple[str, str]], text: str) -> str:
    """Examples as whole turns before the question, the way lm-eval writes few-shot prompts."""
    before, _, after = wrapper.partition(PLACE)
    turns = "".join(
        f"{before}{shot}{after}{TARGET_DELIMITER}{answer}{FEWSHOT_DELIMITER}"
        for shot, answer in shots
    )
    return f"{turns}{before}{text}{after}"


def _chat(
    template: Callable[[list[dict[str, str]]], str], shots: Sequence[tuple[str, str]], text: str
) -> str:
    messages = []
    for shot, answer in shots:
        messages += [{"role": "user", "content": shot}, {"role": "assistant", "content": answer}]
    return str(template([*messages, {"role": "user", "content": text}]))


def _chat_template(context: Context) -> Callable[[list[dict[str, str]]], str]:
    """The model's chat template.

    Raises:
        BadInput: the tokenizer cannot be loaded or has no template.
    """
    fix = "choose a science.prompt_family that is written out, and set apply_chat_template: false"
    tokenizer = context.tokenizer(fix=fix)
    if not getattr(tokenizer, "chat_template", None):
        name = context.config.core.model_name
        raise BadInput(
            Problem(what=f"{name} has no chat template", where=context.where("model_name"), fix=fix)
        )
    return partial(tokenizer.apply_chat_template, tokenize=False, add_generation_prompt=True)


def _shots(context: Context, rows: Sequence[Row]) -> Iterator[tuple[Row]]:
    """One worked example per row, the one that lm-eval 0.4.13 draws with the same seed.

    From the evaluated split it draws two rows and takes the first that is not the question; from
    another split one.
    """
    section = context.section
    same = section.fewshot_split == section.split
    pool = rows if same else _rows(context, section.fewshot_split).get(ONE_SHOT, [])
    if len(pool) < 1 + same:
        raise BadInput(
            Problem(
                what=f"{len(pool)} rows of {ONE_SHOT} to draw a worked example from",
                where=f"{_name(section)} [{section.context}] split {section.fewshot_split}",
                fix="choose another science.fewshot_split",
            )
        )
    random = Random(section.fewshot_seed)  # noqa: S311 - a draw to repeat, not a secret
    for row in rows:
        drawn = random.sample(pool, 1 + same)
        yield (
            next(
                candidate for candidate in drawn if candidate["_instance_id"] != row["_instance_id"]
            ),
        )


# ---- room for the reply


def _room(context: Context, task: str, rows: Sequence[Mapping[str, Any]]) -> tuple[int, list[str]]:
    """Returns how long a reply may be, and what to say of prompts that leave too little room.

    Raises:
        BadInput: `too_long: error` and a prompt that is too long, or no room at all.
    """
    core = context.config.core
    for_all_tasks = core.gen_kwargs.get("max_gen_toks")
    window = core.max_model_len
    # Tokens for the reply: what the config gives to all tasks, else what the pack says.
    needed = for_all_tasks if isinstance(for_all_tasks, int) else context.section.max_gen_toks
    lengths = _lengths(context, [str(row["prompt"]) for row in rows])
    if lengths is None:
        return needed, [
            f"{task}: prompt lengths are not checked, there is no tokenizer.json for the model here"
        ]
    over = [
        (length, str(row["sample_id"]))
        for length, row in zip(lengths, rows, strict=True)
        if length > window - needed
    ]
    if not over:
        return needed, []
    longest, sample_id = min(over, key=lambda prompt: (-prompt[0], prompt[1]))
    facts = (
        f"{task}: {len(over)} of {len(rows)} prompts leave less than {needed} of {window} tokens "
        f"for the reply; the longest, {sample_id}, has {longest}"
    )
    too_long = context.section.too_long
    if too_long == "lower" and for_all_tasks is not None:
        raise BadInput(
            Problem(
                what=f"{facts}; a limit that holds for all tasks cannot be lowered for one",
                where=context.where("gen_kwargs", "max_gen_toks"),
                fix="give it as science.max_gen_toks",
            )
        )
    rest = window - longest
    if too_long == "lower" and rest > 0:
        return rest, [f"{facts}; max_gen_toks is lowered to {rest}"]
    if too_long == "warn" and needed < window:
        return needed, [
            f"{facts}; such prompts are cut from the left, where the instruction stands"
        ]
    ways = "lower science.max_gen_toks, or set science.too_long"
    raise BadInput(
        Problem(
            what=facts,
            where=context.where("max_gen_toks"),
            fix=f"raise max_model_len to {longest + needed}, {ways}",
        )
    )


def _lengths(context: Context, prompts: list[str]) -> list[int] | None:
    """Tokens of each prompt, None without a tokenizer file of the model.

    Nothing is downloaded for a check.
    """
    folder = model_folder(context.config.core.model_name, context.folder)
    if folder is None or not (folder / "tokenizer.json").is_file():
        return None
    from tokenizers import Tokenizer

    core = context.config.core
    if core.apply_chat_template:  # lm-eval will wrap the prompts, and the turns take room as well
        system = []
        if core.system_instruction is not None:
            system.append({"role": "system", "content": core.system_instruction})
        template = _chat_template(context)
        prompts = [template([*system, {"role": "user", "content": prompt}]) for prompt in prompts]
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    return [len(encoded.ids) for encoded in tokenizer.encode_batch(prompts)]
