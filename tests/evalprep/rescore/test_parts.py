"""Parts of rescoring by themselves: means and what differs, scorers from results files and templates, requests."""

from types import SimpleNamespace

import lm_eval.api.task  # noqa: F401 - fills the registries
import pytest

from evalprep.rescore.loading import NotDataError, _as_data, load_task
from evalprep.rescore.place import ScorerPlace
from evalprep.rescore.rescoring import _take_values_over_all_rows
from evalprep.rescore.scorer import Outcome, _instances
from evalprep.rescore.screen import _show_task, show
from evalprep.rescore.tally import Change, TaskRescore, tally
from evalprep.results import load_run
from evalprep.samples import Metric
from tests.evalprep.results.writing import Row, write_run


@pytest.fixture
def run_of(tmp_path):
    return lambda rows: load_run(write_run(tmp_path, {"t": rows})).tasks["t"]


def outcome(now, again=None):
    values = {} if again is None else {"none": {"exact_match": again}}
    return Outcome({"none": {"exact_match": now}}, {"none": ["A"]}, values)


def test_means_changes_and_who_differs(run_of):
    # published verdict, logged score, today's score of the reply, today's score of the published
    # reply
    cases = [
        (True, 1.0, 1.0, 1.0),  # nothing differs
        (True, 1.0, 0.0, 1.0),  # the model
        (False, 0.0, 1.0, 0.0),  # the model
        (False, 0.0, 1.0, 0.0),  # the model
        (False, 0.0, 1.0, 1.0),  # the scorer
        (True, 0.0, 0.0, 0.0),  # the scorer
    ]
    task = run_of(
        [Row(str(at), before, previous) for at, (previous, before, _, _) in enumerate(cases)]
    )
    pairs = zip(task.samples(), [outcome(now, again) for _, _, now, again in cases], strict=True)
    result = TaskRescore("t", "exact_match", "none")
    assert len(list(tally(result, task.primary, pairs))) == 6
    assert (result.n, result.previous, result.now, result.up, result.down) == (
        6,
        2 / 6,
        4 / 6,
        3,
        1,
    )
    replay = result.replay
    assert (replay.n, replay.agree, replay.milder, replay.stricter) == (6, 4, 1, 1)
    assert (replay.scorer_differs, replay.model_differs, replay.ids) == (2, 3, ["4", "5"])


def test_without_a_scored_row_there_is_no_mean(run_of):
    task, result = run_of([Row("0", 1.0)]), TaskRescore("t", "exact_match", "none")
    list(
        tally(
            result, task.primary, ((sample, Outcome(error="broken")) for sample in task.samples())
        )
    )
    assert (result.previous, result.now, result.errors) == (1.0, None, {"broken": 1})


REGEX = {"function": "regex", "regex_pattern": "([0-9]+)", "group_select": -1}
METRIC = [
    {"metric": "exact_match", "aggregation": "mean", "higher_is_better": True, "ignore_case": True}
]


@pytest.mark.parametrize(
    ("step", "known"),
    [
        (REGEX, True),
        ({"function": "take_first"}, True),
        ({"function": "custom", "filter_fn": "<function f at 0x7f>"}, False),
        ({"function": "mine"}, False),
        ({"function": "regex", "regex_pattern": print}, False),
    ],
)
def test_filters_that_lm_eval_has_are_taken_from_a_results_file(step, known):
    filters = [{"name": "x", "filter": [step]}]
    config = {"output_type": "generate_until", "filter_list": filters, "metric_list": METRIC}
    place = ScorerPlace("t", "results", config=config)
    if known:
        assert _as_data(place)["filter_list"] == filters
    else:
        with pytest.raises(NotDataError, match="filter 'x' is code of its own"):
            _as_data(place)


