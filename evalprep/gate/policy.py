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

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictInt,
    StrictStr,
    ValidationError,
    WithJsonSchema,
)
from pydantic_core import ErrorDetails

from custom_metrics.statistics import unchanged_rows
from evalprep.compare import LIMIT_TEXT, SHARE, Limit, as_limit, check_allowed, read_limit
from evalprep.errors import Problems, near
from evalprep.samples import BY_CONTENT, PairRules
from evalprep.structs import Schema, document, nullable
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


def _number(value: Any) -> Any:
    """A number as it is; True, False and text are refused.

    Raises:
        ValueError: anything but a number.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError("not a number")  # noqa: TRY004 - pydantic reports ValueError alone
    return value


_LIMIT_SCHEMA: Schema = {
    "anyOf": [{"type": "number", "minimum": 0}, {"type": "string", "pattern": f"^{LIMIT_TEXT}$"}]
}
_Limit = Annotated[Limit, BeforeValidator(read_limit), WithJsonSchema(_LIMIT_SCHEMA)]
_Number = Annotated[float, BeforeValidator(_number)]
_Names = tuple[StrictStr, ...]
_Keys = tuple[str | int, ...]  # of the file, from its top to a value
_LIMIT = (
    "a number of points (2 points), a number >= 0 on the scale of the score (0.02 is 2 points), "
    "or a share of the baseline's score (2%)"
)
_ENTRY = "{max_drop: 0.01, min_n: 100}"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


class RuleEntry(_Strict):
    """One rule of the file; what it leaves out is inherited from the defaults."""

    max_drop: _Limit | None = Field(default=None, description=_LIMIT)
    slack: _Limit | None = Field(default=None, description=_LIMIT)
    min_n: StrictInt | None = Field(default=None, ge=1, description="a whole number >= 1")
    metric: StrictStr | None = Field(default=None, description="the name of a metric")
    filter: StrictStr | None = Field(default=None, description="the name of a filter")
    direction: Literal["up", "down"] | None = Field(default=None, description="up, down")
    level: Literal["required", "advisory"] | None = Field(
        default=None, description="required, advisory"
    )


_Entries = dict[str, RuleEntry | None]


class PolicyFile(_Strict):
    """The keys of a policy file."""

    confidence: _Number = Field(default=0.95, gt=0.5, lt=1, description="between 0.5 and 1")
    mode: Literal["regression", "non-inferiority"] = Field(
        default="regression", description="regression, non-inferiority"
    )
    adjust: Literal["holm", "none"] = Field(default="holm", description="holm, none")
    on_unclear: Literal["unclear", "pass"] = Field(default="unclear", description="unclear, pass")
    rule: StrictStr = Field(default="", description="the name of a scoring rule")
    metrics: Literal["primary", "all"] | _Names = Field(
        default="primary", description="primary, all, or a list of metric names"
    )
    allow: _Names = Field(default=(), description="[name, ...]")
    allow_missing: _Names = Field(default=(), description="[task, ...]")
    missing: _Number = Field(default=0.01, ge=0, lt=1, description="a share from 0 up to 1")
    cluster: StrictStr = Field(default="", description="the name of a field of the rows")
    required: _Names = Field(default=(), description="[name, ...]")
    defaults: RuleEntry = Field(default=RuleEntry(), description=_ENTRY)
    tasks: _Entries | None = Field(default=None, description=f"name: {_ENTRY}")
    suite: _Entries = Field(default={}, description="name: {max_drop: 0.01}")
    overall: RuleEntry | None = Field(default=None, description=_ENTRY)


def policy_schema(file: str) -> Schema:
    """Returns the JSON schema of a policy file.

    Args:
        file: Name of the schema's own file.
    """
    schema = nullable(PolicyFile.model_json_schema())
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
    tasks = None
    if entries.tasks is not None:
        tasks = _rules(entries.tasks, defaults, source, "tasks")
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
        suite=_rules(entries.suite, defaults, source, "suite"),
        overall=_overall(entries, defaults, source),
        path=source.name,
    )
    if _states_min_n(entries):
        policy = replace(policy, notes=_out_of_reach(policy))
    return policy


def _states_min_n(entries: PolicyFile) -> bool:
    """Returns whether the defaults or the rule of a task state `min_n`."""
    rules = [entries.defaults]
    if entries.tasks:
        rules += [rule for rule in entries.tasks.values() if rule]
    return any("min_n" in rule.model_fields_set for rule in rules)


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
    try:
        return PolicyFile.model_validate(data)
    except ValidationError as error:
        reported: set[_Keys] = set()
        for detail in error.errors(include_url=False):
            keys = _keys_of(detail)
            if keys not in reported:
                reported.add(keys)
                _report(detail, keys, source, problems)
        return PolicyFile()


_DEPTHS = {"tasks": 3, "suite": 3, "defaults": 2, "overall": 2}  # keys to a value of a rule
_UNKNOWN_KEY = {"extra_forbidden", "invalid_key"}  # the second is a number, or null
_NO_MAPPING = {"model_type", "model_attributes_type", "dict_type"}  # mistakes, as pydantic has them


def _keys_of(detail: ErrorDetails) -> _Keys:
    """The keys of the file that lead to a mistake, without the parts that name types."""
    location = detail["loc"]
    depth = _DEPTHS.get(str(location[0]), 1)
    return location[:depth]


def _report(detail: ErrorDetails, keys: _Keys, source: YamlFile, problems: Problems) -> None:
    """Adds a mistake of a policy file in the words of its reader."""
    is_rule_key = len(keys) > 1 and keys[-1] not in _names_under(keys, source)
    fields = RuleEntry.model_fields if is_rule_key else PolicyFile.model_fields
    name = str(keys[-1])
    where = source.where(*keys)
    if detail["type"] in _UNKNOWN_KEY:
        what = f"unknown key {name!r}"
        allowed = ", ".join(fields)
        problems.add(what, where=where, allowed=allowed, fix=near(name, fields))
        return
    if detail["type"] in _NO_MAPPING:
        key = name if name in PolicyFile.model_fields else "defaults"
        allowed = str(PolicyFile.model_fields[key].description)
        problems.add(f"{name} is not a mapping", where=where, allowed=allowed)
        return
    what = _wrong_value(name, _value_at(keys, source))
    allowed = str(fields[name].description)
    problems.add(what, where=where, allowed=allowed)


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


def _names_under(keys: _Keys, source: YamlFile) -> Mapping[str, Any]:
    """The task or score names that stand where the last key stands."""
    is_name = len(keys) == 2 and keys[0] in {"tasks", "suite"}
    return source.at(str(keys[0])) if is_name else {}


def _value_at(keys: _Keys, source: YamlFile) -> Any:
    value: Any = source.data
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else value
    return value


def _rules(
    entries: Mapping[str, RuleEntry | None], defaults: Rule, source: YamlFile, part: str
) -> dict[str, Rule]:
    rules = {}
    for name, entry in entries.items():
        rules[name] = _rule(entry or RuleEntry(), defaults, source, part, name)
    return rules


def _overall(entries: PolicyFile, defaults: Rule, source: YamlFile) -> Rule | None:
    """The rule of the overall check; `overall:` without a value takes the defaults."""
    if "overall" not in entries.model_fields_set:
        return None
    return _rule(entries.overall or RuleEntry(), defaults, source, "overall")


def _rule(entry: RuleEntry, defaults: Rule, source: YamlFile, *keys: str) -> Rule:
    """A rule with what it leaves out taken from the defaults."""
    stated = {}
    for name in entry.model_fields_set:
        value = getattr(entry, name)
        if value is not None:
            stated[name] = value
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
