"""What judges said in sum: scores and reports show disagreements first, distributions, preferences."""

import csv
import json
import shutil

import pytest

from custom_metrics.statistics import rows_interval
from evalprep.cli import main
from evalprep.packs.finding import find_packs
from evalprep.results import load_run
from evalprep.score import score_run
from tests import PROJECT_ROOT
from tests.evalprep.annotate.conftest import SUMMARY, change_reply
from tests.evalprep.annotate.services import serve
from tests.evalprep.report import chromium
from tests.packs.science.runs import write_run

PACKS = find_packs(PROJECT_ROOT / "task_templates")


def ratings(folder):
    return score_run(load_run(folder), PACKS).ratings


@pytest.fixture
def asked(science_run, judge):
    """Two judges; the second, whose ratings count, gives a point more to each fourth reply and leaves one unread."""
    for model, shift in (("one", 0), ("two", 1)):
        said = [f"Rating: {1 + (at + 2 * shift * (at % 4 == 0)) % 5}" for at in range(13)]
        said[5] = said[5] if not shift else "no idea"
        with serve(lambda _, number, __, said=said: said[number]) as server:
            options = ("--tasks", SUMMARY, "--model_args", "num_concurrent=1,max_retries=0")
            judge(science_run, server.url, *options, model=model)
    return science_run


def test_judges_stand_beside_each_other(asked):
    (one,) = ratings(asked).values
    assert (one.task, one.name, one.low, one.high, one.asked) == (SUMMARY, "judge_rating", 1, 5, 12)
    counts, other = one.raters
    assert (counts.judge, counts.n, counts.both, one.reasons) == (
        "two",
        11,
        None,
        {"parse_error": 1},
    )
    assert (other.judge, other.n, other.both, other.equal) == ("one", 12, 11, 8)
    assert sum(counts.distribution.values()) == 11
    assert counts.low < counts.mean < counts.high
    assert -1 < other.alpha < 1


def test_equal_ratings_have_the_interval_of_their_scale(science_run, judge):
    with serve(lambda *_: "Rating: 5") as server:
        options = ("--tasks", SUMMARY, "--model_args", "num_concurrent=1,max_retries=0")
        judge(science_run, server.url, *options, model="one")
    (rated,) = ratings(science_run).values
    (rater,) = rated.raters
    assert (rater.mean, rater.high, rater.n) == (5, 5, 12)
    low, _ = rows_interval([5.0] * 12, bounds=(1.0, 5.0))
    assert rater.low == low < 4


def test_the_furthest_apart_come_first(asked):
    (one,) = ratings(asked).values
    assert one.differing == len(one.apart) == 3
    spreads = [sample.spread for sample in one.apart]
    assert spreads == sorted(spreads, reverse=True)
    first = one.apart[0]
    assert abs(first.votes["one"][0] - first.votes["two"][0]) == first.spread


def test_votes_of_one_judge_differ(science_run, judge, tmp_path):
    own = tmp_path / "clear.yaml"
    own.write_text(
        "version: 1\nvalues: [clarity]\ndraws: 3\nfields: {reply: response}\nprompt: |\n  ${reply}\n"
    )
    with serve(lambda _, number, __: f"clarity: {1 + number % 2}") as server:
        judge(
            science_run,
            server.url,
            "--rubric",
            own,
            "--tasks",
            SUMMARY,
            "--model_args",
            "num_concurrent=1",
        )
    (one,) = ratings(science_run).values
    assert (one.rubric, one.name, len(one.raters), one.differing) == ("clear", "clarity", 1, 12)
    assert {len(sample.votes["the-judge"]) for sample in one.apart} == {3}


def test_a_reply_that_changed_has_no_rating(asked):
    change_reply(asked, SUMMARY, 3, "another reply")
    (one,) = ratings(asked).values
    assert one.raters[0].n == 10
    assert one.reasons == {"parse_error": 1, "not asked": 1}


def test_the_tables_have_disagreements_first(asked, tmp_path, capsys):
    assert main(["score", str(asked), "--no-write"]) == 0
    said = capsys.readouterr().out
    assert "11 of 12" in said
    assert main(["report", str(asked), "--out", str(tmp_path), "--format", "csv,xlsx,md,json"]) == 0
    with (tmp_path / "disagreements.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 3
    assert rows[0]["votes"].startswith("two: ")
    with (tmp_path / "ratings.csv").open(encoding="utf-8", newline="") as file:
        assert [row["rated"] for row in csv.DictReader(file)] == ["11", "12"]
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert text.index("## Disagreements") < text.index("## Ratings") < text.index("## Replies")
    assert (
        len(json.loads((tmp_path / "report.json").read_text())["ratings"][0]["values"][0]["apart"])
        == 3
    )


class TestPreferences:
    @pytest.fixture
    def two(self, tmp_path, judge):
        """Two runs compared by a judge that prefers the reply with "second" in it, whatever its place, but for one."""
        first = write_run(tmp_path / "first", tasks={SUMMARY})
        second = tmp_path / "second"
        shutil.copytree(first, second)
        for at in range(12):
            change_reply(second, SUMMARY, at, f"second {at} of them")

        def answer(prompt, *_):
            if "second 7 of them" in prompt:
                return "Verdict: A"
            return (
                f"Verdict: {'A' if prompt.index('second ') < prompt.index('<<< answer_b') else 'B'}"
            )

        with serve(answer) as server:
            code, *_ = judge(first, server.url, "--rubric", "preference", other=second)
        assert code == 0
        return first, second

    def test_scores_and_reports_have_them(self, two, tmp_path, capsys):
        (one,) = ratings(two[0]).preferences
        assert (one.found["wins"], one.found["ties"], one.found["losses"], one.asked) == (
            0,
            1,
            11,
            12,
        )
        assert len(one.apart) == one.found["flips"]["count"] == 1
        assert main(["score", str(two[0]), "--no-write"]) == 0
        assert "0/1/11" in capsys.readouterr().out
        assert main(["report", str(two[0]), "--out", str(tmp_path / "out"), "--format", "csv"]) == 0
        with (tmp_path / "out" / "preferences.csv").open(encoding="utf-8", newline="") as file:
            (row,) = csv.DictReader(file)
        assert (row["won"], row["tied"], row["lost"], row["follow the place"]) == (
            "0",
            "1",
            "11",
            "1",
        )
        assert (tmp_path / "out" / "disagreements.csv").is_file()

    def test_a_run_that_is_gone_is_said(self, two):
        shutil.rmtree(two[1])
        found = ratings(two[0])
        assert not found.preferences
        assert "no longer at" in found.notes[0]


@pytest.mark.browser
@pytest.mark.skipif(
    chromium.find() is None, reason="no Chromium on this machine (apt-get install chromium)"
)
def test_the_page_shows_judges(asked, tmp_path):
    assert main(["report", str(asked), "--out", str(tmp_path)]) == 0
    page = chromium.Page()
    try:
        page.open(tmp_path / "report.html", "#judges")
        page.wait("document.querySelectorAll('main table').length == 2")
        tables = page.js("[...document.querySelectorAll('main table')].map((one) => one.innerText)")
    finally:
        page.close()
    assert "two: " in tables[0]
    assert "8 of 11 equal" in " ".join(tables[1].split())
    assert page.errors == []
