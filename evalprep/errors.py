"""Mistakes in what the user gave us, said so that the user can mend them.

Every check collects `Problem`s and raises one `BadInput` with all of them, so that a config with five mistakes costs
one run and not five.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field

from evalprep.credentials import redacted


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One mistake: what is wrong, where, what is allowed there, how to mend it.

    Args:
        what: One sentence naming the offending value.
        where: File, line, key, row or argument.
        allowed: What would be accepted; empty where `fix` says it all.
        fix: The next thing to do.
    """

    what: str
    where: str = ""
    allowed: str = ""
    fix: str = ""

    def __str__(self) -> str:
        lines = [f"{self.where}: {self.what}" if self.where else self.what]
        if self.allowed:
            lines.append(f"  allowed: {self.allowed}")
        if self.fix:
            lines.append(f"  fix: {self.fix}")
        # A message repeats what it was given: values of settings, lines of files, answers of servers.
        return redacted("\n".join(lines))

    def as_dict(self) -> dict[str, str]:
        """The same as data, for `--json`."""
        said = {"what": self.what, "where": self.where, "allowed": self.allowed, "fix": self.fix}
        return {key: redacted(text) for key, text in said.items()}


class BadInput(Exception):  # noqa: N818 - it reads as what it says: the input is bad, nothing in the tool failed
    """Raised with every mistake that was found; the command line prints them and exits with 2."""

    def __init__(self, problems: Iterable[Problem] | Problem) -> None:
        # Several tasks may meet one mistake, such as a split that the data lack.
        self.problems = [problems] if isinstance(problems, Problem) else list(dict.fromkeys(problems))
        super().__init__("\n".join(str(problem) for problem in self.problems))


def cannot_write(error: OSError, where: str, fix: str = "free space or name another place") -> BadInput:
    """What to raise where a place that the user named cannot be written to."""
    return BadInput(Problem(what=f"cannot write: {error.strerror}", where=where, fix=fix))


@dataclass
class Problems:
    """A growing list of mistakes that is raised once."""

    found: list[Problem] = field(default_factory=list)

    def add(self, what: str, *, where: str = "", allowed: str = "", fix: str = "") -> None:
        """Note one mistake and go on looking."""
        self.found.append(Problem(what=what, where=where, allowed=allowed, fix=fix))

    def extend(self, problems: Iterable[Problem]) -> None:
        """Note several mistakes."""
        self.found.extend(problems)

    def raise_if_any(self) -> None:
        """Raise `BadInput` with everything noted so far.

        Raises:
            BadInput: at least one mistake was noted.
        """
        if self.found:
            raise BadInput(self.found)


def near(name: str, known: Iterable[str], *, limit: int = 3) -> str:
    """Name the known words that look like `name`, for "did you mean".

    >>> near("meta_gqpa", ["meta_gpqa", "meta_math"])
    'did you mean meta_gpqa or meta_math?'
    """
    close = difflib.get_close_matches(name, list(known), n=limit, cutoff=0.6)
    return f"did you mean {' or '.join(close)}?" if close else ""
