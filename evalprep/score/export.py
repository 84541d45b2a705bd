"""The result files that a pack writes itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from evalprep.packapi import ExportRun, ExportTask
from evalprep.packs.pack import Pack
from evalprep.results import Run
from evalprep.results.seeds import question_of, seed_of, without_seed
from evalprep.score.owners import packs_of
from evalprep.score.suite import Scores


def export(
    scores: Scores, run: Run, packs: Mapping[str, Pack], out_dir: Path, *, shared_dir: Path | None = None
) -> list[Path]:
    """Let each pack of the run write its own result files (`export.py`), and return what was written.

    A pack whose export fails is named in `scores.notes`; the others still write theirs.

    Args:
        scores: The scores of the run.
        run: The run.
        packs: All packs.
        out_dir: Folder of this run's files.
        shared_dir: Folder above those of several runs. Packs whose `export.py` says `SHARED = True`, because they make
            tables over many models and keep the models apart themselves, write there.

    Raises:
        OSError: `out_dir` cannot be written.
    """
    return export_as(scores, _export_run(run), packs_of(run, packs), out_dir, shared_dir=shared_dir)


def export_as(
    scores: Scores, shown: ExportRun, packs: Iterable[Pack], out_dir: Path, *, shared_dir: Path | None = None
) -> list[Path]:
    """The same for a run as packs see it."""
    written: list[Path] = []
    for pack in packs:
        module = pack.module("export")
        own = {score.name: score.result for score in scores.suite if score.pack == pack.name}
        if module is None or not own:
            continue
        try:
            place = shared_dir if shared_dir is not None and getattr(module, "SHARED", False) else out_dir
            written += [Path(path) for path in module.export(scores=own, run=shown, out_dir=place)]
        except OSError:
            raise
        except Exception as error:  # noqa: BLE001 - the scores are computed; a pack's own files must not cost them
            scores.notes.append(f"export.py of pack {pack.name} failed: {type(error).__name__}: {error}")
    return written


def _export_run(run: Run) -> ExportRun:
    settings = run.results.get("config")
    version = run.results.get("lm_eval_version")
    return ExportRun(
        label=run.label,
        model=run.model,
        folder=run.files.folder.resolve(),
        settings=settings if isinstance(settings, dict) else {},
        lm_eval_version=None if version is None else str(version),
        tasks={
            name: ExportTask(
                name,
                run.files.samples.get(name, task.path),
                task.config,
                task.scores,
                task.samples,
                question_of(run, task),
            )
            for name, task in run.tasks.items()
        },
        excluded=dict(run.excluded),
        id=run.id,
        seed=seed_of(run),
        without_seed=without_seed(run.model)[0],
    )
