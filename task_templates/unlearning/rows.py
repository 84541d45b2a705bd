"""Prepared rows: ids, prompts, scored continuations, references of generations."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence

from evalprep.packapi import Context, Repeats

from .datasets import WRONG, Data, Row, split_of, wrong_answers
from .prompts import Shot
from .recipe import MISSING, choices_of
from .style import style_of, tokenizer_of


def _identify(rows: Iterable[Row], columns: Sequence[str]) -> Iterator[tuple[Row, Row]]:
    """Each row with its position in the split, and with an id made of its content.

    The id survives reordering.
    """
    repeats = Repeats()
    for index, row in enumerate(rows):
        text = "\x1f".join(str(row.get(column)) for column in columns)
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        yield {"sample_id": repeats.unique(digest), "index": index}, row


def likelihood_rows(
    context: Context, data: Data, rows: Iterable[Row], question: str, *, answer_only: bool
) -> Iterator[Row]:
    """Rows whose continuations are scored.

    `roles` says which continuation is the answer, a paraphrase or wrong.
    """
    section = context.section
    scoring = {
        "split": split_of(context, data),
        "min_k": section.min_k,
        "strict_extraction": section.strict_extraction,
        "missing": MISSING in choices_of(context).openunlearning,
    }
    for common, row in _identify(rows, data.columns(question)):
        if data.kind == "qa":
            built = _answers(context, data, row, question, answer_only=answer_only)
        elif data.kind == "text":
            built = {
                "prompt": "",
                "target": row["text"],
                "continuations": [row["text"]],
                "roles": ["answer"],
            }
        else:
            # One blank between the two: the columns hold them without.
            built = {
                "prompt": row["prompt"],
                "target": row["gt"],
                "continuations": [f" {row['gt']}"],
                "roles": ["answer"],
            }
        yield {**common, **built, "scoring": scoring}


def _answers(context: Context, data: Data, row: Row, question: str, *, answer_only: bool) -> Row:
    """A question with its answer, its paraphrase and its wrong answers.

    Where only the answer is scored, the others are left out.
    """
    answers = [("answer", row["answer"])]
    if data.paraphrased and not answer_only:
        answers.append(("paraphrase", row["paraphrased_answer"]))
    if data.perturbed and not answer_only:
        answers += [("wrong", answer) for answer in wrong_answers(row)]
    style = style_of(context)
    return {
        "prompt": style.prompt(row[question]),
        "target": row["answer"],
        "continuations": [style.continuation(row[question], answer) for _, answer in answers],
        "roles": [role for role, _ in answers],
        "question": row[question],
    }


def generation_rows(
    context: Context,
    data: Data,
    rows: Iterable[Row],
    question: str,
    *,
    shots: Sequence[Shot],
    stopwords: list[str],
) -> Iterator[Row]:
    """Rows whose generations are scored by ROUGE."""
    scoring = {"stopwords": stopwords, "rouge_stemmer": context.section.rouge_stemmer}
    for common, row in _identify(rows, data.columns(question)):
        if data.kind == "continuation":
            target = row["gt"]
            if context.section.cut_reference:  # to the generated length
                tokenizer = tokenizer_of(context)
                ids = tokenizer(target, add_special_tokens=False)["input_ids"]
                target = str(tokenizer.decode(ids[: data.reply_tokens], skip_special_tokens=True))
            yield {
                **common,
                **scoring,
                "prompt": row["prompt"],
                "target": target,
                "question": row["prompt"],
            }
            continue
        extra = {"paraphrased_answer": row["paraphrased_answer"]} if data.paraphrased else {}
        if data.perturbed:
            extra[WRONG] = wrong_answers(row)
        prompt = style_of(context).prompt(row[question], shots)
        yield {
            **common,
            **scoring,
            "prompt": prompt,
            "target": row["answer"],
            "question": row[question],
            **extra,
        }
