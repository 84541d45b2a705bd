"""The scores of a pack as a graph over the samples of a run; each is computed after its needs."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from custom_metrics import statistics
from evalprep.packs import Pack, ScoreSpec, StoredTask
from evalprep.results import Run, TaskRun, expected_rows, row_mappings
from evalprep.samples import UNKNOWN, Table
from evalprep.score.against import FINETUNED, LOG, REFERENCE, Against, Identity, Side, refusal
from evalprep.score.builtin import collect, influence, macro, mean, mean_influence, micro
from evalprep.score.documents import by_document, documents_of, known_bounds
from evalprep.score.estimate import WITHOUT_SPREAD, Estimate
from evalprep.score.outcome import checked, range_of
from evalprep.score.plan import plan_behind
from evalprep.score.result import Result
from evalprep.score.spec import BUILT_IN, read_specs, resolve
from evalprep.terminal import grouped


class Walk:
    """One pack's graph over one run; rows of a task are read once and shared.

    Args:
        pack: The pack.
        run: The run.
        sides: Role -> another model, for scores that compare with one.
    """

    def __init__(self, pack: Pack, run: Run, sides: Mapping[str, Side] | None = None) -> None:
        self.pack = pack
        self.run = run
        self.sides = dict(sides or {})
        self.identity = Identity.of(run, [pack])
        self.plan = plan_behind(run)
        self.stated = _stated_results(pack, run)
        # A log may state scores that a config of its own makes; nothing but their name is known.
        further_names = [name for name in self.stated if name not in pack.suite_scores]
        stated_specs = [
            ScoreSpec(name=name, pack=pack.name, function="", title=name, better="")
            for name in further_names
        ]
        self.specs = read_specs(pack, [*stated_specs, *self.plan.scores.values()])
        self.results: dict[str, Result] = {}
        self.tasks_of: dict[str, list[str]] = {}
        self.notes: dict[str, None] = {}
        self._rows: dict[str, list[dict[str, Any]]] = {}

    def applicable(self) -> list[str]:
        """Returns scores with a task in the run, and those that a log states or implies."""
        names: dict[str, None] = {}
        for name, spec in self.specs.items():
            tasks = dict.fromkeys(spec.tasks)
            for parent in spec.needs:
                tasks |= dict.fromkeys(self.tasks_of[parent])
            self.tasks_of[name] = list(tasks)
            if self._applies(spec, names):
                names[name] = None
        return list(names)

    def _applies(self, spec: ScoreSpec, earlier: Collection[str]) -> bool:
        needs_applicable = any(parent in earlier for parent in spec.needs)
        if not self.run.stated:
            known = {*self.run.tasks, *(self.run.stored if spec.of_stored else ())}
            return needs_applicable or not known.isdisjoint(self.tasks_of[spec.name])
        if spec.name in self.stated:
            return True
        if not spec.tasks:
            return needs_applicable
        # A log that has the values of a task alone holds no replies to compute from.
        with_rows = {name for name, task in self.run.tasks.items() if not task.values_only}
        return with_rows.issuperset(spec.tasks)

    def compares(self, name: str) -> bool:
        """Returns whether a score, or one that it needs, compares with another model."""
        spec = self.specs[name]
        if spec.reference or spec.finetuned:
            return True
        return any(self.compares(parent) for parent in spec.needs)

    def evaluate(self, names: Iterable[str]) -> dict[str, Result]:
        """Returns the results of these scores and of all that they need."""
        self.applicable()
        needed = self._with_needs(names)
        specs = [spec for name, spec in self.specs.items() if name in needed]
        last_reader: dict[str, str] = {}
        for spec in specs:
            last_reader |= dict.fromkeys(spec.tasks, spec.name)
        for spec in specs:
            result = self._with_against(spec, self._with_stated(spec))
            tasks = self._with_samples(self.tasks_of[spec.name])
            # Its uncertainty is the one that its documents and its range allow.
            result = by_document(result, documents_of(tasks), spec.range)
            self.results[spec.name] = _within(result, spec.range)
            for task in spec.tasks:
                if last_reader[task] == spec.name:
                    self._rows.pop(task, None)
        return self.results

    def _with_needs(self, names: Iterable[str]) -> set[str]:
        """The names of some scores, and of all that these need."""
        needed: set[str] = set()
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name not in needed:
                needed.add(name)
                waiting += self.specs[name].needs
        return needed

    def _with_against(self, spec: ScoreSpec, result: Result) -> Result:
        """A score with what it was measured against, its parts' included.

        What its function or a log states of it comes first.
        """
        if result.value is None:
            return result
        against = [Against.of_mapping(each) for each in result.against]
        if not against:
            sides = self._sides_of(spec)
            against = [side.named(names) for side, names in sides]
        for name in spec.needs:
            against += [Against.of_mapping(each) for each in self.results[name].against]
        known = {(each.role, each.words, each.place): each for each in reversed(against)}.values()
        return (
            result.changed(against=[each.to_dict() for each in reversed(known)])
            if known
            else result
        )

    def _sides_of(self, spec: ScoreSpec) -> list[tuple[Side, list[str]]]:
        """The other models that a score compares with, each with the scores that it has."""
        named = {REFERENCE: spec.reference, FINETUNED: spec.finetuned}
        sides = []
        for role, names in named.items():
            side = self.sides.get(role)
            known = [] if side is None else [name for name in names if name in side.results]
            if side is not None and known:
                sides.append((side, known))
        return sides

    def _refusal(self, spec: ScoreSpec) -> str:
        """Returns why a score may not be measured against the models that are there."""
        for side, names in self._sides_of(spec):
            others = [other for other in self.sides.values() if other is not side]
            why = refusal(self.identity, self.results, side, names, others)
            if why:
                return why
        return ""

    def _with_samples(self, names: Iterable[str]) -> dict[str, TaskRun]:
        """Those of some tasks that the run has rows of."""
        tasks = self.run.tasks
        return {name: tasks[name] for name in names if name in tasks}

    def _with_stated(self, spec: ScoreSpec) -> Result:
        """A score with rows as a log states it.

        One over other scores computed anew, as far as that gives a value.
        """
        stated = self.stated.get(spec.name)
        if stated is None:
            return self._compute_by_rule(spec)
        if not spec.needs or stated.value_by_index:
            return _with_uncertainty(stated, spec)
        computed = self._compute_by_rule(spec)
        return self._beside_stated(spec, stated, computed)

    def _beside_stated(  # noqa: PLR0911 - one return for each standing of the two values
        self, spec: ScoreSpec, stated: Result, computed: Result
    ) -> Result:
        """A result computed anew, or the log's own value where there is none.

        Where the two differ, it has a note.
        """
        if stated.value is None:
            # A reader that gives no value knows why: what the log holds cannot be read.
            is_refused = bool(stated.reason) and computed.value is None
            return stated if is_refused else computed
        # Without a reference some scores fall back on a constant; the log had its reference.
        lacks_reference = bool(spec.reference) and not self._sides_of(spec)
        value = None if lacks_reference else computed.value
        against = _against_of_log(stated) if spec.reference else ""
        own_value = f"the log itself states {stated.value:.6g}{against}"
        if value is None and (self._refusal(spec) or self._was_compared(spec)):
            # The log's own number is against a reference of its own; beside this one's it would be
            # taken for the same.
            return computed.with_notes([own_value])
        if value is None:
            reason = computed.reason or "no reference; name one with --reference"
            return _noted(stated, spec, f"as the log states it, not computed anew: {reason}")
        if math.isclose(value, stated.value, rel_tol=1e-6, abs_tol=1e-9):
            return computed
        if spec.on_stated == "keep":
            sides = [side.named(names).words for side, names in self._sides_of(spec)]
            compared = f"against {', '.join(sides)} it is " if sides else "computed anew it is "
            return _noted(stated, spec, f"as the log states it; {compared}{value:.6g}")
        if not spec.reference:
            return computed.with_notes([own_value])
        return computed.changed(stated=stated.value)

    def _was_compared(self, spec: ScoreSpec) -> bool:
        """Returns whether rows of the run met those of the reference."""
        reference = self.sides.get(REFERENCE)
        if reference is None or not _any_has_rows(reference.results, spec.reference):
            return False
        return _any_has_rows(self.results, spec.needs)

    def _compute_by_rule(self, spec: ScoreSpec) -> Result:
        """A score computed anew, with the rule that it takes over where a log tells its parts'."""
        computed = self._compute(spec)
        rules = set()
        for name in spec.needs:
            part = self.results[name]
            if part.scored_by and part.value is not None:
                rules.add(part.scored_by)
        rule = " and ".join(sorted(rules))
        return computed.changed(scored_by=rule or None)

    def _compute(self, spec: ScoreSpec) -> Result:
        """A score from the rows of its tasks and from other scores."""
        excluded = self.plan.excluded.get(spec.name)
        if excluded:
            return Result.without_value(excluded.reason)
        tasks = self._with_samples(spec.tasks)
        absent = [task for task in spec.tasks if task not in tasks]
        has_stored = any(task in self.run.stored for task in absent)
        if spec.of_stored and has_stored:
            return self._of_stored(spec)
        unscored = [name for name, task in tasks.items() if _is_unscored(spec, task)]
        scored = {name: task for name, task in tasks.items() if name not in unscored}
        may_go_on = spec.on_missing == "skip" and scored
        if not may_go_on and absent:
            return Result.without_value(self._why(absent))
        reason = f"no row of {grouped(unscored)} has a score"
        if not may_go_on and unscored:
            return Result.without_value(reason)
        result = self._of_rows(spec, scored)
        return result.with_notes([reason]) if unscored else result

    def _of_rows(self, spec: ScoreSpec, tasks: Mapping[str, TaskRun]) -> Result:
        """A score from the rows of some tasks, in the way that it is declared."""
        if spec.function in BUILT_IN:
            return self._of_built_in(spec, tasks)
        if spec.counts:
            return self._of_counts(spec, tasks)
        return self._of_function(spec, tasks)

    def _of_built_in(self, spec: ScoreSpec, tasks: Mapping[str, TaskRun]) -> Result:
        """A score by a function that needs no code of a pack."""
        if spec.function == "mean":
            inputs = {name: self.results[name] for name in spec.needs}
            estimate = mean(inputs, self.tasks_of)
            influence_of_rows = partial(mean_influence, inputs.values())
            return Result.of_estimate(estimate, influence_of_rows)
        score = micro if spec.function == "micro" else macro
        scored = collect(tasks, spec.params)
        declared = known_bounds(spec.range)
        if declared is not None:
            scored.bounds = statistics.mean_bounds(scored.values, declared)
        estimate = score(scored)
        return Result.of_estimate(estimate, partial(_row_influence, spec, tasks))

    def _of_function(self, spec: ScoreSpec, tasks: Mapping[str, TaskRun]) -> Result:
        """A score by a function of the pack."""
        if refused := self._refusal(spec):
            return Result.without_value(refused)
        function = resolve(spec, self.pack)
        arguments = {
            "rows": {task: self._rows_for(spec, task) for task in tasks},
            "inputs": {name: self.results[name].returned for name in spec.needs},
            "reference": self._results_of_side(REFERENCE, spec.reference),
            "params": dict(spec.params),
        }
        if spec.finetuned:
            arguments["finetuned"] = self._results_of_side(FINETUNED, spec.finetuned)
        try:
            returned = function(**arguments)
        except Exception as error:  # noqa: BLE001
            # One broken score must not take the others with it.
            return _failed(spec.function, error)
        result = checked(returned, spec.function, spec.range)
        result = result.with_notes(self._k_of_n(spec, tasks))
        result = result.without_rows(self._unscored_rows(spec, tasks))
        doubts = [side.doubt for side, _ in self._sides_of(spec) if side.doubt]
        return _with_uncertainty(result.with_notes(doubts), spec)

    def _of_stored(self, spec: ScoreSpec) -> Result:
        """A score from the values that lm-eval stored, where samples of some tasks are not here."""
        values: dict[str, StoredTask] = {}
        absent = []
        for name in spec.tasks:
            task = self.run.known(name)
            if task:
                rows = expected_rows(self.run, task)
                values[name] = _stored_task(task, rows)
            else:
                absent.append(name)
        if absent:
            return Result.without_value(self._why(absent, "no results"))
        function = resolve(spec, self.pack, "of_stored")
        try:
            returned = function(tasks=values, params=dict(spec.params))
            result = checked(returned, spec.of_stored, spec.range)
        except Exception as error:  # noqa: BLE001
            # One broken score must not take the others with it.
            return _failed(spec.of_stored, error)
        return result.with_notes(["of the values that lm-eval stored: samples are not here"])

    def _results_of_side(self, role: str, names: Iterable[str]) -> dict[str, Any] | None:
        """The results of another model that a score compares with; None without any."""
        side = self.sides.get(role)
        results = {} if side is None else side.results
        known = {name: results[name].to_dict() for name in names if name in results}
        return known or None

    def _of_counts(self, spec: ScoreSpec, tasks: Mapping[str, TaskRun]) -> Result:
        """A score that is a function of counts which add up over rows."""
        counts = resolve(spec, self.pack, "counts")
        value_of = resolve(spec, self.pack, "value")
        rows = {task: self._rows_for(spec, task) for task in tasks}
        size = sum(map(len, rows.values()))
        try:
            lines = np.asarray(counts(rows), dtype=np.float64)
            lines = lines.reshape(size, -1)
            value = float(value_of(lines.sum(axis=0)))
        except Exception as error:  # noqa: BLE001
            # One broken score must not take the others with it.
            return _failed(spec.counts, error)
        if not math.isfinite(value):
            return Result.without_value(f"{spec.value} gives no number for these rows")
        units: list[str] = []
        for task, rows_of_task in rows.items():
            units += [_unit(task, row, spec.cluster) for row in rows_of_task]

        def value_of_sums(sums: NDArray[np.float64]) -> float:
            return float(value_of(sums))

        estimate = Estimate(value=value, n=size, rule="a function of sums over rows")
        influence_of_rows = partial(statistics.influence_of_counts, units, lines, value_of_sums)
        result = Result.of_estimate(estimate, influence_of_rows)
        result = result.without_rows(self._unscored_rows(spec, tasks))
        return result.with_notes(self._k_of_n(spec, tasks))

    def _rows_for(self, spec: ScoreSpec, name: str) -> list[dict[str, Any]]:
        """The rows of a task that the functions of a score get."""
        rows = self._rows_of(name)
        known = _is_given(spec, self.run.tasks[name])
        return rows if known.all() else [row for row, keep in zip(rows, known, strict=True) if keep]

    def _unscored_rows(self, spec: ScoreSpec, tasks: Mapping[str, TaskRun]) -> int:
        """Returns how many rows of some tasks are not given to the functions of a score."""
        return sum(int(np.sum(~_is_given(spec, task))) for task in tasks.values())

    def _why(self, absent: list[str], lacking: str = "no samples") -> str:
        """Returns why tasks are not there.

        The plan says why it left them out, and the run why they failed.
        """
        reasons = []
        for task in absent:
            exclusion = self.run.excluded.get(task)
            if exclusion:
                what = "failed" if exclusion.kind == "failed" else "was left out"
                reasons.append(f"{task} {what}: {exclusion.reason}")
        return "; ".join(reasons) or f"{lacking} of {grouped(absent)}"

    def _k_of_n(self, spec: ScoreSpec, present: Collection[str]) -> list[str]:
        """A note on how many of its tasks a score is made of, where planned ones are missing."""
        record = self.run.record
        if record is None or spec.on_missing != "skip":
            return []
        in_plan = {*record.tasks, *record.excluded}
        planned = [task for task in spec.tasks if task in in_plan]
        absent = [task for task in planned if task not in present]
        if not absent:
            return []
        count = len(planned) - len(absent)
        return [f"{count} of {len(planned)} tasks, without {', '.join(absent)}"]

    def _rows_of(self, name: str) -> list[dict[str, Any]]:
        """The rows of a task that count, with the answers of its annotators."""
        if name not in self._rows:
            from evalprep.annotate import attach

            task = self.run.tasks[name]
            rows = row_mappings(task)
            note = attach(self.pack, self.run, name, rows)
            if note:
                self.notes[note] = None
            table = task.kept.get(task.primary.filter)
            if table is not None:
                rows = _kept_mappings(rows, table)
            elif task.table().repeated_ids.size:  # a function may keep its values by these
                for row, own_id in zip(rows, task.table().distinct_ids, strict=True):
                    row["sample_id"] = own_id
            self._rows[name] = rows
        return self._rows[name]


