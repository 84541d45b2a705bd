"""Rows in columns: the same pairs, counts, files and messages as rows that are mappings."""

import datetime as dt
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalprep.data import columnjoin, keyed, prepared
from evalprep.data.batches import regrouped
from evalprep.data.columnjoin import join_columns
from evalprep.data.joining import GroundTruth, JoinReport, join
from evalprep.data.prepared import named_rows, write_rows
from evalprep.data.sources import open_source
from evalprep.errors import BadInput

TEXTS = st.text(alphabet="aé\u0301 \n", max_size=3)
RULES = {
    "none": {},
    "same": {"same": lambda row: row["a"]},
    "flaw": {"flaw": lambda row: "" if row["a"] else "its answer is 0"},
}
KINDS = (
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.dictionary(pa.int8(), pa.string()),
    pa.dictionary(pa.int32(), pa.large_string()),
)


def batches_of(table, sizes):
    """The table in slices of these sizes, with empty ones where a size is 0, then the rest."""
    start, batches = 0, []
    for size in sizes:
        batches += table.slice(start, size).to_batches() or [table.to_batches()[0].slice(0, 0)]
        start += size
    return batches + table.slice(start).to_batches()


@pytest.fixture
def in_small_parts(monkeypatch):
    """Several chunks, and several batches of the store, for a few rows."""
    monkeypatch.setattr(columnjoin, "PART_ROWS", 4)
    monkeypatch.setattr(columnjoin, "CHUNK_ROWS", 3)
    monkeypatch.setattr(keyed, "STORED_ROWS", 3)
    monkeypatch.setattr(keyed, "FOUND_ROWS", 2)
    monkeypatch.setattr(keyed, "FEW_ROWS", keyed.FEW_ROWS)  # which examples set


def joined_rows(texts, truth):
    report = JoinReport()
    rows = ({"n": n, "q": text} for n, text in enumerate(texts))
    pairs = join(rows, truth, texts=lambda row: [row["q"]], report=report)
    return [{**row, "a": match.get("a")} for row, match in pairs], report


def joined_columns(batches, truth):
    report = JoinReport()
    joined = list(join_columns(batches, truth, text="q", take={"a": "a"}, report=report))
    return [row for batch in joined for row in batch.to_pylist()], report


@pytest.mark.usefixtures("in_small_parts")
@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
@given(
    truth=st.lists(
        st.tuples(st.none() | TEXTS | st.sampled_from([5, "\ud800", "a\udfff"]), st.integers(0, 2)),
        max_size=12,
    ),
    texts=st.lists(st.none() | TEXTS | st.just("?"), max_size=14),
    kind=st.sampled_from(KINDS),
    sizes=st.lists(st.integers(0, 4), max_size=3),
    few=st.sampled_from([0, 100]),
)
def test_the_same_pairs_and_counts_as_of_rows(rules, truth, texts, kind, sizes, few):
    keyed.FEW_ROWS = few
    entries = [{"q": text, "a": answer} for text, answer in truth]
    numbers = pa.array(range(len(texts)), pa.int32())
    table = pa.table({"n": numbers, "q": pa.array(texts, pa.string()).cast(kind)})
    batches = batches_of(table, sizes) if texts else table.to_batches()
    by_rows = joined_rows(texts, GroundTruth(entries, "q", **rules))
    assert joined_columns(batches, GroundTruth(entries, "q", **rules)) == by_rows


@pytest.mark.usefixtures("in_small_parts")
@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
@pytest.mark.parametrize("ending", ["parquet", "jsonl"])
def test_sources_of_any_kind(tmp_path, rules, ending):
    """A source that is no parquet goes through rows, under the same names and rules."""
    entries = [{"problem": f"q{n % 17}  x", "a": n % 3, "more": [str(n)]} for n in range(20)]
    asked = [{"id": str(n), "question": f"q{n % 19}{' ' * (1 + n % 2)}x"} for n in range(40)]
    places = [tmp_path / f"{name}.{ending}" for name in ("truth", "asked")]
    for place, rows in zip(places, (entries, asked), strict=True):
        if ending == "parquet":
            pq.write_table(pa.Table.from_pylist(rows), place, row_group_size=7)
        else:
            place.write_text("".join(json.dumps(row) + "\n" for row in rows))
    truth = open_source(str(places[0]), columns={"q": "problem"})
    source = open_source(str(places[1]), columns={"sample_id": "id", "q": "question"})
    report = JoinReport()
    take = {"a": "a", "id": "more"}
    batches = join_columns(
        source, GroundTruth(truth, "q", **rules), text="q", take=take, report=report
    )
    rows = [row for batch in batches for row in batch.to_pylist()]
    expected = JoinReport()
    entries = [{**entry, "q": entry["problem"]} for entry in entries]
    texts = lambda row: [row["question"]]  # noqa: E731
    pairs = join(asked, GroundTruth(entries, "q", **rules), texts=texts, report=expected)
    assert rows == [
        {
            "id": match["more"],
            "question": row["question"],
            "sample_id": row["id"],
            "q": row["question"],
            "a": match["a"],
        }
        for row, match in pairs
    ]
    assert report == expected
    assert source.rows_read == report.rows == 40


