"""Read eval_config.yaml, write the task YAMLs and data into work_dir, print the lm_eval command."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import textwrap
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalprep.places import CONFIG, WORK_DIR, nearby, typed
from evalprep.tables import Column, Kind, Table, table_lines
from evalprep.terminal import command_text, counted, line_width, print_json, status_line
from evalprep.verbs.options import configured_packs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evalprep.config import Config, Core
    from evalprep.packs import Excluded, Pack
    from evalprep.prepare import Preparation

#: Facts of a task whose files come with lm-eval or stand in the config.
_NO_FACTS = {"pack": None, "rows": None, "join": None, "previous": None}
_INDENT = "  "


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "--config_path",
        "--config",
        type=Path,
        default=CONFIG,
        metavar="FILE",
        help="the config (default: ./eval_config.yaml)",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="overrule one key; may be repeated",
    )
    parser.add_argument(
        "--continue",
        dest="continued",
        nargs="?",
        type=Path,
        const=WORK_DIR,
        metavar="WORK_DIR",
        help="make the data of the next stage from the replies so far (default: ./work_dir)",
    )
    parser.add_argument(
        "--check",
        nargs="?",
        const="only",
        default="on",
        choices=("only", "off"),
        help="check everything and stop before writing (only); or print the command whatever the "
        "check of tasks and data finds (off)",
    )
    parser.add_argument(
        "--force",
        action="store_true",
        help="regenerate files that you edited; yours are kept as NAME.yours",
    )
    parser.add_argument("--quiet", action="store_true", help="print the command and nothing else")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def main(args: argparse.Namespace) -> int:
    """Prepare, or only check."""
    if args.continued is not None:
        return _continue(args)
    if args.check == "only":
        return _check(args)
    from evalprep.config import load_config

    config, packs = load_config(args.config_path, args.set)
    done = _prepare(config, packs, force=args.force, checked=args.check == "on")
    if args.json:
        from evalprep.packs import as_json

        # The preparation for `--json`.
        print_json(
            {
                "work_dir": str(done.work_dir),
                "tasks": {name: done.tasks.get(name, _NO_FACTS) for name in done.plan.tasks},
                "sources": done.sources,
                "notes": done.notes,
                "findings": [finding.as_dict() for finding in done.findings],
                "commands": done.lines,
                "excluded": {name: as_json(reason) for name, reason in done.excluded.items()},
            }
        )
        return 0
    if not args.quiet:
        # Stdout carries the command alone; what was prepared goes to stderr.
        if config.core.verbosity in {"INFO", "DEBUG"}:
            lines = _report_lines(done, config.core, is_one_off=bool(args.set))
            print("\n".join(lines), file=sys.stderr, flush=True)
        elif config.core.verbosity == "WARNING":
            warnings = [finding for finding in done.findings if finding.level == "warning"]
            print(
                "".join(f"{warning}\n" for warning in warnings), file=sys.stderr, end="", flush=True
            )
    for line in done.lines:
        print(command_text(line, sys.stdout))
    return 0


def prepare_and_report(config: Config, packs: Mapping[str, Pack]) -> None:
    """Prepares as `evalprep prepare` does, and prints what was prepared on standard error."""
    done = _prepare(config, packs)
    if config.core.verbosity in {"INFO", "DEBUG"}:
        lines = [*_summary_lines(done), *_finding_lines(done)]
        print("\n".join(lines), file=sys.stderr, flush=True)


def _prepare(
    config: Config, packs: Mapping[str, Pack], *, force: bool = False, checked: bool = True
) -> Preparation:
    """Prepares with a status line; its imports come after the names of the tasks are known."""
    from evalprep.prepare import refuse_unknown_tasks

    refuse_unknown_tasks(config, packs)
    from evalprep.prepare import prepare

    full = checked and not os.environ.get("EVALPREP_QUICK_CHECK")
    with status_line() as progress:
        return prepare(config, packs, force=force, full=full, stop=checked, progress=progress)


def _continue(args: argparse.Namespace) -> int:
    """Make the data of later stages; 2 where replies are missing."""
    from evalprep.prepare import continue_stages

    stages = continue_stages(args.continued)
    if args.json:
        print_json([vars(stage) for stage in stages])
    else:
        for stage in stages:
            if stage.state == "waiting":
                print(f"{stage.task}: waits; {stage.reason}", file=sys.stderr)
            else:
                print(f"{stage.task}: {stage.state}, {counted(stage.rows or 0, 'row')}")
        if not stages:
            print("the preparation has one stage: nothing to continue")
    return 2 if any(stage.state == "waiting" for stage in stages) else 0


def _check(args: argparse.Namespace) -> int:
    """Everything that can be found before the run, without touching work_dir."""
    from evalprep.check import Findings, check_full
    from evalprep.packs import Plan
    from evalprep.prepare import config_target

    findings = Findings()
    with config_target(args.config_path, args.set) as target:
        check_full(target.roots, target.requested, target.settings, findings)
        final = target.final(findings)
    planned = target.planned or Plan()
    errors = sum(finding.level == "error" for finding in final)
    if args.json:
        from evalprep.packs import as_json

        data = {
            "tasks": list(planned.tasks),
            "findings": [finding.as_dict() for finding in final],
            "excluded": {name: as_json(reason) for name, reason in planned.excluded.items()},
        }
        print_json(data)
        return 2 if errors else 0
    print("".join(f"{finding}\n" for finding in final), file=sys.stderr, end="")
    fine = f"config ok, {counted(len(planned.tasks), 'task')}: {', '.join(planned.tasks)}"
    result = counted(errors, "error") if errors else fine
    print("\n".join([result, *_excluded_lines(planned.excluded)]))
    return 2 if errors else 0


def _excluded_lines(excluded: Mapping[str, Excluded]) -> list[str]:
    """Every task that will not run, by its name, with the reason; those of one reason together."""
    from evalprep.check import WIDTH

    names: dict[str, list[str]] = {}
    for name, entry in excluded.items():
        names.setdefault(entry.reason, []).append(name)
    wrap = partial(
        textwrap.wrap,
        width=WIDTH,
        initial_indent="  ",
        subsequent_indent="    ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    sentences = [f"left out: {', '.join(own)}: {reason}" for reason, own in names.items()]
    return list(chain.from_iterable(map(wrap, sentences)))


def _report_lines(done: Preparation, core: Core, *, is_one_off: bool) -> list[str]:
    # `evalprep run` alone follows the file, and so would prepare another run.
    command = partial(command_text, stream=sys.stderr)
    words = f"evalprep run {typed(done.work_dir)}"
    run_as_prepared = [command(words, before="next: ")] if is_one_off else []
    # The form of a sole command that starts 10 to 15 s of CPU earlier.
    quick = []
    if len(done.lines) == 1 and done.quick_lines:
        line = command(done.quick_lines[0], before="  ")
        quick = ["the same command with a start that is 10 s faster:", line]
    below = "the command below is" if len(done.lines) == 1 else "the commands below are"
    return [
        *_summary_lines(done),
        *_finding_lines(done),
        "",
        f"{below} also in {done.work_dir / 'command.sh'}",
        *quick,
        *run_as_prepared,
        command(_next_command(done, core), before="afterwards: "),
        "",
    ]


def _summary_lines(done: Preparation) -> list[str]:
    """The tasks with their rows, the sources, what was left out, and the notes."""
    several = f" for {counted(len(done.subjects), 'model')}" if len(done.subjects) > 1 else ""
    count = counted(len(done.plan.tasks), "task")
    sources = (f"       {line}" if line.startswith(" ") else f"  read {line}" for line in done.read)
    # The exclusions that no finding names: EP709 names those for want of a helper.
    named = any(finding.code == "EP709" for finding in done.findings)
    return [
        f"prepared {count}{several} in {done.work_dir}",
        "",
        *_task_lines(done),
        *sources,
        *_excluded_lines(
            {
                name: entry
                for name, entry in done.excluded.items()
                if not named or entry.kind != "helper"
            }
        ),
        *(f"  note: {note}" for note in done.notes),
    ]


def _task_lines(done: Preparation) -> list[str]:
    """The tasks with their rows, and below these the counts of the join where there is one."""
    table = Table("", [Column("", Kind.NAME), Column("", wraps=True)])
    for name, task in done.plan.tasks.items():
        facts = done.tasks.get(name)
        if facts is None:  # the preparation does not read the rows of these
            origin = "of lm-eval" if task.stock else "of the config"
            table.add(name, f"of {nearby(task.file)}" if task.file else origin)
            continue
        sentences = [_rows_sentence(facts)]
        if facts["join"]:
            # How many rows have their gold answer from the ground truth, and how it was found.
            join = facts["join"]
            counts = {
                "by equal text": join["exact"],
                "by normalised text": join["normalised"],
                "without a match": join["unmatched"],
                "with several matches": join["ambiguous"],
                "damaged": join["unusable"],
            }
            shown = ", ".join(f"{count} {how}" for how, count in counts.items() if count)
            sentences.append(f"gold answers for {counted(join['rows'], 'row')}: {shown or 'none'}")
        table.add(name, "\n".join(sentences))
    return table_lines(table, line_width(sys.stderr), indent="  ")


def _rows_sentence(facts: Mapping[str, Any]) -> str:
    rows, published = facts["rows"], facts["previous"]
    sentence = "rows come from earlier replies" if rows is None else counted(rows, "row")
    if not published:
        return sentence
    return f"{sentence}, published {published['micro']:.4f} micro, {published['macro']:.4f} macro"


def _finding_lines(done: Preparation) -> list[str]:
    from evalprep.check import WIDTH, fold, paragraph

    roots = [str(done.work_dir)]
    paragraphs = [paragraph(folded, roots, WIDTH - len(_INDENT)) for folded in fold(done.findings)]
    lines = chain.from_iterable(map(str.splitlines, paragraphs))
    return [f"{_INDENT}{line}" for line in lines]


def _next_command(done: Preparation, core: Core) -> str:
    """The command that shows the outcome of the run."""
    # Only published verdicts can be compared with; without any, the suite scores are the next thing
    # to see.
    published = any(facts["previous"] for facts in done.tasks.values())
    verb = "compare" if published else "score"
    if len(done.subjects) > 1:  # their samples lie under several time stamps
        verb = "leaderboard"
    results = shlex.quote(nearby(core.output_path))
    # A folder of packs holds code: verbs after the run take it from the config in the current
    # folder, or from whoever names it again.
    packs = [nearby(folder) for folder in core.template_dir]
    is_usual = [folder.resolve() for folder in core.template_dir] == configured_packs()
    option = f" --template_dir {shlex.quote(','.join(packs))}" if packs and not is_usual else ""
    return f"evalprep {verb} {results}{option}"
