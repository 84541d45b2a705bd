"""`evalprep run --engine ray`: the files of the plain run, also when nodes die under it."""

import json
import random
import subprocess
import sys

import pytest

from evalprep.errors import BadInput
from evalprep.results import DONE, Unit
from evalprep.run.cluster import Cluster, _connected, _needs, _room
from evalprep.run.replica import unit_cost
from evalprep.status import Job

from .conftest import HANG, ROOT, ROWS, task

VOLATILE = {"doc_hash", "prompt_hash", "target_hash"}


class Task:
    """What of lm-eval's task decides the order of units."""

    OUTPUT_TYPE = "generate_until"

    def __init__(self, prompts, **settings):
        self.eval_docs, self._settings = prompts, settings

    def doc_to_text(self, doc):
        return doc

    def get_config(self, name):
        return self._settings if name == "generation_kwargs" else None


@pytest.mark.parametrize(
    ("prompts", "settings", "longer"),
    [
        (["x" * 4000] * 8, {}, True),
        (["x" * 40] * 8, {"max_gen_toks": 4096}, True),
        (["x" * 40] * 8, {"max_gen_toks": 16}, False),
    ],
)
def test_long_prompts_and_long_replies_come_first(prompts, settings, longer):
    plain = unit_cost(Task(["x" * 40] * 8), Unit("a", "a", 8))
    assert (unit_cost(Task(prompts, **settings), Unit("b", "b", 8)) > plain) is longer


def test_a_task_whose_prompts_cannot_be_read_has_a_place_all_the_same():
    broken = Task([1, 2, 3])
    broken.doc_to_text = lambda _doc: 1 / 0
    assert unit_cost(broken, Unit("a", "a", 3)) > 0


@pytest.mark.parametrize(
    ("arguments", "options", "resources", "needs", "room"),
    [
        ({}, {}, {"CPU": 3.0}, {"num_cpus": 1, "num_gpus": 0}, 3),
        (
            {"tensor_parallel_size": 2},
            {},
            {"CPU": 64.0, "GPU": 8.0},
            {"num_cpus": 1, "num_gpus": 2},
            4,
        ),
        ({}, {"device": "cpu"}, {"CPU": 2.0, "GPU": 8.0}, {"num_cpus": 1, "num_gpus": 0}, 2),
        ({"tensor_parallel_size": 4}, {}, {"CPU": 9.0, "GPU": 2.0}, {"num_cpus": 1, "num_gpus": 4}, 0),
    ],
)  # fmt: skip
def test_an_engine_takes_the_devices_of_its_config(arguments, options, resources, needs, room):
    job = Job(model="vllm", model_args=arguments, tasks=["t"], options=options)
    assert _needs(job, resources) == needs
    assert _room(resources, needs) == room


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--replicas", "-1"], "--replicas -1"),
        (["--address", "auto"], "--address is of use with --engine ray only"),
        (["--replicas", "2"], "--replicas is of use with --engine ray only"),
    ],
)
def test_options_that_mean_nothing_are_refused(words, message):
    command = [sys.executable, "-m", "evalprep", "run", "nowhere", *words]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert ended.returncode == 2
    assert message in ended.stderr


@pytest.fixture
def cluster(monkeypatch):
    """Three nodes of one core each on the loopback; the first is the head, which stays."""
    utils = pytest.importorskip("ray.cluster_utils")
    monkeypatch.setattr("ray._private.ray_constants.ENABLE_RAY_CLUSTER", False)
    made = utils.Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 1, "include_dashboard": False, "node_ip_address": "127.0.0.1"},
    )
    made.workers = [made.add_node(num_cpus=1) for _ in range(2)]
    yield made
    made.shutdown()


def lines(project):
    """Task -> the sample lines without what differs from call to call."""
    return {
        name: [{key: value for key, value in row.items() if key not in VOLATILE} for row in rows]
        for name, rows in project.samples().items()
    }


def run_with_deaths(cluster, project, seed, most=2):
    """Kill a node and add another one, at random moments, until the run ends."""
    draw, deaths = random.Random(seed), 0
    words = ["--engine", "ray", "--address", cluster.address, "--shard", "6"]
    process = project.start_anew(*words)
    while deaths < most:
        try:
            process.wait(draw.uniform(8, 16))
            break
        except subprocess.TimeoutExpired:
            victim = cluster.workers.pop(draw.randrange(len(cluster.workers)))
            cluster.remove_node(victim, allow_graceful=False)
            cluster.workers.append(cluster.add_node(num_cpus=1))
            deaths += 1
    output, _ = process.communicate(timeout=HANG)
    return process.returncode, output, deaths


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_nodes_that_die_cost_no_row_and_change_no_number(project, cluster, tmp_path):
    data = tmp_path / "rows.jsonl"
    texts = [task(f"text_{number}", data) for number in range(2)]
    ours = project(texts)
    code, output, deaths = run_with_deaths(cluster, ours, seed=1)
    assert code == 0, output
    assert deaths
    state = ours.run.state()
    assert {unit.status for unit in state.units} == {DONE}
    assert sum(unit.rows for unit in state.units) == 2 * ROWS
    ray_lines, ray_scores = lines(ours), state.scores
    ours.command("run", str(ours.folder / "work_dir"), "--restart", check=True)
    assert lines(ours) == ray_lines
    assert ours.run.state().scores == ray_scores
    for name, rows in ray_lines.items():
        assert sorted(row["doc_id"] for row in rows) == list(range(ROWS)), name


@pytest.mark.long  # two loads of a model; the cluster itself is that of the test before
@pytest.mark.timeout(600)
def test_the_tiny_model_says_the_same_on_two_replicas(project, tiny_model, tmp_path):
    pytest.importorskip("ray")
    answer = "The best answer is B."
    ours = project(
        [task("one", tmp_path / "rows.jsonl", doc_to_target=answer)],
        model_name=str(tiny_model(answer)),
        backend="hf",
        device="cpu",
        dtype="float32",
        max_model_len=512,
        add_bos_token=False,
    )
    place = str(ours.folder / "work_dir")
    process = ours.start_anew("--engine", "ray", "--replicas", "2")
    output, _ = process.communicate(timeout=HANG)
    assert process.returncode == 0, output
    assert len(ours.run.state().units) == ROWS // 6
    ray_lines = lines(ours)
    assert [row["exact_match"] for row in ray_lines["one"]] == [1.0] * ROWS
    ours.command("run", place, "--restart", check=True)
    assert lines(ours) == ray_lines
    assert json.loads((ours.run.path / "job.json").read_text())["model"] == "hf"


@pytest.mark.parametrize("address", ["127.0.0.1:1", "127.0.0.1:port"])
def test_an_address_without_a_cluster_is_refused_at_once(address):
    pytest.importorskip("ray")
    with pytest.raises(BadInput, match="no Ray cluster answers"), _connected(Cluster(address)):
        pass
