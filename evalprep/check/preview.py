"""The prompts of a task as text and as tokens, and the verdicts of its scorer on known replies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evalprep.check import FullCheck, RunSettings
from evalprep.check.generation import arguments_of, reply_limit, stop_strings
from evalprep.check.loading import LoadedTask
from evalprep.check.prompts import leading_bos
from evalprep.check.replies import perfect_replies, published_reply
from evalprep.check.scorer import Scorer
from evalprep.check.scoring import CREDIT
from evalprep.errors import BadInput, Problem, near
from evalprep.model import Tokenizer


@dataclass
class Request:
    """One request that a row sends.

    Attributes:
        kind: lm-eval's request type.
        text: What the model reads; of a likelihood also the continuation, after `context`
            characters.
        context: Length of the part before the continuation.
        tokens: (id, text) of each token, empty without the tokenizer.
        scored: Position of the first token whose likelihood counts; None for generation or without
            the tokenizer.
    """

    kind: str
    text: str
    context: int
    tokens: list[tuple[int, str]] = field(default_factory=list)
    scored: int | None = None


@dataclass
class Preview:
    """One row of a task.

    Attributes:
        task, row: Task name and sample id.
        requests: What is sent.
        bos_count: Begin-of-text tokens at the start, None without the tokenizer.
        target: The gold answer as the task has it.
        stops: Stop strings.
        arguments: All generation arguments.
        budget: Tokens that a reply may have.
        context: max_model_len of the run, None when unknown.
        verdicts: Reply ("gold", "published") -> the reply, the published verdict, and filter ->
            extracted, metrics.
    """

    task: str
    row: str
    requests: list[Request]
    bos_count: int | None
    target: Any
    stops: list[str]
    arguments: dict[str, Any]
    budget: int
    context: int | None
    verdicts: dict[str, dict[str, Any]]

    def as_dict(self) -> dict[str, Any]:
        """The same as data, for `--json`."""
        return {
            "task": self.task,
            "row": self.row,
            "bos_count": self.bos_count,
            "target": self.target,
            "stop_strings": self.stops,
            "generation_kwargs": self.arguments,
            "max_model_len": self.context,
            "verdicts": self.verdicts,
            "requests": [
                {
                    "kind": request.kind,
                    "text": request.text,
                    "context_characters": request.context,
                    "token_ids": [number for number, _ in request.tokens],
                    "tokens": [text for _, text in request.tokens],
                    "scored_from": request.scored,
                }
                for request in self.requests
            ],
        }


def preview_task(
    done: FullCheck, settings: RunSettings, name: str, count: int, row: str | None
) -> list[Preview]:
    """Preview rows of one task.

    Args:
        done: The loaded tasks.
        settings: The run.
        name: The task.
        count: How many rows.
        row: A sample id or position instead of the first rows.

    Raises:
        BadInput: no such task or row.
    """
    tasks = {task.name: task for task in done.loaded if task.instances}
    if name not in tasks:
        raise BadInput(
            Problem(
                what=f"no task {name!r} that lm-eval can load",
                where="preview",
                allowed=", ".join(tasks) or "nothing",
                fix=near(name, tasks) or "see `evalprep check`",
            )
        )
    loaded = tasks[name]
    # The positions of the rows to show: all, or the one with a sample id or position.
    numbers = list(loaded.instances)
    if row is not None:
        numbers = [number for number in numbers if row in {loaded.row_name(number), str(number)}]
        if not numbers:
            allowed = "a sample_id, or a position from 0"
            raise BadInput(Problem(what=f"no row {row!r}", where=loaded.name, allowed=allowed))
    scorer, own = done.scorers.get(name), settings.of(name)
    return [_row(loaded, number, own, done.tokenizer, scorer) for number in numbers[:count]]


def _row(
    loaded: LoadedTask,
    number: int,
    settings: RunSettings,
    tokenizer: Tokenizer | None,
    scorer: Scorer | None,
) -> Preview:
    requests = [_request(instance, settings, tokenizer) for instance in loaded.instances[number]]
    first = loaded.instances[number][0]
    arguments = arguments_of(first)
    try:
        target = loaded.task.doc_to_target(first.doc)
    except Exception as error:  # noqa: BLE001 - a task's own code; the preview goes on without
        target = f"(cannot be read: {error})"
    bos_count = None
    if tokenizer is not None and tokenizer.bos_id is not None:
        ids = [token_id for token_id, _ in requests[0].tokens]
        bos_count = leading_bos(ids, tokenizer)
    return Preview(
        task=loaded.name,
        row=loaded.row_name(number),
        requests=requests,
        target=target,
        bos_count=bos_count,
        stops=stop_strings(arguments),
        arguments=dict(arguments),
        budget=reply_limit(first, settings),
        context=settings.max_model_len,
        verdicts=_verdicts(loaded, number, scorer),
    )


def _request(instance: Any, settings: RunSettings, tokenizer: Tokenizer | None) -> Request:
    arguments = instance.args
    context = str(arguments[0])
    more = arguments[1] if len(arguments) > 1 and isinstance(arguments[1], str) else ""
    request = Request(str(instance.request_type), context + more, len(context))
    if tokenizer is not None:
        ids, request.scored = _encoded(instance, context, more, settings, tokenizer)
        request.tokens = list(zip(ids, tokenizer.tokens(ids), strict=True))
    return request


def _encoded(
    instance: Any, context: str, more: str, settings: RunSettings, tokenizer: Tokenizer
) -> tuple[list[int], int | None]:
    """Token ids as the back end sends them, and where the scored ones begin."""

    def encode(text: str) -> list[int]:
        return tokenizer.encode(text, **settings.encoding)

    ids = encode(context + more)
    if instance.request_type == "loglikelihood":
        # lm-eval moves white space at the end of the context to the continuation
        # (TemplateLM._encode_pair).
        return ids, len(encode(context.rstrip())) if context else min(1, len(ids))
    options = instance.args[2] if len(instance.args) > 2 else None
    if not isinstance(options, Mapping):
        return ids, None
    from custom_metrics.token_logprobs.encode import Options, place

    prompt = encode(context) if context else ids[: ids[:1] == [tokenizer.bos_id]]
    eos = tokenizer.encoder.token_to_id(tokenizer.eos) if tokenizer.eos else None
    placed = place(
        prompt=prompt, full=ids, options=Options.parse(options), eos=eos, limit=len(ids) + 1
    )
    return placed.ids, placed.start


def _verdicts(loaded: LoadedTask, number: int, scorer: Scorer | None) -> dict[str, dict[str, Any]]:
    """The verdicts of filters and scorer on a perfect reply and on the published output."""
    if scorer is None or not loaded.generates:
        return {}
    doc = loaded.instances[number][0].doc
    verdicts: dict[str, dict[str, Any]] = {}
    # The first perfect reply that gets credit; where none does, the first.
    for reply in perfect_replies(loaded.task, doc):
        verdict = _score(scorer, number, reply)
        has_credit = (verdict.get("value") or 0.0) >= CREDIT
        if has_credit or "gold" not in verdicts:
            verdicts["gold"] = verdict
        if has_credit:
            break
    published = published_reply(doc)
    if published is not None:
        reply, published_verdict = published
        verdict = _score(scorer, number, reply)
        verdicts["published"] = {**verdict, "published_verdict": published_verdict}
    return verdicts


def _score(scorer: Scorer, number: int, reply: str) -> dict[str, Any]:
    try:
        verdict = scorer.score(number, [reply], "preview")
    except Exception as error:  # noqa: BLE001 - shown, as `check` shows it
        return {"reply": reply, "error": f"{type(error).__name__}: {error}"}
    return {
        "reply": reply,
        "metric": scorer.metric,
        "filter": scorer.filter,
        "value": verdict.value(scorer.metric, scorer.filter),
        "filters": {
            name: {"extracted": verdict.filtered[name], "metrics": metrics}
            for name, metrics in verdict.metrics.items()
        },
    }
