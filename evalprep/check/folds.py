"""Findings as people read them: one paragraph per cause, 80 columns wide, errors first.

A cause is a code with what it says, names of tasks, files and rows left out: 528 tasks with the
same mistake are one paragraph that names the first places.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain

from evalprep.check.codes import CODES, Code
from evalprep.check.finding import Finding
from evalprep.terminal import counted

WIDTH = 80
CAUSES = 3  # of one code, written out
_QUOTED = re.compile(r"'[^'\n]{1,300}'|\"[^\"\n]{1,300}\"")
_PATH = re.compile(r"(?:[\w.+-]*/)[\w./+:-]+")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


@dataclass
class Fold:
    """Findings of one code.

    Attributes:
        code: Their code.
        causes: What they say without names -> the findings that say it.
    """

    code: str
    causes: dict[str, list[Finding]] = field(default_factory=dict)

    @property
    def findings(self) -> list[Finding]:
        """All of them, in order."""
        return list(chain.from_iterable(self.causes.values()))


def cause(finding: Finding) -> str:
    """The sentence of a finding, without the names of tasks, files and rows."""
    text = finding.what
    if finding.task:
        text = text.replace(finding.task, "…")
    if len(finding.where) > 1:
        text = text.replace(finding.where, "…")
    return _NUMBER.sub("…", _PATH.sub("…", _QUOTED.sub("…", text)))


def fold(findings: Iterable[Finding]) -> list[Fold]:
    """Puts findings of one code together, in the order in which the codes come."""
    folds: dict[str, Fold] = {}
    for finding in findings:
        folded = folds.setdefault(finding.code, Fold(finding.code))
        folded.causes.setdefault(cause(finding), []).append(finding)
    return list(folds.values())


def paragraph(folded: Fold, roots: Sequence[str] = (), width: int = WIDTH) -> str:
    """One fold as text.

    Args:
        folded: Findings of one code.
        roots: Folders that are cut from the places.
        width: Characters in a line.
    """
    code = CODES[folded.code]
    # The number of tasks or places of several findings.
    count = len(folded.findings)
    tasks = len({finding.task for finding in folded.findings if finding.task})
    how_many = counted(tasks, "task") if tasks > 1 else counted(count, "place")
    head = f"{code.level} {folded.code}:{f' {how_many}:' if count > 1 else ''} {code.meaning}"
    lines = _wrapped(head, "", "  ", width)
    most_frequent_first = sorted(folded.causes.values(), key=len, reverse=True)
    for findings in most_frequent_first[:CAUSES]:
        lines += _cause_lines(findings, code, roots, width)
    rest = sum(map(len, most_frequent_first[CAUSES:]))
    if rest:
        more = counted(rest, "more with another cause", "more with other causes")
        lines.append(f"  - {more}; --json lists all")
    is_one_cause = len(most_frequent_first) == 1
    own_fix = most_frequent_first[0][0].fix if is_one_cause else ""
    if code.fix and own_fix in {"", code.fix}:
        lines += _wrapped(f"fix: {code.fix}", "  ", "    ", width)
    return "\n".join(lines)


def _cause_lines(
    same: Sequence[Finding], code: Code, roots: Sequence[str], width: int
) -> list[str]:
    """Findings of one cause: the first of them, and its fix where it is not that of the code."""
    first = same[0]
    what = _short(first.what, roots).rstrip(".")
    where = _short(first.where, roots)
    sentence = what if not where or where in what else f"{where}: {what}"
    lines = _wrapped(f"- {sentence}{more_like(same)}", "  ", "    ", width)
    if first.fix and first.fix != code.fix:
        lines += _wrapped(f"fix: {first.fix}", "    ", "    ", width)
    return lines


def more_like(same: Sequence[Finding]) -> str:
    """The ending of the first of several findings with one cause; empty for a single one."""
    return f" (and {len(same) - 1} more like it)" if len(same) > 1 else ""


def _short(text: str, roots: Sequence[str]) -> str:
    for root in roots:
        text = text.replace(f"{root}/", "")
    return text


def _wrapped(text: str, first: str, other: str, width: int) -> list[str]:
    return textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=other,
        break_long_words=False,
        break_on_hyphens=False,
    )
