"""The result files that a pack writes itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from evalprep.packs import Pack
from evalprep.readers import stored_values
from evalprep.results import (
    Provenance,
    Run,
    matches,
    provenance_of,
    question_of,
    seed_of,
    without_seed,
)
from evalprep.score.owners import packs_of
from evalprep.score.suite import Scores

if TYPE_CHECKING:
    from evalprep.packapi import ExportRun


def export(
    scores: Scores,
    run: Run,
    packs: Mapping[str, Pack],
    out_dir: Path,
    *,
    shared_dir: Path | None = None,
) -> list[Path]:
    """Lets each pack of the run write its own result files; returns their paths.

    A pack also writes its files where `export.py` lists tasks or groups of lm-eval itself (`ALSO`,
    patterns) that the run has: benchmarks that belong to it and are no tasks of its own.

    A pack whose export fails is named in `scores.notes`; the others still write theirs.

    Args:
        scores: The scores of the run.
        run: The run.
        packs: All packs.
        out_dir: Folder of this run's files.
        shared_dir: Folder above those of several runs. Packs whose `export.py` says `SHARED =
            True`, because they make tables over many models and keep the models apart themselves,
            write there.

    Raises:
        OSError: `out_dir` cannot be written.
    """
    shown = _export_run(run)
    own = packs_of(run, packs)
    also = [pack for pack in packs.values() if pack not in own and _takes(pack, shown)]
    return export_as(scores, shown, [*own, *also], out_dir, shared_dir=shared_dir)


def _takes(pack: Pack, run: ExportRun) -> bool:
    """Returns whether a pack writes files about tasks of lm-eval itself that the run has."""
    file = pack.folder / "export.py"
    # Few packs do, and to import the modules of all takes as long as to score a run.
    if not file.is_file() or "ALSO" not in file.read_text(encoding="utf-8"):
        return False
    patterns = getattr(pack.module("export"), "ALSO", ())
    return matches(run.lines, patterns)


def export_as(
    scores: Scores,
    shown: ExportRun,
    packs: Iterable[Pack],
    out_dir: Path,
    *,
    shared_dir: Path | None = None,
) -> list[Path]:
    """The same for a run as packs see it."""
    written: list[Path] = []
    for pack in packs:
        module = pack.module("export")
        own = {
            score.name: score.result.to_dict() for score in scores.suite if score.pack == pack.name
        }
        if module is None or not (own or _takes(pack, shown)):
            continue
        place = out_dir
        if shared_dir is not None and getattr(module, "SHARED", False):
            place = shared_dir  # of tables over many models
        try:
            written += [Path(path) for path in module.export(scores=own, run=shown, out_dir=place)]
        except OSError:
            raise
        except Exception as error:  # noqa: BLE001
            # The scores are computed; a pack's own files must not cost them.
            scores.notes.append(
                f"export.py of pack {pack.name} failed: {type(error).__name__}: {error}"
            )
    return written


def _export_run(run: Run) -> ExportRun:
    # Few commands export, and this import takes long.
    from evalprep.packapi import ExportRun, ExportTask

    return ExportRun(
        label=run.label,
        model=run.model,
        folder=run.files.folder.resolve(),
        settings=run.settings.as_logged,
        lm_eval_version=run.settings.lm_eval_version or None,
        tasks={
            name: ExportTask(
                name=name,
                path=run.files.samples.get(name, task.path),
                config=task.logged.settings.as_logged,
                scores=stored_values(task.logged.metrics),
                samples=task.samples,
                source=None if name in run.files.samples else task.source,
                question=question_of(run, task),
            )
            for name, task in run.tasks.items()
        },
        excluded=dict(run.excluded),
        lines={name: stored_values(metrics) for name, metrics in run.outermost.items()},
        id=run.id,
        seed=seed_of(run),
        without_seed=without_seed(run.model)[0],
        name=run.named,
        provenance=partial(_provenance, run),
    )


def _provenance(run: Run) -> Provenance:
    """The origin of a run's numbers; its imports are of use for packs that state it alone."""
    from evalprep.annotate import annotators_of

    return provenance_of(run, annotators_of(run))
