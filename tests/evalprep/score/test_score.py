"""Suite scores: the graph, the built-ins and their errors, published values, references, exports, the command."""

import io
import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from custom_metrics import statistics
from evalprep.cli import main
from evalprep.errors import BadInput
from evalprep.packs.finding import find_packs
from evalprep.packs.ownership import remember_folder
from evalprep.results import load_run
from evalprep.score import (
    Scores,
    SuiteScore,
    export,
    may_be_opened,
    open_reference,
    published_for,
    read_specs,
    score_run,
)
from evalprep.score.estimate import WITHOUT_SPREAD
from evalprep.score.published import matches
from evalprep.score.result import Result
from evalprep.score.screen import show
from evalprep.score.spec import BUILT_IN, order, resolve
from tests import PROJECT_ROOT
from tests.evalprep.results.writing import STAMP, Row, write_run


def make_packs(folder, suite, *, files=None, tasks=("t", "u"), published=None):
    """A pack called toy, and the folder of packs it lies in."""
    pack = folder / "packs" / "toy"
    pack.mkdir(parents=True)
    content = {
        "name": "toy",
        "tasks": {task: {"template": "t.yaml"} for task in tasks},
        "suite_scores": suite,
    }
    if published is not None:
        content["published"] = "published.yaml"
        (pack / "published.yaml").write_text(json.dumps(published))
    (pack / "pack.yaml").write_text(json.dumps(content))  # JSON is YAML
    (pack / "t.yaml").write_text("task: t\n")
    for name, text in (files or {}).items():
        (pack / name).write_text(text)
    return find_packs(folder / "packs")


ROWS = [
    Row("a", 1.0, subtask="x", cluster="d"), Row("b", 0.0, subtask="x", cluster="d"),
    Row("c", 1.0, subtask="x", cluster="e"), Row("e", 0.0, subtask="y", cluster="e"),
]  # fmt: skip


def suite_of(tmp_path, suite, tasks=None, **more):
    packs = make_packs(tmp_path, suite, **more)
    scores = score_run(load_run(write_run(tmp_path / "out", tasks or {"t": ROWS})), packs)
    return {score.name: score for score in scores.suite}


def test_micro_and_macro_differ_by_subtask_size(tmp_path):
    found = suite_of(
        tmp_path,
        {
            "micro": {"function": "micro", "task": "t"},
            "macro": {"function": "macro", "tasks": ["t"]},
        },
    )
    assert (found["micro"].value, found["micro"].n) == (0.5, 4)
    assert found["macro"].value == pytest.approx((2 / 3 + 0) / 2)
    assert found["macro"].result.parts == {"x": pytest.approx(2 / 3), "y": 0.0}
    expected = statistics.clustered_stderr([1, 0, 1, 0], ["d", "d", "e", "e"], correction=True)
    assert found["micro"].stderr == pytest.approx(expected)


def test_errors_of_built_ins_without_clusters(tmp_path):
    rows = [
        Row(f"{subtask}{at}", float(at % 3 > 0), subtask=subtask)
        for subtask in "xy"
        for at in range(20)
    ]
    found = suite_of(
        tmp_path,
        {"micro": {"function": "micro", "task": "t"}, "macro": {"function": "macro", "task": "t"}},
        {"t": rows},
    )
    values = np.array([row.correct for row in rows])
    assert found["micro"].stderr == pytest.approx(statistics.mean_stderr(values))
    assert (found["micro"].low, found["micro"].high) == statistics.wilson_interval(
        int(values.sum()), 40
    )
    halves = [statistics.mean_stderr(values[:20]), statistics.mean_stderr(values[20:])]
    assert found["macro"].stderr == pytest.approx(math.hypot(*halves) / 2)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("function", ["micro", "macro"])
@pytest.mark.parametrize(
    ("large", "value", "said"),
    [(1.6e308, None, "is not finite"), (1e200, 2e200 / 3, "no interval")],
)
def test_scores_that_leave_the_range_of_numbers_are_said_to(tmp_path, function, large, value, said):
    rows = [Row("a", large, subtask="x"), Row("b", large, subtask="x"), Row("c", 0.0, subtask="x")]
    score = suite_of(tmp_path, {"s": {"function": function, "task": "t"}}, {"t": rows})["s"]
    assert score.value == (None if value is None else pytest.approx(value))
    assert said in f"{score.result.reason} {score.result.notes}"
    assert "interval" not in score.result.returned


