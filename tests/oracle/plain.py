"""What a verb wrote, without what changes from one machine or day to the next."""

from __future__ import annotations

import hashlib
import json
import math
import re
import sys
import time
import zipfile
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from evalprep import __version__
from tests import PROJECT_ROOT

_STAMP = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T ]|--)\d\d[:-]\d\d(?:[:-]\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?| UTC)"
)
_DAY = re.compile(r"(?<!\d)\d{4}-\d\d-\d\d(?!\d|T)")
_COMPACT = re.compile(r"(?<!\d)\d{8}[-_T]\d{6}(?!\d)")
_NUMBER = re.compile(r"(?<![\w.:-])-?\d+\.(?:\d{6,}(?:e-?\d+)?|\d+e-\d+)")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_NEAR = timedelta(
    hours=30
)  # stamps are of this machine's zone or of UTC, and a run may pass midnight
_HASH = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{52}\b")
_SHORT_HASH = re.compile(r"\b[0-9a-f]{12}\.\.\.")
_COMMIT = re.compile(r"\bcommit (?:[0-9a-f]{40}\b|not recorded)")
_RUN = re.compile(r"\br(?!0000)[0-9a-f]{11}\b")  # made of the paths of a preparation
_DIGITS = 7
_LONGEST = 480
_FIRST = 2
_TEXTS = {".csv", ".tsv", ".md", ".xml", ".yaml", ".txt", ".tex", ".jsonl"}
_MOST = 8  # members of a list of texts or numbers, or of an object with one per row


class Plain:
    """Takes paths, times and the last digits of numbers out of outputs of one folder."""

    def __init__(self, home: Path) -> None:
        """Remember what the paths of this folder begin with."""
        python = Path(sys.executable).parent
        self._places = [
            *{str(home.resolve()): "HERE", str(home): "HERE"}.items(),
            *{str(python.parent): "ENVIRONMENT", str(PROJECT_ROOT): "EVALPREP"}.items(),
        ]

    def value(self, value: Any) -> Any:
        """Reduces data of JSON; what is null or empty is left out of objects."""
        match value:
            case bool() | None:
                return value
            case int() | float():
                return _number(value)
            case str():
                return "VERSION" if value == __version__ else _shorter(self.text(value))
            case Mapping():
                kept = {self.text(str(key)): self.value(part) for key, part in value.items()}
                plain = {key: kept[key] for key in sorted(kept) if not _is_nothing(kept[key])}
                return _fewer_rows(plain) if _by_row(plain) else plain
            case _:
                return _fewer([self.value(part) for part in value])

    def text(self, text: str) -> str:
        """Replaces paths, times of today and digits beyond the seventh."""
        for path, name in self._places:
            text = text.replace(path, name)
        for pattern in (_STAMP, _DAY, _COMPACT):
            text = pattern.sub(_without_now, text)
        text = _HASH.sub(r"\1...", _UUID.sub("UUID", text))
        text = _COMMIT.sub("commit SHA", _RUN.sub("RUN", text))
        text = text.replace(f"evalprep {__version__}", "evalprep VERSION")
        return _NUMBER.sub(lambda found: f"{float(found[0]):.{_DIGITS}g}", text)

    def lines(self, text: str) -> list[str]:
        """Reduces the lines of a text."""
        lines = [self.text(line.rstrip()) for line in text.splitlines()]
        return [_shorter(line) for line in lines if line]

    def sums(self, path: Path) -> Any:
        """Reduces a file that a pack writes to sums of its numbers and a digest of its texts."""
        if path.suffix == ".json":
            # Packs write digests of their own sources.
            text = _HASH.sub("SHA", path.read_text(encoding="utf-8"))
            return summed(self.value(json.loads(text)))
        if path.suffix not in _TEXTS:
            return "written"
        text = "\n".join(self.lines(path.read_text(encoding="utf-8")))
        # Reports list digests of files in which paths and times stand.
        return {"lines": text.count("\n") + 1, "digest": _digest(_SHORT_HASH.sub("SHA", text))}

    def file(self, path: Path) -> Any:
        """Reduces a file by what its name ends in: rows of samples are counted and begun."""
        match path.suffix:
            case ".json":
                return self.value(json.loads(path.read_text(encoding="utf-8")))
            case ".jsonl":
                rows = path.read_text(encoding="utf-8").splitlines()
                first = [self.value(json.loads(row)) for row in rows[:_FIRST]]
                return {"rows": len(rows), "first": first}
            case ".csv" if "samples" in path.name:
                lines = self.lines(path.read_text(encoding="utf-8-sig"))
                return {"lines": len(lines), "first": lines[: 1 + _FIRST]}
            case suffix if suffix in _TEXTS:
                return self.lines(path.read_text(encoding="utf-8-sig"))
            case ".eval":
                return self._archive(path)
            case ".parquet":
                import pyarrow.parquet as pq

                table = pq.read_table(path)
                first = self.value(table.slice(0, _FIRST).to_pylist())
                return {"columns": table.column_names, "rows": len(table), "first": first}
            case _:
                return "written"

    def _archive(self, path: Path) -> Any:
        with zipfile.ZipFile(path) as archive:
            names = sorted(archive.namelist())
            header = self.value(json.loads(archive.read("header.json")))
            rows = [name for name in names if name.startswith("samples/")]
            first = self.value(json.loads(archive.read(rows[0]))) if rows else None
        return {"header": header, "rows": len(rows), "first": first}


