"""A gate's outcome as lines for the terminal."""

from __future__ import annotations

import textwrap

from evalprep.compare import UNPAIRED_TEST
from evalprep.gate.checks import ADVISORY, Check
from evalprep.gate.decision import Verdict
from evalprep.terminal import counted

_INDENT = 23  # characters in front of a check's name


def lines_of(verdict: Verdict, width: int) -> list[str]:
    """The outcome, warnings, every check and notes, without the closing line.

    Args:
        verdict: The outcome.
        width: Characters in a line of a check.
    """
    rule = f", by the rule {verdict.rule!r}" if verdict.rule else ""
    lines = [f"candidate {verdict.run} against baseline {verdict.other}{rule}: {verdict.status}"]
    lines += [f"warning: {warning}" for warning in verdict.warnings]
    for check in verdict.checks:
        text = textwrap.fill(
            _line_of(check),
            width,
            subsequent_indent=" " * _INDENT,
            break_long_words=False,
            break_on_hyphens=False,
        )
        lines.append(text)
    return [*lines, *(f"note: {note}" for note in verdict.notes)]


def _line_of(check: Check) -> str:
    level = ", advisory" if check.level == ADVISORY else ""
    return f"  {check.status:<19}  {check.name} ({_pairs_of(check)}{level}): {check.message}"


def _pairs_of(check: Check) -> str:
    """Returns how many pairs a check stands on."""
    if check.test == UNPAIRED_TEST:
        return "unpaired"
    return counted(check.n, "pair") if check.n else "no pairs"
