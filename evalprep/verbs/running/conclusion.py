"""The steps after a run: scores, comparison, report, and the gate where a policy is given."""

from __future__ import annotations

import argparse
import contextlib
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from evalprep.errors import BadInput, Problem
from evalprep.places import nearby, typed
from evalprep.terminal import command_text
from evalprep.verbs.options import configured_packs
from evalprep.verbs.registry import call_verb


def check_arguments(args: argparse.Namespace) -> None:
    """Refuses what could not be used after the run, before the run costs time.

    Raises:
        BadInput: a baseline or a policy that cannot be read, or --json with either.
    """
    if args.replicas < 0:
        raise BadInput(Problem(what=f"--replicas {args.replicas}", allowed="a whole number >= 0"))
    if args.engine == "local":
        for name in ("address", "replicas"):
            if getattr(args, name):
                what = f"--{name} is of use with --engine ray only"
                raise BadInput(Problem(what=what, fix=f"add --engine ray, or leave out --{name}"))
    else:
        is_part = any("/" in word for word in args.shard or [])
        if args.replies or is_part:
            what = "--engine ray runs all of a folder, and asks its own engines"
            raise BadInput(Problem(what=what, fix="leave out --replies and --shard K/N"))
    for option in ("baseline", "gate"):
        if args.json and getattr(args, option):
            raise BadInput(
                Problem(
                    what=f"--json stops after the run, before --{option} is used",
                    fix=f"leave one out; evalprep {'compare' if option == 'baseline' else option} "
                    "has --json, too",
                )
            )
    if args.baseline:
        from evalprep.packs import on_demand
        from evalprep.results import open_run

        open_run(args.baseline, on_demand())
    if args.gate:
        from evalprep.gate import read_policy

        read_policy(args.gate)


def conclude(
    results: Sequence[Path],
    of_models: Path | None,
    template_dir: Sequence[Path],
    args: argparse.Namespace,
) -> int:
    """Scores the run, compares it, writes the report, and returns the exit code.

    Args:
        results: The results file of each command.
        of_models: The folder of the results of several models, which become one table.
        template_dir: Folders of packs beside the shipped ones.
        args: The arguments of `evalprep run`.
    """
    packs = ["--template_dir", ",".join(map(nearby, template_dir))] if template_dir else []
    if of_models is not None:
        _step("leaderboard", [of_models, "--out", of_models / "leaderboard", *packs])
        return 0
    from evalprep.results import NEWEST, load_run

    place, timestamp = place_of(results)
    choice = [] if timestamp == NEWEST else ["--timestamp", timestamp]
    options = [*choice, *packs]
    baseline = [args.baseline] if args.baseline else []
    against = ["--baseline", *baseline] if baseline else []
    has_published = False
    with contextlib.suppress(BadInput):  # a run without samples has nothing to compare
        has_published = bool(load_run(place, timestamp=timestamp).judged)
    is_compared = has_published or bool(baseline)
    _step("score", [place, *options], is_compared=is_compared)
    _step("report", [place, *options, *against])
    sides = [place, *baseline, *options]
    if is_compared:
        _step("compare", sides)
    code = 0
    if args.gate:
        code = call_verb("gate", [*sides, "--policy", args.gate], is_compared=is_compared)
    # The command that prints the samples behind the scores, as it is typed in this folder.
    is_usual = [Path(folder) for folder in template_dir] == configured_packs()
    words = ["--lost" if is_compared else "--wrong", *against, *(choice if is_usual else options)]
    step = f"evalprep samples {typed(place)} {shlex.join(words)}"
    print(command_text(step, sys.stdout, "next: "), flush=True)
    return code


def place_of(results: Sequence[Path]) -> tuple[Path, str]:
    """Returns the folder of a run's results, and which run of it that is, as `--timestamp` says it.

    Args:
        results: The results file of each of its commands.
    """
    place = results[-1].parent
    if any(path.parent != place for path in results):
        place = place.parent  # several back ends write into several folders
    return place, _choice_of(results, place)


def _choice_of(results: Sequence[Path], place: Path) -> str:
    """Returns the value of `--timestamp` by which the verbs read a run, and no other, at a place.

    Its commands may have been done before other runs wrote there.
    """
    from evalprep.results import EACH, NEWEST, find_run, invocation_of

    ids = {invocation_of("", path, {}).run for path in results}
    if ids == {""}:
        # Calls without a run id are told apart by their time stamps alone.
        return EACH if len(results) > 1 else NEWEST
    run = max(ids)
    try:
        return NEWEST if find_run(place).run == run else run
    except BadInput:  # several models lie there
        return run


def _step(verb: str, words: Sequence[object], *, is_compared: bool = False) -> None:
    """One step; what it lacks costs that step alone, as the run itself is done."""
    try:
        call_verb(verb, words, is_compared=is_compared)
    except BadInput as error:
        for problem in error.problems:
            print(f"{verb} left out: {problem}", file=sys.stderr)
