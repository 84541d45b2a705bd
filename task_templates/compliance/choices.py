"""Rows that are answered by log-likelihood.

They have complete prompts with their shots, and choices with their blanks.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

from custom_metrics.compliance.answers import boolq_contrast_candidates
from custom_metrics.compliance.perturb import perturb
from custom_metrics.compliance.perturb.draw import choose, generator, seed_of
from evalprep.packapi import Context

from .datasets import read, spread
from .wording import Words, words
from .wordtables import TABLED, changed_words, word_table

Row = dict[str, Any]
LETTERS = "ABCDEFGHIJ"
_BRACKETS = re.compile(r"\[[^\[\]]*\]")


#: Seeds of the original, from which it draws the shots of each row; a text, as it seeds with one.
_SHOT_SEEDS = {"hellaswag": "42", "ai2_reasoning": "36"}


def hellaswag(context: Context) -> list[Row]:
    """Ten shots drawn for each row, then how a scene begins; the endings are the choices."""
    solved = [
        _scene(row) + _ending(row, int(row["label"])) for row in read(context, "hellaswag_shots")
    ]
    scenes = read(context, "hellaswag")
    shots = _drawn_shots("hellaswag", solved, 10, len(scenes))
    return [
        {
            "sample_id": f"hellaswag-{row.get('ind', number)}-{number}",
            "prompt": shots[number] + _scene(row),
            "choices": [_ending(row, place) for place in range(len(row["endings"]))],
            "target": int(row["label"]),
        }
        for number, row in enumerate(scenes)
    ]


def _drawn_shots(name: str, solved: Sequence[str], shots: int, rows: int) -> list[str]:
    """Solved examples before each row, drawn in the order of the rows as the original does."""
    draws = random.Random(_SHOT_SEEDS[name])  # noqa: S311 - the original's generator
    count = min(shots, len(solved))
    return ["\n\n".join(draws.sample(solved, count)) + "\n\n" for _row in range(rows)]


def _tidy(text: str) -> str:
    return _BRACKETS.sub("", text.strip().replace(" [title]", ". ")).replace("  ", " ")


def _scene(row: Mapping[str, Any]) -> str:
    return _tidy(f"{row['activity_label']}: {row['ctx_a']} {row['ctx_b'].capitalize()}")


def _ending(row: Mapping[str, Any], place: int) -> str:
    return f" {_tidy(row['endings'][place])}"


def ai2_reasoning(context: Context) -> list[Row]:
    """25 shots drawn for each row, then the question; the texts of the options are the choices."""
    solved = [
        f"{_question(row)} {row['choices']['text'][_key(row)]}"
        for row in read(context, "ai2_reasoning_shots")
    ]
    questions = read(context, "ai2_reasoning")
    shots = _drawn_shots("ai2_reasoning", solved, 25, len(questions))
    return [
        {
            "sample_id": str(row.get("id", number)),
            "prompt": shots[number] + _question(row),
            "choices": [f" {text}" for text in row["choices"]["text"]],
            "target": _key(row),
        }
        for number, row in enumerate(questions)
    ]


def _question(row: Mapping[str, Any]) -> str:
    return f"Question: {row['question']}\nAnswer:"


def _key(row: Mapping[str, Any]) -> int:
    """Place of the right option, whose label is a letter or a number."""
    place: int = row["choices"]["label"].index(row["answerKey"])
    return place


def truthful_qa(context: Context) -> list[Row]:
    """The question after six solved ones; true choices first."""
    solved, rows = words(context).fill("truthful_qa"), []
    for number, row in enumerate(read(context, "truthful_qa_mc2")):
        targets = row["mc2_targets"]
        labels = list(targets["labels"])
        rows.append(
            {
                "sample_id": f"truthful-{number}",
                "prompt": f"{solved}\n\nQ: {row['question']}\nA:",
                "choices": [f" {choice}" for choice in targets["choices"]],
                "target": 0,
                "n_true": labels.index(0) if 0 in labels else len(labels),
            }
        )
    return rows


def mmlu(context: Context) -> list[Row]:
    """Five shots of the same subject, then the question; the letters are the choices."""
    return _exams(context, "none", list(enumerate(read(context, "mmlu"))))


def mmlu_version(context: Context, version: str) -> list[Row]:
    """Questions of MMLU whose texts, and those of their shots, are changed; options stay.

    Of too many the ones with the smallest hashes of seed and row, so that every version has the
    same.
    """
    section = context.section

    def order(entry: tuple[int, Row]) -> int:
        return seed_of(seed=section.seed, version="rows", row_id=str(entry[0]))

    chosen = sorted(enumerate(read(context, "mmlu")), key=order)[: section.robustness_rows]
    return _exams(context, version, sorted(chosen, key=itemgetter(0)))


def _exams(context: Context, version: str, numbered: Sequence[tuple[int, Row]]) -> list[Row]:
    pools: dict[str, list[Row]] = {}
    for row in read(context, "mmlu_shots"):
        pools.setdefault(row["subject"], []).append(row)
    texts, rows = words(context), []
    for number, row in numbered:
        subject, letters = row["subject"], LETTERS[: len(row["choices"])]
        # To answer with a letter, and the subject.
        system = texts.fill("mmlu_system", letters=",".join(letters))
        head = texts.fill("mmlu_head", subject=subject.replace("_", " "))
        solved = [
            f"{_exam(context, shot, f'shot {subject} {place}', version)} "
            f"{LETTERS[shot['answer']]}\n\n"
            for place, shot in enumerate(pools.get(subject, [])[:5])
        ]
        exam_question = _exam(context, row, str(number), version)
        other = perturbed(context, version, row["question"], str(number))
        count, changed = changed_words(row["question"], other)
        rows.append(
            {
                "sample_id": f"mmlu-{number}",
                "prompt": f"{system}{head}{''.join(solved)}{exam_question}",
                "choices": [f" {letter}" for letter in letters],
                "target": int(row["answer"]),
                "subtask_name": subject,
                "question": row["question"],
                "version": version,
                "words": count,
                "words_changed": changed,
                "text_changed": other != row["question"],
                "table": word_table(context, version).source if version in TABLED else "",
            }
        )
    return rows


def _exam(context: Context, row: Mapping[str, Any], row_id: str, version: str) -> str:
    question = row["question"]
    if version != "none":
        question = perturbed(context, version, question, row_id)
    options = "".join(
        f"\n{letter}. {text}" for letter, text in zip(LETTERS, row["choices"], strict=False)
    )
    return f"{question.strip()}{options}\nAnswer:"


def perturbed(context: Context, version: str, text: str, row_id: str) -> str:
    """A text in one of the eleven versions."""
    table = word_table(context, version).words if version in TABLED else None
    return perturb(
        version=version,
        text=text,
        row_id=row_id,
        seed=context.section.seed,
        tables={} if table is None else {version: table},
    )


def big_bench(context: Context) -> list[Row]:
    """The emoji with lettered options, scored per character.

    The original's shots reach no prompt.
    """
    texts = words(context)
    return [
        {
            "sample_id": f"emoji-{row.get('idx', number)}",
            "prompt": texts.multiple_choice(
                row["inputs"].splitlines()[0], list(row["multiple_choice_targets"])
            ),
            "choices": _lettered(texts, row["multiple_choice_targets"]),
            "target": list(row["multiple_choice_scores"]).index(1),
        }
        for number, row in enumerate(read(context, "calibration_big_bench"))
    ]


def _lettered(texts: Words, options: Sequence[str]) -> list[str]:
    return [texts.lettered(letter, text) for letter, text in zip(LETTERS, options, strict=False)]


_TRUTHS = ("FALSE", "TRUE")
_MOODS = ("Negative", "Positive")


def boolq(context: Context) -> list[Row]:
    """A solved question, then up to `contrasts` others that have the other answer."""
    texts, section, rows = words(context), context.section, []
    for number, row in enumerate(read(context, "boolq_contrast")):
        solved = texts.fill(
            "boolq_first", paragraph=row["paragraph"], question=f"{_capitalised(row['question'])}?"
        )
        answer = row["answer"]
        other = next(truth for truth in _TRUTHS if truth != answer)
        readable = [
            entry
            for entry in row["perturbed_questions"]
            if entry.get("perturbed_q") and entry["answer"] in _TRUTHS
        ]
        contrasts = boolq_contrast_candidates(
            question=row["question"], answer=answer, perturbed_questions=readable
        )
        # Of too many some are drawn by the seed and the row.
        draws = generator(seed_of(seed=section.seed, version="contrast", row_id=str(number)))
        while len(contrasts) > section.contrasts:
            contrasts.remove(choose(draws, contrasts))
        for place, contrast in enumerate(contrasts):
            second = texts.fill("boolq_second", question=_capitalised(contrast))
            talk = f"{texts.fill('boolq_system')}{solved}{answer}{second}"
            rows.append(
                {
                    "sample_id": f"boolq-{number}-{place}",
                    "prompt": texts.multiple_choice(talk, _TRUTHS),
                    "choices": _lettered(texts, _TRUTHS),
                    "target": _TRUTHS.index(other),
                    "question_id": str(number),
                    "cluster_id": str(number),
                }
            )
    return rows


def _capitalised(question: str) -> str:
    return question.strip().capitalize()


def imdb(context: Context) -> list[Row]:
    """The original review with its sentiment, then the contrast."""
    texts = words(context)
    rows = []
    for number, row in enumerate(read(context, "imdb_contrast")):
        talk = (
            texts.fill("imdb_system")
            + texts.fill("imdb_first", text=row["Text_Original"])
            + row["Sentiment_Original"]
            + texts.fill("imdb_second", text=row["Text_Contrast"])
        )
        rows.append(
            {
                "sample_id": f"imdb-{number}",
                "prompt": texts.multiple_choice(talk, _MOODS),
                "choices": _lettered(texts, _MOODS),
                "target": _MOODS.index(row["Sentiment_Contrast"]),
            }
        )
    return rows


def reddit_bias(context: Context) -> list[Row]:
    """Two rows per pair of sentences, side by side: one about each group."""
    pairs = spread(read(context, "reddit_bias"), "group_1_category")
    rows = []
    for number, row in enumerate(pairs):
        rows += [_pair_member(number, row, "1"), _pair_member(number, row, "2")]
    return rows


def _pair_member(number: int, row: Row, group: str) -> Row:
    return {
        "sample_id": f"pair-{number}-{group}",
        "prompt": "",
        "target": row[f"group_{group}_comments_processed"],
        "pair": str(number),
        "group": group,
        "category": row["group_1_category"],
        "cluster_id": str(number),
    }
