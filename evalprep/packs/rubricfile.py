"""A rubric's file: its keys as a schema, and the rubric that it describes."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from evalprep.errors import Problems, near
from evalprep.packs.entries import Map, Names, Number, OneOrMore
from evalprep.packs.mistakes import read_entry
from evalprep.packs.placeholders import unknown_names, with_places
from evalprep.packs.rubric import FIELD, PREFERENCE, Rubric
from evalprep.yamlfile import YamlFile, load_yaml

_PLACES = frozenset({"", "prompt", "target", "response", "filtered", "doc"})
_USUAL_FIELDS = {"prompt": "prompt", "target": "target", "response": "response"}
_STEPS = (
    "one text as `prompt`, or two as `steps`, of which the second follows the reply to the first"
)
_CALIBRATION = "a list of {fields: {every field: text}, expected: {every value: number}}"


class CalibrationEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """A question with the ratings that a good judge gives."""

    fields: dict[str, str]
    expected: dict[str, Number]


class RubricEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """The keys of a rubric's file, as `Rubric` describes them."""

    version: Annotated[str | int, Meta(description="a text or a number; change it with the prompt")]
    name: str = ""
    title: str = ""
    system: str = ""
    prompt: str = ""
    steps: Annotated[Annotated[tuple[str, ...], Meta(max_length=2)], Meta(description=_STEPS)] = ()
    fields: Annotated[
        dict[str, str] | Names, Meta(description="{field: place in the row}, or a list of names")
    ] = field(default_factory=_USUAL_FIELDS.copy)
    values: Annotated[
        Annotated[Names, Meta(min_length=1)], Meta(description="a list of names, such as [rating]")
    ] = ("rating",)
    low: Annotated[Number | None, Meta(description="a number")] = None
    high: Annotated[Number | None, Meta(description="a number above low")] = None
    whole: bool = True
    better: Literal["up", "down"] = "up"
    read: Literal["ratings", "preference"] = "ratings"
    sampling: Annotated[
        Map, Meta(description="a mapping, such as {temperature: 0, max_tokens: 512}")
    ] = field(default_factory=dict)
    structured: bool = False
    draws: Annotated[
        Annotated[int, Meta(ge=1, le=100)], Meta(description="a whole number from 1 to 100")
    ] = 1
    tasks: Annotated[OneOrMore, Meta(description="a name, or a list of names")] = ()
    calibration: Annotated[tuple[CalibrationEntry, ...], Meta(description=_CALIBRATION)] = ()

    @property
    def is_pair(self) -> bool:
        """Returns whether it compares two answers."""
        return self.read == PREFERENCE

    @property
    def prompts(self) -> tuple[str, ...]:
        """The prompts of its steps, their fields as `${field}`."""
        known = self.known_fields
        return tuple(with_places(prompt, known, "${", "}") for prompt in self.written)

    @property
    def written(self) -> tuple[str, ...]:
        """The prompts as the user wrote them."""
        return self.steps or ((self.prompt,) if self.prompt else ())

    @property
    def declares_fields(self) -> bool:
        """Returns whether the file names its fields."""
        return dict(self.places) != _USUAL_FIELDS

    @property
    def places(self) -> Mapping[str, str]:
        """Field -> its place in a row; empty where the code of a pack fills it."""
        return self.fields if isinstance(self.fields, dict) else dict.fromkeys(self.fields, "")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its ratings."""
        return (PREFERENCE,) if self.is_pair and self.values == ("rating",) else self.values

    @property
    def known_fields(self) -> set[str]:
        """The fields that a prompt may name."""
        fields = set(self.places)
        if self.is_pair:
            fields |= {"answer_a", "answer_b"}
        return fields

    @property
    def scale(self) -> tuple[float, float]:
        """The smallest and the largest rating."""
        low, high = (0, 1) if self.is_pair else (1, 5)
        return (
            float(low if self.low is None else self.low),
            float(high if self.high is None else self.high),
        )


def read_rubric(file: Path) -> Rubric:
    """Reads a rubric from its file.

    Raises:
        BadInput: every mistake in it, each with its line.
    """
    problems = Problems()
    source = load_yaml(file)
    entry = read_entry(RubricEntry, source.data, source, (), problems)
    if entry is not None:
        _check_prompts(entry, source, problems)
        for name, place in entry.places.items():
            if place.split(".")[0] not in _PLACES:
                problems.add(
                    f"fields.{name} is {place!r}",
                    where=source.where("fields", name),
                    allowed="prompt, target, response, filtered or doc.COLUMN",
                )
        low, high = entry.scale
        if not low < high:
            problems.add(
                f"low is {low:g}, high is {high:g}",
                where=source.where("low" if entry.low is not None else "high"),
                allowed="two numbers, the first one smaller",
            )
        for number, question in enumerate(entry.calibration, 1):
            has_fields = {*entry.places} <= {*question.fields} <= entry.known_fields
            if not has_fields or {*question.expected} != {*entry.names}:
                problems.add(
                    f"calibration question {number} does not fit the rubric",
                    where=source.where("calibration"),
                    allowed=_CALIBRATION,
                )
    problems.raise_if_any()
    assert entry is not None
    low, high = entry.scale
    return Rubric(
        name=entry.name or file.stem,
        version=str(entry.version),
        steps=entry.prompts,
        fields=entry.places,
        names=entry.names,
        low=low,
        high=high,
        whole=entry.whole,
        better=entry.better,
        reads=entry.read,
        sampling=entry.sampling,
        structured=entry.structured,
        draws=entry.draws,
        tasks=entry.tasks,
        system=entry.system,
        title=entry.title,
        calibration=tuple(
            {"fields": question.fields, "expected": question.expected}
            for question in entry.calibration
        ),
    )


def _check_prompts(entry: RubricEntry, source: YamlFile, problems: Problems) -> None:
    key = "steps" if entry.steps else "prompt"
    known = entry.known_fields
    allowed = ", ".join(f"{{{name}}}" for name in sorted(known))
    if not entry.prompts and not {"prompt", "steps"} & source.data.keys():
        problems.add("has no prompt", where=source.where(), allowed=_STEPS)
    named = set(chain.from_iterable(map(FIELD.findall, entry.prompts)))
    unknown = dict.fromkeys(sorted(named - known), "${%s}")
    for prompt in entry.written:
        # Beside `${field}`, which older rubrics have, other names in braces are text.
        names = unknown_names(prompt, known, strict=not FIELD.search(prompt))
        unknown |= dict.fromkeys(names, "{%s}")
    for name, form in unknown.items():
        meant = near(name, known)
        problems.add(
            f"{form % name} names no field",
            where=source.where(key),
            allowed=allowed,
            fix=meant
            or f"declare it under fields, or write {{ {name} }} with spaces for a plain text",
        )
    if entry.prompts and not (named or unknown):
        problems.add(
            "the prompt names no field: the judge would be asked the same of every row",
            where=source.where(key),
            allowed=allowed,
        )
    elif not unknown:
        declared = known - entry.places.keys()  # the answers of a pair
        if entry.declares_fields:
            declared = known
        for name in sorted(declared - named):
            problems.add(
                f"the prompt does not use the field {name}",
                where=source.where("fields" if name in entry.places else key),
                fix=f"write {{{name}}} where it belongs, or remove it from fields",
            )
