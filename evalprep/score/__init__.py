"""The numbers of a run: tasks, groups and the suite scores that packs declare."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalprep.surface import offered

if TYPE_CHECKING:
    from evalprep.score.against import FINETUNED, REFERENCE, Against, group_of
    from evalprep.score.builtin import collect, micro
    from evalprep.score.columns import QUANTITY_VALUES
    from evalprep.score.documents import cluster_by
    from evalprep.score.efforts import labelled, written
    from evalprep.score.estimate import Estimate, Numbers
    from evalprep.score.exporting import export
    from evalprep.score.owners import packs_of
    from evalprep.score.published import published_for
    from evalprep.score.quantity import (
        IN_RESULTS_FILE,
        Quantity,
        about,
        headline_quantities,
        of_suite_score,
        quantities,
        quantities_of_task,
    )
    from evalprep.score.reference import (
        OtherModels,
        ReferenceChoice,
        may_be_opened,
        open_reference,
        open_references,
        references_named,
    )
    from evalprep.score.remarks import (
        each_once,
        missing_rows,
        names_by_text,
        notes_of_task,
        notes_on_value,
    )
    from evalprep.score.scoring import partial_rows, score_run, score_suite, specs_of
    from evalprep.score.screen import show
    from evalprep.score.sides import (
        all_scores,
        export_scores,
        open_side,
        score_by_rule,
        sides_by_rule,
    )
    from evalprep.score.spec import BUILT_IN, declared_specs, order, read_specs
    from evalprep.score.stated import stated_of
    from evalprep.score.suite import Scores, SuiteScore
    from evalprep.score.tables import interval, measured
    from evalprep.score.task import GroupScore, TaskScore
    from evalprep.score.unsampled import WITHOUT_SAMPLES, StoredScore, stored_scores, unit_of
    from evalprep.score.whole import (
        BITS_PER_BYTE,
        NOT_READABLE,
        PERPLEXITIES,
        UnreadableRowsError,
        are_shares,
        counts_reader,
        likelihoods_of,
        macro_of_pairs,
        not_known,
        value_of_likelihoods,
    )
else:
    __getattr__ = offered(__name__)
