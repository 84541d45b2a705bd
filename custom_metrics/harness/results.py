"""`process_results` functions for task YAMLs: one document and its filtered reply in, numbers out.

Three promises that lm-eval needs, since it writes nothing before all tasks are scored: the same
keys for every document, only JSON values, and no exception. A scorer that fails gives 0 and sets
`scorer_error` to 1, so that the mean of `scorer_error` shows how often that happened; it should be
0.

In every function `unparsed` is 1 where the filter found no answer (`[invalid]`), so its mean is the
share of replies without an extractable answer. Such a reply is never correct, whatever the gold
answer says. Several replies to one document (`repeats`, kept by `take_first_k` or by no selection
at all) are scored one by one and averaged.
"""

from __future__ import annotations

import functools
import logging
import math as mathematics
import re
from collections.abc import Callable
from contextvars import ContextVar

from custom_metrics.extract import thinking
from custom_metrics.harness.filters import INVALID
from custom_metrics.harness.promises import (
    Doc,
    Results,
    Values,
    averaged,
    never_raising,
    with_macro,
)

_log = logging.getLogger(__name__)


def _reply(results: Results) -> str:
    """Returns the filtered reply; `take_first` leaves a text, no `take_first` a list with one."""
    first = results[0] if results else ""
    if isinstance(first, (list, tuple)):
        first = first[0] if first else ""
    return str(first)


def _gold(doc: Doc) -> str:
    """Returns the gold answer under the names that prepared data use."""
    for name in ("target", "gold", "answer"):
        value = doc.get(name)
        if isinstance(value, (list, tuple)):
            value = value[0] if value else None
        if value is not None:
            return str(value)
    raise KeyError("the row has none of target, gold, answer")


def _letter(text: str) -> str:
    """Strips case and brackets: `(b)` and `B.` are B, and nothing else is touched."""
    return text.strip().strip("()[]{}.:* ").upper()


@with_macro("exact_match")
@averaged
@never_raising(exact_match=0.0, unparsed=0.0)
def choice(doc: Doc, results: Results) -> Values:
    """Compares a chosen letter with `doc["target"]` (`B`, `(B)` or `Answer: B`).

    Returns:
        `exact_match` and `unparsed`, 0 or 1.
    """
    answer = _reply(results)
    if answer == INVALID or not answer.strip():
        return {"unparsed": 1.0}
    gold = re.sub(
        r"^\s*(?:the\s+)?(?:best\s+|correct\s+)?answer\s*(?:is|:)\s*",
        "",
        _gold(doc),
        flags=re.IGNORECASE,
    )
    return {"exact_match": float(_letter(answer) == _letter(gold))}


@with_macro("exact_match")
@averaged
@never_raising(exact_match=0.0, unparsed=0.0)
def bbh(doc: Doc, results: Results) -> Values:
    """Compares a BIG-Bench Hard answer in the form of `doc["subtask_name"]`.

    Returns:
        `exact_match` and `unparsed`, 0 or 1.
    """
    from custom_metrics.extract.bbh import same_bbh

    answer = _reply(results)
    if answer == INVALID or not answer.strip():
        return {"unparsed": 1.0}
    return {"exact_match": float(same_bbh(answer, _gold(doc), doc.get("subtask_name")))}


@averaged
@never_raising(exact_match=0.0, unparsed=0.0)
def number(doc: Doc, results: Results) -> Values:
    """Compares a final number with `doc["target"]` by value.

    Of a longer target, such as a worked solution that ends in "#### 72", the final number counts.

    Returns:
        `exact_match` and `unparsed`, 0 or 1.
    """
    from custom_metrics.extract.number import extract_number
    from custom_metrics.extract.numeral import canonical_number, same_number

    answer = _reply(results)
    if answer == INVALID or not answer.strip():
        return {"unparsed": 1.0}
    gold = _gold(doc)
    gold = canonical_number(gold) or extract_number(gold) or gold
    return {"exact_match": float(same_number(answer, gold))}


