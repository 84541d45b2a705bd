"""A gate's outcome as lines for the terminal."""

from __future__ import annotations

from evalprep.compare import MANY_EQUAL, UNPAIRED_TEST
from evalprep.gate.checks import ADVISORY
from evalprep.gate.decision import Verdict
from evalprep.tables import Column, Table, folded_notes, table_lines
from evalprep.terminal import counted


def lines_of(verdict: Verdict, width: int) -> list[str]:
    """The outcome, warnings, every check and notes, without the closing line.

    Args:
        verdict: The outcome.
        width: Characters in a line of a check.
    """
    rule = f", by the rule {verdict.rule!r}" if verdict.rule else ""
    lines = [f"candidate {verdict.run} against baseline {verdict.other}{rule}: {verdict.status}"]
    lines += [f"warning: {warning}" for warning in verdict.warnings]
    lines += table_lines(_check_table(verdict), width, indent="  ")
    return [*lines, *(f"note: {note}" for note in folded_notes(verdict.notes))]


def _check_table(verdict: Verdict) -> Table:
    """The status of each check, and the sentence that explains it."""
    table = Table("", [Column(""), Column("", wraps=True)])
    names_of: dict[tuple[str, str, str], list[str]] = {}
    for check in verdict.checks:
        level = ", advisory" if check.level == ADVISORY else ""
        pairs = counted(check.n, "pair") if check.n else "no pairs"
        if check.test == UNPAIRED_TEST:
            pairs = "unpaired"
        line = (check.status, f"{pairs}{level}", check.message)
        names_of.setdefault(line, []).append(check.name)
    for (status, pairs, message), names in names_of.items():
        several = [f"{len(names)} checks"] if len(names) >= MANY_EQUAL else names
        for name in several:
            table.add(status, f"{name} ({pairs}): {message}")
    return table
