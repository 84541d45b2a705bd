"""Logs of other tools, a candidate and a baseline each, and layouts of older versions of lm-eval."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.evalprep.compare.test_across_tools import (
    CHOICES,
    inspect_log,
    lighteval_details,
    lm_eval_run,
    question,
    sample,
)
from tests.evalprep.readers.logs import eee_record, eval_event, write_eval, write_lines
from tests.evalprep.readers.test_results_files import of_2023
from tests.evalprep.results.test_values_alone import NESTED
from tests.evalprep.samples.test_sample_layouts import LAYOUTS, items, results
from tests.evalprep.samples.test_sample_layouts import write as write_layout
from tests.oracle.folder import SHORT, Folder, calls
from tests.oracle.folders.rows import policy, share

ROWS = 40
STAMP = "2026-01-02T03-04-05.678901"
GOLD = [at % 4 for at in range(ROWS)]


def sides(write: Callable[[Path, str, list[float]], Any], home: Path) -> None:
    """Writes a log of each side: folder, name of the model, verdicts."""
    for name, part, seed in (("now", 0.55, 1), ("before", 0.7, 2)):
        (home / name).mkdir(parents=True, exist_ok=True)
        write(home / name, f"lab-{name}", share(ROWS, part, seed))
    policy(home)


def said(at: int, verdict: float) -> int:
    return GOLD[at] if verdict else (GOLD[at] + 1) % 4


def inspect_json(folder: Path, model: str, verdicts: Sequence[float]) -> None:
    samples = [sample(at, right=bool(one)) for at, one in enumerate(verdicts)]
    inspect_log(folder / "log.json", samples, model=f"org/{model}")


def inspect_epochs(folder: Path, model: str, verdicts: Sequence[float]) -> None:
    """Packed, three epochs, partial credit, a sample without a verdict and one that failed."""
    grades = {1.0: "C", 0.0: "I"}
    samples = [
        sample(at, epoch=epoch)
        | {"scores": {"choice": {"value": "P" if (at + epoch) % 9 == 0 else grades[one]}}}
        for at, one in enumerate(verdicts)
        for epoch in (1, 2, 3)
    ]
    samples[4] |= {"scores": {"choice": {"value": "N"}}}
    samples[9] |= {"error": {"message": "boom"}, "scores": {}}
    write_eval(folder / "log.eval", samples, finished=model != "lab-now")


def helm(folder: Path, model: str, verdicts: Sequence[float]) -> None:
    home = folder / f"colours-model=org_{model}"
    home.mkdir()
    stats, states = [], []
    for at, one in enumerate(verdicts):
        where = {"instance_id": f"id{at}", "train_trial_index": 0}
        named = [("exact_match", one), ("quasi_exact_match", one), ("num_prompt_tokens", 40.0)]
        stats.append(
            where
            | {
                "stats": [
                    {
                        "name": {"name": name, "split": "test"},
                        "count": 1,
                        "sum": value,
                        "mean": value,
                    }
                    for name, value in named
                ]
            }
        )
        references = [
            {"output": {"text": choice}, "tags": ["correct"] if place == GOLD[at] else []}
            for place, choice in enumerate(CHOICES)
        ]
        states.append(
            where
            | {
                "instance": {
                    "input": {"text": question(at)},
                    "references": references,
                    "id": f"id{at}",
                },
                "request": {"prompt": f"Question: {question(at)}\nAnswer:"},
                "output_mapping": dict(zip("ABCD", CHOICES, strict=True)),
                "result": {"success": True, "completions": [{"text": f" {'ABCD'[said(at, one)]}"}]},
            }
        )
    perturbed = stats[0] | {"perturbation": {"name": "typos"}}
    (home / "per_instance_stats.json").write_text(json.dumps([*stats, perturbed]))
    state = {"adapter_spec": {"method": "multiple_choice_joint"}, "request_states": states}
    (home / "scenario_state.json").write_text(json.dumps(state))
    spec = {
        "name": f"colours:model=org_{model}",
        "adapter_spec": {"model": f"org/{model}", "max_train_instances": 5},
    }
    (home / "run_spec.json").write_text(json.dumps(spec))


def lighteval(folder: Path, model: str, verdicts: Sequence[float]) -> None:
    place = folder / "details" / "org" / model / STAMP
    path = lighteval_details(place, [question(at) for at in range(ROWS)], GOLD)
    records = pq.read_table(path).to_pylist()
    for record, one in zip(records, verdicts, strict=True):
        record["metric"] = {"acc": int(one), "acc_norm": int(one)}
    path.unlink()
    pq.write_table(pa.Table.from_pylist(records), place / f"details_colours|0_{STAMP}.parquet")
    mean = sum(verdicts) / ROWS
    content = {
        "config_general": {"model_name": f"org/{model}", "lighteval_sha": "?"},
        "results": {"colours|0": {"acc": mean, "acc_stderr": 0.07}, "all": {"acc": mean}},
    }
    results_place = folder / "results" / "org" / model
    results_place.mkdir(parents=True)
    (results_place / f"results_{STAMP}.json").write_text(json.dumps(content))


def lighteval_old(folder: Path, model: str, verdicts: Sequence[float]) -> None:
    records = [
        {
            "example": question(at),
            "instruction": "",
            "full_prompt": f"{question(at)}\nAnswer:",
            "num_effective_few_shots": 0,
            "num_asked_few_shots": 0,
            "predictions": [f"It is {CHOICES[said(at, one)]}"],
            "gold": [CHOICES[GOLD[at]]],
            "choices": [],
            "gold_index": [0],
            "metrics": {"extractive_match": one},
            "specifics": None,
        }
        for at, one in enumerate(verdicts)
    ]
    place = folder / "details" / "org" / model / STAMP
    place.mkdir(parents=True)
    pq.write_table(
        pa.Table.from_pylist(records), place / f"details_lighteval|colours|0_{STAMP}.parquet"
    )


def leaderboard_v1(folder: Path, model: str, verdicts: Sequence[float]) -> None:
    records = [
        {
            "example": question(at),
            "full_prompt": f"Question: {question(at)}\nAnswer:",
            "instruction": "",
            "choices": list(CHOICES),
            "gold_index": GOLD[at],
            "gold": [CHOICES[GOLD[at]]],
            "predictions": [-1.0 if place == said(at, one) else -3.0 - place for place in range(4)],
            "hashes": {"example": f"h{at}", "full_prompt": f"p{at}"},
            "num_asked_few_shots": 25,
            "num_effective_few_shots": 25,
            "metrics": {"acc": one, "acc_norm": one},
        }
        for at, one in enumerate(verdicts)
    ]
    place = folder / "2024-04-21T11-59-48.701689"
    place.mkdir()
    name = "details_harness|arc:challenge|25_2024-04-21T11-59-48.701689.parquet"
    pq.write_table(pa.Table.from_pylist(records), place / name)


def requests_of(at: int) -> dict[str, Any]:
    return {
        "doc_id": at,
        "native_id": f"q{at}",
        "doc": {"query": question(at), "choices": list(CHOICES), "id": f"q{at}"},
        "request": {"context": f"{question(at)}\nAnswer:", "continuation": " red"},
        "idx": 0,
        "task_name": "colours",
        "label": GOLD[at],
    }


def output_of(at: int, verdict: float) -> list[dict[str, Any]]:
    best = said(at, verdict)
    return [
        {"sum_logits": -1.0 if place == best else -4.0, "num_tokens": 1, "num_chars": 3}
        for place in range(4)
    ]


def olmes(folder: Path, model: str, verdicts: Sequence[float]) -> None:
    predictions = [
        {
            "doc_id": at,
            "native_id": f"q{at}",
            "metrics": {
                "predicted_index_raw": said(at, one),
                "predicted_index_per_char": said(at, one),
                "acc_raw": int(one),
                "acc_per_char": int(one),
            },
            "model_output": output_of(at, one),
            "label": GOLD[at],
        }
        for at, one in enumerate(verdicts)
    ]
    write_lines(folder / "task-000-colours-predictions.jsonl", predictions)
    write_lines(folder / "task-000-colours-requests.jsonl", map(requests_of, range(ROWS)))
    config = {"task_config": {"primary_metric": "acc_per_char", "num_shots": 5}}
    (folder / "task-000-colours-metrics.json").write_text(json.dumps(config))


def olmo_eval(folder: Path, model: str, verdicts: Sequence[float]) -> None:
    predictions = [
        {
            "doc_id": at,
            "native_id": f"q{at}",
            "model_output": output_of(at, one),
            "instance_metrics": {"acc_per_char": {"acc_per_char": one}},
            "label": GOLD[at],
        }
        for at, one in enumerate(verdicts)
    ]
    write_lines(folder / "predictions" / model / "colours_abc123-predictions.jsonl", predictions)
    requests = map(requests_of, range(ROWS))
    write_lines(folder / "requests" / model / "colours_abc123-requests.jsonl", requests)


def openai_evals(folder: Path, model: str, verdicts: Sequence[float]) -> None:
    spec = {"completion_fns": [model], "eval_name": "ice.dev.v0", "base_eval": "ice", "run_id": "r"}
    events: list[Any] = [{"spec": spec}]
    for at, one in enumerate(verdicts):
        asked = {"prompt": [{"role": "user", "content": question(at)}], "sampled": ["red"]}
        events.append(eval_event(at, "sampling", asked, 2 * at))
        picked = {"correct": bool(one), "expected": CHOICES[GOLD[at]], "picked": "red"}
        events.append(eval_event(at, "match", picked, 2 * at + 1))
    events.append('{"run_id": "r", "sam')
    write_lines(folder / f"250101000000ABCDEFGH_{model}_ice.jsonl", events)


def simple_evals(folder: Path, model: str, verdicts: Sequence[float]) -> None:
    html = "<p>Correct Answer: {}</p><p>Extracted Answer: {}</p><p>Score: {}</p>"
    listed = "\n".join(f"{letter}) {text}" for letter, text in zip("ABCD", CHOICES, strict=True))
    asked = "Answer the following multiple choice question. Think.\n\n{}\n\n" + listed
    content = {
        "score": sum(verdicts) / ROWS,
        "metrics": {"chars": 8.0},
        "htmls": [
            html.format("ABCD"[GOLD[at]], "ABCD"[said(at, one)], one)
            for at, one in enumerate(verdicts)
        ],
        "convos": [
            [
                {"role": "user", "content": asked.format(question(at))},
                {"role": "assistant", "content": f"Answer: {'ABCD'[said(at, one)]}"},
            ]
            for at, one in enumerate(verdicts)
        ],
    }
    path = folder / f"gpqa_{model}_20250101_000000_allresults.json"
    path.write_text(json.dumps(content))


def every_eval_ever(folder: Path, model: str, verdicts: Sequence[float]) -> None:
    records = [
        eee_record(
            f"q{at}",
            metric,
            one if metric == "acc" else 3.0 - one,
            model_id=f"org/{model}",
            evaluation_name="colours",
            input={"raw": question(at), "reference": [CHOICES[GOLD[at]]]},
            output={"raw": [CHOICES[said(at, one)]]},
        )
        for at, one in enumerate(verdicts)
        for metric in ("acc", "loss")
    ]
    write_lines(folder / "x_samples.jsonl", records)
    results_of = [
        {
            "evaluation_name": "colours",
            "evaluation_result_id": metric,
            "metric_config": {"lower_is_better": metric == "loss"},
        }
        for metric in ("acc", "loss")
    ]
    record = {"schema_version": "0.3.0", "evaluation_results": results_of}
    (folder / "x.json").write_text(json.dumps(record))


COLUMNS = "--columns id=Nr,question=Frage,score=richtig,target=Gold,answer=gelesen"


def cells(verdicts: Sequence[float]) -> list[dict[str, Any]]:
    return [
        {
            "Nr": f"n{at}",
            "Frage": question(at),
            "richtig": ("no", "yes", "")[2 if at == 7 else int(one)],
            "Gold": CHOICES[GOLD[at]],
            "gelesen": CHOICES[said(at, one)],
        }
        for at, one in enumerate(verdicts)
    ]


def table(folder: Path, model: str, verdicts: Sequence[float]) -> None:
    rows = cells(verdicts)
    lines = [";".join(rows[0]), *(";".join(row.values()) for row in rows), "a short row"]
    (folder / "table.csv").write_text("\n".join(lines) + "\n")


def parquet_table(folder: Path, model: str, verdicts: Sequence[float]) -> None:
    pq.write_table(pa.Table.from_pylist(cells(verdicts)), folder / "table.parquet")


def across(home: Path) -> None:
    """A run of lm-eval and a log of inspect_ai in another order, with letters for choices."""
    lm_eval_run(home / "now", share(ROWS, 0.55, 1))
    samples = [sample(at, right=bool(one)) for at, one in enumerate(share(ROWS, 0.7, 2))]
    samples[0] |= {"target": "D"}
    for at in range(1, 5):
        samples[at] |= {"choices": [*CHOICES[1:], CHOICES[0]], "target": "DABC"[at % 4]}
    inspect_log(home / "before" / "log.json", samples[:-3][::-1], task="paint")
    policy(home)


def of_2023_alone(home: Path) -> None:
    for name, acc in (("step2000", 0.5), ("step1000", 0.6)):
        (home / f"{name}.json").write_text(json.dumps(of_2023(acc)))
    policy(home)


def layout(name: str, home: Path) -> None:
    """One layout of lm-eval's files against the present one of the same questions."""
    write_layout(home / "old", name)
    folder = home / "new" / "org__m"
    folder.mkdir(parents=True)
    (folder / f"results_{STAMP}.json").write_text(json.dumps(results()))
    lines = [json.dumps(item) + "\n" for item in items("today")]
    (folder / f"samples_arc_{STAMP}.jsonl").write_text("".join(lines))
    policy(home)


