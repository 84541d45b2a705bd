"""The scores of a pack as a graph over the samples of a run, walked from what needs nothing to what needs others."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np

from custom_metrics import statistics
from evalprep.packs.pack import Pack
from evalprep.packs.plan import ScoreSpec
from evalprep.results import Run
from evalprep.results.rows import row_mappings
from evalprep.score.builtin import collect, influence, macro, mean, mean_influence, micro
from evalprep.score.made import plan_behind
from evalprep.score.reference import Results
from evalprep.score.spec import BUILT_IN, read_specs, resolve


class Walk:
    """One pack's graph over one run; rows of a task are read once and shared.

    Args:
        pack: The pack.
        run: The run.
        reference: Results of the reference run, for scores that compare with one.
    """

    def __init__(self, pack: Pack, run: Run, reference: Results | None) -> None:
        self.pack, self.run, self.reference = pack, run, reference
        self.plan = plan_behind(run)
        own = f"{pack.name}/"
        self.stated = {name.removeprefix(own): one for name, one in run.stated.items() if name.startswith(own)}
        # A log may state scores that a config of its own makes; nothing but their name is known.
        alone = (ScoreSpec(name=name, pack=pack.name, function="", title=name, better="") for name in self.stated)
        made = [one for one in alone if one.name not in pack.suite_scores]
        self.specs = read_specs(pack, [*made, *self.plan.scores.values()])
        self.results: dict[str, dict[str, Any]] = {}
        self.tasks_of: dict[str, list[str]] = {}
        self.notes: dict[str, None] = {}
        self._rows: dict[str, list[dict[str, Any]]] = {}

    def applicable(self) -> list[str]:
        """Scores with a task, own or inherited, in the run, and those that a log states or that follow from these."""
        wanted: dict[str, None] = {}
        for name, spec in self.specs.items():
            behind = [*spec.tasks, *(task for parent in spec.needs for task in self.tasks_of[parent])]
            self.tasks_of[name] = list(dict.fromkeys(behind))
            if not self.run.stated:
                found = any(task in self.run.tasks for task in self.tasks_of[name])
            elif spec.tasks:
                known = [self.run.tasks.get(task) for task in spec.tasks]
                found = name in self.stated or all(one is not None and not one.values_only for one in known)
            else:
                found = name in self.stated or any(parent in wanted for parent in spec.needs)
            if found:
                wanted[name] = None
        return list(wanted)

    def evaluate(self, names: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Results of these scores and of all that they need."""
        self.applicable()
        needed: set[str] = set()
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name not in needed:
                needed.add(name)
                waiting += self.specs[name].needs
        for name, spec in self.specs.items():
            if name in needed:
                self.results[name] = _within(self._with_stated(spec), spec.range)
        return self.results

    def _with_stated(self, spec: ScoreSpec) -> dict[str, Any]:
        """A score with rows as a log states it; one over other scores computed anew, as far as that gives a value."""
        stated = self.stated.get(spec.name)
        if stated is None:
            return self._one(spec) | self._rule_of(spec)
        if not spec.needs or stated.get("value_by_index"):
            return _with_uncertainty(dict(stated), "+".join(spec.tasks))
        result = self._one(spec) | self._rule_of(spec)
        said, own = stated.get("agg_value"), result.get("agg_value")
        if own is None and said is not None and self._was_compared(spec):
            # Its own number is against a reference of its own; beside this one's it would be taken for the same.
            note = f"the log itself states {said:.6g}, against another reference"
            return {**result, "notes": [*(result.get("notes") or []), note]}
        if own is None and said is not None:
            why = result.get("reason")
            note = f"as the log states it{f', not computed anew: {why}' if why else ''}"
            return _with_uncertainty({**stated, "notes": [*(stated.get("notes") or []), note]}, "+".join(spec.tasks))
        if said is not None and not spec.reference and not math.isclose(own or 0.0, said, rel_tol=1e-6, abs_tol=1e-9):
            result["notes"] = [*(result.get("notes") or []), f"the log itself states {said:.6g}"]
        return result

    def _was_compared(self, spec: ScoreSpec) -> bool:
        """Whether rows of the run met those of the reference, so that what came of it is an answer."""
        sides = ([(self.reference or {}).get(name, {}) for name in spec.reference], map(self.results.get, spec.needs))
        return all(any(_has_rows(one) for one in side) for side in sides)

    def _rule_of(self, spec: ScoreSpec) -> dict[str, str]:
        """The rule that a score over other scores takes over, where a log tells theirs."""
        parts = [self.results[name] for name in spec.needs]
        rules = {str(one["scored_by"]) for one in parts if one.get("scored_by") and one.get("agg_value") is not None}
        return {"scored_by": " and ".join(sorted(rules))} if rules else {}

    def _one(self, spec: ScoreSpec) -> dict[str, Any]:
        if left_out := self.plan.excluded.get(spec.name):
            return {"agg_value": None, "reason": left_out.reason}
        tasks = {task: self.run.tasks[task] for task in spec.tasks if task in self.run.tasks}
        absent = [task for task in spec.tasks if task not in tasks]
        if absent and (spec.on_missing != "skip" or not tasks):
            return {"agg_value": None, "reason": self._why(absent)}
        inputs = {name: self.results[name] for name in spec.needs}
        if spec.function in BUILT_IN:
            if spec.function == "mean":
                return mean(inputs, self.tasks_of) | {"influence": lambda: mean_influence(inputs)}
            result = (micro if spec.function == "micro" else macro)(collect(tasks, spec.params))
            return result | {"influence": lambda: influence(spec.function, collect(tasks, spec.params, with_keys=True))}
        if spec.counts:
            return self._of_counts(spec, tasks)
        function = resolve(spec, self.pack)
        reference = None
        if self.reference is not None:
            named = {name: self.reference[name] for name in spec.reference if name in self.reference}
            reference = {name: without_influence(result) for name, result in named.items()} or None
        rows = {task: self._rows_of(task) for task in tasks}
        try:
            result = function(rows=rows, inputs=inputs, reference=reference, params=dict(spec.params))
        except Exception as error:  # noqa: BLE001 - one broken score must not take the others with it
            return {"agg_value": None, "reason": f"{spec.function} failed: {type(error).__name__}: {error}"}
        if not isinstance(result, Mapping) or "agg_value" not in result:
            return {"agg_value": None, "reason": f"{spec.function} returned no agg_value"}
        if notes := self._k_of_n(spec, tasks):
            result = {**result, "notes": [*(result.get("notes") or []), *notes]}
        return _with_uncertainty(dict(result), "+".join(spec.tasks))

    def _of_counts(self, spec: ScoreSpec, tasks: Iterable[str]) -> dict[str, Any]:
        """A score that is a function of counts which add up over rows."""
        counts, value = (resolve(spec, self.pack, key) for key in ("counts", "value"))
        rows = {task: self._rows_of(task) for task in tasks}
        try:
            lines = np.asarray(counts(rows), dtype=np.float64)
            size = sum(map(len, rows.values()))
            lines = lines.reshape(size, -1)
            found = float(value(lines.sum(axis=0)))
        except Exception as error:  # noqa: BLE001 - one broken score must not take the others with it
            return {"agg_value": None, "reason": f"{spec.counts} failed: {type(error).__name__}: {error}"}
        if not math.isfinite(found):
            return {"agg_value": None, "reason": f"{spec.value} gives no number for these rows"}
        keys = [_unit(task, row, spec.cluster) for task, several in rows.items() for row in several]
        made = partial(statistics.influence_of_counts, keys, lines, lambda sums: float(value(sums)))
        notes = self._k_of_n(spec, tasks)
        result = {"agg_value": found, "n": size, "rule": "a function of sums over rows", "influence": made}
        return result | ({"notes": notes} if notes else {})

    def _why(self, absent: list[str]) -> str:
        """Why tasks are not there: as the plan says where it left them out, and as the run says where they failed."""
        reasons = [
            f"{task} {'failed' if one.kind == 'failed' else 'was left out'}: {one.reason}"
            for task in absent
            if (one := self.run.excluded.get(task))
        ]
        return "; ".join(reasons) or f"no samples of {', '.join(absent)}"

    def _k_of_n(self, spec: ScoreSpec, found: Iterable[str]) -> list[str]:
        """Say how many of a score's tasks it is made of, where some that were meant to be there are not."""
        if not spec.tasks or spec.on_missing != "skip":
            return []
        record = self.run.record
        meant = [one for one in spec.tasks if record is None or one in record.tasks or one in record.excluded]
        left = [one for one in meant if one in set(found)]
        absent = [one for one in meant if one not in left]
        return [f"{len(left)} of {len(meant)} tasks, without {', '.join(absent)}"] if absent and record else []

    def _rows_of(self, task: str) -> list[dict[str, Any]]:
        if task not in self._rows:
            from evalprep.annotate.attach import attach

            self._rows[task] = row_mappings(self.run.tasks[task])
            if note := attach(self.pack, self.run, task, self._rows[task]):
                self.notes[note] = None
        return self._rows[task]


