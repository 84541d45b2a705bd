"""Suite scores of the runs, as `evalprep score` computes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evalprep.results import Run


def scores_of(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Every suite score with its result per run."""
    return []
