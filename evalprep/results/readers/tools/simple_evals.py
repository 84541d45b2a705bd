"""`*_allresults.json` of simple-evals, whose verdicts stand in its HTML alone."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evalprep.results.readers.jsonparts import JsonParts
from evalprep.results.readers.tools.opening import Opening
from evalprep.results.readers.tools.reading import Reading, damaged, no_samples
from evalprep.results.readers.tools.row import Row, ToolLog
from evalprep.results.readers.tools.texts import chat_text, last_turn
from evalprep.results.readers.tools.verdicts import table_score
from evalprep.results.sample import Damage

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
    labelled = _LABELLED.findall(str(page or ""))
    stated = {label.lower(): html.unescape(text.strip()) for label, text in labelled}
    turns = _without_reply(chat)
    question, choices = question_and_choices(last_turn(turns, "user"))
    row = Row(question=question, choices=choices, metric=_METRIC)
    row.values = {_METRIC: table_score(stated.get("score"))}
    row.set_status()
    row.prompt = chat_text(turns) if turns else None
    row.response = last_turn(chat, "assistant")
    if "correct answer" in stated:
        row.set_target_labels([stated["correct answer"]])
    answer = stated.get("extracted answer")
    row.set_answer_label(None if answer == _NOTHING else answer)
    return row


def question_and_choices(text: str | None) -> tuple[str | None, list[str] | None]:
    r"""Returns the question of a multiple-choice prompt and its choices; else the text as it is.

    >>> question_and_choices("Who?\n\nA) me\nB) you")
    ('Who?', ['me', 'you'])
    """
    lettered = list(_CHOICE.finditer(text or ""))
    letters = "".join(match[1] for match in lettered)
    if text is None or len(lettered) < 2 or letters != "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[: len(letters)]:
        return text, None
    question = _INTRODUCTION.sub("", text[: lettered[0].start()]).strip()
    return question, [match[2].strip() for match in lettered]


def _without_reply(chat: Any) -> list[Any]:
    """The turns before the last reply."""
    turns = [turn for turn in chat if isinstance(turn, dict)] if isinstance(chat, list) else []
    return turns[:-1] if turns and turns[-1].get("role") == "assistant" else turns


def read(path: Path, _: Reading) -> ToolLog:
    """Opens a report.

    Raises:
        BadInput: it is damaged, or its lists have different lengths.
    """
    try:
        parts = JsonParts.of_file(path)
    except ValueError as error:
        raise damaged(path, str(error)) from error
    pages, chats = parts.count("htmls"), parts.count("convos")
    if pages is None or pages != chats:
        raise damaged(path, "`htmls` and `convos` are no lists of equal length")
    if not pages:
        raise no_samples(path)
    match = _ALL_RESULTS.fullmatch(path.name)
    task, model = (match["task"], match["model"]) if match else (path.stem, "")
    return ToolLog(NAME, _rows(path, task, parts), model=model)


def _rows(path: Path, task: str, parts: JsonParts) -> Iterator[Row | Damage]:
    times: dict[int, int] = {}
    pairs = zip(parts.each_value("htmls"), parts.each_value("convos"), strict=True)
    for number, (page, chat) in enumerate(pairs):
        row = row_of(page, chat)
        # Questions come several times, each with its choices in another order.
        key = hash(row.question or "")  # questions may be long, and every one is kept
        row.epoch = times[key] = times.get(key, 0) + 1
        row.task, row.doc_id, row.source = task, number, f"{path.name}:{number + 1}"
        yield row
