"""The decision whether a run passes a policy against another run or the published verdicts.

The conclusions are those of `evalprep.compare`; here a policy is applied to them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from custom_metrics import statistics
from custom_metrics.statistics import RowsNeeded
from evalprep.compare import (
    NOT_COMPARABLE,
    NOT_ENOUGH,
    WORSE,
    Comparison,
    Difference,
    PairedTask,
    adjusted_by_key,
    deciding,
    floor_sentence,
)
from evalprep.gate.checks import REQUIRED, Check, Demand, compare_for, demands_of, undemanded
from evalprep.gate.policy import Policy
from evalprep.numbers import p_value
from evalprep.packs import Pack
from evalprep.results import NamedMetric, Run, headline_metric
from evalprep.terminal import shortlist

PASS, FAIL, UNCLEAR = "pass", "fail", "unclear"
#: From the one that decides a gate first to the one that lets it pass.
STATUSES = (FAIL, NOT_COMPARABLE, NOT_ENOUGH, UNCLEAR, PASS)
_EXIT = {PASS: 0, FAIL: 1}
_UNDECIDED = 3
_NAMED = 4  # tasks that a line names
#: Of a change for the worse and the better, by whether a lower score is the better one.
_DIRECTION_WORDS = {False: ("drop of", "gain of"), True: ("worse (higher) by", "better (lower) by")}
_ROUNDED_FROM = 100  # rows; from here on a number has two significant digits


@dataclass
class Verdict:
    """The outcome of a gate; `to_dict` gives it as plain data.

    Args:
        run, other: Labels of the candidate and of the baseline.
        status: One of `STATUSES`.
        confidence, mode: As in the policy.
        checks: Every check.
        warnings: What makes the comparison doubtful.
        rule: The scoring rule by which both are read.
        advisory: What is better or worse beside the metrics that decide, which metrics the
            candidate lacks, and which checks cannot show a drop.
        notes: What the reader should know of the compared quantities.
    """

    run: str
    other: str
    status: str
    confidence: float
    mode: str
    checks: list[Check]
    warnings: list[str] = field(default_factory=list)
    rule: str = ""
    advisory: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """0 passed, 1 failed, 3 unclear, not comparable or not enough evidence."""
        return _EXIT.get(self.status, _UNDECIDED)

    @property
    def closing(self) -> str:
        """The last line: the status, and what is worse beside the metrics that decide."""
        if not self.advisory:
            return self.status
        joint = "but" if self.status == PASS else "and"
        return f"{self.status}, {joint} {'; '.join(self.advisory)}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON: NaN and infinity as None."""
        plain = asdict(self) | {"exit_code": self.exit_code, "closing": self.closing}
        for check in plain["checks"]:
            for name, value in check.items():
                if isinstance(value, float) and not math.isfinite(value):
                    check[name] = None
        return plain


def decide(
    run: Run,
    other: Run | None,
    policy: Policy,
    packs: Mapping[str, Pack] | None = None,
    choices: Sequence[NamedMetric] = (),
) -> Verdict:
    """Holds a run against a policy.

    Args:
        run: The candidate.
        other: The baseline, which it may not fall behind; None for the published verdicts.
        policy: The demands.
        packs: All packs, where the policy names suite scores.
        choices: Metrics of some tasks to decide by, in place of their primary ones.

    Raises:
        BadInput: the policy names a metric or filter that a task lacks, a limit that can never fail
            for a score of its range, or suite scores without another run.
    """
    comparison = compare_for(run, other, policy, packs or {}, choices)
    demands = demands_of(run, other, policy, comparison)
    _judge(demands, policy, comparison)
    checks = [demand.check for demand in demands]
    deciding = {check.status for check in checks if check.level == REQUIRED}
    status = next((status for status in STATUSES if status in deciding), NOT_ENOUGH)
    notes_of_runs = [f"{run.label}: {note}" for note in run.notes]
    if other is not None:
        notes_of_runs += [f"{other.label}: {note}" for note in other.notes]
    advisory = _advisory_lines(comparison, policy)
    if not checks:
        advisory = ["the policy names no check", *advisory]
    elif not deciding:
        advisory = ["every check of the policy is advisory", *advisory]
    return Verdict(
        run=run.label,
        other=comparison.other,
        status=status,
        confidence=policy.confidence,
        mode=policy.mode,
        checks=checks,
        warnings=[
            *policy.notes,
            *_headline_notes(policy, choices),
            *comparison.warnings,
            *notes_of_runs,
        ],
        rule=run.rule,
        advisory=advisory,
        notes=comparison.remarks,
    )


