"""Job files for clusters: what they ask for, and what shellcheck, Slurm and Kubernetes say of them."""

import contextlib
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
import yaml

from evalprep.cli import main
from evalprep.prepare.stages import Stage
from evalprep.status import read_jobs
from evalprep.verbs.running import merging
from evalprep.verbs.running.asking import ready_jobs
from tests.evalprep.run.conftest import task

GPUS = {"target": {"gpus": 8, "gpu_memory": 80, "gpu": "H100"}}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A function from settings to a prepared folder."""

    def prepare(**settings):
        data = tmp_path / "rows.jsonl"
        data.write_text('{"sample_id": "a", "question": "Say lol:", "answer": "lol"}\n')
        config = {"model_name": "org/big", "backend": "vllm", "tasks": [task("texts", data)]}
        (tmp_path / "eval_config.yaml").write_text(yaml.safe_dump({**config, **settings}))
        monkeypatch.chdir(tmp_path)
        assert main(["prepare", "--quiet"]) == 0
        return tmp_path / "work_dir"

    return prepare


TWO_NODES = {
    "tensor_parallel_size": 16,
    "model_args": {"distributed_executor_backend": "ray"},
    "target": {**GPUS["target"], "gpus": 16},
}


def launch(*words):
    assert main(["launch", *map(str, words)]) == 0
    return {path.name: path.read_text() for path in Path("jobs").iterdir()}


def directives(text):
    return {line.removeprefix("#SBATCH ") for line in text.splitlines() if line.startswith("#SB")}


def shellcheck(*files):
    if shutil.which("shellcheck") is None:
        pytest.skip("shellcheck is not installed")
    done = subprocess.run(["shellcheck", *files], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        pytest.param(
            {"tensor_parallel_size": 4, **GPUS}, {"--gpus-per-node=4", "--nodes=1"}, id="4 GPUs"
        ),
        pytest.param(
            {"tensor_parallel_size": 4, "data_parallel_size": 2, **GPUS},
            {"--gpus-per-node=8", "--nodes=1"},
            id="two copies of 4 GPUs",
        ),
        pytest.param(TWO_NODES, {"--gpus-per-node=8", "--nodes=2"}, id="two nodes"),
        pytest.param({"backend": "dummy"}, {"--nodes=1"}, id="no GPU"),
    ],
)
def test_an_array_asks_for_what_the_config_needs(settings, expected, folder, capsys):
    nodes = 2 if settings is TWO_NODES else 1
    words = ["--shards", 3, "--slurm", f"time=01:00:00,nodes={nodes}"]
    files = launch(folder(**settings), *words)
    given = directives(files["shards.sbatch"])
    assert expected | {"--array=1-3", "--time=01:00:00"} <= given
    assert any(line.startswith("--gpus") for line in given) == (len(expected) > 1)
    assert files["shards.sbatch"].rstrip().endswith('--shard "$SLURM_ARRAY_TASK_ID/3"')
    assert ("ray start" in files["shards.sbatch"]) == ("--nodes=2" in given)
    assert "--gpus" not in files["merge.sbatch"]
    assert capsys.readouterr().out.rstrip().endswith("next: sh jobs/submit.sh")
    shellcheck(*(f"jobs/{name}" for name in files))


@pytest.fixture
def two_stages(tmp_path, monkeypatch):
    """A prepared folder: the rows of proof_sure are made from the replies to proof_answer."""
    from tests import PROJECT_ROOT

    shutil.copytree(PROJECT_ROOT / "tests/data/packs/proof", tmp_path / "packs/proof")
    config = {
        "model_name": "m",
        "backend": "dummy",
        "tasks": ["proof_answer", "proof_sure"],
        "template_dir": "packs",
        "proof": {"stock_data": "none.jsonl"},
    }
    (tmp_path / "eval_config.yaml").write_text(yaml.safe_dump(config))
    monkeypatch.chdir(tmp_path)
    assert main(["prepare", "--quiet"]) == 0
    return Path("work_dir")


def test_a_merge_names_the_tasks_whose_rows_it_made(two_stages, monkeypatch):
    """The merge itself is tested with an engine; here it has an outcome, and the stage its rows."""
    (ready,) = ready_jobs(two_stages, read_jobs(two_stages))
    assert ready.leaves == ("proof_answer",)
    stages = [Stage("proof_sure", "made", 3), Stage("proof_later", "waiting")]
    monkeypatch.setattr("evalprep.prepare.continue_stages", lambda *_: stages)
    outcome = merging.Outcome("c1", results="results.json", shards=2)
    monkeypatch.setattr(merging, "_merge", lambda *_, **__: outcome)
    merged = merging.merge_commands(two_stages, silent=True)
    assert (merged.outcomes, merged.code, merged.next_stage) == ([outcome], 0, ["proof_sure"])


def test_every_stage_waits_for_the_merge_before(two_stages):
    submit = launch(two_stages, "--slurm")["submit.sh"]
    assert submit.count("shards.sbatch") == submit.count("merge.sbatch") == 2
    assert submit.index("${shards%%;*}") < submit.index("afterok:${merge%%;*}")


def test_an_indexed_job_is_valid(folder):
    validate = pytest.importorskip("kubernetes_validate", reason="no kubernetes-validate")
    work_dir = folder(tensor_parallel_size=2, **GPUS)
    pod = f"image=registry/evalprep:1,claim=project:{work_dir.parent}"
    files = launch(work_dir, "--kubernetes", pod, "--shards", 5)
    jobs = {name: yaml.safe_load(text) for name, text in files.items() if name.endswith("yaml")}
    for job in jobs.values():
        validate.validate(job, "1.31", strict=True)
    shards = jobs["shards-1.yaml"]["spec"]
    assert (shards["completions"], shards["completionMode"]) == (5, "Indexed")
    (container,) = shards["template"]["spec"]["containers"]
    assert container["resources"]["limits"] == {"nvidia.com/gpu": 2}
    assert container["command"][-1].endswith("--shard $((JOB_COMPLETION_INDEX + 1))/5")
    shellcheck("jobs/submit.sh")


def test_settings_of_the_pods(folder):
    work_dir = folder(**GPUS)
    words = "namespace=evals,secret=hub,memory=64Gi,selector=cloud.example/gpu:l4,selector=pool:a"
    pod = f"image=i,claim=project:{work_dir.parent},{words}"
    files = launch(work_dir, "--kubernetes", pod)
    for name, gpus in (("shards-1.yaml", {"nvidia.com/gpu": 1}), ("merge-1.yaml", {})):
        job = yaml.safe_load(files[name])
        assert job["metadata"]["namespace"] == "evals"
        spec = job["spec"]["template"]["spec"]
        assert spec["nodeSelector"] == {"cloud.example/gpu": "l4", "pool": "a"}
        (container,) = spec["containers"]
        assert container["envFrom"] == [{"secretRef": {"name": "hub"}}]
        assert container["resources"] == {
            "requests": {"memory": "64Gi"},
            "limits": {"memory": "64Gi", **gpus},
        }
    assert "kubectl --namespace evals apply -f shards-1.yaml" in files["submit.sh"]


KUBECTL = """\
#!/bin/sh
echo "$@" >> calls
case "$*" in
  *condition=complete*merge*) exit 1 ;;
  *condition=failed*shards*) exit 1 ;;
