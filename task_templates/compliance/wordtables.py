"""Word tables of the perturbations: the user's, version 1's, a package's.

What a version changed in them is here, too.

Small tables change too little and make a model look robust, so that a version without a full table
is left out. With `stand_ins` the small tables of `custom_metrics` serve, as the rows do.
"""

from __future__ import annotations

import importlib.util
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from evalprep.packapi import BadInput, Context, Problem, Source

from .checkout import checkout_of, is_present, note_files

Table = Mapping[str, Sequence[str]]
#: Versions that replace words after a table, and what to do where there is none.
TABLED = {
    "dialect": "set compliance.tables.dialect to HELM's SAE_to_AAVE_mapping.json",
    "misspelling": "set compliance.v1_checkout, or pip install codespell",
    "synonym": "apt install wordnet-base, put NLTK's wordnet corpus in place, or set "
    "compliance.tables.synonym",
}
_PERTURBATIONS = "src/modifiers/perturbations"
_DOWNLOADS = "benchmark_data/perturbations"  # where version 1 keeps what it downloads
_IN_CHECKOUT = {
    "misspelling": f"{_PERTURBATIONS}/correct_to_misspelling.json",
    "dialect": f"{_DOWNLOADS}/dialect/SAE_to_AAVE_mapping.json",
    "synonym": f"{_DOWNLOADS}/synonym/wordnet_synonyms.json",
}
_WORDNET = (
    "/usr/share/wordnet",
    "nltk_data/corpora/wordnet",
    "/usr/share/nltk_data/corpora/wordnet",
)
_PARTS_OF_SPEECH = ("noun", "verb", "adj", "adv")
#: Words of the closed classes, which WordNet lists as other things ("in": inch, "a": angstrom).
_FUNCTION_WORDS = frozenset(
    """
    a about above after all am an and any are as at be been being but by can could did do does
    down each either few for from had has have he her him his how i if in into is it its may me
    might more most must my neither no nor not of off on one or other our out over shall she
    should so some such than that the their them then there these they this those to too under
    until up us was we were what when where which while who whom whose why will with would you
    your
    """.split()  # noqa: SIM905 - a list of words reads better so
)
_WORD = re.compile(r"\w+(?:['-]\w+)*")


@dataclass(frozen=True)
class WordTable:
    """A table and where it is from.

    Attributes:
        words: Word -> its replacements; None where there is no table.
        source: Its origin in words.
        reason: Why there is none.
    """

    words: Table | None
    source: str = ""
    reason: str = ""


def word_table(context: Context, version: str) -> WordTable:
    """The table of a version, from the first place that has one.

    Raises:
        BadInput: the file that the user named cannot be read.
    """
    return context.once(f"word table {version}", partial(_find_table, context, version))


def _find_table(context: Context, version: str) -> WordTable:
    """The table that the user names, else version 1's, else that of a package, else a small one."""
    section = context.section
    if version in section.tables:
        path = Path(context.locate(str(section.tables[version])))
        words = _read_json(context, path, version)
        return _noted(context, path, words, "the user's table")
    folder = checkout_of(context)
    if folder is not None and is_present(folder / _IN_CHECKOUT[version]):
        path = folder / _IN_CHECKOUT[version]
        words = _read_json(context, path, version)
        note_files(context, [path], folder)
        return WordTable(words, f"version 1's list of {len(words)} words")
    codespell = _codespell()
    if version == "misspelling" and codespell.is_file():
        words = turned_round(codespell.read_text(encoding="utf-8").splitlines())
        return _noted(context, codespell, words, "codespell's dictionary turned round")
    wordnet = _wordnet_files()
    if version == "synonym" and wordnet:
        words = wordnet_synonyms(wordnet)
        return _noted(context, wordnet[0].parent, words, "WordNet", wordnet)
    if section.stand_ins:
        return WordTable(None, "a small table of the pack")
    return WordTable(None, reason=f"no full word table: {TABLED[version]}")


