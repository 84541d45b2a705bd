"""The targets of check and preview: a config, a work folder, or any folder of task YAMLs."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalprep.check import CONTEXT_KEYS, Finding, Findings, RunSettings
from evalprep.errors import BadInput, Problem
from evalprep.packs import Plan, asked_for, load_prepared, require_prepared
from evalprep.places import CONFIG, WORK_DIR

if TYPE_CHECKING:
    from evalprep.packs import Pack


@dataclass
class Target:
    """One thing to check.

    Attributes:
        label: Its name in messages.
        roots: Include paths.
        requested: Names for `--tasks`, None for all.
        settings: The run.
        work_dir: The folder that what was built for the check will have; empty where nothing was.
        renamed: The finding as it is told -> the finding with the paths that the user knows.
        packs: Those of the config, where there is one.
        planned: The joined plans, where there is a config.
    """

    label: str
    roots: list[Path]
    requested: list[str] | None
    settings: RunSettings
    work_dir: str = ""
    renamed: Callable[[Finding], Finding] = lambda finding: finding
    packs: Mapping[str, Pack] | None = None
    planned: Plan | None = None

    def final(self, findings: Findings) -> list[Finding]:
        """The findings, errors first, with the paths that the user knows."""
        return [self.renamed(finding) for finding in findings.sorted()]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments that name a target."""
    parser.add_argument(
        "work_dir",
        nargs="?",
        type=Path,
        metavar="CONFIG_OR_WORK_DIR",
        help="a config, or a prepared work folder (default: ./eval_config.yaml, else ./work_dir)",
    )
    parser.add_argument(
        "--config_path",
        "--config",
        type=Path,
        action="append",
        default=None,
        metavar="FILE",
        help="the config (default: ./eval_config.yaml); may be repeated",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="overrule one key of the config; for a folder of tasks max_model_len, "
        "apply_chat_template, add_bos_token or model_args.tokenizer; may be repeated",
    )
    other = parser.add_argument_group("tasks of other makers")
    other.add_argument(
        "--include_path",
        type=Path,
        action="append",
        default=None,
        metavar="DIR",
        help="a folder of lm-eval task YAMLs",
    )
    other.add_argument(
        "--tasks", default=None, metavar="A,B", help="names as for lm_eval --tasks (default: all)"
    )
    other.add_argument("--model", default=None, metavar="NAME", help="the model that will be run")
    other.add_argument(
        "--backend",
        default=None,
        metavar="NAME",
        help="lm-eval's name of the back end (default: vllm)",
    )


def targets(args: argparse.Namespace) -> Iterator[contextlib.AbstractContextManager[Target]]:
    """The targets that the arguments name, one context manager each.

    A temporary preparation is removed at its end.

    Raises:
        BadInput: a config that cannot be prepared, or a folder that is none of ours.
    """
    requested = (args.tasks or "").split(",")
    names = [name.strip() for name in requested if name.strip()] if args.tasks else None
    stated = {"model": _absolute(args.model), "backend": args.backend}
    changes = {key: value for key, value in stated.items() if value is not None}
    work_dir = args.work_dir
    if work_dir is None and not args.config_path and not CONFIG.is_file():
        # `evalprep run --model` prepares a folder without a config.
        work_dir = WORK_DIR if load_prepared(WORK_DIR) is not None else None
    configs = args.config_path or [CONFIG]
    if work_dir is not None and work_dir.is_file():
        work_dir, configs = None, [work_dir]
    if args.include_path:
        changes |= _changes_of_folder(args.set)
        yield contextlib.nullcontext(_folder_target(args.include_path, names, changes))
    elif work_dir is not None:
        changes |= _changes_of_folder(args.set)
        yield contextlib.nullcontext(work_dir_target(work_dir, names, changes))
    else:
        for path in configs:
            yield config_target(path, args.set, changes, names)


