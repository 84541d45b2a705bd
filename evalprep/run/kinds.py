"""The types of requests: lm-eval's, and those that task classes of packs add."""

from __future__ import annotations

GENERATION, LIKELIHOOD, ROLLING = "generate_until", "loglikelihood", "loglikelihood_rolling"
DIALOGUE, GRADIENTS = "dialogue", "grad_norm"
TOKEN_LOGPROBS, FIRST_TOKEN = "token_logprobs", "first_token"
REQUEST_TYPES = (
    *(GENERATION, LIKELIHOOD, ROLLING, DIALOGUE),
    *(TOKEN_LOGPROBS, FIRST_TOKEN, GRADIENTS),
)
#: Types that no file of texts and log-likelihoods can answer, in words.
BEYOND_FILES = {
    TOKEN_LOGPROBS: "log-probabilities of single tokens",
    FIRST_TOKEN: "log-probabilities of the first token of a reply",
    GRADIENTS: "gradients",
}
_BY_ABILITY = {
    "token_logprobs": BEYOND_FILES[TOKEN_LOGPROBS],
    "first_token": BEYOND_FILES[FIRST_TOKEN],
    "moments": "moments of the next-token distribution",
    "gradients": BEYOND_FILES[GRADIENTS],
}


class RepliesMissingError(Exception):
    """Some requests have no reply, or can have none."""


def beyond_files(abilities: frozenset[str] | None) -> str:
    """What a task needs that no file of replies can hold, in words; empty where there is nothing.

    Args:
        abilities: The abilities of a back end that its plan declares; None where it declares none.
    """
    words = [text for ability, text in _BY_ABILITY.items() if ability in (abilities or ())]
    return " and ".join(words)


def beyond_kind(kind: str) -> str:
    """What a type of request asks for that no file of replies can hold; empty for a text."""
    return BEYOND_FILES.get(kind, "")


def reason_beyond(needed: str) -> str:
    """Why a task that needs something is left out where files answer."""
    return f"a file of replies holds no {needed}; run it with a back end that gives them"
