"""The pages of docs/reference that are not of a verb: codes, keys, packs, metrics, classes, graders, measurements.

`python -m tests.reference` checks and writes them.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import yaml

import custom_metrics
import evalprep.api
from benchmarks.__main__ import LONG, SCRIPTS
from benchmarks.measuring import marks
from benchmarks.quotes import quotes
from custom_metrics.__main__ import describe
from custom_metrics.harness import filters, results
from evalprep import packapi
from evalprep.check.codes import markdown
from evalprep.config.schema import Core
from evalprep.export.settings import Settings
from evalprep.packs import Annotator, Pack, entries, manifest
from evalprep.packs.finding import find_packs
from evalprep.score.result import Result
from evalprep.structs import meanings, plain_data
from tests import PROJECT_ROOT
from tests.custom_metrics.math.cases import CASES
from tests.readings import READINGS, read_as

#: Classes and functions that the code of a pack meets.
_PACK_NAMES = (
    *("Context", "TaskData", "Plan", "TaskPlan", "Call", "Excluded", "ScoreSpec", "SourceSpec"),
    *("GroundTruth", "JoinReport", "Item", "SampleRef", "Value", "Log", "LoggedTask", "LoggedRow"),
)
_OTHER_SCRIPTS = ("compl_ai_v1", "compl_ai_run", "faults", "foreign_tasks")


def lookup_pages(measured: str) -> dict[str, str]:
    """Returns name -> text of each page; `measured` is the page of measurements as it is now."""
    packs = find_packs(PROJECT_ROOT / "task_templates")
    return {
        "codes": markdown(),
        "config": _config(),
        "pack-yaml": _pack_yaml(),
        "classes": _classes(),
        "export-settings": _export_settings(),
        "manifest": f"# Keys of the manifest\n\n{inspect.getdoc(manifest)}\n",
        "metrics": _metrics(),
        "equal-answers": _equal_answers(),
        "readings": _readings(),
        "measured": measurements(measured),
        **{f"pack-{name}": _pack(pack) for name, pack in packs.items()},
    }


def titles() -> dict[str, str]:
    """Returns name -> what the page is, for the overview."""
    packs = find_packs(PROJECT_ROOT / "task_templates")
    return {
        "codes": "findings of `evalprep check`",
        "config": "keys of eval_config.yaml",
        "pack-yaml": "keys of pack.yaml",
        "classes": "Python: functions for notebooks, classes for packs",
        "export-settings": "settings of `evalprep export --set`",
        "manifest": "keys of manifest.json and run_<id>.json",
        "metrics": "metrics of `custom_metrics`",
        "equal-answers": "pairs of mathematical answers with their verdict",
        "readings": "replies with the letter or number that is read",
        "measured": "what the benchmarks measured last",
        **{f"pack-{name}": f"pack {name}: keys, tasks, scores" for name in packs},
    }


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table without the columns that are empty in every row."""
    lines = list(rows)
    shown = [at for at in range(len(head)) if any(line[at] for line in lines)]
    kept = [[line[at] for at in shown] for line in ([*head], *lines)]
    texts = [f"| {' | '.join(map(_cell, line))} |" for line in kept]
    return "\n".join([texts[0], f"|{'---|' * len(shown)}", *texts[1:]])


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _code(text: str) -> str:
    fence = "``" if "`" in text else "`"
    return f"{fence}{text}{fence}"


def _of_fields(kind: type) -> Iterator[tuple[str, str, str]]:
    """Yields names, default and meaning of each attribute."""
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    for names, text in meanings(kind).items():
        defaults = [_default(fields[name]) for name in names.split(", ")]
        shown = "" if all(one == "``" for one in defaults) else ", ".join(defaults)
        yield ", ".join(map(_code, names.split(", "))), shown, text


def _default(field: Any) -> str:
    if field.required:
        return "required"
    made = field.default_factory
    value = plain_data(field.default if made is msgspec.NODEFAULT else made())
    return _code(_yaml(value)) if value != "" else "``"


def _yaml(value: Any) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, width=10_000, sort_keys=False)
    return text.removesuffix("\n").removesuffix("\n...")


