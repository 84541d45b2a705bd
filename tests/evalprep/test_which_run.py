"""Which run a number belongs to: each verb reads the same files of a folder, and says which.

Each row of the table is a folder in which several files could be the run. Each cell states which
run's numbers and replies may appear, and which sentence must.
"""

import json
import os
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from evalprep.results import load_run
from evalprep.results.identity import AnsweredBy
from tests.evalprep.results.writing import Row
from tests.evalprep.which_run import (
    FIRST,
    MODEL,
    OTHER_RUN,
    RUN,
    SECOND,
    THIRD,
    VERBS,
    marked,
    rows,
    said_by,
    say,
    write_call,
    write_record,
)

OLD = "old words"


@dataclass(frozen=True)
class Situation:
    """A folder, and what each verb must and must not say of it.

    Attributes:
        write: Writes it.
        shown: Task -> rows that are right in the run that counts.
        hidden: Rows that are right in runs that do not count.
        sentence: What each verb says, by its name; `*` for all others.
        codes: Exit code by verb; 0 for others.
    """

    write: Callable[[Path], None]
    shown: Mapping[str, int] = field(default_factory=dict)
    hidden: tuple[int, ...] = ()
    sentence: Mapping[str, str] = field(default_factory=dict)
    codes: Mapping[str, int] = field(default_factory=dict)


def failed_try(output):
    home = output / "org__m"
    old = {"bio": rows(13, reply=OLD), "geo": rows(27, reply=OLD)}
    write_call(home, FIRST, old, entry=marked(RUN, 1))
    write_call(home, SECOND, {"geo": rows(31)}, entry=marked(RUN, 2))
    write_record(output, RUN, ["bio", "geo", "his"])
    entry = {"command": "c1-plain", "try": 2, "when": "2026-03-02T10:00:05+00:00"}
    failed = {"run": RUN, "tasks": {"bio": {**entry, "reason": "HTTP 400 from the server"}}}
    (output / f"failed_{RUN}.json").write_text(json.dumps(failed))


def failed_run(output):
    """A run at another address, which answered nothing: it has an id of its own and no results."""
    write_call(output / "org__m", FIRST, {"bio": rows(13, reply=OLD)}, entry=marked(RUN, 1))
    for run in (RUN, OTHER_RUN):
        write_record(output, run, ["bio"])
    entry = {"command": "c1-plain", "try": 1, "when": "2026-03-02T10:00:05+00:00"}
    failed = {"run": OTHER_RUN, "tasks": {"bio": {**entry, "reason": "HTTP 400"}}}
    (output / f"failed_{OTHER_RUN}.json").write_text(json.dumps(failed))


def tasks_one_by_one(output):
    home = output / "org__m"
    write_call(home, FIRST, {"bio": rows(13)}, args={**MODEL, "dtype": "float16"})
    write_call(home, SECOND, {"geo": rows(27)})
    write_call(home, THIRD, {"his": rows(31)})


def run_again(output):
    home = output / "org__m"
    write_call(home, FIRST, {"bio": rows(13, reply=OLD)})
    write_call(home, SECOND, {"geo": rows(27)})
    write_call(home, THIRD, {"bio": rows(31)})


def partly_run_again(output):
    home = output / "org__m"
    write_call(home, FIRST, {"bio": rows(13, reply=OLD), "geo": rows(27, reply=OLD)})
    write_call(home, SECOND, {"bio": rows(31)})


def other_revision(output):
    home = output / "org__m"
    args = {**MODEL, "revision": "step1000"}
    write_call(home, FIRST, {"geo": rows(27, reply=OLD)}, args=args)
    write_call(home, SECOND, {"bio": rows(31)})


def without_dates(output):
    home = output / "org__m"
    write_call(home, FIRST, {"bio": None}, date=False, name="a.json")
    write_call(home, SECOND, {"bio": None, "geo": None}, date=False, name="b.json")


def deleted_samples(output):
    home = output / "org__m"
    write_call(home, FIRST, {"bio": rows(13), "geo": rows(27), "his": rows(31)})
    (home / f"samples_his_{FIRST}.jsonl").unlink()


def other_id(output):
    home = output / "org__m"
    old = {"bio": rows(13, reply=OLD), "geo": rows(27, reply=OLD)}
    write_call(home, FIRST, old, entry=marked(RUN, 1))
    write_record(output, RUN, ["bio", "geo"])
    write_call(home, SECOND, {"bio": rows(31)}, entry=marked(OTHER_RUN, 1))
    write_record(output, OTHER_RUN, ["bio"])


