"""The reference's settings and the published prompts, as a preparation writes them."""

import json

import pyarrow.parquet as pq
import pytest
import yaml

from evalprep.cli import main
from tests.packs.openllm.board import (
    FOLDER,
    MODEL,
    SHA,
    contents_row,
    write_contents,
    write_samples,
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_samples(tmp_path / "details" / FOLDER, ["musr", "gpqa"], suffix="json")
    write_contents(tmp_path / "contents.csv", contents_row())
    return tmp_path


def prepare(folder, *, backend="hf", tasks="openllm_gpqa", words=(), **keys):
    section = {"reference": MODEL, "contents": "contents.csv"} | keys.pop("openllm", {})
    config = {"model_name": MODEL, "backend": backend, "tasks": tasks, "openllm": section, **keys}
    (folder / "eval_config.yaml").write_text(yaml.safe_dump(config))
    return main(["prepare", "--check=off", *words])


def printed_by(capsys):
    """Everything on both streams, on one line."""
    printed = capsys.readouterr()
    return " ".join(f"{printed.out} {printed.err}".split())


def plan_of(folder):
    return json.loads((folder / "work_dir" / "manifest.json").read_text())


def command_of(folder):
    (command,) = plan_of(folder)["commands"]
    return " ".join(command["argv"])


def test_settings_and_seeds_are_those_of_the_reference(folder, capsys):
    assert prepare(folder) == 0
    printed = printed_by(capsys)
    for said in (
        f"the reference is {MODEL}: precision bfloat16, revision {SHA[:8]}, chat template no",
        "dtype bfloat16, from the reference",
        f"model revision {SHA}, from the reference",
        "without a chat template, as the reference",
        "seeds 0,1234,1234,1234, lm-eval's own, as the leaderboard",
    ):
        assert said in printed
    command = command_of(folder)
    assert "dtype=bfloat16" in command
    assert f"revision={SHA}" in command
    assert "--seed 0,1234,1234,1234" in command
    assert "apply_chat_template" not in command
    assert plan_of(folder)["published"]["openllm/openllm_bbh"][0]["value"] == 22.0


def test_what_the_user_sets_wins_and_is_named(folder, capsys):
    own = {"dtype": "float32", "seed": 42, "apply_chat_template": True, "model_revision": "main"}
    assert prepare(folder, **own) == 0
    printed = printed_by(capsys)
    assert "dtype float32 is yours; the reference has bfloat16" in printed
    assert "seed 42 is yours" in printed
    assert "not the published setting: apply_chat_template is true" in printed
    assert "model revision main is yours" in printed
    assert "--seed 42" in command_of(folder)


@pytest.mark.parametrize("published", [False, True])
def test_check_warns_of_another_template_than_the_references(folder, capsys, published):
    write_contents(folder / "contents.csv", contents_row(**{"Chat Template": published}))
    frozen = {"openllm": {"details": "details"}, "tasks": "openllm_gpqa"}
    assert prepare(folder, **frozen, apply_chat_template=not published) == 0
    capsys.readouterr()
    main(["check", "work_dir", "--json"])
    findings = json.loads(capsys.readouterr().out)["findings"]
    (finding,) = [item for item in findings if item["code"] == "EP617"]
    assert finding["level"] == "warning"
    words = "false, and the published values were made with"
    if not published:
        words = "true, and the published values were made without"
    assert f"is {words} a chat template (3 tasks: leaderboard_gpqa" in finding["what"]
    assert prepare(folder, **frozen) == 0
    capsys.readouterr()
    main(["check", "work_dir", "--json"])
    assert "EP617" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("precision", "advice"),
    [("4bit", "load_in_4bit: true"), ("GPTQ", "name a checkpoint in that format")],
)
def test_a_quantised_reference_is_named_with_what_to_do(folder, capsys, precision, advice):
    write_contents(folder / "contents.csv", contents_row(Precision=precision))
    assert prepare(folder) == 0
    printed = printed_by(capsys)
    assert (
        f"precision {precision} of the reference is not a dtype; evalprep does not set it"
        in printed
    )
    assert advice in printed


def test_a_reference_with_a_chat_template_turns_the_tasks_into_chats(folder, capsys):
    write_contents(folder / "contents.csv", contents_row(**{"Chat Template": True}))
    assert prepare(folder, tasks="openllm", openllm={"source": "harness"}) == 0
    assert "--apply_chat_template" in command_of(folder)
    assert "with a chat template, as the reference" in printed_by(capsys)


