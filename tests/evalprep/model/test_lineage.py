"""Which models may be trainings of one model: by their configurations, else by their names."""

import json

import pytest

from evalprep.model import Lineage, architecture_of, lineage_of

SMALL = {"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "vocab_size": 1000}


def written(folder, **changes):
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({**SMALL, **changes}))
    return architecture_of(folder)


@pytest.mark.parametrize(
    ("changes", "differs"),
    [
        ({}, False),
        ({"vocab_size": 1004}, False),  # a token for padding, and some to fill up
        ({"vocab_size": 2000}, True),
        ({"num_hidden_layers": 4}, True),
        ({"hidden_size": 128}, True),
        ({"model_type": "qwen2"}, True),
    ],
)
def test_configurations_tell_models_apart_whatever_their_names(tmp_path, changes, differs):
    own = Lineage("llama-3.2", "1b", written(tmp_path / "own"))
    other = Lineage("phi-1.5", "3b", written(tmp_path / "other", **changes))
    assert own.differs_from(other) is differs
    assert "llama of 2 layers, width 64, 1000 tokens" in own.text


def test_names_count_where_a_configuration_is_not_known(tmp_path):
    own = Lineage("llama-3.2", "1b", written(tmp_path / "own"))
    assert own.differs_from(lineage_of("tofu_Llama-3.2-3B"))
    assert not own.differs_from(lineage_of("tofu_Llama-3.2-1B_retain90"))
    assert architecture_of(tmp_path / "none") is None
    assert written(tmp_path / "partly", vocab_size=None) is None


def test_counted_parameters_tell_sizes_apart_where_no_name_does():
    first, second = Lineage(parameters=1_240_000_000), Lineage(parameters=3_200_000_000)
    assert first.differs_from(second)
    assert not first.differs_from(Lineage(parameters=1_240_000_512))
    assert not Lineage("llama", "1b", None, 620_000_000).differs_from(
        Lineage("llama", "1b", None, 1_240_000_000)
    )
