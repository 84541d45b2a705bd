"""Devices, named pipes and links in a received run are not opened, whatever verb looks at it."""

import os
import shutil
import socket
import subprocess
import sys

import pytest

from evalprep.errors import BadInput
from evalprep.files import following_links, name_place, open_file, read_file, read_object
from tests import PROJECT_ROOT
from tests.evalprep.results.writing import Row, write_run

#: Seconds of CPU and KiB of memory; who reads `/dev/zero` needs more.
LIMITS = "ulimit -t 60; ulimit -v 6000000"
VERBS = {
    "score": ["score", "run", "--no_write"],
    "compare": ["compare", "run", "other", "--no_write"],
    "samples": ["samples", "run"],
    "status": ["status", "run"],
    "report": ["report", "run", "--out", "page"],
    "leaderboard": ["leaderboard", "run", "other"],
    "gate": ["gate", "other", "run", "--policy", "policy.yaml"],
    "export": ["export", "run", "--to", "inspect", "--out", "log"],
    "rescore": ["rescore", "run", "--no_write"],
    "judge": ["judge", "run", "--model", "m", "--base_url", "http://127.0.0.1:9/v1", "--dry_run"],
    "score with a reference": ["score", "other", "--no_write", "--reference", "run"],
    "score following links": ["score", "run", "--no_write", "--follow_links"],
}
USUAL = {"score", "score following links"}
#: Files of a run that a stranger may put something else in the place of.
FILES = ("samples_*", "results_*", "annotations.sqlite", "../failed_r0123456789a.json", "more.json")
RUN = "r0123456789a"


def of_verbs():
    return [pytest.param(verb, marks=() if verb in USUAL else pytest.mark.long) for verb in VERBS]


@pytest.fixture
def project(tmp_path):
    """A received run with everything that may lie in one, and one of the user's own."""
    rows = [Row(f"{at}", correct=at % 2, previous=True) for at in range(4)]
    for name in ("run", "other"):
        home = write_run(tmp_path / name, {"t": rows}, metadata={"version": 1.0, "run": RUN})
    home = tmp_path / "run" / "org__model"
    for name in (f"../failed_{RUN}.json", f"../run_{RUN}.json", "annotations.sqlite", "more.json"):
        (home / name).write_text("{}")
    (tmp_path / "policy.yaml").write_text("defaults: {max_drop: 0.5}\n")
    return tmp_path


def call(project, words):
    """The end of a command in a process that may not take much."""
    command = f"{LIMITS}; exec {sys.executable} -m evalprep {' '.join(words)}"
    return subprocess.run(
        ["bash", "-c", command],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(PROJECT_ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def to_zero(path):
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("put", [to_zero, os.mkfifo])
@pytest.mark.parametrize("verb", of_verbs())
def test_no_verb_waits_for_a_pipe_or_reads_a_device(project, verb, put):
    home = project / "run" / "org__model"
    for name in FILES:
        shutil.copytree(project / "run", project / "kept")
        file = next(home.glob(name)) if "*" in name else home / name
        file.unlink()
        put(file)
        done = call(project, VERBS[verb])
        assert done.returncode in {0, 1, 2, 3}, f"{name}: {done.stderr}"
        assert "Traceback" not in done.stderr
        shutil.rmtree(project / "run")
        (project / "kept").rename(project / "run")


def test_samples_that_are_a_device_are_missing_by_name(project):
    samples = next((project / "run").rglob("samples_*"))
    samples.unlink()
    samples.symlink_to("/dev/zero")
    done = call(project, ["score", str(samples)])
    assert done.returncode == 2
    assert str(samples) in done.stderr


@pytest.mark.parametrize("kind", ["pipe", "device", "socket"])
def test_what_is_no_file_is_named(tmp_path, kind):
    path = tmp_path / "samples.jsonl"
    name = {"pipe": "a named pipe", "device": "a device", "socket": "a socket"}[kind]
    server = socket.socket(socket.AF_UNIX)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        server.bind(str(path))
    with following_links(allowed=True), pytest.raises(BadInput, match=f"it is {name}, no file"):
        open_file(path)
    assert read_object(path) == {}
    server.close()


def test_a_file_behind_a_link_out_of_a_named_place_is_not_opened(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "private").write_text("secret")
    (tmp_path / "run/inside").write_text("fine")
    (tmp_path / "run/out").symlink_to(tmp_path / "private")
    (tmp_path / "run/in").symlink_to(tmp_path / "run/inside")
    (tmp_path / "run/folder").symlink_to(tmp_path)
    with following_links(allowed=False):
        name_place(tmp_path / "run", is_typed=True)
        assert read_file(tmp_path / "run/in") == b"fine"
        for name in ("out", "folder/private"):
            with pytest.raises(BadInput, match="--follow_links"):
                open_file(tmp_path / "run" / name)
            name_place(tmp_path / "run" / name)  # found there, which allows nothing
            with pytest.raises(BadInput, match="--follow_links"):
                open_file(tmp_path / "run" / name)
        assert read_file(tmp_path / "run/out", own=True) == b"secret"
        name_place(tmp_path / "run/out", is_typed=True)
        assert read_file(tmp_path / "run/out") == b"secret"
    with following_links(allowed=True):
        name_place(tmp_path / "run", is_typed=True)
        assert read_file(tmp_path / "run/out") == b"secret"


def test_other_errors_name_the_file_as_before(tmp_path):
    with pytest.raises(FileNotFoundError) as absent:
        open_file(tmp_path / "absent")
    assert absent.value.filename == str(tmp_path / "absent")
    with pytest.raises(IsADirectoryError):
        open_file(tmp_path)
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(OSError, match="loop"):
        open_file(tmp_path / "loop")
