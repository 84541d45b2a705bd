"""The files that lm-eval wrote, as typed objects.

Find a run, stream its samples, read them as columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalprep.surface import offered

if TYPE_CHECKING:
    from evalprep.results.choices import NamedMetric, read_by_choice, refuse_undecided
    from evalprep.results.directions import agreed, turned_in, turned_notes
    from evalprep.results.effort import Effort, Efforts, effort_of_unit, total, whole_call
    from evalprep.results.exported import (
        ExportBoard,
        ExportCell,
        ExportDifference,
        ExportRow,
        ExportRun,
        ExportTask,
    )
    from evalprep.results.facts import (
        KINDS,
        FactDifference,
        answers_without_box,
        expected_rows,
        facts_of,
        facts_that_differ,
        filter_steps,
        incomplete,
        limit_of,
        odd_verdicts,
        part_of,
        parts_of_data,
        rows_missing,
        short_value,
        without_addresses,
        without_formatting,
    )
    from evalprep.results.files import (
        EACH,
        NEWEST,
        OTHER_THAN_NEWEST,
        calls_below,
        find_run,
        newest_calls,
        refuse_pointers,
        run_calls,
        timestamp_of_each,
        typed_calls,
    )
    from evalprep.results.folder import is_stamped, stamp_of
    from evalprep.results.foreign import each_place, name_of_log, open_run, read_log
    from evalprep.results.headline import headline_metric
    from evalprep.results.identity import NOT_RUN_YET, Unread, answered_by, notes_on_unread
    from evalprep.results.invocations import Invocation, invocation_of, oldest_first
    from evalprep.results.labels import label_runs
    from evalprep.results.loading import load_run, open_results
    from evalprep.results.meant import (
        ROWS,
        SettingEdit,
        TaskMeant,
        asked_as_stated,
        edits_of,
        notes_on_meant,
    )
    from evalprep.results.narrowing import matches, narrowed, runs_of_models
    from evalprep.results.other_files import with_other_files
    from evalprep.results.primary import choose_primary, metrics_of_filters, primary_score
    from evalprep.results.provenance import (
        AnnotatorOrigin,
        CommandOrigin,
        Digest,
        Provenance,
        SourceOrigin,
        provenance_of,
    )
    from evalprep.results.published_rule import PublishedReading, published_reading
    from evalprep.results.record import failed_try, note_failures, packs_elsewhere, prepared_work
    from evalprep.results.remarks import (
        note_on_empty_replies,
        note_on_failed_scoring,
        note_on_few_documents,
        note_on_limit,
        note_on_thoughts,
        notes_on_rows,
        notes_on_thoughts,
    )
    from evalprep.results.reply import (
        Replier,
        at_one_length,
        ends_a_sentence,
        extraction_failed,
        few_read,
        has_reply,
        knows_parsing,
        text_of,
    )
    from evalprep.results.rowdigest import RowDigest, digest_of_data
    from evalprep.results.rows import row_mappings
    from evalprep.results.run import Run
    from evalprep.results.run_places import answerers_at, each_run, run_ids_at
    from evalprep.results.runstate import (
        DONE,
        FAILED,
        PENDING,
        RUNNING,
        State,
        Unit,
        last_start,
        output_of,
        read_state,
        read_unit,
        runs_in,
        write_state,
    )
    from evalprep.results.scoring_rule import by_rule, check_rule
    from evalprep.results.seeds import question_of, seed_groups, seed_of, without_seed
    from evalprep.results.stages import MADE_FROM, made_from
    from evalprep.results.task import TaskRun
    from evalprep.results.typed_options import options_other_than, sentence_of
    from evalprep.results.views import SampleView, Which, choose_rows, views_at
else:
    __getattr__ = offered(__name__)
