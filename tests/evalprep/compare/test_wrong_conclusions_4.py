"""The third round of wrong conclusions: compare, gate, report and leaderboard give one answer about each input."""

import json
import shutil
from pathlib import Path

import pytest

from tests.evalprep.compare.small_runs import LATER, Task, two_small_runs, verdicts, write_small_run

UNDECIDED = {"not comparable", "not enough evidence"}
EQUAL = [float(at % 2) for at in range(200)]


@pytest.fixture
def say(tmp_path, run_verb):
    """What each verb says of two runs, held to one answer."""

    def ask(homes, *options, policy="{}", packs=None):
        templates = ("--template_dir", packs) if packs else ()
        code, out = run_verb("compare", *homes, "--json", "--no_write", *options, *templates)
        data = json.loads(out)
        path = tmp_path / "policy.yaml"
        path.write_text(policy, encoding="utf-8")
        gate_code, gate = run_verb("gate", *homes, "--policy", path, "--json", *templates)
        page = tmp_path / f"page{len(list(tmp_path.iterdir()))}"
        run_verb(
            "report", homes[0], "--baseline", homes[1], "--out", page, "--format", "json",
            *options, *templates,
        )  # fmt: skip
        report = json.loads((page / "report.json").read_text())["comparisons"][0]
        _, board = run_verb("leaderboard", *homes[::-1], "--json", *options, *templates)
        answers = Answers(code, data, gate_code, json.loads(gate), report, json.loads(board))
        if not options:
            answers.agree()
        return answers

    return ask


class Answers:
    """What the verbs say."""

    def __init__(self, code, compare, gate_code, gate, report, board):
        self.code, self.compare, self.gate_code = code, compare, gate_code
        self.gate, self.report, self.board = gate, report, board

    @property
    def all_said(self):
        notes = [self.compare[key] for key in ("remarks", "warnings", "closing", "notes")]
        words = [item["words"] for item in self.quantities()]
        return json.dumps([notes, words])

    def quantities(self, side=None):
        lists = ("tasks", "metrics", "further", "stored", "suite")
        return [item for name in lists for item in (side or self.compare)[name]]

    def one(self, name=""):
        return next(item for item in self.quantities() if name in item["name"])

    def agree(self):
        shown = {item["name"]: item for item in self.quantities(self.report)}
        for item in self.quantities():
            keys = ("verdict", "words", "low", "high", "p_holm")
            assert [shown[item["name"]][key] for key in keys] == [item[key] for key in keys]
        assert self.report["headline"] == self.compare["headline"]
        deciding = {item["name"]: item for item in self.quantities() if item["decides"]}
        for check in self.gate["checks"]:
            item = deciding.get(check["name"])
            if item is None:
                continue
            assert (check["low"], check["high"]) == (item["low"], item["high"])
            if item["verdict"] in UNDECIDED:
                assert check["status"] == item["verdict"], check
            assert check["status"] != "fail" or item["verdict"] == "worse"
        leading = {
            name
            for row in self.board["rows"]
            for name, cell in row["cells"].items()
            if cell["leads"]
        }
        for name in leading & deciding.keys():
            assert deciding[name]["verdict"] in {"better", "worse"}


def pack(folder, **scores):
    home = folder / "packs" / "drawn"
    home.mkdir(parents=True)
    (home / "pack.yaml").write_text(json.dumps({"name": "drawn", "suite_scores": scores}))
    return home.parent


def lines_of(home):
    (samples,) = Path(home).glob("samples_*")
    return samples, [json.loads(line) for line in samples.read_text().splitlines()]


def rewrite(home, change):
    """The lines of a run's only task, each through a function that returns it or None."""
    samples, lines = lines_of(home)
    kept = [change(at, line) for at, line in enumerate(lines)]
    samples.write_text("".join(json.dumps(line) + "\n" for line in kept if line is not None))


# --- missing rows


def subjects(count, rows):
    return {"doc": lambda at: {"subtask_name": f"subject {at // rows:02}"}}, count * rows


