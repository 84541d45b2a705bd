"""Scores as tables for the terminal, readable at 80 columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, Any

from evalprep.numbers import number
from evalprep.score.published import Published
from evalprep.score.rated import tables
from evalprep.score.suite import Scores, SuiteScore, name_among
from evalprep.score.unsampled import WITHOUT_SAMPLES
from evalprep.terminal import console as screen
from evalprep.terminal import counted, plain_table, print_table, shortlist

NAMED = 4  # tasks that a remark names one by one
FEW = "‡"
_FEW_SAID = "most replies could not be read; the value stands for the few others, and takes part in no ranking"
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


def bounds(result: Mapping[str, Any]) -> str:
    """`[low, high]` of a result; empty without an interval."""
    low, high = result.get("interval") or (None, None)
    return "" if low is None or high is None else f"[{number(low)}, {number(high)}]"


def show(scores: Scores, file: IO[str] | None = None, *, subtasks: bool = False, width: int | None = None) -> None:
    """Print scores.

    Args:
        scores: What to print.
        file: Where to; standard output by default.
        subtasks: Also one table of subtasks per task.
        width: Columns; those of the terminal by default, 80 where there is none.
    """
    from rich.text import Text

    console = screen(file, width=width, highlight=False)
    console.print(Text(scores.run))
    sources: dict[str, str] = {}
    if scores.tasks:
        print_table(console, _tasks(scores, sources))
    if scores.stored:
        print_table(console, _stored(scores))
    if any(group.micro.get("agg_value") is not None for group in scores.groups):
        print_table(console, _groups(scores))
    for group in scores.groups:
        if group.micro.get("reason"):
            console.print(Text(f"{group.group}: {group.micro['reason']}", style="yellow"))
    if subtasks:
        for task in scores.tasks:
            if task.subtasks:
                table = plain_table(f"{task.task} by subtask", ("subtask", "left"), ("n", "right"), ("mean", "right"))
                for row in task.subtasks:
                    table.add_row(Text(row["subtask"]), str(row["n"]), number(row["value"]))
                print_table(console, table)
    if scores.suite:
        print_table(console, _suite(scores, sources))
        if few := [name_among(score, scores.suite) for score in scores.suite if score.few_read]:
            console.print(Text(f"{FEW} {', '.join(few)}: {_FEW_SAID}", style="yellow"))
        for text, names in _remarks(scores.suite, missing=True).items():
            console.print(Text(f"{', '.join(names)}: {text}", style="yellow"))
        for text, names in _remarks(scores.suite, missing=False).items():
            console.print(Text(f"{_named(names, scores)}: {text}", style="dim"))
    for table in tables(scores.ratings):
        console.print(table)
    for text, mark in sources.items():
        console.print(Text(f"{mark} {text}", style="dim"))
    for why in dict.fromkeys(task.without_score for task in scores.tasks if task.without_score):
        names = [task.task for task in scores.tasks if task.without_score == why]
        console.print(Text(f"{shortlist(names, NAMED)}: {why}", style="yellow"))
    for task in scores.tasks:
        for opinion in task.opinions:
            console.print(Text(opinion.line(task.task, task.metric), style="dim"))
    differing = [(task.task, task.harness_said) for task in scores.tasks if task.harness_differs]
    damaged = [(task.task, f"{counted(task.damaged, 'damaged line was', 'damaged lines were')} left out")
               for task in scores.tasks if task.damaged]  # fmt: skip
    unscored = [
        (task.task, f"left out of {counted(task.n, 'row')}, with {reason} as score: {count}")
        for task in scores.tasks
        if task.metric
        for reason, count in (task.micro.get("skipped") or {}).items()
    ]
    for line in (*folded(unscored), *folded(differing), *folded(damaged)):
        console.print(Text(line, style="yellow"))
    for metric in dict.fromkeys(task.metric for task in scores.tasks if task.metric and not task.declared):
        guessed = [task.task for task in scores.tasks if task.metric == metric and not task.declared]
        console.print(Text(f"{shortlist(guessed, NAMED)}: no primary metric is named; {metric} was taken", style="dim"))
    withheld = [*(task.withheld for task in scores.tasks), *(score.withheld for score in scores.suite)]
    for why in dict.fromkeys(filter(None, withheld)):
        console.print(Text(f"{why}: not comparable with the published value", style="yellow"))
    known = {task.task for task in scores.tasks}
    of_tasks = [(head, said) for note in scores.notes for head, _, said in [note.partition(": ")] if head in known]
    others = [note for note in scores.notes if note.partition(": ")[0] not in known]
    for note in (*others, *folded(of_tasks)):
        console.print(Text(note, style="dim"))


def _named(names: Sequence[str], scores: Scores) -> str:
    every = len(names) == len(scores.suite) > NAMED
    return "every score above" if every else shortlist(names, NAMED)


def folded(remarks: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Remarks about tasks as lines: of many tasks that share one, numbers aside, those beyond the first are counted."""
    alike: dict[str, list[tuple[str, str]]] = {}
    for task, said in remarks:
        alike.setdefault(_NUMBER.sub("", said), []).append((task, said))
    for several in alike.values():
        shown = several if len(several) <= NAMED else several[:1]
        yield from (f"{task}: {said}" for task, said in shown)
        if rest := [task for task, _ in several[len(shown) :]]:
            yield f"  likewise {shortlist(rest, NAMED - 1)} (--json says it of each)"


