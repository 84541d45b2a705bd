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
    Quantities,
    adjusted_by_key,
    conclude,
    deciding,
    floor_sentence,
)
from evalprep.gate.checks import REQUIRED, Demand, demands_of, measure_for, undemanded
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


@dataclass(frozen=True)
class Check:
    """One check with its outcome.

    Args:
        name: Task, `task: metric`, suite score or `overall`.
        kind: `task`, `suite` or `overall`.
        status: One of `STATUSES`.
        level: `required` or `advisory`.
        n: Pairs.
        previous, now: Scores of the baseline and the candidate.
        drop: How much worse the candidate is; negative when it is better.
        low, high: Interval of candidate minus baseline, as `compare` shows it.
        max_drop: What is tolerated.
        slack: How far the interval may pass it.
        most_lost: The largest drop that is not ruled out.
        p: Two-sided p-value of a drop of `max_drop`; 1 where too few rows changed for a fail.
        p_adjusted: After Holm's adjustment.
        test: Which test `p` comes from.
        message: The outcome as a sentence.
        over: Of how many tasks an overall is the mean; empty for other checks.
    """

    name: str
    kind: str
    status: str
    level: str = REQUIRED
    n: int = 0
    previous: float | None = None
    now: float | None = None
    drop: float | None = None
    low: float | None = None
    high: float | None = None
    max_drop: float = 0.0
    slack: float = 0.0
    most_lost: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    test: str = ""
    message: str = ""
    over: str = ""

    @classmethod
    def of(
        cls,
        demand: Demand,
        status: str,
        message: str,
        *,
        p_adjusted: float | None = None,
        most_lost: float | None = None,
    ) -> Check:
        """A check with the numbers that were compared, and those of its test."""
        item = demand.difference
        compared: dict[str, Any] = {}
        if item is not None:
            names = ("n", "previous", "now", "drop", "low", "high", "test")
            compared = {name: getattr(item, name) for name in names}
        return cls(
            name=demand.name,
            kind=demand.kind,
            status=status,
            level=demand.level,
            max_drop=demand.max_drop,
            slack=demand.slack,
            most_lost=most_lost,
            p=demand.p,
            p_adjusted=p_adjusted,
            message=message,
            over=demand.over,
            **compared,
        )


@dataclass(frozen=True)
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
    *,
    quantities: Quantities | None = None,
) -> Verdict:
    """Holds a run against a policy.

    Args:
        run: The candidate.
        other: The baseline, which it may not fall behind; None for the published verdicts.
        policy: The demands.
        packs: All packs, where the policy names suite scores.
        choices: Metrics of some tasks to decide by, in place of their primary ones.
        quantities: What `measure_for` measures of both, where it is known already.

    Raises:
        BadInput: the policy names a metric or filter that a task lacks, a limit that can never fail
            for a score of its range, or suite scores without another run.
    """
    if quantities is None:
        quantities = measure_for(run, other, policy, packs or {}, choices)
    comparison = conclude([quantities])[0]
    checks = _judged(demands_of(run, other, policy, comparison), policy, comparison)
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


def _judged(demands: Sequence[Demand], policy: Policy, comparison: Comparison) -> list[Check]:
    """The checks with their outcomes; p is adjusted over all that have one."""
    tested = [demand for demand in demands if demand.p is not None]
    adjusted = [demand.p or 0.0 for demand in tested]
    level = 1 - policy.confidence
    if policy.adjust == "holm":
        adjusted, hypotheses = _adjusted(tested, comparison)
        level /= max(hypotheses, 1)
    fail_z = statistics.critical_value(1 - level)
    p_of = {id(demand): p for demand, p in zip(tested, adjusted, strict=True)}
    checks = []
    for demand in demands:
        item, p = demand.difference, p_of.get(id(demand))
        if item is None or p is None:
            is_refused = demand.conclusion is not None and demand.conclusion.refusals
            status = NOT_COMPARABLE if is_refused else NOT_ENOUGH
            checks.append(Check.of(demand, status, demand.open or ""))
            continue
        status, message = _outcome(demand, item, p, policy, fail_z)
        task = comparison.rows.get(demand.conclusion.name) if demand.conclusion else None
        fields = () if task is None else task.unsettled
        if status == PASS and fields:  # rows may share documents that nobody named
            status = PASS if policy.on_unclear == "pass" else UNCLEAR
            message += (
                f"; the differences vary by {fields[0]}: write `cluster: {fields[0]}` into the "
                "policy, or `cluster: none` where rows are independent"
            )
        most_lost = item.most_lost(policy.confidence)
        checks.append(Check.of(demand, status, message, p_adjusted=p, most_lost=most_lost))
    return checks


def _adjusted(tested: Sequence[Demand], comparison: Comparison) -> tuple[list[float], int]:
    """The adjusted p of each check, and the hypotheses of their family.

    What decides in `compare` and has no check is a member of the family, so that a gate and
    `compare` give one answer; copies of one column that are held to one limit count once.
    """
    key_of = deciding(comparison)
    keys = [key_of.get(id(demand.conclusion), demand.name) for demand in tested]
    others = [
        (key_of[id(item)], item.difference.drop_p(0.0))
        for item in comparison.conclusions
        if item.counts and id(item) in key_of and key_of[id(item)] not in keys
    ]
    tests = [
        (f"{key}, {demand.max_drop}", demand.p or 0.0)
        for key, demand in zip(keys, tested, strict=True)
    ]
    adjusted = adjusted_by_key([*tests, *others])
    return [max(adjusted[key], p) for key, p in tests], len(adjusted)


def _outcome(
    demand: Demand, item: Difference, p: float, policy: Policy, fail_z: float
) -> tuple[str, str]:
    """Status and message of a check by its adjusted p."""
    open_drop = demand.max_drop + demand.slack
    moved = _movement(item)
    if demand.over:
        moved = f"{demand.over}: {moved}"
    if p < 1 - policy.confidence and (item.drop or 0.0) > demand.max_drop:
        tolerated = item.scaled(demand.max_drop)
        return FAIL, f"{moved}, shown to be beyond the tolerated {tolerated} ({p_value(p)})"
    sure = f"{item.sureness(policy.confidence):.1%}".replace(".0%", "%")
    lost = item.most_lost(policy.confidence) or 0.0
    most = f"at most {item.scaled(lost)} lost, {sure} sure"
    if lost < 0:
        most = f"a loss is ruled out ({sure})"
    elif lost == 0:  # of a score without bounds, which tell how large an unseen loss may be
        most = "every row is as before"
    if open_drop > 0 and item.rules_out(open_drop, policy.confidence):
        return PASS, f"{moved}; {most}"
    message = (
        f"{moved}; {most}: a drop beyond {item.scaled(open_drop)} is neither shown nor ruled out"
    )
    plan = item.rows_needed(demand.max_drop, demand.slack, fail_z)
    if plan is not None:
        units = "rows" if item.clusters is None else "documents"
        message += f"; {repeat_words(plan, item.n, units)}"
    return PASS if policy.on_unclear == "pass" else UNCLEAR, message


def _movement(item: Difference) -> str:
    """The drop or gain that was seen."""
    drop = item.drop or 0.0
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
