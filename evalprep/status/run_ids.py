"""The ids of the runs of a work folder: as they were prepared, and as its files are now.

The only owner of which ids count as results of a prepared run.
"""

from __future__ import annotations

from evalprep.model import fingerprint_of
from evalprep.packs import Answerer, Prepared, first_stage, run_id


def runs_now(prepared: Prepared, replies: str = "") -> dict[str, str]:
    """Id of each prepared run -> its id as the files are now.

    An edit of what a task or a command asks is another run, and so are other weights in the folder
    of the model. An edit of how replies are read is not.

    Args:
        prepared: The work folder.
        replies: Digest of the files with replies of another engine; empty where the back end
            answers.
    """
    if not prepared.run:
        return {}
    content = first_stage(prepared.plan, prepared.folder, prepared.named_folder)
    fingerprints = fingerprints_now(prepared)
    runs = {}
    for model in prepared.models:
        answerer = Answerer(model.model, model.model_args, fingerprints, replies)
        config = {**prepared.config, "model_revision": model.revision}
        calls = [prepared.configuration(command) for command in prepared.commands_of(model.run)]
        runs[model.run] = run_id(answerer, config, calls, prepared.plan, content)
    return runs


def fingerprints_now(prepared: Prepared) -> dict[str, str]:
    """Path of a model, as the commands name it -> its fingerprint.

    Of a model that is not on this machine it is that of the preparation. One that was not there at
    preparation stays known by its name alone, so that its run keeps its id.
    """
    base = prepared.config_folder or prepared.folder.parent
    return {
        name: fingerprint_of(base / name) or stated
        for name, stated in prepared.fingerprints.items()
    }


def runs_that_count(prepared: Prepared, run: str) -> tuple[str, ...]:
    """The ids whose results count for a prepared run.

    First the id of the files as they are now: `evalprep run` gives it to its results. Then the id
    of the preparation, which a pasted command keeps; of its results those of tasks that were edited
    later do not count (`done.is_outdated`).

    Args:
        prepared: The work folder.
        run: Id of the run as it was prepared.
    """
    now = runs_now(prepared).get(run, run) if run else run
    return tuple(dict.fromkeys((now, run)))
