"""The rules that a record of Every Eval Ever obeys, and its samples.

The same verdict as `every_eval_ever validate` of 0.3.0 on the same files. What it does not check
(the checksum, the text of the version, the form of times) is no finding here either.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from evalprep.export.every_eval_ever import naming, schema
from evalprep.files import as_mapping, read_text
from evalprep.numbers import finite_number
from evalprep.terminal import shortened


@dataclass(frozen=True)
class Finding:
    """One finding of a rule on a file.

    Attributes:
        where: The key, or the line.
        what: What is wrong.
        level: `error`, or `warning` where the record is accepted all the same.
    """

    where: str
    what: str
    level: Literal["error", "warning"] = "error"


@dataclass(frozen=True)
class _Store:
    """The folder above `data`, and the place of a file below it."""

    root: Path
    path: str

    @classmethod
    def of(cls, file: Path) -> _Store:
        """That of a file: the innermost folder named data decides."""
        path = file.absolute()
        root = Path("/")
        for folder in path.parents:
            if folder.name == naming.ROOT:
                root = folder.parent
                path = path.relative_to(root)
                break
        return cls(root, path.as_posix())

    def text(self, path: str) -> str | None:
        """The text of another file of the store; None where there is none."""
        file = self.root / path
        if Path(path).is_absolute() or not file.is_file():
            return None
        return read_text(file, own=True)


@dataclass(frozen=True)
class _Lines:
    """The facts of a record that the lines of its samples file state.

    Attributes:
        count: Lines that are not blank.
        evaluations, models: The ids that they name.
        whole: Every line obeys its schema.
    """

    count: int
    evaluations: frozenset[str]
    models: frozenset[str]
    whole: bool = True


def check_file(file: Path, *, most: int | None = None) -> list[Finding]:
    """Returns the findings on a record (`.json`) or on its samples (`.jsonl`).

    Args:
        file: The file.
        most: Lines of samples that are held against their schema; None for all.
    """
    if file.suffix == ".json":
        return _check_record(file)
    if file.suffix == ".jsonl":
        return _check_samples(file, most)
    return [Finding("file", "neither .json nor .jsonl")]


def is_valid(file: Path) -> bool:
    """Returns whether a file would be accepted; warnings do not matter."""
    return all(finding.level != "error" for finding in check_file(file))


# --- JSON


def strict_json(text: str) -> Any:
    """Reads JSON without its extensions.

    Raises:
        ValueError: not JSON, a key stands twice, or a number is not finite.
    """
    return json.loads(
        text, object_pairs_hook=_without_doubles, parse_constant=_refuse, parse_float=_finite
    )


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is not a JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is not a finite number")
    return value


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return content


def _schema_findings(kind: str, content: Any, where: str = "") -> list[Finding]:
    """What a schema refuses, the nearest reason of each mistake."""
    from jsonschema.exceptions import best_match

    findings = []
    for error in schema.validator(kind).iter_errors(content):
        nearest = best_match([error])
        key = ".".join(map(str, nearest.absolute_path))
        findings.append(Finding(where + key, shortened(nearest.message)))
    return findings


# --- the record


def _check_record(file: Path) -> list[Finding]:
    try:
        content = strict_json(read_text(file, own=True))
    except (OSError, ValueError, RecursionError) as error:
        return [Finding("file", str(error))]
    store = _Store.of(file)
    findings = _schema_findings(schema.RECORD, content)
    findings += _path_findings(store)
    if isinstance(content, dict):
        findings += _companion_findings(store, content)
        findings += _score_findings(content)
        findings += _identity_findings(store, content)
    return findings


def _path_findings(store: _Store) -> list[Finding]:
    flaw = naming.path_flaw(store.path)
    return [Finding("path", flaw)] if flaw else []


def _companion_findings(store: _Store, record: Mapping[str, Any]) -> Iterator[Finding]:
    """Yields what is wrong between a record and the samples that it names."""
    expected = naming.samples_beside(store.path)
    detail = record.get(_DETAIL)
    if detail is None:
        if store.text(expected) is not None:
            yield Finding(_DETAIL, "samples lie beside the record")
        return
    flaw = _reference_flaw(detail, expected)
    if flaw:
        yield Finding(_DETAIL, flaw)
    if flaw and flaw != _NOT_JSONL:
        return
    where = f"{_DETAIL}.file_path"
    text = store.text(expected)
    if text is None:
        yield Finding(where, "no such file beside the record")
        return
    try:
        lines = _lines_of(text)
    except ValueError as error:
        yield Finding(where, str(error))
        return
    yield from _mismatches(record, lines)


_DETAIL = "detailed_evaluation_results"
_NOT_JSONL = "format must be jsonl"


def _reference_flaw(detail: Any, expected: str) -> str:
    """Returns what is wrong with how a record names its samples; empty where nothing is."""
    if not isinstance(detail, dict):
        return "not an object"
    reference = detail.get("file_path")
    if not isinstance(reference, str) or reference.strip() != expected:
        return f"file_path must be {expected}"
    if naming.path_flaw(expected):
        return "file_path is not a place of the store"
    return "" if detail.get("format") == "jsonl" else _NOT_JSONL


def _lines_of(text: str) -> _Lines:
    """The lines of samples, as the record that names them reads them.

    Raises:
        ValueError: a line is not a JSON object.
    """
    rows = []
    # The validator of every-eval-ever splits here at every line break that Unicode knows.
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            row = strict_json(line.strip())
        except ValueError as error:
            raise ValueError(f"line {number} is not JSON: {error}") from error
        if not isinstance(row, dict):
            # Read from a file, not an argument.
            raise ValueError(f"line {number} is not an object")  # noqa: TRY004
        rows.append(row)
    return _summary(rows, len(rows))


def _summary(rows: list[dict[str, Any]], count: int, *, whole: bool = True) -> _Lines:
    return _Lines(
        count,
        frozenset(_named(row.get("evaluation_id")) for row in rows),
        frozenset(_named(row.get("model_id")) for row in rows),
        whole,
    )


def _named(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)


def _mismatches(record: Mapping[str, Any], lines: _Lines) -> Iterator[Finding]:
    """Yields where the lines of samples and their record name different things."""
    if not lines.whole:
        return
    if lines.count == 0:
        yield Finding("samples", "there is no line")
    model_id = as_mapping(record.get("model_info")).get("id")
    total = as_mapping(record.get(_DETAIL)).get("total_rows")
    evaluation_id = record.get("evaluation_id")
    if lines.evaluations - {_named(evaluation_id)}:
        yield Finding("evaluation_id", "samples name another evaluation")
    if lines.models - {_named(model_id)}:
        yield Finding("model_info.id", "samples name another model")
    if isinstance(total, int) and total != lines.count:
        yield Finding("total_rows", f"{total} are declared, {lines.count} are there")


def _score_findings(record: Mapping[str, Any]) -> Iterator[Finding]:
    """Yields scores that lie outside of their bounds, and bounds in the wrong order."""
    results = record.get("evaluation_results")
    for number, result in enumerate(results if isinstance(results, list) else ()):
        metric = as_mapping(as_mapping(result).get("metric_config"))
        score = finite_number(as_mapping(as_mapping(result).get("score_details")).get("score"))
        low, high = _bound(metric.get("min_score")), _bound(metric.get("max_score"))
        if score is None or low is None or high is None:
            continue
        where = f"evaluation_results.{number}"
        if low > high:
            yield Finding(f"{where}.metric_config", "min_score is above max_score")
        elif not low <= score <= high:
            yield Finding(f"{where}.score_details.score", "outside of min_score and max_score")


def _bound(value: Any) -> float | None:
    if isinstance(value, str):
        return schema.INFINITE.get(value)
    return finite_number(value)


def _identity_findings(store: _Store, record: Mapping[str, Any]) -> list[Finding]:
    """A warning where the model's name and the folders of the file name different models."""
    model = record.get("model_info")
    if naming.path_flaw(store.path) or not isinstance(model, dict):
        return []
    model_id = model.get("id")
    developer = model.get("developer")
    if not isinstance(model_id, str) or not isinstance(developer, (str, type(None))):
        return []
    folders = naming.Identity(model_id, developer).folders
    if folders == tuple(store.path.split("/")[2:4]):
        return []
    where = "nowhere" if folders is None else "/".join(folders)
    return [Finding("model_info.id", f"the model belongs in {where}", "warning")]


