"""What holds between verbs whatever the rows of two runs are.

Each example writes two runs as lm-eval does and asks the verbs through the command line. A pair that breaks a
property is printed with what was done to it; `make_pair(random.Random(SEED), RELATION)` makes it again.
"""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.effort import FULL
from tests.evalprep.properties import holds
from tests.evalprep.properties.answers import answers_about, check
from tests.evalprep.properties.pairs import EQUAL, FREE, LOWER, make_pair

#: What holds of pairs of a relation, beside the agreement of all verbs.
OF_RELATION = {EQUAL: holds.breaks_of_equal_pairs, LOWER: holds.breaks_of_lower_pairs}


@settings(max_examples=200 if FULL else 6)
@given(seed=st.integers(0, 2**32 - 1), relation=st.sampled_from((EQUAL, EQUAL, LOWER, FREE)))
def test_equal_pairs_show_nothing_lower_ones_no_gain_and_verbs_agree(seed, relation):
    pair = make_pair(random.Random(seed), relation)
    with answers_about(pair) as (answers,):
        if relation in OF_RELATION:
            check(pair, OF_RELATION[relation](answers))
        check(pair, holds.breaks_of_agreement(answers))
