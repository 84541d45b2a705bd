"""A rubric in Python.

A file with `create_prompt(context_type, input_text, ground_truth, generation) -> str`.

Only the file that the user names on the command line is run. What scores need later stands in the
ledger as data, so that reading a run never runs a file.
"""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from evalprep.annotate.answers import Judgement, Question, judgement_of
from evalprep.annotate.keys import canonical
from evalprep.annotate.ledger import Attempt
from evalprep.errors import BadInput, Problem
from evalprep.files import read_file, text_sha256
from evalprep.packs import Item, Pack, Rubric, SampleRef, Value, Values, asked_in, text_at

_ALLOWED = (
    "create_prompt(context_type, input_text, ground_truth, generation) -> str; METRICS = [...], "
    "RANGE = (0, 10)"
)


@dataclass(frozen=True)
class PromptFile:
    """The annotator that a Python file describes.

    Every rating stands in a JSON object or behind its name.

    Attributes:
        name: The file's name without its ending.
        version: `VERSION` of the file, "1" without one; what it asks is part of the key anyway.
        make: Its `create_prompt`; `context_type` is what the task's pack calls it, else the task.
        reader: How replies are read.
        sampling: `SAMPLING` of the file.
        digest: SHA-256 of the file.
        packs: The packs, whose `annotators.py` may have `prompt_texts(task, row)`: context,
            question, gold answer and reply of a row; None where there is nothing to judge.
    """

    name: str
    version: str
    make: Callable[..., str]
    reader: Rubric
    sampling: Mapping[str, Any] = field(default_factory=dict)
    digest: str = ""
    packs: Mapping[str, Pack] = field(default_factory=dict, repr=False)
    tasks: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    paid: bool = True
    schema: None = None

    @property
    def values(self) -> Mapping[str, Value]:
        """The meaning of its ratings."""
        return self.reader.values

    def items(
        self,
        rows: Mapping[str, Sequence[Mapping[str, Any]]],
        metadata: Mapping[str, Mapping[str, Any]],
    ) -> Iterator[Item]:
        """One question per row with a reply: likelihoods are no text that could be judged.

        Raises:
            BadInput: the file's function fails or returns no text.
        """
        for task, several in rows.items():
            pack = self.packs.get(str(metadata.get(task, {}).get("pack") or ""))
            module = pack.module("annotators") if pack is not None else None
            texts_of = getattr(module, "prompt_texts", _texts_of)
            for row in several:
                texts = texts_of(task, row)
                if texts is None:
                    continue
                try:
                    prompt = self.make(*texts)
                except Exception as error:
                    raise _broken(
                        self.name, f"create_prompt fails: {type(error).__name__}: {error}"
                    ) from error
                if not isinstance(prompt, str):
                    raise _broken(self.name, f"create_prompt returns {type(prompt).__name__}")
                about = {"row": row_digest(row)}
                yield Item((SampleRef.of(task, row),), prompt, about=about)

    def read(self, item: Item, reply: str) -> tuple[str, Values | None]:
        """Status and values of a reply."""
        return self.reader.read(item, reply)

    def record(self, questions: Iterable[Question]) -> dict[str, Any]:
        """The data that the ledger keeps of the file.

        They are all that `recorded_judgements` needs; the file itself may be gone by then.
        """
        entries: dict[str, dict[str, list[str]]] = {}
        for question in questions:
            sample = question.item.samples[0]
            if question.key is not None:
                entries.setdefault(sample.task, {})[sample.sample_id] = [
                    question.key,
                    question.item.about["row"],
                ]
        return {"reader": self.reader.spec(), "sha256": self.digest, "entries": entries}


def _texts_of(task: str, row: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Context, prompt, gold answer and reply of a row; None for a row without text as a reply."""
    response = row["response"]
    replies = response if isinstance(response, (list, tuple)) else [response]
    if not replies or not all(isinstance(reply, str) for reply in replies):
        return None
    prompt, target, reply = (text_at(row, place) for place in ("prompt", "target", "response"))
    return task, asked_in(prompt), target, reply


def row_digest(row: Mapping[str, Any]) -> str:
    """The digest that shows that a row is the one that was asked about."""
    texts = [text_at(row, place) for place in ("prompt", "target", "response")]
    return text_sha256(canonical(texts))


def recorded_judgements(
    record: Mapping[str, Any],
    task: str,
    rows: Sequence[Mapping[str, Any]],
    attempts_of: Callable[[Iterable[str]], Mapping[str, list[Attempt]]],
) -> dict[int, Judgement]:
    """Judgements by position for the rows that are as they were when they were asked about."""
    entries = record["entries"].get(task, {})
    reader = Rubric.from_spec(record["reader"])
    keys_by_index: dict[int, str] = {}
    for row in rows:
        entry = entries.get(str(row["sample_id"]))
        if entry is None:
            continue
        key, digest = entry
        if digest == row_digest(row):
            keys_by_index[int(row["index"])] = str(key)
    known = attempts_of(keys_by_index.values())
    return {
        index: judgement_of(reader, Item((), ""), known.get(key, []))
        for index, key in keys_by_index.items()
    }


def read_prompt_file(file: Path, packs: Iterable[Pack]) -> PromptFile:
    """The annotator of a Python file; the packs tell what their rows hold.

    Raises:
        BadInput: it cannot be imported, or lacks what it needs.
    """
    module = _imported(file)
    make = getattr(module, "create_prompt", None)
    if not callable(make):
        raise _broken(str(file), "has no create_prompt")
    names = getattr(module, "METRICS", ["rating"])
    bounds = getattr(module, "RANGE", (0, 10))
    sampling = getattr(module, "SAMPLING", {})
    wrong = _broken(str(file), f"METRICS = {names!r}, RANGE = {bounds!r}")
    try:
        low, high = (float(bound) for bound in bounds)
        names = tuple(str(name) for name in names)
    except (TypeError, ValueError):
        raise wrong from None
    if not names or not low < high or not isinstance(sampling, dict):
        raise wrong
    reader = Rubric(
        name=file.stem,
        version="1",
        steps=(),
        fields={},
        names=names,
        low=low,
        high=high,
        whole=False,
    )
    version = str(getattr(module, "VERSION", "1"))
    digest = hashlib.sha256(read_file(file, own=True)).hexdigest()
    return PromptFile(
        name=file.stem,
        version=version,
        make=make,
        reader=reader,
        sampling=sampling,
        digest=digest,
        packs={pack.name: pack for pack in packs},
    )


def _imported(file: Path) -> ModuleType:
    """The module of a Python file.

    Raises:
        BadInput: no such file, or an error of its code.
    """
    spec = importlib.util.spec_from_file_location("evalprep_prompt_file", file)
    if spec is None or spec.loader is None or not file.is_file():
        raise _broken(str(file), "there is no such Python file")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise _broken(str(file), f"cannot be imported: {type(error).__name__}: {error}") from error
    return module


def _broken(file: str, what: str) -> BadInput:
    return BadInput(Problem(what=what, where=file, allowed=_ALLOWED, fix="correct the file"))
