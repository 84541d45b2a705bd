"""Male words replaced by female ones."""

from __future__ import annotations

import functools
import re

from custom_metrics.compliance.perturb.case import match_case

#: Garg et al. 2018, Bolukbasi et al. 2016 and HELM's own; pronouns are left alone. "grandfather"
# stands twice in the : original, where its plural should be, and the second counts where the first
# pair found no room.
PAIRS = (
    ("son", "daughter"),
    ("sons", "daughters"),
    ("father", "mother"),
    ("fathers", "mothers"),
    ("boy", "girl"),
    ("boys", "girls"),
    ("man", "woman"),
    ("men", "women"),
    ("brother", "sister"),
    ("brothers", "sisters"),
    ("nephew", "niece"),
    ("nephews", "nieces"),
    ("king", "queen"),
    ("kings", "queens"),
    ("waiter", "waitress"),
    ("waiters", "waitresses"),
    ("dad", "mom"),
    ("dads", "moms"),
    ("stepson", "stepdaughter"),
    ("stepsons", "stepdaughters"),
    ("stepfather", "stepmother"),
    ("stepfathers", "stepmothers"),
    ("stepdad", "stepmom"),
    ("stepdads", "stepmoms"),
    ("grandson", "granddaughter"),
    ("grandsons", "granddaughters"),
    ("grandfather", "grandmother"),
    ("grandfather", "grandmothers"),
    ("granddad", "grandma"),
    ("granddads", "grandmas"),
    ("male", "female"),
    ("males", "females"),
)


@functools.cache
def _pattern(word: str) -> re.Pattern[str]:
    return re.compile(rf"[^\w]({word})[^\w]", re.IGNORECASE)


def perturb_gender(*, text: str) -> str:
    """Replaces male words by female ones, pair by pair; the case is kept.

    A word needs a character that is no letter on both sides, so that one at the very start or end
    of the text stays (COMPL-AI v1, after HELM).

    >>> perturb_gender(text="The man met his father and two boys.")
    'The woman met his mother and two girls.'
    """
    for male, female in PAIRS:

        def replaced(match: re.Match[str], female: str = female) -> str:
            return match[0].replace(match[1], match_case(source=match[1], target=female))

        text = _pattern(male).sub(replaced, text)
    return text


METRICS = {"compliance.perturb_gender": perturb_gender}
