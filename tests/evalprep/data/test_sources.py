"""Sources: local files, folders with and without card, a hub mirror; every failure says what to do."""

import gzip
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalprep.data import folders
from evalprep.data.sources import config_names, open_source
from evalprep.errors import BadInput
from tests.evalprep.data.mirror import hub

ROWS = [{"q": "one", "n": 1}, {"q": "zwei \u00fc", "n": None}]
CARD = """---
configs:
- config_name: first
  data_files:
  - {split: test, path: data/test-*}
  - {split: train, path: [data/train.jsonl]}
- config_name: second
  data_files: data/train.jsonl
---
"""


@pytest.fixture
def dataset(tmp_path):
    folder = tmp_path / "some-set"
    (folder / "data").mkdir(parents=True)
    (folder / "README.md").write_text(CARD)
    pq.write_table(pa.Table.from_pylist(ROWS), folder / "data" / "test-0.parquet")
    (folder / "data" / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return folder


def problem(*args, **kwargs) -> str:
    with pytest.raises(BadInput) as caught:
        list(open_source(*args, **kwargs).rows())
    return str(caught.value)


@pytest.mark.parametrize(
    ("config", "split"),
    [("first", "test"), ("first", "train"), ("second", None), ("second", "train")],
)
def test_card_configs(dataset, config, split):
    source = open_source(str(dataset), config=config, split=split)
    assert list(source.rows()) == ROWS
    assert source.columns == ["q", "n"]
    assert source.facts()["rows"] == 2


CSV = 'q,n,a\n"one, with\ntwo lines",1,\n"say ""x""",2,NA\n'


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", CSV.encode()),
        ("a.csv", b"\xef\xbb\xbf" + CSV.replace("\n1", "\r\n1").encode()),
        ("a.csv.gz", gzip.compress(CSV.encode(), mtime=0)),
        ("A.CSV", CSV.encode()),
        (
            "a.tsv",
            CSV.replace(", with", ";with").replace(",", "\t").replace(";with", ", with").encode(),
        ),
    ],
)
def test_csv(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    source = open_source(name, folder=tmp_path)
    assert source.columns == ["q", "n", "a"]
    assert list(source.rows()) == [
        {"q": "one, with\ntwo lines", "n": 1, "a": None},
        {"q": 'say "x"', "n": 2, "a": None},
    ]
    assert list(source.rows(["n"])) == [{"n": 1}, {"n": 2}]


def test_json_lines_in_gz(tmp_path):
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b'{"q": 1}\n'))
    assert list(open_source("a.jsonl.gz", folder=tmp_path).rows()) == [{"q": 1}]


def test_names_of_configs(dataset):
    assert config_names(str(dataset)) == ["first", "second"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.jsonl", '{"q": "one"}\n\n{"q": "two"}'),
        ("a.json", '[{"q": "one"}, {"q": "two"}]'),
        ("a.json", '{"data": [{"q": "one"}, {"q": "two"}]}'),
        ("a.json", '{"q": "one"}\n{"q": "two"}\n'),
        ("bom.jsonl", '\ufeff{"q": "one"}\r\n{"q": "two"}\r\n'),
    ],
)
def test_json_forms(tmp_path, name, text):
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert [row["q"] for row in open_source(name, folder=tmp_path).rows(["q"])] == ["one", "two"]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.jsonl", b'{"q": 1}\n{"q": \n', "a.jsonl:2: is not JSON"),
        ("a.jsonl", b"[1]\n", "a.jsonl:1: holds a list"),
        ("a.jsonl", b'{"q": "\xff"}\n', "a.jsonl:1: is not UTF-8"),
        ("a.json", b"[1, 2]", "holds no list of objects"),
        ("a.json", b"nope", "is not JSON"),
        ("a.json", b"5", "holds no list of objects"),
        ("a.json", b'{"q": 1}', "holds no list of objects"),
        ("a.json", b"[" * 100_000, "is not JSON"),
        ("a.json", b'["\xff"]', "is not UTF-8"),
        (
            "a.json",
            b'{"a": [{"q": 1}], "n": [1], "b": [{"q": 2}]}',
            "holds several lists of rows: a, b",
        ),
        ("a.xyz", b"q,a\n", "is not a data file that evalprep reads\n  allowed: .parquet, "),
        ("a.xlsx", b"PK\x03\x04\xff", "a spreadsheet can be saved as CSV"),
        ("a.csv.zip", b"PK\x03\x04\xff", "fix: unpack it"),
        ("a.csv", b"q;a\n1;2,3\n1,5;2,3\n", "fix: its cells are separated by semicolons"),
        ("a.csv", b"", "a.csv: is empty"),
        ("a.csv", b"q,a\n1,2\n1,2,3\n", "a.csv:3: is not CSV: Expected 2 fields in line 3, saw 3"),
        ("a.csv", b'q,a\n1,"two\n3,4\n', "a.csv:2: is not CSV"),
        ("a.csv", b"q,a\n1,2\n\xff,2\n", "a.csv:3: is not UTF-8"),
        ("a.csv.gz", b"\x1f\x8b\x08\x00", "a.csv.gz: is damaged"),
        ("a.jsonl.gz", b"not gzip", "a.jsonl.gz: is damaged"),
        ("a.parquet", b"PAR1 not really", "not a readable parquet file"),
    ],
)
def test_damaged_files(tmp_path, name, content, said):
    (tmp_path / name).write_bytes(content)
    assert said in problem(name, folder=tmp_path)


