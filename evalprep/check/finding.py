"""One thing that a check found, and the list that collects them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

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
        lines = [
            f"{self.level} {self.code}: {self.where}: {self.what}"
            if self.where
            else f"{self.level} {self.code}: {self.what}"
        ]
        if advice := self.advice:
            lines.append(f"  fix: {advice}")
        return "\n".join(lines)

    @property
    def advice(self) -> str:
        """What to do about it."""
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

    def as_problem(self) -> Problem:
        """The same for `evalprep.errors.BadInput`."""
        return Problem(what=f"{self.code} {self.what}", where=self.where, fix=self.advice)


class Findings:
    """Findings in the order in which they were made, each only once."""

    def __init__(self, found: Iterable[Finding] = ()) -> None:
        self._found: dict[Finding, None] = dict.fromkeys(found)

    def add(self, code: str, where: str, what: str, *, task: str = "", fix: str = "") -> None:
        """Note one finding.

        Raises:
            KeyError: the code is not in the table.
        """
        if code not in CODES:
            raise KeyError(code)
        self._found.setdefault(Finding(code=code, where=where, what=what, task=task, fix=fix))

    def extend(self, findings: Iterable[Finding]) -> None:
        """Note several."""
        self._found.update(dict.fromkeys(findings))

    def take(self, unwanted: Callable[[Finding], bool]) -> list[Finding]:
        """Remove some and return them."""
        taken = [one for one in self._found if unwanted(one)]
        for one in taken:
            del self._found[one]
        return taken

    def has_errors(self, task: str | None = None) -> bool:
        """Whether there is an error, or one that concerns a task."""
        return any(one.level == "error" and (task is None or one.task == task) for one in self._found)

    def sorted(self) -> list[Finding]:
        """Errors first, then warnings, then notes; within a level by code, in the order found."""
        return sorted(self._found, key=lambda one: (LEVELS.index(one.level), one.code))

    def __len__(self) -> int:
        return len(self._found)
