"""One's own files: what is read from each, and how each mistake is told."""

import json
import re
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalprep.data.fields import MAX_PROBLEMS, read_fields
from evalprep.errors import BadInput
from tests import PROJECT_ROOT
from tests.loops import each

DATA = PROJECT_ROOT / "tests" / "data" / "vectors" / "fm_data"
EXPECTATIONS = json.loads((DATA / "expectations.json").read_text(encoding="utf-8"))
GOOD = [name for name, each in EXPECTATIONS.items() if "reject" not in each.get("port_should", "")]
BAD = [name for name in EXPECTATIONS if name not in GOOD]
# What `port_should` asks a message to name, in the words of our messages.
# Of a comma before a bracket Python names the place of the bracket, and from 3.13 that of the comma.
WRONG_COLUMN = "column 24" if sys.version_info >= (3, 13) else "column 25"
NAMED = {
    "bad_uneven_columns.json": ["20", "19"],
    "bad_syntax.json": [":1:", WRONG_COLUMN],
    "bad_empty.jsonl": ["no records"],
}


def read(path, expressions=None, **options):
    return list(read_fields(path, expressions or {"model_input": "q"}, **options))


def locations(name):
    given = EXPECTATIONS[name]["locations"]
    return {key.removesuffix("_location"): value for key, value in given.items()}


def mistakes(path, expressions=None, **options):
    with pytest.raises(BadInput) as raised:
        read(path, expressions, **options)
    return str(raised.value)


@pytest.mark.parametrize("name", GOOD)
def test_files_that_are_read(name):
    rows = read(DATA / name, locations(name), declared=EXPECTATIONS[name]["mime_type"])
    upstream = EXPECTATIONS[name]["upstream_result"]
    assert len(rows) == 20
    assert [row.number for row in rows] == list(range(20))
    if "first" in upstream:
        assert rows[0].fields == upstream["first"]


@pytest.mark.parametrize("name", BAD)
def test_files_that_are_refused(name):
    should = EXPECTATIONS[name]["port_should"]
    said = mistakes(DATA / name, locations(name), declared=EXPECTATIONS[name]["mime_type"])
    parts = [f"{name}:{line}: " for line in re.findall(r"line (\d+)", should)]
    parts += [f"{name} (index {index}): " for index in re.findall(r"index (\d+)", should)]
    parts += [f"({field}): " for field in re.findall(r"field (\w+)", should)]
    for part in each([name, *parts, *NAMED.get(name, [])]):
        assert part in said


def test_a_csv_file_with_line_breaks_in_cells(tmp_path):
    path = tmp_path / "own.csv"
    path.write_text('q,a\n"one\ntwo",x\n\nthree,"y, z"\n', encoding="utf-8-sig")
    rows = read(path, {"model_input": "q", "target_output": "a"})
    assert [row.fields for row in rows] == [
        {"model_input": "one\ntwo", "target_output": "x"},
        {"model_input": "three", "target_output": "y, z"},
    ]
    assert [row.where for row in rows] == [f"{path}:2", f"{path}:5"]
    assert [row.number for row in rows] == [0, 1]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("q,a\none\ntwo,x\n", "own.csv:2: has 1 cells, and the header 2"),
        ("q,q\none,two\n", "own.csv:1: the header names a column twice"),
        ('q,a\n"one,x\n', "own.csv:2: is not CSV with the delimiter ','"),
        ("q,a\n", "holds no records"),
        ("", "holds no records"),
    ],
)
def test_csv_files_that_are_refused(tmp_path, text, said):
    path = tmp_path / "own.csv"
    path.write_text(text, encoding="utf-8")
    assert said in mistakes(path)


def test_a_tsv_file_by_name_and_by_word(tmp_path):
    for path, declared in ((tmp_path / "own.tsv", None), (tmp_path / "own.txt", "tsv")):
        path.write_text("q\ta\none, two\tx\n", encoding="utf-8")
        assert read(path, declared=declared)[0].fields == {"model_input": "one, two"}


def test_a_parquet_file_with_structs_and_lists(tmp_path):
    path = tmp_path / "own.parquet"
    rows = [
        {"in": {"q": "one"}, "refs": ["a", "b"], "p": -1.5},
        {"in": {"q": "two"}, "refs": ["c"], "p": -2.0},
    ]
    pq.write_table(pa.Table.from_pylist(rows), path)
    read_rows = read(
        path,
        {
            "model_input": '"in".q',
            "target_output": "join('<OR>', refs)",
            "sent_more_log_prob": "p",
            "refs": "refs",
        },
    )
    assert read_rows[0].fields == {
        "model_input": "one", "target_output": "a<OR>b", "sent_more_log_prob": -1.5, "refs": ["a", "b"],
    }  # fmt: skip
    assert read_rows[0].record == rows[0]


def test_a_null_and_a_nan_in_parquet_are_named_by_row(tmp_path):
    path = tmp_path / "own.parquet"
    pq.write_table(pa.table({"q": ["a", None, "c"], "n": [1.0, 2.0, float("nan")]}), path)
    said = mistakes(path, {"model_input": "q", "target_output": "n"})
    assert "(row 2): model_input (q): is null" in said
    assert "(row 3): target_output (n): is not a number (NaN)" in said


def test_a_record_may_lack_its_category(tmp_path):
    path = tmp_path / "own.parquet"
    pq.write_table(pa.table({"q": ["a", "b", "c"], "n": ["x", None, "y"]}), path)
    rows = read(path, {"model_input": "q", "category": "n"})
    assert [row.fields["category"] for row in rows] == ["x", None, "y"]


