"""Runs that were started by hand: what they wrote, and lm_eval processes that are still at work."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from evalprep.files import as_mapping, read_object
from evalprep.status.folder import DONE
from evalprep.status.lines import TaskStatus
from evalprep.yamlfile import NotYaml, yaml_value


def results_files(place: Path) -> list[Path]:
    """lm-eval's results files in an output folder or in a model's folder in it, the oldest first."""
    found = [path for pattern in ("results_*.json", "*/results_*.json") for path in place.glob(pattern)]
    return sorted(found, key=lambda path: path.stat().st_mtime)


def finished(place: Path, *, since: float = 0.0, run: str = "") -> dict[str, TaskStatus]:
    """Tasks in the results files of a folder; the newest file that has a task counts.

    Args:
        place: An output folder, or a model's folder in it.
        since: Older files are left out.
        run: Id of a run: its files count whatever their age.
    """
    from evalprep.results.invocations import invocation_of
    from evalprep.results.primary import primary_score

    lines: dict[str, TaskStatus] = {}
    for path in results_files(place):
        if path.stat().st_mtime < since and not (run and invocation_of("", path, {}).run == run):
            continue
        data = read_object(path)
        results, configs = as_mapping(data.get("results")), as_mapping(data.get("configs"))
        for name, values in results.items():
            if name not in configs:
                continue  # a group
            metadata = as_mapping(as_mapping(configs[name]).get("metadata"))
            directions = as_mapping(data.get("higher_is_better"))
            score, metric = primary_score(values, configs[name], directions.get(name))
            # lm-eval measures the call as a whole; it is the task's own time only when it ran alone.
            seconds = _number(data.get("total_evaluation_time_seconds")) if len(configs) == 1 else None
            lines[name] = TaskStatus(
                name, DONE, seconds, score=score, metric=metric, category=str(metadata.get("pack", ""))
            )
    return lines


def processes(place: Path) -> dict[str, float]:
    """Task -> seconds since its start, of live lm_eval processes that write to a folder.

    Groups of a prepared work folder are resolved. Of several processes of one call (`accelerate`, forks) the oldest
    counts.
    """
    import psutil

    found: dict[str, float] = {}
    for process in psutil.process_iter(["cmdline", "cwd", "create_time"]):
        words = process.info.get("cmdline") or []
        if not any(Path(word).name in {"lm_eval", "lm-eval"} or word == "lm_eval.__main__" for word in words):
            continue
        here = Path(process.info.get("cwd") or "/")
        options = _options(words, here)
        output, tasks = options.get("output_path"), options.get("tasks")
        if not output or not tasks:
            continue
        target = (here / output[0]).resolve()
        if target == place or place in target.parents or target in place.parents:
            age = time.time() - float(process.info["create_time"])
            folder = here / (options.get("include_path") or [""])[0]
            for name in resolve(tasks, as_mapping(read_object(folder / "manifest.json").get("groups"))):
                found[name] = max(age, found.get(name, 0.0))
    return found


def resolve(names: Iterable[str], groups: Mapping[str, Any]) -> list[str]:
    """Tasks behind names of tasks and groups, each once; a name that is no group stays."""
    found: dict[str, None] = {}
    for name in names:
        members = groups.get(name)
        for one in resolve(members, {k: v for k, v in groups.items() if k != name}) if members else [name]:
            found[one] = None
    return list(found)


def _options(words: list[str], here: Path) -> dict[str, list[str]]:
    """The values of the options that matter, of a command line and of the run configuration that it names."""
    wanted = {"--output_path": "output_path", "-o": "output_path", "--tasks": "tasks", "-t": "tasks"}
    wanted |= {"--config": "config", "-C": "config", "--include_path": "include_path"}
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for word in words:
        text = word
        if word.startswith("-"):
            option, _, text = word.partition("=")
            current = found.setdefault(wanted.get(option, ""), [])
        current += [part for part in text.split(",") if part]
    if "config" in found:
        try:
            data = yaml_value((here / found["config"][0]).read_text(encoding="utf-8"))
        except (OSError, IndexError, ValueError, NotYaml):
            data = None
        for key in ("output_path", "tasks", "include_path"):
            value = as_mapping(data).get(key)
            found.setdefault(
                key, [str(one) for one in value] if isinstance(value, list) else str(value or "").split(",")
            )
    return {key: [value for value in values if value] for key, values in found.items()}


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None
