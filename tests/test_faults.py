"""A seeded part of the attacks on evalprep, as `make faults` runs them all.

The verb `run` starts engines; it is killed in tests/evalprep/run, and attacked by `make faults`.
Forgeries are tried in tests/evalprep/coderunner.
"""

import importlib

import pytest

from benchmarks.faults.__main__ import modules
from benchmarks.faults.project import WRITING

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

TESTED_ELSEWHERE = {"forgeries", "run_kills"}
#: Module -> the part of its cases; all together take about 50 CPU seconds.
SHARES = {
    "folders": 0.05,
    "full_disk": 0.05,
    "fuzz": 0.05,
    "grammar": 0.05,
    "judge_endpoints": 0.05,
    "kills": 0.03,
    "large_pages": 0.02,
    "links": 0.05,
    "run_folders": 0.05,
    "secrets": 0.05,
}


def test_every_module_is_tested():
    assert {*modules()} == {*SHARES} | TESTED_ELSEWHERE


@pytest.mark.parametrize(("name", "share"), SHARES.items(), ids=SHARES)
def test_a_part_of_the_attacks_is_held(name, share, monkeypatch):
    monkeypatch.delitem(WRITING, "run")
    rows = importlib.import_module(f"benchmarks.faults.{name}").rows(share, 0)
    assert sum(row.cases for row in rows) > 0
    fallen = [f"{row.name}: {problem}" for row in rows for problem in row.fallen]
    assert [problem for problem in fallen if "CPU seconds" not in problem] == []
