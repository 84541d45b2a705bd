"""The robustness algorithms on one record, with a model whose replies are written down.

This is what fmeval's `evaluate_sample` does, prompt for prompt and in its order. Where a model is
run over many records, the prompts are made beforehand and the scores come from its replies.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from custom_metrics.fm.evaluation import accuracy_scores, similarity_of
from custom_metrics.fm.perturbation import bound, perturb
from custom_metrics.fm.prompt import DEFAULT_TEMPLATE, prompt
from custom_metrics.fm.robustness import Similarity, general_robustness, mean_delta
from custom_metrics.fm.settings import probabilities, settings

ALGORITHMS = (
    "qa_accuracy_semantic_robustness",
    "classification_accuracy_semantic_robustness",
    "summarization_accuracy_semantic_robustness",
    "general_semantic_robustness",
)


class _Script:
    """A model that gives its replies in order, over and over, and keeps the prompts."""

    def __init__(self, outputs: Sequence[str], template: str) -> None:
        self._outputs = itertools.cycle(outputs)
        self._template = template
        self.prompts: list[str] = []

    def reply(self, model_input: str) -> str:
        self.prompts.append(prompt(template=self._template, model_input=model_input))
        return next(self._outputs)


def semantic_robustness(
    *,
    algorithm: str,
    model_input: str,
    scripted_outputs: Sequence[str],
    target_output: str | None = None,
    prompt_template: str = DEFAULT_TEMPLATE,
    config: Mapping[str, Any] | None = None,
    bertscore: Similarity | str | None = None,
) -> dict[str, Any]:
    """Perturbs one input, asks a scripted model, and scores its replies.

    Args:
        algorithm: One of the four whose names end in `_semantic_robustness`.
        model_input: The input; the template is applied after it was perturbed.
        scripted_outputs: Replies in the order of the calls.
        target_output: Right answer; `general_semantic_robustness` has none.
        prompt_template: Text with `$model_input`.
        config: Settings by fmeval's names.
        bertscore: As in `fm.evaluate_byo`.

    Returns:
        `scores`, the same at the top, and `prompts` in the order of the calls; deltas are lower is
        better.

    Raises:
        ValueError: a setting is wrong.
    """
    options = settings(algorithm, config or {})
    model = _Script(scripted_outputs, prompt_template)
    similarity = similarity_of(bertscore)
    chances: dict[str, Any] = dict(probabilities(options))
    kind = options["perturbation_type"]
    count = options["num_perturbations"]
    perturbed = perturb(kind=kind, text=model_input, num_perturbations=count, **chances)
    original = model.reply(model_input)
    if algorithm == "general_semantic_robustness":
        deterministic = model.reply(model_input) == original
        replies = [model.reply(text) for text in perturbed]
        further = 0 if deterministic else options["num_baseline_samples"] - 1
        baseline = [model.reply(model_input) for _ in range(further)]
        scores = general_robustness(
            original=original, perturbed=replies, baseline=baseline, similarity=similarity
        )
    else:
        replies = [model.reply(text) for text in perturbed]
        scored = [
            accuracy_scores(
                algorithm,
                {"target_output": target_output, "model_output": reply},
                options,
                similarity,
            )
            for reply in (original, *replies)
        ]
        scores = dict(scored[0])
        for name, value in scored[0].items():
            delta = mean_delta(
                original=value, perturbed=[of_reply[name] for of_reply in scored[1:]]
            )
            scores[f"delta_{name}"] = delta["delta"]
    return {**scores, "scores": scores, "prompts": model.prompts}


METRICS: dict[str, Callable[..., Any]] = {
    f"fm.{name}": bound(semantic_robustness, algorithm=name) for name in ALGORITHMS
}
