"""The settings of an export that a user may choose, as `--set KEY=VALUE`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from evalprep.errors import Problems, near
from evalprep.structs import keys_of, read_struct

UNKNOWN = "unknown"
_WHERE = "--set"
_BOOLEANS = {"yes": True, "true": True, "no": False, "false": False}
_Text = Annotated[str, Meta(description="text")]
_Flag = Annotated[bool, Meta(description="yes, no")]


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of an export; each format reads its own.

    Attributes:
        samples: Whether samples are written; None for the habit of the format.
        per_sample: JUnit has a case for each sample.
        log_format: Kind of log of inspect_ai.
        readme: A model card to merge the result into; None without one.
        project: Experiment of MLflow, project of Weights & Biases; empty for the packs' names.
        tracking_uri: Store of MLflow; empty for the one of the environment, else a local one.
        resume: Go on with the run of MLflow that holds an earlier export.
        model_id: `ORG/NAME` of each model, with commas.
        repo: Repository that an upload goes to; empty for the habit of the format.
        collection: Folder of Every Eval Ever for the records; empty for one for each task.
        organization: Who provides the result.
        relationship: How the evaluator is related to the model.
        availability: Whether the weights of the model are open.
        dataset: Id on the hub of the benchmark that the result is of.
        task: Id of its task there.
        eval_yaml: `eval.yaml` of the data set, where it names that one task.
        unit: Unit of values on the hub.
        value: Which value goes to the hub where results file and rows have two: the mean over the
            rows, or the stored one; None where that is not chosen.
        url: Address of a page about the run; empty without one.
        notes: What deviates from the benchmark's plain setting.
        force: Write what is not the benchmark's own protocol, too.
    """

    samples: Annotated[bool | None, Meta(description="yes, no")] = None
    per_sample: _Flag = False
    log_format: Literal["eval", "json"] = "eval"
    readme: Path | None = None
    project: _Text = ""
    tracking_uri: _Text = ""
    resume: _Flag = False
    model_id: _Text = ""
    repo: _Text = ""
    collection: _Text = ""
    organization: _Text = UNKNOWN
    relationship: Literal["first_party", "third_party", "collaborative", "other"] = "third_party"
    availability: Literal["open_weights", "closed_weights", "unknown"] = "unknown"
    dataset: _Text = ""
    task: _Text = ""
    eval_yaml: Path | None = None
    unit: Literal["percent", "fraction"] = "percent"
    value: Literal["rows", "stored"] | None = None
    url: _Text = ""
    notes: _Text = ""
    force: _Flag = False

    @property
    def model_ids(self) -> list[str]:
        """The model ids, in the order of the runs."""
        return [name.strip() for name in self.model_id.split(",") if name.strip()]


def read_settings(pairs: Sequence[str], problems: Problems) -> Settings:
    """Reads `KEY=VALUE` pairs; notes every mistake.

    Args:
        pairs: The pairs; the last one of a key counts.
        problems: Gets the mistakes.
    """
    keys = keys_of(Settings)
    content: dict[str, str | bool] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            problems.add(f"{pair!r} has no value", where=_WHERE, allowed="KEY=VALUE")
            continue
        key = keys.get(name.strip())
        # Yes and no are words of flags alone.
        is_flag = key is not None and bool in key.branches
        word = text.strip().lower()
        content[name.strip()] = _BOOLEANS.get(word, text) if is_flag else text
    settings, mistakes = read_struct(Settings, content)
    for mistake in mistakes:
        name = str(mistake.keys[0])
        if mistake.kind == "unknown":
            allowed = ", ".join(mistake.known)
            problems.add(
                f"unknown key {name!r}",
                where=_WHERE,
                allowed=allowed,
                fix=near(name, mistake.known),
            )
        else:
            allowed = mistake.key.words if mistake.key is not None else ""
            problems.add(f"{name} is {mistake.value!r}", where=_WHERE, allowed=allowed)
    return settings or Settings()
