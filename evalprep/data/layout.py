"""The files of a repository that are the rows of a config and a split.

They are chosen by the rules of `datasets`, from names alone.

The rules are those of `datasets` 5: what the card declares; else shards in `data/`; else split
words in folders; else split words in file names; else all files are the split train. The format is
the one that most files have, by the endings that `datasets` knows: of rows that we read, or of data
that are none. One thing is ours: where no card declares configs, a folder of that name stands for
one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, product
from pathlib import PurePosixPath
from typing import Any

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
_OF_OTHER_FILES = frozenset(
    {"metadata.csv", "metadata.jsonl", "metadata.parquet"}
)  # they tell of images and sounds
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
        {
            split: [form.format(word, _GAP) for word, form in product(words, forms)]
            for split, words in _WORDS.items()
        }
        for forms in (_FOLDERS, _FILES)
    ),
    {"train": ["**"]},
)
#: Ending -> format, of what we read.
READABLE = {
    "csv": "csv",
    "tsv": "csv",
    "json": "json",
    "jsonl": "json",
    "ndjson": "json",
    "parquet": "parquet",
    "geoparquet": "parquet",
    "gpq": "parquet",
    "txt": "text",
}
# Data that are no rows of text; they count all the same when the format of a data set is found.
_TEXTS = """afa arrow cif conll conllu eval fa faa fasta fastq ffn fna fq frn gb gbk genbank h5
hdf5 idx lance manifest md mmcif tar toml tsfile txn vortex xml zip"""
# These are known in capitals, too.
_MEDIA = """3g2 3gp aiff apng asf au avi avr blp bmp bufr bw caf cur dcx dds dib emf ent eps f4v
fit fits flac flc fli flv ftc ftu gbr gif glb gltf grib htk icb icns ico iim im ircam j2c j2k jfif
jp2 jpc jpe jpeg jpf jpg jpx m4v mat4 mat5 mkv mov mp3 mp4 mpc2k mpeg mpg msp mxf nii nist nut ogg
ogm opus paf pbm pcd pcx pdb pdf pgm ply png pnm ppm ps psd pvf pxr ras raw rf64 rgb rgba sd2 sds
sgi stl svx tga tif tiff vda voc vst w64 wav wavex webm webp wma wmf wmv wve xbm xi xpm"""
_KNOWN = frozenset([*READABLE, *_TEXTS.split(), *_MEDIA.split(), *_MEDIA.upper().split()])


@dataclass(frozen=True)
class Card:
    """The declarations of a data set, in README.md or `.huggingface.yaml`.

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
        return [str(config.get("config_name", "default")) for config in self.configs]


@dataclass(frozen=True)
class Chosen:
    """The files of one split, or of parts of splits.

    Attributes:
        parts: What rows are meant, each with the names of its split's files, in the order of their
            rows.
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
        return list(dict.fromkeys(chain.from_iterable(files for _, files in self.parts)))


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
        BadInput: no such config or split, several and none was named, no files, or files that are
            no rows.
    """
    config, entry, files = _files_of_config(names, card, config, data_files, data_dir, where)
    chosen = _split(files, split, where)
    parts = [(part, files[part.split]) for part in parts_of(chosen, list(files), where)]
    empty = [part.split for part, files_of_part in parts if not files_of_part]
    if empty:
        raise BadInput(
            Problem(
                what=f"split {empty[0]!r} has no files",
                where=where,
                allowed=_shown(names),
                fix="choose another",
            )
        )
    return Chosen(parts, config, chosen, _options_of(card, entry, config))


def splits_in(names: Sequence[str], card: Card, *, config: str | None) -> list[str]:
    """The names of all splits of a data set, as `choose` finds them.

    Raises:
        BadInput: no such config, or files that are no rows.
    """
    _, _, files = _files_of_config(names, card, config, None, None, "")
    return [split for split, paths in files.items() if paths]


