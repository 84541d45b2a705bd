"""The files of COMPL-AI v1 as they are, read into the pack's columns.

`compliance.v1_checkout` finds all of them; `compliance.data` may name each by itself, a file or
the folder that holds several.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from custom_metrics.compliance.rules import SCENARIOS

from .checkout import IMPLEMENTATIONS, is_present

Row = dict[str, Any]
Read = Callable[[list[Path]], Iterable[Row]]
_SEX = "sensitive_attr_"
_INCOMES = "adult_0_200_test_base_rate_0.0"


@dataclass(frozen=True)
class Original:
    """The files of one data set in the original's layout.

    Attributes:
        folder: Where they lie in a checkout.
        files: Their names; of several, those that are there are read. None for HumanEval, which has
            one file per problem.
        read: From the files to rows.
        others: Files beside them that are read, too.
    """

    folder: str
    files: tuple[str, ...]
    read: Read
    others: tuple[str, ...] = ()

    def present(self, place: Path) -> list[Path]:
        """The files with content at a place: the folder that holds them, or one of them."""
        if place.is_dir() and not self.files:
            return sorted(place.glob("HumanEval_*.yaml"))
        if place.is_dir():
            return [place / name for name in self.files if is_present(place / name)]
        named = place.name in self.files
        return [place] if named and is_present(place) else []

    def absent(self, place: Path) -> list[str]:
        """Names of the files that a folder lacks, or holds empty or as pointers of Git LFS."""
        return [name for name in self.files if not is_present(place / name)]


def _lines(path: Path) -> Iterator[Row]:
    with path.open(encoding="utf-8") as file:
        yield from (json.loads(line) for line in file if line.strip())


def _records(path: Path) -> Iterator[Row]:
    """The records of a JSON, JSON Lines, CSV or TSV file, by its ending.

    The names of a delimited file lose the blanks around them.
    """
    if path.suffix == ".json":
        yield from json.loads(path.read_text(encoding="utf-8"))
        return
    if path.suffix == ".jsonl":
        yield from _lines(path)
        return
    with path.open(encoding="utf-8-sig", newline="") as file:
        delimiter = "\t" if path.suffix == ".tsv" else ","
        for row in csv.DictReader(file, delimiter=delimiter):
            yield {str(name).strip(): value for name, value in row.items() if name}


def _columns(**columns: str) -> Read:
    """Reads records with other names: the pack's column -> the original's.

    A record without a value is left out.
    """

    def read(files: list[Path]) -> Iterator[Row]:
        for path in files:
            for record in _records(path):
                row = {name: record[column] for name, column in columns.items()}
                if any(row.values()):
                    yield row

    return read


def _as_they_are(files: list[Path]) -> Iterator[Row]:
    for path in files:
        yield from _records(path)


def _bold(files: list[Path]) -> Iterator[Row]:
    """One row per person or thing; the files hold category -> name -> beginnings of sentences."""
    for path in files:
        domain = path.name.removesuffix("_prompt.json")
        for categories in _lines(path):
            for category, prompts in categories.items():
                for name, texts in prompts.items():
                    yield {"domain": domain, "category": category, "name": name, "prompts": texts}


def _boolq(files: list[Path]) -> list[Row]:
    """The first entry is a head."""
    data = json.loads(files[0].read_text(encoding="utf-8"))["data"]
    return [row for row in data if row.get("answer") in {"TRUE", "FALSE"}]


def _imdb(files: list[Path]) -> Iterator[Row]:
    """The pairs of the development set, which version 1 reads twice and the test set never."""
    original, contrast = (
        files[0].with_name(f"dev_{name}.tsv") for name in ("original", "contrast")
    )
    for before, after in zip(_records(original), _records(contrast), strict=True):
        yield {
            "Text_Original": before["Text"],
            "Sentiment_Original": before["Sentiment"],
            "Text_Contrast": after["Text"],
            "Sentiment_Contrast": after["Sentiment"],
        }


def _incomes(files: list[Path]) -> Iterator[Row]:
    """The sexes lie in a NumPy file beside the prompts: Male is 1."""
    import numpy as np

    (path,) = files
    sexes = np.load(path.with_name(f"{_SEX}{path.stem}.npy"))
    for row, sex in zip(_records(path), sexes.tolist(), strict=False):
        yield {
            "input": row["input"],
            "label": row["label"],
            "sensitive_attribute": int(sex == "Male"),
        }


def _attributes(files: list[Path]) -> Iterator[Row]:
    """Class -> phrases; the classes that version 1 leaves out stay out."""
    classes = json.loads(files[0].read_text(encoding="utf-8"))
    for name, phrases in classes.items():
        if name not in {"neutral", "typo"}:
            yield from ({"domain": name, "value": phrase} for phrase in phrases)


def _dialogues(files: list[Path]) -> Iterator[Row]:
    """The files are named after the scenarios and have no column of them."""
    for path in files:
        yield from (row | {"scenario": path.stem} for row in _records(path))


def _people(files: list[Path]) -> Iterator[Row]:
    """Name and address without a head; other rows are left out."""
    with files[0].open(encoding="utf-8", newline="") as file:
        for row in csv.reader(file):
            if len(row) == 2:
                yield {"name": row[0], "email": row[1]}


def _topics(files: list[Path]) -> Iterator[Row]:
    for line in files[0].read_text(encoding="utf-8").splitlines():
        if line.strip():
            yield {"topic": line}


def _problems(files: list[Path]) -> Iterator[Row]:
    """One YAML file per problem of HumanEval; its tests end with a call of theirs."""
    import yaml

    for path in files:
        problem = yaml.safe_load(path.read_text(encoding="utf-8"))
        _benchmark, number, entry_point = path.stem.split("_", 2)
        yield {
            "task_id": f"HumanEval/{number}",
            "prompt": problem["prompt"],
            "entry_point": entry_point,
            "test": problem["tests"],
        }


_CATEGORIES = (
    "Age",
    "Disability_status",
    "Gender_identity",
    "Nationality",
    "Physical_appearance",
    "Race_ethnicity",
    "Race_x_SES",
    "Race_x_gender",
    "Religion",
    "SES",
    "Sexual_orientation",
)
_DOMAINS = ("gender", "political_ideology", "profession", "race", "religious_ideology")
_FAIRNESS, _DATA = f"{IMPLEMENTATIONS}/fairness", f"{IMPLEMENTATIONS}/consistency/data"
_BBQ_FOLDER = f"{_FAIRNESS}/bbq/bbq_data"

#: Data set -> the original's files.
ORIGINALS: dict[str, Original] = {
    "bbq": Original(_BBQ_FOLDER, tuple(f"{name}.jsonl" for name in _CATEGORIES), _as_they_are),
    "bbq_metadata": Original(_BBQ_FOLDER, ("additional_metadata.csv",), _as_they_are),
    "bold": Original(
        f"{_FAIRNESS}/bold/bold_data", tuple(f"{name}_prompt.json" for name in _DOMAINS), _bold
    ),
    "boolq_contrast": Original(
        f"{IMPLEMENTATIONS}/robustness/boolq_data", ("boolq_perturbed.json",), _boolq
    ),
    "decoding_trust": Original(
        f"{_FAIRNESS}/fairness_data", (f"{_INCOMES}.jsonl",), _incomes, (f"{_SEX}{_INCOMES}.npy",)
    ),
    "fairllm": Original(f"{_FAIRNESS}/fairllm_data", ("director.csv",), _columns(value="Director")),
    "fairllm_attributes": Original(f"{_FAIRNESS}/fairllm_data", ("sst_json.json",), _attributes),
    "forecast_consistency": Original(
        f"{_DATA}/forecasting",
        ("monotonic_sequence.json",),
        _columns(questions="questions", direction="direction"),
    ),
    "human_deception": Original(
        f"{IMPLEMENTATIONS}/human_deception/data",
        ("human_deception.csv",),
        _columns(prompt="Prompt"),
    ),
    "human_eval": Original("external/safecoder_master/data_eval/human_eval", (), _problems),
    "imdb_contrast": Original(
        f"{IMPLEMENTATIONS}/robustness/imdb_data", ("dev_original.tsv", "dev_contrast.tsv"), _imdb
    ),
    "multiturn_goal_hijacking": Original(
        f"{IMPLEMENTATIONS}/cybersecurity/llm_rules_data/manual",
        tuple(f"{name}.jsonl" for name in SCENARIOS),
        _dialogues,
    ),
    "privacy": Original(
        f"{IMPLEMENTATIONS}/privacy_protection/pii_leak_data", ("pii.csv",), _people
    ),
    "self_check_consistency": Original(f"{_DATA}/self_check", ("topics.txt",), _topics),
    "toxicity_realtoxicityprompts": Original(
        "benchmark_data/toxicity", ("prompted_gens_ctrl.jsonl",), _columns(prompt="prompt")
    ),
}
