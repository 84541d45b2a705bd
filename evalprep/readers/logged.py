"""The content of a results file, whichever version of lm-eval wrote it.

`readers` decodes files into these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec

from evalprep.samples import Direction, Metric

#: What is known to be absent, which is not unknown.
NONE = "none"
Count = Annotated[int, msgspec.Meta(ge=0)]


class DamagedPart(msgspec.Struct, frozen=True):
    """A part of a results file that could not be decoded, and is unknown for that reason.

    Attributes:
        file: Name of the file.
        part: Its key, or key and entry; empty for the file as a whole.
        reason: What is wrong.
    """

    file: str
    part: str
    reason: str

    def sentence(self) -> str:
        """Returns the note for the user."""
        if not self.part:
            return (
                f"{self.file} is damaged ({self.reason}); "
                "metric and filter of each task are guessed"
            )
        return f"{self.file}: {self.part} is damaged ({self.reason}) and is not used"


class RowCounts(msgspec.Struct, frozen=True):
    """Rows of a task: in its data set, and of these in the run; None where that is not known."""

    original: Count | None = None
    effective: Count | None = None

    @classmethod
    def total(cls, counts: Sequence[RowCounts]) -> RowCounts:
        """The rows of several tasks together; None where those of one are not known."""
        return cls(
            _sum_or_none([count.original for count in counts]),
            _sum_or_none([count.effective for count in counts]),
        )


def _sum_or_none(numbers: Sequence[int | None]) -> int | None:
    """The sum of some numbers; None without any, or where one is not known."""
    known = [number for number in numbers if number is not None]
    return sum(known) if known and len(known) == len(numbers) else None


class Dataset(msgspec.Struct, frozen=True):
    """The data set of a task.

    Attributes:
        path: Hub id, or name of a loader of local files.
        name: Its configuration.
        split: The split that is asked.
        revision: Its revision.
        files: Local files.
    """

    path: str = ""
    name: str | None = None
    split: str | None = None
    revision: str | None = None
    files: tuple[str, ...] = ()


class TaskSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The YAML of a task as lm-eval logged it.

    Attributes:
        metadata: Its metadata.
        title: Its display name.
        output_type: Kind of requests; empty where it is not known.
        dataset: Its data.
        filters: Names of its filters, in order.
        generation: Generation arguments.
        repeats: Replies to each prompt; None where it is not known.
        num_fewshot: Shots; None where it is not known.
        template: What makes a prompt of a row and an answer of a reply, by its key in the YAML.
        scorer: What scores a reply, by its key in the YAML.
        as_logged: The whole entry, for copies and for exports of packs.
    """

    metadata: Mapping[str, Any] = msgspec.field(default_factory=dict)
    title: str = ""
    output_type: str = ""
    dataset: Dataset = Dataset()
    filters: tuple[str, ...] = ()
    generation: Mapping[str, Any] = msgspec.field(default_factory=dict)
    repeats: int | None = None
    num_fewshot: int | None = None
    template: Mapping[str, Any] = msgspec.field(default_factory=dict)
    scorer: Mapping[str, Any] = msgspec.field(default_factory=dict)
    as_logged: Mapping[str, Any] = msgspec.field(default_factory=dict)


class TaskResults(msgspec.Struct, frozen=True, kw_only=True):
    """One task of a results file.

    Attributes:
        name: Its name.
        metrics: Every metric that is stored, in the order of the file; `Metric.is_score` tells
            scores from counts of replies.
        directions: Metric -> which way is better, for each metric of which the file states it.
        settings: Its YAML.
        version: Version of the task; None where it is not known.
        num_fewshot: Shots of the run; None where it is not known.
        rows: How many rows it has.
        hash: lm-eval's hash over documents, prompts and targets; empty without one.
    """

    name: str
    metrics: tuple[Metric, ...] = ()
    directions: Mapping[str, Direction] = msgspec.field(default_factory=dict)
    settings: TaskSettings = TaskSettings()
    version: Any = None
    num_fewshot: int | None = None
    rows: RowCounts = RowCounts()
    hash: str = ""

    def metric(self, name: str, filter_name: str) -> Metric | None:
        """Returns one stored metric; None without it."""
        matching = (
            metric
            for metric in self.metrics
            if (metric.metric, metric.filter) == (name, filter_name)
        )
        return next(matching, None)


class GroupResults(msgspec.Struct, frozen=True, kw_only=True):
    """One group of a results file: the tasks and groups in it, and lm-eval's own values."""

    name: str
    members: tuple[str, ...] = ()
    metrics: tuple[Metric, ...] = ()


class CallSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of one call of lm-eval. None is unknown; `none` is known to be absent.

    Attributes:
        backend: lm-eval's name of the back end.
        model_name: The model's name as lm-eval made it; that of the back end where no argument
            names a model.
        folder: Name of the folder that lm-eval made for the model; empty where it is not logged.
        arguments: Arguments of the back end.
        arguments_text: The same as one text, where they were logged so.
        dtype: Data type of the weights, as the back end reported it.
        batch_size: As it was asked for.
        limit: Rows of each task, or a share of them.
        generation: Generation arguments of the command line.
        seeds: Seed by what it is for: `random`, `numpy`, `torch`, `fewshot`.
        chat_template: Hash of the chat template, else its text.
        system: Hash of the system prompt, else its text.
        multiturn: Whether few-shot examples were turns of a conversation.
        versions: Versions of programs, by lm-eval's key.
        lm_eval_version: Version of lm-eval; empty where it is not known.
        engine_version: Version of the package that ran the model, vLLM or transformers; empty
            where it is not known.
        started: Seconds since the epoch.
        seconds: Duration of the whole call.
        stored_replies: Whether the replies came from files, so that no time is the model's.
        shown: Group, name and value of further settings, for pages that list them.
        as_logged: The settings of the command line as lm-eval logged them.
    """

    backend: str | None = None
    model_name: str = ""
    folder: str = ""
    arguments: Mapping[str, Any] = msgspec.field(default_factory=dict)
    arguments_text: str = ""
    dtype: str | None = None
    batch_size: Any = None
    limit: float | None = None
    generation: Mapping[str, Any] = msgspec.field(default_factory=dict)
    seeds: Mapping[str, Any] = msgspec.field(default_factory=dict)
    chat_template: str | None = None
    system: str | None = None
    multiturn: Any = None
    versions: Mapping[str, str] = msgspec.field(default_factory=dict)
    lm_eval_version: str = ""
    engine_version: str = ""
    started: float | None = None
    seconds: float | None = None
    stored_replies: bool = False
    shown: tuple[tuple[str, str, Any], ...] = ()
    as_logged: Mapping[str, Any] = msgspec.field(default_factory=dict)

    @property
    def model(self) -> str:
        """The model as named on the command line, else as lm-eval named it; empty without both."""
        for key in ("pretrained", "model", "path", "engine"):
            if isinstance(self.arguments.get(key), str):
                return str(self.arguments[key])
        return self.model_name


class Rescored(msgspec.Struct, frozen=True):
    """The run from which the replies of a rescored run are.

    Attributes:
        folder: Folder of that run.
        stamp: Its time stamp.
        run: Its id; empty without one.
        left_out: Task -> why it could not be rescored.
    """

    folder: Path
    stamp: str
    run: str = ""
    left_out: Mapping[str, str] = msgspec.field(default_factory=dict)


class RunResults(msgspec.Struct, frozen=True, kw_only=True):
    """A results file, or several of one run put together.

    Attributes:
        settings: Those of the newest call.
        tasks: Task -> what is logged of it.
        groups: Group -> its members and values.
        rescored: Where the replies are from, of a run of `evalprep rescore`.
        damage: What could not be decoded.
        other: Every other part of the newest file, for copies.
        read: Whether there is a results file at all.
        tool: What wrote the newest file, where that is not lm-eval; else empty.
    """

    settings: CallSettings = CallSettings()
    tasks: Mapping[str, TaskResults] = msgspec.field(default_factory=dict)
    groups: Mapping[str, GroupResults] = msgspec.field(default_factory=dict)
    rescored: Rescored | None = None
    damage: tuple[DamagedPart, ...] = ()
    other: Mapping[str, Any] = msgspec.field(default_factory=dict)
    read: bool = False
    tool: str = ""

    def members(self, group: str) -> tuple[str, ...]:
        """Returns the tasks and groups directly in a group; none for a name that is no group."""
        logged = self.groups.get(group)
        return logged.members if logged is not None else ()

    def below(self, group: str) -> Iterator[str]:
        """Yields every task and group below a group, each once, outer ones first."""
        waiting, seen = list(self.members(group)), {group}
        while waiting:
            name = waiting.pop(0)
            if name in seen:
                continue
            seen.add(name)
            yield name
            waiting += self.members(name)

    def tasks_below(self, group: str) -> list[str]:
        """Returns every task below a group."""
        return [name for name in self.below(group) if name in self.tasks]


def stored_values(metrics: Iterable[Metric]) -> dict[str, Any]:
    """Returns stored values and standard errors by `metric,filter`, as in lm-eval's own table."""
    values: dict[str, Any] = {}
    for metric in metrics:
        values[metric.key] = metric.text or metric.value
        if metric.stderr is not None:
            values[f"{metric.metric}_stderr,{metric.filter}"] = metric.stderr
    return values
