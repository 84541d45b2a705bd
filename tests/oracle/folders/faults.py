"""Runs with rows, tasks, scores or files that are lost, doubled, damaged or contradictory."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from tests.evalprep.compare.small_runs import LATER, Task, two_small_runs
from tests.evalprep.results.damage import KINDS
from tests.evalprep.results.writing import STAMP, Row, write_run
from tests.oracle.folder import FORMATS, SHORT, Folder, calls
from tests.oracle.folders.rows import BEFORE, NOW, grades, pair, policy, rows, share, two

COUNT = 200
#: Damage of a samples or results file -> the name of its folder.
DAMAGED = {
    "samples: cut in a line": "cut",
    "samples: empty": "empty",
    "samples: zero bytes": "zeros",
    "samples: interleaved by two writers": "interleaved",
    "samples: doubled": "doubled",
    "samples: doubled and contrary": "contrary",
    "samples: byte order mark": "mark",
    "samples: invalid utf-8": "bytes",
    "samples: a list of objects": "list",
    "samples: a git-lfs pointer": "pointer",
    "samples: nan scores": "nan",
    "samples: scores as text": "texts",
    "samples: no hashes": "unhashed",
    "samples: ids of every type": "ids",
    "results: cut": "results-cut",
    "results: empty": "results-empty",
    "results: n-samples of wrong entries": "counts",
    "results: higher_is_better of wrong entries": "directions",
    "no results file": "unstated",
    "no samples files": "unsampled",
}


def counted(name: str, original: int, effective: int) -> dict[str, Any]:
    return {"n-samples": {name: {"original": original, "effective": effective}}}


def damaged(home: Path) -> None:
    """A good run, and copies that are damaged in one way each."""
    several = {"t": rows(share(40, 0.6, 1)), "u": rows(share(20, 0.6, 2))}
    write_run(home / "good", several)
    for kind, name in DAMAGED.items():
        KINDS[kind](write_run(home / name, several))
    policy(home)


def rows_away(home: Path) -> None:
    """Twelve of 200 rows of the candidate are lost, ten of them wrong ones of the baseline."""
    now, before = share(COUNT, 0.6, 1), share(COUNT, 0.6, 2)
    lost = [*[at for at in range(COUNT) if not before[at]][:10], 3, 5]
    several = rows(now)
    pair(
        home,
        {"t": [row for at, row in enumerate(several) if at not in lost]},
        {"t": rows(before)},
        extra=counted("t", COUNT, COUNT),
    )


def few_rows_away(home: Path) -> None:
    """One of 200 rows on each side is lost, another one on each: below the share that a policy allows."""
    now, before = rows(share(COUNT, 0.6, 1)), rows(share(COUNT, 0.6, 2))
    pair(home, {"t": now[1:]}, {"t": before[:-1]}, extra=counted("t", COUNT, COUNT))


def three_rows_lost(home: Path) -> None:
    """Four of ten rows are right; three of the wrong ones are lost, and the results state ten."""
    several = rows([1.0] * 4 + [0.0] * 6)
    stated = {
        "results": {"t": {"alias": "t", "exact_match,none": 0.4, "exact_match_stderr,none": 0.16}}
    }
    for name, stamp, kept in (("now", LATER, several[:7]), ("before", STAMP, several)):
        write_run(home / name, {"t": kept}, stamp=stamp, extra=counted("t", 10, 10) | stated)
    policy(home)


def stored_differs(home: Path) -> None:
    """The results state 0.9, and 0.4 of the rows are right."""
    for name, stamp, stored in (("now", LATER, 0.9), ("before", STAMP, 0.4)):
        values = {"alias": "t", "exact_match,none": stored, "exact_match_stderr,none": 0.08}
        several = rows([1.0] * 16 + [0.0] * 24)
        write_run(home / name, {"t": several}, stamp=stamp, extra={"results": {"t": values}})
    policy(home)


def subtask_away(home: Path) -> None:
    """The candidate lacks a whole subtask, the hardest one."""

    def several(seed: int) -> list[Row]:
        values = share(210, 0.6, seed)
        hard = [0.0 if at % 7 == 0 else one for at, one in enumerate(values)]
        return [Row(f"r{at}", one, subtask=f"s{at % 7}") for at, one in enumerate(hard)]

    pair(
        home,
        {"mixed": [row for row in several(1) if row.subtask != "s0"]},
        {"mixed": several(1)},
        extra=counted("mixed", 210, 210),
    )


PACK = {
    "name": "pairs",
    "tasks": {name: {"template": "t.yaml"} for name in ("easy", "hard")},
    "suite_scores": {
        "easy_score": {"function": "micro", "task": "easy", "range": [0, 1], "better": "up"},
        "hard_score": {"function": "micro", "task": "hard", "range": [0, 1], "better": "up"},
        "both": {
            "function": "mean",
            "needs": ["easy_score", "hard_score"],
            "title": "Mean of both",
            "range": [0, 1],
            "better": "up",
        },
        "all_rows": {
            "function": "micro",
            "tasks": ["easy", "hard"],
            "range": [0, 1],
            "better": "up",
        },
    },
}
SUITE = "defaults: {max_drop: 0.05}\nsuite: {both: {max_drop: 0.05}, all_rows: {max_drop: 0.05}}\n"


def with_pack(home: Path, now: dict[str, Task], before: dict[str, Task]) -> None:
    """Two runs whose tasks a pack of the user puts together."""
    two_small_runs(home, now, before)
    folder = home / "packs" / "pairs"
    folder.mkdir(parents=True)
    (folder / "pack.yaml").write_text(json.dumps(PACK))
    (folder / "t.yaml").write_text("task: t\n")
    policy(home, SUITE)


def equal_tasks() -> dict[str, Task]:
    return {
        "easy": Task({"acc": share(COUNT, 0.9, 1)}),
        "hard": Task({"acc": share(COUNT, 0.3, 1)}),
    }


def unscored_task(home: Path, side: str) -> None:
    """All replies are equal, and one side has no score on any row of the hard task."""
    unscored = equal_tasks() | {"hard": Task({"acc": [None] * COUNT})}
    sides = [unscored, equal_tasks()] if side == "now" else [equal_tasks(), unscored]
    with_pack(home, *sides)


def unscored_rows(home: Path) -> None:
    """No number on twenty rows of the candidate."""
    values: list[Any] = [
        None if at % 10 == 0 else one for at, one in enumerate(share(COUNT, 0.9, 1))
    ]
    with_pack(home, equal_tasks() | {"easy": Task({"acc": values})}, equal_tasks())


def failed_scorers(home: Path, first: int) -> None:
    """The scorer of the candidate failed from some row of the hard task on."""

    def hard(failed: int) -> Task:
        values = share(COUNT, 0.3, 1)
        return Task(
            {
                "acc": [one if at < failed else 0.0 for at, one in enumerate(values)],
                "scorer_error": [float(at >= failed) for at in range(COUNT)],
            },
            directions={"scorer_error": False},
        )

    with_pack(home, equal_tasks() | {"hard": hard(first)}, equal_tasks() | {"hard": hard(COUNT)})


def task_away(home: Path) -> None:
    """The candidate lacks the hard task, and has one of its own."""
    own = {"easy": equal_tasks()["easy"], "own": Task({"f1": grades(50, 1)})}
    with_pack(home, own, equal_tasks())


def doubled_rows(home: Path) -> None:
    """Ten lines of the candidate stand twice, five of them with another verdict."""
    pair(home, {"t": rows(share(COUNT, 0.6, 1))}, {"t": rows(share(COUNT, 0.6, 2))})
    (path,) = (home / "now").rglob("samples_*")
    lines = path.read_text().splitlines()
    again = [
        line.replace('"exact_match": 1.0', '"exact_match": 0.5') if at < 5 else line
        for at, line in enumerate(lines[:10])
    ]
    path.write_text("\n".join([*lines, *again]) + "\n")


def disjoint_rows(home: Path) -> None:
    """No row of one side is one of the other."""
    now, before = share(60, 0.6, 1), share(60, 0.6, 2)
    pair(
        home,
        {"t": [Row(f"a{at}", one) for at, one in enumerate(now)]},
        {"t": [Row(f"b{at}", one) for at, one in enumerate(before)]},
    )


def linked_samples(home: Path) -> None:
    """Samples of a received run are a link to a file outside of it."""
    two(home, {"t": Task({"acc": share(60, 0.6, 1)})}, {"t": Task({"acc": share(60, 0.6, 2)})})
    (path,) = (home / "now").rglob("samples_*")
    outside = home / "elsewhere.jsonl"
    path.rename(outside)
    path.symlink_to(outside)


def one_run_twice(home: Path) -> None:
    two(home, {"t": Task({"acc": share(60, 0.6, 1)})}, {"t": Task({"acc": share(60, 0.6, 2)})})


def no_rows(home: Path) -> None:
    (home / "empty").mkdir()
    policy(home)


PACKED = "--template_dir packs"


def of_pack(about: str, build: Callable[..., None]) -> Folder:
    return Folder(about, build, calls(NOW, BEFORE, options=PACKED))


FOLDERS = {
    "damaged-files": Folder(
        "files that are damaged in twenty ways",
        damaged,
        (
            *(f"score {name} --json --no_write" for name in DAMAGED.values()),
            *(f"compare {name} good --no_write" for name in DAMAGED.values()),
            *(f"gate {name} good --policy policy.yaml" for name in ("cut", "contrary", "nan")),
            "leaderboard good cut contrary nan unsampled --json",
            "report contrary good --out written --format md",
            "export contrary --to csv --out written",
        ),
    ),
    "rows-away": Folder("12 of 200 rows are lost on one side", rows_away, calls(NOW, BEFORE)),
    "few-rows-away": Folder(
        "one of 200 rows is lost on each side", few_rows_away, calls(NOW, BEFORE)
    ),
    "three-rows-lost": Folder(
        "three of ten rows are lost, and ten are stated",
        three_rows_lost,
        calls(NOW, BEFORE, formats=FORMATS),
    ),
    "stored-differs": Folder(
        "a stated score that is not that of the rows",
        stored_differs,
        calls(NOW, BEFORE, formats=FORMATS),
    ),
    "subtask-away": Folder(
        "the candidate lacks a subtask",
        subtask_away,
        calls(NOW, BEFORE, more=(f"score {NOW} --subtasks --no_write",)),
    ),
    "unscored-now": of_pack(
        "no score on any row of one task of the candidate", partial(unscored_task, side="now")
    ),
    "unscored-before": of_pack(
        "no score on any row of one task of the baseline", partial(unscored_task, side="before")
    ),
    "unscored-rows": of_pack("no number on 20 of 200 rows", unscored_rows),
    "failed-scorers": of_pack(
        "scorers that failed on half of the rows", partial(failed_scorers, first=COUNT // 2)
    ),
    "failed-everywhere": of_pack(
        "scorers that failed on all rows of a task", partial(failed_scorers, first=0)
    ),
    "task-away": of_pack("the candidate lacks a task and has another", task_away),
    "doubled-rows": Folder(
        "ten doubled lines, five of them with another verdict", doubled_rows, calls(NOW, BEFORE)
    ),
    "disjoint-rows": Folder(
        "no row in common", disjoint_rows, calls(NOW, BEFORE, formats=SHORT[:1])
    ),
    "linked-samples": Folder(
        "samples that are a link out of the run",
        linked_samples,
        calls(NOW, BEFORE, formats=SHORT[:1])
        + calls(NOW, BEFORE, options="--follow_links", formats=())[:2],
    ),
    "one-run-twice": Folder("a run against itself", one_run_twice, calls(NOW, NOW, formats=())),
    "no-rows": Folder(
        "an empty folder, and one that is not there", no_rows, calls("empty", "absent")
    ),
}
