"""How OpenUnlearning asks each model: which of its configurations is taken, what it sets, and what stands beside it."""

import json
import shutil

import pytest
import yaml

from evalprep.cli import main
from evalprep.config.file import load_config
from evalprep.errors import BadInput
from evalprep.prepare.preparation import prepare
from tests.packs.unlearning.conftest import write_config


@pytest.fixture(scope="module")
def recipe(pack):
    return pack.module("recipe")


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("open-unlearning/tofu_Llama-2-7b-chat-hf_full", "Llama-2-7b-chat-hf"),
        ("locuslab/tofu_ft_llama2-7b", "Llama-2-7b-chat-hf"),
        ("meta-llama/Llama-2-7b-hf", "Llama-2-7b-hf"),
        ("muse-bench/MUSE-News_target", "Llama-2-7b-hf"),
        ("meta-llama/Llama-2-13b-hf", "Llama-2-13b-hf"),
        ("locuslab/tofu_ft_phi-1.5", "phi-1_5"),
        (
            "/x/unlearn_tofu_Llama-3.2-1B-Instruct_forget10_NPO/checkpoint-60",
            "Llama-3.2-1B-Instruct",
        ),
        ("open-unlearning/tofu_Llama-3.2-3B-Instruct_retain90", "Llama-3.2-3B-Instruct"),
        ("meta-llama/Llama-3.1-8B-Instruct", "Llama-3.1-8B-Instruct"),
        ("Qwen/Qwen2.5-1.5B-Instruct", "Qwen2.5-1.5B-Instruct"),
        ("Qwen/Qwen2.5-3B-Instruct", "Qwen2.5-3B-Instruct"),
        ("Qwen/Qwen2.5-7B-Instruct", "Qwen2.5-7B-Instruct"),
        ("microsoft/Phi-3.5-mini-instruct", "Phi-3.5-mini-instruct"),
        ("google/gemma-7b-it", "gemma-7b-it"),
        ("HuggingFaceH4/zephyr-7b-beta", "zephyr-7b-beta"),
        ("HuggingFaceTB/SmolLM2-135M-Instruct", ""),
        ("mistralai/Mistral-7B-v0.1", ""),
    ],
)
def test_models_are_known_by_their_names(recipe, tmp_path, model, name):
    config, _ = load_config(write_config(tmp_path, model))
    context = type("Context", (), {"config": config, "locate": staticmethod(str)})
    assert recipe.recognised(context)[0] == name


@pytest.mark.parametrize(
    ("config", "template", "name"),
    [
        (
            {
                "model_type": "llama",
                "hidden_size": 4096,
                "num_hidden_layers": 32,
                "vocab_size": 32000,
            },
            True,
            "-chat-hf",
        ),
        (
            {
                "model_type": "llama",
                "hidden_size": 4096,
                "num_hidden_layers": 32,
                "vocab_size": 32000,
            },
            False,
            "-7b-hf",
        ),
        (
            {"model_type": "qwen2", "hidden_size": 2048, "num_hidden_layers": 36},
            True,
            "Qwen2.5-3B-Instruct",
        ),
        ({"model_type": "phi", "_name_or_path": "microsoft/phi-1_5"}, False, "phi-1_5"),
        ({"model_type": "llama", "_name_or_path": "microsoft/phi-1_5"}, False, ""),
        ({"model_type": "mistral", "hidden_size": 4096, "num_hidden_layers": 32}, True, ""),
        (
            {
                "model_type": "llama",
                "hidden_size": 5120,
                "num_hidden_layers": 40,
                "vocab_size": 32000,
            },
            True,
            "",
        ),
        ({"model_type": "phi", "hidden_size": 2560, "num_hidden_layers": 32}, False, ""),
    ],
)
def test_a_folder_without_a_telling_name_is_known_by_its_files(
    recipe, tmp_path, config, template, name
):
    folder = tmp_path / "checkpoint-60"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    if template:
        (folder / "tokenizer_config.json").write_text(
            json.dumps({"chat_template": "{{ messages }}"})
        )
    loaded, _ = load_config(write_config(tmp_path / "config", folder))
    context = type("Context", (), {"config": loaded, "locate": staticmethod(str)})
    found = recipe.recognised(context)[0]
    assert found.endswith(name) if name else found == ""


MISTRAL = {
    "model_type": "mistral",
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "vocab_size": 32000,
}


@pytest.mark.parametrize(
    ("template", "name"),
    [
        ("{% for m in messages %}<|user|>{{ m.content }}</s>{% endfor %}", "zephyr-7b-beta"),
        ("{% for m in messages %}[INST] {{ m.content }} [/INST]{% endfor %}", ""),
    ],
)
def test_zephyr_is_told_from_its_kin_by_its_template(recipe, tmp_path, template, name):
    folder = tmp_path / "checkpoint-60"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(MISTRAL))
    (folder / "chat_template.jinja").write_text(template)
    loaded, _ = load_config(write_config(tmp_path / "config", folder))
    context = type("Context", (), {"config": loaded, "locate": staticmethod(str)})
    assert recipe.recognised(context)[0] == name


