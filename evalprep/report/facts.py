"""What a run was: versions, arguments, command, seeds, hashes; side by side where there are several."""

from __future__ import annotations

import json
import shlex
from datetime import UTC, datetime
from typing import Any

from evalprep.credentials import without_secrets
from evalprep.files import as_mapping
from evalprep.packs.manifest import commands_of
from evalprep.results import Run
from evalprep.results.record import manifest_of

_SEEDS = ("random_seed", "numpy_seed", "torch_seed", "fewshot_seed")
_SETTINGS = ("batch_size", "device", "limit", "gen_kwargs", "use_cache", "bootstrap_iters")
_PROMPTING = ("system_instruction", "fewshot_as_multiturn", "chat_template_sha", "max_length")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _entry(group: str, name: str, value: Any) -> dict[str, str] | None:
    return None if value in (None, "", {}, []) else {"group": group, "name": name, "value": _text(value)}


def facts_of(run: Run) -> list[dict[str, str]]:
    """Every fact that the run's files state, as (group, name, value); secrets are masked.

    Facts of the preparation (sources and their revisions, the printed command) come from the manifest of work_dir, as
    long as it lies where the run read its data.
    """
    results = run.results
    config = without_secrets(dict(as_mapping(results.get("config"))))
    arguments = config.get("model_args")
    found = [
        _entry("Run", "model", run.model),
        _entry("Run", "folder", str(run.files.folder)),
        _entry("Run", "time stamp", run.files.stamp),
        _entry("Run", "started", _moment(results.get("date"))),
        _entry("Run", "evaluation time", _seconds(results.get("total_evaluation_time_seconds"))),
        _entry("Run", "back end", config.get("model")),
        *(_entry("Run", name, config.get(name)) for name in _SETTINGS),
        *(_entry("Model arguments", name, value) for name, value in sorted(as_mapping(arguments).items())),
        _entry("Model arguments", "all", arguments if isinstance(arguments, str) else None),
        *(_entry("Prompting", name, results.get(name)) for name in _PROMPTING),
        _entry("Prompting", "chat template", "applied" if results.get("chat_template") else "not applied"),
        *(_entry("Seeds", name.removesuffix("_seed"), config.get(name)) for name in _SEEDS),
        _entry("Versions", "lm-eval", results.get("lm_eval_version")),
        _entry("Versions", "transformers", results.get("transformers_version")),
        _entry("Versions", "git", results.get("git_hash")),
        *(_entry("Task versions", name, value) for name, value in as_mapping(results.get("versions")).items()),
        *(_entry("Task hashes", name, value) for name, value in as_mapping(results.get("task_hashes")).items()),
    ]
    return [entry for entry in found if entry is not None] + _prepared(run)


def _prepared(run: Run) -> list[dict[str, str]]:
    manifest = without_secrets(manifest_of(run))
    commands = [shlex.join(one.argv) for one in commands_of(manifest)]
    created = manifest.get("created")
    found = [
        _entry("Preparation", "prepared", created),
        _entry("Preparation", "changed since", _later(created, run.results.get("date"))),
        _entry("Preparation", "command", "\n".join(commands) or None),
        *(
            _entry("Versions", f"{name} at preparation", value)
            for name, value in as_mapping(manifest.get("versions")).items()
        ),
    ]
    for source in manifest.get("sources") or []:
        if isinstance(source, dict):
            files = source.get("files") or []
            pinned = source.get("revision") or ", ".join(str(file.get("sha256", ""))[:16] for file in files)
            name = " ".join(str(source[key]) for key in ("location", "config", "split") if source.get(key))
            found.append(_entry("Sources", name, f"{source.get('rows')} rows, {pinned}"))
    return [entry for entry in found if entry is not None]


def _later(created: Any, started: Any) -> str | None:
    """A warning where work_dir was prepared anew after the run started: the manifest may speak of other data."""
    try:
        anew = datetime.fromisoformat(created).timestamp() > float(started)
    except (TypeError, ValueError):
        return None
    return "work_dir was prepared anew after this run started; sources and command may be others" if anew else None


def _moment(value: Any) -> str | None:
    if not isinstance(value, (int, float)):
        return None
    return datetime.fromtimestamp(value, UTC).isoformat(sep=" ", timespec="seconds")


def _seconds(value: Any) -> str | None:
    try:
        return f"{float(value):.1f} s"
    except (TypeError, ValueError):
        return None
