"""Generated pairs of runs with faults, as lm-eval writes them, and a pack with suite scores over their tasks."""

from __future__ import annotations

import copy
import json
import math
import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.evalprep.results.writing import STAMP, doc_hash, sha256

LATER = "2026-03-02T09-30-00.5"
EQUAL, LOWER, FREE = "equal", "lower", "free"
#: Row scores: metric, values from least to greatest, and whether more of them is better.
KINDS = {
    "verdict": ("acc", (0.0, 1.0), True),
    "graded": ("rouge", (0.0, 0.25, 0.5, 0.9, 1.0), True),
    "list": ("share", (0.0, 0.5, 1.0), True),
    "points": ("points", (0.0, 12.0, 55.0, 100.0), True),
    "loss": ("loss", (0.1, 0.7, 2.5, 4.0), False),
    "choice": ("acc", (0.0, 1.0), True),
    "labels": ("f1", (0.0, 1.0), True),  # whether the predicted label is the gold one
    "texts": ("word_perplexity", (-60.0, -30.0, -29.0, -8.0), True),  # log-likelihoods
}
OVER_ROWS = (
    "choice",
    "labels",
    "texts",
)  # what is logged of a row is no number, or follows from requests
#: Kinds of which a greater value over all rows is worse.
DOWN = ("loss", "texts")
WORDS = 10  # of each text
SHARES = ("verdict", "graded", "list")
#: Kinds beside which a task may log `acc_norm`.
SECOND_TO = ("verdict", "graded")
FAULTS = (
    "rows away",
    "subtask away",
    "some without a number",
    "subtask without a number",
    "all without a number",
    "some scorers failed",
    "all scorers failed",
    "lines doubled",
    "lines doubled with other scores",
    "last line cut",
    "file emptied",
    "some prompts changed",
    "some gold answers changed",
    "ids away",
    "places moved",
    "task away",
)


@dataclass
class Row:
    """One document: its score, that by a second metric, and how often it is written."""

    at: int
    value: float | None
    subtask: str | None = None
    document: str | None = None
    weight: int = 1
    failed: bool = False
    second: float | None = None
    extra: list[float | None] = field(default_factory=list)
    prompt: str = ""
    gold: str = "A"


@dataclass
class Task:
    """One task of one side.

    `counted` is what the results file says of its rows: `meant`, `written`, or nothing; `lacking` is how a row
    without a number is written: `null`, `nan`, or `absent`; `cut` is a last line that ends early; rows that are not
    `named` have no id of their own; `texts` are documents that rows share as a text, not as a `cluster_id`; of `twins`
    two and two rows are the same question; `bools` are verdicts as true and false; `moved` is added to the places of rows in the split.
    """

    name: str
    kind: str
    rows: list[Row]
    size: int
    second: bool = False
    counted: str = "meant"
    lacking: str = "null"
    cut: bool = False
    named: bool = True
    texts: bool = False
    twins: bool = False
    bools: bool = False
    moved: int = 0
    filters: tuple[str, ...] = ("none",)

    @property
    def metric(self) -> str:
        return KINDS[self.kind][0]

    @property
    def values(self) -> tuple[float, ...]:
        """Its values, the worst one first."""
        _, values, up = KINDS[self.kind]
        return values if up else values[::-1]

    def read(self, row: Row, value: float | None, filter_name: str) -> float | None:
        """A value of a row as a filter reads it: the last of several reads a quarter of the rows as right."""
        is_lenient = filter_name != self.filters[0] and row.at % 4 == 0 and not row.failed
        return self.values[-1] if is_lenient and value is not None else value


