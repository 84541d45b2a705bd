"""What every verb says of runs with odd rows: doubled, unscored, empty, shared, out of range, not fetched."""

import json
from pathlib import Path

import pytest

from evalprep.cli import main
from tests.evalprep.compare.small_runs import Task, two_small_runs, verdicts
from tests.evalprep.results.writing import Row, write_run

EQUAL = [float(at % 2) for at in range(200)]
POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'a' * 64}\nsize 12345\n"


def pair(folder, now, before):
    return two_small_runs(folder, {"t": now}, {"t": before})


@pytest.fixture
def said(tmp_path, run_verb):
    """Exit code and what a verb says of two runs, on one line."""

    def run(verb, homes, *options, policy="defaults: {max_drop: 0.02}"):
        if verb == "gate":
            path = tmp_path / "policy.yaml"
            path.write_text(policy, encoding="utf-8")
            options = ("--policy", path, *options)
        if verb == "score":
            homes, options = homes[:1], ("--no_write", *options)
        if verb == "compare":
            options = ("--no_write", *options)
        code, out = run_verb(verb, *homes, *options)
        return code, " ".join(out.split())

    return run


def samples_of(home):
    (path,) = Path(home).glob("samples_*")
    return path


# rows that occur twice


@pytest.fixture
def doubled(tmp_path):
    """The candidate has its first ten rows twice, with other replies."""
    homes = pair(tmp_path, Task({"acc": EQUAL}), Task({"acc": EQUAL}))
    path = samples_of(homes[0])
    lines = path.read_text().splitlines()
    again = [line.replace('"resps": [["A', '"resps": [["B') for line in lines[:10]]
    path.write_text("\n".join([*lines, *again]) + "\n")
    return homes


def test_score_names_rows_that_occur_twice(said, doubled):
    assert "t: 10 ids occur more than once; each of their rows counts" in said("score", doubled)[1]


def test_the_leaderboard_marks_the_run_with_doubled_rows_and_not_the_other(run_verb, doubled):
    data = json.loads(run_verb("leaderboard", *doubled, "--json")[1])
    standings = {row["label"]: row["cells"]["t"]["standing"] for row in data["rows"]}
    assert [bool(standings[label]) for label in ("model, now", "model, before")] == [True, False]
    (row,) = [row for row in data["rows"] if row["label"] == "model, now"]
    assert row["cells"]["t"]["why"] == ["20 of 210 rows of t occur more than once"]


def test_why_rows_are_missing_names_each_id_once(said, doubled):
    _, out = said("compare", doubled)
    assert out.count("cfd190a2") == 1
    assert out.count("10 of 200 expected rows are missing (10 ids occur twice)") == 1


# rows without a score


def test_rows_of_another_metric_without_a_score_are_named(said, tmp_path):
    odd = [float("inf") if at % 10 == 0 else value for at, value in enumerate(EQUAL)]
    homes = pair(tmp_path, Task({"acc": EQUAL, "rouge": odd}), Task({"acc": EQUAL, "rouge": EQUAL}))
    sentence = "t: rouge: 20 rows have no finite score; the others are compared"
    assert sentence in said("compare", homes)[1]
    assert sentence in said("gate", homes)[1]


@pytest.mark.parametrize("rows", [[str(value) for value in EQUAL], [None] * len(EQUAL)])
def test_without_scored_rows_the_mean_lacks_evidence_and_not_a_scale(said, tmp_path, rows):
    homes = pair(tmp_path, Task({"acc": rows}), Task({"acc": EQUAL}))
    code, out = said("compare", homes)
    assert code == 3
    assert "overall: not computed, because there is not enough evidence on t" in out


def test_an_empty_run_does_not_name_its_rows_differently(said, tmp_path):
    homes = pair(tmp_path, Task({"acc": EQUAL}), Task({"acc": EQUAL}))
    samples_of(homes[0]).write_text("")
    for verb in ("compare", "gate"):
        code, out = said(verb, homes)
        assert code == 3
        assert "name their rows differently" not in out
    assert "t (no pairs): no row was scored on both sides" in out


def test_a_single_pair_is_one_pair(said, tmp_path):
    homes = pair(tmp_path, Task({"acc": [0.0]}), Task({"acc": [1.0]}))
    assert "t (1 pair): 1 pair, 20 are needed" in said("gate", homes)[1]


