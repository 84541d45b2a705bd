"""The rows of a data set that are evaluated."""

from __future__ import annotations

SEED = 1234
CANDIDATES = 100_000
"""Of longer data sets only this many rows are drawn from, as in the original."""


def sample_indices(*, num_rows: int, num_records: int | None, seed: int = SEED) -> list[int]:
    """Positions of the rows that are evaluated, in the order of evaluation.

    Equal to `pandas.DataFrame.sample(n, random_state=seed)`: the order is that of the draw, so that
    even all rows come shuffled. Without a number all rows are taken as they stand.

    Args:
        num_rows: Rows there are.
        num_records: Rows wanted; None or 0 for all.
        seed: Seed of numpy's legacy generator; fmeval's is 1234 and cannot be changed there.

    >>> sample_indices(num_rows=20, num_records=5)
    [3, 13, 2, 16, 14]
    """
    if not num_records:
        return list(range(num_rows))
    import numpy as np

    candidates = min(num_rows, CANDIDATES)
    drawn = np.random.RandomState(seed).permutation(candidates)[: min(num_records, candidates)]
    return [int(index) for index in drawn]


METRICS = {"fm.sample_indices": sample_indices}
