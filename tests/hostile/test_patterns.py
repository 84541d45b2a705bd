"""No pattern of the project takes more than linear time, but for those whose text is short."""

from __future__ import annotations

import pytest

from evalprep.check.patterns import slowness
from tests.hostile.patterns import in_modules, in_tasks

# Where quadratic time is bounded by the length of what is read, and by whom. Exponential time never is.
BOUNDED = {
    "custom_metrics.math.": "answers of MAX_LENGTH (4,000) characters at most; `grade_answer` refuses longer ones",
    "custom_metrics.compliance.fairllm._BRACKETED": "the text ends in a closing bracket, so that every search succeeds",
    "custom_metrics.extract.choice_patterns.BOXED": "the content of one box, whose length `wording.BOX` bounds",
    "evalprep.check.folds.": "sentences of findings, a few hundred characters",
    "evalprep.data.layout.": "names of files",
    "datasets:": "patterns of families.yaml",
}
PATTERNS, UNKNOWN = in_modules()
PATTERNS += in_tasks()


@pytest.mark.parametrize("used", PATTERNS, ids=[used.where for used in PATTERNS])
def test_no_reply_makes_a_pattern_slow(used):
    slow = slowness(used.pattern, used.flags, search=used.search, whole=used.whole)
    if slow is None or (slow.growth == "quadratic" and any(name in used.where for name in BOUNDED)):
        return
    raise AssertionError(f"{used.where}: {used.pattern!r} takes {slow}")


def test_the_patterns_are_found():
    assert len(PATTERNS) > 200
    assert len(UNKNOWN) < len(PATTERNS) / 8
