"""What is checked or previewed: a config, a prepared work folder, or any folder of task YAMLs."""

from __future__ import annotations

import argparse
import contextlib
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalprep.check.finding import Finding, Findings
from evalprep.check.settings import RunSettings
from evalprep.errors import BadInput, Problem
from evalprep.packs.manifest import commands_of, read_manifest, require_manifest
from evalprep.packs.plan import asked_for

if TYPE_CHECKING:
    from evalprep.packs.pack import Pack


@dataclass
class Target:
    """One thing to check.

    Attributes:
        label: How messages call it.
        roots: Include paths.
        requested: Names for `--tasks`, None for all.
        settings: The run.
        moved: (folder in which it was built for the check, folder that it will have), for messages.
        packs: Those of the config, where there is one.
    """

    label: str
    roots: list[Path]
    requested: list[str] | None
    settings: RunSettings
    moved: tuple[str, str] | None = None
    packs: Mapping[str, Pack] | None = None

    def final(self, findings: Findings) -> list[Finding]:
        """The findings, errors first, with the paths that the user knows."""
        if self.moved is None:
            return findings.sorted()
        old, new = self.moved
        return [
            replace(
                one, where=one.where.replace(old, new), what=one.what.replace(old, new), fix=one.fix.replace(old, new)
            )
            for one in findings.sorted()
        ]


def at_least_one(text: str) -> int:
    """A whole number from 1, as an argument.

    Raises:
        ArgumentTypeError: it is none.
    """
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1")
    return int(text)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments that name a target."""
    parser.add_argument(
        "work_dir",
        nargs="?",
        type=Path,
        help="a prepared work folder; without it the config is prepared in a temporary place",
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
        help="overrule one key of the config; may be repeated",
    )
    other = parser.add_argument_group("tasks of other makers")
    other.add_argument(
        "--include_path", type=Path, action="append", default=None, metavar="DIR", help="a folder of lm-eval task YAMLs"
    )
    other.add_argument("--tasks", default=None, metavar="A,B", help="names as for lm_eval --tasks (default: all)")
    other.add_argument("--model", default=None, metavar="NAME", help="the model that will be run")
    other.add_argument("--tokenizer", default=None, metavar="NAME", help="another tokenizer than the model's own")
    other.add_argument("--backend", default=None, metavar="NAME", help="lm-eval's name of the back end (default: vllm)")
    other.add_argument(
        "--max_model_len", type=at_least_one, default=None, metavar="N", help="the context length of the run"
    )
    other.add_argument(
        "--apply_chat_template", action="store_true", help="the run will apply the model's chat template"
    )
    other.add_argument("--add_bos_token", choices=["true", "false"], default=None, help="as in the run's model_args")


def _names(text: str | None) -> list[str] | None:
    return [name.strip() for name in text.split(",") if name.strip()] if text else None


def targets(args: argparse.Namespace) -> Iterator[contextlib.AbstractContextManager[Target]]:
    """What the arguments name, one context manager each; a temporary preparation is removed at its end.

    Raises:
        BadInput: a config that cannot be prepared, or a folder that is none of ours.
    """
    if args.include_path:
        yield contextlib.nullcontext(_folder_target(args))
    elif args.work_dir is not None:
        yield contextlib.nullcontext(work_dir_target(args.work_dir, _names(args.tasks), _changes(args)))
    else:
        for path in args.config_path or [Path("eval_config.yaml")]:
            yield config_target(path, args.set, _changes(args), _names(args.tasks))


def _changes(args: argparse.Namespace) -> dict[str, Any]:
    """Settings given as arguments."""
    given: dict[str, Any] = {
        key: getattr(args, key)
        for key in ("model", "tokenizer", "backend", "max_model_len")
        if getattr(args, key, None) is not None
    }
    for key in ("model", "tokenizer"):
        if key in given and not Path(given[key]).is_absolute() and Path(given[key]).is_dir():
            given[key] = (
                given[key]
                if given[key].startswith("./") or given[key].endswith("/")
                else str(Path(given[key]).resolve())
            )
    if args.apply_chat_template:
        given["apply_chat_template"] = True
    if args.add_bos_token is not None:
        given["add_bos_token"] = args.add_bos_token == "true"  # noqa: S105 - no password
    return given


def _folder_target(args: argparse.Namespace) -> Target:
    missing = [path for path in args.include_path if not path.is_dir()]
    if missing:
        raise BadInput(
            [Problem(what="is not a folder", where=str(path), fix="give a folder of task YAMLs") for path in missing]
        )
    settings = RunSettings.given(**{"backend": "vllm", **_changes(args)})
    return Target(", ".join(map(str, args.include_path)), args.include_path, _names(args.tasks), settings)


def work_dir_target(
    work_dir: Path, requested: list[str] | None = None, changes: dict[str, Any] | None = None
) -> Target:
    """A work folder with a manifest.

    Raises:
        BadInput: there is no manifest.
    """
    fix = "name a prepared work folder, or check any folder of tasks with --include_path"
    manifest = require_manifest(work_dir, fix=fix)
    settings = RunSettings.from_manifest(manifest, work_dir).changed(**(changes or {}))
    return Target(str(work_dir), [work_dir], requested or _requested(manifest), settings)


def _requested(manifest: dict[str, Any]) -> list[str]:
    names = [name for command in commands_of(manifest) for name in asked_for(command)]
    return names or [*manifest.get("tasks", {})]


@contextlib.contextmanager
def config_target(
    path: Path,
    changes_of_config: Sequence[str],
    changes: dict[str, Any] | None = None,
    requested: list[str] | None = None,
) -> Iterator[Target]:
    """Prepare a config in a temporary place; nothing of the user's is touched.

    Raises:
        BadInput: the config cannot be prepared.
    """
    from evalprep.config.file import load_config
    from evalprep.prepare.preparation import prepare

    config, packs = load_config(path, changes_of_config)
    with tempfile.TemporaryDirectory(prefix="evalprep-check-") as temporary:
        # `datasets` would otherwise keep a copy of each temporary file in the user's cache for good.
        os.environ.setdefault("HF_DATASETS_CACHE", str(Path(temporary) / "datasets"))
        build = Path(temporary).resolve() / config.core.work_dir.name
        done = prepare(config.replaced(work_dir=build), packs, check=False)
        names = list(dict.fromkeys(name for command in done.commands for name in asked_for(command)))
        folder = path.parent.resolve()
        prepared = RunSettings.from_manifest(read_manifest(build) or {}, build)
        settings = RunSettings.from_core(config.core, folder)
        settings = settings.changed(**{"chat_tasks": prepared.chat_tasks, **(changes or {})})
        yield Target(str(path), [build], requested or names, settings, (str(build), str(config.core.work_dir)), packs)
