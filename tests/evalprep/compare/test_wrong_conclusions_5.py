"""The third round of wrong conclusions: what nobody reads, and columns that are not there."""

import json

import pytest

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
