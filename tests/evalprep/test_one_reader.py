"""Files that others made are opened by `evalprep.files` alone, and each kind is decoded in one place."""

import ast
import json
import os
import re
from functools import cache
from typing import get_type_hints

import pytest

from evalprep.cli import main
from evalprep.packs import Manifest, Prepared, read_record
from tests import PROJECT_ROOT
from tests.evalprep.results.writing import Row, write_run

ROOM = PROJECT_ROOT / "evalprep"
OPENING = {"open", "read_bytes", "ZipFile", "ParquetFile", "read_schema", "read_metadata"}
#: Module -> what it opens without `open_file`: files that evalprep itself writes or brings along.
OPENS = {
    "files.py": "the one place",
    "data/compressed.py": "`bz2`, `gzip` and `lzma`, after `check_regular`",
    "data/rowfiles.py": "pyarrow, after `check_regular`",
    "samples/compressed.py": "members of a file that is open",
    "readers/tools/opening.py": "members of a file that is open",
    "readers/tools/inspect_log.py": "members of a file that is open",
    "readers/tools/tables.py": "a file that is open",
    "annotate/providers/secret.py": "a key, whose mode is looked at, too",
    "export/inspectlog.py": "writes an archive",
    "rescore/writer.py": "its own parts",
    "samples/store.py": "its own tables, whose pages have checksums",
    "run/holder.py": "the log, for writing",
    "run/harness.py": "what lm-eval wrote in this process",
    "export/every_eval_ever/validation.py": "what it has just written",
    "packs/stock.py": "task files of the installed lm-eval",
    "packs/commits.py": "git's files beside the installed packages, and pip's",
    "terminal.py": "nothing, for a closed stream",
    **dict.fromkeys(("verbs/init.py", "packs/commits.py"), "the origin of an installed package"),
    **dict.fromkeys(
        (
            *("export/every_eval_ever/schema.py", "export/gated.py", "export/modelcard.py"),
            *("score/exporting.py", "surface.py"),
        ),
        "files of the package",
    ),
    **dict.fromkeys(("report/page/__init__.py", "leaderboard/page/__init__.py"), "package"),
    **dict.fromkeys(("coderunner/room.py", "coderunner/jail.py"), "the machine and the package"),
}
#: Module that decodes JSON, YAML or msgpack -> what it decodes.
DECODES = {
    "files.py": "manifest, run record, state, job, unit, failed tasks, lock, listing",
    "yamltext.py": "configs, packs, policies, rubrics, task files, cards, run configurations",
    "yamlfile.py": "its own cache",
    "run/stored.py": "a prepared task, with its functions",
    "check/tree.py": "a task file, with its functions",
    "check/memory.py": "a table of the package",
    "samples/sample.py": "values of rows and results",
    "samples/jsonparts.py": "results and logs, by their parts",
    "samples/jsonplaces.py": "keys of large files",
    "readers/tools/keyedlines.py": "keys of lines of a log",
    **dict.fromkeys(
        ("samples/columns.py", "samples/lines.py", "samples/sources.py"), "cells of samples"
    ),
    "samples/store.py": "facts in its own tables",
    "samples/verdicts.py": "log-likelihoods of samples",
    "api.py": "what a verb printed",
    "run/given.py": "its own list of requests",
    "data/rowfiles.py": "rows of data",
    "data/located.py": "rows of data, with their places",
    "data/keyed.py": "its own temporary rows",
    "packs/json_rows.py": "rows of data",
    "run/replies.py": "replies of another engine",
    "run/responses.py": "its own responses",
    "run/channel.py": "messages of a process of its own",
    "export/every_eval_ever/validation.py": "what it has just written",
    "packs/stock.py": "its own cache",
    "packs/commits.py": "what pip wrote of an installation",
    "export/every_eval_ever/schema.py": "its own schemas",
    **dict.fromkeys(("verbs/init.py", "packs/commits.py"), "the origin of an installed package"),
    **dict.fromkeys(("annotate/providers/body.py", "annotate/providers/batches.py"), "answers"),
    **dict.fromkeys(
        ("annotate/batch.py", "annotate/attachment.py", "annotate/kept.py", "annotate/ratings.py"),
        "cells of the ledger",
    ),
    "annotate/quality.py": "ratings of people",
    "verbs/judging/reports.py": "cells of the ledger, and its own report",
    **dict.fromkeys(
        (
            *("verbs/judging/arguments.py", "run/replaced.py"),
            *("coderunner/jail.py", "coderunner/inside/start.py"),
        ),
        "arguments",
    ),
    **dict.fromkeys(
        (*("packs/chats.py", "samples/question.py", "run/interface.py", "prepare/freshness.py"),),
        "texts that it holds already",
    ),
}
DECODING = {
    *("json.loads", "json.load", "yaml.safe_load", "yaml.load", "msgspec.msgpack.decode"),
    *("msgspec.json.decode", "msgspec.json.Decoder", "pj.read_json"),
}


