"""A run in the formats of other tools and sites."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalprep.surface import offered

if TYPE_CHECKING:
    from evalprep.export.every_eval_ever.validation import check_file, is_valid
    from evalprep.export.formats import BY_NAME, FORMATS, Format
    from evalprep.export.frames import (
        PAIR_FIELDS,
        frame_of,
        pair_records,
        sample_records,
        with_columns,
    )
    from evalprep.export.gated import is_gated, without_gated_texts
    from evalprep.export.hub import ResultEntry, task_id_in
    from evalprep.export.metricname import tracked_name
    from evalprep.export.mlflowstore import is_remote, need_mlflow, store_of
    from evalprep.export.mlflowstore import log_runs as log_to_mlflow
    from evalprep.export.modelcard import established_result
    from evalprep.export.sending import Parcel, send_to_hub
    from evalprep.export.settings import Settings, read_settings
    from evalprep.export.stepsummary import append_summary, cut_summary
    from evalprep.export.subject import Subject, Written, model_id_of
    from evalprep.export.tracking import tracked_run
    from evalprep.export.wandbstore import log_runs as log_to_wandb
    from evalprep.export.wandbstore import need_wandb
else:
    __getattr__ = offered(__name__)
