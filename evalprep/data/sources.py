"""Read a data set wherever it is: local file or folder, or a hub id; the columns that are needed, pinned by revision.

The hub is read through its files rather than through `datasets.load_dataset`: a card's `configs` section names the
parquet or JSON files of each split, so only those are fetched, no code of a repository is ever run, and importing
takes milliseconds. HF_HOME, HF_ENDPOINT, HF_TOKEN and HF_HUB_OFFLINE are honoured by huggingface_hub.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalprep.data.hub import hub_snapshot
from evalprep.data.rowfiles import DATA_SUFFIXES, file_columns, file_rows, is_data_file
from evalprep.errors import BadInput, Problem, near
from evalprep.files import file_sha256
from evalprep.places import is_file, is_folder, place
from evalprep.yamlfile import NotYaml, yaml_value

MAX_ENTRIES = 20_000  # looked through in a second; a data set without a card has a few files
_FRONT_MATTER = re.compile(r"---[ \t]*\n(.*?)\n---[ \t]*(?:\n|$)", re.DOTALL)


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
        """Column names: of the schema for parquet, of the head for CSV, of the first row for JSON."""
        if self._columns is None:
            self._columns = file_columns(self.files[0])
        return self._columns

    def require(self, columns: Sequence[str], *, where: str = "") -> None:
        """Refuse a source that lacks columns.

        Raises:
            BadInput: names the missing ones and lists those found.
        """
        missing = [name for name in columns if name not in self.columns]
        if missing:
            raise BadInput(
                Problem(
                    what=f"lacks the column{'s' if len(missing) > 1 else ''} {', '.join(missing)}",
                    where=where or self.describe(),
                    allowed=f"columns found: {', '.join(self.columns) or 'none'}",
                    fix="; ".join(filter(None, (near(name, self.columns) for name in missing)))
                    or "choose another data set",
                )
            )

    def describe(self) -> str:
        """Location with config and split, for messages."""
        return (
            self.location
            + (f" [{self.config}]" if self.config else "")
            + (f" split {self.split}" if self.split else "")
        )

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
            for row in file_rows(path, columns):
                self.rows_read += 1
                yield row

    def facts(self) -> dict[str, Any]:
        """What the manifest records: enough to see later whether the same data were used."""
        return {
            "location": self.location,
            "config": self.config,
            "split": self.split,
            "revision": self.revision,
            "rows": self.rows_read,
            "files": [{"name": path.name, "sha256": file_sha256(path)} for path in self.files],
        }


def open_source(
    location: str,
    *,
    config: str | None = None,
    split: str | None = None,
    revision: str | None = None,
    folder: Path | None = None,
    where: str = "",
) -> Source:
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
    path = place(location, folder or Path.cwd())
    if is_file(path):
        return Source(location, [path.resolve()], config, split)
    if is_folder(path):
        path = path.resolve()
        return Source(location, _select(path, config, split, where or location), config, split)
    looks_local = location.startswith((".", "/", "~")) or is_data_file(path) or location.count("/") != 1
    if looks_local or " " in location:
        raise BadInput(
            Problem(
                what=f"no file or folder at {path}",
                where=where or location,
                allowed="a local file or folder, or a hub id like owner/name",
                fix=_near_path(path),
            )
        )
    return _hub_source(location, config, split, revision, where or location)


def _near_path(path: Path) -> str:
    try:
        siblings = [entry.name for entry in path.parent.iterdir()]
    except (OSError, ValueError):
        siblings = []
    return near(path.name, siblings) or "check the spelling; relative paths start at the config file's folder"


def card_configs(folder: Path) -> list[dict[str, Any]]:
    """The `configs` section of a data set card (README.md front matter), empty where there is none."""
    card = folder / "README.md"
    if not card.is_file():
        return []
    front_matter = _FRONT_MATTER.match(card.read_text(encoding="utf-8-sig", errors="replace"))
    if front_matter is None:
        return []
    try:
        front = yaml_value(front_matter[1])
    except NotYaml:
        return []
    configs = front.get("configs") if isinstance(front, dict) else None
    return [entry for entry in configs if isinstance(entry, dict)] if isinstance(configs, list) else []


def config_names(location: str, *, folder: Path | None = None, revision: str | None = None) -> list[str]:
    """Config names that a data set offers, empty when its card declares none.

    Raises:
        BadInput: the data set cannot be reached.
    """
    path = place(location, folder or Path.cwd())
    if not is_folder(path):
        path = hub_snapshot(location, revision, ["README.md"], location)
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
        raise BadInput(
            Problem(what=f"has no config {config!r}", where=where, allowed=", ".join(names), fix=near(config, names))
        )
    splits = _splits(chosen.get("data_files"))
    if not splits:
        return None
    if split is None and len(splits) == 1:
        return next(iter(splits.values()))
    if split not in splits:
        raise BadInput(
            Problem(
                what=f"has no split {split!r}", where=where, allowed=", ".join(splits), fix=near(str(split), splits)
            )
        )
    return splits[split]


def _splits(data_files: Any) -> dict[str, list[str]]:
    """Split -> file patterns, out of any of the forms that a card may have; what is none of them is left out."""
    if isinstance(data_files, str):
        data_files = [data_files]
    if isinstance(data_files, dict):
        data_files = [{"split": split, "path": paths} for split, paths in data_files.items()]
    splits: dict[str, list[str]] = {}
    for entry in data_files if isinstance(data_files, list) else []:
        named = entry if isinstance(entry, dict) else {"path": entry}
        paths = named.get("path")
        good = [path for path in (paths if isinstance(paths, list) else [paths]) if isinstance(path, str) and path]
        splits.setdefault(str(named.get("split", "train")), []).extend(good)
    return {split: paths for split, paths in splits.items() if paths}


def _select(folder: Path, config: str | None, split: str | None, where: str) -> list[Path]:
    """The data files of one split of a local folder."""
    patterns = _patterns(card_configs(folder), config, split, where)
    if patterns is not None:
        files = sorted({path for pattern in patterns for path in _glob_inside(folder, pattern)})
        if not files:
            raise BadInput(
                Problem(
                    what=f"the card's files {', '.join(patterns)} are not there", where=where, fix=f"look in {folder}"
                )
            )
        return files
    inside = folder / config if config and _stays_inside(config) and is_folder(folder / config) else folder
    files = _data_files(inside, where)
    named = [path for path in files if split and split in path.relative_to(inside).as_posix()]
    chosen = named or (files if split is None or len(files) == 1 else [])
    if not chosen:
        raise BadInput(
            Problem(
                what=f"no data file for split {split!r} in {inside}",
                where=where,
                allowed=", ".join(path.relative_to(inside).as_posix() for path in files[:20]) or "no data files there",
            )
        )
    return chosen


def _data_files(folder: Path, where: str) -> list[Path]:
    """Every data file below a folder, in order; a home folder or a whole disk given by mistake is refused."""
    files = []
    for number, path in enumerate(folder.rglob("*")):
        if number == MAX_ENTRIES:
            raise BadInput(
                Problem(
                    what=f"{folder} holds more than {MAX_ENTRIES} files and folders",
                    where=where,
                    allowed="a data file, or the folder of one data set",
                )
            )
        if is_data_file(path) and path.is_file():
            files.append(path)
    return sorted(files)


def _stays_inside(path: str) -> bool:
    """A card or a config name must not make us read files outside of its data set."""
    return not Path(path).is_absolute() and ".." not in Path(path).parts


def _glob_inside(folder: Path, pattern: str) -> Iterable[Path]:
    if not _stays_inside(pattern):
        return []
    try:
        return [path for path in folder.glob(pattern) if path.is_file()]
    except ValueError:  # no pattern, such as `**x`
        return []


def _hub_source(location: str, config: str | None, split: str | None, revision: str | None, where: str) -> Source:
    snapshot = hub_snapshot(location, revision, ["README.md"], where)
    patterns = _patterns(card_configs(snapshot), config, split, where)
    if patterns is None:
        patterns = [f"{config or ''}*{split or ''}*{suffix}" for suffix in DATA_SUFFIXES]
        patterns += [f"{config}/*{split or ''}*{suffix}" for suffix in DATA_SUFFIXES] if config else []
        patterns += [f"data/*{split or ''}*{suffix}" for suffix in DATA_SUFFIXES]
    snapshot = hub_snapshot(location, revision, patterns, where)
    files = sorted({path for pattern in patterns for path in _glob_inside(snapshot, pattern)})
    if not files:
        raise BadInput(
            Problem(
                what=f"no data files match {', '.join(patterns[:4])}",
                where=where,
                fix="download the data set and give its local folder",
            )
        )
    return Source(location, files, config, split, revision=snapshot.name)
