"""Read a data set wherever it is: local file or folder, or a hub id; the columns that are needed, pinned by revision.

The hub is read through its files rather than through `datasets.load_dataset`: a card's `configs` section names the
parquet or JSON files of each split, so only those are fetched, nothing of a repository's code is ever run, and importing
takes milliseconds. HF_HOME, HF_ENDPOINT, HF_TOKEN and HF_HUB_OFFLINE are honoured by huggingface_hub.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalprep.errors import BadInput, Problem, near

BATCH_ROWS = 1_000  # rows held in memory at a time
_DATA_SUFFIXES = (".parquet", ".parquet.gzip", ".jsonl", ".jsonlines", ".ndjson", ".json")


@dataclass
class Source:
    """One readable split of a data set.

    Attributes:
        location: What the user wrote.
        files: The data files, in order.
        revision: Commit of a hub data set, None for local data.
        rows_read: Rows that `rows()` has yielded so far; the manifest records it.
    """

    location: str
    files: list[Path]
    config: str | None = None
    split: str | None = None
    revision: str | None = None
    rows_read: int = 0
    _columns: list[str] | None = field(default=None, repr=False)

    @property
    def columns(self) -> list[str]:
        """Column names: of the schema for parquet, of the first row for JSON."""
        if self._columns is None:
            first = self.files[0]
            if _is_parquet(first):
                import pyarrow.parquet as pq

                self._columns = list(_open_parquet(pq, first).schema_arrow.names)
            else:
                self._columns = list(next(iter(_json_rows(first, None)), {}))
        return self._columns

    def require(self, columns: Sequence[str], *, where: str = "") -> None:
        """Refuse a source that lacks columns.

        Raises:
            BadInput: names the missing ones and lists those found.
        """
        missing = [name for name in columns if name not in self.columns]
        if missing:
            raise BadInput(Problem(
                what=f"lacks the column{'s' if len(missing) > 1 else ''} {', '.join(missing)}",
                where=where or self.describe(), allowed=f"columns found: {', '.join(self.columns) or 'none'}",
                fix="; ".join(filter(None, (near(name, self.columns) for name in missing))) or "choose another data set",
            ))

    def describe(self) -> str:
        """Location with config and split, for messages."""
        return self.location + (f" [{self.config}]" if self.config else "") + (f" split {self.split}" if self.split else "")

    def rows(self, columns: Sequence[str] | None = None) -> Iterator[dict[str, Any]]:
        """Stream rows as mappings, in file order, in bounded memory.

        Args:
            columns: Read only these; None reads all.

        Raises:
            BadInput: a malformed file, with its line where there is one.
        """
        if columns is not None:
            self.require(columns)
        for path in self.files:
            batch = _parquet_rows(path, columns) if _is_parquet(path) else _json_rows(path, columns)
            for row in batch:
                self.rows_read += 1
                yield row

    def facts(self) -> dict[str, Any]:
        """What the manifest records: enough to see later whether the same data were used."""
        return {
            "location": self.location, "config": self.config, "split": self.split, "revision": self.revision,
            "rows": self.rows_read,
            "files": [{"name": path.name, "sha256": file_sha256(path)} for path in self.files],
        }


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def open_source(location: str, *, config: str | None = None, split: str | None = None, revision: str | None = None,
                folder: Path | None = None, where: str = "") -> Source:
    """Find the files of one split.

    Args:
        location: A local file or folder (relative to `folder`), or a hub id `owner/name`.
        config: Config (subset) name of the data set's card.
        split: Split name; None takes the only one.
        revision: Branch, tag or commit of a hub data set.
        folder: Folder that a relative path refers to; the current one by default.
        where: Which key of which file named the location, for messages.

    Raises:
        BadInput: nothing there, no such config or split, gated or unreachable hub data.
    """
    path = (folder or Path.cwd()) / Path(location).expanduser()
    if path.is_file():
        return Source(location, [path.resolve()], config, split)
    if path.is_dir():
        path = path.resolve()
        return Source(location, _select(path, config, split, where or location), config, split)
    if location.startswith((".", "/", "~")) or location.count("/") != 1 or " " in location:
        raise BadInput(Problem(what=f"no file or folder at {path}", where=where or location,
                               allowed="a local file or folder, or a hub id like owner/name", fix=_near_path(path)))
    return _hub_source(location, config, split, revision, where or location)


def _near_path(path: Path) -> str:
    try:
        siblings = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
    except OSError:
        siblings = []
    return near(path.name, siblings) or "check the spelling; relative paths start at the config file's folder"


def _is_data_file(path: Path) -> bool:
    return path.name.endswith(_DATA_SUFFIXES)


def _is_parquet(path: Path) -> bool:
    return ".parquet" in path.name


def card_configs(folder: Path) -> list[dict[str, Any]]:
    """The `configs` section of a data set card (README.md front matter), empty where there is none."""
    card = folder / "README.md"
    if not card.is_file():
        return []
    text = card.read_text(encoding="utf-8", errors="replace")
    if not text.startswith("---"):
        return []
    import yaml

    try:
        front = yaml.load(text.split("---", 2)[1], Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - a safe loader
    except (yaml.YAMLError, IndexError):
        return []
    configs = front.get("configs") if isinstance(front, dict) else None
    return [entry for entry in configs or [] if isinstance(entry, dict)]


def config_names(location: str, *, folder: Path | None = None, revision: str | None = None) -> list[str]:
    """Config names that a data set offers, empty when its card declares none.

    Raises:
        BadInput: the data set cannot be reached.
    """
    path = (folder or Path.cwd()) / Path(location).expanduser()
    if not path.is_dir():
        path = _hub_snapshot(location, revision, ["README.md"], location)
    return [str(entry["config_name"]) for entry in card_configs(path) if "config_name" in entry]


def _patterns(configs: list[dict[str, Any]], config: str | None, split: str | None, where: str) -> list[str] | None:
    """File patterns of one split as the card declares them; None when the card declares nothing for it."""
    if not configs:
        return None
    names = [str(entry.get("config_name", "default")) for entry in configs]
    if config is None:
        default = [entry for entry in configs if entry.get("default")] or configs[:1]
        chosen = default[0]
    elif config in names:
        chosen = configs[names.index(config)]
    else:
        raise BadInput(Problem(what=f"has no config {config!r}", where=where, allowed=", ".join(names), fix=near(config, names)))
    data_files = chosen.get("data_files")
    if data_files is None:
        return None
    if isinstance(data_files, str):
        data_files = [{"split": "train", "path": data_files}]
    splits: dict[str, list[str]] = {}
    for entry in data_files:
        if isinstance(entry, str):
            entry = {"split": "train", "path": entry}  # noqa: PLW2901 - the short form of the same thing
        paths = entry.get("path", [])
        splits.setdefault(str(entry.get("split", "train")), []).extend([paths] if isinstance(paths, str) else paths)
    if split is None and len(splits) == 1:
        return next(iter(splits.values()))
    if split not in splits:
        raise BadInput(Problem(what=f"has no split {split!r}", where=where, allowed=", ".join(splits), fix=near(str(split), splits)))
    return splits[split]


def _select(folder: Path, config: str | None, split: str | None, where: str) -> list[Path]:
    """The data files of one split of a local folder."""
    patterns = _patterns(card_configs(folder), config, split, where)
    if patterns is not None:
        files = sorted({path for pattern in patterns for path in _glob_inside(folder, pattern)})
        if not files:
            raise BadInput(Problem(what=f"the card's files {', '.join(patterns)} are not there", where=where, fix=f"look in {folder}"))
        return files
    inside = folder / config if config and (folder / config).is_dir() else folder
    files = sorted(path for path in inside.rglob("*") if path.is_file() and _is_data_file(path))
    named = [path for path in files if split and split in path.relative_to(inside).as_posix()]
    chosen = named or (files if split is None or len(files) == 1 else [])
    if not chosen:
        raise BadInput(Problem(what=f"no data file for split {split!r} in {inside}", where=where,
                               allowed=", ".join(path.relative_to(inside).as_posix() for path in files[:20]) or "no data files there"))
    return chosen


def _glob_inside(folder: Path, pattern: str) -> Iterable[Path]:
    if Path(pattern).is_absolute() or ".." in Path(pattern).parts:
        return []  # a card must not make us read files outside of its data set
    return (path for path in folder.glob(pattern) if path.is_file())


def _hub_source(location: str, config: str | None, split: str | None, revision: str | None, where: str) -> Source:
    snapshot = _hub_snapshot(location, revision, ["README.md"], where)
    patterns = _patterns(card_configs(snapshot), config, split, where)
    if patterns is None:
        patterns = [f"{config or ''}*{split or ''}*{suffix}" for suffix in _DATA_SUFFIXES]
        patterns += [f"{config}/*{split or ''}*{suffix}" for suffix in _DATA_SUFFIXES] if config else []
        patterns += [f"data/*{split or ''}*{suffix}" for suffix in _DATA_SUFFIXES]
    snapshot = _hub_snapshot(location, revision, patterns, where)
    files = sorted({path for pattern in patterns for path in _glob_inside(snapshot, pattern)})
    if not files:
        raise BadInput(Problem(what=f"no data files match {', '.join(patterns[:4])}", where=where,
                               fix="download the data set and give its local folder"))
    return Source(location, files, config, split, revision=snapshot.name)


def _hub_snapshot(location: str, revision: str | None, patterns: list[str], where: str) -> Path:
    """Fetch files of a hub data set into the hub cache, or find them there when offline."""
    from huggingface_hub import errors, snapshot_download

    try:
        return Path(snapshot_download(location, repo_type="dataset", revision=revision, allow_patterns=patterns))
    except errors.GatedRepoError:
        raise BadInput(Problem(what=f"{location} is gated", where=where,
                               fix=f"accept its terms at its hub page and set HF_TOKEN, or give a local copy of {location}")) from None
    except errors.RepositoryNotFoundError:
        raise BadInput(Problem(what=f"{location} is not on the hub, or is private", where=where,
                               fix="check the id, set HF_TOKEN, or give a local path")) from None
    except errors.RevisionNotFoundError:
        raise BadInput(Problem(what=f"{location} has no revision {revision!r}", where=where, fix="give a branch, tag or commit")) from None
    except (errors.LocalEntryNotFoundError, errors.OfflineModeIsEnabled, errors.HfHubHTTPError, OSError) as error:
        offline = os.environ.get("HF_HUB_OFFLINE") in {"1", "true", "True", "TRUE", "ON", "YES"}
        reason = "HF_HUB_OFFLINE is set and it is not in the hub cache" if offline else f"the hub cannot be reached ({type(error).__name__})"
        raise BadInput(Problem(what=f"{location}: {reason}", where=where,
                               fix=f"unset HF_HUB_OFFLINE once to fetch it, or give the path of a local copy of {location}")) from None
    except (errors.HFValidationError, ValueError):
        raise BadInput(Problem(what=f"{location!r} is not a hub id", where=where, allowed="owner/name, or a local path")) from None


def _open_parquet(pq: Any, path: Path) -> Any:
    try:
        return pq.ParquetFile(path)
    except Exception as error:  # pyarrow raises its own ArrowInvalid, OSError and others for damaged files
        raise BadInput(Problem(what=f"is not a readable parquet file: {error}", where=str(path), fix="fetch it again")) from None


def _parquet_rows(path: Path, columns: Sequence[str] | None) -> Iterator[dict[str, Any]]:
    import pyarrow.parquet as pq

    file = _open_parquet(pq, path)
    try:
        for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=list(columns) if columns is not None else None):
            yield from batch.to_pylist()
    except OSError as error:
        raise BadInput(Problem(what=f"is damaged: {error}", where=str(path), fix="fetch it again")) from None


def _json_rows(path: Path, columns: Sequence[str] | None) -> Iterator[dict[str, Any]]:
    """Rows of a JSON Lines file, or of a JSON file with a list of objects."""
    if path.suffix == ".json":
        try:
            data = json.loads(path.read_text(encoding="utf-8-sig"))
        except ValueError as error:
            if path.read_text(encoding="utf-8-sig", errors="replace").lstrip().startswith("{"):
                data = None  # several objects: JSON Lines under the name of JSON
            else:
                raise BadInput(Problem(what=f"is not JSON: {error}", where=str(path))) from None
        if data is not None:
            rows = data if isinstance(data, list) else next((v for v in data.values() if isinstance(v, list)), None)
            if rows is None or not all(isinstance(row, dict) for row in rows):
                raise BadInput(Problem(what="holds no list of objects", where=str(path), allowed='[{"column": ...}, ...]'))
            for row in rows:
                yield _pick(row, columns)
            return
    with path.open("rb") as handle:
        for number, line in enumerate(handle, 1):
            text = _text(line, path, number).strip()
            if not text:
                continue
            try:
                row = json.loads(text)
            except (ValueError, RecursionError) as error:
                raise BadInput(Problem(what=f"is not JSON: {error}", where=f"{path}:{number}", fix="mend or delete the line")) from None
            if not isinstance(row, dict):
                raise BadInput(Problem(what=f"holds a {type(row).__name__}", where=f"{path}:{number}", allowed="one JSON object per line"))
            yield _pick(row, columns)


def _text(line: bytes, path: Path, number: int) -> str:
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise BadInput(Problem(what=f"is not UTF-8: {error}", where=f"{path}:{number}", fix="save the file as UTF-8")) from None


def _pick(row: dict[str, Any], columns: Sequence[str] | None) -> dict[str, Any]:
    return row if columns is None else {name: row.get(name) for name in columns}
