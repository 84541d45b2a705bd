"""Changes of a text that keep its question: dialect, typos, misspellings and eight more.

They follow HELM (Liang et al. 2022, https://arxiv.org/abs/2211.09110) and NL-Augmenter (Dhole et
al. 2021, https://arxiv.org/abs/2112.02721), with the settings of COMPL-AI v1. Those that draw take
a seed, which is made of the run's seed, the change and the row (`seed_of`), so that neither the
order of the rows nor a limit alters a text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from custom_metrics.compliance.perturb import contractions, gender, noise, words
from custom_metrics.compliance.perturb.draw import seed_of

#: The order of the original, whose run file lists the versions so.
VERSIONS = (
    "none",
    "dialect",
    "typos",
    "misspelling",
    "filler-words",
    "contraction",
    "expansion",
    "spaces",
    "gender",
    "synonym",
    "lowercase",
)


def perturb(
    *,
    version: str,
    text: str,
    row_id: str,
    seed: int = 36,
    tables: Mapping[str, Mapping[str, Sequence[str]]] | None = None,
) -> str:
    """Changes a text in one of the eleven ways.

    Args:
        version: One of `VERSIONS`; `none` returns the text.
        text: The text.
        row_id: Identity of the row; with `seed` and `version` it decides every draw.
        seed: Seed of the run; 36 is the original's.
        tables: Word -> replacements under `dialect`, `misspelling` and `synonym`; the small tables
            of this package stand in for those that are absent.

    Raises:
        ValueError: no version has this name.
    """
    if version not in VERSIONS:
        raise ValueError(f"unknown version {version!r}; one of {', '.join(VERSIONS)}")
    own = seed_of(seed=seed, version=version, row_id=row_id)
    if version in _TABLED:
        return _TABLED[version](text=text, seed=own, table=(tables or {}).get(version))
    if version in _DRAWN:
        return _DRAWN[version](text=text, seed=own)
    return text if version == "none" else _FIXED[version](text=text)


#: Versions that draw out of a word table, that draw without one, and that draw nothing.
_TABLED: dict[str, Callable[..., str]] = {
    "dialect": words.perturb_dialect,
    "misspelling": words.perturb_misspelling,
    "synonym": words.perturb_synonym,
}
_DRAWN: dict[str, Callable[..., str]] = {
    "typos": noise.perturb_typos,
    "filler-words": noise.perturb_filler_words,
    "spaces": noise.perturb_spaces,
}
_FIXED: dict[str, Callable[..., str]] = {
    "contraction": contractions.perturb_contraction,
    "expansion": contractions.perturb_expansion,
    "gender": gender.perturb_gender,
    "lowercase": noise.perturb_lowercase,
}


METRICS = {"compliance.perturb": perturb}