def _tasks(scores: Scores, sources: dict[str, str]) -> Any:
    from rich.text import Text

    with_published = any(task.published or task.withheld for task in scores.tasks)
    columns = ["n", "rows", "95% interval", "subtasks", *(["published"] if with_published else []), "unparsed"]
    table = plain_table(
        "Tasks: mean over rows, mean of subtasks", ("task", "left"), *((name, "right") for name in columns)
    )
    for task in scores.tasks:
        cells = [str(task.n), number(task.micro.get("agg_value")), bounds(task.micro)]
        cells.append(number((task.macro or {}).get("agg_value")))
        if with_published:
            cells.append(task.withheld or _published(task.published, sources))
        # What a task does not tell is not known; a run without scores did not look for answers either.
        known = task.unparsed is not None and (task.unparsed or task.metric)
        table.add_row(Text(task.task), *cells, str(task.unparsed) if known else "-")
    return table


def _stored(scores: Scores) -> Any:
    from rich.text import Text

    columns = (("task", "left"), ("metric", "left"), *((name, "right") for name in ("n", "value", "stderr")))
    table = plain_table(f"Tasks {WITHOUT_SAMPLES}", *columns)
    for one in scores.stored:
        rows = "-" if one.n is None else str(one.n)
        table.add_row(Text(one.task), Text(one.name), rows, number(one.value), number(one.stderr))
    return table


def _groups(scores: Scores) -> Any:
    from rich.text import Text

    table = plain_table(
        "Groups: all rows pooled, mean of tasks",
        ("group", "left"),
        *((name, "right") for name in ("n", "rows", "95% interval", "tasks' mean", "95% interval ")),
    )
    for group in scores.groups:
        if group.micro.get("agg_value") is None:
            continue
        table.add_row(
            Text(group.group),
            str(group.micro.get("n", "-")),
            number(group.micro.get("agg_value")),
            bounds(group.micro),
            number(group.macro.get("agg_value")),
            bounds(group.macro),
        )
    return table


def _remarks(suite: Sequence[SuiteScore], *, missing: bool) -> dict[str, list[str]]:
    """Why scores have no value, or what there is to say of those that have one; each text once, with its scores."""
    remarks: dict[str, list[str]] = {}
    for score in suite:
        if missing:
            texts = [score.reason or "no value"] if score.value is None else []
        else:
            notes = score.result.get("notes") or []
            texts = [notes] if isinstance(notes, str) else [str(note) for note in notes]
            texts += [f"{count} left out: {reason}" for reason, count in (score.result.get("skipped") or {}).items()]
        for text in dict.fromkeys(texts):
            remarks.setdefault(text, []).append(name_among(score, suite))
    return remarks


def _suite(scores: Scores, sources: dict[str, str]) -> Any:
    from rich.text import Text

    with_reference = any(score.reference is not None for score in scores.suite)
    with_published = any(score.published or score.withheld for score in scores.suite)
    columns = ["value", "95% interval", *(["reference"] if with_reference else [])]
    columns += [*(["published"] if with_published else []), "n"]
    table = plain_table("Suite scores", ("score", "left"), *((name, "right") for name in columns))
    for score in scores.suite:
        undefined = score.result.get("undefined") is True
        value = f"{number(score.value)}{FEW if score.few_read else ''}"
        cells = ["undefined", ""] if undefined else [value, bounds(score.result)]
        if with_reference:
            cells.append(number(score.reference))
        if with_published:
            cells.append(score.withheld or _published(score.published, sources))
        cells.append(_rows(score))
        table.add_row(Text(_name(score, scores.suite)), *cells)
    return table


def _rows(score: SuiteScore) -> str:
    """How many rows a score is made of, and of how many, where it leaves out what could not be read."""
    readable, every = score.result.get("read") or (0, 0)
    return f"{readable} of {every}" if readable < every else "" if score.n is None else str(score.n)


def _name(score: SuiteScore, suite: Sequence[SuiteScore]) -> str:
    arrow = {"up": " ↑", "down": " ↓", "zero": " →0"}.get(score.better, "")
    return f"{name_among(score, suite)}{arrow}"


def _published(entries: list[Published], sources: dict[str, str]) -> str:
    """The reference value with the mark of its source; a user's result only where there is no reference."""
    if not entries:
        return ""
    entry = entries[0]
    text = entry.source + (f"; {entry.note}" if entry.note else "") + (" (a user's result)" if entry.sanity else "")
    mark = sources.setdefault(text, f"[{len(sources) + 1}]")
    return f"{number(entry.value)} {mark}"
