"""The settings of the twelve algorithms: names, defaults and what fmeval allows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from custom_metrics.fm.factual_knowledge import LOGICAL_OPERATORS
from custom_metrics.fm.normalize import OR_DELIMITER
from custom_metrics.fm.perturbation import PERTURBATIONS
from custom_metrics.fm.summarization import ROUGE_TYPES

BERTSCORE_MODELS = ("microsoft/deberta-xlarge-mnli", "roberta-large-mnli")
DETECTORS = ("detoxify", "toxigen")

_PERTURBED = {
    "perturbation_type": "butter_finger",
    "num_perturbations": 5,
    "butter_finger_perturbation_prob": 0.1,
    "random_uppercase_corrupt_proportion": 0.1,
    "whitespace_add_prob": 0.05,
    "whitespace_remove_prob": 0.1,
}
_BERTSCORE = {"model_type_for_bertscore": BERTSCORE_MODELS[0]}
_ANSWER = {"target_output_delimiter": OR_DELIMITER}
_SUMMARY = {"rouge_type": "rouge2", "use_stemmer_for_rouge": True, **_BERTSCORE}
_LABEL = {"valid_labels": None, "converter_fn": None}
_TOXICITY = {"model_type": "detoxify"}

DEFAULTS: dict[str, dict[str, Any]] = {
    "factual_knowledge": {**_ANSWER, "logical_operator": "OR"},
    "qa_accuracy": {**_ANSWER, **_BERTSCORE},
    "qa_accuracy_semantic_robustness": {**_PERTURBED, **_ANSWER, **_BERTSCORE},
    "summarization_accuracy": _SUMMARY,
    "summarization_accuracy_semantic_robustness": {**_PERTURBED, **_SUMMARY},
    "classification_accuracy": {**_LABEL, "multiclass_average_strategy": "micro"},
    "classification_accuracy_semantic_robustness": {**_PERTURBED, **_LABEL},
    "general_semantic_robustness": {**_PERTURBED, "num_baseline_samples": 4, **_BERTSCORE},
    "prompt_stereotyping": {},
    "toxicity": _TOXICITY,
    "qa_toxicity": _TOXICITY,
    "summarization_toxicity": _TOXICITY,
}
"""Algorithm -> setting -> default, as in fmeval 1.2.3."""

_Check = tuple[Callable[[Any], bool], str]
"""What a value must fulfil, and that in words."""


def _any_of(names: Collection[str]) -> _Check:
    return (lambda value: value in names), ", ".join(names)


def _is_filled(value: Any) -> bool:
    return bool(value != "")


def _is_two_or_more(value: Any) -> bool:
    return isinstance(value, (int, float)) and value >= 2


_DELIMITER = "a text that is not empty, or none for a single answer"
_ALLOWED: dict[str, _Check] = {
    "target_output_delimiter": (_is_filled, _DELIMITER),
    "logical_operator": (lambda value: value in LOGICAL_OPERATORS, "OR or AND"),
    "rouge_type": _any_of(ROUGE_TYPES),
    "model_type_for_bertscore": _any_of(BERTSCORE_MODELS),
    "model_type": _any_of(DETECTORS),
    "perturbation_type": _any_of(PERTURBATIONS),
    "num_baseline_samples": (_is_two_or_more, "2 or more"),
}


def settings(algorithm: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """Complete the settings of an algorithm by its defaults.

    Args:
        algorithm: One of the twelve names.
        config: Settings by fmeval's names.

    Raises:
        ValueError: a name is unknown, or a value is one that fmeval refuses.
    """
    if algorithm not in DEFAULTS:
        algorithms = ", ".join(DEFAULTS)
        raise ValueError(f"{algorithm!r} is no algorithm, known are {algorithms}")
    defaults = DEFAULTS[algorithm]
    unknown = sorted(set(config) - set(defaults))
    if unknown:
        names = ", ".join(unknown)
        known = ", ".join(defaults) or "none"
        raise ValueError(f"{algorithm} has no setting {names}, known are {known}")
    for name, value in config.items():
        fits, allowed = _ALLOWED.get(name, (None, ""))
        if fits is not None and not fits(value):
            raise ValueError(f"{name} is {value!r}, allowed: {allowed}")
    return {**defaults, **config}


def config_validation(*, algorithm: str, config: Mapping[str, Any]) -> str:
    """Checks the settings of an algorithm as fmeval does.

    fmeval leaves probabilities and counts unchecked.

    Args:
        algorithm: One of the twelve names.
        config: Settings by fmeval's names.

    Returns:
        `ok`.

    Raises:
        ValueError: see `settings`.

    >>> config_validation(algorithm="summarization_accuracy", config={"rouge_type": "rouge1"})
    'ok'
    """
    settings(algorithm, config)
    return "ok"


def probabilities(options: Mapping[str, Any]) -> dict[str, float]:
    """The probabilities of the chosen perturbation, by the names of its function.

    >>> probabilities(DEFAULTS["general_semantic_robustness"])
    {'perturbation_prob': 0.1}
    """
    typos = options["butter_finger_perturbation_prob"]
    capitals = options["random_uppercase_corrupt_proportion"]
    added = options["whitespace_add_prob"]
    removed = options["whitespace_remove_prob"]
    by_perturbation = {
        "butter_finger": {"perturbation_prob": typos},
        "random_upper_case": {"uppercase_fraction": capitals},
        "whitespace_add_remove": {"add_prob": added, "remove_prob": removed},
    }
    return by_perturbation[options["perturbation_type"]]


METRICS = {"fm.config_validation": config_validation}
