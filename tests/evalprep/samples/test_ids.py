"""Ids of rows in little memory."""

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalprep.samples.ids import Ids

DIGESTS = [hashlib.sha256(bytes([at])).hexdigest() for at in range(4)]
CASES = {
    "none": [],
    "digests": DIGESTS,
    "numbers": ["1", "01", "", "12"],
    "upper case": [digest.upper() for digest in DIGESTS],
    "other lengths": ["ab" * 31, "ab" * 33, "0" * 64],
    "mixed": [DIGESTS[0], "q1", "é", "\ud800", DIGESTS[0]],
    "as long as a digest": ["x" * 32, "x" * 33, "ÿ" * 33],
}


@pytest.mark.parametrize("texts", CASES.values(), ids=CASES)
def test_ids_are_the_texts_that_they_were_made_of(texts):
    ids = Ids.of(texts)
    assert [*ids] == texts == [ids[row] for row in range(len(ids))]
    assert ids.at(np.arange(len(ids))[::-1]) == texts[::-1]
    assert ids == Ids.joined([Ids.of([text]) for text in texts])


@given(parts=st.lists(st.lists(st.one_of(st.text(max_size=40), st.sampled_from(DIGESTS)))))
def test_a_hash_tells_ids_apart_however_they_were_put_together(parts):
    ids = Ids.joined([Ids.of(part) for part in parts])
    assert [*ids] == [text for part in parts for text in part]
    hashes = ids.hashes().tolist()
    assert 0 not in hashes
    assert len({*hashes}) == len({*ids})
    assert hashes == [int(Ids.of([text]).hashes()[0]) for text in ids]
