"""Joins: one row per row, in order, every case counted; nothing multiplied, nothing null."""

import datetime as dt
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalprep.data import joining, keyed
from evalprep.data.joining import GroundTruth, JoinReport, join, normalise
from evalprep.data.sources import open_source
from tests.loops import each

TRUTH = [
    {"q": "exact", "a": 1},
    {"q": "two  blanks ", "a": 2},
    {"q": "cafe\u0301", "a": 3},
    {"q": "twice", "a": 4},
    {"q": "twice", "a": 4},
    {"q": "differ", "a": 5},
    {"q": "differ", "a": 6},
    {"q": None, "a": 7},
]


def run(questions, truth=TRUTH):
    report = JoinReport()
    rows = ({"q": question} for question in questions)
    pairs = list(join(rows, GroundTruth(truth, "q"), texts=lambda row: [row["q"]], report=report))
    return [(row["q"], found["a"]) for row, found in pairs], report


@pytest.mark.parametrize(
    ("question", "answer", "counts"),
    [
        pytest.param("exact", 1, (1, 0, 0, 0), id="exact"),
        pytest.param("two blanks", 2, (0, 1, 0, 0), id="whitespace"),
        pytest.param("caf\u00e9", 3, (0, 1, 0, 0), id="NFC"),
        pytest.param("twice", 4, (1, 0, 0, 0), id="two that agree"),
        pytest.param("differ", 5, (1, 0, 0, 1), id="two that disagree"),
        pytest.param("nowhere", None, (0, 0, 1, 0), id="unmatched"),
        pytest.param("\ud800 lone surrogate", None, (0, 0, 1, 0), id="not encodable"),
    ],
)
def test_one_row(question, answer, counts):
    pairs, report = run([question])
    assert pairs == ([(question, answer)] if answer else [])
    assert (report.exact, report.normalised, report.unmatched, report.ambiguous) == counts
    json.dumps(report.as_dict(), ensure_ascii=False).encode()  # the manifest is UTF-8


def test_order_and_repeats_are_kept():
    pairs, report = run(["twice", "nowhere", "exact", "twice"])
    assert pairs == [("twice", 4), ("exact", 1), ("twice", 4)]
    assert report.rows == 4


@given(st.lists(st.sampled_from(["exact", "two blanks", "twice", "differ", "nowhere"])))
def test_rows_are_neither_lost_nor_multiplied(questions):
    pairs, report = run(questions)
    assert report.rows == len(questions) == report.exact + report.normalised + report.unmatched
    assert [question for question, _ in pairs] == [
        question for question in questions if question != "nowhere"
    ]


def test_fallback_spelling_counts_as_normalised():
    report = JoinReport()
    pairs = list(
        join(
            [{"q": "Exact"}],
            GroundTruth(TRUTH, "q"),
            texts=lambda row: [row["q"], row["q"].lower()],
            report=report,
        )
    )
    assert len(pairs) == 1
    assert (report.exact, report.normalised) == (0, 1)


@pytest.mark.parametrize(
    ("unmatched", "total", "fails"),
    [(1, 1, False), (1, 69, False), (2, 69, True), (2, 200, False), (3, 200, True)],
)
def test_threshold_of_one_percent_and_at_least_one_row(unmatched, total, fails):
    _, report = run(["nowhere"] * unmatched + ["exact"] * (total - unmatched))
    problems = report.problems(threshold=0.01, where="task")
    assert bool(problems) is fails
    if fails:
        assert "'nowhere'" in str(problems[0])


@given(st.text())
def test_normalise_is_idempotent(text):
    assert normalise(normalise(text)) == normalise(text)


TEXTS = st.text(alphabet="aé\u0301 \n\ud800", max_size=4)


