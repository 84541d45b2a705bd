"""The whole check of a tree that was just built, before it is swapped in and its command printed.

The built task files name data under the folder that the tree will have, perhaps on another machine. lm-eval loads them
from a copy of the task files that names the data where they lie now.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from evalprep.check import Finding, Findings, RunSettings, check_full
from evalprep.check.folds import fold, more_like
from evalprep.config.schema import Config
from evalprep.errors import BadInput, Problem
from evalprep.packs.plan import Plan

#: Rows of each task whose scoring is tried; lengths, tokens and ids are looked at in all rows.
SCORED_ROWS = 200


def check_built(
    build: Path,
    config: Config,
    plan: Plan,
    requested: Sequence[str],
    progress: Callable[[str], None] = lambda _: None,
) -> list[Finding]:
    """Check a built tree as `evalprep check` would, through lm-eval.

    Args:
        build: The tree.
        config: The configuration.
        plan: What will run.
        requested: Names that the commands ask for.
        progress: Told what is being looked at.

    Returns:
        Findings, errors first; paths in them are those after the swap.
    """
    core = config.core
    chat = frozenset(name for name, task in plan.tasks.items() if task.prompt == "chat")
    settings = RunSettings.from_core(core, config.folder)
    if core.apply_chat_template is None:
        settings = replace(settings, chat_tasks=chat)
    findings = Findings()
    with _loadable(build, core.there(core.work_dir)) as copy:
        check_full([copy], list(requested), settings, findings, scored=SCORED_ROWS, progress=progress)
        return [_final(one, str(copy), str(core.work_dir)) for one in findings.sorted()]


@contextmanager
def _loadable(build: Path, final: str) -> Iterator[Path]:
    """A copy of the task files that names the data where they are, with links to everything else."""
    with tempfile.TemporaryDirectory(prefix="evalprep-check-") as temporary:
        # `datasets` would otherwise keep a copy of each file in the user's cache for good.
        before = os.environ.get("HF_DATASETS_CACHE")
        os.environ.setdefault("HF_DATASETS_CACHE", str(Path(temporary) / "datasets"))
        copy = Path(temporary).resolve() / "tasks"
        old, new = (json.dumps(text, ensure_ascii=False)[1:-1] for text in (final, str(copy)))
        for path in build.rglob("*"):
            place = copy / path.relative_to(build)
            if path.is_dir():
                place.mkdir(parents=True, exist_ok=True)
            elif path.suffix == ".yaml":
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(path.read_text(encoding="utf-8").replace(f"{old}/", f"{new}/"), encoding="utf-8")
            else:
                place.parent.mkdir(parents=True, exist_ok=True)
                place.symlink_to(path)
        try:
            yield copy
        finally:
            if before is None:
                os.environ.pop("HF_DATASETS_CACHE", None)


def raise_errors(findings: Iterable[Finding]) -> None:
    """Stop a preparation that the check calls a mistake: one problem per cause, with the way round the check.

    Raises:
        BadInput: there is an error among the findings.
    """
    problems = []
    for folded in fold(one for one in findings if one.level == "error"):
        for same in folded.causes.values():
            first = same[0]
            problems.append(
                Problem(what=f"{first.code} {first.what}{more_like(same)}", where=first.where, fix=first.advice)
            )
    if problems:
        last = problems[-1]
        problems[-1] = replace(last, fix="; ".join(filter(None, [last.fix, "--no-check prepares it all the same"])))
        raise BadInput(problems)


def _final(finding: Finding, copy: str, final: str) -> Finding:
    where, what, fix = (text.replace(copy, final) for text in (finding.where, finding.what, finding.fix))
    return replace(finding, where=where, what=what, fix=fix)
