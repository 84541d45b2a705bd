"""Commands of evalprep without the imports of each: a server imports the libraries once, and forks.

Exit code, output, working directory and environment are those of a command that a user types. The
server carries the shim of `full_disk`, which does nothing until the environment of a command asks.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import gc
import importlib
import json
import os
import pkgutil
import resource
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tests import PROJECT_ROOT

PRELOADED = (
    *("evalprep.cli", "evalprep.prepare.preparation", "evalprep.results", "evalprep.rescore"),
    *("evalprep.annotate", "pyarrow.parquet", "jinja2", "rich.console", "rich.table", "sqlite3"),
    *("pydantic", "xlsxwriter", "aiohttp", "huggingface_hub", "lm_eval.api.task", "lm_eval.tasks"),
    *("numpy.random", "scipy.stats", "pyarrow.compute", "pyarrow.json", "pyarrow.dataset"),
    *("rich.progress", "rich.live", "rich.text", "psutil", "lm_eval.loggers", "msgspec.structs"),
)
#: Packages whose modules are all imported, but for those that start something or run elsewhere.
WHOLE = ("evalprep", "custom_metrics")
NOT_IMPORTED = ("__main__", ".inside", ".start", "zoo")
#: What this process has started and written, to be ended and removed.
USED = contextlib.ExitStack()
VERBS = "check compare gate judge leaderboard new_pack prepare report rescore run score status"
OUTPUT = "output.txt"
#: Where lm-eval's list of its own tasks is kept, which costs several CPU seconds to read.
QUICK_INDEX = PROJECT_ROOT / "tests" / "quick_index"

# Counts the writes to files below FAULT_FOLDER in the shared file FAULT_COUNT, and lets that of
# number FAULT_AT, and all after it, end with "no space left".
SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>
static long *count = NULL;
static int full(int fd) {
    char link[64], path[4096];
    const char *folder = getenv("FAULT_FOLDER"), *at = getenv("FAULT_AT");
    const char *name = getenv("FAULT_COUNT");
    if (!folder || !name) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size < 0) return 0;
    path[size] = 0;
    if (strncmp(path, folder, strlen(folder))) return 0;
    if (strstr(path, "/output.txt") || strstr(path, "/home/")) return 0;
    if (!count) {
        int file = open(name, O_RDWR);
        if (file < 0) return 0;
        void *place = mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        close(file);
        if (place == MAP_FAILED) return 0;
        count = place;
    }
    long number = __sync_add_and_fetch(count, 1);
    if (at && number >= atol(at)) { errno = ENOSPC; return 1; }
    return 0;
}
ssize_t write(int fd, const void *data, size_t size) {
    static ssize_t (*real)(int, const void *, size_t);
    if (!real) real = dlsym(RTLD_NEXT, "write");
    return full(fd) ? -1 : real(fd, data, size);
}
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t place) {
    static ssize_t (*real)(int, const void *, size_t, off64_t);
    if (!real) real = dlsym(RTLD_NEXT, "pwrite64");
    return full(fd) ? -1 : real(fd, data, size, place);
}
ssize_t writev(int fd, const struct iovec *data, int parts) {
    static ssize_t (*real)(int, const struct iovec *, int);
    if (!real) real = dlsym(RTLD_NEXT, "writev");
    return full(fd) ? -1 : real(fd, data, parts);
}
int posix_fallocate64(int fd, off64_t place, off64_t size) {
    static int (*real)(int, off64_t, off64_t);
    if (!real) real = dlsym(RTLD_NEXT, "posix_fallocate64");
    return full(fd) ? ENOSPC : real(fd, place, size);
}
"""


@dataclass(frozen=True)
class Outcome:
    """The end of a command. The code is -9 where it was killed; CPU seconds count its children.

    The most memory that it had is in bytes; that of the server, from which it is forked, counts.
    """

    code: int
    text: str
    seconds: float
    cpu_seconds: float
    memory: int


