"""Chat templates: rendered as lm-eval renders them, and what is wrong with applying them."""

import json
import shutil
from dataclasses import replace

import pytest

from evalprep.check import Findings, RunSettings, check_full
from evalprep.check.chat import check_template
from evalprep.model import ChatTemplate
from evalprep.model.tokenizer import load_tokenizer
from tests.evalprep.model.beginning import let_add_bos

PLAIN = (
    "{% for message in messages %}<|role|>{{ message['role'] }}<|/role|>{{ message['content'] | trim }}<|end|>"
    "{% endfor %}{% if add_generation_prompt %}<|role|>assistant<|/role|>{% endif %}"
)
NO_SYSTEM = (
    "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
    + PLAIN
)
REFUSES = "{{ raise_exception('never') }}"
# The ways in which reasoning models are made to think: the turn is opened for them, or it is what
# they do by default.
OPENED = PLAIN.replace("<|/role|>{% endif %}", "<|/role|><think>\n{% endif %}")
SKIPPED = "{% if enable_thinking is defined and enable_thinking is false %}<think>\n\n</think>\n\n{% endif %}"
BY_DEFAULT = PLAIN.replace("<|/role|>{% endif %}", f"<|/role|>{SKIPPED}{{% endif %}}")
HISTORY_ONLY = "{# cuts <think> and </think> out of earlier turns #}" + PLAIN
TRAINING = PLAIN.replace(
    "{{ message['content'] | trim }}", "{% generation %}{{ message['content'] }}{% endgeneration %}"
)


@pytest.fixture
def model(tmp_path, tiny_model):
    """A function from a chat template to a model's folder that has it."""

    def build(template, *, adds_bos=False, **settings):
        folder = tmp_path / "model"
        shutil.copytree(tiny_model(), folder, dirs_exist_ok=True)
        (folder / "chat_template.jinja").unlink(missing_ok=True)
        path = folder / "tokenizer_config.json"
        given = json.loads(path.read_text())
        given.pop("chat_template", None)
        path.write_text(
            json.dumps({**given, **settings, **({"chat_template": template} if template else {})})
        )
        if adds_bos:
            let_add_bos(folder)
        return folder

    return build


@pytest.mark.slow
@pytest.mark.parametrize(
    "template",
    [PLAIN, OPENED, BY_DEFAULT, TRAINING],
    ids=["plain", "opened", "default", "generation"],
)
@pytest.mark.parametrize("thinking", [None, False])
def test_rendered_as_in_transformers(template, thinking, model):
    from transformers import AutoTokenizer

    folder = model(template)
    ours, theirs = load_tokenizer(folder), AutoTokenizer.from_pretrained(folder)
    turns = [
        {"role": "system", "content": "Be short.\n"},
        {"role": "user", "content": "Q: 1 < 2?"},
        {"role": "assistant", "content": "The answer is "},
    ]
    for messages, open_end in ((turns[:2], False), (turns, True)):
        expected = theirs.apply_chat_template(
            messages,
            tokenize=False,
            add_generation_prompt=not open_end,
            continue_final_message=open_end,
            enable_thinking=thinking,
        )
        rendered = ours.render_chat(
            messages, add_generation_prompt=not open_end, variables={"enable_thinking": thinking}
        )
        assert rendered == expected


def test_a_refused_system_message_is_dropped_as_lm_eval_does(model):
    template = ChatTemplate(load_tokenizer(model(NO_SYSTEM)), {})
    user = {"role": "user", "content": "Hi"}
    assert template([user]) == "<|role|>user<|/role|>Hi<|end|><|role|>assistant<|/role|>"
    assert template.dropped is False
    assert template([{"role": "system", "content": "Be short."}, user]) == template([user])
    assert template.dropped is True
    with pytest.raises(ValueError, match="never"):
        ChatTemplate(load_tokenizer(model(REFUSES)), {})([user])