def _files_of_config(
    names: Sequence[str],
    card: Card,
    config: str | None,
    data_files: Any,
    data_dir: str | None,
    where: str,
) -> tuple[str | None, Mapping[str, Any], dict[str, list[str]]]:
    """The config that is meant, its entry in the card, and split -> files."""
    folder = _inside(data_dir, where) if data_dir else ""
    entry: Mapping[str, Any] = {}
    if card.configs:
        entry = _config(card, config, where)
        config = str(entry.get("config_name", "default"))
    elif config is not None and config != "default" and data_files is None:
        # Not a rule of `datasets`, which knows no configs that no card declares: a copy without its
        # card still has its folders, and one of that name stands for a config.
        if not any(name.startswith(f"{config}/") for name in names):
            folders = sorted({name.partition("/")[0] for name in names if "/" in name})
            raise _no_config(config, folders, where)
        folder = "/".join(filter(None, [folder, _inside(config, where)]))
    if not data_dir and data_files is None:
        # Those of the card's config.
        declared = entry.get("data_dir")
        data_files = entry.get("data_files")
        inside = _inside(str(declared), where) if declared else ""
        folder = folder or inside
    # Split -> its files, by the patterns that are stated, else by the usual ones.
    patterns = _patterns(data_files) or _default_patterns(names, folder, where)
    files = {
        name: _files(names, split_patterns, folder, where)
        for name, split_patterns in patterns.items()
    }
    if not card.configs or data_dir:
        files = _of_one_format(files, where)
    return config, entry, files


def _options_of(card: Card, entry: Mapping[str, Any], config: str | None) -> dict[str, Any]:
    """Returns how the files are read, with the columns that the card declares as text."""
    # How the files of a config of a card are read.
    options = {
        key: value
        for key, value in entry.items()
        if key in FILE_OPTIONS and not isinstance(value, Mapping)
    }
    aliases = {"delimiter": "sep", "column_names": "names"}  # each decides where both are written
    for theirs, ours in aliases.items():
        if entry.get(theirs) is not None:
            options[ours] = entry[theirs]
    if texts := card.texts.get(config or "default"):
        options["dtype"] = dict.fromkeys(texts, "str")
    return options


def _config(card: Card, config: str | None, where: str) -> Mapping[str, Any]:
    """The entry of the config that is meant.

    Raises:
        BadInput: no such config, or none was named and none is the default.
    """
    names = card.names
    if config is not None:
        if config not in names:
            raise _no_config(config, names, where)
        return card.configs[names.index(config)]
    if len(names) == 1:
        return card.configs[0]
    defaults = [
        entry
        for entry, name in zip(card.configs, card.names, strict=True)
        if name == "default" or entry.get("default")
    ]
    if len(defaults) == 1:
        return defaults[0]
    if not defaults and len(card.infos) == 1 and card.infos[0] in names:
        return card.configs[names.index(card.infos[0])]
    several, none = "has several default configs", "has several configs, and none is the default"
    raise BadInput(
        Problem(
            what=several if defaults else none,
            where=where,
            allowed=", ".join(names),
            fix=f"name one: config: {names[0]}",
        )
    )


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
    """Split -> file patterns, out of any of the forms that `data_files` may have.

    What is none of them is left out.
    """
    splits: dict[str, list[str]] = {}
    for entry in _pattern_entries(data_files):
        named = entry if isinstance(entry, Mapping) else {"path": entry}
        paths = named.get("path")
        several = paths if isinstance(paths, list | tuple) else [paths]
        texts = [path for path in several if isinstance(path, str) and path]
        splits.setdefault(str(named.get("split", "train")), []).extend(texts)
    return {split: paths for split, paths in splits.items() if paths}


def _pattern_entries(data_files: Any) -> Sequence[Any]:
    """The entries of `data_files`.

    They are patterns of the split train, or mappings with `split` and `path`.
    """
    if isinstance(data_files, str):
        return [data_files]
    if isinstance(data_files, Mapping):
        return [{"split": split, "path": paths} for split, paths in data_files.items()]
    return data_files if isinstance(data_files, list | tuple) else []


def _default_layout(names: Sequence[str], folder: str) -> dict[str, list[str]]:
    """Split -> patterns, of the first kind of layout without shards that the names have."""
    for layout in _DEFAULTS:
        present = {
            split: patterns
            for split, patterns in layout.items()
            if first_with(names, patterns, folder)
        }
        if present:
            return present
    return {}


def _default_patterns(names: Sequence[str], folder: str, where: str) -> dict[str, list[str]]:
    """Split -> patterns, of the first kind of layout that the names have."""
    files = matching(names, _SHARDS.format("*"), folder)
    shards = (_SHARD_NAME.fullmatch(PurePosixPath(name).name) for name in files)
    splits = {shard[1] for shard in shards if shard}
    wrong = sorted(split for split in splits if not _SPLIT.match(split))
    if wrong:
        raise BadInput(Problem(what=f"{wrong[0]!r} cannot be the name of a split", where=where))
    if splits:
        ordered = [word for word in _WORDS if word in splits] + sorted(splits - {*_WORDS})
        return {split: [_SHARDS.format(split)] for split in ordered}
    present = _default_layout(names, folder)
    if present:
        return present
    raise BadInput(
        Problem(
            what=f"holds no data files; it holds {shortlist(sorted(names), 20) or 'nothing'}",
            where=where,
            fix="give a data file or its folder",
        )
    )


