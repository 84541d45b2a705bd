"""Our rules for records of Every Eval Ever, on changes to a valid record, and against its own package."""

from __future__ import annotations

import json

import pytest

from evalprep.cli import main
from evalprep.export import check_file, is_valid
from evalprep.export.every_eval_ever.schema import SAMPLE, validator
from tests.evalprep.export.records import Store, change
from tests.evalprep.export.test_export import quiz
from tests.evalprep.report.runs import write_run

CHANGES = [
    ("none", True),
    ("unknown top-level key", False),
    ("unknown key in model_info", True),
    ("unknown key in a sample line", False),
    ("retrieved_timestamp as ISO text", True),
    ("retrieved_timestamp missing", False),
    ("schema_version 9.9", True),
    ("drop model_info.additional_details", False),
    ("deployment_type cloud", False),
    ("score_type continuous without min_score", False),
    ("score_type levels without level_names", False),
    ("max_score Infinity", True),
    ("min_score above max_score", False),
    ("score 101 with max_score 1", False),
    ("score NaN", False),
    ("score as text", False),
    ("checksum differs", True),
    ("total_rows differs", False),
    ("total_rows as text", True),
    ("samples carry another evaluation_id", False),
    ("samples carry another model_id", False),
    ("no samples file", False),
    ("empty samples", False),
    ("drop detailed_evaluation_results", False),
    ("flat model id without developer", True),
    ("messages in single_turn", False),
    ("file name not a UUID4", False),
    ("path depth", False),
    ("collection named data", False),
    ("repeated results", True),
]


@pytest.fixture(scope="module")
def valid(tmp_path_factory):
    """A folder with one valid record, written by the verb."""
    place = tmp_path_factory.mktemp("valid")
    write_run(place / "run", {"quiz": quiz(1)}, model="org/model")
    assert main(["export", str(place / "run"), "--to", "eee", "--out", str(place)]) == 0
    return place


@pytest.mark.parametrize(("sentence", "expected"), CHANGES, ids=[row[0] for row in CHANGES])
def test_a_changed_record_is_valid_or_not(valid, tmp_path, sentence, expected):
    store = Store.read(valid)
    change(store, sentence)
    files = store.write(tmp_path)
    assert all([is_valid(file) for file in files]) is expected  # noqa: C419 - both are looked at


@pytest.mark.parametrize(("sentence", "_"), CHANGES, ids=[row[0] for row in CHANGES])
def test_the_package_says_the_same(valid, tmp_path, sentence, _):
    theirs = pytest.importorskip("every_eval_ever.validator.validate")
    store = Store.read(valid)
    change(store, sentence)
    files = store.write(tmp_path)
    assert files
    for file in files:
        place, files = theirs._local_path_context(file)
        report = theirs.validate_file(
            file,
            repo_path=place,
            available_files=files,
            read_repo_file=files.read_text,
            run_semantic_checks=True,
        )
        assert report.valid is is_valid(file)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        '{"a": 1, "a": 2}',
        '{"a": NaN}',
        '{"a": 1e999}',
        "{",
        '"\\ud800"',
        "[" * 100_000,
    ],
)
def test_what_is_no_record_is_invalid_and_no_fault(tmp_path, text):
    for name in ("x.json", "x.jsonl", "x.txt"):
        path = tmp_path / name
        path.write_text(text)
        assert check_file(path)


def test_a_flat_id_is_a_warning(valid, tmp_path):
    store = Store.read(valid)
    change(store, "flat model id without developer")
    record, _ = store.write(tmp_path)
    assert [finding.level for finding in check_file(record)] == ["warning"]


def test_line_breaks_of_unicode_do_not_end_a_line(tmp_path):
    rows = list(quiz(2))
    rows[0]["resps"] = [["one\u2028two\x0bthree\x85four"]]
    write_run(tmp_path / "run", {"quiz": iter(rows)}, model="org/model")
    assert (
        main(["export", str(tmp_path / "run"), "--to", "eee", "--out", str(tmp_path / "out")]) == 0
    )
    (path,) = (tmp_path / "out").rglob("*_samples.jsonl")
    lines = path.read_text().splitlines()
    assert json.loads(lines[0])["output"]["raw"] == ["one\u2028two\x0bthree\x85four"]
    assert len(lines) == 2


def test_a_schema_may_be_held_against_the_first_lines_alone(valid, tmp_path):
    store = Store.read(valid)
    change(store, "unknown key in a sample line")
    _, samples = store.write(tmp_path)
    wrong = [finding.what for finding in check_file(samples)]
    assert any("Additional properties are not allowed" in what for what in wrong)
    assert check_file(samples, most=0) == []


@pytest.mark.parametrize(
    ("score", "is_number"),
    [("0.5", True), (" 1e-1 ", True), (True, True), ("half", False), ("", False), ([], False)],
)
def test_a_number_may_be_a_text(score, is_number):
    line = {"evaluation": {"score": score, "is_correct": "yes"}}
    refused = [list(error.absolute_path) for error in validator(SAMPLE).iter_errors(line)]
    assert (["evaluation", "score"] not in refused) is is_number
    assert ["evaluation", "is_correct"] not in refused
