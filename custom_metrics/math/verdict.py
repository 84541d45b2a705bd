"""The verdict of the grader on one reply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Method = Literal["string", "number", "structure", "algebra", "timeout", "none"]
"""The step of the cascade that decided; `none` when there was nothing to compare."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Verdict on one reply.

    Attributes:
        correct: Whether the reply's boxed answer equals the gold answer.
        extracted: Content of the last box, or of the boxes that one sentence lists; None without a
            complete last box.
        method: The step that decided: `string` (same normal form), `number` (exact rational
            arithmetic), `structure` (shape, text, units, elements), `algebra` (expressions
            evaluated or simplified in the worker), `timeout` (the worker was stopped; counts as not
            equal), `none` (no answer to compare).
        why: One clause for people.
    """

    correct: bool
    extracted: str | None
    method: Method
    why: str

    def as_dict(self) -> dict[str, Any]:
        """Returns the fields as a plain mapping."""
        return {
            "correct": self.correct,
            "extracted": self.extracted,
            "method": self.method,
            "why": self.why,
        }
