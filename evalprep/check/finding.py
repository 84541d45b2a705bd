"""One thing that a check found, and the list that collects them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Protocol

from evalprep.check.codes import CODES, LEVELS
from evalprep.errors import Problem


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One finding.

    Args:
        code: A key of `evalprep.check.codes.CODES`; it decides the level.
        where: File, line and key, or task and row.
        what: One sentence with the offending value.
        task: The task it concerns, empty for files, groups and the machine.
        fix: What to do; the code's own advice by default.
    """

    code: str
    where: str
    what: str
    task: str = ""
    fix: str = ""

    @property
    def level(self) -> str:
        """`error`, `warning` or `note`."""
        return CODES[self.code].level

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        line = f"{self.level} {self.code}: {place}{self.what}"
        return f"{line}\n  fix: {self.advice}" if self.advice else line

    @property
    def advice(self) -> str:
        """The fix: the finding's own, else that of its code."""
        return self.fix or CODES[self.code].fix

    def as_dict(self) -> dict[str, str]:
        """The same as data, for `--json`."""
        return {
            "code": self.code,
            "level": self.level,
            "task": self.task,
            "where": self.where,
            "what": self.what,
            "meaning": CODES[self.code].meaning,
            "fix": self.advice,
        }

    def rewritten(self, rewrite: Callable[[str], str]) -> Finding:
        """The same finding with other places in its texts, such as those that the user knows."""
        return replace(
            self, where=rewrite(self.where), what=rewrite(self.what), fix=rewrite(self.fix)
        )

    def moved(self, built: str, final: str) -> Finding:
        """The same finding with another folder.

        The one that the files will have, in place of the one in which they were built.
        """
        return self.rewritten(lambda text: text.replace(built, final))

    def as_problem(self) -> Problem:
        """The same for `evalprep.errors.BadInput`."""
        return Problem(what=f"{self.code} {self.what}", where=self.where, fix=self.advice)


class Place(Protocol):
    """A task that knows file and line of its keys."""

    @property
    def name(self) -> str:
        """Its name."""

    def where(self, key: str = "") -> str:
        """File, line and key."""


class Findings:
    """Findings in the order in which they were made, each only once."""

    def __init__(self, findings: Iterable[Finding] = ()) -> None:
        self._findings: dict[Finding, None] = dict.fromkeys(findings)

    def add(self, code: str, where: str, what: str, *, task: str = "", fix: str = "") -> None:
        """Notes one finding.

        Raises:
            KeyError: the code is not in the table.
        """
        if code not in CODES:
            raise KeyError(code)
        self._findings.setdefault(Finding(code=code, where=where, what=what, task=task, fix=fix))

    def add_at(self, code: str, leaf: Place, key: str, what: str, *, fix: str = "") -> None:
        """Notes one finding on a key of a task's file."""
        self.add(code, leaf.where(key), what, task=leaf.name, fix=fix)

    def extend(self, findings: Iterable[Finding]) -> None:
        """Notes several."""
        self._findings.update(dict.fromkeys(findings))

    def take(self, unwanted: Callable[[Finding], bool]) -> list[Finding]:
        """Removes some and returns them."""
        taken = [finding for finding in self._findings if unwanted(finding)]
        for finding in taken:
            del self._findings[finding]
        return taken

    def has_errors(self, task: str | None = None) -> bool:
        """Returns whether there is an error, or one that concerns a task."""
        errors = (finding for finding in self._findings if finding.level == "error")
        return any(task is None or finding.task == task for finding in errors)

    def sorted(self) -> list[Finding]:
        """Errors first, then warnings, then notes; within a level by code, in the order found."""
        return sorted(
            self._findings, key=lambda finding: (LEVELS.index(finding.level), finding.code)
        )

    def __len__(self) -> int:
        return len(self._findings)
