"""The two ways to score: as the original programme does, or with its defects mended."""

from __future__ import annotations

CORRECTED = "corrected"
COMPAT = "compat"
MODES = (CORRECTED, COMPAT)


def is_compat(mode: str) -> bool:
    """Tell the modes apart and refuse any third word.

    Raises:
        ValueError: `mode` is neither "corrected" nor "compat".
    """
    if mode not in MODES:
        raise ValueError(f"mode is {mode!r}; allowed: {', '.join(MODES)}")
    return mode == COMPAT
