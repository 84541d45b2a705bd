"""The reference pages are those of the code, and the other pages stay short."""

import shutil

from benchmarks.measuring import marks
from evalprep.config.schema import Core
from evalprep.packs import entries
from evalprep.structs import keys_of, meanings
from evalprep.verbs.registry import VERBS
from tests import PROJECT_ROOT
from tests.lookups import measurements, titles
from tests.loops import each
from tests.reference import FOLDER, main, stale

DOCS = PROJECT_ROOT / "docs"
MOST_WORDS = 30_000


def test_the_pages_are_those_of_the_parsers():
    assert stale() == [], "write them: python -m tests.reference --write"
    assert {path.stem for path in FOLDER.iterdir()} == {"README", *VERBS, *titles()}


def test_what_is_written_by_hand_between_measurements_goes():
    page = (FOLDER / "measured.md").read_text(encoding="utf-8")
    first, last = marks("startup")
    assert measurements(page.replace(last, f"{last}\n\nBy hand.")) == page
    assert measurements(page.replace(first, f"By hand.\n\n{first}")) == page


def test_a_key_without_a_meaning_is_found():
    for kind in each(
        (
            Core,
            *(entries.PackEntry, entries.ConfigKey, entries.TaskSpec, entries.CallEntry),
            *(entries.SourceSpec, entries.GroupSpec, entries.ScoreEntry, entries.BoardEntry),
        )
    ):
        explained = {name for names in meanings(kind) for name in names.split(", ")}
        keys = {key for key in keys_of(kind) if not key.startswith("_")}
        assert keys - {"name"} <= explained <= keys


def test_the_pages_to_read_have_few_words():
    pages = [path for path in DOCS.rglob("*.md") if path.parent != FOLDER]
    words = sum(len(path.read_text(encoding="utf-8").split()) for path in pages)
    assert words <= MOST_WORDS


def test_a_stale_page_is_named_and_written_anew(tmp_path, monkeypatch, capsys):
    folder = tmp_path / "reference"
    folder.mkdir()
    shutil.copy(FOLDER / "measured.md", folder)
    monkeypatch.setattr("tests.reference.FOLDER", folder)
    assert main([]) == 1
    assert "gate.md is not the page of the code" in capsys.readouterr().out
    assert main(["--write"]) == 0
    assert main([]) == 0