@averaged
@never_raising(exact_match=0.0, unparsed=0.0)
def number_lm_eval(doc: Doc, results: Results) -> Values:
    """Compares a number with `doc["target"]` as lm-eval's gsm8k does.

    Both are compared as texts, without commas, dollars and a full stop.

    18.00 is not 18 here. For comparison with other people's numbers, behind the filter
    `final_number_lm_eval`.

    Returns:
        `exact_match` and `unparsed`, 0 or 1.
    """
    answer = _reply(results)
    if answer == INVALID or not answer.strip():
        return {"unparsed": 1.0}
    from custom_metrics.extract.number import as_lm_eval_compares

    return {"exact_match": float(as_lm_eval_compares(answer) == as_lm_eval_compares(_gold(doc)))}


def math_gold(doc: Doc) -> str:
    r"""Returns the gold answer of a MATH row: the box content of `solution`, else `target`.

    The evals data sets also hold an internal form of the answer (`1.59e+1` for `6\\sqrt{7}`); it is
    never used.
    """
    from custom_metrics.math import extract_boxed

    solution = doc.get("solution")
    content = extract_boxed(str(solution)) if solution else None
    return content if content is not None else _gold(doc)


@with_macro("exact_match")
@averaged
@never_raising(
    exact_match=0.0,
    unparsed=0.0,
    stated_without_box=0.0,
    timeout=0.0,
    original_llama=0.0,
    minerva=0.0,
)
def math(doc: Doc, results: Results) -> Values:
    r"""Grades a MATH reply by its last complete box, with two other tools' scorers beside ours.

    Under the filter `boxed` the reply is `\boxed{...}` or `[invalid]`. Under the filter `reply` it
    is the whole text; where that has no box at all, the answer that a sentence states ("The final
    answer is ...") is graded instead.

    Returns:
        `exact_match`, `unparsed`, `stated_without_box` (the answer is one that a sentence states; 0
        under `boxed`, which leaves such replies out), `timeout` (the algebra was stopped; counts as
        wrong), `original_llama` (the Llama recipe's scorer), `minerva` (lm-eval's minerva_math
        scorer); 0 or 1 each.
    """
    from custom_metrics.extract.stated import extract_stated
    from custom_metrics.math import grade

    text = thinking.strip_thinking(_reply(results))[0]
    if text in (INVALID, ""):
        return {"unparsed": 1.0}
    # The writer of such a reply means to box the answer.
    stated = None if ("\\boxed" in text or "\\fbox" in text) else extract_stated(text)
    if stated is not None:
        text = rf"\boxed{{{stated}}}"
    gold = math_gold(doc)
    verdict = grade(gold, text)
    return {
        "exact_match": float(verdict.correct),
        "unparsed": float(verdict.extracted is None),
        "stated_without_box": float(stated is not None),
        "timeout": float(verdict.method == "timeout"),
        **_second_opinions(gold, _reply(results)),
    }


second_opinions = ContextVar("second_opinions", default=True)
"""False leaves the other tools' scorers out, where only our own verdict is of interest (they
cost seconds to start)."""


def _second_opinions(gold: str, text: str) -> Values:
    """Scores by the scorers of other tools.

    They stand beside ours, so their failure must not take ours down.
    """
    if not second_opinions.get():
        return {"original_llama": 0.0, "minerva": 0.0}
    try:
        from custom_metrics.math.peer_scorers import score_original

        return {
            "original_llama": float(score_original("llama", gold, text)),
            "minerva": float(score_original("minerva", gold, text)),
        }
    except Exception as error:  # noqa: BLE001 - see above
        _log.warning("other scorers: not scored: %r", error)
        return {"original_llama": 0.0, "minerva": 0.0, "scorer_error": 1}


