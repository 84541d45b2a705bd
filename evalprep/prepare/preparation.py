"""The whole preparation: config in, work folder and commands out.

Everything is checked before anything is written.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from evalprep.check import Finding, Findings, check_annotators, check_tree
from evalprep.config import Config, section_for
from evalprep.data import lock_text, read_lock
from evalprep.errors import BadInput, Problem, Problems
from evalprep.files import write_atomically
from evalprep.packapi import Context, Plan
from evalprep.packs import (
    Excluded,
    Pack,
    Prepared,
    keep_records,
    records_of_work,
    remember_config,
    remember_folder,
)
from evalprep.prepare.build import Preparation, build_aside, build_folder
from evalprep.prepare.checked import check_built, raise_errors, without_reason_of_command
from evalprep.prepare.contextlength import with_known_context
from evalprep.prepare.joined import Joined, PlannedPack
from evalprep.prepare.joining import join_plans
from evalprep.prepare.models import check_models
from evalprep.prepare.origins import named_by_origin
from evalprep.prepare.replaced import replaced_notes
from evalprep.prepare.scores import check_scores
from evalprep.prepare.selection import select
from evalprep.prepare.soundness import check_plan, maker_of_rows
from evalprep.prepare.taskfiles import Unreachable
from evalprep.prepare.workdir import building, check_place, swap_in


def prepare(
    config: Config,
    packs: Mapping[str, Pack],
    *,
    force: bool = False,
    full: bool = False,
    stop: bool = True,
    progress: Callable[[str], None] = lambda _: None,
    unreachable: Mapping[str, str] = MappingProxyType({}),
) -> Preparation:
    """Prepares everything for one run.

    Args:
        config: The validated configuration.
        packs: All packs.
        force: Replace files that the user edited where the generated content changed too (theirs is
            kept beside it).
        full: Check the built tree through lm-eval too (`evalprep.prepare.checked`), not its files
            alone.
        stop: Raise what the check calls an error; else it is among the findings.
        progress: Gets the name of each step.
        unreachable: Task -> why its data set cannot be had; these are left out.

    Returns:
        The commands and facts.

    Raises:
        BadInput: anything wrong with config, data or templates; the old work folder is untouched
            then.
    """
    joined = plan(config, packs, unreachable)
    try:
        with building(joined.work_dir) as folder:
            built = build_folder(joined, folder, force=force, progress=progress)
            findings = _examine(built, full=full, stop=stop, progress=progress)
            helpers = Findings()
            check_annotators(Prepared(built.folder, built.manifest), packs, helpers)
            findings += helpers.sorted()
            runs = [subject.run for subject in built.subjects]
            replaced = replaced_notes(joined.work_dir, folder, runs)
            swap_in(folder, joined.work_dir)
            remember_folder(joined.work_dir)
            if config.path is not None:
                remember_config(config.path, config.core.template_dir, joined.work_dir)
    except Unreachable as error:
        reasons = {**unreachable, **error.reasons}
        return prepare(
            config, packs, force=force, full=full, stop=stop, progress=progress, unreachable=reasons
        )
    lock_file = built.joined.config.lock_file
    if lock_file is not None:
        write_atomically(lock_file, lock_text(read_lock(lock_file), built.joined.sources))
    prepared = Prepared(joined.work_dir, built.manifest)
    prepared_runs = {model.run: model.run for model in prepared.models}
    keep_records(joined.output_path, records_of_work(prepared, prepared_runs))
    notes = [*built.notes, *replaced]
    return replace(built, folder=joined.work_dir, notes=notes, findings=findings)


@contextlib.contextmanager
def preview(config: Config, packs: Mapping[str, Pack]) -> Iterator[Preparation]:
    """Builds the folder that the next preparation would leave, with edits, in a temporary place.

    Raises:
        BadInput: as for `prepare`.
    """
    unreachable: dict[str, str] = {}
    with contextlib.ExitStack() as stack:
        while True:
            joined = plan(config, packs, unreachable)
            try:
                built = stack.enter_context(build_aside(joined))
            except Unreachable as error:
                unreachable |= error.reasons
            else:
                break
        yield built


def plan(
    config: Config, packs: Mapping[str, Pack], unreachable: Mapping[str, str] = MappingProxyType({})
) -> Joined:
    """Decides which tasks will be prepared; reads only as much of the data as the packs need.

    Args:
        config: The validated configuration.
        packs: All packs.
        unreachable: Task -> why its data set cannot be had; these are left out.

    Raises:
        BadInput: unknown tasks, tasks that the data do not have or the back end cannot run, missing
            keys of a pack, a foreign work folder.
    """
    config, notes = with_known_context(config)
    problems = Problems()
    problems.extend(check_place(config.core.work_dir))
    selection = select(config, packs, problems)
    shares: list[PlannedPack] = []
    for name, requested in selection.by_pack.items():
        try:
            pack = packs[name]
            context = Context(pack, config, section_for(config, pack), requested, problems)
            share = PlannedPack(pack, context, planned(pack, context))
            check_scores(pack, share.plan)
            for task in share.plan.tasks.values():
                if task.after:
                    maker_of_rows(pack, task)
            shares.append(share)
        except BadInput as error:
            problems.extend(error.problems)
    problems.raise_if_any()
    for share in shares:
        for name, task in share.plan.tasks.items():
            if name in unreachable:
                share.plan.excluded[name] = Excluded("data", unreachable[name], task.tags)
    joined = join_plans(config, selection, shares, problems, unreachable=unreachable)
    problems.raise_if_any()
    check_models(config, joined.plan)
    joined.notes += notes
    return joined


def planned(pack: Pack, context: Context) -> Plan:
    """The plan that a pack's own `plan` returns, or that of pack.yaml where it has none.

    Raises:
        BadInput: its code fails, or gives something else than a Plan.
    """
    module = pack.module("prepare")
    if module is None or not hasattr(module, "plan"):
        return context.static_plan()
    with pack.explained_failures("plan"):
        result = module.plan(context)
    if not isinstance(result, Plan):
        raise BadInput(
            Problem(
                what=f"plan() returned {type(result).__name__}",
                where=str(pack.folder / "prepare.py"),
                allowed="a Plan, e.g. that of context.static_plan()",
            )
        )
    check_plan(result, pack).raise_if_any()
    return result


def _examine(
    built: Preparation, *, full: bool, stop: bool, progress: Callable[[str], None]
) -> list[Finding]:
    """The findings on a built folder, through lm-eval (`full`) or of its files alone."""
    if full:
        findings = check_built(built, progress, stop=stop)
    else:
        of_files = check_tree(built.folder, built.joined.config, built.requested)
        findings = [named_by_origin(built, finding) for finding in of_files]
        if stop:
            raise_errors(findings)
    return without_reason_of_command(built, findings)
