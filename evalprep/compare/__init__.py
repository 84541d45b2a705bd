"""A run held against published verdicts or another run, sample by sample."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalprep.surface import offered

if TYPE_CHECKING:
    from evalprep.compare.best import FEWEST_ROWS, adjusted_p, leaders, shown_better
    from evalprep.compare.columns import (
        CONCLUSION_VALUES,
        OF_VERDICTS,
        conclusion_table,
        in_own_unit,
        unit_of,
    )
    from evalprep.compare.comparable import check_allowed, differing, fact_reasons
    from evalprep.compare.comparison import PUBLISHED, Comparison
    from evalprep.compare.concluding import adjusted_by_key, conclude, conclude_pairs, deciding
    from evalprep.compare.conclusion import NOT_COMPARABLE, NOT_ENOUGH, WORSE, Conclusion, mirrored
    from evalprep.compare.difference import ALPHA, BITS, PERCENT_RANGE, POINTS, RATIO, Difference
    from evalprep.compare.flips import write_csv
    from evalprep.compare.limit import LIMIT_TEXT, SHARE, Limit, as_limit, read_limit
    from evalprep.compare.measuring import (
        add_suite,
        compare_runs,
        measure,
        tasks_without_mean,
        without_suite,
    )
    from evalprep.compare.paper import comparison_latex, comparison_svg
    from evalprep.compare.quantities import TOLERATED_MISSING, Quantities
    from evalprep.compare.reasons import (
        BASELINE,
        CANDIDATE,
        OF_POLICY,
        Kind,
        Reason,
        on_a_board,
        sentences,
    )
    from evalprep.compare.reproduction import (
        PublishedScores,
        ReproducedBenchmark,
        Reproduction,
        reproduce,
    )
    from evalprep.compare.screen import MANY_EQUAL, show
    from evalprep.compare.settings import Settings
    from evalprep.compare.stored import UNPAIRED_TEST
    from evalprep.compare.suite import measure_scores
    from evalprep.compare.task import PairedTask, floor_sentence
    from evalprep.compare.tasknames import of_tasks
else:
    __getattr__ = offered(__name__)
