"""The `data:` of the configuration: one `DataSet` per entry, every mistake with its line."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from custom_metrics.fm.class_scores import AVERAGES
from custom_metrics.fm.classification import PATTERN_MATCHES
from custom_metrics.fm.columns import COLUMNS, SUFFIX
from custom_metrics.fm.factual_knowledge import LOGICAL_OPERATORS
from custom_metrics.fm.perturbation import PERTURBATIONS
from custom_metrics.fm.prompt import DATASET_TEMPLATES
from custom_metrics.fm.qa_accuracy import WORD_TOKENIZERS
from custom_metrics.fm.summarization import ROUGE_TOKENIZERS, ROUGE_TYPES
from evalprep.packapi import OF_MODEL, BadInput, Context, SourceSpec, kind_of, near, source_spec

from .algorithms import ALGORITHMS, ALIASES, DETECTORS, Algorithm
from .builtin import FIELDS

_JOINTS = re.compile(r"[-\s]+")
_NAME = re.compile(r"[a-z0-9][a-z0-9_]{0,59}")
_ENTRY: dict[str, tuple[tuple[type, ...], str]] = {
    "name": ((str,), "letters, digits, - and _"),
    "path": ((str, dict), "a file or folder, a hub id, or {path: owner/name, split: test, ...}"),
    "config": ((str,), "config of a hub data set"),
    "split": ((str,), "split of a hub data set"),
    "revision": ((str,), "commit, branch or tag of a hub data set"),
    "data_files": (
        (str, list, dict),
        "a file pattern, a list of them, or a mapping from splits to them",
    ),
    "data_dir": ((str,), "a folder inside the data set"),
    "format": ((str,), "json, jsonl, parquet, csv, tsv or a MIME type"),
    "fields": (
        (dict,),
        f"field: column name or JMESPath expression; known fields are {', '.join(COLUMNS)}, id",
    ),
    "like": ((str,), ", ".join(FIELDS)),
    "algorithms": ((list,), ", ".join(ALGORITHMS)),
    "prompt": ((str,), "a Jinja template over all fields"),
    "prompt_template": ((str,), "a template of fmeval, with $model_input"),
    "num_records": ((int,), "a number of records, or null for all"),
    "sampling_seed": ((int,), "a number"),
    "outputs": ((str, dict), "model, dataset, or {model: field with its replies, ...}"),
}
_SOURCE = ("config", "split", "revision", "data_files", "data_dir")


def _probability(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1


def _at_least(least: int) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= least


def _of(*allowed: Any) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and value in allowed


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_pattern(value: Any) -> bool:
    if value is None:
        return True
    if not _is_text(value):
        return False
    try:
        re.compile(value)
    except (re.error, OverflowError, RecursionError):
        return False
    return True


def _is_function(value: Any) -> bool:
    """Returns whether a value names a function in a file, or is one, as calls from Python may."""
    if isinstance(value, str):
        file, _, name = value.rpartition(":")
        return file.endswith(".py") and name.isidentifier()
    return value is None or callable(value)


def _is_path(value: Any) -> bool:
    return value is None or _is_text(value) or isinstance(value, os.PathLike)


# Option -> (what it may be, in words); every one may stand under `fm:` for all data sets, and in an
# entry for one.
OPTIONS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "chat": (
        lambda value: value is None or isinstance(value, bool),
        "true, false, or null for what the config says",
    ),
    "target_output_delimiter": (
        lambda value: value is None or (isinstance(value, str) and value != ""),
        "a text between several right answers, or null for a single one",
    ),
    "logical_operator": (_of(*LOGICAL_OPERATORS), "OR, AND"),
    "rouge_type": (_of(*ROUGE_TYPES), ", ".join(ROUGE_TYPES)),
    "use_stemmer_for_rouge": (lambda value: isinstance(value, bool), "true, false"),
    "rouge_tokenizer": (_of(*ROUGE_TOKENIZERS), ", ".join(ROUGE_TOKENIZERS)),
    "word_tokenizer": (_of(*WORD_TOKENIZERS), ", ".join(WORD_TOKENIZERS)),
    "meteor": (_of("wordnet", "no_synonyms", "off"), "wordnet, no_synonyms, off"),
    "valid_labels": (
        lambda value: value is None or (isinstance(value, list) and bool(value)),
        "a list of labels, or null for the distinct targets",
    ),
    "label_match": (_of("robust", "fmeval"), "robust, fmeval"),
    "label_pattern": (
        _is_pattern,
        "a regular expression with the label in its first group, such as '<label>(.*?)</label>'",
    ),
    "label_pattern_match": (_of(*PATTERN_MATCHES), ", ".join(PATTERN_MATCHES)),
    "label_function": (
        _is_function,
        "file.py:name of a function (reply, labels) that returns a label, or null",
    ),
    "multiclass_average_strategy": (_of(*AVERAGES), ", ".join(AVERAGES)),
    "perturbation_type": (_of(*PERTURBATIONS), ", ".join(PERTURBATIONS)),
    "num_perturbations": (_at_least(1), "a number >= 1"),
    "perturbation_seed": (_at_least(0), "a number >= 0"),
    "perturbation_seeding": (_of("per_record", "stream"), "per_record, stream"),
    "butter_finger_perturbation_prob": (_probability, "a probability between 0 and 1"),
    "random_uppercase_corrupt_proportion": (_probability, "a share between 0 and 1"),
    "whitespace_add_prob": (_probability, "a probability between 0 and 1"),
    "whitespace_remove_prob": (_probability, "a probability between 0 and 1"),
    "num_baseline_samples": (_at_least(2), "a number >= 2"),
    "detector": (_of(*DETECTORS, "off"), f"{', '.join(DETECTORS)}, off"),
    "detector_path": (_is_path, "a folder in the format of transformers, or a hub id in the cache"),
    "bertscore_path": (
        _is_path,
        "a folder in the format of transformers, or a hub id in the cache",
    ),
    "bertscore_layer": (_at_least(1), "a number >= 1"),
    "max_gen_toks": (_at_least(1), "a number of tokens >= 1"),
    "until": (_texts, "a list of texts"),
    "temperature": (
        lambda value: (
            isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0
        ),
        "a number >= 0; above 0 replies are drawn",
    ),
}


@dataclass(frozen=True)
class DataSet:
    """One entry of `data:`.

    Attributes:
        index: Its position, for messages.
        fields: Field -> column name or expression.
        options: Every option, its own or that of the section.
        varies: A model was seen to give two replies to one prompt.
    """

    index: int
    name: str
    source: SourceSpec
    fields: Mapping[str, str]
    algorithms: tuple[Algorithm, ...]
    format: str | None = None
    prompt: str | None = None
    prompt_template: str | None = None
    num_records: int | None = None
    sampling_seed: int = 1234
    stored: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    varies: bool = False

    def task(self, algorithm: Algorithm) -> str:
        """Name of the task of one algorithm."""
        return task_name(self.name, algorithm.name)


def normal_name(name: str) -> str:
    """The name of a data set as it stands in names of tasks and scores.

    >>> normal_name("crows-pairs"), normal_name("My Reviews")
    ('crows_pairs', 'my_reviews')
    """
    return _JOINTS.sub("_", name.strip().lower())


def task_name(data: str, algorithm: str) -> str:
    """Name of a task.

    >>> task_name("My-Reviews", "qa_accuracy")
    'fm_my_reviews_qa_accuracy'
    """
    return f"fm_{normal_name(data)}_{algorithm}"


def group_name(data: str) -> str:
    """Name of the group of a data set's tasks."""
    return f"fm_{normal_name(data)}"


