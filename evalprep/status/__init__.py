"""The tasks of a run as a table.

What is done, what runs, what failed, how long it took or may take.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalprep.surface import offered

if TYPE_CHECKING:
    from evalprep.status.done import calls_of, is_done, left_of, rows_of, tasks_left
    from evalprep.status.folder import RunFolder
    from evalprep.status.job import Job, keep_edited_runs, read_jobs, refuse_moved
    from evalprep.status.lines import SYMBOLS, TaskStatus, duration, table_lines, task_lines
    from evalprep.status.log import failures, percent, speed
    from evalprep.status.reading import read_status
    from evalprep.status.run_ids import fingerprints_now, runs_now, runs_that_count
    from evalprep.status.shards import ShardSet, folder_of_shard, shard_sets
    from evalprep.status.tries import TRY, begun_try, folder_try, with_try
else:
    __getattr__ = offered(__name__)
