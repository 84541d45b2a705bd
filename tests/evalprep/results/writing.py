"""Run folders in lm-eval's layout, written line for line as lm-eval 0.4.13 writes them."""

import functools
import hashlib
import json
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

STAMP = "2026-03-01T10-00-00.000001"


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass
class Row:
    """One document: what differs between tests; the rest follows."""

    sample_id: Any
    correct: Any = 1.0
    previous: Any = None
    response: str = "A"
    answer: str = "A"
    prompt: str = ""
    sent: str | None = None
    cluster: str | None = None
    subtask: str | None = None
    published: str | None = None
    metrics: dict[str, Any] | None = None
    doc: dict[str, Any] = field(default_factory=dict)


def reply_to(text, values):
    """A reply that differs where any score differs, as it does unless the scorer is another one."""
    if text != "A":
        return text
    digest = zlib.crc32(repr([*values]).encode())
    return text + "".join("\t" if digest >> bit & 1 else " " for bit in range(12))


@functools.lru_cache(maxsize=100_000)
def _hash_of(text):
    return sha256(json.dumps(json.loads(text), indent=2, ensure_ascii=False))


def doc_hash(doc):
    """The hash that lm-eval logs of a document; Python indents in Python, so texts are remembered."""
    return _hash_of(json.dumps(doc, ensure_ascii=False))


def line(row, number, *, filter_name="none", metric="exact_match", max_gen_toks=100):
    prompt = row.prompt or f"Question {row.sample_id}?"
    doc = {"sample_id": row.sample_id, "prompt": prompt, "target": "A", "subtask_name": row.subtask}
    doc |= {"cluster_id": row.cluster, "previously_is_correct": row.previous}
    doc |= {"previous_output_prediction_text": row.published} | row.doc
    doc = {key: value for key, value in doc.items() if value is not None}
    sent = prompt if row.sent is None else row.sent
    values = row.metrics if row.metrics is not None else {metric: row.correct}
    content = {
        "doc_id": number,
        "doc": doc,
        "target": "A",
        "arguments": {
            "gen_args_0": {"arg_0": sent, "arg_1": {"until": ["\n"], "max_gen_toks": max_gen_toks}}
        },
        "resps": [[reply_to(row.response, values.values())]],
        "filtered_resps": [row.answer],
        "filter": filter_name,
        "metrics": list(values),
        "doc_hash": doc_hash(doc),
        "prompt_hash": sha256(sent),
        "target_hash": sha256("A"),
    }
    return json.dumps(content | values, ensure_ascii=False)


def _stored(rows, metric):
    """The mean over rows, as lm-eval stores it; 0.5 where rows have something else than numbers."""
    columns = [row.metrics if row.metrics is not None else {metric: row.correct} for row in rows]
    values = [column.get(metric) for column in columns]
    numbers = [value for value in values if isinstance(value, int | float)]
    finite = [value for value in numbers if abs(value) <= 1e6]
    return sum(finite) / len(finite) if finite and len(finite) == len(numbers) else 0.5


def write_run(
    folder: Path,
    tasks,
    *,
    stamp=STAMP,
    model="org__model",
    metadata=None,
    model_args=None,
    filters=("none",),
    extra=None,
):
    """Write results and samples of some tasks (name -> rows) and return the model folder."""
    home = folder / model
    home.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = {"results": {}, "configs": {}, "higher_is_better": {}}
    for name, rows in tasks.items():
        lines = [line(row, at, filter_name=one) for one in filters for at, row in enumerate(rows)]
        (home / f"samples_{name}_{stamp}.jsonl").write_text(
            "".join(text + "\n" for text in lines), encoding="utf-8"
        )
        metrics = list(rows[0].metrics or {"exact_match": 0}) if rows else ["exact_match"]
        results["results"][name] = {
            f"{metric},{one}": _stored(rows, metric) for metric in metrics for one in filters
        }
        results["configs"][name] = {"task": name, "metadata": metadata or {"version": 1.0}}
        results["higher_is_better"][name] = dict.fromkeys(metrics, True)
    results["config"] = {
        "model": "dummy",
        "model_args": model_args or {"pretrained": model.replace("__", "/")},
    }
    results |= extra or {}
    (home / f"results_{stamp}.json").write_text(json.dumps(results), encoding="utf-8")
    return home
