"""Reviews of evalscope 1.x, one line for each sample.

A run lies in one folder, with what belongs together called alike:

| place | what it holds |
|---|---|
| `reviews/<model>/<dataset>_<subset>.jsonl` | verdicts, gold answers and, from 1.6, the messages |
| `predictions/<model>/<dataset>_<subset>.jsonl` | the messages and the name of the model |
| `reports/<model>/<dataset>.json` | scores of the data set, and which way is better |
| `configs/task_config.yaml` | examples in the prompt, settings of the generation |
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from evalprep.errors import BadInput
from evalprep.files import as_mapping
from evalprep.readers.logged import RowCounts
from evalprep.readers.tools.columns import Column, Columns, at, each_row
from evalprep.readers.tools.keyedlines import KeyedLines
from evalprep.readers.tools.opening import Opening
from evalprep.readers.tools.reading import Reader, Reading, beside, members_beside
from evalprep.readers.tools.row import Row, TaskFacts, ToolLog
from evalprep.readers.tools.simple_evals import question_and_choices
from evalprep.readers.tools.texts import (
    as_list,
    before_reply,
    chat_text,
    count_or_none,
    last_turn,
    mappings_in,
    numbers_of,
    text_or_none,
    texts_of,
    whole_or_none,
)
from evalprep.readers.tools.unread import Unread
from evalprep.samples import Damage, Direction, objects_in

NAME = "evalscope"
_REVIEWS, _PREDICTIONS, _REPORTS = "reviews", "predictions", "reports"
_CONFIG = "configs/task_config.yaml"
#: Names of the only subset of a data set.
_ONLY_SUBSETS = ("_default", "_main")
#: What the status of a score is called where its values count; files before 1.10 have none.
_COUNTING = (None, "success", "fallback")
_DIRECTIONS: Mapping[Any, Direction] = {"higher_is_better": "up", "lower_is_better": "down"}
_STARTED = re.compile(r"\d{8}_\d{6}")
_GENERATION = (
    "do_sample",
    "temperature",
    "top_p",
    "top_k",
    "max_tokens",
    "n",
    "repetition_penalty",
)


_Pair = tuple[dict[str, Any], dict[str, Any]]


def recognises(opening: Opening) -> bool:
    """Returns whether a file holds reviews."""
    return opening.kind == "lines" and opening.has("index", "sample_score")


def row_of(review: Mapping[str, Any], prediction: Mapping[str, Any] | None = None) -> Row:
    """Returns the row of a review.

    Args:
        review: The review.
        prediction: The prediction of the same sample, where that is there.
    """
    row = COLUMNS.row(review)
    row.id_is_position = (row.id or "").isdecimal()
    row.doc_id = int(row.id) if row.id is not None and row.id_is_position else None
    _set_texts(row, review, prediction or {})
    score = as_mapping(at(review, "sample_score.score"))
    values = numbers_of(score.get("value"))
    if score.get("status") not in _COUNTING:
        values = dict.fromkeys(values)
    row.set_values(values, texts_of(score.get("main_score_name")))
    row.response = row.response or text_or_none(score.get("prediction"))
    target = text_or_none(review.get("target"))
    if target:
        row.set_target_labels([target])
    row.set_answer_label(text_or_none(score.get("extracted_prediction")))
    return row


def _id(review: Any) -> str | None:
    """The position of the sample, which its repeats share."""
    group = at(review, "sample_score.group_id")
    return text_or_none(review.get("index") if group is None else group)


def _repeat(number: Any) -> int:
    return number + 1 if type(number) is int else 0  # 0: the file does not number repeats


COLUMNS = Columns(Column("id", "", _id), Column("epoch", "sample_score.generation_index", _repeat))


def _set_texts(row: Row, review: Mapping[str, Any], prediction: Mapping[str, Any]) -> None:
    """Sets prompt, question, choices and reply.

    Before 1.6 a review has a text in place of messages.
    """
    messages = as_list(review.get("messages")) or as_list(prediction.get("messages"))
    before = before_reply(messages)
    asked = last_turn(before, "user")
    if before:
        row.prompt = chat_text(before)
    else:
        asked = row.prompt = text_or_none(review.get("input")) or None
    row.question, row.choices = question_and_choices(asked)
    row.response = last_turn(messages, "assistant")


@dataclass(frozen=True)
class _Place:
    """Where a file of reviews lies.

    Attributes:
        root: The folder of the run; None for a file that lies by itself.
        model: The part of the path that names the model.
        stem: Name of the file without its ending: data set and subset.
    """

    root: Path | None
    model: str
    stem: str

    @classmethod
    def of(cls, path: Path) -> _Place:
        stem = path.name.removesuffix(".gz").removesuffix(".jsonl")
        for folder in path.parents:
            if folder.name == _REVIEWS:
                model = path.parent.relative_to(folder).as_posix()
                return cls(folder.parent, "" if model == "." else model, stem)
        return cls(None, "", stem)

    @property
    def started(self) -> str:
        """The time in the name of the run's folder; empty without one."""
        name = self.root.name if self.root is not None else ""
        return name if _STARTED.fullmatch(name) else ""

    def predictions(self) -> Path | None:
        if self.root is None:
            return None
        folder = self.root / _PREDICTIONS / self.model
        return beside(folder, f"{self.stem}.jsonl", f"{self.stem}.jsonl.gz")

    def report(self) -> Mapping[str, Any]:
        """The report on the data set, whose name begins that of the file; empty without one."""
        if self.root is None:
            return {}
        parts = self.stem.split("_")
        names = ["_".join(parts[:number]) for number in range(len(parts), 0, -1)]
        return members_beside(
            self.root / _REPORTS / self.model,
            [f"{name}.json" for name in names],
            ("dataset_name", "metrics", "model_name"),
        )

    def config(self) -> Mapping[str, Any]:
        """The settings of the run; empty without a file of them."""
        file = None if self.root is None else beside(self.root, _CONFIG)
        if file is None:
            return {}
        return _read_config(file, file.stat().st_mtime_ns)


