"""The third round of wrong conclusions: what nobody reads, and columns that are not there."""

import json

import pytest

from tests.evalprep.compare.small_runs import Task, write_small_run
from tests.evalprep.readers.logs import evalscope_review, write_evalscope

ROWS = [
    {
        "id": f"q{at}",
        "frage": f"Is {at} even?",
        "res": {"correct": at % 3 > 0, "all": [{"acc": at % 2}]},
        "res.all": at % 5 == 0,
    }
    for at in range(60)
]
VERBS = ("compare", "score", "samples", "report", "leaderboard", "gate")


def written(path, rows, form):
    if form == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    elif form == "json":
        path.write_text(json.dumps(rows), encoding="utf-8")
    else:
        pyarrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    return path


@pytest.fixture(params=["jsonl", "json", "parquet"])
def tables(tmp_path, request):
    """Two tables, of which the first has five rows more right."""
    before = [{**row, "res": {**row["res"], "correct": False}} for row in ROWS[:5]] + ROWS[5:]
    return [
        written(tmp_path / f"{name}.{request.param}", rows, request.param)
        for name, rows in (("now", ROWS), ("before", before))
    ]


def arguments(verb, runs, folder):
    if verb in {"score", "samples"}:
        return [verb, runs[0], *(["--no-write"] if verb == "score" else [])]
    if verb == "report":
        return [verb, runs[0], "--baseline", runs[1], "--out", folder / "page"]
    if verb == "gate":
        policy = folder / "policy.yaml"
        policy.write_text("{}", encoding="utf-8")
        return [verb, *runs, "--policy", policy]
    return [verb, *runs]


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("columns", "missing", "near"),
    [
        ("score=nonsense,id=id", "nonsense", ""),
        ("score=res.korrect,id=id", "res.korrect", "did you mean res.correct"),
        ("score=res.correct,question=fraeg", "fraeg", "did you mean frage"),
        ("score=res.correct,id=id,response=res.all.7", "res.all.7", ""),
    ],
)
def test_w60_a_column_that_is_not_there_is_named(
    tmp_path, tables, run_verb, verb, columns, missing, near
):
    code, out = run_verb(*arguments(verb, tables, tmp_path), "--columns", columns)
    assert code == 2
    assert f"no column '{missing}'" in out
    assert "allowed: frage, id, res, res.all, res.correct" in out
    assert near in out
    assert "neither questions nor prompts" not in out


@pytest.mark.parametrize("verb", VERBS)
def test_w60_columns_take_nested_paths(tmp_path, tables, run_verb, verb):
    columns = "score=res.correct,question=frage"
    code, out = run_verb(*arguments(verb, tables, tmp_path), "--columns", columns)
    assert code in {0, 1, 3}
    assert "no column" not in out


def scored(run_verb, table, score):
    code, out = run_verb(
        "score", table, "--columns", f"score={score},id=id", "--json", "--no-write"
    )
    assert code == 0
    return json.loads(out)["tasks"][0]["micro"]["agg_value"]


def test_w60_values_of_paths_count_and_a_column_of_that_name_comes_first(tables, run_verb):
    assert scored(run_verb, tables[0], "res.correct") == pytest.approx(2 / 3)
    assert scored(run_verb, tables[1], "res.correct") == pytest.approx(37 / 60)
    assert scored(run_verb, tables[0], "res.all.0.acc") == pytest.approx(1 / 2)
    assert scored(run_verb, tables[0], "res.all") == pytest.approx(1 / 5)


def test_w60_a_column_that_only_late_rows_have_is_there(tmp_path, run_verb):
    rows = [{"id": at, "acc": at % 2} for at in range(300)]
    rows[290]["text"] = "late"
    table = written(tmp_path / "late.jsonl", rows, "jsonl")
    columns = ["--columns", "score=acc,id=id,response=text"]
    assert run_verb("score", table, *columns, "--no-write")[0] == 0


def test_w60_a_column_that_some_rows_have_is_no_path_in_the_others(tmp_path, run_verb):
    rows = [{"id": at, "a.b": 1} for at in range(10)]
    rows += [{"id": at, "a": {"b": 0}} for at in range(10, 20)]
    table = written(tmp_path / "mixed.jsonl", rows, "jsonl")
    assert scored(run_verb, table, "a.b") == 1


def without_blanks(text):
    """A text without the blanks that the width of a screen puts into long paths."""
    return "".join(text.split())


