"""Per-sample results of other tools, one module per format, found by content.

A module declares its formats under `READERS` and the row of a record as a table of columns;
`results.tool_runs` makes a run of the rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalprep.surface import offered

if TYPE_CHECKING:
    from evalprep.readers.tools.finding import appearance, logs_at
    from evalprep.readers.tools.formats import FORMATS
    from evalprep.readers.tools.reading import Reading, chosen_reading, no_samples, reading_as
    from evalprep.readers.tools.row import Row, Status, TaskFacts, ToolLog
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
