"""`*_allresults.json` of simple-evals, whose verdicts stand in its HTML alone."""

from __future__ import annotations

import html
import re
from collections import Counter
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from evalprep.readers.tools.columns import each_row
from evalprep.readers.tools.opening import Opening
from evalprep.readers.tools.reading import Reader, Reading, no_samples
from evalprep.readers.tools.row import Row, ToolLog
from evalprep.readers.tools.texts import as_list, chat_text, last_turn
from evalprep.readers.tools.unread import Unread
from evalprep.readers.tools.verdicts import table_score
from evalprep.samples import JsonParts, damaged

NAME = "simple-evals"
_METRIC = "score"
_NOTHING = "None"
# Texts are escaped, so that they hold no `<`.
_LABELLED = re.compile(r"<p>\s*(Score|Correct Answer|Extracted Answer):([^<]*)</p>", re.IGNORECASE)
_CHOICE = re.compile(r"^\(?([A-Z])[).][ \t]+(\S.*)$", re.MULTILINE)
_INTRODUCTION = re.compile(r"\AAnswer the following multiple choice question\.[^\n]*\n+")
_ALL_RESULTS = re.compile(
    r"(?P<task>[^_]+)_(?P<model>.+?)(?:_(?:DEBUG|\d{8}_\d{6}))*_allresults\.json"
)


def recognises(opening: Opening) -> bool:
    """Returns whether a file is a report of all results of simple-evals."""
    return opening.kind == "json" and opening.has("htmls", "convos", "score")


def row_of(page: str, chat: Any) -> Row:
    """Returns the row of a sample.

    Args:
        page: Its HTML.
        chat: Its conversation.
    """
    verdicts = _labelled_texts(page)
    turns = _without_reply(chat)
    prompt = last_turn(turns, "user")
    question, choices = question_and_choices(prompt)
    row = Row(question=question, choices=choices)
    row.set_values({_METRIC: table_score(verdicts.get("score"))})
    if turns:
        row.prompt = chat_text(turns)
    row.response = last_turn(chat, "assistant")
    if "correct answer" in verdicts:
        row.set_target_labels([verdicts["correct answer"]])
    answer = verdicts.get("extracted answer")
    row.set_answer_label(None if answer == _NOTHING else answer)
    return row


def _labelled_texts(page: str) -> dict[str, str]:
    """Label in lower case -> its text, for the labels of a page that are read."""
    texts = {}
    for label, text in _LABELLED.findall(str(page or "")):
        texts[label.lower()] = html.unescape(text.strip())
    return texts


def question_and_choices(text: str | None) -> tuple[str | None, list[str] | None]:
    r"""Returns the question of a multiple-choice prompt and its choices; else the text as it is.

    >>> question_and_choices("Who?\n\nA) me\nB) you")
    ('Who?', ['me', 'you'])
    """
    if text is None:
        return None, None
    options = list(_CHOICE.finditer(text))
    letters = "".join(option[1] for option in options)
    is_in_order = letters == ascii_uppercase[: len(letters)]
    if len(options) < 2 or not is_in_order:
        return text, None
    before_options = text[: options[0].start()]
    question = _INTRODUCTION.sub("", before_options).strip()
    choices = [option[2].strip() for option in options]
    return question, choices


def _without_reply(chat: Any) -> list[Any]:
    """The turns before the last reply."""
    turns = [turn for turn in as_list(chat) if isinstance(turn, dict)]
    if turns and turns[-1].get("role") == "assistant":
        turns.pop()
    return turns


def read(path: Path, _: Reading) -> ToolLog:
    """Opens a report.

    Raises:
        BadInput: it is damaged, or its lists have different lengths.
    """
    try:
        parts = JsonParts.of_file(path)
    except ValueError as error:
        raise damaged(path, str(error)) from error
    pages = parts.count("htmls")
    chats = parts.count("convos")
    if pages is None or pages != chats:
        raise damaged(path, "`htmls` and `convos` are not lists of equal length")
    if not pages:
        raise no_samples(path)
    match = _ALL_RESULTS.fullmatch(path.name)
    task = match["task"] if match else path.stem
    model = match["model"] if match else ""
    times_asked: Counter[int] = Counter()

    def row_of_sample(sample: tuple[Any, Any]) -> Row:
        row = row_of(*sample)
        # Questions come several times, each with its choices in another order.
        key = hash(row.question or "")  # questions may be long, and every one is kept
        times_asked[key] += 1
        row.epoch = times_asked[key]
        return row

    samples = zip(parts.each_value("htmls"), parts.each_value("convos"), strict=True)
    rows = each_row(path.name, samples, row_of_sample, task, numbered=True)
    return ToolLog(NAME, rows, model=model)


def metrics_alone(opening: Opening) -> Unread | None:
    """Returns what the file of metrics is that is written beside the report."""
    if opening.kind == "json" and opening.has("score", "score:std"):
        what = "the metrics of a run of simple-evals, without its samples"
        return Unread(what, "pass the file *_allresults.json of the same run")
    return None


READERS = (Reader(NAME, recognises, read, unread=metrics_alone),)
