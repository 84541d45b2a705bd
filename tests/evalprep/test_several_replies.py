"""Runs with several replies to each prompt, through every verb that reads runs."""

import json
import random
import shutil

import pytest

from custom_metrics.repeats.task import row_values
from evalprep.cli import main
from tests import processes
from tests.evalprep.results.writing import Row, write_run

DRAWS, ROWS = 8, 60
UP = ("exact_match", "pass@2", "maj@2", "pass@8", "maj@8", "mean@8")
NAMES = (*UP, "var@8")


def rows_of(chance, seed):
    """Rows of a model that is right with a chance that differs from row to row."""
    source = random.Random(seed)
    rows = []
    for number in range(ROWS):
        own_chance = source.gauss(chance, 0.3)
        verdicts = [float(source.random() < own_chance) for _ in range(DRAWS)]
        answers = ["A" if verdict else source.choice("BCD") for verdict in verdicts]
        scored = [{"exact_match": verdict} for verdict in verdicts]
        values = row_values(scored, answers, metric="exact_match", ks=[2, 8])
        rows.append(Row(f"s{number}", metrics=values))
    return rows


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A weaker and a better run of one task."""
    folder = tmp_path_factory.mktemp("runs")
    for name, chance, seed in (("weak", 0.35, 1), ("strong", 0.75, 2)):
        rows = rows_of(chance, seed)
        means = {f"{key},none": sum(row.metrics[key] for row in rows) / ROWS for key in NAMES}
        settings = {"task": "t", "repeats": DRAWS, "output_type": "generate_until"}
        extra = {
            "results": {"t": means},
            "higher_is_better": {"t": {**dict.fromkeys(UP, True), "var@8": None}},
            "configs": {"t": {**settings, "metadata": {"version": 1.0}}},
        }
        write_run(folder / name, {"t": rows}, model=f"org__{name}", extra=extra)
    return folder


@pytest.fixture
def call(runs, capsys, monkeypatch):
    monkeypatch.chdir(runs)

    def call(*words, code=0):
        assert main(list(words)) == code
        return capsys.readouterr().out

    return call


def test_score_gives_each_with_its_interval(call):
    printed = call("score", "weak")
    content = json.loads(call("score", "weak", "--json"))
    (task,) = content["tasks"]
    further = {entry["metric"]: entry for entry in task["further"]}
    assert set(further) == set(NAMES) - {"exact_match"}
    for name, entry in further.items():
        low, high = entry["interval"]
        assert low < entry["value"] < high, name
        assert f"{100 * low:.1f}, {100 * high:.1f}" in printed
    assert further["mean@8"]["value"] == pytest.approx(task["micro"]["agg_value"])
    assert further["mean@8"]["interval"] == task["micro"]["interval"]


def test_compare_pairs_each_and_says_the_mean_once(call):
    content = json.loads(call("compare", "strong", "weak", "--json"))
    further = {entry["metric"]: entry for entry in content["further"]}
    assert set(further) == set(NAMES) - {"exact_match"}
    assert all(entry["low"] < entry["delta"] < entry["high"] for entry in further.values())
    assert further["var@8"]["verdict"] not in {"better", "worse"}
    printed = call("compare", "strong", "weak")
    table = printed.partition("Several replies to each prompt")[2]
    for name in ("pass@2", "maj@2", "pass@8", "maj@8", "var@8"):
        assert f"t: {name}" in table
    assert "mean@8" not in printed


@pytest.mark.parametrize("metric", ["pass@8", "t=maj@2", "t=pass@2@none", "var@8"])
def test_any_of_them_can_be_the_one_that_decides(call, metric):
    name = metric.removeprefix("t=").removesuffix("@none")
    content = json.loads(call("compare", "strong", "weak", "--metric", metric, "--json"))
    assert content["tasks"][0]["metric"] == name


def test_gate_decides_by_the_one_that_a_policy_names(call, runs):
    policy = runs / "policy.yaml"
    for limits, code in (
        ("metrics: [pass@8]\ndefaults: {max_drop: 2%}", 0),
        ("metrics: [pass@8@none]\ndefaults: {max_drop: 2%}", 0),
        ("tasks: {t: {metric: maj@8, max_drop: 2%}}", 0),
    ):
        policy.write_text(limits + "\n")
        call("gate", "strong", "weak", "--policy", str(policy), code=code)
        call("gate", "weak", "strong", "--policy", str(policy), code=1)


def test_leaderboard_has_a_column_for_each(call):
    content = json.loads(call("leaderboard", "weak", "strong", "--json"))
    columns = [column["name"] for column in content["columns"]]
    assert columns[0] == "t"
    assert {"t: pass@2", "t: maj@2", "t: pass@8", "t: maj@8", "t: var@8"} == set(columns[1:])
    printed = call("leaderboard", "weak", "strong")
    assert "t: pass@8: weak worse than strong" in printed


def test_report_has_each_in_all_forms(call, runs):
    call("report", "strong", "weak", "--format", "html,md,csv,json", "--out", "report")
    markdown = (runs / "report/report.md").read_text()
    assert "## Several replies to each prompt" in markdown
    assert "| t | var@8 |" in markdown
    table = (runs / "report/scores.csv").read_text()
    assert table.count("several replies,t,,") == 2 * (len(NAMES) - 1)
    (document,) = (runs / "report").glob("*.json")
    (task,) = json.loads(document.read_text())["tasks"]
    for run in task["runs"]:
        values = {entry["metric"]: entry for entry in run["metrics"]}
        assert set(values) == set(NAMES)
        assert all(entry["interval"] for entry in values.values())


CONFIG = """\
model_name: {model}
backend: {backend}
device: cpu
max_model_len: 512
repeats: 3
pass_at: [1, 3]
gen_kwargs: {{do_sample: true, temperature: 1.5, top_p: 1.0}}
tasks:
  - task: numbers
    dataset_path: json
    dataset_kwargs: {{data_files: {{test: rows.jsonl}}}}
    test_split: test
    output_type: generate_until
    doc_to_text: "{{{{prompt}}}}"
    doc_to_target: "{{{{target}}}}"
    generation_kwargs: {{until: ["\\n"], max_gen_toks: 4}}
    filter_list:
      - name: letter
        filter: [{{function: regex, regex_pattern: "([A-Za-z])"}}, {{function: take_first}}]
    metric_list: [{{metric: exact_match, aggregation: mean, higher_is_better: true}}]
    metadata: {{version: 1.0}}
