"""Single parts of the check, called by themselves: what whole folders rarely show."""

from types import SimpleNamespace

import pytest

from custom_metrics.harness.results import second_opinions
from evalprep.check import Findings, RunSettings, prompts, scoring
from evalprep.check.data import check_rows
from evalprep.check.functions import top_level_names
from evalprep.check.generation import check_generation
from evalprep.check.loading import LoadedTask
from evalprep.check.tree import Leaf, TaskFile


def leaf_of(folder, **config):
    file = TaskFile(folder / "task.yaml", {"task": "own"})
    return Leaf("own", file, {"output_type": "generate_until", **config})


def findings_of(findings):
    return {finding.code: finding.what for finding in findings.sorted()}


def test_scoring_that_fails_leaves_second_opinions_as_they_were(monkeypatch):
    def fail(*_):
        raise RuntimeError("no gold answer")

    monkeypatch.setattr(scoring, "Scorer", lambda loaded: SimpleNamespace(loaded=loaded))
    monkeypatch.setattr(scoring, "_check_row", fail)
    loaded = SimpleNamespace(own=False, instances={0: []}, name="t", generates=True)
    with pytest.raises(RuntimeError):
        scoring.check_scoring(loaded, Findings())
    assert second_opinions.get()


@pytest.mark.parametrize("names", [["good", "damaged"], ["damaged", "good"]])
def test_an_unreadable_file_hides_no_mistakes_of_the_others(tmp_path, names):
    row = '{"sample_id": "a", "prompt": " ", "target": "x"}\n'
    (tmp_path / "good").write_text(row + row)
    (tmp_path / "damaged").write_text('{"sample_id": ')
    leaf = leaf_of(tmp_path, dataset_path="json", doc_to_text="prompt", doc_to_target="target")
    findings = Findings()
    files = [tmp_path / name for name in names]
    assert check_rows(leaf, files, findings, ours=True) == 2
    assert findings_of(findings).keys() == {"EP407", "EP403", "EP404"}


def test_an_unreadable_file_is_not_one_without_rows(tmp_path):
    (tmp_path / "damaged").write_text('{"sample_id": ')
    findings = Findings()
    leaf = leaf_of(tmp_path, dataset_path="json")
    check_rows(leaf, [tmp_path / "damaged"], findings, ours=True)
    assert findings_of(findings).keys() == {"EP407"}


class Words:
    """A tokenizer whose tokens are words."""

    bos_id, bos, eos, chat_template = None, "", "", None
    special: frozenset[str] = frozenset()
    own_prefix = ()

    def lengths(self, texts, **_):
        return [len(text.split()) for text in texts]


@pytest.mark.parametrize(
    ("replies", "expected"),
    [
        pytest.param(
            (60, 60),
            "2 of 2 prompts and 60 tokens for the reply are more than max_model_len 100; "
            "longest: long (90 tokens), short (50 tokens)",
            id="one length of replies",
        ),
        pytest.param(
            (20, 95),
            "2 of 2 prompts and 20 to 95 tokens for the reply are more than max_model_len 100; "
            "longest: short (50 tokens and 95 for the reply), long (90 tokens and 20 for the reply)",
            id="other replies",
        ),
    ],
)
def test_rows_that_exceed_the_context_by_most_come_first(tmp_path, replies, expected):
    settings = RunSettings.without_config(max_model_len=100)
    loaded = LoadedTask(leaf_of(tmp_path), task=None)
    scan = prompts._Scan(loaded, settings, Words())
    texts = ["word " * 90, "word " * 50]
    rooms = [100 - reply for reply in replies]
    scan.add(prompts._Batch(["long", "short"], [None, None], texts, texts, rooms))
    findings = Findings()
    scan.report(findings)
    assert findings_of(findings)["EP604"] == f"own: {expected}"


MODULE = """\
match platform:
    case "linux":
        def score(doc, results): ...
    case _:
        def other(doc, results): ...
try:
    from fast import parse
except* ImportError:
    def parse(text): ...
"""


def test_functions_under_match_and_exception_groups_are_names_of_a_module(tmp_path):
    path = tmp_path / "utils.py"
    path.write_text(MODULE)
    assert top_level_names(path) == {"score", "other", "parse"}


def test_a_misspelt_generation_argument_gets_a_suggestion(tmp_path):
    findings = Findings()
    arguments = {"until": [], "do_sample": False, "temprature": 0.0}
    leaf = leaf_of(tmp_path, generation_kwargs=arguments)
    check_generation(leaf, RunSettings.without_config(backend="vllm"), findings)
    (unknown,) = [finding for finding in findings.sorted() if finding.code == "EP204"]
    assert (unknown.what, unknown.fix) == (
        "temprature is unknown to vLLM",
        "did you mean temperature?",
    )
