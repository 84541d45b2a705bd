"""What a regression gate demands, read from a YAML file.

    confidence: 0.95          # of the interval of the difference
    mode: regression          # non-inferiority: slack is 0 unless it is named
    adjust: holm              # `fail` over all checks; none: every check has the whole level
    on_unclear: unclear       # exit code 3; pass: what is neither shown nor ruled out passes
    rule: original            # scoring rule by which both runs are read, where their packs have several
    allow: [num_fewshot]      # facts of the question that may differ between the runs
    missing: 0.01             # share of the expected rows that may be missing
    required: [meta_gpqa]     # tasks or suite scores without which the gate cannot be passed
    defaults: {max_drop: 0.02, slack: 0.05, min_n: 100}
    tasks:                    # by default every task of the run, with the defaults
      meta_gpqa: {max_drop: 2%, min_n: 150, metric: exact_match, filter: strict-match}
    suite:
      mmlu_macro: {max_drop: 0.01, level: advisory}
    overall: {max_drop: 0.005}

`max_drop` is what may be lost, `slack` what may stay open beyond it (docs/commands/gate.md). Both are on the scale of
the score: 0.02 of an accuracy between 0 and 1 is two points; `2%` is a share of the baseline's score.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from custom_metrics.statistics import rows_needed
from evalprep.compare import check_allowed
from evalprep.errors import Problems, near
from evalprep.yamlfile import YamlFile, load_yaml

KEYS = (
    *("confidence", "mode", "adjust", "on_unclear", "rule", "allow", "missing"),
    *("required", "defaults", "tasks", "suite", "overall"),
)
RULE_KEYS = ("max_drop", "slack", "min_n", "metric", "filter", "level")
CHOICES = {
    "mode": ("regression", "non-inferiority"),
    "adjust": ("holm", "none"),
    "on_unclear": ("unclear", "pass"),
}
LEVELS = ("required", "advisory")
SLACK = 0.05  # of the range of a score
_RELATIVE = re.compile(r"\s*([0-9]{1,3}(?:\.[0-9]{1,10})?)\s*%\s*")


@dataclass(frozen=True)
class Limit:
    """A limit as the policy has it: on the scale of the score, or relative to the baseline's score."""

    value: float
    relative: bool = False

    def of(self, baseline: float | None) -> float:
        """The limit on the scale of the score."""
        return self.value * abs(baseline or 0.0) if self.relative else self.value


@dataclass(frozen=True)
class Rule:
    """One check.

    Args:
        max_drop: The drop that is tolerated.
        slack: What may stay open beyond it; None for the default of the mode.
        min_n: Pairs that it takes.
        metric, filter: What is compared instead of the primary metric.
        level: `advisory` checks are shown and never decide.
        where: Place in the policy file.
    """

    max_drop: Limit | float = 0.0
    slack: Limit | float | None = None
    min_n: int = 20
    metric: str | None = None
    filter: str | None = None
    level: str = "required"
    where: str = ""


@dataclass(frozen=True)
class Policy:
    """A whole policy; `tasks` is None when every task is checked by the defaults."""

    confidence: float = 0.95
    mode: str = "regression"
    adjust: str = "holm"
    on_unclear: str = "unclear"
    rule: str = ""
    allow: tuple[str, ...] = ()
    missing: float = 0.01
    required: tuple[str, ...] = ()
    defaults: Rule = field(default_factory=Rule)
    tasks: Mapping[str, Rule] | None = None
    suite: Mapping[str, Rule] = field(default_factory=dict)
    overall: Rule | None = None
    notes: tuple[str, ...] = ()

    def slack(self, rule: Rule, width: float | None, baseline: float | None) -> float:
        """What may stay open beyond the tolerated drop, for a score of this range."""
        if rule.slack is not None:
            return limit(rule.slack).of(baseline)
        return 0.0 if self.mode == "non-inferiority" else SLACK * (width or 1.0)


def limit(value: Limit | float) -> Limit:
    """A limit, of a plain number on the scale of the score."""
    return value if isinstance(value, Limit) else Limit(value)


