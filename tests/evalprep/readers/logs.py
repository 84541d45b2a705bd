"""Small logs of other tools, written as those tools write them."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

QUESTIONS = ("Is ice cold?", "Is fire cold?", "Is snow white?")
LETTERS = ("A", "B", "A")
CHOICES = ["yes", "no"]


def inspect_sample(number: int, value: Any = "C", *, epoch: int = 1, **more: Any) -> dict[str, Any]:
    """A sample of inspect_ai with one scorer."""
    return {
        "id": number,
        "epoch": epoch,
        "input": QUESTIONS[number % 3],
        "choices": CHOICES,
        "target": LETTERS[number % 3],
        "messages": [
            {"role": "user", "content": f"Answer: {QUESTIONS[number % 3]}"},
            {"role": "assistant", "content": "ANSWER: A"},
        ],
        "output": {"completion": "ANSWER: A"},
        "scores": {"choice": {"value": value, "answer": "A"}},
        **more,
    }


def inspect_header(task: str = "ice", model: str = "org/m", **more: Any) -> dict[str, Any]:
    """The header of a log."""
    facts = {"task": task, "model": model, "created": "2026-01-01T00:00:00+00:00", "config": {}}
    return {"version": 2, "status": "success", "eval": facts, "plan": {}, "results": None, **more}


def write_eval(path: Path, samples: Iterable[dict[str, Any]], *, finished: bool = True) -> Path:
    """An archive of inspect_ai, packed with deflate."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("_journal/start.json", json.dumps(inspect_header()))
        for sample in samples:
            name = f"samples/{sample['id']}_epoch_{sample['epoch']}.json"
            archive.writestr(name, json.dumps(sample))
        if finished:
            archive.writestr("header.json", json.dumps(inspect_header()))
    return path


def write_json_log(path: Path, samples: list[dict[str, Any]] | None, **more: Any) -> Path:
    """A log of inspect_ai as one JSON file."""
    own = {} if samples is None else {"samples": samples}
    path.write_text(json.dumps({**inspect_header(**more), **own}))
    return path


def write_lines(path: Path, objects: Iterable[Any]) -> Path:
    """JSON Lines; a text is written as it is."""
    lines = [item if isinstance(item, str) else json.dumps(item) for item in objects]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def write_table(path: Path, rows: Iterable[Mapping[str, Any]] = ()) -> Path:
    """A CSV file with columns of its own names."""
    default = [{"Nr": n, "Frage": text, "richtig": n % 2} for n, text in enumerate(QUESTIONS)]
    cells = list(rows) or default
    lines = [",".join(cells[0]), *(",".join(map(str, row.values())) for row in cells)]
    path.write_text("\n".join(lines) + "\n")
    return path


def eval_event(sample: int, kind: str, data: Mapping[str, Any], event: int = 0) -> dict[str, Any]:
    """An event of OpenAI evals."""
    own = {"run_id": "r", "event_id": event, "sample_id": f"ice.dev.{sample}"}
    return {**own, "type": kind, "data": dict(data)}


SPEC = {"spec": {"completion_fns": ["gpt"], "base_eval": "ice", "run_id": "r"}}


def eee_record(sample: str, metric: str, score: float, **more: Any) -> dict[str, Any]:
    """An instance of Every Eval Ever."""
    return {
        "schema_version": "0.3.0",
        "evaluation_id": "e",
        "model_id": "org/m",
        "evaluation_name": "ice",
        "evaluation_result_id": metric,
        "sample_id": sample,
        "interaction_type": "single_turn",
        "input": {"raw": QUESTIONS[0], "reference": ["yes"]},
        "output": {"raw": ["yes"]},
        "evaluation": {"score": score},
        **more,
    }


def evalscope_review(number: int, value: float = 1.0, **more: Any) -> dict[str, Any]:
    """A review of evalscope from 1.6 on."""
    asked = f"Answer the question.\n\n{QUESTIONS[number % 3]} ({number})\n\nA) yes\nB) no"
    reply = f"ANSWER: {'A' if value else 'B'}"
    score = {
        "value": {"acc": value},
        "extracted_prediction": reply[-1],
        "prediction": reply,
        "metadata": {},
        "main_score_name": None,
    }
    return {
        "index": number,
        "target": "A",
        "messages": [
            {"id": f"u{number}", "role": "user", "content": asked},
            {
                "role": "assistant",
                "content": [
                    {"type": "reasoning", "reasoning": "Ice melts."},
                    {"type": "text", "text": reply},
                ],
                "model": "org/m",
            },
        ],
        "sample_score": {"score": score, "sample_id": number, "group_id": number},
        **more,
    }


def write_evalscope(
    root: Path, model: str, reviews: Iterable[Mapping[str, Any]], file: str = "ice_default"
) -> Path:
    """The folder of a run of evalscope: reviews, predictions, a report and the settings."""
    lines = [dict(review) for review in reviews]
    write_lines(root / "reviews" / model / f"{file}.jsonl", lines)
    kept = ("index", "messages")
    predictions = [
        {"model": model, "model_output": {}} | {k: r.get(k) for k in kept} for r in lines
    ]
    write_lines(root / "predictions" / model / f"{file}.jsonl", predictions)
    dataset = file.rpartition("_")[0]
    metric = {"name": "mean_acc", "score": 0.5, "categories": []}
    report = {"dataset_name": dataset, "model_name": model, "score": 0.5, "metrics": [metric]}
    path = root / "reports" / model / f"{dataset}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report))
    config = root / "configs" / "task_config.yaml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(
        f"api_key: hidden\ndataset_args:\n  {dataset}:\n    few_shot_num: 2\n"
        "generation_config:\n  temperature: 0.7\nlimit: 10\nseed: 42\n"
    )
    return root


def write_helm(suite: Path, model: str, scores: Iterable[float | None], task: str = "ice") -> Path:
    """The folder of a run of HELM; an instance without a score was asked and not scored."""
    name = f"{task}:subject=water,model=org_{model}"
    home = suite / name.replace(":", "-", 1)
    home.mkdir(parents=True)
    stats, states = [], []
    for number, score in enumerate(scores):
        instance = {
            "id": f"id{number}",
            "input": {"text": f"{QUESTIONS[number % 3]} ({number})"},
            "references": [
                {"output": {"text": text}, "tags": ["correct"] * (text == "yes")}
                for text in CHOICES
            ],
        }
        reply = " A" if score else " B"
        states.append(
            {
                "instance": instance,
                "train_trial_index": 0,
                "request": {"prompt": f"Q: {QUESTIONS[number % 3]} ({number})\nA:"},
                "output_mapping": dict(zip("AB", CHOICES, strict=True)),
                "result": {"completions": [{"text": reply}]},
            }
        )
        if score is not None:
            value = {"name": {"name": "exact_match", "split": "test"}, "count": 1, "mean": score}
            stats.append({"instance_id": f"id{number}", "train_trial_index": 0, "stats": [value]})
    spec = {"name": name, "adapter_spec": {"model": f"org/{model}"}}
    files = {
        "per_instance_stats": stats,
        "scenario_state": {"adapter_spec": {}, "request_states": states},
        "run_spec": spec,
        "scenario": {"name": task},
        "stats": [],
    }
    for file, content in files.items():
        (home / f"{file}.json").write_text(json.dumps(content))
    return home
