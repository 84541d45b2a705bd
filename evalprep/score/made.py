"""What the preparation of a run planned: scores that its configuration made, and what was left out."""

from __future__ import annotations

from evalprep.packs.manifest import plan_of
from evalprep.packs.plan import Plan
from evalprep.results import Run
from evalprep.results.record import manifest_of


def plan_behind(run: Run) -> Plan:
    """The plan that a run was prepared with; empty where its files do not lead to it, or to another preparation."""
    manifest = manifest_of(run)
    ids = {task.metadata.get("run") for task in run.tasks.values()}
    return plan_of(manifest) if manifest.get("run") and manifest["run"] in ids else Plan()