@dataclass
class Pair:
    """Two runs, the pack of their suite scores, and what was done to them."""

    now: list[Task]
    before: list[Task]
    scores: dict[str, dict[str, Any]]
    history: list[str]

    def exchanged(self) -> Pair:
        """The same two runs, the baseline as the candidate."""
        return Pair(self.before, self.now, self.scores, self.history)

    def renamed(self, names: dict[str, str]) -> Pair:
        """The same pair with other names of tasks, in the pack as well."""
        pair = copy.deepcopy(self)
        for task in (*pair.now, *pair.before):
            task.name = names[task.name]
        for score in pair.scores.values():
            if "tasks" in score:
                score["tasks"] = [names[name] for name in score["tasks"]]
        return pair

    def shuffled(self, seed: int) -> Pair:
        """The same pair with the lines of each file in another order."""
        pair = copy.deepcopy(self)
        for task in (*pair.now, *pair.before):
            last = task.rows[-1:] if task.cut else []  # which line is cut stays
            rows = task.rows[: len(task.rows) - len(last)]
            random.Random(seed).shuffle(rows)
            task.rows = [*rows, *last]
        return pair


def make_pair(chance: random.Random, relation: str) -> Pair:
    """Two runs of one to four tasks.

    Args:
        chance: Where all choices come from.
        relation: EQUAL: rows that both sides have are equal; LOWER: the candidate's are equal or worse;
            FREE: anything.
    """
    before = [_task(chance, f"t{number}") for number in range(chance.randint(1, 4))]
    now = copy.deepcopy(before)
    change = 0.0 if relation == EQUAL else chance.choice((0.05, 0.3, 0.8))
    for task in now:
        for row in task.rows:
            if chance.random() < change:
                values = task.values
                most = values.index(row.value) if relation == LOWER else len(values) - 1
                row.value = values[chance.randint(0, most)]
            if task.second and chance.random() < change:
                row.second = 0.0 if relation == LOWER else chance.choice((0.0, 1.0))
    pair = Pair(now, before, _scores(chance, now), [relation])
    for _ in range(chance.choice((0, 1, 1, 2, 3))):
        _add_fault(chance, pair)
    return pair


def _task(chance: random.Random, name: str) -> Task:
    kind = chance.choice(("verdict", "verdict", "verdict", "graded", *KINDS))
    size = chance.choice((1, 5, 24, 60, 150, 600))
    subtasks = _labels(chance, size, "s") if chance.random() < 0.6 else [None] * size
    documents = _labels(chance, size, "d") if chance.random() < 0.3 else [None] * size
    easy: dict[str | None, float] = {}
    rows = []
    values = KINDS[kind][1] if KINDS[kind][2] else KINDS[kind][1][::-1]
    for at in range(size):
        ease = easy.setdefault(subtasks[at], chance.choice((0.0, 0.1, 0.5, 0.9, 1.0)))
        value = values[-1] if chance.random() < ease else chance.choice(values[:-1])
        weight = 2 * chance.randint(1, 3) if kind == "list" else 1
        rows.append(Row(at, value, subtasks[at], documents[at], weight))
    task = Task(name, kind, rows, size, counted=chance.choice(("meant", "meant", "written", "")))
    task.named = chance.random() < 0.7
    task.texts = chance.random() < 0.5
    task.twins = chance.random() < 0.15
    if task.twins:
        for row, twin in zip(rows[::2], rows[1::2], strict=False):
            twin.subtask, twin.document = row.subtask, row.document
    task.bools = chance.random() < 0.2
    if kind not in OVER_ROWS and chance.random() < 0.2:
        task.filters = ("strict-match", "flexible-extract")
    if kind in SECOND_TO and chance.random() < 0.3:
        task.second = True
        for row in rows:
            row.second = float(chance.random() < 0.6)
    return task


def _labels(chance: random.Random, size: int, letter: str) -> list[str | None]:
    """Labels of some rows: of one row, of few, of most; now and then a row without one."""
    count = chance.randint(1, 8)
    weights = [chance.choice((0.05, 1.0, 4.0)) for _ in range(count)]
    names: list[str | None] = [f"{letter}{number}" for number in range(count)]
    labels = chance.choices(names, weights, k=size)
    if chance.random() < 0.2:
        labels = [None if chance.random() < 0.1 else label for label in labels]
    return labels