def test_w46_a_subject_that_the_candidate_lacks_is_no_gain(tmp_path, say):
    more, size = subjects(20, 10)
    values = [float(at >= 10) for at in range(size)]
    homes = two_small_runs(
        tmp_path, {"mmlu": Task({"acc": values}, **more)}, {"mmlu": Task({"acc": values}, **more)}
    )
    rewrite(homes[0], lambda at, line: None if at < 10 else line)
    score = {"function": "macro", "tasks": ["mmlu"], "range": [0, 1]}
    packs = pack(tmp_path, macro=score)
    answers = say(homes, policy="{suite: {macro: {max_drop: 0.02}}}", packs=packs)
    assert (answers.code, answers.gate_code) == (3, 3)
    item = answers.one("drawn/macro")
    assert item["verdict"] == "not enough evidence"
    assert "the candidate lacks 1 of 20 subtasks (5 % of the weight): subject 00" in item["words"]
    assert item["delta"] == 0
    # Of the rows that the candidate lacks the baseline has none right.
    assert -0.02 < item["low"] < 0
    assert item["high"] > 0.05


def test_rows_below_the_limit_widen_the_interval(tmp_path, say):
    before = [1.0] * 500 + [0.0] * 500
    now = [1.0] * 500 + [1.0] * 12 + [0.0] * 488
    homes = two_small_runs(tmp_path, {"a": Task({"acc": now})}, {"a": Task({"acc": before})})
    whole = say(homes).one()
    assert whole["verdict"] == "better"
    rewrite(homes[0], lambda at, line: None if at < 8 else line)  # rows that the baseline has right
    part = say(homes).one()
    assert part["verdict"] == "no difference shown"
    assert part["missing"] == pytest.approx(0.008)
    assert part["low"] < 0 < part["high"]


def test_w47_a_task_without_any_score_is_missing(tmp_path, say):
    homes = two_small_runs(
        tmp_path,
        {"a": Task({"acc": EQUAL}), "b": Task({"acc": [None] * 200})},
        {"a": Task({"acc": EQUAL}), "b": Task({"acc": EQUAL})},
    )
    packs = pack(tmp_path, both={"function": "micro", "tasks": ["a", "b"], "range": [0, 1]})
    answers = say(homes, policy="{suite: {both: {}}}", packs=packs)
    assert (answers.code, answers.gate_code) == (3, 3)
    assert answers.one("drawn/both")["verdict"] == "not enough evidence"
    assert not any(cell["leads"] for row in answers.board["rows"] for cell in row["cells"].values())


def test_w62_a_task_that_the_candidate_lacks_is_not_enough_evidence(tmp_path, say):
    task = Task({"acc": EQUAL})
    homes = two_small_runs(tmp_path, {"a": task}, {"a": task, "arc_challenge": task})
    answers = say(homes)
    assert (answers.code, answers.gate_code) == (3, 3)
    assert answers.compare["headline"] == "not enough evidence"
    assert "the candidate has no arc_challenge" in answers.all_said


# --- scorers, settings, readings


def same_replies(home):
    def change(at, line):
        line["resps"] = [[f"reply {at}"]]
        return line

    rewrite(home, change)


def test_w48_another_scorer_is_not_another_model(tmp_path, say):
    now = [0.0 if at < 80 else value for at, value in enumerate(EQUAL)]
    homes = two_small_runs(tmp_path, {"a": Task({"acc": now})}, {"a": Task({"acc": EQUAL})})
    for home in homes:
        same_replies(home)
    answers = say(homes)
    assert (answers.code, answers.gate_code) == (3, 3)
    reason = "the scorer differs on 40 of 200 equal replies; `--allow scorer` compares anyway"
    assert reason in answers.one()["words"]
    allowed = say(homes, "--allow", "scorer").one()
    assert (allowed["verdict"], allowed["delta"]) == ("no difference shown", 0)


def test_few_flips_of_a_scorer_are_calibrated(tmp_path, say):
    now = [1.0 - value if at in {1, 3} else value for at, value in enumerate(EQUAL)]
    homes = two_small_runs(tmp_path, {"a": Task({"acc": now})}, {"a": Task({"acc": EQUAL})})
    for home in homes:
        same_replies(home)
    answers = say(homes)
    assert answers.one()["verdict"] == "no difference shown"
    assert (
        "the scorer differs on 2 of 200 equal replies; the difference is calibrated"
        in answers.all_said
    )


