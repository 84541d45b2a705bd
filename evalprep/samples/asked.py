"""What a row asks, in the layouts of data sets and tools: question, choices, gold answer."""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evalprep.packs import messages_of
from evalprep.samples.question import choice_texts, question_text
from evalprep.samples.sample import ID_COLUMNS, Sample

_GROUPED_NUMBER = re.compile(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_LABEL = re.compile(r"\(?([A-Za-z])[).]?")
_POSITION = re.compile(r"\d+|doc_\d+|.+\.\d+|id\d+")


@dataclass(frozen=True)
class Asked:
    """What one row asks, as the data set has it.

    Attributes:
        id: Id from the data set; empty without one.
        place: Position in the source's file or split; negative where it is not known.
        question: The question; empty where it stands in no field.
        choices: The texts of the choices.
        target: The gold answer, of a choice its text; None where it is not known.
        prompt: What the model got, as text.
    """

    id: str = ""
    place: int = -1
    question: str = ""
    choices: Sequence[str] = ()
    target: str | None = None
    prompt: str = field(default="", repr=False)

    @classmethod
    def of(cls, sample: Sample) -> Asked:
        """Returns what a line of a samples file asks."""
        doc = sample.doc
        index = doc.get("index")  # of another tool's row, as its source has it
        choices = choices_of(sample)
        return cls(
            id=_id_of(doc),
            place=index if isinstance(index, int) else sample.doc_id,
            question=question_text(doc),
            choices=choices,
            target=_target_of(sample, choices),
            prompt=plain_prompt(sample.prompt),
        )

    @property
    def has_only_prompt(self) -> bool:
        """True where the question stands somewhere in the prompt, and nowhere else."""
        question = self.question.strip()
        return bool(self.prompt) and (not question or question == self.prompt.strip())


def normalise(text: str) -> str:
    r"""Returns a text in NFC with runs of blanks as one.

    >>> normalise("  What  is\n2+2? ")
    'What is 2+2?'
    """
    return " ".join(unicodedata.normalize("NFC", text).split())


def normalise_loosely(text: str) -> str:
    """Returns a text in NFKC, without case, blanks and final stops.

    >>> normalise_loosely("What is 2 + 2 ?"), normalise_loosely("what is 2+2")
    ('whatis2+2', 'whatis2+2')
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    text = "".join(folded.split())
    return text.rstrip(".?!:") or text


def are_positions(ids: Sequence[str]) -> bool:
    """True where all ids of a side count its rows.

    >>> are_positions(["0", "1"]), are_positions(["doc_3"]), are_positions(["math.dev.7", "id4"])
    (True, True, True)
    >>> are_positions(["0", "q-7"]), are_positions([])
    (False, False)
    """
    return bool(ids) and all(_POSITION.fullmatch(text) for text in ids)


def plain_prompt(prompt: str) -> str:
    r"""Returns a prompt as text; the messages of a chat one below the other.

    >>> plain_prompt('[{"role": "user", "content": "Name\\na city."}]')
    'Name\na city.'
    """
    messages = messages_of(prompt)
    return "\n".join(message.text for message in messages) if messages else prompt


def _id_of(doc: Mapping[str, Any]) -> str:
    for name in ID_COLUMNS:
        value = doc.get(name)
        if isinstance(value, (str, int)) and not isinstance(value, bool) and value != "":
            return str(value)
    return ""


def choices_of(sample: Sample) -> list[str]:
    """Returns the texts of the choices, from the row of the data set, else from what was scored."""
    if known := choice_texts(sample.doc):
        return [text.strip() for text in known]
    ends = [request[1] for request in sample.requests if len(request) > 1]
    texts = [end.strip() for end in ends if isinstance(end, str)]
    is_labels = all(_LABEL.fullmatch(text) for text in texts)
    return [] if is_labels or len(set(texts)) < len(texts) else texts


def final_answer(gold: str) -> str:
    r"""Returns a gold answer without its way there.

    Of GSM8K's answers that is what follows the last `####`; a whole number loses its thousands
    separators.

    >>> final_answer("9 + 9 = 18\n#### 18"), final_answer("1,024"), final_answer("a, b")
    ('18', '1024', 'a, b')
    """
    answer = gold.rpartition("####")[2].strip() or gold
    return answer.replace(",", "") if _GROUPED_NUMBER.fullmatch(answer.strip()) else answer


def _target_of(sample: Sample, choices: Sequence[str]) -> str | None:
    """The gold answer, of a letter or an index the choice; None where it is not known."""
    gold = final_answer(sample.gold)
    if not gold or gold == "None":
        return None
    if gold.isdecimal() and gold == sample.target.strip():
        is_index = gold not in choices and int(gold) < len(choices)
        return choices[int(gold)] if is_index else gold
    return resolved(gold, choices) if _LABEL.fullmatch(gold.strip()) else gold


def resolved(target: str, choices: Sequence[str]) -> str:
    """Returns the text of the choice that a letter names; any other gold answer as it is.

    >>> resolved("(B)", ["red", "blue"]), resolved("B", ["A", "B"]), resolved("7", ["red"])
    ('blue', 'B', '7')
    """
    text = target.strip()
    label = _LABEL.fullmatch(text)
    if label is None or text in choices:
        return target
    place = string.ascii_uppercase.index(label[1].upper())
    return choices[place] if place < len(choices) else target
