"""What a judge said of a sample stands beside it, as long as it speaks of this reply."""

import json

import pytest

from evalprep.cli import main
from evalprep.packs.finding import find_packs
from evalprep.report import build_report, judgements_of, write_report
from evalprep.report.samples import sample_columns
from evalprep.results import load_run
from tests import PROJECT_ROOT
from tests.evalprep.annotate.conftest import SUMMARY, change_reply
from tests.evalprep.annotate.services import serve as chat
from tests.evalprep.report import chromium
from tests.evalprep.report.test_page import unpack
from tests.packs.science.runs import write_run

PACKS = find_packs(PROJECT_ROOT / "task_templates")


@pytest.fixture
def judged(tmp_path, monkeypatch, capsys):
    """A run of which every reply but each sixth got a rating."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    folder = write_run(tmp_path / "run", tasks={SUMMARY})
    with chat(
        lambda _, number, __: "no <b>idea</b>" if number % 6 == 0 else f"Rating: {number % 5 + 1}"
    ) as server:
        options = [
            "--model",
            "the-judge",
            "--base_url",
            server.url,
            "--model_args",
            "num_concurrent=1",
            "--model_args",
            "max_retries=0",
        ]
        assert main(["judge", str(folder), *options]) == 0
    capsys.readouterr()
    return folder


def test_the_page_has_the_judgements_of_the_replies_it_shows(judged):
    change_reply(judged, SUMMARY, 3, "another reply")
    run = load_run(judged)
    judgements = judgements_of(run, PACKS)[0]
    assert 3 not in judgements[SUMMARY]
    report = build_report([run], judgements=[judgements])
    texts = [text for chunk in report.chunks for text in unpack(chunk)]
    said = [text["replies"][0].get("judge") for text in texts]
    assert said[3] is None
    known = [one for one in said if one]
    assert {one["judge"] for one in known} == {"the-judge"}
    assert {one["status"] for one in known} == {"ok", "parse_error"}
    for one in known:
        rated = one["status"] == "ok"
        assert (one["reply"].startswith("Rating:"), bool(one["ratings"])) == (rated, rated)


def test_judgements_are_found_where_a_second_command_came_later(judged):
    (samples,) = judged.glob("samples_*.jsonl")
    later = "2099-01-01T00-00-00"
    (judged / f"samples_other_{later}.jsonl").write_text(samples.read_text())
    (judged / f"results_{later}.json").write_text("{}")
    for timestamp in ("newest", "each"):
        run = load_run(judged, timestamp=timestamp)
        assert {*run.tasks} == {SUMMARY, "other"}
        assert {*judgements_of(run, PACKS)[0]} == {SUMMARY}
    assert judgements_of(load_run(judged, timestamp=later), PACKS)[0] == {}


def test_judgements_that_cannot_be_read_leave_a_note_and_the_report(judged, tmp_path):
    (judged / "annotations.sqlite").write_text("nonsense\n")
    assert judgements_of(load_run(judged), PACKS)[0] == {}
    assert main(["report", str(judged), "--out", str(tmp_path / "out"), "--format", "json"]) == 0
    assert json.loads((tmp_path / "out" / "report.json").read_text())["tasks"][0]["name"] == SUMMARY


def test_a_run_without_a_judge_has_no_judgements(two_runs):
    assert judgements_of(two_runs[0], PACKS)[0] == {}


def test_the_tables_have_ratings_and_words(judged, tmp_path):
    import csv

    assert (
        main(["report", str(judged), "--out", str(tmp_path / "out"), "--format", "csv,xlsx"]) == 0
    )
    with (tmp_path / "out" / "samples.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["judge"] for row in rows} == {"the-judge"}
    by_status = {row["judge_status"]: row for row in rows}
    assert by_status["parse_error"]["rating judge_rating"] == ""
    assert by_status["parse_error"]["judge_reply"] == "no <b>idea</b>"
    assert by_status["ok"]["judge_reply"].startswith(
        f"Rating: {by_status['ok']['rating judge_rating'][0]}"
    )


def test_a_run_without_a_judge_has_no_columns_for_one(two_runs, tmp_path):
    report = build_report(two_runs)
    assert not any("judge" in column.name for column in sample_columns(report))


@pytest.mark.browser
@pytest.mark.skipif(
    chromium.find() is None, reason="no Chromium on this machine (apt-get install chromium)"
)
def test_the_samples_view_shows_them(judged, tmp_path):
    run = load_run(judged)
    judgements = judgements_of(run, PACKS)[0]
    file = write_report(build_report([run], judgements=[judgements]), tmp_path)[0]
    refused = sum(
        judgement["status"] == "parse_error" for judgement in judgements[SUMMARY].values()
    )
    page = chromium.Page()
    try:
        page.size(1280)  # where list and sample stand side by side, the first one is open at once
        page.open(file, "#samples?search=idea")
        page.wait("document.querySelector('.judged')")
        shown = " ".join(page.js("document.querySelector('.judged').innerText").split())
        assert page.js("document.querySelector('.status').innerText").startswith(f"{refused} of")
    finally:
        page.close()
    assert "Judged by the-judge" in shown
    assert "parse error" in shown
    assert "no <b>idea</b>" in shown
    assert page.errors == []