def _kept_mappings(rows: Sequence[Mapping[str, Any]], table: Table) -> list[dict[str, Any]]:
    """The rows that count alone, under their shared ids and with the numbers that count."""
    columns = {name: np.isfinite(table.numbers(name)) for name in table.metrics}
    mappings = []
    for at, (place, row_id) in enumerate(zip(table.places.tolist(), table.ids, strict=True)):
        row = rows[place]
        absent = {name for name, known in columns.items() if not known[at]}
        metrics = {name: value for name, value in row["metrics"].items() if name not in absent}
        code = int(table.subtask[at])
        subtask = None if code == UNKNOWN else table.subtasks[code]
        shared = {"sample_id": row_id, "metrics": metrics, "subtask_name": subtask}
        mappings.append({**row, **shared})
    return mappings


def _is_given(spec: ScoreSpec, task: TaskRun) -> NDArray[np.bool_]:
    """For each row of a task that counts, whether the functions of a score get it.

    A row without a number in the metric of its task is a missing one. Between two runs that holds
    for every score, or one of them would be made of other rows.
    """
    table = task.table()
    metric = task.primary.metric
    if spec.unscored == "given" and not task.kept:
        return np.ones(len(table), dtype=np.bool_)
    if metric not in table.metrics:
        return np.full(len(table), not task.lost_its_scores)
    known: NDArray[np.bool_] = np.isfinite(table.numbers(metric))
    return known


