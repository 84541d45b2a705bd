"""Prepared parquet: unique ids, one schema over chunks, equal bytes for equal rows."""

import json
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalprep.data import prepared
from evalprep.data.prepared import Repeats, write_rows
from evalprep.errors import BadInput


def test_columns_that_appear_late_are_null_before(tmp_path, monkeypatch):
    monkeypatch.setattr(prepared, "CHUNK_ROWS", 2)
    rows = [{"sample_id": str(n), "x": n} for n in range(5)] + [
        {"sample_id": "5", "x": 0.5, "late": "z"}
    ]
    assert write_rows(rows, tmp_path / "a.parquet", task="t") == 6
    table = pq.read_table(tmp_path / "a.parquet").to_pylist()
    assert [row["x"] for row in table] == [0, 1, 2, 3, 4, 0.5]
    assert [row["late"] for row in table] == [None] * 5 + ["z"]
    assert [path.name for path in tmp_path.iterdir()] == ["a.parquet"]


def test_struct_keys_that_differ_by_row(tmp_path, monkeypatch):
    monkeypatch.setattr(prepared, "CHUNK_ROWS", 1)
    rows = [
        {"sample_id": "a", "kwargs": [{}]},
        {"sample_id": "b", "kwargs": [{"n": 3}]},
        {"sample_id": "c", "kwargs": [{"w": ["x"]}]},
    ]
    write_rows(rows, tmp_path / "a.parquet", task="t")
    found = [row["kwargs"][0] for row in pq.read_table(tmp_path / "a.parquet").to_pylist()]
    assert [{k: v for k, v in (entry or {}).items() if v is not None} for entry in found] == [
        {},
        {"n": 3},
        {"w": ["x"]},
    ]


def test_all_null_columns_keep_their_type(tmp_path):
    write_rows(
        [{"sample_id": "a", "previously_is_correct": None}], tmp_path / "a.parquet", task="t"
    )
    assert str(pq.read_schema(tmp_path / "a.parquet").field("previously_is_correct").type) == "bool"


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([{"x": 1}], "row 0 of t has no sample_id"),
        ([{"sample_id": ""}], "has no sample_id"),
        ([{"sample_id": "a"}, {"sample_id": "a"}], "'a' occurs twice in t (again in row 1)"),
        ([], "t has no rows"),
        (
            [{"sample_id": "a", "x": 1}, {"sample_id": "b", "x": ["l"]}],
            "column 'x' of t mixes types",
        ),
        (
            [{"sample_id": "a"}, {"sample_id": "b", "x": "\ud83d"}],
            "row b: column 'x' of t cannot hold",
        ),
        ([{"sample_id": "a", "x": 10**30}], "row a: column 'x' of t cannot hold '1000"),
        ([{"sample_id": "a", "prompt": 5}], "row a: column 'prompt' of t cannot hold '5'"),
        (
            [{"sample_id": "a", "x": json.loads("[" * 200 + "]" * 200)}],
            "row 0 of t is nested more than 60 levels deep in column 'x'",
        ),
    ],
)
def test_mistakes(tmp_path, rows, said):
    with pytest.raises(BadInput) as caught:
        write_rows(rows, tmp_path / "a.parquet", task="t")
    assert said in str(caught.value)


def test_whole_numbers_that_a_later_fraction_cannot_hold(tmp_path, monkeypatch):
    monkeypatch.setattr(prepared, "CHUNK_ROWS", 1)
    with pytest.raises(BadInput, match="does not fit into parquet"):
        write_rows(
            [{"sample_id": "a", "x": 2**60 + 1}, {"sample_id": "b", "x": 0.5}],
            tmp_path / "a.parquet",
            task="t",
        )


def test_same_rows_same_bytes(tmp_path):
    rows = [{"sample_id": str(n), "prompt": "p" * n} for n in range(50)]
    for name in ("a", "b"):
        write_rows(rows, tmp_path / name, task="t")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_repeats_count_from_two():
    repeats = Repeats()
    assert [repeats.unique(name) for name in "abaa"] == ["a", "b", "a.2", "a.3"]


def parts_of(folder):
    """The rows of each file, in the order of the names."""
    return [pq.read_table(file).to_pylist() for file in sorted(folder.iterdir())]


@given(
    st.lists(st.sampled_from(["int", "float", "late"]), min_size=1, max_size=12),
    st.integers(1, 13),
    st.integers(1, 13),
)
def test_several_files_hold_the_rows_of_one(kinds, rows_per_file, chunk_rows):
    contents = {"int": {"x": 1}, "float": {"x": 0.5}, "late": {"x": 2, "late": "z"}}
    rows = [{"sample_id": str(number), **contents[kind]} for number, kind in enumerate(kinds)]
    with TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(prepared, "CHUNK_ROWS", chunk_rows)
        folder = Path(name)
        write_rows(rows, folder / "whole.parquet", task="t")
        count = write_rows(rows, folder / "files", task="t", rows_per_file=rows_per_file)
        parts = parts_of(folder / "files")
        schemas = [pq.read_schema(file) for file in (folder / "files").iterdir()]
        whole = pq.read_table(folder / "whole.parquet")
        assert count == len(rows)
        assert list(chain.from_iterable(parts)) == whole.to_pylist()
        assert all(schema == whole.schema for schema in schemas)
        full, last = parts[:-1], parts[-1]
        assert all(len(part) == rows_per_file for part in full)
        assert 0 < len(last) <= rows_per_file
        assert {path.name for path in folder.iterdir()} == {"whole.parquet", "files"}


def test_several_files_are_the_same_bytes_for_rows_and_batches(tmp_path):
    rows = [{"sample_id": str(n), "prompt": "p" * n} for n in range(50)]
    batches = pa.Table.from_pylist(rows).to_batches(max_chunksize=7)
    write_rows(rows, tmp_path / "a", task="t", rows_per_file=20)
    write_rows(batches, tmp_path / "b", task="t", rows_per_file=20)
    names = ["00000-of-00003.parquet", "00001-of-00003.parquet", "00002-of-00003.parquet"]
    assert [path.name for path in sorted((tmp_path / "a").iterdir())] == names
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_a_folder_of_more_files_leaves_none_behind(tmp_path):
    rows = [{"sample_id": str(n)} for n in range(5)]
    write_rows(rows, tmp_path / "a", task="t", rows_per_file=1)
    write_rows(rows[:3], tmp_path / "a", task="t", rows_per_file=2)
    assert [len(part) for part in parts_of(tmp_path / "a")] == [2, 1]


def test_an_id_that_repeats_in_another_file_is_named(tmp_path):
    rows = [{"sample_id": name} for name in "abca"]
    with pytest.raises(BadInput, match=r"'a' occurs twice in t \(again in row 3\)"):
        write_rows(rows, tmp_path / "a", task="t", rows_per_file=2)
    assert not (tmp_path / "a").exists()