@pytest.mark.parametrize(
    "data_files",
    [
        "a.jsonl",
        ["a.jsonl"],
        {"train": "a.jsonl"},
        [{"split": "train", "path": "a.jsonl"}],
        [{"split": "train", "path": ["a.jsonl"]}],
        # no form that a card may have: the files are found by looking
        5,
        [5],
        [{"split": "train", "path": None}],
        [{"path": ""}],
    ],
)
def test_forms_of_a_card(tmp_path, data_files):
    (tmp_path / "a.jsonl").write_text('{"q": "one"}')
    card = {"configs": [{"config_name": "default", "data_files": data_files}]}
    (tmp_path / "README.md").write_text(f"---\n{json.dumps(card)}\n---\n")
    assert [row["q"] for row in open_source(str(tmp_path), split="train").rows()] == ["one"]


@pytest.mark.parametrize("front", ["configs: 5", "configs: {a: 1}", "x: 2024-99-99", "- a"])
def test_a_card_without_configs(tmp_path, front):
    (tmp_path / "a.jsonl").write_text('{"q": "one"}')
    (tmp_path / "README.md").write_text(f"---\n{front}\n---\n")
    assert [row["q"] for row in open_source(str(tmp_path), split="train").rows()] == ["one"]


@pytest.mark.parametrize("front", ["configs: [", "a: " + "[" * 9999])
def test_a_card_that_is_no_yaml_does_not_pass_for_none(tmp_path, front):
    (tmp_path / "a.jsonl").write_text('{"q": "one"}')
    (tmp_path / "README.md").write_text(f"---\n{front}\n---\n")
    with pytest.raises(BadInput, match=r"README\.md: is not YAML"):
        open_source(str(tmp_path), split="train")


def test_lines_longer_than_the_head_are_no_rows(tmp_path):
    (tmp_path / "a.csv").write_text(
        "q,n\none,1,\ntwo,2,\n"
    )  # pandas alone would call `1` the q of the first row
    with pytest.raises(BadInput, match="its lines have more cells than its head"):
        list(open_source(str(tmp_path / "a.csv")).rows())


def test_a_key_that_the_first_row_lacks_is_a_column(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"q": "one"}\n{"q": "two", "a": 2}\n')
    source = open_source(str(tmp_path / "a.jsonl"))
    assert source.columns == ["q", "a"]
    assert [row["a"] for row in source.rows()] == [None, 2]


@pytest.mark.parametrize("start", ["---\n", "\ufeff---\n", "---  \r\n"])
def test_the_front_matter_ends_at_a_line_of_dashes(tmp_path, start):
    (tmp_path / "a.jsonl").write_text('{"q": "one"}')
    (tmp_path / "README.md").write_text(
        f"{start}pretty_name: a --- b\nconfigs:\n- config_name: c\n  data_files: a.jsonl\n---\n# About\n---\n",
        encoding="utf-8",
    )
    assert config_names(str(tmp_path)) == ["c"]


def test_a_folder_that_is_no_data_set_is_not_searched_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr(folders, "MAX_ENTRIES", 5)
    for number in range(6):
        (tmp_path / f"{number}.txt").touch()
    assert "holds more than 5 files and folders" in problem(str(tmp_path))


def test_a_config_name_is_no_way_out_of_the_folder(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "secret.jsonl").write_text('{"q": "secret"}')
    for config in ("..", str(tmp_path)):
        assert "has no config" in problem(str(tmp_path / "in"), config=config, split="x")


@pytest.mark.parametrize("location", ["x" * 5000, "~nobody-of-this-name/x", "a/b/c", "./x", ""])
def test_places_that_cannot_be(tmp_path, location):
    assert "no" in problem(location, folder=tmp_path)


def test_missing_things_are_named(dataset):
    assert "has no config 'frist'" in problem(str(dataset), config="frist", split="test")
    assert "did you mean first?" in problem(str(dataset), config="frist", split="test")
    assert "has no split 'tset'" in problem(str(dataset), config="first", split="tset")
    assert "no file or folder at" in problem(str(dataset.parent / "some-sett"))
    assert "did you mean some-set?" in problem(str(dataset.parent / "some-sett"))
    with pytest.raises(BadInput, match="lacks the column question"):
        open_source(str(dataset), config="first", split="test").require(["question"])


def test_a_card_cannot_reach_outside_of_its_folder(dataset):
    (dataset.parent / "secret.jsonl").write_text('{"q": "secret"}')
    (dataset / "README.md").write_text(
        "---\nconfigs:\n- config_name: x\n  data_files: ../secret.jsonl\n---\n"
    )
    assert "outside of the data set" in problem(str(dataset), config="x", split="train")


