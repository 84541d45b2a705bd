"""What holds between verbs of a run of lm-eval and logs of inspect_ai of the same rows, in both orders."""

from __future__ import annotations

import random

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.effort import FULL
from tests.evalprep.properties import holds
from tests.evalprep.properties.answers import Answers, check
from tests.evalprep.properties.pairs import (
    EQUAL,
    FREE,
    LATER,
    LOWER,
    make_pair,
    without_metrics_of_lm_eval,
    write_log,
    write_pack,
    write_side,
)

OF_RELATION = {EQUAL: holds.breaks_of_equal_pairs, LOWER: holds.breaks_of_lower_pairs}


@settings(max_examples=40 if FULL else 3)
@given(seed=st.integers(0, 2**32 - 1), relation=st.sampled_from((EQUAL, LOWER, FREE)))
def test_a_run_and_logs_agree_in_both_orders(tmp_path_factory, seed, relation):
    pair = without_metrics_of_lm_eval(make_pair(random.Random(seed), relation))
    assume({task.name for task in pair.now} & {task.name for task in pair.before})
    folder = tmp_path_factory.mktemp("across")
    now = write_side(folder / "now", pair.now, "later", LATER)
    before = write_log(folder / "before", pair.before, "earlier")
    packs = write_pack(folder, pair.scores)
    answers, exchanged = (
        Answers(*sides, packs, folder / name)
        for name, sides in (("straight", (now, before)), ("exchanged", (before, now)))
    )
    for side in (answers, exchanged):
        side.folder.mkdir()
    assume(answers.compare[0] != 2)  # runs without a question in common are refused
    if relation in OF_RELATION:
        check(pair, OF_RELATION[relation](answers))
    check(pair, holds.breaks_of_agreement(answers))
    check(pair, holds.breaks_of_exchange(answers, exchanged))
