"""What a model answered is read back as plain data; nothing that lies in a run's folder is run."""

import pickle

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalprep.run.plain_data import CannotKeepError, plain, restored
from evalprep.run.responses import FILE, Answer, ResponseFile

KEY = ("generate_until", "capitals", 0, 0, 0)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters())
    | st.binary(),
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text() | st.integers(), inner)
    ),
)


class Planted:
    """What a stranger would put into a pickle."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return (open, (str(self.marker), "w"))


@given(VALUES)
def test_plain_data_come_back_as_they_were(value):
    assert restored(msgspec.msgpack.decode(msgspec.msgpack.encode(plain(value)))) == value


def test_prompts_of_chat_interfaces_stay_what_lm_eval_hashes():
    from lm_eval.models.api_models import JsonChatStr

    prompt = JsonChatStr('[{"role": "user", "content": "Hodor \ud800?"}]')
    (kept, _) = restored(
        msgspec.msgpack.decode(msgspec.msgpack.encode(plain((prompt, {"until": []}))))
    )
    assert type(kept) is JsonChatStr
    assert kept == prompt


def test_scalars_of_numpy_and_broken_texts_are_kept():
    assert restored(plain([np.float32(0.5), np.bool_(True), "\ud800", 2**70, {"$": 1}])) == [
        0.5,
        True,
        "\ud800",
        2**70,
        {"$": 1},
    ]


def test_other_objects_are_refused_in_answers_and_known_again_in_requests():
    with pytest.raises(CannotKeepError, match="Planted"):
        plain([Planted("x")])
    picture = memoryview(b"pixels")
    assert plain(picture, whole=False) == plain(memoryview(b"pixels"), whole=False)
    assert plain(picture, whole=False) != plain(memoryview(b"others"), whole=False)
    with pytest.raises(ValueError, match="digest"):
        restored(plain(picture, whole=False))


def test_answers_survive_and_damage_counts_as_absence(tmp_path):
    file = ResponseFile(tmp_path)
    file.add({KEY: Answer(plain(("Capital of Peru?", {"until": []})), plain((-0.25, True)), "row")})
    again = ResponseFile(tmp_path)
    assert again.known == file.known
    (tmp_path / FILE).write_bytes((tmp_path / FILE).read_bytes()[:-3])
    assert ResponseFile(tmp_path).known == {}


def test_a_pickle_is_never_loaded(tmp_path):
    marker = tmp_path / "planted"
    unit = tmp_path / "units" / "capitals"
    unit.mkdir(parents=True)
    (unit / FILE).write_bytes(pickle.dumps((2, Planted(marker))))
    assert ResponseFile(unit).known == {}
    assert not marker.exists()