@cache
def calls_in(path):
    """Line and dotted name of every function that is called, or handed on, in a module."""
    return list(_calls_in(path))


def _calls_in(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        named = []
        if isinstance(node, ast.Call):
            named = [node.func, *(item for item in node.args if isinstance(item, ast.Attribute))]
        elif isinstance(node, ast.Dict):
            named = [item for item in node.values if isinstance(item, ast.Attribute)]
        yield from ((item.lineno, ast.unparse(item)) for item in named)


def opens(name):
    """Whether a dotted name is a function that opens a file, but for system calls."""
    opening = name.rpartition(".")[2] in OPENING or name.endswith(".read_text")
    return opening and not name.startswith(("os.", "context.", "self."))


def places(wanted):
    """Module -> the places in it where a function of some kind is called."""
    found = {}
    for path in sorted(ROOM.rglob("*.py")):
        for line, name in calls_in(path):
            if wanted(name):
                found.setdefault(path.relative_to(ROOM).as_posix(), []).append(f"{line}: {name}")
    return found


#: Modules that open files for writing alone.
WRITE = {"write", "w", "wb", "a", "ab"}


def is_written(path, place):
    """Whether the call at a place opens a file to write it."""
    line = int(place.partition(":")[0])
    text = "".join(path.read_text(encoding="utf-8").splitlines(keepends=True)[line - 1 : line + 2])
    return any(f'open("{mode}"' in text for mode in WRITE)


def test_no_other_module_opens_files():
    found = {
        module: [place for place in every if not is_written(ROOM / module, place)]
        for module, every in places(opens).items()
        if module not in OPENS
    }
    assert {module: every for module, every in found.items() if every} == {}


def test_no_other_module_decodes_files():
    found = places(lambda name: name in DECODING or name.endswith("._Loader"))
    assert {module: every for module, every in found.items() if module not in DECODES} == {}


@pytest.mark.parametrize(("table", "wanted"), [(OPENS, opens), (DECODES, DECODING.__contains__)])
def test_no_module_is_named_that_needs_no_exception(table, wanted):
    every = {path.relative_to(ROOM).as_posix() for path in ROOM.rglob("*.py")}
    assert {*table} <= every
    unneeded = {*table} - {*places(wanted)} - {"yamltext.py", "check/tree.py", "run/stored.py"}
    assert unneeded == set()


#: File that evalprep writes beside runs -> the module that alone names it and reads it.
NAMED_IN = {
    'f"run_': {"packs/manifest.py"},
    '"run_*': {"packs/manifest.py"},
    'f"failed_': {"results/record.py"},
}


@pytest.mark.parametrize(("start", "modules"), NAMED_IN.items())
def test_records_and_failures_have_one_reader(start, modules):
    naming = {
        path.relative_to(ROOM).as_posix()
        for path in sorted(ROOM.rglob("*.py"))
        if re.search(rf"{re.escape(start)}.*json", path.read_text(encoding="utf-8"))
    }
    # The verbs' messages may name a record without reading it.
    assert naming - {"results/loading.py"} == modules


def test_a_manifest_hands_out_no_raw_part():
    """Nothing outside of its class sees what the file holds; a part of the config's is free."""
    seen = {
        path.relative_to(ROOM).as_posix()
        for path in sorted(ROOM.rglob("*.py"))
        if re.search(r"\.manifest(\[|\.get\()|read_object\w*\(.*MANIFEST", path.read_text("utf-8"))
    }
    assert seen == set()
    assert get_type_hints(Prepared)["manifest"] is Manifest


#: Module that reads a JSON file that others may have made -> the kinds of file that it decodes.
READS = {
    "packs/manifest.py": ("manifest", "run record"),
    "results/runstate.py": ("state", "unit"),
    "status/folder.py": ("job",),
    "results/record.py": ("failed tasks",),
    "readers/written.py": ("scores",),
    "readers/origin.py": ("origin of results",),
    "readers/merging.py": ("results of units",),
    "data/lock.py": ("lock",),
    "data/hub.py": ("listing of the hub",),
    "packs/ownership.py": ("the user's own notes",),
    "model/shape.py": ("config.json: sizes",),
    "model/lineage.py": ("config.json: architecture",),
    "model/files.py": ("config.json: code", "index of weights"),
    "model/tokenizer.py": ("tokenizer_config.json",),
    "config/adapters.py": ("adapter_config.json",),
    "yamlfile.py": ("its own cache",),
    "files.py": ("the one that decodes",),
}
READING = {"read_json", "read_object"}


def is_raw(annotation):
    """Whether a value of this type shows what a file holds, unread: a mapping of anything, or anything."""
    return re.search(r"\b(?:Any|object)\b", annotation) is not None


def readers_in(tree):
    """The functions of a module in which a file is decoded."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            names = [call.func for call in ast.walk(node) if isinstance(call, ast.Call)]
            if any(isinstance(name, ast.Name) and name.id in READING for name in names):
                yield node


def test_each_kind_of_file_is_decoded_in_one_module():
    assert {*places(READING.__contains__)} - {"files.py"} == {*READS} - {"files.py"}
    kinds = [kind for kinds in READS.values() for kind in kinds]
    assert len(kinds) == len(set(kinds))


@pytest.mark.parametrize("module", [name for name in READS if name != "files.py"])
def test_no_reader_hands_out_what_a_file_holds_unread(module):
    tree = ast.parse((ROOM / module).read_text(encoding="utf-8"))
    readers = list(readers_in(tree))
    assert readers
    public = [node for node in readers if not node.name.startswith("_")]
    raw = [node.name for node in public if node.returns and is_raw(ast.unparse(node.returns))]
    assert raw == []


DAMAGED = {
    "sources is not a list": {"sources": {"a": 1}},
    "tasks is not a mapping": {"tasks": [1]},
    "versions is not a mapping": {"versions": "1"},
    "tasks.t is not a mapping": {"tasks": {"t": 3}},
}


@pytest.mark.parametrize(("words", "parts"), DAMAGED.items())
def test_a_damaged_part_of_a_record_is_one_note(tmp_path, words, parts):
    record = {"schema": 2, "run": "r1", "model": "m", "tasks": {}, "commands": [], **parts}
    (tmp_path / "run_r1.json").write_text(json.dumps(record))
    kept = read_record(tmp_path, "r1")
    assert kept.damage == (words,)
    assert (kept.tasks.keys(), kept.sources, kept.commands, kept.plan.scores) == (
        parts.get("tasks", {}).keys() if isinstance(parts.get("tasks", {}), dict) else set(),
        [],
        [],
        {},
    )


@pytest.mark.parametrize(
    "content", [b"{", b"[1]", b"\xff", b'{"a":' * 101 + b"1" + b"}" * 101], ids=range(4)
)
def test_a_record_that_cannot_be_read_says_why(tmp_path, content):
    (tmp_path / "run_r1.json").write_bytes(content)
    kept = read_record(tmp_path, "r1")
    assert not kept
    assert len(kept.damage) == 1


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"schema": 2, "run": "r1", "sources": {"a": 1}}', "sources is not a list"),
        ('{"schema": 2, "run": "r1', "it is not JSON, or was cut off"),
    ],
)
def test_score_notes_a_damaged_record(tmp_path, capsys, content, words):
    write_run(tmp_path, {"t": [Row(f"{at}", at % 2) for at in range(8)]}, metadata={"run": "r1"})
    (tmp_path / "run_r1.json").write_text(content)
    assert main(["score", str(tmp_path), "--no_write"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert said.count(f"run_r1.json is damaged: {words}; prepare again") == 1


def test_a_pipe_is_no_record(tmp_path):
    os.mkfifo(tmp_path / "run_r1.json")
    assert "pipe" in read_record(tmp_path, "r1").unread
