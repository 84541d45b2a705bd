"""What functions of a stranger's pack return, right or wrong, through the verbs that show it."""

import json
from dataclasses import fields

import numpy as np
import pytest

from custom_metrics.statistics import Influence
from evalprep.cli import main
from evalprep.score import outcome
from evalprep.score.outcome import checked
from evalprep.score.result import Result
from tests.evalprep.results.writing import write_run

from .test_score import ROWS, make_packs

LEFT_OUT = {
    "an interval of three": "'interval': [0.1, 0.5, 0.9]",
    "an interval of text": "'interval': 'wide'",
    "an interval upside down": "'interval': [0.9, 0.1]",
    "an interval without ends": "'interval': [None, None]",
    "a standard error of text": "'stderr': 'small'",
    "a negative standard error": "'stderr': -0.1",
    "a count of text": "'n': 'many'",
    "a negative count": "'n': -5",
    "half a row": "'n': 3.5",
    "read as a number": "'read': 3",
    "read as texts": "'read': ['a', 'b']",
    "skipped as a list": "'skipped': ['x']",
    "parts as a list": "'parts': [1, 2]",
    "a number as a note": "'notes': 5",
    "categories as a list": "'categories': [1]",
    "over as a number": "'over': 5",
    "a list as explanation": "'explain': ['x']",
    "undefined as a text": "'undefined': 'yes'",
    "distributions as a list": "'distributions': [1, 2]",
    "a number as distribution": "'distributions': {'a': 5}",
    "rows as a list": "'value_by_index': [1, 2]",
    "an influence of text": "'influence': 'strong'",
    "a rule as a number": "'scored_by': 5",
    "settings as a number": "'scored_with': 5",
}
TAKEN = {
    "one note as a text": "'notes': 'five'",
    "numpy's numbers": "'n': np.int64(4), 'stderr': np.float32(0.25), 'interval': np.array([0.1, 0.9])",
    "categories without results": "'categories': {'a': 0.5, 'b': {'agg_value': 'x', 'interval': 3}}",
    "records that are none": "'records': {'best': 5}",
    "rows that are numbers": "'value_by_index': {'0': 1}",
    "keys that are no texts": "5: 6, (1, 2): 3",
    "an object of its own": "'own': object()",
    "halves of characters": "'notes': ['\\udc00'], 'explain': '\\ud83d'",
    "an influence that fails": "'influence': lambda: 1 / 0",
    "an influence that makes none": "'influence': lambda: 5",
}
VERBS = (["score", "out"], ["compare", "out", "base"], ["report", "out"], ["leaderboard", "out"])


@pytest.fixture
def toy(tmp_path, capsys):
    """A function from what `score.rate` returns to what each verb says of it."""

    def run(source):
        function = "import numpy as np\n\ndef rate(*, rows, inputs, reference, params):\n"
        make_packs(
            tmp_path,
            {"rate": {"function": "score.rate", "task": "t"}},
            files={"score.py": f"{function}    return {source}\n"},
        )
        for name in ("out", "base"):
            write_run(tmp_path / name, {"t": ROWS})
        printed = {}
        for verb, *runs in VERBS:
            places = [str(tmp_path / name) for name in runs]
            code = main([verb, *places, "--template_dir", str(tmp_path / "packs")])
            caught = capsys.readouterr()
            assert code == 0, f"{verb}: {caught.err}"
            assert "Traceback" not in caught.err
            printed[verb] = caught.out
        data = json.loads((next(tmp_path.rglob("scores.json"))).read_text())
        return data["results"]["toy/rate"], printed

    return run


@pytest.mark.parametrize("source", LEFT_OUT.values(), ids=LEFT_OUT)
def test_a_key_that_breaks_the_contract_costs_that_key_and_a_note(toy, source):
    result, printed = toy(f"{{'agg_value': 0.5, {source}}}")
    key = source.split("'")[1]
    assert result["agg_value"] == 0.5
    assert result.keys() <= {"agg_value", "notes"}
    assert result["notes"][0].startswith(f"score.rate: {key} is left out, as it is not ")
    assert "is left out, as it is not" in " ".join(printed["score"].split())


@pytest.mark.parametrize("source", TAKEN.values(), ids=TAKEN)
def test_what_keeps_the_contract_reaches_every_verb(toy, source):
    result, printed = toy(f"{{'agg_value': 0.5, {source}}}")
    assert result["agg_value"] == 0.5
    assert "left out" not in printed["score"]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("'0.5'", "score.rate returned '0.5' as agg_value, which is not a number"),
        ("True", "score.rate returned True as agg_value, which is not a number"),
        ("10**400", "score.rate returned a value of type int as agg_value, which is not a number"),
        ("[0.5]", "score.rate returned a value of type list as agg_value, which is not a number"),
        ("float('nan')", None),
    ],
)
def test_a_value_that_is_no_number_is_none(toy, value, reason):
    result, printed = toy(f"{{'agg_value': {value}}}")
    assert result["agg_value"] is None
    assert result.get("reason") == reason
    assert "0.5000" not in printed["score"].partition("rate")[2]


@pytest.mark.parametrize("result", [None, 5, [], {}, {"value": 1}])
def test_a_result_without_a_value_says_so(result):
    assert checked(result, "score.rate").to_dict() == {
        "agg_value": None,
        "reason": "score.rate returned no agg_value",
    }


def test_an_influence_is_kept_and_a_function_is_called_when_it_is_asked_for():
    influence = Influence({}, 0.0)
    calls = []

    def make():
        calls.append(1)
        return influence

    assert checked({"agg_value": 1.0, "influence": influence}, "f").influence() is influence
    result = checked({"agg_value": 1.0, "influence": make}, "f")
    assert not calls
    assert result.influence() is influence


def test_numbers_of_numpy_become_plain_ones():
    result = checked({"agg_value": np.float64(0.5), "n": np.int64(3)}, "f")
    assert [type(value) for value in result.returned.values()] == [float, int]


def test_every_key_of_the_contract_is_a_field_of_the_result():
    others = {"value", "returned"}
    named = {field.name for field in fields(Result)} - others
    assert named | {"influence"} == {*outcome._CONTRACT}


def test_a_changed_result_keeps_the_order_of_its_keys():
    result = checked({"n": 2, "agg_value": 0.5, "own": [1], "interval": [0.0, 1.0]}, "f")
    changed = result.changed(interval=(0.25, 0.75), stderr=0.1, n=3).with_notes(["a note"])
    assert changed.interval == (0.25, 0.75)
    assert list(changed.to_dict().items()) == [
        ("n", 3),
        ("agg_value", 0.5),
        ("own", [1]),
        ("interval", [0.25, 0.75]),
        ("stderr", 0.1),
        ("notes", ["a note"]),
    ]
    assert result.n == 2
    assert result.with_notes([]) is result


def test_plain_data_holds_no_influence_of_rows():
    influence = Influence({}, 0.0)
    nested = {
        "agg_value": 0.5,
        "influence": influence,
        "by_metric": {"f1": {"influence": influence}},
    }
    assert checked(nested, "f").to_dict() == {"agg_value": 0.5, "by_metric": {"f1": {}}}


def test_a_result_is_also_the_mapping_that_its_function_returned():
    returned = {"agg_value": 0.5, "parts": {"a": 1.0}, "own": [1]}
    result = Result.of({**returned, "influence": lambda: None})
    assert dict(result) == returned
    assert (result["own"], result.value, result.get("none")) == ([1], 0.5, None)
