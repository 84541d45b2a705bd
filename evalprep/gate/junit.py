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
    suite = ET.Element(
        "testsuite",
        name=_clean(f"evalprep gate: {verdict.run} against {verdict.other}"),
        tests=str(len(verdict.checks)),
        failures=str(count[FAIL]),
        errors=str(count[UNDECIDED]),
    )
    for check in verdict.checks:
        case = ET.SubElement(suite, "testcase", classname=f"evalprep.gate.{check.kind}", name=_clean(check.name))
        if check.status == FAIL:
            ET.SubElement(case, "failure", message=_clean(check.message))
        elif check.status == UNDECIDED:
            ET.SubElement(case, "error", message=_clean(check.message))
        ET.SubElement(case, "system-out").text = _clean(
            f"n={check.n} previous={check.previous} now={check.now} p={check.p} adjusted={check.p_adjusted}"
        )
    ET.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(suite, encoding="unicode") + "\n"


def _clean(text: str) -> str:
    return _UNWRITABLE.sub("\N{REPLACEMENT CHARACTER}", text)
