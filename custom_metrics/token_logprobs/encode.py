"""The tokens of a prompt and its continuation that are scored.

Splitting a text that was tokenised as a whole has three traps, each of which changes sums and
counts:

1. The harness moves white space from the end of the context into the continuation. Chat prompts end
   in a newline, which would become a scored token. Here the context stays as it is.
2. Nothing scores the end-of-sequence token unless it is asked for: `append_eos`.
3. A prompt that ends in a blank shares its last token with the answer (`Answer: ` + `Paris`).
   Counting the prompt's tokens then skips the first answer token. Here the split is where the two
   token sequences part.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

BOUNDARIES = ("common_prefix", "openunlearning")
REQUESTS = ("token_logprobs", "grad_norm")
NORMS = (1, 2, "inf")


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of one request: its tokens and what it returns.

    Args:
        boundary: `common_prefix` scores from the first token in which prompt and full text differ;
            `openunlearning` counts the tokens of the prompt, as that project does.
        append_eos: Add the end-of-sequence token if the text does not end with it.
        max_tokens: Cut prompt and answer together to this many tokens, before the end-of-sequence
            token is added.
        max_text_tokens: Cut the text after the prompt to this many tokens.
        moments: Also return mean and variance of the log-probability over the vocabulary (`hf`
            only).
        text: Also return the scored part decoded without special tokens.
        request: `token_logprobs` or `grad_norm` (`hf` only).
        norm: Norm of the gradients: 1, 2 or "inf".
    """

    boundary: str = "common_prefix"
    append_eos: bool = False
    max_tokens: int | None = None
    max_text_tokens: int | None = None
    moments: bool = False
    text: bool = False
    request: str = "token_logprobs"
    norm: int | str = 2

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> Options:
        """Options from a task's metadata.

        Raises:
            ValueError: an unknown key or value.
        """
        known = {field.name for field in dataclasses.fields(cls)}
        if unknown := sorted(set(values) - known):
            raise ValueError(
                f"token_logprobs: unknown option {', '.join(unknown)}; known: "
                f"{', '.join(sorted(known))}"
            )
        options = cls(**values)
        for name, allowed in (("boundary", BOUNDARIES), ("request", REQUESTS), ("norm", NORMS)):
            if getattr(options, name) not in allowed:
                raise ValueError(
                    f"token_logprobs: {name} is {getattr(options, name)!r}, not one of {allowed}"
                )
        return options


@dataclass(frozen=True, kw_only=True)
class Encoded:
    """One request as token ids: `ids[start:]` are scored.

    Args:
        ids: Prompt and continuation.
        start: First scored position, at least 1.
        options: The request's options.
        truncated: Tokens that a length option cut off.
        limit: Longest sequence the back end takes.
    """

    ids: list[int]
    start: int
    options: Options
    truncated: int = 0
    limit: int = 0

    @property
    def scored(self) -> list[int]:
        """Token ids of the scored part."""
        return self.ids[self.start :]

    @property
    def refused(self) -> bool:
        """Returns whether the sequence is longer than the back end can take."""
        return len(self.ids) > self.limit


def longest_first(rows: Sequence[Encoded]) -> list[int]:
    """Places of the rows, longest first; rows of one length keep their order."""
    return sorted(range(len(rows)), key=lambda place: -len(rows[place].ids))


def scored_text(lm: Any, row: Encoded) -> str | None:
    """The scored tokens as text, where the request asks for it."""
    if not row.options.text:
        return None
    text: str = lm.tokenizer.decode(row.scored, skip_special_tokens=True)
    return text


def common_prefix(first: Sequence[int], second: Sequence[int]) -> int:
    """Length of the longest common prefix.

    >>> common_prefix([1, 2, 3], [1, 2, 4, 5])
    2
    """
    length = 0
    for token, other in zip(first, second, strict=False):
        if token != other:
            break
        length += 1
    return length


def place(
    *,
    prompt: Sequence[int],
    full: Sequence[int],
    options: Options,
    eos: int | None = None,
    limit: int,
) -> Encoded:
    """Decides what is scored of a prompt and its continuation.

    Both are given as token ids: the prompt's, and those of both together.

    Args:
        prompt: Ids of the prompt alone; for a text without one the begin-of-sequence token, or
            nothing where the tokenizer writes none. The first token of all is never scored.
        full: Ids of prompt and continuation.
        options: The request's options.
        eos: End-of-sequence id of the tokenizer.
        limit: Longest sequence the back end takes.

    >>> options = Options(append_eos=True)
    >>> place(prompt=[1, 5, 9], full=[1, 5, 7, 8], options=options, eos=2, limit=10).scored
    [7, 8, 2]
    """
    ids = list(full)
    start = common_prefix(prompt, full) if options.boundary == "common_prefix" else len(prompt)
    length = len(ids)
    if options.max_text_tokens is not None:
        ids = ids[: start + options.max_text_tokens]
    if options.max_tokens is not None:
        ids = ids[: options.max_tokens]
    truncated = length - len(ids)
    if options.append_eos and eos is not None and (not ids or ids[-1] != eos):
        ids.append(eos)
    # Nothing predicts the first token.
    start = min(max(1, start), len(ids))
    return Encoded(ids=ids, start=start, options=options, truncated=truncated, limit=limit)
