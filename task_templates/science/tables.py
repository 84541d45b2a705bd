"""Tables over all runs of a folder.

A row per model, with mean and standard deviation over its seeds.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from custom_metrics.science.corpus import summary_metrics
from custom_metrics.science.model_order import model_sort
from custom_metrics.science.tasks import SUMMARY_COLUMNS, TASKS
from evalprep.packapi import (
    Column,
    Kind,
    Table,
    Workbook,
    last_part,
    make_folder,
    read_file,
    write_csv,
)

MISSING = "missing"
NUMBER_WIDTH, MAX_WIDTH = 8, 60  # characters
_RULES = [
    *("model", "task", "metric", "rule", "replies", "change", "within"),
    "original stops without it",
]
_MAX_CELL = 32_000  # a cell of a spreadsheet holds 32,767 characters

Cell = float | str
Line = list[Cell]
Flat = Mapping[str, float | None]


@dataclass
class Entry:
    """One run: a folder under `by_model/`.

    Attributes:
        name: The folder's name.
        tasks: Task -> its `metrics.json`.
        flat: Task -> its `metrics_flat.json`.
    """

    name: str
    tasks: dict[str, dict[str, Any]]
    flat: dict[str, Flat]

    @property
    def source(self) -> Mapping[str, Any]:
        """Returns what is known of the run."""
        return next((task["source"] for task in self.tasks.values() if "source" in task), {})

    def is_seed_of(self, other: Entry) -> bool:
        """Returns whether two runs are one model, asked the same, with two different seeds."""
        ours, theirs = self.source, other.source
        if not ours.get("seed") or not theirs.get("seed") or ours["seed"] == theirs["seed"]:
            return False
        shared = [name for name in self.tasks if name in other.tasks]
        columns = [
            (
                self.tasks[name]["source"].get("question"),
                other.tasks[name]["source"].get("question"),
            )
            for name in shared
        ]
        return (
            bool(shared)
            and ours.get("base") == theirs.get("base")
            and all(mine == yours for mine, yours in columns)
        )


@dataclass
class Model:
    """One row of the tables: a run, or the runs of one model with several seeds."""

    name: str
    entries: list[Entry] = field(default_factory=list)


def read(path: Path) -> Any:
    """A JSON file; None where there is none."""
    if path.is_file():
        return json.loads(read_file(path))
    return None


def models_of(by_model: Path) -> list[Model]:
    """The rows, in the order of the original: families together, sizes ascending."""
    folders = sorted(folder.name for folder in by_model.iterdir() if folder.is_dir())
    # Each run stands with the first runs that are its model with other seeds.
    groups: list[list[Entry]] = []
    for name in model_sort(folders):
        run = Entry(
            name,
            tasks=_read_per_task(by_model / name, "metrics.json"),
            flat=_read_per_task(by_model / name, "metrics_flat.json"),
        )
        for group in groups:
            if all(run.is_seed_of(other) for other in group):
                group.append(run)
                break
        else:
            groups.append([run])
    models = [
        Model(name, group) for name, group in zip(_names_of_groups(groups), groups, strict=True)
    ]
    models_by_name: dict[str, list[Model]] = {}
    for model in models:
        models_by_name.setdefault(model.name, []).append(model)
    names = model_sort([model.name for model in models])
    return list(chain.from_iterable(models_by_name[name] for name in names))


def _read_per_task(folder: Path, file_name: str) -> dict[str, dict[str, Any]]:
    """Task -> the content of its file of that name, where there is one."""
    contents = {task: read(folder / task / file_name) for task in TASKS}
    return {task: content for task, content in contents.items() if content is not None}


def _names_of_groups(groups: Sequence[Sequence[Entry]]) -> list[str]:
    """The name of each row: the model's where it has several seeds, else the run's folder.

    The model's name counts only where no other row has it as its model or folder.
    """
    bases = [last_part(str(group[0].source.get("base") or "")) for group in groups]
    folders = [group[0].name for group in groups]
    names = []
    for group, base, folder in zip(groups, bases, folders, strict=True):
        others = [name for name in folders if name != folder]
        is_clear = base != "" and bases.count(base) == 1 and base not in others
        names.append(base if len(group) > 1 and is_clear else folder)
    return names


def write_tables(root: Path) -> list[Path]:
    """Makes `tables/` from every run under `by_model/`.

    A table per task, the summary, the two rules, what is missing.

    A cell without a value says `missing`; `missing.tsv` names each with its reason. Returns the
    files that are over all tasks.
    """
    folder = root / "tables"
    by_model = root / "by_model"
    make_folder(folder, within=root)
    models = models_of(by_model)
    tables = [_summary(models), *_task_tables(models)]
    tables.append(_table("missing", ["model", "task", "metric", "reason"], _missing(models)))
    tables.append(_table("runs", ["run", "model", "seed", "folder", "rows"], _runs(models)))
    over_all_tasks = ["summary", "missing"]
    rules = _table("rules", _RULES, _rules(models), digits=2)
    if rules.rows:
        tables.append(rules)
        over_all_tasks.append("rules")
    for table in tables:
        write_csv(table, folder / f"{table.title}.tsv")
    heads = ["model", "task", "sample_id", "reply"]
    tables.append(_table("unparsable", heads, _unparsable(by_model, models)))
    written = [folder / f"{name}.tsv" for name in over_all_tasks]
    spreadsheet = folder / "tables.xlsx"
    try:
        with Workbook(spreadsheet) as book:
            for table in tables:
                book.add(table)
    except ImportError:  # the package of spreadsheets is optional
        return written
    return [*written, spreadsheet]


def _task_tables(models: Sequence[Model]) -> Iterator[Table]:
    """A table per task that a model has."""
    for name in TASKS:
        metrics = (entry.flat.get(name, {}) for entry in _entries(models))
        keys = list(dict.fromkeys(chain.from_iterable(metrics)))
        if keys:
            # The flat metrics of one task, a row per model. Deviations behind them where there
            # are seeds.
            with_seeds = _seeds(models)
            heads = ["model", *keys]
            if with_seeds:
                heads += [*(f"{key}_sd" for key in keys), "seeds"]
            lines: list[Line] = []
            for model in models:
                flats = [entry.flat.get(name, {}) for entry in model.entries]
                columns = [_known(flat.get(key) for flat in flats) for key in keys]
                line: Line = [model.name, *map(_mean, columns)]
                if with_seeds:
                    line += [*map(_sd, columns), len(model.entries)]
                lines.append(line)
            yield _table(name, heads, lines)


def _table(
    title: str,
    heads: Sequence[str],
    lines: Iterable[Line],
    *,
    over: Sequence[str] = (),
    digits: int = 4,
) -> Table:
    """A table whose columns are as wide as their longest text.

    Args:
        title: Its name: that of its file and of its sheet.
        heads: The names of the columns.
        lines: The rows.
        over: The headings above the names; none by default.
        digits: Decimals that the spreadsheet shows.
    """
    rows = list(lines)
    above = over or [""] * len(heads)
    columns = []
    for place, (name, title_above) in enumerate(zip(heads, above, strict=True)):
        cells = [name, title_above, *(line[place] for line in rows)]
        widths = [len(cell) if isinstance(cell, str) else NUMBER_WIDTH for cell in cells]
        width = min(max(widths) + 2, MAX_WIDTH)
        columns.append(Column(name, Kind.TEXT, over=title_above, width=width, digits=digits))
    return Table(title, columns, rows)


def _seeds(models: Sequence[Model]) -> bool:
    return any(len(model.entries) > 1 for model in models)


def _mean(numbers: Sequence[float]) -> Cell:
    return statistics.fmean(numbers) if numbers else MISSING


def _sd(numbers: Sequence[float]) -> Cell:
    """Sample standard deviation over seeds; empty for fewer than two."""
    return statistics.stdev(numbers) if len(numbers) > 1 else ""


def _columns(entry: Entry) -> list[float | None]:
    """A run's summary columns, in percent."""
    values = []
    for name, metric in SUMMARY_COLUMNS:
        value = summary_metrics(TASKS[name], entry.flat.get(name) or {})[metric]
        values.append(None if value is None else 100 * float(value))
    return values