TEMPLATE = """\
task: ${task}
dataset_path: parquet
dataset_kwargs: {data_files: {test: "${data_file}"}}
test_split: test
output_type: generate_until
doc_to_text: prompt
doc_to_target: target
generation_kwargs: {until: ["\\n"]}
metric_list:
  - {metric: exact_match, aggregation: mean, higher_is_better: true}
"""
CLASS = """\
from lm_eval.api.task import ConfigurableTask


class Mine(ConfigurableTask):
    def process_results(self, doc, results):
        return {"exact_match": 0.25}
"""


@pytest.mark.parametrize(("own", "score"), [(False, 1.0), (True, 0.25)])
def test_a_template_may_name_a_class_of_its_own(run_of, tmp_path, own, score):
    task = run_of([Row("0", sent="Question?\n", response="A")])
    (sample,) = task.samples()
    (tmp_path / "mine.py").write_text(CLASS)
    (tmp_path / "t.yaml").write_text(TEMPLATE + ("class: !function mine.Mine\n" if own else ""))
    loaded = load_task(ScorerPlace("t", "pack", tmp_path / "t.yaml", first=sample))
    assert loaded.config.task == "t"
    assert loaded.process_results(sample.doc, ["A"])["exact_match"] == score
    (request,) = _instances(loaded, sample, sample.doc, sample.resps)
    assert request.args == ("Question?\n", {"until": ["\n"], "max_gen_toks": 100})
    assert [reply.strip() for reply in request.resps] == ["A"]


def test_a_likelihood_within_a_task_that_generates_has_numbers(run_of):
    """As squadv2 asks how likely `unanswerable` is beside its generated answer."""
    (sample,) = run_of([Row("a")]).samples()
    asked_twice = {
        **sample.arguments,
        "gen_args_1": {"arg_0": "Question?", "arg_1": " unanswerable"},
    }
    sample.decoded_arguments = asked_twice
    task = SimpleNamespace(OUTPUT_TYPE="generate_until", config=SimpleNamespace(task="t"))
    generated, likelihood = _instances(task, sample, {}, [["A"], [["-1.5", "False"]]])
    assert (generated.request_type, generated.resps) == ("generate_until", ["A"])
    assert (likelihood.request_type, likelihood.resps) == ("loglikelihood", [(-1.5, False)])


@pytest.mark.parametrize(
    ("today", "lines"),
    [
        ({"value": 1.25}, ["before 1.218, now 1.25; computed over all rows at once"]),
        ({"text": "no such file"}, ["before 1.218, now -; computed", "not known: no such file"]),
        (None, ["before 1.218, now -; computed"]),
    ],
)
def test_a_score_over_all_rows_has_its_logged_value_and_that_of_today(
    tmp_path, capsys, today, lines
):
    """Its rows hold parts of it, which are no scores: `not scored` would be wrong."""
    rows = [Row("a", metrics={"word_perplexity": [-1.5, 4]})]
    stored = {"results": {"t": {"word_perplexity,none": 1.218}}}
    task = load_run(write_run(tmp_path, {"t": rows}, extra=stored)).tasks["t"]
    metrics = [] if today is None else [Metric(metric="word_perplexity", **today)]
    result = TaskRescore("t", "word_perplexity", "none")
    _take_values_over_all_rows(result, task, metrics)
    _show_task(result)
    printed = capsys.readouterr().out
    assert all(line in printed for line in lines)
    assert "0 up" not in printed


def test_samples_are_named_shortly_and_where_scorers_come_from(capsys, tmp_path):
    changes = [Change("ab" * 32, 0.0, 1.0, "lol", "lol", "Paris")]
    result = TaskRescore("t", "acc", "none", n=1, previous=0.0, now=1.0, up=1, changes=changes)
    run = load_run(write_run(tmp_path, {"t": [Row("a")]}))
    show(run, [result], {}, {}, {"other": "there is no task of this name"})
    out = capsys.readouterr().out
    assert "    abababab: 0.0 -> 1.0; answer 'lol' -> 'lol'; gold 'Paris'\n" in out
    assert out.endswith("`--work_dir DIR` takes scorers from the task files in DIR\n")
