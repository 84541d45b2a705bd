"""Which files of a repository are the rows of a config and a split, by the rules of `datasets`, from names alone.

The rules are those of `datasets` 5: what the card declares; else shards in `data/`; else split words in folders; else
split words in file names; else all files are the split train. The format is the one that most files have. One thing is
ours: where no card declares configs, a folder of that name stands for one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from evalprep.data.endings import READABLE, is_data_name, known
from evalprep.data.globs import first_with, has_magic, matching
from evalprep.data.rowfiles import FILE_OPTIONS
from evalprep.data.slices import Part, parts_of
from evalprep.errors import BadInput, Problem, near
from evalprep.terminal import shortlist

_WORDS = {
    "train": ("train", "training"),
    "validation": ("validation", "valid", "dev", "val"),
    "test": ("test", "testing", "eval", "evaluation"),
}
_OF_OTHER_FILES = frozenset({"metadata.csv", "metadata.jsonl", "metadata.parquet"})  # they tell of images and sounds
_GAP = "-._ 0-9"
_SHARDS = "data/{}-[0-9][0-9][0-9][0-9][0-9]-of-[0-9][0-9][0-9][0-9][0-9]*.*"
_SHARD_NAME = re.compile(r"(.+)-\d{5}-of-\d{5}.*\..*", re.DOTALL)
_SPLIT = re.compile(r"\w+(\.\w+)*")
_FOLDERS = ("**/{0}/**", "**/{0}[{1}]*/**", "**/*[{1}]{0}/**", "**/*[{1}]{0}[{1}]*/**")
_FILES = ("**/{0}[{1}]*", "**/*[{1}]{0}[{1}]*")
_DEFAULTS: tuple[dict[str, list[str]], ...] = (
    {"logs": ["**/*.eval"]},
    {"test": ["**/task.toml", "**/instruction.md"]},
    *(
        {split: [form.format(word, _GAP) for word in words for form in forms] for split, words in _WORDS.items()}
        for forms in (_FOLDERS, _FILES)
    ),
    {"train": ["**"]},
)


@dataclass(frozen=True)
class Card:
    """What a data set says of itself, in README.md or `.huggingface.yaml`.

    Attributes:
        configs: The entries under `configs`.
        infos: Config names under `dataset_info`.
        texts: Config name -> columns that are texts by `dataset_info`, whatever they look like.
    """

    configs: Sequence[Mapping[str, Any]] = ()
    infos: Sequence[str] = ()
    texts: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """Config names that are declared."""
        return [str(one.get("config_name", "default")) for one in self.configs]


@dataclass(frozen=True)
class Chosen:
    """The files of one split, or of parts of splits.

    Attributes:
        parts: What rows are meant, each with the names of its split's files, in the order of their rows.
        config: The config that was meant, None where the data set has none.
        split: The split that was meant, as it was asked for.
        options: What the card says of how files are read: of `FILE_OPTIONS`.
    """

    parts: Sequence[tuple[Part, Sequence[str]]]
    config: str | None
    split: str
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def files(self) -> list[str]:
        """All files, each once."""
        return list(dict.fromkeys(name for _, files in self.parts for name in files))


def choose(
    names: Sequence[str],
    card: Card,
    *,
    config: str | None = None,
    split: str | None = None,
    data_files: Any = None,
    data_dir: str | None = None,
    where: str = "",
) -> Chosen:
    """Find the files of one split.

    Args:
        names: Paths of all files, relative to the data set.
        card: What it declares.
        config: Config name; None takes the only one, or the one that is the default.
        split: Split, or parts of splits as `slices` reads them; None takes the only one.
        data_files: File patterns instead of those of the card.
        data_dir: A folder to look in.
        where: Who asked, for messages.

    Raises:
        BadInput: no such config or split, several and none was named, no files, or files that are no rows.
    """
    folder = _inside(data_dir, where) if data_dir else ""
    entry: Mapping[str, Any] = {}
    if card.configs:
        entry = _config(card, config, where)
        config = str(entry.get("config_name", "default"))
    elif config is not None and config != "default" and data_files is None:
        # Not a rule of `datasets`, which knows no configs here: a copy without its card still has its folders.
        if not any(name.startswith(f"{config}/") for name in names):
            raise _no_config(config, sorted({name.partition("/")[0] for name in names if "/" in name}), where)
        folder = "/".join(filter(None, [folder, _inside(config, where)]))
    if data_files is None and not data_dir:
        data_files = entry.get("data_files")
        folder = folder or (_inside(str(entry["data_dir"]), where) if entry.get("data_dir") else "")
    patterns = _patterns(data_files) or _default_patterns(names, folder, where)
    found = {one: _files(names, given, folder, where) for one, given in patterns.items()}
    if not card.configs or data_dir:
        found = _of_one_format(found, where)
    chosen = _split(found, split, where)
    parts = [(part, found[part.split]) for part in parts_of(chosen, list(found), where)]
    if empty := [part.split for part, files in parts if not files]:
        raise BadInput(
            Problem(what=f"split {empty[0]!r} has no files", where=where, allowed=_shown(names), fix="choose another")
        )
    aliases = {"delimiter": "sep", "column_names": "names"}  # each decides where both are written
    options = {key: value for key, value in entry.items() if key in FILE_OPTIONS and not isinstance(value, Mapping)}
    options |= {ours: entry[theirs] for theirs, ours in aliases.items() if entry.get(theirs) is not None}
    if texts := card.texts.get(config or "default"):
        options["dtype"] = dict.fromkeys(texts, "str")
    return Chosen(parts, config, chosen, options)


def _config(card: Card, config: str | None, where: str) -> Mapping[str, Any]:
    names = card.names
    if config is not None:
        if config not in names:
            raise _no_config(config, names, where)
        return card.configs[names.index(config)]
    default = [one for one, name in zip(card.configs, names, strict=True) if name == "default" or one.get("default")]
    if len(names) == 1:
        return card.configs[0]
    if not default and len(card.infos) == 1 and card.infos[0] in names:
        return card.configs[names.index(card.infos[0])]
    if len(default) != 1:
        raise BadInput(
            Problem(
                what="has several default configs" if default else "has several configs, and none is the default",
                where=where,
                allowed=", ".join(names),
                fix=f"say which one: config: {names[0]}",
            )
        )
    return default[0]


def _no_config(config: str, names: Sequence[str], where: str) -> BadInput:
    return BadInput(
        Problem(
            what=f"has no config {config!r}",
            where=where,
            allowed=", ".join(names) or "none: leave the config out",
            fix=near(config, names),
        )
    )


def _patterns(data_files: Any) -> dict[str, list[str]]:
    """Split -> file patterns, out of any of the forms that `data_files` may have; what is none of them is left out."""
    if isinstance(data_files, str):
        data_files = [data_files]
    if isinstance(data_files, Mapping):
        data_files = [{"split": split, "path": paths} for split, paths in data_files.items()]
    splits: dict[str, list[str]] = {}
    for entry in data_files if isinstance(data_files, list | tuple) else []:
        named = entry if isinstance(entry, Mapping) else {"path": entry}
        paths = named.get("path")
        good = [path for path in (paths if isinstance(paths, list | tuple) else [paths]) if isinstance(path, str)]
        splits.setdefault(str(named.get("split", "train")), []).extend(path for path in good if path)
    return {split: paths for split, paths in splits.items() if paths}


def _default_patterns(names: Sequence[str], folder: str, where: str) -> dict[str, list[str]]:
    """Split -> patterns, of the first kind of layout that the names have."""
    shards = [_SHARD_NAME.fullmatch(PurePosixPath(name).name) for name in matching(names, _SHARDS.format("*"), folder)]
    splits = {one[1] for one in shards if one}
    if splits:
        if wrong := sorted(one for one in splits if not _SPLIT.match(one)):
            raise BadInput(Problem(what=f"{wrong[0]!r} cannot be the name of a split", where=where))
        ordered = [one for one in _WORDS if one in splits] + sorted(splits - {*_WORDS})
        return {one: [_SHARDS.format(one)] for one in ordered}
    for layout in _DEFAULTS:
        if present := {split: given for split, given in layout.items() if first_with(names, given, folder)}:
            return present
    raise BadInput(
        Problem(what="holds no data files", where=where, allowed=_shown(names), fix="give a data file or its folder")
    )


def _files(names: Sequence[str], patterns: Sequence[str], folder: str, where: str) -> list[str]:
    """The files of some patterns that have the ending of a data file; of a file that is named, that it is there."""
    files: list[str] = []
    for pattern in patterns:
        _inside(pattern, where)
        try:
            found = [name for name in matching(names, pattern, folder) if is_data_name(name)]
        except ValueError as error:
            raise BadInput(Problem(what=str(error), where=where, allowed="** as a folder: **/*.csv")) from None
        if not found and not has_magic(pattern):
            raise BadInput(
                Problem(what=f"the file {pattern} is not there", where=where, allowed=_shown(names), fix="look there")
            )
        files += found
    return files


def _of_one_format(found: Mapping[str, list[str]], where: str) -> dict[str, list[str]]:
    """The files of the format that most files of each split have; the splits must agree."""
    formats = {split: _format(files) for split, files in found.items()}
    if len(set(formats.values())) > 1:
        said = ", ".join(f"{split}: {one or 'none'}" for split, one in formats.items())
        raise BadInput(
            Problem(
                what=f"its splits have different formats ({said})",
                where=where,
                fix="name the files with data_files",
            )
        )
    chosen = next(iter(formats.values()))
    if chosen is None or chosen not in READABLE.values():
        raise BadInput(
            Problem(
                what=f"most of its files are {chosen or 'nothing that is known'}, which are no rows",
                where=where,
                allowed=", ".join(f".{ending}" for ending in READABLE),
                fix="name the files with data_files, or convert them",
            )
        )
    endings = [ending for ending, form in READABLE.items() if form == chosen]
    rule = re.compile(rf".*\.({'|'.join(endings)})(\..+)?", re.DOTALL)
    return {split: [name for name in files if rule.fullmatch(name)] for split, files in found.items()}


def _format(files: Sequence[str]) -> str | None:
    """The format of the ending that most files have, and which names of files may also have several of."""
    names = [PurePosixPath(name).name for name in files]
    count = Counter((part.lower(), name in _OF_OTHER_FILES) for name in names for part in name.split(".")[1:])
    favourites = ("parquet", "lance", "vortex", "arrow", "jsonl", "json", "csv")
    ordered = sorted(
        count,
        key=lambda one: (not one[1], count[one], *(one[0] == best for best in favourites), one[0]),
        reverse=True,
    )
    return next((READABLE.get(one, f".{one}") for one, _ in ordered if known(one)), None)


def _split(found: Mapping[str, list[str]], split: str | None, where: str) -> str:
    if split is None and len(found) == 1:
        return next(iter(found))
    if split is None:
        raise BadInput(
            Problem(what="has several splits", where=where, allowed=", ".join(found), fix="name one with split")
        )
    return split


def _inside(path: str, where: str) -> str:
    """A path that a card or a config gives must not make us read files outside of its data set."""
    if "://" in path or path.startswith(("/", "~")) or ".." in PurePosixPath(path).parts:
        raise BadInput(
            Problem(
                what=f"{path!r} is a place outside of the data set", where=where, allowed="paths inside of the data set"
            )
        )
    return path.strip("/")


def _shown(names: Sequence[str]) -> str:
    return shortlist(sorted(names), 20) if names else "it holds no files"