@pytest.mark.parametrize(
    ("text", "place", "fix"),
    [
        ("q;a\none;two\n", "csv", "split at ',', and its header holds ';': save it with commas"),
        ("q;a\none, two;x\n", "csv", "its header holds ';'"),
        ("q\ta\none\ttwo\n", "csv", "set format: tsv"),
        ("q,a\none,two\n", "tsv", "set format: csv"),
    ],
)
def test_a_table_with_another_delimiter_is_explained(tmp_path, text, place, fix):
    path = tmp_path / f"own.{place}"
    path.write_text(text, encoding="utf-8")
    assert fix in mistakes(path)


def test_a_json_list_of_objects_by_column_names_or_as_a_whole(tmp_path):
    path = tmp_path / "own.json"
    path.write_text('[{"Review Text": "a", "q": 1}, {"Review Text": "b", "q": 2}]')
    assert [row.fields["model_input"] for row in read(path, {"model_input": "Review Text"})] == [
        "a",
        "b",
    ]
    assert [row.fields["model_input"] for row in read(path, {"model_input": "[*].q"})] == ["1", "2"]
    assert "own.json (index 1)" in read(path, {"model_input": "q"})[1].where


def test_the_name_of_a_column_wins_over_an_expression(tmp_path):
    path = tmp_path / "own.jsonl"
    path.write_text('{"a.b": "whole name", "a": {"b": "path"}}\n')
    assert read(path, {"model_input": "a.b"})[0].fields == {"model_input": "whole name"}


def test_all_mistakes_of_a_file_at_once_with_a_bound(tmp_path):
    path = tmp_path / "own.jsonl"
    path.write_text('{"q": null, "t": ["x"]}\nnonsense\n{"q": "fine", "t": "x"}\n{"t": "x"}\n')
    said = mistakes(path, {"model_input": "q", "target_output": "t"})
    assert [line for line in (1, 2, 3, 4) if f"own.jsonl:{line}: " in said] == [1, 2, 4]
    assert said.count("own.jsonl:1: ") == 2
    path.write_text("nonsense\n" * 1_000)
    assert mistakes(path).count("own.jsonl:") == MAX_PROBLEMS + 1


@pytest.mark.parametrize(
    ("value", "number"), [("-1.5", -1.5), (-3, -3), (0.0, 0.0), ("-1e-3", -0.001), (-2.5, -2.5)]
)
def test_log_probabilities_may_be_texts_of_numbers(tmp_path, value, number):
    path = tmp_path / "own.jsonl"
    path.write_text(json.dumps({"p": value}))
    assert read(path, {"sent_more_log_prob": "p"})[0].fields == {"sent_more_log_prob": number}


@pytest.mark.parametrize("value", ["x", True, "", "nan", float("inf")])
def test_log_probabilities_are_numbers(tmp_path, value):
    path = tmp_path / "own.jsonl"
    path.write_text(json.dumps({"p": value}))
    assert "expected a number" in mistakes(path, {"sent_more_log_prob": "p"})


@pytest.mark.parametrize(
    ("expressions", "said"),
    [
        ({"model_input": "q..x"}, "a column (q) or a JMESPath expression"),
        ({"model_input": "quest ion"}, "is no JMESPath expression"),
        ({"model_input": "quest"}, "columns found: q"),
    ],
)
def test_expressions_are_checked_against_the_file(tmp_path, expressions, said):
    path = tmp_path / "own.jsonl"
    path.write_text('{"q": "x"}\n')
    assert said in mistakes(path, expressions)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"q": "x"}\n{"q": "\xff"}\n', "own.jsonl:2: is not UTF-8"),
        (b'{"q": "\\ud800"}\n', "half of a surrogate pair"),
        (b"[" * 50_000, "nested too deeply"),
    ],
)
def test_texts_that_cannot_be_kept(tmp_path, content, said):
    path = tmp_path / "own.jsonl"
    path.write_bytes(content)
    assert said in mistakes(path)


@pytest.mark.parametrize(
    ("name", "declared", "said"),
    [
        ("own.txt", None, "the format is not clear"),
        ("own.jsonl", "application/xml", "'application/xml' is unknown"),
    ],
)
def test_a_format_that_is_not_known(tmp_path, name, declared, said):
    (tmp_path / name).write_text('{"q": "x"}\n')
    assert said in mistakes(tmp_path / name, declared=declared)


def test_json_lines_under_the_name_of_json(tmp_path):
    path = Path(tmp_path / "own.json")
    path.write_text('{"q": "x"}\n{"q": "y"}\n')
    assert "format: jsonl" in mistakes(path)


@pytest.mark.parametrize("cell", ['"[""one"", ""two""]"', "\"['one', 'two']\""])
def test_a_list_in_a_cell_of_a_flat_file_is_a_list(tmp_path, cell):
    file = tmp_path / "own.csv"
    file.write_text(f"q,c\nwhich?,{cell}\n")
    (row,) = read(file, {"model_input": "q", "context": "c"})
    assert row.fields["context"] == ["one", "two"]


def test_a_text_where_a_list_is_due_is_refused(tmp_path):
    file = tmp_path / "own.csv"
    file.write_text("q,c\nwhich?,\"['one' 'two']\"\n")
    assert "context (c): is a text, expected a list" in mistakes(
        file, {"model_input": "q", "context": "c"}
    )
