"""Whether a command of a preparation is done: results of its run hold all its rows, whoever started it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evalprep.errors import BadInput, Problem, near
from evalprep.files import as_mapping
from evalprep.packs.manifest import commands_of, plan_of, require_manifest
from evalprep.packs.plan import Command


def is_done(work_dir: Path, name: str, run: str = "") -> bool:
    """Tell whether a command has all its results.

    Args:
        work_dir: The prepared folder.
        name: Name of the command, such as `c1-plain`.
        run: Id of the run; that of the command by default.

    Raises:
        BadInput: no prepared folder, or no such command.
    """
    manifest = require_manifest(work_dir)
    commands = {one.name: one for one in commands_of(manifest)}
    if name not in commands:
        raise BadInput(
            Problem(
                what=f"has no command {name!r}",
                where=str(work_dir),
                allowed=", ".join(commands),
                fix=near(name, commands),
            )
        )
    return command_is_done(commands[name], manifest, run or commands[name].run or str(manifest.get("run", "")))


def command_is_done(command: Command, manifest: Mapping[str, Any], run: str) -> bool:
    """The same for a command of a manifest. A preparation without run ids cannot tell, and says no.

    Results of another engine or other arguments of it (a data type, a seed) are of the same run and not this command's.
    """
    from evalprep.results import load_run
    from evalprep.results.files import run_calls
    from evalprep.results.invocations import as_texts

    output = Path(str(as_mapping(manifest.get("config")).get("output_path", "")))
    wanted = as_texts(as_mapping(command.engine.get("model_args")))
    calls = [one for one in (run_calls(output, run) if run else []) if one.model_args in (None, wanted)]
    if not calls:
        return False
    plan, facts = plan_of(manifest), as_mapping(manifest.get("tasks"))
    whole = load_run(output, run=run)
    for name in command.tasks:
        task = plan.tasks.get(name)
        if task is not None and task.stock:
            # How many rows and members one of lm-eval's own has is known to lm-eval alone, which writes all or nothing.
            if not any(one.command == command.name for one in calls):
                return False
            continue
        if name not in whole.tasks:
            return False
        expected = as_mapping(facts.get(name)).get("expected")
        if isinstance(expected, int) and max(one.rows.get(name, 0) for one in calls) < expected:
            return False
        if expected is None and task is not None and task.after:
            return False  # its data are not made yet
    return True
