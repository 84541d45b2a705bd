"""Published verdicts as a pack counts them."""

from evalprep.packapi import Previous


def test_rows_without_a_verdict_are_not_counted():
    counted = Previous()
    for verdict, subtask in ((True, "a"), (False, "a"), (True, "b"), (None, "b"), (None, "c")):
        counted.add(verdict, subtask)
    told = counted.as_dict()
    assert (told["n"], told["micro"], told["macro"]) == (3, 2 / 3, 0.75)
    assert Previous().as_dict() is None
