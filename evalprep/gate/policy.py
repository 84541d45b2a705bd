"""What a regression gate demands, read from a YAML file.

    confidence: 0.95          # of the interval of the drop; noise alone fails the gate in at most 2.5 % of cases
    mode: regression          # fail on a shown drop; non-inferiority: pass only on a shown absence of one
    adjust: holm              # over all checks; none: every check has the whole level
    required: [meta_gpqa]     # tasks or suite scores without which the gate cannot be passed
    defaults: {max_drop: 0.0, min_n: 100}
    tasks:                    # by default every task of the run, with the defaults
      meta_gpqa: {max_drop: 0.02, min_n: 150, metric: exact_match, filter: strict-match}
    suite:
      mmlu_macro: {max_drop: 0.01}
    overall: {max_drop: 0.005}

`max_drop` is on the scale of the score: 0.02 of an accuracy between 0 and 1 is two points.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalprep.errors import Problems, near
from evalprep.yamlfile import YamlFile, load_yaml

KEYS = ("confidence", "mode", "adjust", "required", "defaults", "tasks", "suite", "overall")
RULE_KEYS = ("max_drop", "min_n", "metric", "filter")
MODES = ("regression", "non-inferiority")
ADJUSTMENTS = ("holm", "none")


@dataclass(frozen=True)
class Rule:
    """One check: the largest drop that is tolerated, the pairs it takes, and what is compared."""

    max_drop: float = 0.0
    min_n: int = 1
    metric: str | None = None
    filter: str | None = None


@dataclass(frozen=True)
class Policy:
    """A whole policy; `tasks` is None when every task is checked by the defaults."""

    confidence: float = 0.95
    mode: str = "regression"
    adjust: str = "holm"
    required: tuple[str, ...] = ()
    defaults: Rule = field(default_factory=Rule)
    tasks: Mapping[str, Rule] | None = None
    suite: Mapping[str, Rule] = field(default_factory=dict)
    overall: Rule | None = None


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
    for key, allowed in (("mode", MODES), ("adjust", ADJUSTMENTS)):
        if data.get(key, allowed[0]) not in allowed:
            problems.add(f"{key} is {data[key]!r}", where=source.where(key), allowed=", ".join(allowed))
    required = data.get("required") or []
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        problems.add("required is not a list of names", where=source.where("required"), allowed="[task, ...]")
    defaults = _rule(data.get("defaults"), Rule(), source, ("defaults",), problems)
    tables: dict[str, dict[str, Rule]] = {}
    for part in ("tasks", "suite"):
        table = data.get(part) or {}
        if not isinstance(table, Mapping):
            problems.add(f"{part} is not a mapping", where=source.where(part), allowed="name: {max_drop: 0.01}")
            continue
        tables[part] = {
            str(name): _rule(entry, defaults, source, (part, name), problems) for name, entry in table.items()
        }
    overall = _rule(data["overall"], defaults, source, ("overall",), problems) if "overall" in data else None
    problems.raise_if_any()
    return Policy(
        confidence=float(confidence),
        mode=data.get("mode", MODES[0]),
        adjust=data.get("adjust", ADJUSTMENTS[0]),
        required=tuple(required),
        defaults=defaults,
        tasks=tables["tasks"] if data.get("tasks") is not None else None,
        suite=tables["suite"],
        overall=overall,
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _rule(entry: Any, defaults: Rule, source: YamlFile, path: tuple[str, ...], problems: Problems) -> Rule:
    if entry is None:
        return defaults
    if not isinstance(entry, Mapping):
        problems.add(f"{path[-1]} is not a mapping", where=source.where(*path), allowed="{max_drop: 0.01, min_n: 100}")
        return defaults
    for key in entry:
        if key not in RULE_KEYS:
            where = source.where(*path, key)
            problems.add(f"unknown key {key!r}", where=where, allowed=", ".join(RULE_KEYS), fix=near(key, RULE_KEYS))
    max_drop, min_n = entry.get("max_drop", defaults.max_drop), entry.get("min_n", defaults.min_n)
    if "max_drop" in entry and (not _is_number(max_drop) or max_drop < 0):
        problems.add(f"max_drop is {max_drop!r}", where=source.where(*path, "max_drop"), allowed="a number >= 0")
    if "min_n" in entry and (not isinstance(min_n, int) or isinstance(min_n, bool) or min_n < 1):
        problems.add(f"min_n is {min_n!r}", where=source.where(*path, "min_n"), allowed="a whole number >= 1")
    names = {key: entry.get(key, getattr(defaults, key)) for key in ("metric", "filter")}
    for key, name in names.items():
        if name is not None and not isinstance(name, str):
            problems.add(f"{key} is {name!r}", where=source.where(*path, key), allowed="a name")
    return Rule(max_drop=max_drop, min_n=min_n, **names)
