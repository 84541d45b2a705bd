"""Scored runs put into one table.

Rows and cells, what may be compared, who leads, which pairs differ, what notes stand below it;
before that, which runs stand in tables of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, filterfalse

from evalprep.compare import ALPHA, Conclusion, adjusted_p, in_own_unit, leaders, shown_better
from evalprep.files import as_mapping
from evalprep.leaderboard.board import Board, PairDifference, Row
from evalprep.leaderboard.columns import (
    CONTRARY,
    GROUP,
    INCOMPLETE,
    OTHER,
    SCORE,
    TASK,
    Cell,
    Column,
    Columns,
    columns_of,
    values_of,
)
from evalprep.leaderboard.pairs import Judged, Pairs
from evalprep.leaderboard.seeds import merge_seeds, notes_on_seeds
from evalprep.leaderboard.steps import place_of
from evalprep.numbers import finite_number
from evalprep.packs import Pack
from evalprep.places import shareable_folder, without_home
from evalprep.readers import notes_on_pointers
from evalprep.results import (
    OTHER_THAN_NEWEST,
    Run,
    note_on_empty_replies,
    note_on_limit,
    notes_on_rows,
    notes_on_unread,
    turned_in,
    turned_notes,
)
from evalprep.score import Scores, notes_on_value, partial_rows
from evalprep.terminal import shortlist, tracked

_ALL_PAIRS = 6  # rows of a column, up to which every pair is tested; beyond, those with the best
_NAMED = 4  # runs or tasks that a note names


def build_board(
    runs: Sequence[Run],
    scores: Sequence[Scores],
    packs: Mapping[str, Pack],
    *,
    references: Sequence[int] = (),
    column_names: Sequence[str] = (),
    sort: str = "",
    allow: Sequence[str] = (),
    cluster: str = "",
    each_seed: bool = False,
    judged: Judged | None = None,
) -> Board:
    """Puts scored runs into one table.

    Args:
        runs: The runs with their labels, in the order in which they shall stand.
        scores: The scores of each.
        packs: All packs.
        references: Which of the runs are references: rows that do not compete.
        column_names: Names or patterns of the columns to show.
        sort: Name of a column: its best value first; rows that may not be compared and those
            without a value last.
        allow: Facts of the question that may differ.
        cluster: Field of the rows whose equal values make one document, or `none`.
        each_seed: A row per run also where runs differ in nothing but their seeds.
        judged: The pairs that carry words; all by default.

    Raises:
        BadInput: a name in `column_names` or `sort` that no column has.
    """
    columns = columns_of(scores, packs, column_names)
    by_sort = columns_of(scores, packs, [sort]).shown[0] if sort else None
    pairs = Pairs(runs, scores, references, allow, packs, cluster, judged)
    rows = []
    for at, run in tracked(enumerate(runs), "runs compared", len(runs), unit="runs"):
        cells = {}
        for column in columns.all:
            cells[column.id] = _cell(column, values_of(column, scores[at]), at, pairs)
        row = Row(
            label=run.label,
            model=without_home(run.model),
            folder=shareable_folder(run.files.folder),
            run=run.id,
            reference=at in references,
            place=place_of(run),
            cells=cells,
            members=(at,),
            notes=list(dict.fromkeys(scores[at].notes)),
            trial=bool(partial_rows(run, run.tasks)),
        )
        rows.append(row)
    if not each_seed:
        rows = merge_seeds(rows, runs, columns.all)
    notes = list(turned_notes(turned_in(runs)))
    notes += [
        pack.leaderboard.note
        for pack in packs.values()
        if pack.leaderboard.note and any(column.of(pack.name) for column in columns.all)
    ]
    notes += [*notes_on_runs(runs), *_notes_on_values(runs, scores), *notes_on_seeds(rows)]
    if named := pairs.judged.sentence:
        notes.append(f"words stand for {named}; all other pairs are described without words")
    pairs.conclude(_pairs_of_columns(columns.all, rows, pairs.judged))
    tests = {
        column.id: _tested(column, rows, pairs)
        for column in tracked(columns.all, "columns tested", len(columns.all), unit="columns")
    }
    rows = [_with_leads(row, tests) for row in rows]
    if by_sort is not None:
        rows = sorted(rows, key=lambda row: _sort_key(row, by_sort))
    return Board(
        columns,
        rows,
        runs[pairs.anchor].label,
        unmarked={name: test.unmarked for name, test in tests.items() if test.unmarked},
        notes=notes,
        sort=sort,
        pairs=list(chain.from_iterable(test.pairs for test in tests.values())),
        only_with_best=any(test.only_with_best for test in tests.values()),
        differences=_differences_of_two(rows, columns, pairs),
        candidate=pairs.judged.candidate,
        baseline=pairs.judged.baseline,
        tested_pairs=pairs.size,
    )


def _differences_of_two(
    rows: Sequence[Row], columns: Columns, pairs: Pairs
) -> dict[str, Conclusion]:
    """Score -> what is concluded of the second run against the first, or as the user names them.

    Empty unless there are two.
    """
    if len(rows) != 2 or any(len(row.members) != 1 for row in rows):
        return {}
    member = {row.label: row.members[0] for row in rows}
    first, second = member
    named = pairs.judged.pair(second, first)
    if named is None:
        return {}
    candidate, baseline = (member[label] for label in named)
    conclusions = {}
    for column in [column for column in columns.all if column.kind == SCORE]:
        outcome = pairs.conclusion(candidate, baseline, column)
        if outcome is not None:
            conclusions[column.id] = outcome
    return conclusions


def _cell(column: Column, cell: Cell | None, at: int, pairs: Pairs) -> Cell:
    """The numbers of a run in a column, with their standing."""
    if cell is None:
        task, _, metric = column.id.partition(": ")
        if column.kind == TASK and metric and pairs.runs[at].known(task) is not None:
            return Cell(reason=f"the run has no {metric} of {task}")
        return Cell(reason="the run has none of its tasks")
    cell = replace(cell, value=finite_number(cell.value))
    other = pairs.other_question(at, cell.tasks)
    part = pairs.incomplete(at, cell.tasks)
    if cell.few_read:
        part.append(cell.few_read)
    if cell.value is not None:
        other += pairs.otherwise_made(at, column, cell)
        part += pairs.fewer_tasks(at, column, cell.tasks)
    if other:
        return replace(cell, standing=OTHER, why=other)
    return replace(cell, standing=INCOMPLETE, why=part) if part else cell


@dataclass(frozen=True)
class _Tested:
    """The tests of a column.

    Attributes:
        leading: Labels of the rows that lead it.
        unmarked: Why no row does, or may not be shown to.
        pairs: The pairs of rows that differ.
        only_with_best: Whether only pairs with the best row were tested.
    """

    leading: frozenset[str] = frozenset()
    unmarked: str = ""
    pairs: Sequence[PairDifference] = ()
    only_with_best: bool = False


def _tested(column: Column, board_rows: Sequence[Row], pairs: Pairs) -> _Tested:
    competing = _competing_rows(column, board_rows)
    reason = _why_untested(column) or _why_several_seeds(competing)
    if reason:
        return _Tested(unmarked=reason)
    rows = {row.members[0]: row for row in competing}
    tested = _Tested(
        pairs=list(_differing_pairs(column, rows, pairs)),
        only_with_best=len(rows) > _ALL_PAIRS and not pairs.judged.sentence,
    )
    if reason := _why_no_first_place(column, rows, pairs.judged):
        return replace(tested, unmarked=reason)
    leading = leaders(
        {at: row.cells[column.id].value or 0.0 for at, row in rows.items()},
        lambda candidate, baseline: pairs.conclusion(candidate, baseline, column),
        higher_is_better=column.better == "up",
    )
    reason = leading.reason
    if reason and leading.pair is not None:
        candidate, baseline = (rows[at].label for at in leading.pair)
        reason = f"{candidate} against {baseline}: {reason}"
    labels = frozenset(rows[at].label for at in leading.keys)
    return replace(tested, leading=labels, unmarked=reason)


def _with_leads(row: Row, tests: Mapping[str, _Tested]) -> Row:
    """The row with the mark of leading cells."""
    cells = {
        name: replace(cell, leads=row.label in tests[name].leading)
        for name, cell in row.cells.items()
    }
    return replace(row, cells=cells)


def _why_no_first_place(column: Column, rows: Mapping[int, Row], judged: Judged) -> str:
    """Returns why the best value is not compared with each other one; empty where it is."""
    if not rows:
        return ""
    best = rows[_best(column, rows)].label
    if all(judged.pair(best, row.label) for row in rows.values() if row.label != best):
        return ""
    return f"{best} has the best value, and words stand for {judged.sentence}"


def _best(column: Column, rows: Mapping[int, Row]) -> int:
    """The run with the best value of a column."""
    pick = max if column.better == "up" else min
    return pick(rows, key=lambda at: rows[at].cells[column.id].value or 0.0)


def _competing_rows(column: Column, rows: Sequence[Row]) -> list[Row]:
    """The rows that take part in the ranking by a column."""
    cells = [(row, row.cells[column.id]) for row in rows if not row.reference]
    return [row for row, cell in cells if cell.value is not None and not cell.standing]


def _why_untested(column: Column) -> str:
    """Returns why nothing leads a column, whatever its values are; empty where something may."""
    if column.better == CONTRARY:
        return "the runs state opposite directions"
    if column.better not in {"up", "down"} or column.kind not in {SCORE, TASK}:
        grouped = column.kind == GROUP
        return "groups are not tested" if grouped else "no direction is the better one"
    return "a p-value itself: two of them are not tested" if column.p_value else ""


def _why_several_seeds(rows: Iterable[Row]) -> str:
    if any(len(row.members) > 1 for row in rows):
        return "rows over several seeds are not tested (--each_seed shows every run)"
    return ""


def _pairs_of_columns(
    columns: Sequence[Column], rows: Sequence[Row], judged: Judged
) -> list[tuple[int, int]]:
    """The pairs of runs that the columns need, in order."""
    needed: dict[tuple[int, int], None] = {}
    for column in columns:
        competing = _competing_rows(column, rows)
        if len(competing) < 2 or _why_untested(column) or _why_several_seeds(competing):
            continue
        by_run = {row.members[0]: row for row in competing}
        with_best = _judged_of(_with_best(column, by_run), by_run, judged)
        needed |= dict.fromkeys([*with_best, *_pairs_to_test(column, by_run, judged)])
    if len(rows) == 2 and all(len(row.members) == 1 for row in rows):
        by_run = {row.members[0]: row for row in rows}
        baseline, candidate = by_run
        needed |= dict.fromkeys(_judged_of([(candidate, baseline)], by_run, judged, turned=True))
    return list(needed)


def _differing_pairs(
    column: Column, rows: Mapping[int, Row], pairs: Pairs
) -> Iterator[PairDifference]:
    """The pairs of rows that are shown to differ; of many rows only pairs with the best one."""
    if len(rows) < 2:
        return
    for candidate, baseline in _pairs_to_test(column, rows, pairs.judged):
        outcome = pairs.conclusion(candidate, baseline, column)
        if outcome is None or not outcome.counts or adjusted_p(outcome) >= ALPHA:
            continue
        item = outcome.difference
        verdict = "better" if shown_better(outcome, ALPHA) else "worse"
        yield PairDifference(
            column=column.id,
            candidate=rows[candidate].label,
            baseline=rows[baseline].label,
            verdict=verdict,
            change=item.change(),
            delta=item.delta,
            low=item.low,
            high=item.high,
            text=in_own_unit(item),
            p=adjusted_p(outcome),
        )


def _pairs_to_test(
    column: Column, rows: Mapping[int, Row], judged: Judged
) -> Iterator[tuple[int, int]]:
    """The pairs whose words are shown, the candidate first; of many rows those with the best."""
    if judged.sentence or len(rows) <= _ALL_PAIRS:
        yield from _judged_of(combinations(rows, 2), rows, judged, turned=True)
    else:
        yield from _with_best(column, rows)


def _with_best(column: Column, rows: Mapping[int, Row]) -> list[tuple[int, int]]:
    """The pairs of the row with the best value, which comes first."""
    best = _best(column, rows)
    return [(best, at) for at in rows if at != best]


def _judged_of(
    pairs: Iterable[tuple[int, int]],
    rows: Mapping[int, Row],
    judged: Judged,
    *,
    turned: bool = False,
) -> Iterator[tuple[int, int]]:
    """The pairs that carry words; turned so that the candidate comes first where that is asked."""
    places = {row.label: at for at, row in rows.items()}
    for first, second in pairs:
        named = judged.pair(rows[first].label, rows[second].label)
        if named is not None:
            yield (places[named[0]], places[named[1]]) if turned else (first, second)


def _sort_key(row: Row, column: Column) -> tuple[bool, bool, bool, float, str]:
    cell = row.cells[column.id]
    order = 0.0 if cell.value is None else cell.value
    if column.better == "up":
        order = -order
    elif column.better == "zero":
        order = abs(order)
    return (not row.reference, cell.value is None, bool(cell.standing), order, row.label)


def notes_on_runs(runs: Sequence[Run]) -> list[str]:
    """Each note once, with the tasks and the runs that it holds for."""
    places: dict[str, list[tuple[str, str]]] = {}
    for run in runs:
        for name, task in run.tasks.items():
            table = task.table()
            notes = [*run.meant[name].sentences()] if name in run.meant else []
            if not any(metric.is_score for metric in task.metrics):
                notes.append(task.without_score)
            notes += [*note_on_limit(task), *notes_on_rows(table), *note_on_empty_replies(table)]
            for note in notes:
                places.setdefault(note, []).append((run.label, name))
    unfetched = chain.from_iterable(_with_label(run, notes_on_pointers(run.notes)) for run in runs)
    of_tasks = [_with_places(note, at, len(runs)) for note, at in places.items()]
    unread = chain.from_iterable(_with_label(run, _notes_on_unread(run)) for run in runs)
    answerers = _notes_on_answerers(runs)
    return [*_notes_on_choices(runs), *answerers, *unread, *unfetched, *of_tasks]


def _notes_on_answerers(runs: Sequence[Run]) -> Iterator[str]:
    """Yields what tells the answerers of runs apart that name one model and one revision."""
    first_of: dict[tuple[str, str], Run] = {}
    for run in runs:
        answerer = run.answerer
        if answerer is None:
            continue
        first = first_of.setdefault((answerer.model, answerer.revision), run)
        if first.answerer is not None:
            differences = shortlist(list(first.answerer.differences(answerer)), _NAMED)
            if differences:
                yield f"{first.label} and {run.label} have other answerers: {differences}"


def _notes_on_unread(run: Run) -> list[str]:
    """Returns which tasks of a run are not read, and which stand by their stored values alone."""
    stored = [name for name, item in run.unread.items() if item.kind == "no samples"]
    notes = notes_on_unread(run.unread)
    if stored and run.tasks:
        notes.append(f"no samples file of {shortlist(stored, _NAMED)}: the stored value is shown")
    return notes


def _notes_on_values(runs: Sequence[Run], scores: Sequence[Scores]) -> list[str]:
    """Of which rows the values of tasks are, where not of all, as `score` words it."""
    places: dict[str, list[tuple[str, str]]] = {}
    for run, run_scores in zip(runs, scores, strict=True):
        for task in run_scores.tasks:
            for note in notes_on_value(task):
                places.setdefault(note, []).append((run.label, task.task))
    return [_with_places(note, at, len(runs)) for note, at in places.items()]


def _with_label(run: Run, notes: Iterable[str]) -> list[str]:
    return [f"{run.label}: {note}" for note in notes]


def _notes_on_choices(runs: Sequence[Run]) -> list[str]:
    """Notes on runs that were chosen from several in their folder; one note for many."""
    chosen = [
        run for run in runs if not run.files.unread and any(map(_is_on_newest, run.files.notes))
    ]
    if len(chosen) < 2:
        return list(chain.from_iterable(_with_label(run, run.files.notes) for run in runs))
    labels = shortlist([run.label for run in chosen], _NAMED)
    note = f"{labels}: the newest of several runs in the folder ({OTHER_THAN_NEWEST})"
    others = (_with_label(run, filterfalse(_is_on_newest, run.files.notes)) for run in runs)
    return [note, *chain.from_iterable(others)]


def _is_on_newest(note: str) -> bool:
    return OTHER_THAN_NEWEST in note


def _with_places(note: str, where: Sequence[tuple[str, str]], count: int) -> str:
    """A note with its tasks, and its runs where these are not all."""
    labels = list(dict.fromkeys(label for label, _ in where))
    tasks = list(dict.fromkeys(name for _, name in where))
    of_runs = "" if len(labels) == count else f"{shortlist(labels, _NAMED)}: "
    return f"{of_runs}{shortlist(tasks, _NAMED)}: {note}"


def groups_of(runs: Sequence[Run], packs: Mapping[str, Pack]) -> dict[str, list[int]]:
    """Returns heading -> the places of the runs that stand under it, in the order of the runs.

    A pack names the setting under `leaderboard: {group_by: ...}`; its tasks keep it in their
    metadata. One group with an empty heading where no two runs are known to differ in it.
    """
    headings = [_heading(run, packs) for run in runs]
    if len({heading for heading in headings if heading}) < 2:
        return {"": list(range(len(runs)))}
    groups: dict[str, list[int]] = {}
    for place, heading in enumerate(headings):
        groups.setdefault(heading or "other runs", []).append(place)
    return groups


def _heading(run: Run, packs: Mapping[str, Pack]) -> str:
    """`science.prompt_family: llama3`; empty for a run that does not keep the setting."""
    headings = []
    for pack in packs.values():
        key = pack.leaderboard.group_by
        own = [task for task in run.tasks.values() if task.metadata.get("pack") == pack.name]
        if not key or not own:
            continue
        settings = [as_mapping(task.metadata.get(pack.name)) for task in own]
        values = {str(setting[key]) for setting in settings if key in setting}
        if values:
            headings.append(f"{pack.name}.{key}: {', '.join(sorted(values))}")
    return "; ".join(headings)
