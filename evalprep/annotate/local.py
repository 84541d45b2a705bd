"""A judge on this machine: a model that lm-eval loads, by the record of its back end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evalprep.annotate.answers import Judgement, Question, Who
from evalprep.annotate.asking import Sum
from evalprep.annotate.collection import Asked
from evalprep.annotate.kept import Kept
from evalprep.annotate.ledger import Ledger, Use, now, storable
from evalprep.annotate.providers.wire import Request
from evalprep.annotate.session import follow, waiting
from evalprep.backends import BACKENDS, Backend
from evalprep.errors import BadInput, Problem
from evalprep.packs import Message

#: Questions that are answered, and kept, at a time.
_CHUNK = 64
_DEFAULT_MAX_TOKENS = 512
#: Request parameters that lm-eval's models take under their own names.
_TAKEN = {"temperature", "top_p", "top_k", "max_tokens", "max_completion_tokens", "stop"}


@dataclass
class LocalJudge:
    """Loads the model once, at the first question.

    Args:
        backend: The record of its back end.
        model: Path or hub id.
        model_args: Arguments of lm-eval's model.
    """

    backend: Backend
    model: str
    model_args: Mapping[str, Any] = field(default_factory=dict)
    _loaded: Any = field(default=None, repr=False)

    def replies(self, requests: Sequence[Request], sampling: Mapping[str, Any]) -> list[str]:
        """The model's replies, those with a JSON schema held to it.

        Raises:
            BadInput: it cannot be loaded, takes no such parameters, or cannot be held to a schema.
        """
        unknown = sorted(set(sampling) - _TAKEN)
        if unknown:
            raise BadInput(
                Problem(
                    what=f"a model on this machine takes no {', '.join(unknown)}",
                    where="--gen_kwargs",
                    allowed=", ".join(sorted(_TAKEN)),
                )
            )
        from lm_eval.api.instance import Instance

        temperature = float(sampling.get("temperature", 0.0))
        limit = sampling.get(
            "max_tokens", sampling.get("max_completion_tokens", _DEFAULT_MAX_TOKENS)
        )
        stop = sampling.get("stop", [])
        gen_kwargs = {
            "until": [stop] if isinstance(stop, str) else list(stop),
            "max_gen_toks": int(limit),
            "do_sample": temperature > 0,
            "temperature": temperature,
        }
        arguments = gen_kwargs | {
            name: sampling[name] for name in ("top_p", "top_k") if name in sampling
        }
        instances = [
            Instance(
                request_type="generate_until",
                doc={},
                arguments=(self._text(request.messages), arguments | self._form(request.schema)),
                idx=at,
            )
            for at, request in enumerate(requests)
        ]
        try:
            return [str(reply) for reply in self._lm.generate_until(instances, disable_tqdm=True)]
        except Exception as error:
            if all(request.schema is None for request in requests):
                raise
            raise self._no_form(error) from error

    def _form(self, schema: Mapping[str, Any] | None) -> dict[str, Any]:
        if schema is None or self.backend.holds is None:
            return {}
        try:
            return self.backend.holds(schema)
        except ImportError as error:
            raise self._no_form(error) from error

    def _no_form(self, error: Exception) -> BadInput:
        reason = next(iter(str(error).splitlines()), "")[:300]
        return BadInput(
            Problem(
                what=f"{self.backend.name} does not hold replies to the rubric's JSON schema: "
                f"{type(error).__name__}: {reason}",
                where="--structured",
                fix="leave it out, or serve the model (vllm serve) and name it by --base_url",
            )
        )

    @property
    def _lm(self) -> Any:
        if self._loaded is None:
            from lm_eval.api.registry import get_model

            arguments = dict(self.model_args)
            if not self.backend.stands_in:
                arguments = {"pretrained": self.model, **arguments}
            try:
                self._loaded = get_model(self.backend.model_type).create_from_arg_obj(
                    arguments, {"batch_size": 8}
                )
            except Exception as error:
                # Back ends raise what they like for a missing file, a missing package or a GPU that
                # is full.
                reason = next(iter(str(error).splitlines()), "")[:300]
                raise BadInput(
                    Problem(
                        what=f"the judge cannot be loaded: {type(error).__name__}: {reason}",
                        where=f"--model {self.model}",
                        fix="check --model, --backend and --model_args",
                    )
                ) from error
        return self._loaded

    def _text(self, messages: Sequence[Message]) -> str:
        plain = "\n\n".join(message["content"] for message in messages)
        if self.backend.stands_in:  # its chat template is that of a model on the hub
            return plain
        try:
            return str(self._lm.apply_chat_template([dict(message) for message in messages]))
        except (NotImplementedError, ValueError):  # a model without a chat template
            return plain


def local_backend(name: str) -> Backend:
    """The record of a back end that loads models here.

    Raises:
        BadInput: there is none of that name.
    """
    usable = {
        backend.name: backend
        for backend in BACKENDS.values()
        if backend.loads_model or backend.stands_in
    }
    if name not in usable:
        fix = "a server is asked with --base_url"
        raise BadInput(Problem(what=f"--backend {name}", allowed=", ".join(usable), fix=fix))
    return usable[name]


def ask_here(
    ledger: Ledger,
    judge: LocalJudge,
    question_set: Asked,
    kept: Kept,
    *,
    stamp: str,
    again: bool,
    done: Callable[[Question, Judgement], None],
) -> Sum:
    """Asks everything that waits, and then what follows the replies; each question once."""
    summed = Sum()
    first = True
    while True:
        questions = waiting(question_set.every, again=again and first)
        if not first:
            questions = [
                question
                for question in questions
                if question.item.follows is not None and not question.attempts
            ]
        if not questions:
            return summed
        for chunk in _chunks(questions):
            _ask_chunk(ledger, judge, chunk, question_set.who, stamp, summed)
            for question in chunk:
                done(question, question.judgement())
        first = False
        known = ledger.attempts(question.key for question in question_set.every if question.key)
        for question in question_set.every:
            question.attempts = known.get(question.key or "", question.attempts)
        follow(question_set, kept)


def _ask_chunk(
    ledger: Ledger, judge: LocalJudge, chunk: Sequence[Question], who: Who, stamp: str, summed: Sum
) -> None:
    single = {question.key: question for question in chunk}
    sampling = who.parameters(chunk[0].annotator)
    begun = now()
    replies = judge.replies([question.request for question in single.values()], sampling)
    rows = [
        question.row(
            "received",
            len(question.attempts) + 1,
            reply=storable(reply),
            sent_at=begun,
            received_at=now(),
        )
        for question, reply in zip(single.values(), replies, strict=True)
    ]
    uses: list[Use] = []
    for question in chunk:
        uses += question.uses(stamp)
    ledger.put(rows, uses)
    summed.requests += len(rows)
    by_key = {row.key: row for row in rows}
    for question in chunk:
        question.attempts = [*question.attempts, by_key[question.key or ""]]


def _chunks(questions: Sequence[Question]) -> Iterator[list[Question]]:
    """Questions of one annotator at a time, as their parameters may differ."""
    by_annotator: dict[int, list[Question]] = {}
    for question in questions:
        by_annotator.setdefault(id(question.annotator), []).append(question)
    for several in by_annotator.values():
        for start in range(0, len(several), _CHUNK):
            yield several[start : start + _CHUNK]