def test_lists_count_by_their_items(tmp_path):
    rows = [Row("a", metrics={"inst": [True, False, True]}), Row("b", metrics={"inst": [False]})]
    (score,) = suite_of(
        tmp_path, {"flat": {"function": "micro", "task": "t"}}, {"t": rows}
    ).values()
    assert score.value == 0.5
    assert score.stderr == pytest.approx(
        statistics.clustered_stderr([1, 0, 1, 0], ["a", "a", "a", "b"], correction=True)
    )


def test_mean_has_an_error_only_where_scores_share_no_rows(tmp_path):
    rows = [Row(f"r{at}", float(at % 2)) for at in range(10)]
    suite = {
        "apart": {"function": "mean", "needs": ["t_micro", "u_micro"]},
        "shared": {"function": "mean", "needs": ["t_micro", "t_macro"]},
        "t_micro": {"function": "micro", "task": "t"},
        "u_micro": {"function": "micro", "task": "u"},
        "t_macro": {"function": "macro", "task": "t"},
    }
    found = suite_of(tmp_path, suite, {"t": rows, "u": rows})
    assert found["apart"].value == found["shared"].value == 0.5
    assert found["apart"].stderr == pytest.approx(found["t_micro"].stderr / math.sqrt(2))
    assert found["shared"].stderr is None


SCORE_PY = """
def share(*, rows, inputs, reference, params):
    row = rows["t"][0]
    assert set(row) == {"sample_id", "index", "doc", "prompt", "target",
                        "response", "filtered", "metrics", "subtask_name"}
    values = {str(r["index"]): {"v": r["metrics"]["exact_match"]} for r in rows["t"]}
    return {"agg_value": sum(v["v"] for v in values.values()) / len(values) * params.get("scale", 1),
            "value_by_index": values}

def gap(*, rows, inputs, reference, params):
    if reference is None:
        return {"agg_value": None, "reason": "needs a reference run"}
    return {"agg_value": inputs["share"]["agg_value"] - reference["share"]["agg_value"]}

def broken(**_):
    raise RuntimeError("no such luck")

def wrong(**_):
    return 0.5
"""
CODED = {
    "gap": {"function": "score.gap", "needs": ["share"], "reference": ["share"], "better": "down"},
    "share": {"function": "score.share", "tasks": ["t"]},
    "scaled": {"function": "score.share", "tasks": ["t"], "params": {"scale": 2}},
    "broken": {"function": "score.broken", "tasks": ["t"]},
    "wrong": {"function": "score.wrong", "tasks": ["t"]},
    "absent": {"function": "score.share", "tasks": ["t", "u"]},
    "elsewhere": {"function": "micro", "tasks": ["not in this run"]},
}


def test_the_spread_of_rows_is_that_of_a_score_which_is_their_mean(tmp_path):
    suite = {
        name: {"function": "score.share", "tasks": ["t"], "params": {"scale": scale}}
        for name, scale in (("mean", 1), ("product", 1.5))
    }
    rows = [Row(name, value) for name, value in zip("abcd", [1.0, 0.0, 1.0, 0.0], strict=True)]
    found = suite_of(tmp_path, suite, {"t": rows}, files={"score.py": SCORE_PY})
    stderr = pytest.approx(statistics.mean_stderr([1, 0, 1, 0]))
    assert (found["mean"].value, found["mean"].stderr) == (0.5, stderr)
    assert (found["product"].value, found["product"].stderr) == (0.75, None)


ALIKE = [  # range, value, units: interval
    ([0, 1], 0.0, 1, None),
    ([0, 1], 0.0, 2, (0.0, 0.6576)),  # right or wrong: Wilson's
    ([0, 1], 0.0, 20, (0.0, 0.1611)),
    ([0, 1], 1.0, 2, (0.3424, 1.0)),
    ([0, 1], 1.0, 20, (0.8389, 1.0)),
    ([0, 1], 0.5, 20, (0.4194, 0.5806)),  # graded: pseudo-rows between the bounds
    (None, 1.0, 20, (0.8389, 1.0)),  # nothing is known, and 0 and 1 hold all rows
    (None, 0.5, 20, (0.4194, 0.5806)),
    ([1, 5], 1.0, 1, None),
    ([1, 5], 1.0, 2, (1.0, 3.8391)),
    ([1, 5], 1.0, 20, (1.0, 1.7592)),
    ([1, 5], 3.0, 2, (1.6848, 4.3152)),
    ([1, 5], 3.0, 20, (2.6777, 3.3223)),
    ([1, 5], 5.0, 20, (4.2408, 5.0)),
    ([0, 10], 0.0, 20, (0.0, 1.8981)),  # no share: not Wilson's [0, 0.1611]
    ([0, 10], 1.0, 20, (0.6458, 2.6432)),
    ([0, None], 1.0, 20, None),  # bounds that are open or not known
    (None, 3.0, 2, None),
    (None, 3.0, 20, None),
]


