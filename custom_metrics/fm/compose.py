"""Steps over one record, put together: each reads some of its keys and adds others."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

Record = Mapping[str, Any]
Step = Callable[[dict[str, Any]], Mapping[str, Any]]
Steps = Sequence["Step | Steps"]


class StepError(ValueError):
    """A step that lacks what it reads, or gives what it may not; the message names it."""


@dataclass(frozen=True)
class Transform:
    """A step that says what it reads and adds.

    Attributes:
        name: For messages.
        function: Record -> mapping of what it adds; the record that it gets is its own.
        inputs: Keys that the record must have.
        outputs: Keys that it adds, all of them and no others. It may replace a key of the caller's
            record by naming it.
    """

    name: str
    function: Step
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    def __post_init__(self) -> None:
        for what, names in (("inputs", self.inputs), ("outputs", self.outputs)):
            if not all(isinstance(name, str) for name in names):
                raise StepError(f"{self.name}: {what} are {list(names)!r}, expected texts")
            if len(set(names)) != len(names):
                raise StepError(f"{self.name}: {what} name a key twice: {', '.join(names)}")
        if not self.outputs:
            raise StepError(f"{self.name}: adds nothing; name its outputs")

    def __call__(self, record: Record) -> dict[str, Any]:
        """Runs this step alone; see `Pipeline`."""
        return compose([self])(record)


def transform(
    *, inputs: Iterable[str], outputs: Iterable[str], name: str | None = None
) -> Callable[[Step], Transform]:
    """Declares what a function over a record reads and adds.

    Args:
        inputs: Keys that it reads.
        outputs: Keys that it adds.
        name: For messages; else the function's.
    """

    def declared(function: Step) -> Transform:
        return Transform(name or _name(function), function, tuple(inputs), tuple(outputs))

    return declared


@dataclass(frozen=True)
class Pipeline:
    """Steps in their order; calling it gives a new record.

    Attributes:
        steps: Declared and undeclared steps, nested lists made flat.
    """

    steps: tuple[Step, ...]

    @property
    def outputs(self) -> tuple[str, ...]:
        """Keys that the declared steps add, in order."""
        transforms = [step for step in self.steps if isinstance(step, Transform)]
        return tuple(chain.from_iterable(transform.outputs for transform in transforms))

    def __call__(self, record: Record) -> dict[str, Any]:
        """Runs the steps over a copy of the record.

        Raises:
            StepError: an input is missing, a result is not a mapping, or a key is added twice or
                not as declared.
        """
        if not isinstance(record, Mapping):
            raise StepError(f"a record is a mapping, this is a {type(record).__name__}")
        working = copy.deepcopy(dict(record))
        added: dict[str, str] = {}
        for step in self.steps:
            name = _name(step)
            for key, value in _added_by(step, name, working).items():
                if key in added:
                    raise StepError(f"{name}: adds {key!r}, which {added[key]} has added")
                added[key] = name
                working[key] = value
        return working


def _name(step: Step) -> str:
    if isinstance(step, Transform):
        return step.name
    return str(getattr(step, "__name__", type(step).__name__))


def _added_by(step: Step, name: str, working: dict[str, Any]) -> dict[str, Any]:
    """Runs one step over its own copy; what it gives back unchanged is not its own.

    A declared step adds its outputs, all of them and nothing else.
    """
    transform = step if isinstance(step, Transform) else None
    missing = [key for key in transform.inputs if key not in working] if transform else []
    if missing:
        raise StepError(
            f"{name}: the record lacks {', '.join(missing)}; it has {', '.join(map(str, working))}"
        )
    result = (transform.function if transform else step)(dict(working))
    if not isinstance(result, Mapping):
        raise StepError(
            f"{name}: gave a {type(result).__name__}, expected a mapping of the keys that it adds"
        )
    new = {
        key: value
        for key, value in result.items()
        if key not in working or working[key] is not value
    }
    if transform is None:
        if replaced := sorted(set(new) & set(working)):
            raise StepError(
                f"{name}: replaces {', '.join(replaced)}; declare it with transform(outputs=...)"
            )
        return new
    if absent := [key for key in transform.outputs if key not in result]:
        raise StepError(f"{name}: did not give {', '.join(absent)}")
    if undeclared := sorted(set(new) - set(transform.outputs)):
        raise StepError(f"{name}: gave {', '.join(undeclared)}, which it does not declare")
    return {key: result[key] for key in transform.outputs}


def _flat(steps: Steps | Pipeline) -> Iterable[Step]:
    members = steps.steps if isinstance(steps, Pipeline) else steps
    for step in members:
        if isinstance(step, (list, tuple, Pipeline)):
            yield from _flat(step)
        elif callable(step):
            yield step
        else:
            raise StepError(
                f"a step is a function over a record or a list of such, this is {step!r}"
            )


def compose(steps: Steps) -> Pipeline:
    """Puts steps together.

    Args:
        steps: Functions over a record, declared by `transform` or not, in lists nested as one
            likes, or pipelines.

    Returns:
        A function from a record to a new record with what the steps add.

    Raises:
        StepError: two steps declare the same output, in whatever list they stand, or something is
            no step.

    >>> @transform(inputs=["model_output"], outputs=["words"])
    ... def count_words(record):
    ...     return {"words": len(record["model_output"].split())}
    >>> compose([count_words])({"model_output": "two words"})
    {'model_output': 'two words', 'words': 2}
    """
    flat = tuple(_flat(steps))
    owners: dict[str, str] = {}
    for step in flat:
        if not isinstance(step, Transform):
            continue
        for key in step.outputs:
            if key in owners:
                raise StepError(f"{_name(step)} and {owners[key]} both add {key!r}")
            owners[key] = _name(step)
    return Pipeline(flat)
