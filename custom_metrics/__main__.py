"""`python -m custom_metrics list [PATTERN]`.

Every public metric with its signature, range and direction.
"""

from __future__ import annotations

import argparse
import errno
import inspect
import json
import os
import re
import sys
from collections.abc import Callable
from typing import Any, TextIO

from custom_metrics import METRICS

_INTERVAL = re.compile(r"\bin (\[[^\]]{1,40}[\])]|\(-inf, inf\))")
_VERDICT = re.compile(r"\b(0(?:\.0)? or 1(?:\.0)?)\b")
_DIRECTION = re.compile(
    r"\b(higher|lower|smaller|larger|closer to \S+|nearer to \S+) is better\b", re.IGNORECASE
)


def describe(name: str, function: Callable[..., Any]) -> dict[str, str]:
    """Reads what a metric's signature and docstring say about it.

    Args:
        name: Public name.
        function: The metric.

    Returns:
        `name`, `signature`, `summary` (first sentence), and `range` and `better`, empty where the
        docstring does not name them.
    """
    text = inspect.getdoc(function) or ""
    first = re.split(
        r"(?<=[.])\s(?=[A-Z`])", " ".join(text.split("\n\n", 1)[0].split()), maxsplit=1
    )[0]
    found_range = _INTERVAL.search(text) or _VERDICT.search(text)
    found_direction = _DIRECTION.search(text)
    parameters = inspect.signature(function).parameters.values()
    return {
        "name": name,
        "signature": f"({', '.join(map(_argument, parameters))})",
        "summary": first,
        "range": found_range.group(1) if found_range else "",
        "better": found_direction.group(1).lower() if found_direction else "",
    }


def _argument(parameter: inspect.Parameter) -> str:
    """Writes an argument with its default, the same in each process: a function by its name."""
    untyped = parameter.replace(annotation=inspect.Parameter.empty)
    default = parameter.default
    if inspect.isfunction(default):
        return f"{parameter.name}={default.__name__}"
    if isinstance(default, frozenset) and default:  # has no order
        return f"{parameter.name}=..."
    return str(untyped)


def _entry(metric: dict[str, str]) -> str:
    notes = [
        metric["range"] and f"range {metric['range']}",
        metric["better"] and f"{metric['better']} is better",
    ]
    facts = "; ".join(filter(None, notes))
    remark = f" ({facts})" if facts else ""
    return f"{metric['name']}{metric['signature']}\n    {metric['summary']}{remark}"


class _Parser(argparse.ArgumentParser):
    """A parser whose help is a result like any other: argparse says nothing where it is lost."""

    def print_help(self, _file: Any = None) -> None:
        """Prints the help, and ends where it cannot be written."""
        code = _written(self.format_help(), end="")
        if code:
            raise SystemExit(code)


def main(argv: list[str] | None = None) -> int:
    """Prints the metrics whose name contains a pattern.

    Returns:
        0; 2 where nothing matches; 74 where standard output cannot be written, 141 where its reader
        ended.
    """
    parser = _Parser(prog="python -m custom_metrics", description="The metrics of this package.")
    verbs = parser.add_subparsers(dest="verb", required=True)
    lister = verbs.add_parser("list", help="metrics with signature, range and direction")
    lister.add_argument("pattern", nargs="?", default="", help="only names that contain this")
    lister.add_argument("--json", action="store_true", help="the same as data")
    arguments = parser.parse_args(argv)
    descriptions = [
        describe(name, function) for name, function in METRICS.items() if arguments.pattern in name
    ]
    if not descriptions:
        _print(f"no metric name contains {arguments.pattern!r}", sys.stderr)
        return 2
    if arguments.json:
        text = json.dumps(descriptions, indent=2)
    else:
        text = "\n".join(map(_entry, descriptions))
    return _written(text)


_UNWRITTEN, _UNREAD = 74, 141  # as evalprep ends


def _written(text: str, end: str = "\n") -> int:
    """Prints results; returns the exit code."""
    error = _print(text, sys.stdout, end)
    if error is None:
        return 0
    if isinstance(error, BrokenPipeError):  # the reader, such as `head`, has seen enough
        return _UNREAD
    _print(f"error: standard output cannot be written: {error.strerror}", sys.stderr)
    return _UNWRITTEN


def _print(text: str, stream: TextIO | None, end: str = "\n") -> OSError | None:
    """Prints a text; returns why it cannot be printed, None where it is."""
    if stream is None:
        return OSError(errno.EBADF, "it is closed")
    try:
        print(text, end=end, file=stream, flush=True)
    except OSError as error:
        # Python would try again at its end, and end with a code of its own.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return error
    return None


if __name__ == "__main__":
    raise SystemExit(main())
