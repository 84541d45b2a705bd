"""What computes values after the run is looked for before it."""

from types import SimpleNamespace

import pytest

from evalprep.annotate.finding import lacks
from evalprep.check import Findings, check_annotators
from evalprep.coderunner.isolation import NoIsolation
from evalprep.packs.finding import find_packs
from evalprep.packs.prepared import require_prepared
from tests import PROJECT_ROOT
from tests.packs.compliance.project import prepared

PACKS = find_packs(PROJECT_ROOT / "task_templates")


@pytest.mark.parametrize(
    ("needs", "own", "missing"),
    [
        ((), None, []),
        (("json", "os.path"), None, []),
        (
            ("json", "no_such_package", "no_such_package.part"),
            None,
            ["no_such_package", "no_such_package.part"],
        ),
        (("a word for people",), None, []),
        (("json",), lambda: ["a GPU"], ["a GPU"]),
        (
            (),
            lambda: 1 / 0,
            ["its check of this machine failed: ZeroDivisionError: division by zero"],
        ),
    ],
)
def test_what_is_lacking(needs, own, missing):
    assert lacks(SimpleNamespace(needs=needs, lacks=own)) == missing


def test_the_scores_behind_are_named(tmp_path, monkeypatch):
    def nothing():
        raise NoIsolation({"name spaces": "not allowed"})

    monkeypatch.setattr(PACKS["compliance"].module("annotators"), "find_isolation", nothing)
    prepared(tmp_path, tasks=["compliance_human_eval", "compliance_bbq"])
    findings = Findings()
    check_annotators(require_prepared(tmp_path / "work_dir"), PACKS, findings)
    (one,) = findings.sorted()
    assert (one.code, one.level, one.task) == ("EP731", "warning", "compliance_human_eval")
    assert "code_runner lacks isolation for programmes" in one.what
    assert "compliance_human_eval_score" in one.what
    assert "bbq" not in one.what


def test_packs_that_are_not_given_are_not_imported(tmp_path):
    prepared(tmp_path, tasks=["compliance_human_eval"])
    findings = Findings()
    check_annotators(require_prepared(tmp_path / "work_dir"), {}, findings)
    assert not findings.sorted()
