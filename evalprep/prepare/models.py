"""The models of one preparation.

What each is called, its configuration and run, and whether they can share prompts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from evalprep.backends import BACKENDS, STORED
from evalprep.config import Config, Core, adapters_in, core_of, short_names
from evalprep.errors import Problems
from evalprep.model import Tokenizer, fingerprint_of, load_tokenizer, model_folder
from evalprep.packs import Answerer, Plan, run_id
from evalprep.places import is_folder, place
from evalprep.prepare.commands import model_location
from evalprep.prepare.joined import Joined
from evalprep.structs import plain_data
from evalprep.yamltext import sorted_json


@dataclass(frozen=True)
class Subject:
    """One model that will be run.

    Attributes:
        label: The name that its commands begin with; empty where it is the only model.
        core: The configuration as if it were the only one.
        folder: Folder that relative paths refer to.
        model: Model id or absolute folder.
        local: It lies on this machine.
        own_args: Arguments of the back end that are this model's alone.
        notes: Sentences for the user.
        run: Id of its run; empty before its commands are known.
        fingerprints: Path as its commands name it -> the fingerprint of the model or adapter there,
            of those that lie on this machine.
    """

    label: str
    core: Core
    folder: Path
    model: str
    local: bool
    own_args: dict[str, Any]
    notes: tuple[str, ...] = ()
    run: str = ""
    fingerprints: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def tokenizer(self) -> Tokenizer | None:
        """Its tokenizer, None when that is not on this machine."""
        name = str(self.core.model_args.get("tokenizer") or self.model)
        return load_tokenizer(model_folder(name, self.folder))

    def as_dict(self) -> dict[str, Any]:
        """The entry of the manifest."""
        return {
            "label": self.label,
            "model": self.core.on_run_machine(self.model),
            "revision": self.core.model_revision,
            "model_args": self.own_args,
            "run": self.run,
        }

    def command_name(self, name: str) -> str:
        """`c1-plain`, or `checkpoint-50.c1-plain` where there are several models."""
        return f"{self.label}.{name}" if self.label else name


def subjects_of(config: Config) -> list[Subject]:
    """Every model of a configuration, without the id of its run."""
    entries = config.core.models
    if not entries:
        return [_subject("", config.core, {}, config.folder)]
    labels = short_names(entries) if len(entries) > 1 else [""]
    return [
        _subject(label, core_of(config.core, entry), dict(entry.model_args), config.folder)
        for label, entry in zip(labels, entries, strict=True)
    ]


def _subject(label: str, core: Core, own_args: dict[str, Any], folder: Path) -> Subject:
    model, local, notes = model_location(core, folder)
    return Subject(
        label=label,
        core=core,
        folder=folder,
        model=model,
        local=local,
        own_args=own_args if label else {},
        notes=tuple(notes),
    )


def with_run(
    subject: Subject, calls: Sequence[Mapping[str, Any]], final: Plan, content: Mapping[str, str]
) -> Subject:
    """Returns a model with the id of its run, and the fingerprints that it covers.

    Args:
        subject: The model.
        calls: The run configuration of each of its commands.
        final: The tasks that run.
        content: What the task files and data of the first stage ask.
    """
    model = subject.core.on_run_machine(subject.model)
    paths = {model: Path(subject.model)} if subject.local else {}
    paths |= {
        subject.core.on_run_machine(value): Path(value)
        for value in adapters_in(subject.core.model_args).values()
    }
    # Arguments that are written as paths, too.
    for call in calls:
        for value in (call.get("model_args") or {}).values():
            if isinstance(value, str) and value.startswith(("/", "./", "../", "~")):
                paths.setdefault(value, place(value, subject.folder))
    fingerprints = {name: fingerprint_of(path) for name, path in paths.items()}
    known = {name: digest for name, digest in fingerprints.items() if digest}
    answerer = Answerer(model, subject.own_args, known)
    run = run_id(answerer, subject.core.as_dict(), calls, final, content)
    return replace(subject, run=run, fingerprints=known)


def fingerprints_of(subjects: Iterable[Subject]) -> dict[str, str]:
    """Returns the fingerprints of several models, by path, in the order of the paths."""
    known: dict[str, str] = {}
    for subject in subjects:
        known |= subject.fingerprints
    return dict(sorted(known.items()))


def check_models(config: Config, plan: Plan) -> None:
    """Refuse several models where one work folder cannot serve them.

    Raises:
        BadInput: a model twice; rows that are made from replies, which are another for each model;
            nothing to load.
    """
    if len(config.core.models) < 2:
        return
    problems = Problems()
    # A model may stand in the list once, in whichever way its folder is written.
    first_name: dict[str, str] = {}
    for number, entry in enumerate(config.core.models):
        folder = place(entry.model_name, config.folder)
        model = str(folder.resolve()) if is_folder(folder) else entry.model_name
        revision = entry.model_revision or config.core.model_revision
        key = sorted_json([model, revision, plain_data(entry.model_args)])
        if key not in first_name:
            first_name[key] = entry.model_name
            continue
        other = first_name[key]
        same_as = "" if other == entry.model_name else f": {other} is the same model"
        problems.add(
            f"{entry.model_name} is named twice{same_as}",
            where=config.where("models", number),
            fix="name it once",
        )
    later = [name for name, task in plan.tasks.items() if task.after and name not in plan.excluded]
    if later:
        problems.add(
            f"the rows of {', '.join(later)} are made from a model's replies: each model needs a "
            "folder of its own",
            where=config.where("models"),
            fix="prepare each alone: --set models=null --set model_name=... --set "
            "work_dir=work_dir_...",
        )
    asks_model = any(
        task.call.backend != STORED
        for name, task in plan.tasks.items()
        if name not in plan.excluded
    )
    if asks_model and not BACKENDS[config.core.backend].model_type:
        problems.add(
            f"the back end {config.core.backend} runs no model",
            where=config.where("models"),
            fix="take models out",
        )
    problems.raise_if_any()


def check_tokenizers(joined: Joined, subjects: list[Subject]) -> list[str]:
    """Checks that prompts for the first model are those of the others too.

    They were rendered with the first model's tokenizer.

    Only rendered prompts depend on a tokenizer: text that the harness renders at run time is each
    model's own.

    Returns:
        Notes on models whose tokenizer is not here to be looked at.

    Raises:
        BadInput: a model has another tokenizer or chat template.
    """
    rendered = any("tokenizer" in share.context.cache for share in joined.packs)
    if len(subjects) < 2 or not rendered:
        return []
    first = subjects[0]
    digests = [_tokenizer_digest(subject.tokenizer) for subject in subjects]
    problems = Problems()
    for number, digest in enumerate(digests):
        # None where the tokenizer of one of the two is not here.
        same = digests[0] or digest
        parts = [name for name, part in digest.items() if part != same[name]]
        if parts:
            problems.add(
                f"{subjects[number].model} has another {' and another '.join(parts)} than "
                f"{first.model}, with which the prompts are rendered",
                where=joined.config.where("models", number),
                fix="prepare it apart (--set models=null --set model_name=... --set "
                "work_dir=...), or name one tokenizer for all: model_args: {tokenizer: ...}",
            )
    problems.raise_if_any()
    unknown = [
        subject.label for subject, digest in zip(subjects, digests, strict=True) if not digest
    ]
    if not unknown:
        return []
    rendered_with = f"prompts are rendered with the tokenizer of {first.model}"
    return [f"{rendered_with}; that of {', '.join(unknown)} is not here to be compared with it"]


def _tokenizer_digest(tokenizer: Tokenizer | None) -> dict[str, str]:
    """Digest of each part of a tokenizer that decides a prompt.

    Empty where its files are not here.
    """
    if tokenizer is None:
        return {}
    parts = {
        "vocabulary": tokenizer.encoder.to_str(),
        "chat template": tokenizer.chat_template,
        "begin or end of text": f"{tokenizer.bos}\0{tokenizer.eos}",
    }
    return {
        name: hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
        for name, text in parts.items()
    }