# rows that share documents


@pytest.fixture
def documents(tmp_path):
    def task(values):
        return Task({"acc": values}, doc=lambda at: {"document_id": at // 10})

    return pair(tmp_path, task(verdicts(120, lost=20)), task([1.0] * 20 + verdicts(100)))


def test_score_names_the_option_for_shared_documents(said, documents):
    note = "t: 120 rows share 12 values of document_id; `--cluster document_id` counts each as one"
    assert note in said("score", documents)[1]
    assert note not in said("score", documents, "--cluster", "document_id")[1]


@pytest.mark.parametrize("verb", ["compare", "gate", "score", "leaderboard"])
def test_few_documents_are_named_in_every_verb(said, documents, verb):
    _, out = said(verb, documents, "--cluster", "document_id")
    assert "t: few documents: 12; an interval over so few says little" in out


def test_a_rough_plan_over_documents_speaks_of_documents(said, documents):
    _, out = said("gate", documents, "--cluster", "document_id")
    assert "(rough: few documents changed)" in out


# values out of range, rows that all change alike


def test_the_leaderboard_marks_the_run_whose_values_leave_the_range(run_verb, tmp_path):
    odd = [*EQUAL[:-1], 7.0]
    homes = pair(tmp_path, Task({"acc": odd}), Task({"acc": EQUAL}))
    rows = json.loads(run_verb("leaderboard", *homes, "--json")[1])["rows"]
    standings = {row["label"]: bool(row["cells"]["t"]["standing"]) for row in rows}
    assert standings == {"model, now": True, "model, before": False}


def test_the_leaderboard_names_the_pair_that_a_reason_is_about(said, tmp_path):
    rewards = [3.0 + at % 5 for at in range(200)]
    homes = pair(
        tmp_path, Task({"reward": [value - 3 for value in rewards]}), Task({"reward": rewards})
    )
    reason = "model, before against model, now: every one of 200 rows changed by +3"
    assert reason in said("leaderboard", homes)[1]


# each reason once


def test_a_reason_that_the_closing_line_gives_is_printed_once(said, tmp_path):
    homes = pair(tmp_path, Task({"acc": EQUAL}, gold=lambda _: "B"), Task({"acc": EQUAL}))
    code, out = said("compare", homes)
    assert code == 3
    assert out.count("gold answers differ on 200 of 200 rows") == 1


def test_other_choices_are_not_called_another_prompt(said, tmp_path):
    def task(choices):
        return Task({"acc": EQUAL}, config={"doc_to_choice": choices})

    code, out = said("compare", pair(tmp_path, task(["a", "b"]), task(["A", "B"])))
    assert code == 3
    assert "the prompt template differs in its choices (doc_to_choice); `--allow template" in out
    assert "0 of 200 prompts differ" not in out


def test_choices_whose_function_was_formatted_anew_are_the_same(said, tmp_path):
    def task(function):
        return Task({"acc": EQUAL}, config={"doc_to_choice": function})

    functions = (
        "def choices(doc):\n    return ['a','b']",
        "def choices(doc):\n    return ['a', 'b']\n",
    )
    code, out = said("compare", pair(tmp_path, *map(task, functions)))
    assert code == 0
    assert "the prompt template differs" not in out


# files that were not fetched, policies


@pytest.mark.parametrize("verb", ["compare", "gate", "score", "leaderboard"])
def test_a_results_file_that_was_not_fetched_is_named(said, tmp_path, verb):
    homes = pair(tmp_path, Task({"acc": EQUAL}), Task({"acc": EQUAL}))
    (results,) = Path(homes[0]).glob("results_*")
    results.write_text(POINTER)
    _, out = said(verb, homes)
    assert f"{results.name} is a pointer of Git LFS" in out
    assert "git lfs pull fetches the files" in out
    assert "no results file of this time stamp" not in out


def test_a_limit_that_is_a_mapping_is_no_list_of_names(said, tmp_path):
    homes = pair(tmp_path, Task({"acc": EQUAL}), Task({"acc": EQUAL}))
    code, out = said("gate", homes, policy="defaults: {max_drop: {t: 1}}")
    assert code == 2
    assert "max_drop takes one value, and has a mapping" in out
    assert "a number of points (2 points), a number >= 0 on the scale of the score" in out


def test_every_row_changed_alike_is_named_among_several_tasks(said, tmp_path):
    losses = [0.2 + at % 7 / 10 for at in range(200)]

    def tasks(shift):
        shifted = Task({"error": [value + shift for value in losses]}, {"error": False})
        return {"x": shifted, "y": Task({"acc": EQUAL})}

    homes = two_small_runs(tmp_path, tasks(0.02), tasks(0.0))
    _, out = said("compare", homes)
    assert "x: every one of 200 rows changed by +2.0 points; no difference shown in the mean" in out


# policies that leave something out


@pytest.fixture
def one_worse(tmp_path):
    def tasks(first):
        return {"a": Task({"acc": EQUAL}), "c": Task({"acc": first})}

    return two_small_runs(
        tmp_path, tasks(verdicts(200, lost=30)), tasks([1.0] * 30 + verdicts(170))
    )


def test_a_worse_task_without_a_rule_is_named(said, one_worse):
    code, out = said("gate", one_worse, policy="tasks: {a: {}}")
    assert code == 0
    assert "pass, but c worse by 15.0 points (advisory; the policy has no rule for it)" in out


@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        ("tasks: {}", "the policy names no check"),
        ("defaults: {level: advisory}", "every check of the policy is advisory"),
    ],
)
def test_a_policy_that_requires_nothing_is_told_so(said, one_worse, policy, reason):
    code, out = said("gate", one_worse, policy=policy)
    assert code == 3
    assert f"not enough evidence, and {reason}" in out


