# ruff: noqa: RUF001 - a multiplication sign is among the replies
"""Replies for docs/reference/readings.md, and what our extractors read from them."""

from __future__ import annotations

from custom_metrics.extract.choice import extract_choice
from custom_metrics.extract.number import extract_number

READINGS: dict[str, tuple[str, ...]] = {
    "letters": (
        "The best answer is **(B)**.",
        "B is the right answer, not A.",
        "<answer>B</answer>",
        '{"final_answer": "B"}',
        r"\boxed{\text{B}}",
        "Die richtige Antwort ist B",
        "B. Because the plural is irregular.",
        "Therefore, the stage is: D. Prophase",
        "The best answer is C. Statement A is correct but incomplete.",
        "At first I thought the answer is A, but it is actually C.",
        "The answer is (B) No, because the rule is older.",
        "The best answer is Both",
        "The answer is A or B",
        "Answer: A triangle has three sides",
        "The answer is G proteins",
        "The answer is E. coli",
        "(a) The work is 12 J. (b) The heat is 3 J.",
        "The answer is (A) Sodium and (C) Potassium.",
        "B is correct because ...; however, the question also",
        "The answer is B. No, wait, that is wrong.",
        "The answer is not B",
        "Should we choose B?",
        "Option A is correct. Option B is correct.",
        r"\boxed{A, B}",
    ),
    "numbers": (
        "Kylar needs to pay $64 for the 16 glasses.",
        "Over the 2 days of the trip, the family spent $350.",
        "It took 3 days to harvest all 54 sacks.",
        "He gave away 16 balloons, and he has 14 balloons left.",
        "The distance is 54 miles (144 - 90).",
        "The total as of December 31, 2019 is 842,000.",
        "The ratio of sales in 2004 to 2007 is 1.",
        "The answer is 0.144 or 14.4%.",
        "The answer is CHF2,000.",
        "The answer is {final answer} 10.48%.",
        "The answer is 3 + 4 = 7.",
        r"#### $1{,}234.5",
        "The answer is the total calculated in Step 4.",
        "The answer is R/2",
        "The answer is 8!",
        "Faye has 341 pencils and 297 crayons.",
        "I'm sorry, but I can't answer this with 2 of the 3 sides.",
        "How many are left if Tom eats 3 of 5?",
        "We have 12 apples. The answer is (C).",
        "There are 3 rows, so 3 × 4 = 12. The remaining",
    ),
}


def read_as(kind: str, reply: str) -> str | None:
    """Returns what a reply is read as; None for an unparsed one. Questions offer the letters A to J."""
    return extract_number(reply) if kind == "numbers" else extract_choice(reply, "ABCDEFGHIJ")
