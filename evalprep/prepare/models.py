"""The models of one preparation: what each is called, its configuration and run, and whether they can share prompts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalprep.backends import BACKENDS
from evalprep.config.models import core_of, short_names
from evalprep.config.schema import Config, Core
from evalprep.errors import Problems
from evalprep.model.tokenizer import load_tokenizer
from evalprep.packapi import Context
from evalprep.packs.manifest import run_id, subject_of
from evalprep.packs.plan import Plan
from evalprep.places import is_folder, place
from evalprep.prepare.commands import model_location


@dataclass(frozen=True)
class Subject:
    """One model that will be run.

    Attributes:
        label: What its commands are called after; empty where it is the only model.
        core: The configuration as if it were the only one.
        model: Model id or absolute folder.
        local: It lies on this machine.
        own_args: Arguments of the back end that are this model's alone.
        run: Id of its run.
        notes: Sentences for the user.
    """

    label: str
    core: Core
    model: str
    local: bool
    own_args: dict[str, Any]
    run: str
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The entry of the manifest."""
        return {
            "label": self.label,
            "model": self.core.there(self.model),
            "revision": self.core.model_revision,
            "model_args": self.own_args,
            "run": self.run,
        }

    def command_name(self, name: str) -> str:
        """`c1-plain`, or `checkpoint-50.c1-plain` where there are several models."""
        return f"{self.label}.{name}" if self.label else name


def subjects_of(config: Config, final: Plan, build: Path, work_dir: Path) -> list[Subject]:
    """Every model of a configuration with the id of its run.

    Args:
        config: The configuration.
        final: What runs.
        build: Where the task files lie now.
        work_dir: The folder that they name.
    """
    given = config.core.models
    cores = [core_of(config.core, one) for one in given] or [config.core]
    own = [dict(one.model_args) for one in given] or [{}]
    labels = short_names(given) if len(given) > 1 else [""]
    found = []
    for label, core, args in zip(labels, cores, own, strict=True):
        model, local, notes = model_location(core, config.folder)
        kept = args if label else {}
        run = run_id(subject_of(core.there(model), kept), core.model_dump(mode="json"), final, build, work_dir)
        found.append(Subject(label, core, model, local, kept, run, tuple(notes)))
    return found


def check_models(config: Config, plan: Plan) -> None:
    """Refuse several models where one work folder cannot serve them.

    Raises:
        BadInput: a model twice; rows that are made from replies, which are another for each model; nothing to load.
    """
    models = config.core.models
    if len(models) < 2:
        return
    problems = Problems()
    seen: dict[str, int] = {}
    for number, one in enumerate(models):
        first = seen.setdefault(repr(sorted(one.model_dump().items(), key=str)), number)
        if first != number:
            problems.add(f"{one.model_name} is named twice", where=config.where("models", number), fix="name it once")
    later = [name for name, task in plan.tasks.items() if task.after and name not in plan.excluded]
    if later:
        problems.add(
            f"the rows of {', '.join(later)} are made from a model's replies: each model needs a folder of its own",
            where=config.where("models"),
            fix="prepare each alone: --set models=null --set model_name=... --set work_dir=work_dir_...",
        )
    if not BACKENDS[config.core.backend].model_type:
        problems.add(
            f"the back end {config.core.backend} runs no model", where=config.where("models"), fix="take models out"
        )
    problems.raise_if_any()


def check_tokenizers(config: Config, subjects: list[Subject], contexts: Iterable[Context]) -> list[str]:
    """See that prompts which were rendered with the first model's tokenizer are those of the others too.

    Only rendered prompts depend on a tokenizer: text that the harness renders at run time is each model's own.

    Returns:
        Notes on models whose tokenizer is not here to be looked at.

    Raises:
        BadInput: a model has another tokenizer or chat template.
    """
    if len(subjects) < 2 or not any("tokenizer" in context.cache for context in contexts):
        return []
    digests = [_tokenizer_digest(one, config.folder) for one in subjects]
    problems = Problems()
    for number, (one, digest) in enumerate(zip(subjects, digests, strict=True)):
        if digest and digests[0] and digest != digests[0]:
            parts = [name for name, part in digest.items() if part != digests[0][name]]
            problems.add(
                f"{one.model} has another {' and another '.join(parts)} than {subjects[0].model}, "
                "with which the prompts are rendered",
                where=config.where("models", number),
                fix="prepare it apart (--set models=null --set model_name=... --set work_dir=...), or name one "
                "tokenizer for all: model_args: {tokenizer: ...}",
            )
    problems.raise_if_any()
    unknown = [one.label for one, digest in zip(subjects, digests, strict=True) if not digest]
    rendered = f"prompts are rendered with the tokenizer of {subjects[0].model}"
    return [f"{rendered}; that of {', '.join(unknown)} is not here to be compared with it"] if unknown else []


def _tokenizer_digest(one: Subject, folder: Path) -> dict[str, str]:
    """Digest of each part of a tokenizer that decides a prompt; empty where its files are not here."""
    path = place(str(one.core.model_args.get("tokenizer") or one.model), folder)
    found = load_tokenizer(path if is_folder(path) else None)
    if found is None:
        return {}
    parts = {"vocabulary": found.encoder.to_str(), "chat template": found.chat_template}
    parts["begin or end of text"] = f"{found.bos}\0{found.eos}"
    return {name: hashlib.sha256(text.encode("utf-8", "replace")).hexdigest() for name, text in parts.items()}