def _summary(models: Sequence[Model]) -> Table:
    """Two header rows as in the original, values in percent.

    Mean and median over the columns that have a value.

    Where a model was run with several seeds its row holds means over them, and their standard
    deviations behind; mean and median are over the seeds that have every column of the row.
    """
    with_seeds = _seeds(models)
    aliases = [TASKS[name].alias for name, _ in SUMMARY_COLUMNS]
    metrics = [metric for _, metric in SUMMARY_COLUMNS]
    top = ["", *aliases, "mean", "median", "columns"]
    below = ["", *metrics, "", "", ""]
    if with_seeds:
        top += ["seeds", *aliases, "mean", "median"]
        below += ["", *(f"{metric} sd" for metric in metrics), "sd", "sd"]
    lines: list[Line] = []
    for model in models:
        seeds = [_columns(entry) for entry in model.entries]
        columns = list(map(_known, zip(*seeds, strict=True)))
        count = sum(bool(column) for column in columns)
        # A seed that lacks a column has a mean over others.
        complete = [values for values in map(_known, seeds) if values and len(values) == count]
        columns.append([statistics.fmean(values) for values in complete])
        columns.append([statistics.median(values) for values in complete])
        line: Line = [model.name, *map(_mean, columns), count]
        if with_seeds:
            line += [len(model.entries), *map(_sd, columns)]
        lines.append(line)
    return _table("summary", below, lines, over=top, digits=2)


