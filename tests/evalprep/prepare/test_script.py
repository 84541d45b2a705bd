"""command.sh: what it does where a command of several tasks fails. The commands are shell functions here."""

import subprocess
from dataclasses import replace

import pytest

from evalprep.prepare import script
from evalprep.prepare.commands import Invocation

RUN = r"""
WORK_DIR=work_dir
status() {
    left=0
    for task in a b c; do [ -e "done-$task" ] || { left=1; echo "$task"; }; done
    return $left
}
evalprep() { shift; status "$@"; }
call() {
    echo "call $*" >>calls
    while [ $# -gt 1 ]; do
        if [ "$1" = --tasks ]; then tasks=$2; fi
        shift
    done
    case ",$tasks," in *",$BAD,"* | *",$BAD2,"*) return 1 ;; esac
    for task in $(echo "$tasks" | tr , ' '); do : >"done-$task"; done
}
step c1-plain call --model "some model" --tasks a,b,c --metadata run=r1,command=c1-plain
exit $failed
"""


@pytest.fixture
def walk(tmp_path):
    """A function that walks one command of three tasks of which some fail; returns exit code, calls and messages."""

    def run(bad, bad2="none"):
        text = script._HEAD + RUN
        environment = {"BAD": bad, "BAD2": bad2, "PATH": "/usr/bin:/bin"}
        done = subprocess.run(
            ["sh", "-c", text],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, (tmp_path / "calls").read_text().splitlines(), done.stderr

    return run


def test_what_goes_well_is_called_once(walk):
    assert walk("none")[:2] == (
        0,
        ["call --model some model --tasks a,b,c --metadata run=r1,command=c1-plain"],
    )


@pytest.mark.parametrize("bad", ["a", "b", "c"])
def test_a_task_that_fails_costs_no_other(walk, tmp_path, bad):
    code, calls, said = walk(bad)
    assert code == 1
    assert [call.split("--tasks ")[1].split()[0] for call in calls] == ["a,b,c", "a", "b", "c"]
    assert calls[1].endswith("--metadata run=r1,command=c1-plain-alone")
    assert "c1-plain: a alone" in said
    assert {file.name for file in tmp_path.glob("done-*")} == {
        f"done-{name}" for name in "abc" if name != bad
    }


def test_where_the_first_two_fail_the_others_are_not_tried(walk):
    code, calls, _ = walk("a", "b")
    assert (code, len(calls)) == (1, 3)


def test_the_next_stage_finds_the_project_where_it_is_not_installed():
    call = Invocation(
        "dummy", {}, ["a"], {}, {"PYTHONPATH": "/project", "HF_HUB_OFFLINE": "1"}, ours=["evalprep"]
    )
    line = script.continue_line(call, "/work dir")
    assert (
        line
        == """PYTHONPATH=/project"${PYTHONPATH:+:$PYTHONPATH}" evalprep prepare --continue '/work dir'"""
    )


def test_a_sole_command_is_started_by_our_launcher():
    """The printed line stands above as a comment; on another machine it is what is started."""
    here = Invocation(
        "dummy", {}, ["a"], {"limit": 2}, {}, ours=["/env/bin/python", "-P", "-m", "evalprep"]
    )
    assert script._single(here).splitlines() == [
        "#!/bin/sh",
        "# The command that prepare_eval.py printed, without lm-eval's index of its own tasks:",
        "# lm_eval --model dummy --tasks a --limit 2",
        "set -e",
        "/env/bin/python -P -m evalprep.run.launcher --model dummy --tasks a --limit 2",
    ]
    there = replace(here, ours=["evalprep"])
    assert script._single(there).splitlines()[-1] == "lm_eval --model dummy --tasks a --limit 2"


def test_no_line_of_a_command_is_left_of_its_comment():
    call = Invocation("dummy", {}, ["a"], {"system_instruction": "Be brief.\nexit 3"}, {})
    lines = script._single(call).splitlines()
    assert not any(line.startswith("# lm_eval") for line in lines)
    assert lines[2] == "set -e"
