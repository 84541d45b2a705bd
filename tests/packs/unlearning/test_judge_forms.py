"""A prompt file of OpenUnlearning over a log, and ratings of its judge."""

import json

import pytest

from evalprep.annotate import find_rubric
from evalprep.cli import main
from evalprep.results import open_run, row_mappings
from tests.packs.unlearning import upstream

PROMPT = """
def create_prompt(context_type, input_text, ground_truth, generation):
    return "|".join((context_type, input_text, ground_truth, generation))
"""


@pytest.fixture
def place(tmp_path):
    upstream.save(tmp_path / "npo", upstream.tofu(3))
    upstream.save(tmp_path / "npo", upstream.muse(4), "MUSE")
    return tmp_path / "npo"


def test_a_prompt_file_gets_upstream_s_contexts_and_rows_with_replies_alone(place, packs, tmp_path):
    (tmp_path / "prompt.py").write_text(PROMPT)
    rubric = find_rubric(str(tmp_path / "prompt.py"), packs.values())
    run = open_run(place, packs.values())
    rows = {name: row_mappings(task) for name, task in run.tasks.items()}
    metadata = {name: task.metadata for name, task in run.tasks.items()}
    asked = {}
    for item in rubric.items(rows, metadata):
        asked.setdefault(item.samples[0].task, []).append(item.input.split("|"))
    assert {name: texts[0][0] for name, texts in asked.items()} == {
        "tofu_forget_gen": "forget_Q_A_ROUGE",
        "tofu_retain_gen": "retain_Q_A_ROUGE",
        "tofu_ra_gen": "ra_Q_A_ROUGE",
        "tofu_wf_gen": "wf_Q_A_ROUGE",
        "muse_forget_knowmem": "forget_knowmem_ROUGE",
        "muse_retain_knowmem": "retain_knowmem_ROUGE",
        "muse_verbmem_gen": "forget_verbmem_ROUGE",
    }
    assert asked["tofu_forget_gen"][0][1] == "Which river of forget is number 0?"
    assert not any(
        word in text
        for texts in asked.values()
        for text in texts
        for word in ("system", "assistant")
    )


def test_ratings_of_upstream_s_judge_are_taken_over(place, tmp_path, capsys):
    names = ("KNOWLEDGE_REMOVAL", "VERBATIM_REMOVAL", "FLUENCY")
    scores = {
        str(at): {"scores": dict.fromkeys(names, at % 11), "evaluation": "..."} for at in range(40)
    }
    file = tmp_path / "LLM_Judge_evaluation_batch_extracted.json"
    file.write_text(json.dumps({"forget_Q_A_ROUGE": {"value_by_index": scores}}))
    arguments = [
        "--model",
        "gpt-4.1-mini",
        "--tasks",
        "tofu_forget_gen",
        "--import_ratings",
        str(file),
    ]
    assert main(["judge", str(place), *arguments]) == 0
    assert "40 ratings taken over" in capsys.readouterr().out
    assert main(["score", str(place), "--no_write", "--json"]) == 0
    suite = {score["name"]: score for score in json.loads(capsys.readouterr().out)["suite"]}
    expected = sum(at % 11 for at in range(40)) / 40
    assert suite["forget_Q_A_judge"]["value"] == pytest.approx(expected)


def test_ratings_of_all_contexts_are_taken_over_at_once(place, tmp_path, capsys):
    forget = ("KNOWLEDGE_REMOVAL", "VERBATIM_REMOVAL", "FLUENCY")
    retain = ("RETENTION_SCORE", "ACCURACY", "RELEVANCE", "FLUENCY")
    contexts = {}
    for context, names in (("forget_Q_A_ROUGE", forget), ("retain_Q_A_ROUGE", retain)):
        rows = {str(at): {"scores": dict.fromkeys(names, 4)} for at in range(20)}
        rows["3"]["scores"] = dict.fromkeys(names, -1000000)  # a reply that upstream cannot read
        contexts[context] = {"value_by_index": rows}
    file = tmp_path / "LLM_Judge_evaluation_batch_extracted.json"
    file.write_text(json.dumps(contexts))
    arguments = ["--model", "gpt-4.1-mini", "--import_ratings", str(file)]
    assert main(["judge", str(place), *arguments]) == 0
    assert "38 ratings taken over" in capsys.readouterr().out
    assert main(["score", str(place), "--no_write", "--json"]) == 0
    suite = {score["name"]: score for score in json.loads(capsys.readouterr().out)["suite"]}
    for name in ("forget_Q_A_judge", "retain_Q_A_judge"):
        assert (suite[name]["value"], suite[name]["n"]) == (4.0, 19)
