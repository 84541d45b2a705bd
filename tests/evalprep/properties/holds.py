"""The properties that hold between verbs whatever the rows of two runs are; each returns what breaks it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from tests.evalprep.properties.answers import Answers, quantities_of

UNDECIDED = {"not comparable", "not enough evidence"}
MIRRORED = {"better": "worse", "worse": "better"}
NUMBERS = ("n", "now", "previous", "delta", "low", "high", "p", "p_holm", "mde")
FEWEST = 20  # rows of a gate and of a first place
GAIN = 1e-12  # a difference of less is one of rounding


def breaks_of_equal_pairs(answers: Answers) -> Iterator[str]:
    """Rows that both sides have are equal: nothing is better or worse, no gate fails or passes by a gain."""
    for name, item in answers.quantities.items():
        if item["verdict"] in {"better", "worse", "different"}:
            yield f"compare: {name} {item['words']}"
        if item["verdict"] not in UNDECIDED and abs(item["delta"] or 0.0) > GAIN:
            yield f"compare: {name} differs by {item['delta']}"
    if answers.compare[0] == 1:
        yield "compare: exit code 1"
    for name, check in answers.checks.items():
        if check["status"] == "fail":
            yield f"gate: {name} fails: {check['message']}"
        is_gain = (check["drop"] or 0.0) < -GAIN or "gain of" in check["message"]
        if check["status"] == "pass" and is_gain:
            yield f"gate: {name} passes by a gain: {check['message']}"
        if (check["most_lost"] or 0.0) < 0 or "a loss is ruled out" in check["message"]:
            yield f"gate: {name} rules out a loss: {check['message']}"
    yield from _ranked(answers)


def _ranked(answers: Answers) -> Iterator[str]:
    """What the leaderboard marks as the first one, or as different."""
    yield from (f"leaderboard: {pair}" for pair in answers.board["pairs"])
    for cells in answers.cells:
        yield from (f"leaderboard: {name} leads" for name, cell in cells.items() if cell["leads"])


def breaks_of_lower_pairs(answers: Answers) -> Iterator[str]:
    """The candidate is equal or worse on each pair: nothing is better, nothing gains."""
    for name, item in answers.quantities.items():
        if item["verdict"] == "better":
            yield f"compare: {name} {item['words']}"
        if item["delta"] is not None and _gain(item) > GAIN:
            yield f"compare: {name} gains {item['delta']}"
    for name, check in answers.checks.items():
        if (check["drop"] or 0.0) < -GAIN:
            yield f"gate: {name}: {check['message']}"
        if (check["most_lost"] or 0.0) < 0 or "a loss is ruled out" in check["message"]:
            yield f"gate: {name} rules out a loss: {check['message']}"
    for pair in answers.board["pairs"]:
        if (pair["verdict"] == "better") == (pair["candidate"] == "candidate-run"):
            yield f"leaderboard: {pair}"
    now, before = answers.cells
    for name in now:
        if now[name]["leads"] and not before[name]["leads"]:
            yield f"leaderboard: {name}: the candidate alone leads"


def _gain(item: dict[str, Any]) -> float:
    return -item["delta"] if item["higher_is_better"] is False else item["delta"]


def breaks_of_exchange(answers: Answers, exchanged: Answers) -> Iterator[str]:
    """Sides exchanged: difference, interval and word of each quantity are mirrored in compare.

    Gate, report and leaderboard agree with compare by `breaks_of_agreement`.
    """
    quantities, others = answers.quantities, exchanged.quantities
    if set(quantities) != set(others):
        yield f"compare: {set(quantities) ^ set(others)} on one order alone"
    for name in quantities.keys() & others.keys():
        item, other = quantities[name], others[name]
        mirrored = {
            **item,
            "now": item["previous"],
            "previous": item["now"],
            "delta": _minus(item["delta"]),
            "low": _minus(item["high"]),
            "high": _minus(item["low"]),
        }
        yield from _differing(f"compare: {name}", mirrored, other)
        verdict = MIRRORED.get(item["verdict"], item["verdict"])
        if verdict != other["verdict"]:
            yield f"compare: {name} {item['words']}; exchanged {other['words']}"
        if item["lacks"] != other["lacks"] and set(item["lacks"]) != set(other["lacks"]):
            yield f"compare: {name} lacks {item['lacks']}; exchanged {other['lacks']}"


def breaks_of_copies(answers: Answers, copy: Answers, names: dict[str, str]) -> Iterator[str]:
    """The same pair with shuffled lines, in another place or under other names has the same result.

    Args:
        answers: Of the pair.
        copy: Of its copy.
        names: Task -> its name in the copy.
    """
    quantities = {_renamed(name, names): item for name, item in answers.quantities.items()}
    if set(quantities) != set(copy.quantities):
        yield f"compare: {set(quantities) ^ set(copy.quantities)} on one of both alone"
    for name in quantities.keys() & copy.quantities.keys():
        item, other = quantities[name], copy.quantities[name]
        yield from _differing(f"compare: {name}", item, other)
        if item["verdict"] != other["verdict"] or set(item["lacks"]) != set(other["lacks"]):
            yield f"compare: {name} {item['words']}; copy {other['words']}"
    if answers.compare[0] != copy.compare[0] or answers.gate[0] != copy.gate[0]:
        yield f"exit codes {answers.compare[0]}, {answers.gate[0]}; copy {copy.compare[0]}, {copy.gate[0]}"
    checks = {
        (kind, _renamed(name, names)): check for (kind, name), check in answers.checks.items()
    }
    for key, check in checks.items():
        if key not in copy.checks or check["status"] != copy.checks[key]["status"]:
            yield f"gate: {key} {check}; copy {copy.checks.get(key)}"


def _renamed(name: str, names: dict[str, str]) -> str:
    words = [
        names.get(word.rstrip(":"), word.rstrip(":")) + word[len(word.rstrip(":")) :]
        for word in name.split(" ")
    ]
    return " ".join(words)


def breaks_of_agreement(answers: Answers) -> Iterator[str]:
    """score, compare, gate, report, leaderboard and export agree on each quantity that they share."""
    quantities = answers.quantities
    yield from _report(answers, quantities)
    yield from _gate(answers, quantities)
    for place, key in enumerate(("now", "previous")):
        yield from _scores(answers, quantities, place, key)
    yield from _board(answers, quantities)
    yield from _groups(answers)
    yield from _exported(answers, quantities)


def _exported(answers: Answers, quantities: dict[str, dict[str, Any]]) -> Iterator[str]:
    """An export has each quantity once, with its rows, its word and its sentence."""
    cases = answers.exported
    if cases.keys() != quantities.keys():
        yield f"export: {cases.keys() ^ quantities.keys()} on one side alone"
    for name in cases.keys() & quantities.keys():
        item, case = quantities[name], cases[name]
        output = case.findtext("system-out") or ""
        if f"n={item['n']} " not in output:
            yield f"export: {name} has {output.splitlines()[0]}, compare n={item['n']}"
        open_ = [part.get("message") for part in case if part.tag in {"skipped", "failure"}]
        said = open_[0] if open_ else output.splitlines()[0].partition(": ")[2]
        if item["words"] and item["verdict"] and said != item["words"]:
            yield f"export: {name} says {said}, compare {item['words']}"
        is_open = item["verdict"] in UNDECIDED or (item["verdict"] == "worse" and item["decides"])
        if bool(open_) != is_open:
            yield f"export: {name} is {open_}, compare {item['verdict']}"


def _groups(answers: Answers) -> Iterator[str]:
    """A group has one value everywhere, and none that leaves out a task without any score."""
    for scores, cells in zip(answers.scores, answers.cells, strict=True):
        without = {task["task"] for task in scores["tasks"] if task["micro"]["agg_value"] is None}
        for group in scores["groups"]:
            value = group["micro"]["agg_value"]
            if value is not None and without & set(group["tasks"]):
                yield f"score: group {group['group']} {value} without {without}"
            cell = cells.get(group["group"])
            if cell is not None and not _is_close(cell["value"], value):
                yield f"leaderboard: group {group['group']} {cell['value']}, score {value}"


def _report(answers: Answers, quantities: dict[str, dict[str, Any]]) -> Iterator[str]:
    comparisons = answers.report["comparisons"]
    if not comparisons:
        return
    shown = quantities_of(comparisons[0])
    for name, item in quantities.items():
        keys = (*NUMBERS, "verdict", "words", "lacks", "own_now", "own_previous")
        differing = [key for key in keys if shown.get(name, {}).get(key) != item[key]]
        if differing:
            yield f"report: {name} differs in {differing}"


def _gate(answers: Answers, quantities: dict[str, dict[str, Any]]) -> Iterator[str]:
    by_name = {name.partition(" ")[2]: item for name, item in quantities.items()}
    by_name |= {name.removeprefix("drawn/"): item for name, item in by_name.items()}
    overall = next((item for name, item in by_name.items() if name.startswith("mean of")), None)
    for (kind, name), check in answers.checks.items():
        item = overall if kind == "overall" else by_name.get(name)
        if item is None:
            if check["status"] not in UNDECIDED:
                yield f"gate: {name} is {check['status']}, and compare has no such quantity"
            continue
        for key in ("n", "now", "previous", "low", "high"):
            if check[key] != item[key]:
                yield f"gate: {name} {key} {check[key]}, compare {item[key]}"
        is_undecided = item["verdict"] in UNDECIDED
        if is_undecided and check["status"] != item["verdict"]:
            yield f"gate: {name} is {check['status']}, compare: {item['words']}"
        is_short = check["n"] < FEWEST  # a gate takes more rows than a word
        if not is_undecided and check["status"] in UNDECIDED and not is_short:
            yield f"gate: {name}: {check['message']}, compare: {item['words']}"
        if check["status"] == "fail" and item["verdict"] == "better":
            yield f"gate: {name} fails, compare: {item['words']}"


def _scores(
    answers: Answers, quantities: dict[str, dict[str, Any]], place: int, key: str
) -> Iterator[str]:
    """The values that a run has alone: in score, beside those of compare, in the leaderboard."""
    cells = answers.cells[place]
    for (kind, name), (value, rows) in answers.own_values(place).items():
        item = quantities.get(f"{kind} {name}")
        own = None
        if item is not None:
            own = item[key] if item[f"own_{key}"] is None else item[f"own_{key}"]
        if item is not None and value is None and item["verdict"] not in UNDECIDED:
            yield f"score: {name} has no value, compare: {item['words']}"
        # Two metrics are named as such; score reads each run by its own one.
        kinds = set() if item is None else {reason["kind"] for reason in item["reasons"]}
        if (
            item is not None
            and value is not None
            and not ("metric" in kinds or _is_close(own, value))
        ):
            yield f"score: {name} {value}, compare {key} {item[key]}, own {item[f'own_{key}']}"
        cell = cells.get(name)
        if cell is not None and not (_is_close(cell["value"], value) and cell["n"] in {rows, None}):
            yield f"leaderboard: {name} {cell['value']} of {cell['n']}, score {value} of {rows}"
        if value is None and cell is not None and cell["leads"]:
            yield f"leaderboard: {name} leads without a value"


def _board(answers: Answers, quantities: dict[str, dict[str, Any]]) -> Iterator[str]:
    """A pair or a star of the leaderboard is a difference that compare shows, in no broken run."""
    kinds = {"suite": "suite", "task": "task", "secondary": "secondary"}
    by_name = {
        name.partition(" ")[2]: item
        for name, item in quantities.items()
        if name.partition(" ")[0] in kinds
    }
    for pair in answers.board["pairs"]:
        item = by_name[pair["column"]]
        first = pair["candidate"] == "candidate-run"
        verdict = item["verdict"] if first else MIRRORED.get(item["verdict"], item["verdict"])
        if verdict != pair["verdict"]:
            yield f"leaderboard: {pair}, compare {item['words']}"
    now, before = answers.cells
    for name, item in by_name.items():
        if name not in now or name not in before:
            continue
        leads = now[name]["leads"], before[name]["leads"]
        if any(leads) and item["verdict"] not in {"better", "worse"}:
            yield f"leaderboard: {name} has a first one, compare: {item['words']}"
        stands = [
            cell["value"] is not None and not cell["standing"] for cell in (now[name], before[name])
        ]
        # A first place takes more rows than a word.
        if all(stands) and item["verdict"] in {"better", "worse"} and item["n"] >= FEWEST:
            winner = 0 if item["verdict"] == "better" else 1
            if not leads[winner] or leads[1 - winner]:
                yield f"leaderboard: {name} leads {leads}, compare: {item['words']}"
        if (
            all(stands)
            and item["verdict"] == "not enough evidence"
            and "no_scored_pair" in item["lacks"]
        ):
            yield f"leaderboard: {name} ranks both, compare: {item['words']}"


def _differing(name: str, item: dict[str, Any], other: dict[str, Any]) -> Iterator[str]:
    for key in NUMBERS:
        if not _is_close(item[key], other[key]):
            yield f"{name} {key} {item[key]}; other {other[key]}"


def _minus(value: float | None) -> float | None:
    return None if value is None else -value


def _is_close(value: float | None, other: float | None) -> bool:
    if value is None or other is None:
        return value is other
    return math.isclose(value, other, rel_tol=1e-6, abs_tol=1e-9)
