"""What stands where lm-eval expects a model, and holds none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from lm_eval.api.instance import Instance
from lm_eval.api.model import LM

from evalprep.run.kinds import (
    DIALOGUE,
    FIRST_TOKEN,
    GENERATION,
    GRADIENTS,
    LIKELIHOOD,
    ROLLING,
    TOKEN_LOGPROBS,
)


class StandIn(LM):  # type: ignore[misc]
    """A model of lm-eval's that answers every type of request in one method.

    lm-eval and task classes of packs call a model by the name of the request type, with the
    keywords of lm-eval's own back ends. All of them lead to `replies_to`.
    """

    @property
    def tokenizer_name(self) -> str:
        """The tokenizer's name as lm-eval logs it; empty where there is none."""
        return ""

    def replies_to(self, kind: str, requests: Sequence[Instance]) -> list[Any]:
        """Answers requests of one type, in their order."""
        raise NotImplementedError

    # The signatures are those of lm-eval's back ends, which show progress.
    def generate_until(
        self,
        requests: list[Instance],
        disable_tqdm: bool = False,  # noqa: ARG002
    ) -> list[Any]:
        """Answers with texts."""
        return self.replies_to(GENERATION, requests)

    def loglikelihood(
        self,
        requests: list[Instance],
        disable_tqdm: bool = False,  # noqa: ARG002
    ) -> list[Any]:
        """Answers with log-likelihoods of continuations."""
        return self.replies_to(LIKELIHOOD, requests)

    def loglikelihood_rolling(
        self,
        requests: list[Instance],
        disable_tqdm: bool = False,  # noqa: ARG002
    ) -> list[Any]:
        """Answers with log-likelihoods of whole texts."""
        return self.replies_to(ROLLING, requests)

    def dialogue(
        self,
        requests: list[Instance],
        disable_tqdm: bool = False,  # noqa: ARG002
    ) -> list[Any]:
        """Answers dialogues."""
        return self.replies_to(DIALOGUE, requests)

    def token_logprobs(
        self,
        requests: list[Instance],
        disable_tqdm: bool = False,  # noqa: ARG002
    ) -> list[Any]:
        """Answers with log-probabilities of single tokens."""
        return self.replies_to(TOKEN_LOGPROBS, requests)

    def first_token(
        self,
        requests: list[Instance],
        disable_tqdm: bool = False,  # noqa: ARG002
    ) -> list[Any]:
        """Answers with log-probabilities of the first token of a reply."""
        return self.replies_to(FIRST_TOKEN, requests)

    def grad_norm(
        self,
        requests: list[Instance],
        disable_tqdm: bool = False,  # noqa: ARG002
    ) -> list[Any]:
        """Answers with norms of gradients."""
        return self.replies_to(GRADIENTS, requests)

    # The signature is lm-eval's.
    def chat_template(self, chat_template: bool | str = False) -> str:  # noqa: ARG002
        """Names no template."""
        return ""


Ask = Callable[[Instance, int], str | None]
"""A turn of a dialogue and which of its row's draws it belongs to -> the reply; None: not there."""


def play(lm: LM, requests: Sequence[Instance], ask: Ask) -> list[str | None]:
    """Plays dialogues with replies that lie somewhere, each as far as they reach.

    Args:
        lm: What renders the messages.
        requests: The dialogues.
        ask: Finds the reply to a turn.

    Returns:
        The response to each dialogue; None where the reply to a turn is not there.
    """
    from custom_metrics.dialogue.task import opened, turn_request

    draws: Counter[tuple[str, int]] = Counter()
    responses: list[str | None] = []
    for request in requests:
        row = (str(request.task_name), int(request.doc_id or 0))
        talk = opened(request)
        while not talk.over:
            reply = ask(turn_request(lm, request, talk), draws[row])
            if reply is None:
                break
            talk.answer(reply)
        responses.append(talk.dump() if talk.over else None)
        draws[row] += 1
    return responses
