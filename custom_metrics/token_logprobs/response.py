"""The JSON string a request is answered with, and how scoring reads it back."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from custom_metrics.token_logprobs.encode import Encoded


@dataclass(frozen=True, kw_only=True)
class Response:
    """Scored tokens of one request, natural logarithms in order.

    Args:
        logprobs: Log-probability of each scored token.
        greedy: Whether each token is the model's most likely one.
        mu: Mean log-probability over the vocabulary at each position; None unless asked for.
        var: Its variance.
        text: The scored part as text, without special tokens.
        truncated: Tokens cut off by a length option.
        refused: Why nothing was scored: `too_long`, `backend`; empty otherwise.
        grad_norm: Mean over parameter tensors of the norm of the gradient.
        tokens: Length of the whole sequence, for refused rows.
    """

    logprobs: list[float] = field(default_factory=list)
    greedy: list[bool] = field(default_factory=list)
    mu: list[float] | None = None
    var: list[float] | None = None
    text: str | None = None
    truncated: int = 0
    refused: str = ""
    grad_norm: float | None = None
    tokens: int = 0

    @property
    def avg_loss(self) -> float | None:
        """Mean negative log-probability over all scored tokens.

        None without one, or where one is no finite number.
        """
        if not self.logprobs or not all(map(math.isfinite, self.logprobs)):
            return None
        return 0.0 - math.fsum(self.logprobs) / len(self.logprobs)

    @property
    def prob(self) -> float | None:
        """`exp(-avg_loss)`, the geometric mean of the token probabilities.

        None without a scored token.
        """
        loss = self.avg_loss
        return None if loss is None else math.exp(min(-loss, 0.0))

    def dump(self) -> str:
        """The response as the harness logs it."""
        content: dict[str, Any] = {
            "n": len(self.logprobs),
            "sum": math.fsum(self.logprobs),
            "logprobs": self.logprobs,
            "greedy": [int(flag) for flag in self.greedy],
        }
        for name in ("mu", "var", "text", "grad_norm"):
            if getattr(self, name) is not None:
                content[name] = getattr(self, name)
        for name in ("truncated", "refused", "tokens"):
            if getattr(self, name):
                content[name] = getattr(self, name)
        return json.dumps(content)


def refusal(row: Encoded, reason: str = "too_long") -> Response:
    """The answer for a row that cannot be scored."""
    return Response(refused=reason, tokens=len(row.ids), truncated=row.truncated)


def _floats(values: Any) -> list[float]:
    return [float(value) for value in values]


def parse(reply: Any) -> Response:
    """Reads a response back.

    Anything that is none (another back end's answer) is a refusal, never an exception.

    >>> parse('{"n": 1, "sum": -0.5, "logprobs": [-0.5], "greedy": [1]}').avg_loss
    0.5
    """
    try:
        content = json.loads(reply)
        text = content.get("text")
        gradient = content.get("grad_norm")
        return Response(
            logprobs=_floats(content["logprobs"]),
            greedy=[bool(flag) for flag in content["greedy"]],
            mu=_floats(content["mu"]) if "mu" in content else None,
            var=_floats(content["var"]) if "var" in content else None,
            text=text if isinstance(text, str) else None,
            truncated=int(content.get("truncated", 0)),
            refused=str(content.get("refused", "")),
            grad_norm=None if gradient is None else float(gradient),
            tokens=int(content.get("tokens", 0)),
        )
    except (AttributeError, TypeError, ValueError, KeyError, RecursionError):
        return Response(refused="unreadable")


def mean_present(values: Iterable[float | None]) -> float | None:
    """Harness aggregation: mean of the finite values that are there.

    >>> mean_present([1.0, None, 3.0])
    2.0
    """
    present = [value for value in values if value is not None and math.isfinite(value)]
    if not present:
        return None
    return math.fsum(present) / len(present)


def count(values: Sequence[float]) -> float:
    """Harness aggregation: the sum of per-row counts."""
    return float(sum(values))
