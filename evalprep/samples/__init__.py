"""The rows of one task of two runs: what each asks, and which are the same question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalprep.surface import offered

if TYPE_CHECKING:
    from evalprep.samples.asked import Asked
    from evalprep.samples.compressed import damaged, opened, read_member
    from evalprep.samples.docs import codes_of_field, docs_of
    from evalprep.samples.hashes import document_hash, text_hash
    from evalprep.samples.ids import Ids
    from evalprep.samples.jsonparts import WRITE_AGAIN, JsonParts, object_of, objects_in
    from evalprep.samples.keys import Keys, Rows
    from evalprep.samples.lineup import line_up
    from evalprep.samples.metric import (
        BITS,
        COUNTS_OF_REPLIES,
        NATS,
        NO_FILTER,
        NO_METRIC,
        NOT_SCORES,
        PARSE_RATES,
        PERCENT,
        PERPLEXITY,
        SHARE,
        STATED_WITHOUT_BOX,
        Direction,
        Kind,
        Metric,
    )
    from evalprep.samples.pairing import (
        AMBIGUOUS,
        BY_CONTENT,
        DOUBLED,
        GOLD_COLUMN,
        LONE,
        NO_VERDICT,
        OTHER_GOLD,
        Flags,
        Paired,
        PairRules,
        Way,
        contrary_rows,
        pair_rows,
        pair_with_published,
    )
    from evalprep.samples.question import choice_texts, question_text
    from evalprep.samples.sample import (
        ID_COLUMNS,
        INVALID,
        OVER_ALL_ROWS,
        RESERVED,
        UNKNOWN,
        Damage,
        Sample,
        as_written,
        generation_in,
        number_of,
        row_id,
        verdict_of,
    )
    from evalprep.samples.sample_lines import (
        Hashes,
        requests_as_logged,
        results_name,
        sample_line,
        samples_name,
    )
    from evalprep.samples.scan import FirstValues, first_values, read_table
    from evalprep.samples.schema import SAMPLE_FIELDS, Field
    from evalprep.samples.sources import (
        ChangedSamples,
        FirstSamples,
        InMemory,
        JoinedFiles,
        SampleFile,
        SampleSource,
        first_sample,
        packed,
        read_samples,
        samples_of,
    )
    from evalprep.samples.store import cached_table
    from evalprep.samples.table import Ints, Table
    from evalprep.samples.tool_names import LM_EVAL, TABLE
    from evalprep.samples.verdicts import (
        VerdictCheck,
        check_lines,
        check_verdicts,
        choice_margin,
        multiple_choice_verdicts,
    )
else:
    __getattr__ = offered(__name__)