def entries(section: Any) -> list[Mapping[str, Any]]:
    """The entries of `data:` that are mappings with a name."""
    entries = [entry for entry in section.data or [] if isinstance(entry, Mapping)]
    return [entry for entry in entries if isinstance(entry.get("name"), str)]


def algorithm_names(entry: Mapping[str, Any]) -> list[str]:
    """The algorithms that an entry asks for, by their own names; unknown ones are left out."""
    algorithms = entry.get("algorithms")
    if not isinstance(algorithms, list):
        return []
    names = [ALIASES.get(str(name), str(name)) for name in algorithms]
    return [name for name in dict.fromkeys(names) if name in ALGORITHMS]


def data_sets(context: Context) -> list[DataSet]:
    """Every entry of `data:` that is without mistakes; the others add to `context.problems`."""
    if not context.section.data:
        context.problems.add(
            "data is empty",
            where=context.where("data"),
            allowed="a list of data sets, each with name, path, fields and algorithms",
            fix="see docs/packs/fm.md for an example of ten lines",
        )
        return []
    sets: list[DataSet] = []
    for index, entry in enumerate(context.section.data):
        reader = _Entry(context, index, entry)
        data_set = reader.read()
        if data_set is not None and any(data_set.name == other.name for other in sets):
            reader.refuse("name", f"two data sets are called {data_set.name!r}", "a name for each")
        elif data_set is not None:
            sets.append(data_set)
    for key, (fits, allowed) in OPTIONS.items():
        value = getattr(context.section, key)
        if not fits(value):
            context.problems.add(f"{key} is {value!r}", where=context.where(key), allowed=allowed)
    return sets


