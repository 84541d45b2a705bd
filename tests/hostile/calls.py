"""Every function of custom_metrics that takes a text, and how to call it with one."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from typing import Any

import custom_metrics
from benchmarks.robustness_extract import BBH, IFEVAL
from custom_metrics import METRICS
from custom_metrics.science.tasks import TASKS

Call = Callable[[], Any]
Values = dict[str, Any]

PLAIN = "B"
"""The other text, where a function takes two."""

NO_SCORERS = frozenset(
    {
        # What runs in the bounded worker alone; `math_minerva` and its like are the way there.
        "custom_metrics.math.original_scorers.score",
        "custom_metrics.math.original_scorers.what_counts",
        "custom_metrics.math.original_scorers.decided_by_text",
    }
)

_DOC = {
    "target": PLAIN, "choices": ["1", "2", "3", "4"], "subtask_name": "navigate", "prompt": PLAIN, "label": 1,
    "access_code": "open sesame", "attack": "hijacking", "aliases": [PLAIN, "C"], "scenario": "Hodor", "params": "{}",
    "messages": [{"role": "user", "content": PLAIN}, {"role": "assistant", "content": PLAIN}], "n_true": 1,
}  # fmt: skip
_DOCS = {
    "custom_metrics.harness.results.ifeval": [{**_DOC, **IFEVAL}],
    "custom_metrics.harness.results.bbh": [{**_DOC, "subtask_name": name} for name in BBH],
    "custom_metrics.harness.filters.bbh_answer": [{**_DOC, "subtask_name": name} for name in BBH],
    "custom_metrics.science.harness.process_results": [{**_DOC, "task": name} for name in TASKS],
}

OTHERS: Values = {
    "mode": "corrected",
    "default": [],
    "aggregator": "closer_to_1_better",
    "avg_loss": 1.0,
    "task": TASKS["bioasq_list_qa"],
    "metrics": ["score"],
    "instruction_id_list": IFEVAL["instruction_id_list"],
    "kwargs": IFEVAL["kwargs"],
    "scorer": "minerva",
    "subtask": None,
    "statuses": None,
}
"""Parameters that hold no text of a reply or of a data set."""

TEXTS: dict[str, Callable[[str], Any]] = {
    "resps": lambda text: [[text]],
    "results": lambda text: [text],
    "entry": lambda text: text,
    "answer": lambda text: text,
    "evidence": lambda text: [text],
    "filtered": lambda text: text,
    "samples": lambda text: [("a", text, text)],
}
"""Parameters that hold a text under another name, or inside of something."""

SHAPES: tuple[Callable[[str], Any], ...] = (
    lambda text: text,
    lambda text: [text, [text]],
    lambda text: {"verdict": text, "evidence": [text], "answer": text},
    lambda text: {text: [text]},
    lambda text: [[text, "b", text, text, "c"]],
    lambda text: [[word, "b", word, "c d", "e"] for word in text[:8_000].split(" ")],
)
"""What may be read out of a reply."""


def functions() -> dict[str, Callable[..., Any]]:
    """Name -> function: all of METRICS, and every public function with a parameter that takes a text."""
    named = {function: name for name, function in METRICS.items()}
    found: dict[str, Callable[..., Any]] = dict(METRICS)
    for one in pkgutil.walk_packages(custom_metrics.__path__, "custom_metrics."):
        if one.name.endswith("__main__"):
            continue
        module = importlib.import_module(one.name)
        for name, function in vars(module).items():
            public = (
                inspect.isfunction(function)
                and not name.startswith("_")
                and function.__module__ == one.name
            )
            if public and function not in named and f"{one.name}.{name}" not in NO_SCORERS:
                found[f"{one.name}.{name}"] = function
    return {
        name: function
        for name, function in found.items()
        if next(calls(name, function, PLAIN), None)
    }


def calls(name: str, function: Callable[..., Any], text: str) -> Iterator[tuple[str, Call]]:
    """Calls with the text in all places at once, then in each place with a plain text in the others."""
    required = [
        parameter for parameter in inspect.signature(function).parameters.values()
        if parameter.default is parameter.empty and parameter.kind not in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}
    ]  # fmt: skip
    names = {one.name for one in required}
    rest = {one: OTHERS[one] for one in names & set(OTHERS)}
    for which, docs in enumerate(_DOCS.get(name, [_DOC])):
        about = {key: value for key, value in (("doc", docs), ("docs", [docs])) if key in names}
        for shape, values in _shaped(names, text):
            yield f"row {which}, {shape}", _bound(function, {**rest, **about, **values})
        places = {
            one.name: str(one.annotation) for one in required
            if one.name not in {*rest, *about} and _value(one.name, str(one.annotation), text) is not NotImplemented
        }  # fmt: skip
        if not places or len(places) + len(rest) + len(about) < len(required):
            continue
        for hostile in (
            [list(places)] if len(places) == 1 else [list(places), *([place] for place in places)]
        ):
            values = {
                one: _value(one, of, text if one in hostile else PLAIN)
                for one, of in places.items()
            }
            yield (
                f"row {which}, {', '.join(hostile)}",
                _bound(function, {**rest, **about, **values}),
            )


def _shaped(names: set[str], text: str) -> Iterator[tuple[str, Values]]:
    """Values for parameters that take what was read out of a reply."""
    for place, shape in enumerate(SHAPES):
        if {"pred", "ref"} <= names:
            yield f"shape {place}", {"pred": shape(text), "ref": shape(text)}
        elif "instances" in names:
            yield f"shape {place}", {"instances": [{"pred": shape(text), "ref": shape(text)}]}


def _value(name: str, annotation: str, text: str) -> Any:
    """A text in the form that a parameter takes; NotImplemented where it takes none."""
    if name in TEXTS:
        return TEXTS[name](text)
    if annotation.replace(" ", "") in {"str", "str|None"}:
        return text
    if annotation.startswith(("Sequence[str]", "Iterable[str]", "list[str]", "Collection[str]")):
        return [text]
    return NotImplemented


def _bound(function: Callable[..., Any], values: Values) -> Call:
    parameters = inspect.signature(function).parameters.values()
    placed = [
        values[parameter.name]
        for parameter in parameters
        if parameter.kind is parameter.POSITIONAL_ONLY and parameter.name in values
    ]
    named = {parameter.name: values[parameter.name] for parameter in parameters
             if parameter.kind is not parameter.POSITIONAL_ONLY and parameter.name in values}  # fmt: skip

    def call() -> Any:
        made = function(*placed, **named)
        return list(made) if inspect.isgenerator(made) else made

    return call
