"""Sample lines and names of files as lm-eval writes them, for runs that evalprep writes itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from evalprep.samples.schema import HASHES


class Hashes(NamedTuple):
    """lm-eval's digests of a row, its prompt and its gold answer; empty where not logged."""

    doc: str = ""
    prompt: str = ""
    target: str = ""

    def named(self) -> dict[str, str]:
        """The digests by lm-eval's names."""
        return dict(zip(HASHES, self, strict=True))


def sample_line(
    *,
    doc_id: Any,
    doc: Any,
    target: Any,
    arguments: Mapping[str, Any],
    replies: Sequence[Any],
    filtered: Sequence[Any],
    filter_name: str,
    metrics: Iterable[str],
    hashes: Hashes | None = None,
) -> dict[str, Any]:
    """Returns a line of a samples file without the values of its metrics.

    Args:
        doc_id: Number of the row in its data set.
        doc: The row.
        target: Its gold answer.
        arguments: Its requests, from `requests_as_logged`.
        replies: For each request the replies to it.
        filtered: For each request the reply after the filter.
        filter_name: Name of the filter.
        metrics: Names of the metrics, whose values the caller adds under them.
        hashes: Digests; without them the line has none.
    """
    line = {
        "doc_id": doc_id,
        "doc": doc,
        "target": target,
        "arguments": arguments,
        "resps": replies,
        "filtered_resps": filtered,
        "filter": filter_name,
        "metrics": list(metrics),
    }
    if hashes is not None:
        line |= hashes.named()
    return line


def requests_as_logged(requests: Iterable[tuple[str, Any]]) -> dict[str, dict[str, Any]]:
    """Returns requests, each a prompt and what goes with it, by lm-eval's names.

    >>> requests_as_logged([("2 + 3?", {})])
    {'gen_args_0': {'arg_0': '2 + 3?', 'arg_1': {}}}
    """
    return {
        f"gen_args_{number}": {"arg_0": prompt, "arg_1": further}
        for number, (prompt, further) in enumerate(requests)
    }


def samples_name(task: str, stamp: str) -> str:
    """Returns the name of the samples file of a task."""
    return f"samples_{task}_{stamp}.jsonl"


def results_name(stamp: str) -> str:
    """Returns the name of a results file."""
    return f"results_{stamp}.json"
