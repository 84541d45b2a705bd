import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custom_metrics.harness import aggregations, filters, results
from tests.loops import each


def values(function, doc, *replies):
    scored = function(doc, list(replies))
    json.dumps(scored, allow_nan=False)
    assert all(isinstance(name, str) for name in scored)
    return scored


@pytest.mark.parametrize(
    ("target", "reply", "right", "unparsed"),
    [
        ("B", "B", 1, 0),
        ("(B)", "b", 1, 0),
        ("Answer: B", "(B)", 1, 0),
        (" B", "C", 0, 0),
        ("B", "BC", 0, 0),
        ("B", "[invalid]", 0, 1),
        ("[invalid]", "[invalid]", 0, 1),
        ("B", "", 0, 1),
        (["B"], "B", 1, 0),
    ],
)
def test_choice(target, reply, right, unparsed):
    scored = values(results.choice, {"target": target, "subtask_name": "physics"}, reply)
    assert (scored["exact_match"], scored["unparsed"], scored["scorer_error"]) == (
        right,
        unparsed,
        0,
    )


# Defect 26: punctuation ignored, and the fallback `[invalid]` equal to the gold answer `invalid`.
@pytest.mark.parametrize(
    ("subtask", "target", "reply", "right", "unparsed"),
    [
        ("formal_fallacies", "invalid", "[invalid]", 0, 1),
        ("formal_fallacies", "invalid", "invalid", 1, 0),
        ("dyck_languages", "] ) }", "> > ]", 0, 0),
        ("dyck_languages", "] ) }", "] ) }", 1, 0),
        ("dyck_languages", "]", "[invalid]", 0, 1),
        ("multistep_arithmetic_two", "3.5", "3", 0, 0),
        ("word_sorting", "a b", "a  b", 1, 0),
    ],
)
def test_bbh(subtask, target, reply, right, unparsed):
    scored = values(results.bbh, {"target": target, "subtask_name": subtask}, reply)
    assert (scored["exact_match"], scored["unparsed"]) == (right, unparsed)


MATH = {
    "box": (r"\boxed{0.5}", 1, 0),
    "last box": (r"\boxed{\frac12} or \boxed{3}", 0, 0),
    "stated without a box": ("The final answer is $1/2$. I hope it is correct.", 1, 0),
    "unclosed box is no answer": (r"The answer is \boxed{1/2", 0, 1),
    "no answer": ("I do not know", 0, 1),
    "filter found none": ("[invalid]", 0, 1),
    "only a trace": (r"<think>\boxed{1/2}", 0, 1),
    "after a trace": (r"<think>\boxed{3}</think>\boxed{1/2}", 1, 0),
}


@pytest.mark.parametrize(("reply", "right", "unparsed"), MATH.values(), ids=MATH)
def test_math(reply, right, unparsed):
    doc = {
        "solution": r"Half of it: $\boxed{\frac{1}{2}}$.",
        "target": "5.0e-1",
        "subtask_name": "Algebra",
    }
    scored = values(results.math, doc, reply)
    assert (scored["exact_match"], scored["unparsed"], scored["timeout"]) == (right, unparsed, 0)
    assert scored["exact_match_macro"] == ["Algebra", right]


def test_the_recipe_s_verdict_stands_beside_ours():
    doc = {"solution": r"$\boxed{x=5}$"}
    scored = values(results.math, doc, r"\boxed{y=5}")
    assert (scored["exact_match"], scored["original_llama"]) == (
        0,
        1,
    )  # defect 28: the right side of `=` only


@pytest.mark.parametrize(
    ("doc", "loglikelihoods", "acc"),
    [
        ({"target": 1}, (-3, -1, -2, -4), 1),
        ({"target": "B"}, (-3, -1, -2, -4), 1),
        ({"target": "Answer: B"}, (-3, -1, -2, -4), 1),
        ({"target": 0}, (-3, -1, -2, -4), 0),
        ({"target": 0}, (math.nan, -1, -2, -4), 0),
        ({"target": 2}, (math.nan, math.nan, -2, -4), 1),
    ],
)
def test_mmlu_choice(doc, loglikelihoods, acc):
    scored = values(results.mmlu_choice, doc, *((value, False) for value in loglikelihoods))
    assert (scored["acc"], scored["acc_norm"], scored["scorer_error"]) == (acc, acc, 0)


def test_acc_norm_divides_by_the_length_of_the_choice():
    doc = {"target": 1, "choices": ["no", "a longer answer"]}
    scored = values(results.mmlu_choice, doc, (-2.0, False), (-3.0, False))
    assert (scored["acc"], scored["acc_norm"]) == (0, 1)


IFEVAL = {
    "prompt": "No commas, two sentences.",
    "instruction_id_list": ["punctuation:no_comma", "length_constraints:number_words"],
    "kwargs": [{"num_words": None}, {"num_words": 3.0, "relation": "at least"}],
}


@pytest.mark.parametrize(
    ("reply", "strict", "unparsed"),
    [
        ("one two three four", [1, 1], 0),
        ("one, two", [0, 0], 0),
        ("one two", [1, 0], 0),
        ("", [0, 0], 1),
        ("[invalid]", [0, 0], 1),
        ("<think>one, two</think>one two three", [1, 1], 0),
    ],
)
def test_ifeval(reply, strict, unparsed):
    scored = values(results.ifeval, IFEVAL, reply)
    assert scored["inst_level_strict_acc"] == strict
    assert (scored["prompt_level_strict_acc"], scored["unparsed"]) == (float(all(strict)), unparsed)


