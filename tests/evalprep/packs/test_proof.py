"""A pack that lies outside the clone, with everything that the contracts carry, walked from config to report.

Two stages, calls that differ per task, a stock member in its group with settings of its own, an
excluded task, an annotator that is no judge, its own scorer module and aggregation, and a suite
score named like one of another pack.
"""

import json
import os
import shutil
import subprocess

import pytest
import yaml

from evalprep.cli import main
from evalprep.packs.manifest import read_manifest
from tests import PROJECT_ROOT, processes

PROOF = PROJECT_ROOT / "tests/data/packs/proof"
CONFIG = {
    "tasks": ["proof_all"],
    "backend": "hf",
    "device": "cpu",
    "max_model_len": 512,
    "template_dir": "packs",
    "output_path": "results",
    "limit": 4,
    "proof": {"stock_data": "arc.jsonl"},
}
CHOICES = {"text": ["a", "b"], "label": ["A", "B"]}
COMMANDS = {
    "c1-chat": ("proof_answer",),
    "c2-chat": ("proof_blocks",),
    "c3-plain": ("arc_easy",),
    "c4-plain": ("proof_sure",),
}


@pytest.fixture
def inside(monkeypatch, capsys):
    """The command in this process, as a function like `evalprep` below: no second start of everything."""

    def run(folder, *arguments, code=0):
        monkeypatch.chdir(folder)
        capsys.readouterr()
        ended = main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        assert ended == code, printed.out + printed.err
        return printed.out

    return run


@pytest.fixture
def project(tmp_path):
    """A folder with a config and the pack; changes to the config as arguments."""

    def make(model="org/tiny", **changes):
        shutil.copytree(PROOF, tmp_path / "packs/proof")
        rows = [
            {"id": str(n), "question": f"q{n}?", "choices": CHOICES, "answerKey": "AB"[n % 2]}
            for n in range(5)
        ]
        (tmp_path / "arc.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (tmp_path / "eval_config.yaml").write_text(
            yaml.safe_dump({"model_name": str(model), **CONFIG, **changes})
        )
        return tmp_path

    return make


def call(folder, *arguments):
    return processes.run(*arguments, cwd=folder, timeout=800)


def evalprep(folder, *arguments, code=0):
    done = call(folder, *arguments)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def test_the_plan_becomes_commands(project, inside):
    folder = project()
    lines = inside(folder, "prepare", "--quiet").splitlines()
    manifest = read_manifest(folder / "work_dir")
    commands = {command.name: command for command in manifest.commands}
    assert {name: one.tasks for name, one in commands.items()} == COMMANDS
    assert [command.depth for command in commands.values()] == [0, 0, 0, 1]
    words = {name: " ".join(one.argv) for name, one in commands.items()}
    assert "--apply_chat_template" in words["c1-chat"]
    assert "--apply_chat_template" not in words["c3-plain"]
    assert "--limit 6" in words["c2-chat"], "whole blocks of three"
    assert "--tasks evalprep_c3_plain" in words["c3-plain"]
    assert f"--metadata run={manifest.run},command=c4-plain" in words["c4-plain"]
    assert ["prepare --continue" in line for line in lines] == [False, False, False, True, False]
    assert {name: [one.kind, one.reason] for name, one in manifest.plan.excluded.items()} == {
        "proof_gone": ["unavailable", "nobody has the data any more"]
    }
    assert manifest.tasks["proof_sure"].rows is None
    stock = yaml.safe_load((folder / "work_dir/_groups/evalprep_c3_plain.yaml").read_text())
    assert stock["task"][0]["task"] == "arc_easy"
    assert stock["task"][0]["num_fewshot"] == 2
    assert (
        json.loads((folder / f"results/run_{manifest.run}.json").read_text())["run"] == manifest.run
    )
    assert (folder / "work_dir/proof/proof_words.py").is_file(), (
        "what the scorer imports travels with it"
    )


def test_the_same_preparation_is_the_same_run_and_an_edit_another(project, inside):
    from evalprep.status.job import read_jobs

    folder = project()
    inside(folder, "prepare", "--quiet")
    first = read_manifest(folder / "work_dir").run
    inside(folder, "prepare", "--quiet")
    assert read_manifest(folder / "work_dir").run == first

    def now():
        return {job.options["metadata"]["run"] for job in read_jobs(folder / "work_dir")}

    assert now() == {first}
    task = folder / "work_dir/proof/proof_answer.yaml"
    generated = task.read_text()
    task.write_text(generated.replace("max_gen_toks: 16", "max_gen_toks: 12"))
    assert now() != {first}
    inside(folder, "prepare", "--quiet")
    assert {read_manifest(folder / "work_dir").run} == now() != {first}, (
        "the edit is kept, and named in the commands"
    )
    task.write_text(generated)
    inside(folder, "prepare", "--quiet", "--force")
    assert read_manifest(folder / "work_dir").run == first
    inside(folder, "prepare", "--quiet", "--set", "limit=2")
    assert read_manifest(folder / "work_dir").run != first, "another limit is another run"
    inside(folder, "prepare", "--quiet", "--set", "gen_kwargs={top_p: 0.5}")
    assert read_manifest(folder / "work_dir").run != first


