"""Rows of two samples files that are the same question, and a code for every other row."""

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evalprep.samples import (
    AMBIGUOUS,
    BY_CONTENT,
    DOUBLED,
    LONE,
    OTHER_GOLD,
    contrary_rows,
    line_up,
    pair_rows,
    pair_with_published,
    read_table,
)
from evalprep.samples.pairing import COPY, NO_VERDICT, PARTNER
from tests.evalprep.results.writing import sha256

COLUMNS = ("left", "right", "way", "left_out", "right_out", "prompt_differs", "gold_differs")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Rows as a table, each given by its id, place, gold answer, reply and verdict."""
    home = tmp_path_factory.mktemp("tables")

    def read(*rows, has_ids=True):
        path = home / f"samples_{sha256(repr((rows, has_ids)))[:16]}.jsonl"
        lines = [line(*row) for row in rows]
        for each in lines if not has_ids else ():
            del each["doc"]["sample_id"]
        path.write_text("".join(f"{json.dumps(each)}\n" for each in lines))
        return read_table(path, "none")

    return read


def line(row_id, place=0, gold="x", reply="a", published=None):
    doc = {"sample_id": row_id, "question": f"{row_id}?", "previously_is_correct": published}
    return {
        "doc_id": place,
        "doc": doc,
        "target": gold,
        "arguments": {"gen_args_0": {"arg_0": f"{row_id}?", "arg_1": {}}},
        "resps": [[reply]],
        "filtered_resps": [reply],
        "filter": "none",
        "metrics": ["acc"],
        "doc_hash": sha256(f"{row_id} {place}"),
        "prompt_hash": sha256(f"{row_id}?"),
        "target_hash": sha256(gold),
        "acc": float(gold == reply),
    }


def test_rows_meet_by_id_in_any_order(table):
    paired = pair_rows(table(("a",), ("b",), ("c",)), table(("c",), ("d",), ("a",)))
    assert (paired.left.tolist(), paired.right.tolist()) == ([0, 2], [2, 0])
    assert paired.left_out.tolist() == [PARTNER, LONE, PARTNER]
    assert (paired.left_ids(LONE), paired.right_ids(LONE)) == (["b"], ["d"])
    assert paired.ways == {"sample id": 2}


def test_equal_lines_count_once_and_contrary_ones_not_at_all(table):
    twice = table(("a",), ("a",), ("b",), ("b", 0, "x", "other"), ("c", 0), ("c", 1))
    paired = pair_rows(twice, table(("a",), ("b",), ("c", 1), ("c", 0)))
    assert paired.left_out.tolist() == [PARTNER, COPY, DOUBLED, DOUBLED, PARTNER, PARTNER]
    assert paired.right.tolist() == [0, 3, 2]
    assert (paired.copies, contrary_rows(twice)) == (1, 2)


def test_another_gold_answer_is_a_flag_of_the_pair(table):
    paired = pair_rows(table(("a",), ("b",)), table(("a", 0, "y"), ("b",)))
    assert paired.gold_differs.tolist() == [True, False]
    assert paired.kept(BY_CONTENT, any_gold=False).tolist() == [False, True]
    assert paired.kept(BY_CONTENT, any_gold=True).all()


def of_lines(folder, name, **changes):
    """Two rows that have nothing in common with those of another name but what `changes` says."""
    lines = []
    for place, row_id in enumerate("ab"):
        each = line(f"{row_id} of {name}", place, gold=row_id)
        del each["doc"]["sample_id"]
        each |= {key: value(row_id) for key, value in changes.items()}
        lines.append(each)
    path = folder / f"samples_{name}.jsonl"
    path.write_text("".join(f"{json.dumps(each)}\n" for each in lines))
    return read_table(path, "none")


def request(row_id):
    return {"gen_args_0": {"arg_0": f"What is {row_id}?", "arg_1": {}}}


@pytest.mark.parametrize(
    ("way", "changes"),
    [
        ("document hash", {"doc_hash": lambda row_id: sha256(f"of {row_id}")}),
        ("equal prompt and gold answer", {"arguments": request}),
        ("position and gold answer", {"arguments": lambda _: {}, "prompt_hash": lambda _: ""}),
        ("question+target", {"doc": lambda row_id: {"question": f"What is {row_id}?"}}),
        ("equal prompt", {"prompt_hash": lambda row_id: sha256(f"prompt of {row_id}")}),
    ],
)
def test_the_strongest_key_in_common_brings_rows_of_lm_eval_together(tmp_path, way, changes):
    tables = [of_lines(tmp_path, name, **changes) for name in ("one", "two")]
    paired = pair_rows(*tables)
    assert (paired.ways, paired.left.tolist(), paired.right.tolist()) == ({way: 2}, [0, 1], [0, 1])


def test_prepared_rows_meet_published_ones_by_the_digests_that_they_carry(tmp_path):
    published = of_lines(tmp_path, "published")
    digests = {"a": sha256("a of published 0"), "b": sha256("b of published 1")}
    prepared = of_lines(
        tmp_path, "prepared", doc=lambda row_id: {"published_doc_hash": digests[row_id]}
    )
    assert pair_rows(prepared, published, tools=("lm-eval", "leaderboard")).ways == {"doc_hash": 2}


def test_a_prompt_alone_brings_rows_together_whose_gold_answers_differ(tmp_path):
    prompt = {"prompt_hash": lambda row_id: sha256(f"prompt of {row_id}")}
    other = of_lines(tmp_path, "two", **prompt, target=lambda row_id: f"not {row_id}")
    other.target_hash = other.target_hash + np.uint64(1)
    paired = pair_rows(of_lines(tmp_path, "one", **prompt), other)
    assert (paired.ways, paired.gold_differs.tolist()) == ({"equal prompt": 2}, [True, True])


def test_published_verdicts_are_the_other_side(table):
    rows = ("a", 0, "x", "a", True), ("b",), ("c", 0, "x", "a", "maybe"), ("d", 0, "x", "a", False)
    paired = pair_with_published(table(*rows))
    assert paired.left_out.tolist() == [PARTNER, LONE, NO_VERDICT, PARTNER]


def test_later_runs_add_what_no_earlier_one_has(table):
    tables = table(("a",), ("b",)), table(("c",), ("b",)), table(("c",), ("a",), ("d",))
    ids, places = line_up([(each, "lm-eval") for each in tables])
    assert [*ids] == ["a", "b", "c", "d"]
    assert [own.tolist() for own in places] == [[0, 1], [2, 1], [2, 0, 3]]


rows = st.lists(
    st.tuples(
        st.sampled_from("abcdef"), st.integers(0, 2), st.sampled_from("xy"), st.sampled_from("xy")
    ),
    max_size=9,
)


@given(rows, rows, st.booleans(), st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_two_tables_are_matched_once_whichever_comes_first(table, left, right, ids, other_ids):
    first, second = table(*left, has_ids=ids), table(*right, has_ids=other_ids)
    paired = pair_rows(first, second)
    assert pair_rows(first, second) is paired
    again = pair_rows(table(*right, has_ids=other_ids), table(*left, has_ids=ids))
    for turned in (pair_rows(second, first), again):
        for name in COLUMNS:
            assert getattr(turned.turned(), name).tolist() == getattr(paired, name).tolist(), name


@given(rows, rows)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_row_has_a_partner_or_one_code(table, left, right):
    paired = pair_rows(table(*left), table(*right))
    for rows_of_pairs, out in ((paired.left, paired.left_out), (paired.right, paired.right_out)):
        assert np.unique(rows_of_pairs).tolist() == np.flatnonzero(out == PARTNER).tolist()
        assert rows_of_pairs.size == np.unique(rows_of_pairs).size
        others = out[out != PARTNER]
        assert np.isin(others, (LONE, AMBIGUOUS, OTHER_GOLD, DOUBLED, COPY)).all()


@pytest.mark.parametrize(
    ("question", "gold", "pairs"),
    [("", "", 3), ("Another one?", "", 0), ("Another one?", "y", 0), ("", "y", 0)],
    ids=["nothing said", "another question", "another question and answer", "another answer"],
)
def test_rows_known_by_their_place_alone_meet_where_they_say_nothing_else(
    tmp_path, question, gold, pairs
):
    """A log may state values by the position of a row, and no run logs nothing of a row."""

    def written(name, lines):
        path = tmp_path / name
        path.write_text("".join(f"{json.dumps(each)}\n" for each in lines))
        return read_table(path, "none")

    run = [line(f"r{place}", place) for place in range(3)]
    log = []
    for place in range(3):
        doc = {"index": place} | ({"question": f"{place}: {question}"} if question else {})
        row = {"doc_id": place, "doc": doc, "target": gold, "arguments": {}}
        log.append({**line("", place), **row, "doc_hash": "", "prompt_hash": "", "target_hash": ""})
    left, right = written("run.jsonl", run), written("log.jsonl", log)
    assert (left.id_source, right.id_source) == ("sample_id", "doc_id")
    for sides in ((left, right), (right, left)):
        assert pair_rows(*sides).left.size == pairs
