"""Every row of the reference vectors, in both modes."""

import importlib
import json
import math
import pkgutil
from operator import itemgetter
from pathlib import Path

import pytest

import custom_metrics.science
from tests.tables import each_row

FILE = Path(__file__).parents[2] / "data" / "vectors" / "science.jsonl"
ROWS = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
METRICS = {
    name: function
    for module in pkgutil.iter_modules(custom_metrics.science.__path__, "custom_metrics.science.")
    for name, function in getattr(importlib.import_module(module.name), "METRICS", {}).items()
}


def same(actual, expected, tolerance):
    if isinstance(expected, dict):
        return (
            isinstance(actual, dict)
            and actual.keys() == expected.keys()
            and all(same(actual[key], expected[key], tolerance) for key in expected)
        )
    if isinstance(expected, list):
        return (
            isinstance(actual, list)
            and len(actual) == len(expected)
            and all(same(*pair, tolerance) for pair in zip(actual, expected, strict=True))
        )
    if expected == "NaN":
        return isinstance(actual, float) and math.isnan(actual)
    if isinstance(expected, float) or (isinstance(expected, int) and isinstance(actual, float)):
        return isinstance(actual, (int, float)) and abs(actual - expected) <= tolerance
    return bool(actual == expected)


@each_row("row", ROWS, name_of=itemgetter("id"))
def test_corrected_gives_the_expected_value(row):
    actual = METRICS[f"science.{row['metric']}"](**row["inputs"])
    assert same(actual, row["expected"], row["tol"]), actual


@each_row("row", ROWS, name_of=itemgetter("id"))
def test_compat_gives_what_the_original_gives(row):
    upstream = row.get("upstream", row["expected"])
    metric = METRICS[f"science.{row['metric']}"]
    if isinstance(upstream, dict) and "raises" in upstream:
        with pytest.raises(Exception) as raised:  # noqa: PT011 - the row names the class
            metric(**row["inputs"], mode="compat")
        assert type(raised.value).__name__ == upstream["raises"]
    else:
        actual = metric(**row["inputs"], mode="compat")
        assert same(actual, upstream, row["tol"]), actual


@pytest.mark.parametrize("name", sorted(METRICS))
def test_a_third_mode_is_refused(name):
    first = next(
        (row["inputs"] for row in ROWS if f"science.{row['metric']}" == name),
        {"instances": [{"pred": [], "ref": []}]},
    )
    with pytest.raises(ValueError, match="mode is 'Corrected'"):
        METRICS[name](**first, mode="Corrected")
