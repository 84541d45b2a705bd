"""Two runs side by side: marks, directions, pairs that differ, notes and units, through the command line."""

import json

import pytest

from evalprep.cli import main
from tests.evalprep.compare.small_runs import Task, two_small_runs, verdicts, write_small_run

EQUAL = [float(at % 2) for at in range(300)]
LABELS = ("--label", "now", "--label", "before")


@pytest.fixture
def board_of(tmp_path, capsys):
    def build(now, before, *options):
        homes = two_small_runs(tmp_path, now, before)
        code = main(["leaderboard", *homes, *LABELS, *map(str, options)])
        return code, capsys.readouterr().out

    return build


def data_of(board_of, now, before):
    return json.loads(board_of(now, before, "--json")[1])


def cells_of(data, column):
    return {row["label"]: row["cells"][column] for row in data["rows"]}


def test_pairs_that_differ_are_named_with_difference_and_p(board_of, tmp_path):
    now, before = Task({"acc": verdicts(300, lost=40)}), Task({"acc": [1.0] * 40 + verdicts(260)})
    out = board_of({"a": now}, {"a": before}, "--out", tmp_path / "out")[1]
    assert "a: now worse than before by 13.3 points (p < 1e-4)" in " ".join(out.split())
    for name in ("leaderboard.md", "leaderboard.html"):
        page = (tmp_path / "out" / name).read_text()
        assert "Pairs that differ" in page
        assert "-13.3 [" in page.replace("\\", "")


def test_the_page_states_what_a_shade_means(board_of, tmp_path):
    now, before = Task({"acc": verdicts(30, lost=1)}), Task({"acc": verdicts(30)})
    board_of({"a": now}, {"a": before}, "--out", tmp_path / "out")
    page = (tmp_path / "out/leaderboard.html").read_text()
    assert "whether or not a difference is shown" in page


def perplexity(shift, logged):
    rows = [[-100.0 - at % 9 - shift * (1 + at % 3), 20] for at in range(80)]
    task = Task({"word_perplexity": rows}, {"word_perplexity": False})
    task.stored = {"word_perplexity,none": logged}
    return {"lm": task}


@pytest.mark.parametrize(
    ("logged", "star", "reason"),
    [
        ((209.89, 180.82), "before", None),
        ((0.5, 0.5), None, "the logged values and the rows contradict each other"),
        ((180.82, 209.89), None, "the logged values and the rows contradict each other"),
    ],
)
def test_stars_and_pairs_of_a_perplexity_do_not_contradict_each_other(
    board_of, logged, star, reason
):
    data = data_of(board_of, *(map(perplexity, (1.5, 0.0), logged)))
    leading = [row["label"] for row in data["rows"] if row["cells"]["lm"]["leads"]]
    assert leading == ([star] if star else [])
    assert data["unmarked"].get("lm") == reason
    (pair,) = data["pairs"]
    assert (pair["candidate"], pair["verdict"], pair["change"]) == ("now", "worse", "16.1 %")


def test_contrary_directions_have_no_arrow_and_no_leader(board_of):
    def task(share, direction):
        return {"a": Task({"err": [share] * 299 + [0.9]}, {"err": direction})}

    data = data_of(board_of, task(0.3, False), task(0.2, True))
    assert data["unmarked"]["a"] == "the runs state opposite directions"
    (why,) = cells_of(data, "a")["before"]["why"]
    assert why.startswith("it states that higher err is better, now lower")


def test_the_run_with_fewer_rows_is_marked(board_of):
    data = data_of(board_of, {"a": Task({"acc": EQUAL[:150]})}, {"a": Task({"acc": EQUAL})})
    cells = cells_of(data, "a")
    assert cells["now"]["why"] == ["it has 150 of the 300 rows of before"]
    assert cells["before"]["standing"] == ""


def test_rows_without_a_score_mark_the_run_that_lacks_them(board_of):
    broken = Task({"acc": [None] * 100 + EQUAL[100:]})
    cells = cells_of(data_of(board_of, {"a": broken}, {"a": Task({"acc": EQUAL})}), "a")
    assert cells["now"]["why"] == ["100 of 300 rows of a have no score"]
    assert cells["before"]["standing"] == ""


def test_a_metric_that_a_run_lacks_is_the_reason_of_its_cell(board_of):
    data = data_of(
        board_of, {"a": Task({"acc": EQUAL})}, {"a": Task({"acc": EQUAL, "acc_norm": EQUAL})}
    )
    cell = cells_of(data, "a: acc_norm")["now"]
    assert cell["reason"] == "the run has no acc_norm of a"


