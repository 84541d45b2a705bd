"""Builds one run folder, types its command lines, and keeps what each of them wrote."""

from __future__ import annotations

import atexit
import contextlib
import functools
import io
import json
import os
import shlex
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evalprep.cli import main
from tests.oracle.folder import Folder
from tests.oracle.plain import Plain, summed

#: Where verbs and reports write, in the folder; what lies there is kept and removed after each call.
OUT = "written"
#: Files that hold what `--json` prints.
_REPEATED_FILES = {"report.json", "scores.json"}
#: Verbs that write the result files of packs.
_OF_PACKS = {"score"}
#: What is kept of metrics that decide nothing.
_CONCLUSION = (
    *("name", "n", "now", "previous", "low", "high", "p_holm", "verdict", "words"),
    *("not_enough", "not_comparable"),
)
_COLUMN = ("id", "title", "kind", "better", "unit", "task")
_SURROUNDINGS = {
    "COLUMNS": "1000",  # no line of a message is broken by the length of a path
    "NO_COLOR": "1",
    "TZ": "UTC",
    "HF_HUB_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "EVALPREP_QUICK_CHECK": "1",
}
_ABSENT = ("GITHUB_STEP_SUMMARY", "GITHUB_ACTIONS", "CI", "OPENAI_API_KEY", "HF_TOKEN")


def ask(folder: Folder) -> dict[str, Any]:
    """Returns what the verbs say of a folder, by command line."""
    with _surroundings() as home:
        plain = Plain(home)
        with _captured() as (out, err):
            try:
                folder.build(home)
            except BaseException as error:
                error.add_note(out.getvalue() + err.getvalue())
                raise
        return {"about": folder.about, "calls": {line: _call(line, plain) for line in folder.calls}}


def _call(line: str, plain: Plain) -> dict[str, Any]:
    words = shlex.split(line)
    code, out, err = _typed(words)
    said: dict[str, Any] = {"exit": code}
    try:
        said["output"] = plain.value(_without_repeats(words[0], json.loads(out)))
    except ValueError:
        said["output"] = plain.lines(out)
    said["notes"] = plain.lines(err)
    said["files"] = {}
    for path in sorted(path for path in Path(OUT).rglob("*") if path.is_file()):
        if path.name in _REPEATED_FILES:
            continue
        reduced = plain.sums(path) if words[0] in _OF_PACKS else plain.file(path)
        name = plain.text(str(path.relative_to(OUT)))
        said["files"][name] = reduced
        if reduced == said["output"]:
            said["output"] = [f"as {name}"]
    shutil.rmtree(OUT, ignore_errors=True)
    return {key: part for key, part in said.items() if part not in ([], {})}


def _without_repeats(verb: str, data: Any) -> Any:
    """Data of `--json` without what another call or file of the folder holds, too."""
    if isinstance(data, list):  # one of each run
        return [_without_repeats(verb, one) for one in data]
    match verb:
        case "report":  # the first stands in comparisons.csv, the second words the numbers
            return {key: part for key, part in data.items() if key not in {"comparisons", "shown"}}
        case "compare" if "further" in data:
            return {**data, "further": [_only(entry, _CONCLUSION) for entry in data["further"]]}
        case "leaderboard" if "columns" in data:
            return {**data, "columns": [_only(column, _COLUMN) for column in data["columns"]]}
        case "score" if "results" in data:  # whose values and reasons stand under `suite`
            sums = {name: summed(result) for name, result in data["results"].items()}
            return {**data, "results": sums}
        case _:
            return data


def _only(entry: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: entry[name] for name in names if name in entry}


def _typed(arguments: list[str]) -> tuple[int, str, str]:
    with _captured() as (out, err), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pytest takes them away, too
        try:
            code = main(arguments)
        except SystemExit as left:  # argparse
            code = left.code if isinstance(left.code, int) else 1
    return code, out.getvalue(), err.getvalue()


@contextlib.contextmanager
def _captured() -> Iterator[tuple[io.StringIO, io.StringIO]]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        yield out, err


@contextlib.contextmanager
def _surroundings() -> Iterator[Path]:
    """A new folder to stand in, with a home, a cache and a record of ownership of its own."""
    before, place = dict(os.environ), Path.cwd()
    with tempfile.TemporaryDirectory(prefix="oracle-") as given:
        home = Path(given).resolve() / "here"
        home.mkdir()
        for name in _ABSENT:
            os.environ.pop(name, None)
        os.environ |= _SURROUNDINGS | {
            "HOME": str(home.parent / "home"),
            "EVALPREP_STATE": str(home.parent / "state"),
            "EVALPREP_CACHE": str(_cache()),
        }
        os.chdir(home)
        try:
            yield home
        finally:
            os.chdir(place)
            os.environ.clear()
            os.environ.update(before)


@functools.cache
def _cache() -> Path:
    """One cache for all folders of a process: packs are read once."""
    place = tempfile.TemporaryDirectory(prefix="oracle-cache-")
    atexit.register(place.cleanup)
    return Path(place.name)