def _is_nothing(value: Any) -> bool:
    return value is None or value in ("", [], {})


def _fewer(items: list[Any]) -> Any:
    """A long list of texts or numbers is counted, begun and summed up."""
    if len(items) <= _MOST or any(isinstance(item, (dict, list)) for item in items):
        return items
    return {"members": len(items), "first": items[:_FIRST], **_whole(items)}


def _by_row(items: dict[str, Any]) -> bool:
    """Whether an object has a member per row: many names, each with a number in it."""
    return len(items) > _MOST and all(re.search(r"\d", name) for name in items)


def _fewer_rows(items: dict[str, Any]) -> dict[str, Any]:
    first = dict(list(items.items())[:_FIRST])
    return {"members": len(items), "first": first, **_whole(items)}


def summed(items: Any) -> dict[str, Any]:
    """Returns the sum of all numbers in some data, and a digest of all texts."""
    whole = _whole(items)
    digest = {"digest": whole.pop("digest")} if "digest" in whole else {}
    return {"sum": _number(sum(whole.values())), **digest}


def _whole(items: Any) -> dict[str, Any]:
    """Sums of all numbers, by the name they have, and a digest of all texts."""
    sums: dict[str, float] = {}
    texts: list[str] = []
    _add(items, "sum", sums, texts)
    whole: dict[str, Any] = {name: _number(value) for name, value in sorted(sums.items())}
    if texts:
        whole["digest"] = _digest("\n".join(texts))
    return whole


def _add(item: Any, name: str, sums: dict[str, float], texts: list[str]) -> None:
    match item:
        case dict():
            for key, part in item.items():
                is_of_row = re.search(r"\d", key)
                _add(part, name if is_of_row else f"sum of {key}", sums, texts)
        case list():
            for part in item:
                _add(part, name, sums, texts)
        case int() | float():
            sums[name] = sums.get(name, 0) + item
        case _:
            texts.append(str(item))


def _digest(text: str) -> str:
    """A digest that does not depend on the last digits of numbers."""
    text = _NUMBER.sub(lambda found: f"{float(found[0]):.4g}", text)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _number(value: float) -> Any:
    if abs(value - time.time()) < _NEAR.total_seconds():
        return "NOW"
    if isinstance(value, int) or not math.isfinite(value):
        return value if isinstance(value, int) else str(value)
    return float(f"{value:.{_DIGITS}g}")


def _shorter(text: str, most: int = _LONGEST) -> str:
    if len(text) <= most:
        return text
    return f"{text[: most // 2]} ... {text[-40:]} ({len(text)} characters, {_digest(text)})"


def _without_now(found: re.Match[str]) -> str:
    digits = re.sub(r"\D", "", found[0])[:14]
    try:
        when = datetime.strptime(digits, "%Y%m%d%H%M%S"[: len(digits) - 2]).replace(tzinfo=UTC)
    except ValueError:
        return found[0]
    return "NOW" if abs(when - datetime.now(UTC)) < _NEAR else found[0]
