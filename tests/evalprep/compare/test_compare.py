"""Comparisons: pairing, counts, verdicts, causes of flips, warnings, files and exit codes."""

import csv
import io
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalprep.cli import main
from evalprep.compare import compare_runs
from evalprep.compare.conclusion import concluded
from evalprep.compare.difference import difference
from evalprep.compare.identity import instruction_tuned, mismatch, parameters, published_source
from evalprep.compare.quantities import Quantity
from evalprep.compare.screen import show
from evalprep.errors import BadInput
from evalprep.results import load_run
from tests.effort import examples
from tests.evalprep.results.writing import Row, write_run

LATER = "2026-03-02T09-30-00.5"


def published(tmp_path, rows, **more):
    return compare_runs(load_run(write_run(tmp_path, {"t": rows}, **more)))


def two_runs(tmp_path, now, before, **more):
    home = write_run(tmp_path / "now", {"t": now}, stamp=LATER)
    other = write_run(tmp_path / "before", {"t": before})
    return compare_runs(load_run(home), load_run(other), **more)


def test_counts_against_published_verdicts(tmp_path):
    rows = [
        Row("a", 1, True),
        Row("b", 1, False),
        Row("c", 0, True),
        Row("d", 0, False),
        Row("e", 1),
        Row("f", 1, False),
    ]
    result = published(tmp_path, rows)
    (task,) = result.tasks
    item = task.difference
    assert (item.n, item.both, item.gained, item.lost, item.neither) == (5, 1, 2, 1, 1)
    assert (item.previous, item.now, item.agreement) == (0.4, 0.6, 0.4)
    assert item.delta == pytest.approx(0.2)
    assert item.mcnemar_p == 1.0
    assert result.rows["t"].odd["extra"] == ["e"]
    assert [(flip.sample_id, flip.direction) for flip in result.flips()] == [
        ("b", "gained"), ("c", "lost"), ("f", "gained"),
    ]  # fmt: skip


@settings(max_examples=examples(40), deadline=None)
@given(
    st.lists(
        st.tuples(st.booleans(), st.sampled_from([None, "x", "y"]), st.sampled_from([None, "d"])),
        min_size=1,
        max_size=30,
    )
)
def test_a_run_against_itself_has_no_flips_and_p_one(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("same")
    content = [Row(f"r{at}", float(ok), cluster=d, subtask=s) for at, (ok, s, d) in enumerate(rows)]
    result = two_runs(folder, content, content)
    (task,) = result.tasks
    assert list(result.flips()) == []
    assert (task.difference.delta, task.difference.p, task.p_holm) == (0.0, 1.0, 1.0)
    assert task.difference.mcnemar_p == 1.0
    assert task.difference.agreement == 1.0
    assert result.rows["t"].identical_outputs == len(rows)
    assert (task.verdict, result.overall.verdict) == ("no difference shown", "no difference shown")
    assert task.words.startswith(f"same verdict on all {len(rows)} row")


@settings(max_examples=examples(40), deadline=None)
@given(
    st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 5)), min_size=2, max_size=40)
)
def test_counts_add_up_and_swapping_turns_the_sign(pairs):
    now, before, cluster = (np.array(column) for column in zip(*pairs, strict=True))
    there = difference(now.astype(float), before.astype(float), cluster.astype(np.int64))
    back = difference(before.astype(float), now.astype(float), cluster.astype(np.int64))
    assert there.both + there.gained + there.lost + there.neither == there.n == len(pairs)
    assert there.delta == pytest.approx((there.gained - there.lost) / there.n)
    assert (there.gained, there.delta, there.p) == (back.lost, -back.delta, back.p)


def test_rows_of_two_runs_are_paired_by_id_whatever_their_order(tmp_path):
    now = [Row("c", 1), Row("a", 0), Row("new", 1), Row("b", 1)]
    before = [Row("a", 1), Row("b", 1), Row("c", 0), Row("gone", 1)]
    result = two_runs(tmp_path, now, before)
    item = result.tasks[0].difference
    assert (item.n, item.gained, item.lost) == (3, 1, 1)
    odd = result.rows["t"].odd
    assert (odd["extra"], odd["missing"]) == (["new"], ["gone"])


def test_repeated_ids_are_paired_by_prompt(tmp_path):
    now = [Row("q", 1, prompt="first"), Row("q", 0, prompt="second"), Row("q", 1, prompt="third")]
    before = [Row("q", 0, prompt="second"), Row("q", 1, prompt="first")]
    result = two_runs(tmp_path, now, before)
    (task,) = result.tasks
    assert (task.difference.n, task.difference.agreement) == (2, 1.0)
    odd = result.rows["t"].odd
    assert (odd["duplicates"], odd["extra"], odd["missing"]) == ([], ["q"], [])


