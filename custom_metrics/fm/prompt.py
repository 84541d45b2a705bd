"""fmeval's prompt templates: `$name` in a text."""

from __future__ import annotations

from collections.abc import Mapping
from string import Template

DEFAULT_TEMPLATE = "$model_input"

_SHORT_ANSWER = "Respond to the following question with a short answer: $model_input"

DATASET_TEMPLATES = {
    "boolq": 'Respond to the following question. Valid answers are "True" or "False". $model_input',
    "trivia_qa": _SHORT_ANSWER,
    "natural_questions": _SHORT_ANSWER,
    "gigaword": "Summarize the following text in one sentence: $model_input",
    "gov_report": "Summarize the following text in a few sentences: $model_input",
    "womens_clothing_ecommerce_reviews": (
        "Classify the sentiment of the following review with 0 (negative sentiment) "
        "or 1 (positive sentiment): $model_input"
    ),
}
"""Prompts of fmeval's built-in data sets, word for word: what its users' numbers were made with."""


def prompt(*, template: str, model_input: str) -> str:
    """Puts an input into a template.

    Args:
        template: Text with `$model_input` or `${model_input}`; `$$` is a dollar sign. Without a
            placeholder it is the prompt as it stands.
        model_input: The input.

    Raises:
        KeyError: another name stands in the template, or the input is empty where it is asked for,
            as in the original.
        ValueError: a dollar sign is followed by no name.

    >>> prompt(template="Q: $model_input", model_input="Why?")
    'Q: Why?'
    """
    return prompt_multi(
        template=template, values={"model_input": model_input} if model_input else {}
    )


def prompt_multi(*, template: str, values: Mapping[str, str]) -> str:
    """Puts several fields into a template.

    Args:
        template: Text with `$name` per field.
        values: Field -> text.

    Raises:
        KeyError: the template asks for a field that is not given.
        ValueError: a dollar sign is followed by no name.

    >>> prompt_multi(template="Summarize $x and $y", values={"x": "A", "y": "B"})
    'Summarize A and B'
    """
    return Template(template).substitute(values)


def default_template(*, dataset_name: str) -> str:
    """Returns the prompt template that fmeval uses for a data set when the user gives none.

    Args:
        dataset_name: Name of a built-in data set, or any other.

    >>> default_template(dataset_name="bold")
    '$model_input'
    """
    return DATASET_TEMPLATES.get(dataset_name, DEFAULT_TEMPLATE)


METRICS = {
    "fm.default_template": default_template,
    "fm.prompt": prompt,
    "fm.prompt_multi": prompt_multi,
}
