"""What can keep a programme in: bubblewrap where it is installed, else Linux name spaces of our own making."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from evalprep.coderunner.limits import Limits
from evalprep.errors import BadInput, Problem

Kind = Literal["bubblewrap", "namespaces"]
_HERE = Path(__file__).parent
_INSIDE = (_HERE / "inside.py").read_text(encoding="utf-8")
_FOLDER = "/tmp"  # noqa: S108 - of the room, where nothing else is
_DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom")
_LINKED = ("/bin", "/lib", "/lib64", "/lib32", "/sbin")


class NoIsolation(BadInput):
    """Nothing on this machine keeps a programme in, so nothing runs."""

    def __init__(self, tried: dict[str, str]) -> None:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in tried.items())
        super().__init__(
            Problem(
                what=f"model-written code is not run: nothing isolates it here ({reasons})",
                where="code runner",
                fix="install bubblewrap, or allow user name spaces (in a container: other security options)",
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
        """Say what protects, one sentence each."""
        made = f"bubblewrap {self.version}" if self.kind == "bubblewrap" else "Linux name spaces"
        calls = "refused by a system-call filter" if self.filtered else "not filtered (unknown machine type)"
        return [
            f"made by {made}: own users, processes, network, mounts; tried out before the first programme",
            "network: none, not even the machine's own address",
            "files: Python and the system's libraries read-only, one empty folder in memory, nothing else",
            f"starting processes or programmes, mounting, tracing: {calls}",
            "CPU time, memory, file size and open files: limited by the kernel",
        ]

    def command(self, root: Path, limits: Limits) -> list[str]:
        """Build the command that runs `inside.py` in a new room.

        Args:
            root: An empty folder of the machine, where a room of our own is mounted.
            limits: Its `folder_mb` bounds the folder in memory.
        """
        python = os.path.realpath(sys.executable)
        inner = [python, "-I", "-S", "-B", "-c", _INSIDE]
        shown = read_only_paths()
        links = {path: str(Path(path).readlink()) for path in _LINKED if Path(path).is_symlink()}
        shown += [path for path in _LINKED if Path(path).is_dir() and path not in links]
        if self.kind == "namespaces":
            given = {
                "root": str(root),
                "read_only": shown,
                "links": links,
                "devices": [path for path in _DEVICES if Path(path).exists()],
                "folder_mb": limits.folder_mb,
                "argv": inner,
            }
            return [sys.executable, "-I", "-S", "-B", str(_HERE / "jail.py"), json.dumps(given)]
        argv = [bubblewrap(), "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv"]
        argv += ["--uid", "65534", "--gid", "65534", "--setenv", "LC_ALL", "C.UTF-8", "--setenv", "HOME", _FOLDER]
        for path in shown:
            argv += ["--ro-bind", path, path]
        for path, target in links.items():
            argv += ["--symlink", target, path]
        return [
            *argv,
            "--dev",
            "/dev",
            "--size",
            str(limits.folder_mb << 20),
            "--tmpfs",
            _FOLDER,
            "--chdir",
            _FOLDER,
            *inner,
        ]


def bubblewrap() -> str:
    """Path of bubblewrap; "" where it is not installed."""
    return shutil.which("bwrap") or ""


def read_only_paths() -> list[str]:
    """Paths that a Python process needs: the system's libraries and Python's own folders, outermost only."""
    python = Path(os.path.realpath(sys.executable))
    wanted = [Path("/usr/lib"), Path("/usr/lib64"), Path("/usr/local/lib"), Path("/etc/ld.so.cache")]
    wanted += [
        Path(sys.base_prefix) / "lib",
        Path(sys.base_prefix) / "lib64",
        Path(os.__file__).resolve().parent,
        python,
    ]
    kept: list[Path] = []
    for path in sorted({path for path in wanted if path.exists() and not path.is_symlink()}):
        if not any(path.is_relative_to(other) for other in kept):
            kept.append(path)
    return [str(path) for path in kept]


def candidates() -> list[Isolation]:
    """Ways that might work here, the best first; each has to be tried."""
    found: list[Isolation] = []
    if tool := bubblewrap():
        said = subprocess.run([tool, "--version"], capture_output=True, text=True, check=False).stdout
        found.append(Isolation(kind="bubblewrap", version=said.removeprefix("bubblewrap").strip()))
    if sys.platform == "linux":
        found.append(Isolation(kind="namespaces"))
    return found
