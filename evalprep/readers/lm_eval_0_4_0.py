"""Results of lm-eval 0.4.0 to 0.4.2: keys `metric,filter`.

Directions stand in the settings of tasks alone.
"""

from __future__ import annotations

from typing import Any

from evalprep.readers import lm_eval_0_4_3
from evalprep.readers.logged import RunResults


def recognises(content: dict[str, Any]) -> bool:
    """Returns whether a results file has this layout."""
    later = {"higher_is_better", "n-samples"} & content.keys()
    return "configs" in content and not later


def decode(content: dict[str, Any], file: str) -> RunResults:
    """Decodes a results file of this layout, which has a part of the later one's parts."""
    return lm_eval_0_4_3.decode(content, file)
