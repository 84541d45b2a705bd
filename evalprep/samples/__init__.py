"""The rows of one task of two runs: what each asks, and which are the same question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalprep.surface import offered

if TYPE_CHECKING:
    from evalprep.samples.asked import Asked
    from evalprep.samples.keys import Keys, Rows
    from evalprep.samples.lineup import line_up
    from evalprep.samples.pairing import (
        AMBIGUOUS,
        BY_CONTENT,
        DOUBLED,
        GOLD_COLUMN,
        LONE,
        NO_VERDICT,
        OTHER_GOLD,
        Flags,
        Paired,
        PairRules,
        Way,
        contrary_rows,
        pair_rows,
        pair_with_published,
    )
else:
    __getattr__ = offered(__name__)
