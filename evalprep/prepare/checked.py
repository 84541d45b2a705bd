"""The whole check of a tree that was just built, before it is swapped in and its command printed.

The built task files name data under the folder that the tree will have, perhaps on another machine.
lm-eval loads them from a copy of the task files that names the data where they lie now.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path

from evalprep.check import (
    ASKED_BY_PACK,
    Finding,
    Findings,
    RunSettings,
    check_full,
    fold,
    more_like,
)
from evalprep.errors import BadInput
from evalprep.files import read_text
from evalprep.packs import MANIFEST
from evalprep.prepare.build import Preparation
from evalprep.prepare.origins import named_by_origin
from evalprep.prepare.ownfolders import FOLDER as OWN_TASKS
from evalprep.temporary import OwnFolder

#: Rows of each task whose scoring is tried; lengths, tokens and ids are looked at in all rows.
SCORED_ROWS = 200


def check_built(
    built: Preparation, progress: Callable[[str], None], *, stop: bool
) -> list[Finding]:
    """Checks a built tree as `evalprep check` would, through lm-eval.

    Args:
        built: The tree.
        progress: Gets the name of each step.
        stop: Raise what is an error, those of the files before lm-eval is imported.

    Returns:
        Findings, errors first; paths in them are those after the swap.

    Raises:
        BadInput: there is an error, and `stop`.
    """
    findings = Findings()
    with loadable(built) as copy:

        def moved() -> list[Finding]:
            return [known_to_user(built, copy, finding) for finding in findings.sorted()]

        def raise_moved() -> None:
            if stop:
                raise_errors(moved())

        def is_repeated(finding: Finding) -> bool:
            # What the author of a pack decided, which `evalprep check` shows, would come at every
            # preparation; and a task that replaces one of lm-eval has a note of its own.
            if finding.code == "EP607":
                return finding.what.endswith(ASKED_BY_PACK)
            return finding.code == "EP105" and built.joined.selection.own.has(finding.task)

        check_full(
            [copy],
            built.requested,
            settings_of(built),
            findings,
            scored=SCORED_ROWS,
            progress=progress,
            after_files=raise_moved,
        )
        findings.take(is_repeated)
        raise_moved()
        return moved()


def known_to_user(built: Preparation, copy: Path, finding: Finding) -> Finding:
    """The finding with the paths that the user knows.

    Args:
        built: The folder.
        copy: The copy of it that was checked; modules in it are links to the folder.
        finding: The finding.
    """
    final = str(built.joined.work_dir)
    after_swap = finding.moved(str(copy), final).moved(str(built.folder), final)
    return named_by_origin(built, after_swap)


def without_reason_of_command(built: Preparation, findings: Sequence[Finding]) -> list[Finding]:
    """Returns the findings without the one that repeats a note of the command.

    The command itself says why it is for a machine with GPUs.
    """
    reason = settings_of(built).destination.note
    return [finding for finding in findings if finding.code != "EP730" or finding.what != reason]


def settings_of(built: Preparation) -> RunSettings:
    """The run that a built tree is for."""
    config = built.joined.config
    return RunSettings.from_core(config.core, config.folder).with_plan(built.plan)


@contextmanager
def loadable(built: Preparation) -> Iterator[Path]:
    """A copy of the task files that names the data where they are.

    It links to everything else.
    """
    with OwnFolder("check") as temporary, _datasets_in(temporary):
        copy = Path(temporary).resolve() / "tasks"
        final, now = (_as_written(f"{folder}/") for folder in (built.joined.final, str(copy)))
        for path in built.folder.rglob("*"):
            _copy_or_link(path, copy / path.relative_to(built.folder), final, now)
        # The copy includes the user's files and data where they are on this machine.
        prefixes = built.joined.config.core.path_prefix
        for path in (copy / OWN_TASKS).glob("*.yaml") if prefixes else ():
            text = read_text(path, own=True)
            for here, there in prefixes.items():
                text = text.replace(_as_written(there), _as_written(here))
            path.write_text(text, encoding="utf-8")
        yield copy


def _as_written(path: str) -> str:
    """A path as it stands inside a string of a rendered YAML."""
    return json.dumps(path, ensure_ascii=False)[1:-1]


@contextmanager
def _datasets_in(folder: str) -> Iterator[None]:
    """Lets `datasets` keep its copies of files here.

    It would leave them in the user's cache for good.
    """
    before = os.environ.get("HF_DATASETS_CACHE")
    os.environ.setdefault("HF_DATASETS_CACHE", str(Path(folder) / "datasets"))
    try:
        yield
    finally:
        if before is None:
            os.environ.pop("HF_DATASETS_CACHE", None)


def _copy_or_link(path: Path, target: Path, final: str, now: str) -> None:
    if path.is_dir():
        target.mkdir(parents=True, exist_ok=True)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".yaml":
        text = read_text(path, own=True).replace(final, now)
        target.write_text(text, encoding="utf-8")
    elif path.name == MANIFEST:
        shutil.copyfile(path, target)  # records are not read through links out of their folder
    else:
        target.symlink_to(path)


def raise_errors(findings: Iterable[Finding]) -> None:
    """Stops a preparation that the check calls a mistake.

    There is one problem per cause, with the way round the check.

    Raises:
        BadInput: there is an error among the findings.
    """
    errors = fold(finding for finding in findings if finding.level == "error")
    causes = chain.from_iterable(folded.causes.values() for folded in errors)
    problems = []
    for same in causes:
        problem = same[0].as_problem()
        problems.append(replace(problem, what=f"{problem.what}{more_like(same)}"))
    if problems:
        last = problems[-1]
        way_round = "--check off prepares it all the same"
        fix = f"{last.fix}; {way_round}" if last.fix else way_round
        raise BadInput([*problems[:-1], replace(last, fix=fix)])