def test_an_overall_check_says_how_many_tasks_it_covers(said, tmp_path):
    before = {"a": Task({"acc": EQUAL}), "hard": Task({"acc": EQUAL})}
    homes = two_small_runs(tmp_path, {"a": Task({"acc": EQUAL})}, before)
    code, out = said("gate", homes, policy="{allow_missing: [hard], overall: {}}")
    assert code == 0
    assert "overall (200 pairs): mean of 1 of 2 tasks: no change" in out


@pytest.fixture
def headline(tmp_path):
    """A task of lm-eval whose metric in the field is acc_norm, which is worse."""

    def task(norm):
        return {"hellaswag": Task({"acc": EQUAL, "acc_norm": norm})}

    return two_small_runs(tmp_path, task(verdicts(200, lost=30)), task([1.0] * 30 + verdicts(170)))


@pytest.mark.parametrize(
    ("options", "policy", "expected"),
    [
        ((), "tasks: {hellaswag: {}}", (1, "its metric is acc_norm")),
        ((), "tasks: {hellaswag: {metric: acc}}", (0, "acc_norm worse by 15.0 points (advisory)")),
        (("--metric", "hellaswag=acc"), "tasks: {hellaswag: {metric: acc_norm}}", (0, "pass, but")),
        (("--metric", "acc"), "tasks: {hellaswag: {metric: acc_norm}}", (1, "drop of 15.0 points")),
        (("--metric", "hellaswag=acc@none"), "tasks: {hellaswag: {}}", (0, "pass, but acc_norm")),
    ],
)
def test_the_metric_of_a_gate_is_the_command_lines_then_the_rules(
    said, headline, options, policy, expected
):
    code, out = said("gate", headline, *options, policy=policy)
    assert code == expected[0]
    assert expected[1] in out
    if options:
        assert "its metric is acc_norm" not in out


# scores over all rows


def translations(short):
    """Pairs of reference and reply, every third of them of two words."""
    reference = "the cat sat on the mat today"
    replies = ["the dog" if at % 3 == 0 else "the cat sat on the mat now" for at in range(60)]
    rows = [[reference, reply if short else reference] for reply in replies]
    return Task({"bleu": rows}, stored={"bleu,none": 57.25 if short else 100.0})


def test_short_replies_do_not_blow_up_the_interval_of_bleu(tmp_path, run_verb):
    homes = pair(tmp_path, translations(short=True), translations(short=False))
    code, out = run_verb("compare", *homes, "--no_write", "--json")
    (task,) = json.loads(out)["tasks"]
    assert code == 1
    assert task["verdict"] == "worse"
    assert task["delta"] == pytest.approx(-42.748, abs=1e-3)
    assert -70 < task["low"] < -42.748 < task["high"] < -15
    assert task["range"] == 100


