"""Read eval_config.yaml, write the task YAMLs and data into work_dir, print the lm_eval command."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
import textwrap
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from evalprep.terminal import counted, status_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evalprep.packs.plan import Excluded
    from evalprep.prepare.preparation import Preparation


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "--config_path",
        "--config",
        type=Path,
        default=Path("eval_config.yaml"),
        metavar="FILE",
        help="the config (default: ./eval_config.yaml)",
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="overrule one key; may be repeated"
    )
    parser.add_argument(
        "--continue",
        dest="continued",
        nargs="?",
        type=Path,
        const=Path("work_dir"),
        metavar="WORK_DIR",
        help="make the data of the next stage from the replies so far (default: ./work_dir)",
    )
    parser.add_argument("--check", action="store_true", help="check everything and stop before writing")
    parser.add_argument(
        "--force", action="store_true", help="regenerate files that you edited; yours are kept as NAME.yours"
    )
    parser.add_argument(
        "--no-check",
        dest="checked",
        action="store_false",
        help="print the command whatever the check of tasks and data says",
    )
    parser.add_argument("--quiet", action="store_true", help="print the command and nothing else")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def main(args: argparse.Namespace) -> int:
    """Prepare, or only check."""
    if args.continued is not None:
        return _continue(args)
    from evalprep.config.file import load_config

    config, packs = load_config(args.config_path, args.set)
    # Imported once the config is known to be right: a mistake in it is told at once.
    from evalprep.packs.plan import as_json
    from evalprep.prepare.preparation import plan, prepare

    if args.check:
        joined = plan(config, packs)
        excluded = joined.plan.excluded
        return _check(args, [name for name in joined.plan.tasks if name not in excluded], excluded)
    full = args.checked and not os.environ.get("EVALPREP_QUICK_CHECK")
    with status_line() as progress:
        done = prepare(config, packs, force=args.force, full=full, stop=args.checked, progress=progress)
    if args.json:
        print(
            json.dumps(
                {
                    "work_dir": str(done.work_dir),
                    "tasks": done.tasks,
                    "sources": done.sources,
                    "notes": done.notes,
                    "findings": [one.as_dict() for one in done.findings],
                    "commands": done.lines,
                    "excluded": {name: as_json(one) for name, one in done.excluded.items()},
                },
                indent=2,
            )
        )
        return 0
    if not args.quiet:
        _report(done, config.core.verbosity, config.core.output_path, config.core.template_dir)
    for line in done.lines:
        print(line)
    return 0


def _continue(args: argparse.Namespace) -> int:
    """Make the data of later stages; 2 where replies are missing."""
    from evalprep.prepare.stages import continue_stages

    stages = continue_stages(args.continued)
    if args.json:
        print(json.dumps([vars(one) for one in stages], indent=2))
    for one in () if args.json else stages:
        if one.state == "waiting":
            print(f"{one.task}: waits; {one.reason}", file=sys.stderr)
        else:
            print(f"{one.task}: {one.state}, {counted(one.rows or 0, 'row')}")
    if not stages and not args.json:
        print("the preparation has one stage: nothing to continue")
    return 2 if any(one.state == "waiting" for one in stages) else 0


def _check(args: argparse.Namespace, names: list[str], excluded: Mapping[str, Excluded]) -> int:
    """Everything that can be found before the run, without touching work_dir."""
    from evalprep.check import Findings, check_full
    from evalprep.packs.plan import as_json
    from evalprep.prepare.target import config_target

    findings = Findings()
    with config_target(args.config_path, args.set) as target:
        check_full(target.roots, target.requested, target.settings, findings)
        found = target.final(findings)
    errors = sum(one.level == "error" for one in found)
    if args.json:
        left_out = {name: as_json(one) for name, one in excluded.items()}
        data = {"tasks": names, "findings": [one.as_dict() for one in found], "excluded": left_out}
        print(json.dumps(data, indent=2))
    else:
        print("".join(f"{one}\n" for one in found), file=sys.stderr, end="")
        fine = f"config ok, {counted(len(names), 'task')}: {', '.join(names)}"
        print("\n".join([counted(errors, "error") if errors else fine, *_left_out(excluded)]))
    return 2 if errors else 0


def _left_out(excluded: Mapping[str, Excluded]) -> list[str]:
    """Every task that will not run, by its name, with the reason; those of one reason together."""
    from evalprep.check.folds import WIDTH

    names: dict[str, list[str]] = {}
    for name, one in excluded.items():
        names.setdefault(one.reason, []).append(name)
    wrap = partial(textwrap.wrap, width=WIDTH, initial_indent="  ", subsequent_indent="    ", break_long_words=False)
    return [
        line
        for reason, own in names.items()
        for line in wrap(f"left out: {', '.join(own)}: {reason}", break_on_hyphens=False)
    ]


def _report(done: Preparation, verbosity: str, output: Path, packs: Sequence[Path]) -> None:
    """What was prepared, on stderr: stdout carries the command alone. The config's verbosity decides how much."""
    if verbosity not in {"INFO", "DEBUG"}:
        warnings = [one for one in done.findings if one.level == "warning" and verbosity == "WARNING"]
        print("".join(f"{one}\n" for one in warnings), file=sys.stderr, end="", flush=True)
        return
    from evalprep.check.folds import WIDTH, fold, paragraph

    # Only published verdicts can be compared with; without any, the suite scores are the next thing to see.
    verb = "compare" if any(facts["previous"] for facts in done.tasks.values()) else "score"
    # A folder of packs holds code: whoever reads the results names it again.
    named = "".join(f" --template_dir {shlex.quote(os.path.relpath(one))}" for one in packs)
    several = f" for {counted(done.models, 'model')}" if done.models > 1 else ""
    lines = [f"prepared {counted(len(done.tasks), 'task')}{several} in {done.work_dir}", ""]
    width = max((len(name) for name in done.tasks), default=0)
    for name, facts in done.tasks.items():
        parts = ["rows come from earlier replies" if facts["rows"] is None else counted(facts["rows"], "row")]
        if facts["previous"]:
            parts.append(f"published {facts['previous']['micro']:.4f} micro, {facts['previous']['macro']:.4f} macro")
        lines.append(f"  {name:<{width}}  {', '.join(parts)}")
        if join := facts["join"]:
            damaged = f", {join['unusable']} damaged" if join["unusable"] else ""
            lines.append(
                f"  {'':<{width}}  join: {join['exact']} exact, {join['normalised']} normalised, "
                f"{join['unmatched']} unmatched, {join['ambiguous']} ambiguous{damaged} of {join['rows']}"
            )
    lines += [f"  read {one}" if not one.startswith(" ") else f"       {one}" for one in done.read]
    told = {one.code for one in done.findings}
    lines += _left_out(
        {name: one for name, one in done.excluded.items() if one.kind != "helper" or "EP709" not in told}
    )
    lines += [f"  note: {note}" for note in done.notes]
    roots = [str(done.work_dir)]
    lines += [f"  {line}" for one in fold(done.findings) for line in paragraph(one, roots, WIDTH).splitlines()]
    below = "the command below is" if len(done.lines) == 1 else "the commands below are"
    lines += [
        "",
        f"{below} also in {done.work_dir / 'command.sh'}",
        # Several commands leave their samples under several time stamps.
        "afterwards: " + (f"evalprep leaderboard {output}" if done.models > 1 else f"evalprep {verb} RUN") + named,
        "",
    ]
    print("\n".join(lines), file=sys.stderr, flush=True)
