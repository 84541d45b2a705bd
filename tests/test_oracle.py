"""The verbs say of each run folder of the oracle what is kept; a quick run takes a part of the folders, and the slow one the rest."""

import pytest

from tests.oracle.asking import ask
from tests.oracle.differences import differences
from tests.oracle.folders import all_folders
from tests.oracle.keeping import KEPT, read, text_of

#: Folders of a quick run: the widest ones, one per kind of reader, the worst faults.
QUICK = (
    *(
        "two-runs",
        "clearly-worse",
        "graded",
        "perplexity",
        "whole-metrics",
        "subtasks",
        "documents",
        "published",
        "run-ids",
        "shards",
        "groups",
        "limited",
        "other-prompts",
        "stated-scores",
    ),
    *("inspect-epochs", "across-tools", "every-eval-ever", "stored-alone", "lm-eval-0-4-0-folder"),
    *(
        "unscored-now",
        "failed-everywhere",
        "doubled-rows",
        "three-rows-lost",
        "stored-differs",
        "missing-subject",
    ),
)
FOLDERS = all_folders()


@pytest.mark.parametrize(
    "name",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in FOLDERS],
)
def test_the_verbs_say_what_is_kept(name):
    found = list(differences(read(name), ask(FOLDERS[name])))
    assert not found, "\n".join([f"python -m tests.oracle --only {name}", *found])


def test_each_folder_is_kept_in_the_form_of_the_oracle():
    assert {*QUICK} < {*FOLDERS}
    assert {path.stem for path in KEPT.glob("*.json")} == set(FOLDERS)
    for name in QUICK:
        assert (KEPT / f"{name}.json").read_text(encoding="utf-8") == text_of(read(name))


@pytest.mark.parametrize(
    ("kept", "now", "lines"),
    [
        ({"a": 0.5}, {"a": 0.5 + 1e-12}, []),
        ({"a": 1}, {"a": True}, ["a: 1 -> True"]),
        ({"a": {"b": "x"}}, {"a": {}}, ["a.b: 'x' -> (absent)"]),
        ([1, 2], [1, 2, 3], ["[2]: (absent) -> 3"]),
        ([{"task": "t", "n": 1}], [{"task": "u", "n": 1}, {"task": "t", "n": 2}], ["t.n: 1 -> 2", "u: (absent) -> {'task': 'u', 'n': 1}"]),
        ([{"name": "a"}, {"name": "b"}], [{"name": "b"}, {"name": "a"}], [": another order: ['a', 'b'] -> ['b', 'a']"]),
    ],
)  # fmt: skip
def test_differences_are_named_by_their_place(kept, now, lines):
    assert list(differences(kept, now)) == lines