def _files(names: Sequence[str], patterns: Sequence[str], folder: str, where: str) -> list[str]:
    """The files of some patterns that have the ending of a data file.

    A file that is named without a wildcard must be there.
    """
    files: list[str] = []
    for pattern in patterns:
        _inside(pattern, where)
        try:
            matches = [name for name in matching(names, pattern, folder) if is_data_name(name)]
        except ValueError as error:
            raise BadInput(
                Problem(what=str(error), where=where, allowed="** as a folder: **/*.csv")
            ) from None
        if not matches and not has_magic(pattern):
            raise BadInput(
                Problem(
                    what=f"the file {pattern} is not there",
                    where=where,
                    allowed=_shown(names),
                    fix="look there",
                )
            )
        files += matches
    return files


def _of_one_format(files_by_split: Mapping[str, list[str]], where: str) -> dict[str, list[str]]:
    """The files of the format that most files of each split have; the splits must agree."""
    formats = {split: _format(files) for split, files in files_by_split.items()}
    if len(set(formats.values())) > 1:
        each = [f"{split}: {file_format or 'none'}" for split, file_format in formats.items()]
        raise BadInput(
            Problem(
                what=f"its splits have different formats ({', '.join(each)})",
                where=where,
                fix="name the files with data_files",
            )
        )
    chosen = next(iter(formats.values()))
    if chosen is None or chosen not in READABLE.values():
        raise BadInput(
            Problem(
                what=f"most of its files are {chosen or 'nothing that is known'}, which "
                "hold no rows",
                where=where,
                allowed=", ".join(f".{ending}" for ending in READABLE),
                fix="name the files with data_files, or convert them",
            )
        )
    endings = [ending for ending, form in READABLE.items() if form == chosen]
    rule = re.compile(rf".*\.({'|'.join(endings)})(\..+)?", re.DOTALL)
    return {
        split: [name for name in files if rule.fullmatch(name)]
        for split, files in files_by_split.items()
    }


def _endings(name: str) -> Iterator[tuple[str, bool]]:
    """Yields each ending of a file's name, and whether the file is one of metadata."""
    for ending in name.split(".")[1:]:
        yield ending.lower(), name in _OF_OTHER_FILES


def _format(files: Sequence[str]) -> str | None:
    """The format of the ending that most files have.

    Endings of metadata files, which lie beside images and sounds, decide before all others.
    """
    names = [PurePosixPath(name).name for name in files]
    count = Counter(chain.from_iterable(map(_endings, names)))
    favourites = ("parquet", "lance", "vortex", "arrow", "jsonl", "json", "csv")
    ordered = sorted(
        count,
        key=lambda ending: (
            not ending[1],
            count[ending],
            *(ending[0] == best for best in favourites),
            ending[0],
        ),
        reverse=True,
    )
    return next(
        (READABLE.get(ending, f".{ending}") for ending, _ in ordered if is_known_ending(ending)),
        None,
    )


def _split(files_by_split: Mapping[str, list[str]], split: str | None, where: str) -> str:
    if split is None and len(files_by_split) == 1:
        return next(iter(files_by_split))
    if split is None:
        raise BadInput(
            Problem(
                what="has several splits",
                where=where,
                allowed=", ".join(files_by_split),
                fix="name one with split",
            )
        )
    return split


def _inside(path: str, where: str) -> str:
    """A path that a card or a config gives must not make us read files outside of its data set."""
    if "://" in path or path.startswith(("/", "~")) or ".." in PurePosixPath(path).parts:
        raise BadInput(
            Problem(
                what=f"{path!r} is a place outside of the data set",
                where=where,
                allowed="paths inside of the data set",
            )
        )
    return path.strip("/")


def _shown(names: Sequence[str]) -> str:
    return shortlist(sorted(names), 20) if names else "it holds no files"


def is_known_ending(ending: str) -> bool:
    """Returns whether an ending, without its dot, is one of data."""
    return ending in _KNOWN


def is_data_name(name: str) -> bool:
    """Returns whether any ending of a file's name is one of data.

    `a.csv.gz` and `b.parquet.gzip` are.
    """
    return any(is_known_ending(part) for part in PurePosixPath(name).name.split(".")[1:])