def test_settings_are_told_of_the_row_and_the_run_that_it_is_held_against(board_of):
    tasks = ({"a": Task({"acc": EQUAL}, config={"num_fewshot": shots})} for shots in (5, 0))
    cells = cells_of(data_of(board_of, *tasks), "a")
    assert cells["before"]["why"][0].startswith("num_fewshot 0 / 5 (this row / now)")


def test_parts_of_the_data_documents_and_empty_replies_are_noted(board_of):
    task = Task(
        {"acc": EQUAL}, original=1000, doc=lambda at: {"document_id": at // 25}, response=""
    )
    out = " ".join(board_of({"a": task}, {"a": task})[1].split())
    assert "a: a part of the data: 300 of 1000 rows" in out
    assert "`--cluster document_id` counts each as one document" in out
    assert "a: 300 of 300 replies are empty" in out


def test_runs_without_any_score_have_a_reason(board_of):
    task = Task({"bypass": [999.0] * 20})
    code, out = board_of({"a": task}, {"a": task})
    assert code == 3
    assert "a: the run logged no score" in " ".join(out.split())


def test_shares_are_in_percent_in_every_text_and_raw_in_data(board_of, tmp_path):
    graded = Task({"f": [0.25] * 150 + [0.5] * 150, "reward": [3.25] * 300})
    out = board_of({"a": graded}, {"a": graded}, "--out", tmp_path / "out")[1]
    assert "37.5" in out
    for name in ("leaderboard.md", "leaderboard.html"):
        page = (tmp_path / "out" / name).read_text()
        assert "37.5" in page
        assert "0.3750" not in page
    assert "0.375" in (tmp_path / "out" / "leaderboard.csv").read_text()


def test_a_run_without_rows_does_not_hide_the_unit_of_the_others(board_of):
    none, some = Task({"acc": []}), Task({"acc": EQUAL})
    data = data_of(board_of, {"a": none, "b": some}, {"a": some, "b": some})
    units = {column["id"]: column["unit"] for column in data["columns"]}
    assert units == {"a": "share", "b": "share"}


# --- runs that are named beforehand

FOUR = {"first": 0, "second": 40, "third": 44, "fourth": 90}


@pytest.fixture
def four(tmp_path, capsys):
    """The board of four runs, each with more rows lost, and the options that it is asked with."""
    homes = [
        write_small_run(tmp_path / name, {"a": Task({"acc": [0.0] * lost + [1.0] * (300 - lost)})})
        for name, lost in FOUR.items()
    ]

    def ask(*options):
        words = ["leaderboard", *homes, "--label", ",".join(FOUR), *options]
        code = main(list(map(str, words)))
        shown = capsys.readouterr()
        return code, shown.out or shown.err

    return ask


def said(board):
    data = json.loads(board[1])
    pairs = {(pair["candidate"], pair["baseline"]): pair["verdict"] for pair in data["pairs"]}
    stars = [row["label"] for row in data["rows"] if row["cells"]["a"]["leads"]]
    return pairs, stars, data["tested_pairs"]


def test_without_a_name_every_pair_is_of_the_family(four):
    pairs, stars, tested = said(four("--json"))
    assert (len(pairs), stars, tested) == (5, ["first"], 6)


def test_a_candidate_alone_has_words(four):
    pairs, stars, tested = said(four("--candidate", "second", "--json"))
    assert pairs == {("second", "first"): "worse", ("second", "fourth"): "better"}
    assert (stars, tested) == ([], 3)
    _, out = four("--candidate", "second")
    out = " ".join(out.split())
    reason = "first has the best value, and words stand for pairs with second alone (--candidate)"
    assert f"Nothing is marked for a: {reason}." in out
    assert "words stand for pairs with second alone (--candidate); all other pairs" in out


def test_the_best_value_leads_where_it_is_the_candidate(four):
    pairs, stars, _ = said(four("--candidate", "first", "--json"))
    assert (stars, set(pairs.values())) == (["first"], {"better"})


def test_each_run_is_compared_with_the_baseline(four):
    pairs, _, tested = said(four("--baseline", "second", "--json"))
    assert pairs == {("first", "second"): "better", ("fourth", "second"): "worse"}
    assert tested == 3


def test_a_candidate_and_a_baseline_are_one_pair(four, tmp_path):
    place = tmp_path / "third"
    pairs, _, tested = said(four("--candidate", place, "--baseline", "first", "--json"))
    assert (pairs, tested) == ({("third", "first"): "worse"}, 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--candidate", "secnd"), "no run 'secnd'"),
        (("--candidate", "first", "--baseline", "first"), "is the candidate and the baseline"),
    ],
)
def test_a_name_that_is_no_run_of_the_table_is_refused(four, options, message):
    code, shown = four(*options)
    assert (code, message in shown) == (2, True)
