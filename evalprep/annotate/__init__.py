"""Values computed after a run by a model or a program.

Each answer is kept under a hash of what decided it.

A pack says in `annotators.py` what is asked and how a reply is read (docs/appendix/contracts.md);
nothing here knows a benchmark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalprep.surface import offered

if TYPE_CHECKING:
    from evalprep.annotate.answers import SCHEMA, Question, Who
    from evalprep.annotate.asking import Asker, Stopped, Sum
    from evalprep.annotate.attachment import (
        annotators_of,
        attach,
        kept_judgements,
        rubric_judgements,
        stamp_for,
        together,
    )
    from evalprep.annotate.batch import OPEN, Batch, Desk, batches_of, changed_inputs
    from evalprep.annotate.collection import Asked, chosen_tasks, collect, go_on_plainly
    from evalprep.annotate.finding import find_rubric, lacks, pack_annotators
    from evalprep.annotate.foreign import foreign_note
    from evalprep.annotate.free import compute
    from evalprep.annotate.judged import JudgeEffort, Rated, Rater, Ratings
    from evalprep.annotate.kept import Kept, open_filled
    from evalprep.annotate.ledger import Attempt, Ledger, Use, now
    from evalprep.annotate.local import LocalJudge, ask_here, local_backend
    from evalprep.annotate.place import ledger_of, run_folders
    from evalprep.annotate.predicting import (
        OF_ENDPOINTS,
        Model,
        Prediction,
        predictions,
        predictor_of,
    )
    from evalprep.annotate.prices import Budget, Price, output_at_most, read_prices, tokens_at_most
    from evalprep.annotate.promptfile import PromptFile
    from evalprep.annotate.providers.endpoint import Endpoint
    from evalprep.annotate.providers.route import travels_openly, uses_proxy
    from evalprep.annotate.providers.secret import read_key
    from evalprep.annotate.providers.service import WIRES, Service
    from evalprep.annotate.providers.wire import RefusedError, UnansweredError, Wire
    from evalprep.annotate.quality import (
        Agreement,
        RowRatings,
        agreement,
        length_bias,
        preferences,
        ratings_of,
        read_labels,
    )
    from evalprep.annotate.ratings import judge_efforts, ratings_of_run
    from evalprep.annotate.screen import Progress, plan, show, show_computing, show_plan, show_sum
    from evalprep.annotate.session import ask_all, follow, opened, refresh, sign, waiting
    from evalprep.annotate.tallies import TaskTally, tally
else:
    __getattr__ = offered(__name__)