@pytest.mark.parametrize(
    ("template", "model_args", "code"),
    [
        pytest.param(None, {}, "EP615", id="no template"),
        pytest.param(PLAIN, {}, "", id="no thinking"),
        pytest.param(HISTORY_ONLY, {}, "", id="thinking in earlier turns only"),
        pytest.param(OPENED, {}, "EP724", id="the turn is opened"),
        pytest.param(BY_DEFAULT, {}, "EP724", id="by default"),
        pytest.param(BY_DEFAULT, {"enable_thinking": False}, "", id="switched off"),
        pytest.param(
            BY_DEFAULT, {"chat_template_args": {"enable_thinking": False}}, "EP725", id="lost"
        ),
        pytest.param(OPENED, {"think_end_token": "</think>"}, "", id="the end is known"),
    ],
)
def test_applying_a_template(template, model_args, code, model):
    findings = Findings()
    settings = RunSettings.without_config(
        backend="vllm", apply_chat_template=True, model_args=model_args
    )
    check_template(load_tokenizer(model(template)), settings, True, findings)
    assert code in {one.code for one in findings.sorted()} | {""}
    assert len(findings) == (2 if code == "EP725" else bool(code))
    none = Findings()
    check_template(
        load_tokenizer(model(template)), replace(settings, apply_chat_template=False), True, none
    )
    assert {one.code for one in none.sorted()} <= {"EP725"}


@pytest.fixture
def folder(tmp_path):
    """A function from further keys to a folder with one task."""

    def build(**changes):
        (tmp_path / "rows.jsonl").write_text(
            '{"sample_id": "a", "question": "Capital of Peru?", "answer": "Lima"}\n'
        )
        task = {
            "task": "templates_own",
            "dataset_path": "json",
            "dataset_kwargs": {"data_files": {"test": str(tmp_path / "rows.jsonl")}},
            "test_split": "test",
            "doc_to_text": "question",
            "doc_to_target": "answer",
            "generation_kwargs": {
                "until": [],
                "do_sample": False,
                "temperature": 0.0,
                "max_gen_toks": 8,
            },
            "num_fewshot": 0,
            "fewshot_config": {"sampler": "first_n", "samples": []},
            **changes,
        }
        (tmp_path / "tasks").mkdir(exist_ok=True)
        (tmp_path / "tasks" / "task.yaml").write_text(json.dumps(task))  # JSON is YAML
        return tmp_path / "tasks"

    return build


@pytest.mark.parametrize(
    ("template", "changes", "settings", "code"),
    [
        pytest.param(
            NO_SYSTEM,
            {"description": "Be short."},
            {"apply_chat_template": True},
            "EP614",
            id="no system role",
        ),
        pytest.param(NO_SYSTEM, {}, {"apply_chat_template": True}, "", id="no system message"),
        pytest.param(REFUSES, {}, {"apply_chat_template": True}, "EP304", id="refuses all"),
        pytest.param(PLAIN, {}, {}, "EP607", id="not applied"),
        pytest.param(None, {}, {"add_bos_token": False}, "EP603", id="no begin-of-text"),
        pytest.param(
            PLAIN,
            {"gen_prefix": "The answer is"},
            {"apply_chat_template": True},
            "",
            id="a begun answer",
        ),
    ],
)
def test_one_task_under_a_template(template, changes, settings, code, model, folder):
    findings = Findings()
    given = RunSettings.without_config(
        backend="vllm", device="cpu", model=str(model(template, adds_bos=True)), **settings
    )
    check_full([folder(**changes)], None, given, findings)
    assert {one.code for one in findings.sorted()} - {
        "EP712",
        "EP603" if code != "EP603" else "",
    } == ({code} if code else set())


def test_a_plain_recipe_is_not_advised_away(model, folder):
    """A pack that asks in plain text does so for the sake of comparison, and who refuses the template knows."""
    given = RunSettings.without_config(
        backend="vllm", device="cpu", model=str(model(PLAIN, adds_bos=True))
    )
    findings = Findings()
    check_full([folder(metadata={"pack": "a_pack"})], None, given, findings)
    (found,) = (one for one in findings.sorted() if one.code == "EP607")
    assert found.what == "templates_own: plain prompts, as its pack asks"
    assert found.advice.startswith("leave it so to compare")
    refused = given.changed(core=given.core.changed(apply_chat_template=False))
    findings = Findings()
    check_full([folder()], None, refused, findings)
    assert "EP607" not in {one.code for one in findings.sorted()}
