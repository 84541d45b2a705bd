"""Whether two sides answered the same question, by their facts."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from evalprep.compare.conclusion import TOLERATED_MISSING
from evalprep.errors import Problems, near
from evalprep.results import Run, TaskRun
from evalprep.results.facts import KINDS, FactDifference, facts_of, facts_that_differ

#: What `--allow` and a policy's `allow` may name.
QUESTION = KINDS["question"]


def check_allowed(allow: Sequence[str], where: str, problems: Problems) -> None:
    """Report names of facts that cannot be allowed to differ."""
    for name in allow:
        if name not in QUESTION:
            problems.add(
                f"no fact {name!r} of a question", where=where, allowed=", ".join(QUESTION), fix=near(name, QUESTION)
            )


def differing(run: Run, task: TaskRun, other: Run, against: TaskRun) -> list[FactDifference]:
    """Every fact of a task that is known on both sides and not the same."""
    return [one for one in facts_that_differ(facts_of(run, task), facts_of(other, against)) if one.known]


def reasons(found: Sequence[FactDifference], allow: Collection[str]) -> list[str]:
    """Why the two sides are not comparable; empty where they are, or where the difference is allowed by name."""
    hard = [one for one in found if one.kind == "question" and one.name not in allow]
    return [f"another question: {one.sentence()}" for one in hard]


def prompt_reason(changed: int, pairs: int, found: Sequence[FactDifference], allow: Collection[str]) -> str:
    """Why rows with other prompts make the sides incomparable; empty where they do not.

    A chat template of another model changes every prompt; that is a part of what is compared.
    """
    if changed <= TOLERATED_MISSING * pairs or {"prompt", "prompt_hash"} & set(allow):
        return ""
    if any(one.name == "chat_template" and (one.kind == "subject" or one.name in allow) for one in found):
        return ""
    if any(one.name in allow for one in found if one.kind == "question"):
        return ""  # what was allowed to differ is what the prompts differ in
    return f"another question: the prompt differs on {changed} of {pairs} rows"


def manner_notes(found: Sequence[FactDifference]) -> list[str]:
    """One note for what was asked in another way."""
    manner = [one.sentence() for one in found if one.kind == "manner"]
    return [f"asked in another way: {'; '.join(manner)}"] if manner else []
