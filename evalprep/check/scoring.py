"""EP5: what the task's own filters and scorer say of replies whose verdict is known."""

from __future__ import annotations

import json
import math
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any

from evalprep.check.bound import TimeBoundError
from evalprep.check.data import listed
from evalprep.check.finding import Findings
from evalprep.check.loading import LoadedTask
from evalprep.check.matching_text import can_write
from evalprep.check.replies import (
    HARD,
    gold_texts,
    perfect_replies,
    position_of,
    published_reply,
    unrelated_reply,
)
from evalprep.check.scorer import BOUND_SECONDS, SLOW_SECONDS, Scorer, Verdict
from evalprep.check.silence import quiet
from evalprep.run import beyond_kind
from evalprep.samples import RESERVED, STATED_WITHOUT_BOX
from evalprep.terminal import tracked

# Above this share a disagreement with the published verdicts is a warning: scorers that read the
# same replies differ by a few per cent at most, as the published ones do among themselves.
MAX_DISAGREEMENT = 0.05
CREDIT = 1 - 1e-9
HALF = 0.5


@dataclass(frozen=True)
class _Place:
    """A line of a task's own module: file and number, and its code for a message."""

    where: str
    code: str


@dataclass(frozen=True)
class _Failure:
    """An error of a scorer, and the line of the task's own modules where it came up, if any."""

    message: str
    place: _Place | None


@dataclass
class _Tally:
    """The counts of a whole task, before they become findings."""

    failures: dict[_Failure, list[str]] = field(default_factory=dict)
    too_slow: list[str] = field(default_factory=list)
    missed: dict[str, list[str]] = field(default_factory=dict)
    wrongly: dict[str, list[str]] = field(default_factory=dict)
    differing: list[str] = field(default_factory=list)
    published: int = 0
    scored_replies: int = 0
    without_box: list[str] = field(default_factory=list)
    golds: int = 0
    keys: dict[str, set[frozenset[str]]] = field(default_factory=dict)
    values: dict[tuple[str, str], list[Any]] = field(default_factory=dict)
    odd: dict[str, dict[str, str]] = field(default_factory=dict)


def check_scoring(
    loaded: LoadedTask, findings: Findings, *, rows: int | None = None, hard: bool = False
) -> Scorer | None:
    """Scores known replies on every row, and reports what a run would suffer from.

    Args:
        loaded: The task with its requests.
        findings: Gets what is found.
        rows: Look at the first rows only.
        hard: Also score replies on which extraction and parsing get slow.
    """
    if loaded.own:
        what = f"{loaded.name} was loaded and its requests were built"
        # Which of its requests files of replies cannot answer.
        requests = chain.from_iterable(loaded.instances.values())
        kinds = sorted({request.request_type for request in requests})
        needed = " and ".join(filter(None, map(beyond_kind, kinds)))
        if needed:
            what += f"; `evalprep prompts` leaves it out, as files of replies hold no {needed}"
        findings.add_at("EP305", loaded.leaf, "", what)
        return None
    if not loaded.instances:
        return None
    from custom_metrics.harness.results import second_opinions

    with quiet():
        scorer, tally = Scorer(loaded), _Tally()
        token = second_opinions.set(False)  # the verdicts of other tools decide nothing here
        try:
            numbers = list(islice(loaded.instances, rows))
            for number in tracked(numbers, f"{loaded.name}: scoring", len(numbers)):
                _check_row(scorer, number, tally)
        finally:
            second_opinions.reset(token)
        if loaded.generates and hard:
            number = next(iter(scorer.loaded.instances))
            for label, text in HARD.items():
                _try(scorer, number, [text], label, tally)
        _report(scorer, tally, findings)
        _report_shape(scorer, tally, findings)
    return scorer


def _try(
    scorer: Scorer, number: int, replies: list[Any], label: str, tally: _Tally
) -> Verdict | None:
    """Scores one reply; None where the scorer raises or takes too long, which is counted."""
    case = f"{scorer.loaded.row_name(number)} ({label})"
    try:
        verdict = scorer.score(number, replies, label)
    except TimeBoundError:
        tally.too_slow.append(case)
        return None
    except Exception as error:  # noqa: BLE001 - a scorer that raises is the finding
        failure = _Failure(
            _message_of(error), _place_of(error, scorer.loaded.leaf.file.path.parent)
        )
        cases = tally.failures.setdefault(failure, [])
        cases.append(case)
        return None
    is_right = label in {"perfect", "published"}
    for name, metrics in verdict.metrics.items():
        keys = tally.keys.setdefault(name, set())
        keys.add(frozenset(metrics))
        for metric, value in metrics.items():
            problem = _unsafe(value)
            if problem:
                tally.odd.setdefault(problem, {}).setdefault(metric, case)
            if is_right:
                values = tally.values.setdefault((metric, name), [])
                values.append(value)
    return verdict