@pytest.mark.parametrize(
    ("batch", "take", "said"),
    [
        pytest.param({"question": ["a"]}, {}, "lacks the column q", id="no such column"),
        pytest.param({"q": [1]}, {}, "column q holds int64", id="no text"),
        pytest.param({"q": ["a"]}, {"x": "lvel"}, "did you mean level?", id="not in the truth"),
    ],
)
def test_mistakes_of_a_join(tmp_path, batch, take, said):
    pq.write_table(pa.table({"q": ["a"], "level": [1]}), tmp_path / "t.parquet")
    truth = GroundTruth(open_source(str(tmp_path / "t.parquet")), "q")
    rows = [pa.RecordBatch.from_pydict(batch)]
    with pytest.raises(BadInput) as caught:
        list(join_columns(rows, truth, text="q", take=take, report=JoinReport()))
    assert said in str(caught.value)


def test_values_that_are_no_column_are_named(tmp_path):
    truth = GroundTruth([{"q": "a", "x": 1}, {"q": "b", "x": ["l"]}], "q")
    batch = pa.RecordBatch.from_pydict({"q": ["a", "b"]})
    with pytest.raises(BadInput, match="column 'x' of the ground truth mixes types"):
        list(join_columns([batch], truth, text="q", take={"x": "x"}, report=JoinReport()))
    (tmp_path / "rows.jsonl").write_text('{"q": "a"}\n{"q": "\\ud800"}\n')
    source = open_source(str(tmp_path / "rows.jsonl"))
    with pytest.raises(BadInput, match=r"row 1: column 'q' of .*rows.jsonl cannot hold") as caught:
        list(join_columns(source, truth, text="q", take={}, report=JoinReport()))
    assert "text without lone surrogates" in str(caught.value)


def test_rows_without_ground_truth_give_no_batch():
    report = JoinReport()
    batches = [pa.RecordBatch.from_pydict({"q": ["a", None]})]
    truth = GroundTruth([], "q")
    assert list(join_columns(batches, truth, text="q", take={"a": "a"}, report=report)) == []
    assert (report.rows, report.unmatched) == (2, 2)
    assert report.unmatched_examples == ["a", "(no text)"]


SIMPLE = (
    pa.int8(),
    pa.uint32(),
    pa.uint64(),
    pa.int64(),
    pa.float16(),
    pa.float32(),
    pa.float64(),
    pa.bool_(),
    pa.null(),
    *KINDS,
)
NESTED = (
    pa.list_(pa.string()),
    pa.large_list(pa.int16()),
    pa.struct([("x", pa.int32()), ("y", pa.list_(pa.string()))]),
    pa.struct([]),
    pa.list_(pa.struct([("k", pa.string())])),
    pa.timestamp("ms", "UTC"),
    pa.decimal128(5, 2),
    pa.map_(pa.string(), pa.int64()),
)


def value_of(kind, number):
    """A value that a column of the type can hold."""
    if pa.types.is_dictionary(kind):
        return value_of(kind.value_type, number)
    made = {
        "int": number % 100,
        "uint": number % 100,
        "float": number / 4,
        "halffloat": number / 4,
        "double": number / 4,
        "bool": number % 2 == 0,
        "timestamp": dt.datetime(2024, 1, 1, tzinfo=dt.UTC) + dt.timedelta(days=number),
        "decimal": number % 100,
        "map": [("k", number)],
    }
    for name, value in made.items():
        if str(kind).startswith(name):
            return value
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [value_of(kind.value_type, number + n) for n in range(number % 3)]
    if pa.types.is_struct(kind):
        return {field.name: value_of(field.type, number) for field in kind}
    return None if pa.types.is_null(kind) else f"é{number}"


