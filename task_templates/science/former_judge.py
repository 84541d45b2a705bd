"""The questions to a judge as version 0.1.0 put them, by which its kept ratings are found again."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from evalprep.packapi import Earlier

QA, SUMMARY = "qasper_abstractive_qa", "mup_single_document_summarization"
_VERSION = "science-1"
_HEAD = """\
You compare what a model wrote with what an expert wrote, and rate how much of the expert's content is in it.

5: everything important in the expert's text is there
3: part of it is there, or it is there with mistakes
1: it is wrong, or about something else

Content beyond the expert's text costs nothing. 2 and 4 lie between.
"""
_TAIL = """
Reply in two lines and nothing after them:
Explanation: one sentence
Rating: a whole number from 1 to 5
"""
_FORMS = {
    QA: """
A question about a paper was answered.

Title of the paper: {title}

What the expert's answer rests on:
{evidence}

Question: {question}

Expert's answer: {reference}

Model's answer: {prediction}
""",
    SUMMARY: """
A paper was summarised.

Title of the paper: {title}

Text of the paper:
{body_text}

Expert's summary: {reference}

Model's summary: {prediction}
""",
}


def earlier(task: str, fields: Mapping[str, str]) -> Earlier:
    """The question about some fields, and the key of its rating."""
    prompt = _HEAD + _FORMS[task].format(**fields) + _TAIL

    def key(judge: str) -> str:
        # None: such a question had no rating without a call.
        return hashlib.sha256(f"{judge}\n{_VERSION}\n{None}\n{prompt}".encode("utf-8", "surrogatepass")).hexdigest()

    return Earlier(_VERSION, prompt, key)
