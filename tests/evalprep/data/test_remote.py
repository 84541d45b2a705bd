"""Data at addresses: copied once per version, named in the manifest, and errors that say what to install."""

import json
import sys
from pathlib import Path

import pytest

from evalprep.data import open_source, remote
from evalprep.errors import BadInput

fsspec = pytest.importorskip("fsspec")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("EVALPREP_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def bucket():
    """Storage in memory, which stands for a bucket."""
    system = fsspec.filesystem("memory")
    system.pipe("/bucket/rows.jsonl", b'{"a": 1}\n{"a": 2}\n')
    system.pipe("/bucket/set/test.jsonl", b'{"a": 3}\n')
    yield system
    system.rm("/bucket", recursive=True)


def test_a_file_is_read_and_stands_in_the_facts(bucket):
    source = open_source("memory://bucket/rows.jsonl")
    assert [row["a"] for row in source.rows()] == [1, 2]
    facts = source.facts()
    assert facts["location"] == "memory://bucket/rows.jsonl"
    assert [file["name"] for file in facts["files"]] == ["rows.jsonl"]
    assert len(facts["files"][0]["sha256"]) == 64


def test_a_folder_is_a_data_set(bucket):
    source = open_source("memory://bucket/set", split="test")
    assert [row["a"] for row in source.rows()] == [3]


def test_another_version_is_fetched_anew(bucket):
    first = open_source("memory://bucket/rows.jsonl").files[0]
    bucket.pipe("/bucket/rows.jsonl", b'{"a": 5}\n')
    source = open_source("memory://bucket/rows.jsonl")
    assert source.files[0] != first
    assert [row["a"] for row in source.rows()] == [5]


def test_what_is_not_there_is_named(bucket):
    with pytest.raises(BadInput, match=r"memory://bucket/none.jsonl cannot be read"):
        open_source("memory://bucket/none.jsonl", where="data")


@pytest.mark.parametrize(
    ("missing", "address", "fix"),
    [
        ("fsspec", "s3://bucket/a.jsonl", "pip install fsspec s3fs"),
        ("gcsfs", "gs://bucket/a.jsonl", "pip install gcsfs"),
        ("s3fs", "s3://bucket/a.jsonl", "pip install s3fs"),
    ],
)
def test_a_missing_package_is_named(monkeypatch, missing, address, fix):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(BadInput) as raised:
        open_source(address, where="data")
    assert fix in str(raised.value)


def test_addresses_of_the_hub_go_to_its_reader():
    assert remote.hub_address("hf://datasets/org/set@v1/x/a.jsonl") == (
        "org/set",
        "v1",
        "x/a.jsonl",
    )
    assert remote.hub_address("hf://datasets/org/set") == ("org/set", None, None)
    assert remote.hub_address("s3://datasets/org/set") is None


def test_a_command_reads_an_address_and_the_manifest_names_it(bucket, tmp_path, capsys):
    from evalprep.cli import main
    from tests.packs.fm.project import QA, stored, write_config

    bucket.pipe("/bucket/qa.jsonl", Path(QA["path"]).read_bytes())
    config = write_config(tmp_path, {**stored(QA), "path": "memory://bucket/qa.jsonl"})
    assert main(["prepare", "--config", str(config)]) == 0
    manifest = json.loads((tmp_path / "work_dir" / "manifest.json").read_text())
    assert manifest["sources"][0]["location"] == "memory://bucket/qa.jsonl"
    assert manifest["sources"][0]["files"][0]["sha256"]
    assert main(["run", "--replies=rows", str(tmp_path / "work_dir")]) == 0
    capsys.readouterr()
