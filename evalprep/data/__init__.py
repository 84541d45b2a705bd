"""Sources, the hub, row files, the join with ground truth, and the prepared parquet files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalprep.surface import offered

if TYPE_CHECKING:
    from evalprep.data.arrays import whole_numbers
    from evalprep.data.cells import list_cell, looks_like_list
    from evalprep.data.columnjoin import join_columns
    from evalprep.data.compressed import unpacked_name
    from evalprep.data.fields import OF_MODEL, FieldRow, fields_of_records, kind_of, read_fields
    from evalprep.data.folders import DataFolder, open_folder
    from evalprep.data.hub import HubFailure, hub_problem, is_offline, logs_at, on_hub
    from evalprep.data.joining import GroundTruth, JoinReport, join
    from evalprep.data.keyed import is_plain
    from evalprep.data.lock import commit_of, lock_text, moved, read_lock
    from evalprep.data.nested import column_of, paths_in, value_at
    from evalprep.data.prepared import Repeats, named_rows, write_rows
    from evalprep.data.rowfiles import (
        is_data_file,
        open_parquet,
        parquet_count,
        parquet_rows,
        parquet_schema,
    )
    from evalprep.data.sources import Source, config_names, local_splits, open_source, source_lines
else:
    __getattr__ = offered(__name__)