def _config() -> str:
    rows = _of_fields(Core)
    parts = [
        "# Keys of eval_config.yaml",
        (
            "The keys of every evaluation. The keys of a pack are on its page (`pack-NAME.md`). "
            "[eval_config.yaml](../config.md) is the guide."
        ),
        _table(("key", "default", "meaning"), rows),
    ]
    return "\n\n".join(parts) + "\n"


def _pack_yaml() -> str:
    sections = {
        "At the top": entries.PackEntry,
        "A key under `config`": entries.ConfigKey,
        "A task": entries.TaskSpec,
        "`call` of a task": entries.CallEntry,
        "A source": entries.SourceSpec,
        "A group": entries.GroupSpec,
        "A suite score": entries.ScoreEntry,
        "`leaderboard`": entries.BoardEntry,
    }
    parts = ["# Keys of pack.yaml", "[Writing a pack](../writing-a-pack.md) is the guide."]
    for title, kind in sections.items():
        parts += [f"## {title}", _table(("key", "default", "meaning"), _of_fields(kind))]
    return "\n\n".join(parts) + "\n"


def _export_settings() -> str:
    rows = _of_fields(Settings)
    parts = ["# Settings of evalprep export", "`--set KEY=VALUE`, once for each."]
    return "\n\n".join([*parts, _table(("key", "default", "meaning"), rows)]) + "\n"


def _classes() -> str:
    parts = ["# Python", "## Functions for notebooks"]
    for name in sorted(evalprep.api.__all__):
        if name[0].islower():
            parts += _documented(f"evalprep.{name}", getattr(evalprep.api, name))
    parts += ["## Classes for packs, from `evalprep.packapi`"]
    for name in _PACK_NAMES:
        parts += _documented(name, getattr(packapi, name))
    parts += _documented("Result of a suite score", Result)
    members = [
        (_code(name), inspect.getdoc(member) or "")
        for name, member in vars(Annotator).items()
        if name[0] != "_" and inspect.getdoc(member)
    ]
    parts += ["### Annotator", _table(("member", "meaning"), members)]
    return "\n\n".join(parts) + "\n"


def _documented(name: str, thing: Any) -> list[str]:
    text = re.sub(r"(?m)^>>> .*\n(?:.+\n?)*\n?", "", inspect.getdoc(thing) or "")
    return [f"### {name}", f"```text\n{text.strip()}\n```"]


def _metrics() -> str:
    rows = [describe(name, function) for name, function in custom_metrics.METRICS.items()]
    shown = [
        (_code(row["name"]), row["summary"], row["range"], row["better"])
        for row in sorted(rows, key=lambda row: row["name"])
    ]
    parts = [
        "# Metrics of custom_metrics",
        (
            "`python -m custom_metrics list` prints them with their arguments; each docstring has the "
            "formula and its source."
        ),
        _table(("metric", "what it computes", "range", "better"), shown),
    ]
    for title, module in (("Filters", filters), ("Scorers", results)):
        rows = [(_code(name), text.splitlines()[0]) for name, text in _functions(module)]
        parts += [f"## {title} for task YAMLs, in `{module.__name__}`", _table(("", ""), rows)]
    return "\n\n".join(parts) + "\n"


def _functions(module: Any) -> Iterator[tuple[str, str]]:
    for name, function in vars(module).items():
        if inspect.isfunction(function) and function.__module__ == module.__name__:
            text = inspect.getdoc(function)
            if text and not name.startswith("_"):
                yield name, text


def _equal_answers() -> str:
    parts = [
        "# Pairs of mathematical answers",
        (
            "Gold answer, reply, and whether `custom_metrics.math` takes them for equal. "
            "[Grading mathematics](../math-grading.md) has the rules."
        ),
    ]
    for title, cases in CASES.items():
        rows = [
            (_code(gold), _code(reply), "equal" if equal else "different")
            for gold, reply, equal in cases
        ]
        heading = title.replace("_", " ").capitalize()
        parts += [f"## {heading}", _table(("gold answer", "reply", "verdict"), rows)]
    return "\n\n".join(parts) + "\n"


def _readings() -> str:
    parts = [
        "# Replies and what is read from them",
        "[Extraction](../extraction.md) has the rules; `-` is an unparsed reply.",
    ]
    for kind, replies in READINGS.items():
        rows = [(_code(reply), read_as(kind, reply) or "-") for reply in replies]
        parts += [f"## {kind.capitalize()}", _table(("reply", "read"), rows)]
    return "\n\n".join(parts) + "\n"