def _with_headlines(score: Callable[[Doc, Results], Values]) -> Callable[[Doc, Results], Values]:
    """Adds the inputs of IFEval's two headline numbers.

    `aggregations.ifeval_mean_of_strict` and `..._of_four` take them.
    """

    @functools.wraps(score)
    def with_headlines(doc: Doc, results: Results) -> Values:
        values = score(doc, results)
        strict = [values["prompt_level_strict_acc"], values["inst_level_strict_acc"]]
        loose = [values["prompt_level_loose_acc"], values["inst_level_loose_acc"]]
        return {**values, "mean_of_strict": strict, "mean_of_four": [*strict, *loose]}

    return with_headlines


_IFEVAL_FAILURE: Values = {
    "prompt_level_strict_acc": 0.0,
    "prompt_level_loose_acc": 0.0,
    "inst_level_strict_acc": [0.0],
    "inst_level_loose_acc": [0.0],
    "unparsed": 0.0,
}


def _ifeval(doc: Doc, results: Results, check: Callable[..., Values]) -> Values:
    text = thinking.strip_thinking(_reply(results))[0]
    if text == INVALID:
        text = ""
    checked = check(
        prompt=str(doc.get("prompt") or ""),
        instruction_id_list=doc.get("instruction_id_list") or [],
        kwargs=doc.get("kwargs") or [],
        response=text,
    )
    for error in checked["errors"]:
        _log.warning("ifeval: sample %s: %s", doc.get("sample_id"), error)
    return {
        "prompt_level_strict_acc": float(all(checked["strict"])),
        "prompt_level_loose_acc": float(all(checked["loose"])),
        "inst_level_strict_acc": [float(passed) for passed in checked["strict"]],
        "inst_level_loose_acc": [float(passed) for passed in checked["loose"]],
        "unparsed": float(not text.strip()),
        "scorer_error": int(bool(checked["errors"])),
    }


@_with_headlines
@averaged
@never_raising(**_IFEVAL_FAILURE)
def ifeval(doc: Doc, results: Results) -> Values:
    """Checks the instructions of an IFEval row (`prompt`, `instruction_id_list`, `kwargs`).

    Returns:
        The four published accuracies; the `inst_level_*` ones are lists for
        `aggregations.flat_mean`. `unparsed` is 1 for an empty reply, which fails every instruction.
        `scorer_error` is 1 where an instruction could not be checked, which counts as not followed.
    """
    from custom_metrics.ifeval import check_instructions

    return _ifeval(doc, results, check_instructions)


@_with_headlines
@averaged
@never_raising(**_IFEVAL_FAILURE)
def ifeval_official(doc: Doc, results: Results) -> Values:
    """Checks an IFEval row by lm-eval's own rules, wherever these give a verdict.

    The page docs/extraction.md lists what differs.

    Returns:
        The same keys as `ifeval`.
    """
    from custom_metrics.ifeval import check_official

    return _ifeval(doc, results, check_official)


@with_macro("acc")
@never_raising(acc=0.0, acc_norm=0.0)
def mmlu_choice(doc: Doc, results: Results) -> Values:
    """Picks the most likely choice of a `multiple_choice` document.

    `acc` takes the largest log-likelihood, `acc_norm` the largest log-likelihood per character of
    the choice, as lm-eval does. `doc["target"]` is an index or a letter; a NaN log-likelihood never
    wins.

    Returns:
        `acc` and `acc_norm`, 0 or 1.
    """
    scores = []
    for result in results:
        loglikelihood = float(result[0])
        scores.append(-mathematics.inf if mathematics.isnan(loglikelihood) else loglikelihood)
    gold = _gold(doc).strip()
    index = int(gold) if gold.isdigit() else ord(_letter(gold.removeprefix("Answer:"))) - ord("A")
    choices = doc.get("choices")
    if not isinstance(choices, (list, tuple)) or len(choices) != len(scores):
        choices = ["A"] * len(scores)
    per_char = []
    for score, text in zip(scores, choices, strict=True):
        length = max(len(str(text)), 1)
        per_char.append(score / length)
    return {
        "acc": float(scores.index(max(scores)) == index),
        "acc_norm": float(per_char.index(max(per_char)) == index),
    }
