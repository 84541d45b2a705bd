"""`models:`, several models for one work folder."""

from pathlib import Path

import pytest
import yaml

from evalprep.config.file import load_config
from evalprep.config.models import _natural_order, core_of, natural, short_names
from evalprep.config.schema import Checkpoint
from evalprep.errors import BadInput


def folders(home, *names):
    for name in names:
        (home / name).mkdir(parents=True)
        (home / name / "config.json").write_text("{}")


def read(home, models, **more):
    (home / "eval_config.yaml").write_text(
        yaml.safe_dump({"models": models, "tasks": "arc_easy", **more})
    )
    return load_config(home / "eval_config.yaml")[0].core


def test_patterns_give_folders_in_natural_order(tmp_path):
    folders(
        tmp_path, "saves/a/checkpoint-10", "saves/a/checkpoint-9", "saves/b/checkpoint-9", "retain"
    )
    (tmp_path / "saves" / "a" / "logs-1").mkdir()
    core = read(tmp_path, ["retain", "saves/*/checkpoint-*"])
    ends = [model.model_name.removeprefix(f"{tmp_path}/") for model in core.models]
    assert ends == [
        "retain",
        "saves/a/checkpoint-9",
        "saves/a/checkpoint-10",
        "saves/b/checkpoint-9",
    ]
    assert core.model_name == "retain"


@pytest.mark.parametrize("names", [["m/A-2", "m/a-2", "m/a-1"], ["m/a-1", "m/a-2", "m/A-2"]])
def test_names_that_differ_in_case_alone_have_one_order(names):
    paths = sorted(map(Path, names), key=_natural_order)
    in_order = list(map(str, paths))
    assert in_order == ["m/a-1", "m/A-2", "m/a-2"]


def test_a_mapping_brings_revision_and_arguments(tmp_path):
    entries = [
        {"model_name": "o/m", "model_revision": "step1"},
        {"model_name": "o/m", "model_args": {"peft": "a/b"}},
    ]
    more = {"model_revision": "main", "model_args": {"trust_remote_code": True}}
    core = read(tmp_path, entries, backend="hf", **more)
    one, two = (core_of(core, entry) for entry in core.models)
    assert (one.model_name, one.model_revision, one.models) == ("o/m", "step1", ())
    assert (two.model_revision, two.model_args) == (
        "main",
        {"trust_remote_code": True, "peft": "a/b"},
    )
    assert short_names(core.models) == ["m-step1", "m"]


@pytest.mark.parametrize(
    ("models", "more", "what"),
    [
        (["a/b"], {"model_name": "c"}, "model_name and models are both given"),
        (["nowhere/checkpoint-*"], {}, "no model folder matches"),
        ([{"model": "a"}], {}, "models.0.model_name is missing"),
        ([{"model_name": "a", "revision": "b"}], {}, "models.0.revision is an unknown key"),
        ([3], {}, "models"),
        ([{"model_name": " "}], {}, "models"),
        ([["a"]], {}, "models"),
        ({"a": 1}, {}, "models"),
    ],
)
def test_mistakes_name_the_key(tmp_path, models, more, what):
    with pytest.raises(BadInput) as error:
        read(tmp_path, models, **more)
    assert any(what in problem.what for problem in error.value.problems)
    assert any("(models" in problem.where for problem in error.value.problems)


def test_no_models_is_as_before(tmp_path):
    assert read(tmp_path, None, model_name="a/b").model_name == "a/b"
    assert read(tmp_path, [], model_name="a/b").models == ()


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["/x/a/checkpoint-5", "/x/b/checkpoint-5"], ["a_checkpoint-5", "b_checkpoint-5"]),
        (["org/Model", "org/model"], ["Model-1", "model-2"]),
        (["../m/", "./n"], ["m", "n"]),
        (["a/b c", "a/ü"], ["b_c", "model"]),
    ],
)
def test_short_names_tell_models_apart(names, expected):
    assert short_names([Checkpoint(model_name=name) for name in names]) == expected


def test_natural_order():
    assert sorted(["b", "a10", "a9b", "a9", "²1", ""], key=natural) == [
        "",
        "a9",
        "a9b",
        "a10",
        "b",
        "²1",
    ]
