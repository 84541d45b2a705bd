"""What was once concluded wrongly from files on disk, each through the command line, with its exit code."""

import csv
import json
import zipfile

import pytest

from tests.evalprep.results.writing import STAMP, Row, write_run

LATER = "2026-03-02T09-30-00.5"


def rows_of(values, **more):
    return [Row(f"r{at}", value, **more) for at, value in enumerate(values)]


@pytest.fixture
def pair(tmp_path):
    """A function that writes candidate and baseline (task -> rows) and returns their folders."""

    def write(now, before, *, extra=(None, None), model="org__model"):
        homes = []
        for name, tasks, stamp, more in (
            ("now", now, LATER, extra[0]),
            ("before", before, STAMP, extra[1]),
        ):
            named = tasks if isinstance(tasks, dict) else {"t": tasks}
            homes.append(write_run(tmp_path / name, named, stamp=stamp, extra=more, model=model))
        return [str(home) for home in homes]

    return write


@pytest.fixture
def gate(tmp_path, run_verb):
    def run(homes, policy="", **more):
        path = tmp_path / "policy.yaml"
        path.write_text(policy or "{}", encoding="utf-8")
        return run_verb("gate", *homes, "--policy", path, *more.get("options", ()))

    return run


def compared(run_verb, homes, *options):
    code, out = run_verb("compare", *homes, "--json", "--no_write", *options)
    return code, json.loads(out)


@pytest.mark.parametrize("n", [20, 100])
def test_w1_equal_verdicts_are_no_proof(pair, gate, n):
    homes = pair(rows_of([1.0] * n), rows_of([1.0] * n))
    code, out = gate(homes, "{mode: non-inferiority, defaults: {max_drop: 0.01, min_n: 10}}")
    assert code == 3
    assert "unclear" in out
    assert "268 rows" in out
    if n == 100:
        assert "at most 2.6 points lost" in out


def test_w2_four_equal_verdicts_are_not_the_same(pair, run_verb):
    homes = pair(rows_of([1, 0, 1, 1]), rows_of([1, 0, 1, 1]))
    code, out = run_verb("compare", *homes, "--no_write")
    assert code == 0
    assert "+0.0 [-49.0, +49.0]" in out
    assert "same verdict on all 4 rows" in out
    assert "no difference shown" in out
    task = compared(run_verb, homes)[1]["tasks"][0]
    assert task["mde"] is None  # not even a loss of every row would be found
    assert task["verdict"] == "no difference shown"


@pytest.mark.parametrize(
    ("gained", "lost", "on_unclear", "code", "word"),
    [(1, 8, "unclear", 3, "unclear"), (1, 8, "pass", 0, "pass"), (0, 7, "unclear", 1, "fail")],
)
def test_w3_a_drop_beyond_the_limit_is_no_pass(pair, gate, gained, lost, on_unclear, code, word):
    before = [1.0] * lost + [0.0] * gained + [1.0] * (120 - lost - gained)
    now = [0.0] * lost + [1.0] * gained + [1.0] * (120 - lost - gained)
    policy = f"{{on_unclear: {on_unclear}, defaults: {{max_drop: 0.02}}}}"
    found, out = gate(pair(rows_of(now), rows_of(before)), policy)
    assert (found, word in out) == (code, True)


@pytest.mark.parametrize("value", [".nan", ".inf", "2", "-0.1", "yes", "'5'"])
def test_w4_limits_that_are_none(pair, gate, value):
    homes = pair(rows_of([1.0] * 60), rows_of([1.0] * 60))
    code, out = gate(homes, f"defaults:\n  max_drop: {value}\n")
    assert code == 2
    assert "policy.yaml:2" in out


