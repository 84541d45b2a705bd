"""The settings of a task in one form, whether its YAML states them or lm-eval logged them.

A YAML names a function by its place (`!function custom_metrics.harness.filters.boxed`); lm-eval
logs its source text, or its place in memory where it stands inside a list. Here all three are
`<function boxed>`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_BEGINS = ("def ", "async def ", "@")  # the source text of a function
_SOURCE = re.compile(r"^(?:async )?def (\w+)", re.MULTILINE)
_PLACE = re.compile(r"<function (?:[\w.<>]+\.)?(\w+)")


def in_one_form(value: Any) -> Any:
    r"""Returns a setting with each function as `<function NAME>`.

    >>> in_one_form({"filter_fn": "<function boxed at 0x7f3a>"})
    {'filter_fn': '<function boxed>'}
    >>> in_one_form("@averaged\ndef choice(doc, results):\n    return {}\n")
    '<function choice>'
    """
    if isinstance(value, Mapping):
        return {str(key): in_one_form(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [in_one_form(item) for item in value]
    if not isinstance(value, str):
        return value
    is_source = value.lstrip().startswith(_BEGINS)
    function = _SOURCE.search(value) if is_source else _PLACE.match(value)
    return f"<function {function[1]}>" if function else value


def template_settings(path: Path) -> dict[str, Any]:
    """Returns what a task's YAML states, each function as `<function PLACE>`.

    Empty where it cannot be read.
    """
    from evalprep.yamltext import Loader, NotYaml, compose

    functions = {"!function": lambda _, node: f"<function {node.value}>"}
    try:
        content, _ = compose(path.read_text(encoding="utf-8-sig"), Loader, functions)
    except (OSError, UnicodeDecodeError, NotYaml):
        return {}
    return content if isinstance(content, dict) else {}


def place_of(setting: Any) -> str:
    """Returns the place of a function that a YAML names; empty for any other setting.

    >>> place_of("<function custom_metrics.harness.filters.boxed>")
    'custom_metrics.harness.filters.boxed'
    """
    if not isinstance(setting, str) or not setting.startswith("<function "):
        return ""
    return setting.removeprefix("<function ").removesuffix(">")
