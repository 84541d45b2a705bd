"""The notebooks under examples/ run from top to bottom."""

import json
import os
import subprocess
import sys

import pytest

from tests import PROJECT_ROOT, import_path

NOTEBOOKS = sorted((PROJECT_ROOT / "examples").glob("*.ipynb"))


def cells(path, kind):
    found = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return ["".join(one["source"]) for one in found if one["cell_type"] == kind]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_output(path):
    content = json.loads(path.read_text(encoding="utf-8"))
    assert content["nbformat"] == 4
    assert not any(cell.get("outputs") for cell in content["cells"])


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path):
    """Its code as one program: no kernel is needed, and the last value of a cell is only shown."""
    script = tmp_path / f"{path.stem}.py"
    script.write_text("\n\n".join(cells(path, "code")), encoding="utf-8")
    env = {**os.environ, "HF_HUB_OFFLINE": "1", **import_path()}
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
    assert "r1/0" in done.stdout
