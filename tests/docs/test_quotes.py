"""What pages quote of benchmarks: our verdicts are counted anew; times are as old as the versions beside them."""

import importlib.metadata
import re
import shlex

import pytest

from benchmarks.grading import cases_of, in_fresh_process
from benchmarks.quotes import quotes, renewed
from tests import PROJECT_ROOT

PAGE = (PROJECT_ROOT / "docs/reference/measured.md").read_text(encoding="utf-8")
BOXES = {quote.command.partition("benchmarks/")[2]: quote for quote in quotes(PAGE)}
GRADING = "grading.py --load", "grading.py --labelled tests/data/vectors/math_long_replies.jsonl"


def tables(box):
    """Title -> number of cases, and the row of our own grader."""
    for title, cases, rows in re.findall(
        r"^(\S+): (\d+) cases\n(.*?)(?:\n\n|\Z)", box, re.MULTILINE | re.DOTALL
    ):
        own = next(line for line in rows.splitlines() if re.match(r"ours +\d", line))
        yield title, int(cases), [int(one) for one in own.split()[1:6]]


def test_the_boxes_are_there_and_their_scripts():
    assert {*GRADING, "grading_robustness.py --count 20000"} <= set(BOXES)
    for quote in BOXES.values():
        script, *arguments = shlex.split(quote.command)[1:]
        source = (PROJECT_ROOT / script).read_text(encoding="utf-8")
        for option in (argument for argument in arguments if argument.startswith("--")):
            assert f'"{option}"' in source


@pytest.mark.parametrize("command", [pytest.param(GRADING[0], marks=pytest.mark.slow), GRADING[1]])
def test_our_verdicts_are_those_of_the_page(command):
    path = PROJECT_ROOT / command.split()[2] if "--labelled" in command else None
    seen = 0
    for title, cases, shown in tables(BOXES[command].printed):
        which = title if path is None else "labelled"
        found = in_fresh_process("ours", which, path)
        assert len(cases_of(which, path)) == cases
        names = ("right", "false_accepts", "false_rejects", "unparsed", "raised")
        assert [found[name] for name in names] == shown
        seen += 1
    assert seen == (2 if path is None else 1)


def test_the_versions_of_the_page_are_installed():
    line = re.search(r"^versions: (.*)$", BOXES[GRADING[0]].printed, re.MULTILINE)[1]
    shown = dict(one.split(" ") for one in line.split(", ") if not one.startswith("python "))
    assert shown == {name: importlib.metadata.version(name) for name in shown}


def test_a_box_is_written_anew(tmp_path, monkeypatch):
    page = "A line, `python benchmarks/one.py`:\n\n```text\nold\n```\n\n"
    page += "`python benchmarks/one.py --labelled gone.jsonl`:\n\n```text\nkept\n```\n"
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks/one.py").write_text("print('new')\n")
    monkeypatch.setattr("benchmarks.quotes.ROOT", tmp_path)
    assert renewed(page) == page.replace("old", "new")
