"""Pairs of two sides by what their rows have in common, and what becomes of the other rows."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalprep.samples.asked import Asked
from evalprep.samples.pairing import AMBIGUOUS, BY_CONTENT, LONE, OTHER_GOLD, PairRules, pair_keys
from tests.kinds.pairing import WAYS, Listed, ListedKeys, pair
from tests.vectors import read_rows, run_row

LONG = "Read the passage. How many apples has Ann?"


def outcome(left, right, **more):
    """Pair rows, each given by its question and gold answer or by its fields."""
    result = pair({"left": list(map(fields, left)), "right": list(map(fields, right))} | more)
    return {name: value for name, value in result.items() if value} | {"pairs": result["pairs"]}


def fields(row):
    return {"question": row[0], "target": row[1]} if isinstance(row, tuple) else row


@pytest.mark.parametrize(
    ("left", "right", "pairs"),
    [
        ([{"doc_hash": "h"}], [{"doc_hash": "h"}], [[0, 0, "doc_hash"]]),
        ([("A?", "x")], [("A?", "x")], [[0, 0, "question+target"]]),
        ([("A \n b?", "x")], [("A b?", " x ")], [[0, 0, "question+target"]]),
        ([("A?", None)], [("A?", "x")], [[0, 0, "question"]]),
        ([("Name a city.", "Rome")], [("name A city", "rome.")], [[0, 0, "loose"]]),
        ([("name a city", None)], [("Name a city.", "Rome")], [[0, 0, "loose"]]),
        ([{"prompt": f"Q: B?\nA: 1\nQ: {LONG}\nA:"}], [(LONG, "3")], [[0, 0, "contained"]]),
        ([("B?", "1"), (LONG, "3")], [{"prompt": f"B?\n1\n{LONG}"}], [[1, 0, "contained"]]),
        ([{"prompt": "Nothing of that."}], [(LONG, "3")], []),
        # Two questions end the prompt, so that neither is known to be asked.
        ([{"prompt": f"Q: {LONG}"}], [(LONG, "3"), ("How many apples has Ann?", "3")], []),
        ([{"prompt": LONG}, {"prompt": f"Q: {LONG}"}], [(LONG, "3")], []),
        ([("A?", "(B)")], [("A?", "(B)")], [[0, 0, "question+target"]]),
    ],
)
def test_rows_meet_by_the_strongest_key(left, right, pairs):
    assert outcome(left, right)["pairs"] == pairs
    swapped = outcome(right, left)["pairs"]
    assert sorted((row, other) for other, row, _ in swapped) == [
        pair[:2] for pair in map(tuple, pairs)
    ]


def test_a_letter_is_the_choice_that_it_names():
    left = {"question": "A?", "target": "B", "choices": ["red", "blue"]}
    right = {"question": "A?", "target": "A", "choices": ["blue", "red"]}
    assert outcome([left], [right]) == {
        "pairs": [[0, 0, "question+target"]],
        "permuted": [0],
        "by_level": {"question+target": 1},
    }
    other = right | {"choices": ["blue", "green"]}
    assert outcome([left], [other])["choices_differ"] == [0]


@pytest.mark.parametrize(
    ("ids", "more", "level"),
    [
        (("q-1", "q-1"), {}, None),
        (("q-1", "q-1"), {"same_ids": True}, "id"),
        (("q-1", "q-1"), {"left_tool": "helm", "right_tool": "helm"}, "id"),
        (("7", "7"), {"left_tool": "helm", "right_tool": "helm"}, "id"),
        (("7", "7"), {"left_tool": "helm", "right_tool": "inspect"}, None),
        (("7", "7"), {"left_tool": "helm", "right_tool": "inspect", "same_ids": True}, None),
        (("q-1", "q-1"), {"left_tool": "helm", "right_tool": "eee", "same_ids": True}, "id"),
    ],
)
def test_ids_pair_within_one_namespace(ids, more, level):
    left, right = ({"id": text, "question": f"{text} on {at}?"} for at, text in enumerate(ids))
    assert outcome([left], [right], **more)["pairs"] == ([[0, 0, level]] if level else [])


def test_positions_pair_where_the_user_asks():
    left, right = {"doc_id": 0, "question": "A?"}, {"doc_id": 0, "question": "B?"}
    assert outcome([left], [right])["pairs"] == []
    assert outcome([left], [right], pair_by="position")["pairs"] == [[0, 0, "position"]]


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("xx", "xx", {"duplicates": 2}),
        ("xx", "x", {"ambiguous": 3}),
        ("xxx", "xx", {"ambiguous": 5}),
    ],
)
def test_repeated_questions(left, right, expected):
    sides = ([("Same?", target) for target in targets] for targets in (left, right))
    result = outcome(*sides)
    assert {name: result[name] for name in expected} == expected
    assert not {"left_only", "right_only"} & result.keys()


def test_gold_answers_resolve_a_repeated_prompt():
    left = [{"prompt_hash": "p", "target": target} for target in "xy"]
    right = [{"prompt_hash": "p", "target": target} for target in "yx"]
    assert outcome(left, right)["pairs"] == [[0, 1, "prompt_hash"], [1, 0, "prompt_hash"]]
    other = [{"prompt_hash": "p", "target": target} for target in "xz"]
    assert outcome(left, other) == {"pairs": [], "ambiguous": 4}


def test_a_prompt_with_another_gold_answer_is_a_conflict():
    left, right = ({"prompt_hash": "p", "question": "A?", "target": target} for target in "xy")
    assert outcome([left], [right]) == {
        "pairs": [],
        "left_only": [0],
        "right_only": [0],
        "target_conflicts": 1,
    }


def test_epochs_are_one_row():
    left = [{"id": "a", "question": "A?", "target": "x", "epoch": epoch} for epoch in (2, 1)]
    right = [{"question": "A?", "target": "x"}]
    assert outcome(left, right)["pairs"] == [[1, 0, "question+target"]]


def test_published_cases(shared):
    rows, _ = read_rows(shared / "vectors/published.jsonl")
    outcomes = [run_row(row) for row in rows if row.data.get("kind") == "pair"]
    assert outcomes
    assert [result.detail for result in outcomes if result.outcome != "passed"] == []


few = st.sampled_from
asked_rows = st.lists(
    st.builds(
        Listed,
        asked=st.builds(
            Asked,
            id=few(["", "3", "q-1", "q-2"]),
            place=few([-1, 0, 1, 2]),
            question=few(["", "A?", "a ?", "B?"]),
            target=few([None, "x", "X", "y"]),
            prompt=few(["", "Q: A?", "Q: B? then A?"]),
        ),
        doc_hash=few(["", "", "h1", "h2"]),
        prompt_hash=few(["", "", "p1", "p2"]),
    ),
    max_size=7,
)
rules = st.builds(PairRules, by_position=st.booleans(), same_ids=st.booleans())


def pair_lists(left, right, rule=BY_CONTENT):
    return pair_keys(ListedKeys(left), ListedKeys(right), rule)


def rows_with(out, *codes):
    return np.flatnonzero(np.isin(out, codes)).tolist()


def described(left, right, paired):
    """What a pairing says, whatever the order of the rows."""

    def of(side, rows):
        return sorted(repr(side[row]) + side[row].asked.prompt for row in rows)

    triples = zip(paired.left, paired.right, paired.way, strict=True)
    pairs = sorted((repr(left[row]), repr(right[other]), WAYS[way]) for row, other, way in triples)
    sides = (left, paired.left_out), (right, paired.right_out)
    leftovers = [of(side, rows_with(out, LONE, OTHER_GOLD)) for side, out in sides]
    unclear = [of(side, rows_with(out, AMBIGUOUS)) for side, out in sides]
    return pairs, leftovers, unclear, len(rows_with(paired.left_out, OTHER_GOLD))


@given(asked_rows, asked_rows, rules, st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_nothing(left, right, rule, dice: random.Random):
    before = described(left, right, pair_lists(left, right, rule))
    dice.shuffle(left)
    dice.shuffle(right)
    assert described(left, right, pair_lists(left, right, rule)) == before


@given(asked_rows, asked_rows, rules)
def test_swapped_sides_swap_what_is_left_over(left, right, rule):
    paired = pair_lists(left, right, rule)
    swapped = pair_lists(right, left, rule).turned()
    for name in ("left", "right", "way", "left_out", "right_out", "prompt_differs"):
        assert getattr(swapped, name).tolist() == getattr(paired, name).tolist(), name


@given(asked_rows, asked_rows)
def test_every_row_is_paired_left_over_or_ambiguous(left, right):
    paired = pair_lists(left, right)
    rows = [*paired.left.tolist(), *rows_with(paired.left_out, LONE, OTHER_GOLD, AMBIGUOUS)]
    assert sorted(rows) == list(range(len(left)))
    assert "position" not in paired.ways
