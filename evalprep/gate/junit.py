"""A gate's outcome as JUnit XML, which every CI system shows."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from evalprep.gate.decision import FAIL, UNDECIDED, Verdict

# XML 1.0 has no way to write these, not even escaped.
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def junit(verdict: Verdict) -> str:
    """One test case per check: a failure for a failed one, an error where the evidence is not enough."""
    count = {status: sum(check.status == status for check in verdict.checks) for status in (FAIL, UNDECIDED)}
    totals = {"tests": str(len(verdict.checks)), "failures": str(count[FAIL]), "errors": str(count[UNDECIDED])}
    name = _clean(f"evalprep gate: {verdict.run} against {verdict.other}")
    # Some readers want the outer element, some a time, and some show the text and not the message.
    root = ET.Element("testsuites", {"name": name, "time": "0", **totals})
    suite = ET.SubElement(root, "testsuite", {"name": name, "time": "0", "skipped": "0", **totals})
    for check in verdict.checks:
        kind = f"evalprep.gate.{check.kind}"
        case = ET.SubElement(suite, "testcase", classname=kind, name=_clean(check.name), time="0")
        outcome = {FAIL: "failure", UNDECIDED: "error"}.get(check.status)
        if outcome is not None:
            message = _clean(check.message)
            ET.SubElement(case, outcome, message=message, type=_clean(check.status)).text = message
        ET.SubElement(case, "system-out").text = _clean(
            f"n={check.n} previous={check.previous} now={check.now} p={check.p} adjusted={check.p_adjusted}"
        )
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _clean(text: str) -> str:
    return _UNWRITABLE.sub("\N{REPLACEMENT CHARACTER}", text)