def test_changed_prompts_are_named(tmp_path):
    now, before = [Row("a", 1, prompt="new"), Row("b", 1)], [Row("a", 0, prompt="old"), Row("b", 1)]
    result = two_runs(tmp_path, now, before)
    assert result.rows["t"].odd["changed_prompt"] == ["a"]
    assert any("prompt differs" in warning for warning in result.warnings)


def test_runs_that_name_rows_differently_meet_by_content(tmp_path):
    doc = {"id": "x", "question": "same"}
    now = [Row(None, 1, prompt="p", doc=doc), Row(None, 0, prompt="r", doc=doc)]  # `id` repeats
    before = [Row(None, 0, prompt="p", doc=doc)]
    (task,) = two_runs(tmp_path, now, before).tasks
    assert (task.difference.n, task.difference.gained) == (1, 1)
    assert any("by their content" in note for note in task.notes)


LONG = "word " * 60 + "and then"


@pytest.mark.parametrize(
    ("row", "cause"),
    [
        (Row("a", 0, True, sent="something else", published="A"), "prompt differs"),
        (Row("a", 0, True, response="A ", published="A"), "same output, other verdict"),
        (Row("a", 0, True, response=LONG, published="A"), "truncated"),
        (Row("a", 0, True, response=LONG + ".", published="A"), "answer differs"),
        (Row("a", 0, True, response="?", answer="[invalid]", published="A"), "extraction failed"),
        (
            Row("a", 0, True, metrics={"exact_match": 0.0, "unparsed": 1.0}, published="B"),
            "extraction failed",
        ),
        (
            Row("a", 0, True, metrics={"exact_match": 0.0, "truncated": 1}, published="B"),
            "truncated",
        ),
        (Row("a", 0, True, response="B", answer="B", published="A"), "answer differs"),
        (Row("a", 1, False, response="A", published="B"), "answer differs"),
    ],
    ids=[
        "prompt",
        "same output",
        "cut",
        "whole sentence",
        "invalid",
        "unparsed",
        "own metric",
        "answer",
        "gained",
    ],
)
def test_the_cause_of_a_flip(tmp_path, row, cause):
    result = published(tmp_path, [row])
    assert [flip.cause for flip in result.flips()] == [cause]
    assert result.rows["t"].causes == {cause: 1}


def test_the_limit_of_the_back_end_counts_where_no_request_names_one(tmp_path):
    folder = write_run(
        tmp_path, {"t": [Row("a", 0, True, response="word " * 200 + "and then", published="A")]}
    )
    (samples,), (results,) = folder.glob("samples_*"), folder.glob("results_*")
    samples.write_text(samples.read_text().replace(', "max_gen_toks": 100', ""))
    content = json.loads(results.read_text())
    content["config"] = {**content.get("config", {}), "model": "hf"}
    results.write_text(json.dumps(content))
    assert [flip.cause for flip in compare_runs(load_run(folder)).flips()] == ["truncated"]


def test_a_gain_over_another_run_is_explained_by_that_run(tmp_path):
    result = two_runs(tmp_path, [Row("a", 1)], [Row("a", 0, response="?", answer="[invalid]")])
    assert [flip.cause for flip in result.flips()] == ["extraction failed"]


