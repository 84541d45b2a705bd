"""What lm-eval and other tools wrote, as typed objects: one module for each layout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalprep.surface import offered

if TYPE_CHECKING:
    from evalprep.readers.head import read_head
    from evalprep.readers.known_metrics import COUNTED, direction_of, known_metric
    from evalprep.readers.logged import (
        NONE,
        CallSettings,
        Dataset,
        GroupResults,
        Rescored,
        RowCounts,
        RunResults,
        TaskResults,
        TaskSettings,
        stored_values,
    )
    from evalprep.readers.merging import add_processes, with_model_of
    from evalprep.readers.metric_names import is_mean_of_draws, is_of_draws, metric_and_filter
    from evalprep.readers.origin import scored_by
    from evalprep.readers.parts import (
        SCORER_KEYS,
        call_settings,
        declared_metrics,
        directions_of,
        stored_metrics,
    )
    from evalprep.readers.pointers import notes_on_pointers, pointers_below, store_of, what_and_fix
    from evalprep.readers.results_file import (
        damage_of,
        decode_run,
        encode,
        read_recognised,
        read_results,
        stored_call,
    )
    from evalprep.readers.tool_samples import REDUCERS, RowStore, ToolSamples
    from evalprep.readers.tools import (
        FORMATS,
        Reading,
        Row,
        ToolLog,
        appearance,
        chosen_reading,
        logs_at,
        no_samples,
        reading_as,
    )
    from evalprep.readers.tools.every_eval_ever import sample_hash
    from evalprep.readers.tools.finding import Log, is_log, results_beside
    from evalprep.readers.tools.unread import Unread
    from evalprep.readers.written import (
        EXPORT_FOLDER,
        REPORT_FOLDER,
        SCORES,
        SCORES_FOLDER,
        SUFFIXES,
        is_passed_over,
        read_scores,
    )
else:
    __getattr__ = offered(__name__)
