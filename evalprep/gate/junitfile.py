"""Outcomes as JUnit XML, which every CI system shows: those of a gate, and of others' cases.

There is no official schema; this is what Jenkins, GitLab and pytest have in common.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal
from xml.etree import ElementTree as ET

from evalprep.gate.decision import FAIL, PASS, Check, Verdict

#: Why a case did not pass; `skipped` counts as neither passed nor failed.
Outcome = Literal["failure", "error", "skipped"]
# XML 1.0 has no way to write these, not even escaped.
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_LONGEST = 2_000  # characters of a text; CI systems drop files that are too large
_CUT = " [cut]"


@dataclass(frozen=True)
class JUnitCase:
    """One case of a suite.

    Attributes:
        name: Its name.
        kind: What it is about; readers group by it.
        outcome: Why it did not pass; None where it did.
        message: The reason.
        type: A word for it.
        output: What else there is to say.
    """

    name: str
    kind: str
    outcome: Outcome | None = None
    message: str = ""
    type: str = ""
    output: str = ""


@dataclass(frozen=True)
class JUnitSuite:
    """Cases that belong together.

    Attributes:
        name: Its name.
        cases: Its cases.
        timestamp: When it ran, without zone and fraction of a second; empty where unknown.
        output: What holds for all of them.
    """

    name: str
    cases: Sequence[JUnitCase]
    timestamp: str = ""
    output: str = ""


def junit(verdict: Verdict) -> str:
    """One test case per check: a failure for a failed one, an error where it is not decided."""
    name = f"evalprep gate: {verdict.run} against {verdict.other}"
    remarks = "\n".join([verdict.closing, *verdict.warnings, *verdict.notes])
    cases = [case_of(check) for check in verdict.checks]
    return junit_text(name, [JUnitSuite(name, cases, output=remarks)])


def case_of(check: Check) -> JUnitCase:
    """Returns a check as a case; an advisory one always passes and shows its output."""
    outcome: Outcome | None = None
    if check.level == "required" and check.status != PASS:
        outcome = "failure" if check.status == FAIL else "error"
    return JUnitCase(
        check.name,
        f"evalprep.gate.{check.kind}",
        outcome,
        check.message,
        check.status,
        f"{check.status}: {check.message} "
        f"(n={check.n} baseline={check.previous} candidate={check.now}"
        f" p={check.p} adjusted={check.p_adjusted})",
    )


def junit_text(name: str, suites: Sequence[JUnitSuite]) -> str:
    """Returns suites as a document whose counts are those of its cases."""
    cases = list(chain.from_iterable(suite.cases for suite in suites))
    root = ET.Element("testsuites", {"name": _clean(name), "time": "0", **_counts(cases)})
    for suite in suites:
        # Some readers want the outer element, some a time, and some show the text and not the
        # message.
        facts = {"name": _clean(suite.name), "time": "0", **_counts(suite.cases)}
        if suite.timestamp:
            facts["timestamp"] = suite.timestamp
        element = ET.SubElement(root, "testsuite", facts)
        for case in suite.cases:
            _add_case(element, case)
        if suite.output:
            ET.SubElement(element, "system-out").text = _clean(suite.output)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _counts(cases: Iterable[JUnitCase]) -> dict[str, str]:
    outcomes = [case.outcome for case in cases]
    counts = {
        "tests": len(outcomes),
        "failures": outcomes.count("failure"),
        "errors": outcomes.count("error"),
        "skipped": outcomes.count("skipped"),
    }
    return {name: str(count) for name, count in counts.items()}


def _add_case(suite: ET.Element, case: JUnitCase) -> None:
    facts = {"classname": _clean(case.kind), "name": _clean(case.name), "time": "0"}
    element = ET.SubElement(suite, "testcase", facts)
    if case.outcome is not None:
        message = _clean(case.message)
        outcome = ET.SubElement(element, case.outcome, {"message": message})
        if case.outcome != "skipped":
            outcome.set("type", _clean(case.type))
            outcome.text = message
    if case.output:
        ET.SubElement(element, "system-out").text = _clean(case.output)


def _clean(text: str) -> str:
    """A text that XML can hold, cut where it is too long."""
    short = text if len(text) <= _LONGEST else text[: _LONGEST - len(_CUT)] + _CUT
    return _UNWRITABLE.sub("\N{REPLACEMENT CHARACTER}", short)