def _changes_of_folder(settings: Sequence[str]) -> dict[str, Any]:
    """Returns what `--set` changes of a run whose tasks are written already.

    Raises:
        BadInput: a mistake in the settings, or a key that has no effect on written tasks.
    """
    if not settings:
        return {}
    from evalprep.config import CORE_KEYS, load_config, read_setting

    # The keys that every config needs; a folder of tasks has its own.
    needed = {"model_name": "unknown", "tasks": ["unknown"]}
    config, _ = load_config(None, settings, needed)
    keys = {read_setting(setting)[0][0] for setting in settings}
    useless = sorted(keys - _OF_FOLDERS)
    if useless:
        raise BadInput(
            Problem(
                what=f"{', '.join(useless)}: no effect on tasks that are written already",
                where="--set",
                allowed=", ".join(key for key in CORE_KEYS if key in _OF_FOLDERS),
                fix="check the config instead: evalprep check --config_path FILE --set KEY=VALUE",
            )
        )
    changed = RunSettings.from_core(config.core, Path.cwd())
    changes = {key: getattr(changed, key) for key in keys - {"model_args"}}
    core = config.core
    in_model_args = not core.model_args.keys().isdisjoint(CONTEXT_KEYS)
    states_context = core.states("max_model_len") or in_model_args
    of_model_args = {
        "tokenizer": _absolute(changed.tokenizer),
        "max_model_len": changed.max_model_len if states_context else None,
        "add_bos_token": changed.add_bos_token,
    }
    return changes | {key: value for key, value in of_model_args.items() if value is not None}


#: Keys that change how the prompts of written tasks reach the model.
_OF_FOLDERS = frozenset({"max_model_len", "apply_chat_template", "add_bos_token", "model_args"})


def _absolute(name: str | None) -> str | None:
    """A folder of the current one by its absolute path.

    One that is written as a path stays for the check of its form.
    """
    if name is None or Path(name).is_absolute() or not Path(name).is_dir():
        return name
    if name.startswith("./") or name.endswith("/"):
        return name
    return str(Path(name).resolve())


def _folder_target(
    folders: list[Path], requested: list[str] | None, changes: dict[str, Any]
) -> Target:
    missing = [path for path in folders if not path.is_dir()]
    if missing:
        raise BadInput(
            [
                Problem(what="is not a folder", where=str(path), fix="give a folder of task YAMLs")
                for path in missing
            ]
        )
    settings = RunSettings.without_config(**{"backend": "vllm", **changes})
    return Target(", ".join(map(str, folders)), folders, requested, settings)


def work_dir_target(
    work_dir: Path, requested: list[str] | None, changes: dict[str, Any] | None
) -> Target:
    """A work folder with a manifest.

    Raises:
        BadInput: there is no manifest.
    """
    fix = "name a config, a prepared work folder, or --include_path with a folder of task files"
    prepared = require_prepared(work_dir, fix=fix)
    settings = RunSettings.from_prepared(prepared).changed(**(changes or {}))
    names = list(chain.from_iterable(map(asked_for, prepared.commands)))
    return Target(str(work_dir), [work_dir], requested or names or list(prepared.tasks), settings)


@contextlib.contextmanager
def config_target(
    path: Path,
    changes_of_config: Sequence[str],
    changes: dict[str, Any] | None = None,
    requested: list[str] | None = None,
) -> Iterator[Target]:
    """Makes, in a temporary place, the folder that the next preparation of a config would leave.

    It includes the user's edits.

    Raises:
        BadInput: the config cannot be prepared.
    """
    from evalprep.config import load_config
    from evalprep.prepare.checked import known_to_user, loadable, settings_of
    from evalprep.prepare.preparation import preview

    config, packs = load_config(path, changes_of_config)
    with preview(config, packs) as built, loadable(built) as copy:
        yield Target(
            label=str(path),
            roots=[copy],
            requested=requested or built.requested,
            settings=settings_of(built).changed(**(changes or {})),
            work_dir=str(config.core.work_dir),
            renamed=partial(known_to_user, built, copy),
            packs=packs,
            planned=built.plan,
        )