# --- the samples


def _check_samples(file: Path, most: int | None) -> list[Finding]:
    findings: list[Finding] = []
    rows: list[dict[str, Any]] = []
    count = 0
    try:
        with file.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    count += 1
                    is_looked_at = most is None or count <= most
                    findings += _line_findings(
                        line.strip(), f"line {number}: ", rows, with_schema=is_looked_at
                    )
    except (OSError, UnicodeDecodeError) as error:
        return [Finding("file", str(error))]
    store = _Store.of(file)
    summary = _summary(rows, count, whole=not findings)
    findings += _path_findings(store)
    findings += _record_findings(store, summary)
    return findings


def _line_findings(
    line: str, where: str, rows: list[dict[str, Any]], *, with_schema: bool
) -> list[Finding]:
    """The findings on one line, which joins `rows` where it is an object."""
    try:
        content = strict_json(line)
    except (ValueError, RecursionError) as error:
        return [Finding(where, str(error))]
    if isinstance(content, dict):
        ids = ("evaluation_id", "model_id")
        rows.append({name: content.get(name) for name in ids})
    return _schema_findings(schema.SAMPLE, content, where) if with_schema else []


def _record_findings(store: _Store, lines: _Lines) -> Iterator[Finding]:
    """Yields what is wrong between samples and the record beside them."""
    if not store.path.endswith(naming.SAMPLES_SUFFIX):
        return
    place = naming.record_beside(store.path)
    text = store.text(place)
    if text is None:
        yield Finding("record", f"{place} is not there")
        return
    try:
        record = strict_json(text)
    except (ValueError, RecursionError) as error:
        yield Finding("record", str(error))
        return
    detail = record.get(_DETAIL) if isinstance(record, dict) else None
    if detail is None:
        yield Finding("record", "it does not name these samples")
        return
    reference = detail.get("file_path") if isinstance(detail, dict) else None
    if not isinstance(reference, str) or reference.strip() != store.path:
        yield Finding("record", "it names other samples")
        return
    if detail.get("format") != "jsonl":
        yield Finding("record", _NOT_JSONL)
    yield from _mismatches(record, lines)
