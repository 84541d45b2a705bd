"""No reply makes a formula fail or hang."""

import inspect
import random
import time

import pytest

from custom_metrics import METRICS
from tests.custom_metrics.extract.strings import reply

TEXT_ARGUMENTS = {
    "text", "answer", "completion", "vote", "sentence", "reply", "prediction", "attack", "access_code", "label",
    "alternative", "first", "second", "reference", "message", "prompt", "test", "entry_point", "source", "target",
    "question",
}  # fmt: skip
GIVEN = {
    "normalized_aliases": ["oslo"],
    "scenario": "SimonSays",
    "seed": 3,
    "version": "dialect",
    "row_id": "r",
    "perturbed_questions": [],
}
LONG = (
    "1" * 60_000,
    "(" * 60_000,
    '"' * 60_000,
    "a." * 30_000,
    "a@" * 30_000,
    "[Answer] " * 9_000,
    "no yes " * 9_000,
    " " * 60_000,
)


def calls():
    for name, function in METRICS.items():
        needed = [
            p.name
            for p in inspect.signature(function).parameters.values()
            if p.default is p.empty or p.name == "seed"
        ]
        if (
            name.startswith("compliance.")
            and needed
            and all(each in TEXT_ARGUMENTS | set(GIVEN) for each in needed)
        ):
            texts = [each for each in needed if each in TEXT_ARGUMENTS]
            if texts:
                yield pytest.param(
                    function, texts, {key: GIVEN[key] for key in needed if key in GIVEN}, id=name
                )


@pytest.mark.parametrize(("function", "texts", "given"), list(calls()))
def test_any_text(function, texts, given):
    draws = random.Random(11)
    for _ in range(200):
        function(**given, **{text: reply(draws) for text in texts})
    if function.__name__ == "edit_distance":  # its two texts are what is compared, not replies
        return
    for text in LONG:
        start = time.process_time()
        function(**given, **{each: text if each == texts[0] else "x" for each in texts})
        assert time.process_time() - start < 5, text[:10]