@functools.cache
def shim() -> Path | None:
    """The compiled shim; None without a C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    place = Path(tempfile.mkdtemp(prefix="shim-"))
    USED.callback(shutil.rmtree, place, ignore_errors=True)
    source, library = place / "shim.c", place / "shim.so"
    source.write_text(SHIM)
    command = [compiler, "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"]
    subprocess.run(command, check=True)
    return library


@functools.cache
def quick_index() -> Path:
    """The file that lm-eval's list of its own tasks is kept in for the time of this process."""
    place = Path(tempfile.mkdtemp(prefix="index-"))
    USED.callback(shutil.rmtree, place, ignore_errors=True)
    return place / "index.pickle"


def environment(home: Path, **variables: str) -> dict[str, str]:
    """The environment of a command whose user's files lie in a folder.

    Nothing reaches a network.
    """
    return {
        **os.environ,
        "PYTHONPATH": f"{PROJECT_ROOT}:{QUICK_INDEX}",
        "EVALPREP_TESTS_INDEX": str(os.environ.get("EVALPREP_TESTS_INDEX") or quick_index()),
        "HF_HUB_OFFLINE": "1",
        "HF_DATASETS_OFFLINE": "1",
        "NO_PROXY": "127.0.0.1",
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "XDG_STATE_HOME": str(home / ".state"),
        "XDG_CONFIG_HOME": str(home / ".config"),
        **variables,
    }


class Server:
    """The process that forks the commands, one at a time."""

    spent = 0.0  # CPU seconds of all commands

    def __init__(self) -> None:
        home = Path(tempfile.gettempdir())
        library = shim()
        variables = {"LD_PRELOAD": str(library)} if library else {}
        self._process = subprocess.Popen(
            [sys.executable, "-c", "from benchmarks.faults.commands import serve; serve()"],
            cwd=PROJECT_ROOT,
            env=environment(home, **variables),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        USED.callback(self.close)
        self.running: Command | None = None

    def close(self) -> None:
        """Ends the process."""
        self._process.kill()
        self._process.wait()

    def start(self, words: list[str], folder: Path, variables: dict[str, str]) -> Command:
        """Starts a command; the one before it must have ended."""
        if self.running is not None:
            raise RuntimeError("a command is running in this server")
        request = {
            "words": words,
            "folder": str(folder),
            "environment": environment(folder / "home", **variables),
        }
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()
        output = folder / variables.get("FAULT_OUTPUT", OUTPUT)
        self.running = Command(self, output, int(self.line()))
        return self.running

    def line(self) -> bytes:
        """The next line of the process."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the server of commands has ended")
        return line

    def ready(self, seconds: float) -> bool:
        """True where the process has written a line, or writes one within some seconds."""
        assert self._process.stdout is not None
        readable, _, _ = select.select([self._process.stdout], [], [], max(0.0, seconds))
        return bool(readable)


class Command:
    """A command that runs in a session of its own."""

    def __init__(self, server: Server, output: Path, pid: int) -> None:
        self._server, self._output, self.pid = server, output, pid
        self._started = time.monotonic()
        self._outcome: Outcome | None = None

    def ended(self, seconds: float = 0.0) -> bool:
        """True where the command has ended, or ends within some seconds."""
        return self._outcome is not None or self._server.ready(seconds)

    def kill(self, *, children: bool = False) -> None:
        """Sends SIGKILL to the command, and where asked to its children."""
        if self._outcome is None and not self._server.ready(0.0):
            # Its end may not have been told yet.
            with contextlib.suppress(ProcessLookupError):
                (os.killpg if children else os.kill)(self.pid, signal.SIGKILL)

    def deserted(self, seconds: float) -> bool:
        """True where children of the ended command are still there after some seconds."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                os.killpg(self.pid, 0)
            except ProcessLookupError:
                return False
            time.sleep(0.01)
        return True

    def outcome(self, limit: float) -> Outcome:
        """Waits for the end; past the limit the command is killed with its children."""
        if self._outcome is None:
            if not self._server.ready(limit):
                self.kill(children=True)
            code, cpu_seconds, memory = json.loads(self._server.line())
            seconds = time.monotonic() - self._started
            text = self._output.read_text(encoding="utf-8", errors="replace")
            self._outcome = Outcome(code, text, seconds, cpu_seconds, memory)
            self._server.running = None
            Server.spent += cpu_seconds
        return self._outcome


@functools.cache
def server(number: int = 0) -> Server:
    """The server of this process; another one for each number, for commands at the same time."""
    del number
    return Server()


def release() -> None:
    """Ends the servers of this process and removes what they used; a later command starts anew."""
    USED.close()
    for cached in (shim, quick_index, server):
        cached.cache_clear()


atexit.register(release)


def _drop_capabilities() -> None:
    """Lets the modes of files hold for root too, in this process and those that it starts."""
    libc = ctypes.CDLL(None)
    libc.prctl(28, 3, 0, 0, 0)  # SECBIT_NOROOT and its lock
    header, sets = struct.pack("Ii", 0x20080522, 0), bytes(24)
    libc.capset(header, sets)


def _limit(cpu_seconds: int, most: int) -> None:
    """Limits CPU time, and the memory beyond what is there already."""
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    most += pages * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _run_child(request: dict[str, object]) -> None:
    """Runs one command in the forked process; ends the process."""
    os.setsid()
    folder, variables = str(request["folder"]), request["environment"]
    assert isinstance(variables, dict)
    os.environ.clear()
    os.environ.update(variables)
    os.chdir(folder)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    output = f"{folder}/{variables.get('FAULT_OUTPUT', OUTPUT)}"
    os.dup2(os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 1)
    os.dup2(1, 2)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", errors="surrogateescape")
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1)
    if variables.get("FAULT_MODES"):
        _drop_capabilities()
    if variables.get("FAULT_CPU_SECONDS"):
        _limit(int(variables["FAULT_CPU_SECONDS"]), int(variables["FAULT_BYTES"]))
    code: int | str | None = 70
    try:
        from evalprep.cli import main

        words = request["words"]
        assert isinstance(words, list)
        sys.argv = ["evalprep", *words]
        code = main(words, prog="evalprep", verb=None)
    except SystemExit as ended:
        code = ended.code
    except BaseException:  # noqa: BLE001 - Python prints what ends a process
        sys.excepthook(*sys.exc_info())
        code = 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else int(code is not None))


