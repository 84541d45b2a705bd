"""Results files of the BigCode evaluation harness: values without samples or standard errors.

`{task: {"pass@1": ...}, "config": {...}}`, with the arguments of the call as `config`. Some tasks
have one level more (`parity`, `recode`); numbers of programs beside the scores are none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from evalprep.numbers import finite_number
from evalprep.readers.known_metrics import KnownMetric, known_metric
from evalprep.readers.logged import NONE, RunResults, TaskResults
from evalprep.readers.metric_names import is_of_draws
from evalprep.readers.parts import call_settings, metric_of
from evalprep.samples import SHARE, Metric

_CONFIG = "config"
#: Arguments of a call that no other tool's `config` has.
_OWN_ARGUMENTS = {"max_length_generation", "metric_output_path", "allow_code_execution"}
_GENERATION = (
    *("do_sample", "temperature", "top_p", "top_k", "n_samples", "max_length_generation", "prompt"),
    *("prefix", "instruction_tokens", "postprocess"),
)
_MODEL = ("revision", "peft_model", "load_in_8bit", "load_in_4bit")
_BLEU = "bleu"
_SHARES = re.compile(r"bleu|(?:.+_)?(?:pass|beyond)@\d+|(?:.+-)?pass-at-\d+|mean pass@1 accuracy.*")
_SHARE = KnownMetric("up", "", SHARE, (0.0, 1.0))


def recognises(content: dict[str, Any]) -> bool:
    """Returns whether a results file has this layout."""
    config = content.get(_CONFIG)
    if not isinstance(config, dict) or "results" in content or "configs" in content:
        return False
    scores = dict(_scores_of(content))
    is_of_programs = any(map(is_of_draws, chain.from_iterable(scores.values())))
    return bool(scores) and (is_of_programs or not _OWN_ARGUMENTS.isdisjoint(config))


def decode(content: dict[str, Any], _file: str) -> RunResults:
    """Decodes a results file of this layout."""
    tasks = {
        name: TaskResults(name=name, metrics=_metrics(values))
        for name, values in _scores_of(content)
    }
    settings = call_settings(_as_lm_eval(content[_CONFIG]))
    return RunResults(settings=settings, tasks=tasks, read=True, tool="bigcode")


def _scores_of(content: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yields each task with its scores, and the parts of a task that has no scores itself."""
    for name, values in content.items():
        if name == _CONFIG or not isinstance(values, dict):
            continue
        if _has_numbers(values):
            yield name, values
            continue
        for part, inner in values.items():
            if _has_numbers(inner):
                yield f"{name}_{part}", inner


def _has_numbers(values: Any) -> bool:
    return isinstance(values, dict) and any(
        finite_number(value) is not None for value in values.values()
    )


def _metrics(values: Mapping[str, Any]) -> tuple[Metric, ...]:
    """The scores of a task; of BLEU, which is a share here, not the lengths beside it."""
    names = [_BLEU] if _BLEU in values else list(values)
    return tuple(
        metric_of(name, NONE, values[name], None, None, {}, _known(name))
        for name in names
        if finite_number(values[name]) is not None
    )


def _known(name: str) -> KnownMetric:
    return _SHARE if _SHARES.fullmatch(name) else known_metric(name)


def _as_lm_eval(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments of a call under lm-eval's names; only those are kept, as others are secret."""
    model = str(config.get("model") or "")
    arguments = {"pretrained": model, "dtype": config.get("precision")}
    arguments |= {key: config.get(key) for key in _MODEL}
    generation = {key: config[key] for key in _GENERATION if config.get(key) not in (None, "")}
    return {
        "model_name": model,
        _CONFIG: {
            "model_args": {key: value for key, value in arguments.items() if value},
            "gen_kwargs": generation,
            "limit": config.get("limit"),
            "batch_size": config.get("batch_size"),
            "random_seed": config.get("seed"),
        },
    }