def typed_limit(output):
    home = output / "org__m"
    write_call(home, FIRST, {"bio": rows(13), "geo": rows(27)}, entry=marked(RUN))
    write_record(output, RUN, ["bio", "geo"])
    small = {"bio": rows(4, count=5, reply=OLD), "geo": rows(4, count=5, reply=OLD)}
    write_call(home, SECOND, small, entry=marked(RUN), call={"limit": 5.0})


def killed_restart(output):
    """A restart notes what it has to run before it runs anything."""
    home = output / "org__m"
    write_call(home, FIRST, {"bio": rows(13, reply=OLD)}, entry=marked(RUN, 1))
    write_call(home, SECOND, {"geo": rows(31)}, entry=marked(RUN, 2))
    write_record(output, RUN, ["bio", "geo"])
    entry = {"command": "c1-plain", "try": 2, "when": "2026-03-02T09:00:00+00:00"}
    failed = {"run": RUN, "tasks": {"bio": {**entry, "reason": "not run yet"}}}
    (output / f"failed_{RUN}.json").write_text(json.dumps(failed))


def other_replies(output):
    """Replies of another engine, and then those of a third: two runs of one model."""
    home = output / "org__m"
    stored = {"replies": True}
    for stamp, right, run, reply in ((FIRST, 13, RUN, OLD), (SECOND, 31, OTHER_RUN, "new words")):
        content = {"bio": rows(right, reply=reply)}
        write_call(home, stamp, content, entry=marked(run, 1), call=stored)
        write_record(output, run, ["bio"])
        record = json.loads((output / f"run_{run}.json").read_text())
        record["replies"] = {"first": run, "files": [{"path": f"{run}.jsonl", "sha256": run}]}
        (output / f"run_{run}.json").write_text(json.dumps(record))


def other_limit(output):
    """`evalprep run --limit 5`, and then `evalprep run`."""
    home = output / "org__m"
    small = {"bio": rows(4, count=5, reply=OLD), "geo": rows(4, count=5, reply=OLD)}
    write_call(home, FIRST, small, entry=marked(RUN, 1), call={"limit": 5.0})
    write_record(output, RUN, ["bio", "geo"])
    write_call(home, SECOND, {"bio": rows(31), "geo": rows(27)}, entry=marked(OTHER_RUN, 1))
    write_record(output, OTHER_RUN, ["bio", "geo"])


def other_model(output):
    """Two models in one output folder."""
    write_call(output / "org__n", FIRST, {"bio": rows(13, reply=OLD)}, args={"pretrained": "org/n"})
    write_call(output / "org__m", SECOND, {"bio": rows(31)})


def other_endpoint(output):
    """One model name, served at two addresses."""
    home = output / "org__m"
    for stamp, task, right, reply, host in (
        (FIRST, "geo", 27, OLD, "10.0.0.1"),
        (SECOND, "bio", 31, "new words", "10.0.0.2"),
    ):
        args = {**MODEL, "base_url": f"http://{host}:8000/v1"}
        write_call(home, stamp, {task: rows(right, reply=reply)}, args=args)


def edited(meant, logged):
    """A task file that was edited between the preparation and the pasted command."""

    def write(output):
        write_record(output, RUN, ["bio"], settings=meant)
        write_call(output / "org__m", SECOND, {"bio": rows(31)}, entry=marked(RUN), settings=logged)

    return write


def filters(name, pattern):
    steps = [{"function": "regex", "regex_pattern": pattern}, {"function": "take_first"}]
    return {"filter_list": [{"name": name, "filter": steps}]}


def second_preparation(output):
    """The command of a preparation was pasted after another one had taken the work folder."""
    write_record(output, RUN, ["bio"], row_ids=[f"other{at}" for at in range(40)])
    write_call(output / "org__m", SECOND, {"bio": rows(31)}, entry=marked(RUN))


def copied_project(output):
    """A copy of a project, whose original was run again afterwards."""
    original = output.parent / "original"
    write_call(original / "org__m", FIRST, {"bio": rows(31)}, entry=marked(RUN, 1))
    write_record(original, RUN, ["bio"])
    shutil.copytree(original, output, dirs_exist_ok=True)
    write_call(original / "org__m", SECOND, {"bio": rows(13, reply=OLD)}, entry=marked(RUN, 2))


