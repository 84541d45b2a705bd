"""The numbers of the document as the page shows them: a tree of texts with the document's own keys and places.

The page rounds nothing. A number whose place has a text here is shown by it; one that has none is shown as absent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from evalprep.numbers import count, number, percent, probability

Form = Callable[[Any], str]
_NOTHING = re.compile(r"[+-]?[0.]*")
_points = partial(percent, sign=True)
_difference = partial(percent, binary=False, sign=True)
_WHOLE_TABLES = ("metrics", "stored", "suite")


def typeset(text: str) -> str:
    r"""A number's text as print has it: a minus that is one, and no sign before nothing.

    >>> typeset("-0.5").encode("unicode_escape"), typeset("-0.0"), typeset("+1.2")
    (b'\\u22120.5', '0.0', '+1.2')
    """
    if _NOTHING.fullmatch(text):
        return text.lstrip("+-")
    return f"\N{MINUS SIGN}{text[1:]}" if text.startswith("-") else text


def _text(value: Any, form: Form) -> Any:
    """Of a number; of each number in a list or a mapping; None where there is none."""
    if isinstance(value, list):
        return [_text(one, form) for one in value]
    if isinstance(value, Mapping):
        return {name: _text(one, form) for name, one in value.items()}
    return typeset(form(value)) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _texts(node: Mapping[str, Any] | None, **forms: Form) -> dict[str, Any]:
    """The texts of some keys of a mapping."""
    found = {name: _text(node[name], form) for name, form in forms.items() if node and node.get(name) is not None}
    return {name: text for name, text in found.items() if text is not None}


def _share(node: Mapping[str, Any] | None, form: Form) -> dict[str, Any]:
    """A value with its interval."""
    return _texts(node, value=form, low=form, high=form, n=count)


def _task(task: Mapping[str, Any]) -> dict[str, Any]:
    form = percent if task["percent"] else number
    return {"runs": [{} if run is None else _run(run, form) for run in task["runs"]]}


def _run(run: Mapping[str, Any], form: Form) -> dict[str, Any]:
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
        "metrics": [_texts(one, value=number, stderr=number) for one in run["metrics"]],
        "subtasks": [
            _share(one, form) | _texts(one, rows=count) | {"published": _share(one["published"], percent)}
            for one in run["subtasks"]
        ],
        "filters": [_texts(one, value=form, unparsed=count, n=count) for one in run["filters"]],
        "opinions": [_texts(one, value=form, only_it=count, only_ours=count) for one in run["opinions"]],
        "lengths": _texts(run["lengths"], n=count, median=count, max=count),
    }


def _stored(one: Mapping[str, Any]) -> dict[str, Any]:
    """A score of a task without samples."""
    form = percent if one["percent"] else number
    return {"runs": [_texts(run, value=form, stderr=form, n=count) for run in one["runs"]]}


def _score(score: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "runs": [{} if run is None else _of_score(run) for run in score["runs"]],
        "published": [_texts(one, value=number) for one in score["published"]],
    }


def _of_score(run: Mapping[str, Any]) -> dict[str, Any]:
    plain = dict.fromkeys(("agg_value", "interval", "reference", "stderr", "parts"), number)
    return {
        **_texts(run, **plain, n=count, skipped=count),
        "categories": [_texts(one, agg_value=number, n=count) for one in run.get("categories") or ()],
        "records": {
            end: [_texts(one, value=number) for one in several] for end, several in (run.get("records") or {}).items()
        },
        "distributions": {name: _texts(one, n=count) for name, one in (run.get("distributions") or {}).items()},
    }


def _conclusion(item: Mapping[str, Any] | None, published: bool) -> dict[str, Any]:
    """A row of paired differences; published verdicts are right or wrong, whatever our own metric is."""
    if item is None:
        return {}
    form, moved = (percent, _points) if item["binary"] or item["unit"] == "points" else (number, _difference)
    counts = ("n", "clusters", "gained", "lost", "both", "neither", "causes", "counts")
    return _texts(
        item,
        **dict.fromkeys(counts, count),
        **dict.fromkeys(("delta", "low", "high"), moved),
        now=form,
        previous=percent if published else form,
        mde=form,
        agreement=percent,
        p=probability,
        p_holm=probability,
    )


def _whole(item: Mapping[str, Any]) -> dict[str, Any]:
    """A row of what has no verdict per row."""
    moved = _points if item["unit"] == "points" else _difference
    return _texts(item, n=count, now=number, previous=number, delta=moved, low=moved, high=moved, p_holm=probability)


def _comparison(comparison: Mapping[str, Any]) -> dict[str, Any]:
    published = comparison["before"] is None
    return {
        "confidence": f"{comparison['confidence']:.0%}".replace("%", " %"),
        "tasks": [_conclusion(one, published) for one in comparison["tasks"]],
        **{part: _conclusion(comparison[part], published) for part in ("overall", "pooled")},
        **{part: [_whole(one) for one in comparison[part]] for part in _WHOLE_TABLES},
    }


def _group(run: Mapping[str, Any] | None) -> dict[str, Any]:
    parts = ("micro", "macro") if run else ()
    return {part: _texts(run[part], agg_value=percent, interval=percent, n=count) for part in parts if run}


def _rated(one: Mapping[str, Any]) -> dict[str, Any]:
    """A rating: what judges gave, and the samples on which they differ."""
    counts = dict.fromkeys(("n", "equal", "both", "distribution"), count)
    plain = dict.fromkeys(("mean", "low", "high", "alpha"), number)
    return {
        **_texts(one, asked=count),
        "apart": [_texts(sample, spread=number, votes=number) for sample in one["apart"]],
        "raters": [_texts(rater, **counts, **plain) for rater in one["raters"]],
    }


def _preferred(one: Mapping[str, Any]) -> dict[str, Any]:
    found = one["found"]
    shares = {name: _share(found.get(name), percent) for name in ("win_rate", "first_place", "longer")}
    counts = dict.fromkeys(("n", "wins", "ties", "losses"), count)
    return {
        **_texts(one, asked=count),
        "found": {**_texts(found, **counts), **shares, "flips": _texts(found.get("flips"), count=count)},
    }


def shown_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """Texts of the numbers of a document, at the places of the numbers."""
    return {
        "tasks": [_task(one) for one in document["tasks"]],
        "stored": [_stored(one) for one in document["stored"]],
        "scores": [_score(one) for one in document["scores"]],
        "groups": [{"runs": [_group(run) for run in one["runs"]]} for one in document["groups"]],
        "ratings": [
            {
                "values": [_rated(one) for one in run["values"]],
                "preferences": [_preferred(one) for one in run["preferences"]],
            }
            for run in document["ratings"]
        ],
        "comparisons": [_comparison(one) for one in document["comparisons"]],
        "samples": _texts(document["samples"], rows=count, shown=count),
    }
