"""The scores of a reference run: computed from another run's samples, or read from a log."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from evalprep.errors import BadInput, Problem
from evalprep.packs.pack import Pack
from evalprep.results import EACH, Run, load_run

Results = Mapping[str, Mapping[str, Any]]


def open_reference(path: Path, packs: Iterable[Pack]) -> Run | Results:
    """Open `--reference`: an lm-eval run, a log that a pack can read, or a `scores.json` of this tool.

    Raises:
        BadInput: none of these.
    """
    if path.is_file() or path.is_dir():
        for pack in packs:
            module = pack.module("references")
            try:
                found = module.load(path) if module is not None else None
            except BadInput:
                raise
            except Exception as error:
                raise BadInput(
                    Problem(
                        what=f"references.py of pack {pack.name} failed: {error!r}",
                        where=f"--reference {path}",
                        fix=f"mend the file, or {pack.folder / 'references.py'}",
                    )
                ) from error
            if found:
                return {str(name): dict(result) for name, result in found.items()}
        if (scores := own_scores(path)) is not None:
            return scores
    try:
        return load_run(path, timestamp=EACH)
    except BadInput as error:
        if not path.exists():
            raise
        raise BadInput(
            Problem(
                what="neither a run nor a log of reference scores",
                where=f"--reference {path}",
                allowed="a folder that lm_eval wrote, a scores.json of `evalprep score`, or a log that the pack reads",
            )
        ) from error


def named_reference(run: Run, packs: Iterable[Pack]) -> Run | Results | None:
    """Open the reference that the run's tasks name (`metadata.reference`); what became of it goes into the run's notes.

    None, with a note, for one that is gone, that is no reference, or that is not the same for all tasks: a setting of
    another day must not cost the scores that need none.
    """
    named = sorted({str(found) for task in run.tasks.values() if (found := task.metadata.get("reference"))})
    if not named:
        return None
    reference = None
    if len(named) > 1:
        note = f"scored without a reference, since the tasks name several: {', '.join(named)}"
    elif not Path(named[0]).exists():
        note = f"scored without the reference that the tasks name, which is not here: {named[0]}"
    else:
        try:
            reference = open_reference(Path(named[0]), packs)
            note = f"reference: {named[0]}, as the tasks name it"
        except BadInput as error:
            note = f"scored without the reference that the tasks name: {named[0]}: {error.problems[0].what}"
    note = f"{note}; --reference names another"
    if note not in run.notes:
        run.notes.append(note)
    return reference


def own_scores(path: Path) -> Results | None:
    """The results in a `scores.json` of this tool, by `pack/name`; None for anything else."""
    file = path / "scores.json" if path.is_dir() else path
    if file.suffix != ".json" or not file.is_file():
        return None
    try:
        content = json.loads(file.read_bytes())
    except ValueError:
        return None
    scores = content.get("results") if isinstance(content, dict) and content.get("kind") == "evalprep scores" else None
    return scores if isinstance(scores, dict) else None
