"""What `evalprep run` names as the next command."""

import pytest

from evalprep.verbs.run import _next
from tests.evalprep.results.writing import STAMP, Row, write_run

LATER = "2026-03-01T11-00-00.000001"


@pytest.mark.parametrize(("previous", "verb"), [(None, "score"), (1.0, "compare")])
def test_published_verdicts_can_be_compared_with(tmp_path, previous, verb):
    home = write_run(tmp_path, {"t": [Row("a"), Row("b", previous=previous)]})
    assert _next([home / f"results_{STAMP}.json"]) == f"evalprep {verb} {home}"


def test_two_commands_leave_two_time_stamps(tmp_path):
    home = write_run(tmp_path, {"t": [Row("a")]})
    write_run(tmp_path, {"u": [Row("a", previous=1.0)]}, stamp=LATER)
    both = [home / f"results_{stamp}.json" for stamp in (STAMP, LATER)]
    assert _next(both) == f"evalprep compare {home} --timestamp each"


def test_a_run_without_samples_has_nothing_to_compare(tmp_path):
    home = write_run(tmp_path, {"t": [Row("a")]})
    (home / f"samples_t_{STAMP}.jsonl").unlink()
    assert _next([home / f"results_{STAMP}.json"]) == f"evalprep score {home}"