def nested_values(home: Path) -> None:
    """Values that a script kept, of groups in groups, without samples."""
    lower = {
        task: {**entry, "acc,none": entry["acc,none"] - (0.1 if task == "mmlu_art" else 0.0)}
        for task, entry in NESTED.items()
    }
    for name, content in (("now", lower), ("before", NESTED)):
        (home / name).mkdir()
        (home / name / "eval_results.json").write_text(json.dumps(content))
    policy(home)


def stored_alone(home: Path) -> None:
    """Stored scores with their standard errors, whose samples are not there."""
    for name, score in (("now", 0.45), ("before", 0.55)):
        content = {
            "results": {"t": {"alias": "t", "acc,none": score, "acc_stderr,none": 0.02}},
            "configs": {"t": {"task": "t", "num_fewshot": 0}},
            "n-samples": {"t": {"original": 600, "effective": 600}},
            "higher_is_better": {"t": {"acc": True}},
            "config": {"model": "hf", "model_args": {"pretrained": f"org/{name}"}},
        }
        (home / name).mkdir()
        (home / name / f"results_{STAMP}.json").write_text(json.dumps(content))
    policy(home)


def packed_log(folder: Path, model: str, verdicts: Sequence[float]) -> None:
    olmes(folder, model, verdicts)
    for path in sorted(folder.glob("*.jsonl")):
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
        path.unlink()


