"""Pairs of two sides by what their rows have in common, and what becomes of the other rows."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalprep.compare.levels import PairRules, pair_sides
from evalprep.compare.rowkeys import AskedRow
from tests.kinds.pairing import ListedRows, pair
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
        AskedRow,
        doc_hash=few(["", "", "h1", "h2"]),
        prompt_hash=few(["", "", "p1", "p2"]),
        id=few(["", "3", "q-1", "q-2"]),
        doc_id=few([None, 0, 1, 2]),
        question=few(["", "A?", "a ?", "B?"]),
        target=few([None, "x", "X", "y"]),
        prompt=few(["", "Q: A?", "Q: B? then A?"]),
    ),
    max_size=7,
)
rules = st.builds(PairRules, by_position=st.booleans(), same_ids=st.booleans())


def described(left, right, pairing):
    """What a pairing says, whatever the order of the rows."""

    def of(side, rows):
        return sorted(repr(side[row]) + side[row].prompt for row in rows)

    pairs = sorted(
        (repr(left[row]), repr(right[other]), level.value) for row, other, level, _ in pairing.pairs
    )
    leftovers = [of(left, pairing.left_only), of(right, pairing.right_only)]
    unclear = [of(left, pairing.left_ambiguous), of(right, pairing.right_ambiguous)]
    return pairs, leftovers, unclear, len(pairing.conflicts)


@given(asked_rows, asked_rows, rules, st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_nothing(left, right, rule, dice: random.Random):
    before = described(left, right, pair_sides(ListedRows(left), ListedRows(right), rule))
    dice.shuffle(left)
    dice.shuffle(right)
    assert described(left, right, pair_sides(ListedRows(left), ListedRows(right), rule)) == before


@given(asked_rows, asked_rows, rules)
def test_swapped_sides_swap_what_is_left_over(left, right, rule):
    pairing = pair_sides(ListedRows(left), ListedRows(right), rule)
    swapped = pair_sides(ListedRows(right), ListedRows(left), rule)
    assert (swapped.left_only, swapped.right_only) == (pairing.right_only, pairing.left_only)
    assert swapped.left_ambiguous == pairing.right_ambiguous
    assert len(swapped.conflicts) == len(pairing.conflicts)
    pairs = sorted((row, other, level) for other, row, level, _ in swapped.pairs)
    assert pairs == [pair[:3] for pair in pairing.pairs]


@given(asked_rows, asked_rows)
def test_every_row_is_paired_left_over_or_ambiguous(left, right):
    pairing = pair_sides(ListedRows(left), ListedRows(right))
    rows = [*(pair[0] for pair in pairing.pairs), *pairing.left_only, *pairing.left_ambiguous]
    assert sorted(rows) == list(range(len(left)))
    assert all(level.value != "position" for *_, level, _ in pairing.pairs)
