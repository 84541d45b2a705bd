"""When a pool pays, and that its answers come in order; a pool of threads stands in for one of processes."""

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from evalprep.rescore import scorer as scoring
from evalprep.rescore import workers as rescoring
from evalprep.rescore.place import RESULTS, ScorerPlace
from evalprep.rescore.scorer import Outcome, Scorer

SCORER = Scorer(None, ScorerPlace("t", RESULTS))


@pytest.fixture
def clock():
    """A clock that only moves by rows."""
    return SimpleNamespace(now=0.0)


@pytest.fixture
def started(monkeypatch, clock):
    """Pools that were started; a row takes one second of the clock."""
    pools = []

    def score(_task, sample):
        clock.now += 1.0
        return Outcome(error=str(sample))

    def start(self):
        if self.pool is None:
            self.pool = ThreadPoolExecutor(1)
            pools.append(self.pool)
        return self.pool

    monkeypatch.setattr(scoring, "score_sample", score)
    monkeypatch.setattr(Scorer, "load", lambda place: Scorer(None, place))
    monkeypatch.setattr(rescoring.time, "perf_counter", lambda: clock.now)
    monkeypatch.setattr(rescoring.Workers, "_started", start)
    return pools


@pytest.mark.parametrize(
    ("jobs", "rows", "pools"), [(None, 130, 0), (None, 400, 1), (1, 400, 0), (3, 5, 1)], ids=str
)
def test_a_pool_is_started_where_it_pays(started, monkeypatch, jobs, rows, pools):
    monkeypatch.setattr(rescoring, "core_count", lambda: 2)
    with rescoring.Workers(jobs) as workers:
        for _ in range(2):
            found = list(workers.outcomes(SCORER, iter(range(rows)), rows))
            assert [(sample, outcome.error) for sample, outcome in found] == [
                (n, str(n)) for n in range(rows)
            ]
    assert len(started) == pools


def test_what_the_first_rows_load_starts_no_pool(started, monkeypatch):
    """The first row of a scorer takes a minute, as it may import and compile; the others do not."""
    monkeypatch.setattr(rescoring, "core_count", lambda: 2)
    clock = SimpleNamespace(now=0.0)

    def score(_task, sample):
        clock.now += 60.0 if sample == 0 else 0.001
        return Outcome(error=str(sample))

    monkeypatch.setattr(scoring, "score_sample", score)
    monkeypatch.setattr(rescoring.time, "perf_counter", lambda: clock.now)
    with rescoring.Workers() as workers:
        assert len(list(workers.outcomes(SCORER, iter(range(5000)), 5000))) == 5000
    assert started == []


@pytest.mark.parametrize(("seconds", "pools"), [(20.0, 1), (100.0, 0)])
def test_a_start_that_takes_long_is_not_done_again(started, monkeypatch, clock, seconds, pools):
    """On a busy machine imports take many times as long, and those of a worker would, too."""
    monkeypatch.setattr(rescoring, "core_count", lambda: 2)
    with rescoring.Workers() as workers:
        clock.now += seconds  # until lm-eval is imported and the task is loaded
        assert len(list(workers.outcomes(SCORER, iter(range(400)), 400))) == 400
    assert len(started) == pools
