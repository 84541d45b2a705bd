"""EP214-EP215 and EP4: local data files, read column by column without lm-eval."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from evalprep.check.files import is_stock
from evalprep.check.finding import Findings
from evalprep.check.tree import FunctionRef, Leaf
from evalprep.data import open_parquet
from evalprep.files import as_mapping, read_file
from evalprep.packs import matching_files
from evalprep.terminal import counted, shortlist

LISTED = 3  # rows named per finding
BATCH_ROWS = 1_000
_LOCAL = ("parquet", "json", "csv", "text")
Relocate = Callable[[Path], Path]


def listed(rows: Sequence[Any], noun: str = "row", *, count: int | None = None) -> str:
    """`n rows: a, b, c, ...`.

    Args:
        rows: What is counted, or the first of it.
        noun: What each is called.
        count: How many there are, where `rows` are the first only.
    """
    if count is None:
        count = len(rows)
    names = list(map(str, rows[:LISTED]))
    if count > LISTED:
        names.append("...")
    return f"{counted(count, noun)}: {', '.join(names)}"


def data_files(leaf: Leaf) -> dict[str, list[str]]:
    """Split -> paths of a task on local files.

    Empty for a task on a hub data set, or where a function names them.
    """
    options = as_mapping(leaf.config.get("dataset_kwargs"))
    files = options.get("data_files")
    if leaf.config.get("dataset_path") not in _LOCAL or files is None:
        return {}
    by_split = files if isinstance(files, dict) else {"train": files}
    paths: dict[str, list[str]] = {}
    for split, entry in by_split.items():
        entries = entry if isinstance(entry, list) else [entry]
        # A function runs when lm-eval reads the YAML, and what it returns is not known before.
        if any(isinstance(path, FunctionRef) for path in entries):
            return {}
        paths[str(split)] = list(map(str, entries))
    return paths


def eval_split(leaf: Leaf) -> str:
    """The split that lm-eval evaluates.

    The test split if there is one, else the validation split.
    """
    config = leaf.config
    split = config.get("test_split") or config.get("validation_split")
    return str(split or "")


def check_data_files(leaf: Leaf, findings: Findings, relocate: Relocate) -> list[Path]:
    """Reports paths that lm-eval will not find.

    Args:
        leaf: The task.
        findings: Gets EP214, EP215 and EP412.
        relocate: Turns the path of a prepared file into the place where it lies now, during a
            preparation.

    Returns:
        The files of the evaluated split that exist.
    """
    by_split, split = data_files(leaf), eval_split(leaf)
    # Parts of splits are reported with the keys of the task.
    whole = split.partition("[")[0].partition("+")[0]
    if by_split and split and whole not in by_split:
        what = f"the split {split!r} is not among {', '.join(by_split)}"
        findings.add_at("EP412", leaf, "test_split", what)
    evaluated: list[Path] = []
    for name, texts in by_split.items():
        for text in texts:
            if "://" in text:
                continue
            files = matching_files(_path(text, relocate))
            missing = _missing(text, files)
            if missing is not None:
                # lm-eval resolves a relative path against the folder in which it is started, which
                # is tried here.
                path = _path(missing, relocate)
                beside = leaf.file.path.parent / path
                if path.is_absolute():
                    what = f"{missing} does not exist"
                    findings.add_at("EP215", leaf, "dataset_kwargs", what)
                elif beside.is_file():
                    what = f"{missing} lies beside the task file and not below {Path.cwd()}"
                    findings.add_at("EP214", leaf, "dataset_kwargs", what, fix=f"write {beside}")
                else:
                    what = f"{missing} does not exist below {Path.cwd()}"
                    fix = "start lm_eval where it does, or write an absolute path"
                    findings.add_at("EP215", leaf, "dataset_kwargs", what, fix=fix)
            elif name == whole:
                evaluated += files
    return evaluated


def _missing(text: str, files: list[Path]) -> str | None:
    """The part of a path or a pattern of files that is not there; None where all is."""
    if not files:
        return text
    absent = next((file for file in files if not file.is_file()), None)
    if absent is None:
        return None
    is_plain = absent.name == Path(text).name
    return text if is_plain else str(Path(text).with_name(absent.name))


def _path(text: str, relocate: Relocate) -> Path:
    """The path that a text means, where its file lies now."""
    path = Path(text)
    return relocate(path) if path.is_absolute() else path


def check_rows(leaf: Leaf, files: list[Path], findings: Findings, *, ours: bool) -> int:
    """Reads the columns that matter of a task's parquet, JSON or JSON Lines files.

    Returns:
        The number of rows.
    """
    import pyarrow as pa

    kind = str(leaf.config.get("dataset_path"))
    scan = _Scan(leaf, findings, ours=ours)
    all_readable = True
    for path in files:
        try:
            for batch in _batches(path, kind, scan):
                scan.add(batch)
        except (OSError, ValueError, AttributeError, pa.ArrowException) as error:
            all_readable = False
            what = f"cannot be read: {error}"
            findings.add("EP407", str(path), what, task=leaf.name)
    where = str(files[0]) if files else leaf.where()
    if files and all_readable and scan.seen == 0:
        what = f"{leaf.name} has no rows"
        findings.add("EP408", where, what, task=leaf.name)
    scan.report(where)
    return scan.seen


def _batches(path: Path, kind: str, scan: _Scan) -> Iterator[Any]:
    """The wanted columns of a file, batch by batch."""
    from evalprep.packs import json_table

    if kind == "parquet":
        with open_parquet(path) as file:
            columns = scan.columns(file.schema_arrow)
            yield from file.iter_batches(batch_size=BATCH_ROWS, columns=columns)
        return
    table = json_table(read_file(path, own=True))
    columns = scan.columns(table.schema)
    yield from table.select(columns).to_batches()


class _Scan:
    """Collects what is wrong with the rows of one task, over several files."""

    def __init__(self, leaf: Leaf, findings: Findings, *, ours: bool) -> None:
        self.leaf = leaf
        self.findings = findings
        self.ours = ours
        text = leaf.config.get("doc_to_text")
        target = leaf.config.get("doc_to_target")
        self.prompt = text if isinstance(text, str) else ""
        # A likelihood without a prompt is one of the whole text; only generation needs something to
        # continue.
        self.generates = leaf.output_type == "generate_until"
        self.target = target if isinstance(target, str) else ""
        self.names: list[str] = []
        self.ids: set[str] = set()
        self.repeated: list[str] = []
        self.empty: list[str] = []
        self.null: list[str] = []
        self.odd: dict[str, list[str]] = {}
        self.seen = 0
        self.answers: dict[int, int] = {}
        self.several: list[str] = []
        self.no_answer: list[str] = []

    def columns(self, schema: Any) -> list[str]:
        """The columns to read: ids, prompt, gold answer, and every one that holds floats.

        Raises:
            ValueError: two columns have one name.
        """
        self.names = list(schema.names)
        doubled = sorted(name for name, count in Counter(self.names).items() if count > 1)
        if doubled:
            raise ValueError(f"two columns are named {shortlist(doubled)}; rename one of them")
        floats = [field.name for field in schema if _has_float(field.type)]
        useful = ("sample_id", self.prompt, self.target, *floats)
        return [name for name in dict.fromkeys(useful) if name in schema.names]

    def add(self, batch: Any) -> None:
        """Looks at one batch of rows."""
        columns = {name: batch.column(name).to_pylist() for name in batch.schema.names}
        count = batch.num_rows
        rows = self._row_names(columns.get("sample_id"), count)
        prompts = columns.get(self.prompt, [None] * count)
        if self.prompt in columns:
            for row, prompt in zip(rows, prompts, strict=True):
                if prompt is None:
                    self.null.append(row)
                elif self.generates and isinstance(prompt, str) and not prompt.strip():
                    self.empty.append(row)
        if self.target in columns:
            targets = columns[self.target]
            for row, target, prompt in zip(rows, targets, prompts, strict=True):
                self._target(row, target, prompt)
        for field in batch.schema:
            is_id_or_prompt = field.name in {"sample_id", self.prompt}
            if not is_id_or_prompt and _has_float(field.type):
                values = columns[field.name]
                odd = [row for row, value in zip(rows, values, strict=True) if _is_odd(value)]
                if odd:
                    self.odd.setdefault(field.name, []).extend(odd)
        self.seen += count

    def _row_names(self, ids: list[Any] | None, count: int) -> list[str]:
        """The ids of a batch, or the positions where there are none; repeated ids are kept."""
        if ids is None:
            return [str(self.seen + number) for number in range(count)]
        rows = list(map(str, ids))
        for row in rows:
            if row in self.ids:
                self.repeated.append(row)
            self.ids.add(row)
        return rows

    def _target(self, row: str, target: Any, prompt: Any) -> None:
        if target is None:
            self.null.append(row)
            return
        if isinstance(target, str) and not target.strip():
            self.no_answer.append(row)
        if isinstance(prompt, str) and prompt.strip():
            key, value = hash(prompt), hash(str(target))
            if self.answers.setdefault(key, value) != value:
                self.several.append(row)

    def report(self, where: str) -> None:
        """Turns what was collected into findings."""
        task = self.leaf.name

        def report(code: str, what: str) -> None:
            self.findings.add(code, where, what, task=task)

        if self.seen and "sample_id" not in self.names and not is_stock(self.leaf.file.path):
            code = "EP401" if self.ours else "EP402"
            report(code, f"{task} has no column sample_id")
        for code, rows, words in (
            ("EP403", self.repeated, "repeated ids in"),
            ("EP404", self.empty, "empty prompts in"),
            ("EP405", self.null, "null prompts or gold answers in"),
            ("EP410", self.several, "other gold answers for the same prompt in"),
        ):
            if rows:
                report(code, f"{words} {listed(rows)}")
        if 0 < len(self.no_answer) < self.seen:  # a column that is empty throughout is none
            places = listed(self.no_answer)
            report("EP417", f"column {self.target!r} is empty in {places}")
        for name, rows in self.odd.items():
            report("EP406", f"column {name!r} is not finite in {listed(rows)}")


def _has_float(kind: Any) -> bool:
    import pyarrow as pa

    inner = (kind.field(number).type for number in range(kind.num_fields))
    return pa.types.is_floating(kind) or any(map(_has_float, inner))


def _is_odd(value: Any) -> bool:
    """Returns whether a value is a float that is not finite, or holds one."""
    if isinstance(value, Mapping):
        return any(map(_is_odd, value.values()))
    if isinstance(value, list):
        return any(map(_is_odd, value))
    return isinstance(value, float) and not math.isfinite(value)