def test_w5_a_file_cut_in_the_middle_is_not_a_small_benchmark(pair, gate, run_verb, tmp_path):
    counts = {"n-samples": {"t": {"original": 20, "effective": 20}}}
    homes = pair(rows_of([1.0] * 20), rows_of([1.0] * 20), extra=(counts, counts))
    (samples,) = (tmp_path / "now").rglob("samples_*")
    raw = samples.read_bytes()
    samples.write_bytes(raw[: len(raw) * 2 // 3])
    code, out = gate(homes, "defaults: {max_drop: 0.3, min_n: 5}")
    assert code == 3
    assert "of 20 expected rows are missing" in out
    code, data = compared(run_verb, homes)
    assert (code, data["tasks"][0]["verdict"]) == (3, "not enough evidence")


def test_w6_rows_that_stand_twice_are_left_out_in_every_verb(pair, gate, run_verb, tmp_path):
    homes = pair(rows_of([1.0] * 300), rows_of([1.0] * 300))
    (samples,) = (tmp_path / "now").rglob("samples_*")
    lines = samples.read_text().splitlines()
    contrary = [line.replace('"exact_match": 1.0', '"exact_match": 0.0') for line in lines[:20]]
    samples.write_text("\n".join([*lines, *contrary]) + "\n")
    _, data = compared(run_verb, homes)
    task = data["tasks"][0]
    assert (task["n"], task["counts"]["duplicates"], task["verdict"]) == (
        280,
        20,
        "not enough evidence",
    )
    code, out = gate(homes, "defaults: {max_drop: 0.1}")
    assert code == 3
    assert "20 ids occur more than once and are left out: r0, r1" in out
    assert "missing (20 ids occur twice)" in " ".join(out.split())


def test_w7_every_task_with_a_score_takes_part(pair, gate, run_verb):
    good = {f"binary{at}": rows_of([1.0, 0.0] * 30) for at in range(3)}
    graded = {f"graded{at}": rows_of([0.2, 0.8, 0.5] * 20) for at in range(9)}
    emptied = {name: rows_of([0.0] * 60) for name in list(graded)[:8]}
    homes = pair(good | graded | emptied, good | graded)
    code, data = compared(run_verb, homes)
    assert code == 1
    assert data["overall"]["verdict"] == "worse"
    assert data["overall"]["name"] == "mean of 12 of 12 tasks"
    code, out = gate(homes, "{tasks: {}, overall: {max_drop: 0.05}}")
    assert (code, "fail overall" in out) == (1, True)


def test_w9_unreadable_published_verdicts_are_named(tmp_path, run_verb):
    rows = rows_of([1.0] * 200, previous=True)
    for at, value in ((0, float("nan")), (1, "maybe"), (2, 2)):
        rows[at] = Row(f"r{at}", 1.0, previous=value)
    home = write_run(tmp_path, {"t": rows})
    _, data = compared(run_verb, [str(home)])
    task = data["tasks"][0]
    assert (task["n"], task["gained"], task["unreadable"]) == (197, 0, ["r0", "r1", "r2"])
    assert task["verdict"] == "not enough evidence"  # 3 of 200 is more than 1 %
    assert "better" not in run_verb("compare", home, "--no_write")[1]


def shots(number):
    return {"n-shot": {"t": number}}


def test_w11_other_shots_are_another_question(pair, gate, run_verb):
    homes = pair(rows_of([1.0] * 60), rows_of([1.0] * 60), extra=(shots(5), shots(0)))
    code, out = gate(homes, "defaults: {max_drop: 0, slack: 0.06}")
    assert code == 3
    assert "not comparable" in out
    assert "num_fewshot 5 / 0" in out
    assert gate(homes, "{allow: [num_fewshot], defaults: {max_drop: 0, slack: 0.06}}")[0] == 0
    code, out = gate(homes, "{allow: [num_fewshots]}")
    assert (code, "did you mean num_fewshot" in out) == (2, True)
    assert compared(run_verb, homes)[0] == 3
    assert compared(run_verb, homes, "--allow", "num_fewshot")[0] == 0


def test_a_place_in_memory_is_no_other_question(pair, run_verb):
    """lm-eval logs functions inside a few-shot configuration with their address."""
    configs = [
        {"configs": {"t": {"fewshot_config": {"samples": f"<function list_samples at 0x{place}>"}}}}
        for place in ("7f01", "7fab")
    ]
    code, data = compared(run_verb, pair(rows_of([1.0] * 60), rows_of([1.0] * 60), extra=configs))
    assert (code, data["tasks"][0]["not_comparable"]) == (0, [])


def test_a_part_of_the_rows_is_another_question(pair, run_verb):
    counts = [{"n-samples": {"t": {"original": 68, "effective": n}}} for n in (8, 68)]
    homes = pair(rows_of([1.0] * 8), rows_of([1.0] * 68), extra=counts)
    code, data = compared(run_verb, homes)
    assert code == 3
    assert "8 of 68 rows" in data["tasks"][0]["words"]
    assert (
        compared(run_verb, homes, "--allow", "limit")[1]["tasks"][0]["verdict"]
        == "no difference shown"
    )


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")])
def test_w13_scores_that_are_no_numbers_carry_no_verdict(pair, gate, run_verb, tmp_path, value):
    homes = pair(rows_of([value] + [1.0] * 49), rows_of([1.0] * 50))
    _, data = compared(run_verb, homes)
    task = data["tasks"][0]
    assert (task["n"], task["unscored"], task["verdict"]) == (49, ["r0"], "not enough evidence")
    assert gate(homes, "defaults: {max_drop: 0.1}")[0] == 3
    code, out = run_verb(
        "report", *homes, "--out", tmp_path / "page", "--format", "html,csv,md,json,xlsx"
    )
    assert (code, "Traceback" in out) == (0, False)
    assert run_verb("score", homes[0], "--no-write")[0] == 0


def test_w14_one_order_and_the_next_line_says_the_same(pair, run_verb, tmp_path):
    homes = pair(rows_of([1.0] * 40), rows_of([0.0] * 3 + [1.0] * 37), model="org__m")
    code, out = run_verb("compare", *homes, "--no_write", "--label", "new", "--label", "old one")
    assert (code, "+7.5" in out) == (0, True)
    follow = out.rpartition("next: evalprep ")[2]
    assert follow.startswith(f"report {homes[0]} --baseline {homes[1]}")
    assert follow.endswith("--label 'new,old one'")
    code, out = run_verb(
        "report", homes[0], "--baseline", homes[1], "--out", tmp_path / "page", "--format", "json"
    )
    assert code == 0
    document = json.loads((tmp_path / "page" / "report.json").read_text())
    (one,) = document["comparisons"]
    assert (one["now"], one["before"]) == (0, 1)
    assert one["tasks"][0]["delta"] == pytest.approx(0.075)
    run_verb("report", *homes, "--out", tmp_path / "again", "--format", "json")
    again = json.loads((tmp_path / "again" / "report.json").read_text())["comparisons"][0]
    assert again["tasks"][0]["delta"] == pytest.approx(0.075)


def test_w15_published_verdicts_are_met_by_their_own_rule(tmp_path, run_verb):
    strict = [0.0] * 20 + [1.0] * 80  # the first 20 replies are right but not boxed
    rows = [Row(f"r{at}", 1.0, previous=bool(value)) for at, value in enumerate(strict)]
    home = write_run(
        tmp_path, {"t": rows}, filters=("strict-match", "flexible-extract"),
        metadata={"primary_metric": "exact_match", "primary_filter": "flexible-extract"},
    )  # fmt: skip
    (samples,) = home.glob("samples_*")
    lines = [json.loads(line) for line in samples.read_text().splitlines()]
    for line in lines:
        if line["filter"] == "strict-match":
            line["exact_match"] = strict[line["doc_id"]]
    samples.write_text("".join(json.dumps(line) + "\n" for line in lines))
    _, data = compared(run_verb, [str(home)])
    task = data["tasks"][0]
    assert (task["filter"], task["gained"], task["lost"]) == ("strict-match", 0, 0)
    assert any("flexible-extract) is 100.0" in note for note in task["notes"]), task["notes"]


def stored(tmp_path, name, value, stderr, **more):
    home = tmp_path / name / "org__model"
    home.mkdir(parents=True)
    results = {
        "results": {"t": {"alias": "t", "acc,none": value, "acc_stderr,none": stderr}},
        "configs": {"t": {"task": "t"}},
        "higher_is_better": {"t": {"acc": True}},
        "config": {"model_args": "pretrained=org/model"},
    }
    (home / f"results_{STAMP}.json").write_text(json.dumps(results | more))
    return home


def test_w16_results_without_samples_stand_side_by_side(tmp_path, run_verb):
    homes = [stored(tmp_path, "a", 0.6, 0.02), stored(tmp_path, "b", 0.5, 0.02)]  # about 600 rows
    code, out = run_verb("compare", *homes, "--no_write")
    assert code == 0
    assert "t: acc" in out
    assert "60.0 %" in out
    assert "unpaired" in out
    _, data = compared(run_verb, homes)
    assert data["stored"][0]["verdict"] == "better"
    assert data["stored"][0]["high"] == pytest.approx(0.1 + 1.96 * 0.02 * 2**0.5, abs=1e-3)


def test_w16_every_verb_shows_what_results_without_samples_hold(tmp_path, run_verb, gate):
    counts = {"n-samples": {"t": {"original": 500, "effective": 500}}}
    homes = [stored(tmp_path, "a", 0.6, 0.02, **counts), stored(tmp_path, "b", 0.5, 0.02, **counts)]
    code, out = run_verb("score", homes[0], "--no-write")
    assert (code, "t acc ↑ 500 60.0 2.0" in out) == (0, True), out
    assert "next: evalprep report" in out
    code, out = gate(homes, "{defaults: {max_drop: 0}}")
    assert (code, "t (unpaired): gain of 10.0 points" in out) == (0, True), out
    code, out = gate(homes[::-1], "{defaults: {max_drop: 0}}")
    assert (code, "t (unpaired): drop of 10.0 points" in out) == (1, True), out
    where = tmp_path / "page"
    code, _ = run_verb("report", *homes, "--out", where, "--format", "html,csv,md,json,xlsx")
    assert code == 0
    document = json.loads((where / "report.json").read_text())
    whole = {"value": 0.6, "stderr": 0.02, "n": 500, "part": ""}
    assert document["stored"][0]["runs"][0] == whole
    assert document["comparisons"][0]["stored"][0]["verdict"] == "better"
    assert "| t | acc | 500 | 60.0 ± 2.0 | 50.0 ± 2.0 |" in (where / "report.md").read_text()
    assert "as the results file has it, without samples" in (where / "scores.csv").read_text()
    assert "| +10.0 [" in (where / "report.md").read_text()
    assert run_verb("rescore", homes[0])[0] == 2


def likelihoods(values, words=20):
    return [
        Row(
            f"r{at}",
            metrics={"word_perplexity": [value, words], "bits_per_byte": [value, 5 * words]},
        )
        for at, value in enumerate(values)
    ]


def test_w17_perplexities_are_compared_by_their_rows(pair, run_verb):
    before = [-40.0 - at % 7 for at in range(100)]
    now = [value + 1 + 0.1 * (at % 3) for at, value in enumerate(before)]
    code, data = compared(run_verb, pair(likelihoods(now), likelihoods(before)))
    assert code == 0
    word = next(metric for metric in data["metrics"] if metric["name"] == "t: word_perplexity")
    assert word["verdict"] == "better"
    assert word["high"] < 0
    assert word["now"] < word["previous"]


def labels(pairs):
    return [
        Row(f"r{at}", metrics={"acc": 1.0, "f1": list(one), "mcc": list(one)})
        for at, one in enumerate(pairs)
    ]


def test_w18_metrics_over_all_rows_are_listed(pair, run_verb):
    before = [(1, 1)] * 40 + [(0, 0)] * 60
    now = [(1, 0)] * 20 + [(1, 1)] * 20 + [(0, 0)] * 60
    homes = pair(labels(now), labels(before))
    code, data = compared(run_verb, homes)
    f1, mcc = data["metrics"]
    assert (f1["previous"], f1["now"], f1["verdict"]) == (1.0, pytest.approx(2 / 3), "worse")
    assert (mcc["previous"], mcc["verdict"]) == (1.0, "worse")
    assert code == 0  # beside the metric that decides, as in a gate
    assert data["exit_sentence"].startswith("t: f1, t: mcc are advisory")
    assert data["tasks"][0]["verdict"] == "no difference shown"
    code, out = run_verb("compare", *homes, "--no_write")
    assert "t: f1 66.7 % 100.0 %" in out


def test_both_orders_mirror_in_compare_and_gate(pair, run_verb, gate):
    now, before = [0.0] * 12 + [1.0] * 88, [1.0] * 10 + [0.0] * 2 + [1.0] * 80 + [0.0] * 8
    homes = pair(rows_of(now), rows_of(before))
    here, there = (compared(run_verb, one)[1]["tasks"][0] for one in (homes, homes[::-1]))
    assert here["delta"] == pytest.approx(-there["delta"])
    assert here["low"] == pytest.approx(-there["high"])
    assert here["p"] == pytest.approx(there["p"])
    checks = [
        json.loads(gate(one, options=["--json"])[1])["checks"][0] for one in (homes, homes[::-1])
    ]
    assert checks[0]["drop"] == pytest.approx(-checks[1]["drop"])
    assert checks[0]["low"] == pytest.approx(-checks[1]["high"])


MIRRORED = """name: toy
suite_scores:
  micro: {function: micro, tasks: [t, g], range: [0, 1]}
  macro: {function: macro, tasks: [t, g], range: [0, 1]}
  both: {function: mean, needs: [micro, macro]}
  f1: {counts: score.counts, value: score.value, tasks: [t], range: [0, 1]}
  missed: {counts: score.counts, value: score.missed, tasks: [t], better: down, range: [0, 1]}
"""
COUNTS_PY = """
def counts(rows):
    pairs = [(row["sample_id"] < "r3", row["metrics"]["exact_match"] > 0) for row in rows["t"]]
    return [[gold and said, said and not gold, gold and not said] for gold, said in pairs]

def value(sums):
    bottom = 2 * sums[0] + sums[1] + sums[2]
    return 2 * sums[0] / bottom if bottom else 0.0

def missed(sums):
    return sums[2] / (sums[0] + sums[2])
"""


def ends(one):
    return [one["delta"], one["low"], one["high"]]


def turned(values):
    delta, low, high = values
    return [
        None if value is None else pytest.approx(-value, abs=1e-12) for value in (delta, high, low)
    ]


def test_both_orders_mirror_in_every_verb_and_every_quantity(pair, run_verb, gate, tmp_path):
    folder = tmp_path / "packs" / "toy"
    folder.mkdir(parents=True)
    (folder / "pack.yaml").write_text(MIRRORED)
    (folder / "score.py").write_text(COUNTS_PY)
    now = {
        "t": rows_of([0.0] * 30 + [1.0] * 70), "g": rows_of([0.3, 0.6, 0.1] * 40), "f": labels([(1, 0), (1, 1)] * 30),
        "p": likelihoods([-41.0 - at % 5 for at in range(80)]),
    }  # fmt: skip
    before = {
        "t": rows_of([1.0] * 90 + [0.0] * 10), "g": rows_of([0.3, 0.5, 0.2] * 40), "f": labels([(1, 1), (1, 1)] * 30),
        "p": likelihoods([-40.0 - at % 7 for at in range(80)]),
    }  # fmt: skip
    homes, options = pair(now, before), ["--template_dir", tmp_path / "packs"]
    here, there = (compared(run_verb, one, *options)[1] for one in (homes, homes[::-1]))
    swapped = {"better": "worse", "worse": "better"}
    seen = []
    for part in ("tasks", "metrics", "suite"):
        for one, other in zip(here[part], there[part], strict=True):
            assert ends(one) == turned(ends(other)), one["name"]
            assert (one["now"], one["previous"], one["n"]) == (
                other["previous"],
                other["now"],
                other["n"],
            )
            assert one["verdict"] == swapped.get(other["verdict"], other["verdict"]), one["name"]
            assert one["p"] == pytest.approx(other["p"])
            assert one["mde"] == pytest.approx(other["mde"])
            seen.append(one["verdict"])
    assert len(seen) == 4 + 4 + 5
    assert "not enough evidence" not in [score["verdict"] for score in here["suite"]]
    assert ends(here["overall"]) == turned(ends(there["overall"]))
    assert here["pooled"] is None, "the tasks have different metrics"

    policy = "{defaults: {max_drop: 0.01}, suite: {f1: {max_drop: 0.01}, missed: {max_drop: 0.01}}, overall: {}}"
    checks = [
        json.loads(gate(one, policy, options=[*options, "--json"])[1])["checks"]
        for one in (homes, homes[::-1])
    ]
    for one, other in zip(*checks, strict=True):
        assert one["drop"] == pytest.approx(-other["drop"], abs=1e-12)
        assert [one["low"], one["high"]] == turned([0, other["low"], other["high"]])[1:]
    pages = []
    for at, one in enumerate((homes, homes[::-1])):
        run_verb("report", *one, "--out", tmp_path / f"page{at}", "--format", "csv", *options)
        with (tmp_path / f"page{at}" / "comparisons.csv").open(newline="") as file:
            pages.append(list(csv.DictReader(file)))
    for one, other in zip(*pages, strict=True):
        assert one["verdict"] == swapped.get(other["verdict"], other["verdict"])
        found = [
            [float(row[key] or 0) for key in ("difference", "low", "high")] for row in (one, other)
        ]
        assert found[0] == turned(found[1])
    scores = [
        json.loads(run_verb("score", one, "--no-write", "--json", *options)[1]) for one in homes
    ]
    values = [{score["name"]: score["value"] for score in found["suite"]} for found in scores]
    for one in here["suite"]:
        name = one["name"].rpartition("/")[2]
        assert [one["now"], one["previous"]] == [side[name] for side in values]


def pack_with_published(tmp_path, rule=""):
    folder = tmp_path / "packs" / "toy"
    folder.mkdir(parents=True)
    score = (
        "{function: micro, tasks: [t], range: [0, 1]" + (f", rule: {rule}" if rule else "") + "}"
    )
    (folder / "pack.yaml").write_text(
        f"name: toy\nsuite_scores: {{all: {score}}}\npublished: published.yaml\n", encoding="utf-8"
    )
    (folder / "published.yaml").write_text(
        "source: a paper\nrule: original\nscores: [{model: model, score: all, value: 0.804}]\n",
        encoding="utf-8",
    )
    return tmp_path / "packs"


@pytest.mark.parametrize(
    ("effective", "rule", "shown"),
    [(68, "original", True), (8, "original", False), (68, "", False)],
)
def test_w10_w12_published_values_stand_beside_their_equals_alone(
    tmp_path, run_verb, effective, rule, shown
):
    packs = pack_with_published(tmp_path, rule)
    counts = {"n-samples": {"t": {"original": 68, "effective": effective}}}
    home = write_run(tmp_path / "out", {"t": rows_of([1.0, 0.0] * (effective // 2))}, extra=counts)
    code, out = run_verb("score", home, "--template_dir", packs, "--no-write")
    assert code == 0
    assert ("80.4 [1]" in out) == shown
    assert ("8 of 68 rows: not comparable" in out) == (effective == 8)
    assert ("published by another rule (original): not comparable" in out) == (rule == "")
    data = json.loads(run_verb("score", home, "--template_dir", packs, "--no-write", "--json")[1])
    assert bool(data["suite"][0]["published"]) == shown
    for kind, value in (("md", "80.4"), ("json", "0.804")):
        run_verb(
            "report", home, "--template_dir", packs, "--out", tmp_path / kind, "--format", kind
        )
        text = (tmp_path / kind / f"report.{kind}").read_text()
        assert (value in text) == shown


def test_suite_scores_of_each_rule_have_their_own_table(tmp_path, run_verb):
    """A number by one rule is no number by another."""
    folder = tmp_path / "packs" / "toy"
    folder.mkdir(parents=True)
    (folder / "pack.yaml").write_text(
        "name: toy\nsuite_scores:\n  ours: {function: micro, tasks: [t]}\n"
        "  theirs: {function: micro, tasks: [t], rule: original}\n",
        encoding="utf-8",
    )
    homes = [write_run(tmp_path / at, {"t": rows_of([1.0, 0.0] * 20)}) for at in ("a", "b")]
    code, out = run_verb("compare", *homes, "--template_dir", tmp_path / "packs", "--no_write")
    assert code == 0
    usual, original = out.partition("Suite scores")[2].split("Suite scores by the rule 'original'")
    assert ("ours" in usual, "theirs" in usual) == (True, False)
    assert ("ours" in original, "theirs" in original) == (False, True)


def test_the_closing_line_names_a_suite_score_that_is_worse(tmp_path, run_verb):
    packs = pack_with_published(tmp_path)
    homes = [
        write_run(tmp_path / name, {"t": rows_of([0.0] * wrong + [1.0] * (100 - wrong))})
        for name, wrong in (("now", 60), ("before", 20))
    ]
    _, out = run_verb("compare", *homes, "--template_dir", packs, "--no_write", "--json")
    closing = json.loads(out)["closing"]
    assert any("toy/all worse by 40.0 points" in line for line in closing), closing


def test_w8_a_suite_score_without_a_test_is_no_evidence(pair, gate, run_verb, tmp_path):
    folder = tmp_path / "packs" / "toy"
    folder.mkdir(parents=True)
    (folder / "pack.yaml").write_text(
        "name: toy\nsuite_scores:\n  odd: {function: score.odd, tasks: [t]}\n  all: {function: micro, tasks: [t]}\n"
        "  quality: {function: score.odd, tasks: [t], made_of: none}\n"
    )
    (folder / "score.py").write_text(
        "def odd(*, rows, **_):\n    return {'agg_value': rows['t'][0]['metrics']['exact_match']}\n"
    )
    homes = pair(rows_of([0.0] * 20 + [1.0] * 80), rows_of([1.0] * 100))
    options = ["--template_dir", tmp_path / "packs"]
    for name, code, word in (
        ("odd", 3, "no test for this score"), ("quality", 3, "a p-value itself"), ("all", 1, "fail"),
    ):  # fmt: skip
        found, out = gate(
            homes, f"{{tasks: {{}}, suite: {{{name}: {{max_drop: 0.02}}}}}}", options=options
        )
        assert (found, word in out) == (code, True), out
    _, data = compared(run_verb, homes, *options)
    verdicts = {score["name"]: score["verdict"] for score in data["suite"]}
    assert verdicts == {
        "toy/odd": "not enough evidence",
        "toy/all": "worse",
        "toy/quality": "not enough evidence",
    }


def test_w20_groups_of_several_metrics_are_not_pooled(tmp_path, run_verb):
    tasks = {
        "a": rows_of([1.0, 0.0] * 10),
        "b": [Row(f"r{at}", metrics={"acc": 0.5}) for at in range(20)],
    }
    extra = {"group_subtasks": {"g": ["a", "b"]}, "groups": {"g": {"alias": "g", "acc,none": 0.5}}}
    home = write_run(tmp_path, tasks, extra=extra)
    code, out = run_verb("score", home, "--no-write")
    assert code == 0
    assert (
        "g: its tasks are scored by different metrics or on different scales, and are not pooled"
        in out
    )
    assert "lm-eval reports acc 0.5000" in out
    data = json.loads(run_verb("score", home, "--no-write", "--json")[1])
    assert data["groups"][0]["micro"]["agg_value"] is None


def audit(run_verb, tmp_path, home):
    run_verb("report", home, "--out", tmp_path / "page", "--format", "json,md")
    assert "| - |" not in (tmp_path / "page" / "report.md").read_text().partition("## Replies")[2]
    return json.loads((tmp_path / "page" / "report.json").read_text())["tasks"][0]["runs"][0]


@pytest.mark.parametrize(
    ("reply", "limit", "model", "cut"),
    [
        pytest.param("word " * 400, None, "hf", 20, id="lm-eval's own limit"),
        pytest.param("word " * 400, None, "somebody's", None, id="no limit known"),
        pytest.param("word " * 60 + "word", 200, "hf", None, id="may or may not"),
        pytest.param(
            '{"answer": "a long tex' + "t" * 300, 300, "hf", 20, id="JSON that does not close"
        ),
        pytest.param("short", 200, "hf", 0, id="fewer bytes than tokens"),
        pytest.param("word " * 60 + "word.", 200, "hf", 0, id="a whole sentence"),
    ],
)
def test_w19_what_is_not_known_is_never_zero(tmp_path, run_verb, reply, limit, model, cut):
    home = write_run(
        tmp_path, {"t": rows_of([1.0] * 20, response=reply)}, extra={"config": {"model": model}}
    )
    (samples,) = home.glob("samples_*")
    lines = [json.loads(line) for line in samples.read_text().splitlines()]
    for line in lines:
        line["arguments"]["gen_args_0"]["arg_1"] = {"until": []} | (
            {"max_gen_toks": limit} if limit else {}
        )
    samples.write_text("".join(json.dumps(line) + "\n" for line in lines))
    run = audit(run_verb, tmp_path, home)
    assert run["truncated"] == cut
    assert run["unparsed"] is None  # no filter, no parse rate
    if cut is None:
        assert "not known" in (tmp_path / "page" / "report.md").read_text()
        assert run["truncated_suspected"] == 20  # all end inside a sentence at one length
    assert (
        json.loads(run_verb("score", home, "--no-write", "--json")[1])["tasks"][0]["unparsed"]
        is None
    )


def test_w19_a_task_of_its_own_parse_rate_is_asked(tmp_path, run_verb):
    rows = [
        Row(f"r{at}", metrics={"exact_match": 0.0, "unparsed": float(at < 3)}) for at in range(20)
    ]
    run = audit(run_verb, tmp_path, write_run(tmp_path, {"t": rows}))
    assert run["unparsed"] == 3


def test_one_pair_of_runs_says_the_same_everywhere(pair, gate, run_verb, tmp_path):
    folder = tmp_path / "packs" / "toy"
    folder.mkdir(parents=True)
    (folder / "pack.yaml").write_text(
        "name: toy\nsuite_scores: {all: {function: macro, tasks: [t, g], range: [0, 1], title: All}}\n"
    )
    now = {"t": rows_of([0.0] * 30 + [1.0] * 70), "g": rows_of([0.3, 0.6] * 40)}
    before = {"t": rows_of([1.0] * 90 + [0.0] * 10), "g": rows_of([0.3, 0.5] * 40)}
    homes, options = pair(now, before), ["--template_dir", str(tmp_path / "packs")]
    _, data = compared(run_verb, homes, *options)
    expected = {}
    for part in ("tasks", "suite"):
        expected |= {one["name"]: (one["low"], one["high"], one["verdict"]) for one in data[part]}
    assert [verdict for *_, verdict in expected.values()] == ["better", "worse", "worse"]

    out = gate(
        homes,
        "{defaults: {max_drop: 0}, suite: {toy/all: {max_drop: 0}}}",
        options=[*options, "--json"],
    )[1]
    checks = {check["name"]: (check["low"], check["high"]) for check in json.loads(out)["checks"]}
    assert checks == {name: ends for name, (*ends, _) in expected.items() for ends in [tuple(ends)]}

    where = tmp_path / "page"
    formats = ["--format", "html,csv,md,json,xlsx"]
    code, _ = run_verb(
        "report", homes[0], "--baseline", homes[1], "--out", where, *formats, *options
    )
    assert code == 0
    document = json.loads((where / "report.json").read_text())["comparisons"][0]
    shown = {
        one["name"]: (one["low"], one["high"], one["verdict"])
        for key in ("tasks", "suite")
        for one in document[key]
    }
    assert shown == expected
    with (where / "comparisons.csv").open(newline="") as file:
        rows = {row["name"]: row for row in csv.DictReader(file)}
    assert {
        name: (float(rows[name]["low"]), float(rows[name]["high"]), rows[name]["verdict"])
        for name in expected
    } == expected
    text = (where / "report.md").read_text()
    assert all(name.replace("_", "\\_") in text or name in text for name in expected)
    assert zipfile.is_zipfile(where / "report.xlsx")
    with zipfile.ZipFile(where / "report.xlsx") as book:
        cells = book.read("xl/worksheets/sheet2.xml").decode()
    for low, high, _ in expected.values():
        assert f"<v>{low:.16g}</v>" in cells
        assert f"<v>{high:.16g}</v>" in cells
    assert "toy/all" in run_verb("compare", *homes, "--no_write", *options)[1]
