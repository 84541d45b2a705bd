"""Names that tell runs apart."""

import json

import pytest

from evalprep.cli import main
from evalprep.results import label_runs, load_run

TASK = {"task": "quiz", "output_type": "multiple_choice", "metric_list": [{"metric": "acc"}]}


def labels_of(runs):
    return [run.label for run in label_runs(runs)]


def save_as_python_does(path, model="", right=1):
    """The results that a script got from lm-eval's own function, under a name of its author's."""
    samples = [
        {"doc_id": row, "doc": {"q": row}, "target": "0", "filter": "none"}
        | {
            "arguments": [["q", " a"]],
            "resps": [[["-1", "True"]]],
            "filtered_resps": [["-1", "True"]],
        }
        | {"doc_hash": f"{row:064d}", "acc": float(row % 2 == right), "metrics": ["acc"]}
        for row in range(10)
    ]
    content = {
        "results": {"quiz": {"acc,none": 0.5}},
        "configs": {"quiz": TASK},
        "config": {"model": "hf", "model_args": f"pretrained={model}" if model else ""},
        "samples": {"quiz": samples},
        "date": 1_700_000_000.0 + right,
    }
    path.write_text(json.dumps(content))
    return path


@pytest.mark.parametrize(
    ("model", "labels"),
    [("", ["old", "new"]), ("org/m", ["m, old", "m, new"])],
    ids=["no model named", "the same model"],
)
def test_files_that_a_person_named_go_by_their_names(tmp_path, monkeypatch, capsys, model, labels):
    monkeypatch.chdir(tmp_path)
    files = [
        save_as_python_does(tmp_path / "old.json", model, 0),
        save_as_python_does(tmp_path / "new.json", model, 1),
    ]
    assert labels_of([load_run(path) for path in files]) == labels
    main(["compare", "old.json", "new.json"])
    heading = f"candidate {labels[0]}  against  baseline {labels[1]}"
    assert capsys.readouterr().out.startswith(heading)


def save_under_a_drawn_name(output, drawn, right=1, *, backend="dummy", arguments="", logged=""):
    """The results of `lm_eval --model dummy --output_path OUTPUT`, in a folder of eight letters drawn by chance."""
    folder = output / drawn
    folder.mkdir(parents=True)
    path = save_as_python_does(folder / "results_2026-03-01T10-00-00.000001.json", "", right)
    content = json.loads(path.read_text())
    content["config"] = {"model": backend, "model_args": arguments}
    content |= {"model_name": logged or drawn, "model_name_sanitized": drawn}
    path.write_text(json.dumps(content))
    return output


def test_a_call_without_a_models_name_goes_by_its_back_end_and_the_users_folder(tmp_path):
    folders = [
        save_under_a_drawn_name(tmp_path / name, drawn)
        for name, drawn in [("before the fix", "y9blwvg5"), ("after", "t9nt3w5u")]
    ]
    runs = [load_run(folder) for folder in folders]
    assert labels_of(runs[:1]) == ["dummy"]
    assert labels_of(runs) == ["dummy, before the fix", "dummy, after"]


def test_a_model_of_eight_letters_that_was_named_keeps_its_name(tmp_path):
    named = save_under_a_drawn_name(
        tmp_path / "a", "phi3mini", backend="hf", arguments="pretrained=phi3mini"
    )
    stored = save_under_a_drawn_name(tmp_path / "b", "qwen25ab", backend="stored")
    assert labels_of([load_run(named), load_run(stored)]) == ["phi3mini", "qwen25ab"]


def test_dummy_runs_with_drawn_names_are_one_model_for_every_verb(tmp_path, capsys):
    for name, drawn in [("a", "y9blwvg5"), ("b", "t9nt3w5u")]:
        save_under_a_drawn_name(tmp_path / name, drawn)
    folders = [str(tmp_path / name) for name in ("a", "b")]
    main(["compare", *folders, "--no_write"])
    out = capsys.readouterr().out
    assert out.startswith("candidate dummy, a  against  baseline dummy, b")
    main(["leaderboard", *folders, "--out", str(tmp_path / "board")])
    out += capsys.readouterr().out
    assert "y9blwvg5" not in out
    assert "t9nt3w5u" not in out
