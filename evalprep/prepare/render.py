"""Template -> task YAML: named placeholders, nothing else changes, comments survive.

A placeholder `${name}` stands for a whole YAML value and is written as JSON, which is YAML: a path
with a blank, a quote or a colon stays one value, and a number stays a number.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from itertools import chain
from typing import Any

from evalprep.errors import Problem, near

# A name with a capital is refused as unknown, not left standing; without any small letter it is no
# name of ours.
_NAME = r"\$\{((?=\w*[a-z])[A-Za-z_]\w*)\}"
_PLACEHOLDER = re.compile(_NAME, re.ASCII)
_CONTROL = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_QUOTES = re.compile(rf"""["'][^"'\n]*{_NAME}""", re.ASCII)


def placeholders(template: str) -> set[str]:
    """Names used in a template, outside of comments."""
    names = (_PLACEHOLDER.findall(_code(line)) for line in template.splitlines())
    return set(chain.from_iterable(names))


def _code(line: str) -> str:
    """The line without a whole-line comment (an inline `#` may be part of a value)."""
    return "" if line.lstrip().startswith("#") else line


def render(
    template: str, values: Mapping[str, Any], *, where: str, optional: Collection[str] = ()
) -> tuple[str, list[Problem]]:
    """Fills a template.

    Args:
        template: Text of the template.
        values: Placeholder -> value (anything JSON can hold).
        where: Path of the template, for messages.
        optional: Values that a template need not use.

    Returns:
        The text and the mistakes: unknown placeholders, values that no placeholder uses,
        placeholders inside quotes.
    """
    problems: list[Problem] = []
    used = placeholders(template)
    problems.extend(
        Problem(
            what=f"unknown placeholder ${{{name}}}",
            where=where,
            allowed=", ".join(f"${{{known}}}" for known in sorted(values)),
            fix=near(name, values),
        )
        for name in sorted(used - set(values))
    )
    problems.extend(
        Problem(
            what=f"the value {name!r} is prepared but no placeholder uses it",
            where=where,
            fix=f"write ${{{name}}} where it belongs, or stop preparing it",
        )
        for name in sorted(set(values) - used - set(optional))
    )
    lines = []
    for number, line in enumerate(template.splitlines(keepends=True), 1):
        code = _code(line)
        if _QUOTES.search(code):
            problems.append(
                Problem(
                    what="a placeholder stands inside quotes",
                    where=f"{where}:{number}",
                    fix="remove the quotes: a placeholder is a whole value",
                )
            )
        lines.append(
            _PLACEHOLDER.sub(lambda match: _as_yaml(values.get(match[1])), line) if code else line
        )
    return "".join(lines), problems


def _as_yaml(value: Any) -> str:
    # YAML forbids some characters that JSON lets stand, but reads the same escapes.
    return _CONTROL.sub(
        lambda match: f"\\u{ord(match[0]):04x}",
        json.dumps(value, ensure_ascii=False, sort_keys=True),
    )
