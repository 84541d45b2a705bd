"""What ends a verb, and the exit code that scripts see."""

import argparse
import errno
import json
import os
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from evalprep.cli import VERBS, _run, main
from evalprep.errors import BadInput, Problem
from evalprep.verbs.options import next_words


def ended(error, *, as_json=False):
    def main(_):
        raise error

    return _run(SimpleNamespace(main=main), argparse.Namespace(json=as_json), writes=True)


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        pytest.param(
            BadInput(Problem(what="no such run", where="here")),
            2,
            "here: no such run",
            id="bad input",
        ),
        pytest.param(KeyboardInterrupt(), 130, "interrupted", id="interrupted"),
        pytest.param(MemoryError(), 2, "not enough memory", id="memory"),
        pytest.param(
            OSError(errno.ENOSPC, "No space left on device"),
            2,
            "error: No space left",
            id="full disk",
        ),
        pytest.param(
            OSError(errno.EROFS, "Read-only file system", "/x"),
            2,
            "error: /x: Read-only",
            id="read-only",
        ),
        pytest.param(
            OSError(errno.EACCES, "Permission denied", "/x"),
            2,
            "error: /x: Permission",
            id="not allowed",
        ),
    ],
)
def test_what_ends_a_verb(error, code, said, capsys):
    assert ended(error) == code
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    "error",
    [OSError(errno.EBADF, "Bad file descriptor"), ZeroDivisionError(), OverflowError("too large")],
)
def test_a_fault_of_the_program_is_not_hidden(error, capsys):
    """Neither 1, which is a regression to a CI job, nor silence: 70, the traceback, and what to do with it."""
    assert ended(error) == 70
    printed = capsys.readouterr()
    assert "Traceback" in printed.err
    assert "fault of evalprep" in printed.err
    assert type(error).__name__ in printed.err
    assert "report it to the maintainers" in printed.err
    assert printed.out == ""


def test_a_fault_with_json_is_json(capsys):
    assert ended(ZeroDivisionError("x / 0"), as_json=True) == 70
    data = json.loads(capsys.readouterr().out)
    assert data["error"] == "fault of evalprep"
    assert "ZeroDivisionError: x / 0" in data["problems"][0]["what"]
    assert "Traceback" in data["traceback"]


def test_a_credential_in_a_fault_is_not_printed(capsys):
    secret = "sk-" + "a1B2" * 10
    assert ended(RuntimeError(f"Authorization: Bearer {secret}")) == 70
    assert secret not in capsys.readouterr().err


def test_the_author_of_a_pack_can_have_the_exception(monkeypatch):
    monkeypatch.setenv("EVALPREP_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        ended(ZeroDivisionError())


@pytest.mark.parametrize("option", ["--no-write", "--no_write"])
@pytest.mark.parametrize("folder", ["--template-dir", "--template_dir"])
def test_options_are_accepted_with_hyphens_and_underscores(option, folder, tmp_path, capsys):
    assert main(["score", str(tmp_path / "no-such_run"), option, folder, str(tmp_path)]) == 2
    assert str(tmp_path) in capsys.readouterr().err


@pytest.mark.parametrize("verb", VERBS)
def test_one_form_of_an_option_is_shown(verb, capsys):
    with pytest.raises(SystemExit) as ending:
        main([verb, "--help"])
    assert ending.value.code == 0
    assert re.findall(r"--[a-z]+-[a-z-]+", capsys.readouterr().out) == []


@pytest.mark.parametrize("words", [["list"], ["gate", "-h"], ["--version"]])
def test_output_that_nobody_reads_is_no_success(words, monkeypatch):
    """A failed gate in a pipe would pass: `evalprep gate ... | head -1`."""
    read_end, write_end = os.pipe()
    os.close(read_end)
    with os.fdopen(write_end, "w") as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        assert main(words) == 141


def test_a_next_step_repeats_what_chose_the_run():
    args = argparse.Namespace(
        timestamp="2026-11", label=["a b"], template_dir=[Path("my packs")], tasks=["x", "y"]
    )
    line = next_words("compare", ["run"], args)
    words = ["evalprep", "compare", "run", "--label", "a b", "--tasks", "x,y"]
    assert line[:3] == words[:3]
    assert {*words, "my packs"} < {*line}
    assert "--tasks" not in next_words("leaderboard", ["run"], args)
