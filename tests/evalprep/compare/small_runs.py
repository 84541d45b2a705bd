"""Two small lm-eval run folders from a compact description."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.evalprep.results.writing import STAMP, doc_hash, reply_to, sha256

LATER = "2026-03-02T09-30-00.5"


@dataclass
class Task:
    """One task: metric (or `metric@filter`) -> a value for each row, and what differs from the usual.

    `gold` and `prompt` are functions of the row's number; `doc` gives further fields of a row;
    `config` and `known` are entries of `configs` and of the other parts of the results file; `stored`
    are results in the place of the means over rows.
    """

    metrics: dict[str, list[Any]]
    directions: dict[str, bool | None] = field(default_factory=dict)
    gold: Any = lambda _: "A"
    prompt: Any = lambda at: f"Question {at}?"
    doc: Any = lambda _: {}
    config: dict[str, Any] = field(default_factory=dict)
    original: int | None = None
    response: str = "A"
    stored: dict[str, float] = field(default_factory=dict)

    @property
    def filters(self) -> dict[str, dict[str, list[Any]]]:
        found: dict[str, dict[str, list[Any]]] = {}
        for key, values in self.metrics.items():
            metric, _, filter_name = key.partition("@")
            found.setdefault(filter_name or "none", {})[metric] = values
        return found


def write_small_run(folder: Path, tasks: dict[str, Task], *, stamp=STAMP, **more: Any) -> str:
    """Write a run folder as lm-eval does and return its path."""
    home = folder / "org__model"
    home.mkdir(parents=True)
    parts: dict[str, Any] = {"results": {}, "configs": {}, "higher_is_better": {}, "n-samples": {}}
    parts["config"] = {"model": "dummy", "model_args": {"pretrained": "org/model"}}
    for name, task in tasks.items():
        values = {key: _mean(column) for key, column in _by_key(task).items()} | task.stored
        rows = len(next(iter(task.metrics.values())))
        parts["results"][name] = values
        parts["configs"][name] = {"task": name, "metadata": {"version": 1.0}} | task.config
        metrics = {key.partition("@")[0] for key in task.metrics}
        parts["higher_is_better"][name] = dict.fromkeys(metrics, True) | task.directions
        parts["n-samples"][name] = {"original": task.original or rows, "effective": rows}
        text = "".join(line + "\n" for line in _lines(task))
        (home / f"samples_{name}_{stamp}.jsonl").write_text(text, encoding="utf-8")
    (home / f"results_{stamp}.json").write_text(json.dumps(parts | more), encoding="utf-8")
    return str(home)


def _by_key(task: Task) -> dict[str, list[Any]]:
    return {
        f"{metric},{filter_name}": values
        for filter_name, metrics in task.filters.items()
        for metric, values in metrics.items()
    }


def _mean(values: list[Any]) -> Any:
    numbers = [value for value in values if isinstance(value, (int, float))]
    return sum(numbers) / len(numbers) if numbers else 0.5


def _lines(task: Task):
    for filter_name, metrics in task.filters.items():
        for at in range(len(next(iter(metrics.values())))):
            prompt, gold = task.prompt(at), str(task.gold(at))
            doc = {"question": f"Question {at}?"} | task.doc(at)
            row_values = {metric: values[at] for metric, values in metrics.items()}
            yield json.dumps(
                {
                    "doc_id": at,
                    "doc": doc,
                    "target": gold,
                    "arguments": {"gen_args_0": {"arg_0": prompt, "arg_1": {"until": ["\n"]}}},
                    "resps": [[reply_to(task.response, row_values.values())]],
                    "filtered_resps": [task.response],
                    "filter": filter_name,
                    "metrics": list(metrics),
                    "doc_hash": doc_hash(doc),
                    "prompt_hash": sha256(prompt),
                    "target_hash": sha256(gold),
                }
                | row_values
            )


def two_small_runs(folder: Path, now: dict[str, Task], before: dict[str, Task]) -> list[str]:
    """Candidate and baseline."""
    return [
        write_small_run(folder / "now", now, stamp=LATER),
        write_small_run(folder / "before", before),
    ]


def verdicts(n: int, *, lost: int = 0, gained: int = 0, right: bool = False) -> list[float]:
    """Right-or-wrong values: of `lost + gained + rest`, those that are right on one of the sides."""
    rest = [float(at % 2) for at in range(n - lost - gained)]
    return [float(right)] * lost + [float(not right)] * gained + rest