@lru_cache(maxsize=4)
def _read_config(file: Path, _changed: int) -> Mapping[str, Any]:
    from evalprep.yamlfile import load_yaml

    try:
        return as_mapping(load_yaml(file).data)
    except (BadInput, OSError):
        return {}


def read(path: Path, _: Reading) -> ToolLog:
    """Opens a file of reviews."""
    place = _Place.of(path)
    report, config = place.report(), place.config()
    dataset = text_or_none(report.get("dataset_name")) or ""
    facts = TaskFacts(
        num_fewshot=whole_or_none(at(config.get("dataset_args"), f"{dataset}.few_shot_num")),
        directions=dict(_directions(report)),
        rows=RowCounts(effective=_rows_in(report, place.stem, config)),
    )
    tasks = {place.stem: facts}
    times_asked: Counter[str | None] = Counter()

    def row_of_review(pair: _Pair) -> Row:
        row = row_of(*pair)
        times_asked[row.id] += 1
        row.epoch = row.epoch or times_asked[row.id]
        if row.metric and not tasks[place.stem].metadata:
            tasks[place.stem] = replace(facts, metadata={"primary_metric": row.metric})
        return row

    return ToolLog(
        NAME,
        each_row(path.name, _with_predictions(path, place), row_of_review, place.stem),
        model=place.model or _model_in(path),
        settings=_settings(config),
        tasks=tasks,
        short_name=_without_only_subset,
        task=place.stem,
        rank=(place.started,),
    )


def _model_in(path: Path) -> str:
    """The model that answered the first review; empty where the messages do not name it."""
    for review in islice(objects_in(path), 1):
        messages = [] if isinstance(review, Damage) else as_list(review.get("messages"))
        for message in map(as_mapping, messages):
            if message.get("role") == "assistant":
                return text_or_none(message.get("model")) or ""
    return ""