def _scores(chance: random.Random, tasks: list[Task]) -> dict[str, dict[str, Any]]:
    """Suite scores: means over rows and subtasks, functions, and means of these."""
    families = [[task.name for task in tasks if task.kind in SHARES]]
    families += [[task.name for task in tasks if task.kind == kind] for kind in ("points", "loss")]
    scores: dict[str, dict[str, Any]] = {}
    for names, scale in zip(families, ({"range": [0, 1]}, {}, {"better": "down"}), strict=True):
        if not names:
            continue
        some = chance.sample(names, chance.randint(1, len(names)))
        on_missing = chance.choice(("none", "skip"))
        base = len(scores)
        own: dict[str, dict[str, Any]] = {
            f"micro{base}": {"function": "micro", "tasks": names},
            f"macro{base}": {"function": "macro", "tasks": names},
            f"some{base}": {"function": "macro", "tasks": some, "on_missing": on_missing},
            f"rows{base}": {"function": "score.over_rows", "tasks": some},
            f"best{base}": {
                "function": "score.by_subtask",
                "tasks": names,
                "on_missing": on_missing,
            },
            f"sums{base}": {"counts": "score.counts", "value": "score.of_sums", "tasks": names},
        }
        own[f"mean{base}"] = {"function": "mean", "needs": chance.sample(list(own), 2)}
        own[f"all{base}"] = {"function": "mean", "needs": chance.sample(list(own), 3)}
        scores |= {name: {**score, **scale} for name, score in own.items()}
    return scores


def _add_fault(chance: random.Random, pair: Pair) -> None:
    """One fault in one task of one side."""
    side = chance.choice((pair.now, pair.before))
    if not side:
        return
    task = chance.choice(side)
    shared = {each.name for each in pair.now} & {each.name for each in pair.before}
    is_last = shared == {task.name}  # runs without a common task are refused
    fault = chance.choice(FAULTS[:-1] if is_last else FAULTS)
    subtask = chance.choice(task.rows).subtask if task.rows else None
    chosen = [row for row in task.rows if row.subtask == subtask]
    share = chance.choice((0.005, 0.1, 0.5))
    some = [row for row in task.rows if chance.random() < share]
    where = "candidate" if side is pair.now else "baseline"
    pair.history.append(f"{where} {task.name}: {fault} ({len(chosen)} {len(some)})")
    if fault == "task away":
        side.remove(task)
    elif fault in {"rows away", "subtask away"}:
        away = some if fault == "rows away" else chosen
        task.rows = [row for row in task.rows if row not in away] or task.rows
    elif fault == "some scorers failed":
        _fail(some, task)
    elif fault == "all scorers failed":
        _fail(task.rows, task)
    elif fault == "file emptied":
        task.rows = []
    elif fault == "ids away":
        task.named = False
    elif fault == "places moved":
        task.moved = 1000
    elif fault == "some prompts changed":
        for row in some:
            row.prompt = "Answer in one word. "
    elif fault == "some gold answers changed":
        for row in some:
            row.gold = "B"
    elif fault == "last line cut":
        task.cut = True
    elif fault.startswith("lines doubled"):
        for row in some:
            row.extra.append(row.value if fault == "lines doubled" else task.values[0])
    else:
        lacking = {"some": some, "subtask": chosen, "all": task.rows}[fault.split()[0]]
        task.lacking = chance.choice(("null", "nan", "absent"))
        column = chance.choice(("value", "value", "second"))
        for row in lacking:
            setattr(row, column, None)


def _fail(rows: Iterable[Row], task: Task) -> None:
    """The scorer failed: lm-eval logs the worst value, and says so in a metric of its own."""
    for row in rows:
        row.failed = True
        row.value = None if row.value is None else task.values[0]