def _unit(task: str, row: Mapping[str, Any], cluster: str) -> str:
    """What a row shares with others: its document, else itself; the same in every run."""
    document = row["doc"].get(cluster)
    return f"{task}#{row['sample_id']}" if document is None else f"{task}##{document}"


def without_influence(result: Mapping[str, Any]) -> dict[str, Any]:
    """A result as plain data: what each row adds to it is for further computing alone."""
    return {
        key: without_influence(one) if (isinstance(one, Mapping) and key == "by_metric") or _nested(one) else one
        for key, one in result.items()
        if key != "influence"
    }


def _has_rows(result: Mapping[str, Any] | None) -> bool:
    """Whether a result has rows, of its own or of its sides."""
    parts = [result or {}, *(one for one in (result or {}).values() if isinstance(one, Mapping))]
    return any(isinstance(one.get("value_by_index"), Mapping) and one["value_by_index"] for one in parts)


def _nested(value: Any) -> bool:
    return isinstance(value, Mapping) and "influence" in value


def _is_number(row: Any, column: str) -> bool:
    return isinstance(row, Mapping) and isinstance(row.get(column), (int, float))


def _within(result: dict[str, Any], bounds: tuple[float | None, float | None]) -> dict[str, Any]:
    """A result whose interval keeps to the range that its score declares, and has a width where all rows agree."""
    (low, high), (least, most) = result.get("interval") or (None, None), bounds
    value = result.get("agg_value")
    if low is None or high is None or least is None or most is None or (least <= low < high <= most):
        return result
    found = statistics.influence_of(result)
    own = None if found is None else statistics.bounded_interval(float(value or 0.0), found, least, most)
    return result | {"interval": list(own or (max(low, least), min(high, most)))}


def _with_uncertainty(result: dict[str, Any], owner: str) -> dict[str, Any]:
    """Add a standard error where the value is the plain mean of its `value_by_index` and the function gave none."""
    value, rows = result.get("agg_value"), result.get("value_by_index")
    if (
        not isinstance(value, (int, float))
        or "interval" in result
        or "stderr" in result
        or not isinstance(rows, Mapping)
    ):
        return result
    columns = {key for row in rows.values() if isinstance(row, Mapping) for key in row}
    for column in sorted(columns):
        numbers = [row.get(column) for row in rows.values() if isinstance(row, Mapping)]
        known = [float(number) for number in numbers if isinstance(number, (int, float))]
        if len(known) > 1 and math.isclose(sum(known) / len(known), value, rel_tol=1e-9, abs_tol=1e-12):
            estimate = statistics.mean_interval(known)
            result = result | {"stderr": estimate.stderr, "interval": [estimate.low, estimate.high], "n": len(known)}
            if "influence" not in result:
                keys = [f"{owner}#{key}" for key, row in rows.items() if _is_number(row, column)]
                result["influence"] = partial(statistics.influence_of_mean, keys, known)
            return result
    return result
