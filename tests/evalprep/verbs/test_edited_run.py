"""A run of a work folder that was edited after its preparation, from the preparation to the verbs after the run."""

import json

import pytest

from evalprep.cli import main

ROWS = "id,country,capital\n" + "".join(f"{at},Land {at},City {at}\n" for at in range(6))
SENTENCE = "files differ from those that were prepared: capitals/capitals_qa.yaml edited"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with a prepared task of six questions that lm-eval's dummy will answer."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "capitals.csv").write_text(ROWS)
    template = ("--template_dir", "packs", "--data", "capitals.csv")
    question = ("--prompt", "What is the capital of {country}?", "--target", "capital")
    assert main(["new-pack", "capitals", *template, *question]) == 0
    config = {"model_name": "dummy", "backend": "dummy", "template_dir": "packs"}
    (tmp_path / "eval_config.yaml").write_text(json.dumps(config | {"tasks": "capitals"}))
    assert main(["prepare"]) == 0
    return tmp_path


def edit(project):
    path = project / "work_dir" / "capitals" / "capitals_qa.yaml"
    path.write_text(path.read_text().replace("What is the capital", "Name the capital"))


def records(project):
    paths = (project / "eval_results").glob("run_*.json")
    return {path.stem.removeprefix("run_"): json.loads(path.read_text()) for path in paths}


def said(capsys, *words):
    capsys.readouterr()
    main([str(word) for word in words])
    streams = capsys.readouterr()
    return " ".join((streams.out + streams.err).split())


def test_an_edited_run_has_a_record_of_its_own_that_names_the_edit(project, capsys):
    (prepared_as,) = records(project)
    edit(project)
    assert main(["run"]) == 0
    (edited,) = set(records(project)) - {prepared_as}
    record = records(project)[edited]
    unedited = records(project)[prepared_as]
    assert record.pop("edited") == {
        "prepared_as": prepared_as,
        "files": [{"name": "capitals/capitals_qa.yaml", "kind": "edited"}],
    }
    assert record == unedited | {"run": edited}
    policy = project / "policy.yaml"
    policy.write_text("defaults: {max_drop: 2%}")
    run = "eval_results"
    for words in (
        ("score", run, "--no_write"),
        ("compare", run, run, "--no_write"),
        ("gate", run, run, "--policy", policy),
        ("report", run, "--out", "page"),
        ("rescore", run),
    ):
        out = said(capsys, *words)
        if words[0] != "rescore":
            assert f"run {edited}: {SENTENCE}" in out, words[0]
    (rescored,) = project.glob("eval_results/*/rescored_*")
    assert SENTENCE in said(capsys, "score", rescored, "--no_write")
    assert SENTENCE in (project / "page" / "report.html").read_text()


def test_an_edit_that_a_second_preparation_keeps_stays_marked(project, capsys):
    edit(project)
    assert main(["prepare"]) == 0
    assert main(["run"]) == 0
    marked = [record for record in records(project).values() if "edited" in record]
    assert len(marked) == 1
    assert SENTENCE in said(capsys, "score", "eval_results", "--no_write")


def test_an_unedited_run_is_not_marked(project, capsys):
    assert main(["run"]) == 0
    (record,) = records(project).values()
    assert "edited" not in record
    assert "files differ" not in said(capsys, "score", "eval_results", "--no_write")


def test_edited_data_leave_the_number_of_rows_open(project):
    import pyarrow.parquet as pq

    path = project / "work_dir" / "capitals" / "data" / "capitals_qa.parquet"
    pq.write_table(pq.read_table(path).slice(0, 4), path)
    assert main(["run"]) == 0
    (record,) = [record for record in records(project).values() if "edited" in record]
    assert record["tasks"]["capitals_qa"]["expected"] is None
    assert record["edited"]["files"][0]["name"] == "capitals/data/capitals_qa.parquet"