esac
"""


def test_a_failed_job_ends_the_script(folder):
    work_dir = folder(**GPUS)
    launch(work_dir, "--kubernetes", f"image=i,claim=project:{work_dir.parent}")
    stub = Path("bin") / "kubectl"
    stub.parent.mkdir()
    stub.write_text(KUBECTL)
    stub.chmod(0o755)
    environment = {"PATH": f"{stub.parent.resolve()}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["sh", "jobs/submit.sh"], env=environment, capture_output=True, text=True, check=False,
        timeout=60,
    )  # fmt: skip
    assert done.returncode == 1
    assert "merge-1 failed; its log: kubectl logs job/" in done.stderr
    calls = Path("jobs/calls").read_text().splitlines()
    assert "wait --for=condition=failed" in calls[-1]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], "--slurm or --kubernetes"),
        (["--slurm", "--kubernetes", "image=i"], "one kind of cluster"),
        (["--kubernetes", "claim=name:/work"], "image is missing"),
        (["--kubernetes", "image=i"], "claim is missing"),
        (["--kubernetes", "image=i,claim=Name:work"], "claim=Name:work"),
        (["--kubernetes", "image=i,claim=name:/work"], "which is not below /work"),
        (["--kubernetes", "image=i,claim=name:/,gpu=4"], "--kubernetes gpu"),
        (["--slurm", "array=1-9"], "evalprep writes array itself"),
        (["--slurm", "time=1 2"], "NAME or NAME=VALUE"),
        (["--slurm", "nodes=none"], "the nodes of one shard"),
        (["--slurm", "tmie=1:00:00"], "sbatch has no option --tmie"),
        (["--kubernetes", "image=i,claim=n:/,memory=lots"], "memory=lots"),
        (["--kubernetes", "image=i,claim=n:/,namespace=Mine"], "namespace=Mine"),
        (["--kubernetes", "image=i,claim=n:/,selector=gpu"], "selector=KEY:VALUE"),
        (["--kubernetes", "image=i,claim=n:/,image=j"], "image is given twice"),
    ],
)
def test_options_that_make_no_job(words, expected, folder, capsys):
    work_dir = folder(backend="dummy")
    assert main(["launch", str(work_dir), *words]) == 2
    assert expected in capsys.readouterr().err
    assert not Path("jobs").exists()


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ("2", "vLLM spans nodes through Ray alone"),
        ("3", "8 GPUs, which is not a multiple of the nodes"),
    ],
)
def test_nodes_that_cannot_share_a_model_are_refused(nodes, expected, folder, capsys):
    work_dir = str(folder(tensor_parallel_size=8, **GPUS))
    assert main(["launch", work_dir, "--slurm", f"nodes={nodes}"]) == 2
    assert expected in capsys.readouterr().err


SLURM = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmdPort={other}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/none
SlurmUser={user}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
ReturnToService=2
SuspendProgram=/bin/true
ResumeProgram=/bin/true
SuspendTime=30
GresTypes=gpu
NodeName=node[1-4] NodeAddr=127.0.0.1 CPUs=8 RealMemory=64000 Gres=gpu:8 State=CLOUD
PartitionName=debug Nodes=ALL Default=YES State=UP
"""


