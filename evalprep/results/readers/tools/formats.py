"""The formats in the order in which they are tried."""

from __future__ import annotations

from evalprep.results.readers.tools import (
    delimited,
    evalscope,
    every_eval_ever,
    helm,
    inspect_log,
    lighteval,
    olmes,
    openai_evals,
    simple_evals,
)
from evalprep.results.readers.tools.reading import Reader
from evalprep.results.tool_names import TABLE as TABLE_NAME

READERS = (
    Reader(
        every_eval_ever.NAME,
        every_eval_ever.recognises,
        every_eval_ever.read,
        every_eval_ever.has_instances,
    ),
    Reader(openai_evals.NAME, openai_evals.recognises, openai_evals.read),
    Reader("olmo-eval", olmes.recognises_olmo_eval, olmes.read_olmo_eval),
    Reader("olmes", olmes.recognises_olmes, olmes.read_olmes),
    Reader(inspect_log.NAME, inspect_log.recognises, inspect_log.read),
    Reader(helm.NAME, helm.recognises, helm.read),
    Reader("lighteval", lighteval.recognises_new, lighteval.read_new),
    Reader("lighteval-old", lighteval.recognises_old, lighteval.read_old),
    Reader("leaderboard-v1", lighteval.recognises_v1, lighteval.read_v1),
    Reader(evalscope.NAME, evalscope.recognises, evalscope.read),
    Reader(simple_evals.NAME, simple_evals.recognises, simple_evals.read),
)
#: A table is what the user says it is: almost any file could be one.
TABLE = Reader(TABLE_NAME, delimited.recognises, delimited.read)
FORMATS = tuple(reader.name for reader in (*READERS, TABLE))
