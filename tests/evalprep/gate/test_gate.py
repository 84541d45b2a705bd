"""The gate: planted regressions fail, noise does not, thin evidence is said to be thin, policies are checked whole."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from evalprep.cli import main
from evalprep.compare import POINTS, SHARE, Limit, compare_runs
from evalprep.compare.difference import difference
from evalprep.errors import BadInput
from evalprep.gate import Policy, Rule, decide, junit, read_policy
from evalprep.gate.policy import SLACK
from evalprep.packs import find_packs
from evalprep.results import load_run
from tests.evalprep.results.writing import Row, write_run

LATER = "2026-03-02T09-30-00.5"
PAIRS = 2_000


def rows_of(verdicts, cluster=None):
    return [
        Row(f"r{at}", float(ok), cluster=None if cluster is None else f"d{cluster[at]}")
        for at, ok in enumerate(verdicts)
    ]


def runs(tmp_path, now, before):
    write_run(tmp_path / "now", now, stamp=LATER)
    write_run(tmp_path / "before", before)
    return load_run(tmp_path / "now"), load_run(tmp_path / "before")


def simulate(generator, *, drop=0.0, noise=0.05, size=PAIRS):
    """Verdicts of two runs of one model: `noise` of them flip each way, and `drop` are lost on top."""
    before = generator.uniform(size=size) < 0.6
    now = before.copy()
    right, wrong = np.flatnonzero(before), np.flatnonzero(~before)
    now[generator.choice(right, generator.binomial(size, noise), replace=False)] = False
    now[generator.choice(wrong, generator.binomial(size, noise), replace=False)] = True
    lost = generator.choice(np.flatnonzero(now), round(drop * size), replace=False)
    now[lost] = False
    return now, before


def test_one_of_several_models_is_never_judged_for_all(tmp_path, capsys):
    """The newer model would pass, and the older one would fail."""
    good = rows_of([True] * 40)
    write_run(tmp_path / "now", {"t": rows_of([False] * 40)}, model="org__bad")
    write_run(tmp_path / "now", {"t": good}, model="org__good", stamp=LATER)
    write_run(tmp_path / "before", {"t": good})
    policy = tmp_path / "policy.yaml"
    policy.write_text("defaults: {max_drop: 20%}")
    places = [str(tmp_path / name) for name in ("now", "before")]
    assert main(["gate", *places, "--policy", str(policy)]) == 2
    message = capsys.readouterr().err
    assert "runs in 2 folders: org__good, org__bad" in message
    assert f"e.g. {tmp_path / 'now' / 'org__good'}" in message
    one = str(tmp_path / "now" / "org__bad")
    assert main(["gate", one, places[1], "--policy", str(policy)]) == 1


def test_a_planted_drop_of_three_points_fails_with_one(tmp_path, capsys):
    now, before = simulate(np.random.default_rng(11), drop=0.03)
    runs(tmp_path, {"t": rows_of(now)}, {"t": rows_of(before)})
    policy = tmp_path / "policy.yaml"
    policy.write_text("confidence: 0.95\nrequired: [t]\n")
    arguments = ["gate", str(tmp_path / "now"), str(tmp_path / "before"), "--policy", str(policy)]
    files = ["--junit", str(tmp_path / "junit.xml"), "--out", str(tmp_path / "gate.json")]
    assert main([*arguments, *files]) == 1
    assert "fail" in capsys.readouterr().out
    (suite,) = ET.parse(tmp_path / "junit.xml").getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("1", "1", "0")
    output = suite.findtext("testcase/system-out")
    assert f"(n={PAIRS} baseline=" in output
    assert " candidate=" in output
    data = json.loads((tmp_path / "gate.json").read_text())
    assert (data["status"], data["exit_code"], data["checks"][0]["n"]) == ("fail", 1, PAIRS)
    assert main([*arguments, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["checks"][0]["p"] < 0.05


@pytest.mark.parametrize(
    "clustered", [False, True], ids=["independent rows", "rows share documents"]
)
def test_noise_alone_fails_no_more_often_than_the_stated_level(clustered):
    generator = np.random.default_rng(2024)
    failures = 0
    for _ in range(100):
        if clustered:  # whole documents of ten questions go one way or the other
            fate = generator.choice(
                4, size=200, p=[0.55, 0.35, 0.05, 0.05]
            )  # both right, both wrong, lost, gained
            fate = np.repeat(fate, 10)
            now, before = (
                ((fate == 0) | (fate == 3)).astype(float),
                ((fate == 0) | (fate == 2)).astype(float),
            )
            clusters = np.repeat(np.arange(200), 10)
        else:
            one, two = simulate(generator)
            now, before, clusters = one.astype(float), two.astype(float), None
        item = difference(now, before, clusters)
        failures += item.drop_p(0.0) < 0.05
    assert failures <= 5


def test_the_level_holds_for_many_tasks_together(tmp_path):
    generator = np.random.default_rng(7)
    failures = 0
    for _ in range(100):
        p = []
        for _task in range(10):
            now, before = simulate(generator, size=300)
            item = difference(now.astype(float), before.astype(float), None)
            p.append(item.drop_p(0.0))
        failures += min(p) * len(p) < 0.05  # the first step of Holm decides whether anything fails
    assert failures <= 5


@pytest.mark.parametrize(
    ("policy", "status"),
    [
        (Policy(), "fail"),
        (Policy(defaults=Rule(max_drop=0.08)), "pass"),
        (Policy(defaults=Rule(max_drop=0.05, slack=0.01)), "unclear"),
        (Policy(defaults=Rule(max_drop=0.02)), "fail"),
        (Policy(defaults=Rule(min_n=3_000)), "not enough evidence"),
        (Policy(required=("absent",)), "fail"),
        (Policy(defaults=Rule(max_drop=0.5), required=("absent",)), "not enough evidence"),
        (Policy(tasks={"t": Rule(max_drop=0.5)}, overall=Rule()), "fail"),
        (Policy(tasks={"t": Rule(max_drop=0.5)}, overall=Rule(max_drop=0.1)), "pass"),
        (Policy(mode="non-inferiority", defaults=Rule(max_drop=0.1)), "pass"),
        (Policy(mode="non-inferiority", defaults=Rule(max_drop=0.06)), "unclear"),
        (Policy(mode="non-inferiority", defaults=Rule(max_drop=0.06), on_unclear="pass"), "pass"),
        (Policy(defaults=Rule(level="advisory"), required=()), "not enough evidence"),
        (Policy(mode="non-inferiority", defaults=Rule(max_drop=0.01)), "fail"),
    ],
    ids=[
        "drop", "tolerated", "neither", "beyond tolerance", "too few", "drop and missing", "missing", "overall fails",
        "overall tolerated", "shown to be within", "neither shown", "unclear passes", "advisory alone",
        "shown to be beyond",
    ],
)  # fmt: skip
def test_what_a_policy_makes_of_a_drop_of_six_points(tmp_path, policy, status):
    now, before = simulate(np.random.default_rng(3), drop=0.06, noise=0.04)
    verdict = decide(*runs(tmp_path, {"t": rows_of(now)}, {"t": rows_of(before)}), policy)
    assert verdict.status == status
    assert verdict.exit_code == {"pass": 0, "fail": 1}.get(status, 3)


def test_a_run_may_be_held_against_the_published_verdicts(tmp_path):
    rows = [Row(f"r{at}", float(at >= 20), True) for at in range(100)]
    verdict = decide(load_run(write_run(tmp_path, {"t": rows})), None, Policy())
    assert (verdict.status, verdict.checks[0].drop) == ("fail", pytest.approx(0.2))


def test_suite_scores_take_their_uncertainty_along(tmp_path):
    pack = tmp_path / "packs" / "toy"
    pack.mkdir(parents=True)
    (pack / "t.yaml").write_text("task: t\n")
    (pack / "pack.yaml").write_text(
        "name: toy\ntasks: {t: {template: t.yaml}}\nsuite_scores: {all: {function: micro, tasks: [t]}}\n"
    )
    now, before = simulate(np.random.default_rng(5), drop=0.1)
    sides = runs(tmp_path, {"t": rows_of(now)}, {"t": rows_of(before)})
    packs = find_packs(tmp_path / "packs")
    for limit, status in ((0.0, "fail"), (0.2, "pass")):
        policy = Policy(tasks={}, suite={"all": Rule(max_drop=limit)})
        assert decide(*sides, policy, packs).status == status
    assert (
        decide(*sides, Policy(tasks={}, suite={"other": Rule()}), packs).status
        == "not enough evidence"
    )
    with pytest.raises(BadInput, match="two runs"):
        decide(sides[0], None, Policy(suite={"all": Rule()}), packs)


def test_a_gate_that_tolerates_nothing_has_the_p_values_of_compare(tmp_path):
    """Also where packs declare suite scores that its policy does not name, and with one task."""
    pack = tmp_path / "packs" / "toy"
    pack.mkdir(parents=True)
    (pack / "t.yaml").write_text("task: t\n")
    scores = "{both: {function: macro, tasks: [t, u]}, all: {function: micro, tasks: [t, u]}}"
    tasks = "{t: {template: t.yaml}, u: {template: t.yaml}}"
    (pack / "pack.yaml").write_text(f"name: toy\ntasks: {tasks}\nsuite_scores: {scores}\n")
    sides = [{}, {}]
    for seed, name in enumerate("tu"):
        for side, verdicts in zip(
            sides, simulate(np.random.default_rng(seed), size=300), strict=True
        ):
            side[name] = rows_of(verdicts)
    for names in (["t", "u"], ["t"]):
        folder = tmp_path / "-".join(names)
        pair = runs(folder, *({name: side[name] for name in names} for side in sides))
        packs = find_packs(tmp_path / "packs")
        compared = compare_runs(*pair, packs)
        verdict = decide(*pair, Policy(defaults=Rule(max_drop=0.0)), packs)
        p_of_task = {item.name: item.p_holm for item in compared.tasks}
        assert {check.name: check.p_adjusted for check in verdict.checks} == pytest.approx(
            p_of_task
        )


def test_every_mistake_of_a_policy_is_named_at_once(tmp_path):
    path = tmp_path / "policy.yaml"
    path.write_text(
        "confidence: 2\nmode: strict\nrequire: [a]\ndefaults: {max_drop: -1, min_m: 3}\n"
        "tasks: {a: {min_n: 0.5}, b: 3}\n"
    )
    with pytest.raises(BadInput) as caught:
        read_policy(path)
    text = str(caught.value)
    assert len(caught.value.problems) == 7
    for word in (
        "confidence",
        "mode",
        "did you mean required",
        "max_drop",
        "did you mean min_n",
        "min_n is 0.5",
        "b is not",
    ):
        assert word in text, word
    assert "policy.yaml:4" in text


def test_a_list_with_a_wrong_entry_is_one_mistake_at_the_line_of_its_key(tmp_path):
    path = tmp_path / "policy.yaml"
    path.write_text("confidence: 0.9\nrequired: [a, [b], {c: 1}]\n")
    with pytest.raises(BadInput) as caught:
        read_policy(path)
    (problem,) = caught.value.problems
    assert problem.where == f"{path}:2 (required)"
    assert problem.allowed == "[name, ...]"


@pytest.mark.parametrize(
    ("value", "shown"), [(".inf", "inf"), ("-1", "-1"), ('"5"', "'5'"), ("true", "True")]
)
def test_a_wrong_limit_is_shown_as_it_stands_also_under_a_task_called_by_a_number(
    tmp_path, value, shown
):
    path = tmp_path / "policy.yaml"
    path.write_text(f"tasks: {{12: {{slack: {value}}}}}\n")
    with pytest.raises(BadInput) as caught:
        read_policy(path)
    (problem,) = caught.value.problems
    assert problem.what == f"slack is {shown}"
    assert problem.where == f"{path}:1 (tasks.12.slack)"


def test_a_policy_for_unknown_tasks_is_refused(tmp_path):
    run = load_run(write_run(tmp_path, {"meta_gpqa": [Row("a", 1, True)]}))
    with pytest.raises(BadInput, match="did you mean meta_gpqa"):
        decide(run, None, Policy(tasks={"meta_gqpa": Rule()}))


def test_junit_survives_names_that_xml_cannot_hold(tmp_path):
    run = load_run(write_run(tmp_path, {"t": [Row("a", 1, True)]}))
    verdict = decide(run, None, Policy(required=("odd \x01 & <name>",)))
    suite = ET.fromstring(junit(verdict))
    assert [case.get("name") for case in suite.iter("testcase")] == [
        "t",
        "odd \N{REPLACEMENT CHARACTER} & <name>",
    ]
    assert suite.get("errors") == "2"


def test_a_required_task_without_a_rule_is_checked_by_the_defaults(tmp_path):
    run = load_run(write_run(tmp_path, {"one": rows_of([1] * 60), "two": rows_of([0] * 60)}))
    other = load_run(
        write_run(tmp_path / "other", {"one": rows_of([1] * 60), "two": rows_of([1] * 60)})
    )
    policy = Policy(tasks={"one": Rule()}, required=("two", "tow"))
    verdict = decide(run, other, policy)
    assert [(check.name, check.status) for check in verdict.checks] == [
        ("one", "pass"), ("two", "fail"), ("tow", "not enough evidence"),
    ]  # fmt: skip
    assert "did you mean two" in verdict.checks[-1].message


def test_a_demand_on_all_together_is_never_passed_over(tmp_path):
    unscored = [Row("a", metrics={"exact_match": None}), Row("b", metrics={"exact_match": None})]
    run, other = (
        load_run(write_run(tmp_path / name, {"t": unscored})) for name in ("now", "before")
    )
    verdict = decide(run, other, Policy(overall=Rule()))
    assert [(check.name, check.status) for check in verdict.checks] == [
        ("t", "not enough evidence"), ("overall", "not enough evidence"),
    ]  # fmt: skip
    assert verdict.exit_code == 3


def test_every_wrong_metric_of_a_policy_is_named_at_once(tmp_path):
    run = load_run(write_run(tmp_path, {"one": [Row("a", 1, True)], "two": [Row("a", 1, True)]}))
    with pytest.raises(BadInput) as caught:
        decide(run, None, Policy(tasks={"one": Rule(metric="acc"), "two": Rule(filter="strict")}))
    assert [problem.what for problem in caught.value.problems] == [
        "no metric 'acc'",
        "no filter 'strict'",
    ]


def test_the_documented_policy_is_one(tmp_path):
    page = (Path(__file__).parents[3] / "docs/commands/gate.md").read_text(encoding="utf-8")
    path = tmp_path / "policy.yaml"
    path.write_text(page.split("```yaml")[1].split("```")[0])
    policy = read_policy(path)
    gpqa, maths = policy.tasks["meta_gpqa"], policy.tasks["meta_math"]
    assert (gpqa.max_drop, gpqa.min_n) == (Limit(2.0, POINTS), 150)
    assert maths.max_drop == Limit(1.0, SHARE)
    assert (maths.metric, maths.filter, maths.min_n, maths.slack) == (
        "exact_match",
        "strict-match",
        100,
        Limit(5.0, POINTS),
    )
    assert (policy.overall.max_drop, policy.overall.min_n) == (Limit(0.5, POINTS), 100)


@pytest.mark.parametrize(("pairs", "status"), [(19, "not enough evidence"), (20, "pass")])
def test_a_rule_takes_twenty_pairs_unless_it_says_otherwise(tmp_path, pairs, status):
    rows = {"t": rows_of([1] * pairs)}
    assert decide(*runs(tmp_path, rows, rows), Policy(defaults=Rule(max_drop=0.5))).status == status


@pytest.mark.parametrize(
    ("rule", "drop"),
    [
        ("{min_n: 20}", SLACK),
        ("{min_n: 20, max_drop: 0.02}", SLACK + 0.02),
        ("{min_n: 20, max_drop: 0.02, slack: 0}", 0.02),
        ("{min_n: 20, max_drop: 0.5}", None),
        ("{min_n: 5000}", None),
        ("{max_drop: 0.02}", None),
    ],
)
def test_rows_that_can_never_pass_are_told_of(tmp_path, rule, drop):
    path = tmp_path / "policy.yaml"
    path.write_text(f"defaults: {rule}\n")
    said = (
        "" if drop is None else f"defaults: min_n 20 is too few for max_drop and slack of {drop:g}"
    )
    notes = read_policy(path).notes
    assert bool(notes) is bool(said)
    assert all(note.startswith(said) for note in notes)
