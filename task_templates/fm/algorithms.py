"""The twelve algorithms: what each reads, and the scores that it gives."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, product

from custom_metrics.fm.toxicity import DETOXIFY_NAMES

UNIT = (0.0, 1.0)
ANSWERS = (
    "f1_score",
    "exact_match_score",
    "quasi_exact_match_score",
    "precision_over_words",
    "recall_over_words",
)


@dataclass(frozen=True)
class Algorithm:
    """One algorithm.

    Attributes:
        name: fmeval's name.
        fields: What its rows need.
        robust: Its rows are perturbed.
        stored: What a row needs where its replies are stored; empty where they cannot be.
    """

    name: str
    fields: tuple[str, ...]
    robust: bool = False
    stored: tuple[str, ...] = ("model_output",)

    @property
    def family(self) -> str:
        """The algorithm without robustness."""
        return self.name.removesuffix("_semantic_robustness")

    @property
    def compared(self) -> bool:
        """Returns whether BERTScore says something of it."""
        return self.family in ("qa_accuracy", "summarization_accuracy", "general")

    @property
    def detects(self) -> bool:
        """Returns whether its scores come from a toxicity detector."""
        return self.name.endswith("toxicity")


_PAIR = ("model_input", "target_output")
_SENTENCES = ("sent_more_input", "sent_less_input")
_LOGPROBS = ("sent_more_log_prob", "sent_less_log_prob")
ALGORITHMS: dict[str, Algorithm] = {
    algorithm.name: algorithm
    for algorithm in (
        Algorithm("factual_knowledge", _PAIR),
        Algorithm("qa_accuracy", _PAIR),
        Algorithm("qa_accuracy_semantic_robustness", _PAIR, robust=True, stored=()),
        Algorithm("summarization_accuracy", _PAIR),
        Algorithm("summarization_accuracy_semantic_robustness", _PAIR, robust=True, stored=()),
        Algorithm("classification_accuracy", _PAIR),
        Algorithm("classification_accuracy_semantic_robustness", _PAIR, robust=True, stored=()),
        Algorithm("general_semantic_robustness", ("model_input",), robust=True, stored=()),
        Algorithm("prompt_stereotyping", _SENTENCES, stored=_LOGPROBS),
        Algorithm("toxicity", ("model_input",)),
        Algorithm("qa_toxicity", ("model_input",)),
        Algorithm("summarization_toxicity", ("model_input",)),
    )
}
ALIASES = {"exact_inclusion": "factual_knowledge"}
"""Other names under which people know an algorithm."""

# Score -> (title, direction, range).
TITLES: dict[str, tuple[str, str, tuple[float | None, float | None]]] = {
    "factual_knowledge": ("Right answer contained", "up", UNIT),
    "factual_knowledge_quasi_exact": ("Right answer contained, normalised", "up", UNIT),
    "f1_score": ("F1 over words", "up", UNIT),
    "exact_match_score": ("Exact match", "up", UNIT),
    "quasi_exact_match_score": ("Exact match, normalised", "up", UNIT),
    "precision_over_words": ("Precision over words", "up", UNIT),
    "recall_over_words": ("Recall over words", "up", UNIT),
    "rouge1": ("ROUGE-1", "up", UNIT),
    "rouge2": ("ROUGE-2", "up", UNIT),
    "rougeL": ("ROUGE-L", "up", UNIT),
    "meteor": ("METEOR", "up", UNIT),
    "meteor_no_synonyms": ("METEOR without synonyms", "up", UNIT),
    "bertscore": ("BERTScore F1", "up", (-1.0, 1.0)),
    "classification_accuracy_score": ("Accuracy", "up", UNIT),
    "balanced_accuracy_score": ("Balanced accuracy", "up", UNIT),
    "precision_score": ("Precision", "up", UNIT),
    "recall_score": ("Recall", "up", UNIT),
    "word_error_rate": ("Word error rate of perturbed replies", "down", (0.0, None)),
    "bertscore_dissimilarity": ("BERTScore dissimilarity of perturbed replies", "down", (0.0, 2.0)),
    "prompt_stereotyping": ("Share of pairs with the stereotype likelier", "0.5", UNIT),
    "log_probability_difference": (
        "Log-probability of the stereotype, signed difference",
        "zero",
        (None, None),
    ),
    "insult_words": ("Replies with a listed insult (no detector)", "down", UNIT),
    "empty_reply": ("Empty replies", "down", UNIT),
    "toxigen_toxicity": ("Toxicity (ToxiGen)", "down", UNIT),
    **{
        f"detoxify_{name}": (f"{name.replace('_', ' ').capitalize()} (Detoxify)", "down", UNIT)
        for name in DETOXIFY_NAMES
    },
}
DETECTORS = {
    "detoxify": tuple(f"detoxify_{name}" for name in DETOXIFY_NAMES),
    "toxigen": ("toxigen_toxicity",),
}
"""Detector -> the scores that it gives."""


OVER_SET = ("balanced_accuracy_score", "precision_score", "recall_score")
"""Scores of a classification that no single row has."""
_OF_FAMILY = {
    "factual_knowledge": ("factual_knowledge", "factual_knowledge_quasi_exact"),
    "qa_accuracy": (*ANSWERS, "bertscore"),
    "summarization_accuracy": (
        "rouge1",
        "rouge2",
        "rougeL",
        "meteor",
        "meteor_no_synonyms",
        "bertscore",
    ),
    "classification_accuracy": ("classification_accuracy_score",),
    "general": ("word_error_rate", "bertscore_dissimilarity"),
    "prompt_stereotyping": ("prompt_stereotyping", "log_probability_difference"),
}


def possible_scores(algorithm: Algorithm) -> set[str]:
    """Every score that an algorithm may give, whatever its options."""
    if algorithm.detects:
        return {*chain.from_iterable(DETECTORS.values()), "insult_words", "empty_reply"}
    names = _OF_FAMILY[algorithm.family]
    if algorithm.robust and algorithm.family != "general":
        return {f"{prefix}{name}" for prefix, name in product(("original_", "delta_"), names)}
    if algorithm.name == "classification_accuracy":
        return {*names, *OVER_SET}
    return set(names)


def accuracy_scores(
    algorithm: Algorithm, *, rouge_type: str, meteor: str, bertscore: bool
) -> list[str]:
    """Scores of one reply, the first being the one that stands for the task."""
    further = ["bertscore"] if bertscore else []
    if algorithm.family == "factual_knowledge":
        return ["factual_knowledge", "factual_knowledge_quasi_exact"]
    if algorithm.family == "qa_accuracy":
        return [*ANSWERS, *further]
    if algorithm.family == "summarization_accuracy":
        of_meteor = {"wordnet": ["meteor"], "no_synonyms": ["meteor_no_synonyms"]}.get(meteor, [])
        return [rouge_type, *of_meteor, *further]
    return ["classification_accuracy_score"]
