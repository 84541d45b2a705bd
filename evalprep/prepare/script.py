"""The commands as files and lines: command.sh, the run configurations, and what to paste."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field

import yaml

from evalprep.backends import shell_words
from evalprep.packs import Command, DataFiles
from evalprep.prepare.commands import Invocation, shell_line

_HEAD = """\
#!/bin/sh
# The commands that prepare_eval.py printed, in order. What is done is skipped, \
so that this can be started again after
# an interruption; what fails stops only what needs its replies. \
Of a command that fails the tasks are repeated one by
# one, so that a task that fails costs no other; \
where the first two of them fail too, the fault is not a task's.
failed=0
step() {
    name=$1
    shift
    if evalprep status --left "$name" "$WORK_DIR" >/dev/null 2>&1; then
        echo "$name: done already"
    elif ! "$@"; then
        failed=1
        one_by_one "$name" "$@"
    fi
}
one_by_one() {
    name=$1
    shift
    left=$(evalprep status --left "$name" "$WORK_DIR" 2>/dev/null)
    [ "$(echo "$left" | wc -l)" -gt 1 ] || return
    went=0
    lost=0
    for task in $left; do
        [ "$went" -gt 0 ] || [ "$lost" -lt 2 ] || return
        echo "$name: $task alone" >&2
        if alone "$task" "$name" "$@"; then went=1; else lost=$((lost + 1)); fi
    done
}
alone() {
    only=$1
    name=$2
    shift 2
    before=
    for word do
        shift
        this=$word
        [ "$before" != --tasks ] || this=$only
        [ "$before" != --metadata ] || this=$word-alone
        before=$word
        set -- "$@" "$this"
    done
    "$@"
}
"""


@dataclass
class Step:
    """One command on its way into the work folder.

    Attributes:
        command: As the manifest has it.
        call: As lm-eval has it.
        data: What must be made from earlier replies before it can start.
    """

    command: Command
    call: Invocation
    data: list[DataFiles] = field(default_factory=list)

    def lines(self, work_dir: str) -> list[str]:
        """The lines to paste for it; before a later stage comes the one that makes its data."""
        before = [continue_line(self.call, work_dir)] if self.data else []
        return [*before, self.call.text()]


def continue_line(call: Invocation, work_dir: str) -> str:
    """The command that makes the data of the next stage."""
    return call.own_line("prepare", "--continue", work_dir)


def script(steps: Sequence[Step], work_dir: str) -> str:
    """command.sh: one command, started by our launcher.

    Several with what was done skipped, and the stages in order.
    """
    if len(steps) == 1:
        return _single(steps[0].call)
    first = steps[0].call
    own = f'evalprep() {{ {first.own_line()} "$@"; }}' if first.ours != ["evalprep"] else ""
    lines = [_HEAD, own, f"WORK_DIR={shlex.quote(work_dir)}"]
    depth = 0
    for step in steps:
        if step.command.depth > depth:
            depth = step.command.depth
            lines += [
                "",
                f"# stage {depth + 1}: data from the replies so far",
                f"{continue_line(step.call, work_dir)} || failed=1",
            ]
        words = shell_line(step.call.quick_argv(), {})
        env = " ".join(shell_words(step.call.env))
        line = f"step {step.command.name} {f'env {env} ' if env else ''}{words}"
        if step.data:
            here = " && ".join(
                f"[ {'-d' if data.is_folder else '-f'} {shlex.quote(str(data.path))} ]"
                for data in step.data
            )
            line = (
                f"if {here}; then {line}; else echo {step.command.name}: waits for earlier "
                "replies >&2; failed=1; fi"
            )
        lines.append(line)
    return "\n".join([*lines, "", "exit $failed", ""])


def _single(call: Invocation) -> str:
    """The script of a sole command; the line that was printed stands above as a comment."""
    printed, quick = call.text(), shell_line(call.quick_argv(), call.env)
    comment = ["# The command that prepare_eval.py printed."]
    if quick != printed and "\n" not in printed:
        comment = [
            "# The command that prepare_eval.py printed, without lm-eval's index of its own tasks:",
            f"# {printed}",
        ]
    return "\n".join(["#!/bin/sh", *comment, "set -e", quick, ""])


def run_configuration(step: Step) -> str:
    """The call for `lm_eval run --config`."""
    env = " ".join(shell_words(step.call.env))
    own_module = len(step.call.program) > 1
    program = shlex.join(step.call.program) if own_module else "lm_eval"
    head = f"# {env + ' ' if env else ''}{program} run --config {step.command.file}\n"
    return head + yaml.safe_dump(step.call.run_yaml(), sort_keys=False)
