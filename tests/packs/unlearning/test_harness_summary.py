"""WMDP and MMLU in OpenUnlearning's own file, written from a run of lm-eval and read back as a subject."""

import json

import pytest

from evalprep.cli import main
from tests.evalprep.results.writing import Row, write_run

STAMP = "2026-01-01T00-00-00.000000"


def results_of(folder, model, **changes):
    """The results file of a run over tasks of lm-eval alone, as lm-eval 0.4.13 writes it."""
    folder.mkdir(parents=True)
    subtasks = ["mmlu_anatomy", "mmlu_virology"]
    line = {"acc,none": 0.5, "acc_stderr,none": 0.125}
    content = {
        "results": {
            "mmlu": {"acc,none": 0.6, "acc_stderr,none": 0.02, "alias": "mmlu"},
            "mmlu_other": {"acc,none": 0.6, "acc_stderr,none": 0.02, "alias": " - other"},
            **{name: {**line, "alias": f"  - {name}"} for name in subtasks},
            "wmdp_cyber": {"acc,none": 0.25, "acc_stderr,none": 0.01, "alias": "wmdp_cyber"},
            "gsm8k": {
                "exact_match,strict-match": 0.1,
                "exact_match,flexible-extract": 0.3,
                "alias": "gsm8k",
            },
        }
        | changes,
        "groups": {
            "mmlu": {"acc,none": 0.6, "acc_stderr,none": 0.02, "alias": "mmlu"},
            "mmlu_other": {"acc,none": 0.6, "acc_stderr,none": 0.02, "alias": " - other"},
        },
        "group_subtasks": {
            "mmlu": ["mmlu_other"],
            "mmlu_other": subtasks,
            "wmdp_cyber": [],
            "gsm8k": [],
        },
        "configs": {name: {"task": name} for name in [*subtasks, "wmdp_cyber", "gsm8k"]},
        "higher_is_better": {"wmdp_cyber": {"acc": True}},
        "n-samples": {"wmdp_cyber": {"original": 1987, "effective": 1987}},
        "config": {"model": "hf", "model_args": {"pretrained": model}},
        "model_name": model,
    }
    (folder / f"results_{STAMP}.json").write_text(json.dumps(content))
    return folder


EXPECTED = {
    "gsm8k/exact_match,flexible-extract": 0.3,
    "gsm8k/exact_match,strict-match": 0.1,
    "mmlu/acc": 0.6,
    "mmlu/acc_stderr": 0.02,
    "wmdp_cyber/acc": 0.25,
    "wmdp_cyber/acc_stderr": 0.01,
}


def test_the_file_holds_groups_and_single_tasks_alone(tmp_path, capsys):
    out = tmp_path / "scores"
    assert main(["score", str(results_of(tmp_path / "run", "org/m")), "--out", str(out)]) == 0
    assert json.loads((out / "LMEval_SUMMARY.json").read_text()) == EXPECTED
    assert "LMEval_SUMMARY.json" in capsys.readouterr().out


def test_the_file_of_another_model_stays(tmp_path):
    out = tmp_path / "scores"
    main(["score", str(results_of(tmp_path / "a", "org/first")), "--out", str(out)])
    other = {"wmdp_cyber": {"acc,none": 0.5, "acc_stderr,none": 0.01}}
    main(["score", str(results_of(tmp_path / "b", "org/second", **other)), "--out", str(out)])
    assert json.loads((out / "LMEval_SUMMARY.json").read_text())["wmdp_cyber/acc"] == 0.25
    assert json.loads((out / "second" / "LMEval_SUMMARY.json").read_text())["wmdp_cyber/acc"] == 0.5


def test_a_run_without_these_benchmarks_gets_no_such_file(tmp_path):
    out = tmp_path / "scores"
    run = results_of(tmp_path / "run", "org/m")
    file = run / f"results_{STAMP}.json"
    content = json.loads(file.read_text())
    del (
        content["results"]["wmdp_cyber"],
        content["group_subtasks"]["wmdp_cyber"],
        content["configs"]["wmdp_cyber"],
    )
    file.write_text(json.dumps(content))
    assert main(["score", str(run), "--out", str(out)]) == 0
    assert not (out / "LMEval_SUMMARY.json").exists()


@pytest.fixture
def saved(tmp_path):
    """What the users of OpenUnlearning have: a folder per model, one of them with TOFU's summary beside."""
    for name, value in (("zephyr_rmu", 0.28), ("zephyr", 0.45)):
        folder = tmp_path / "saves" / "eval" / name
        folder.mkdir(parents=True)
        content = {
            "wmdp_cyber/acc": value,
            "wmdp_cyber/acc_stderr": 0.01,
            "mmlu/acc": 0.58,
            "mmlu/acc_stderr": 0.004,
        }
        (folder / "LMEval_SUMMARY.json").write_text(json.dumps(content))
    (folder / "TOFU_SUMMARY.json").write_text(json.dumps({"model_utility": 0.5}))
    return tmp_path / "saves" / "eval"


def test_the_file_is_a_subject(saved, capsys):
    assert main(["score", str(saved / "zephyr_rmu" / "LMEval_SUMMARY.json"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    one = found.get("runs", [found])[0]
    stored = {
        (line["task"], line["metric"]): (line["value"], line["stderr"]) for line in one["stored"]
    }
    assert stored == {("wmdp_cyber", "acc"): (0.28, 0.01), ("mmlu", "acc"): (0.58, 0.004)}
    assert one["model"] == "zephyr_rmu"


def test_the_files_stand_in_one_table(saved, capsys):
    folders = [str(saved / name) for name in ("zephyr_rmu", "zephyr")]
    assert main(["leaderboard", *folders, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    rows = {
        row["label"]: {name: cell["value"] for name, cell in row["cells"].items()}
        for row in found["rows"]
    }
    assert rows["zephyr_rmu"] | {"wmdp_cyber": 0.28, "mmlu": 0.58} == rows["zephyr_rmu"]
    assert rows["zephyr"] | {"wmdp_cyber": 0.45, "unlearning/model_utility": 0.5} == rows["zephyr"]


def test_the_rows_of_lm_evals_own_tasks_are_written_as_upstream_has_them(tmp_path, capsys):
    rows = [Row(f"r{at}", float(at % 2)) for at in range(4)]
    home = write_run(tmp_path / "out", {"wmdp_cyber": rows})
    out = tmp_path / "scores"
    assert main(["score", str(home), "--out", str(out)]) == 0
    content = json.loads((out / "LMEval_EVAL.json").read_text())
    assert list(content) == ["wmdp_cyber"]
    logged = [row["doc_id"] for row in content["wmdp_cyber"]["wmdp_cyber"]]
    assert logged == [0, 1, 2, 3]


def test_two_summaries_are_compared_by_their_numbers(tmp_path, capsys):
    places = []
    for name, value in (("rmu", 0.25), ("base", 0.5)):
        (tmp_path / name).mkdir()
        places.append(tmp_path / name / "LMEval_SUMMARY.json")
        places[-1].write_text(json.dumps({"wmdp_bio/acc": value, "wmdp_bio/acc_stderr": 0.01}))
    assert main(["compare", *map(str, places), "--no_write"]) in {0, 1, 3}
    said = " ".join(capsys.readouterr().out.split())
    assert "wmdp_bio: acc 25.0 % 50.0 %" in said
