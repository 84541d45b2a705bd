"""The numbers of the document as the page shows them.

They are a tree of texts with the document's own keys and places.

The page rounds nothing. A number whose place has a text here is shown by it; one that has none is
shown as absent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from evalprep.compare import Unit
from evalprep.numbers import count, number, percent, probability
from evalprep.report.content import (
    ComparisonPart,
    ConclusionPart,
    GroupRunPart,
    GroupValue,
    LoggedMetric,
    Parts,
    PreferencePart,
    RatingPart,
    StoredPart,
    SuitePart,
    SuiteRunPart,
    TaskPart,
    TaskRunPart,
)
from evalprep.results import SHARE

Form = Callable[[Any], str]
_NOTHING = re.compile(r"[+-]?[0.]*")


def typeset(text: str) -> str:
    r"""A number's text as print has it: a minus that is one, and no sign before nothing.

    >>> typeset("-0.5").encode("unicode_escape"), typeset("-0.0"), typeset("+1.2")
    (b'\\u22120.5', '0.0', '+1.2')
    """
    if _NOTHING.fullmatch(text):
        return text.lstrip("+-")
    return f"\N{MINUS SIGN}{text[1:]}" if text.startswith("-") else text


def _text(value: Any, form: Form) -> Any:
    """The text of a number, and of each number in a list or a mapping; None for other values."""
    if isinstance(value, list):
        return [_text(item, form) for item in value]
    if isinstance(value, Mapping):
        return {name: _text(item, form) for name, item in value.items()}
    if isinstance(value, int | float) and not isinstance(value, bool):
        return typeset(form(value))
    return None


def _texts(node: Mapping[str, Any] | None, **forms: Form) -> dict[str, Any]:
    """The texts of some keys of a mapping."""
    texts = {
        name: _text(node[name], form)
        for name, form in forms.items()
        if node and node.get(name) is not None
    }
    return {name: text for name, text in texts.items() if text is not None}


def _share(node: Mapping[str, Any] | None, form: Form) -> dict[str, Any]:
    """A value with its interval."""
    return _texts(node, value=form, low=form, high=form, n=count)


def _task(task: TaskPart) -> dict[str, Any]:
    form = percent if task["percent"] else number
    return {"runs": [{} if run is None else _run(run, form) for run in task["runs"]]}


def _run(run: TaskRunPart, form: Form) -> dict[str, Any]:
    counts = (
        "rows",
        "unparsed",
        "truncated",
        "truncated_unknown",
        "truncated_suspected",
        "empty",
        "not_as_prepared",
        "damaged",
    )
    return {
        **_texts(run, macro=form, **dict.fromkeys(counts, count)),
        "score": _share(run["score"], form),
        "published": _share(run["published"], percent),
        "metrics": [_metric(metric) for metric in run["metrics"]],
        "subtasks": [
            _share(subtask, form)
            | _texts(subtask, rows=count)
            | {"published": _share(subtask["published"], percent)}
            for subtask in run["subtasks"]
        ],
        "filters": [
            _texts(filter_entry, value=form, unparsed=count, n=count)
            for filter_entry in run["filters"]
        ],
        "opinions": [
            _texts(opinion, value=form, only_it=count, only_ours=count)
            for opinion in run["opinions"]
        ],
        "lengths": _texts(run["lengths"], n=count, median=count, max=count),
    }


def _metric(metric: LoggedMetric) -> dict[str, Any]:
    """A value of lm-eval's own table."""
    form = percent if metric["unit"] == SHARE else number
    return _texts(metric, value=form, stderr=form, interval=form)


def _stored(score: StoredPart) -> dict[str, Any]:
    """A score of a task without samples."""
    form = percent if score["percent"] else number
    return {"runs": [_texts(run, value=form, stderr=form, n=count) for run in score["runs"]]}


def _score(score: SuitePart) -> dict[str, Any]:
    form = percent if score.get("unit") == SHARE else number
    return {
        "runs": [{} if run is None else _score_of_run(run, form) for run in score["runs"]],
        "published": [_texts(entry, value=form) for entry in score["published"]],
    }


