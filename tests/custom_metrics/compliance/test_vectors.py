"""Every row of the reference vectors."""

from pathlib import Path

from tests.tables import each_row
from tests.vectors import read_rows, run_row

FILE = Path(__file__).parents[2] / "data" / "vectors" / "compliance.jsonl"
ROWS, BAD = read_rows(FILE)


def test_the_file_is_whole():
    assert not BAD
    assert len(ROWS) > 100


@each_row("row", ROWS, name_of=lambda row: row.data["id"])
def test_gives_the_expected_value(row):
    result = run_row(row)
    assert result.outcome == "passed", result.detail
