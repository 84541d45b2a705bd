"""The work folder that `evalprep run` runs: a prepared one, or that of a config."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evalprep.errors import BadInput, Problem
from evalprep.places import CONFIG, WORK_DIR
from evalprep.verbs.options import configured_packs

#: Key of the config -> the option that stands for it.
_OPTION_OF = {
    "model_name": "--model",
    "tasks": "--tasks",
    "limit": "--limit",
    "backend": "--backend",
    "output_path": "--out",
    "include_path": "--include_path",
}


@dataclass(frozen=True)
class Folder:
    """A prepared folder.

    Attributes:
        work_dir: The folder.
        template_dir: Folders of packs that the config names.
    """

    work_dir: Path
    template_dir: Sequence[Path] = ()


def prepared_folder(args: argparse.Namespace) -> Folder:
    """Returns the folder to run, prepared where the config asks for another one than is there.

    Raises:
        BadInput: neither a config nor a prepared folder; a config that cannot be prepared.
    """
    from evalprep.yamltext import yaml_value

    # Key of the config -> value, of the options that stand for keys.
    limit = None if args.limit is None else yaml_value(args.limit)
    out = None if args.out is None else str(args.out.absolute())
    folders = [os.path.abspath(name) for name in args.include_path or ()]  # noqa: PTH100 - no links
    values = {
        "model_name": args.model,
        "tasks": args.tasks,
        "limit": limit,
        "backend": args.backend,
        "output_path": out,
        "include_path": folders or None,
    }
    options = {key: value for key, value in values.items() if value is not None}
    _refuse_backend_as_model(args)
    place = args.config_path or args.place or _usual_place(options)
    if place is not None and place.is_dir():
        if options or args.set:
            raise BadInput(
                Problem(
                    what="options that stand for keys of a config cannot change a prepared folder",
                    where=str(place),
                    fix="name the config instead of the folder",
                )
            )
        return Folder(place.resolve(), configured_packs() or _packs_of(place))
    try:
        return _prepare(place, options, args)
    except BadInput as error:
        problems = [_by_option(problem, place, options) for problem in error.problems]
        raise BadInput(problems) from None


def _refuse_backend_as_model(args: argparse.Namespace) -> None:
    """Refuses the name of a back end behind `--model`, which lm_eval calls so.

    Raises:
        BadInput: it is one, and no folder.
    """
    from evalprep.backends import find_backend

    name = args.model
    if not name or args.backend or Path(name).is_dir():
        return
    record = find_backend(name)
    if record is not None:
        raise BadInput(
            Problem(
                what=f"{name} is a back end, and --model names the model",
                where="--model",
                fix=f"--backend {record.name} --model NAME",
            )
        )


def _by_option(problem: Problem, place: Path | None, options: Mapping[str, Any]) -> Problem:
    """The problem of a key, named by the option that the user wrote or may write for it."""
    for key, option in _OPTION_OF.items():
        if key in options and problem.where == f"--set {key}":
            return replace(problem, where=option)
        if place is None and problem.what == f"{key} is missing":
            return replace(problem, fix=f"add {option}, or name a config")
    return problem


def _packs_of(work_dir: Path) -> list[Path]:
    """The folders of packs that the user named when she prepared a folder.

    None of a folder that somebody else prepared: code of a pack runs only where its user named it.
    """
    from evalprep.packs import load_prepared, why_foreign

    prepared = load_prepared(work_dir)
    if prepared is None or why_foreign(work_dir):
        return []
    named = prepared.config.get("template_dir") or []
    return [folder for folder in map(Path, named) if folder.is_dir()]


def _usual_place(options: Mapping[str, Any]) -> Path | None:
    """The config of the current folder, else its prepared folder; None for options alone."""
    if CONFIG.is_file():
        return CONFIG
    if options:
        return None
    if WORK_DIR.is_dir():
        return WORK_DIR
    raise BadInput(
        Problem(
            what="there is neither a config nor a prepared folder",
            where=str(Path.cwd()),
            fix="evalprep run --model NAME --tasks NAMES, or write a config: evalprep init",
        )
    )


def _prepare(place: Path | None, options: Mapping[str, Any], args: argparse.Namespace) -> Folder:
    """Prepares the folder of a config, unless nothing has changed.

    The options are part of the config for this call alone: a call without them finds other settings
    in the folder and prepares it from the file again.
    """
    from evalprep.config import load_config
    from evalprep.prepare import changes_since

    if place is None:
        from evalprep.model import suited_backend

        options = {"backend": suited_backend()[0].name, **options}
    config, packs = load_config(place, args.set, options)
    folder = Folder(config.core.work_dir, config.core.template_dir)
    reason = changes_since(config, packs)
    if reason:
        print(f"prepare: {reason}", file=sys.stderr, flush=True)
        from evalprep.verbs.prepare import prepare_and_report

        prepare_and_report(config, packs)
    return folder
