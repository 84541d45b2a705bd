"""Whether a run passes a policy against another run or the published verdicts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from custom_metrics import statistics
from evalprep.compare import Difference, compare_runs
from evalprep.errors import BadInput, Problem, Problems, near
from evalprep.gate.policy import Policy, Rule
from evalprep.packs.pack import Pack
from evalprep.results import Run

PASS, FAIL, UNDECIDED = "pass", "fail", "not enough evidence"
_EXIT = {PASS: 0, FAIL: 1, UNDECIDED: 3}


@dataclass
class Check:
    """One check and its outcome.

    Args:
        name: Task, suite score or `overall`.
        kind: `task`, `suite` or `overall`.
        status: `pass`, `fail` or `not enough evidence`.
        n: Pairs.
        previous, now: Scores.
        drop: How much worse the run is; negative when it is better.
        max_drop: What is tolerated.
        p: Two-sided p-value of a drop beyond `max_drop` (in non-inferiority mode: of one within it); 1 when the
            drop points the other way.
        p_adjusted: After Holm's adjustment.
        test: Which test `p` comes from.
        message: The outcome as a sentence.
    """

    name: str
    kind: str
    status: str
    n: int = 0
    previous: float | None = None
    now: float | None = None
    drop: float | None = None
    max_drop: float = 0.0
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

    @property
    def exit_code(self) -> int:
        """0 passed, 1 failed, 3 not enough evidence."""
        return _EXIT[self.status]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return asdict(self) | {"exit_code": self.exit_code}


def decide(run: Run, other: Run | None, policy: Policy, packs: Mapping[str, Pack] | None = None) -> Verdict:
    """Hold a run against a policy.

    Args:
        run: The run to judge.
        other: What it may not fall behind; None for the published verdicts.
        policy: The demands.
        packs: All packs, where the policy names suite scores.

    Raises:
        BadInput: the policy names a metric or filter that a task lacks, or suite scores without another run.
    """
    checks, warnings, label = _task_checks(run, other, policy)
    checks += _suite_checks(run, other, policy, packs or {})
    present = {check.name for check in checks}
    for name in policy.required:
        if name not in present:
            message = "required, but the run or its counterpart has no samples of it"
            hint = near(name, present)
            checks.append(Check(name, "task", UNDECIDED, message=f"{message} ({hint})" if hint else message))
    _adjust(checks, policy)
    statuses = {check.status for check in checks}
    status = next((one for one in (FAIL, UNDECIDED) if one in statuses), PASS)
    if not checks:
        status = UNDECIDED
    return Verdict(run.label, label, status, policy.confidence, policy.mode, checks, warnings)


def _task_checks(run: Run, other: Run | None, policy: Policy) -> tuple[list[Check], list[str], str]:
    rules = dict.fromkeys(run.tasks, policy.defaults) if policy.tasks is None else dict(policy.tasks)
    # A required task without a rule of its own is checked by the defaults.
    rules |= {name: policy.defaults for name in policy.required if name in run.tasks and name not in rules}
    if policy.tasks is not None:
        problems = Problems()
        known = [*run.tasks, *(other.tasks if other else [])]
        for name in rules:
            if name not in known and name not in policy.required:
                problems.add(
                    f"no task {name!r}", where="policy (tasks)", allowed=", ".join(known), fix=near(name, known)
                )
        problems.raise_if_any()
    checks: list[Check] = []
    warnings: list[str] = []
    problems = Problems()
    for name, rule in rules.items():
        if name not in run.tasks or (other is not None and name not in other.tasks):
            if name not in policy.required:
                checks.append(Check(name, "task", UNDECIDED, message="only one side has samples of it"))
            continue
        try:
            one = compare_runs(
                run, other, tasks=[name], metric=rule.metric, filter_name=rule.filter, confidence=policy.confidence
            )
        except BadInput as error:
            problems.extend(error.problems)
            continue
        warnings += one.warnings
        check = _check(name, "task", one.tasks[0].difference, rule, policy)
        if check.n == 0 and one.tasks[0].notes:
            check.message = f"{check.message}: {'; '.join(one.tasks[0].notes)}"
        checks.append(check)
    problems.raise_if_any()
    if policy.overall is not None:
        together = set(run.tasks) if other is None else set(run.tasks) & set(other.tasks)
        whole = compare_runs(run, other, confidence=policy.confidence).overall if together else None
        if whole is None:
            checks.append(
                Check("overall", "overall", UNDECIDED, message="no task with right-or-wrong scores was paired")
            )
        else:
            checks.append(_check("overall", "overall", whole, policy.overall, policy))
    return checks, list(dict.fromkeys(warnings)), other.label if other is not None else "published verdicts"


def _check(name: str, kind: str, item: Difference, rule: Rule, policy: Policy) -> Check:
    check = Check(name, kind, PASS, n=item.n, previous=item.previous, now=item.now, max_drop=rule.max_drop)
    if item.delta is None or item.n < rule.min_n:
        check.status = UNDECIDED
        check.message = f"{item.n} pairs, {rule.min_n} are needed"
        return check
    check.drop = -item.delta if item.higher_is_better else item.delta
    worse = shown_drop(item, check.drop, rule.max_drop)
    check.test = item.test if rule.max_drop == 0 else f"t test of a drop beyond {rule.max_drop:g}"
    if policy.mode == "regression":
        check.p = worse
    elif worse < 1 - policy.confidence:
        check.status = FAIL
        check.message = f"drop of {check.drop:.4g}, beyond the tolerated {rule.max_drop:g} (p = {worse:.2g})"
    else:
        check.p = _beyond(rule.max_drop - check.drop, item)
    return check


def shown_drop(item: Difference, drop: float, max_drop: float) -> float:
    """Two-sided p-value of a drop beyond `max_drop`; 1 for any smaller drop.

    Without tolerance it is the comparison's own test: exact McNemar for verdicts, sign flips for graded scores, t with
    clustered errors for rows that share documents. With one, it is the t test of drop - max_drop. Two-sided, so that
    the gate fails exactly when the interval that `compare` prints lies beyond the tolerance.
    """
    if drop <= max_drop:
        return 1.0
    if max_drop == 0 and item.p is not None:
        return item.p
    return _beyond(drop - max_drop, item)


def _beyond(distance: float, item: Difference) -> float:
    """Two-sided p of the t test of `distance`; 1 when it points the other way."""
    degrees = (item.clusters if item.clusters is not None else item.n) - 1
    if distance <= 0 or item.stderr is None or degrees < 1:
        return 1.0
    return statistics.student_p(distance / item.stderr, degrees) if item.stderr else 0.0


def _suite_checks(run: Run, other: Run | None, policy: Policy, packs: Mapping[str, Pack]) -> list[Check]:
    if not policy.suite:
        return []
    if other is None:
        raise BadInput(
            Problem(what="suite scores are compared between two runs", where="policy (suite)", fix="name another run")
        )
    from evalprep.score import score_run

    now = {score.name: score for score in score_run(run, packs).suite}
    before = {score.name: score for score in score_run(other, packs).suite}
    checks = []
    for name, rule in policy.suite.items():
        ours, theirs = now.get(name), before.get(name)
        check = Check(name, "suite", UNDECIDED, max_drop=rule.max_drop, message="no value on one of the sides")
        checks.append(check)
        if ours is None or theirs is None or ours.value is None or theirs.value is None:
            continue
        check.n = min(ours.n or 0, theirs.n or 0)
        check.previous, check.now = theirs.value, ours.value
        check.drop = (theirs.value - ours.value) * (-1.0 if ours.better == "down" else 1.0)
        if check.n and check.n < rule.min_n:
            check.message = f"{check.n} rows, {rule.min_n} are needed"
            continue
        check.status, check.message = PASS, ""
        if ours.stderr is None or theirs.stderr is None:
            # No uncertainty is known: the plain difference decides.
            check.test = "difference alone"
            check.p = 0.0 if (check.drop > rule.max_drop) == (policy.mode == "regression") else 1.0
            continue
        # Both runs answer the same questions; ignoring that widens the error and never narrows it.
        stderr = math.hypot(ours.stderr, theirs.stderr)
        distance = check.drop - rule.max_drop
        towards = distance if policy.mode == "regression" else -distance
        check.test = "z, runs taken as independent"
        check.p = 1.0 if towards <= 0 else statistics.two_sided_p(towards / stderr) if stderr else 0.0
    return checks


def _adjust(checks: list[Check], policy: Policy) -> None:
    """Adjust p over all checks that have one, and set status and message."""
    tested = [check for check in checks if check.p is not None]
    raw = [check.p if check.p is not None else math.nan for check in tested]
    adjusted = statistics.holm(raw) if policy.adjust == "holm" and policy.mode == "regression" else raw
    alpha = 1 - policy.confidence
    for check, p in zip(tested, adjusted, strict=True):
        check.p_adjusted = p
        drop, shown = check.drop or 0.0, p < alpha
        moved = f"drop of {drop:.4g}" if drop > 0 else f"gain of {-drop:.4g}" if drop < 0 else "no change"
        if policy.mode == "regression":
            check.status = FAIL if shown else PASS
            state = "beyond" if shown else "not shown to be beyond"
        else:
            check.status = PASS if shown else UNDECIDED
            state = "shown to be within" if shown else "not shown to be within"
        check.message = f"{moved}, {state} the tolerated {check.max_drop:g} (p = {p:.2g}, {check.test})"