"""


VERBS = (
    "run eval_config.yaml",
    "score eval_results",
    "compare eval_results copy",
    "gate eval_results copy --policy policy.yaml",
    "leaderboard eval_results",
    "report eval_results --format html,md --out report",
    "rescore eval_results",
)


def walk(folder, backend, model):
    """The samples of a repeated task after its whole way."""
    rows = [
        {"sample_id": f"r{at}", "prompt": f"{at}: say", "target": "lx"[at % 2]} for at in range(6)
    ]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "eval_config.yaml").write_text(CONFIG.format(backend=backend, model=model))
    (folder / "policy.yaml").write_text("metrics: [pass@3]\ndefaults: {max_drop: 50%}\n")
    for verb in VERBS:
        done = processes.run(*verb.split(), cwd=folder)
        # A copy of a run is that run, which says nothing about another one.
        expected = 3 if "copy" in verb else 0
        assert done.returncode == expected, (verb, done.stdout, done.stderr)
        if verb.startswith("run"):
            shutil.copytree(folder / "eval_results", folder / "copy")
    (samples,) = folder.glob("eval_results/*/samples_numbers_*.jsonl")
    return [json.loads(line) for line in samples.read_text().splitlines()]


@pytest.mark.slow
def test_the_whole_way_with_the_dummy(tmp_path):
    lines = walk(tmp_path, "dummy", "none")
    assert [line["exact_match"] for line in lines] == [1.0, 0.0] * 3  # "lol" is read as "l"
    for line in lines:
        assert line["resps"] == [["lol"] * 3]
        assert line["filtered_resps"] == [["l"] * 3] or line["filtered_resps"] == [[["l"]] * 3]
        assert line["pass@1"] == line["maj@3"] == line["mean@3"] == line["exact_match"]
        assert line["var@3"] == 0.0


@pytest.mark.slow
def test_the_whole_way_with_a_model(tmp_path, tiny_model):
    lines = walk(tmp_path, "hf", tiny_model())
    for line in lines:
        (draws,) = line["resps"]
        verdicts = [float(answer[0] == line["target"]) for answer in line["filtered_resps"][0]]
        assert line["exact_match"] == pytest.approx(sum(verdicts) / 3)
        assert line["pass@3"] == max(verdicts)
        assert len(draws) == 3
    assert any(len(set(line["resps"][0])) > 1 for line in lines), "no draw differs from another"