@pytest.mark.parametrize("of_document", [None, 1, 2])
@pytest.mark.parametrize(("bounds", "value", "units", "interval"), ALIKE)
def test_rows_that_are_alike_have_the_interval_of_their_bounds(
    tmp_path, bounds, value, units, interval, of_document
):
    count = units * (of_document or 1)
    rows = [
        Row(f"r{at}", value, cluster=of_document and f"d{at // of_document}") for at in range(count)
    ]
    declared = {"range": bounds} if bounds else {}
    suite = {
        "by_code": {"function": "score.share", "tasks": ["t"], **declared},
        "micro": {"function": "micro", "task": "t", **declared},
    }
    scores = suite_of(tmp_path, suite, {"t": rows}, files={"score.py": SCORE_PY})
    assert set(scores) == set(suite)
    for score in scores.values():
        assert score.value == value
        ends = (None, None) if interval is None else pytest.approx(interval, abs=6e-5)
        assert (score.low, score.high) == ends
        says_why = WITHOUT_SPREAD in score.result.notes
        assert says_why is (interval is None and units > 1)


def test_a_task_and_a_mean_of_scores_have_no_interval_without_a_width(tmp_path, capsys):
    rows = [Row(f"r{at}", metrics={"rating": 3.0}, cluster=f"d{at // 2}") for at in range(40)]
    suite = {
        "one": {"function": "micro", "task": "t"},
        "other": {"function": "macro", "task": "u"},
        "both": {"function": "mean", "needs": ["one", "other"]},
    }
    packs = make_packs(tmp_path, suite)
    scores = score_run(load_run(write_run(tmp_path / "out", {"t": rows, "u": rows})), packs)
    assert [task.micro.interval for task in scores.tasks] == [None, None]
    assert [(score.value, score.low) for score in scores.suite] == [(3.0, None)] * 3
    show(scores)
    shown = " ".join(capsys.readouterr().out.split())
    assert f"t: {WITHOUT_SPREAD}" in shown


def test_a_loss_between_0_and_1_is_no_share(tmp_path):
    losses = [0.2, 0.9, 0.8, 0.95]
    rows = [Row(f"r{at}", metrics={"eval_loss": loss}) for at, loss in enumerate(losses)]
    (task,) = score_run(load_run(write_run(tmp_path / "out", {"t": rows})), {}).tasks
    half = statistics.student_critical_value(0.95, 3) * statistics.mean_stderr(losses)
    assert task.micro.high == pytest.approx(np.mean(losses) + half)
    assert task.micro.high > 1


def test_functions_of_a_pack(tmp_path):
    found = suite_of(tmp_path, CODED, files={"score.py": SCORE_PY})
    assert found["share"].value == 0.5
    documents = ["d", "d", "e", "e"]
    stderr = statistics.clustered_stderr([1, 0, 1, 0], documents, correction=True)
    assert found["share"].stderr == pytest.approx(stderr)
    assert found["share"].result.clusters == 2
    assert (found["scaled"].value, found["scaled"].stderr) == (1.0, None)
    assert (found["gap"].value, found["gap"].reason) == (None, "needs a reference run")
    assert found["broken"].reason == "score.broken failed: RuntimeError: no such luck"
    assert "returned no agg_value" in found["wrong"].reason
    assert found["absent"].reason == "no samples of u"
    assert "elsewhere" not in found


def test_importable_functions(tmp_path):
    suite = {"s": {"function": "tests.evalprep.score.test_score.a_function", "tasks": ["t"]}}
    assert suite_of(tmp_path, suite)["s"].value == 4.0


def a_function(*, rows, **_):
    return {"agg_value": float(len(rows["t"])), "interval": [3.0, 5.0]}


READER = """
import json
def load(path):
    if path.name != "FOREIGN.json":
        return None
    return json.loads(path.read_text())
"""


@pytest.mark.parametrize("kind", ["run", "own scores", "folder with own scores", "foreign log"])
def test_references_of_every_kind(tmp_path, kind):
    packs = make_packs(tmp_path, CODED, files={"score.py": SCORE_PY, "references.py": READER})
    run = load_run(write_run(tmp_path / "out", {"t": ROWS}))
    home = write_run(
        tmp_path / "reference", {"t": [Row("a", 1.0), Row("b", 0.0), Row("c", 0.0), Row("d", 0.0)]}
    )
    if kind == "run":
        path = home
    elif kind == "foreign log":
        path = tmp_path / "FOREIGN.json"
        path.write_text(json.dumps({"share": {"agg_value": 0.25}}))
    else:
        (tmp_path / "kept").mkdir()
        path = tmp_path / "kept" / "scores.json"
        path.write_text(json.dumps(score_run(load_run(home), packs).to_dict()))
        path = path if kind == "own scores" else path.parent
    scores = score_run(run, packs, reference=open_reference(path, packs.values()))
    found = {score.name: score for score in scores.suite}
    assert found["gap"].value == 0.25
    assert found["share"].reference == 0.25
    assert found["gap"].reference is None