def test_a_scorer_that_is_declared_random_is_calibrated(tmp_path, say):
    now = [0.0 if at < 80 else value for at, value in enumerate(EQUAL)]
    config = {"metadata": {"version": 1.0, "random": True}}
    homes = two_small_runs(
        tmp_path,
        {"a": Task({"acc": now}, config=config)},
        {"a": Task({"acc": EQUAL}, config=config)},
    )
    for home in homes:
        same_replies(home)
    answers = say(homes)
    assert answers.one()["verdict"] == "no difference shown"
    assert "40 of 200 equal replies" in answers.all_said


def test_w55_settings_of_the_requests_are_settings(tmp_path, say):
    homes = two_small_runs(
        tmp_path,
        {"a": Task({"acc": verdicts(200, lost=48)})},
        {"a": Task({"acc": verdicts(200, lost=48, right=True)})},
    )
    for home, tokens in zip(homes, (256, 2048), strict=True):

        def change(_, line, tokens=tokens):
            line["arguments"]["gen_args_0"]["arg_1"]["max_gen_toks"] = tokens
            return line

        rewrite(home, change)
    answers = say(homes)
    assert answers.one()["verdict"] == "not comparable"
    assert "max_gen_toks 256 / 2048" in answers.one()["words"]
    assert say(homes, "--allow", "generation").one()["verdict"] == "worse"


# --- few rows and stored scores


def stored_homes(tmp_path, *values, rows=4, stderr=0.1, metric="acc"):
    task = Task({metric: EQUAL[:rows]})
    homes = two_small_runs(tmp_path, {"t": task}, {"t": task})
    for home, value in zip(homes, values, strict=True):
        (results,) = Path(home).glob("results_*")
        content = json.loads(results.read_text())
        content["results"]["t"] = {f"{metric},none": value, f"{metric}_stderr,none": stderr}
        results.write_text(json.dumps(content))
        next(Path(home).glob("samples_*")).unlink()
    return homes


def test_w49_four_stored_rows_are_few(tmp_path, say):
    answers = say(stored_homes(tmp_path, 1.0, 0.25, stderr=None))
    item = answers.one()
    assert (item["verdict"], answers.gate_code) == ("no difference shown", 3)
    assert item["high"] <= 1.0
    assert item["low"] < 0
    assert "4 rows, 20 are needed" in answers.gate["checks"][0]["message"]


def test_w50_percent_beside_a_share_is_not_comparable(tmp_path, say):
    answers = say(stored_homes(tmp_path, 50.2, 0.498, rows=100))
    assert answers.one()["verdict"] == "not comparable"
    assert "`--allow scale` compares anyway" in answers.one()["words"]


@pytest.mark.parametrize(
    ("now", "before", "sentence"),
    [
        (0.0, 0.0, "the worst score on both sides: this task cannot show a drop"),
        (0.3, 0.0, "the worst score in the baseline: this task cannot show a drop"),
        (0.26, 0.25, "both sides at chance (25%): this task cannot show a drop"),
    ],
)
def test_stored_scores_that_cannot_show_a_drop_are_named(tmp_path, say, now, before, sentence):
    homes = stored_homes(tmp_path, now, before, rows=200, stderr=None)
    for home in homes:
        (results,) = Path(home).glob("results_*")
        content = json.loads(results.read_text())
        choices = ["A", "B", "C", "D"] if before else "{{choices}}"
        content["configs"]["t"] |= {"output_type": "multiple_choice", "doc_to_choice": choices}
        results.write_text(json.dumps(content))
    answers = say(homes, policy="{defaults: {max_drop: 0.2}}")
    assert sentence in answers.all_said
    assert (answers.gate_code, sentence in answers.gate["closing"]) == (0, True)


def test_a_stored_value_outside_the_range_of_the_other_is_not_comparable(tmp_path, say):
    answers = say(stored_homes(tmp_path, 1.2, 0.3, rows=200))
    assert answers.one()["verdict"] == "not comparable"
    assert "acc from 1.2 to 1.2, where it lies between 0 and 1" in answers.one()["words"]