def _headline_notes(policy: Policy, choices: Sequence[NamedMetric]) -> list[str]:
    """Notes on tasks that are decided by the metric of the field.

    It is neither the metric that lm-eval lists first, nor one that the user names.
    """
    notes = []
    chosen = {choice.task for choice in choices if choice.metric}
    for name, rule in (policy.tasks or {}).items():
        metric = headline_metric(name)
        if metric and rule.metric is None and not chosen & {"", name}:
            notes.append(f"{name}: its metric is {metric}; `metric:` in its rule names another one")
    return notes


def _advisory_lines(comparison: Comparison, policy: Policy) -> list[str]:
    """Returns what is worse, better or changed beside the metrics that decide, worst first."""
    alone = len(comparison.tasks) == 1
    ranked = sorted(comparison.advisory, key=lambda item: item.verdict != "worse")
    lines = []
    for item in ranked:
        name = item.name.partition(": ")[2] if alone else item.name
        unknown = item.difference.higher_is_better is None
        verb = "changed by" if unknown else f"{item.verdict} by"
        lines.append(f"{name} {verb} {item.difference.change(sign=unknown)} (advisory)")
    # `compare` exits with 1 for a task or a mean that is worse, also without a rule for it.
    for item in undemanded(comparison, policy):
        if item.verdict == WORSE:
            change = item.difference.change()
            lines.append(f"{item.name} worse by {change} (advisory; the policy has no rule for it)")
    mean = comparison.overall
    if mean is not None and mean.verdict == WORSE and policy.overall is None and not alone:
        lines.append(
            f"{mean.name} worse by {mean.difference.change()} (advisory; "
            "`overall: {}` in the policy decides by it)"
        )
    return [*lines, *_floor_lines(comparison), *comparison.missing_metrics]


def _floor_lines(comparison: Comparison) -> list[str]:
    """Tasks whose baseline has the worst score, so that a pass says nothing."""
    names_by_sentence: dict[str, list[str]] = {}
    stored = [item for item in comparison.stored if item.decides]
    for item in (*comparison.tasks, *stored):
        sentence = floor_sentence(item.difference) if item.counts else ""
        if sentence:
            names_by_sentence.setdefault(sentence, []).append(item.task)
    return [
        f"{shortlist(names, _NAMED)}: {sentence}" for sentence, names in names_by_sentence.items()
    ]


def _judge(demands: Sequence[Demand], policy: Policy, comparison: Comparison) -> None:
    """Adjusts p over all checks that have one, and sets status and message."""
    tested = [demand for demand in demands if demand.tested]
    adjusted = [demand.check.p or 0.0 for demand in tested]
    level = 1 - policy.confidence
    if policy.adjust == "holm":
        adjusted, hypotheses = _adjusted(tested, comparison)
        level /= max(hypotheses, 1)
    fail_z = statistics.critical_value(1 - level)
    for demand, p in zip(tested, adjusted, strict=True):
        demand.check.p_adjusted = p
        if demand.difference is not None:
            _judge_one(demand.check, demand.difference, policy, fail_z)
            _hold_unsettled(demand, policy, comparison.rows)


def _adjusted(tested: Sequence[Demand], comparison: Comparison) -> tuple[list[float], int]:
    """The adjusted p of each check, and the hypotheses of their family.

    What decides in `compare` and has no check is a member of the family, so that a gate and
    `compare` give one answer; copies of one column that are held to one limit count once.
    """
    key_of = deciding(comparison)
    keys = [key_of.get(id(demand.conclusion), demand.check.name) for demand in tested]
    others = [
        (key_of[id(item)], item.difference.drop_p(0.0))
        for item in comparison.conclusions
        if item.counts and id(item) in key_of and key_of[id(item)] not in keys
    ]
    tests = [
        (f"{key}, {demand.check.max_drop}", demand.check.p or 0.0)
        for key, demand in zip(keys, tested, strict=True)
    ]
    adjusted = adjusted_by_key([*tests, *others])
    return [max(adjusted[key], p) for key, p in tests], len(adjusted)