def read_policy(path: Path) -> Policy:
    """Read and check a policy file.

    Raises:
        BadInput: every mistake in it.
    """
    source = load_yaml(path)
    problems = Problems()
    data = source.data
    for key in data:
        if key not in KEYS:
            problems.add(f"unknown key {key!r}", where=source.where(key), allowed=", ".join(KEYS), fix=near(key, KEYS))
    confidence = data.get("confidence", 0.95)
    if not _is_number(confidence) or not 0.5 < confidence < 1:
        problems.add(f"confidence is {confidence!r}", where=source.where("confidence"), allowed="between 0.5 and 1")
    missing = data.get("missing", 0.01)
    if not _is_number(missing) or not 0 <= missing < 1:
        problems.add(f"missing is {missing!r}", where=source.where("missing"), allowed="a share from 0 up to 1")
    for key, allowed in CHOICES.items():
        if data.get(key, allowed[0]) not in allowed:
            problems.add(f"{key} is {data[key]!r}", where=source.where(key), allowed=", ".join(allowed))
    rule = data.get("rule", "")
    if not isinstance(rule, str):
        problems.add(f"rule is {rule!r}", where=source.where("rule"), allowed="the name of a scoring rule")
    names = {key: _names(data.get(key), key, source, problems) for key in ("required", "allow")}
    check_allowed(names["allow"], source.where("allow"), problems)
    defaults = _rule(data.get("defaults"), Rule(), source, ("defaults",), problems)
    tables: dict[str, dict[str, Rule]] = {"tasks": {}, "suite": {}}
    for part, rules in tables.items():
        table = data.get(part) or {}
        if not isinstance(table, Mapping):
            problems.add(f"{part} is not a mapping", where=source.where(part), allowed="name: {max_drop: 0.01}")
            continue
        rules |= {str(name): _rule(entry, defaults, source, (part, name), problems) for name, entry in table.items()}
    overall = _rule(data["overall"], defaults, source, ("overall",), problems) if "overall" in data else None
    problems.raise_if_any()
    policy = Policy(
        confidence=float(confidence),
        missing=float(missing),
        rule=rule,
        required=names["required"],
        allow=names["allow"],
        defaults=defaults,
        tasks=tables["tasks"] if data.get("tasks") is not None else None,
        suite=tables["suite"],
        overall=overall,
        **{key: data.get(key, allowed[0]) for key, allowed in CHOICES.items()},
    )
    given = [
        entry for entry in (data.get("defaults"), *(data.get("tasks") or {}).values()) if isinstance(entry, Mapping)
    ]
    return replace(policy, notes=_out_of_reach(policy) if any("min_n" in entry for entry in given) else ())


def _out_of_reach(policy: Policy) -> tuple[str, ...]:
    """What a policy should be told: rules whose `min_n` rows can never pass, not even without one changed verdict."""
    notes = []
    for name, rule in {"defaults": policy.defaults, **(policy.tasks or {})}.items():
        if limit(rule.max_drop).relative or (rule.slack is not None and limit(rule.slack).relative):
            continue
        open_drop = limit(rule.max_drop).value + policy.slack(rule, 1.0, None)
        if 0 < open_drop < 1 and rule.min_n < (needed := rows_needed(0.0, open_drop)):
            notes.append(
                f"{name}: min_n {rule.min_n} is too few for max_drop and slack of {open_drop:g}: right-or-wrong rows "
                f"pass from {needed} on, if not one verdict changed"
            )
    return tuple(notes)


def _names(value: Any, key: str, source: YamlFile, problems: Problems) -> tuple[str, ...]:
    value = [] if value is None else value
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        problems.add(f"{key} is not a list of names", where=source.where(key), allowed="[name, ...]")
        return ()
    return tuple(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _limit(value: Any, where: str, key: str, problems: Problems) -> Limit:
    if isinstance(value, str) and (match := _RELATIVE.fullmatch(value)):
        return Limit(float(match[1]) / 100, relative=True)
    if not _is_number(value) or value < 0:
        problems.add(f"{key} is {value!r}", where=where, allowed="a finite number >= 0, or a share such as 2%")
        return Limit(0.0)
    return Limit(float(value))


def _rule(entry: Any, defaults: Rule, source: YamlFile, path: tuple[str, ...], problems: Problems) -> Rule:
    here = source.where(*path)
    if entry is None:
        return replace(defaults, where=here)
    if not isinstance(entry, Mapping):
        problems.add(f"{path[-1]} is not a mapping", where=here, allowed="{max_drop: 0.01, min_n: 100}")
        return defaults
    for key in entry:
        if key not in RULE_KEYS:
            where = source.where(*path, key)
            problems.add(f"unknown key {key!r}", where=where, allowed=", ".join(RULE_KEYS), fix=near(key, RULE_KEYS))
    max_drop, slack = (
        _limit(entry[key], source.where(*path, key), key, problems) if key in entry else getattr(defaults, key)
        for key in ("max_drop", "slack")
    )
    min_n, level = entry.get("min_n", defaults.min_n), entry.get("level", defaults.level)
    if not isinstance(min_n, int) or isinstance(min_n, bool) or min_n < 1:
        problems.add(f"min_n is {min_n!r}", where=source.where(*path, "min_n"), allowed="a whole number >= 1")
    if level not in LEVELS:
        problems.add(f"level is {level!r}", where=source.where(*path, "level"), allowed=", ".join(LEVELS))
    names = {key: entry.get(key, getattr(defaults, key)) for key in ("metric", "filter")}
    for key, name in names.items():
        if name is not None and not isinstance(name, str):
            problems.add(f"{key} is {name!r}", where=source.where(*path, key), allowed="a name")
    where = source.where(*path, "max_drop") if "max_drop" in entry else defaults.where or here
    return Rule(max_drop, slack, min_n, names["metric"], names["filter"], level, where)
