"""The suite scores of a run: a walk over the graph, with published scores beside the results."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from custom_metrics import statistics
from evalprep.annotate.ratings import Ratings, ratings_of_run
from evalprep.packapi import ExportRun, ExportTask
from evalprep.packs.pack import Pack
from evalprep.packs.plan import ScoreSpec
from evalprep.results import Run
from evalprep.results.facts import NONE, incomplete, limit_of
from evalprep.results.rows import row_mappings
from evalprep.results.seeds import question_of, seed_of, without_seed
from evalprep.score.builtin import collect, influence, macro, mean, mean_influence, micro
from evalprep.score.made import plan_behind
from evalprep.score.published import Published, published_for
from evalprep.score.reference import Results, named_reference
from evalprep.score.spec import BUILT_IN, read_specs, resolve
from evalprep.score.task import GroupScore, TaskScore, score_groups, score_task
from evalprep.score.unsampled import StoredScore, stored_scores


@dataclass
class SuiteScore:
    """One suite score.

    Args:
        name, pack, title, better, range, tags: As declared.
        value: The number; None with a `reason`.
        stderr, low, high: Its uncertainty, where it has one (95 % interval).
        n: Rows behind it.
        reference: The same score of the reference run.
        published: Published values, the reference ones first.
        result: The mapping that the function returned.
        influence: What each row adds to the score, or a function that tells; None where that is not known.
        withheld: Why published values may not stand beside it; empty where they may.
        made_of: How its uncertainty is found; `none` for a score that is itself a p-value.
        tasks: Every task behind it.
        rule: By which rule it was computed, where a score has several; values of two rules are not compared.
    """

    name: str
    pack: str
    title: str
    better: str
    range: tuple[float | None, float | None]
    value: float | None
    stderr: float | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    reason: str = ""
    reference: float | None = None
    published: list[Published] = field(default_factory=list)
    tags: Mapping[str, Any] = field(default_factory=dict)
    result: dict[str, Any] = field(default_factory=dict, repr=False)
    influence: Any = field(default=None, repr=False)
    withheld: str = ""
    made_of: str = ""
    tasks: tuple[str, ...] = ()
    rule: str = ""

    @property
    def id(self) -> str:
        """`pack/name`: two packs may give one name to two scores."""
        return f"{self.pack}/{self.name}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data, without the full result."""
        bare = asdict(replace(self, result={}, influence=None))
        return {key: value for key, value in bare.items() if key not in {"result", "influence"}}


@dataclass
class Scores:
    """Everything that `evalprep score` says about a run; `to_dict` gives it as plain data."""

    run: str
    model: str
    tasks: list[TaskScore]
    groups: list[GroupScore]
    suite: list[SuiteScore]
    notes: list[str] = field(default_factory=list)
    ratings: Ratings = field(default_factory=Ratings)
    stored: list[StoredScore] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Plain data; NaN and infinity as None. `results` holds the full result of each suite score."""
        plain = {
            "kind": "evalprep scores",
            "run": self.run,
            "model": self.model,
            "tasks": [asdict(task) for task in self.tasks],
            "stored": [asdict(one) for one in self.stored],
            "groups": [asdict(group) for group in self.groups],
            "suite": [score.to_dict() for score in self.suite],
            "results": {score.id: score.result for score in self.suite},
            "ratings": self.ratings.to_dict(),
            "notes": self.notes,
        }
        return dict(_strict(plain))

    def to_pandas(self) -> Any:
        """One row per suite score as a data frame."""
        import pandas as pd

        hidden = {"result", "published", "tags", "range", "influence", "tasks"}
        return pd.DataFrame(
            [{key: value for key, value in vars(score).items() if key not in hidden} for score in self.suite]
        )


def name_among(score: SuiteScore, suite: Iterable[SuiteScore]) -> str:
    """How people see a score: its name, with its pack where another pack has a score of that name."""
    return score.id if any(one.name == score.name and one.pack != score.pack for one in suite) else score.name


def _strict(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _strict(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_strict(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


class _Walk:
    """One pack's graph over one run; rows of a task are read once and shared."""

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
                self.results[name] = self._with_stated(spec)
        return self.results

    def _with_stated(self, spec: ScoreSpec) -> dict[str, Any]:
        """A score with rows as a log states it; one over other scores computed anew, as far as that gives a value."""
        stated = self.stated.get(spec.name)
        if stated is None:
            return self._one(spec)
        if not spec.needs or stated.get("value_by_index"):
            return _with_uncertainty(dict(stated), "+".join(spec.tasks))
        result = self._one(spec)
        said, own = stated.get("agg_value"), result.get("agg_value")
        if own is None and said is not None:
            why = result.get("reason")
            note = f"as the log states it{f', not computed anew: {why}' if why else ''}"
            return _with_uncertainty({**stated, "notes": [*(stated.get("notes") or []), note]}, "+".join(spec.tasks))
        if said is not None and not spec.reference and not math.isclose(own or 0.0, said, rel_tol=1e-6, abs_tol=1e-9):
            result["notes"] = [*(result.get("notes") or []), f"the log itself states {said:.6g}"]
        return result

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

    def _why(self, absent: list[str]) -> str:
        """Why tasks are not there: as the plan says where it left them out."""
        reasons = [f"{task} was left out: {one.reason}" for task in absent if (one := self.run.excluded.get(task))]
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


