"""Every metric counts, and nothing missing passes: each case from files on disk through the command line."""

import json

import pytest

from tests.evalprep.compare.small_runs import Task, two_small_runs, verdicts


@pytest.fixture
def gate(tmp_path, run_verb):
    def run(homes, policy="{}", *options):
        path = tmp_path / "policy.yaml"
        path.write_text(policy, encoding="utf-8")
        return run_verb("gate", *homes, "--policy", path, *options)

    return run


def both(**metrics):
    """The same task on both sides."""
    return Task(metrics), Task(metrics)


def compare(run_verb, homes, *options):
    return run_verb("compare", *homes, "--no_write", *options)


def data_of(run_verb, homes, *options):
    return json.loads(compare(run_verb, homes, "--json", *options)[1])


EQUAL = [float(at % 2) for at in range(300)]
WIDE = "{defaults: {max_drop: 0.05, slack: 0.1}}"


# W22: a task that one side lacks
def test_a_task_that_the_candidate_lacks_is_no_pass(tmp_path, gate, run_verb):
    task, same = both(acc=EQUAL)
    homes = two_small_runs(tmp_path, {"a": task}, {"a": same, "hard": same})
    code, out = gate(homes, WIDE)
    assert code == 3
    assert "not enough evidence" in out
    assert "the candidate has no hard" in out
    assert gate(homes, "{defaults: {max_drop: 0.1}, allow_missing: [hard]}")[0] == 0
    both_keys = "{defaults: {max_drop: 0.1}, allow_missing: [hard], required: [hard]}"
    assert gate(homes, both_keys)[0] == 3
    code, out = compare(run_verb, homes)
    assert "the candidate has no hard" in out
    data = data_of(run_verb, homes)
    assert data["missing_tasks"] == ["hard"]
    assert data["overall"]["name"] == "mean of 1 of 2 tasks"


def test_a_task_that_only_the_candidate_has_changes_no_exit_code(tmp_path, gate):
    task, same = both(acc=EQUAL)
    code, out = gate(two_small_runs(tmp_path, {"a": task, "new": same}, {"a": same}), WIDE)
    assert code == 0
    assert "the baseline has no new" in out


# W23: every metric and filter
def two_metrics():
    now = verdicts(1000, lost=90, gained=20, right=False)
    before = verdicts(1000, lost=90, gained=20, right=True)
    equal = [float(at % 2) for at in range(1000)]
    return (
        {"hs": Task({"acc": equal, "acc_norm": now})},
        {"hs": Task({"acc": equal, "acc_norm": before})},
    )


def test_a_secondary_metric_that_drops_is_named(tmp_path, gate, run_verb):
    homes = two_small_runs(tmp_path, *two_metrics())
    code, out = compare(run_verb, homes, "--metric", "hs=acc")
    assert "acc_norm worse by 7.0 points" in out
    assert "no difference shown in acc" in out
    policy = "{defaults: {max_drop: 0.01}}"
    code, out = gate(homes, policy, "--metric", "hs=acc")
    assert code == 0
    assert out.endswith("pass, but acc_norm worse by 7.0 points (advisory)")


@pytest.mark.parametrize(("metrics", "code"), [("all", 1), ("[acc_norm]", 1), ("[acc]", 0)])
def test_the_policy_says_which_metrics_decide(tmp_path, gate, metrics, code):
    homes = two_small_runs(tmp_path, *two_metrics())
    assert gate(homes, f"{{metrics: {metrics}, defaults: {{max_drop: 0.01}}}}")[0] == code


def test_a_deciding_metric_that_a_side_lacks_is_no_evidence(tmp_path, gate):
    now, before = two_metrics()
    before["hs"].metrics.pop("acc_norm")
    now["hs"].metrics["acc_norm"] = now["hs"].metrics["acc"]
    code, out = gate(two_small_runs(tmp_path, now, before), "{metrics: all}", "--metric", "acc")
    assert code == 3
    assert "the baseline has no acc_norm" in out


