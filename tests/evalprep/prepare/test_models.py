"""A preparation for several models: commands, runs, records, and what is refused."""

import json
import shutil
from pathlib import Path

import pytest
import yaml

from environment.tiny_model import build
from evalprep.config.file import load_config
from evalprep.errors import BadInput
from evalprep.packs.manifest import read_manifest
from evalprep.prepare.preparation import prepare
from evalprep.status import read_status
from evalprep.status.done import is_done
from evalprep.status.job import read_jobs
from tests import PROJECT_ROOT

TOFU = PROJECT_ROOT / "tests" / "data" / "unlearning" / "tofu"


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    home = tmp_path_factory.mktemp("models")
    for seed, name in enumerate(("retain90", "npo/checkpoint-2", "npo/checkpoint-10")):
        build(home / name, seed=seed)
    return home


def prepared(home, models, tasks="tofu_forget_lp", **more):
    content = {
        "models": models, "tasks": tasks, "backend": "hf", "device": "cpu", "max_model_len": 2048,
        "unlearning": {"tofu": str(TOFU)}, **more,
    }  # fmt: skip
    (home / "eval_config.yaml").write_text(yaml.safe_dump(content))
    return prepare(*load_config(home / "eval_config.yaml"))


@pytest.fixture
def three(tmp_path, models):
    prepared(tmp_path, [str(models / "retain90"), str(models / "*" / "checkpoint-*")])
    return tmp_path


def test_each_model_has_its_commands_and_its_run(three):
    manifest = read_manifest(three / "work_dir")
    commands = manifest.commands
    assert [command.name for command in commands] == [
        "retain90.c1-plain",
        "checkpoint-2.c1-plain",
        "checkpoint-10.c1-plain",
    ]
    assert [Path(command.engine["model_args"]["pretrained"]).name for command in commands] == [
        command.model for command in commands
    ]
    runs = [command.run for command in commands]
    assert len(set(runs)) == 3
    assert manifest.run == runs[0]
    for one in commands:
        assert f"run={one.run},command={one.name}" in " ".join(one.argv)
        record = json.loads((three / "eval_results" / f"run_{one.run}.json").read_text())
        assert [line["name"] for line in record["commands"]] == [one.name]
        assert record["model"].endswith(one.model)
    script = (three / "work_dir" / "command.sh").read_text()
    assert all(f"step {command.name} " in script for command in commands)


def test_jobs_have_the_id_of_their_own_run(three):
    jobs, commands = read_jobs(three / "work_dir"), read_manifest(three / "work_dir").commands
    assert [job.run for job in jobs] == [command.run for command in commands]
    assert len({job.id for job in jobs}) == 3


def test_a_model_alone_has_the_run_that_it_has_among_others(three, models, tmp_path):
    (tmp_path / "alone").mkdir()
    prepared(tmp_path / "alone", [str(models / "npo" / "checkpoint-2")])
    alone = read_manifest(tmp_path / "alone" / "work_dir")
    assert alone.run == read_manifest(three / "work_dir").commands[1].run
    assert [command.name for command in alone.commands] == ["c1-plain"]


def test_status_and_done_know_the_models(three):
    work_dir = three / "work_dir"
    assert not is_done(work_dir, "checkpoint-2.c1-plain")
    _finish(three, read_manifest(work_dir).commands[1])
    assert is_done(work_dir, "checkpoint-2.c1-plain")
    assert not is_done(work_dir, "checkpoint-10.c1-plain")
    lines = {line.name: line.status for line in read_status(work_dir).tasks}
    assert lines["checkpoint-2/tofu_forget_lp"] == "done"
    assert lines["checkpoint-10/tofu_forget_lp"] == "pending"
    assert len(lines) == 3
    (task_file,) = work_dir.glob("unlearning/tofu_forget_lp.yaml")
    generated = task_file.read_text()
    task_file.write_text(f"{generated}# a comment asks nothing\n")
    assert read_status(work_dir).reasons == []
    task_file.write_text(f"{generated}description: edited\n")
    (reason,) = read_status(work_dir).reasons
    assert reason == "checkpoint-2/tofu_forget_lp was edited after its last results"


def _finish(home, command):
    """Results as lm_eval would leave them for one command."""
    folder, stamp = home / "eval_results" / f"m__{command.model}", "2026-01-02T03-04-05.678901"
    folder.mkdir()
    metadata = {"pack": "unlearning", "run": command.run, "command": command.name}
    rows = 30
    results = {
        "results": {"tofu_forget_lp": {"prob,none": 0.5}},
        "configs": {"tofu_forget_lp": {"task": "tofu_forget_lp", "metadata": metadata}},
        "n-samples": {"tofu_forget_lp": {"original": rows, "effective": rows}},
        "config": {"model": "hf", "model_args": dict(command.engine["model_args"])},
    }
    (folder / f"results_{stamp}.json").write_text(json.dumps(results))
    line = {
        "doc": {},
        "target": "",
        "arguments": {},
        "resps": [[""]],
        "filtered_resps": [""],
        "filter": "none",
    }
    lines = (
        json.dumps({**line, "doc_id": at, "doc": {"sample_id": str(at)}, "prob": 0.5})
        for at in range(rows)
    )
    (folder / f"samples_tofu_forget_lp_{stamp}.jsonl").write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("part", ["vocabulary", "chat template"])
def test_a_model_with_another_tokenizer_is_refused_where_prompts_are_rendered(
    models, tmp_path, part
):
    other = shutil.copytree(models / "npo" / "checkpoint-2", tmp_path / "other")
    if part == "vocabulary":
        build(other, says="Something else altogether.")
    else:
        (other / "chat_template.jinja").write_text("{{ messages[0]['content'] }}")
    names = [str(models / "retain90"), str(other)]
    with pytest.raises(BadInput) as error:
        prepared(tmp_path, names)
    (problem,) = error.value.problems
    assert part in problem.what
    assert "models.1" in problem.where
    assert not (tmp_path / "work_dir").exists()
    prepared(tmp_path, names, tasks="arc_easy")  # each model's own business at run time


def test_rows_made_from_replies_need_a_folder_per_model(tmp_path, models):
    with pytest.raises(BadInput, match="made from a model's replies"):
        prepared(
            tmp_path,
            [str(models / "retain90"), str(models / "npo" / "checkpoint-2")],
            tasks="compliance_i_know_answer, compliance_i_know_confidence",
            compliance={"stand_ins": True},
        )


def test_one_model_twice_is_refused(tmp_path, models):
    with pytest.raises(BadInput, match=r"retain90 is named twice\n"):
        prepared(tmp_path, [str(models / "retain90")] * 2)


@pytest.mark.parametrize("name", ["{folder}/", "{folder}/../retain90", "link", "./lin*"])
def test_one_model_under_two_names_is_refused(tmp_path, models, name):
    """As another path to its folder, as a link to it, and by a pattern that matches the link."""
    folder = models / "retain90"
    (tmp_path / "link").symlink_to(folder)
    other = name.format(folder=folder)
    with pytest.raises(BadInput, match="is named twice") as raised:
        prepared(tmp_path, [other, str(folder)])
    assert "fix: name it once" in str(raised.value)