def _is_unscored(spec: ScoreSpec, task: TaskRun) -> bool:
    """True for a task no row of which has the number that a score is made of."""
    if spec.function not in BUILT_IN:
        return not _is_given(spec, task).any()
    metric = str(spec.params.get("metric") or task.primary.metric)
    numbers = task.table(spec.params.get("filter")).numbers(metric)
    return not np.isfinite(numbers).any()


def _key_of(spec: ScoreSpec, key: str) -> str:
    """The key of a row with its task, under which comparisons know the row's document.

    A score's own values are named by row, and those over several tasks by task and row.
    """
    if any(key.startswith(f"{task}#") for task in spec.tasks):
        return key
    return f"{'+'.join(spec.tasks)}#{key}"


def _row_influence(spec: ScoreSpec, tasks: Mapping[str, TaskRun]) -> statistics.Influence:
    """The amount that each row adds to a score that is a mean over rows or subtasks."""
    scored = collect(tasks, spec.params, with_keys=True)
    return influence(spec.function, scored)


def _stored_task(task: TaskRun, rows: int | None) -> StoredTask:
    """Returns what lm-eval stored of a task, by metric; of several filters the first one counts."""
    values: dict[str, float] = {}
    stderrs: dict[str, float] = {}
    for metric in task.metrics:
        if metric.value is None or metric.metric in values:
            continue
        values[metric.metric] = metric.value
        if metric.stderr is not None:
            stderrs[metric.metric] = metric.stderr
    return StoredTask(values, stderrs, rows)


