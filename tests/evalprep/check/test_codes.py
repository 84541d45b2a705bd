"""The table of codes: complete, documented, and used."""

import re
from pathlib import Path

import pytest

from evalprep.check import CODES, LEVELS, Finding, Findings
from evalprep.check.codes import FAMILIES
from tests.tables import each_row

ROOT = Path(__file__).parents[3]
FILES = [*(ROOT / "evalprep" / "check").glob("*.py")]
SOURCES = "\n".join(path.read_text() for path in FILES if path.name != "codes.py")


@each_row("code", CODES)
def test_each_code_is_made_somewhere(code):
    assert f'"{code}"' in SOURCES


@each_row("code", sorted(set(re.findall(r"\"(EP\d{3})\"", SOURCES))))
def test_each_code_in_use_is_in_the_table(code):
    assert CODES[code].level in LEVELS
    assert CODES[code].meaning.endswith(".")
    assert code[:3] in FAMILIES


def test_errors_come_first_and_nothing_twice():
    findings = Findings()
    for code in ("EP505", "EP201", "EP206", "EP101", "EP201"):
        findings.add(code, "here", "something")
    assert [one.code for one in findings.sorted()] == ["EP101", "EP201", "EP206", "EP505"]
    assert findings.has_errors()
    assert not findings.has_errors("some_task")


def test_an_unknown_code_is_a_mistake_of_ours():
    with pytest.raises(KeyError):
        Findings().add("EP999", "here", "something")


def test_a_finding_says_what_to_do():
    plain = Finding(code="EP201", where="task.yaml:9", what="temperature not given")
    assert str(plain).splitlines()[1].strip().startswith("fix: write `do_sample: false`")
    assert plain.as_problem().what.startswith("EP201")