@pytest.fixture
def cluster(tmp_path):
    """The environment of a Slurm controller on this machine, without nodes that run anything."""
    missing = [name for name in ("slurmctld", "sbatch", "munged") if not found(name)]
    if missing:
        pytest.skip(f"{', '.join(missing)}: not installed")
    place = tmp_path / "slurm"
    (place / "state").mkdir(parents=True)
    place.chmod(0o755)
    (place / "munge.key").write_bytes(os.urandom(1024))
    (place / "munge.key").chmod(0o600)
    text = SLURM.format(
        host=os.uname().nodename,
        port=27117,
        other=27118,
        folder=place,
        user=os.environ.get("USER", "root"),
    )
    (place / "slurm.conf").write_text(text)
    environment = os.environ | {"SLURM_CONF": str(place / "slurm.conf")}
    munge = [
        *("munged", "--foreground", "--force", f"--socket={place}/munge.socket"),
        *(f"--key-file={place}/munge.key", f"--pid-file={place}/munged.pid"),
        *(f"--log-file={place}/munged.log", f"--seed-file={place}/munge.seed"),
    ]
    with contextlib.ExitStack() as stack:
        for words in (munge, ["slurmctld", "-D", "-i"]):
            process = subprocess.Popen(
                [found(words[0]), *words[1:]],
                env=environment,
                stdout=(place / f"{words[0]}.log").open("w"),
                stderr=subprocess.STDOUT,
            )
            stack.callback(process.wait)
            stack.callback(process.terminate)
        yield environment, place


def found(name):
    path = os.pathsep.join([os.environ["PATH"], "/usr/sbin", "/sbin"])
    return shutil.which(name, path=path)


def reached(environment):
    """Whether the controller answers within 30 s."""
    for _ in range(60):
        ping = subprocess.run(
            ["scontrol", "ping"], env=environment, capture_output=True, text=True, check=False
        )
        if "is UP" in ping.stdout:
            return True
        time.sleep(0.5)
    return False


@pytest.mark.slow
def test_slurm_takes_the_files(folder, cluster):
    environment, place = cluster
    if not reached(environment):
        log = (place / "slurmctld.log").read_text()[-500:]
        pytest.skip(f"slurmctld does not start here: {log}")
    files = launch(folder(**TWO_NODES), "--slurm", "nodes=2,time=01:00:00")
    scripts = [name for name in files if name.endswith(".sbatch")]
    assert scripts
    for name in scripts:
        done = subprocess.run(
            ["sbatch", "--test-only", f"jobs/{name}"],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "to start at" in done.stderr
