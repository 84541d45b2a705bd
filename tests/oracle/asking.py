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
from tests.oracle.plain import Plain

#: Where verbs and reports write, in the folder; what lies there is kept and removed after each call.
OUT = "written"
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
    code, out, err = _typed(shlex.split(line))
    said: dict[str, Any] = {"exit": code}
    try:
        data = json.loads(out)
        if line.startswith("report"):
            # The first stands in comparisons.csv, the second is how the page words the numbers.
            data = {key: part for key, part in data.items() if key not in {"comparisons", "shown"}}
        said["output"] = plain.value(data)
    except ValueError:
        said["output"] = plain.lines(out)
    said["notes"] = plain.lines(err)
    written = sorted(path for path in Path(OUT).rglob("*") if path.is_file())
    said["files"] = {
        name: plain.file(path)
        for path in written
        if (name := plain.text(str(path.relative_to(OUT)))) != "report.json"  # which is the output
    }
    for name, content in said["files"].items():
        if said["output"] == content:
            said["output"] = [f"as {name}"]
    shutil.rmtree(OUT, ignore_errors=True)
    return {key: part for key, part in said.items() if part not in ([], {})}


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
