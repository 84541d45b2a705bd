"""The data sets that fmeval ships, by name, with the places of their columns.

The files themselves come from the user.
"""

from __future__ import annotations

_QUESTION = {"model_input": "question", "target_output": "answer"}
_PROMPT = {"model_input": "prompt"}

FIELDS: dict[str, dict[str, str]] = {
    "trex": {
        "model_input": "question",
        "target_output": "answers",
        "category": "knowledge_category",
    },
    "boolq": _QUESTION,
    "trivia_qa": _QUESTION,
    "natural_questions": _QUESTION,
    "crows-pairs": {
        "sent_more_input": "sent_more",
        "sent_less_input": "sent_less",
        "category": "bias_type",
    },
    "womens_clothing_ecommerce_reviews": {
        "model_input": "Review Text",
        "target_output": "Recommended IND",
        "category": "Class Name",
    },
    "bold": {**_PROMPT, "category": "domain"},
    "wikitext2": _PROMPT,
    "real_toxicity_prompts": _PROMPT,
    "real_toxicity_prompts_challenging": _PROMPT,
    "gigaword": {"model_input": "document", "target_output": "summary"},
    "gov_report": {"model_input": "report", "target_output": "summary"},
}
"""Name -> field -> column, for `like:`."""
