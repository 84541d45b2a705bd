"""Many samples scored in several processes, where that is faster than in one.

A worker costs seconds of imports before its first row, and many more on a busy machine. One pool
serves all tasks of a run, and it is started when the rows after the first ones show that it saves
more than that. What it costs is taken from this process, which imported and loaded the same.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Self

from evalprep.model import core_count
from evalprep.rescore.place import ScorerPlace
from evalprep.rescore.scorer import Outcome, Scorer, score_samples
from evalprep.samples import Sample

_COLD = 16  # documents that load what a scorer needs; their time says nothing of the others
_CHUNK = 128  # documents per message to a worker
# Seconds that a start of workers must save at least, and that another task in running ones must.
_STARTING, _LOADING = 6.0, 2.0
# By which the start of workers, at once and beside this process, takes longer than its own.
_MARGIN = 2.0

_scorers: dict[
    str, Scorer
] = {}  # of the tasks that this worker process has loaded, which takes a moment each


def _score_chunk(place: ScorerPlace, samples: list[Sample]) -> list[Outcome]:
    if place.task not in _scorers:
        _scorers[place.task] = Scorer.load(place)
    return score_samples(_scorers[place.task], samples)


@dataclass(frozen=True)
class _Waiting:
    """Samples that a worker scores."""

    samples: list[Sample]
    future: Future[list[Outcome]]

    def scored(self) -> Iterator[tuple[Sample, Outcome]]:
        """Each sample with its outcome, as soon as the worker is done."""
        return zip(self.samples, self.future.result(), strict=True)


def _chunks(samples: Iterator[Sample]) -> Iterator[list[Sample]]:
    """Yields the samples in lists of equal length; the last one may be shorter."""
    while chunk := list(islice(samples, _CHUNK)):
        yield chunk


class Workers:
    """Scores samples in order, in this process and, where it pays, in others; memory stays bounded.

    Args:
        jobs: Processes: 1 for this one alone, more for workers from the first row on; None decides
            by the time that rows take, with at most one worker per core.
    """

    def __init__(self, jobs: int | None = None) -> None:
        self._asked = jobs is not None
        self.jobs = jobs if jobs is not None else core_count()
        self.pool: ProcessPoolExecutor | None = None
        self._begun = time.perf_counter()
        self._start: float | None = None  # seconds until this process had scored its first rows

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.pool is not None:
            self.pool.shutdown(cancel_futures=True)

    def outcomes(
        self, scorer: Scorer, samples: Iterator[Sample], rows: int
    ) -> Iterator[tuple[Sample, Outcome]]:
        """Scores the samples of one task.

        Args:
            scorer: The task, as this process has loaded it; workers load it from the same place.
            samples: Its samples.
            rows: How many they are.
        """
        if not (self._asked and self.jobs > 1):
            yield from self._score_here(scorer, samples, rows)
        waiting: deque[_Waiting] = deque()
        for chunk in _chunks(samples):
            future = self._started().submit(_score_chunk, scorer.place, chunk)
            waiting.append(_Waiting(chunk, future))
            if len(waiting) > 4 * self.jobs:
                yield from waiting.popleft().scored()
        while waiting:
            yield from waiting.popleft().scored()

    def _score_here(
        self, scorer: Scorer, samples: Iterator[Sample], rows: int
    ) -> Iterator[tuple[Sample, Outcome]]:
        """Scores samples in this process until workers would pay for the rest, or to the end."""
        cold = list(islice(samples, _COLD))
        begun = time.perf_counter()
        scored = score_samples(scorer, cold)
        cost = self._cost(begun)
        yield from zip(cold, scored, strict=True)
        remaining = rows - len(cold)
        done, seconds = 0, 0.0
        for chunk in _chunks(samples):
            start = time.perf_counter()
            scored = score_samples(scorer, chunk)
            seconds += time.perf_counter() - start
            done += len(chunk)
            yield from zip(chunk, scored, strict=True)
            seconds_per_row = seconds / done
            saved = seconds_per_row * (remaining - done) * (1 - 1 / self.jobs)
            if self.jobs > 1 and saved > cost:
                break

    def _cost(self, begun: float) -> float:
        """Seconds that workers take before they score the rows of a task.

        Args:
            begun: When this process began with the first rows of the task.
        """
        now = time.perf_counter()
        if self._start is None:
            self._start = now - self._begun
        if self.pool is not None:
            return max(_LOADING, now - begun)
        return max(_STARTING, _MARGIN * max(self._start, now - begun))

    def _started(self) -> ProcessPoolExecutor:
        if self.pool is None:
            import multiprocessing

            # Forking after torch has started threads can hang; fresh processes cannot.
            self.pool = ProcessPoolExecutor(
                self.jobs, mp_context=multiprocessing.get_context("spawn")
            )
        return self.pool
