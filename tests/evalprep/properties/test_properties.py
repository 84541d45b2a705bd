"""What holds between verbs, and between two orders or copies of a pair of runs, whatever the rows are.

Each example writes two runs as lm-eval does and asks the verbs through the command line. A pair that breaks a
property is printed with what was done to it; `make_pair(random.Random(SEED), RELATION)` makes it again.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.effort import FULL
from tests.evalprep.properties import holds
from tests.evalprep.properties.answers import Answers
from tests.evalprep.properties.pairs import EQUAL, FREE, LOWER, Pair, make_pair, write_pair

SEEDS = st.integers(0, 2**32 - 1)
#: An example takes one to three seconds.
few = settings(max_examples=200 if FULL else 3)
NAMES = {"t0": "zeta", "t1": "alpha", "t2": "mid", "t3": "beta"}


@contextmanager
def answers_about(*pairs: Pair) -> Iterator[list[Answers]]:
    """The answers about some pairs, in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory() as name:
        every = []
        for place, pair in enumerate(pairs):
            folder = Path(name) / str(place)
            folder.mkdir()
            every.append(Answers(*write_pair(folder, pair), folder))
        yield every


def check(pair: Pair, breaks: Iterator[str]) -> None:
    """Fail with what was done to the pair, where a property breaks."""
    found = list(breaks)
    if found:
        pytest.fail("\n".join([f"{pair.history}: {len(found)} breaks", *found[:20]]))


@few
@given(seed=SEEDS)
def test_equal_pairs_are_neither_better_nor_worse(seed):
    pair = make_pair(random.Random(seed), EQUAL)
    with answers_about(pair) as (answers,):
        check(pair, holds.breaks_of_equal_pairs(answers))


@few
@given(seed=SEEDS)
def test_nothing_gains_where_no_pair_is_better(seed):
    pair = make_pair(random.Random(seed), LOWER)
    with answers_about(pair) as (answers,):
        check(pair, holds.breaks_of_lower_pairs(answers))


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


@few
@given(seed=SEEDS, relation=st.sampled_from((EQUAL, LOWER, FREE)))
def test_verbs_agree_on_what_they_share(seed, relation):
    pair = make_pair(random.Random(seed), relation)
    with answers_about(pair) as (answers,):
        check(pair, holds.breaks_of_agreement(answers))
