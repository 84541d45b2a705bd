"""Family and size of a model, as its name tells them."""

from __future__ import annotations

import re
from dataclasses import dataclass

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
_SIZE = re.compile(r"(?<![a-z0-9.])(\d+(?:[.]\d+)?)(b|m)(?![a-z0-9])")
_WORDED_SIZE = re.compile(r"(?<![a-z])(mini|small|medium|large|xl)(?![a-z])")
_MILLION = 1e-3


@dataclass(frozen=True)
class Lineage:
    """Family and size of a model.

    Attributes:
        family: Its family with the generation, e.g. `llama-3.2`; empty where that is not known.
        size: Billions of parameters, e.g. `1b`, or the family's word; empty likewise.
    """

    family: str = ""
    size: str = ""

    @property
    def text(self) -> str:
        """Both in words."""
        return " ".join(filter(None, (self.family, self.size)))

    def differs_from(self, other: Lineage) -> bool:
        """Returns whether two models are known to be of different families or sizes."""
        pairs = ((self.family, other.family), (self.size, other.size))
        return any(own and theirs and own != theirs for own, theirs in pairs)


def lineage_of(name: str) -> Lineage:
    """Returns family and size of a model by its name.

    >>> lineage_of("open-unlearning/tofu_Llama-3.2-1B-Instruct_retain90")
    Lineage(family='llama-3.2', size='1b')
    >>> lineage_of("meta/Llama-2-7b-chat-hf"), lineage_of("phi-1_5").family
    (Lineage(family='llama-2', size='7b'), 'phi-1.5')
    >>> lineage_of("checkpoint-60")
    Lineage(family='', size='')
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