def _place_of(error: Exception, folder: Path) -> _Place | None:
    """The innermost line of the task's own modules that an error came through."""
    frames = traceback.extract_tb(error.__traceback__)
    modules = {path.resolve() for path in folder.rglob("*.py")}
    own = [frame for frame in frames if Path(frame.filename).resolve() in modules]
    if not own:
        return None
    last = own[-1]
    code = f", at `{last.line}`" if last.line else ""
    return _Place(f"{last.filename}:{last.lineno}", code)


def _message_of(error: Exception) -> str:
    """The kind of an error and the beginning of its text."""
    return f"{type(error).__name__}: {str(error)[:120]}"


def _check_row(scorer: Scorer, number: int, tally: _Tally) -> None:
    """Scores replies of one row whose verdict is known, and counts what is wrong."""
    loaded = scorer.loaded
    row = loaded.row_name(number)
    published = _published(scorer, number, tally) if loaded.generates else None
    has_perfect = _check_perfect(scorer, number, published, tally)
    if not loaded.generates:
        for replies in _worst(loaded, number):
            verdict = _try(scorer, number, replies, "wrong", tally)
            _credit(scorer, verdict, "EP504", row, tally, threshold=CREDIT)
        return
    empty = _try(scorer, number, [""], "empty", tally)
    if not has_perfect and published is not None:
        return
    golds = gold_texts(loaded.task, loaded.instances[number][0].doc)
    reply = unrelated_reply(golds)
    unrelated = _try(scorer, number, [reply], "unrelated", tally)
    if has_perfect:
        _credit(scorer, empty, "EP503", row, tally, threshold=HALF)
        _credit(scorer, unrelated, "EP504", row, tally, threshold=HALF)


def _check_perfect(scorer: Scorer, number: int, published: Verdict | None, tally: _Tally) -> bool:
    """Scores perfect replies until every filter finds one right.

    Returns whether there are any that can be scored.
    """
    # What counts mistakes has no perfect reply.
    perfect = list(_perfect(scorer.loaded, number)) if scorer.metric else []
    # A published output that is right, and found right by every filter, is a perfect reply; no
    # other need be made.
    credited = _crediting(scorer, published)
    for replies in perfect:
        if credited >= set(scorer.filters):
            break
        verdict = _try(scorer, number, replies, "perfect", tally)
        if verdict is None:
            return False  # already reported as a failure
        credited |= _crediting(scorer, verdict)
    if perfect:
        tally.golds += 1
        row = scorer.loaded.row_name(number)
        for name in set(scorer.filters) - credited:
            rows = tally.missed.setdefault(name, [])
            rows.append(row)
    return bool(perfect)


def _published(scorer: Scorer, number: int, tally: _Tally) -> Verdict | None:
    """Scores the published output and holds it against the published verdict.

    None unless that says right.
    """
    loaded = scorer.loaded
    published = published_reply(loaded.instances[number][0].doc)
    if published is None:
        return None
    reply, was_right = published
    verdict = _try(scorer, number, [reply], "published", tally)
    if verdict is None:
        return None
    row = loaded.row_name(number)
    tally.scored_replies += 1
    if any(metrics.get(STATED_WITHOUT_BOX) for metrics in verdict.metrics.values()):
        tally.without_box.append(row)
    value = verdict.value(scorer.metric, scorer.filter)
    if value is None:
        return None
    tally.published += 1
    is_right = value >= CREDIT
    if is_right is not was_right:
        tally.differing.append(row)
    return verdict if was_right else None


def _crediting(scorer: Scorer, verdict: Verdict | None) -> set[str]:
    """The filters under which a reply scores 1."""
    names = set()
    if verdict is not None:
        for name in scorer.filters:
            value = verdict.value(scorer.metric, name) or 0.0
            if value >= CREDIT:
                names.add(name)
    return names


