"""Arrow arrays that are made without pandas."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalprep.data.arrays import _plain, array_of, large_texts, whole_numbers

SCALARS = [
    st.text(st.characters(exclude_categories=["Cs"])),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.none(),
]


def columns(depth):
    """Columns of values of one shape, with nulls in them."""
    kinds = list(SCALARS)
    if depth:
        kinds.append(st.lists(columns(depth - 1).map(lambda values: values[:3])))
        kinds.append(st.dictionaries(st.sampled_from("baé"), st.integers(0, 9), min_size=1))
    return st.sampled_from(kinds).flatmap(lambda kind: st.lists(st.none() | kind, max_size=8))


@settings(max_examples=200, deadline=None)
@given(columns(2))
def test_a_plain_array_is_that_of_arrow(values):
    array = _plain(values)
    if array is None:
        return
    expected = pa.array(values, from_pandas=False)
    array.validate(full=True)
    assert array.type == expected.type
    assert array.equals(expected)


@pytest.mark.parametrize(
    "values",
    [
        [["a", None], None, []],
        [{"b": 1, "a": None}, None, {"a": ["x"]}],
        [[{"n": 1.5}], []],
        [None, None],
        [],
        [True, None, False],
    ],
)
def test_lists_and_mappings_are_plain(values):
    array = _plain(values)
    assert array is not None
    assert array.type == pa.array(values).type
    assert array.to_pylist() == pa.array(values).to_pylist()


@pytest.mark.parametrize(
    "values", [["a", 1], [1, 2.5], [2**63], ["\ud800"], [{}], [{1: 2}], [b"x"], [["a"], [1]]]
)
def test_what_is_not_plain_is_left_to_arrow(values):
    assert _plain(values) is None


def test_a_column_of_nulls_takes_the_type_that_is_asked_for():
    assert array_of([None], pa.string()).type == pa.string()
    assert array_of([1, None], pa.float64()).to_pylist() == [1.0, None]
    with pytest.raises(pa.ArrowTypeError):
        array_of([1], pa.string())


def test_texts_and_numbers_of_an_index():
    assert large_texts(["a", "", "é"]).to_pylist() == ["a", "", "é"]
    assert whole_numbers(np.arange(6)[::2]).to_pylist() == [0, 2, 4]


def test_pandas_is_not_imported_for_plain_rows(tmp_path):
    code = (
        "import sys\nfrom pathlib import Path\nfrom evalprep.data import write_rows\n"
        "rows = [{'sample_id': str(n), 'prompt': None, 'a': [{'b': n}], 'c': True, 'd': 0.5}"
        " for n in range(5)]\n"
        f"write_rows(rows, Path({str(tmp_path / 'rows.parquet')!r}), task='t')\n"
        "print('pandas' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
