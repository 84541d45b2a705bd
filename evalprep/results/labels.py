"""Short names that tell runs apart."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from evalprep.errors import BadInput, Problem
from evalprep.results.run import Run
from evalprep.terminal import counted

# What lm-eval replaces where it makes a folder's name of a model's.
_NOT_IN_A_NAME = re.compile(r"[\"<>:/\\|?*\[\]]+")


def _parts(run: Run) -> list[str]:
    return [part for part in run.model.replace("\\", "/").split("/") if part not in ("", ".")] or [
        run.model
    ]


def _name(run: Run) -> str:
    return _parts(run)[-1]


def _with_folder(run: Run) -> str:
    return "/".join(_parts(run)[-2:])


def _with_revision(run: Run) -> str:
    arguments = run.arguments
    settings = [
        str(arguments[key]) for key in ("revision", "peft", "lora_local_path") if arguments.get(key)
    ]
    return ", ".join([_name(run), *settings])


def _output(run: Run) -> tuple[str, ...]:
    return (run.log or run.files.folder.resolve()).parts


def _folder(run: Run, above: int) -> str:
    """The label by the folder that somebody named, or by one above it.

    lm-eval makes a further folder inside, named after the model, or by chance without a name.
    """
    parts = _output(run)
    names_of_lm_eval = {_NOT_IN_A_NAME.sub("__", run.model), run.settings.folder}
    named = len(parts) - 1
    if len(parts) > 1 and parts[-1] in names_of_lm_eval:
        named -= 1
    return f"{_name(run)}, {parts[max(named - above, 0)]}"


def _with_output(run: Run) -> str:
    return f"{_name(run)}, {'/'.join(_output(run)[-2:])}"


def _with_file(run: Run) -> str:
    file = run.files.given_name
    return f"{_name(run)}, {file}" if file not in ("", _name(run)) else _name(run)


def _with_time(run: Run) -> str:
    return _name(run) if run.log else f"{_name(run)}, {run.files.stamp[11:19].replace('-', ':')}"


def _with_day(run: Run) -> str:
    if run.log:
        return _name(run)
    day, time = run.files.stamp[:10], run.files.stamp[11:19]
    return f"{_name(run)}, {day} {time.replace('-', ':')}"


# From the shortest to what always tells two files apart.
_WAYS: tuple[Callable[[Run], str], ...] = (
    *(_name, _with_folder, _with_revision),
    *(partial(_folder, above=above) for above in range(3)),
    *(_with_file, _with_time, _with_day, _with_output),
)


def _bad_labels(what: str) -> BadInput:
    fix = "give one label for each run, in their order"
    return BadInput(Problem(what=what, where="--label", fix=fix))


def label_runs(runs: Sequence[Run], labels: Sequence[str] = ()) -> list[Run]:
    """Returns every run with a label of its own.

    A label that is given counts; the others get the first of model name, model name with parent
    folder, with revision, with the folder that its output went to or one of two above, with its
    file where a person named that, with the time of the run, with the folder of its files, by which
    no two are the same.

    Args:
        runs: The runs, the candidate first.
        labels: Labels in the order of the runs; fewer, or empty ones, leave the rest to be found.

    Raises:
        BadInput: more labels than runs, or the same one twice.
    """
    chosen_labels = [*labels, *[""] * (len(runs) - len(labels))]
    named = [label for label in labels if label]
    if len(labels) > len(runs):
        raise _bad_labels(f"{counted(len(labels), 'label')} for {counted(len(runs), 'run')}")
    if len(set(named)) < len(named):
        raise _bad_labels("one label for two runs")
    run_labels = _different_labels(runs, chosen_labels)
    return [replace(run, named=label) for run, label in zip(runs, run_labels, strict=True)]


def _different_labels(runs: Sequence[Run], chosen_labels: Sequence[str]) -> list[str]:
    """A label for each run by the first way that tells all runs apart; else numbered."""
    run_labels: list[str] = []
    for way in _WAYS:
        run_labels = [label or way(run) for run, label in zip(runs, chosen_labels, strict=True)]
        if len(set(run_labels)) == len(run_labels):
            return run_labels
    return [
        f"{label} ({at + 1})" if run_labels.count(label) > 1 else label
        for at, label in enumerate(run_labels)
    ]
