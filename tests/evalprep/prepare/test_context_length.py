"""`max_model_len` where the config leaves it open: the context of the model, 8192 at most."""

import json
import shutil

import pytest
import yaml

from environment.tiny_model import build
from evalprep.cli import main
from tests import PROJECT_ROOT

PACKS = PROJECT_ROOT / "tests/data/packs"


@pytest.fixture(scope="module")
def tiny_model(tmp_path_factory):
    home = tmp_path_factory.mktemp("models") / "tiny"
    build(home, seed=0)
    return home


@pytest.fixture
def project(tmp_path, tiny_model, monkeypatch):
    """A function that writes a config for models of some contexts."""
    monkeypatch.chdir(tmp_path)

    def write(*contexts, key="max_position_embeddings", scaling=None, **keys):
        names = []
        for number, context in enumerate(contexts):
            model = tmp_path / f"model-{number}"
            shutil.copytree(tiny_model, model)
            content = json.loads((model / "config.json").read_text())
            del content["max_position_embeddings"]
            if scaling:
                content |= {"rope_parameters": None, "rope_scaling": scaling}
            (model / "config.json").write_text(json.dumps(content | {key: context}))
            names.append(str(model))
        models = {"models": names} if len(names) > 1 else {"model_name": names[0]}
        usual = {"backend": "hf", "device": "cpu", "tasks": "rivers", "template_dir": str(PACKS)}
        (tmp_path / "eval_config.yaml").write_text(yaml.safe_dump({**models, **usual, **keys}))
        return tmp_path

    return write


def lengths(project):
    manifest = json.loads((project / "work_dir/manifest.json").read_text())
    engines = [command["engine"]["model_args"]["max_length"] for command in manifest["commands"]]
    return manifest["config"]["max_model_len"], engines


@pytest.mark.parametrize(
    ("contexts", "key", "length"),
    [
        pytest.param([2048], "max_position_embeddings", 2048, id="shorter"),
        pytest.param([1024], "n_positions", 1024, id="under the name that GPT-2 has"),
        pytest.param([8192], "max_position_embeddings", 8192, id="the usual one"),
        pytest.param([131072], "max_position_embeddings", 8192, id="longer"),
        pytest.param([None], "max_position_embeddings", 8192, id="unknown"),
        pytest.param([4096, 2048], "max_position_embeddings", 2048, id="the shortest of two"),
    ],
)
def test_an_open_context_is_that_of_the_model(project, contexts, key, length, capsys):
    home = project(*contexts, key=key)
    assert main(["prepare"]) == 0
    written = capsys.readouterr().err
    note = f"note: max_model_len is {length}, the context of "
    assert (note in written) is (length < 8192)
    assert lengths(home) == (length, [length] * len(contexts))
    assert main(["check"]) == 0
    assert "EP711" not in capsys.readouterr().out


def test_a_longer_context_that_the_user_wrote_is_an_error(project, capsys):
    project(2048, max_model_len=8192)
    assert main(["prepare"]) == 2
    assert "EP711" in capsys.readouterr().err


def test_a_stretched_context_is_the_context_of_the_model(project, capsys):
    stretched = {"rope_type": "linear", "factor": 4.0}
    home = project(2048, max_model_len=8192, scaling=stretched)
    assert main(["prepare"]) == 0
    assert "EP711" not in capsys.readouterr().err
    assert lengths(home) == (8192, [8192])
    (home / "eval_config.yaml").write_text(
        (home / "eval_config.yaml").read_text().replace("8192", "8193")
    )
    assert main(["prepare"]) == 2
    assert "max_model_len 8193, and the model has 8192" in capsys.readouterr().err


def test_a_context_in_model_args_counts(project):
    home = project(2048, model_args={"max_length": 512})
    assert main(["prepare"]) == 0
    assert lengths(home) == (8192, [512])


def test_two_preparations_are_the_same_and_the_second_run_prepares_nothing(project):
    from evalprep.config import load_config
    from evalprep.prepare import changes_since

    home = project(2048)
    contents = []
    for _ in range(2):
        assert main(["prepare"]) == 0
        files = sorted((home / "work_dir").rglob("*"))
        texts = {path: path.read_bytes() for path in files if path.is_file()}
        manifest = json.loads(texts.pop(home / "work_dir/manifest.json"))
        del manifest["created"]
        contents.append((texts, manifest))
    assert contents[0] == contents[1]
    assert changes_since(*load_config(home / "eval_config.yaml")) == ""
