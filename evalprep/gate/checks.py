"""The checks that a policy demands.

Each has the conclusion of `evalprep.compare` that it is decided by.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

from evalprep.compare import (
    BITS,
    FEWEST_ROWS,
    OF_POLICY,
    PERCENT_RANGE,
    RATIO,
    Comparison,
    Conclusion,
    Difference,
    Quantities,
    Settings,
    add_suite,
    as_limit,
    measure,
    sentences,
    without_suite,
)
from evalprep.errors import BadInput, Problem, Problems, near
from evalprep.gate.policy import PRIMARY, Policy, Rule
from evalprep.packs import Pack
from evalprep.readers import metric_and_filter
from evalprep.results import NamedMetric, Run
from evalprep.score import Scores
from evalprep.terminal import counted

_LEAST_OF_PERCENT = 0.2  # a limit below is taken for a share
REQUIRED, ADVISORY = "required", "advisory"


@dataclass(frozen=True)
class Demand:
    """A check before it is judged: what it is about, its limits, and what was compared.

    Attributes:
        name: Task, `task: metric`, suite score or `overall`.
        kind: `task`, `suite` or `overall`.
        level: `required` or `advisory`.
        difference: What is compared, in the direction of the rule; None without a conclusion.
        conclusion: What `compare` concludes of it.
        max_drop: What is tolerated.
        slack: How far the interval may pass it.
        over: Of how many tasks an overall is the mean; empty for other checks.
        open: Why it cannot be decided; None where it is tested.
    """

    name: str
    kind: str = "task"
    level: str = REQUIRED
    difference: Difference | None = None
    conclusion: Conclusion | None = None
    max_drop: float = 0.0
    slack: float = 0.0
    over: str = ""
    open: str | None = None

    @cached_property
    def p(self) -> float | None:
        """Two-sided p of a drop of `max_drop`; None where it is not tested."""
        if self.open is not None or self.difference is None:
            return None
        return self.difference.drop_p(self.max_drop)


def measure_for(
    run: Run,
    other: Run | None,
    policy: Policy,
    packs: Mapping[str, Pack],
    choices: Sequence[NamedMetric] = (),
    *,
    scores: tuple[Scores, Scores] | None = None,
) -> Quantities:
    """Measures what a policy demands, with the metrics that its rules name.

    It has the suite scores that `compare` shows, so that both have one family: not where a rule
    names another metric, unless the policy asks for them.

    Args:
        run: The candidate.
        other: The baseline; None for the published verdicts.
        policy: The demands.
        packs: All packs.
        choices: Metrics of some tasks to decide by, in place of their primary ones.
        scores: Scores of both runs, where they are known already.

    Raises:
        BadInput: a rule for what neither run has, or a mistake in a pack of a policy with suite
            scores.
    """
    named: list[NamedMetric] = []
    problems = Problems()
    for name, rule in (policy.tasks or {}).items():
        if rule.metric is not None or rule.filter is not None:
            named.append(NamedMetric(rule.metric or "", name, rule.filter or ""))
    named += choices  # the command line wins over the file
    settings = Settings(
        confidence=policy.confidence,
        allow=tuple(policy.allow),
        tolerated_missing=policy.missing,
        cluster=policy.cluster,
        deciding=policy.metrics,
        pairing=policy.pairing,
    )
    _check_rules(run, other, policy, problems)
    _check_listed_metrics(run, other, policy, problems)
    problems.raise_if_any()
    quantities = measure(run, other, packs, settings, choices=named, with_suite=False)
    if other is None or (named and not policy.suite):
        return quantities
    try:
        return add_suite(quantities, run, other, packs, settings, scores=scores)
    except BadInput as error:
        if policy.suite:
            raise
        return replace(quantities, warnings=[*quantities.warnings, *without_suite(error)])


def _check_rules(run: Run, other: Run | None, policy: Policy, problems: Problems) -> None:
    """Reports rules for tasks that neither run has."""
    names: dict[str, None] = {}
    for side in (run, other):
        if side is not None:  # a group's stored value may stand for it
            names |= dict.fromkeys([*side.known_tasks, *side.stored_groups, *side.unread])
    known = list(names)
    free = [name for name in known if name not in (policy.tasks or {})]
    for name, rule in (policy.tasks or {}).items():
        if name not in known and name not in policy.required:
            problems.add(
                f"no task {name!r}",
                where=rule.where or f"{policy.path} (tasks)",
                allowed=", ".join(known),
                fix=near(name, free),
            )


def _check_listed_metrics(run: Run, other: Run | None, policy: Policy, problems: Problems) -> None:
    """Reports deciding metrics that no task has."""
    if isinstance(policy.metrics, str):
        return
    sides = [run] if other is None else [run, other]
    tasks = chain.from_iterable(side.known_tasks.values() for side in sides)
    metrics = chain.from_iterable(task.metrics for task in tasks)
    known = {metric.metric for metric in metrics}
    for name in policy.metrics:
        if metric_and_filter(name)[0] not in known:
            problems.add(
                f"no task has a metric {name!r}",
                where=f"{policy.path} (metrics)",
                allowed=", ".join(sorted(known)),
                fix=near(name, known),
            )


def demands_of(run: Run, other: Run | None, policy: Policy, comparison: Comparison) -> list[Demand]:
    """Every check of a policy, with what it is decided by.

    Raises:
        BadInput: limits that can never fail, or suite scores without another run.
    """
    problems = Problems()
    demands = _task_demands(comparison, policy, problems)
    if other is not None:
        demands += _missing_metrics(run, other, comparison, policy)
    if policy.suite and other is None:
        raise BadInput(
            Problem(
                what="suite scores are compared between two runs",
                where=f"{policy.path} (suite)",
                fix="name another run",
            )
        )
    demands += [
        _demand("suite", name, _named(comparison.suite, name), rule, policy, problems)
        for name, rule in policy.suite.items()
    ]
    if policy.overall is not None:
        mean = comparison.overall
        if mean is None:
            reason = comparison.overall_reason or "no task was compared"
            demand = Demand(
                "overall", "overall", policy.overall.level, open=f"not computed, because {reason}"
            )
        else:
            demand = _demand("overall", "overall", mean, policy.overall, policy, problems)
            demand = replace(demand, over=mean.name)
        demands.append(demand)
    problems.raise_if_any()
    demands = _with_unread(demands, run, other, policy)
    present = {demand.name for demand in demands}
    for name in policy.required:
        if name not in present:
            hint = near(name, present)
            reason = "required, but one of the two runs has no samples of it"
            demands.append(Demand(name, open=f"{reason} ({hint})" if hint else reason))
    return demands


def undemanded(comparison: Comparison, policy: Policy) -> list[Conclusion]:
    """The conclusions about tasks that the policy has no rule for."""
    return [item for item in _deciding(comparison) if _rule_of(item.task, policy) is None]


def _rule_of(name: str, policy: Policy) -> Rule | None:
    """The rule of a task; None where the policy does not ask for it."""
    if policy.tasks is None or (name in policy.required and name not in policy.tasks):
        return policy.defaults
    return policy.tasks.get(name)


def _task_demands(comparison: Comparison, policy: Policy, problems: Problems) -> list[Demand]:
    """The checks of tasks: their deciding metrics, and tasks that a side lacks.

    Of those that the baseline lacks it has the ones that the policy names.
    """
    demands = []
    for conclusion in _deciding(comparison):
        rule = _rule_of(conclusion.task, policy)
        if rule is not None and _is_asked(conclusion, rule, comparison):
            # Stored scores carry their metric in their name; the first of a task has the task's
            # name.
            is_only = conclusion.kind == "stored" and policy.metrics == PRIMARY
            name = conclusion.task if is_only else conclusion.name
            demands.append(_demand("task", name, conclusion, rule, policy, problems))
    for name in comparison.missing_tasks:
        demands += _lone_task(name, "the candidate", policy)
    for name in comparison.extra_tasks:
        if name in (policy.tasks or {}) or name in policy.required:
            demands += _lone_task(name, "the baseline", policy)
    return demands


def _with_unread(
    demands: Sequence[Demand], run: Run, other: Run | None, policy: Policy
) -> list[Demand]:
    """The demands, with a check for each task of a side of which no rows are read.

    What is decided by stored scores, although a side logged rows of other tasks, counts as unread.
    """
    sides = {"the candidate": run}
    if other is not None:
        sides["the baseline"] = other
    missing: dict[str, str] = {}
    for side, side_run in sides.items():
        for name in _unread_tasks(side_run, policy, published=other is None):
            reason = side_run.unread[name].sentence(name)
            missing.setdefault(name, f"its rows of {side} are missing: {reason}")
    lifted = "`allow_missing` in the policy, or --timestamp, goes on without it"
    kept = [demand for demand in demands if demand.name not in missing]
    return [*kept, *(Demand(name, open=f"{why}; {lifted}") for name, why in missing.items())]


def _unread_tasks(run: Run, policy: Policy, *, published: bool) -> list[str]:
    """The tasks of a side of which no rows are read, although the gate asks for them.

    Against another run, a side without any samples is decided by its stored scores.
    """
    named = {*policy.required, *(set(policy.tasks or {}) - {*policy.allow_missing})}
    names = []
    for name, unread in run.unread.items():
        if unread.kind == "no samples" and not run.tasks and not published:
            continue
        may_lack = name in policy.allow_missing and name not in policy.required
        is_asked = name in named and (published or name not in run.stored)
        if is_asked or not (run.identity.is_chosen or may_lack):
            names.append(name)
    return names


def _is_asked(conclusion: Conclusion, rule: Rule, comparison: Comparison) -> bool:
    """False for a further metric of a task whose rule names its metric: that one alone decides."""
    first = next((task for task in comparison.tasks if task.name == conclusion.task), None)
    return first is None or conclusion is first or rule.metric is None


def _lone_task(name: str, side: str, policy: Policy) -> list[Demand]:
    """The check of a task that a side lacks; none where it may be missing."""
    rule = _rule_of(name, policy)
    if rule is None or (name in policy.allow_missing and name not in policy.required):
        return []
    return [Demand(name, level=rule.level, open=f"{side} has no {name}")]


def _deciding(comparison: Comparison) -> list[Conclusion]:
    """The conclusions about tasks that decide, each quantity once."""
    of_tasks = {task.duplicate_of for task in comparison.tasks if task.duplicate_of}
    beside = [*comparison.metrics, *comparison.further]
    further = [item for item in beside if item.duplicate_of not in of_tasks]
    known = [*comparison.tasks, *further, *comparison.stored]
    return [item for item in known if item.decides]


def _missing_metrics(run: Run, other: Run, comparison: Comparison, policy: Policy) -> list[Demand]:
    """A check for each deciding metric that one side of a task lacks."""
    if policy.metrics == PRIMARY:
        return []
    settings = Settings(deciding=policy.metrics)
    demands = []
    for task in comparison.tasks:
        rule = _rule_of(task.name, policy)
        if rule is None:
            continue
        own, of_baseline = (
            {(metric.metric, metric.filter) for metric in side.tasks[task.name].metrics}
            for side in (run, other)
        )
        for metric, filter_name in sorted(own ^ of_baseline):
            if settings.decides(metric, filter_name, primary=False):
                side = "the baseline" if (metric, filter_name) in own else "the candidate"
                label = metric if filter_name == "none" else f"{metric} ({filter_name})"
                reason = f"{side} has no {label} of {task.name}"
                name = f"{task.name}: {label}"
                demands.append(Demand(name, level=rule.level, open=reason))
    return demands


def _named(suite: Sequence[Conclusion], name: str) -> Conclusion | None:
    """The suite score of a name, or of `pack/name` where two packs have one of that name.

    Raises:
        BadInput: the name alone means two scores.
    """
    scores = [score for score in suite if name in (score.name, score.name.rpartition("/")[2])]
    exact = next((score for score in scores if score.name == name), None)
    if exact is None and len(scores) > 1:
        raise BadInput(
            Problem(
                what=f"{name!r} is a score of several packs",
                where="policy (suite)",
                allowed=", ".join(score.name for score in scores),
            )
        )
    return exact or (scores[0] if scores else None)


def _demand(
    kind: str,
    name: str,
    conclusion: Conclusion | None,
    rule: Rule,
    policy: Policy,
    problems: Problems,
) -> Demand:
    """A check of what is concluded, with its limits and what keeps it from being decided."""
    if conclusion is None:
        return Demand(name, kind, rule.level, open="no value on one of the sides")
    item = oriented(conclusion.difference, rule.direction)
    max_drop, slack = _limits(name, item, rule, policy, problems)
    demand = Demand(name, kind, rule.level, item, conclusion, max_drop, slack)
    if kind == "task":
        _check_limit(demand, item, rule, policy, problems)
    if conclusion.refusals:
        return replace(demand, open="; ".join(sentences(conclusion.refusals, OF_POLICY)))
    return replace(demand, open=_why_undecided(conclusion, item, rule))


def _why_undecided(conclusion: Conclusion, item: Difference, rule: Rule) -> str | None:
    """Returns what keeps a check of comparable runs from being decided; None where nothing does."""
    if conclusion.reasons or item.evidence is None:
        return "; ".join(conclusion.not_enough) or conclusion.words
    needed = max(rule.min_n, FEWEST_ROWS)
    if item.n < needed:
        kind = "row" if item.made_of == "stored" else "pair"
        return f"{counted(item.n, kind)}, {needed} are needed"
    if item.higher_is_better is None:
        metric = conclusion.metric or conclusion.name
        return (
            f"the better direction of {metric} is not known; "
            "write `direction: up` or `direction: down` into its rule"
        )
    return None


def oriented(item: Difference, direction: str | None) -> Difference:
    """A difference of an unknown direction in the direction of a rule."""
    if direction is None or item.higher_is_better is not None:
        return item
    if direction == "up":
        return replace(item, higher_is_better=True)
    evidence = item.evidence
    return replace(
        item, higher_is_better=False, evidence=None if evidence is None else evidence.turned()
    )


def _limits(
    name: str, item: Difference, rule: Rule, policy: Policy, problems: Problems
) -> tuple[float, float]:
    """Tolerated drop and slack on the scale of the difference.

    Reports points of a score that has none.
    """
    # A perplexity is judged by its ratio: 2% is a factor of 1.02.
    baseline = 1.0 if item.unit == RATIO else item.previous
    max_drop = as_limit(rule.max_drop).of(baseline, item.hundred_points)
    width = abs(item.previous or 1.0) if item.unit == BITS else item.range
    slack = policy.slack(rule, width, baseline, item.hundred_points)
    if max_drop is None or slack is None:
        problems.add(
            f"the scores of {name} are not shares, and have no points",
            where=rule.limit_where or policy.path,
            fix="write a number on the scale of the score, or a share of the baseline's score: 2%",
        )
        return 0.0, 0.0
    if item.unit == RATIO:
        return math.log1p(max_drop), math.log1p(slack)
    return max_drop, slack


def _check_limit(
    demand: Demand, item: Difference, rule: Rule, policy: Policy, problems: Problems
) -> None:
    """Reports a limit that no drop can exceed, and a share where scores are in percent."""
    value = as_limit(rule.max_drop)
    if item.hundred_points == PERCENT_RANGE and not value.unit:
        drop = value.value
        if 0.0 < drop < _LEAST_OF_PERCENT:
            problems.add(
                f"max_drop is {drop:g} of 100: the scores of {demand.name} lie between 0 and 100",
                where=rule.limit_where or policy.path,
                allowed=f"0, or a number from {_LEAST_OF_PERCENT:g} on",
                fix=f"write {100 * drop:g} points, or {100 * drop:g}% of the baseline's score",
            )
            return
    if item.range is None or demand.max_drop + demand.slack < item.range:
        return
    fix = ""
    if not value.unit and 1 <= value.value <= 100 and item.range <= 1:
        points = f"{value.value:g} point{'' if value.value == 1 else 's'}"
        fix = f"write {points}, or {value.value:g}% of the baseline's score"
    problems.add(
        f"max_drop {demand.max_drop:g} with slack {demand.slack:g} can never fail: "
        f"the scores of {demand.name} span {item.range:g}",
        where=rule.limit_where or policy.path,
        allowed=f"together below {item.range:g}",
        fix=fix,
    )
