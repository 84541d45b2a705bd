"""What a slip of the pen in a config or a verb is answered with, through the command line."""

import pytest
import yaml

from evalprep.cli import main


def refusal(folder, capsys, **keys):
    """The messages about a config."""
    config = {"model_name": "none", "backend": "dummy", "tasks": ["meta_gpqa"], **keys}
    (folder / "eval_config.yaml").write_text(yaml.safe_dump(config))
    assert main(["prepare", "--config_path", str(folder / "eval_config.yaml")]) == 2
    return capsys.readouterr().err


def test_a_verb_gets_a_suggestion(capsys):
    assert main(["prepre"]) == 2
    assert "unknown verb 'prepre'; did you mean prepare" in capsys.readouterr().err


def test_a_back_end_gets_a_suggestion(tmp_path, capsys):
    assert "did you mean vllm" in refusal(tmp_path, capsys, backend="vlm")


@pytest.mark.parametrize("name", ["meta_gqpa", "no_such_task_at_all"])
def test_a_wrong_task_name_is_answered_in_a_few_lines(tmp_path, capsys, name):
    message = refusal(tmp_path, capsys, tasks=[name])
    assert name in message
    assert len(message) < 600


def test_a_pack_is_named_for_all_its_tasks(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["new-pack", "rx", "--template_dir", "packs"]) == 0
    config = {"model_name": "none", "backend": "dummy", "tasks": ["rx"], "template_dir": "packs"}
    (tmp_path / "eval_config.yaml").write_text(yaml.safe_dump(config))
    assert main(["prepare"]) == 0
    printed = capsys.readouterr()
    assert "rx_all" in printed.out
    assert "afterwards: evalprep score eval_results\n" in printed.err


@pytest.mark.parametrize(
    ("keys", "parts"),
    [
        pytest.param({"backend": "HF"}, ["did you mean hf?"], id="upper case"),
        pytest.param(
            {"target": {"gpus": 8, "gpumem": 80}},
            ["target.gpumem is an unknown key", "allowed: gpu, gpu_memory, gpus, nodes"],
            id="a key of a key",
        ),
        pytest.param(
            {"tasks": [{"task": "hellaswagg", "dataset_path": "data"}]},
            ["lacks doc_to_text", "did you mean hellaswag"],
            id="a task of lm-eval with local data",
        ),
        pytest.param({"gen_kwargs": "a=5"}, ["e.g. {max_gen_toks: 256}"], id="form of a mapping"),
    ],
)
def test_a_key_or_value_gets_what_is_allowed(tmp_path, capsys, keys, parts):
    message = refusal(tmp_path, capsys, **keys)
    assert [part for part in parts if part not in message] == []


def test_a_name_is_no_suggestion_for_itself(tmp_path, capsys):
    (tmp_path / "packs/hollow").mkdir(parents=True)
    (tmp_path / "packs/hollow/pack.yaml").write_text("")
    message = refusal(tmp_path, capsys, tasks=["hollow"], template_dir=str(tmp_path / "packs"))
    assert "the pack hollow has no task" in message
    assert "did you mean hollow?" not in message


def test_a_missing_file_of_a_pack_is_named_in_the_pack(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text("ask,gold\nPeru?,Lima\n")
    words = ["--template_dir", "packs", "--data", "rows.csv", "--prompt", "ask", "--target", "gold"]
    assert main(["new-pack", "rx", *words]) == 0
    data = tmp_path / "packs/rx/data/rows.csv"
    data.unlink()
    message = refusal(tmp_path, capsys, tasks=["rx"], template_dir=str(tmp_path / "packs"))
    assert f"no file or folder at {data}" in message


def test_a_folder_without_files_is_empty(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "none").mkdir()
    words = ["new-pack", "rx", "--template_dir", "packs", "--prompt", "ask", "--target", "gold"]
    assert main([*words, "--data", "none"]) == 2
    assert "--data: holds no data files; it holds nothing\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--model", "a/b"], "tasks is missing"),
        (["--model", "a/b"], "fix: add --tasks, or name a config"),
        (["--tasks", "meta_gqpa"], "fix: add --model, or name a config"),
        (["--model", "a/b", "--tasks", "meta_gqpa"], "- --tasks: unknown task 'meta_gqpa'"),
        (["--model", "a/b", "--set", "tasks=meta_gqpa"], "- --set tasks: unknown task 'meta_gqpa'"),
        (
            ["--model", "a/b", "--tasks", "meta_gpqa", "--limit", "x"],
            "- --limit: limit: 'x' is not",
        ),
    ],
)
def test_a_mistake_in_an_option_is_named_by_the_option(
    tmp_path, monkeypatch, capsys, words, message
):
    monkeypatch.chdir(tmp_path)
    assert main(["run", *words]) == 2
    assert message in capsys.readouterr().err


def test_a_table_in_place_of_a_config(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text("ask,gold\nPeru?,Lima\n")
    assert main(["run", "rows.csv"]) == 2
    assert "rows.csv: holds text, not a mapping" in capsys.readouterr().err


def test_a_misspelt_column_in_a_prompt_gets_a_suggestion(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("EVALPREP_QUICK_CHECK", raising=False)
    (tmp_path / "rows.csv").write_text("country,gold\nPeru,Lima\nCuba,Havana\n")
    words = ["--template_dir", "packs", "--data", "rows.csv", "--prompt", "Capital of {country}?"]
    assert main(["new-pack", "rx", *words, "--target", "gold"]) == 0
    pack = tmp_path / "packs/rx/pack.yaml"
    pack.write_text(pack.read_text().replace("{{country}}", "{{contry}}"))
    message = refusal(tmp_path, capsys, tasks=["rx"], template_dir=str(tmp_path / "packs"))
    assert "EP301 rx_qa: a template uses 'contry', which is not a column\n" in message
    assert "did you mean country?" in message


def test_help_explains_a_verb(capsys):
    for words in (["help", "gate"], ["gate", "--help"]):
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert ended.value.code == 0
        assert capsys.readouterr().out.startswith("usage: evalprep gate")
    assert main(["help", "gat"]) == 2
    assert "did you mean gate" in capsys.readouterr().err
