"""Reasons why two sides did not answer the same question.

They come from the facts, prompts and gold answers of the sides.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from evalprep.compare.agreement import DIRECTION, SCALE, SCORER
from evalprep.compare.pairing import Pairs
from evalprep.compare.quantities import TOLERATED_MISSING
from evalprep.compare.reasons import BASELINE, CANDIDATE, Kind, Reason, of_fact
from evalprep.errors import Problems, near
from evalprep.packs import READ_BY
from evalprep.results import (
    KINDS,
    ROWS,
    FactDifference,
    PublishedReading,
    Run,
    SettingEdit,
    TaskMeant,
    TaskRun,
    facts_of,
    facts_that_differ,
    filter_steps,
)

GOLD, FILTER_STEPS = "gold", "filter_steps"
#: What `--allow` and a policy's `allow` may name.
QUESTION = (*KINDS["question"], GOLD, DIRECTION, SCALE, ROWS, SCORER)
#: Facts that equal arguments and gold answers of all pairs make irrelevant.
_PROVEN_BY_ROWS = frozenset({"template_hash", "data"})


def check_allowed(allow: Sequence[str], where: str, problems: Problems) -> None:
    """Reports names of facts that cannot be allowed to differ."""
    allowed = ", ".join(QUESTION)
    for name in allow:
        if name not in QUESTION:
            what = f"no fact {name!r} of a question"
            problems.add(what, where=where, allowed=allowed, fix=near(name, QUESTION))


def differing(run: Run, task: TaskRun, other: Run, against: TaskRun) -> list[FactDifference]:
    """Every fact of a task that is known on both sides and not the same."""
    differences = facts_that_differ(facts_of(run, task), facts_of(other, against))
    return [difference for difference in differences if difference.known]


def fact_reasons(differences: Sequence[FactDifference], allow: Collection[str]) -> list[Reason]:
    """The facts of the question that differ and may not."""
    return [of_fact(item) for item in forbidden(differences, allow)]


def forbidden(
    differences: Sequence[FactDifference], allow: Collection[str]
) -> list[FactDifference]:
    """The facts of the question that differ without being allowed by name."""
    of_question = [item for item in differences if item.kind == "question"]
    return [item for item in of_question if item.name not in allow]


def question_reasons(
    differences: Sequence[FactDifference],
    allow: Collection[str],
    pairs: Pairs,
    *,
    same_choices: bool = True,
) -> tuple[list[Reason], list[str]]:
    """Reasons and notes from facts, prompts and gold answers of two runs.

    Equal arguments and gold answers of all pairs prove that the question is the same; another
    template or data set is then a note. Not where the choices differ (`same_choices`).

    Returns:
        Why the sides are not comparable, and what the reader should know.
    """
    hard = forbidden(differences, allow)
    disputed = [item for item in hard if item.name in _PROVEN_BY_ROWS]
    notes = []
    if (
        same_choices
        and disputed
        and pairs.rows.size
        and not pairs.match.asks_otherwise(pairs.rows, pairs.other_rows)
    ):
        hard = [item for item in hard if item not in disputed]
        names = " and ".join("the " + _PLAIN_NAMES[item.name] for item in disputed)
        verb = "differs" if len(disputed) == 1 else "differ"
        notes.append(f"{names} {verb}, but every prompt and gold answer is the same")
    changed = int(pairs.prompt_differs.sum())
    by_template = " in its choices (doc_to_choice)"
    if same_choices:
        by_template = f" ({changed} of {pairs.paired} prompts differ)"
    reasons = [of_fact(item, where=by_template) for item in hard]
    reasons += gold_reasons(pairs, allow)
    if not reasons:
        reasons += prompt_reasons(changed, pairs.paired, differences, allow)
    return reasons, notes


_PLAIN_NAMES = {"template_hash": "prompt template", "data": "data set"}


def gold_reasons(pairs: Pairs, allow: Collection[str]) -> list[Reason]:
    """The reason where more gold answers differ than is tolerated."""
    count = len(pairs.other_gold)
    if count <= TOLERATED_MISSING * pairs.paired or GOLD in allow:
        return []
    return [Reason(Kind.GOLD, option=GOLD, values={"rows": count, "pairs": pairs.paired})]


def prompt_reasons(
    changed: int, pairs: int, differences: Sequence[FactDifference], allow: Collection[str]
) -> list[Reason]:
    """The reason where prompts of rows differ without a fact that says why.

    A chat template of another model changes every prompt; that is a part of what is compared.
    """
    if changed <= TOLERATED_MISSING * pairs or {"prompt", "prompt_hash"} & set(allow):
        return []
    for item in differences:
        is_allowed = item.name in allow
        if item.name == "chat_template" and (item.kind == "subject" or is_allowed):
            return []
        # What was allowed to differ is what the prompts differ in.
        if item.kind == "question" and is_allowed:
            return []
    return [Reason(Kind.PROMPT, option="prompt", values={"rows": changed, "pairs": pairs})]


def meant_reasons(
    meant: TaskMeant | None, published: PublishedReading, allow: Collection[str]
) -> list[Reason]:
    """The reasons where a run did not ask what was prepared, against published verdicts.

    They are of the prepared question. How replies are read is the pack's own rule there; edits of
    the filter and the scorer count where the user chose another filter, or no rule is known.

    Args:
        meant: The task, as meant and as logged; None where nothing is known.
        published: How it is read.
        allow: Facts that may differ.
    """
    if meant is None:
        return []
    edits_of: dict[str, list[str]] = {}
    for edit in meant.edits:
        if edit.fact not in READ_BY or _decides_reading(edit, published):
            edits_of.setdefault(edit.fact, []).append(edit.sentence())
    edited = [
        Reason(Kind.EDITED, option=fact, values={"edits": edits})
        for fact, edits in edits_of.items()
        if fact not in allow
    ]
    return [*rows_reasons(meant, allow), *edited]


def _decides_reading(edit: SettingEdit, published: PublishedReading) -> bool:
    """Returns whether an edit of a filter or a scorer is one of the reading that is compared."""
    if published.of_pack:
        return False
    is_own_filter = edit.key == f"filter_list.{published.metric.filter}"
    return is_own_filter or edit.key == "process_results"


def rows_reasons(
    meant: TaskMeant, allow: Collection[str], other: TaskMeant | None = None
) -> list[Reason]:
    """The reason where a task answered other rows than the prepared ones.

    Two runs that answered the same other rows have one question.

    Args:
        meant: The task of the candidate.
        allow: Facts that may differ.
        other: The task of the baseline; None for published verdicts.
    """
    if ROWS in allow or (other is not None and other.digest == meant.digest):
        return []
    sides = (CANDIDATE, meant), (BASELINE, other)
    return [
        Reason(
            Kind.ROWS,
            option=ROWS,
            values={"side": side, "expected": task.expected, "found": task.found},
        )
        for side, task in sides
        if task is not None and task.has_other_rows
    ]


def filter_reasons(
    task: TaskRun, against: TaskRun, filter_name: str, allow: Collection[str]
) -> list[Reason]:
    """The reason where a filter beside the first one has other steps on the two sides."""
    steps = filter_steps(task.logged.settings, filter_name)
    other = filter_steps(against.logged.settings, filter_name)
    if FILTER_STEPS in allow or steps is None or other is None or steps == other:
        return []
    return [of_fact(FactDifference(FILTER_STEPS, "question", steps, other))]


def manner_notes(differences: Sequence[FactDifference]) -> list[str]:
    """One note for settings that change how a question is asked, not which."""
    settings = [item.sentence() for item in differences if item.kind == "manner"]
    if not settings:
        return []
    return [f"different settings: {'; '.join(settings)}"]
