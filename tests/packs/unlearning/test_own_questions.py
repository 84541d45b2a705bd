"""A forget set of one's own with nothing but questions and answers, through the command line."""

import csv
import json

import pyarrow.parquet as pq
import pytest

from custom_metrics.token_logprobs import Response
from evalprep.cli import main
from tests.evalprep.results.writing import Row, write_run
from tests.loops import each
from tests.packs.unlearning.conftest import write_config

FACTS = [("Who wrote it?", "Ada Bell wrote it."), ("When was it?", "It was in May.")]
NEED_MORE = ["forget_truth_ratio", "forget_quality", "forget_Q_A_PARA_ROUGE"]
NEED_NO_MORE = ["forget_Q_A_Prob", "forget_Q_A_ROUGE", "exact_memorization", "mia_min_k"]


def write_rows(path, **more):
    rows = [{"question": question, "answer": answer, **more} for question, answer in FACTS]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def prepare(tmp_path, tiny_model, capsys, **splits):
    config = write_config(tmp_path, tiny_model(), unlearning={"prompts": "plain", **splits})
    assert main(["prepare", "--config_path", str(config)]) == 0, capsys.readouterr().err
    return capsys.readouterr().err


def roles_of(tmp_path, task):
    rows = pq.read_table(tmp_path / f"work_dir/unlearning/data/{task}.parquet").to_pylist()
    return [row["roles"] for row in rows]


def test_question_and_answer_are_enough(tmp_path, tiny_model, capsys):
    write_rows(tmp_path / "secrets.jsonl")
    write_rows(tmp_path / "unseen.jsonl")
    splits = {"forget_split": "./secrets.jsonl", "holdout_split": "./unseen.jsonl"}
    shown = prepare(tmp_path, tiny_model, capsys, **splits)
    assert roles_of(tmp_path, "tofu_forget_lp") == [["answer"], ["answer"]]
    assert roles_of(tmp_path, "tofu_retain_lp")[0][:2] == ["answer", "paraphrase"]
    (note,) = [line for line in shown.splitlines() if "left out: " in line]
    assert "secrets has no paraphrased_answer and no perturbed_answer; left out: " in note
    names = note.split("left out: ")[1].split(", ")
    assert {*NEED_MORE} <= {*names}
    assert not {*NEED_NO_MORE, "model_utility"} & {*names}


def test_what_the_rows_have_is_kept(tmp_path, tiny_model, capsys):
    write_rows(tmp_path / "kept.jsonl", perturbed_answer=["Bo did.", "Cy did."])
    shown = prepare(tmp_path, tiny_model, capsys, retain_split="./kept.jsonl")
    assert roles_of(tmp_path, "tofu_retain_lp") == [["answer", "wrong", "wrong"]] * 2
    (note,) = [line for line in shown.splitlines() if "left out: " in line]
    assert "kept has no paraphrased_answer; left out: retain_Q_A_PARA_Prob, " in note
    names = note.split("left out: ")[1].split(", ")
    assert names[-1] == "overall_aggregate"
    assert {"retain_Truth_Ratio_prob_mean", "model_utility"} <= {*names}


@pytest.mark.parametrize("cell", ['["Bo did.", "Cy did."]', "['Bo did.', 'Cy did.']"])
def test_several_wrong_answers_in_a_cell_of_a_flat_file_are_a_list(
    tmp_path, tiny_model, capsys, cell
):
    rows = [
        {"question": question, "answer": answer, "perturbed_answer": cell}
        for question, answer in FACTS
    ]
    with (tmp_path / "kept.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    prepare(tmp_path, tiny_model, capsys, retain_split="./kept.csv")
    assert roles_of(tmp_path, "tofu_retain_lp") == [["answer", "wrong", "wrong"]] * 2


def test_a_cell_in_brackets_that_is_no_list_is_refused(tmp_path, tiny_model, capsys):
    text = "question,answer,perturbed_answer\nWho?,Ada.,\"['Bo.' 'Cy.']\"\n"
    (tmp_path / "kept.csv").write_text(text)
    config = write_config(
        tmp_path, tiny_model(), unlearning={"prompts": "plain", "retain_split": "./kept.csv"}
    )
    assert main(["prepare", "--config_path", str(config)]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "no text in column perturbed_answer: row 0" in said
    assert 'in a CSV cell as ["x", "y"]' in said


def test_an_answer_is_needed(tmp_path, tiny_model, capsys):
    (tmp_path / "secrets.jsonl").write_text('{"question": "Who?"}\n')
    config = write_config(
        tmp_path, tiny_model(), unlearning={"prompts": "plain", "forget_split": "./secrets.jsonl"}
    )
    assert main(["prepare", "--config_path", str(config)]) == 2
    assert "answer" in capsys.readouterr().err


def likelihood_run(folder):
    rows = [Row(f"r{at}", doc={"index": at, "roles": ["answer"]}) for at in range(12)]
    tasks = {"tofu_forget_lp": rows, "tofu_holdout_lp": rows}
    home = write_run(folder, tasks, metadata={"pack": "unlearning"})
    for samples in each(home.glob("samples_*")):
        lines = [json.loads(line) for line in samples.read_text().splitlines()]
        for at, line in enumerate(lines):
            reply = Response(logprobs=[-1.0 - at, -2.0, -0.5], greedy=[True, at > 3, True]).dump()
            line |= {"resps": [[reply]], "filtered_resps": [reply]}
        samples.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return home


def test_scores_that_need_more_say_what(tmp_path, capsys):
    home = likelihood_run(tmp_path / "out")
    assert main(["score", str(home), "--no-write", "--json"]) == 0
    suite = {score["name"]: score for score in json.loads(capsys.readouterr().out)["suite"]}
    for name in each(["forget_Q_A_Prob", "exact_memorization", "extraction_strength", "mia_loss"]):
        assert suite[name]["value"] is not None
    assert suite["forget_truth_ratio"]["reason"] == "no row has a paraphrased answer"
    assert suite["forget_quality"]["reason"] == "no row has a paraphrased answer"