SCORE_PY = '''
"""Functions of the generated pack."""


def _values(rows):
    for task, samples in rows.items():
        for row in samples:
            beside = ("scorer_error", "acc_norm")
            logged = {name: value for name, value in row["metrics"].items() if name not in beside}
            metrics = [value for value in logged.values() if value is not None]
            if not metrics:
                continue
            value = metrics[0]
            if isinstance(value, list):
                value = sum(value) / len(value)
            yield task, row, value


def over_rows(*, rows, **_):
    by_index = {f"{task}#{row['sample_id']}": {"value": value} for task, row, value in _values(rows)}
    values = [entry["value"] for entry in by_index.values()]
    if not values:
        return {"agg_value": None, "reason": "no rows"}
    return {"agg_value": sum(values) / len(values), "value_by_index": by_index, "n": len(values)}


def by_subtask(*, rows, **_):
    from custom_metrics.statistics import combined_influence, influence_of_mean

    groups = {}
    for task, row, value in _values(rows):
        groups.setdefault((task, row["subtask_name"]), []).append((f"{task}#{row['sample_id']}", value))
    means = [sum(value for _, value in group) / len(group) for group in groups.values()]
    parts = [influence_of_mean([key for key, _ in group], [value for _, value in group]) for group in groups.values()]
    influence = combined_influence((1 / len(parts), part) for part in parts)
    return {"agg_value": sum(means) / len(means), "influence": influence, "n": sum(map(len, groups.values()))}


def counts(rows):
    return [[value, 1.0] for _, _, value in _values(rows)]


def of_sums(sums):
    return sums[0] / sums[1]
'''


def write_pack(folder: Path, scores: dict[str, dict[str, Any]]) -> Path:
    """The pack's folder of packs."""
    home = folder / "packs" / "drawn"
    home.mkdir(parents=True)
    pack = {"name": "drawn", "suite_scores": scores}
    (home / "pack.yaml").write_text(json.dumps(pack), encoding="utf-8")  # JSON is YAML
    (home / "score.py").write_text(SCORE_PY, encoding="utf-8")
    return home.parent


def write_side(folder: Path, tasks: list[Task], model: str, stamp: str) -> str:
    """One run folder as lm-eval writes it."""
    home = folder / f"org__{model}"
    home.mkdir(parents=True)
    parts: dict[str, Any] = {"results": {}, "configs": {}, "higher_is_better": {}, "n-samples": {}}
    parts["config"] = {"model": "dummy", "model_args": {"pretrained": f"org/{model}"}}
    parts["model_name"] = f"org/{model}"
    for task in tasks:
        parts["results"][task.name] = {"alias": task.name}
        for name in task.filters:
            values = [task.read(row, row.value, name) for row in task.rows]
            known = [value for value in values if value is not None]
            stated = over_rows(task) if task.kind in OVER_ROWS else mean_of(known)
            parts["results"][task.name][f"{task.metric},{name}"] = stated
        parts["configs"][task.name] = {"task": task.name, "metadata": {"version": 1.0}}
        if task.kind == "choice":
            parts["configs"][task.name]["output_type"] = "multiple_choice"
        parts["higher_is_better"][task.name] = {task.metric: task.kind not in DOWN}
        if task.second:
            numbers = [row.second for row in task.rows if row.second is not None]
            for name in task.filters:
                parts["results"][task.name][f"acc_norm,{name}"] = mean_of(numbers)
            parts["higher_is_better"][task.name]["acc_norm"] = True
        if task.counted:
            effective = task.size if task.counted == "meant" else len(task.rows)
            parts["n-samples"][task.name] = {"original": task.size, "effective": effective}
        lines = [
            _line(task, row, task.read(row, value, name), name)
            for row in task.rows
            for value in (row.value, *row.extra)
            for name in task.filters
        ]
        path = home / f"samples_{task.name}_{stamp}.jsonl"
        text = "".join(f"{line}\n" for line in lines)
        path.write_text(text[:-20] if task.cut else text, encoding="utf-8")
    parts |= _groups(tasks)
    (home / f"results_{stamp}.json").write_text(json.dumps(parts), encoding="utf-8")
    return str(home)