@given(
    st.lists(st.tuples(TEXTS, st.integers(0, 2)), max_size=12),
    st.lists(st.lists(st.one_of(TEXTS, st.none()), min_size=1, max_size=2), max_size=12),
    st.sampled_from([1, 3, 100]),
)
def test_joins_as_the_rules_read(truth, asked, chunk_rows):
    """Every count and pair equals a search through all rows, one spelling after another."""

    def search(texts):
        for form in (lambda text: text, normalise):
            for number, text in enumerate(texts):
                if text is None:
                    continue
                same = [(q, a) for q, a in truth if stored(form(stored(q))) == stored(form(text))]
                usable = [a for _, a in same if a]
                if same and not usable:
                    return None, "unusable", False
                if same:
                    exact = number == 0 and form is not normalise
                    kind = "exact" if exact else "normalised"
                    return usable[0], kind, len(set(usable)) > 1
        return None, "unmatched", False

    def stored(text):
        return text.encode("utf-8", "replace").decode()

    rows = GroundTruth(
        [{"q": q, "a": a} for q, a in truth],
        "q",
        same=lambda row: row["a"],
        flaw=lambda row: "" if row["a"] else "its answer is 0",
    )
    report = JoinReport()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joining, "CHUNK_ROWS", chunk_rows)
        pairs = list(join(({"t": t} for t in asked), rows, texts=lambda r: r["t"], report=report))
    expected = [search(texts) for texts in asked]
    assert [(row["t"], found["a"]) for row, found in pairs] == [
        (texts, answer)
        for texts, (answer, _, _) in zip(asked, expected, strict=True)
        if answer is not None
    ]
    kinds = [kind for _, kind, _ in expected]
    for kind in ("exact", "normalised", "unmatched", "unusable"):
        assert getattr(report, kind) == kinds.count(kind)
    assert report.ambiguous == sum(disagree for _, _, disagree in expected)


def test_columns_give_what_rows_give(tmp_path, monkeypatch):
    """A source is read in columns where its types allow; over several batches of the store."""
    monkeypatch.setattr(keyed, "STORED_ROWS", 2)
    monkeypatch.setattr(keyed, "FOUND_ROWS", 3)
    rows = [{"q": f"question {n % 7}", "a": {"n": n, "list": ["x", None]}} for n in range(40)]
    pq.write_table(pa.Table.from_pylist([*rows, {"q": None, "a": None}]), tmp_path / "t.parquet")
    source = open_source(str(tmp_path / "t.parquet"))
    in_columns, in_rows = GroundTruth(source, "q"), GroundTruth(rows, "q")
    asked = [[f"question  {n % 9}"] for n in range(30)]
    assert source.rows_read == 41
    assert in_columns.find_all(asked) == in_rows.find_all(asked)
    assert in_columns.find(["question 3"]).row == rows[3]


def test_a_source_of_dates_is_read_as_json_would_write_it(tmp_path):
    day = dt.datetime(2024, 5, 1, tzinfo=dt.UTC)
    pq.write_table(pa.table({"q": ["a"], "day": [day]}), tmp_path / "t.parquet")
    source = open_source(str(tmp_path / "t.parquet"))
    assert source.batches("q") is None
    assert GroundTruth(source, "q").find(["a"]).row == {"q": "a", "day": str(day)}


def test_a_text_of_the_same_hash_is_another_text(monkeypatch):
    monkeypatch.setattr(keyed, "hashes_of", lambda texts: np.zeros(len(texts), dtype=np.int64))
    for truth in each([TRUTH[:1], TRUTH]):
        pairs, report = run(["exact", "other", None, "exact"], truth)
        assert pairs == [("exact", 1), ("exact", 1)]
        assert (report.rows, report.exact, report.unmatched) == (4, 2, 2)


def test_pairs_of_one_truth_are_rows_of_their_own():
    """Whoever changes one changes no other."""
    rows, report = [{"q": "exact"}, {"q": "exact"}], JoinReport()
    pairs = join(rows, GroundTruth(TRUTH, "q"), texts=lambda row: [row["q"]], report=report)
    (_, first), (_, second) = pairs
    assert first == second
    assert first is not second


def test_few_and_many_candidates_are_the_same_rows(monkeypatch):
    truth = [{"q": f"q{number}", "a": number} for number in range(40)]
    asked = [f"q{number}" for number in (39, 0, 7, 7, 99)]
    few, _ = run(asked, truth)
    monkeypatch.setattr(keyed, "FEW_ROWS", 0)
    many, _ = run(asked, truth)
    assert few == many == [("q39", 39), ("q0", 0), ("q7", 7), ("q7", 7)]