def test_tokens_decide_on_truncation_where_the_tokenizer_is_at_hand(tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    model = tmp_path / "model"
    model.mkdir()
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    words.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    words.save(str(model / "tokenizer.json"))
    rows = [
        Row("at the limit", 0, True, response=" ".join(["w"] * 100), published="A"),
        Row("below", 0, True, response=" ".join(["word" * 20] * 90), published="A"),
    ]
    result = published(tmp_path, rows, model_args={"pretrained": str(model)})
    assert [flip.cause for flip in result.flips()] == ["truncated", "answer differs"]


def test_graded_scores_and_lower_is_better(tmp_path):
    now, before = (
        [Row("a", 0.5), Row("b", 0.2), Row("c", 0.9)],
        [Row("a", 0.4), Row("b", 0.3), Row("c", 0.9)],
    )
    (task,) = two_runs(tmp_path, now, before).tasks
    assert not task.difference.binary
    assert (task.difference.gained, task.difference.lost, task.difference.both) == (1, 1, 1)
    for results in tmp_path.rglob("results_*.json"):
        content = json.loads(results.read_text())
        content["higher_is_better"]["t"]["exact_match"] = False
        results.write_text(json.dumps(content))
    home = load_run(tmp_path / "now")
    turned = compare_runs(home, load_run(tmp_path / "before"))
    assert [flip.direction for flip in turned.flips()] == ["lost", "gained"]


def test_clusters_make_the_interval_of_their_documents(tmp_path):
    rows = [
        Row(f"{d}-{q}", float(d % 3 > 0), d % 2 == 0, cluster=f"d{d}")
        for d in range(30)
        for q in range(4)
    ]
    result = published(tmp_path, rows)
    (task,) = result.tasks
    assert task.difference.clusters == 30
    assert task.difference.test == "paired interval with unseen documents"
    alone = difference(result.rows["t"].pairs.now, result.rows["t"].pairs.before, None)
    assert task.difference.high - task.difference.low > 1.8 * (alone.high - alone.low)


def test_subtasks_and_macro(tmp_path):
    rows = [
        Row("a", 1, True, subtask="x"),
        Row("b", 0, True, subtask="y"),
        Row("c", 1, True, subtask="y"),
    ]
    task = published(tmp_path, rows).rows["t"]
    assert [(row.subtask, row.n, row.now) for row in task.subtasks] == [
        ("x", 1, 1.0),
        ("y", 2, 0.5),
    ]
    assert (task.macro_previous, task.macro_now) == (1.0, 0.75)


def test_a_clear_drop_is_worse_also_after_holm(tmp_path):
    rows = [Row(f"r{at}", float(at >= 30), True) for at in range(200)]
    same = [Row(f"r{at}", 1.0, True) for at in range(200)]
    result = compare_runs(load_run(write_run(tmp_path, {"bad": rows, "good": same})))
    bad, good = result.tasks
    assert (bad.verdict, good.verdict, result.overall.verdict) == (
        "worse",
        "no difference shown",
        "worse",
    )
    assert result.worse == ["bad", "mean of 2 of 2 tasks"]
    assert (result.pooled.verdict, result.pooled.p_holm) == ("", None)
    assert bad.p_holm == pytest.approx(3 * bad.difference.p)  # two tasks and their mean
    assert "15.0 points" in bad.words
    assert result.overall.difference.delta == pytest.approx(-0.075)


@pytest.mark.parametrize(
    ("now", "before", "p", "verdict"),
    [
        ([], [], None, "not enough evidence"),
        ([1], [1], 1, "no difference shown"),
        ([1, 0], [0, 1], 1, "no difference shown"),
        ([1], [0], 0.01, "better"),
    ],
    ids=["no pair", "equal", "unclear", "better"],
)
def test_verdicts_in_words(now, before, p, verdict):
    item = difference(np.array(now, dtype=float), np.array(before, dtype=float), None)
    assert concluded(Quantity("t", "task", item), p).verdict == verdict


@pytest.mark.parametrize(
    ("name", "size", "tuned"),
    [
        ("Llama-3.1-8B-Instruct", 8e9, True),
        ("Meta-Llama-3-70B", 70e9, False),
        ("SmolLM2-135M-Instruct-evals", 135e6, True),
        ("gemma-2-2b-it", 2e9, True),
        ("Mixtral-8x7B-v0.1", 56e9, False),
        ("qwen2.5_0.5b_chat", 0.5e9, True),
        ("model", None, False),
        ("suite-edit", None, False),
    ],
)
def test_names_tell_size_and_type(name, size, tuned):
    assert (parameters(name), instruction_tuned(name)) == (size, tuned)


def test_mismatch_needs_two_telling_names():
    assert mismatch("checkpoint-500", "Llama-3.1-8B-Instruct-evals") == []
    assert mismatch("Llama-3.1-8B-Instruct", "Llama-3.1-8B-Instruct-evals") == []
    assert [
        text.split(":")[0] for text in mismatch("Llama-3.1-8B", "Llama-3.1-70B-Instruct-evals")
    ] == ["size", "type"]


def test_published_data_of_another_model_are_warned_about(tmp_path):
    work_dir = tmp_path / "work_dir"
    data_file = str(work_dir / "pack" / "data" / "t.parquet")
    settings = {"task": "t", "dataset_kwargs": {"data_files": {"test": data_file}}}
    home = write_run(
        tmp_path / "out",
        {"t": [Row("a", 1, True)]},
        model_args={"pretrained": "meta/Llama-3.2-1B"},
        extra={"configs": {"t": settings}},
    )
    (work_dir / "pack" / "data").mkdir(parents=True)
    manifest = {"schema": 2, "sources": [{"location": "/somewhere/Llama-3.2-3B-Instruct-evals"}]}
    (work_dir / "manifest.json").write_text(json.dumps(manifest))
    run = load_run(home)
    assert published_source(run) == "Llama-3.2-3B-Instruct-evals"
    (warning,) = compare_runs(run).warnings
    assert "1B run, 3B published" in warning
    assert "only the published one is instruction-tuned" in warning


def test_bad_requests_are_refused_with_what_is_allowed(tmp_path):
    run = load_run(write_run(tmp_path / "a", {"t": [Row("x")]}))
    other = load_run(write_run(tmp_path / "b", {"u": [Row("x")]}))
    for request, word in (
        ({"metric": "nope"}, "exact_match"),
        ({"filter_name": "nope"}, "none"),
        ({"tasks": ["nope"]}, "t"),
        ({"other": other}, "u"),
    ):
        with pytest.raises(BadInput) as caught:
            compare_runs(run, **request)
        assert word in caught.value.problems[0].allowed
    with pytest.raises(BadInput, match="confidence"):
        compare_runs(run, confidence=1.5)


def cli(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    return code, capsys.readouterr().out


def test_the_command_prints_writes_and_returns(tmp_path, capsys):
    rows = [
        Row(f"r{at}", float(at >= 30), True, response='said "no",\nthen', prompt="=1+1")
        for at in range(200)
    ]
    home = write_run(tmp_path, {"name [with] brackets": rows})
    code, out = cli(capsys, "compare", home, "--subtasks")
    assert code == 1
    assert "name [with] brackets" in out
    assert cli(capsys, "compare", home, "--exit-zero")[0] == 0
    (file,) = home.glob("flips_*.csv")
    with file.open(newline="") as lines:
        found = list(csv.DictReader(lines))
    assert len(found) == 30
    assert list(found[0])[6:13] == [
        "baseline_score",
        "candidate_score",
        "target",
        "baseline_answer",
        "candidate_answer",
        "baseline_output",
        "candidate_output",
    ]
    assert (found[0]["baseline_score"], found[0]["candidate_score"]) == ("1.0", "0.0")
    assert found[0]["candidate_output"] == 'said "no",\nthen'
    code, out = cli(capsys, "compare", home, "--json", "--no_write")
    data = json.loads(out)
    assert data["tasks"][0]["lost"] == 30
    assert data["flips_file"] is None


def test_without_verdicts_there_is_not_enough_evidence(tmp_path, capsys):
    home = write_run(tmp_path, {"t": [Row("a")]})
    assert cli(capsys, "compare", home, "--no_write")[0] == 3
    assert cli(capsys, "compare", tmp_path / "nowhere")[0] == 2


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_json_is_strict_even_with_infinite_scores(tmp_path):
    result = two_runs(
        tmp_path, [Row("a", 1e308), Row("b", -1e308)], [Row("a", -1e308), Row("b", 1e308)]
    )
    json.dumps(result.to_dict(), allow_nan=False)


def test_tables_fit_eighty_columns(tmp_path):
    tasks = {
        f"a_rather_long_task_name_{at}": [Row("x", 1, True, subtask="s"), Row("y", 0, True)]
        for at in range(3)
    }
    result = compare_runs(load_run(write_run(tmp_path, tasks)))
    out = io.StringIO()
    show(result, out, subtasks=True, width=80)
    text = out.getvalue()
    assert max(map(len, text.splitlines())) <= 80
    for name in tasks:
        assert text.count(name) >= 2


def test_damaged_lines_are_a_warning(tmp_path):
    home = write_run(tmp_path, {"t": [Row("a", 1, True)]})
    (samples,) = home.glob("samples_*")
    with samples.open("a") as file:
        file.write('{"doc_id": 1, "doc"')
    result = compare_runs(load_run(home))
    assert result.rows["t"].odd["damage"] == ["line 2: cut off"]
    assert any("damaged" in warning for warning in result.warnings)


@pytest.mark.parametrize(("documents", "low"), [(50, True), (2, False)])
def test_documents_that_all_move_alike_show_something_only_where_they_are_many(documents, low):
    cluster = np.arange(4 * documents) // 4
    item = difference(np.zeros(4 * documents), np.ones(4 * documents), cluster)
    assert (item.p < 0.05 and item.has_enough_changed) == low


def test_a_reply_in_the_flips_file_is_no_formula(tmp_path):
    home = write_run(
        tmp_path, {"t": [Row("a", 0.0, True, response="=1+1", answer="@SUM(A1)", prompt="-2+3?")]}
    )
    path = tmp_path / "flips.csv"
    assert main(["compare", str(home), "--out", str(path), "--exit-zero"]) == 0
    (row,) = csv.DictReader(io.StringIO(path.read_text()))
    assert (row["candidate_output"], row["candidate_answer"], row["prompt"]) == (
        "'=1+1",
        "'@SUM(A1)",
        "'-2+3?",
    )


def test_a_run_without_published_verdicts_says_so(tmp_path, capsys):
    home = write_run(tmp_path, {"one": [Row("a")], "two": [Row("b")]})
    assert main(["compare", str(home), "--no_write"]) == 3
    shown = " ".join(capsys.readouterr().out.split())
    assert "one, two: no row carries a published verdict (doc.previously_is_correct)" in shown
    assert "Verdicts" not in shown