def mean_of(numbers: list[float]) -> float:
    return sum(numbers) / len(numbers) if numbers else float("nan")


def over_rows(task: Task) -> float:
    """The value of a metric over all rows, as lm-eval computes it of those that have one."""
    rows = [row for row in task.rows if row.value is not None]
    numbers = [row.value or 0.0 for row in rows]
    if task.kind == "texts":
        return math.exp(-sum(numbers) / (WORDS * len(rows))) if rows else float("nan")
    if task.kind == "choice":
        return mean_of(numbers)
    pairs = [labels_of(row) for row in rows]
    hits = sum(gold == predicted == 1 for gold, predicted in pairs)
    wrong = sum(gold != predicted for gold, predicted in pairs)
    return 2 * hits / (2 * hits + wrong) if hits or wrong else float("nan")


def labels_of(row: Row) -> list[int]:
    """Gold and predicted label of a row: a third of the gold ones are positive."""
    gold = int(row.at % 3 == 0)
    return [gold, gold if row.value else 1 - gold]


def _groups(tasks: list[Task]) -> dict[str, Any]:
    """The groups of a results file: one of all verdicts, and within it one without the first of them."""
    members = [task for task in tasks if task.kind == "verdict"]
    if len(members) < 2:
        return {}
    inner, outer = members[1:], members
    groups = {}
    for name, of_group in (("inner", inner), ("outer", outer)):
        numbers = [row.value for task in of_group for row in task.rows if row.value is not None]
        groups[name] = {"acc,none": mean_of(numbers), "alias": name}
    below = {"outer": [members[0].name, "inner"], "inner": [task.name for task in inner]}
    return {"groups": groups, "group_subtasks": below}


def _line(task: Task, row: Row, value: float | None, filter_name: str) -> str:
    number = row.at // 2 if task.twins else row.at
    question = f"Question {number} of a task with {task.size} rows?"
    prompt = f"{row.prompt}{question}"
    doc = {"sample_id": f"r{row.at}", "question": question, "subtask_name": row.subtask}
    if task.texts and row.document is not None:
        doc["passage"] = f"The text of {row.document}. " * 20
    else:
        doc["cluster_id"] = row.document
    if not task.named:
        del doc["sample_id"]
    doc = {name: entry for name, entry in doc.items() if entry is not None}
    logged: Any = (
        bool(value) if task.bools and task.kind == "verdict" and value is not None else value
    )
    if task.kind == "list" and value is not None:
        right = round(value * row.weight)
        logged = [1] * right + [0] * (row.weight - right)
    if task.kind == "labels" and value is not None:
        logged = labels_of(row)
    if task.kind == "texts" and value is not None:
        logged = [value, WORDS]
    sample = {
        "doc_id": row.at + task.moved,
        "doc": doc,
        "target": row.gold,
        "arguments": {"gen_args_0": {"arg_0": prompt, "arg_1": {"until": ["\n"]}}},
        "resps": [[f"reply {value} {row.second}"]],
        "filtered_resps": [f"reply {value}"],
        "filter": filter_name,
        "metrics": [task.metric, *(["acc_norm"] if task.second else []), "scorer_error"],
        "doc_hash": doc_hash(doc),
        "prompt_hash": sha256(prompt),
        "target_hash": sha256(row.gold),
        task.metric: logged,
        "scorer_error": float(row.failed),
    }
    if task.kind == "choice":
        sample |= _requests(row, prompt)
    if task.second:
        sample["acc_norm"] = row.second
    if task.lacking == "nan":
        sample |= {
            name: float("nan")
            for name in (task.metric, "acc_norm")
            if name in sample and sample[name] is None
        }
    elif task.lacking == "absent":
        names = [name for name in sample["metrics"] if sample[name] is not None]
        sample = {name: entry for name, entry in sample.items() if entry is not None} | {
            "metrics": names
        }
    return json.dumps(sample)