def test_a_run_that_is_its_own_reference_is_named(tmp_path):
    packs = make_packs(tmp_path, CODED, files={"score.py": SCORE_PY})
    home = write_run(tmp_path / "run", {"t": [Row("a", 1.0), Row("b", 0.0)]})
    other = write_run(tmp_path / "other", {"t": [Row("a", 1.0), Row("b", 0.0)]})
    said = "the run is its own reference"
    for reference, is_named in ((home, True), (home.parent, True), (other, False)):
        scores = score_run(load_run(home), packs, reference=load_run(reference))
        assert any(note.startswith(said) for note in scores.notes) is is_named


def test_the_reference_stands_beside_scores_that_do_not_need_it(tmp_path):
    suite = CODED | {"mean": {"function": "micro", "task": "t"}}
    packs = make_packs(tmp_path, suite, files={"score.py": SCORE_PY})
    run, other = (
        load_run(write_run(tmp_path / name, {"t": ROWS[:size]}))
        for name, size in (("a", None), ("b", 1))
    )
    found = {score.name: score for score in score_run(run, packs, reference=other).suite}
    assert found["mean"].value != found["mean"].reference == 1


def prepare_referring(work, places):
    """A preparation of this user whose task files name references."""
    (work / "own").mkdir(parents=True)
    files = {f"own/{task}.yaml": "" for task in places}
    for task, place in places.items():
        text = json.dumps({"task": task, "metadata": {"reference": place}})
        (work / "own" / f"{task}.yaml").write_text(text)
    (work / "manifest.json").write_text(json.dumps({"schema": 2, "files": files}))
    remember_folder(work)


def referring(tmp_path, *places, own=True):
    """The score of a run whose tasks name references in their metadata, and the notes about them."""
    packs = make_packs(tmp_path, CODED, files={"score.py": SCORE_PY})
    tasks = {
        task: place and str(place) for task, place in dict(zip("tu", places, strict=False)).items()
    }
    work = tmp_path / "work_dir"
    if own:
        prepare_referring(work, tasks)
    source = str(work / "own" / "t.yaml")
    configs = {
        task: {"metadata": {"reference": place, "config_source": source}}
        for task, place in tasks.items()
    }
    home = write_run(tmp_path / "out", dict.fromkeys(tasks, ROWS), extra={"configs": configs})
    scores = score_run(load_run(home), packs)
    return {score.name: score for score in scores.suite}["gap"], "\n".join(scores.notes)


def test_a_received_results_file_names_no_file_to_be_read(tmp_path, monkeypatch):
    home = write_run(tmp_path / "private", {"t": ROWS})
    gap, notes = referring(tmp_path, home, own=False)
    assert (gap.value, "only for a run that you prepared on this machine" in notes) == (None, True)
    prepare_referring(tmp_path / "work_dir", {"t": str(home / "other")})
    run = load_run(tmp_path / "out")
    assert not may_be_opened(str(home), [run])
    monkeypatch.setenv("EVALPREP_STATE", str(tmp_path / "of_another_user"))
    assert not may_be_opened(str(home / "other"), [run])


def test_tasks_may_name_their_reference(tmp_path):
    home = write_run(
        tmp_path / "reference", {"t": [Row("a", 1.0), Row("b", 0.0), Row("c", 0.0), Row("d", 0.0)]}
    )
    gap, notes = referring(tmp_path, home)
    assert (gap.value, f"reference: {home}" in notes) == (0.25, True)


@pytest.mark.parametrize(
    ("places", "words"),
    [
        pytest.param(["gone"], "not here", id="gone"),
        pytest.param(["."], "neither a run nor a log", id="no run"),
        pytest.param([".", "packs"], "name several", id="not the only one"),
    ],
)
def test_a_named_reference_that_is_none_costs_no_other_score(tmp_path, places, words):
    (tmp_path / "place").mkdir()
    gap, notes = referring(tmp_path, *(tmp_path / "place" / place for place in places))
    assert (gap.value, words in notes) == (None, True)


def test_no_named_reference_needs_no_note(tmp_path):
    gap, notes = referring(tmp_path, None)
    assert (gap.value, "reference" in notes) == (None, False)


