"""What a notebook does: prepare, run, look at runs and comparisons."""

import inspect
import json

import pytest
import yaml

import evalprep
from evalprep import api
from evalprep.cli import main
from evalprep.errors import BadInput
from evalprep.export import PAIR_FIELDS
from evalprep.samples import SAMPLE_FIELDS
from evalprep.tables import Column, Kind, Note, Table
from tests.evalprep.results.writing import Row, write_run

ROWS = [{"question": f"What is {at} + {at}?", "answer": str(2 * at)} for at in range(4)]
CONFIG = {
    "model_name": "dummy",
    "backend": "dummy",
    "tasks": "fm_all",
    "data": [
        {
            "name": "sums",
            "path": "sums.jsonl",
            "fields": {"model_input": "question", "target_output": "answer"},
            "algorithms": ["qa_accuracy"],
            "prompt": "{{ question }}",
        }
    ],
}


@pytest.fixture
def config(tmp_path):
    (tmp_path / "sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    path = tmp_path / "eval_config.yaml"
    path.write_text(yaml.safe_dump(CONFIG))
    return path


def test_a_config_is_prepared_with_keys_of_the_call(config):
    done = api.prepare(config, limit=2)
    assert "--limit 2" in done.lines[0]
    assert list(done.tasks) == ["fm_sums_qa_accuracy"]
    assert (config.parent / "work_dir" / "manifest.json").exists()


def test_mistakes_of_a_config_are_those_of_the_verb(config):
    with pytest.raises(BadInput, match="did you mean limit"):
        api.prepare(config, limitt=2)
    with pytest.raises(BadInput, match="did you mean limit"):
        api.run(config, limitt=2)


#: What stands in for the process of a run: it prints, and ends with a code.
PROCESS = """#!/bin/sh
echo working >&2
cat {printed}
exit {code}
"""


@pytest.fixture
def process(tmp_path, monkeypatch):
    """A function that lets another programme stand for the process of `evalprep run`."""

    def stand(printed, code):
        (tmp_path / "printed.json").write_text(json.dumps(printed))
        script = tmp_path / "python"
        script.write_text(PROCESS.format(printed=tmp_path / "printed.json", code=code))
        script.chmod(0o755)
        monkeypatch.setattr("sys.executable", str(script))

    return stand


def test_a_long_outcome_does_not_stop_a_run(config, process, tmp_path):
    home = write_run(tmp_path / "out", {"t": [Row("q")]}, model="org__a")
    (results,) = home.glob("results_*.json")
    process([{"message": "", "log": "", "results": str(results), "units": "x" * 200_000}], 0)
    assert list(api.run(config).tasks) == ["t"]


def test_what_ends_a_run_is_told(config, process):
    failed = {"message": "no memory left", "log": "log.txt"}
    process([failed], 1)
    with pytest.raises(RuntimeError, match=r"no memory left \(log\.txt\)"):
        api.run(config)
    process({"error": "fault of evalprep", "problems": [{"what": "a fault"}], "traceback": ""}, 70)
    with pytest.raises(RuntimeError, match="a fault"):
        api.run(config)
    process({"error": "bad input", "problems": [{"what": "no such task"}]}, 2)
    with pytest.raises(BadInput, match="no such task"):
        api.run(config)


@pytest.mark.slow
def test_a_config_is_run_and_the_run_is_that_of_the_call(config, capsys):
    whole = api.run(config)
    part = api.run(config, limit=2)
    assert [len(run.tasks["fm_sums_qa_accuracy"].table()) for run in (whole, part)] == [4, 2]
    assert whole.files.run != part.files.run
    assert "prepared 1 task" in capsys.readouterr().err


def test_runs_and_comparisons_show_tables(tmp_path):
    rows = [Row(f"q{at}", correct=at % 2) for at in range(10)]
    home = write_run(tmp_path / "a", {"<t>": rows}, model="org__a")
    other = write_run(tmp_path / "b", {"<t>": rows}, model="org__b")
    run = api.load_run(home)
    assert repr(run).startswith("Run('a 2026")
    page = run._repr_html_()
    assert "<table>" in page
    assert "&lt;t&gt;" in page
    assert "0.5" in page
    page = api.compare_runs(run, other)._repr_html_()
    assert page.count("<table>") == 2
    assert "candidate a 2026" in page
    assert "<t>" not in page


def test_samples_are_a_frame_with_the_documented_columns(tmp_path):
    rows = [Row("a", subtask="x"), Row("b", correct=0.0, previous=True), Row("c", correct=None)]
    home = write_run(tmp_path / "a", {"t": rows, "u": rows[:1]}, filters=("strict", "loose"))
    frame = api.samples_df(home)
    assert list(frame.columns) == [field.name for field in SAMPLE_FIELDS]
    assert frame["sample_id"].tolist() == ["a", "b", "c", "a"]
    assert frame["score"].fillna(-1).tolist() == [1.0, 0.0, -1.0, 1.0]
    assert frame["subtask"].tolist() == ["x", None, None, "x"]
    assert frame["published"].isna().tolist() == [True, False, True, True]
    assert set(frame["scores"][0]) == {"exact_match,strict", "exact_match,loose"}
    assert set(frame["model"]) == {"org/model"}
    loose = api.samples_df(home, "loose", tasks=["t"])
    assert set(loose["metric"]) == {"exact_match,loose"}
    assert len(loose) == 3
    with pytest.raises(BadInput, match=r"(?s)no task has the filter 'loos'.*did you mean loose"):
        api.samples_df(home, "loos")
    nothing = api.samples_df(write_run(tmp_path / "e", {"t": []}, model="org__e"))
    assert list(nothing.columns) == list(frame.columns)
    assert len(nothing) == 0


def test_a_label_without_a_text_is_no_choice(tmp_path, capsys):
    """Data sets with four or five choices keep the fifth as an empty column."""
    options = {"A": "red", "B": "blue", "C": None}
    home = write_run(tmp_path / "a", {"t": [Row("a", doc={"options": options})]})
    assert api.samples_df(home)["choices"][0] == ("red", "blue")
    folder = tmp_path / "logs"
    assert main(["export", str(home), "--to", "every-eval-ever", "--out", str(folder)]) == 0
    (lines,) = folder.rglob("*.jsonl")
    assert json.loads(lines.read_text())["input"]["choices"] == ["red", "blue"]


def test_pairs_are_a_frame_with_the_documented_columns(tmp_path):
    ids = [f"q{at}" for at in range(10)]
    rows = [Row(name, correct=at % 2, previous=bool(at % 3)) for at, name in enumerate(ids)]
    home = write_run(tmp_path / "a", {"t": rows}, model="org__a")
    better = [Row(name, sent="other?" if name == "q9" else None) for name in reversed(ids)]
    other = write_run(tmp_path / "b", {"t": better}, model="org__b")
    frame = api.paired_df(home, other)
    assert list(frame.columns) == [field.name for field in PAIR_FIELDS]
    assert (frame["sample_id"] == frame["baseline_id"]).all()
    assert frame["difference"].tolist() == [-1.0, 0.0] * 5
    assert frame["repeated"].isna().all()
    assert frame["prompt_differs"].tolist() == [False] * 9 + [True]
    assert api.compare_runs(home, other).to_pandas()["n"].tolist() == [len(frame)]
    published = api.paired_df(home)
    assert published["baseline_score"].tolist() == [float(bool(at % 3)) for at in range(10)]


def test_docstrings_have_the_table_of_columns():
    for function, fields in ((api.samples_df, SAMPLE_FIELDS), (api.paired_df, PAIR_FIELDS)):
        lines = inspect.getdoc(function).partition("\nColumns:\n")[2].splitlines()
        assert [line.split()[0] for line in lines] == [field.name for field in fields]
        assert all(field.meaning in line for field, line in zip(fields, lines, strict=True))


def test_a_table_is_shown_as_html():
    table = Table("<title>", [Column("name"), Column("n", Kind.COUNT)], notes=[Note("a & b")])
    table.add("<x>", 3)
    page = table._repr_html_()
    assert "&lt;title&gt;" in page
    assert "&lt;x&gt;" in page
    assert "<p>a &amp; b</p>" in page


def test_all_names_what_the_module_offers():
    assert sorted(api.__all__) == api.__all__
    assert all(hasattr(api, name) for name in api.__all__)
    assert set(evalprep.__dir__()) >= {"samples_df", "paired_df"}
