"""Expected values from the reference implementation, through the public metrics."""

from pathlib import Path

import pytest

from tests import vectors

FILE = Path(__file__).resolve().parents[2] / "data" / "vectors" / "unlearning.jsonl"


def test_every_row_of_the_vector_file(capsys):
    code = vectors.main([str(FILE)])
    printed = capsys.readouterr().out
    assert code == 0, printed
    assert "101 passed, 0 failed" in printed


def test_rows_of_the_shared_file_are_the_same(shared):
    other = shared / "vectors" / "unlearning.jsonl"
    if not other.is_file():
        pytest.skip(f"{other} is absent")
    assert other.read_bytes() == FILE.read_bytes()
