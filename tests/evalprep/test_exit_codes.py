"""What ends a verb, and the exit code that scripts see."""

import argparse
import errno
from types import SimpleNamespace

import pytest

from evalprep.cli import _run
from evalprep.errors import BadInput, Problem


def ended(error):
    def main(_):
        raise error

    return _run(SimpleNamespace(main=main), argparse.Namespace(json=False))


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        pytest.param(BadInput(Problem(what="no such run", where="here")), 2, "here: no such run", id="bad input"),
        pytest.param(KeyboardInterrupt(), 130, "interrupted", id="interrupted"),
        pytest.param(MemoryError(), 2, "not enough memory", id="memory"),
        pytest.param(OSError(errno.ENOSPC, "No space left on device"), 2, "error: No space left", id="full disk"),
        pytest.param(OSError(errno.EROFS, "Read-only file system", "/x"), 2, "error: /x: Read-only", id="read-only"),
        pytest.param(OSError(errno.EACCES, "Permission denied", "/x"), 2, "error: /x: Permission", id="not allowed"),
    ],
)
def test_what_ends_a_verb(error, code, said, capsys):
    assert ended(error) == code
    assert said in capsys.readouterr().err


def test_a_fault_of_the_program_is_not_hidden():
    with pytest.raises(OSError, match="Bad file descriptor"):
        ended(OSError(errno.EBADF, "Bad file descriptor"))
    with pytest.raises(ZeroDivisionError):
        ended(ZeroDivisionError())