def without_influence(result: Mapping[str, Any]) -> dict[str, Any]:
    """A result as plain data: what each row adds to it, and its resamples, are for further computing alone."""
    return {
        key: without_influence(one) if (isinstance(one, Mapping) and key == "by_metric") or _nested(one) else one
        for key, one in result.items()
        if key not in {"influence", "replicates"}
    }


def _nested(value: Any) -> bool:
    return isinstance(value, Mapping) and "influence" in value


def _is_number(row: Any, column: str) -> bool:
    return isinstance(row, Mapping) and isinstance(row.get(column), (int, float))


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


def packs_of(run: Run, packs: Mapping[str, Pack]) -> list[Pack]:
    """The packs that a run's tasks belong to, by their metadata or by their names."""
    named = {str(task.metadata.get("pack")) for task in run.tasks.values()}
    named |= {name.partition("/")[0] for name in run.stated}
    return [
        pack
        for name, pack in packs.items()
        if name in named
        or any(task in run.tasks for task in pack.tasks)
        or any(task in run.tasks for spec in pack.suite_scores.values() for task in (*spec.task, *spec.tasks))
    ]


def _without_pack(run: Run, packs: Mapping[str, Pack]) -> str:
    """Why there are no suite scores, and which ids the tasks may have been meant to have."""
    meant: dict[str, str] = {}
    known = [task for pack in packs.values() for task in pack.tasks]
    for name in run.tasks:
        whole = next(filter(None, (pack.canonical(name) for pack in packs.values())), None)
        close = [whole] if whole else get_close_matches(name, known, 1, 0.8) or [task for task in known if task in name]
        meant |= {name: max(close, key=len)} if close else {}
    text = "no pack has these tasks, so there are no suite scores"
    if not meant:
        return text
    shown = ", ".join(f"{name} means {task}" for name, task in list(meant.items())[:3])
    more = f" ({len(meant) - 3} more)" if len(meant) > 3 else ""
    return f"{text}; rename samples_<task>_<time>.jsonl where {shown}{more}"


def score_run(run: Run, packs: Mapping[str, Pack] | None = None, *, reference: Run | Results | None = None) -> Scores:
    """Score a run: every task, every group, and every suite score of its packs that its tasks allow.

    Args:
        run: The run.
        packs: All packs; without them only tasks and groups are scored.
        reference: A reference run, or its results, for scores that compare with one; the one that the run's tasks
            name in their metadata by default.

    Raises:
        BadInput: a mistake in a pack's declarations.
    """
    suite: list[SuiteScore] = []
    notes: list[str] = []
    tasks = {name: score_task(name, task) for name, task in run.tasks.items()}
    own = packs_of(run, packs or {})
    if packs and not own and run.tasks:
        notes.append(_without_pack(run, packs))
    if reference is None and own:
        reference = named_reference(run, own)
    for pack in own:
        walk = _Walk(pack, run, None)
        names = walk.applicable()
        wanted = {name for one in names for name in walk.specs[one].reference}
        walk.reference = _reference_results(pack, reference, wanted)
        results = walk.evaluate(names)
        if run.stated:
            # What a log does not hold is no failure of the run.
            shown = {name for name in names if name in walk.stated or walk.specs[name].reference}
            names = [name for name in names if name in shown or results[name].get("agg_value") is not None]
        notes += walk.notes
        published = list(published_for(run.model, pack.published)) if pack.published_file else []
        parts = {name: partial_rows(run, [name]) for name in run.tasks}
        for entry in published:
            if entry.score not in tasks or entry.rule != str(run.tasks[entry.score].metadata.get("rule") or ""):
                continue
            if parts[entry.score]:
                tasks[entry.score].withheld = parts[entry.score]
            else:
                tasks[entry.score].published.append(entry)
        suite += [
            _suite_score(
                walk.specs[name],
                results[name],
                published,
                walk.reference,
                walk.tasks_of[name],
                partial_rows(run, walk.tasks_of[name]),
            )
            for name in walk.specs
            if name in names
        ]
    ratings = ratings_of_run(run, own)
    return Scores(
        run=run.label,
        model=run.model,
        tasks=list(tasks.values()),
        groups=score_groups(run),
        suite=suite,
        notes=[*run.notes, *incomplete(run), *notes, *ratings.notes],
        ratings=ratings,
        stored=stored_scores(run),
    )


def partial_rows(run: Run, names: Iterable[str]) -> str:
    """`8 of 68 rows` where a task was run over a part of its data; such a score is not what was published."""
    limits = [limit_of(run, run.tasks[name]) for name in names if name in run.tasks]
    return ", ".join(dict.fromkeys(str(limit) for limit in limits if limit not in (None, NONE)))