@pytest.fixture
def mirror(dataset, tmp_path):
    """A hub on 127.0.0.1 with `org/some-set`, and the environment of a process that uses it."""
    with hub(dataset.parent, tmp_path) as served:
        yield served


def in_process(code, env):
    import os
    import subprocess
    import sys

    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.stdout + done.stderr


SCRIPT = """
from evalprep.data import sources
from evalprep.errors import BadInput
from evalprep.data.sources import open_source
try:
    source = open_source({location!r}, config="first", split="test")
    print([row["q"] for row in source.rows()], source.facts()["revision"][:4])
except BadInput as error:
    print("BAD", error)
"""


def test_hub_through_its_endpoint_then_offline_from_the_cache(mirror):
    handler, env = mirror
    code = SCRIPT.format(location="org/some-set")
    assert "['one', 'zwei ü'] cccc" in in_process(code, env)
    assert not any("train.jsonl" in path and "resolve" in path for path in handler.log), (
        "only the split's files are fetched"
    )
    handler.log.clear()
    assert "['one', 'zwei ü'] cccc" in in_process(code, {**env, "HF_HUB_OFFLINE": "1"})
    assert handler.log == [], "offline means no call"


@pytest.mark.parametrize(
    ("location", "offline", "said"),
    [
        ("org/gated-set", "0", "is gated"),
        ("org/unknown", "0", "is not on the hub"),
        ("org/some-set", "1", "HF_HUB_OFFLINE is set"),
    ],
)
def test_hub_failures_say_what_to_do(mirror, location, offline, said):
    _, env = mirror
    out = in_process(SCRIPT.format(location=location), {**env, "HF_HUB_OFFLINE": offline})
    assert "BAD" in out
    assert said in out
    assert "fix:" in out


@pytest.mark.parametrize(
    ("token", "said"),
    [
        ("", "fix: accept its terms at https://huggingface.co/datasets/org/gated-set and set"),
        ("hf_of_another_account", "is gated, and the account of your token has no access"),
    ],
)  # fmt: skip
def test_a_gated_set_with_and_without_a_token(mirror, token, said):
    _, env = mirror
    env = {**env, "HF_TOKEN": token, "HF_HUB_OFFLINE": "0"}
    assert said in in_process(SCRIPT.format(location="org/gated-set"), env)


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        ("errors.HfHubHTTPError('busy', response=response(503))", "the hub answered 503 for o/d"),
        ("errors.OfflineModeIsEnabled('offline')", "o/d"),
        ("KeyError('train')", "None"),
    ],
)
def test_a_failure_of_the_hub_behind_an_error_of_datasets(failure, said):
    code = f"""
import httpx
from huggingface_hub import errors
from evalprep.data import hub_problem

def response(status):
    return httpx.Response(status, request=httpx.Request("GET", "https://huggingface.co/o/d"))

try:
    try:
        raise {failure}
    except Exception as error:
        raise ValueError("cannot be loaded") from error
except ValueError as error:
    print(hub_problem(error, "o/d"))
"""
    assert said in in_process(code, {"HF_HUB_OFFLINE": "0"})


def test_zst(tmp_path):
    import pyarrow as pa

    for name, content in (("a.jsonl.zst", b'{"q": 1}\n{"q": 2}\n'), ("a.csv.zst", b"q\n1\n2\n")):
        (tmp_path / name).write_bytes(bytes(pa.compress(content, "zstd", asbytes=True)))
        assert list(open_source(name, folder=tmp_path).rows()) == [{"q": 1}, {"q": 2}]
        (tmp_path / name).write_bytes((tmp_path / name).read_bytes()[:-6])
        assert "is damaged" in problem(name, folder=tmp_path)


@pytest.mark.parametrize(
    ("split", "found"),
    [
        ("test[:1]", [1]),
        ("anything[-1:]", [3]),
        ("test[:2]+test[2:]", [1, 2, 3]),
        ("test", [1, 2, 3]),
    ],
)
def test_parts_of_one_file(tmp_path, split, found):
    (tmp_path / "a.jsonl").write_text('{"q": 1}\n{"q": 2}\n{"q": 3}\n')
    source = open_source("a.jsonl", split=split, folder=tmp_path)
    assert [row["q"] for row in source.rows()] == found
    assert source.facts()["rows"] == len(found)


@pytest.mark.parametrize(
    ("split", "said"),
    [
        ("test+train", "one file, which is one split, and 'test+train' names several"),
        ("test[5:]", "test[5:] holds no row\n  allowed: test has 3 rows"),
        ("test[2:1]", "would begin behind row 2 and end behind row 1"),
        ("test[:-10%]", "test[:-10%] holds no row"),
        ("test[:10%](pct1_dropremainder)", "needs a split of 100 rows or more, and test has 3"),
        (
            "test[0]",
            "'test[0]' is not a valid split: 'test[0]' is neither a name nor a part\n  allowed: a split, or parts",
        ),
    ],
)
def test_parts_that_are_none(tmp_path, split, said):
    (tmp_path / "a.jsonl").write_text('{"q": 1}\n{"q": 2}\n{"q": 3}\n')
    assert said in problem("a.jsonl", split=split, folder=tmp_path)