LOGS: dict[str, tuple[str, Callable[..., None]]] = {
    "inspect-json": ("a JSON log of inspect_ai", inspect_json),
    "inspect-epochs": (
        "a packed log of inspect_ai: epochs, partial credit, errors",
        inspect_epochs,
    ),
    "helm": ("folders of HELM", helm),
    "lighteval": ("details and results of lighteval", lighteval),
    "lighteval-old": ("details of an older lighteval", lighteval_old),
    "leaderboard-v1": ("details of the first Open LLM Leaderboard", leaderboard_v1),
    "olmes": ("predictions and requests of OLMES", olmes),
    "olmes-packed": ("the same in gzip", packed_log),
    "olmo-eval": ("predictions and requests of olmo-eval", olmo_eval),
    "openai-evals": ("events of OpenAI evals, one cut off", openai_evals),
    "simple-evals": ("a file of simple-evals", simple_evals),
    "every-eval-ever": ("records and instances of Every Eval Ever", every_eval_ever),
}
OLD = {name: name.lower().replace(" ", "-").replace(".", "-") for name in LAYOUTS}
POSITIONS = "--pairing partial,same_choices,position"
FOLDERS = {
    **{
        name: Folder(about, partial(sides, write), calls("now", "before"))
        for name, (about, write) in LOGS.items()
    },
    "inspect-strict": Folder(
        "partial credit of inspect_ai is no verdict",
        partial(sides, inspect_epochs),
        calls("now", "before", options="--input_format inspect,strict_verdicts", formats=()),
    ),
    "table": Folder(
        "a CSV file with columns of its own, a score that is missing and a short row",
        partial(sides, table),
        calls("now/table.csv", "before/table.csv", options=COLUMNS),
    ),
    "table-parquet": Folder(
        "a parquet file with columns of its own",
        partial(sides, parquet_table),
        calls("now/table.parquet", "before/table.parquet", options=COLUMNS, formats=SHORT[:1]),
    ),
    "across-tools": Folder(
        "a run of lm-eval and a log of inspect_ai",
        across,
        calls(
            "now/org__model",
            "before/log.json",
            more=(
                "compare now/org__model before/log.json --pairing partial --json --no_write",
                f"compare now/org__model before/log.json {POSITIONS} --json --no_write",
            ),
        ),
    ),
    "lm-eval-0-2": Folder(
        "results of lm-eval 0.2 without samples",
        of_2023_alone,
        calls("step2000.json", "step1000.json"),
    ),
    **{
        f"lm-eval-{short}": Folder(
            f"lm-eval's layout {name}",
            partial(layout, name),
            calls("old/mine.json" if name.endswith("file") else "old", "new", formats=SHORT[:1]),
        )
        for name, short in OLD.items()
    },
    "nested-values": Folder(
        "values of groups in groups that a script kept", nested_values, calls("now", "before")
    ),
    "stored-alone": Folder(
        "stored scores with standard errors, without samples", stored_alone, calls("now", "before")
    ),
}
