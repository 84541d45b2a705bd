"""`evalprep judge --agreement` and `--calibrate`: how far a judge can be trusted."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evalprep.annotate.answers import Who
from evalprep.annotate.collect import Asked, collect, go_on_plainly
from evalprep.annotate.kept import Kept
from evalprep.annotate.quality import Agreement, Ratings, agreement, length_bias, ratings_of, read_labels
from evalprep.packs.annotator import Item, SampleRef
from evalprep.packs.pack import Pack
from evalprep.packs.rubric import Rubric, text_at
from evalprep.results import Run
from evalprep.results.rows import row_mappings
from evalprep.verbs.judging.arguments import Settings

CALIBRATION = "calibration"


def compared(
    args: argparse.Namespace, run: Run, packs: Mapping[str, Pack], kept: Kept, asked: Asked, settings: Settings
) -> int:
    """Kept ratings of a judge beside another judge's, or a person's."""
    mine = ratings_of(asked.every)
    file = Path(args.agreement)
    if file.is_file():
        theirs: Ratings = read_labels(file)
    else:
        who = Who(args.agreement, settings.who.overrides)
        tasks = list(asked.of_task)
        asked_other = collect(run, packs, who, kept, tasks=tasks, limit=args.limit, rubric=settings.rubric)
        go_on_plainly(asked_other, kept)
        theirs = ratings_of(asked_other.every)
    found = agreement(mine, theirs)
    lengths = {
        (task, str(row["sample_id"])): len(text_at(row, "response"))
        for task in asked.of_task
        for row in row_mappings(run.tasks[task])
    }
    bias = length_bias(asked.every, lengths)
    apart = _apart(mine, theirs)
    if args.json:
        data = {"agreement": [one.to_dict() for one in found], "length": bias, "furthest_apart": apart}
        print(json.dumps(data, indent=2, ensure_ascii=False))
    else:
        print(f"{settings.who.model} beside {args.agreement}: {len(mine)} and {len(theirs)} rated samples")
        show_agreement(found)
        for name, one in bias.items():
            print(f"{name} and the length of the reply: rank correlation {_interval(one)}")
        for one in apart[:5]:
            numbers = f"{one['first']:g} and {one['second']:g}"
            print(f"  furthest apart: {one['task']} {one['sample_id']}: {one['value']} {numbers}")
    return 0 if any(one.n for one in found) else 3


def _apart(mine: Ratings, theirs: Ratings) -> list[dict[str, Any]]:
    """Samples with different ratings, the furthest apart first."""
    pairs = [
        {"task": key[0], "sample_id": key[1], "value": name, "first": number, "second": theirs[key][name]}
        for key, values in mine.items()
        for name, number in values.items()
        if name in theirs.get(key, {}) and theirs[key][name] != number
    ]
    return sorted(pairs, key=lambda one: -abs(one["first"] - one["second"]))


def show_agreement(found: list[Agreement]) -> None:
    """Print one block per value."""
    for one in found:
        print(f"{one.value}: {one.n} rated by both, equal {_interval(one.same)}")
        print(f"  kappa {_interval(one.kappa)}, quadratic weights {_interval(one.weighted_kappa)}")
        alpha = "none" if one.alpha is None else f"{one.alpha:.3f}"
        print(f"  alpha (interval) {alpha}, Pearson {_interval(one.pearson)}, Spearman {_interval(one.spearman)}")
        print(f"  mean difference {_interval(one.difference)}")
    if not found:
        print("no value was rated by both")


def preference_lines(found: Mapping[str, Any]) -> list[str]:
    """Wins of a comparison of two runs, and the judge's bias, as text."""
    wins = f"{found['wins']} won, {found['ties']} tied, {found['losses']} lost"
    first, longer = _interval(found["first_place"]), _interval(found["longer"])
    return [
        f"{found['n']} pairs with a verdict in both orders: {wins}; win rate {_interval(found['win_rate'])}",
        f"verdicts that follow the place: {_interval(found['flips'])} of the pairs",
        f"verdicts for the reply shown first: {first}; for the longer reply: {longer}",
    ]


def _interval(one: Mapping[str, Any]) -> str:
    if one["value"] is None:
        return "none"
    if one["low"] is None:
        return f"{one['value']:.3f}"
    return f"{one['value']:.3f} ({one['low']:.3f} to {one['high']:.3f})"


def calibration_items(rubric: Rubric) -> list[Item]:
    """The calibration questions of a rubric, as items of a task of their own."""
    items: list[Item] = []
    for number, one in enumerate(rubric.calibration):
        sample = SampleRef(CALIBRATION, f"{rubric.name}-{number}", number)
        items += rubric.questions((sample,), {name: str(text) for name, text in one["fields"].items()})
    return items


def expected_ratings(rubric: Rubric) -> dict[tuple[str, str], dict[str, float]]:
    """What the calibration questions should get."""
    return {
        (CALIBRATION, f"{rubric.name}-{number}"): {name: float(value) for name, value in one["expected"].items()}
        for number, one in enumerate(rubric.calibration)
    }