def test_w51_groups_of_another_weighting_are_not_comparable(tmp_path, say):
    tasks = {"t": Task({"acc": EQUAL[:100]}), "u": Task({"acc": EQUAL[:20]})}
    homes = two_small_runs(tmp_path, tasks, tasks)
    members = {"t": {"acc,none": 0.8}, "u": {"acc,none": 0.2}}
    for home, value in zip(homes, (0.7, 0.5), strict=True):
        (results,) = Path(home).glob("results_*")
        content = json.loads(results.read_text())
        content["results"] = members | {"g": {"acc,none": value, "acc_stderr,none": 0.03}}
        content["groups"] = {"g": content["results"]["g"]}
        content |= {"group_subtasks": {"g": ["t", "u"]}}
        content["higher_is_better"]["g"] = {"acc": True}
        results.write_text(json.dumps(content))
        for samples in Path(home).glob("samples_*"):
            samples.unlink()
    group = say(homes).one("g: acc")
    assert group["verdict"] == "not comparable"
    assert "the groups are weighted differently: by rows / each task alike" in group["words"]


@pytest.mark.parametrize(
    ("changed", "verdict", "gate"), [(5, "no difference shown", 3), (6, "worse", 1)]
)
def test_a_word_and_a_fail_take_six_changed_rows(tmp_path, say, changed, verdict, gate):
    now, before = (verdicts(60, lost=changed, right=side) for side in (False, True))
    homes = two_small_runs(tmp_path, {"a": Task({"acc": now})}, {"a": Task({"acc": before})})
    answers = say(homes, policy="{defaults: {slack: 0.1}}")
    assert (answers.one()["verdict"], answers.gate_code) == (verdict, gate)
    if changed < 6:
        assert "better or worse takes 6 changed rows" in answers.one()["words"]


def test_better_on_graded_rows_says_what_it_leaves_open(tmp_path, say):
    now, before = [[0.3 + shift + 0.001 * (at % 7) for at in range(40)] for shift in (0.1, 0.0)]
    now[0] = 0.5
    homes = two_small_runs(tmp_path, {"a": Task({"rouge": now})}, {"a": Task({"rouge": before})})
    answers = say(homes)
    assert answers.one()["verdict"] == "better"
    assert "a total loss on up to 3/40 of the rows is not ruled out" in answers.one()["words"]
    assert "a total loss on up to 3/40 of the rows" in " ".join(answers.compare["closing"])


# --- documents


def of_titles(titles, rows):
    return {"doc": lambda at: {"title": f"Title {at // rows}"}}, titles * rows


