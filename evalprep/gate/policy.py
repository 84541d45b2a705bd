"""The demands of a regression gate, read from a YAML file.

    confidence: 0.95          # of the interval of the difference
    mode: regression          # non-inferiority: slack is 0 unless it is named
    adjust: holm              # `fail` over all checks; none: every check has the whole level
    on_unclear: unclear       # exit code 3; pass: what is neither shown nor ruled out passes
    rule: original            # scoring rule for both runs, where their packs have several
    metrics: primary          # the metrics that decide: primary, all, or a list of names
    allow: [num_fewshot]      # facts of the question that may differ between the runs
    allow_missing: [hard]     # tasks of the baseline that the candidate may lack
    missing: 0.01             # share of the expected rows that may be missing
    cluster: document_id      # field of the row that names its document
    required: [meta_gpqa]     # tasks or suite scores without which the gate cannot be passed
    defaults: {max_drop: 0.02, slack: 0.05, min_n: 100}
    tasks:                    # by default every task of both runs, with the defaults
      meta_gpqa: {max_drop: 2 points, min_n: 150, metric: exact_match, filter: strict-match}
    suite:
      mmlu_macro: {max_drop: 0.01, level: advisory}
    overall: {max_drop: 0.005}

`max_drop` is the tolerated drop, `slack` how far the interval may pass it (docs/commands/gate.md).
A plain number is on the scale of the score: 0.02 of an accuracy between 0 and 1 is `2 points`; `2%`
is a share of the baseline's score.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import structs

from custom_metrics.statistics import unchanged_rows
from evalprep.compare import LIMIT_TEXT, SHARE, Limit, as_limit, check_allowed, read_limit
from evalprep.errors import Problems, near
from evalprep.samples import BY_CONTENT, PairRules
from evalprep.structs import Mistake, Schema, document, nullable, read_struct, schema_of
from evalprep.yamlfile import YamlFile, load_yaml

SLACK = 0.05  # of the range of a score
PRIMARY, ALL = "primary", "all"


@dataclass(frozen=True)
class Rule:
    """One check.

    Args:
        max_drop: The drop that is tolerated.
        slack: How far the interval may pass it; None for the default of the mode.
        min_n: Pairs that it takes.
        metric, filter: What is compared instead of the primary metric.
        direction: `up` or `down`, for a metric whose better direction is not logged.
        level: `advisory` checks are shown and never decide.
        where: Place of the rule in the policy file.
        limit_where: Place of its limit, which may stand in the defaults.
    """

    max_drop: Limit | float = 0.0
    slack: Limit | float | None = None
    min_n: int = 20
    metric: str | None = None
    filter: str | None = None
    direction: str | None = None
    level: str = "required"
    where: str = ""
    limit_where: str = ""


@dataclass(frozen=True)
class Policy:
    """A whole policy; `tasks` is None when every task is checked by the defaults.

    `pairing` is no part of the file: the options of the verb decide it.
    """

    confidence: float = 0.95
    mode: str = "regression"
    adjust: str = "holm"
    on_unclear: str = "unclear"
    rule: str = ""
    metrics: str | tuple[str, ...] = PRIMARY
    allow: tuple[str, ...] = ()
    allow_missing: tuple[str, ...] = ()
    missing: float = 0.01
    cluster: str = ""
    required: tuple[str, ...] = ()
    defaults: Rule = field(default_factory=Rule)
    tasks: Mapping[str, Rule] | None = None
    suite: Mapping[str, Rule] = field(default_factory=dict)
    overall: Rule | None = None
    notes: tuple[str, ...] = ()
    path: str = "policy"
    pairing: PairRules = BY_CONTENT

    @property
    def needs_packs(self) -> bool:
        """True where packs tell of suite scores, rules, or tasks without a mean."""
        return bool(self.suite or self.rule or self.overall is not None)

    def slack(
        self, rule: Rule, width: float | None, baseline: float | None, hundred: float | None = 1.0
    ) -> float | None:
        """Returns how far the interval may pass the tolerated drop, for a score of this range.

        None for points of a score that has none.
        """
        if rule.slack is not None:
            return as_limit(rule.slack).of(baseline, hundred)
        if self.mode == "non-inferiority":
            return 0.0
        return SLACK * (width or 1.0)


_LIMIT = (
    "a number of points (2 points), a number >= 0 on the scale of the score (0.02 is 2 points), "
    "or a share of the baseline's score (2%)"
)
_Number = Annotated[float, msgspec.Meta(ge=0, le=sys.float_info.max)]
_Text = Annotated[str, msgspec.Meta(pattern=rf"^{LIMIT_TEXT}\Z")]
_Limit = Annotated[_Number | _Text | None, msgspec.Meta(description=_LIMIT)]
_ENTRY = "{max_drop: 0.01, min_n: 100}"


def _described(text: str) -> msgspec.Meta:
    return msgspec.Meta(description=text)


class RuleEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One rule of the file; what it leaves out is inherited from the defaults."""

    max_drop: _Limit = None
    slack: _Limit = None
    min_n: Annotated[
        Annotated[int, msgspec.Meta(ge=1)] | None, _described("a whole number >= 1")
    ] = None
    metric: Annotated[str | None, _described("the name of a metric")] = None
    filter: Annotated[str | None, _described("the name of a filter")] = None
    direction: Annotated[Literal["up", "down"] | None, _described("up, down")] = None
    level: Annotated[Literal["required", "advisory"] | None, _described("required, advisory")] = (
        None
    )