def test_filters_are_compared_each(tmp_path, run_verb):
    equal = [float(at % 2) for at in range(400)]
    now = {"strict-match": verdicts(400, lost=24), "flexible-extract": verdicts(400, lost=2)}
    before = {name: list(values) for name, values in now.items()}
    before["strict-match"][:24] = [1.0] * 24
    before["flexible-extract"][:2] = [1.0] * 2
    sides = [
        {"t": Task({f"exact_match@{name}": values for name, values in side.items()})}
        for side in (now, before)
    ]
    assert equal
    homes = two_small_runs(tmp_path, *sides)
    out = compare(run_verb, homes, "--metric", "t=exact_match@flexible-extract")[1]
    assert "exact_match (strict-match) worse by 6.0 points" in out


def test_an_unknown_metric_is_refused_with_what_there_is(tmp_path, run_verb):
    homes = two_small_runs(tmp_path, *two_metrics())
    code, out = compare(run_verb, homes, "--metric", "hs=acc_nrom")
    assert code == 2
    assert "did you mean acc_norm" in out


# W24: a direction that is not known
def test_without_a_direction_nothing_is_better(tmp_path, gate, run_verb):
    now, before = ({"t": Task({"odd": values}, {"odd": None})} for values in drop_of(200, 60))
    homes = two_small_runs(tmp_path, now, before)
    out = compare(run_verb, homes)[1]
    assert "changed by -30.0 points" in out
    assert "worse" not in out
    code, out = gate(homes)
    assert code == 3
    assert "direction" in out
    assert gate(homes, "{defaults: {direction: up}}")[0] == 1
    assert gate(homes, "{defaults: {direction: down, max_drop: 0.01}}")[0] == 0


def drop_of(n, lost):
    rest = [1.0] * (n - lost)
    return [0.0] * lost + rest, [1.0] * lost + rest


@pytest.mark.parametrize(("unscored", "is_cut"), [(5, False), (6, True)])
def test_a_list_of_rows_is_cut_with_dots(tmp_path, run_verb, unscored, is_cut):
    task, other = both(acc=EQUAL)
    task.metrics = {"acc": [None] * unscored + EQUAL[unscored:]}
    homes = two_small_runs(tmp_path, {"t": task}, {"t": other})
    (warning,) = json.loads(compare(run_verb, homes, "--json")[1])["warnings"]
    head = f"t: {unscored} rows have no finite score and are left out: "
    names = warning.removeprefix(head)
    assert (len(names.split(", ")), names.endswith(", ...")) == (5 + is_cut, is_cut)


# W25: other gold answers
def test_other_gold_answers_are_another_question(tmp_path, gate, run_verb):
    task, other = both(acc=EQUAL)
    other.gold = lambda _: "B"
    homes = two_small_runs(tmp_path, {"t": task}, {"t": other})
    code, out = compare(run_verb, homes)
    assert code == 3
    assert "gold answers differ on 300 of 300 rows" in out
    assert gate(homes, WIDE)[0] == 3
    code, out = gate(homes, "{defaults: {max_drop: 0.1}, allow: [gold]}")
    assert code == 0


def test_a_few_other_gold_answers_are_left_out_and_named(tmp_path, run_verb):
    task, other = both(acc=EQUAL)
    other.gold = lambda at: "B" if at == 7 else "A"
    homes = two_small_runs(tmp_path, {"t": task}, {"t": other})
    task = data_of(run_verb, homes)["tasks"][0]
    assert (task["n"], task["counts"]["other_gold"]) == (299, 1)
    assert task["verdict"] == "no difference shown"


# W26: bits per byte
def test_bits_per_byte_are_a_difference_in_bits(tmp_path, run_verb):
    rows = [[-0.46 * 1000 + at % 7, 1000] for at in range(80)]
    worse = [[value - 13.7 - at % 3, length] for at, (value, length) in enumerate(rows)]
    sides = [
        {"w": Task({"bits_per_byte": values}, {"bits_per_byte": False})} for values in (worse, rows)
    ]
    out = compare(run_verb, two_small_runs(tmp_path, *sides))[1]
    assert "bits" in out
    assert "ratio" not in out
    assert "+3.2 %" in out or "3.2 %" in out


# W27: how many rows would tell
def test_the_number_of_rows_counts_pass_and_fail(tmp_path, gate):
    now, before = ({"t": Task({"acc": values})} for values in drop_of(100, 4))
    code, out = gate(two_small_runs(tmp_path, now, before), "{defaults: {max_drop: 0.02}}")
    assert code == 3
    assert "if the rates stay as they are" in out
    assert "pass " in out
    assert "fail " in out


