"""A copy of the project, and test runs in forked children.

Their parent process has imported the heavy packages already.
"""

from __future__ import annotations

import compileall
import contextlib
import importlib
import os
import shutil
import signal
import sys
import time
from pathlib import Path

from benchmarks.mutation.seen import Plugin

ROOT = Path(__file__).resolve().parents[2]
# What tests import most, and what imports nothing of the project.
HEAVY = (
    "pytest",
    "hypothesis",
    "numpy",
    "pyarrow.parquet",
    "yaml",
    "pydantic",
    "msgspec",
    "jinja2",
    "rich.console",
)
HEAVY += ("httpx", "scipy.stats", "sympy", "datasets")
QUICK = "not slow and not browser"


def warm_up() -> None:
    """Import what each test run would import anew."""
    for name in HEAVY:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


class Copy:
    """A copy of the project in which files may be changed."""

    def __init__(self, folder: Path) -> None:
        """Copy the checkout, and compile it so that processes started by tests need not."""
        self.root = folder / "project"
        self.children = folder / "children"
        self.log = folder / "log"
        self._temporary = folder / "tmp"
        ignored = shutil.ignore_patterns(
            ".git", ".venv*", "__pycache__", "work_dir*", "eval_results", "models"
        )
        shutil.copytree(ROOT, self.root, ignore=ignored)
        self.children.mkdir()
        for name in ("evalprep", "custom_metrics", "task_templates"):
            compileall.compile_dir(self.root / name, quiet=2)

    def trace_children(self) -> None:
        """Let every process that a test starts note what it calls."""
        shutil.copy(Path(__file__).with_name("seen.py"), self.root / "sitecustomize.py")

    def tested(self, tests: list[str], limit: float, seen: Path | None = None) -> str:
        """How the tests end in a child: passed, failed or timeout.

        The first failure ends them, but for a map.
        """
        shutil.rmtree(self._temporary, ignore_errors=True)
        self._temporary.mkdir()
        child = os.fork()
        if child == 0:
            self._run(tests, seen)
        return _ending(child, limit)

    def _run(self, tests: list[str], seen: Path | None) -> None:
        code = 70
        try:
            os.setsid()
            out = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(out, 1)
            os.dup2(out, 2)
            os.chdir(self.root)
            sys.path[:] = [
                str(self.root),
                *(path for path in sys.path if Path(path or ".").resolve() != ROOT),
            ]
            os.environ.update(
                PYTHONPATH=str(self.root), PYTHONDONTWRITEBYTECODE="1", HF_HUB_OFFLINE="1"
            )
            os.environ.setdefault("EVALPREP_SHARED", str(ROOT.parent / "shared"))
            os.environ["TMPDIR"] = str(self._temporary)
            sys.dont_write_bytecode = True
            words = [
                "-q",
                "-m",
                QUICK,
                "-p",
                "no:cacheprovider",
                f"--basetemp={self._temporary / 'pytest'}",
                *tests,
            ]
            plugins: list[object] = []
            if seen is None:
                words.append("-x")
            else:
                os.environ.update(
                    MUTATION_ROOT=str(self.root),
                    MUTATION_SEEN=str(seen),
                    MUTATION_CHILDREN=str(self.children),
                )
                plugins.append(Plugin())
            import pytest

            code = int(pytest.main(words, plugins=plugins))
        finally:
            sys.stdout.flush()
            os._exit(code)


def _ending(child: int, limit: float) -> str:
    end = time.monotonic() + limit
    pause = 0.02
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        if time.monotonic() > end:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return "timeout"
        time.sleep(pause)
        pause = min(pause * 1.5, 0.5)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # what a failing test left running
    code = os.waitstatus_to_exitcode(status)
    # 5: no test was collected, which a mutant cannot bring about but by breaking the collection
    return "passed" if code == 0 else "none" if code == 5 else "failed"
