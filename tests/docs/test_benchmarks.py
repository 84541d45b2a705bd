"""The tables of the docs are those that the benchmarks wrote last, and the benchmarks run."""

import json
import re
import subprocess
import sys

import pytest

from benchmarks import scale_model
from benchmarks.__main__ import LONG, SCRIPTS, page_of
from benchmarks.measuring import HEAD, KEPT, Cost, Measure, Report, table, write_docs
from benchmarks.scale_model import (
    PICTURE,
    PROMPTS,
    SIZES,
    Constants,
    best_plan,
    best_plans,
    latest_end,
    picture,
    predict,
)
from tests import PROJECT_ROOT

APART = 1 / 3  # by which a ratio of a page may differ from the last one that was measured
PAGES = sorted((PROJECT_ROOT / "docs").rglob("*.md"))
#: Those with a line per command; a model of cost has a table of its own.
RECORDS = [file for file in sorted(KEPT.glob("*.json")) if '"measures"' in file.read_text()]


def ratios(lines):
    """What is measured -> its ratio, in a table of `measuring.table`."""
    place = next(at for at, line in enumerate(lines) if line == HEAD)
    rows = (line.strip("| ").split(" | ") for line in lines[place + 2 :] if line.startswith("|"))
    return {row[0]: float(row[6]) for row in rows if re.fullmatch(r"[\d.]+", row[6].strip())}


def shown(page, name):
    """The lines between the marks of a script."""
    text = page.read_text(encoding="utf-8")
    block = text.partition(f"<!-- benchmarks/{name}.py -->")[2].partition("<!-- end -->")[0]
    return block.strip().splitlines()


def test_every_script_is_there():
    assert SCRIPTS
    for script in (*SCRIPTS, *LONG):
        assert (PROJECT_ROOT / "benchmarks" / f"{script.name.replace('.', '/')}.py").is_file()
    assert sum(script.minutes for script in SCRIPTS) < 30


def test_the_plan_is_that_of_the_model_of_cost():
    costs = [3.0, 3.0, 2.0, 2.0, 2.0]
    assert latest_end(costs, 1) == 12.0
    assert latest_end(costs, 2) == 7.0
    assert latest_end([5.0], 100) == 5.0
    constants = Constants(load=60.0, unit=1.0, prompt=0.1, conclude=5.0, merge=0.001)
    alone = predict(constants, 1_000, 1, 100)
    assert alone.makespan == pytest.approx(60 + 10 + 100 + 5 + 1, rel=0.1)
    assert alone.efficiency < 1
    plans = [predict(constants, 100_000, 8, size).makespan for size in SIZES]
    assert best_plan(constants, 100_000, 8).makespan == min(plans)


def test_the_page_shows_the_plan_of_the_runs_that_were_measured_last():
    record = json.loads((KEPT / "scale_model.json").read_text(encoding="utf-8"))
    page = shown(page_of("scale_model"), "scale_model")
    constants = Constants(**record["constants"])
    plans = [plan for prompts in PROMPTS for plan in best_plans(constants, prompts)]
    assert page == scale_model.table(record, plans)
    assert PICTURE.read_text(encoding="utf-8") == picture(constants, plans)
    assert [plan.replicas for plan in plans if plan.prompts == 10_000_000] == [8, 64, 1_000]


def test_something_was_measured():
    assert RECORDS


@pytest.mark.parametrize("file", RECORDS, ids=lambda file: file.stem)
def test_the_page_shows_what_was_measured_last(file):
    record = json.loads(file.read_text(encoding="utf-8"))
    page = page_of(record["name"])
    assert page is not None
    measured, quoted = ratios(table(record)), ratios(shown(page, record["name"]))
    assert set(measured) == set(quoted)
    for what, ratio in measured.items():
        assert abs(quoted[what] - ratio) <= APART * ratio + 0.01, what


def test_a_goal_is_missed_by_ratio_memory_or_time():
    ours, peer = Cost(3.0, 4.0, 100.0), Cost(2.0, 2.0, 10.0)
    assert not Measure("x", ours, peer, goal=1.5).missed
    assert Measure("x", ours, peer, goal=1.4).missed
    assert Measure("x", ours, most_mb=99).missed
    assert Measure("x", ours, most_cpu=2.9).missed
    assert not Measure("x", ours, peer, goal_wall=2.0).missed
    assert Measure("x", ours, peer, goal_wall=1.9).missed
    assert Measure("x", ours).ratio is None


def test_a_goal_for_wall_time_stands_in_the_table():
    ours, peer = Cost(3.0, 4.0, 100.0), Cost(2.0, 2.0, 10.0)
    record = Report("x", "y", [Measure("a", ours, peer, "b", goal_wall=1.05)]).record()
    assert table(record)[-1].endswith("| 1.50 | wall 1.05 (is 2.00) |")


def test_a_table_is_written_between_its_marks(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- benchmarks/x.py -->\nold\n<!-- end -->\nafter\n")
    cost = Cost(1.0, 1.0, 1.0)
    report = Report("x", "python -m benchmarks.x", [Measure("a", cost, Cost(2.0, 1.0, 1.0), "b")])
    write_docs(page, "x", table(report.record()))
    text = page.read_text()
    assert "old" not in text
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert ratios(shown(page, "x")) == {"a": 0.5}
    with pytest.raises(ValueError, match=r"lacks <!-- benchmarks/y\.py"):
        write_docs(page, "y", [])


@pytest.mark.long
def test_the_benchmarks_run_with_small_inputs():
    command = [sys.executable, "-m", "benchmarks", "--short"]
    ended = subprocess.run(
        command, cwd=PROJECT_ROOT, capture_output=True, text=True, timeout=600, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    for script in SCRIPTS:
        assert not script.short or f"{script.name}: " in ended.stdout