def test_a_chat_only_back_end_leaves_out_by_name(project, inside):
    folder = project(
        backend="local-chat-completions",
        model_args={"base_url": "http://127.0.0.1:9/v1/chat/completions"},
    )
    inside(folder, "prepare", "--quiet")
    manifest = read_manifest(folder / "work_dir")
    left = {name: one.reason for name, one in manifest.plan.excluded.items()}
    assert set(left) == {"arc_easy", "proof_sure", "proof_answer", "proof_gone"}
    assert "log-likelihoods" in left["arc_easy"]
    assert "log-likelihoods" in left["proof_sure"]
    assert "serve only proof_sure" in left["proof_answer"]


def test_what_the_user_named_and_cannot_run_is_a_mistake(project, inside):
    folder = project(backend="local-chat-completions", tasks=["proof_sure", "proof_blocks"])
    inside(folder, "prepare", code=2)
    assert not (folder / "work_dir").exists()


def test_tasks_and_scores_that_the_config_makes(project, inside):
    own = {"stock_data": "arc.jsonl", "own_sets": [{"name": "mine", "seed": 7}]}
    folder = project(tasks=["proof_mine", "proof_all"], proof=own)
    inside(folder, "prepare", "--quiet")
    manifest = read_manifest(folder / "work_dir")
    assert manifest.plan.scores["proof/mine_length"].tasks == ("proof_mine",)
    (own,) = [command for command in manifest.commands if "proof_mine" in command.tasks]
    assert own.tasks == ("proof_mine",), "its seed is its own"


@pytest.mark.slow
@pytest.mark.usefixtures("quick_starts")
def test_the_chain_from_pasted_commands_to_the_report(project, tiny_model, tmp_path_factory):
    """Pasted, continued and walked in turn, from another directory; nothing runs twice, and it is one run."""
    folder, elsewhere = project(tiny_model("yes it is.")), tmp_path_factory.mktemp("elsewhere")
    first, *_ = evalprep(folder, "prepare", "--quiet").splitlines()
    assert (
        "proof_answer has 0 of 4 rows"
        in call(elsewhere, "prepare", "--continue", folder / "work_dir").stderr
    )
    environment = os.environ | {"HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        first,
        shell=True,
        cwd=elsewhere,
        env=environment,
        capture_output=True,
        timeout=800,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    evalprep(elsewhere, "status", "--left", "c1-chat", folder / "work_dir")
    evalprep(elsewhere, "status", "--left", "c2-chat", folder / "work_dir", code=1)
    assert "proof_sure: made, 4 rows" in evalprep(
        elsewhere, "prepare", "--continue", folder / "work_dir"
    )
    assert "proof_sure: unchanged" in evalprep(
        elsewhere, "prepare", "--continue", folder / "work_dir"
    )
    walked = evalprep(elsewhere, "run", folder / "work_dir")
    assert "c1-chat: done already" in walked
    script = ["sh", str(folder / "work_dir/command.sh")]
    again = subprocess.run(
        script, cwd=elsewhere, capture_output=True, text=True, timeout=800, check=False
    )
    skipped = [line for line in again.stdout.splitlines() if "done already" in line]
    assert skipped == [f"{name}: done already" for name in COMMANDS], again.stderr
    results = sorted((folder / "results").glob("*/results_*.json"))
    assert len(results) == len(COMMANDS), "each command ran once"
    score = ["score", folder / "results", "--template_dir", folder / "packs", "--json"]
    after_run = json.loads(evalprep(elsewhere, *score, "--no-write"))
    assert after_run["results"]["proof/letters"]["agg_value"] == len("yesitis"), (
        "`run` scored with the packs of the preparation"
    )
    (ledger,) = folder.rglob("annotations.sqlite")
    ledger.unlink()
    before = json.loads(evalprep(elsewhere, *score, "--no-write"))
    assert before["results"]["proof/letters"]["reason"] == "not counted yet", (
        "what is only read computes nothing"
    )
    told = json.loads(evalprep(elsewhere, *score))
    assert {task["task"]: task["micro"]["n"] for task in told["tasks"]} == {
        "arc_easy": 4,
        "proof_answer": 4,
        "proof_blocks": 6,
        "proof_sure": 4,
    }
    assert told["results"]["proof/total"]["agg_value"] == 1.0
    assert told["results"]["proof/letters"]["agg_value"] == len("yesitis"), (
        "its annotator counted the letters"
    )
    shown = json.loads(evalprep(elsewhere, "status", folder / "work_dir", "--json"))
    assert {task["name"]: task["status"] for task in shown["tasks"]} == dict.fromkeys(
        told_tasks(told), "done"
    )
    evalprep(
        elsewhere,
        "report",
        folder / "results",
        "--template_dir",
        folder / "packs",
        "--out",
        folder / "page",
    )
    assert (folder / "page/report.html").stat().st_size > 10_000


def told_tasks(told):
    return [task["task"] for task in told["tasks"]]
