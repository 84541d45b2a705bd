"""Rows of logs as tasks of this pack, and scores of logs with their intervals."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from custom_metrics.unlearning import by_row
from custom_metrics.unlearning.truth_ratio import AGGREGATORS
from evalprep.packapi import LoggedRow, LoggedTask

from .answers import described
from .leakage import DEFAULT
from .membership import area_of
from .names import MUSE_PREFIX, aggregator_of, data_set_of, suite_of, truth_ratio_of
from .question import question_in
from .results import Result, answer_keys, by_index, column, no_value, with_mean_interval

Results = Mapping[str, Result]

#: Metric -> position of a row -> value.
_Metrics = Mapping[str, Mapping[str, float]]

#: Folders between the one that is named after a model and its logs.
_BETWEEN = re.compile(r"evals?([_-].*)?|eval_results|ds_size\d+|scores(_.*)?", re.IGNORECASE)
_STEP = re.compile(r"checkpoint-\d+")
#: Task -> score with its generations.
GENERATIONS = {
    **{f"tofu_{name}_gen": f"{name}_Q_A_ROUGE" for name in ("forget", "retain", "ra", "wf")},
    "muse_forget_knowmem": "forget_knowmem_ROUGE",
    "muse_retain_knowmem": "retain_knowmem_ROUGE",
    "muse_verbmem_gen": "forget_verbmem_ROUGE",
}
# How far the rows of a log may be from its score; logs of other versions can follow other formulas.
_AGREED = 1e-6
_UNKNOWN_ROWS = "no interval: its rows have no value of a name that is known here"
_OTHER_VALUE = "its rows give {:.6g} by the formula used here"
_ATTACKS = (
    "mia_loss",
    "mia_zlib",
    "mia_min_k",
    "mia_min_k_plus_plus",
    "mia_gradnorm",
    "mia_reference",
)
_DATA_SETS = ("forget", "retain", "ra", "wf")
#: Part of a score's name -> prefix of the metric that its rows have.
_PREFIXES = {"Prob": "", "PARA_Prob": "paraphrase_", "PERT_Prob": "wrong_"}
#: Metrics that a task of likelihoods is shown by; the first that a log has counts.
_HEADLINES = ("prob", "mia_min_k", "mia_loss", "extraction_strength")
#: One column of a score: task, metric, and the value of each row.
_Column = tuple[str, str, Mapping[str, Any]]


def model_at(path: Path) -> str:
    """The model's name as the folder of a log tells it.

    OpenUnlearning names a folder after each evaluation.

    >>> model_at(Path("/saves/unlearn/npo_forget10/checkpoint-60/evals/TOFU_EVAL.json"))
    'npo_forget10/checkpoint-60'
    >>> model_at(Path("/saves/eval/tofu_phi-1_5_full/evals_forget05/TOFU_EVAL.json"))
    'tofu_phi-1_5_full'
    """
    if path.suffix == ".parquet":
        return path.stem
    folder = path if path.is_dir() else path.parent
    folders = folder.absolute().parts
    parts = [part for part in folders if not _BETWEEN.fullmatch(part)]
    is_step = _STEP.fullmatch(parts[-1]) is not None
    return "/".join(parts[-2:] if is_step else parts[-1:])


def with_answers(results: Results) -> dict[str, Result]:
    """Returns the results with digests of the answers, which tell their questions apart.

    A data set whose generations the log lacks stays as it is.
    """
    extended = {name: dict(result) for name, result in results.items()}
    for data_set in _DATA_SETS:
        generations = results.get(f"{data_set}_Q_A_ROUGE")
        truths = column(generations, "ground_truth")
        texts = {index: truth for index, truth in truths.items() if isinstance(truth, str)}
        answers = answer_keys(texts)
        if answers:
            scores = [f"{data_set}_Q_A_{part}" for part in _PREFIXES]
            for score in (*scores, truth_ratio_of(data_set)):
                if score in extended:
                    extended[score] = answers | extended[score]
            if data_set == "forget":
                for attack in _ATTACKS:
                    rows = extended.get(attack, {}).get("forget")
                    if isinstance(rows, Mapping):
                        extended[attack]["forget"] = answers | dict(rows)
    return extended


def tasks_of(results: Results) -> dict[str, LoggedTask]:
    """The rows of the results as tasks.

    What was generated, and what was said of the scored answers.
    """
    tables = {
        task: _generations(task, results[score])
        for task, score in GENERATIONS.items()
        if score in results
    }
    for task, values in _likelihoods(results).items():
        if values:
            generated = tables.get(task.replace("_lp", "_gen"))
            tables[task] = _values(task, values, generated)
    return {task: table for task, table in tables.items() if table.rows}


def _generations(task: str, result: Result) -> LoggedTask:
    rows = []
    metrics: set[str] = set()
    for index, generation in by_index(result).items():
        if isinstance(generation, Mapping) and index.isdecimal():
            prompt, reply, target = (
                text if isinstance(text, str) else None
                for text in map(generation.get, ("input", "generation", "ground_truth"))
            )
            doc: dict[str, Any] = {"stopwords": []}
            if prompt is not None:
                doc |= {"prompt": prompt, "question": question_in(prompt)}
            doc["target"] = target or ""
            overlaps = {
                name: value
                for name, value in generation.items()
                if name.startswith("rouge") and by_row.finite(value)
            }
            metrics.update(overlaps)
            rows.append(LoggedRow(int(index), overlaps, prompt or "", target or "", reply, doc))
    usual = _rouge_of("TOFU" if task.startswith("tofu_") else "MUSE")
    primary = usual if usual in metrics else min(metrics, default=usual)
    directions = dict.fromkeys(metrics, not _is_forgotten(task))
    return LoggedTask(rows, primary, directions)


def _rouge_of(suite: str) -> str:
    """The ROUGE that a suite is scored by."""
    return "rougeL_recall" if suite == "TOFU" else "rougeL_f1"


def _is_forgotten(task: str) -> bool:
    """Returns whether the rows of a task are those to forget."""
    return "forget" in task or "verbmem" in task


def _likelihoods(results: Results) -> dict[str, dict[str, dict[str, float]]]:
    """Task -> metric -> position -> value."""
    tasks: dict[str, dict[str, dict[str, float]]] = {}
    for task, metric, values in _columns(results):
        known = {}
        for index, value in values.items():
            if not index.isdecimal():
                continue
            mean = by_row.mean(by_row.entries(value))
            if mean is not None:
                known[index] = mean
        if known:
            tasks.setdefault(task, {})[metric] = known
    return tasks


def _columns(results: Results) -> Iterator[_Column]:
    """Yields the columns of answers, of what is memorised, and of attacks."""
    for data_set in _DATA_SETS:
        task = f"tofu_{data_set}_lp"
        for part, prefix in _PREFIXES.items():
            score = results.get(f"{data_set}_Q_A_{part}")
            for name in ("prob", "avg_loss"):
                yield task, f"{prefix}{name}", column(score, name)
        ratio = results.get(truth_ratio_of(data_set))
        yield task, "truth_ratio", column(ratio, "score")
    for prefix, task in (("", "tofu_forget_lp"), (MUSE_PREFIX, "muse_verbmem_lp")):
        for name in ("exact_memorization", "extraction_strength"):
            yield task, name, column(results.get(prefix + name), "score")
    for prefix, stem in (("", "tofu_"), (MUSE_PREFIX, "muse_privleak_")):
        for name in _ATTACKS:
            attack = results.get(prefix + name, {})
            for side in ("forget", "holdout"):
                yield f"{stem}{side}_lp", name, column(attack.get(side), "score")


def _values(task: str, values: _Metrics, generated: LoggedTask | None) -> LoggedTask:
    """The rows of a task of likelihoods, with the texts of the generations where there are any."""
    texts: dict[int, LoggedRow] = {}
    if generated is not None:
        texts = {row.index: row for row in generated.rows}
    positions = {int(index) for index in set().union(*values.values())}
    rows = []
    for position in sorted(positions):
        index, text = str(position), texts.get(position)
        known = {name: of_rows[index] for name, of_rows in values.items() if index in of_rows}
        row = LoggedRow(position, known)
        if text is not None:
            doc = {key: text.doc[key] for key in ("prompt", "question") if key in text.doc}
            row = LoggedRow(position, known, text.prompt, text.target, doc=doc)
        rows.append(row)
    headline = next((name for name in _HEADLINES if name in values), "")
    # Metric -> more is better.
    # A forgotten answer should be unlikely: its loss is high, its probability is low.
    is_forgotten = _is_forgotten(task)
    directions = {}
    for name in values:
        is_of_answer = name.endswith("prob") or name in {"exact_memorization", headline}
        directions[name] = is_forgotten != is_of_answer
    return LoggedTask(rows, headline or min(values), directions)


def with_numbers(results: Results) -> dict[str, Result]:
    """The results with numbers for values: rows without one are left out and counted.

    OpenUnlearning writes NaN where one row has none. What has no rows gives the reason.
    """
    numbers = {}
    for name, result in results.items():
        value = result.get("agg_value")
        is_nan = isinstance(value, float) and not math.isfinite(value)
        numbers[name] = _with_number(name, result) if is_nan else result
    return numbers


def _with_number(name: str, result: Result) -> Result:
    """A result whose stated value is not a number, computed from the rows that have one."""
    sides = [result.get(side) for side in ("forget", "holdout")]
    if all(isinstance(side, Mapping) for side in sides):
        area = area_of({"forget": sides[0], "holdout": sides[1]})
        known = {key: area[key] for key in ("agg_value", "auc", "reason", "skipped") if key in area}
        return {**result, **known}
    means = _means(name, result)
    known = [mean for mean in means.values() if mean is not None]
    if not known:
        return {**result, **no_value(_NO_NUMBER)}
    value = by_row.mean(known)
    return by_row.counted({**result, "agg_value": value}, not_a_number=len(means) - len(known))


_NO_NUMBER = "the log states no number (NaN), and has no row with one"


def with_own_references(results: Results) -> dict[str, Result]:
    """The results with what a stated privacy leakage was measured against.

    The formula gives the AUC of the retain model back; 0.5 is what OpenUnlearning takes without
    one.
    """
    named = dict(results)
    for prefix in ("", MUSE_PREFIX):
        stated = results.get(f"{prefix}privleak")
        auc = results.get(f"{prefix}mia_min_k", {}).get("agg_value")
        value = None if stated is None else stated.get("agg_value")
        if stated is None or stated.get("against") or not by_row.finite(value):
            continue
        against = _reference_behind(value, auc)
        if against:
            named[f"{prefix}privleak"] = {**stated, "against": [against]}
    return named


def _reference_behind(leakage: float, auc: Any) -> dict[str, str] | None:
    """Returns what a leakage was measured against; None where that cannot be told."""
    share = 1 + leakage / 100
    if not by_row.finite(auc) or auc >= 1 or share <= 0:
        return None
    retain_auc = 1 - (1 - auc) / share
    if math.isclose(retain_auc, 0.5, abs_tol=_AGREED):
        return DEFAULT
    name = f"a reference with an AUC of {retain_auc:.3g} that the log does not name"
    return {"role": "reference", "kind": "log", "name": name}


def completed(name: str, result: Result) -> Result:
    """A score of a log with its interval.

    Where the score is a mean over rows, it also carries what each row adds.
    """
    sides = [result.get(name) for name in ("forget", "holdout")]
    if all(isinstance(side, Mapping) for side in sides):
        value = result.get("agg_value")
        area = area_of({side: result[side] for side in ("forget", "holdout")})
        if value is None or area["agg_value"] is None:
            return result
        if not math.isclose(area["agg_value"], value, rel_tol=_AGREED, abs_tol=_AGREED):
            return result | {"notes": [_OTHER_VALUE.format(area["agg_value"])]}
        return {**area, **result, "n": area["n"], "interval": area.get("interval")}
    if result.get("agg_value") is None or not by_index(result):
        return result
    return _completed_mean(name, result)


def _completed_mean(name: str, result: Result) -> Result:
    means = {index: mean for index, mean in _means(name, result).items() if mean is not None}
    mean, logged = by_row.mean(means.values()), result["agg_value"]
    if mean is None:
        return result | {"notes": [_UNKNOWN_ROWS]}
    if not math.isclose(mean, logged, rel_tol=_AGREED, abs_tol=_AGREED):
        return result | {"notes": [_OTHER_VALUE.format(mean)]}
    data_set = data_set_of(name)
    if _is_truth_ratio(name):
        return described(result, aggregator_of(data_set), data_set)
    return with_mean_interval(result, means, data_set)


def _is_truth_ratio(name: str) -> bool:
    return name.lower().endswith("truth_ratio")


def _means(name: str, result: Result) -> dict[str, float | None]:
    """Position -> what a row adds to the mean of a score; None where it has no value."""
    metric = "prob" if "_Prob" in name else "score"
    if name.endswith("_ROUGE"):
        metric = _rouge_of(suite_of(name))
    aggregate = AGGREGATORS[aggregator_of(data_set_of(name))] if _is_truth_ratio(name) else float
    means: dict[str, float | None] = {}
    for index, value in column(result, metric).items():
        mean = by_row.mean(by_row.entries(value))
        means[index] = None if mean is None else aggregate(mean)
    return means
