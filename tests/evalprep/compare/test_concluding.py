"""Quantities are complete when they are made, and all of a page are concluded at once."""

from dataclasses import FrozenInstanceError

import pytest

from evalprep.compare import Settings, adjusted_by_key, conclude, conclude_pairs, measure
from evalprep.results import load_run
from tests.evalprep.results.writing import Row, write_run

ROWS = 60


@pytest.fixture
def measured(tmp_path):
    """Two candidates that lose 8 and 12 rows of the baseline, before anything is concluded."""
    runs = []
    for name, lost in (("base", 0), ("first", 8), ("second", 12)):
        rows = [Row(f"r{at}", float(at >= lost)) for at in range(ROWS)]
        runs.append(load_run(write_run(tmp_path / name, {"t": rows})))
    base, *candidates = runs
    return [measure(run, base, {}, Settings()) for run in candidates]


def p_values(comparisons):
    return [comparison.tasks[0].p_holm for comparison in comparisons]


def test_what_two_candidates_say_is_one_family(measured):
    alone = [conclude([each])[0] for each in measured]
    page = conclude(measured)
    assert p_values(alone) == [each.tasks[0].difference.p for each in measured]
    assert p_values(page) == pytest.approx([p_values(alone)[0], 2 * p_values(alone)[1]])
    assert [comparison.candidates for comparison in page] == [2, 2]
    assert page[0].tasks[0].difference.mde > alone[0].tasks[0].difference.mde
    assert p_values(conclude([each])[0] for each in measured) == p_values(alone), "nothing moved"


def test_the_candidate_that_is_not_judged_is_described(measured):
    judged, described = conclude(measured, judged=0)
    assert (judged.headline, described.headline) == ("worse", "")
    assert (described.tasks[0].verdict, described.tasks[0].p_holm) == ("", None)
    assert described.tasks[0].words == "-20.0 points observed, without a verdict"
    assert p_values([judged]) == p_values([conclude(measured[:1])[0]])


def test_pairs_that_are_not_compared_count_in_a_table(measured):
    pairs = conclude_pairs(measured, 10)
    own = [each.tasks[0].difference.p for each in measured]
    assert p_values(pairs) == pytest.approx([9 * own[0], 10 * own[1]])


def test_nothing_changes_what_was_measured_or_concluded(measured):
    comparison = conclude(measured)[0]
    for made, name in (
        (measured[0], "tasks"),
        (measured[0].tasks[0], "reasons"),
        (measured[0].tasks[0].difference, "mde"),
        (comparison, "suite"),
        (comparison.tasks[0], "verdict"),
    ):
        with pytest.raises(FrozenInstanceError):
            setattr(made, name, None)


def test_copies_of_a_column_count_once():
    assert adjusted_by_key([("a", 0.01), ("a", 0.01)]) == {"a": 0.01}
    assert adjusted_by_key([("a", 0.01)], 3) == {"a": pytest.approx(0.03)}