def test_the_number_of_graded_rows_is_that_of_the_interval_that_decides(tmp_path, gate):
    """Independent graded rows pass by pseudo-rows, so that as many again do not suffice."""
    sides = [[0.5 + 0.01 * (at % length) for at in range(120)] for length in (7, 5)]
    now, before = ({"t": Task({"f1": values})} for values in sides)
    policy = "{defaults: {max_drop: 0, slack: 0.02}}"
    out = gate(two_small_runs(tmp_path, now, before), policy)[1]
    assert "about 140 rows: pass 82 %, fail 0 %" in out


# W28: the mean of one task is that task
def test_the_overall_of_one_task_has_its_bound(tmp_path, gate):
    now, before = ({"t": Task({"acc": values})} for values in drop_of(200, 4))
    policy = "{defaults: {max_drop: 0.02}, overall: {}}"
    out = gate(two_small_runs(tmp_path, now, before), policy, "--json")[1]
    task, overall = json.loads(out)["checks"]
    assert task["most_lost"] == pytest.approx(overall["most_lost"])


# W30: the same questions under another name
def test_equal_rows_prove_that_the_question_is_the_same(tmp_path, run_verb):
    task, other = both(acc=EQUAL)
    task.config = {"doc_to_text": "{{question}}", "dataset_path": "x/mirror"}
    other.config = {"doc_to_text": "{{ question }}", "dataset_path": "x/t"}
    code, out = compare(run_verb, two_small_runs(tmp_path, {"t": task}, {"t": other}))
    assert code == 0
    assert "every prompt and gold answer is the same" in out


def test_another_data_set_is_named_with_the_option_that_lifts_it(tmp_path, run_verb):
    task, other = both(acc=EQUAL)
    task.config, other.config = {"dataset_path": "x/OTHER"}, {"dataset_path": "x/t"}
    task.prompt = lambda at: f"Other question {at}?"
    task.doc = other.doc = lambda at: {"id": f"r{at}"}
    code, out = compare(run_verb, two_small_runs(tmp_path, {"t": task}, {"t": other}))
    assert code == 3
    assert "the data set differs: x/OTHER, baseline x/t" in out
    assert "`--allow data`" in out


# W31: the data set gained a column
def test_rows_with_a_new_column_still_meet(tmp_path, run_verb):
    task, other = both(acc=EQUAL)
    task.doc = lambda at: {"new": at}
    homes = two_small_runs(tmp_path, {"t": task}, {"t": other})
    data = data_of(run_verb, homes)["tasks"][0]
    assert (data["n"], data["counts"]["missing"], data["counts"]["extra"]) == (300, 0, 0)
    assert data["ways"] == {"equal prompt and gold answer": 300}


# W32: no overall without a reason
def test_without_an_overall_the_reason_is_told(tmp_path, run_verb, gate):
    task, other = both(acc=EQUAL)
    other.gold = lambda _: "B"
    homes = two_small_runs(tmp_path, {"t": task}, {"t": other})
    reason = "overall: not computed, because t is not comparable"
    assert reason in compare(run_verb, homes)[1]
    code, out = gate(homes, "{tasks: {}, overall: {}}")
    assert (code, "not computed, because t is not comparable" in out) == (3, True)


# W33: perplexity alone
def test_a_perplexity_is_a_conclusion_like_any_other(tmp_path, run_verb):
    rows = [[-40.0 - at % 7, 10] for at in range(62)]
    task = {"word_perplexity": rows}, {"word_perplexity": False}
    homes = two_small_runs(tmp_path, {"w": Task(*task)}, {"w": Task(*task)})
    code, out = compare(run_verb, homes)
    assert code == 0
    assert "no row was scored on both sides" not in out
    assert "have no finite score" not in out
    assert "because no task has a score between 0 and 1" in out


# W34: null in the first rows
def test_metrics_are_found_over_all_rows(tmp_path, run_verb):
    values = [None] * 5 + EQUAL[:195]
    homes = two_small_runs(tmp_path, {"t": Task({"acc": values})}, {"t": Task({"acc": values})})
    data = data_of(run_verb, homes)["tasks"][0]
    assert (data["n"], data["counts"]["unscored"]) == (195, 5)


