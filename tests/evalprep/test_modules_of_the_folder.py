"""Python files that lie in the current folder are not imported by evalprep or by what it starts."""

import os
import subprocess
import sys

import pytest

from tests import import_path
from tests.evalprep.test_outputs import CONFIG

#: Modules of the standard library that evalprep and its workers import.
NAMES = ("argparse", "json", "random", "shutil", "tempfile", "uuid", "csv")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"prompt": "1 + 1 =", "target": "2", "sample_id": "a"}\n')
    (tmp_path / "eval_config.yaml").write_text(CONFIG)
    for name in NAMES:
        (tmp_path / f"{name}.py").write_text("open('it_ran', 'a').write(__name__)\n")
    return tmp_path


def call(folder, *words):
    state = {"EVALPREP_STATE": str(folder / "state"), "EVALPREP_QUICK_CHECK": "1"}
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, **state, **import_path()},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize("words", [("list",), ("prepare", "--quiet", "--check", "off")])
def test_python_m_evalprep_imports_nothing_of_the_folder(folder, words):
    done = call(folder, "-m", "evalprep", *words)
    assert done.returncode == 0, done.stderr
    assert not (folder / "it_ran").exists()


@pytest.mark.slow
def test_a_run_imports_nothing_of_the_folder(folder):
    done = call(folder, "-m", "evalprep", "run")
    assert done.returncode == 0, done.stderr
    assert not (folder / "it_ran").exists()