def _judge_one(check: Check, item: Difference, policy: Policy, fail_z: float) -> None:
    """Status and message of one check."""
    open_drop = check.max_drop + check.slack
    moved = _movement(check, item)
    if check.over:
        moved = f"{check.over}: {moved}"
    is_shown = (check.p_adjusted or 0.0) < 1 - policy.confidence
    if is_shown and (check.drop or 0.0) > check.max_drop:
        check.status = FAIL
        tolerated = item.scaled(check.max_drop)
        check.message = (
            f"{moved}, shown to be beyond the tolerated {tolerated} ({p_value(check.p_adjusted)})"
        )
        return
    sure = f"{item.sureness(policy.confidence):.1%}".replace(".0%", "%")
    lost = check.most_lost or 0.0
    most = f"at most {item.scaled(lost)} lost, {sure} sure"
    if lost < 0:
        most = f"a loss is ruled out ({sure})"
    elif lost == 0:  # of a score without bounds, which tell how large an unseen loss may be
        most = "every row is as before"
    if open_drop > 0 and item.rules_out(open_drop, policy.confidence):
        check.status = PASS
        check.message = f"{moved}; {most}"
        return
    check.status = PASS if policy.on_unclear == "pass" else UNCLEAR
    check.message = (
        f"{moved}; {most}: a drop beyond {item.scaled(open_drop)} is neither shown nor ruled out"
    )
    plan = item.rows_needed(check.max_drop, check.slack, fail_z)
    if plan is not None:
        units = "rows" if item.clusters is None else "documents"
        check.message += f"; {repeat_words(plan, item.n, units)}"


def _hold_unsettled(demand: Demand, policy: Policy, rows: Mapping[str, PairedTask]) -> None:
    """Takes a pass back where rows may share documents that nobody named."""
    conclusion = demand.conclusion
    task = None if conclusion is None else rows.get(conclusion.name)
    fields = () if task is None else task.unsettled
    if not fields or demand.check.status != PASS:
        return
    if policy.on_unclear != "pass":
        demand.check.status = UNCLEAR
    demand.check.message += (
        f"; the differences vary by {fields[0]}: write `cluster: {fields[0]}` into the policy, or "
        "`cluster: none` where rows are independent"
    )


def _movement(check: Check, item: Difference) -> str:
    """The drop or gain that was seen."""
    drop = check.drop or 0.0
    if not drop:
        return "no change"
    worse, better = _DIRECTION_WORDS[item.higher_is_better is False]
    moved = f"{worse} {item.scaled(drop)}" if drop > 0 else f"{better} {item.scaled(-drop)}"
    if item.constant is not None:
        amount = item.scaled(item.constant, sign=True)
        return f"every one of {item.n} rows changed by {amount}; {moved}"
    return moved


def repeat_words(plan: RowsNeeded, n: int, units: str = "rows") -> str:
    """The sentence about how many rows would decide a check that is unclear.

    Args:
        plan: The number with its chances.
        n: Rows of the check.
        units: What changes independently, rows or documents.

    >>> repeat_words(RowsNeeded(3812, 0.62, 0.18, changed=9), 100)
    'about 3,800 rows: pass 62 %, fail 18 %, if the rates stay as they are'
    """
    if plan.rows is None:
        return "no practical number of rows would decide"
    if plan.changed == 0:
        return f"{plan.rows} rows pass if no row changes"
    rough = f" (rough: few {units} changed)" if plan.rough else ""
    if plan.rows <= n:
        return f"a repeat of as many rows would usually decide{rough}"
    chances = f"pass {100 * plan.passes:.0f} %, fail {100 * plan.fails:.0f} %"
    # Two significant digits.
    step = 10 ** max(len(str(plan.rows)) - 2, 0) if plan.rows >= _ROUNDED_FROM else 1
    rows = f"{round(plan.rows / step) * step:,}"
    return f"about {rows} rows: {chances}, if the rates stay as they are{rough}"
