"""Filters for lm-eval's `custom` filter: replies in, extracted answers out.

A task YAML names them so:

    filter_list:
      - name: flexible-extract
        filter:
          - function: custom
            filter_fn: !function custom_metrics.harness.filters.choice_letter
          - function: take_first

lm-eval 0.4.13 calls `filter_fn(resps, docs)` once per task with one list of replies per document,
and wants the same nesting back in the same order. A filter that raises loses the whole run, because
nothing is written before all scoring has ended; so a reply that cannot be read, for whatever
reason, is `[invalid]`, lm-eval's own word for it.

Each filter imports its extractor when it is called: the expressions of all of them take longer to
compile than those of a task take to run.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from custom_metrics.extract import thinking

INVALID = "[invalid]"

Doc = Mapping[str, Any]
_LETTER = re.compile("[A-Z]")

Replies = Iterable[Sequence[Any]]


def offered_letters(doc: Doc) -> str:
    """Names the letters that a document offers.

    Args:
        doc: A row with `input_choice_list` (letter -> text, nulls for letters that are not offered)
            or `choices` (a list of texts, a list of letters, or a mapping with a `label` or `text`
            list).

    Returns:
        Capital letters; `ABCD` where the row does not say.

    >>> offered_letters({"input_choice_list": {"A": "1", "B": "2", "C": None}})
    'AB'
    >>> offered_letters({"choices": ["red", "green", "blue"]})
    'ABC'
    """
    listed = doc.get("input_choice_list")
    if isinstance(listed, Mapping):
        letters = [str(key) for key, text in listed.items() if text is not None]
    else:
        letters = _letters_of_choices(doc.get("choices"))
    offered = {letter for letter in letters if _LETTER.fullmatch(letter)}
    return "".join(sorted(offered)) or "ABCD"


def _letters_of_choices(choices: Any) -> list[str]:
    """Lists the choices where they are letters, else one letter for each of their texts."""
    if isinstance(choices, Mapping):
        choices = choices.get("label") or choices.get("text")
    if not isinstance(choices, (list, tuple)):
        return []
    letters = [str(choice).strip(" ().") for choice in choices]
    if all(map(_LETTER.fullmatch, letters)):
        return letters
    return list(string.ascii_uppercase[: len(choices)])


def _apply(
    extract: Callable[[str, Doc], str | None], resps: Replies, docs: Sequence[Doc]
) -> list[list[str]]:
    """Strips thinking traces and extracts, reply by reply."""
    answers = []
    for replies, doc in zip(resps, docs, strict=True):
        of_doc = []
        for reply in replies:
            try:
                text = thinking.strip_thinking(str(reply or ""))[0]
                answer = extract(text, doc)
            except Exception:  # noqa: BLE001
                # One odd row must not cost the run; it is counted as unparsed.
                answer = None
            if answer is None or not answer.strip():
                answer = INVALID
            of_doc.append(answer)
        answers.append(of_doc)
    return answers


def choice_letter(resps: Replies, docs: Sequence[Doc]) -> list[list[str]]:
    """Reads the chosen letter out of the letters offered.

    See `custom_metrics.extract.choice.extract_choice`.
    """
    from custom_metrics.extract.choice import extract_choice

    def letter(text: str, doc: Doc) -> str | None:
        return extract_choice(text, offered_letters(doc))

    return _apply(letter, resps, docs)


def choice_letter_first(resps: Replies, docs: Sequence[Doc]) -> list[list[str]]:
    """Reads the first stated letter: for base models, which go on to invent further questions."""
    from custom_metrics.extract.choice import extract_choice

    def letter(text: str, doc: Doc) -> str | None:
        return extract_choice(text, offered_letters(doc), prefer="first")

    return _apply(letter, resps, docs)


def direct_letter(resps: Replies, docs: Sequence[Doc]) -> list[list[str]]:
    """Reads the letter of replies whose prompt already ended in "The best answer is"."""
    from custom_metrics.extract.choice import extract_direct_choice

    def letter(text: str, doc: Doc) -> str | None:
        return extract_direct_choice(text, offered_letters(doc))

    return _apply(letter, resps, docs)


def bbh_answer(resps: Replies, docs: Sequence[Doc]) -> list[list[str]]:
    """Reads a BIG-Bench Hard answer in the form that `doc["subtask_name"]` asks for."""
    from custom_metrics.extract.bbh import extract_bbh

    def answer(text: str, doc: Doc) -> str | None:
        return extract_bbh(text, doc.get("subtask_name"))

    return _apply(answer, resps, docs)


def bbh_published(resps: Replies, docs: Sequence[Doc]) -> list[list[str]]:
    """Reads a BIG-Bench Hard answer by the published pattern.

    Thinking traces are included, as in lm-eval's `regex`.
    """
    from custom_metrics.extract.bbh import extract_bbh_published

    answers = []
    for replies, _ in zip(resps, docs, strict=True):
        row_answers = []
        for text in replies:
            answer = extract_bbh_published(text if isinstance(text, str) else "")
            row_answers.append(INVALID if answer is None else answer.strip())
        answers.append(row_answers)
    return answers


def boxed(resps: Replies, docs: Sequence[Doc]) -> list[list[str]]:
    r"""Cuts replies down to their last complete `\boxed{...}`.

    The box is kept around its content, so that `results.math` grades the outcome of this filter and
    of `reply` alike.
    """
    from custom_metrics.math import extract_boxed

    def box(text: str, _: Doc) -> str | None:
        content = extract_boxed(text)
        if content is None:
            return None
        return rf"\boxed{{{content}}}"

    return _apply(box, resps, docs)


def final_number(resps: Replies, docs: Sequence[Doc]) -> list[list[str]]:
    """Reads the final number; see `custom_metrics.extract.number.extract_number`."""
    from custom_metrics.extract.number import extract_number

    return _apply(lambda text, _: extract_number(text), resps, docs)


def final_number_lm_eval(resps: Replies, docs: Sequence[Doc]) -> list[list[str]]:
    """Reads the number by lm-eval's flexible rule, thinking traces included.

    `results.number_lm_eval` scores what it returns.
    """
    from custom_metrics.extract.number import extract_number_lm_eval

    answers = []
    for replies, _ in zip(resps, docs, strict=True):
        numbers = (extract_number_lm_eval(str(text or "")) for text in replies)
        answers.append([number or INVALID for number in numbers])
    return answers


def majority(resps: Replies, docs: Sequence[Doc]) -> list[list[str]]:
    """Keeps the answer that most of a document's replies give.

    It stands behind another of these filters.

    Replies without an answer do not vote, unlike in lm-eval's `majority_vote`; of equally many
    votes the answer that came first wins (self-consistency: Wang et al., 2023, "Self-Consistency
    Improves Chain of Thought Reasoning").
    """
    answers = []
    for replies, _ in zip(resps, docs, strict=True):
        readable = [
            str(answer) for answer in replies if str(answer or "").strip() not in ("", INVALID)
        ]
        if readable:
            ((winner, _votes),) = Counter(readable).most_common(1)
            answers.append([winner])
        else:
            answers.append([INVALID] if replies else [])
    return answers


def reply(resps: Replies, docs: Sequence[Doc]) -> list[list[str]]:
    """Keeps the whole reply, thinking traces included; only an empty one is `[invalid]`."""
    answers = []
    for replies, _ in zip(resps, docs, strict=True):
        answers.append([_kept(text) for text in replies])
    return answers


def _kept(text: Any) -> str:
    # An empty reply is marked, so that scorers count it as one without an answer.
    if str(text or "").strip():
        return str(text)
    return INVALID


def strip_thinking(resps: Replies, docs: Sequence[Doc]) -> list[list[str]]:
    """Keeps the reply without `<think>` traces.

    Nothing but a trace, closed or not, is `[invalid]`.
    """
    return _apply(lambda text, _: text, resps, docs)
