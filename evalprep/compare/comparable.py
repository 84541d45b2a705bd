"""Reasons why two sides did not answer the same question.

They come from the facts, prompts and gold answers of the sides.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from evalprep.compare.agreement import DIRECTION, SCALE, SCORER
from evalprep.compare.conclusion import TOLERATED_MISSING
from evalprep.compare.pairing import Pairs
from evalprep.compare.questions import RowPairs, count_other_questions
from evalprep.errors import Problems, near
from evalprep.packs import READ_BY
from evalprep.results import (
    KINDS,
    NONE,
    ROWS,
    FactDifference,
    PublishedReading,
    Run,
    SettingEdit,
    Table,
    TaskMeant,
    TaskRun,
    facts_of,
    facts_that_differ,
    filter_steps,
    short_value,
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


def reasons(differences: Sequence[FactDifference], allow: Collection[str]) -> list[str]:
    """Sentences for the facts of the question that differ and may not."""
    hard = forbidden(differences, allow)
    return [with_option(sentence_of(item), item.name) for item in hard]


def forbidden(
    differences: Sequence[FactDifference], allow: Collection[str]
) -> list[FactDifference]:
    """The facts of the question that differ without being allowed by name."""
    of_question = [item for item in differences if item.kind == "question"]
    return [item for item in of_question if item.name not in allow]


def with_option(sentence: str, fact: str) -> str:
    """A reason followed by the option that lifts it."""
    return f"{sentence}; `--allow {fact}` compares anyway"


def sentence_of(item: FactDifference) -> str:
    """One sentence for a fact that differs.

    >>> sentence_of(FactDifference("chat_template", "question", "9f2c" * 16, "none"))
    'the candidate used a chat template, the baseline none'
    >>> sentence_of(FactDifference("data", "question", ["x/a", None, None, None], ["x/b"]))
    'the data set differs: x/a, baseline x/b'
    """
    words = _SENTENCES.get(item.name)
    if words is None:
        return f"{item.sentence()} (candidate / baseline)"
    return words(item)


def _chat_template_sentence(item: FactDifference) -> str:
    if item.baseline == NONE:
        return "the candidate used a chat template, the baseline none"
    if item.candidate == NONE:
        return "the candidate used no chat template, the baseline one"
    return f"the chat template differs: {_both_values(item)}"


def _limit_sentence(item: FactDifference) -> str:
    """Returns which side has a part of the rows.

    >>> _limit_sentence(FactDifference("limit", "question", "12 of 120 rows", "none"))
    'the candidate has 12 of 120 rows'
    """
    sides = ("the candidate", item.candidate), ("the baseline", item.baseline)
    parts = [f"{side} has {limit}" for side, limit in sides if limit != NONE]
    return ", ".join(parts)


def _steps_that_differ(item: FactDifference) -> str:
    """The first settings of two filters that differ, candidate and baseline.

    >>> steps = [{"function": "regex", "regex_pattern": "is ([A-Z])"}], [{"function": "take_first"}]
    >>> _steps_that_differ(FactDifference("filter_steps", "question", *steps))
    'function regex / take_first, regex_pattern is ([A-Z]) / none'
    """
    nothing: Mapping[str, Any] = {}
    for step, other in zip_longest(item.candidate, item.baseline, fillvalue=nothing):
        if step == other:
            continue
        keys = [key for key in {**step, **other} if step.get(key) != other.get(key)]
        pairs = [(key, step.get(key, NONE), other.get(key, NONE)) for key in keys]
        return ", ".join(f"{key} {short_value(a)} / {short_value(b)}" for key, a, b in pairs)
    return ""


def _joined(value: Any) -> str:
    """The known parts of a list as one text."""
    parts = value if isinstance(value, (list, tuple)) else [value]
    known = [str(part) for part in parts if part not in (None, "")]
    return " ".join(known)


def _data_sentence(item: FactDifference) -> str:
    data = _joined(item.candidate)
    baseline_data = _joined(item.baseline)
    return f"the data set differs: {data}, baseline {baseline_data}"


def _both_values(item: FactDifference) -> str:
    return f"{short_value(item.candidate)} / {short_value(item.baseline)}"


#: Fact -> what is said where it differs; any other is named with both values.
_SENTENCES: Mapping[str, Callable[[FactDifference], str]] = {
    "chat_template": _chat_template_sentence,
    "template_hash": lambda _: "the prompt template differs",
    "data": _data_sentence,
    FILTER_STEPS: lambda item: f"the steps of the filter differ: {_steps_that_differ(item)}",
    "limit": _limit_sentence,
    "system": lambda item: f"the system prompt differs: {_both_values(item)}",
}


def _reasons_with_prompts(
    differences: Sequence[FactDifference], changed: int, pairs: Pairs, *, same_choices: bool
) -> list[str]:
    """Each difference as a reason; of templates, in what they differ."""
    by_template = " in its choices (doc_to_choice)"
    if same_choices:
        by_template = f" ({changed} of {pairs.paired} prompts differ)"
    sentences = []
    for item in differences:
        sentence = sentence_of(item)
        if item.name == "template_hash":
            sentence += by_template
        sentences.append(with_option(sentence, item.name))
    return sentences


def question_reasons(
    differences: Sequence[FactDifference],
    allow: Collection[str],
    pairs: Pairs,
    table: Table,
    other: Table,
    *,
    same_choices: bool = True,
) -> tuple[list[str], list[str]]:
    """Reasons and notes from facts, prompts and gold answers of two runs.

    Equal arguments and gold answers of all pairs prove that the question is the same; another
    template or data set is then a note. Not where the choices differ (`same_choices`).

    Returns:
        Why the sides are not comparable, and what the reader should know.
    """
    hard = forbidden(differences, allow)
    disputed = [item for item in hard if item.name in _PROVEN_BY_ROWS]
    notes = []
    if same_choices and _is_proven(disputed, pairs, table, other):
        hard = [item for item in hard if item not in disputed]
        notes.append(_proof(disputed))
    changed = int(pairs.prompt_differs.sum())
    texts = _reasons_with_prompts(hard, changed, pairs, same_choices=same_choices)
    other_gold = gold_reason(pairs, allow)
    if other_gold:
        texts.append(other_gold)
    if texts:
        return texts, notes
    other_prompts = prompt_reason(changed, pairs.paired, differences, allow)
    if other_prompts:
        texts.append(other_prompts)
    return texts, notes


def _is_proven(
    disputed: Sequence[FactDifference], pairs: Pairs, table: Table, other: Table
) -> bool:
    """True where every pair has equal arguments and gold answers, although facts differ."""
    if not disputed or not pairs.rows.size:
        return False
    row_pairs = RowPairs(table, other, pairs.rows, pairs.other_rows)
    return not count_other_questions(row_pairs)


def _proof(disputed: Sequence[FactDifference]) -> str:
    names = " and ".join("the " + _PLAIN_NAMES[item.name] for item in disputed)
    verb = "differs" if len(disputed) == 1 else "differ"
    return f"{names} {verb}, but every prompt and gold answer is the same"


_PLAIN_NAMES = {"template_hash": "prompt template", "data": "data set"}


def gold_reason(pairs: Pairs, allow: Collection[str]) -> str:
    """The reason where more gold answers differ than is tolerated; empty where they do not."""
    count = len(pairs.other_gold)
    if count <= TOLERATED_MISSING * pairs.paired or GOLD in allow:
        return ""
    sentence = f"gold answers differ on {count} of {pairs.paired} rows"
    return with_option(sentence, GOLD)


def prompt_reason(
    changed: int, pairs: int, differences: Sequence[FactDifference], allow: Collection[str]
) -> str:
    """The reason where prompts of rows differ without a fact that says why.

    Empty where they do not.

    A chat template of another model changes every prompt; that is a part of what is compared.
    """
    if changed <= TOLERATED_MISSING * pairs or {"prompt", "prompt_hash"} & set(allow):
        return ""
    for item in differences:
        is_allowed = item.name in allow
        if item.name == "chat_template" and (item.kind == "subject" or is_allowed):
            return ""
        # What was allowed to differ is what the prompts differ in.
        if item.kind == "question" and is_allowed:
            return ""
    return with_option(f"the prompt differs on {changed} of {pairs} rows", "prompt")


def meant_reasons(
    meant: TaskMeant | None, published: PublishedReading, allow: Collection[str]
) -> list[str]:
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
    texts = rows_reasons(meant, allow)
    of_fact: dict[str, list[str]] = {}
    for edit in meant.edits:
        if edit.fact not in READ_BY or _decides_reading(edit, published):
            of_fact.setdefault(edit.fact, []).append(edit.sentence())
    for fact, sentences in of_fact.items():
        if fact not in allow:
            texts.append(with_option(f"not as prepared: {', '.join(sentences)}", fact))
    return texts


def _decides_reading(edit: SettingEdit, published: PublishedReading) -> bool:
    """Returns whether an edit of a filter or a scorer is one of the reading that is compared."""
    if published.of_pack:
        return False
    is_own_filter = edit.key == f"filter_list.{published.metric.filter}"
    return is_own_filter or edit.key == "process_results"


def rows_reasons(
    meant: TaskMeant, allow: Collection[str], other: TaskMeant | None = None
) -> list[str]:
    """The reason where a task answered other rows than the prepared ones.

    Two runs that answered the same other rows have one question.

    Args:
        meant: The task of the candidate.
        allow: Facts that may differ.
        other: The task of the baseline; None for published verdicts.
    """
    if ROWS in allow or (other is not None and other.digest == meant.digest):
        return []
    sides = ("", meant), ("the baseline has ", other)
    texts = [f"{side}{task.rows_sentence}" for side, task in sides if task and task.rows_sentence]
    return [with_option(text, ROWS) for text in texts]


def filter_reasons(
    task: TaskRun, against: TaskRun, filter_name: str, allow: Collection[str]
) -> list[str]:
    """The reason where a filter beside the first one has other steps on the two sides."""
    steps = filter_steps(task.logged.settings, filter_name)
    other = filter_steps(against.logged.settings, filter_name)
    if FILTER_STEPS in allow or steps is None or other is None or steps == other:
        return []
    item = FactDifference(FILTER_STEPS, "question", steps, other)
    return [with_option(sentence_of(item), item.name)]


def manner_notes(differences: Sequence[FactDifference]) -> list[str]:
    """One note for settings that change how a question is asked, not which."""
    settings = [item.sentence() for item in differences if item.kind == "manner"]
    if not settings:
        return []
    return [f"different settings: {'; '.join(settings)}"]