_Entries = dict[str, RuleEntry | None]
_Names = tuple[str, ...]


class PolicyFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The keys of a policy file."""

    confidence: Annotated[float, msgspec.Meta(gt=0.5, lt=1, description="between 0.5 and 1")] = 0.95
    mode: Annotated[
        Literal["regression", "non-inferiority"], _described("regression, non-inferiority")
    ] = "regression"
    adjust: Annotated[Literal["holm", "none"], _described("holm, none")] = "holm"
    on_unclear: Annotated[Literal["unclear", "pass"], _described("unclear, pass")] = "unclear"
    rule: Annotated[str, _described("the name of a scoring rule")] = ""
    metrics: Annotated[
        Literal["primary", "all"] | _Names, _described("primary, all, or a list of metric names")
    ] = "primary"
    allow: Annotated[_Names, _described("[name, ...]")] = ()
    allow_missing: Annotated[_Names, _described("[task, ...]")] = ()
    missing: Annotated[float, msgspec.Meta(ge=0, lt=1, description="a share from 0 up to 1")] = 0.01
    cluster: Annotated[str, _described("the name of a field of the rows")] = ""
    required: Annotated[_Names, _described("[name, ...]")] = ()
    defaults: Annotated[RuleEntry, _described(_ENTRY)] = RuleEntry()
    tasks: Annotated[_Entries | None, _described(f"name: {_ENTRY}")] = None
    suite: Annotated[_Entries | None, _described("name: {max_drop: 0.01}")] = None
    overall: Annotated[RuleEntry | None, _described(_ENTRY)] = None


def policy_schema(file: str) -> Schema:
    """Returns the JSON schema of a policy file.

    Args:
        file: Name of the schema's own file.
    """
    schema = nullable(schema_of(PolicyFile))
    return document("A policy of evalprep gate", file, schema)


def read_policy(path: Path) -> Policy:
    """Reads and checks a policy file.

    Raises:
        BadInput: every mistake in it.
    """
    source = load_yaml(path)
    problems = Problems()
    entries = _validated(source, problems)
    allow = source.data.get("allow")
    if isinstance(allow, list):
        names = [name for name in allow if isinstance(name, str)]
        check_allowed(names, source.where("allow"), problems)
    problems.raise_if_any()
    defaults = _rule(entries.defaults, Rule(), source, "defaults")
    tasks = overall = None
    if entries.tasks is not None:
        tasks = _rules(entries.tasks, defaults, source, "tasks")
    if "overall" in source.data:  # without a value it takes the defaults
        overall = _rule(entries.overall or RuleEntry(), defaults, source, "overall")
    policy = Policy(
        confidence=entries.confidence,
        mode=entries.mode,
        adjust=entries.adjust,
        on_unclear=entries.on_unclear,
        rule=entries.rule,
        metrics=entries.metrics,
        allow=entries.allow,
        allow_missing=entries.allow_missing,
        missing=entries.missing,
        cluster=entries.cluster,
        required=entries.required,
        defaults=defaults,
        tasks=tasks,
        suite=_rules(entries.suite or {}, defaults, source, "suite"),
        overall=overall,
        path=source.name,
    )
    stated = [entries.defaults, *(entries.tasks or {}).values()]
    if any(rule is not None and rule.min_n is not None for rule in stated):
        policy = replace(policy, notes=_out_of_reach(policy))
    return policy


def _validated(source: YamlFile, problems: Problems) -> PolicyFile:
    """The file's keys; its mistakes become problems with their lines."""
    data: dict[str, Any] = dict(source.data)
    for name, value in source.data.items():
        # A key whose lines are all commented out is null, and means the default.
        if value is None and name not in {"overall", "tasks"}:
            del data[name]
    for part in ("tasks", "suite"):  # a task may be called 1
        if isinstance(data.get(part), dict):
            data[part] = {str(name): rule for name, rule in data[part].items()}
    entries, mistakes = read_struct(PolicyFile, data)
    for mistake in mistakes:
        _report(mistake, source, problems)
    return entries or PolicyFile()