def test_w52_questions_on_one_title_are_one_document(tmp_path, say):
    more, size = of_titles(12, 25)
    before = [float(at % 2) for at in range(size)]
    now = [1.0 if at // 25 in {0, 1, 4} else value for at, value in enumerate(before)]
    homes = two_small_runs(
        tmp_path, {"squad": Task({"acc": now}, **more)}, {"squad": Task({"acc": before}, **more)}
    )
    answers = say(homes)
    item = answers.one()
    assert (item["verdict"], item["clusters"]) == ("no difference shown", 12)
    assert "300 rows share 12 values of title" in answers.all_said
    assert say(homes, "--cluster", "none").one()["verdict"] == "better"


def test_an_unknown_field_by_which_the_differences_vary_holds_a_pass(tmp_path, say):
    more, size = {"doc": lambda at: {"patient": at // 25}}, 300
    before = [float(at % 2) for at in range(size)]
    now = [1.0 if at // 25 in {0, 1} else value for at, value in enumerate(before)]
    homes = two_small_runs(
        tmp_path, {"a": Task({"acc": now}, **more)}, {"a": Task({"acc": before}, **more)}
    )
    answers = say(homes, policy="{defaults: {max_drop: 0.05}}")
    assert answers.one()["clusters"] is None
    assert "the differences vary by patient (12 values, F test" in answers.all_said
    assert (answers.gate_code, answers.gate["status"]) == (3, "unclear")
    stated = say(homes, policy="{defaults: {max_drop: 0.05}, cluster: none}")
    assert stated.gate_code == 0


def test_subjects_are_no_documents(tmp_path, say):
    more = {"doc": lambda at: {"subject": f"s{at // 25}"}}
    now = [1.0 if at // 25 in {0, 1} else float(at % 2) for at in range(300)]
    before = [float(at % 2) for at in range(300)]
    homes = two_small_runs(
        tmp_path, {"a": Task({"acc": now}, **more)}, {"a": Task({"acc": before}, **more)}
    )
    answers = say(homes, policy="{defaults: {max_drop: 0.05}}")
    assert (answers.one()["clusters"], answers.gate_code) == (None, 0)


# --- families


def pairs_of(run_verb, *arguments):
    """The pairs that a leaderboard shows to differ."""
    return json.loads(run_verb("leaderboard", *arguments, "--json")[1])["pairs"]


def test_w53_many_candidates_are_one_family(tmp_path, run_verb):
    before = [float(at % 2) for at in range(100)]
    homes = []
    for number in range(20):
        now = list(before)
        for at in range(1, 2 * (8 if number == 7 else number % 3), 2):
            now[at] = 0.0
        homes.append(
            write_small_run(tmp_path / f"c{number}", {"a": Task({"acc": now})}, stamp=LATER)
        )
    baseline = write_small_run(tmp_path / "base", {"a": Task({"acc": before})})
    code, out = run_verb("compare", homes[7], baseline, "--no_write", "--json")
    assert code == 1  # alone, beforehand
    alone_beforehand = json.loads(out)["tasks"][0]

    def words(*options):
        page = tmp_path / f"page{len(options)}"
        run_verb(
            "report", *homes, "--baseline", baseline, "--out", page, "--format", "json", *options
        )
        comparisons = json.loads((page / "report.json").read_text())["comparisons"]
        return [part["tasks"][0]["verdict"] for part in comparisons], comparisons

    together, comparisons = words()
    assert set(together) == {"no difference shown"}
    assert "the words hold over 20 candidates together" in comparisons[0]["remarks"][0]
    assert pairs_of(run_verb, *homes, baseline) == []
    assert pairs_of(run_verb, *homes, "--baseline", baseline) == []  # one family of 20
    (pair,) = pairs_of(run_verb, *homes, "--baseline", baseline, "--candidate", homes[7])
    assert (pair["verdict"], pair["p"]) == ("worse", alone_beforehand["p_holm"])
    alone, comparisons = words("--candidate", homes[7])
    assert alone == [*[""] * 7, "worse", *[""] * 12]
    assert "another candidate is judged" in comparisons[0]["remarks"][0]


def test_w54_the_badge_is_the_worst_deciding_word(tmp_path, say):
    now, before = (verdicts(300, lost=33, right=side) for side in (False, True))
    same = verdicts(300, lost=33, gained=33)
    mirrored = [1.0] * 33 + [0.0] * 33 + same[66:]
    homes = two_small_runs(
        tmp_path,
        {"a": Task({"acc": now}), "b": Task({"acc": mirrored}), "c": Task({"acc": mirrored})},
        {"a": Task({"acc": before}), "b": Task({"acc": same}), "c": Task({"acc": same})},
    )
    answers = say(homes)
    assert answers.one("a")["verdict"] == "worse"
    assert (answers.compare["headline"], answers.code) == ("worse", 1)
    assert (answers.compare["pooled"]["verdict"], answers.compare["pooled"]["delta"] < 0) == (
        "",
        True,
    )


# --- rows


def test_w56_corrected_gold_answers_are_named(tmp_path, say):
    def task(corrected):
        return Task(
            {"acc": [float(at % 2) for at in range(300)]},
            gold=lambda at: "C" if corrected and at < 15 else "A",
            doc=lambda at: {"answer": "C" if corrected and at < 15 else "A"},
        )

    answers = say(two_small_runs(tmp_path, {"a": task(True)}, {"a": task(False)}))
    assert "gold answers differ on 15 of 300 rows" in answers.one()["words"]


def test_w57_equal_lines_count_once(tmp_path, say):
    task = Task({"acc": EQUAL})
    homes = two_small_runs(tmp_path, {"a": task}, {"a": task})
    samples, _ = lines_of(homes[0])
    samples.write_text(samples.read_text() * 2)
    answers = say(homes)
    assert (answers.one()["n"], answers.one()["verdict"]) == (200, "no difference shown")
    assert "200 lines that stand twice count once" in answers.all_said


def test_w61_two_guesses_show_nothing(tmp_path, say):
    homes = two_small_runs(
        tmp_path,
        {"a": Task({"acc": [float(at % 4 == 1) for at in range(200)]})},
        {"a": Task({"acc": [float(at % 4 == 0) for at in range(200)]})},
    )
    for home in homes:

        def change(_, line):
            choices = {f"gen_args_{at}": {"arg_0": "Q", "arg_1": f" {at}"} for at in range(4)}
            return line | {"arguments": choices}

        rewrite(home, change)
        (results,) = Path(home).glob("results_*")
        content = json.loads(results.read_text())
        content["configs"]["a"]["output_type"] = "multiple_choice"
        results.write_text(json.dumps(content))
    assert "both sides at chance (25%): this task cannot show a drop" in say(homes).all_said


def test_w61_one_reply_to_all_prompts_is_named(tmp_path, say):
    task = Task({"acc": EQUAL}, response="B")
    homes = two_small_runs(tmp_path, {"a": task}, {"a": task})
    assert "200 of 200 replies are equal" in say(homes).all_said


def test_w64_an_interval_has_the_digits_that_it_needs(tmp_path, run_verb):
    before = [float(at % 2) for at in range(20_000)]
    now = [0.0 if at in range(1, 21, 2) else value for at, value in enumerate(before)]
    homes = two_small_runs(tmp_path, {"a": Task({"acc": now})}, {"a": Task({"acc": before})})
    _, out = run_verb("compare", *homes, "--no_write")
    assert "-0.05 [-0.09, -0.03]" in out


def test_w65_a_share_as_a_limit_of_percents_is_refused(tmp_path, run_verb):
    values = [float(at % 101) for at in range(200)]
    task = Task({"bleu_acc": values, "chrf": values}, config={"metric_list": [{"metric": "chrf"}]})
    homes = two_small_runs(tmp_path, {"a": task}, {"a": task})
    policy = tmp_path / "policy.yaml"
    policy.write_text("{tasks: {a: {metric: chrf, max_drop: 0.02}}}")
    code, out = run_verb("gate", *homes, "--policy", policy)
    assert code == 2
    assert "max_drop is 0.02 of 100" in out


@pytest.mark.parametrize("model", ["org/model", "org/renamed"])
def test_w68_a_copied_folder_is_one_run(tmp_path, say, model):
    call = {"date": 1.5, "total_evaluation_time_seconds": "12.5"}
    home = write_small_run(tmp_path / "before", {"a": Task({"acc": EQUAL})}, **call)
    copy = tmp_path / "now" / "org__model"
    shutil.copytree(home, copy)
    (results,) = copy.glob("results_*")
    results.write_text(results.read_text().replace("org/model", model))
    answers = say([str(copy), home])
    assert (answers.code, answers.gate_code) == (3, 3)
    assert "both sides are read from the same file" in answers.one()["words"]


@pytest.mark.parametrize(("rows", "verdict"), [(4, "no difference shown"), (12, "worse")])
def test_a_mean_over_tiny_tasks_has_no_word(tmp_path, say, rows, verdict):
    now, before = (
        {f"t{at}": Task({"acc": [side] * (rows - 1) + [1.0]}) for at in range(5)}
        for side in (0.0, 1.0)
    )
    answers = say(two_small_runs(tmp_path, now, before), policy="{overall: {max_drop: 0.02}}")
    mean = answers.compare["overall"]
    assert mean["verdict"] == verdict
    assert ("a mean takes 12" in mean["words"]) is (rows == 4)
    overall = next(check for check in answers.gate["checks"] if check["name"] == "overall")
    assert (overall["status"] == "fail") is (rows == 12)
