"""Attacking programmes: contained, ended, scored 0, nothing outside touched."""

import os
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from custom_metrics.compliance.human_eval import closed_prompt, solution_code
from evalprep.coderunner import Limits, NoIsolation, Programme, find_isolation, run, runner
from evalprep.coderunner.isolation import candidates
from tests.evalprep.coderunner.attacks import ATTACKS

LIMITS = Limits(cpu_seconds=1, memory_mb=512, folder_mb=8, idle_seconds=1.5, clock_seconds=120.0)
START = "import os\n\ndef tries(step):\n    try:\n        step()\n    except BaseException:\n        pass\n\n"
#: Attack -> the reason that its outcome has.
REASONS = {
    "endless loop": "cpu",
    "endless sleep": "idle",
    "a lock that nobody opens": "idle",
    "10 GB": "failed",
    "a crash": "ended",
    "claiming to have passed": "ended",
    "leaving early": "failed",
}
NONE = "def check(candidate):\n    assert candidate() is None\n"
TEST = "def check(candidate):\n    assert candidate({places!r}) == 42\n"


def test_each_attack_with_a_reason_is_one():
    assert {*REASONS} < {*ATTACKS}


def rooms():
    """Every way that this machine offers and that its trial lets through."""
    found = []
    for isolation in candidates():
        try:
            found.append(runner._try_out(isolation))
        except OSError:
            continue
    return found


ROOMS = rooms()
needs_a_room = pytest.mark.skipif(not ROOMS, reason="no way to isolate a programme on this machine")


@pytest.fixture(params=ROOMS, ids=[room.kind for room in ROOMS])
def room(request):
    return request.param


@pytest.fixture
def places(tmp_path):
    """What an attack could touch: files, a listening port, a process of ours."""
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o777)
    file = folder / "secret.txt"
    file.write_text("a secret")
    file.chmod(0o666)
    victim = subprocess.Popen(["sleep", "600"])
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        server.setblocking(False)
        known = {
            "folder": str(folder),
            "file": str(file),
            "port": server.getsockname()[1],
            "secret": "a secret",
        }
        yield known | {"parent": os.getpid(), "victim": victim.pid}
        assert [path.name for path in folder.iterdir()] == ["secret.txt"]
        assert file.read_text() == "a secret"
        with pytest.raises(BlockingIOError):
            server.accept()
        assert victim.poll() is None
        victim.kill()
        victim.wait()


def solution(body, places):
    code = (
        START
        + "def solution(places):\n"
        + textwrap.indent(textwrap.dedent(body), "    ")
        + "\n    return 0\n"
    )
    prompt = "def solution(places):\n"
    return Programme(
        code=solution_code(prompt=prompt, reply=code, entry_point="solution"),
        prompt=closed_prompt(prompt=prompt),
        test=TEST.format(places=places),
        entry_point="solution",
    )


def body(text, returned="None"):
    """A programme whose function does something and returns a value, and a test that wants None."""
    lines = textwrap.indent(textwrap.dedent(text), "    ")
    code = f"def solution():\n{lines}\n    return {returned}\n"
    return Programme(code=code, entry_point="solution", test=NONE)


def children():
    tasks = Path("/proc/self/task").iterdir()
    return {pid for task in tasks for pid in (task / "children").read_text().split()}


@needs_a_room
@pytest.mark.parametrize("name", ATTACKS)
def test_attack_is_contained_and_scores_0_for_its_reason(name, room, places):
    before, started = children(), time.monotonic()
    outcome = run(solution(ATTACKS[name], places), isolation=room, limits=LIMITS)
    assert outcome.passed is False, outcome
    assert outcome.status == REASONS.get(name, outcome.status), outcome
    assert "ESCAPED" not in outcome.detail
    assert time.monotonic() - started < LIMITS.clock_seconds
    assert children() == before  # nothing is left running


@needs_a_room
def test_a_wrong_answer_and_broken_code_fail(room):
    def end(code):
        return run(Programme(code=code, entry_point="f", test=NONE), isolation=room)

    assert run(body("", returned="3"), isolation=room).detail.startswith("AssertionError")
    assert end("def broken(:").detail.startswith("SyntaxError")
    assert end("assert 1 + 1 == 3").detail.startswith("AssertionError")
    assert end("\x00").status == "failed"
    assert end("x = '\ud800'").passed is False
    assert end("def g(): pass").detail == "NameError: it defines no f"


@needs_a_room
def test_a_pause_is_no_failure(room):
    assert run(body("import time; time.sleep(0.5)"), isolation=room, limits=LIMITS).passed


@needs_a_room
def test_the_clock_gives_no_verdict(room):
    limits = Limits(cpu_seconds=60, clock_seconds=1.0)
    outcome = run(body("while True: pass"), isolation=room, limits=limits)
    assert (outcome.status, outcome.passed) == ("given up", None)


@needs_a_room
def test_one_room_knows_nothing_of_another(room):
    assert run(body("open('left', 'w').write('x')"), isolation=room, limits=LIMITS).passed
    empty = body("import os; assert os.listdir('.') == []")
    assert run(empty, isolation=room, limits=LIMITS).passed


@needs_a_room
def test_what_protects_is_said(room):
    said = " ".join(room.describe())
    for word in ("network", "files", "processes", "CPU time"):
        assert word in said


def test_without_isolation_nothing_runs(monkeypatch):
    find_isolation.cache_clear()
    monkeypatch.setattr(runner, "candidates", list)
    with pytest.raises(NoIsolation, match=r"not run.*\n.*fix"):
        find_isolation()
    find_isolation.cache_clear()


@needs_a_room
def test_an_open_door_is_no_isolation(monkeypatch):
    """A room whose command isolates nothing is found out by its trial."""
    bare = ROOMS[0].__class__
    bare_python = [sys.executable, "-I", "-S", "-c"]
    monkeypatch.setattr(bare, "command", lambda *given: [*bare_python, given[-1]])
    with pytest.raises(OSError, match=r"open: .*files"):
        runner._try_out(ROOMS[0])
