"""What holds between two orders and two copies of a pair of runs, whatever the rows are."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.effort import FULL
from tests.evalprep.properties import holds
from tests.evalprep.properties.answers import answers_about, check
from tests.evalprep.properties.pairs import EQUAL, FREE, LOWER, make_pair

SEEDS = st.integers(0, 2**32 - 1)
NAMES = {"t0": "zeta", "t1": "alpha", "t2": "mid", "t3": "beta"}
few = settings(max_examples=25 if FULL else 2)


@few
@given(seed=SEEDS, relation=st.sampled_from((LOWER, FREE)))
def test_exchanged_sides_are_mirrored(seed, relation):
    pair = make_pair(random.Random(seed), relation)
    with answers_about(pair, pair.exchanged()) as (answers, exchanged):
        check(pair, holds.breaks_of_exchange(answers, exchanged))


@few
@given(seed=SEEDS, relation=st.sampled_from((EQUAL, LOWER, FREE)))
def test_a_copy_with_other_names_and_another_order_of_lines_has_the_same_result(seed, relation):
    pair = make_pair(random.Random(seed), relation)
    with answers_about(pair, pair.renamed(NAMES).shuffled(seed)) as (answers, copy):
        check(pair, holds.breaks_of_copies(answers, copy, NAMES))
