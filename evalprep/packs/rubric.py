"""A rubric: a file that says what a judge is shown, how it answers and on which scale.

Packs have theirs under `rubrics/`, users name a file of their own with `evalprep judge RUN --rubric FILE`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from custom_metrics.judging.reply import judge_preference, judge_ratings
from evalprep.errors import Problems, near
from evalprep.packs.annotator import Item, SampleRef, Value, Values
from evalprep.packs.fence import NOTICE, fence
from evalprep.yamlfile import load_yaml

#: How a reply is read: ratings by name, or a preference between two answers.
READS = ("ratings", "preference")
_KEYS = {
    "name", "version", "title", "system", "steps", "prompt", "fields", "values", "low", "high", "whole", "better",
    "read", "sampling", "structured", "draws", "tasks", "calibration",
}  # fmt: skip
_PLACES = frozenset({"", "prompt", "target", "response", "filtered", "doc"})
_PLACE = re.compile(r"\$\{([A-Za-z_]\w{0,40})\}")
PREFERENCE = "preference"
#: Ratings that a JSON schema names one by one.
_MOST_CHOICES = 100


@dataclass(frozen=True)
class Rubric:
    """A rubric; also the annotator that it describes.

    Attributes:
        name: Under what its answers are kept.
        version: Raised by whoever changes what is asked.
        steps: Prompts with `${field}` places; the reply to the last one is read.
        fields: Field -> where it is in a row: `prompt`, `target`, `response`, `filtered`, `doc.COLUMN`; empty where the
            code of a pack fills it.
        names: What is rated.
        low: Smallest rating.
        high: Largest rating.
        whole: Ratings are whole numbers.
        better: `up` or `down`.
        reads: One of `READS`.
        sampling: Parameters of the requests.
        structured: Ask providers that can for a reply in JSON.
        draws: Votes per question.
        tasks: Tasks that it is for; any where empty.
        system: System message.
        calibration: Questions with expected ratings: `{fields: {...}, expected: {...}}`.
    """

    name: str
    version: str
    steps: tuple[str, ...]
    fields: Mapping[str, str]
    names: tuple[str, ...]
    low: float
    high: float
    whole: bool = True
    better: str = "up"
    reads: str = "ratings"
    sampling: Mapping[str, Any] = field(default_factory=dict)
    structured: bool = False
    draws: int = 1
    tasks: tuple[str, ...] = ()
    system: str = ""
    title: str = ""
    calibration: tuple[Mapping[str, Any], ...] = ()
    paid: bool = True
    needs: tuple[str, ...] = ()

    @property
    def values(self) -> Mapping[str, Value]:
        """What its ratings mean."""
        return {name: Value(self.low, self.high, self.better) for name in self.names}

    @property
    def schema(self) -> Mapping[str, Any] | None:
        """JSON schema of the last reply, of the parts that OpenAI, Anthropic and vLLM all enforce.

        The explanation stands first: a rating that is written before its reasons is none that they led to.
        """
        if not self.structured:
            return None
        number: dict[str, Any] = {"type": "integer" if self.whole else "number"}
        if self.whole and self.high - self.low <= _MOST_CHOICES:
            # Not every service takes bounds of numbers; all take lists.
            number["enum"] = list(range(math.ceil(self.low), math.floor(self.high) + 1))
        rated = dict.fromkeys(self.names, number)
        if self.is_pair:
            rated = {"verdict": {"type": "string", "enum": ["A", "B", "tie"]}}
        shape = {"explanation": {"type": "string"}, **rated}
        return {"type": "object", "properties": shape, "required": [*shape], "additionalProperties": False}

    @property
    def is_pair(self) -> bool:
        """Whether it compares two answers."""
        return self.reads == PREFERENCE

    def spec(self) -> dict[str, Any]:
        """The rubric as plain data, from which `Rubric(**spec)` is the same again."""
        return asdict(self)

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Rubric:
        """The rubric of some plain data, as the ledger keeps it."""
        lists = {"steps", "names", "tasks", "calibration", "needs"}
        made: dict[str, Any] = {name: tuple(value) if name in lists else value for name, value in spec.items()}
        return cls(**made)

    def render(self, fields: Mapping[str, str]) -> list[str]:
        """The prompts of all steps, every field fenced, and what fences mean said after the last one."""
        made = [_PLACE.sub(lambda place: fence(fields[place[1]], place[1]), step) for step in self.steps]
        return [
            f"{text}\n\n{NOTICE}" if _PLACE.search(step) else text for step, text in zip(self.steps, made, strict=True)
        ]

    def fill(self, row: Mapping[str, Any]) -> dict[str, str]:
        """The fields of a row."""
        return {name: text_at(row, place) for name, place in self.fields.items()}

    def items(
        self,
        rows: Mapping[str, Sequence[Mapping[str, Any]]],
        metadata: Mapping[str, Mapping[str, Any]],  # noqa: ARG002
    ) -> Iterator[Item]:
        """One question per row and draw."""
        for task, several in rows.items():
            for row in several:
                sample = SampleRef(task, str(row["sample_id"]), int(row["index"]))
                yield from self.questions((sample,), self.fill(row))

    def pairs(
        self,
        rows: Mapping[str, Sequence[Mapping[str, Any]]],
        others: Mapping[str, Mapping[str, Mapping[str, Any]]],
        other: str,
    ) -> Iterator[Item]:
        """Two questions per sample that both runs have, one in each order.

        Args:
            rows: Task -> rows of the run.
            others: Task -> sample id -> row of the other run.
            other: Name of the other run.
        """
        for task, several in rows.items():
            for row in several:
                opposite = others.get(task, {}).get(str(row["sample_id"]))
                if opposite is None:
                    continue
                samples = tuple(
                    SampleRef(task, str(one["sample_id"]), int(one["index"]), run)
                    for one, run in ((row, ""), (opposite, other))
                )
                fields = self.fill(row)
                mine, theirs = text_at(row, "response"), text_at(opposite, "response")
                for order in ("first", "second"):
                    a, b = (mine, theirs) if order == "first" else (theirs, mine)
                    about = {"order": order, "lengths": (len(mine), len(theirs))}
                    yield from self.questions(samples, {**fields, "answer_a": a, "answer_b": b}, about=about)

    def questions(
        self, samples: tuple[SampleRef, ...], fields: Mapping[str, str], *, about: Mapping[str, Any] | None = None
    ) -> Iterator[Item]:
        """The questions about one set of fields: a step before, if any, and as many draws as the rubric has."""
        *before, last = self.render(fields)
        first = Item(samples, self._messages(before[0], first=True), step=True) if before else None
        if first is not None:
            yield first
        for draw in range(self.draws):
            yield Item(samples, self._messages(last, first=first is None), draw=draw, follows=first, about=about or {})

    def _messages(self, text: str, *, first: bool) -> tuple[Mapping[str, str], ...]:
        system = ({"role": "system", "content": self.system},) if self.system and first else ()
        return (*system, {"role": "user", "content": text})

    def read(self, item: Item, reply: str) -> tuple[str, Values | None]:
        """Status and values of a reply; a preference is that of the first run, whatever the order of asking."""
        if self.is_pair:
            found = judge_preference(reply=reply)
            if found["status"] == "ok" and item.about.get("order") == "second":
                found["ratings"] = {PREFERENCE: 1.0 - found["ratings"][PREFERENCE]}
        else:
            found = judge_ratings(reply=reply, names=self.names, low=self.low, high=self.high, whole=self.whole)
        return found["status"], found["ratings"]


def text_at(row: Mapping[str, Any], place: str) -> str:
    """The text at a place of a row; empty where there is none.

    >>> text_at({"doc": {"title": "On mice"}, "response": ["a", "b"]}, "doc.title")
    'On mice'
    """
    value: Any = row
    for part in place.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    if isinstance(value, (list, tuple)):
        return "\n".join(str(one) for one in value)
    return "" if value is None else str(value)


def read_rubric(file: Path) -> Rubric:
    """A rubric from its file.

    Raises:
        BadInput: every mistake in it.
    """
    problems = Problems()
    data = load_yaml(file).data
    where = str(file)

    def wrong(what: str, allowed: str = "", fix: str = "") -> None:
        problems.add(what, where=where, allowed=allowed, fix=fix)

    for name in data:
        if name not in _KEYS:
            wrong(f"unknown key {name!r}", ", ".join(sorted(_KEYS)), near(str(name), _KEYS))
    steps = data.get("steps") or ([data["prompt"]] if isinstance(data.get("prompt"), str) else [])
    if not (isinstance(steps, list) and 1 <= len(steps) <= 2 and all(isinstance(one, str) for one in steps)):
        wrong(
            "has no prompt", "prompt: one text, or steps: two texts, of which the second follows the reply to the first"
        )
        steps = []
    version = data.get("version")
    if not isinstance(version, (str, int)):
        wrong("version is missing", "a text that you raise when you change what is asked")
    reads = data.get("read", "ratings")
    if reads not in READS:
        wrong(f"read: {reads!r}", " or ".join(READS))
    low, high = data.get("low", 0 if reads == PREFERENCE else 1), data.get("high", 1 if reads == PREFERENCE else 5)
    if not all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in (low, high)) or not low < high:
        wrong(f"low: {low!r}, high: {high!r}", "two numbers, the first one smaller")
    names = data.get("values", [PREFERENCE if reads == PREFERENCE else "rating"])
    if not isinstance(names, list) or not names or not all(isinstance(one, str) and one for one in names):
        wrong("values is no list of names", "values: [rating]")
        names = ["rating"]
    if data.get("better", "up") not in {"up", "down"}:
        wrong(f"better: {data['better']!r}", "up or down")
    draws = data.get("draws", 1)
    if isinstance(draws, bool) or not isinstance(draws, int) or not 1 <= draws <= 100:
        wrong(f"draws: {draws!r}", "a whole number of 1 to 100")
    fields = data.get("fields", {"prompt": "prompt", "target": "target", "response": "response"})
    # Fields without a place in the row are filled by the code of a pack.
    fields = dict.fromkeys(map(str, fields), "") if isinstance(fields, list) else fields
    fields = fields if isinstance(fields, dict) else {}
    known = {*fields, *(("answer_a", "answer_b") if reads == PREFERENCE else ())}
    for place in {place for step in steps for place in _PLACE.findall(step)} - known:
        wrong(f"${{{place}}} is no field", ", ".join(sorted(known)), near(place, known))
    for name, place in fields.items():
        if not isinstance(place, str) or place.split(".")[0] not in _PLACES:
            wrong(f"fields: {name}: {place!r}", "prompt, target, response, filtered or doc.COLUMN")
    sampling = data.get("sampling", {})
    if not isinstance(sampling, dict):
        wrong("sampling is no mapping", "sampling: {temperature: 0, max_tokens: 512}")
    calibration = data.get("calibration", [])
    for number, one in enumerate(calibration if isinstance(calibration, list) else [None], 1):
        if not _is_calibration(one, fields, names, known):
            wrong(f"calibration {number}", "{fields: {every field: text}, expected: {every value: number}}")
    problems.raise_if_any()
    return Rubric(
        name=str(data.get("name", file.stem)), version=str(version), steps=tuple(steps), fields=fields,
        names=tuple(names),
        low=float(low), high=float(high), whole=bool(data.get("whole", True)), better=str(data.get("better", "up")),
        reads=reads, sampling=sampling, structured=bool(data.get("structured", False)), draws=draws,
        tasks=tuple(data.get("tasks", ())), system=str(data.get("system", "")), title=str(data.get("title", "")),
        calibration=tuple(calibration),
    )  # fmt: skip


def _is_calibration(one: Any, fields: Iterable[str], names: Iterable[str], known: set[str]) -> bool:
    if (
        not isinstance(one, dict)
        or not isinstance(one.get("fields"), dict)
        or not isinstance(one.get("expected"), dict)
    ):
        return False
    return {*fields} <= {*one["fields"]} <= known and {*one["expected"]} == {*names}


@dataclass(frozen=True, kw_only=True)
class RubricJudge:
    """An annotator of a pack that asks about one task by a rubric; who inherits from it says its name and its `items`.

    Attributes:
        task: The task.
        rubric: The wording, the values and the scale.
    """

    task: str
    rubric: Rubric
    paid: bool = True
    needs: tuple[str, ...] = ()

    @property
    def version(self) -> str:
        """That of the rubric."""
        return self.rubric.version

    @property
    def values(self) -> Mapping[str, Value]:
        """Those of the rubric."""
        return self.rubric.values

    @property
    def tasks(self) -> tuple[str, ...]:
        """Its task."""
        return (self.task,)

    @property
    def sampling(self) -> Mapping[str, Any]:
        """The defaults of the rubric."""
        return self.rubric.sampling

    @property
    def schema(self) -> Mapping[str, Any] | None:
        """That of the rubric."""
        return self.rubric.schema

    def read(self, item: Item, reply: str) -> tuple[str, Values | None]:
        """Status of a reply, and its values where the status is `ok`, as the rubric reads it."""
        return self.rubric.read(item, reply)
