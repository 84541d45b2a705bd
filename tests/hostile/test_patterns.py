"""No pattern of the project takes more than linear time, but for those whose text is short."""

from __future__ import annotations

import zlib

import pytest

from evalprep.check.patterns import slowness
from tests.effort import FULL
from tests.hostile.patterns import in_modules, in_tasks

# Where quadratic time is bounded by the length of what is read, and by whom. Exponential time never
# is.
BOUNDED = {
    "custom_metrics.math.": "answers of MAX_LENGTH (4,000) characters at most; `grade_answer` refuses longer ones",
    "custom_metrics.compliance.fairllm._BRACKETED": "the text ends in a closing bracket, so that every search succeeds",
    "custom_metrics.extract.choice_patterns.BOXED": "the content of one box, whose length `wording.BOX` bounds",
    "evalprep.check.folds.": "sentences of findings, a few hundred characters",
    "evalprep.data.layout.": "names of files",
    "evalprep.packs.datafiles.": "names of files",
    "evalprep.readers.tools.simple_evals._ALL_RESULTS": "names of files",
    "datasets:": "patterns of families.yaml",
}


@pytest.fixture(scope="module")
def patterns():
    """All patterns, and the calls of `re` whose pattern is only known when they run."""
    used, unknown = in_modules()
    return [*used, *in_tasks()], unknown


def is_slow(used):
    slow = slowness(used.pattern, used.flags, search=used.search, whole=used.whole)
    bounded = any(name in used.where for name in BOUNDED)
    return slow is not None and not (slow.growth == "quadratic" and bounded)


@pytest.mark.thorough
def test_no_reply_makes_a_pattern_slow(patterns):
    used, _ = patterns
    tried = (
        used
        if FULL
        else [each for each in used if zlib.crc32(ascii(each.pattern).encode()) % 16 == 0]
    )
    assert len(tried) > 10
    assert [f"{each.where}: {each.pattern!r}" for each in tried if is_slow(each)] == []


def test_the_patterns_are_found(patterns):
    used, unknown = patterns
    assert len(used) > 200
    assert len(unknown) < len(used) / 8
