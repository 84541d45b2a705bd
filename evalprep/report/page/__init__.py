"""The page: one HTML file with data, style and script inside; it asks the network for nothing."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from string import Template
from typing import Any

from evalprep.report.document import Report
from evalprep.report.markdown import render_markdown

_FOLDER = Path(__file__).parent
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]"
)
# In this order, as one script: a page opened from disk cannot load modules.
SCRIPTS = (
    "dom.js",
    "charts.js",
    "overview.js",
    "compare.js",
    "subtasks.js",
    "extraction.js",
    "scores.js",
    "ratings.js",
    "facts.js",
    "store.js",
    "text.js",
    "filters.js",
    "list.js",
    "sample.js",
    "samples.js",
    "main.js",
)


def _source(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


def script() -> str:
    """The page's whole script."""
    return '"use strict";\n(() => {\n' + "".join(_source(name) for name in SCRIPTS) + "})();\n"


def style() -> str:
    """The look of every page."""
    return _source("page.css")


def _shown(match: re.Match[str]) -> str:
    """A character that reorders, hides or controls text, by its code point."""
    return f"[U+{ord(match[0]):04X}]"


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


def policy(code: str, style: str) -> str:
    """The content security policy of the page.

    It allows this script and this style, nothing else, and no connection to anywhere.

    `require-trusted-types-for` makes the browser itself refuse any attempt to turn text into
    markup.
    """
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src '{_hash(code)}'",
            f"style-src '{_hash(style)}'",
            "img-src data:",
            "connect-src 'none'",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )


def data_block(value: Any) -> str:
    """JSON that can stand inside a `script` element: pure ASCII without `<`, `>` and `&`."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def render(report: Report) -> Iterator[str]:
    """The page in pieces, so that a big one is never a single string."""
    code, look = script(), style()
    yield Template(_source("head.html")).substitute(
        title=html.escape(report.document["title"]),
        policy=html.escape(policy(code, look)),
        style=look,
        numbers=html.escape(_UNSEEN.sub(_shown, render_markdown(report))),
    )
    yield f'<script type="application/json" id="document">{data_block(report.document)}</script>\n'
    yield f'<script type="text/plain" id="index">{report.index}</script>\n'
    for chunk in report.chunks:
        yield '<script type="text/plain" class="chunk">'
        yield chunk  # by itself, without a copy
        yield "</script>\n"
    yield f"<script>{code}</script>\n</body>\n</html>\n"