def test_a_reference_that_is_none(tmp_path):
    (tmp_path / "other.json").write_text("[]")
    for name in ("other.json", "missing"):
        with pytest.raises(BadInput):
            open_reference(tmp_path / name, [])


@pytest.mark.parametrize(
    ("suite", "words"),
    [
        (
            {"a": {"function": "mean", "needs": ["b"]}, "b": {"function": "mean", "needs": ["a"]}},
            ["a -> b -> a"],
        ),
        ({"a": {"function": "mean", "needs": ["a"]}}, ["a -> a"]),
        (
            {"a": {"function": "mean", "needs": ["bee"]}, "been": {"function": "micro"}},
            ["'bee'", "did you mean been"],
        ),
        (
            {"a": {"function": "mean", "reference": ["x"]}, "b": {"tasks": ["t"]}},
            ["'x'", "function is missing"],
        ),
        (
            {"a": {"function": "micro", "task": "t", "need": ["b"]}},
            ["unknown key 'need'", "did you mean needs"],
        ),
        (
            {"a": {"function": "micro", "counts": "score.f", "value": "score.g"}},
            ["`counts` with `value`"],
        ),
        ({"a": {"counts": "score.f", "task": "t"}}, ["`counts` with `value`"]),
        ({"a": {"function": "score.nothing", "task": "t"}}, ["no function 'score.nothing'"]),
        ({"a": {"function": "no_such_module.f", "task": "t"}}, ["cannot import 'no_such_module'"]),
    ],
    ids=[
        "cycle",
        "needs itself",
        "unknown parent",
        "two mistakes",
        "misspelt key",
        "computed twice",
        "half of counts",
        "no function",
        "no module",
    ],
)
def test_mistakes_in_a_declaration(tmp_path, suite, words):
    with pytest.raises(BadInput) as caught:
        suite_of(tmp_path, suite, files={"score.py": SCORE_PY})
    for word in words:
        assert word in str(caught.value)


graphs = st.integers(1, 12).flatmap(
    lambda n: st.lists(
        st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(
            lambda edge: edge[0] < edge[1]
        ),
        max_size=30,
    ).map(lambda edges: (n, edges))
)


@given(graphs, st.randoms())
def test_any_graph_without_cycles_is_ordered_parents_first(graph, random):
    n, edges = graph
    names = list(range(n))
    random.shuffle(names)
    needs = {str(name): tuple({str(a) for a, b in edges if b == name}) for name in names}
    ordered = order(needs)
    assert sorted(ordered) == sorted(needs)
    assert all(
        ordered.index(parent) < ordered.index(name)
        for name, parents in needs.items()
        for parent in parents
    )


@pytest.mark.parametrize(
    ("wanted", "model", "same"),
    [
        ("Llama-3.1-8B", "meta-llama/Llama-3.1-8B", True),
        ("Llama-3.1-8B", "meta-llama/Llama-3.1-8B-Instruct", False),
        ("Llama-3.1-8B-Instruct", "/models/Meta-Llama-3.1-8B-Instruct/", True),
        ("llama-3\\.1-.*", "Llama-3.1-70B", True),
        (["a", "b"], "org/B", True),
        ("(", "x", False),
    ],
)
def test_names_of_published_models(wanted, model, same):
    assert matches(wanted, model) is same


def test_published_values_stand_beside_ours_on_the_same_scale(tmp_path):
    content = {
        "unit": "percent",
        "source": "the card",
        "scores": [
            {"model": "model", "score": "micro", "value": 66.7, "note": "five shots"},
            {"model": "model", "score": "t", "value": 0.5, "unit": "fraction", "source": "a paper"},
            {"model": "other", "score": "micro", "value": 1},
            {"model": "model", "score": "micro", "value": None},
        ],
        "sanity": [{"model": "model", "score": "micro", "value": 60, "source": "a user"}],
    }
    packs = make_packs(tmp_path, {"micro": {"function": "micro", "task": "t"}}, published=content)
    scores = score_run(load_run(write_run(tmp_path / "out", {"t": ROWS})), packs)
    (score,) = scores.suite
    assert [(one.value, one.source, one.sanity) for one in score.published] == [
        (pytest.approx(0.667), "the card", False), (0.6, "a user", True),
    ]  # fmt: skip
    assert [(one.value, one.source) for one in scores.tasks[0].published] == [(0.5, "a paper")]
    out = io.StringIO()
    show(scores, out, width=80, subtasks=True)
    assert "0.6670 [2]" in out.getvalue()
    assert "[2] the card; five shots" in out.getvalue()
    assert max(map(len, out.getvalue().splitlines())) <= 80


