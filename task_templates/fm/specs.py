"""The scores of one algorithm over one data set, and which of them cannot be computed here."""

from __future__ import annotations

from dataclasses import replace

from evalprep.packapi import ScoreSpec

from .algorithms import DETECTORS, OVER_SET, TITLES, Algorithm, accuracy_scores
from .helper_models import Locate, missing_detector, missing_encoder, missing_meteor
from .settings import DataSet

Specs = dict[str, ScoreSpec]
Reasons = dict[str, str]
"""Name of a score -> what is missing, and what to do."""


def score_specs(data: DataSet, algorithm: Algorithm) -> Specs:
    """The scores of one task by their names without the data set's."""
    if algorithm.name == "prompt_stereotyping":
        names = ["prompt_stereotyping", "log_probability_difference"]
        return {name: _spec(data, algorithm, name, "mean_of") for name in names}
    if algorithm.detects:
        detector = str(data.options["detector"])
        rated = DETECTORS.get(detector, ())
        names = [*rated, "insult_words", "empty_reply"]
        return {name: _spec(data, algorithm, name, "mean_of") for name in names}
    if algorithm.name == "general_semantic_robustness":
        functions = {"word_error_rate": "word_errors"}
        if data.options["bertscore_path"]:
            functions["bertscore_dissimilarity"] = "dissimilarity"
        specs = {}
        for name, function in functions.items():
            spec = _spec(data, algorithm, name, function)
            specs[name] = replace(spec, cluster="cluster_id")
        return specs
    return _accuracy_specs(data, algorithm)


def _accuracy_specs(data: DataSet, algorithm: Algorithm) -> Specs:
    """The scores that compare a reply with its target, of perturbed prompts their change."""
    is_text = algorithm.family != "classification_accuracy"
    names = accuracy_scores(
        algorithm,
        rouge_type=data.options["rouge_type"],
        meteor=data.options["meteor"],
        bertscore=bool(data.options["bertscore_path"]) and is_text,
    )
    specs: Specs = {}
    for name in names:
        if algorithm.robust:
            plain, _direction, _bounds = TITLES[name]
            title = f"{plain}, original prompts"
            original = _spec(data, algorithm, name, "original", title=title)
            title = f"{plain}, mean change"
            change = _spec(data, algorithm, name, "delta", title=title, better="down")
            change = replace(change, cluster="cluster_id")
            specs |= {f"original_{name}": original, f"delta_{name}": change}
        else:
            specs[name] = _spec(data, algorithm, name, "mean_of")
    if algorithm.name == "classification_accuracy":
        for name in OVER_SET:
            specs[name] = _spec(data, algorithm, name, "over_set")
    return specs


def _spec(
    data: DataSet,
    algorithm: Algorithm,
    value: str,
    function: str,
    *,
    title: str = "",
    better: str = "",
) -> ScoreSpec:
    """A score that a function of the pack makes of a value of each reply.

    Args:
        data: The data set.
        algorithm: The algorithm that computes the value.
        value: The value, whose title and direction are the score's own but for what follows.
        function: The function in `score.py`.
        title: A title of its own.
        better: A direction of its own.
    """
    plain, direction, bounds = TITLES[value]
    return ScoreSpec(
        function=f"score.{function}",
        params={"value": value, "better": better or direction},
        title=f"{data.name}: {title or plain}",
        better=better or direction,
        range=bounds,
        rule=value,
        tags={"data": data.name, "algorithm": algorithm.name},
    )


def missing_helpers(locate: Locate, data: DataSet, algorithm: Algorithm) -> Reasons:
    """Scores whose helper is not on this machine -> what is missing and what to do."""
    reasons: Reasons = {}
    detector = data.options["detector"]
    if algorithm.detects and detector in DETECTORS:
        reasons |= dict.fromkeys(DETECTORS[detector], missing_detector(locate, data.options))
    # The names under which a score of replies stands in the results.
    forms = ("original_{}", "delta_{}") if algorithm.robust else ("{}",)
    if algorithm.family == "summarization_accuracy":
        kind = data.options["meteor"]
        score = "meteor" if kind == "wordnet" else "meteor_no_synonyms"
        reasons |= dict.fromkeys((form.format(score) for form in forms), missing_meteor(kind))
    if algorithm.compared and data.options["bertscore_path"]:
        if algorithm.name == "general_semantic_robustness":
            forms = ("{}_dissimilarity",)
        names = (form.format("bertscore") for form in forms)
        reasons |= dict.fromkeys(names, missing_encoder(locate, data.options))
    return {name: reason for name, reason in reasons.items() if reason}