def lay_out(folder):
    """Two runs with samples, each beside files that are not read with them."""
    for name in ("now", "before"):
        home = folder / name
        write_small_run(home / "org__m", {"a": Task({"acc": [0.0, 1.0] * 20})}, date=len(name))
        for file, content in STRANGERS.items():
            (home / file).write_text(json.dumps(content), encoding="utf-8")
        write_evalscope(home / "evalscope", "m", [evalscope_review(at) for at in range(3)])
    return [folder / "now", folder / "before"]


STRANGERS = {
    "squad.json": {"results": {"squad2": {"exact": 10.0, "f1": 20.0}}, "versions": {"squad2": 1}},
    "evaluation_results.json": {"humaneval": {"pass@1": 0.3}, "config": {"model": "org/m"}},
    "unknown.json": {"results": {"task": {"accuracy": 0.5}}},
    "model.json": {"hidden_size": 768, "layers": {"norm": 1e-5}},
}
NAMED = {
    "squad.json": "scores of lm-eval without samples",
    "evaluation_results.json": "scores of bigcode without samples",
    "unknown.json": "a JSON file with the keys results",
    "ice_default.jsonl": "results of the format evalscope",
}


@pytest.mark.parametrize("verb", VERBS)
def test_w59_files_that_are_not_read_are_named_with_what_they_are(tmp_path, run_verb, verb):
    code, out = run_verb(*arguments(verb, lay_out(tmp_path), tmp_path))
    assert code in {0, 1, 3}
    for name, what in NAMED.items():
        assert without_blanks(name) in without_blanks(out)
        assert without_blanks(what) in without_blanks(out)
    for name in ("model.json", "predictions", "reports", "task_config"):
        assert name not in out


@pytest.mark.parametrize("verb", ["score", "leaderboard", "report"])
def test_w59_a_folder_of_runs_and_other_results_names_these(tmp_path, run_verb, verb):
    write_small_run(tmp_path / "runs" / "a", {"a": Task({"acc": [0.0, 1.0] * 20})})
    (tmp_path / "runs" / "b").mkdir()
    file = tmp_path / "runs" / "b" / "evaluation_results.json"
    file.write_text(json.dumps(STRANGERS[file.name]), encoding="utf-8")
    options = ["--out", tmp_path / "page"] if verb == "report" else []
    code, out = run_verb(verb, tmp_path / "runs", *options)
    assert code == 0
    said = "b/evaluation_results.json (scores without samples, beside runs"
    assert without_blanks(said) in without_blanks(out)


@pytest.mark.parametrize("verb", VERBS)
def test_w59_a_folder_that_nobody_reads_is_refused_with_its_files(tmp_path, run_verb, verb):
    homes = [tmp_path / "now", tmp_path / "before"]
    report = {"dataset_name": "ice", "model_name": "m", "metrics": []}
    for home in homes:
        home.mkdir()
        (home / "ice.json").write_text(json.dumps(report), encoding="utf-8")
    code, out = run_verb(*arguments(verb, homes, tmp_path))
    assert code == 2
    said = "now/ice.json (a report of evalscope, which has scores without samples)"
    assert without_blanks(said) in without_blanks(out)


def stored(run_verb, verb, homes, folder):
    code, out = run_verb(*arguments(verb, homes, folder))
    assert code in {0, 3}
    return out


@pytest.mark.parametrize("verb", ["compare", "score", "report", "leaderboard"])
@pytest.mark.parametrize("file", ["squad.json", "evaluation_results.json"])
def test_w59_scores_alone_are_stored_scores(tmp_path, run_verb, verb, file):
    homes = [tmp_path / "now", tmp_path / "before"]
    for home in homes:
        home.mkdir()
        (home / file).write_text(json.dumps(STRANGERS[file]), encoding="utf-8")
    out = stored(run_verb, verb, homes, tmp_path)
    if verb == "compare":
        assert "not enough evidence" in out
    elif verb != "report":
        assert ("squad2" if file == "squad.json" else "humaneval") in out


@pytest.mark.parametrize("verb", VERBS)
def test_w59_reviews_of_evalscope_are_rows(tmp_path, run_verb, verb):
    homes = [tmp_path / "now", tmp_path / "before"]
    for home in homes:
        write_evalscope(home, home.name, [evalscope_review(at, at % 2) for at in range(40)])
    code, out = run_verb(*arguments(verb, homes, tmp_path))
    assert code in {0, 3}
    if verb not in {"report", "gate"}:
        assert "ice" in out
    assert "not read" not in out