def test_the_screen_says_each_remark_once_and_no_undefined_number():
    results = {
        "a": {"agg_value": 0.25, "notes": ["two texts were cut"], "skipped": {"too_long": 3}},
        "b": {
            "agg_value": 1e11,
            "interval": [0.0, 2e11],
            "undefined": True,
            "notes": "two texts were cut",
        },
        "c": {"agg_value": None, "reason": "nobody was asked"},
        "d": {"agg_value": None, "reason": "nobody was asked"},
    }
    suite = [
        SuiteScore(name, "p", name, "up", (0, 1), one["agg_value"], result=Result.of(one))
        for name, one in results.items()
    ]
    for score in suite:
        score.reason = score.result.reason or ""
    out = io.StringIO()
    show(Scores("run", "model", [], [], suite), out, width=80)
    text = out.getvalue()
    assert "c, d: nobody was asked" in text
    assert "a, b: two texts were cut" in text
    assert "a: 3 left out: too_long" in text
    assert "undefined" in text
    assert "e+11" not in text
    assert "published" not in text


SHIPPED = find_packs(Path(__file__).parents[3] / "task_templates")


@pytest.mark.parametrize("pack", SHIPPED.values(), ids=list(SHIPPED))
def test_shipped_packs_declare_a_graph_and_readable_published_values(pack):
    specs, content = read_specs(pack), pack.published
    own = [spec for spec in specs.values() if spec.function not in BUILT_IN]
    assert all(callable(resolve(spec, pack)) for spec in own)
    for entry in content.get("scores") or []:
        assert entry["score"] in specs or entry["score"] in pack.tasks
        models = entry["model"] if isinstance(entry["model"], list) else [entry["model"]]
        assert all(list(published_for(model, content)) for model in models)


def test_groups_pool_rows_and_average_tasks(tmp_path):
    tasks = {"t": ROWS, "u": [Row("z", 1.0), Row("zz", 1.0)]}
    run = load_run(
        write_run(tmp_path, tasks, extra={"group_subtasks": {"both": ["t", "u"], "one": ["t"]}})
    )
    (group,) = score_run(run).groups
    assert group.tasks == ["t", "u"]
    assert group.micro.value == pytest.approx(4 / 6)
    assert group.macro.value == pytest.approx(0.75)


EXPORT = """
import json
def export(*, scores, run, out_dir):
    path = out_dir / "OWN.json"
    path.write_text(json.dumps({name: result["agg_value"] for name, result in scores.items()}))
    return [path]
"""


def test_the_command_writes_scores_and_the_packs_own_files(tmp_path, capsys):
    make_packs(tmp_path, CODED, files={"score.py": SCORE_PY, "export.py": EXPORT})
    home = write_run(tmp_path / "out", {"t": ROWS})
    arguments = ["score", str(home), "--template_dir", str(tmp_path / "packs")]
    assert main(arguments) == 0
    assert "needs a reference run" in capsys.readouterr().out
    folder = home / f"scores_{STAMP}"
    assert json.loads((folder / "OWN.json").read_text())["share"] == 0.5
    assert (
        json.loads((folder / "scores.json").read_text())["results"]["toy/share"]["agg_value"] == 0.5
    )
    assert load_run(tmp_path / "out").files.stamp == STAMP  # our own files are not taken for a run
    assert main([*arguments, "--json", "--no-write", "--reference", str(home)]) == 0
    data = json.loads(capsys.readouterr().out)
    gap = next(score for score in data["suite"] if score["name"] == "gap")
    assert (gap["value"], gap["reason"]) == (None, "the run is its own reference")


APPENDING = """
from pathlib import Path
{flag}
def export(*, scores, run, out_dir):
    out_dir.mkdir(parents=True, exist_ok=True)
    file = out_dir / "MODEL.txt"
    file.write_text((file.read_text() if file.exists() else "") + run.label)
    return [file]
"""


@pytest.mark.parametrize(("flag", "kept"), [("", ["one", "two"]), ("SHARED = True", ["onetwo"])])
def test_several_runs_have_a_folder_each_unless_their_pack_keeps_them_apart(tmp_path, flag, kept):
    make_packs(
        tmp_path,
        {"m": {"function": "micro", "task": "t"}},
        files={"export.py": APPENDING.format(flag=flag)},
    )
    homes = [str(write_run(tmp_path / name, {"t": ROWS}, model=name)) for name in ("one", "two")]
    out = tmp_path / "scores"
    command = ["score", *homes, "--template_dir", str(tmp_path / "packs"), "--out", str(out)]
    assert main(command) == 0
    assert sorted(path.parent.name for path in out.rglob("scores.json")) == ["one", "two"]
    assert sorted(path.read_text() for path in out.rglob("MODEL.txt")) == kept
    # The same runs keep their folders; another run of the same name gets one of its own.
    other = str(write_run(tmp_path / "other", {"t": ROWS[:2]}, model="one"))
    assert main(command) == 0
    assert main([*command[:1], other, *command[2:], "--label", "one"]) == 0
    assert len(list(out.rglob("scores.json"))) == 3
    assert not list(out.glob("*.json"))


