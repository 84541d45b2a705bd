from __future__ import annotations

import csv
import json
import zipfile
from xml.etree import ElementTree as ET

import pytest

from evalprep.cli import main
from evalprep.report import write_report
from evalprep.tables import harmless
from tests.evalprep.report.runs import HOSTILE, capitals, write_run

NS = {"s": "http://schemas.openxmlformats.org/spreadsheetml/2006/main"}


@pytest.fixture(scope="module")
def folder(two_report, tmp_path_factory):
    place = tmp_path_factory.mktemp("report")
    write_report(two_report, place, ("html", "xlsx", "csv", "md", "json"))
    return place


def sheets(path):
    """Sheet name -> rows of cells (type, text), read from the file itself."""
    with zipfile.ZipFile(path) as book:
        names = [
            one.get("name")
            for one in ET.fromstring(book.read("xl/workbook.xml")).iterfind(".//s:sheet", NS)
        ]
        found = {}
        for number, name in enumerate(names, start=1):
            root = ET.fromstring(book.read(f"xl/worksheets/sheet{number}.xml"))
            assert root.find(".//s:f", NS) is None, "a formula"
            assert root.find(".//s:hyperlink", NS) is None, "a link"
            found[name] = [
                {one.get("r").rstrip("0123456789"): cell(one) for one in row.iterfind("s:c", NS)}
                for row in root.iterfind(".//s:row", NS)
            ]
        return found


def cell(one):
    texts = one.findall(".//s:t", NS)
    if texts:
        return "".join(text.text or "" for text in texts)
    value = one.find("s:v", NS)
    return None if value is None else float(value.text)


def test_spreadsheet_has_a_summary_and_one_sheet_per_task(folder, two_report):
    found = sheets(folder / "report.xlsx")
    assert list(found) == ["Scores", "Comparisons", "Runs", "capitals", "hostile", "summaries"]
    assert len(found["capitals"]) == 1 + 40
    head, *rows = found["Scores"]
    place_of = {name: place for place, name in head.items()}
    values = [row[place_of["value"]] for row in rows if row[place_of["kind"]] == "task"]
    expected = [
        run["score"]["value"]
        for task in two_report.document["tasks"]
        for run in task["runs"]
        if run
    ]
    assert sorted(values) == pytest.approx(sorted(expected), abs=1e-15)


def test_hostile_texts_stay_texts_in_the_spreadsheet(folder):
    rows = sheets(folder / "report.xlsx")["hostile"][1:]
    for name in ("formula", "sum", "minus", "at", "script", "template", "bidi"):
        assert HOSTILE[name] in {row.get("D") for row in rows}, name


def test_csv_holds_every_number_and_no_formula(folder, two_report):
    with (folder / "scores.csv").open(newline="", encoding="utf-8") as file:
        scores = list(csv.DictReader(file))
    label = two_report.document["runs"][0]["label"]
    shown = next(
        row
        for row in scores
        if row["run"] == label and row["kind"] == "task" and row["name"] == "capitals"
    )
    assert float(shown["value"]) == two_report.document["tasks"][0]["runs"][0]["score"]["value"]
    with (folder / "samples.csv").open(newline="", encoding="utf-8") as file:
        samples = list(csv.reader(file))
    assert len(samples) == 1 + two_report.document["samples"]["rows"]
    assert len({len(row) for row in samples}) == 1
    for row in samples:
        for text in row:
            assert not text.startswith(("=", "+", "@", "\t", "\r"))
            assert not text.startswith("-") or float(text)


@pytest.mark.parametrize("text", ["=1", "+1", "-1", "@a", "\ta", "\ra"])
def test_formulas_are_disarmed(text):
    assert harmless(text) == f"'{text}"


def test_markdown_holds_the_numbers_and_no_markup_of_others(folder, two_report):
    text = (folder / "report.md").read_text(encoding="utf-8")
    assert "| capitals | 40/37 | 85.0 [70.9, 92.9] |" in text
    assert "<script" not in text
    for line in text.splitlines():
        if line.startswith("|"):
            assert line.endswith("|")


def test_json_is_the_document(folder, two_report):
    assert json.loads((folder / "report.json").read_text(encoding="utf-8")) == two_report.document


@pytest.fixture
def run(tmp_path):
    return write_run(
        tmp_path / "out", {"capitals": capitals(20, wrong=2, unread=1)}, model="org/Model-7B"
    )


def test_the_verb_writes_beside_the_run(run, capsys):
    assert main(["report", str(run)]) == 0
    printed = capsys.readouterr().out
    written = [
        line.removeprefix("written: ")
        for line in printed.splitlines()
        if line.startswith("written")
    ]
    assert [path.rpartition("/")[2] for path in written] == ["report.html"]
    assert main(["report", str(run)]) == 0, "its own output does not disturb it"


def test_the_verb_prints_the_document(run, tmp_path, capsys):
    assert (
        main(["report", str(run), "--out", str(tmp_path / "r"), "--format", "md,csv", "--json"])
        == 0
    )
    printed = json.loads(capsys.readouterr().out)
    assert printed["tasks"][0]["runs"][0]["score"]["value"] == 17 / 20
    names = ["report.md", "scores.csv", "comparisons.csv", "samples.csv"]
    assert [path.rpartition("/")[2] for path in printed["files"]] == names


def test_all_mistakes_are_said_at_once(run, tmp_path, capsys):
    code = main(
        [
            "report",
            str(tmp_path / "none"),
            str(run),
            str(tmp_path / "gone"),
            "--format",
            "htm,pdf",
            "--max-chars",
            "0",
        ]
    )
    assert code == 2
    said = capsys.readouterr().err
    assert "5 mistakes" in said
    for part in ("'htm'", "did you mean", "'pdf'", "none", "gone", "--max_chars"):
        assert part in said
    assert not list(run.rglob("report_*"))


def test_an_output_folder_that_cannot_be(run, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["report", str(run), "--out", str(tmp_path / "file")]) == 2
    assert "--out" in capsys.readouterr().err


def test_a_pack_with_a_mistake_costs_the_suite_scores_and_not_the_report(tmp_path):
    tasks = {"capitals": capitals(5, wrong=1, unread=0)}
    run = write_run(tmp_path / "runs", tasks, model="org/model")
    pack = tmp_path / "packs" / "toy"
    pack.mkdir(parents=True)
    score = {"function": "score.absent", "task": "capitals"}
    content = {"name": "toy", "tasks": {"capitals": {"template": "t.yaml"}}}
    (pack / "pack.yaml").write_text(json.dumps(content | {"suite_scores": {"kept": score}}))
    (pack / "t.yaml").write_text("task: t\n")
    (pack / "score.py").write_text("")
    words = ["report", str(run), "--template_dir", str(pack.parent), "--out", str(tmp_path / "out")]
    assert main([*words, "--format", "md"]) == 0
    page = (tmp_path / "out" / "report.md").read_text()
    assert "suite scores are left out: " in page
    assert "no function 'score.absent'" in page