@given(
    kinds=st.lists(st.sampled_from(SIMPLE + NESTED), max_size=4),
    present=st.lists(st.integers(0, 15), min_size=1, max_size=9),
    sizes=st.lists(st.integers(0, 5), max_size=3),
)
def test_the_same_file_as_of_rows(tmp_path_factory, kinds, present, sizes):
    """Whatever the types are, and wherever batches begin: a column of nulls has no type yet."""
    folder, size = tmp_path_factory.mktemp("written"), prepared.CHUNK_ROWS
    columns = {"sample_id": pa.array([str(n) for n in range(len(present))])}
    for place, kind in enumerate(kinds):
        values = [
            value_of(kind, n) if bits >> place & 1 else None for n, bits in enumerate(present)
        ]
        columns[f"c{place}"] = (
            pa.array(values, kind.value_type).cast(kind)
            if pa.types.is_dictionary(kind)
            else pa.array(values, kind)
        )
    table = pa.table(columns).replace_schema_metadata({"pandas": "{}"})
    prepared.CHUNK_ROWS = 3
    try:
        write_rows(table.to_pylist(), folder / "rows.parquet", task="t")
        write_rows(batches_of(table, sizes), folder / "batches.parquet", task="t")
    finally:
        prepared.CHUNK_ROWS = size
    assert (folder / "rows.parquet").read_bytes() == (folder / "batches.parquet").read_bytes()


def batch(**columns):
    return pa.RecordBatch.from_pydict(columns)


@pytest.mark.parametrize(
    ("batches", "said"),
    [
        ([batch(x=[1])], "row 0 of t has no sample_id"),
        ([batch(sample_id=["a"]), batch(sample_id=[""])], "row 1 of t has no sample_id"),
        ([batch(sample_id=["a", None])], "row 1 of t has no sample_id"),
        ([batch(sample_id=[7])], "row 0 of t has no sample_id"),
        ([batch(sample_id=["a", "a"])], "'a' occurs twice in t (again in row 1)"),
        ([], "t has no rows"),
        ([batch(sample_id=pa.array([], pa.string()))], "t has no rows"),
        (
            [batch(sample_id=["a"], x=[1]), batch(sample_id=["b"], x=[["l"]])],
            "column 'x' of t mixes types",
        ),
        ([batch(sample_id=["a"], prompt=[5])], "row a: column 'prompt' of t cannot hold '5'"),
        (
            [batch(sample_id=["a"], x=[json.loads("[" * 70 + "1" + "]" * 70)])],
            "row 0 of t is nested more than 60 levels deep in column 'x'",
        ),
        ([batch(sample_id=["a"]), {"sample_id": "b"}], "what follows a record batch of t is dict"),
        ([{"sample_id": "b"}, batch(sample_id=["a"])], "row 1 of t is RecordBatch"),
        ([pa.table({"sample_id": ["a"]})], "row 0 of t is Table"),
        (
            [pa.RecordBatch.from_arrays([pa.array(["a"])] * 2, names=["sample_id", "sample_id"])],
            "a record batch of t has several columns 'sample_id'",
        ),
    ],
)
def test_mistakes_in_batches(tmp_path, batches, said):
    with pytest.raises(BadInput) as caught:
        write_rows(batches, tmp_path / "a.parquet", task="t")
    assert said in str(caught.value)


def test_batches_whose_columns_change_are_one_table(tmp_path):
    batches = [batch(sample_id=["a"], x=[1]), batch(x=[0.5], sample_id=["b"], late=["z"])]
    assert write_rows(batches, tmp_path / "a.parquet", task="t") == 2
    assert pq.read_table(tmp_path / "a.parquet").to_pylist() == [
        {"sample_id": "a", "x": 1.0, "late": None},
        {"sample_id": "b", "x": 0.5, "late": "z"},
    ]


@pytest.mark.parametrize(
    "columns",
    [
        {"x": [1, 1, 2]},
        {"x": [1, 1, 2], "sample_id": ["a", None, ""]},
        {"sample_id": [7, 8, 9], "x": ["a", "b", "c"]},
        {"sample_id": ["a", "b", "c"], "x": [None, 1, 2]},
    ],
)
def test_the_same_ids_as_of_rows(columns):
    one = batch(**columns)
    (named,) = named_rows([one])
    assert named.to_pylist() == list(named_rows(one.to_pylist()))


@given(st.lists(st.integers(0, 5), max_size=6), st.integers(1, 4))
def test_regrouped_rows_are_all_rows_in_order(sizes, rows):
    table = pa.table({"x": pa.array(range(sum(sizes)), pa.int64())})
    tables = list(regrouped(batches_of(table, sizes) if sum(sizes) else [], rows))
    assert [len(part) for part in tables[:-1]] == [rows] * (len(tables) - 1)
    assert [row["x"] for part in tables for row in part.to_pylist()] == list(range(sum(sizes)))
