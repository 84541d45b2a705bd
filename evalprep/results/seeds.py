"""Runs of one model with other seeds: of its training, as its name tells, or of the run."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from evalprep.results.facts import Fact, facts_of
from evalprep.results.run import Run
from evalprep.results.task import TaskRun
from evalprep.samples import text_hash

# `tulu_7b-seed42`, `seed_3`, `my.seed=1`; upstream programmes name their folders so.
_SEED = re.compile(r"(?:^|[-_.])seed[-_=.]?(\d{1,12})(?![0-9a-z])", re.IGNORECASE)
_NO_MATTER = frozenset({"seed", "batch_size", "versions"})
_SEEDS = ("random", "numpy", "torch")  # few-shot examples belong to the question


def without_seed(name: str) -> tuple[str, str]:
    """A name or path without the parts that name a seed, and the seed.

    An empty seed where it names none.

    >>> without_seed("tulu_7b-seed42"), without_seed("out/seed1/llama"), without_seed("seedling-7b")
    (('tulu_7b', '42'), ('out/llama', '1'), ('seedling-7b', ''))
    """
    all_seeds: list[str] = []
    parts = []
    for part in name.replace("\\", "/").split("/"):
        seeds = _SEED.findall(part)
        rest = _SEED.sub("", part) if seeds else part
        all_seeds += seeds
        if rest or not seeds:
            parts.append(rest)
    return "/".join(parts) or name, "-".join(all_seeds)


def seed_of(run: Run) -> str:
    """The seed of the training, as the model's name tells it, and that of the run.

    Empty where none is known.
    """
    seeds, engine = run.settings.seeds, run.arguments.get("seed")
    own = [str(seeds[use]) for use in _SEEDS if seeds.get(use) is not None]
    ran = str(engine) if engine is not None else "/".join(dict.fromkeys(own))
    return ", ".join(
        filter(None, (without_seed(run.model)[1] or without_seed(run.files.folder.name)[1], ran))
    )


def seed_groups(runs: Sequence[Run]) -> list[list[Run]]:
    """Runs put together that differ in their seeds alone.

    They are one model, asked the same question in the same manner. A run whose seed is not known,
    or is that of a run of its group, stays alone: two runs of one seed are no two seeds.

    Args:
        runs: Runs in any order.

    Returns:
        The groups in the order of their first runs.
    """
    groups: list[list[Run]] = []
    for run in runs:
        home = next((group for group in groups if _belongs(run, group)), None)
        if home is None:
            groups.append([run])
        else:
            home.append(run)
    return groups


def _belongs(run: Run, group: Sequence[Run]) -> bool:
    """Returns whether a run has a seed of its own in a group and differs in nothing else."""
    seed = seed_of(run)
    if not seed:
        return False
    return all(seed_of(member) not in {"", seed} and _alike(run, member) for member in group)


def _alike(run: Run, other: Run) -> bool:
    """Returns whether two runs differ in nothing but seeds, as far as their shared tasks show."""
    if without_seed(run.model)[0] != without_seed(other.model)[0]:
        return False
    shared = [name for name in run.tasks if name in other.tasks]
    # Logs that state their scores alone say nothing of the questions.
    stated_alone = bool(run.stated and other.stated) and not run.tasks and not other.tasks
    return (bool(shared) or stated_alone) and all(
        question_of(run, run.tasks[name]) == question_of(other, other.tasks[name])
        for name in shared
    )


def question_of(run: Run, task: TaskRun) -> str:
    """A digest of how a task was asked and in which manner.

    Whatever the model's name and the seeds.
    """
    facts = _without_seeds(facts_of(run, task))
    question = {
        name: facts[name].value
        for name in sorted(facts)
        if facts[name].kind != "counts" and name != "model"
    }
    text = json.dumps(question, sort_keys=True, default=str, ensure_ascii=False)
    return text_hash(text)[:16]


def _without_seeds(facts: dict[str, Fact]) -> dict[str, Fact]:
    kept = {name: fact for name, fact in facts.items() if name not in _NO_MATTER}
    arguments = kept.get("backend_args")
    if arguments is not None and isinstance(arguments.value, dict) and "seed" in arguments.value:
        rest = {name: value for name, value in arguments.value.items() if name != "seed"}
        kept["backend_args"] = Fact(rest or None, arguments.source, arguments.kind)
        if not rest:
            del kept["backend_args"]
    return kept