def _known(values: Iterable[float | None]) -> list[float]:
    return [float(value) for value in values if value is not None]


def _entries(models: Iterable[Model]) -> Iterator[Entry]:
    """The runs of all rows."""
    return chain.from_iterable(model.entries for model in models)


def _missing(models: Iterable[Model]) -> Iterator[Line]:
    for entry in _entries(models):
        for name, task in TASKS.items():
            if name not in entry.flat:
                why = entry.tasks.get(name, {}).get("stops") or "no samples"
                yield [entry.name, name, "all", why]
                continue
            for metric, value in summary_metrics(task, entry.flat[name]).items():
                if value is None:
                    why = "no row to take it from"
                    if metric.startswith("lm_judge"):
                        why = "no judge has rated the replies"
                    yield [entry.name, name, metric, why]


def _runs(models: Iterable[Model]) -> list[Line]:
    """Returns which runs stand behind which row."""
    lines: list[Line] = []
    for model in models:
        for entry in model.entries:
            seed = str(entry.source.get("seed") or "")
            run = str(entry.source.get("run") or "")
            rows = sum(int(task["source"]["rows"]) for task in entry.tasks.values())
            lines.append([entry.name, model.name, seed, run, rows])
    return lines


def _rules(models: Iterable[Model]) -> Iterable[Line]:
    """Yields what each rule is worth, in percentage points, by run."""
    for entry in _entries(models):
        for name, content in entry.tasks.items():
            for rule in content.get("rules", ()):
                named, within = rule["rule"], rule["within"]
                if rule["stops"]:
                    yield [entry.name, name, "", named, "", "", within, "yes"]
                for metric, change in rule["change"].items():
                    points = 100 * change
                    yield [entry.name, name, metric, named, rule["rows"], points, within, ""]


def _unparsable(by_model: Path, models: Iterable[Model]) -> Iterator[Line]:
    for entry in _entries(models):
        for name in TASKS:
            file = by_model / entry.name / name / "raw_predictions.jsonl"
            lines = read_file(file).decode("utf-8").splitlines() if file.is_file() else []
            for row in map(json.loads, lines):
                if row["status"] == "extract_failure":
                    yield [entry.name, name, str(row["sample_id"]), row["pred"][:_MAX_CELL]]
