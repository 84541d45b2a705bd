"""A task of lm-eval with local data: its keys, fitted to the config and the splits that are there.

A data set of the hub often has splits and configs that a local copy lacks. lm-eval loads the split
of the few-shot examples also for zero shots, so that a missing one ends the run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from evalprep.data import config_names, local_splits
from evalprep.errors import BadInput, Problem
from evalprep.files import as_mapping

#: The keys that name splits, in the order in which lm-eval looks for the evaluated one.
_EVALUATED = ("test_split", "validation_split")
_SPLITS = (*_EVALUATED, "training_split", "fewshot_split")
#: Where lm-eval takes few-shot examples from, in its order.
_SHOTS = ("fewshot_split", "training_split", "validation_split")
#: Keys by which a mapping of the config says where they come from.
_OWN_SHOTS = ("fewshot_split", "training_split", "fewshot_config")


@dataclass
class Fitted:
    """What local data change in a task of lm-eval.

    Attributes:
        keys: Keys of the task that do not fit the data -> their values in place.
        notes: One sentence for each change.
        problems: Why the task cannot be run on the data.
    """

    keys: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def fit_to_local_data(
    entry: Mapping[str, Any],
    settings: Mapping[str, Any],
    folder: Path,
    *,
    num_fewshot: int | None,
    where: str,
) -> Fitted:
    """Fits a task of lm-eval to the data that a config gives it.

    Args:
        entry: The task's mapping in the config.
        settings: The keys of lm-eval's own file.
        folder: The folder from which paths in the entry count.
        num_fewshot: Shots of the whole run; None leaves them to the task.
        where: Place of the entry, for messages.
    """
    fitted = Fitted()
    try:
        splits = _splits_of(entry, settings, folder, fitted)
    except BadInput as error:
        return Fitted(problems=list(error.problems))
    if splits is None:
        return fitted
    name = str(entry["task"])
    merged = {**settings, **entry, **fitted.keys}
    named = {key: merged[key] for key in _SPLITS if merged.get(key)}
    present = {key: split for key, split in named.items() if split in splits}
    absent = {key: split for key, split in named.items() if split not in splits}
    refused = partial(Problem, where=where, allowed=", ".join(splits) or "none")
    evaluated = [present[key] for key in _EVALUATED if key in present]
    if not evaluated:
        wanted = next((str(named[key]) for key in _EVALUATED if key in named), "test")
        what = f"the data of {name} have no split {wanted!r}"
        fix = f"name the file {wanted}.jsonl, or set test_split"
        return Fitted(problems=[refused(what=what, fix=fix)])
    # The number of few-shot examples, by lm-eval's rule: 0 in a task stays 0.
    own = merged.get("num_fewshot")
    shots = num_fewshot
    if own == 0 or num_fewshot is None:
        shots = own if isinstance(own, int) else 0
    source = next((key for key in _SHOTS if settings.get(key)), "")
    names_shots = any(key in entry for key in _OWN_SHOTS)
    if shots and source in absent and not names_shots:
        what = (
            f"{name} takes {shots} few-shot examples from the split {absent[source]!r}, which its "
            "data lack"
        )
        choices = ", ".join(splits) or "none"
        fix = f"add that split, set fewshot_split to one of {choices}, or num_fewshot: 0"
        return Fitted(problems=[refused(what=what, fix=fix)])
    # What the user named stays; what lm-eval's own file names would end the run.
    left_out = {key: split for key, split in absent.items() if key not in entry}
    if left_out:
        fitted.keys |= dict.fromkeys(left_out)
        lacking = ", ".join(dict.fromkeys(map(str, left_out.values())))
        fitted.notes.append(
            f"{name}: the local data have no split {lacking}; {evaluated[0]} is evaluated"
        )
    return fitted


def _splits_of(
    entry: Mapping[str, Any], settings: Mapping[str, Any], folder: Path, fitted: Fitted
) -> Sequence[str] | None:
    """The splits of local data; None where the data are not local.

    Raises:
        BadInput: a folder whose files are no rows.
    """
    files = as_mapping(entry.get("dataset_kwargs")).get("data_files")
    if isinstance(files, Mapping):
        return [str(split) for split in files]
    if files is not None:
        return ["train"]
    path = entry.get("dataset_path")
    place = folder / path if isinstance(path, str) else None
    if place is None or not place.is_dir():
        return None
    config = entry.get("dataset_name", settings.get("dataset_name"))
    is_known = config is None or config in config_names(str(place))
    if not is_known and "dataset_name" not in entry:
        fitted.keys["dataset_name"] = None
        fitted.notes.append(f"{entry['task']}: the local data have no config {config}")
    return local_splits(place, config=config if is_known else None)
