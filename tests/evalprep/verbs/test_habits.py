"""What a user of lm_eval types out of habit, or by mistake: one sentence, and what can be typed."""

import json

import pytest

from evalprep.cli import main
from evalprep.config import load_config
from evalprep.prepare import changes_since

TASK = {
    "task": "rivers",
    "dataset_path": "json",
    "dataset_kwargs": {"data_files": {"test": "rows.jsonl"}},
    "test_split": "test",
    "doc_to_text": "{{question}}",
    "doc_to_target": "{{answer}}",
    "generation_kwargs": {"do_sample": False, "temperature": 0, "max_gen_toks": 4, "until": ["\n"]},
}
CONFIG = {"model_name": "org/absent", "backend": "dummy", "tasks": [TASK]}


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.jsonl").write_text('{"question": "1 + 1?", "answer": "2"}\n')
    (tmp_path / "my.yaml").write_text(json.dumps(CONFIG))
    (tmp_path / "task.yaml").write_text("task: rivers\ndataset_path: json\n")
    (tmp_path / "group.yaml").write_text("group: waters\ntask: [rivers]\n")
    (tmp_path / "tab.yaml").write_text("model_name: x\ntasks:\n\t- arc_easy\n")
    return tmp_path


RUN = "run --model org/m --tasks arc_easy"


@pytest.mark.parametrize(
    ("words", "messages"),
    [
        ("run --model hf --tasks arc_easy", ["hf is a back end", "--backend hf --model NAME"]),
        ("run --model local-completions", ["--backend local-completions --model NAME"]),
        (f"{RUN} --batch_size 8", ["unknown: --batch_size; write --set batch_size=8"]),
        (f"{RUN} --batch-size=8", ["write --set batch_size=8"]),
        (f"{RUN} --num_fewshot 5", ["unknown: --num_fewshot; write --set num_fewshot=5"]),
        (f"{RUN} --trust_remote_code", ["write --set model_args.trust_remote_code=true"]),
        (
            f"{RUN} --model_args dtype=float32,revision=main",
            ["write --set model_args.dtype=float32 --set model_args.revision=main"],
        ),
        (f"{RUN} --gen_kwargs temperature=0", ["write --set gen_kwargs.temperature=0"]),
        ("prepare --model org/m", ["write --set model_name=org/m"]),
        ("prepare my.yaml", ["did you mean --config_path my.yaml?"]),
        ("run tab.yaml", ["tab.yaml:3:1: is not valid YAML: the line is indented with a tab"]),
        ("run nothere.yaml", ["nothere.yaml: does not exist", "evalprep init"]),
        ("run --config_path nothere.yaml", ["nothere.yaml: does not exist", "evalprep init"]),
        ("check nothere", ["nothere: no such folder", "name a config, a prepared work folder"]),
        ("check task.yaml", ["task.yaml: is an lm-eval file of a task, not a config"]),
        ("run task.yaml", ["evalprep run --model NAME --tasks task.yaml"]),
        ("run group.yaml", ["is an lm-eval file of a group", "--tasks group.yaml"]),
    ],
)
def test_mistakes(project, capsys, words, messages):
    try:
        code = main(words.split())
    except SystemExit as error:
        code = error.code
    assert code == 2
    error = capsys.readouterr().err
    for message in messages:
        assert message in error
    assert len(error) < 500
    assert "Traceback" not in error


@pytest.mark.parametrize(
    "words",
    [
        "check my.yaml --depth static",
        "preview my.yaml rivers",
        "preview rivers my.yaml",
        "preview rivers --config_path my.yaml",
    ],
)
def test_a_config_stands_where_a_work_folder_may(project, capsys, words):
    assert main(words.split()) == 0
    assert "rivers" in capsys.readouterr().out or "1 task" in words


def test_a_preview_names_the_users_file(project, capsys):
    endless = {**TASK, "generation_kwargs": {"do_sample": False, "temperature": 0}}
    (project / "my.yaml").write_text(json.dumps(CONFIG | {"tasks": [endless]}))
    assert main(["preview", "my.yaml", "rivers"]) == 2
    error = capsys.readouterr().err
    assert "my.yaml" in error
    assert "evalprep-check" not in error


def test_run_takes_a_config_by_the_option_of_the_other_verbs(project, capsys, monkeypatch):
    seen = []

    def stop(place, *_):
        seen.append(place)
        raise SystemExit(0)

    monkeypatch.setattr("evalprep.verbs.running.preparing._prepare", stop)
    for option in ("--config_path", "--config"):
        with pytest.raises(SystemExit):
            main(["run", option, "my.yaml"])
    assert [place.name for place in seen] == ["my.yaml", "my.yaml"]


@pytest.mark.parametrize(
    ("backend", "url", "endpoint"),
    [
        ("local-completions", "http://127.0.0.1:8000", "/v1/completions"),
        ("local-completions", "http://127.0.0.1:8000/v1/", "/v1/completions"),
        ("local-completions", "http://127.0.0.1:8000/v1/completions", "/v1/completions"),
        ("local-completions", "http://127.0.0.1:8000/v1/chat/completions", "/v1/completions"),
        ("local-chat-completions", "http://127.0.0.1:8000/v1", "/v1/chat/completions"),
        ("local-chat-completions", "http://127.0.0.1:8000/v1/completions", "/v1/chat/completions"),
    ],
)
def test_a_base_url_with_and_without_its_endpoint(project, backend, url, endpoint):
    text = json.dumps(CONFIG | {"backend": backend, "model_args": {"base_url": url}})
    (project / "my.yaml").write_text(text)
    assert main(["prepare", "--config_path", "my.yaml", "--check", "off", "--quiet"]) == 0
    manifest = json.loads((project / "work_dir/manifest.json").read_text())
    (command,) = manifest["commands"]
    assert command["engine"]["model_args"]["base_url"] == f"http://127.0.0.1:8000{endpoint}"
    config, packs = load_config(project / "my.yaml", [])
    assert changes_since(config, packs) == ""


@pytest.mark.slow
def test_a_model_that_is_not_in_the_cache(project, capsys):
    assert main(["run", "my.yaml", "--backend", "hf", "--set", "device=cpu"]) == 1
    error = capsys.readouterr().err
    assert (
        "failed: the model org/absent is not in the hub cache, and HF_HUB_OFFLINE is set" in error
    )
    assert "unset HF_HUB_OFFLINE once to fetch it, or name a local folder" in error
    assert "OSError" not in error