def _credit(
    scorer: Scorer, verdict: Verdict | None, code: str, row: str, tally: _Tally, *, threshold: float
) -> None:
    """Counts a row whose wrong reply gets credit."""
    if verdict is None:
        return
    value = verdict.value(scorer.metric, scorer.filter) or 0.0
    if value >= threshold:
        rows = tally.wrongly.setdefault(code, [])
        rows.append(row)


def _perfect(loaded: LoadedTask, number: int) -> Iterator[list[Any]]:
    """Perfect replies of a row.

    Texts, or log-likelihoods under which the gold choice is the best.
    """
    requests = loaded.instances[number]
    gold_check = str(loaded.leaf.metadata.get("gold_check", ""))
    if gold_check.lower() in {"none", "false"}:
        return
    if loaded.generates:
        for text in perfect_replies(loaded.task, requests[0].doc, _patterns(loaded)):
            yield [text]
        return
    is_choice = loaded.leaf.output_type == "multiple_choice"
    if is_choice and requests[0].request_type == "loglikelihood":
        for position in _gold_positions(loaded, number):
            yield _likelihoods(loaded, number, {position}, (-0.1, True), (-50.0, False))


def _patterns(loaded: LoadedTask, filter_name: str = "") -> list[str]:
    """The regular expressions of a task's filters, or of one of them."""
    steps = [step for name, step in loaded.leaf.filter_steps if filter_name in {"", name}]
    return [str(step["regex_pattern"]) for step in steps if step.get("regex_pattern")]


def _worst(loaded: LoadedTask, number: int) -> Iterator[list[Any]]:
    """Log-likelihoods under which the gold choice is the least likely."""
    requests = loaded.instances[number]
    gold = _gold_positions(loaded, number)
    output_type = loaded.leaf.output_type
    if requests[0].request_type == "loglikelihood_rolling":
        yield [-10.0]
    elif output_type == "multiple_choice":
        if gold and len(gold) < _choices(loaded, number):
            yield _likelihoods(loaded, number, set(gold), (-500.0, False), (-1.0, False))
    elif output_type == "loglikelihood":
        yield [(-500.0, False) for _ in requests]


def _likelihoods(
    loaded: LoadedTask, number: int, positions: set[int], reply: Any, other: Any
) -> list[Any]:
    """A reply for the choices at some positions, and another for the rest.

    Some tasks ask for each choice twice.
    """
    choices = _choices(loaded, number)
    count = len(loaded.instances[number])
    places = [index % choices for index in range(count)]
    return [reply if place in positions else other for place in places]


def _choices(loaded: LoadedTask, number: int) -> int:
    return len(loaded.task.doc_to_choice(loaded.instances[number][0].doc))


def _gold_positions(loaded: LoadedTask, number: int) -> list[int]:
    doc = loaded.instances[number][0].doc
    if loaded.leaf.output_type != "multiple_choice" or loaded.task.multiple_input:
        return []
    choices = loaded.task.doc_to_choice(doc)
    target = loaded.task.doc_to_target(doc)
    golds = target if isinstance(target, list) else [target]
    positions = [position_of(gold, choices) for gold in golds]
    return [position for position in positions if position is not None]


def _unsafe(value: Any) -> str:
    """Returns why JSON cannot hold a value; empty where it can."""
    if type(value) in (bool, int, float):
        return "" if math.isfinite(value) else "nan"
    from lm_eval.utils import handle_non_serializable

    try:
        json.dumps(value, default=handle_non_serializable)
    except (TypeError, ValueError) as error:
        return str(error)
    parts = value if isinstance(value, list | tuple) else [value]
    if isinstance(value, Mapping):
        parts = list(value.values())
    floats = [part for part in parts if isinstance(part, float)]
    return "" if all(map(math.isfinite, floats)) else "nan"


