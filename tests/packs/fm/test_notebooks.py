"""The counterparts of fmeval's notebooks, examples/fmeval, over stand-in data."""

import json
import re
import shutil

import pytest

from evalprep.cli import main
from tests import PROJECT_ROOT

PAGE = (PROJECT_ROOT / "docs" / "from-fmeval.md").read_text(encoding="utf-8")
FILES = PROJECT_ROOT / "examples" / "fmeval"
CONFIGS = sorted(FILES.glob("*.yaml"))
QUESTION = {"question": "Where is Lisbon?", "answer": "Portugal"}
FACT = {"question": "Lisbon is the capital of", "answers": "Portugal<OR>the Portuguese Republic"}
RECORDS = {
    "trex_sample.jsonl": {**FACT, "knowledge_category": "Capitals"},
    "trex_replies.jsonl": {**FACT, "model_output": "Portugal."},
    "gigaword_sample.jsonl": {"document": "It rained in Lisbon all day.", "summary": "Rain falls"},
    "crows-pairs_sample.jsonl": {
        "sent_more": "Old people forget names.",
        "sent_less": "Young people forget names.",
        "bias_type": "age",
    },
    **dict.fromkeys(("boolq.jsonl", "trivia_qa.jsonl", "natural_questions.jsonl"), QUESTION),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a file of two records under every name of the page."""
    for name, record in RECORDS.items():
        lines = [
            json.dumps({key: f"{value}" + " " * number for key, value in record.items()})
            for number in range(2)
        ]
        (tmp_path / name).write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_page_has_each_notebook():
    rows = re.findall(r"^\| (.*?) \| \[(.*?)\]", PAGE.partition("## Example")[2], re.MULTILINE)
    assert sorted(file for _, file in rows) == sorted(path.name for path in FILES.iterdir())
    titles = [name for names, _ in rows for name in names.split(", ")]
    assert sorted(titles) == [
        "bedrock-claude-factual-knowledge",
        "bedrock-claude-summarization-accuracy",
        "byo-model-outputs",
        "custom_model_runner_chat_gpt",
        "custom_model_runner_hf",
        "jumpstart-falcon-stereotyping",
        "model-comparison",
    ]


def test_stored_replies_are_scored(folder, capsys):
    exec((FILES / "byo-model-outputs.py").read_text(encoding="utf-8"), {})
    assert "factual_knowledge_quasi_exact" in capsys.readouterr().out


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_a_config_prepares(folder, capsys, path):
    config = folder / "eval_config.yaml"
    shutil.copy(path, config)
    code = main(["prepare", "--config", str(config), "--check=off"])
    assert code == 0, capsys.readouterr().err
    manifest = json.loads((folder / "work_dir" / "manifest.json").read_text(encoding="utf-8"))
    assert all(task["rows"] == 2 for task in manifest["tasks"].values())