# W35: what cannot show a drop
def test_floors_empty_replies_and_parts_of_the_data_are_told(tmp_path, run_verb):
    zero, same = both(acc=[0.0] * 200)
    zero.original = same.original = 1000
    zero.response = same.response = ""
    out = compare(run_verb, two_small_runs(tmp_path, {"t": zero}, {"t": same}))[1]
    assert "0 of 200 right on both sides: this task cannot show a drop" in out
    assert "200 of 200 replies are empty" in out
    assert "200 of 1000 rows" in out or "200 of 1,000 rows" in out


# W36: documents
def test_a_field_can_name_the_documents(tmp_path, run_verb, gate):
    now, before = ({"t": Task({"acc": values})} for values in drop_of(240, 20))
    for side in (now, before):
        side["t"].doc = lambda at: {"document_id": at // 20}
    homes = two_small_runs(tmp_path, now, before)
    out = compare(run_verb, homes)[1]
    assert "240 rows share 12 values of document_id" in out
    alone, shared, found = (
        data_of(run_verb, homes, *options)["tasks"][0]
        for options in (["--cluster", "none"], ["--cluster", "document_id"], [])
    )
    assert (found["clusters"], found["p"]) == (12, shared["p"])
    assert alone["clusters"] is None
    assert shared["clusters"] == 12
    assert alone["p"] < 0.001 < shared["p"]
    assert gate(homes, "{cluster: none}")[0] == 1
    assert gate(homes, "{}")[0] == 3


# W38: very small p
def test_p_is_never_zero(tmp_path, run_verb, gate):
    now, before = ({"t": Task({"acc": values})} for values in drop_of(500, 300))
    homes = two_small_runs(tmp_path, now, before)
    assert "<1e-4" in compare(run_verb, homes)[1]
    out = gate(homes)[1]
    assert "p < 1e-4" in out
    assert "p = 0)" not in out


# W42 and W44: a score without bounds
def test_rows_that_all_change_alike_have_no_interval_without_bounds(tmp_path, run_verb, gate):
    rows = [float(at % 5) + 2 for at in range(300)]
    now = [value - 3 for value in rows]
    sides = [{"r": Task({"reward": values})} for values in (now, rows)]
    homes = two_small_runs(tmp_path, *sides)
    out = compare(run_verb, homes)[1]
    assert "every one of 300 rows changed by -3" in out
    assert gate(homes)[0] == 3


def test_a_reward_drops_in_its_own_unit(tmp_path, gate):
    rows = [float(at % 5) + 2 for at in range(300)]
    now = [value - 1.07 - 0.5 * (at % 3 == 0) for at, value in enumerate(rows)]
    sides = [{"r": Task({"reward": values})} for values in (now, rows)]
    out = gate(two_small_runs(tmp_path, *sides), "{overall: {}}")[1]
    assert "points" not in out


# W45: the values decide, not the name
def test_a_metric_named_f1_with_plain_numbers_is_a_row_metric(tmp_path, run_verb):
    values = [0.5 + at % 3 / 10 for at in range(100)]
    sides = [{"t": Task({"acc": EQUAL[:100], "f1": values})} for _ in range(2)]
    out = compare(run_verb, two_small_runs(tmp_path, *sides))[1]
    assert "not iterable" not in out
    assert "no test for this score" not in out


def test_the_closing_sentence_has_at_most_three_lines(tmp_path, run_verb):
    now, before = two_metrics()
    tasks = {f"t{number}": now["hs"] for number in range(8)}
    data = data_of(run_verb, two_small_runs(tmp_path, tasks, tasks | {"gone": before["hs"]}))
    assert 1 <= len(data["closing"]) <= 3
    assert "gone" in data["closing"][-1]


# An unknown task, and limits
def test_an_unknown_task_has_its_own_line_and_a_suggestion(tmp_path, gate):
    task, same = both(acc=EQUAL)
    homes = two_small_runs(tmp_path, {"arc": task}, {"arc": same})
    code, out = gate(homes, "defaults: {max_drop: 0.02}\ntasks:\n  acr: {min_n: 20}\n")
    assert code == 2
    assert "policy.yaml:3" in out
    assert "did you mean arc" in out


def test_a_limit_of_two_points_is_written_as_a_share(tmp_path, gate):
    task, same = both(acc=EQUAL)
    code, out = gate(
        two_small_runs(tmp_path, {"t": task}, {"t": same}), "defaults:\n  max_drop: 2\n"
    )
    assert code == 2
    assert "policy.yaml:2" in out
    assert "write 2 points, or 2% of the baseline's score" in out


@pytest.mark.parametrize(("limit", "status"), [("2 points", "fail"), ("12 points", "pass")])
def test_limits_in_points(tmp_path, gate, limit, status):
    lost = Task({"acc": verdicts(1_000, lost=80)})
    homes = two_small_runs(
        tmp_path, {"t": lost}, {"t": Task({"acc": verdicts(1_000, lost=80, right=True)})}
    )
    code, out = gate(homes, f"{{defaults: {{max_drop: {limit}, slack: 1 point}}, overall: {{}}}}")
    assert code == (1 if status == "fail" else 0)
    assert out.count(status) >= 2
    assert limit.replace(" ", ".0 ") in out or status == "pass"


def test_points_of_scores_in_percent_and_of_scores_that_have_none(tmp_path, gate):
    percents = [float(at % 101) for at in range(200)]
    rows = [[-40.0 - at % 7, 10] for at in range(200)]
    chrf = Task(
        {"bleu_acc": percents, "chrf": percents}, config={"metric_list": [{"metric": "chrf"}]}
    )
    sides = {"a": chrf, "w": Task({"word_perplexity": rows}, {"word_perplexity": False})}
    homes = two_small_runs(tmp_path, sides, sides)
    rule = "{metric: chrf, max_drop: 2 points, slack: 10 points}"
    assert gate(homes, f"tasks: {{a: {rule}}}")[0] == 0
    code, out = gate(homes, "tasks:\n  w: {max_drop: 2 points}\n")
    assert code == 2
    assert "policy.yaml:2" in out
    assert "the scores of w are not shares, and have no points" in out


# W33 in the leaderboard, and the metric by which the field reports a task
def test_a_perplexity_is_a_column(tmp_path, run_verb):
    rows = [[-40.0 - at % 7, 10] for at in range(62)]
    task = {"word_perplexity": rows}, {"word_perplexity": False}
    homes = two_small_runs(tmp_path, {"w": Task(*task)}, {"w": Task(*task)})
    code, out = run_verb("leaderboard", *homes)
    assert code == 0
    assert "1 of 1 columns" in out


def test_the_headline_of_the_field_is_the_primary_metric(tmp_path, run_verb, gate):
    norm = verdicts(100, gained=10)
    sides = [{"hellaswag": Task({"acc": EQUAL[:100], "acc_norm": norm})} for _ in range(2)]
    homes = two_small_runs(tmp_path, *sides)
    assert data_of(run_verb, homes)["tasks"][0]["metric"] == "acc_norm"
    assert data_of(run_verb, homes, "--metric", "acc")["tasks"][0]["metric"] == "acc"
    assert "hellaswag: acc" in json.loads(run_verb("leaderboard", *homes, "--json")[1])["shown"]
    out = gate(homes, "{tasks: {hellaswag: {max_drop: 0.1, slack: 0.1}}}")[1]
    assert "hellaswag: its metric is acc_norm" in out


# W37: a trade-off has no mean
def test_a_pack_that_names_its_conclusion_has_no_mean(tmp_path, run_verb):
    pack = tmp_path / "packs" / "toy"
    pack.mkdir(parents=True)
    (pack / "pack.yaml").write_text(
        "name: toy\nconclusion: [kept]\n"
        "suite_scores:\n"
        "  kept: {function: micro, tasks: [keep], range: [0, 1], better: up}\n"
        "  lost: {function: micro, tasks: [forget], range: [0, 1], better: down}\n"
    )
    task, same = both(acc=EQUAL)
    sides = {"keep": task, "forget": same}
    homes = two_small_runs(tmp_path, sides, sides)
    data = data_of(run_verb, homes, "--template_dir", tmp_path / "packs")
    assert data["overall"] is None
    decides = {score["name"]: score["decides"] for score in data["suite"]}
    assert decides == {"toy/kept": True, "toy/lost": False}
