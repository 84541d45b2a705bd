"""A prepared suite on the pack's own rows, and a run of it with replies of a test's choice."""

import importlib
import json

import pyarrow.parquet as pq
import yaml

from evalprep.config.file import load_config
from evalprep.prepare.preparation import prepare

STAMP = "2026-02-01T08-00-00.000000"
ALL = {
    "stand_ins": True,
    "run_code": True,
    "judge": True,
    "toxicity": "words",
    "sentiment": "words",
    "directors": 2,
}


def prepared(folder, *, tasks="compliance", compliance=None, **core):
    """Prepare; returns the preparation."""
    config = {"model_name": "some/model", "tasks": tasks, "backend": "dummy", **core}
    config["compliance"] = ALL if compliance is None else compliance
    path = folder / "eval_config.yaml"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    return prepare(*load_config(path))


def rows_of(folder, task):
    return pq.read_table(
        folder / "work_dir" / "compliance" / "data" / f"{task}.parquet"
    ).to_pylist()


def template_of(folder, task):
    text = (folder / "work_dir" / "compliance" / f"{task}.yaml").read_text(encoding="utf-8")
    return yaml.safe_load(text.replace("!function ", ""))


def gold(task, row):
    """Replies that a good model would give, in the form in which lm-eval hands them to `process_results`."""
    if "choices" in row:
        truth = range(row["n_true"]) if "n_true" in row else [row["target"]]
        return [(-0.1 if place in truth else -40.0, False) for place in range(len(row["choices"]))]
    if task == "compliance_reddit_bias":
        return [
            json.dumps({"n": 3, "sum": -3.0, "logprobs": [-1.0, -1.0, -1.0], "greedy": [True] * 3})
        ]
    if task == "compliance_human_eval":
        return [[row["target"]] * 10]
    if task == "compliance_memorization":
        return [["Something else entirely."] * 5]
    if task == "compliance_multiturn_goal_hijacking":
        return [
            json.dumps(
                [
                    _kept(row, message["content"])
                    for message in row["messages"]
                    if message["role"] != "system"
                ]
            )
        ]
    if task == "compliance_forecasting_consistency":
        value = 10 + row["place"] if row["direction"] == "increasing" else 90 - row["place"]
        return [json.dumps([f"It may be so.\n[Answer] {value}"])]
    if "messages" in row:
        return [json.dumps([row.get("label", "Nobody knows.")])]
    if task == "compliance_bbq":
        return [f"[ANSWER] Option {row['label'] + 1}"]
    if task == "compliance_fairllm":
        return [
            "\n".join(
                f"{place}. Film {place * row['director'].count('a')}" for place in range(1, 21)
            )
        ]
    if task == "compliance_decoding_trust":
        return [row["label"]]
    if task == "compliance_bold":
        return ["was praised for a great success by him and by her."]
    return [row["target"] if task == "compliance_i_know_answer" else "No."]


def _kept(row, message):
    params = json.loads(row["params"])
    if row["scenario"] == "AnimalSounds":
        return dict(zip(params["animals"], params["sounds"], strict=True)).get(
            message.lower(), "I play."
        )
    if row["scenario"] in {"Questions", "BinarySearch"}:
        return "Correct" if message == str(params["secret"]) else "Too low"
    if row["scenario"] == "SimonSays":
        return (
            f"[{message.removeprefix('Simon says: ')}]"
            if message.startswith("Simon says: ")
            else "Invalid"
        )
    return "Hodor" if row["scenario"] == "Hodor" else "A fair sum."


def write_run(folder, out, replies=gold, tasks=None, limit=4):
    """Write lm-eval's files for every task of a prepared folder, scored by its own `process_results`."""
    manifest = json.loads((folder / "work_dir" / "manifest.json").read_text(encoding="utf-8"))
    out.mkdir(parents=True, exist_ok=True)
    configs, results = {}, {}
    for task, facts in manifest["tasks"].items():
        if facts.get("rows") is None or (tasks is not None and task not in tasks):
            continue
        template = template_of(folder, task)
        module, _, function = template["process_results"].rpartition(".")
        score = getattr(importlib.import_module(module), function)
        name = template["metadata"]["primary_filter"]
        lines = []
        for number, row in enumerate(rows_of(folder, task)):
            said = replies(task, row)
            values = score(row, said)
            lines.append(
                {
                    "doc_id": number,
                    "doc": row,
                    "target": str(row["target"]),
                    "arguments": {"gen_args_0": {"arg_0": row["prompt"], "arg_1": {}}},
                    "resps": [
                        said
                        if isinstance(said[0], str)
                        else said[0]
                        if isinstance(said[0], list)
                        else said
                    ],
                    "filtered_resps": said,
                    "filter": name,
                    "metrics": list(values),
                    **values,
                }
            )
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (out / f"samples_{task}_{STAMP}.jsonl").write_text(text, encoding="utf-8")
        configs[task] = {
            "task": task,
            "dataset_kwargs": template["dataset_kwargs"],
            "metadata": {**template["metadata"], "run": manifest["run"]},
        }
        results[task] = {"alias": task}
    data = {
        "results": results,
        "configs": configs,
        # The arguments are those of the prepared command: results of other ones would not stand for
        # it.
        "config": {
            "model": "dummy",
            "model_args": manifest["commands"][0]["engine"]["model_args"],
            "limit": limit,
        },
        "model_name": "some/model",
        "lm_eval_version": "0.4.13",
    }
    (out / f"results_{STAMP}.json").write_text(json.dumps(data), encoding="utf-8")
    record = folder / "eval_results" / f"run_{manifest['run']}.json"
    if record.is_file():
        (out / record.name).write_text(record.read_text(encoding="utf-8"), encoding="utf-8")
    return out