NO_DATES = "two files hold bio, and neither a date in them nor their names tell which is newer"
SITUATIONS = {
    "failed try": Situation(
        failed_try,
        {"geo": 31},
        (13, 27),
        {
            "*": "bio failed: HTTP 400 from the server (2026-03-02 10:00:05)",
            "status": "HTTP 400 from the server (2026-03-02 10:00:05)",
        },
        {"gate": 3, "status": 1},
    ),
    "failed run of another id": Situation(
        failed_run,
        {},
        (13,),
        {
            "*": f"bio failed: in run {OTHER_RUN}: HTTP 400 (2026-03-02 10:00:05)",
            "status": f"in run {OTHER_RUN}: HTTP 400 (2026-03-02 10:00:05)",
        },
        {
            **dict.fromkeys(("score", "compare", "gate", "leaderboard"), 3),
            "rescore": 2,
            "export": 2,
            "status": 1,
        },
    ),
    "killed restart": Situation(
        killed_restart,
        {"geo": 31},
        (13,),
        {"*": "not run yet: bio", "status": "∙ bio", "gate": "bio is not run yet"},
        {"gate": 3},
    ),
    "tasks one by one": Situation(
        tasks_one_by_one,
        {"bio": 13, "geo": 27, "his": 31},
        (),
        {"*": "3 results files in ", "status": "✓ geo"},
    ),
    "one task run again": Situation(
        run_again,
        {"bio": 31, "geo": 27},
        (13,),
        {"*": f"older tries passed over: results_{FIRST}.json", "status": "✓ geo"},
    ),
    "some tasks run again": Situation(
        partly_run_again,
        {"bio": 31},
        (13,),
        {
            "*": f"left out: results_{FIRST}.json, as bio was run again; not read: geo",
            "status": "✓ geo",
        },
        {"gate": 3},
    ),
    "other revision": Situation(
        other_revision,
        {"bio": 31},
        (),
        {
            "*": f"of other runs: results_{FIRST}.json (revision - / step1000)",
            "leaderboard": "geo of m: the run has none of its tasks",
            "status": "✓ org__m/m, step1000/geo 0.6750",
        },
    ),
    "files without dates": Situation(
        without_dates, sentence={"*": NO_DATES}, codes=dict.fromkeys(VERBS, 2)
    ),
    "deleted samples": Situation(
        deleted_samples,
        {"bio": 13, "geo": 27},
        (),
        {"*": "no samples file", "status": "✓ his"},
        {"gate": 3},
    ),
    "other id in the same folder": Situation(
        other_id,
        {"bio": 31},
        (13, 27),
        {"*": f"the newest, {OTHER_RUN}, is used", "leaderboard": "geo of m, 2026-03-02"},
    ),
    "typed --limit": Situation(
        typed_limit,
        {"bio": 13, "geo": 27},
        (32,),
        {"*": f"run {RUN} with other options (limit 5 in place of none) is another run"},
    ),
}
SHORT = {"generation_kwargs": {"until": ["\n"], "max_gen_toks": 4}}
SITUATIONS |= {
    "other replies": Situation(
        other_replies,
        {"bio": 31},
        (13,),
        {
            "*": f"the newest, {OTHER_RUN}, is used (--timestamp chooses another: {RUN})",
            "leaderboard": f"have other answerers: replies {RUN} / {OTHER_RUN}",
        },
    ),
    "other limit": Situation(
        other_limit,
        {"bio": 31, "geo": 27},
        (32,),
        {
            "*": f"the newest, {OTHER_RUN}, is used (--timestamp chooses another: {RUN})",
            "leaderboard": "a part of the data: 5 of 40 rows",
        },
    ),
    "other model": Situation(
        other_model,
        {"bio": 31},
        (13,),
        {
            "*": "runs in 2 folders: org__m, org__n",
            "status": "✓ org__m/bio 0.7750",
            "leaderboard": "m better than n by 45.0 points",
            "score": "n Tasks: mean over rows",
            "report": "| n |",
            "export": "org/n",
        },
        dict.fromkeys(("compare", "gate", "samples", "rescore"), 2),
    ),
    "other endpoint": Situation(
        other_endpoint,
        {"bio": 31},
        (27,),
        {
            "*": f"of other runs: results_{FIRST}.json (base_url http://10.0.0.2:8000/v1 / ",
            "leaderboard": "other answerers: base_url http://10.0.0.1:8000/v1 / http://10.0.0.2",
            "status": "✓ org__m/m, 2026-03-01 10:00:00/geo 0.6750",
        },
    ),
    "edited limit": Situation(
        edited({}, SHORT),
        {"bio": 31},
        (),
        {"*": "bio: not as prepared: generation_kwargs.max_gen_toks prepared 100, logged 4"},
        {"compare": 3, "gate": 3},
    ),
    "edited filter": Situation(
        edited(filters("none", "A"), filters("none", "B")),
        {"bio": 31},
        (),
        {"*": "bio: not as prepared: filter_list.none prepared A, logged B"},
    ),
    "renamed filter": Situation(
        edited(filters("strict", "A"), filters("none", "A")),
        {"bio": 31},
        (),
        {"*": "bio: not as prepared: filter_list.strict prepared A, logged none"},
    ),
    "second preparation": Situation(
        second_preparation,
        {"bio": 31},
        (),
        {"*": "bio: other rows than prepared: expected 40, found 40"},
        {"compare": 3, "gate": 3},
    ),
    "copied project": Situation(copied_project, {"bio": 31}, (13,), {"*": "bio"}),
}
#: Situations of a quick run: what the worst wrong numbers came from.
QUICK = ("failed try", "tasks one by one", "deleted samples", "edited limit")
#: Verbs that show several runs of a folder, each under its own name.
SHOWS_ALL = {
    ("other replies", "leaderboard"),
    ("other limit", "leaderboard"),
    *(("other model", verb) for verb in ("score", "report", "leaderboard", "status", "export")),
    ("other endpoint", "leaderboard"),
    ("other endpoint", "status"),
    ("other revision", "leaderboard"),
    ("some tasks run again", "status"),
    ("one task run again", "status"),
    ("other revision", "status"),
    ("other id in the same folder", "leaderboard"),
}