def _output_fields(stated: Any) -> Mapping[str, str] | None:
    """Our name -> field of the replies of one model; None for what names no field."""
    if isinstance(stated, str):
        stated = {"model_output": stated}
    if isinstance(stated, Mapping) and all(map(_is_text, stated.values())):
        return stated
    return None


class _Entry:
    """Reads one entry; `wrong` tells whether it has a mistake."""

    def __init__(self, context: Context, index: int, entry: Any) -> None:
        self.context = context
        self.index = index
        self.entry = entry
        self.wrong = False

    def refuse(self, key: str, what: str, allowed: str, fix: str = "") -> None:
        self.wrong = True
        keys = ("data", self.index, key) if key else ("data", self.index)
        where = self.context.where(*keys)
        self.context.problems.add(what, where=where, allowed=allowed, fix=fix)

    def read(self) -> DataSet | None:
        if not self._has_right_shape():
            return None
        name = normal_name(self.entry["name"])
        if not _NAME.fullmatch(name):
            what = f"{self.entry['name']!r} cannot be part of a task's name"
            self.refuse("name", what, _ENTRY["name"][1])
        for algorithm in self.entry["algorithms"]:
            if (
                not isinstance(algorithm, str)
                or ALIASES.get(algorithm, algorithm) not in ALGORITHMS
            ):
                names = [*ALGORITHMS, *ALIASES]
                self.refuse(
                    "algorithms",
                    f"{algorithm!r} is not an algorithm",
                    ", ".join(names),
                    near(str(algorithm), names),
                )
        algorithms = [ALGORITHMS[name] for name in algorithm_names(self.entry)]
        detecting = [algorithm.name for algorithm in algorithms if algorithm.detects]
        if len(detecting) > 1:
            self.refuse(
                "algorithms",
                f"{' and '.join(detecting)} score the same replies in the same way",
                "one of them per data set; they differ in the data sets that fmeval ships for them",
            )
        fields = self._fields(algorithms)
        source = self._source()
        template = self._template()
        if self.wrong or source is None:
            return None
        section = self.context.section
        return DataSet(
            index=self.index,
            name=name,
            source=source,
            fields={name: source.columns.get(column, column) for name, column in fields.items()},
            algorithms=tuple(algorithms),
            format=self.entry.get("format"),
            prompt=self.entry.get("prompt"),
            prompt_template=template,
            num_records=self.entry.get("num_records"),
            sampling_seed=self.entry.get("sampling_seed", 1234),
            stored=self._is_stored,
            options={key: self.entry.get(key, getattr(section, key)) for key in OPTIONS},
        )

    def _has_right_shape(self) -> bool:
        """Refuses an entry of a wrong shape; returns False where it did."""
        place = f"entry {self.index + 1} of data"
        if not isinstance(self.entry, Mapping):
            self.refuse("", f"{place} is {self.entry!r}", "a mapping with name, path, ...")
            return False
        for key, value in self.entry.items():
            known = [*_ENTRY, *OPTIONS]
            if key not in known:
                allowed = ", ".join(known)
                self.refuse(str(key), f"unknown key {key!r}", allowed, near(str(key), known))
            elif key in OPTIONS:
                fits, allowed = OPTIONS[key]
                if not fits(value):
                    self.refuse(key, f"{key} is {value!r}", allowed)
            elif value is not None:
                types, allowed = _ENTRY[key]
                if not isinstance(value, types) or isinstance(value, bool):
                    self.refuse(key, f"{key} is {value!r}", allowed)
        number = self.entry.get("num_records")
        outputs = self.entry.get("outputs")
        if isinstance(number, int) and number < 1:
            self.refuse("num_records", f"num_records is {number}", _ENTRY["num_records"][1])
        if isinstance(outputs, str) and outputs not in ("model", "dataset"):
            self.refuse("outputs", f"outputs is {outputs!r}", _ENTRY["outputs"][1])
        like = self.entry.get("like")
        if isinstance(like, str) and like not in FIELDS:
            what = f"{like!r} is not a data set of fmeval"
            self.refuse("like", what, ", ".join(FIELDS), near(like, FIELDS))
        for key in ("name", "path", "algorithms"):
            if self.entry.get(key) in (None, "", []):
                self.refuse("", f"{place} has no {key}", _ENTRY[key][1])
        return not self.wrong

    def _template(self) -> str | None:
        """The template of fmeval: the entry's own, else that of the data set that it is like."""
        own: str | None = self.entry.get("prompt_template")
        has_prompt = self.entry.get("prompt") is not None
        if own is not None and has_prompt:
            what = "prompt and prompt_template are both given"
            self.refuse("prompt_template", what, "one of the two")
        if own is None and not has_prompt:
            return DATASET_TEMPLATES.get(str(self.entry.get("like")))
        return own

    def _source(self) -> SourceSpec | None:
        """Returns where the records are: `path` alone, or a mapping as for every source."""
        path = self.entry["path"]
        source = {key: self.entry[key] for key in _SOURCE if self.entry.get(key) is not None}
        source |= path if isinstance(path, dict) else {"path": path}
        try:
            return source_spec(source, self.context.where("data", self.index, "path"))
        except BadInput as error:
            self.wrong = True
            self.context.problems.extend(error.problems)
            return None

    def _fields(self, algorithms: list[Algorithm]) -> dict[str, str]:
        """Field -> where it stands: those of `like`, then those of the entry."""
        locations = {**FIELDS.get(str(self.entry.get("like")), {})}
        for key, value in (self.entry.get("fields") or {}).items():
            name = str(key).removesuffix(SUFFIX)
            if not isinstance(value, str) or not value:
                allowed = "a column name or a JMESPath expression"
                self.refuse("fields", f"the field {key} is {value!r}", allowed)
            elif not name.isidentifier():
                what = f"the field {key!r} cannot stand in a template"
                self.refuse("fields", what, "letters, digits and _")
            else:
                locations[name] = value
        locations |= self._replies()
        kinds = {kind_of(name) for name in locations}
        missing = [name for name in self._needed_fields(algorithms) if name not in kinds]
        if missing:
            why = ", ".join(algorithm.name for algorithm in algorithms)
            self.refuse(
                "fields",
                f"fields lacks {', '.join(missing)}, which {why} needs",
                _ENTRY["fields"][1],
            )
        return locations

    @property
    def _is_stored(self) -> bool:
        return self.entry.get("outputs") not in (None, "model")

    def _replies(self) -> dict[str, str]:
        """Returns the places of each model's replies, as `outputs` names them by model."""
        outputs = self.entry.get("outputs")
        labels = self.context.model_labels
        if outputs == "dataset" and len(labels) > 1:
            example = ", ".join(f"{name}: FIELD" for name in labels.values())
            self.refuse(
                "outputs",
                f"outputs: dataset gives one reply per record for {len(labels)} models",
                "a field per model",
                f"write outputs: {{{example}}}",
            )
        if not isinstance(outputs, dict):
            return {}
        locations: dict[str, str] = {}
        for label, model in labels.items():
            fields = _output_fields(outputs.get(model, outputs.get(label)))
            if fields is None:
                self.refuse(
                    "outputs",
                    f"outputs has no field for the model {model}",
                    "a field, or {sent_more_log_prob: field, sent_less_log_prob: field}",
                    near(model, list(map(str, outputs))),
                )
                continue
            ending = f"{OF_MODEL}{label}" if label else ""
            for name, value in fields.items():
                locations[f"{name}{ending}"] = value
        return locations

    def _needed_fields(self, algorithms: list[Algorithm]) -> list[str]:
        """The fields without which the algorithms cannot be computed, each once."""
        stored = self._is_stored
        needed: list[str] = []
        for algorithm in algorithms:
            needed += algorithm.fields
            if stored:
                needed += algorithm.stored
        # Stored log-probabilities are compared without the sentences that they are of.
        spared: tuple[str, ...] = ()
        if stored and any(algorithm.name == "prompt_stereotyping" for algorithm in algorithms):
            spared = ("sent_more_input", "sent_less_input")
        return [name for name in dict.fromkeys(needed) if name not in spared]
