"""Family and size of a model: as its configuration states them, else as its name tells them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from evalprep.files import as_mapping, read_object
from evalprep.places import is_folder

#: Names of families, the longer of two that begin alike first.
_FAMILIES = (
    *("codellama", "llama", "qwen", "phi", "gemma", "mistral", "mixtral", "zephyr", "pythia"),
    *("smollm", "olmo", "falcon", "gpt-neox", "gpt-neo", "gpt2", "opt", "bloom", "yi", "deepseek"),
    *("mpt", "stablelm", "tulu", "vicuna", "granite", "command-r", "internlm", "baichuan"),
)
# The number behind a family is its generation, unless it is a number of parameters (7b).
_FAMILY = re.compile(
    rf"(?<![a-z0-9])({'|'.join(_FAMILIES)})"
    r"(?:[-_ ]?v?(\d{1,2}(?:[._]\d{1,2})?)(?![\d.]*[bm](?![a-z])|\d))?"
)
_SIZE = re.compile(r"(?<![a-z0-9.])(\d{1,9}(?:[.]\d{1,9})?)(b|m)(?![a-z0-9])")
_WORDED_SIZE = re.compile(r"(?<![a-z])(mini|small|medium|large|xl)(?![a-z])")
_MILLION = 1e-3
_ADDED = 0.02  # share of a vocabulary, or of the parameters, that a training may add
#: The names of width, layers and vocabulary in a config.json; GPT-2 has its own.
_COUNTS = (("hidden_size", "n_embd"), ("num_hidden_layers", "n_layer"), ("vocab_size",))


class Architecture(msgspec.Struct, frozen=True):
    """What the config.json of a model says of its family and size.

    Attributes:
        kind: Its `model_type`.
        hidden: Width of a layer.
        layers: Number of layers.
        vocabulary: Number of tokens, which a training may raise by some.
    """

    kind: str
    hidden: int
    layers: int
    vocabulary: int

    @property
    def text(self) -> str:
        """In words: `llama of 16 layers, width 2048, 128256 tokens`."""
        return f"{self.kind} of {self.layers} layers, width {self.hidden}, {self.vocabulary} tokens"

    def differs_from(self, other: Architecture) -> bool:
        """Returns whether two models cannot be trainings of one model."""
        own, theirs = (
            (self.kind, self.hidden, self.layers),
            (other.kind, other.hidden, other.layers),
        )
        return own != theirs or _are_apart(self.vocabulary, other.vocabulary)


@dataclass(frozen=True)
class Lineage:
    """Family and size of a model.

    Attributes:
        family: Its family with the generation, e.g. `llama-3.2`; empty where that is not known.
        size: Billions of parameters, e.g. `1b`, or the family's word; empty likewise.
        architecture: What its config.json says; None where that is not known.
        parameters: Number of its parameters as its back end counted them; None likewise.
    """

    family: str = ""
    size: str = ""
    architecture: Architecture | None = None
    parameters: int | None = None

    @property
    def text(self) -> str:
        """All of it in words; a number of parameters where nothing else is known."""
        known = [self.family, self.size, self.architecture.text if self.architecture else ""]
        counted = f"{self.parameters} parameters" if self.parameters else ""
        return " ".join(filter(None, known)) or counted

    def differs_from(self, other: Lineage) -> bool:
        """Returns whether two models are known to be of different families or sizes.

        Where the configurations of both are known, their names do not count.
        """
        if self.architecture is not None and other.architecture is not None:
            return self.architecture.differs_from(other.architecture)
        if self.family and other.family and self.family != other.family:
            return True
        if self.size and other.size:
            return self.size != other.size
        # Weights of fewer bits count as fewer parameters, so that a name comes first.
        if self.parameters and other.parameters:
            return _are_apart(self.parameters, other.parameters)
        return False


def _are_apart(number: int, other: int) -> bool:
    """Returns whether two counts differ by more than added tokens and their weights."""
    return abs(number - other) > _ADDED * max(number, other)


def architecture_of(folder: Path) -> Architecture | None:
    """Returns what the config.json in a folder says; None without one that names all of it."""
    if not is_folder(folder):
        return None
    config = read_object(folder / "config.json")
    config = {**config, **as_mapping(config.get("text_config"))}
    kind = config.get("model_type")
    numbers = [_first_count(config, keys) for keys in _COUNTS]
    hidden, layers, vocabulary = numbers
    if not isinstance(kind, str) or not (hidden and layers and vocabulary):
        return None
    return Architecture(kind, hidden, layers, vocabulary)


def _first_count(config: Mapping[str, Any], keys: Iterable[str]) -> int:
    counts = (config.get(key) for key in keys)
    return next((count for count in counts if type(count) is int and count > 0), 0)


def lineage_of(name: str) -> Lineage:
    """Returns family and size of a model by its name.

    >>> lineage_of("open-unlearning/tofu_Llama-3.2-1B-Instruct_retain90").text
    'llama-3.2 1b'
    >>> lineage_of("meta/Llama-2-7b-chat-hf").text, lineage_of("phi-1_5").family
    ('llama-2 7b', 'phi-1.5')
    >>> lineage_of("checkpoint-60").text
    ''
    """
    text = name.casefold()
    # An organisation may bear the name, too: the mention with a generation is the model's.
    mentions = sorted(_FAMILY.finditer(text), key=lambda mention: mention[2] is None)
    family = _family_of(mentions[0]) if mentions else ""
    return Lineage(family, _size_of(text, is_named=bool(family)))


def _family_of(match: re.Match[str]) -> str:
    name, generation = match.groups()
    return f"{name}-{generation.replace('_', '.')}" if generation else name


def _size_of(text: str, *, is_named: bool) -> str:
    size = _SIZE.search(text)
    if size:
        billions = float(size[1]) * (_MILLION if size[2] == "m" else 1.0)
        return f"{billions:g}b"
    worded = _WORDED_SIZE.search(text) if is_named else None
    return worded[1] if worded else ""