def test_published_rows_keep_prompts_choices_and_hashes(folder):
    assert prepare(folder, tasks="openllm_gpqa,openllm_musr", openllm={"details": "details"}) == 0
    file = folder / "work_dir" / "openllm" / "data" / "leaderboard_gpqa_main.parquet"
    rows = pq.read_table(file).to_pylist()
    samples = next(folder.glob("details/*/samples_leaderboard_gpqa_main_*.json"))
    lines = [json.loads(line) for line in samples.read_text().splitlines()]
    for row, line in zip(rows, lines, strict=True):
        assert row["prompt"] == line["arguments"]["gen_args_0"]["arg_0"]
        assert row["published_choices"] == ["(A)", "(B)", "(C)", "(D)"]
        assert row["published_choices"][row["published_gold"]] == line["target"] == row["target"]
        assert row["sample_id"] == line["doc_hash"][:16]
        for name in ("doc_hash", "prompt_hash", "target_hash"):
            assert row[f"published_{name}"] == line[name]
        assert row["previously_is_correct"] == bool(line["acc_norm"])
    task = folder / "work_dir" / "openllm" / "leaderboard_gpqa_main.yaml"
    assert "gated: true" in task.read_text()
    assert "gated: false" in task.with_name("leaderboard_musr_team_allocation.yaml").read_text()


def test_repeated_questions_have_numbered_ids(folder):
    samples = next(folder.glob("details/*/samples_leaderboard_gpqa_main_*.json"))
    first = samples.read_text().splitlines()[0]
    samples.write_text(f"{first}\n{first}\n{first}\n")
    assert prepare(folder, openllm={"details": "details"}) == 0
    file = folder / "work_dir" / "openllm" / "data" / "leaderboard_gpqa_main.parquet"
    ids = [row["sample_id"] for row in pq.read_table(file).to_pylist()]
    digits = json.loads(first)["doc_hash"][:16]
    assert ids == [digits, f"{digits}-2", f"{digits}-3"]


def test_prompts_with_the_markup_of_another_model_are_made_anew(folder, capsys):
    write_contents(folder / "contents.csv", contents_row(**{"Chat Template": True}))
    for samples in folder.glob("details/*/samples_*"):
        lines = [json.loads(line) for line in samples.read_text().splitlines()]
        for line in lines:
            for request in line["arguments"].values():
                request["arg_0"] = f"<|user|>{request['arg_0']}<|end|>"
        samples.write_text("".join(json.dumps(line) + "\n" for line in lines))
    tasks = "openllm_gpqa,openllm_musr"
    assert prepare(folder, tasks=tasks, openllm={"details": "details"}) == 0
    assert "GPQA keeps the published order" in printed_by(capsys)
    data = folder / "work_dir" / "openllm" / "data"
    assert {file.stem for file in data.iterdir()} == {
        f"leaderboard_gpqa_{name}" for name in ("diamond", "extended", "main")
    }
    for row in pq.read_table(data / "leaderboard_gpqa_main.parquet").to_pylist():
        assert row["prompt"].startswith("What is the correct answer to this question:leaderboard")
        assert row["prompt"].endswith(f"(D) {row['choice4']}\nAnswer: ")
        assert "<|" not in row["prompt"]
    assert "--apply_chat_template" in command_of(folder)


def test_several_rows_and_unknown_models_are_refused(folder, capsys):
    rows = [contents_row(), contents_row(Precision="float16")]
    write_contents(folder / "contents.csv", *rows)
    assert prepare(folder) == 2
    printed = printed_by(capsys)
    assert "2 of the 2 published rows of acme/tiny-1b fit" in printed
    assert "precision float16" in printed
    assert prepare(folder, openllm={"precision": "float16"}) == 0
    assert "dtype=float16" in command_of(folder)
    assert prepare(folder, openllm={"reference": "acme/tiny-2b"}) == 2
    assert "did you mean acme/tiny-1b?" in printed_by(capsys)
    assert not list(folder.glob("work_dir.*"))


def test_missing_samples_of_a_task_are_named(folder, capsys):
    next(folder.glob("details/*/samples_leaderboard_gpqa_main_*")).unlink()
    assert prepare(folder, openllm={"details": "details"}) == 2
    printed = printed_by(capsys)
    assert "1 of 3 tasks have no published samples there: leaderboard_gpqa_main" in printed


@pytest.mark.parametrize(
    ("installed", "reason"),
    [
        ("0.4.8", "reads all 5000 rows of MATH"),
        ("0.4.4", "from lighteval/MATH-Hard, which was withdrawn"),
        ("0.4.7", "from lighteval/MATH-Hard, which was withdrawn"),
    ],
)
def test_math_of_other_data_is_refused(folder, monkeypatch, capsys, installed, reason):
    from evalprep.packs import find_packs

    module = find_packs(None)["openllm"].module("prepare")
    monkeypatch.setattr(module, "version", lambda _: installed)
    assert prepare(folder, tasks="openllm_math") == 2
    assert reason in printed_by(capsys)
    assert prepare(folder, tasks="openllm_gpqa") == 0


def test_v1_asks_todays_tasks_and_says_so(folder, capsys):
    assert prepare(folder, tasks="openllm_v1", openllm={"version": "v1"}) == 0
    assert "with other prompts" in printed_by(capsys)
