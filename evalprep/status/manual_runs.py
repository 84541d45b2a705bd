"""Runs that were started by hand: what they wrote, and lm_eval processes that are still at work."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from evalprep.files import as_mapping
from evalprep.packs import load_prepared
from evalprep.results import DONE
from evalprep.status.lines import TaskStatus
from evalprep.yamltext import NotYaml, yaml_value

if TYPE_CHECKING:
    from evalprep.results import RunResults

#: Last parts of the words that start lm_eval; the last ones are modules of ours.
_PROGRAMS = frozenset(
    {"lm_eval", "lm-eval", "lm_eval.__main__", "evalprep.run.rehearsal", "evalprep.run.launcher"}
)


def results_files(place: Path) -> list[Path]:
    """lm-eval's results files in an output folder, the oldest first.

    Or in a model's folder in it, or in several folders below.
    """
    from evalprep.results import results_below

    return sorted(results_below(place), key=lambda path: path.stat().st_mtime)


def finished(place: Path, *, since: float = 0.0, run: str = "") -> dict[str, TaskStatus]:
    """Tasks in the results files of a folder; the newest file that has a task counts.

    Args:
        place: An output folder, or a model's folder in it.
        since: Older files are left out.
        run: Id of a run: its files count whatever their age.
    """
    from evalprep.results import invocation_of

    lines: dict[str, TaskStatus] = {}
    for path in results_files(place):
        is_old = path.stat().st_mtime < since
        if is_old and not (run and invocation_of("", path, {}).run == run):
            continue
        lines |= _lines_of(path, _read(path))
    return lines


@dataclass(frozen=True)
class _Place:
    """The place of one run by hand: a folder, and a name where that holds several."""

    folder: Path
    name: str

    def prefix(self, start: Path, names_in_folder: int) -> str:
        """The shortest path below `start` that only this run has."""
        parts = [*self.folder.relative_to(start).parts]
        if names_in_folder > 1:
            parts.append(self.name)
        return "/".join(parts)


def finished_by_folder(place: Path) -> dict[str, TaskStatus]:
    """The same of a folder that may hold several models.

    A task with results of several runs has a line for each, with folder and name of the run in
    front: the name of the file where a person gave it, else that of the model.
    """
    lines: dict[tuple[_Place, str], TaskStatus] = {}
    for path in results_files(place):
        logged = _read(path)
        lines |= {(_place_of(path, logged), name): line for name, line in _lines_of(path, logged)}
    runs_by_task = Counter(name for _, name in lines)
    runs_by_folder = Counter(run.folder for run in {run for run, _ in lines})
    named: dict[str, TaskStatus] = {}
    for (run, name), line in lines.items():
        prefix = run.prefix(place, runs_by_folder[run.folder])
        shown = name if runs_by_task[name] == 1 else f"{prefix}/{name}"
        named[shown] = replace(line, name=shown)
    return named


def _place_of(path: Path, logged: RunResults) -> _Place:
    """The run that a results file belongs to: files that lm-eval named are one run per model."""
    from evalprep.results import is_stamped

    model = logged.settings.model.rstrip("/").rpartition("/")[2]
    return _Place(path.parent, model if is_stamped(path) else path.stem)


def _read(path: Path) -> RunResults:
    from evalprep.results import read_results

    return read_results(path)[0]


def _lines_of(path: Path, logged: RunResults) -> Iterator[tuple[str, TaskStatus]]:
    """Yields each task with its line, of a results file."""
    from evalprep.results import primary_score, whole_call

    # lm-eval measures the call as a whole; it is the task's own time only when it ran alone.
    seconds = whole_call(logged).effort.seconds if len(logged.tasks) == 1 else None
    for name, task in logged.tasks.items():
        score, metric = primary_score(task)
        line = TaskStatus(
            name,
            DONE,
            seconds,
            score=score,
            metric=metric,
            category=str(task.settings.metadata.get("pack", "")),
            written=path.stat().st_mtime,
        )
        yield name, line


def processes(place: Path) -> dict[str, float]:
    """Task -> seconds since its start, of live lm_eval processes that write to a folder.

    Groups of a prepared work folder are resolved. Of several processes of one call (`accelerate`,
    forks) the oldest counts.
    """
    import psutil

    ages: dict[str, float] = {}
    for process in psutil.process_iter(["cmdline", "cwd", "create_time"]):
        words = process.info.get("cmdline") or []
        if not _is_call_of_lm_eval(words):
            continue
        here = Path(process.info.get("cwd") or "/")
        options = _options(words, here)
        output, tasks = options.get("output_path"), options.get("tasks")
        if not output or not tasks:
            continue
        target = (here / output[0]).resolve()
        if target.is_relative_to(place) or place.is_relative_to(target):
            age = time.time() - float(process.info["create_time"])
            for name in resolve(tasks, _groups_in(options, here)):
                ages[name] = max(age, ages.get(name, 0.0))
    return ages


def _is_call_of_lm_eval(words: Sequence[str]) -> bool:
    return any(Path(word).name in _PROGRAMS for word in words)


def _groups_in(options: Mapping[str, Sequence[str]], here: Path) -> Mapping[str, list[str]]:
    """The groups of the prepared work folder that a command names."""
    paths = options.get("include_path") or [""]
    prepared = load_prepared(here / paths[0])
    return {} if prepared is None else prepared.groups


def resolve(names: Iterable[str], groups: Mapping[str, Sequence[str]]) -> list[str]:
    """Tasks behind names of tasks and groups, each once; a name that is no group stays."""
    tasks: list[str] = []
    for name in names:
        members = groups.get(name)
        if members:
            other_groups = {group: groups[group] for group in groups if group != name}
            tasks += resolve(members, other_groups)
        else:
            tasks.append(name)
    return list(dict.fromkeys(tasks))


def _configured_options(here: Path, names: Sequence[str]) -> dict[str, list[str]]:
    """The same options of a run configuration; empty values where it cannot be read."""
    try:
        data = yaml_value((here / names[0]).read_text(encoding="utf-8"))
    except (OSError, IndexError, ValueError, NotYaml):
        data = None
    values: dict[str, list[str]] = {}
    for key in ("output_path", "tasks", "include_path"):
        value = as_mapping(data).get(key)
        listed = value if isinstance(value, list) else str(value or "").split(",")
        values[key] = [str(item) for item in listed]
    return values


def _options(words: list[str], here: Path) -> dict[str, list[str]]:
    """The values of the options that matter.

    Of a command line and of the run configuration that it names.
    """
    key_of_option = {
        "--output_path": "output_path",
        "-o": "output_path",
        "--tasks": "tasks",
        "-t": "tasks",
    }
    key_of_option |= {"--config": "config", "-C": "config", "--include_path": "include_path"}
    values_by_key: dict[str, list[str]] = {}
    current: list[str] = []
    for word in words:
        text = word
        if word.startswith("-"):
            option, _, text = word.partition("=")
            current = values_by_key.setdefault(key_of_option.get(option, ""), [])
        current += [part for part in text.split(",") if part]
    if "config" in values_by_key:
        configured = _configured_options(here, values_by_key["config"])
        values_by_key = {**configured, **values_by_key}
    return {key: [value for value in values if value] for key, values in values_by_key.items()}