def _noted(
    context: Context, place: Path, words: Table, title: str, files: Sequence[Path] = ()
) -> WordTable:
    """A table whose files the manifest names."""
    count = len(words)
    source = Source(str(place), list(files) or [place], rows_read=count)
    context.sources.append(source)
    return WordTable(words, f"{title}, {count} words")


def _read_json(context: Context, path: Path, version: str) -> Table:
    """A JSON file word -> replacements; `word:part of speech` counts as the word.

    Raises:
        BadInput: it is no such file.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        entries = [(str(word), list(map(str, others))) for word, others in data.items()]
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise BadInput(
            Problem(
                what=f"{path} is not a JSON file of words with lists of words ({error})",
                where=context.where("tables", version),
                fix='write it as {"word": ["other", ...], ...}',
            )
        ) from error
    table: dict[str, list[str]] = {}
    for key, replacements in entries:
        word = key.partition(":")[0] or key
        table.setdefault(word, []).extend(replacements)
    return table


def _codespell() -> Path:
    """The dictionary of the package codespell; it is read, never imported."""
    spec = importlib.util.find_spec("codespell_lib")
    folder = Path("codespell")
    if spec is not None and spec.origin:
        folder = Path(spec.origin).parent
    return folder / "data" / "dictionary.txt"


def turned_round(lines: Iterable[str]) -> Table:
    """Word -> misspellings, out of lines `misspelling->word` or `misspelling->word, other word,`.

    A last piece without a comma after it is codespell's reason for not correcting. Words that
    begin with a capital letter are added, as version 1's list has both.

    >>> turned_round(["teh->the", "thier->their, there,"])["There"]
    ['Thier']
    """
    table: dict[str, list[str]] = defaultdict(list)
    for line in lines:
        wrong, arrow, corrections = line.strip().partition("->")
        if not arrow:
            continue
        words = corrections.split(",")
        candidates = words[:-1] if len(words) > 1 else words
        for word in map(str.strip, candidates):
            if word and " " not in word:
                table[word].append(wrong)
    capitalised = {}
    for word, misspellings in table.items():
        texts = [wrong.capitalize() for wrong in misspellings]
        capitalised[word.capitalize()] = texts
    return {**capitalised, **table}


def _wordnet_files() -> list[Path]:
    """WordNet's four data files, from Debian's package or NLTK's folder; empty without them."""
    for name in _WORDNET:
        folder = Path.home() / name
        files = [folder / f"data.{part}" for part in _PARTS_OF_SPEECH]
        if all(path.is_file() for path in files):
            return files
    return []


def wordnet_synonyms(files: Iterable[Path]) -> Table:
    """Word -> the other words of its synsets; none for words of the closed classes.

    Lines of the data files (wndb(5WN)): offset, file number, type, count in hexadecimal, then
    pairs of a word and its sense number.
    """
    synonyms: dict[str, dict[str, None]] = defaultdict(dict)
    for path in files:
        for words in _synsets(path):
            for word in words:
                others = (other for other in words if other != word)
                synonyms[word].update(dict.fromkeys(others))
    table = {word: list(others) for word, others in synonyms.items() if others}
    return table | {word: [] for word in _FUNCTION_WORDS}


def _synsets(path: Path) -> Iterator[list[str]]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            if line.startswith("  "):  # the licence at the head
                continue
            fields = line.split(" ")
            marked = fields[4 : 4 + 2 * int(fields[3], 16) : 2]
            # Without their markers ("(p)"), and with blanks.
            yield [word.partition("(")[0].replace("_", " ").lower() for word in marked]


def changed_words(before: str, after: str) -> tuple[int, int]:
    """Number of words of a text, and how many of them a version replaced, removed or added.

    >>> changed_words("a big house", "a large house"), changed_words("yes", "maybe yes")
    ((3, 1), (1, 1))
    """
    old = Counter(_WORD.findall(before))
    new = Counter(_WORD.findall(after))
    removed, added = old - new, new - old
    return old.total(), max(removed.total(), added.total())