def test_an_interval_ends_where_the_scale_does(tmp_path, run_verb):
    few = [["a b c d", "a b c d"]] * 3 + [["a b c d", "x"]]
    homes = pair(
        tmp_path,
        Task({"bleu": few}, stored={"bleu,none": 60.0}),
        Task({"bleu": [["a b c d", "a b c d"]] * 4}, stored={"bleu,none": 100.0}),
    )
    (task,) = json.loads(run_verb("compare", *homes, "--no_write", "--json")[1])["tasks"]
    assert -100 <= task["low"] < task["high"] <= 100


def test_the_slack_of_a_corpus_score_is_a_share_of_its_scale(said, tmp_path):
    def task(every):
        rows = [[at % 2, 1 - at % 2 if at % every == 0 else at % 2] for at in range(200)]
        return Task({"f1": rows}, stored={"f1,none": 0.8})

    _, out = said("gate", pair(tmp_path, task(5), task(7)))
    assert "a drop beyond 7.0 points is neither shown nor ruled out" in out


def test_a_score_out_of_a_hundred_without_a_test_is_no_share(said, tmp_path):
    def task(value):
        return Task({"bleu": [["a", 1, 2]] * 60}, stored={"bleu,none": value})

    code, out = said("compare", pair(tmp_path, task(55.0), task(60.0)))
    assert code == 3
    assert "5500" not in out


def test_scores_too_large_to_add_up_are_no_fault(said, tmp_path):
    def task(odd):
        return Task({"reward": [1e308 * (at % 2 == odd) for at in range(100)]})

    homes = pair(tmp_path, task(1), task(0))
    for verb in ("compare", "gate", "leaderboard"):
        assert said(verb, homes)[0] == 3


def test_a_loss_below_1_is_no_share_and_in_no_mean(tmp_path, capsys):
    def side(change):
        losses = [0.2 + at % 7 / 20 + change * (at % 2) for at in range(300)]
        alike = [float(at % 2) for at in range(300)]
        return {
            "one": Task({"acc": verdicts(300, gained=30) if change else [0.0] * 30 + alike[:270]}),
            "two": Task({"acc": alike}),
            "text": Task({"loss": losses}, {"loss": False}),
        }

    homes = two_small_runs(tmp_path, side(0.1), side(0.0))
    main(["compare", *homes, "--no_write", "--json"])
    compared = json.loads(capsys.readouterr().out)
    loss = {item["name"]: item for item in compared["tasks"]}["text"]
    assert (loss["unit"], loss["verdict"], loss["words"]) == (
        "",
        "worse",
        "worse by 0.05 (p < 1e-4)",
    )
    assert compared["overall"]["name"] == "mean of 2 of 3 tasks"
    assert compared["overall"]["delta"] == pytest.approx(0.05)
    main(["score", homes[0], "--no_write", "--json"])
    units = {task["task"]: task["unit"] for task in json.loads(capsys.readouterr().out)["tasks"]}
    assert units == {"one": "share", "two": "share", "text": ""}
    main(["leaderboard", *homes])
    head = capsys.readouterr().out.partition("───")[0]
    assert "text: loss ↓" in " ".join(head.split())


# rows on which the scorer failed


@pytest.fixture
def half_failed(tmp_path):
    """The scorer of the candidate failed on the second half of its rows."""
    failed = [0.0] * 100 + [1.0] * 100
    scores = [*EQUAL[:100], *[0.0] * 100]
    now = Task({"acc": scores, "scorer_error": failed}, directions={"scorer_error": False})
    return pair(tmp_path, now, Task({"acc": EQUAL, "scorer_error": [0.0] * 200}))


def test_a_scorer_that_failed_does_not_make_a_model_worse(said, half_failed):
    code, text = said("compare", half_failed)
    assert code == 3
    assert "candidate: the scorer failed on 100 of 200 replies" in text
    assert "t 100 50.0 50.0 0 0" in text
    assert "worse by" not in text


