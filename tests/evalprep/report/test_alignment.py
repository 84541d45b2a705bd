"""Rows of several runs on one page meet as `compare` pairs them."""

import pytest

from evalprep.compare import compare_runs
from evalprep.report.align import align
from evalprep.results import load_run
from evalprep.samples import PairRules
from tests.evalprep.results.writing import Row, write_run


def _prompts(reply, size):
    return [sample and sample.prompt for sample in reply.read_primary(range(size))]


def _rows_per_run(name, *homes):
    aligned = align(name, [load_run(home) for home in homes])
    columns = [_prompts(reply, len(aligned.ids)) for reply in aligned.replies]
    return list(zip(*columns, strict=True))


def _row(name, at, **settings):
    return Row(name, prompt=f"What is {at} + {at}?", doc={"at": at}, **settings)


ORDERS = {
    "lines in another order": ([3, 1, 0, 2], "same"),
    "ids that repeat": ([2, 0, 3, 1], "subject"),
    "rows of one run have no id": ([1, 2, 3, 0], None),
}


@pytest.mark.parametrize("case", ORDERS)
def test_each_row_of_a_page_is_one_question(tmp_path, case):
    order, ids = ORDERS[case]
    names = {"same": [f"q{at}" for at in order], "subject": ["algebra"] * 4, None: [None] * 4}[ids]
    own = ["algebra"] * 4 if ids == "subject" else [f"q{at}" for at in range(4)]
    base = write_run(tmp_path / "a", {"t": [_row(own[at], at) for at in range(4)]})
    other = write_run(
        tmp_path / "b", {"t": [_row(name, at) for name, at in zip(names, order, strict=True)]}
    )
    rows = _rows_per_run("t", base, other)
    assert len(rows) == 4
    assert all(first == second for first, second in rows)
    (task,) = compare_runs(load_run(other), load_run(base)).tasks
    assert task.difference.n == 4


def test_a_row_that_two_later_runs_share_stands_once(tmp_path):
    parts = {"a": [0, 1], "b": [1, 2, 3], "c": [3, 0, 4]}
    homes = [
        write_run(tmp_path / name, {"t": [_row(f"q{at}", at) for at in places]})
        for name, places in parts.items()
    ]
    runs = [load_run(home) for home in homes]
    aligned = align("t", runs, PairRules())
    assert aligned.ids == ["q0", "q1", "q2", "q3", "q4"]
    assert [reply.rows for reply in aligned.replies] == [
        [0, 1, -1, -1, -1],
        [-1, 0, 1, 2, -1],
        [1, -1, -1, 0, 2],
    ]


def test_rows_that_occur_twice_stand_in_their_order(tmp_path):
    rows = [_row("q0", 0), _row("q1", 1)]
    homes = [write_run(tmp_path / name, {"t": [*rows, rows[1]]}) for name in ("a", "b")]
    for home in homes:  # the third line is the second one again
        (samples,) = home.glob("samples_*")
        lines = samples.read_text().splitlines()
        samples.write_text("\n".join([*lines[:2], lines[1]]) + "\n")
    aligned = align("t", [load_run(home) for home in homes])
    assert aligned.ids == ["q0", "q1", "q1"]
    assert [reply.rows for reply in aligned.replies] == [[0, 1, 2], [0, 1, 2]]
