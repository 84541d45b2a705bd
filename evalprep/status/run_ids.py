"""The ids of the runs of a work folder: as they were prepared, and as its files are now.

The only owner of which ids count as results of a prepared run.
"""

from __future__ import annotations

from evalprep.packs import Prepared, PreparedModel, run_id, subject_of


def runs_now(prepared: Prepared) -> dict[str, str]:
    """Id of each prepared run -> its id as the files are now.

    An edit is another run. Release 0.1.0 knew no ids.
    """
    if not prepared.run:
        return {}
    return {model.run: _run_now(model, prepared) for model in prepared.models}


def runs_that_count(prepared: Prepared, run: str) -> tuple[str, ...]:
    """The ids whose results count for a prepared run.

    First the id of the files as they are now: `evalprep run` gives it to its results. Then the id
    of the preparation, which a pasted command keeps; of its results those of tasks that were edited
    later do not count (`done.is_outdated`).

    Args:
        prepared: The work folder.
        run: Id of the run as it was prepared; empty for a preparation of release 0.1.0.
    """
    edited = [_run_now(model, prepared) for model in prepared.models if run and model.run == run]
    return tuple(dict.fromkeys((*edited, run)))


def _run_now(model: PreparedModel, prepared: Prepared) -> str:
    """The id of one model's run as the files are now."""
    return run_id(
        subject_of(model.model, model.model_args),
        {**prepared.config, "model_revision": model.revision},
        prepared.plan,
        folder=prepared.folder,
        work_dir=prepared.named_folder,
    )
