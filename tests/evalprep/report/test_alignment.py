"""Rows of several runs on one page meet as `compare` pairs them."""

import pytest

from evalprep.compare import compare_runs
from evalprep.report import build_report
from evalprep.report.align import align
from evalprep.results import load_run
from evalprep.samples import PairRules
from tests.evalprep.report.test_page import unpack
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
    assert [*aligned.ids] == ["q0", "q1", "q2", "q3", "q4"]
    assert [list(reply.rows) for reply in aligned.replies] == [
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
    assert [*aligned.ids] == ["q0", "q1", "q1"]
    assert [list(reply.rows) for reply in aligned.replies] == [[0, 1, 2], [0, 1, 2]]


def test_flips_of_a_run_with_other_ids_stand_at_its_rows(tmp_path):
    """Three runs of the same prompts; the second one names its rows otherwise."""

    def run(name, prefix, wrong):
        rows = [
            Row(f"{prefix}{at}", float(at not in wrong), prompt=f"Question {at}?", response=name)
            for at in range(20)
        ]
        return load_run(write_run(tmp_path / name, {"t": rows}, model=name))

    runs = [run("first", "q", {1}), run("second", "other ", {2, 3}), run("baseline", "q", {3, 4})]
    index = unpack(build_report(runs).index)
    lost_and_gained = [
        [(at, flip) for at, flip in enumerate(flips) if flip] for flips in index["flip"]
    ]
    assert lost_and_gained == [[(1, 2), (3, 1), (4, 1)], [(2, 2), (4, 1)]]
