"""The 24 benchmarks, read out of pack.yaml.

The one list that report, CSV, status table and readers use.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path

import yaml

PRINCIPLES = (
    "Human Agency and Oversight",
    "Technical Robustness and Safety",
    "Privacy & Data Governance",
    "Transparency",
    "Diversity, Non-discrimination & Fairness",
    "Social & Environmental Well-being",
)
#: Requirement -> the articles of Regulation (EU) 2024/1689 that it serves (docs/eu-ai-act.md).
ARTICLES = {
    "Capabilities, Performance, and Limitations": "articles 13(3)(b), 15(1) and (3), 53(1)(a) "
    "and (b)",
    "Interpretability": "articles 13(1), 14(4)(c)",
    "Disclosure of AI": "article 50(1)",
    "Traceability": "article 50(2)",
    "Cyberattack Resilience": "articles 15(5), 55(1)(a) and (d)",
    "Robustness and Predictability": "article 15(1) and (4)",
    "Representation - Absence of Bias": "article 10(2)(f) and (g), recital 27",
    "Fairness - Absence of Discrimination": "article 10(2)(f) and (g), 10(3), recital 27",
    "Harmful Content and Toxicity": "articles 9(2), 55(1)(a) and (b), recital 27",
    "User Privacy Protection": "articles 10(5), 2(7), recitals 27 and 69",
    "No Copyright Infringement": "article 53(1)(c)",
    "Training Data Suitability": "articles 10(2) to (4), 53(1)(d)",
}
#: The subjects of MMLU, each a task of lm-eval's.
SUBJECTS = """
abstract_algebra anatomy astronomy business_ethics clinical_knowledge college_biology
college_chemistry college_computer_science college_mathematics college_medicine college_physics
computer_security conceptual_physics econometrics electrical_engineering elementary_mathematics
formal_logic global_facts high_school_biology high_school_chemistry high_school_computer_science
high_school_european_history high_school_geography high_school_government_and_politics
high_school_macroeconomics high_school_mathematics high_school_microeconomics high_school_physics
high_school_psychology high_school_statistics high_school_us_history high_school_world_history
human_aging human_sexuality international_law jurisprudence logical_fallacies machine_learning
management marketing medical_genetics miscellaneous moral_disputes moral_scenarios nutrition
philosophy prehistory professional_accounting professional_law professional_medicine
professional_psychology public_relations security_studies sociology us_foreign_policy virology
world_religions
""".split()  # noqa: SIM905 - 57 names read better so
#: Own task, for rows of one's own -> lm-eval's tasks for the public data, as their samples are
# called.
STOCK = {
    "compliance_hellaswag_rows": ("hellaswag",),
    "compliance_ai2_reasoning_rows": ("arc_challenge",),
    "compliance_truthful_qa_mc2_rows": ("truthfulqa_mc2",),
    "compliance_mmlu_rows": tuple(f"mmlu_{subject}" for subject in SUBJECTS),
}
SUITE = "COMPL-AI v1, not comparable with v2"
SUITE_RULE = "COMPL-AI v1, as the original computes it"
NO_RESULT = "No eval results"
STRONG_REJECT = "v2_strong_reject"
#: Labels begin with what is measured, but for these.
_DATA_SETS = {"MMLU"}


@dataclass(frozen=True)
class Benchmark:
    """One benchmark.

    Attributes:
        key: Its key in run files.
        label: Its title in reports.
        principle, requirement: Where it stands.
        category: The original's category, which its files hold.
        measures: What it measures, in a few words.
        tasks: lm-eval's tasks behind it; of own and public data the one that ran counts.
        unavailable: Why no run has it.
        rule: By which rule it is scored here, where that is another than the original's.
    """

    key: str
    label: str
    principle: str
    requirement: str
    category: str = ""
    measures: str = ""
    tasks: tuple[str, ...] = ()
    unavailable: str = ""
    rule: str = ""

    @property
    def short(self) -> str:
        """Its name without what it measures; the whole where the rest names no data.

        >>> Benchmark("human_eval", "Coding: HumanEval", "", "").short
        'HumanEval'
        >>> Benchmark("mmlu_robustness", "MMLU: Robustness", "", "").short
        'MMLU: Robustness'
        """
        head, _, tail = self.label.rpartition(": ")
        return self.label if head in _DATA_SETS else tail

    @property
    def score(self) -> str:
        """Its suite score.

        >>> Benchmark("bbq", "", "", "").score
        'compliance_bbq_score'
        """
        return f"compliance_{self.key}_score"


@functools.cache
def benchmarks() -> dict[str, Benchmark]:
    """Key -> benchmark, in the order of the principles; those that no run has come last."""
    registry = _of_version("v1")
    return dict(sorted(registry.items(), key=lambda entry: PRINCIPLES.index(entry[1].principle)))


@functools.cache
def second_version() -> dict[str, Benchmark]:
    """Key -> benchmark of COMPL-AI v2: those that can be run, then the others with the reason."""
    return _of_version("v2")


def _of_version(version: str) -> dict[str, Benchmark]:
    """Key -> benchmark of a version: those with a score, then those that no run has."""
    data = yaml.safe_load(Path(__file__).with_name("pack.yaml").read_text(encoding="utf-8"))
    unavailable = [entry for entry in data["tasks"].values() if "unavailable" in entry]
    registry: dict[str, Benchmark] = {}
    for entry in (*data["suite_scores"].values(), *unavailable):
        tags = entry["tags"]
        if "requirement" not in tags or tags.get("suite", "v1") != version:
            continue
        tasks: list[str] = []  # own ones, each with those of lm-eval for the public data
        for task in entry.get("tasks", ()):
            tasks += [task, *STOCK.get(task, ())]
        registry[tags["benchmark"]] = Benchmark(
            key=tags["benchmark"],
            label=entry.get("title") or entry["description"],
            principle=tags.get("principle", ""),
            requirement=tags["requirement"],
            category=tags.get("category", ""),
            measures=entry.get("note", ""),
            tasks=tuple(tasks),
            unavailable=entry.get("unavailable", ""),
            rule=entry.get("rule", ""),
        )
    return registry


def scored() -> dict[str, Benchmark]:
    """The benchmarks that a run can have: 24."""
    return {key: entry for key, entry in benchmarks().items() if not entry.unavailable}
