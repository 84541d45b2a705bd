"""What score prints of files on disk, where a wrong conclusion lay near; each through the command line."""

from __future__ import annotations

import csv
import json
import zipfile

import pytest

from evalprep.cli import main
from evalprep.report import build_report
from evalprep.results import load_run
from evalprep.score import score_run
from tests.evalprep.results.writing import STAMP, Row, write_run


@pytest.fixture
def score(capsys):
    def run(*arguments):
        code = main(["score", *map(str, arguments), "--no_write"])
        printed = capsys.readouterr()
        return code, " ".join((printed.out + printed.err).split())

    return run


def edit_results(folder, change):
    path = next(folder.rglob(f"results_{STAMP}.json"))
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def rows_with(values, **metrics):
    return [Row(f"r{at}", value, metrics=metrics or None) for at, value in enumerate(values)]


def test_an_unknown_direction_has_no_arrow(tmp_path, score):
    folder = write_run(tmp_path, {"t": rows_with([1.0, 0.0], own=0.5, other=0.25)})
    edit_results(
        folder, lambda content: content["higher_is_better"].update(t={"own": None, "other": False})
    )
    code, text = score(folder)
    assert code == 0
    assert "t other ↓ 2 25.0" in text
    assert "own ↑" not in text


def test_json_calls_an_unknown_direction_unknown(tmp_path, capsys):
    folder = write_run(tmp_path, {"t": rows_with([1.0, 0.0], own=0.5)})
    edit_results(folder, lambda content: content["higher_is_better"].update(t={"own": None}))
    assert main(["score", str(folder), "--no_write", "--json"]) == 0
    (task,) = json.loads(capsys.readouterr().out)["tasks"]
    assert (task["metric"], task["direction"]) == ("own", "unknown")


@pytest.mark.parametrize(
    ("of_t", "of_u", "expected"),
    [(True, None, "unknown"), (None, True, "unknown"), (True, True, "up"), (False, False, "down")],
)
def test_a_group_has_a_direction_where_all_its_tasks_have_it(
    tmp_path, capsys, of_t, of_u, expected
):
    tasks = {name: rows_with([1.0, 0.0], own=0.5) for name in ("t", "u")}
    folder = write_run(tmp_path, tasks, extra={"group_subtasks": {"both": ["t", "u"]}})
    directions = {"t": {"own": of_t}, "u": {"own": of_u}}
    edit_results(folder, lambda content: content["higher_is_better"].update(directions))
    assert main(["score", str(folder), "--no_write", "--json"]) == 0
    (group,) = json.loads(capsys.readouterr().out)["groups"]
    assert group["direction"] == expected


def test_the_report_says_why_a_group_has_no_value(tmp_path):
    tasks = {name: rows_with([1.0, 0.0], own=0.5) for name in ("t", "u")}
    folder = write_run(tmp_path, tasks, extra={"group_subtasks": {"both": ["t", "u"]}})
    directions = {"t": {"own": True}, "u": {"own": False}}
    edit_results(folder, lambda content: content["higher_is_better"].update(directions))
    run = load_run(folder)
    document = build_report([run], scores=[score_run(run, {})]).document
    assert document["groups"] == []
    (note,) = [note for note in document["runs"][0]["notes"] if note.startswith("both: ")]
    assert "higher is better for some of its tasks and lower for others" in note


@pytest.mark.parametrize(("up", "graded"), [(None, True), (True, False), (False, False)])
def test_no_row_is_right_or_wrong_where_the_direction_is_unknown(tmp_path, capsys, up, graded):
    """The report shows the number in place of a verdict, and `wrong` asks for a known direction."""
    folder = write_run(
        tmp_path, {"t": [Row("a", metrics={"own": 1}), Row("b", metrics={"own": 0})]}
    )
    edit_results(folder, lambda content: content["higher_is_better"].update(t={"own": up}))
    run = load_run(folder)
    document = build_report([run]).document["tasks"]
    assert [(task["graded"], task["one_is_right"]) for task in document] == [(graded, up is True)]


def test_a_run_with_perplexity_alone_has_a_score(tmp_path, score):
    rows = [Row(f"r{at}", metrics={"word_perplexity": [-20.0, 7]}) for at in range(4)]
    folder = write_run(tmp_path, {"wiki": rows})

    def store(content):
        content["results"]["wiki"] = {"word_perplexity,none": 17.3456}
        content["higher_is_better"]["wiki"] = {"word_perplexity": False}

    edit_results(folder, store)
    code, text = score(folder)
    assert code == 0
    assert "wiki 4 17.35 - - -" in text
    assert "wiki: word_perplexity ↓ is computed over all rows at once, as logged" in text
    assert "Further metrics" not in text