def _without_only_subset(task: str) -> str:
    """The name of a data set with one subset.

    >>> _without_only_subset("gsm8k_main"), _without_only_subset("arc_ARC-Easy")
    ('gsm8k', 'arc_ARC-Easy')
    """
    for ending in _ONLY_SUBSETS:
        task = task.removesuffix(ending)
    return task


def _settings(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """The settings of the run by lm-eval's names; only those are read, as others may be secret."""
    generation = as_mapping(config.get("generation_config"))
    known = {key: generation[key] for key in _GENERATION if generation.get(key) is not None}
    settings = {
        "gen_kwargs": known,
        "limit": config.get("limit"),
        "random_seed": config.get("seed"),
    }
    return {key: value for key, value in settings.items() if value not in (None, {})}


def _directions(report: Mapping[str, Any]) -> Iterator[tuple[str, Direction]]:
    """Yields the metrics of a report with which way is better, as far as it says so."""
    for metric in map(as_mapping, as_list(report.get("metrics"))):
        identity = as_mapping(metric.get("identity"))
        name = text_or_none(identity.get("name")) or text_or_none(metric.get("name"))
        direction = _DIRECTIONS.get(as_mapping(metric.get("semantics")).get("direction"))
        if name and direction:
            yield name, direction


def _rows_in(report: Mapping[str, Any], subset: str, config: Mapping[str, Any]) -> int | None:
    """The samples of a subset as the report counts them; its counts may hold each repeat."""
    name = f"{report.get('dataset_name')}_"
    counts: list[int] = []
    for metric in mappings_in(report.get("metrics")):
        for category in mappings_in(metric.get("categories")):
            counts += [
                count_or_none(entry.get("num")) or 0
                for entry in mappings_in(category.get("subsets"))
                if f"{name}{entry.get('name')}" == subset
            ]
    repeats = count_or_none(config.get("repeats"))
    return max(counts) // repeats if counts and repeats else None


def _with_predictions(path: Path, place: _Place) -> Iterator[_Pair | Damage]:
    """Yields each review with the prediction of its sample, which one with messages needs not."""
    predictions = KeyedLines(place.predictions(), ("index",), _index_of)

    def index_of_review(review: Mapping[str, Any] | Damage) -> int | str | None:
        if isinstance(review, Damage) or review.get("messages"):
            return None
        return _index_of(review)

    for review, of_sample in predictions.joined(objects_in(path), index_of_review):
        yield review if isinstance(review, Damage) else (review, ([*of_sample] or [{}])[-1])


def _index_of(entry: Mapping[str, Any]) -> int | str | None:
    index = entry.get("index")
    return index if isinstance(index, int | str) else None


def without_verdicts(opening: Opening) -> Unread | None:
    """Returns what a file of a run is that is no file of reviews, or one of before 1.0."""
    if opening.kind == "lines" and opening.has("index", "model_output"):
        what = "predictions of evalscope, which have no verdicts"
        return Unread(what, "pass the reviews of the same run")
    if opening.kind == "lines" and opening.has("review_id", "raw_input", "choices"):
        columns = "score=choices.0.review.result,question=raw_input.question"
        return Unread("reviews of evalscope before 1.0", f"pass --columns {columns}")
    if opening.kind == "json" and opening.has("dataset_name", "model_name", "metrics"):
        what = "a report of evalscope, which has scores without samples"
        return Unread(what, "pass the reviews of the same run")
    return None


def is_beside_reviews(path: Path) -> bool:
    """Returns whether a file is one of the predictions or reports of a run with reviews."""
    parts = [folder for folder in path.parents if folder.name in {_PREDICTIONS, _REPORTS}]
    return any((folder.parent / _REVIEWS).is_dir() for folder in parts)


READERS = (Reader(NAME, recognises, read, unread=without_verdicts, belongs=is_beside_reviews),)
