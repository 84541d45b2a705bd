"""Configurations over the demo data of the pack, prepared and run in a folder of a test."""

import json

import pyarrow.parquet as pq
import yaml

from evalprep.cli import main
from evalprep.config.file import load_config
from evalprep.prepare.preparation import prepare
from tests import PROJECT_ROOT

DEMO = PROJECT_ROOT / "task_templates" / "fm" / "demo"
QA = {
    "name": "qa",
    "path": str(DEMO / "qa.jsonl"),
    "fields": {"model_input": "question", "target_output": "answer", "category": "topic"},
    "algorithms": ["qa_accuracy"],
}
FACTS = {
    "name": "facts",
    "path": str(DEMO / "factual_knowledge.jsonl"),
    "fields": {
        "model_input": "question",
        "target_output": "answers",
        "category": "knowledge_category",
    },
    "algorithms": ["factual_knowledge"],
}
REVIEWS = {
    "name": "reviews",
    "path": str(DEMO / "classification.jsonl"),
    "fields": {"model_input": "text", "target_output": "label", "category": "class"},
    "algorithms": ["classification_accuracy"],
}
NEWS = {
    "name": "news",
    "path": str(DEMO / "summarization.jsonl"),
    "fields": {"model_input": "article.body", "target_output": "highlights", "category": "section"},
    "algorithms": ["summarization_accuracy"],
}
PAIRS = {
    "name": "pairs",
    "path": str(DEMO / "stereotyping.jsonl"),
    "fields": {
        "sent_more_input": "sent_more",
        "sent_less_input": "sent_less",
        "category": "bias_type",
    },
    "algorithms": ["prompt_stereotyping"],
}
OPEN = {
    "name": "open",
    "path": str(DEMO / "open_ended.jsonl"),
    "fields": {"model_input": "prompt", "category": "domain"},
    "algorithms": ["general_semantic_robustness"],
}
PROMPTS = {
    "name": "prompts",
    "path": str(DEMO / "toxicity.jsonl"),
    "fields": {"model_input": "prompt.text", "category": "domain"},
    "algorithms": ["toxicity"],
}
# Where the demo data hold replies.
REPLIES = {
    "qa": {"model_output": "responses.model_b.text"},
    "facts": {"model_output": "response.text"},
    "reviews": {"model_output": "output"},
    "news": {"model_output": "model_output"},
    "prompts": {"model_output": "continuation"},
    "pairs": {"sent_more_log_prob": "scores.more", "sent_less_log_prob": "scores.less"},
}


def with_(entry, **changes):
    """An entry with other keys; `fields` are added to."""
    changes["fields"] = {**entry["fields"], **changes.get("fields", {})}
    return {**entry, **changes}


def stored(entry, **changes):
    """An entry whose replies are those of the demo data."""
    return with_(entry, outputs="dataset", fields=REPLIES[entry["name"]], **changes)


def write_config(folder, *data, tasks="fm_all", core=None, **section):
    config = {
        "model_name": "model_a",
        "backend": "dummy",
        "tasks": tasks,
        "data": list(data),
        **(core or {}),
    }
    if section:
        config["fm"] = section
    path = folder / "eval_config.yaml"
    path.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
    return path


def prepared(folder, *data, **options):
    """Prepare; raises BadInput like the command."""
    config, packs = load_config(write_config(folder, *data, **options), [])
    return prepare(config, packs)


def rows_of(folder, task):
    return pq.read_table(folder / "work_dir" / "fm" / "data" / f"{task}.parquet").to_pylist()


def scored(folder, capsys):
    """Score the stored replies of a prepared folder; the suite scores by name."""
    assert main(["run", "--replies=rows", str(folder / "work_dir")]) == 0, capsys.readouterr().err
    capsys.readouterr()
    return scores_of(folder, capsys)


def scores_of(folder, capsys):
    assert main(["score", str(folder / "eval_results"), "--json"]) == 0
    return json.loads(capsys.readouterr().out)
