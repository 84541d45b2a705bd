"""Published samples: which files of a details repository hold them, and what a line says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from custom_metrics.openllm import LEAVES, PREFIX, Benchmark, benchmark_of_task, parse_file_name

_ID_LENGTH = 16  # hexadecimal digits of a document's digest
_CHOICES = ("choice1", "choice2", "choice3", "choice4")


@dataclass(frozen=True)
class SampleFile:
    """The newest samples file of a leaf task."""

    task: str
    name: str
    stamp: str


def newest_samples(names: Iterable[str]) -> dict[str, SampleFile]:
    """Returns the newest samples file of each leaf task, by its name in lm-eval.

    Tasks that the leaderboard never showed are left out; names without `leaderboard_` are those of
    later runs of the same tasks.
    """
    newest: dict[str, SampleFile] = {}
    for name in names:
        parts = parse_file_name(name)
        if parts is None or parts.kind != "samples":
            continue
        task = PREFIX + parts.task.removeprefix(PREFIX)
        if task not in LEAVES:
            continue
        known = newest.get(task)
        if known is None or known.stamp < parts.stamp:
            newest[task] = SampleFile(task, name, parts.stamp)
    return newest


@dataclass(frozen=True)
class PublishedSample:
    """One line of a published samples file.

    Attributes:
        doc: The row of the data set.
        prompt: The first request's prompt.
        endings: What was scored after the prompt, or nothing for generated replies.
        target: The gold answer as published.
        reply: The generated reply; None for scored choices.
        verdict: The published verdict; None without one.
        hashes: Digests of document, prompt and target, as published.
    """

    doc: Mapping[str, Any]
    prompt: str
    endings: tuple[str, ...]
    target: str
    reply: str | None
    verdict: bool | None
    hashes: Mapping[str, str]

    @property
    def choices(self) -> list[str]:
        """The choices without the blank that stands before them."""
        return [ending.removeprefix(" ") for ending in self.endings]

    @property
    def gold(self) -> int | None:
        """The position of the gold answer; None where it is none of the choices."""
        if self.target in self.choices:
            return self.choices.index(self.target)
        is_index = self.target.isdecimal() and int(self.target) < len(self.endings)
        return int(self.target) if is_index else None


def read_line(line: Mapping[str, Any], benchmark: Benchmark) -> PublishedSample:
    """Returns a line as a sample, whichever way its arguments are written."""
    requests = list(_requests(line.get("arguments")))
    endings = tuple(
        request[1] for request in requests if len(request) > 1 and isinstance(request[1], str)
    )
    prompt = str(requests[0][0]) if requests and requests[0] else ""
    reply = None if endings else _first_text(line.get("resps"))
    verdict = line.get(benchmark.metric)
    is_verdict = isinstance(verdict, (bool, int, float))
    hashes = {}
    for key in ("doc_hash", "prompt_hash", "target_hash"):
        hashes[f"published_{key}"] = str(line.get(key) or "")
    return PublishedSample(
        doc=line.get("doc") or {},
        prompt=prompt,
        endings=endings,
        target=str(line.get("target", "")),
        reply=reply,
        verdict=bool(verdict) if is_verdict else None,
        hashes=hashes,
    )


def _requests(arguments: Any) -> Iterator[list[Any]]:
    """The arguments of each request, of a mapping of named ones or of a list of lists."""
    items = arguments.values() if isinstance(arguments, Mapping) else arguments or ()
    for item in items:
        values = item.values() if isinstance(item, Mapping) else item
        yield list(values) if not isinstance(values, str) else [values]


def _first_text(responses: Any) -> str | None:
    first = responses
    while isinstance(first, list) and first:
        first = first[0]
    return first if isinstance(first, str) else None


class SampleIds:
    """Names of rows: the first digits of the document's digest, `-2`, `-3` for repeated rows."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def next(self, doc_hash: str) -> str:
        """Returns the name of the next row of a document."""
        digits = doc_hash[:_ID_LENGTH]
        self._counts[digits] += 1
        count = self._counts[digits]
        return digits if count == 1 else f"{digits}-{count}"


def gpqa_question(doc: Mapping[str, Any]) -> str:
    """Returns a GPQA prompt with the options in the published order.

    The blank at its end is lm-eval's own: the scored text has two before the option's letter.
    """
    options = [
        f"({letter}) {doc.get(name, '')}" for letter, name in zip("ABCD", _CHOICES, strict=True)
    ]
    lines = [f"What is the correct answer to this question:{doc.get('Question', '')}", "Choices:"]
    return "\n".join([*lines, *options, "Answer: "])


def is_gpqa(task: str) -> bool:
    """Returns whether a leaf task is one of GPQA."""
    benchmark = benchmark_of_task(task)
    return benchmark is not None and benchmark.name == "gpqa"
