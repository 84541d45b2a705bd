"""A short run of benchmarks/conclusions.py, and that the page quotes a whole one; the full one takes minutes."""

import subprocess
import sys

import pytest

from benchmarks import plans
from benchmarks.conclusions import COVERAGE, FALSE, main, verdicts
from benchmarks.measuring import marks
from tests import PROJECT_ROOT


@pytest.mark.slow  # 7 s of simulation
def test_the_short_run_is_within_the_bars(tmp_path):
    out = tmp_path / "cells.json"
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.conclusions", "--fast", "--json", str(out)],
        cwd=PROJECT_ROOT, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert out.read_text().count('"family"') > 40


def test_no_evidence_no_pass():
    cell = verdicts(100, 0.02, -0.01)
    assert cell.coverage >= COVERAGE
    assert cell.passed <= FALSE


@pytest.mark.slow  # 3 s of simulation
def test_repeats_decide_at_the_planned_rows(capsys):
    assert plans.main(["--pilots", "30", "--seed", "2"]) == 0
    assert "| graded | 30 |" in capsys.readouterr().out


def test_the_page_quotes_the_script():
    page = (PROJECT_ROOT / "docs" / "reference" / "measured.md").read_text(encoding="utf-8")
    first, last = marks("conclusions")
    table = page.split(first)[1].split(last)[0]
    assert "| right or wrong, independent rows |" in table
    assert "3000 pairs in each simulated one" in table
    assert main.__doc__