@pytest.fixture
def named(tmp_path, tiny_model):
    """A function that prepares a copy of the tiny model under another name."""

    def make(name, **unlearning):
        model = tmp_path / name
        shutil.copytree(tiny_model(), model)
        config, packs = load_config(
            write_config(tmp_path, model, unlearning=unlearning, tasks=["tofu_ra_lp"])
        )
        return prepare(config, packs)

    return make


def first_row(work_dir):
    import pyarrow.parquet as pq

    task = yaml.safe_load(
        (next(work_dir.rglob("tofu_ra_lp.yaml"))).read_text().replace("!function", "")
    )
    return pq.read_table(next(work_dir.rglob("tofu_ra_lp.parquet"))).slice(0, 1).to_pylist()[
        0
    ], task["metadata"]


def test_a_published_checkpoint_is_asked_as_it_was_published(named, tmp_path):
    named("tofu_Llama-2-7b-chat-hf_full")
    row, metadata = first_row(tmp_path / "work_dir")
    assert row["prompt"] == f"[INST] {row['question']} [/INST]"
    assert row["continuations"][0] == row["target"]
    assert metadata["rule"] == "openunlearning"
    assert metadata["unlearning"]["recipe"] == "Llama-2-7b-chat-hf"
    assert (
        metadata["token_logprobs"] | {"boundary": "openunlearning", "max_tokens": 512}
        == metadata["token_logprobs"]
    )


@pytest.mark.parametrize(
    "changed", [{"prompts": "template"}, {"rouge_stemmer": False}, {"recipe": "own"}]
)
def test_whoever_changes_the_recipe_does_not_follow_it(named, tmp_path, changed):
    named("tofu_Llama-2-7b-chat-hf_full", **changed)
    row, metadata = first_row(tmp_path / "work_dir")
    assert metadata["rule"] is None
    assert row["prompt"].startswith("[INST]") is ("rouge_stemmer" in changed)


def test_the_preparation_says_which_recipe_it_takes(named):
    assert "OpenUnlearning's Llama-2-13b-hf (by its name)" in str(
        named("unlearn_tofu_Llama-2-13b-hf_forget10")
    )


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        ("phi-2-unlearned", "OpenUnlearning has published none for phi-2; the pack's own choices"),
        ("tofu_Llama-2-13b-chat-hf", "has published none for Llama-2-13b-chat-hf"),
        ("tofu_Llama-2-13b-hf_full", "no scores are published for it"),
        ("my-model", "recipe: the pack's own choices"),
    ],
)
def test_the_command_line_says_where_none_is_published(
    tmp_path, tiny_model, capsys, model, sentence
):
    shutil.copytree(tiny_model(), tmp_path / model)
    if "phi" in model:
        file = tmp_path / model / "config.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | {"model_type": "phi"}))
    path = write_config(tmp_path, tmp_path / model, tasks=["tofu_ra_lp"])
    assert main(["prepare", "--config_path", str(path)]) == 0
    assert sentence in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ("openunlearning", "no configuration of OpenUnlearning is for"),
        ("Llama-2-7b-chat", "unknown recipe"),
    ],
)
def test_a_recipe_that_cannot_be_found_is_an_error(named, wanted, words):
    with pytest.raises(BadInput, match=words) as caught:
        named("mine", recipe=wanted)
    assert "Llama-2-7b-chat-hf" in caught.value.problems[0].allowed


def test_published_values_stand_beside_runs_that_follow_their_recipe_alone(tmp_path, capsys):
    from tests.packs.unlearning.test_logs import open_unlearning

    name = "tofu_Llama-3.2-1B-Instruct_full"
    place = tmp_path / name / "evals" / "TOFU_EVAL.json"
    place.parent.mkdir(parents=True)
    place.write_text(json.dumps(open_unlearning(rows=40)))  # as many as forget01 has
    assert main(["score", str(place), "--no-write", "--json"]) == 0
    suite = {score["name"]: score for score in json.loads(capsys.readouterr().out)["suite"]}
    shown = {score: [one["value"] for one in suite[score]["published"]] for score in suite}
    assert {score: values for score, values in shown.items() if values} == {
        "forget_quality": [0.01],
        "forget_truth_ratio": [0.47],
        "model_utility": [0.6],
    }
    changed = json.loads(place.read_text())
    changed["meta"] = {
        "model": name,
        "metrics": {},
        "tasks": {"tofu_forget_lp": {"rule": None, "settings": {}}},
    }
    place.write_text(json.dumps(changed))
    assert main(["score", str(place), "--no-write", "--json"]) == 0
    suite = {score["name"]: score for score in json.loads(capsys.readouterr().out)["suite"]}
    assert suite["forget_truth_ratio"]["published"] == []
    assert suite["forget_truth_ratio"]["withheld"] == "published by another rule (openunlearning)"
