"""What killed verbs leave, what a strange home or clock does, and files that are none, at every door."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from evalprep.cli import main
from evalprep.errors import BadInput
from evalprep.files import replace_file
from evalprep.run.replies import read_replies
from evalprep.temporary import OwnFolder
from tests import PROJECT_ROOT
from tests.evalprep.readers.logs import inspect_sample, write_json_log
from tests.evalprep.test_outputs import CONFIG

KILLED = (
    "import os, sys, signal; from pathlib import Path; from evalprep.files import replace_file\n"
)
KILLED += "with replace_file(Path('out/page.html')): os.kill(os.getpid(), signal.SIGKILL)"


def environment(**variables):
    return {**os.environ, "PYTHONPATH": str(PROJECT_ROOT), **variables}


def test_the_next_verb_removes_what_a_killed_one_was_writing(tmp_path, monkeypatch):
    (tmp_path / "out").mkdir()
    subprocess.run([sys.executable, "-c", KILLED], cwd=tmp_path, env=environment(), check=False)
    (left,) = (tmp_path / "out").iterdir()
    assert left.name.startswith(".page.html.")
    mine = tmp_path / ".notes.12-abc"
    mine.write_text("of the user")
    monkeypatch.chdir(tmp_path)
    with replace_file(tmp_path / "out" / "board.html") as being_written:
        assert not left.exists()
        left.write_text("")
        assert main(["list", "metrics"]) == 0
        assert not left.exists()
        assert being_written.exists()
    assert mine.exists()


HOLDS_A_FOLDER = (
    "import os, sys, time; from evalprep.temporary import OwnFolder\n"
    "folder = OwnFolder('rows'); print(folder.name, flush=True); time.sleep(60)"
)


def test_the_next_verb_removes_the_temporary_folders_of_a_killed_one(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    names = ("evalprep-notes", "evalprep-rows-x-abcdefgh", f"evalprep-rows-{2**22 + 1}-a")
    for name in names:
        (tmp_path / name).mkdir()
    words = [sys.executable, "-c", HOLDS_A_FOLDER]
    with subprocess.Popen(words, env=environment(), stdout=subprocess.PIPE, text=True) as held:
        folder = Path(held.stdout.readline().strip())
        (folder / "samples_t.jsonl").write_text("{}")
        assert main(["list", "metrics"]) == 0
        assert folder.is_dir()
        held.kill()
    assert main(["list", "metrics"]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)


def test_a_folder_whose_process_has_another_number_here_stays_while_it_is_locked(
    tmp_path, monkeypatch
):
    """As in a container, whose processes have numbers of their own."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(os, "getpid", lambda: 2**22 + 1)
    folder = OwnFolder("rows")
    assert main(["list", "metrics"]) == 0
    assert Path(folder.name).is_dir()
    folder.cleanup()
    assert not Path(folder.name).exists()


@pytest.mark.parametrize("home", ["here", "", "."])
def test_a_relative_home_makes_no_cache_in_the_project(tmp_path, home):
    log = write_json_log(tmp_path / "log.json", [inspect_sample(0), inspect_sample(1)])
    variables = {"HOME": home, "XDG_CACHE_HOME": "cache", "XDG_STATE_HOME": "state"}
    known = environment(**variables)
    for name in ("EVALPREP_CACHE", "EVALPREP_STATE"):
        known.pop(name, None)
    words = [sys.executable, "-m", "evalprep", "score", log.name, "--no_write"]
    done = subprocess.run(
        words, cwd=tmp_path, env=known, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["log.json"]


@pytest.mark.parametrize("name", ["eval_config.yaml", "rows.jsonl", "eval_config.lock"])
def test_a_pipe_in_the_place_of_a_file_of_the_project_is_named(tmp_path, name):
    (tmp_path / "rows.jsonl").write_text('{"prompt": "1 + 1 =", "target": "2", "sample_id": "a"}\n')
    (tmp_path / "eval_config.yaml").write_text(CONFIG)
    (tmp_path / name).unlink(missing_ok=True)
    os.mkfifo(tmp_path / name)
    words = [sys.executable, "-m", "evalprep", "prepare", "--quiet", "--check", "off"]
    done = subprocess.run(
        words,
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode in {0, 2}
    assert "Traceback" not in done.stderr


def test_a_pipe_among_replies_is_named(tmp_path):
    for name in ("a.jsonl", "b.parquet"):
        os.mkfifo(tmp_path / name)
    with pytest.raises(BadInput, match="a named pipe"):
        read_replies([tmp_path])