def _score_of_run(run: SuiteRunPart, form: Form) -> dict[str, Any]:
    values = dict.fromkeys(("agg_value", "interval", "reference", "stderr"), form)
    return {
        **_texts(run, **values, parts=number, n=count, skipped=count),
        "categories": [
            _texts(category, agg_value=form, n=count) for category in run.get("categories") or ()
        ],
        "records": {
            end: [_texts(record, value=number) for record in several]
            for end, several in (run.get("records") or {}).items()
        },
        "distributions": {
            name: _texts(distribution, n=count)
            for name, distribution in (run.get("distributions") or {}).items()
        },
    }


def _conclusion(item: ConclusionPart | None, published: bool) -> dict[str, Any]:
    """The numbers of a conclusion, as `compare` writes them.

    Published verdicts are right or wrong, whatever our own metric is.
    """
    if item is None:
        return {}
    unit = Unit(item["unit"], bool(item.get("binary")))
    counts = ("n", "clusters", "gained", "lost", "both", "neither", "causes", "counts")
    return _texts(
        item,
        **dict.fromkeys(counts, count),
        **dict.fromkeys(("delta", "low", "high"), unit.change),
        now=unit.score,
        previous=percent if published else unit.score,
        mde=unit.detectable,
        agreement=percent,
        p=probability,
        p_holm=probability,
    )


def _comparison(comparison: ComparisonPart) -> dict[str, Any]:
    published = comparison["before"] is None
    return {
        "confidence": f"{comparison['confidence']:.0%}".replace("%", " %"),
        "tasks": [_conclusion(conclusion, published) for conclusion in comparison["tasks"]],
        "overall": _conclusion(comparison["overall"], published),
        "pooled": _conclusion(comparison["pooled"], published),
        "metrics": [_own_scale(item) for item in comparison["metrics"]],
        "further": [_own_scale(item) for item in comparison["further"]],
        "stored": [_own_scale(item) for item in comparison["stored"]],
        "suite": [_own_scale(item) for item in comparison["suite"]],
    }


def _own_scale(item: ConclusionPart) -> dict[str, Any]:
    """A conclusion of which both sides have the same scale."""
    return _conclusion(item, published=False)


def _group(run: GroupRunPart | None) -> dict[str, Any]:
    if run is None:
        return {}
    return {"micro": _group_value(run["micro"]), "macro": _group_value(run["macro"])}


def _group_value(value: GroupValue) -> dict[str, Any]:
    return _texts(value, agg_value=percent, interval=percent, n=count)


def _rated(rating: RatingPart) -> dict[str, Any]:
    """A rating: what judges gave, and the samples on which they differ."""
    counts = dict.fromkeys(("n", "equal", "both", "distribution"), count)
    plain = dict.fromkeys(("mean", "low", "high", "alpha"), number)
    return {
        **_texts(rating, asked=count),
        "apart": [_texts(sample, spread=number, votes=number) for sample in rating["apart"]],
        "raters": [_texts(rater, **counts, **plain) for rater in rating["raters"]],
    }


def _preferred(preference: PreferencePart) -> dict[str, Any]:
    result = preference["found"]
    shares = {
        name: _share(result.get(name), percent) for name in ("win_rate", "first_place", "longer")
    }
    counts = dict.fromkeys(("n", "wins", "ties", "losses"), count)
    return {
        **_texts(preference, asked=count),
        "found": {
            **_texts(result, **counts),
            **shares,
            "flips": _texts(result.get("flips"), count=count),
        },
    }


def shown_of(document: Parts) -> dict[str, Any]:
    """Texts of the numbers of a document, at the places of the numbers."""
    return {
        "tasks": [_task(task) for task in document["tasks"]],
        "stored": [_stored(score) for score in document["stored"]],
        "scores": [_score(score) for score in document["scores"]],
        "groups": [
            {"runs": [_group(run) for run in group["runs"]]} for group in document["groups"]
        ],
        "ratings": [
            {
                "values": [_rated(rating) for rating in run["values"]],
                "preferences": [_preferred(preference) for preference in run["preferences"]],
            }
            for run in document["ratings"]
        ],
        "comparisons": [_comparison(comparison) for comparison in document["comparisons"]],
        "samples": _texts(document["samples"], rows=count, shown=count),
    }