def test_the_report_shows_a_perplexity_as_the_score_of_its_task(tmp_path):
    folder = write_run(tmp_path, {"wiki": [Row("r0", metrics={"word_perplexity": [-20.0, 7]})]})

    def store(content):
        content["results"]["wiki"] = {"word_perplexity,none": 17.3456}
        content["higher_is_better"]["wiki"] = {"word_perplexity": False}

    edit_results(folder, store)
    out = tmp_path / "page"
    assert main(["report", str(folder), "--out", str(out), "--format", "md,csv,json,xlsx"]) == 0
    assert "| wiki | 1 | 17.35 | - |" in (out / "report.md").read_text()
    (line,) = csv.DictReader((out / "scores.csv").open())
    assert (line["metric"], line["value"], line["low"]) == ("word_perplexity,none", "17.3456", "")
    (task,) = json.loads((out / "report.json").read_text())["tasks"]
    assert (task["direction"], task["percent"]) == ("down", False)
    assert task["runs"][0]["score"]["value"] == 17.3456
    with zipfile.ZipFile(out / "report.xlsx") as book:
        assert any(b"17.3456" in book.read(name) for name in book.namelist() if "sheet" in name)


def test_every_further_metric_is_shown(tmp_path, score):
    folder = write_run(tmp_path, {"t": rows_with([1.0, 0.0], acc=1.0, acc_norm=0.0)})
    edit_results(
        folder, lambda content: content["results"].update(t={"acc,none": 1.0, "acc_norm,none": 0.0})
    )
    _, text = score(folder)
    assert "Further metrics, as logged, in percent" in text
    assert "t acc_norm ↑ 2 0.0" in text or "t acc ↑ 2 100.0" in text


def test_the_rows_of_a_further_metric_are_those_that_have_a_score(tmp_path, score):
    rows = [Row(f"r{at}", metrics={"acc": 1.0, "hit": 1.0 if at < 3 else None}) for at in range(9)]
    folder = write_run(tmp_path, {"t": rows})
    edit_results(
        folder, lambda content: content["results"].update(t={"acc,none": 1.0, "hit,none": 1.0})
    )
    _, text = score(folder)
    assert "t hit ↑ 3 100.0 - [43.9, 100.0]" in text


def test_a_stored_metric_has_the_rows_of_the_results_file_where_samples_are_missing(
    tmp_path, score
):
    extra = {"n-samples": {"t": {"original": 100, "effective": 100}}}
    folder = write_run(tmp_path, {"t": rows_with([1.0, 0.0, 1.0])}, extra=extra)
    stored = {"exact_match,none": 0.77, "exact_match,loose": 0.81, "exact_match_stderr,loose": 0.04}
    edit_results(folder, lambda content: content["results"].update(t=stored))
    _, text = score(folder)
    assert "t exact_match (loose) ↑ 100 81.0 4.0" in text
    assert "t: 97 of 100 expected rows are missing" in text


def test_rows_without_a_score_are_counted(tmp_path, score):
    values = [None] * 3 + [1.0, 0.0] * 5
    folder = write_run(tmp_path, {"t": [Row(f"r{at}", value) for at, value in enumerate(values)]})
    code, text = score(folder)
    assert code == 0
    assert "t: 3 of 13 rows have no score and are left out" in text


def test_empty_replies_are_counted_where_nothing_is_right(tmp_path, score):
    rows = [Row(f"r{at}", 0.0, response=" ", answer="") for at in range(20)]
    _, text = score(write_run(tmp_path, {"t": rows}))
    assert "t: 20 of 20 replies are empty" in text


def test_a_part_of_the_data_is_named(tmp_path, score):
    extra = {"n-samples": {"t": {"original": 1000, "effective": 100}}}
    folder = write_run(tmp_path, {"t": rows_with([1.0, 0.0] * 50)}, extra=extra)
    _, text = score(folder)
    assert "t: 100 of 1000 rows" in text


@pytest.mark.parametrize("verb", ["score", "report"])
def test_rows_of_one_document_widen_the_interval(verb, tmp_path, capsys):
    rows = [
        Row(f"r{at}", float(at // 10 % 2), doc={"passage": f"p{at // 10}"}) for at in range(120)
    ]
    folder = write_run(tmp_path / "out", {"t": rows})
    widths = []
    for options in ([], ["--cluster", "passage"]):
        out = tmp_path / f"files{len(widths)}"
        more = ["--no_write"] if verb == "score" else ["--out", str(out), "--format", "csv"]
        assert main([verb, str(folder), "--json", *options, *more]) == 0
        data = json.loads(capsys.readouterr().out)
        if verb == "score":
            low, high = data["tasks"][0]["micro"]["interval"]
        else:
            with (out / "scores.csv").open(newline="", encoding="utf-8") as file:
                row = next(csv.DictReader(file))
            low, high = float(row["low"]), float(row["high"])
        widths.append(high - low)
    assert widths[1] > 2 * widths[0]


def test_a_field_that_no_row_has_is_refused(tmp_path, score):
    folder = write_run(tmp_path, {"t": [Row("a", doc={"passage": "p"})]})
    code, text = score(folder, "--cluster", "pasage")
    assert code == 2
    assert "did you mean passage?" in text


def test_the_report_reads_the_metric_that_the_user_names(tmp_path, capsys):
    rows = [Row(f"r{at}", metrics={"acc": 1.0, "acc_norm": float(at % 2)}) for at in range(10)]
    folder = write_run(tmp_path / "out", {"t": rows})
    options = ["--metric", "t=acc_norm", "--out", str(tmp_path / "r"), "--format", "md", "--json"]
    assert main(["report", str(folder), *options]) == 0
    (task,) = json.loads(capsys.readouterr().out)["tasks"]
    assert (task["runs"][0]["metric"], task["runs"][0]["score"]["value"]) == ("acc_norm", 0.5)
