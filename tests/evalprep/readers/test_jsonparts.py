"""JSON files by their parts: a large file gives what a small one does, and is never held whole."""

import gzip
import io
import json
import tracemalloc

import pytest

from evalprep.readers.tools import opening
from evalprep.results import open_run
from evalprep.samples import jsonparts, jsonplaces
from evalprep.samples.jsonparts import JsonParts
from evalprep.samples.jsonplaces import find_places
from tests.evalprep.readers.logs import inspect_sample, write_json_log

CONTENT = {
    "version": 2,
    "empty": {},
    "none": [],
    "text": 'a "quoted" \\ text, é 漢 \u2028 {[,:]}',
    "numbers": [1, -2.5e10, True, None, "x"],
    "samples": {"t": [{"a": [1, {"b": "]"}]}, {"a": "\n"}, 3], "u": []},
}


@pytest.fixture
def in_steps(monkeypatch):
    """Every file counts as large, and is read a few bytes at a time."""
    monkeypatch.setattr(jsonparts, "_HELD", 0)
    monkeypatch.setattr(jsonplaces, "_STEP", 3)


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_large_object_is_read_as_a_small_one(tmp_path, in_steps, indent, ascii_only, pack):
    path = tmp_path / "x.json"
    text = json.dumps(CONTENT, indent=indent, ensure_ascii=ascii_only)
    path.write_bytes(pack(b"\xef\xbb\xbf" + text.encode()))
    parts = JsonParts.of_file(path)
    assert parts.keys == list(CONTENT)
    assert {key: parts.get(key) for key in parts.keys} == CONTENT
    assert parts.count("numbers") == 5
    assert parts.count("none") == 0
    assert parts.count("text") is None
    assert list(parts.each_value("numbers")) == CONTENT["numbers"]
    samples = parts.inner("samples")
    assert list(samples.each_value("t")) == CONTENT["samples"]["t"]
    assert [getattr(item, "why", "") for item in list(samples.each("t"))[2:]] == ["not an object"]


def test_a_large_list_is_read_as_a_small_one(tmp_path, in_steps):
    path = tmp_path / "x.json"
    path.write_text(json.dumps([{"id": 1, "v": float("nan")}, {"id": 2}]))
    parts = JsonParts.of_file(path)
    assert parts.keys == ["id", "v"]
    assert [item["id"] for item in parts.each_item()] == [1, 2]
    assert [json.loads(text)["id"] for text in parts.each_text()] == [1, 2]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('{"a": 1, "b": [1, 2', "cut off"),
        ('{"a": "never closed', "Unterminated string"),
        ('{"a": 1 "b": 2}', "in place of"),
        ('{"a": tru, "b": "a text that is longer than a window"}', "Expecting value"),
        ('{"a": ' + "[" * 200_000, "nested too deeply"),
    ],
)
def test_damage_of_a_large_file_is_named(tmp_path, in_steps, text, what):
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=what):
        JsonParts.of_file(path)


def test_one_value_above_the_limit_is_refused(monkeypatch):
    monkeypatch.setattr(jsonplaces, "_STEP", 100)
    monkeypatch.setattr(jsonplaces, "_LARGEST_VALUE", 1_000)
    long = json.dumps(["x", "y" * 5_000])
    with pytest.raises(ValueError, match="a value at byte 6 is longer than 1000 bytes"):
        find_places(io.BytesIO(long.encode()))


def test_more_values_than_the_limit_are_refused(monkeypatch):
    monkeypatch.setattr(jsonplaces, "_MOST_PARTS", 10)
    with pytest.raises(ValueError, match="more than 10 values"):
        find_places(io.BytesIO(json.dumps(list(range(20))).encode()))


def test_the_samples_of_a_log_that_is_one_object_are_streamed(tmp_path, monkeypatch):
    monkeypatch.setattr(jsonparts, "_HELD", 100_000)
    monkeypatch.setattr(jsonplaces, "_STEP", 100_000)
    monkeypatch.setattr(opening, "_LONGEST_LINE", 100_000)
    samples = [inspect_sample(n, events=["a long event " * 1_000]) for n in range(500)]
    log = write_json_log(tmp_path / "log.json", samples)
    del samples
    assert log.stat().st_size > 6_000_000
    tracemalloc.start()
    try:
        assert open_run(log, ()).tasks["ice"].logged.rows.effective == 500
        assert tracemalloc.get_traced_memory()[1] < 4_000_000
    finally:
        tracemalloc.stop()


def test_the_samples_inside_a_large_results_file_are_those_of_a_small_one(tmp_path, monkeypatch):
    sample = {"target": "b", "arguments": [["q", {}]], "resps": [["b"]], "filtered_resps": ["b"]}
    lines = [{"doc_id": n, "doc": {"q": str(n)}, "exact_match": n % 2, **sample} for n in range(6)]
    content = {
        "results": {"quiz": {"exact_match,none": 0.5}},
        "configs": {"quiz": {"task": "quiz"}},
        "samples": {"quiz": lines},
    }
    ids = []
    for held in (jsonparts._HELD, 0):
        monkeypatch.setattr(jsonparts, "_HELD", held)
        path = tmp_path / str(held) / "results.json"
        path.parent.mkdir()
        path.write_text(json.dumps(content))
        ids.append([row.sample_id for row in open_run(path, ()).tasks["quiz"].samples()])
    assert ids[0] == ids[1]
    assert len(ids[0]) == 6
