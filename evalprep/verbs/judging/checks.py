"""`evalprep judge --agreement` and `--calibrate`: how far a judge can be trusted."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evalprep.annotate import (
    Agreement,
    Asked,
    Kept,
    RowRatings,
    Who,
    agreement,
    collect,
    go_on_plainly,
    length_bias,
    ratings_of,
    read_labels,
)
from evalprep.errors import BadInput, Problem
from evalprep.packs import Item, Pack, Rubric, SampleRef, text_at
from evalprep.results import Run, row_mappings
from evalprep.terminal import print_json
from evalprep.verbs.judging.arguments import Settings

CALIBRATION = "calibration"


def compared(
    args: argparse.Namespace,
    run: Run,
    packs: Mapping[str, Pack],
    kept: Kept,
    question_set: Asked,
    settings: Settings,
) -> int:
    """Kept ratings of a judge beside another judge's, or a person's.

    Raises:
        BadInput: the other judge is the same.
    """
    mine = ratings_of(question_set.every)
    file = Path(args.agreement)
    if file.is_file():
        theirs: RowRatings = read_labels(file)
    else:
        if args.agreement == settings.who.model:
            what = f"{args.agreement} is the judge itself, which agrees with itself"
            fix = "name another judge, or a file of labels"
            raise BadInput(Problem(what=what, where="--agreement", fix=fix))
        who = Who(args.agreement, settings.who.overrides)
        tasks = list(question_set.of_task)
        other_set = collect(
            run, packs, who, kept, tasks=tasks, limit=args.limit, rubric=settings.rubric
        )
        go_on_plainly(other_set, kept)
        theirs = ratings_of(other_set.every)
    agreements = agreement(mine, theirs)
    # (task, sample id) -> characters of the reply.
    lengths = {}
    for task in question_set.of_task:
        for row in row_mappings(run.tasks[task]):
            lengths[task, str(row["sample_id"])] = len(text_at(row, "response"))
    bias = length_bias(question_set.every, lengths)
    apart = _apart(mine, theirs)
    if args.json:
        data = {
            "agreement": [entry.to_dict() for entry in agreements],
            "length": bias,
            "furthest_apart": apart,
        }
        print_json(data)
    else:
        print(
            f"{settings.who.model} and {args.agreement}: "
            f"{len(mine)} and {len(theirs)} rated samples"
        )
        show_agreement(agreements)
        for name, correlation in bias.items():
            print(f"{name} and the length of the reply: rank correlation {_interval(correlation)}")
        for sample in apart[:5]:
            numbers = f"{sample['first']:g} and {sample['second']:g}"
            print(
                f"  largest difference: {sample['task']} {sample['sample_id']}: "
                f"{sample['value']} {numbers}"
            )
    return 0 if any(entry.n for entry in agreements) else 3


def _apart(mine: RowRatings, theirs: RowRatings) -> list[dict[str, Any]]:
    """Samples with different ratings, the furthest apart first."""
    pairs: list[dict[str, Any]] = []
    for (task, sample_id), values in mine.items():
        others = theirs.get((task, sample_id), {})
        row = {"task": task, "sample_id": sample_id}
        pairs += [
            row | {"value": name, "first": number, "second": others[name]}
            for name, number in values.items()
            if name in others and others[name] != number
        ]
    return sorted(pairs, key=lambda pair: -abs(pair["first"] - pair["second"]))


def show_agreement(agreements: list[Agreement]) -> None:
    """Prints one block per value."""
    for entry in agreements:
        print(f"{entry.value}: {entry.n} rated by both, equal {_interval(entry.same)}")
        print(
            f"  kappa {_interval(entry.kappa)}, quadratic weights {_interval(entry.weighted_kappa)}"
        )
        alpha = "none" if entry.alpha is None else f"{entry.alpha:.3f}"
        print(
            f"  alpha (interval) {alpha}, Pearson {_interval(entry.pearson)}, "
            f"Spearman {_interval(entry.spearman)}"
        )
        print(f"  mean difference {_interval(entry.difference)}")
    if not agreements:
        print("no value was rated by both")


def preference_lines(comparison: Mapping[str, Any]) -> list[str]:
    """Wins of a comparison of two runs, and the judge's bias, as text."""
    wins = f"{comparison['wins']} won, {comparison['ties']} tied, {comparison['losses']} lost"
    first = _interval(comparison["first_place"])
    longer = _interval(comparison["longer"])
    rate = _interval(comparison["win_rate"])
    return [
        f"{comparison['n']} pairs with a verdict in both orders: {wins}; win rate {rate}",
        f"verdicts that follow the place: {_interval(comparison['flips'])} of the pairs",
        f"verdicts for the reply shown first: {first}; for the longer reply: {longer}",
    ]


def _interval(estimate: Mapping[str, Any]) -> str:
    if estimate["value"] is None:
        return "none"
    if estimate["low"] is None:
        return f"{estimate['value']:.3f}"
    return f"{estimate['value']:.3f} ({estimate['low']:.3f} to {estimate['high']:.3f})"


def calibration_items(rubric: Rubric) -> list[Item]:
    """The calibration questions of a rubric, as items of a task of their own."""
    items: list[Item] = []
    for number, example in enumerate(rubric.calibration):
        sample = SampleRef(CALIBRATION, f"{rubric.name}-{number}", number)
        items += rubric.questions(
            (sample,), {name: str(text) for name, text in example["fields"].items()}
        )
    return items


def expected_ratings(rubric: Rubric) -> dict[tuple[str, str], dict[str, float]]:
    """Returns what the calibration questions should get."""
    return {
        (CALIBRATION, f"{rubric.name}-{number}"): {
            name: float(value) for name, value in example["expected"].items()
        }
        for number, example in enumerate(rubric.calibration)
    }
