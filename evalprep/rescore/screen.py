"""The outcome of rescoring as text for the terminal."""

from __future__ import annotations

from evalprep.numbers import number
from evalprep.rescore.tally import FilterRescore, TaskRescore
from evalprep.results import Run, short_value

_SHOWN = 10  # changed samples per task
_SCORERS = ("evalprep", "lm_eval", "math-verify", "sympy", "rouge-score")


def show(
    run: Run,
    results: list[TaskRescore],
    now: dict[str, str],
    changed: dict[str, list[str | None]],
    left_out: dict[str, str],
) -> None:
    """Prints what rescoring changed.

    Args:
        run: The run.
        results: One per task.
        now: Installed versions.
        changed: Package -> version of the run and version now, where they differ.
        left_out: Task -> why it could not be rescored.
    """
    print(run.label)
    print(f"scored by {', '.join(f'{name} {now[name]}' for name in _SCORERS if name in now)}")
    for name, (old, new) in changed.items():
        print(f"  {name} was {old}, is {new or 'not installed'}")
    for result in results:
        _show_task(result)
    for name, why in left_out.items():
        print(f"\n{name}: not rescored: {why}")
    if left_out:
        print("`--work_dir DIR` takes scorers from the task files in DIR")


def _show_task(result: TaskRescore) -> None:
    print(f"\n{result.task}: {result.metric} ({result.filter}), {result.n} samples")
    print(f"  scored by {result.scorer}")
    if result.scorer_changed is not None and result.previous is not None:
        parts = ", ".join(result.scorer_changed)
        state = f"changed since the run ({parts})" if parts else "as in the run"
        print(f"  scorer in the task YAML: {state}")
    before = "not scored" if result.previous is None else number(result.previous)
    print(f"  before {before}, now {number(result.now)}; {_changes(result)}")
    for item in result.filters:
        print(f"  by {item.filter}: {_filter_changes(item)}")
    if result.not_computed:
        print(f"  now is not known: {result.not_computed}")
    for change in result.changes[:_SHOWN]:
        moved = f"{change.before} -> {change.now}"
        answers = f"{_short(change.before_answer)} -> {_short(change.now_answer)}"
        gold = _short(change.target)
        print(f"    {short_value(change.sample_id)}: {moved}; answer {answers}; gold {gold}")
    if len(result.changes) > _SHOWN:
        print(f"    and {len(result.changes) - _SHOWN} more (--json lists all)")
    for reason, count in result.errors.items():
        print(f"  {count} failed: {reason}")
    if result.replay:
        replay = result.replay
        print(
            f"  published replies by this scorer: {replay.agree} of {replay.n} verdicts as "
            f"published, {replay.milder} right only here, {replay.stricter} right only as published"
        )
        print(
            f"  verdicts that differ from the published ones: {replay.scorer_differs} by the "
            f"scorer, {replay.model_differs} by the model's output"
        )


def _filter_changes(item: FilterRescore) -> str:
    """Returns the score by another filter, then and now."""
    if item.previous is None:
        return f"not in the run, now {number(item.now)}"
    if item.now is None:
        return f"before {number(item.previous)}, not a filter of the task now"
    counts = f"{item.up} up, {item.down} down"
    return f"before {number(item.previous)}, now {number(item.now)}; {counts}"


def _changes(result: TaskRescore) -> str:
    """Returns how many rows changed, where rows have scores."""
    if result.over_all_rows:
        return "computed over all rows at once"
    counts = f"{result.up} up, {result.down} down"
    return f"{counts}, {result.first_scored} without an earlier score"


def _short(text: str, length: int = 24) -> str:
    text = " ".join(text.split())
    return repr(text if len(text) <= length else f"{text[: length - 3]}...")
