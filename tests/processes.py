"""The command line in a process of its own that need not import everything anew.

A server process imports what every verb needs, once; each call forks it. Exit code, output, working
directory and environment are those of a command that a user types. In a full run the server also
imports the engines, and the worker of `evalprep run` is forked off its command: what a start of an
engine costs is its libraries, 3 to 13 s of CPU, and hardly the tiny model. Tests of start-up, of
CPU time, of what is left of killed processes and of pasted commands start real processes.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from multiprocessing import forkserver
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any
from unittest import mock

from tests import import_path
from tests.effort import FULL

#: Names the fork server to the commands that may hand themselves over to it: see `quick_index`.
SERVER = "EVALPREP_TESTS_SERVER"

LIBRARIES = (
    "custom_metrics.math",
    "pyarrow.parquet",
    "pandas",  # which pyarrow imports as soon as it turns rows into a table
    "jinja2",
    "rich.console",
    "rich.table",
)
ENGINES = (
    "evalprep.run.worker",
    "evalprep.run.walk",
    "datasets",
    "lm_eval.evaluator",
    "lm_eval.models.dummy",
    "lm_eval.models.huggingface",
    "lm_eval.models.vllm_causallms",
    "lm_eval.__main__",
)


class ForkedWorker:
    """The worker of `evalprep run`, forked off the command instead of started anew.

    Offers what the command uses of `subprocess.Popen`. It is a real child: a process number of its
    own, a session of its own, and signals that arrive.
    """

    def __init__(
        self, words: list[str], *, env: dict[str, str], pass_fds: list[int], **_: object
    ) -> None:
        reading, writing = os.pipe()
        self.returncode: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            become_worker(words[words.index("evalprep.run.worker") :], env, writing, pass_fds)
        os.close(writing)
        self.stdout: IO[bytes] = os.fdopen(reading, "rb")

    def poll(self) -> int | None:
        """The exit code; None while it runs."""
        if self.returncode is None:
            number, status = os.waitpid(self.pid, os.WNOHANG)
            if number:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self) -> int:
        """The exit code, once it has ended."""
        while self.poll() is None:
            time.sleep(0.01)
        return self.poll()


def become_worker(words: list[str], env: dict[str, str], output: int, kept: list[int]) -> None:
    """Turn a fork into what a new process would be: session, signals, streams, environment."""
    code = 1
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        for number in open_files() - _OF_LIBRARIES - {0, 1, 2, *kept}:
            with contextlib.suppress(OSError):  # the list of them was one
                os.close(number)
        open_streams(env)
        sys.argv = words
        from evalprep.run import worker

        code = worker.main()
    except BaseException:  # noqa: BLE001 - a fork that returns would run the test a second time
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def open_files() -> set[int]:
    """The descriptors that this process has open."""
    return {int(path.name) for path in Path("/dev/fd").iterdir()}


#: Descriptors that were open before the command began; libraries keep some.
_OF_LIBRARIES: set[int] = set()
#: Streams of the process that was forked; their buffers and locks are not ours to touch.
_FORMER = []


def open_streams(env: dict[str, str]) -> None:
    """Write into the first descriptors from now on, in another environment."""
    _FORMER.extend([sys.stdout, sys.stderr])
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", errors="surrogateescape")
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1)
    os.environ.clear()
    os.environ.update(env)


def child(
    program: str, words: list[str], cwd: str, env: dict[str, str], streams: dict[int, str]
) -> None:
    """Run one command in the forked process, with its streams in files."""
    for number, name in streams.items():
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    perform(program, words, cwd, env)


def perform(program: str, words: list[str], cwd: str, env: dict[str, str]) -> None:
    """Run one command in the forked process, on the streams that it has."""
    _OF_LIBRARIES.update(open_files())
    open_streams(env)
    os.chdir(cwd)
    sys.argv = [program, *words]
    try:
        code = PROGRAMS[program](words)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    sys.exit(code)


def run_evalprep(words: list[str]) -> int:
    """`evalprep WORDS`."""
    from evalprep.cli import main

    if FULL:
        from evalprep.run import holder

        holder.subprocess = SimpleNamespace(**vars(subprocess) | {"Popen": ForkedWorker})
    return main(words, prog="evalprep")


def run_prepare(words: list[str]) -> int:
    """`prepare_eval.py WORDS`."""
    from evalprep.cli import main

    return main(words, prog="prepare_eval.py", verb="prepare")


def run_lm_eval(_: list[str]) -> int:
    """`lm_eval WORDS`, which it reads itself."""
    from lm_eval.__main__ import cli_evaluate

    cli_evaluate()
    return 0


def run_launcher(_: list[str]) -> int:
    """`python -m evalprep.run.launcher WORDS`, which lm-eval reads."""
    from evalprep.run import launcher

    launcher.main()
    return 0


PROGRAMS = {
    "evalprep": run_evalprep,
    "prepare_eval.py": run_prepare,
    "lm_eval": run_lm_eval,
    "evalprep.run.launcher": run_launcher,
}


def start_server(server: forkserver.ForkServer, environment: dict[str, str]) -> str:
    """Start a fork server where it does not run yet, in a given environment; returns its address."""
    server.set_forkserver_preload([*LIBRARIES, *(ENGINES if FULL else ()), "tests.preloaded"])
    # A test may stand in a folder from which nothing of these could be imported.
    with mock.patch.dict(os.environ, import_path() | environment):
        server.ensure_running()
    address: str = server._forkserver_address
    return address


def fork_server() -> Any:
    """The context of multiprocessing whose processes are forks of one that has imported everything."""
    start_server(forkserver._forkserver, {})
    return multiprocessing.get_context("forkserver")


def quick_starts() -> dict[str, str]:
    """The environment in which `evalprep` and `lm_eval`, typed into a shell, work in a fork.

    That is so in a full run alone, whose fork server has the engines.
    """
    return {SERVER: start_server(forkserver._forkserver, {})} if FULL else {}


@contextlib.contextmanager
def quick_starts_in(environment: dict[str, str]) -> Iterator[dict[str, str]]:
    """An environment with such quick starts, of a server for what libraries read as they are imported."""
    if not FULL:
        yield environment
        return
    server = forkserver.ForkServer()
    try:
        yield {**environment, SERVER: start_server(server, environment)}
    finally:
        server._stop()


class Started:
    """A command that runs: what tests use of `subprocess.Popen`."""

    def __init__(
        self,
        program: str,
        words: tuple[object, ...],
        *,
        cwd: Path | str | None = None,
        env: dict[str, str] | None = None,
        apart: bool = False,
    ) -> None:
        self.args = [program, *(str(word) for word in words)]
        self._folder = tempfile.TemporaryDirectory()
        names = ("out", "err") if apart else ("out", "out")
        self._files = [Path(self._folder.name) / name for name in names]
        streams = dict(enumerate(map(str, self._files), start=1))
        environment = {**os.environ, **(env or {})}
        self._process = fork_server().Process(
            target=child,
            args=(program, self.args[1:], str(cwd or Path.cwd()), environment, streams),
        )
        self._process.start()
        self.pid = self._process.pid

    @property
    def returncode(self) -> int | None:
        """The exit code; None while it runs."""
        return self._process.exitcode

    def poll(self) -> int | None:
        """The exit code; None while it runs."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int | None:
        """The exit code, once it has ended."""
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it still runs."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def texts(self) -> list[str]:
        """What it printed so far: both streams, or each of them."""
        return [path.read_text(encoding="utf-8", errors="replace") for path in self._files]

    def printed(self) -> str:
        """What it printed so far, on both streams."""
        return self.texts()[0]

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """What it printed, once it has ended."""
        self.wait(timeout)
        printed, errors = self.texts()
        return printed, errors


def start(*words: object, program: str = "evalprep", **options: Any) -> Started:
    """A command that runs; both of its streams are one text."""
    return Started(program, words, **options)


def run(
    *words: object,
    program: str = "evalprep",
    cwd: Path | str | None = None,
    env: dict[str, str] | None = None,
    timeout: float = 300,
    check: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Exit code and output of `evalprep WORDS`, or of another of the PROGRAMS."""
    started = Started(program, words, cwd=cwd, env=env, apart=True)
    try:
        code = started.wait(timeout)
    except subprocess.TimeoutExpired:
        started.kill()
        started.wait()
        raise
    done = subprocess.CompletedProcess(started.args, code or 0, *started.texts())
    if check and done.returncode:
        raise AssertionError(f"{done.args}\n{done.stdout}{done.stderr}")
    return done