def _stated_results(pack: Pack, run: Run) -> dict[str, Result]:
    """The scores of a pack that a log states."""
    own = f"{pack.name}/"
    results = {}
    for name, stated in run.stated.items():
        if name.startswith(own):
            score = name.removeprefix(own)
            results[score] = checked(stated, f"the log's {name}", range_of(pack, score))
    return results


def _failed(function: str, error: Exception) -> Result:
    return Result.without_value(f"{function} failed: {type(error).__name__}: {error}")


def _noted(stated: Result, spec: ScoreSpec, note: str) -> Result:
    """A value that a log states, with a note and the reference that the log must have had."""
    noted = stated.with_notes([note])
    if spec.reference and not noted.against:
        unnamed = Against(kind=LOG, name="a reference that the log does not name")
        noted = noted.changed(against=[unnamed.to_dict()])
    return _with_uncertainty(noted, spec)


def _against_of_log(stated: Result) -> str:
    """Returns what a log measured a score against, behind the value that it states."""
    known = [Against.of_mapping(each).words for each in stated.against]
    return f", against {', '.join(known)}" if any(known) else ", against another reference"


def _any_has_rows(results: Mapping[str, Result], names: Iterable[str]) -> bool:
    return any(results[name].has_rows for name in names if name in results)


def _unit(task: str, row: Mapping[str, Any], cluster: str) -> str:
    """The unit that a row shares with others: its document, else itself; the same in every run."""
    document = row["doc"].get(cluster)
    if document is None:
        return f"{task}#{row['sample_id']}"
    return f"{task}##{document}"


