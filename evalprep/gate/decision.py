"""Whether a run passes a policy against another run or the published verdicts.

The conclusions are those of `evalprep.compare`; here a policy is applied to them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from custom_metrics import statistics
from evalprep.compare import NOT_COMPARABLE, NOT_ENOUGH, Comparison, Conclusion, compare_runs, compare_suite
from evalprep.errors import BadInput, Problem, Problems, near
from evalprep.gate.policy import Policy, Rule, limit
from evalprep.packs.pack import Pack
from evalprep.results import Run

PASS, FAIL, UNCLEAR = "pass", "fail", "unclear"
#: From the one that decides a gate first to the one that lets it pass.
STATUSES = (FAIL, NOT_COMPARABLE, NOT_ENOUGH, UNCLEAR, PASS)
_EXIT = {PASS: 0, FAIL: 1}
_UNDECIDED = 3


@dataclass
class Check:
    """One check and its outcome.

    Args:
        name: Task, suite score or `overall`.
        kind: `task`, `suite` or `overall`.
        status: One of `STATUSES`.
        level: `required` or `advisory`.
        n: Pairs.
        previous, now: Scores of the baseline and the candidate.
        drop: How much worse the candidate is; negative when it is better.
        low, high: Interval of candidate minus baseline, as `compare` shows it.
        max_drop: What is tolerated.
        slack: What may stay open beyond it.
        most_lost: The largest drop that is not ruled out.
        p: Two-sided p-value of a drop beyond `max_drop`; 1 for a smaller one.
        p_adjusted: After Holm's adjustment.
        test: Which test `p` comes from.
        message: The outcome as a sentence.
    """

    name: str
    kind: str
    status: str
    level: str = "required"
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


@dataclass
class Verdict:
    """The outcome of a gate; `to_dict` gives it as plain data."""

    run: str
    other: str
    status: str
    confidence: float
    mode: str
    checks: list[Check]
    warnings: list[str] = field(default_factory=list)
    rule: str = ""

    @property
    def exit_code(self) -> int:
        """0 passed, 1 failed, 3 unclear, not comparable or not enough evidence."""
        return _EXIT.get(self.status, _UNDECIDED)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON: NaN and infinity as None."""
        plain = asdict(self) | {"exit_code": self.exit_code}
        for check in plain["checks"]:
            check |= {key: None for key, one in check.items() if isinstance(one, float) and not math.isfinite(one)}
        return plain


def decide(run: Run, other: Run | None, policy: Policy, packs: Mapping[str, Pack] | None = None) -> Verdict:
    """Hold a run against a policy.

    Args:
        run: The candidate.
        other: The baseline, which it may not fall behind; None for the published verdicts.
        policy: The demands.
        packs: All packs, where the policy names suite scores.

    Raises:
        BadInput: the policy names a metric or filter that a task lacks, a limit that is no limit for a score of its
            range, or suite scores without another run.
    """
    found, warnings, label = _conclusions(run, other, policy, packs or {})
    problems = Problems()
    checks = [_check(kind, name, one, rule, policy, problems) for kind, name, one, rule in found]
    problems.raise_if_any()
    present = {check.name for check in checks}
    for name in policy.required:
        if name not in present:
            message = "required, but the run or its counterpart has no samples of it"
            hint = near(name, present)
            checks.append(Check(name, "task", NOT_ENOUGH, message=f"{message} ({hint})" if hint else message))
    _judge([(check, one) for check, (_, _, one, _) in zip(checks, found, strict=False)], policy)
    deciding = {check.status for check in checks if check.level == "required"}
    status = next((one for one in STATUSES if one in deciding), NOT_ENOUGH)
    return Verdict(
        run.label, label, status, policy.confidence, policy.mode, checks, [*policy.notes, *warnings], run.rule
    )


_Found = tuple[str, str, Conclusion | None, Rule]


