"""Intervals, paired tests, clustered errors and multiple comparisons in plain numpy."""

from custom_metrics.statistics.bootstrap import bootstrap_interval
from custom_metrics.statistics.corpus import paired_counts, paired_jackknife, paired_macro
from custom_metrics.statistics.mean import (
    Estimate,
    clustered_interval,
    clustered_stderr,
    mean_interval,
    mean_stderr,
    proportion_interval,
    wilson_interval,
)
from custom_metrics.statistics.multiple import holm
from custom_metrics.statistics.normal import (
    critical_value,
    normal_quantile,
    student_critical_value,
    student_p,
    two_sided_p,
)
from custom_metrics.statistics.paired import (
    clustered_difference,
    mcnemar_p,
    minimum_detectable_effect,
    paired_difference,
    sign_flip_p,
    unpaired_stderr,
)
from custom_metrics.statistics.perplexity import PerplexityRatio, perplexity_ratio
from custom_metrics.statistics.score import (
    Interval,
    PairedVerdicts,
    noninferiority_p,
    paired_score_interval,
    paired_score_p,
    rows_needed,
)
from custom_metrics.statistics.units import PairedUnits, paired_interval, paired_mean

METRICS = {
    "bootstrap_interval": bootstrap_interval,
    "clustered_difference": clustered_difference,
    "clustered_interval": clustered_interval,
    "clustered_stderr": clustered_stderr,
    "holm": holm,
    "mcnemar_p": mcnemar_p,
    "mean_interval": mean_interval,
    "mean_stderr": mean_stderr,
    "minimum_detectable_effect": minimum_detectable_effect,
    "noninferiority_p": noninferiority_p,
    "paired_counts": paired_counts,
    "paired_difference": paired_difference,
    "paired_interval": paired_interval,
    "paired_jackknife": paired_jackknife,
    "paired_macro": paired_macro,
    "paired_mean": paired_mean,
    "paired_score_interval": paired_score_interval,
    "paired_score_p": paired_score_p,
    "perplexity_ratio": perplexity_ratio,
    "proportion_interval": proportion_interval,
    "sign_flip_p": sign_flip_p,
    "wilson_interval": wilson_interval,
}

__all__ = [
    "METRICS",
    "Estimate",
    "Interval",
    "PairedUnits",
    "PairedVerdicts",
    "PerplexityRatio",
    "bootstrap_interval",
    "clustered_difference",
    "clustered_interval",
    "clustered_stderr",
    "critical_value",
    "holm",
    "mcnemar_p",
    "mean_interval",
    "mean_stderr",
    "minimum_detectable_effect",
    "noninferiority_p",
    "normal_quantile",
    "paired_counts",
    "paired_difference",
    "paired_interval",
    "paired_jackknife",
    "paired_macro",
    "paired_mean",
    "paired_score_interval",
    "paired_score_p",
    "perplexity_ratio",
    "proportion_interval",
    "rows_needed",
    "sign_flip_p",
    "student_critical_value",
    "student_p",
    "two_sided_p",
    "unpaired_stderr",
    "wilson_interval",
]
