"""What became of a programme."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Status = Literal["passed", "failed", "cpu", "idle", "ended", "given up"]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The end of one run.

    Args:
        status: `passed` (ran to its end), `failed` (an exception), `cpu` (its CPU time was used up), `idle` (it waited
            for nothing), `ended` (it ended itself, was killed, or said what it may not), `given up` (the clock's
            limit: no verdict).
        detail: The exception or the reason, at most 200 characters.
        cpu_seconds: CPU time as last seen; 0.0 where it was too short to be seen.
    """

    status: Status
    detail: str = ""
    cpu_seconds: float = 0.0

    @property
    def passed(self) -> bool | None:
        """The verdict; None where the run was given up."""
        return None if self.status == "given up" else self.status == "passed"