def _conclusions(
    run: Run, other: Run | None, policy: Policy, packs: Mapping[str, Pack]
) -> tuple[list[_Found], list[str], str]:
    """Kind, name, conclusion and rule of every check, the warnings, and the baseline's label."""
    rules = _rules(run, other, policy)
    shared = [name for name in rules if name in run.tasks and (other is None or name in other.tasks)]
    stored = [] if other is None else [name for name in rules if name not in shared]
    found: list[_Found] = []
    warnings: dict[str, None] = {}
    problems = Problems()
    whole = _compare(run, other, policy) if shared or policy.overall or _known_on_both(run, other, stored) else None
    of_task = {} if whole is None else {task.name: task for task in whole.tasks}
    for name, rule in rules.items():
        if name not in shared:
            if lone := _stored_score(name, rule, whole):
                found.append(("task", name, lone, rule))
            elif name not in policy.required:
                found.append(("task", name, None, rule))
            continue
        special = _whole_metric(name, rule, whole, of_task.get(name))
        if special is not None:
            found.append(("task", name, special, rule))
            continue
        if name in of_task and not _own(rule):
            found.append(("task", name, of_task[name], rule))
            continue
        try:
            alone = _compare(run, other, policy, tasks=[name], metric=rule.metric, filter_name=rule.filter)
        except BadInput as error:
            problems.extend(error.problems)
            continue
        warnings |= dict.fromkeys(alone.warnings)
        found.append(("task", name, alone.tasks[0], rule))
    problems.raise_if_any()
    if whole is not None:
        warnings |= dict.fromkeys(whole.warnings)
    if policy.suite:
        if other is None:
            raise BadInput(
                Problem(
                    what="suite scores are compared between two runs", where="policy (suite)", fix="name another run"
                )
            )
        suite = compare_suite(
            run, other, packs, confidence=policy.confidence, allow=policy.allow, tolerated_missing=policy.missing
        )
        found += [("suite", name, _named(suite, name), rule) for name, rule in policy.suite.items()]
    if policy.overall is not None:
        found.append(("overall", "overall", None if whole is None else whole.overall, policy.overall))
    return found, list(warnings), other.label if other is not None else "published verdicts"


def _named(suite: Sequence[Conclusion], name: str) -> Conclusion | None:
    """The suite score of a name, or of `pack/name` where two packs have one of that name.

    Raises:
        BadInput: the name alone means two scores.
    """
    found = [one for one in suite if name in (one.name, one.name.rpartition("/")[2])]
    if len(found) > 1 and all(one.name != name for one in found):
        raise BadInput(
            Problem(
                what=f"{name!r} is a score of several packs",
                where="policy (suite)",
                allowed=", ".join(one.name for one in found),
            )
        )
    return next((one for one in found if one.name == name), found[0] if found else None)


def _known_on_both(run: Run, other: Run | None, names: list[str]) -> bool:
    return other is not None and any(run.known(name) and other.known(name) for name in names)


def _whole_metric(name: str, rule: Rule, whole: Comparison | None, task: Conclusion | None) -> Conclusion | None:
    """The metric over all rows that a rule names, or the first one of a task whose rows have no score."""
    found = [] if whole is None else [one for one in whole.metrics if one.name.startswith(f"{name}: ")]
    if rule.metric is not None:
        return next((one for one in found if one.name == f"{name}: {rule.metric}"), None)
    return found[0] if found and task is not None and task.difference.n == 0 else None


def _stored_score(name: str, rule: Rule, whole: Comparison | None) -> Conclusion | None:
    """The stored score of a task without samples: that which the rule names, else the first."""
    found = [] if whole is None else [one for one in whole.stored if one.name.startswith(f"{name}: ")]
    wanted = f"{name}: {rule.metric}" if rule.metric else ""
    return next((one for one in found if one.name.startswith(wanted)), None)


def _compare(run: Run, other: Run | None, policy: Policy, **more: Any) -> Comparison:
    return compare_runs(
        run, other, confidence=policy.confidence, allow=policy.allow, tolerated_missing=policy.missing, **more
    )


def _own(rule: Rule) -> bool:
    return rule.metric is not None or rule.filter is not None


