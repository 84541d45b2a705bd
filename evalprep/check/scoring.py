"""EP5: what the task's own filters and scorer say of replies whose verdict is known."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from evalprep.check.bound import TimeBoundError
from evalprep.check.data import listed
from evalprep.check.finding import Findings
from evalprep.check.loading import LoadedTask
from evalprep.check.quiet import quiet
from evalprep.check.replies import HARD, UNRELATED, perfect_replies, published_reply
from evalprep.check.scorer import BOUND_SECONDS, SLOW_SECONDS, Scorer, Verdict
from evalprep.terminal import tracked

# Fields of a line of lm-eval's sample log.
RESERVED = frozenset(
    {
        "doc_id",
        "doc",
        "target",
        "arguments",
        "resps",
        "filtered_resps",
        "filter",
        "metrics",
        "doc_hash",
        "prompt_hash",
        "target_hash",
    }
)
# Above this share a disagreement with the published verdicts is a warning: scorers that read the same replies
# differ by a few per cent at most, as the published ones do among themselves.
MAX_DISAGREEMENT = 0.05
CREDIT = 1 - 1e-9
HALF = 0.5


@dataclass
class _Tally:
    """What a whole task showed, before it becomes findings."""

    failures: dict[str, list[str]] = field(default_factory=dict)
    too_slow: list[str] = field(default_factory=list)
    missed: dict[str, list[str]] = field(default_factory=dict)
    wrongly: dict[str, list[str]] = field(default_factory=dict)
    differing: list[str] = field(default_factory=list)
    published: int = 0
    golds: int = 0
    keys: dict[str, set[frozenset[str]]] = field(default_factory=dict)
    values: dict[tuple[str, str], list[Any]] = field(default_factory=dict)
    odd: dict[str, dict[str, str]] = field(default_factory=dict)


def check_scoring(
    loaded: LoadedTask, findings: Findings, *, rows: int | None = None, hard: bool = False
) -> Scorer | None:
    """Score known replies on every row, and report what a run would suffer from.

    Args:
        loaded: The task with its requests.
        findings: Gets what is found.
        rows: Look at the first rows only.
        hard: Also score replies on which extraction and parsing get slow.
    """
    if loaded.own or not loaded.instances:
        if loaded.own:
            findings.add(
                "EP305", loaded.leaf.where(), f"{loaded.name} was loaded and its requests were built", task=loaded.name
            )
        return None
    from custom_metrics.harness.results import second_opinions

    with quiet():
        scorer, tally = Scorer(loaded), _Tally()
        asked = second_opinions.set(False)  # the verdicts of other tools decide nothing here
        numbers = list(islice(loaded.instances, rows))
        for number in tracked(numbers, f"{loaded.name}: scoring", len(numbers)):
            _check_row(scorer, number, tally)
        second_opinions.reset(asked)
        if loaded.generates and hard:
            _hard_replies(scorer, tally)
        _report(scorer, tally, findings)
        _report_shape(scorer, tally, findings)
    return scorer


def _try(scorer: Scorer, number: int, replies: list[Any], label: str, tally: _Tally) -> Verdict | None:
    row = scorer.loaded.row_name(number)
    try:
        verdict = scorer.score(number, replies, label)
    except TimeBoundError:
        tally.too_slow.append(f"{row} ({label})")
        return None
    except Exception as error:  # noqa: BLE001 - a scorer that raises is the finding
        tally.failures.setdefault(f"{type(error).__name__}: {str(error)[:120]}", []).append(f"{row} ({label})")
        return None
    for name, metrics in verdict.metrics.items():
        tally.keys.setdefault(name, set()).add(frozenset(metrics))
        for metric, value in metrics.items():
            if problem := _unsafe(value):
                tally.odd.setdefault(problem, {}).setdefault(metric, f"{row} ({label})")
            if label in {"perfect", "published"}:
                tally.values.setdefault((metric, name), []).append(value)
    return verdict


def _check_row(scorer: Scorer, number: int, tally: _Tally) -> None:
    loaded = scorer.loaded
    row = loaded.row_name(number)
    published = _published(scorer, number, tally) if loaded.generates else None
    # What counts mistakes has no perfect reply.
    perfect = list(_perfect(loaded, number)) if scorer.metric else []
    # A published output that is right, and found right by every filter, is a perfect reply; no other need be made.
    credited = _crediting(scorer, published)
    for replies in perfect:
        if credited >= set(scorer.filters):
            break
        verdict = _try(scorer, number, replies, "perfect", tally)
        if verdict is None:
            perfect = []  # already reported as a failure
            break
        credited |= _crediting(scorer, verdict)
    if perfect:
        tally.golds += 1
        for name in set(scorer.filters) - credited:
            tally.missed.setdefault(name, []).append(row)
    if not loaded.generates:
        for replies in _worst(loaded, number):
            verdict = _try(scorer, number, replies, "wrong", tally)
            _credit(scorer, verdict, "EP504", row, tally, threshold=CREDIT)
        return
    empty = _try(scorer, number, [""], "empty", tally)
    if perfect:
        unrelated = _try(scorer, number, [UNRELATED], "unrelated", tally)
        _credit(scorer, empty, "EP503", row, tally, threshold=HALF)
        _credit(scorer, unrelated, "EP504", row, tally, threshold=HALF)
    elif published is None:
        _try(scorer, number, [UNRELATED], "unrelated", tally)


def _published(scorer: Scorer, number: int, tally: _Tally) -> Verdict | None:
    """Score the published output and hold it against the published verdict; None unless that says right."""
    found = published_reply(scorer.loaded.instances[number][0].doc)
    if found is None:
        return None
    verdict = _try(scorer, number, [found[0]], "published", tally)
    if verdict is None or (value := verdict.value(scorer.metric, scorer.filter)) is None:
        return None
    tally.published += 1
    if (value >= CREDIT) is not found[1]:
        tally.differing.append(scorer.loaded.row_name(number))
    return verdict if found[1] else None


def _crediting(scorer: Scorer, verdict: Verdict | None) -> set[str]:
    """The filters under which a reply scores 1."""
    if verdict is None:
        return set()
    return {name for name in scorer.filters if (verdict.value(scorer.metric, name) or 0.0) >= CREDIT}


def _credit(scorer: Scorer, verdict: Verdict | None, code: str, row: str, tally: _Tally, *, threshold: float) -> None:
    if verdict is not None and (verdict.value(scorer.metric, scorer.filter) or 0.0) >= threshold:
        tally.wrongly.setdefault(code, []).append(row)


def _perfect(loaded: LoadedTask, number: int) -> Iterator[list[Any]]:
    """Perfect replies of a row: texts, or log-likelihoods under which the gold choice is the best."""
    requests = loaded.instances[number]
    if str(loaded.leaf.metadata.get("gold_check", "")).lower() in {"none", "false"}:
        return
    if loaded.generates:
        for text in perfect_replies(loaded.task, requests[0].doc):
            yield [text]
    elif loaded.leaf.output_type == "multiple_choice" and requests[0].request_type == "loglikelihood":
        for position in _gold_positions(loaded, number):
            yield [
                (-0.1, True) if index % _choices(loaded, number) == position else (-50.0, False)
                for index in range(len(requests))
            ]


def _worst(loaded: LoadedTask, number: int) -> Iterator[list[Any]]:
    """Log-likelihoods under which the gold choice is the least likely."""
    requests, gold = loaded.instances[number], _gold_positions(loaded, number)
    if requests[0].request_type == "loglikelihood_rolling":
        yield [-10.0]
    elif loaded.leaf.output_type == "multiple_choice" and gold and len(gold) < _choices(loaded, number):
        yield [
            (-500.0, False) if index % _choices(loaded, number) in gold else (-1.0, False)
            for index in range(len(requests))
        ]
    elif loaded.leaf.output_type == "loglikelihood":
        yield [(-500.0, False) for _ in requests]


def _choices(loaded: LoadedTask, number: int) -> int:
    return len(loaded.task.doc_to_choice(loaded.instances[number][0].doc))


def _gold_positions(loaded: LoadedTask, number: int) -> list[int]:
    doc = loaded.instances[number][0].doc
    if loaded.leaf.output_type != "multiple_choice" or loaded.task.multiple_input:
        return []
    choices, gold = loaded.task.doc_to_choice(doc), loaded.task.doc_to_target(doc)
    positions = [
        choices.index(one) if isinstance(one, str) and one in choices else one
        for one in (gold if isinstance(gold, list) else [gold])
    ]
    return [one for one in positions if isinstance(one, int) and 0 <= one < len(choices)]


def _hard_replies(scorer: Scorer, tally: _Tally) -> None:
    number = next(iter(scorer.loaded.instances))
    for label, text in HARD.items():
        _try(scorer, number, [text], label, tally)


def _unsafe(value: Any) -> str:
    """What JSON has against a value; empty when nothing."""
    from lm_eval.utils import handle_non_serializable

    try:
        json.dumps(value, default=handle_non_serializable)
    except (TypeError, ValueError) as error:
        return str(error)
    numbers = value if isinstance(value, list | tuple) else value.values() if isinstance(value, Mapping) else [value]
    return "nan" if any(isinstance(one, float) and not math.isfinite(one) for one in numbers) else ""


def _report(scorer: Scorer, tally: _Tally, findings: Findings) -> None:
    leaf, task = scorer.loaded.leaf, scorer.loaded.name
    where = leaf.where("process_results" if "process_results" in leaf.config else "filter_list")
    for message, rows in tally.failures.items():
        findings.add("EP501", where, f"{task}: {message} in {listed(rows, len(rows), 'case')}", task=task)
    if tally.too_slow:
        findings.add(
            "EP516",
            where,
            f"{task}: more than {BOUND_SECONDS:g} s of CPU in {listed(tally.too_slow, len(tally.too_slow), 'case')}",
            task=task,
        )
    seconds, row, label = scorer.slowest
    if seconds > SLOW_SECONDS:
        findings.add("EP515", where, f"{task}: {seconds:.1f} s of CPU for row {row} ({label} reply)", task=task)
    if scorer.metric and not (tally.golds or tally.failures or tally.too_slow):
        findings.add("EP505", where, f"{task} has no gold answer that a reply could repeat", task=task)
    for name, rows in tally.missed.items():
        code = "EP502" if name == scorer.filter else "EP517"
        if not tally.failures:
            findings.add(
                code,
                where,
                f"{task}, filter {name}: {scorer.metric} is below 1 for a reply that gives the gold answer, in "
                f"{listed(rows, len(rows))} of {tally.golds}",
                task=task,
            )
    for code, rows in tally.wrongly.items():
        findings.add(code, where, f"{task}: {scorer.metric} in {listed(rows, len(rows))}", task=task)
    if tally.differing:
        share = len(tally.differing) / tally.published
        findings.add(
            "EP513" if share > MAX_DISAGREEMENT else "EP514",
            where,
            f"{task}: {scorer.metric} under {scorer.filter} differs "
            f"from the published verdict in {share:.1%} of {tally.published} rows, "
            f"{listed(tally.differing, len(tally.differing))}",
            task=task,
        )


def _report_shape(scorer: Scorer, tally: _Tally, findings: Findings) -> None:
    """The keys and values that the scorer returned, against what lm-eval does with them."""
    leaf, task = scorer.loaded.leaf, scorer.loaded.name
    where = leaf.where("process_results" if "process_results" in leaf.config else "metric_list")
    returned = {key for sets in tally.keys.values() for keys in sets for key in keys}
    for key in sorted(returned & RESERVED):
        findings.add("EP506", where, f"{task} returns {key!r}", task=task)
    for name, sets in tally.keys.items():
        if len(sets) > 1:
            varying = sorted(frozenset.union(*sets) - frozenset.intersection(*sets))
            findings.add(
                "EP507", where, f"{task}, filter {name}: {', '.join(varying)} only for some replies", task=task
            )
    declared = set(scorer.task.aggregation())
    for key in sorted(returned - declared - RESERVED):
        findings.add("EP508", where, f"{task} returns {key!r}", task=task)
    for key in sorted(declared - returned) if returned and not tally.failures else []:
        findings.add("EP511", where, f"{task} never returns {key!r}", task=task)
    for problem, metrics in tally.odd.items():
        code = "EP510" if problem == "nan" else "EP509"
        for metric, place in metrics.items():
            findings.add(
                code,
                where,
                f"{task} returns {metric!r} in row {place}" + ("" if problem == "nan" else f": {problem}"),
                task=task,
            )
    broken: set[str] = set()
    for (metric, _), values in tally.values.items():
        function = scorer.task.aggregation().get(metric)
        if function is None or metric in broken:
            continue
        try:
            function(list(values))
        except Exception as error:  # noqa: BLE001 - an aggregation that raises is the finding
            broken.add(metric)
            findings.add(
                "EP512",
                leaf.where("metric_list"),
                f"{task}, {metric}: {type(error).__name__}: {str(error)[:120]}",
                task=task,
            )
