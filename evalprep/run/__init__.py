"""Run a prepared command so that what is finished stays finished.

It runs in units, with a log, a live table and resume.

lm-eval writes nothing before every task is generated and scored. Here a task (or a shard of a big
one) is one call of `lm_eval.simple_evaluate`, in one process that keeps the model loaded over all
commands of its engine; its responses are on disk as soon as they are made, its files as soon as it
is scored. When all units of a command are there, lm-eval itself scores the saved responses once
more in a single call without a model, and so writes the same files as the pasted command would
have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalprep.surface import offered

if TYPE_CHECKING:
    from evalprep.run.calibrate import calibrated
    from evalprep.run.cluster import Cluster, run_on_ray
    from evalprep.run.collect import requests_of
    from evalprep.run.engine import engine_key
    from evalprep.run.given import ReplySet, given_replies, reply_runs, unanswerable
    from evalprep.run.holder import Holder
    from evalprep.run.interface import VERBATIM_TEMPLATE, interface_of
    from evalprep.run.kinds import beyond_kind
    from evalprep.run.live import INTERRUPTED, not_tried, run_job
    from evalprep.run.outgoing import OPENAI_BATCH, Asked, format_of, write_requests
    from evalprep.run.replies import Reply, is_answer, read_replies
    from evalprep.run.screen import showing
    from evalprep.run.server import silence
    from evalprep.run.shards import gather_shards, shard_folder
    from evalprep.run.stored import score_stored
    from evalprep.run.units import Cut
else:
    __getattr__ = offered(__name__)