def _pack(pack: Pack) -> str:
    guide = f"The guide: [{pack.name}](../packs/{pack.name}.md)."
    parts = [f"# Pack {pack.name}: keys, tasks, scores", f"{pack.description} {guide}"]
    parts += ["## Keys", _table(("key", "default", "meaning"), _keys(pack))]
    if pack.groups:
        rows = [
            (_code(name), ", ".join(group.tasks) or "made by the config", group.description)
            for name, group in pack.groups.items()
        ]
        parts += ["## Groups", _table(("group", "members", ""), rows)]
    if pack.tasks:
        rows = [
            (_code(name), task.description, ", ".join(task.aliases), task.unavailable)
            for name, task in pack.tasks.items()
        ]
        head = ("task", "content", "other names", "why it is not run")
        parts += ["## Tasks", _table(head, rows)]
    if pack.suite_scores:
        rows = [_score(name, score) for name, score in pack.suite_scores.items()]
        head = ("score", "title", "better", "range", "note", "made of", "heading")
        parts += ["## Suite scores", _table(head, rows)]
    data_sets = getattr(pack.module("datasets"), "PARTS", {})
    if data_sets:
        rows = [_data_set(name, part) for name, part in data_sets.items()]
        parts += ["## Data sets", _table(("name", "columns", "by default"), rows)]
    builtin = pack.module("builtin")
    if builtin is not None:
        rows = [_fields_of(name, builtin) for name in builtin.FIELDS]
        parts += ["## Data sets for `like`", _table(("name", "fields"), rows)]
    return "\n\n".join(parts) + "\n"


def _fields_of(name: str, builtin: Any) -> tuple[str, ...]:
    fields = ", ".join(f"{field}: {column}" for field, column in builtin.FIELDS[name].items())
    return _code(name), _code(f"{{{fields}}}")


def _data_set(name: str, part: Any) -> tuple[str, ...]:
    words = (_code(part.hub) if part.hub else "", part.config, part.split, *part.configs)
    columns = ", ".join(map(_code, part.columns))
    return _code(name), columns, " ".join(filter(None, words)) or part.why


def _keys(pack: Pack) -> Iterator[tuple[str, str, str]]:
    for key in pack.config.values():
        default = "required" if key.required else _code(_yaml(key.default)) * (key.default != "")
        allowed = f" One of {', '.join(map(_yaml, key.choices))}." if key.choices else ""
        place = " Also at the top level of the config." if key.top_level else ""
        yield _code(key.name), default, f"{key.doc.rstrip('.')}.{allowed}{place}"


def _score(name: str, score: entries.ScoreEntry) -> tuple[str, ...]:
    low, high = score.range
    bounds = "" if score.range == (None, None) else f"[{_bound(low)}, {_bound(high)}]"
    heading = " / ".join(filter(None, map(score.tags.get, ("principle", "requirement"))))
    made_of = score.tags.get("transformation", "") or ", ".join(map(_code, score.needs))
    return _code(name), score.title, score.better, bounds, score.note, made_of, heading


def _bound(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"


def measurements(page: str) -> str:
    """Returns the page of measurements: of the page as it is, the tables of the benchmarks and nothing else."""
    parts = ["# What the benchmarks measured last"]
    for name in (*(script.name for script in (*SCRIPTS, *LONG)), *_OTHER_SCRIPTS):
        first, last = marks(name)
        if first in page:
            table = page.partition(first)[2].partition(last)[0]
            parts += [f"## {name}", _title(name), f"{first}{table}{last}"]
    boxes = [f"`{box.command}`:\n\n```text\n{box.printed}```" for box in quotes(page)]
    return "\n\n".join([*parts, *(["## Graders of mathematics"] if boxes else []), *boxes]) + "\n"


def _title(name: str) -> str:
    """The first line of a benchmark's docstring."""
    folder = PROJECT_ROOT / "benchmarks"
    path = folder / f"{name}.py"
    text = ast.get_docstring(ast.parse(_source(path if path.is_file() else folder / name)))
    return text.splitlines()[0]


def _source(path: Path) -> str:
    return (path if path.is_file() else path / "__init__.py").read_text(encoding="utf-8")