def _reference_results(pack: Pack, reference: Run | Results | None, wanted: set[str]) -> Results | None:
    if reference is None:
        return None
    if not isinstance(reference, Run):
        # Scores of ours go by `pack/name`, foreign logs by the pack's own names.
        own = {name.removeprefix(f"{pack.name}/"): result for name, result in reference.items()}
        return {name: result for name, result in own.items() if "/" not in name or name in pack.suite_scores}
    if not wanted and not reference.stated:
        return {}
    # Also those that nothing needs, so that the reference's own value stands beside each score.
    walk = _Walk(pack, reference, None)
    wanted = {name for name in wanted if name in walk.specs} if reference.stated else wanted
    return walk.evaluate({*wanted, *(name for name in walk.applicable() if not walk.specs[name].reference)})


def _other_rule(published: Iterable[Published], spec: ScoreSpec) -> str:
    """What is said where a score was published by another rule than the one it is computed by here."""
    rules = dict.fromkeys(one.rule or "unnamed" for one in published if one.score == spec.name)
    return f"published by another rule ({', '.join(rules)})" if rules else ""


def _suite_score(
    spec: ScoreSpec,
    result: dict[str, Any],
    published: list[Published],
    reference: Results | None,
    tasks: Sequence[str],
    part: str,
) -> SuiteScore:
    fitting = [one for one in published if one.score == spec.name and one.rule == spec.rule]
    value = result.get("agg_value")
    influences = result.get("influence")
    result = without_influence(result)
    low, high = result.get("interval") or (None, None)
    # A score that compares with the reference has no value of the reference to stand beside it.
    other = None if spec.reference else _value_beside(result, (reference or {}).get(spec.name, {}))
    return SuiteScore(
        name=spec.name,
        pack=spec.pack,
        title=spec.title,
        better=spec.better,
        range=spec.range,
        value=float(value) if isinstance(value, (int, float)) and math.isfinite(value) else None,
        stderr=result.get("stderr"),
        low=low,
        high=high,
        n=result.get("n"),
        reason=str(result.get("reason") or ""),
        reference=other,
        published=[] if part else fitting,
        withheld=part if fitting else _other_rule(published, spec),
        tasks=tuple(tasks),
        tags=spec.tags,
        result=result,
        influence=influences,
        made_of=spec.made_of,
        rule=spec.rule,
    )


def _value_beside(result: Mapping[str, Any], reference: Mapping[str, Any]) -> Any:
    """The reference's value of a score, unless both have rows and not as many: those were other questions."""
    rows = [len(one.get("value_by_index") or ()) for one in (result, reference)]
    return reference.get("agg_value") if 0 in rows or rows[0] == rows[1] else None


def export(
    scores: Scores, run: Run, packs: Mapping[str, Pack], out_dir: Path, *, shared_dir: Path | None = None
) -> list[Path]:
    """Let each pack of the run write its own result files (`export.py`), and return what was written.

    A pack whose export fails is named in `scores.notes`; the others still write theirs.

    Args:
        scores: The scores of the run.
        run: The run.
        packs: All packs.
        out_dir: Folder of this run's files.
        shared_dir: Folder above those of several runs. Packs whose `export.py` says `SHARED = True`, because they make
            tables over many models and keep the models apart themselves, write there.

    Raises:
        OSError: `out_dir` cannot be written.
    """
    return export_as(scores, _export_run(run), packs_of(run, packs), out_dir, shared_dir=shared_dir)


def export_as(
    scores: Scores, shown: ExportRun, packs: Iterable[Pack], out_dir: Path, *, shared_dir: Path | None = None
) -> list[Path]:
    """The same for a run as packs see it."""
    written: list[Path] = []
    for pack in packs:
        module = pack.module("export")
        own = {score.name: score.result for score in scores.suite if score.pack == pack.name}
        if module is None or not own:
            continue
        try:
            place = shared_dir if shared_dir is not None and getattr(module, "SHARED", False) else out_dir
            written += [Path(path) for path in module.export(scores=own, run=shown, out_dir=place)]
        except OSError:
            raise
        except Exception as error:  # noqa: BLE001 - the scores are computed; a pack's own files must not cost them
            scores.notes.append(f"export.py of pack {pack.name} failed: {type(error).__name__}: {error}")
    return written


def _export_run(run: Run) -> ExportRun:
    settings = run.results.get("config")
    version = run.results.get("lm_eval_version")
    return ExportRun(
        label=run.label,
        model=run.model,
        folder=run.files.folder.resolve(),
        settings=settings if isinstance(settings, dict) else {},
        lm_eval_version=None if version is None else str(version),
        tasks={
            name: ExportTask(
                name,
                run.files.samples.get(name, task.path),
                task.config,
                task.scores,
                task.samples,
                question_of(run, task),
            )
            for name, task in run.tasks.items()
        },
        excluded=dict(run.excluded),
        id=run.id,
        seed=seed_of(run),
        without_seed=without_seed(run.model)[0],
    )