def _within(result: Result, bounds: tuple[float | None, float | None]) -> Result:
    """A result whose interval keeps to the declared range, and has a width where all rows agree.

    An interval without a width is none: the rows show no spread, which is no certainty.
    """
    if result.interval is None:
        return result
    least, most = bounds
    low, high = result.interval
    if least is None or most is None:
        return result if low < high else _without_interval(result)
    if least <= low < high <= most:
        return result
    influence_of_rows = result.influence()
    interval = None
    if influence_of_rows is not None:
        value = float(result.value or 0.0)
        interval = statistics.bounded_interval(value, influence_of_rows, least, most)
    if interval is None:
        clipped_low = max(low, least)
        clipped_high = min(high, most)
        interval = statistics.Interval(clipped_low, clipped_high)
    if interval.low >= interval.high:
        return _without_interval(result)
    return result.changed(interval=interval)


def _without_interval(result: Result) -> Result:
    """A result whose rows show no spread, without the interval that has no width."""
    return result.without_uncertainty().with_notes([WITHOUT_SPREAD])


def _with_uncertainty(result: Result, spec: ScoreSpec) -> Result:
    """Adds a standard error where the value is the mean of its `value_by_index` and has none."""
    value, rows = result.value, result.value_by_index
    if result.gives_uncertainty or value is None or rows is None:
        return result
    for numbers in _numbers_by_column(rows).values():
        known = list(numbers.values())
        average = sum(known) / len(known)
        is_mean = math.isclose(average, value, rel_tol=1e-9, abs_tol=1e-12)
        if len(known) == 1 or not is_mean:
            continue
        influence_of_rows = None
        if not result.gives_influence:
            keys = [_key_of(spec, key) for key in numbers]
            influence_of_rows = partial(statistics.influence_of_mean, keys, known)
        interval = statistics.rows_interval(known, bounds=known_bounds(spec.range))
        result = result.changed(
            stderr=statistics.mean_stderr(known),
            interval=interval,
            n=len(known),
            influence=influence_of_rows,
        )
        return result if interval else result.with_notes([WITHOUT_SPREAD])
    return result


def _numbers_by_column(rows: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """The numbers of each column of `value_by_index`, by the row's key; columns by name."""
    columns: dict[str, dict[str, float]] = {}
    for key, row in rows.items():
        if not isinstance(row, Mapping):
            continue
        for name, number in row.items():
            if isinstance(number, (int, float)):
                columns.setdefault(name, {})[key] = float(number)
    return dict(sorted(columns.items()))