@pytest.mark.parametrize("verb", ["score", "leaderboard"])
def test_a_scorer_that_failed_is_named_in_every_verb(said, half_failed, verb):
    assert "the scorer failed on 100 of 200 replies" in said(verb, half_failed)[1]


def test_a_gate_does_not_pass_or_fail_on_replies_that_nobody_scored(said, half_failed):
    code, text = said("gate", half_failed)
    assert code == 3
    assert "the scorer failed on 100 of 200 replies" in text


def test_a_metric_of_a_known_name_on_another_scale(tmp_path, capsys):
    """squadv2 computes exact and f1 of all rows in percent; its rows hold prediction and answer."""
    for name, score in (("now", 68.0), ("before", 77.0)):
        pairs = [[{"id": at, "prediction_text": name}, {"id": at}] for at in range(20)]
        rows = [
            Row(f"q{at}", metrics=dict.fromkeys(("exact", "f1"), pairs[at])) for at in range(20)
        ]
        values = {"alias": "squad", "exact,none": score, "f1,none": score}
        write_run(tmp_path / name, {"squad": rows}, extra={"results": {"squad": values}})
    now, before = (str(tmp_path / name) for name in ("now", "before"))
    assert main(["score", now, "--no-write"]) == 0
    assert "6800" not in capsys.readouterr().out
    assert main(["compare", now, before, "--no-write"]) == 3
    assert "6800" not in capsys.readouterr().out
    policy = tmp_path / "policy.yaml"
    policy.write_text("defaults: {max_drop: 2%}")
    assert main(["gate", now, before, "--policy", str(policy)]) == 3
    assert "what the rows of exact add to it is not known" in " ".join(
        capsys.readouterr().out.split()
    )


def keep_groups_alone(home, value):
    """Takes the tasks and samples out of a run, as people do who pass on the numbers of a paper."""
    (results,) = Path(home).glob("results_*")
    content = json.loads(results.read_text())
    values = {"g": {"acc,none": value, "acc_stderr,none": 0.02}}
    content |= {"groups": values, "results": values, "group_subtasks": {"g": ["t", "u"]}}
    content |= {"configs": {}, "n-samples": {}, "higher_is_better": {"g": {"acc": True}}}
    results.write_text(json.dumps(content))
    for samples in Path(home).glob("samples_*"):
        samples.unlink()


def test_results_of_a_group_alone_are_stored_scores(said, run_verb, tmp_path):
    tasks = {name: Task({"acc": EQUAL}) for name in ("t", "u")}
    homes = two_small_runs(tmp_path, tasks, tasks)
    for home, value in zip(homes, (0.5, 0.7), strict=True):
        keep_groups_alone(home, value)
    assert "g acc ↑ - 50.0 2.0" in said("score", homes)[1]
    assert "g: acc 50.0 % 70.0 % -20.0 [-25.5, -14.4] points" in said("compare", homes)[1]
    code, out = said("gate", homes)
    assert code == 1
    assert "g" in out
    _, board = run_verb("leaderboard", *homes, "--out", tmp_path / "board")
    assert "70.0" in board
    code, _ = run_verb("report", *homes, "--out", tmp_path / "page")
    assert code == 0


def test_a_group_with_a_task_is_no_stored_score(said, tmp_path):
    tasks = {name: Task({"acc": EQUAL}) for name in ("t", "u")}
    homes = two_small_runs(tmp_path, tasks, tasks)
    (results,) = Path(homes[0]).glob("results_*")
    content = json.loads(results.read_text())
    groups = {"groups": {"g": {"acc,none": 0.5}}, "group_subtasks": {"g": ["t", "u"]}}
    results.write_text(json.dumps(content | groups))
    assert "without samples" not in said("score", homes)[1]


def test_a_note_on_one_side_names_the_side(said, tmp_path):
    tasks = {name: Task({"acc": EQUAL}) for name in ("t", "u")}
    homes = two_small_runs(tmp_path, tasks, tasks)
    samples = next(Path(homes[0]).glob("samples_u_*"))
    samples.unlink()
    assert "candidate: no samples file of u" in said("compare", homes)[1]
    next(Path(homes[1]).glob("samples_u_*")).unlink()
    out = said("compare", homes)[1]
    assert "no samples file of u" in out
    assert "candidate: no samples file" not in out