def _report(mistake: Mistake, source: YamlFile, problems: Problems) -> None:
    """Adds a mistake of a policy file in the words of its reader."""
    name, where = str(mistake.keys[-1]), source.where(*mistake.keys)
    if mistake.key is None:
        allowed = ", ".join(mistake.known)
        problems.add(
            f"unknown key {name!r}", where=where, allowed=allowed, fix=near(name, mistake.known)
        )
        return
    is_entry = len(mistake.keys) == 2 and mistake.keys[0] in {"tasks", "suite"}
    if is_entry or name in _MAPPINGS:
        allowed = _ENTRY if is_entry else mistake.key.description
        problems.add(f"{name} is not a mapping", where=where, allowed=allowed)
        return
    what = _wrong_value(name, mistake.value)
    problems.add(what, where=where, allowed=mistake.key.description)


_MAPPINGS = {"tasks", "suite", "defaults", "overall"}


def _wrong_value(name: str, value: Any) -> str:
    """Returns what is wrong with the value of a key."""
    if name in _LISTS and isinstance(value, (dict, str, int)):
        return f"{name} is not a list of names"
    if isinstance(value, (dict, list)):
        kind = _KINDS_OF_VALUES[type(value)]
        return f"{name} takes one value, and has {kind}"
    return f"{name} is {value!r}"


_LISTS = ("allow", "allow_missing", "required")
_KINDS_OF_VALUES: Mapping[type, str] = {dict: "a mapping", list: "a list"}


def _rules(
    entries: Mapping[str, RuleEntry | None], defaults: Rule, source: YamlFile, part: str
) -> dict[str, Rule]:
    rules = {}
    for name, entry in entries.items():
        rules[name] = _rule(entry or RuleEntry(), defaults, source, part, name)
    return rules


def _rule(entry: RuleEntry, defaults: Rule, source: YamlFile, *keys: str) -> Rule:
    """A rule with what it leaves out taken from the defaults."""
    stated: dict[str, Any] = {
        name: read_limit(value) if name in {"max_drop", "slack"} else value
        for name, value in structs.asdict(entry).items()
        if value is not None
    }
    where = source.where(*keys)
    limit_where = defaults.limit_where or where
    if "max_drop" in stated:
        limit_where = source.where(*keys, "max_drop")
    return replace(defaults, **stated, where=where, limit_where=limit_where)


def _out_of_reach(policy: Policy) -> tuple[str, ...]:
    """Notes on rules whose `min_n` rows can never pass, not even without one changed verdict."""
    notes = []
    rules = {"defaults": policy.defaults, **(policy.tasks or {})}
    for name, rule in rules.items():
        limits = [as_limit(value) for value in (rule.max_drop, rule.slack) if value is not None]
        if any(each.unit == SHARE for each in limits):
            continue
        open_drop = (limits[0].of(None) or 0.0) + (policy.slack(rule, 1.0, None) or 0.0)
        if not 0 < open_drop < 1:
            continue
        rows = unchanged_rows(open_drop)
        if rule.min_n < rows:
            minimum = f"min_n {rule.min_n}"
            reason = f"too few for max_drop and slack of {open_drop:g}"
            passing = f"right-or-wrong rows pass from {rows} on"
            notes.append(f"{name}: {minimum} is {reason}: {passing}, if not one verdict changed")
    return tuple(notes)
