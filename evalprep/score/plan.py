"""The tasks and scores that the preparation of a run planned.

Scores that its configuration made, and what was left out.
"""

from __future__ import annotations

from evalprep.packs import Plan
from evalprep.results import Run, prepared_work


def plan_behind(run: Run) -> Plan:
    """The plan that a run was prepared with.

    It is read from the record beside the results, else from the manifest that the files lead to.

    Empty where there is neither, or the work folder is another preparation's by now.
    """
    if run.record is not None:
        return run.record
    prepared = prepared_work(run)
    if prepared is None:
        return Plan()
    ids = {task.metadata.get("run") for task in run.tasks.values()}
    prepared_ids = {model.run for model in prepared.models if model.run}
    return prepared.plan if prepared_ids & ids else Plan()