def test_a_run_without_scores_is_not_enough_evidence(tmp_path, capsys):
    home = write_run(tmp_path, {"t": [Row("a", metrics={"bypass": None})]})
    assert main(["score", str(home), "--no-write"]) == 3
    printed = capsys.readouterr().out
    assert "no pack has these tasks" in printed
    assert f"next: evalprep rescore {home}" in printed


def test_a_pack_that_nobody_named_is_told_with_its_folder(tmp_path, capsys):
    home = write_run(tmp_path, {"t": [Row("a")]}, metadata={"pack": "mine", "run": "r1"})
    packs = tmp_path / "my packs"
    for folder in ("FOLDER", f"'{packs}'"):
        record = {
            "schema": 2,
            "run": "r1",
            "tasks": {},
            "packs": {"mine": {"folder": str(packs / "mine")}},
        }
        (tmp_path / "run_r1.json").write_text(json.dumps(record))
        assert main(["score", str(home), "--no-write"]) == 0
        printed = " ".join(capsys.readouterr().out.split())
        assert (
            "suite scores and rules of the pack mine are not used, because no option names their "
            f"folder; add --template_dir {folder}" in printed
        )
        packs.mkdir(exist_ok=True)
    assert main(["report", str(home), "--format", "html"]) == 0
    assert "note: suite scores and rules of the pack mine are not used" in " ".join(
        capsys.readouterr().out.split()
    )


@pytest.mark.parametrize("stated", [3, 0])
def test_replies_that_state_an_answer_without_a_box_are_counted(tmp_path, capsys, stated):
    rows = [
        Row(f"r{at}", metrics={"exact_match": 1.0, "stated_without_box": float(at < stated)})
        for at in range(8)
    ]
    home = write_run(tmp_path, {"math": rows, "other": [Row("a")]})
    assert main(["score", str(home), "--no-write"]) == 0
    sentence = "math: 3 of 8 replies state an answer without a box"
    words = " ".join(capsys.readouterr().out.split())
    assert (sentence in words, "without a box" in words) == (stated > 0, stated > 0)
    assert main(["report", str(home), "--out", str(tmp_path / "r"), "--json"]) == 0
    assert (sentence in capsys.readouterr().out) == (stated > 0)


def test_a_filter_that_reads_boxes_alone_hides_no_answer_without_a_box(tmp_path, capsys):
    rows = [
        Row(f"r{at}", metrics={"exact_match": 1.0, "stated_without_box": 0.0}) for at in range(4)
    ]
    home = write_run(tmp_path, {"math": rows}, filters=("strict-match", "flexible-extract"))
    (samples,) = home.glob("samples_math_*.jsonl")
    lines = [json.loads(text) for text in samples.read_text().splitlines()]
    for content in lines:
        is_stated = content["filter"] == "flexible-extract" and content["doc_id"] < 2
        content["stated_without_box"] = float(is_stated)
    samples.write_text("".join(json.dumps(content) + "\n" for content in lines))
    assert main(["score", str(home), "--no-write"]) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert "math: 2 of 4 replies state an answer without a box" in words


@pytest.mark.parametrize(("previous", "verb"), [(None, "report"), (0.0, "compare")])
def test_what_to_do_next_depends_on_published_verdicts(tmp_path, capsys, previous, verb):
    home = write_run(tmp_path, {"t": [Row("a"), Row("b", previous=previous)]})
    assert main(["score", str(home), "--no-write", "--timestamp", "each"]) == 0
    assert f"next: evalprep {verb} {home} --timestamp each\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("names", "words"),
    [
        pytest.param(
            ["hellaswag"],
            "no pack has these tasks, so there is no suite score",
            id="of lm-eval itself",
        ),
        pytest.param(["scifact"], "scifact means scifact_entailment", id="short name"),
        pytest.param(["my_biored_ner"], "my_biored_ner means biored_ner", id="with a prefix"),
        pytest.param(["meta_mathh_hard"], "meta_mathh_hard means meta_math_hard", id="mistyped"),
        pytest.param(
            ["bioasq", "biored", "scierc", "scifact", "discomat"],
            "means discomat_te (2 more)",
            id="three are named",
        ),
        pytest.param(["scifact", "scierc_ner"], "", id="a pack has one of them"),
    ],
)
def test_tasks_of_no_pack_are_said_to_be_so(tmp_path, names, words):
    run = load_run(write_run(tmp_path, {name: [Row("a")] for name in names}))
    note = "".join(score_run(run, find_packs(PROJECT_ROOT / "task_templates")).notes)
    assert note.endswith(words) if words else not note
    assert ("rename" in note) == ("means" in words)


