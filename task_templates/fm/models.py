"""Helper models out of local folders.

A text classifier, and an encoder for BERTScore. Nothing is fetched.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

BATCH = 64
MAX_TOKENS = 512
"""Where neither tokenizer nor model names a limit."""


def _loaded(kind: str, folder: Path, **options: Any) -> tuple[Any, Any]:
    """Tokenizer and model in evaluation mode, on a GPU where there is one.

    Safetensors only, no code of the folder.
    """
    import torch
    import transformers

    name = str(folder)
    local = {"local_files_only": True, "trust_remote_code": False}
    tokenizer_class = transformers.AutoTokenizer
    tokenizer = tokenizer_class.from_pretrained(name, **local, **options)
    model_class = getattr(transformers, kind)
    model = model_class.from_pretrained(name, use_safetensors=True, **local)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return tokenizer, model.eval().to(device)


def _limit(tokenizer: Any, model: Any) -> int:
    """Longest input in tokens; RoBERTa and its kin keep two positions for padding."""
    config = model.config
    named_limit = getattr(config, "max_position_embeddings", 0)
    positions = int(named_limit or MAX_TOKENS)
    if "roberta" in config.model_type:
        padding = int(getattr(config, "pad_token_id", 0) or 0)
        positions -= padding + 1
    limit = int(min(tokenizer.model_max_length, 10**6))
    return min(limit, positions)


def _batch(tokenizer: Any, model: Any, texts: list[str]) -> Any:
    """Texts as the model's input, on its device; each is cut at the limit."""
    batch = tokenizer(
        texts,
        return_tensors="pt",
        padding=True,
        truncation=True,
        max_length=_limit(tokenizer, model),
    )
    return batch.to(model.device)


class Classifier:
    """A sequence classifier; texts are cut at its limit, as the original does."""

    def __init__(self, folder: Path) -> None:
        kind = "AutoModelForSequenceClassification"
        self.tokenizer, self.model = _loaded(kind, folder)
        names = self.model.config.id2label
        self.labels = [str(names[index]) for index in sorted(names)]

    def logits(self, texts: Sequence[str]) -> list[list[float]]:
        """Logits of each text, in batches of 64, the long texts together."""
        import torch

        scores: list[list[float]] = [[] for _ in texts]
        for chosen in _batches(texts):
            inputs = [texts[index] for index in chosen]
            batch = _batch(self.tokenizer, self.model, inputs)
            with torch.inference_mode():
                logits = self.model(**batch).logits.float()
            rows = logits.cpu().tolist()
            for index, row in zip(chosen, rows, strict=True):
                scores[index] = row
        return scores


class Encoder:
    """BERTScore F1 with the vectors of one layer: no idf weights, no rescaling by a baseline.

    Zhang et al., 2020, "BERTScore: Evaluating Text Generation with BERT". Each token is matched
    with the most similar one of the other text by cosine; the special tokens at the ends may be
    matched, and have no weight themselves. Reference implementation: bert-score 0.3.13.
    """

    def __init__(self, folder: Path, layer: int) -> None:
        import json

        text = (folder / "config.json").read_text(encoding="utf-8")
        is_roberta = json.loads(text).get("model_type") == "roberta"
        options = {"add_prefix_space": True} if is_roberta else {}
        self.tokenizer, self.model = _loaded("AutoModel", folder, **options)
        self.layer = layer

    def vectors(self, texts: Sequence[str]) -> list[tuple[Any, Any]]:
        """Normalised vectors of each text's tokens, and which of them have weight."""
        import torch

        pairs: list[tuple[Any, Any]] = [(None, None)] * len(texts)
        special = {self.tokenizer.cls_token_id, self.tokenizer.sep_token_id}
        for chosen in _batches(texts):
            inputs = [texts[index].strip() for index in chosen]
            batch = _batch(self.tokenizer, self.model, inputs)
            with torch.inference_mode():
                layers = self.model(**batch, output_hidden_states=True).hidden_states
                states = layers[self.layer].float()
            vectors = torch.nn.functional.normalize(states, dim=-1).cpu()
            for place, index in enumerate(chosen):
                is_token = batch["attention_mask"][place].bool().cpu()
                ids = batch["input_ids"][place].cpu()[is_token].tolist()
                weights = [float(token not in special) for token in ids]
                pairs[index] = vectors[place][is_token], torch.tensor(weights)
        return pairs

    def f1(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """BERTScore F1 of (target, output) pairs; 0 where one of them has no token."""
        texts = list(dict.fromkeys(chain.from_iterable(pairs)))
        vectors = dict(zip(texts, self.vectors(texts), strict=True))
        return [_f1(vectors[target], vectors[output]) for target, output in pairs]


def _batches(texts: Sequence[str]) -> Iterator[list[int]]:
    """Places of texts of like length, so that batches need little padding."""
    order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
    for start in range(0, len(order), BATCH):
        yield order[start : start + BATCH]


def _f1(target: tuple[Any, Any], output: tuple[Any, Any]) -> float:
    target_vectors, target_weight = target
    output_vectors, output_weight = output
    if not float(target_weight.sum()) or not float(output_weight.sum()):
        return 0.0
    # BERTScore: each token counts with the most similar one of the other text.
    similar = output_vectors @ target_vectors.T
    precision = _weighted_mean(similar.max(dim=1).values, output_weight)
    recall = _weighted_mean(similar.max(dim=0).values, target_weight)
    if not precision + recall:
        return 0.0
    value = 2 * precision * recall / (precision + recall)
    return value if math.isfinite(value) else 0.0


def _weighted_mean(values: Any, weight: Any) -> float:
    return float((values * weight).sum() / weight.sum())