def _requests(row: Row, prompt: str) -> dict[str, Any]:
    """The requests of a multiple-choice row: the choice that was right is the likeliest where it is scored so."""
    gold = row.at % 4 if row.gold == "A" else (row.at + 1) % 4
    best = gold if row.value else (gold + 2) % 4
    likelihoods = [-2.0 if choice == best else -5.0 - choice for choice in range(4)]
    choices = [f" answer {letter}" for letter in "wxyz"]
    requests = [[str(likelihood), "False"] for likelihood in likelihoods]
    return {
        "target": str(gold),
        "target_hash": sha256(str(gold)),
        "arguments": {
            f"gen_args_{number}": {"arg_0": prompt, "arg_1": choice}
            for number, choice in enumerate(choices)
        },
        "resps": [[request] for request in requests],
        "filtered_resps": requests,
    }


def write_pair(folder: Path, pair: Pair) -> tuple[str, str, Path]:
    """The folders of the candidate and of the baseline, and that of the packs."""
    now = write_side(folder / "now", pair.now, "later", LATER)
    before = write_side(folder / "before", pair.before, "earlier", STAMP)
    return now, before, write_pack(folder, pair.scores)


def without_metrics_of_lm_eval(pair: Pair) -> Pair:
    """The pair with those tasks and settings that a log of another tool can hold, too."""
    pair = copy.deepcopy(pair)
    kinds = ("verdict", "graded", "list")
    pair.now, pair.before = (
        [task for task in side if task.kind in kinds] for side in (pair.now, pair.before)
    )
    for task in (*pair.now, *pair.before):
        task.second, task.filters = False, ("none",)
    names = {task.name for task in (*pair.now, *pair.before)}
    while lacking := [
        name
        for name, score in pair.scores.items()
        if not (
            set(score.get("tasks", ())) <= names and set(score.get("needs", ())) <= set(pair.scores)
        )
    ]:
        for name in lacking:
            del pair.scores[name]
    return pair


def write_log(folder: Path, tasks: list[Task], model: str) -> str:
    """Logs of inspect_ai of the same rows, one file a task, in one folder."""
    folder.mkdir(parents=True)
    for task in tasks:
        dataset = {"samples": task.size}
        facts = {"task": task.name, "model": f"org/{model}", "config": {}, "dataset": dataset}
        scores = [{"name": "match", "scorer": "match", "metrics": {}}]
        log = {
            "version": 2,
            "status": "success",
            "eval": facts,
            "plan": {},
            "results": {"total_samples": task.size, "scores": scores},
            "samples": [
                _logged_sample(task, row, value)
                for row in task.rows
                for value in (row.value, *row.extra)
            ],
        }
        (folder / f"2026-01-01T00-00-00_{task.name}_x.json").write_text(
            json.dumps(log), encoding="utf-8"
        )
    return str(folder)


def _logged_sample(task: Task, row: Row, value: float | None) -> dict[str, Any]:
    number = row.at // 2 if task.twins else row.at
    asked = f"{row.prompt}Question {number} of a task with {task.size} rows?"
    reply = f"reply {value} {row.second}"
    sample = {
        "id": f"r{row.at}" if task.named else row.at + task.moved,
        "epoch": 1,
        "input": asked,
        "target": row.gold,
        "messages": [{"role": "user", "content": asked}, {"role": "assistant", "content": reply}],
        "output": {"completion": reply},
        "metadata": {"subtask_name": row.subtask} if task.texts else {},
    }
    if value is not None and not row.failed:
        said = ("C" if value else "I") if task.kind == "verdict" else value
        sample["scores"] = {"match": {"value": said, "answer": reply}}
    return sample
