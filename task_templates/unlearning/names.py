"""Names of scores here and in OpenUnlearning's result files.

Its two suites use some names for different things.
"""

from __future__ import annotations

from collections.abc import Collection

#: Names in its files that are spelt otherwise here: the file of a metric and its key differ there.
SPELLINGS = {"forget_Truth_Ratio": "forget_truth_ratio", "retain_truth_ratio": "retain_Truth_Ratio"}
MUSE_PREFIX = "muse_"
MUSE_ONLY = (
    *("forget_knowmem_ROUGE", "retain_knowmem_ROUGE", "forget_verbmem_ROUGE", "forget_gibberish"),
    *("forget_knowmem_judge", "retain_knowmem_judge", "forget_verbmem_judge"),
)
#: Metrics of both suites; MUSE's carry the prefix here.
SHARED = (
    *("exact_memorization", "extraction_strength", "privleak", "rel_diff"),
    *("mia_loss", "mia_zlib", "mia_min_k", "mia_min_k_plus_plus", "mia_gradnorm", "mia_reference"),
)


def suite_of(name: str) -> str:
    """`TOFU` or `MUSE`."""
    if name.startswith(MUSE_PREFIX) or name in MUSE_ONLY:
        return "MUSE"
    return "TOFU"


def data_set_of(score: str) -> str:
    """The data set of a score of a log: `forget`, `retain`, `ra` or `wf`.

    >>> data_set_of("muse_forget_knowmem_ROUGE")
    'forget'
    """
    return score.removeprefix(MUSE_PREFIX).partition("_")[0]


def aggregator_of(data_set: str) -> str:
    """The aggregator of a data set's truth ratios, as OpenUnlearning has it."""
    return "closer_to_1_better" if data_set == "forget" else "true_better"


def truth_ratio_of(data_set: str) -> str:
    """The name of a data set's truth ratio in a log."""
    return "forget_truth_ratio" if data_set == "forget" else f"{data_set}_Truth_Ratio"


def upstream_name(name: str) -> str:
    """Returns what OpenUnlearning's file of the suite calls a score."""
    return name.removeprefix(MUSE_PREFIX)


def own_name(name: str, suite: str) -> str:
    """Returns what this pack calls a metric of OpenUnlearning's file of a suite."""
    name = SPELLINGS.get(name, name)
    if suite == "MUSE" and name in SHARED:
        return MUSE_PREFIX + name
    return name


def suite_of_file(file: str, metrics: Collection[str]) -> str:
    """The suite of a result file, by the file's name or else by its metrics."""
    if file.upper().startswith("MUSE") or any(name in metrics for name in MUSE_ONLY):
        return "MUSE"
    return "TOFU"
