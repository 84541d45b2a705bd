"""Runs against a server: the same files as the pasted command, and what happens when the server is not there."""

import json
from pathlib import Path

import pytest

from .conftest import HANG, ROWS, task
from .server import Completions, completions
from .test_same import load, pasted


@pytest.fixture
def against(project, tiny_model):
    """A function from an address to a project whose model answers there."""

    def make(url, **config):
        return project(
            model_name=str(tiny_model()),
            backend="local-completions",
            max_model_len=512,
            add_bos_token=False,
            model_args={"base_url": url, "num_concurrent": 4, "max_retries": 1},
            **config,
        )

    return make


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_every_number_is_that_of_the_pasted_command(against, tmp_path):
    here = Completions()
    with completions(here) as url:
        one = against(url, limit=20)
        one.command("run", str(tmp_path / "work_dir"), "--shard", "6", check=True)
        assert len(here.prompts) == 20 * (1 + 3 + 1)
        pasted(tmp_path)
    ours, our_samples = load(one.run.state().results)
    theirs, their_samples = load(next((tmp_path / "pasted").rglob("results_*.json")))
    assert our_samples == their_samples
    assert set(ours) == set(theirs)
    for logged in (*ours["configs"].values(), ours["config"]):
        logged.get("metadata", {}).pop("try", None)
    passing = {"date", "total_evaluation_time_seconds", "pretty_env_info", "git_hash"}
    different = {
        key: (ours[key], theirs[key]) for key in set(ours) - passing if ours[key] != theirs[key]
    }
    assert not different
    assert ours["results"]["then_choice"]["acc,none"] not in {0.0, 1.0}
    assert Path(one.run.state().results).parent.name == next((tmp_path / "pasted").iterdir()).name


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_chat_interface_gives_the_files_of_the_pasted_command(project, tmp_path):
    with completions(Completions()) as url:
        one = project(
            [task("text", tmp_path / "rows.jsonl")],
            model_name="a-model",
            backend="local-chat-completions",
            model_args={
                "base_url": url.replace("/v1/", "/v1/chat/"),
                "num_concurrent": 4,
                "max_retries": 1,
            },
            apply_chat_template=True,
            limit=6,
        )
        one.command("run", str(tmp_path / "work_dir"), check=True)
        pasted(tmp_path)
    ours, our_samples = load(one.run.state().results)
    theirs, their_samples = load(next((tmp_path / "pasted").rglob("results_*.json")))
    assert our_samples == their_samples
    assert our_samples["samples_text"][0]["prompt_hash"]
    assert ours["results"] == theirs["results"]


@pytest.mark.slow
def test_nobody_there_is_said_before_anything_starts(against, tmp_path):
    with completions(Completions()) as url:
        one = against(url)
    done = one.command("run", str(tmp_path / "work_dir"), "--json")
    assert done.returncode == 2
    assert "no server answers at 127.0.0.1" in json.loads(done.stdout)["problems"][0]["what"]
    assert not one.run.path.exists()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_server_that_goes_away_ends_the_run_and_costs_nothing(against):
    first, second = Completions(), Completions()
    with completions(first) as url:
        one = against(url)
        process = one.start()
        assert one.wait(lambda state: state.count("done") >= 4, process)
    out, _ = process.communicate(timeout=HANG)
    assert process.returncode == 1
    address = url.split("/")[2]
    assert f"no server answers at {address}" in out
    state = one.run.state()
    assert state.count("failed") == 1  # the others were not tried
    assert state.count("pending") == 11 - state.count("done")
    with completions(second, int(address.partition(":")[2])):
        out, _ = one.start().communicate(timeout=HANG)
    assert "results: " in out
    finished = [unit for unit in state.units if unit.status == "done"]
    asked = sum(unit.rows * (3 if unit.task == "then_choice" else 1) for unit in finished)
    assert asked <= ROWS * 5 - len(second.prompts) <= len(first.prompts)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_one_request_that_is_refused_costs_its_unit_alone(against, tmp_path):
    here = Completions()
    with completions(here) as url:
        one = against(url)
        here.status = lambda _: 400 if len(here.prompts) == 3 else 200
        out, _ = one.start().communicate(timeout=HANG)
    state = one.run.state()
    failed = [unit for unit in state.units if unit.status == "failed"]
    assert len(failed) == 1
    assert "400" in failed[0].message
    assert "400" in out
    assert "1 of 12 units are not finished" in out
