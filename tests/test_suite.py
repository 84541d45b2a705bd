"""That every test is run: a folder whose name is left out anywhere takes its tests along without a word."""

import subprocess
import sys

from tests import PROJECT_ROOT


def test_no_folder_of_tests_is_left_out(tmp_path):
    tests = PROJECT_ROOT / "tests"
    folders = {path.parent for path in tests.rglob("test_*.py") if tests / "data" not in path.parents}
    for folder in folders:
        copy = tmp_path / folder.relative_to(PROJECT_ROOT)
        copy.mkdir(parents=True, exist_ok=True)
        (copy / "test_probe.py").write_text("def test_probe():\n    pass\n")
    (tmp_path / "tests/data").mkdir()
    (tmp_path / "tests/data/test_broken.py").write_text("def test_broken():\n    raise SystemExit\n")
    (tmp_path / "pyproject.toml").write_text((PROJECT_ROOT / "pyproject.toml").read_text())
    for folder in ("evalprep", "custom_metrics", "environment"):
        (tmp_path / folder).mkdir()
    command = [sys.executable, "-m", "pytest", "-q", "--import-mode=importlib", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    assert f"{len(folders)} passed" in done.stdout
