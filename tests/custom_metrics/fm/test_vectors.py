"""Expected values from fmeval's own classes, through the public metrics."""

from pathlib import Path

import pytest

from tests import vectors

FOLDER = Path(__file__).resolve().parents[2] / "data" / "vectors"
FILE = FOLDER / "fm.jsonl"


def test_every_row_of_the_vector_file(capsys):
    """Rows that want WordNet are skipped where it is absent, and none beside them."""
    code = vectors.main([str(FILE)])
    printed = capsys.readouterr().out
    assert code == 0, printed
    absent = vectors.missing_needs(["wordnet"])
    assert f"{145 - 8 * len(absent)} passed, 0 failed" in printed
    assert ("8 skipped" in printed) == bool(absent)


@pytest.mark.parametrize(
    "name", ["fm.jsonl", *sorted(f"fm_data/{path.name}" for path in (FOLDER / "fm_data").iterdir())]
)
def test_the_shared_files_are_the_same(shared, name):
    other = shared / "vectors" / name
    if not other.is_file():
        pytest.skip(f"{other} is absent")
    assert other.read_bytes() == (FOLDER / name).read_bytes()