SCORERS = {
    "choice": ({"target": "B"}, "B"),
    "bbh": ({"target": "B", "subtask_name": "snarks"}, "B"),
    "number": ({"target": "4"}, "4.0"),
    "math": ({"target": "4"}, r"\boxed{4}"),
    "ifeval": (IFEVAL, "fine"),
    "mmlu_choice": ({"target": 0}, (-1.0, True)),
}


@pytest.mark.parametrize("name", SCORERS)
def test_same_keys_and_no_exception_whatever_comes(name):
    doc, reply = SCORERS[name]
    function = getattr(results, name)
    keys = set(values(function, doc, reply))
    odd_docs = ({}, {"target": None}, {"target": []}, {"target": {"a": 1}}, {"kwargs": "x", "instruction_id_list": 5},
                {"solution": 7, "subtask_name": 3.5}, doc)  # fmt: skip
    for odd_doc in each(odd_docs):
        for odd in (
            (),
            (None,),
            ("",),
            (5,),
            ([],),
            ([reply],),
            ("\ud800",),
            (reply,),
            ((None, None),),
        ):
            assert set(values(function, odd_doc, *odd)) == keys, (odd_doc, odd)


@pytest.mark.parametrize("name", ["choice", "bbh", "number"])
@given(reply=st.text(max_size=30), target=st.text(max_size=5))
def test_a_parse_failure_is_never_correct(name, reply, target):
    scored = getattr(results, name)({"target": target}, [reply])
    assert not (scored["unparsed"] and scored["exact_match"])
    assert scored["exact_match"] in (0, 1)
    assert getattr(results, name)({"target": "[invalid]"}, ["[invalid]"])["exact_match"] == 0


@pytest.mark.parametrize(
    ("target", "reply", "right"),
    [
        ("72", "72", 1), ("$1,200", "1200", 1), ("50%", "50", 1), ("7", "8", 0), ("none", "8", 0),
        ("Natalia sold 48/2 = <<48/2=24>>24 clips.\n#### 72", "72", 1),
    ],
)  # fmt: skip
def test_number(target, reply, right):
    assert values(results.number, {"target": target}, reply)["exact_match"] == right


@pytest.mark.parametrize("reply", ["[invalid]", " ", ""])
def test_a_reply_without_a_number_is_unparsed_and_no_fault(reply):
    scored = values(results.number, {"target": "72"}, reply)
    assert scored == {"exact_match": 0, "unparsed": 1, "scorer_error": 0}


def test_several_replies_are_averaged():
    scored = values(
        results.choice, {"target": "B", "subtask_name": "x"}, ["B", "[invalid]", "C", "B"]
    )
    assert (scored["exact_match"], scored["unparsed"], scored["exact_match_macro"]) == (
        0.5,
        0.25,
        ["x", 0.5],
    )
    scored = values(results.ifeval, IFEVAL, ["one two three four", "one, two three"])
    assert (scored["prompt_level_strict_acc"], scored["inst_level_strict_acc"]) == (0.5, [0.5, 1.0])
    assert scored["mean_of_strict"] == [0.5, [0.5, 1.0]]


def test_a_row_without_gold_answer_is_counted(caplog):
    scored = values(results.choice, {"sample_id": "s-7"}, "B")
    assert (scored["exact_match"], scored["scorer_error"]) == (0, 1)
    assert "s-7" in caplog.text


@pytest.mark.parametrize(
    ("items", "mean"),
    [([[1, 0, 1], [1]], 0.75), ([], 0.0), ([[], [1.0]], 1.0), ([[True], [False]], 0.5)],
)
def test_flat_mean(items, mean):
    assert aggregations.flat_mean(items) == mean


@pytest.mark.parametrize(
    ("items", "mean"), [([["a", 1], ["a", 1], ["b", 0]], 0.5), ([], 0.0), ([["", 1.0]], 1.0)]
)
def test_macro_mean(items, mean):
    assert aggregations.macro_mean(items) == mean


@pytest.mark.parametrize(
    ("reply", "right", "stated"),
    [
        ("**Answer:** $1/2$", 1, 1),
        ("**Final Answer**\n\n$\\frac12$", 1, 1),
        ("The answer is 1/2.\nThis answer is correct.", 1, 1),
        (r"\boxed{1/2}", 1, 0),
        ("I do not know", 0, 0),
        (r"The answer is 1/2, so \boxed{", 0, 0),
    ],
)
def test_math_answer_stated_without_a_box(reply, right, stated):
    doc = {"solution": r"$\boxed{\frac{1}{2}}$"}
    scored = values(results.math, doc, reply)
    assert (scored["exact_match"], scored["stated_without_box"]) == (right, stated)
    (strict,) = filters.boxed([[reply]], [doc])
    assert values(results.math, doc, strict[0])["stated_without_box"] == 0


def test_an_instruction_that_could_not_be_checked_is_a_failure_of_the_scorer():
    row = {"instruction_id_list": ["no:such_instruction"], "kwargs": [{}], "prompt": "p"}
    scored = values(results.ifeval, row, "a reply")
    assert (scored["prompt_level_strict_acc"], scored["scorer_error"]) == (0, 1)