def _report(scorer: Scorer, tally: _Tally, findings: Findings) -> None:
    """Turns what was counted of the verdicts into findings."""
    leaf, task = scorer.loaded.leaf, scorer.loaded.name
    key = "process_results" if "process_results" in leaf.config else "filter_list"

    def report(code: str, what: str) -> None:
        findings.add_at(code, leaf, key, f"{task}{what}")

    for failure, rows in tally.failures.items():
        what = f"{task}: {failure.message} in {listed(rows, 'case')}"
        if failure.place is None:
            findings.add_at("EP501", leaf, key, what)
        else:
            findings.add("EP501", failure.place.where, f"{what}{failure.place.code}", task=task)
    if tally.too_slow:
        cases = listed(tally.too_slow, "case")
        report("EP516", f": more than {BOUND_SECONDS:g} s of CPU in {cases}")
    seconds, row, label = scorer.slowest
    if seconds > SLOW_SECONDS:
        report("EP515", f": {seconds:.1f} s of CPU for row {row} ({label} reply)")
    without_gold = not (tally.golds or tally.failures or tally.too_slow)
    if scorer.metric and without_gold:
        report("EP505", " has no gold answer that a reply could repeat")
    if not tally.failures:
        _report_missed(scorer, tally, report)
    for code, rows in tally.wrongly.items():
        report(code, f": {scorer.metric} in {listed(rows)}")
    if tally.without_box:
        count = f"{len(tally.without_box)} of {tally.scored_replies} published replies"
        places = listed(tally.without_box)
        report("EP518", f": {count} state an answer without a box, {places}")
    if tally.differing:
        share = len(tally.differing) / tally.published
        metric = f"{scorer.metric} under {scorer.filter}"
        verdicts = f"the published verdict in {share:.1%} of {tally.published} rows"
        code = "EP513" if share > MAX_DISAGREEMENT else "EP514"
        report(code, f": {metric} differs from {verdicts}, {listed(tally.differing)}")


Report = Callable[[str, str], None]
"""Adds a finding: its code, and what stands behind the task's name."""


def _report_missed(scorer: Scorer, tally: _Tally, report: Report) -> None:
    """Gold answers that a filter does not find."""
    below = f"{scorer.metric} is below 1 for a reply that gives the gold answer"
    for name, rows in tally.missed.items():
        code = "EP502" if name == scorer.filter else "EP517"
        if not all(map(can_write, _patterns(scorer.loaded, name))):
            code = "EP519"
        share = f"{listed(rows)} of {tally.golds}"
        report(code, f", filter {name}: {below}, in {share}")


def _report_shape(scorer: Scorer, tally: _Tally, findings: Findings) -> None:
    """The keys and values that the scorer returned, against what lm-eval does with them."""
    leaf, task = scorer.loaded.leaf, scorer.loaded.name
    key = "process_results" if "process_results" in leaf.config else "metric_list"

    def report(code: str, what: str) -> None:
        findings.add_at(code, leaf, key, f"{task}{what}")

    _report_keys(scorer, tally, report)
    for problem, metrics in tally.odd.items():
        code = "EP510" if problem == "nan" else "EP509"
        ending = "" if problem == "nan" else f": {problem}"
        for metric, place in metrics.items():
            report(code, f" returns {metric!r} in row {place}{ending}")
    for metric, message in _failing_aggregations(scorer, tally).items():
        what = f"{task}, {metric}: {message}"
        findings.add_at("EP512", leaf, "metric_list", what)


def _report_keys(scorer: Scorer, tally: _Tally, report: Report) -> None:
    """Reports keys of scores that lm-eval loses.

    It overwrites them, they come for some replies only, or no metric_list names them.
    """
    returned: set[str] = set()
    for sets in tally.keys.values():
        returned = returned.union(*sets)
    for key in sorted(returned & RESERVED):
        report("EP506", f" returns {key!r}")
    for name, sets in tally.keys.items():
        varying = frozenset.union(*sets) - frozenset.intersection(*sets)
        if varying:
            keys = ", ".join(sorted(varying))
            report("EP507", f", filter {name}: {keys} only for some replies")
    declared = set(scorer.task.aggregation())
    for key in sorted(returned - declared - RESERVED):
        report("EP508", f" returns {key!r}")
    if not returned or tally.failures:
        return
    for key in sorted(declared - returned):
        report("EP511", f" never returns {key!r}")


def _failing_aggregations(scorer: Scorer, tally: _Tally) -> dict[str, str]:
    """Metric -> what its aggregation raises on the values of the perfect and published replies."""
    messages: dict[str, str] = {}
    for (metric, _), values in tally.values.items():
        function = scorer.task.aggregation().get(metric)
        if function is None or metric in messages:
            continue
        try:
            function(list(values))
        except Exception as error:  # noqa: BLE001 - an aggregation that raises is the finding
            messages[metric] = _message_of(error)
    return messages