def _import_whole(package: str) -> None:
    """Imports the modules of a package, as far as they can be."""
    folders = importlib.import_module(package).__path__
    for module in pkgutil.walk_packages(folders, f"{package}.", onerror=lambda _: None):
        if not any(part in module.name for part in NOT_IMPORTED):
            with contextlib.suppress(Exception):
                importlib.import_module(module.name)


def serve() -> None:
    """Forks a command for each line of standard input; prints its process id, then its end."""
    for name in (*PRELOADED, *(f"evalprep.verbs.{verb}" for verb in VERBS.split())):
        importlib.import_module(name)
    for package in WHOLE:
        _import_whole(package)
    gc.freeze()  # else each child copies the pages of all objects when it looks for cycles
    os.environ.pop("LD_PRELOAD", None)
    output = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    for line in sys.stdin.buffer:
        pid = os.fork()
        if pid == 0:
            _run_child(json.loads(line))
        output.write(b"%d\n" % pid)
        _, status, usage = os.wait4(pid, 0)
        code = os.waitstatus_to_exitcode(status)
        ended = [code, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024]
        output.write(json.dumps(ended).encode() + b"\n")


def cpu_seconds() -> float:
    """CPU seconds of this process, of its children that ended, and of the commands."""
    whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    usages = [resource.getrusage(who) for who in whose]
    return Server.spent + sum(usage.ru_utime + usage.ru_stime for usage in usages)
