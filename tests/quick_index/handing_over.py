"""A command that hands itself over to the fork server of the tests, which has imported what it needs.

The start of lm-eval costs 6 to 18 s of CPU for its libraries. A test that pastes commands into a
shell may let each of them do its work in a fork: see `tests.processes.quick_starts`. The process
of the command stays, waits, and ends as the fork ends; it forwards signals, and the fork is killed
when it is killed.
"""

import contextlib
import fcntl
import os
import pickle
import signal
import socket
import struct
import sys
from pathlib import Path

#: The last part of a script, or a module behind -m -> the program.
PROGRAMS = {
    "evalprep": "evalprep",
    "lm_eval": "lm_eval",
    "evalprep.run.launcher": "evalprep.run.launcher",
}
_NUMBER = struct.Struct("q")  # as the fork server writes the pid and the exit code
_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Call:
    """One call of a program; made by the command, and done in the fork."""

    def __init__(self, program, words):
        self.program, self.words = program, words
        self.folder, self.environment = str(Path.cwd()), dict(os.environ)

    def _bootstrap(self, command):
        """What the fork server calls, with a pipe that closes when the command's process ends."""
        fcntl.fcntl(command, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(command, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(command, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
        with contextlib.suppress(BlockingIOError):
            if not os.read(command, 1):  # it ended meanwhile
                os.kill(os.getpid(), signal.SIGKILL)
        from multiprocessing.forkserver import get_inherited_fds

        from tests import processes

        for number, stream in enumerate(get_inherited_fds()):
            os.dup2(stream, number)
            os.close(stream)
        try:
            processes.perform(self.program, self.words, self.folder, self.environment)
        except SystemExit as ended:
            return _exit_code(ended.code)
        return 0


def _exit_code(code):
    if code is None or isinstance(code, int):
        return code or 0
    print(code, file=sys.stderr, flush=True)
    return 1


def call_of(words):
    """The call that the words of a Python process are; None for any other process."""
    rest = [word for word in words[1:] if word not in {"-P", "-u", "-B"}]
    if rest[:1] == ["-m"]:
        program, rest = PROGRAMS.get(rest[1]), rest[2:]
    else:
        program = PROGRAMS.get(Path(rest[0]).name) if rest and "/" in rest[0] else None
        rest = rest[1:]
    return Call(program, rest) if program else None


def hand_over(call, address):
    """Let a fork do a call; does not return."""
    root = str(Path(__file__).resolve().parents[2])
    content = pickle.dumps({"sys_path": [root, *sys.path]}) + pickle.dumps(call)
    status, status_of_child = os.pipe()
    data_of_child, data = os.pipe()
    nobody = os.open(os.devnull, os.O_RDWR)  # in place of the descriptors of a parent in Python
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(address)
        files = [data_of_child, status_of_child, nobody, nobody, 0, 1, 2]
        socket.send_fds(server, [bytes([len(files)])], files)
    os.close(status_of_child)
    os.close(data_of_child)
    os.write(data, content)
    (pid,) = _NUMBER.unpack(os.read(status, _NUMBER.size))
    for number in _FORWARDED:
        signal.signal(number, lambda received, _: os.kill(pid, received))
    code = _NUMBER.unpack(os.read(status, _NUMBER.size))[0]
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)