def shows(text, right):
    """Returns whether a text has the share of right rows, in percent or as a number."""
    value = right / 40
    forms = (f"{100 * value:.1f}", f"{value:.4f}", str(value))
    return any(re.search(rf"(?<![\d.]){re.escape(form)}(?!\d)", text) for form in forms)


def cells():
    """Each situation with each verb; rescore loads lm-eval, which takes its time."""
    for name in SITUATIONS:
        for verb in VERBS:
            is_quick = name in QUICK and verb != "rescore"
            yield pytest.param(name, verb, marks=() if is_quick else pytest.mark.slow)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A function from a situation to its folder, with `run` and `base`, written once."""
    folders = {}

    def folder_of(name):
        if name not in folders:
            folder = folders[name] = tmp_path_factory.mktemp("situation")
            situation = SITUATIONS[name]
            (folder / "run").mkdir()
            situation.write(folder / "run")
            shown = situation.shown or {"bio": 40}
            same = {task: rows(right) for task, right in shown.items()}
            args = {**MODEL, "pretrained": "org/m0"}
            write_call(folder / "base" / "org__m0", FIRST, same, args=args)
        return folders[name]

    return folder_of


@pytest.mark.parametrize(("name", "verb"), list(cells()))
def test_each_verb_reads_the_same_run_and_says_which(name, verb, written, tmp_path, capsys):
    situation, folder = SITUATIONS[name], written(name)
    code, text = said_by(verb, folder / "run", folder / "base", tmp_path / "out", capsys)
    assert code == situation.codes.get(verb, 0)
    assert situation.sentence.get(verb, situation.sentence["*"]) in text
    is_read = code != 2
    if is_read and verb not in {"samples", "gate"}:
        assert all(shows(text, right) for right in situation.shown.values())
    if (name, verb) not in SHOWS_ALL:
        assert not any(shows(text, right) for right in situation.hidden)
        assert OLD not in text


def published(count):
    """Rows with published verdicts, all right as in the run."""
    return [Row(f"q{at}", 1.0, previous=True) for at in range(count)]


@pytest.fixture
def five_tasks(tmp_path):
    """A run of five tasks, the samples files of three of which were deleted."""
    home = tmp_path / "run" / "org__m"
    names = ("bio", "geo", "his", "law", "med")
    write_call(home, FIRST, {name: published(100) for name in names})
    for name in names[2:]:
        (home / f"samples_{name}_{FIRST}.jsonl").unlink()
    return tmp_path


def gate(folder, capsys, policy, *words):
    (folder / "policy.yaml").write_text(f"defaults: {{max_drop: 2%}}\n{policy}")
    return say(capsys, "gate", folder / "run", "--policy", folder / "policy.yaml", *words)


def test_a_gate_against_published_verdicts_names_tasks_without_rows(five_tasks, capsys):
    code, text = gate(five_tasks, capsys, "")
    assert code == 3
    for name in ("his", "law", "med"):
        assert f"its rows of the candidate are missing: {name} has no samples file" in text
    code, text = gate(five_tasks, capsys, "tasks: {his: {}}")
    assert (code, "names no check" in text) == (3, False)
    assert "its rows of the candidate are missing: his has no samples file" in text
    assert gate(five_tasks, capsys, "allow_missing: [his, law, med]")[0] == 0
    assert gate(five_tasks, capsys, "", "--timestamp", FIRST)[0] == 0
    code, text = gate(five_tasks, capsys, "tasks: {his: {}}", "--timestamp", FIRST)
    assert (code, "names no check" in text) == (3, False)
    assert gate(five_tasks, capsys, "", "--tasks", "bio")[0] == 0


def test_a_comparison_with_published_verdicts_counts_tasks_without_rows(five_tasks, capsys):
    code, text = say(capsys, "compare", five_tasks / "run", "--no_write")
    assert code == 0
    assert "mean of 2 of 5 tasks" in text
    sentence = "of the candidate 2 of 5 tasks are read: his has no samples file, law has no"
    assert sentence in text


@pytest.fixture
def two_sides(tmp_path):
    """Two models, of each an old and a new file of one task; one file of another task."""
    for name, right in (("now", 13), ("then", 27)):
        home = tmp_path / name / f"org__{name}"
        args = {**MODEL, "pretrained": f"org/{name}"}
        old, new = (rows(count, reply=f"words of {name}") for count in (right, right + 4))
        write_call(home, FIRST, {"bio": old, "geo": old}, args=args)
        write_call(home, SECOND, {"bio": new}, args=args)
    return tmp_path


def test_each_holds_for_both_sides(two_sides, capsys):
    sides = [two_sides / "now", two_sides / "then", "--no_write"]
    code, text = say(capsys, "compare", *sides, "--timestamp", "each")
    assert code == 1
    assert "the baseline has no" not in text
    assert all(shows(text, right) for right in (17, 13, 31, 27))
    _, text = say(capsys, "compare", *sides, "--timestamp", "each", "--baseline_timestamp", SECOND)
    assert "the baseline has no geo" in text


def test_each_holds_for_scores_without_samples(tmp_path, capsys):
    home = tmp_path / "run" / "org__m"
    write_call(home, FIRST, {"bio": None, "geo": None})
    write_call(home, SECOND, {"bio": None})
    _, text = say(capsys, "score", tmp_path / "run", "--no_write")
    assert "not read: geo" in text
    _, text = say(capsys, "score", tmp_path / "run", "--no_write", "--timestamp", "each", "--json")
    assert {"bio", "geo"} <= set(re.findall(r'"(bio|geo)"', text))


def test_a_time_stamp_or_an_id_is_that_of_the_side_that_has_it(two_sides, capsys):
    home = two_sides / "then" / "org__then"
    args = {**MODEL, "pretrained": "org/then"}
    write_call(home, THIRD, {"bio": rows(37)}, args=args, entry=marked(RUN))
    sides = [two_sides / "now", two_sides / "then", "--no_write"]
    _, text = say(capsys, "compare", *sides, "--timestamp", RUN)
    assert shows(text, 37)
    assert shows(text, 17)
    code, text = say(capsys, "compare", *sides, "--timestamp", OTHER_RUN)
    assert (code, f"no results of the run {OTHER_RUN}" in text) == (2, True)


def test_an_older_try_is_read_where_it_is_named(tmp_path, capsys):
    failed_try(tmp_path)
    _, text = say(capsys, "score", tmp_path, "--no_write", "--timestamp", FIRST)
    assert shows(text, 13)
    assert shows(text, 27)
    assert "failed" not in text


def test_a_former_release_kept_the_reason_alone(tmp_path, capsys):
    write_call(tmp_path / "org__m", FIRST, {"geo": rows(31)}, entry=marked(RUN))
    write_record(tmp_path, RUN, ["bio", "geo"])
    failed = {"run": RUN, "tasks": {"bio": "no space left", "geo": "an older reason"}}
    (tmp_path / f"failed_{RUN}.json").write_text(json.dumps(failed))
    _, text = say(capsys, "score", tmp_path, "--no_write")
    assert "bio failed: no space left" in text
    assert "older reason" not in text


def test_a_try_of_which_nothing_was_finished_has_no_old_value(tmp_path, capsys):
    write_call(tmp_path / "run" / "org__m", FIRST, {"bio": rows(13)}, entry=marked(RUN, 1))
    write_record(tmp_path / "run", RUN, ["bio"])
    entry = {"command": "c1-plain", "try": 2, "when": "2026-03-02T10:00:05+00:00"}
    failed = {"run": RUN, "tasks": {"bio": {**entry, "reason": "HTTP 400"}}}
    (tmp_path / "run" / f"failed_{RUN}.json").write_text(json.dumps(failed))
    args = {**MODEL, "pretrained": "org/m0"}
    write_call(tmp_path / "base" / "org__m0", FIRST, {"bio": rows(31)}, args=args)
    for verb in ("score", "compare", "gate", "report", "leaderboard", "status"):
        code, text = said_by(verb, tmp_path / "run", tmp_path / "base", tmp_path / "out", capsys)
        assert "HTTP 400 (2026-03-02 10:00:05)" in text, verb
        assert not shows(text, 13), verb
        assert verb != "gate" or code == 3


def test_files_that_state_no_date_and_share_no_task_are_one_run(tmp_path):
    home = tmp_path / "org__m"
    for task, name in (("bio", "a.json"), ("geo", "b.json")):
        write_call(home, FIRST, {task: None}, date=False, name=name)
    run = load_run(tmp_path)
    assert sorted(run.logged.tasks) == ["bio", "geo"]
    os.utime(home / "a.json", (2**31, 2**31))
    assert load_run(tmp_path).files.stamp == run.files.stamp


def test_the_identity_of_a_run_states_who_answered_and_what_is_read(tmp_path):
    failed_try(tmp_path)
    identity = load_run(tmp_path).identity
    assert identity.run == RUN
    assert identity.answered_by == AnsweredBy("org/m", backend="hf")
    assert dict(identity.tries) == {"c1-plain": 2}
    assert {name: item.kind for name, item in identity.unread.items()} == {
        "bio": "failed",
        "his": "not run",
    }
    assert dict(identity.read_by) == {"geo": ("exact_match", "none")}


@pytest.mark.parametrize(
    ("first", "second", "is_one"),
    [
        ({"base_url": "http://127.0.0.1:8000/v1"}, {"base_url": "http://localhost:9000/v1"}, True),
        ({"base_url": "http://10.0.0.1:8000/v1"}, {"base_url": "http://10.0.0.2:8000/v1"}, False),
        ({"revision": "main"}, {}, True),
        ({"peft": "a"}, {"peft": "b"}, False),
        ({"dtype": "float16"}, {"batch_size": "8"}, True),
    ],
)
def test_who_answered_decides_which_files_join(first, second, is_one, tmp_path):
    for stamp, task, more in ((FIRST, "bio", first), (SECOND, "geo", second)):
        write_call(tmp_path / "org__m", stamp, {task: rows(13)}, args={**MODEL, **more})
    assert list(load_run(tmp_path).tasks) == (["bio", "geo"] if is_one else ["geo"])


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        # task -> time stamp; the try that each file states.
        ([("bio geo", None), ("geo", 1)], {"bio": FIRST, "geo": SECOND}),
        ([("bio geo", None), ("geo", 2)], {"geo": SECOND}),
        ([("bio", None), ("geo", None), ("his", 2)], {"bio": FIRST, "geo": SECOND, "his": THIRD}),
        ([("bio geo", 1), ("geo", 1)], {"bio": FIRST, "geo": SECOND}),
        ([("bio geo", 1), ("bio geo", None)], {"bio": SECOND, "geo": SECOND}),
        ([("geo", 1), ("bio", None)], {"bio": SECOND, "geo": FIRST}),
        ([("bio geo", 2), ("geo", 1)], {"bio": FIRST, "geo": FIRST}),
    ],
    ids=[
        *("a run completes a pasted command", "a restart does not", "two files are two tries"),
        *("a resume", "pasted again", "pasted for what failed", "a number counts, not a date"),
    ],
)
def test_the_newest_try_of_a_command_counts_whole(calls, expected, tmp_path):
    for stamp, (tasks, attempt) in zip((FIRST, SECOND, THIRD), calls, strict=False):
        content = {task: rows(13) for task in tasks.split()}
        write_call(tmp_path / "org__m", stamp, content, entry=marked(RUN, attempt))
    run = load_run(tmp_path)
    stamps = {
        name: task.path.stem.removeprefix(f"samples_{name}_") for name, task in run.tasks.items()
    }
    assert stamps == expected


def test_a_run_that_was_called_with_other_options_alone_is_read_and_says_so(tmp_path, capsys):
    small = {"bio": rows(4, count=5)}
    write_call(tmp_path / "org__m", FIRST, small, entry=marked(RUN), call={"limit": 5.0})
    write_record(tmp_path, RUN, ["bio"])
    _, text = say(capsys, "score", tmp_path, "--no_write")
    assert f"run {RUN} was not called as prepared: limit 5 in place of none" in text
    assert "80.0" in text


ASKED = {"model": "hf", "model_args": MODEL, "seed": [42, 42, 42, 42], "tasks": ["bio"]}
SEEDS = {f"{use}_seed": 42 for use in ("random", "numpy", "torch", "fewshot")}


@pytest.mark.parametrize(
    ("asked", "call", "sentence"),
    [
        ({}, dict.fromkeys(SEEDS, 7), "seed 7 in place of 42"),
        ({}, {"fewshot_seed": 7}, "seed 42,42,42,7 in place of 42"),
        ({}, {"gen_kwargs": {"temperature": 1}}, "gen_kwargs.temperature 1 in place of none"),
        (
            {"gen_kwargs": {"max_gen_toks": 64}},
            {"gen_kwargs": "max_gen_toks=8"},
            "gen_kwargs.max_gen_toks 8 in place of 64",
        ),
        ({}, {"model": "vllm"}, "model vllm in place of hf"),
        ({}, {"limit": 5.0}, "limit 5 in place of none"),
        ({}, {"model_args": {**MODEL, "peft": "a"}}, "peft a in place of none"),
        ({}, {"model_args": {"pretrained": "org/m"}}, "dtype none in place of bfloat16"),
        ({"gen_kwargs": {"do_sample": True}}, {"gen_kwargs": {"do_sample": "true"}}, ""),
        ({"model": "huggingface"}, {"batch_size": 8, "device": "cuda:1"}, ""),
        ({"seed": 42}, {"model_args": {**MODEL, "batch_size": 4}}, ""),
    ],
)
def test_options_typed_behind_a_pasted_command_are_another_run(
    asked, call, sentence, tmp_path, capsys
):
    home = tmp_path / "org__m"
    write_record(tmp_path, RUN, ["bio"], asked={**ASKED, **asked})
    own = {} if "gen_kwargs" not in asked else {"gen_kwargs": asked["gen_kwargs"]}
    write_call(home, FIRST, {"bio": rows(13)}, entry=marked(RUN), call={**SEEDS, **own})
    write_call(home, SECOND, {"bio": rows(31)}, entry=marked(RUN), call={**SEEDS, **own, **call})
    _, text = say(capsys, "score", tmp_path, "--no_write")
    if sentence:
        assert f"run {RUN} with other options ({sentence}) is another run" in text
    assert shows(text, 13 if sentence else 31)
    assert not shows(text, 31 if sentence else 13)


def test_each_answerer_of_a_folder_is_a_row_of_the_leaderboard(tmp_path, capsys):
    """The files of one answerer are one run, whatever lies between them."""
    home = tmp_path / "org__m"
    served = {**MODEL, "base_url": "http://10.0.0.1:8000/v1"}
    write_call(home, FIRST, {"bio": rows(13)}, args=served)
    write_call(home, SECOND, {"bio": rows(31)})
    write_call(home, THIRD, {"geo": rows(27)}, args=served)
    code, text = say(capsys, "leaderboard", tmp_path)
    assert code == 0
    assert "2 models" in text
    assert all(shows(text, right) for right in (13, 31, 27))
    assert "have other answerers: base_url - / http://10.0.0.1:8000/v1" in text
