"""EP731: what computes values after the run, and lacks on this machine what it needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from evalprep.check.finding import Findings
from evalprep.errors import BadInput

if TYPE_CHECKING:
    from evalprep.packs import Pack, Plan, Prepared, TaskPlan


def check_annotators(prepared: Prepared, packs: Mapping[str, Pack], findings: Findings) -> None:
    """Reports the annotators of the planned tasks that cannot work here.

    The scores that then have no value are named.

    Args:
        prepared: A prepared folder.
        packs: The packs whose annotators may be imported: the project's and the user's own, never
            one that a folder of somebody else's names.
        findings: Gets what is found.
    """
    plan = prepared.plan
    owners = {name: task.pack for name, task in prepared.tasks.items()}
    running = {name: task for name, task in plan.tasks.items() if name not in plan.excluded}
    for name in dict.fromkeys(owners[task] for task in running if task in owners):
        if (pack := packs.get(name)) is not None:
            _check_pack(
                pack,
                {
                    task: task_plan
                    for task, task_plan in running.items()
                    if owners.get(task) == name
                },
                plan,
                findings,
            )


def _check_pack(pack: Pack, tasks: Mapping[str, TaskPlan], plan: Plan, findings: Findings) -> None:
    try:
        if pack.module("annotators") is None:
            return
        from evalprep.annotate import lacks, pack_annotators

        known = pack_annotators(pack)
    except BadInput as error:
        findings.add("EP731", str(pack.folder / "annotators.py"), error.problems[0].what)
        return
    for annotator in known.values():
        its_tasks = [
            name
            for name, task in tasks.items()
            if annotator.name in task.annotators or name in annotator.tasks
        ]
        missing = lacks(annotator) if its_tasks else []
        if missing:
            # The scores of the pack and of the plan that read one of the tasks.
            tasks_of = {
                name: (*score.task, *score.tasks) for name, score in pack.suite_scores.items()
            }
            tasks_of |= {name: score.tasks for name, score in plan.scores.items()}
            scores = [name for name, read in tasks_of.items() if set(read) & set(its_tasks)]
            what = (
                f"{annotator.name} lacks {', '.join(missing)}; without it no value: "
                f"{', '.join(scores or its_tasks)}"
            )
            findings.add("EP731", f"{pack.name}/{annotator.name}", what, task=its_tasks[0])
