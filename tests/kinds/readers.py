"""Kinds of rows about results of other tools: a native record as a row, a verdict as a number."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from evalprep.readers.tools import (
    delimited,
    every_eval_ever,
    helm,
    inspect_log,
    lighteval,
    olmes,
    openai_evals,
    simple_evals,
)
from evalprep.readers.tools.row import Row
from evalprep.readers.tools.verdicts import inspect_value, table_score
from tests.kinds import Kind


def _fields(row: Row) -> dict[str, Any]:
    return {**msgspec.structs.asdict(row), "score": row.score}


def _mapped(row_of: Callable[..., Row], *names: str) -> Kind:
    """A kind whose input is the record itself, or has its parts under some names."""

    def read(given: Mapping[str, Any]) -> dict[str, Any]:
        return _fields(row_of(*[given[name] for name in names]) if names else row_of(given))

    return read


def _helm(given: Mapping[str, Any]) -> dict[str, Any]:
    reason = helm.skip_reason(given["stats"])
    if reason:
        return {"skip": reason}
    return _fields(helm.row_of(given["stats"], given.get("state", {}), given.get("metric", "")))


KINDS: dict[str, Kind] = {
    "map.lighteval_new": _mapped(lighteval.new_row),
    "map.lighteval_old": _mapped(lighteval.old_row),
    "map.leaderboard_v1": _mapped(lighteval.v1_row),
    "map.inspect": _mapped(inspect_log.row_of, "sample"),
    "map.helm": _helm,
    "map.olmes": _mapped(olmes.olmes_row),
    "map.olmo_eval": _mapped(olmes.olmo_eval_row),
    "map.every_eval_ever": _mapped(every_eval_ever.row_of),
    "map.openai_evals": _mapped(openai_evals.row_of, "events"),
    "map.simple_evals": _mapped(simple_evals.row_of, "html", "convo"),
    "map.table": _mapped(delimited.row_of, "row", "columns"),
    "inspect.value": inspect_value,
    "table.score": table_score,
    "eee.sample_hash": lambda given: every_eval_ever.sample_hash(**given),
    "eee.sample_hash_lm_eval_converter": lambda given: every_eval_ever.sample_hash_of_converter(
        **given
    ),
}
