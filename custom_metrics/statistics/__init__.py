"""Intervals, paired tests, clustered errors and multiple comparisons in plain numpy."""

from custom_metrics.statistics.bootstrap import bootstrap_interval
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
    "paired_difference": paired_difference,
    "proportion_interval": proportion_interval,
    "sign_flip_p": sign_flip_p,
    "wilson_interval": wilson_interval,
}

__all__ = [
    "METRICS",
    "Estimate",
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
    "normal_quantile",
    "paired_difference",
    "proportion_interval",
    "sign_flip_p",
    "student_critical_value",
    "student_p",
    "two_sided_p",
    "unpaired_stderr",
    "wilson_interval",
]
