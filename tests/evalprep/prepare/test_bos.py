"""Which begin-of-text token stands before a prompt, on every back end: the user's word, the pack's, the tokenizer's."""

import json
import shutil
from pathlib import Path

import pytest
import yaml

from evalprep.cli import main
from evalprep.model.tokenizer import load_tokenizer
from evalprep.packs.manifest import read_manifest
from tests.evalprep.model.beginning import let_add_bos

PROMPT = "Question: 2 + 3 is\nAnswer:"
ADDRESS = "http://127.0.0.1:9/v1/completions"


@pytest.fixture
def project(tmp_path, tiny_model):
    """A function from keys to the commands of a preparation; `adds_bos` is the habit of the model's tokenizer."""

    def prepare(*, adds_bos=False, **keys):
        model = tmp_path / f"model-{adds_bos}"
        shutil.copytree(tiny_model(), model, dirs_exist_ok=True)
        if adds_bos:
            let_add_bos(model)
        (tmp_path / "rows.jsonl").write_text(json.dumps({"question": PROMPT, "answer": "5"}) + "\n")
        task = {
            "task": "plain_sum",
            "dataset_path": "json",
            "dataset_kwargs": {"data_files": {"test": "rows.jsonl"}},
            "test_split": "test",
            "doc_to_text": "question",
            "doc_to_target": "answer",
            "generation_kwargs": {"until": [], "do_sample": False, "temperature": 0.0},
        }
        config = {"model_name": str(model), "tasks": [task], "device": "cpu", **keys}
        (tmp_path / "eval_config.yaml").write_text(yaml.safe_dump(config))
        words = ["prepare", "--config_path", str(tmp_path / "eval_config.yaml"), "--check=off"]
        assert main(words) == 0
        return read_manifest(tmp_path / "work_dir").commands

    return prepare


def ids_on(backend, arguments, folder):
    """The token ids that lm-eval's own class makes of the prompt under the arguments of a command."""
    from lm_eval.models.huggingface import HFLM
    from lm_eval.models.openai_completions import LocalCompletionsAPI
    from lm_eval.models.vllm_causallms import VLLM
    from transformers import AutoTokenizer

    bos = arguments.get("add_bos_token")
    if backend == "vllm-server":
        engine = LocalCompletionsAPI(
            base_url=ADDRESS, **{key: arguments[key] for key in arguments if key != "base_url"}
        )
        return engine.tok_encode(PROMPT)
    engine = VLLM.__new__(VLLM) if backend == "vllm" else HFLM.__new__(HFLM)
    engine.tokenizer = AutoTokenizer.from_pretrained(
        folder, **({} if bos is None else {"add_bos_token": bos})
    )
    engine.custom_prefix_token_id = None
    engine.add_bos_token = bos
    return engine.tok_encode(PROMPT)


@pytest.mark.slow
@pytest.mark.parametrize("adds_bos", [True, False])
def test_a_plain_prompt_has_the_same_token_ids_on_every_back_end(adds_bos, project):
    expected = None
    for backend in ("vllm", "hf", "vllm-server"):
        (command,) = project(adds_bos=adds_bos, backend=backend)
        arguments = command.engine["model_args"]
        folder = arguments.get("pretrained") or arguments["tokenizer"]
        ids = ids_on(backend, arguments, folder)
        begin = load_tokenizer(Path(folder)).bos_id
        assert (ids[0] == begin) is adds_bos, backend
        expected = expected or ids
        assert ids == expected, backend


@pytest.mark.parametrize(
    ("adds_bos", "backend", "said", "written"),
    [
        (True, "vllm", None, None),
        (True, "vllm-server", None, True),
        (False, "vllm-server", None, False),
        (False, "vllm", True, True),
        (True, "hf", False, False),
        (True, "vllm-server", False, False),
    ],
)
def test_the_habit_is_written_out_for_servers_alone(adds_bos, backend, said, written, project):
    keys = {} if said is None else {"add_bos_token": said}
    (command,) = project(adds_bos=adds_bos, backend=backend, **keys)
    assert command.engine["model_args"].get("add_bos_token") is written


@pytest.mark.parametrize(("adds_bos", "commands"), [(True, 1), (False, 2)])
def test_tasks_share_a_command_where_both_values_give_the_same_tokens(
    adds_bos, commands, tiny_project, project, tmp_path
):
    """The prompts of the meta pack want a BOS, the plain task what the tokenizer does."""
    meta = yaml.safe_load(tiny_project.read_text())
    inline = {
        "task": "plain_sum",
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": "rows.jsonl"}},
        "test_split": "test",
        "doc_to_text": "question",
        "doc_to_target": "answer",
    }
    given = {key: meta[key] for key in ("evals_dataset", "ground_truth", "output_path")}
    given["max_model_len"] = (
        8192  # the replies of meta_math are longer than the context of the tiny model
    )
    prepared = project(adds_bos=adds_bos, backend="vllm", tasks=["meta_math", inline], **given)
    assert [command.engine["model_args"].get("add_bos_token") for command in prepared] == [
        True,
        None,
    ][:commands]
    assert sorted(task for command in prepared for task in command.tasks) == [
        "meta_math",
        "plain_sum",
    ]


def test_the_users_word_counts_before_the_packs(tiny_project, project):
    meta = yaml.safe_load(tiny_project.read_text())
    given = {key: meta[key] for key in ("evals_dataset", "ground_truth", "output_path")}
    given["max_model_len"] = (
        8192  # the replies of meta_math are longer than the context of the tiny model
    )
    (command,) = project(backend="vllm", tasks="meta_math", add_bos_token=False, **given)
    assert command.engine["model_args"]["add_bos_token"] is False
