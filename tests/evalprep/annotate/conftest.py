"""Runs to be judged, and the command as a function."""

import json

import pytest

from evalprep.annotate.ledger import Ledger
from evalprep.annotate.place import FILE
from evalprep.cli import main
from evalprep.packs.ownership import remember_file
from tests.packs.science.runs import write_run

QA, SUMMARY = "qasper_abstractive_qa", "mup_single_document_summarization"
SECRET = "sk-test-0123456789abcdef"
STAMP = "2026-02-01T08-00-00.000000"


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setattr("evalprep.annotate.asking.FIRST_WAIT", 0.01)


@pytest.fixture
def science_run(tmp_path):
    """Twelve questions and twelve summaries, answered exactly."""
    return write_run(tmp_path / "run", tasks={QA, SUMMARY})


@pytest.fixture
def judge(capsys):
    """A function that runs `evalprep judge` and returns exit code, outcome of `--json` and standard error."""

    def run(folder, url, *more, model="the-judge", other=None):
        capsys.readouterr()
        runs = [str(one) for one in (folder, other) if one is not None]
        code = main(
            ["judge", *runs, "--model", model, "--base_url", url, "--json", *map(str, more)]
        )
        captured = capsys.readouterr()
        return code, json.loads(captured.out) if captured.out else None, captured.err

    return run


def lines(folder):
    """The last attempts of a run that have a reply."""
    path = folder / FILE
    if not path.exists():
        return []
    with Ledger(path) as ledger:
        last = [several[-1] for several in ledger.attempts().values()]
    return [one for one in last if one.status in {"received", "refused", "truncated", "imported"}]


def change_reply(folder, task, index, text):
    """Give one sample of a run another reply."""
    path = folder / f"samples_{task}_{STAMP}.jsonl"
    samples = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    samples[index] |= {"resps": [[text]], "filtered_resps": [text]}
    path.write_text("".join(json.dumps(sample) + "\n" for sample in samples), encoding="utf-8")


def write_tofu_run(
    folder, *, prompt_file=None, replies=("He writes in Baku.", "I do not know.", "")
):
    """A run of one generation task of the unlearning pack, in lm-eval's layout."""
    folder.mkdir(parents=True)
    if prompt_file is not None and prompt_file.exists():
        remember_file(prompt_file)  # as the preparation that named it does
    task = "tofu_forget_gen"
    settings = {"suite": "tofu"} | ({"judge_prompt": str(prompt_file)} if prompt_file else {})
    samples = [
        {
            "doc_id": index,
            "doc": {
                "sample_id": f"forget10-{index}",
                "index": index,
                "prompt": f"Question {index}: where does the author write?",
                "target": f"He writes in Baku, {index}.",
                "stopwords": ["\n\n"],
            },
            "target": f"He writes in Baku, {index}.",
            "arguments": {"gen_args_0": {"arg_0": f"Question {index}", "arg_1": {"until": []}}},
            "resps": [[reply + "\n\nQuestion: more"]],
            "filtered_resps": [reply],
            "filter": "none",
            "metrics": ["rougeL_recall"],
            "rougeL_recall": 0.5,
        }
        for index, reply in enumerate(replies)
    ]
    (folder / f"samples_{task}_{STAMP}.jsonl").write_text(
        "".join(json.dumps(sample) + "\n" for sample in samples)
    )
    metadata = {"pack": "unlearning", "primary_metric": "rougeL_recall", "unlearning": settings}
    results = {
        "results": {task: {"rougeL_recall,none": 0.5}},
        "configs": {task: {"task": task, "metadata": metadata}},
        "higher_is_better": {task: {"rougeL_recall": False}},
        "model_name": "unlearned",
    }
    (folder / f"results_{STAMP}.json").write_text(json.dumps(results))
    return folder