def _rules(run: Run, other: Run | None, policy: Policy) -> dict[str, Rule]:
    if policy.tasks is None:
        return dict.fromkeys([*run.tasks, *(run.stored if other is not None else ())], policy.defaults)
    # A required task without a rule of its own is checked by the defaults.
    rules = dict(policy.tasks)
    rules |= {name: policy.defaults for name in policy.required if name in run.tasks and name not in rules}
    problems = Problems()
    known = [*run.tasks, *run.stored, *(other.tasks if other else [])]
    for name, rule in rules.items():
        if name not in known and name not in policy.required:
            where = rule.where or "policy (tasks)"
            problems.add(f"no task {name!r}", where=where, allowed=", ".join(known), fix=near(name, known))
    problems.raise_if_any()
    return rules


def _check(kind: str, name: str, one: Conclusion | None, rule: Rule, policy: Policy, problems: Problems) -> Check:
    check = Check(name, kind, NOT_ENOUGH, rule.level)
    if one is None:
        check.message = "only one side has samples of it" if kind == "task" else "no value on one of the sides"
        return check
    item = one.difference
    check.n, check.previous, check.now, check.drop = item.n, item.previous, item.now, item.drop
    check.low, check.high, check.test = item.low, item.high, item.test
    # A perplexity is judged by its ratio: 2% is a factor of 1.02.
    baseline = 1.0 if item.unit == "ratio" else item.previous
    check.max_drop = limit(rule.max_drop).of(baseline)
    check.slack = policy.slack(rule, item.range, baseline)
    if item.unit == "ratio":
        check.max_drop, check.slack = math.log1p(check.max_drop), math.log1p(check.slack)
    if kind == "task" and item.range is not None and check.max_drop + check.slack >= item.range:
        problems.add(
            f"max_drop {check.max_drop:g} with slack {check.slack:g} is no limit for {name}, "
            f"whose scores span {item.range:g}",
            where=rule.where or "policy",
            allowed=f"together below {item.range:g}",
        )
    if one.not_comparable:
        check.status, check.message = NOT_COMPARABLE, "; ".join(one.not_comparable)
        return check
    if one.not_enough or item.evidence is None:
        check.message = "; ".join([*one.not_enough, *one.notes]) or "no test for this score"
        return check
    if item.n < rule.min_n and item.made_of != "stored":
        check.message = f"{item.n} pairs, {rule.min_n} are needed"
        return check
    if item.higher_is_better is None:
        check.message = "no direction of this score is better"
        return check
    check.p = item.drop_p(check.max_drop)
    check.most_lost = item.most_lost(policy.confidence)
    return check


def _judge(pairs: list[tuple[Check, Conclusion | None]], policy: Policy) -> None:
    """Adjust p over all checks that have one, and set status and message."""
    tested = [(check, one.difference) for check, one in pairs if check.p is not None and one is not None]
    raw = [check.p or 0.0 for check, _ in tested]
    adjusted = statistics.holm(raw) if policy.adjust == "holm" else raw
    for (check, item), p in zip(tested, adjusted, strict=True):
        check.p_adjusted = p
        open_drop = check.max_drop + check.slack
        drop = check.drop or 0.0
        moved = "no change"
        if drop:
            moved = f"drop of {item.scaled(drop)}" if drop > 0 else f"gain of {item.scaled(-drop)}"
        most = f"at most {item.scaled(max(check.most_lost or 0.0, 0.0))} lost, {policy.confidence:.0%} sure"
        if p < 1 - policy.confidence:
            check.status = FAIL
            check.message = f"{moved}, shown to be beyond the tolerated {item.scaled(check.max_drop)} (p = {p:.2g})"
        elif open_drop > 0 and item.rules_out(open_drop, policy.confidence):
            check.status = PASS
            check.message = f"{moved}; {most}"
        else:
            check.status = PASS if policy.on_unclear == "pass" else UNCLEAR
            rows = item.rows_needed(open_drop)
            check.message = (
                f"{moved}; {most}: a drop beyond {item.scaled(open_drop)} is neither shown nor ruled out"
                f"{f'; about {rows} rows would tell' if rows else ''}"
            )
