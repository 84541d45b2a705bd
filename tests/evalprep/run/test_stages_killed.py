"""A run of two stages, killed between any two steps: by run, by command.sh or pasted, nothing is lost or runs twice."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import psutil
import pytest
import yaml

from evalprep.packs.manifest import read_manifest
from tests import PROJECT_ROOT, import_path, processes

pytestmark = pytest.mark.usefixtures("quick_starts")
CONFIG = {
    "model_name": "dummy",
    "backend": "dummy",
    "tasks": ["proof_answer", "proof_sure"],
    "apply_chat_template": False,
    "template_dir": "packs",
    "output_path": "results",
    "proof": {"stock_data": "none.jsonl"},
}
# Ends itself as a power cut would, at a step of making a stage's data.
CUT = """
import os, signal, sys
from evalprep.cli import main
from evalprep.prepare import stages

def cut(*arguments, **options):
    if sys.argv[1] == "write_rows":
        written(*arguments, **options)
    if "coming" in options:
        return remembered(*arguments, **options)
    os.kill(os.getpid(), signal.SIGKILL)

written, remembered = stages.write_rows, stages.remember_folder
setattr(stages, sys.argv[1], cut)
main(["prepare", "--continue", sys.argv[2]])
"""


class Walk:
    """A prepared folder of two stages."""

    def __init__(self, folder):
        shutil.copytree(PROJECT_ROOT / "tests/data/packs/proof", folder / "packs/proof")
        (folder / "eval_config.yaml").write_text(yaml.safe_dump(CONFIG))
        self.folder, self.work_dir = folder, folder / "work_dir"
        self.environment = os.environ | import_path() | {"HF_HUB_OFFLINE": "1"}
        self.lines = self.evalprep("prepare", "--quiet").stdout.splitlines()

    def evalprep(self, *arguments, code=0):
        done = processes.run(*arguments, cwd=self.folder, timeout=400)
        assert done.returncode == code, done.stdout + done.stderr
        return done

    def ended(self, words, **options):
        return subprocess.run(
            words, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=400, check=False,
            **options,
        )  # fmt: skip

    def results(self):
        """Names of the commands that have left results, one for each file that is written whole."""
        commands = []
        for path in (self.folder / "results").glob("*/results_*.json"):
            # lm-eval writes the file in its place: it may have only half of its text.
            with contextlib.suppress(json.JSONDecodeError):
                configs = json.loads(path.read_text())["configs"]
                commands.append(next(iter(configs.values()))["metadata"]["command"])
        return sorted(commands)

    def killed(self, words, ready, **options):
        """Start, wait until something is there, and kill the process with all that it started."""
        process = subprocess.Popen(
            words, cwd=self.folder, env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True, **options,
        )  # fmt: skip
        end = time.monotonic() + 300
        while not ready() and process.poll() is None and time.monotonic() < end:
            time.sleep(0.005)
        assert ready()
        family = [
            process.pid,
            *(child.pid for child in psutil.Process(process.pid).children(recursive=True)),
        ]
        for pid in family:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait(30)

    def stage(self):
        facts = read_manifest(self.work_dir).tasks["proof_sure"]
        return facts.rows, self.work_dir / facts.data


@pytest.fixture
def walk(tmp_path):
    return Walk(tmp_path)


def whole(walk):
    """Each command ran once, and its replies are all there."""
    assert walk.results() == ["c1-plain", "c2-plain"]
    for name in walk.results():
        walk.evalprep("status", "--left", name, walk.work_dir)
    told = json.loads(
        walk.evalprep("score", "results", "--template_dir", "packs", "--no-write", "--json").stdout
    )
    assert {task["task"]: task["micro"]["n"] for task in told["tasks"]} == {
        "proof_answer": 4,
        "proof_sure": 4,
    }


@pytest.mark.slow
@pytest.mark.timeout(850)
@pytest.mark.parametrize("way", ["run", "command.sh"])
def test_walked_and_killed_after_each_step(walk, way):
    words = {
        "run": [sys.executable, "-m", "evalprep", "run", str(walk.work_dir)],
        "command.sh": ["sh", str(walk.work_dir / "command.sh")],
    }[way]
    walk.killed(words, lambda: walk.results() == ["c1-plain"])
    replies = next((walk.folder / "results").glob("*/samples_proof_answer_*.jsonl"))
    as_they_were = replies.read_bytes()
    walk.killed(words, walk.stage()[1].is_file)
    walk.killed(words, lambda: walk.results() == ["c1-plain", "c2-plain"])
    assert walk.ended(words).returncode == 0
    assert replies.read_bytes() == as_they_were
    whole(walk)


@pytest.mark.slow
@pytest.mark.timeout(850)
def test_pasted_and_cut_while_the_stage_is_made(walk):
    first, continued, second = walk.lines
    assert walk.ended(first, shell=True).returncode == 0
    for step in ("write_rows", "write_atomically"):
        done = walk.ended([sys.executable, "-c", CUT, step, str(walk.work_dir)])
        assert done.returncode == -signal.SIGKILL, done.stderr
        rows, data = walk.stage()
        assert rows is None, "the manifest is written last"
        assert data.is_file() == (step == "write_atomically"), (
            "the data are renamed into place whole"
        )
    done = walk.ended([sys.executable, "-c", CUT, "remember_folder", str(walk.work_dir)])
    assert done.returncode == -signal.SIGKILL, done.stderr
    rows, data = walk.stage()
    assert rows == 4, "all is written, but that the new manifest is the user's own"
    made = data.read_bytes()
    assert "proof_sure: unchanged" in walk.ended(continued, shell=True).stdout
    assert walk.stage()[1].read_bytes() == made
    assert not list(walk.work_dir.rglob("*.part"))
    assert walk.ended(second, shell=True).returncode == 0
    whole(walk)
    script = walk.ended(["sh", str(walk.work_dir / "command.sh")])
    assert [line for line in script.stdout.splitlines() if "done already" in line] == [
        "c1-plain: done already",
        "c2-plain: done already",
    ]
    assert walk.results() == ["c1-plain", "c2-plain"]