def test_exports_of_packs_without_scores_are_not_called(tmp_path):
    packs = make_packs(tmp_path, {}, files={"export.py": EXPORT})
    run = load_run(write_run(tmp_path / "out", {"t": ROWS}))
    assert export(score_run(run, packs), run, packs, tmp_path) == []


def test_a_failing_export_is_named_and_costs_no_scores(tmp_path):
    broken = "def export(**_):\n    raise RuntimeError('odd result')\n"
    packs = make_packs(
        tmp_path, {"m": {"function": "micro", "task": "t"}}, files={"export.py": broken}
    )
    run = load_run(write_run(tmp_path / "out", {"t": ROWS}))
    scores = score_run(run, packs)
    assert export(scores, run, packs, tmp_path) == []
    assert scores.notes == ["export.py of pack toy failed: RuntimeError: odd result"]


def test_a_failing_reader_of_references_is_bad_input(tmp_path):
    broken = "def load(path):\n    return 1 / 0\n"
    packs = make_packs(tmp_path, {}, files={"references.py": broken})
    (tmp_path / "log.json").write_text("{}")
    with pytest.raises(BadInput, match="ZeroDivisionError"):
        open_reference(tmp_path / "log.json", packs.values())


@pytest.mark.parametrize("verdict", [0.0, 1.0])
def test_rows_that_share_documents_and_all_agree_have_an_interval_with_width(verdict):
    from evalprep.score.builtin import Scored, micro

    clusters = np.array([0, 0, 0, 1, 1, 2])
    result = micro(
        Scored(np.full(6, verdict), np.ones(6), np.zeros(6, dtype=np.int64), ["t"], clusters, 0)
    )
    low, high = result.interval
    assert 0 <= low < high <= 1
    assert high - low == pytest.approx(0.5615, abs=1e-3)  # three documents, not six rows


def test_effective_size_never_exceeds_the_rows():
    from evalprep.score.builtin import Scored, micro

    values = np.array(
        [1.0, 0.0] * 10
    )  # each document has one right and one wrong row: the clustered error is 0
    result = micro(
        Scored(
            values, np.ones(20), np.zeros(20, dtype=np.int64), ["t"], np.repeat(np.arange(10), 2), 0
        )
    )
    low, high = result.interval
    assert low < 0.5 < high


@pytest.mark.parametrize("values", [[0.9] * 5, [1.0, 1.0, 0.9], [0.02, 0.0, 0.3, 0.0], [0.5, 1.0]])
def test_few_graded_rows_have_an_interval_between_0_and_1_that_is_no_point(values):
    from evalprep.score.builtin import Scored, macro, micro

    rows = Scored(
        np.array(values),
        np.ones(len(values)),
        np.zeros(len(values), dtype=np.int64),
        ["t"],
        None,
        0,
    )
    for result in (micro(rows), macro(rows)):
        assert 0 <= result.low < result.value < result.high <= 1


def test_a_pack_that_cannot_name_logs_is_told_with_its_line(tmp_path, capsys):
    references = "def logs(folder):\n    return 1 / 0\n\ndef load(path):\n    return None\n"
    make_packs(tmp_path, {}, files={"references.py": references})
    (tmp_path / "logs").mkdir()
    template_dir = str(tmp_path / "packs")
    assert main(["score", str(tmp_path / "logs"), "--template_dir", template_dir]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "ZeroDivisionError" in told
    assert "references.py:2" in told


def test_a_note_about_a_reference_that_fails_costs_no_score(tmp_path):
    references = (
        "def load(path):\n    return {'m': {'agg_value': 0.25}}\n\n"
        "def notes_on_unmatched(stated, applicable):\n    return 1 / 0\n"
    )
    packs = make_packs(
        tmp_path, {"m": {"function": "micro", "task": "t"}}, files={"references.py": references}
    )
    log = tmp_path / "log.json"
    log.write_text("{}")
    run = load_run(write_run(tmp_path / "out", {"t": ROWS}))
    scores = score_run(run, packs, reference=open_reference(log, packs.values()))
    assert [score.value for score in scores.suite] == [0.5]
    assert "references.py of pack toy failed: ZeroDivisionError: division by zero" in scores.notes
