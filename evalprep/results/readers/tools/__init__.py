"""Per-sample results of other tools, one module per format, found by content.

Each reader yields `Row`s; `results.tool_runs` makes a run of them.

| module | format |
|---|---|
| `lighteval` | details of lighteval, and of the Open LLM Leaderboard of 2023 |
| `inspect_log` | logs of inspect_ai, `.eval` and `.json` |
| `helm` | folders of HELM runs |
| `olmes` | predictions of OLMES and olmo-eval |
| `every_eval_ever` | instances of Every Eval Ever |
| `openai_evals` | event logs of OpenAI evals |
| `evalscope` | reviews of evalscope 1.x |
| `simple_evals` | reports of simple-evals |
| `delimited` | tables whose columns the user names |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalprep.surface import offered

if TYPE_CHECKING:
    from evalprep.results.readers.tools.finding import appearance, logs_at
    from evalprep.results.readers.tools.formats import FORMATS
    from evalprep.results.readers.tools.reading import (
        Reading,
        chosen_reading,
        no_samples,
        reading_as,
    )
    from evalprep.results.readers.tools.row import Row, Status, TaskFacts, ToolLog
else:
    __getattr__ = offered(__name__)

__all__ = [
    "FORMATS",
    "Reading",
    "Row",
    "Status",
    "TaskFacts",
    "ToolLog",
    "appearance",
    "chosen_reading",
    "logs_at",
    "no_samples",
    "reading_as",
]
