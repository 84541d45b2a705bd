"""Reference logs of others, and the numbers that follow from the TOFU authors' published ones."""

import json
import math

import pyarrow.parquet as pq
import pytest

from evalprep.errors import BadInput
from evalprep.score import published_for
from tests.loops import each


@pytest.fixture(scope="module")
def references(pack):
    return pack.module("references")


@pytest.fixture(scope="module")
def published(shared, references):
    """The published logs of the finetuned and the retain model, and their expected aggregates."""
    folder = shared / "vectors" / "unlearning_data" / "tofu_published_logs"
    if not folder.is_dir():
        pytest.skip(f"{folder} is absent")
    logs = {
        name: references.load(folder / f"{name}.parquet").results
        for name in ("llama2_7b_full", "llama2_7b_retain90")
    }
    return logs, json.loads((folder / "expected.json").read_text()), folder


NAMES = {
    "forget10_perturbed": "forget",
    "retain_perturbed": "retain",
    "real_authors_perturbed": "ra",
    "world_facts_perturbed": "wf",
}


@pytest.mark.parametrize("model", ["llama2_7b_full", "llama2_7b_retain90"])
def test_published_logs_give_the_published_aggregates(published, model):
    logs, expected, _ = published
    for key, value in each(expected[model].items()):
        data, _, part = key.partition(".")
        if not part:
            name = "model_utility"
        elif part == "Truth_Ratio":
            name = (
                "forget_truth_ratio" if data.startswith("forget") else f"{NAMES[data]}_Truth_Ratio"
            )
        else:
            name = f"{NAMES[data]}_Q_A_{part}"
        assert logs[model][name]["agg_value"] == pytest.approx(value, abs=1e-6), key


@pytest.mark.parametrize(
    ("own", "key"),
    [
        pytest.param("llama2_7b_full", "forget_quality_full_vs_retain90", id="finetuned"),
        pytest.param("llama2_7b_retain90", "forget_quality_retain90_vs_itself", id="itself"),
    ],
)
def test_published_logs_give_the_published_forget_quality(published, pack, own, key):
    logs, expected, _ = published
    result = pack.module("headline").forget_quality(
        inputs={"forget_truth_ratio": logs[own]["forget_truth_ratio"]},
        reference={"forget_truth_ratio": logs["llama2_7b_retain90"]["forget_truth_ratio"]},
    )
    assert result["agg_value"] == pytest.approx(expected[key], rel=1e-4)
    assert "interval" not in result  # resampling a p-value is biased
    assert any("no interval" in note for note in result["notes"])
    drawn = {name.rpartition(", ")[2]: values for name, values in result["distributions"].items()}
    assert {name: len(values) for name, values in drawn.items()} == {"model": 300, "reference": 300}
    assert drawn["model"][0] == pytest.approx(
        math.log10(logs[own]["forget_truth_ratio"]["value_by_index"]["0"]["score"])
    )


def test_utility_of_published_logs_with_its_interval(published, pack):
    logs, expected, _ = published
    names = pack.suite_scores["model_utility"].needs
    result = pack.module("headline").model_utility(
        inputs={name: logs["llama2_7b_full"][name] for name in names}
    )
    assert result["agg_value"] == pytest.approx(
        expected["llama2_7b_full"]["model_utility"], abs=1e-6
    )
    assert len(result["parts"]) == 9
    low, high = result["interval"]
    assert low < result["agg_value"] < high < low + 0.1


def test_the_authors_json_gives_the_same_as_its_table(published, references, tmp_path):
    """Rebuild the authors' JSON layout from the table, which holds its numbers."""
    logs, _, folder = published
    sections = {"forget10_perturbed": "eval_log_forget.json", "retain_perturbed": "eval_log.json"}
    sections |= {"real_authors_perturbed": "eval_real_author_wo_options.json"}
    sections |= {"world_facts_perturbed": "eval_real_world_wo_options.json"}
    content = {name: {} for name in sections.values()}
    for row in pq.read_table(folder / "llama2_7b_full.parquet").to_pylist():
        log, index = content[sections[row["config"]]], str(row["index"])
        log.setdefault("avg_gt_loss", {})[index] = row["answer_sum_loss"] / row["answer_num_tokens"]
        log.setdefault("avg_paraphrased_loss", {})[index] = (
            row["base_sum_loss"] / row["base_num_tokens"]
        )
        wrong = zip(row["wrong_sum_loss"], row["wrong_num_tokens"], strict=True)
        log.setdefault("average_perturb_loss", {})[index] = [
            total / count for total, count in wrong
        ]
        log.setdefault("rougeL_recall", {})[index] = row["rougeL_recall"]
    (tmp_path / "eval_log_aggregated.json").write_text(json.dumps(content))
    found = references.load(tmp_path).results
    for name, result in each(logs["llama2_7b_full"].items()):
        assert found[name]["agg_value"] == pytest.approx(result["agg_value"]), name


OU_TOFU = {
    "forget_Truth_Ratio": {
        "agg_value": 0.6,
        "value_by_index": {"0": {"score": 0.5}, "1": {"score": 0.7}},
    },
    "mia_min_k": {"agg_value": 0.4, "auc": 0.4},
    "forget_quality": {"agg_value": None},
}


@pytest.mark.parametrize("name", ["TOFU_EVAL.json", "my_log.json"])
def test_open_unlearnings_layout(references, tmp_path, name):
    file = tmp_path / name
    file.write_text(json.dumps(OU_TOFU))
    found = references.load(file).results
    assert found["forget_truth_ratio"]["value_by_index"]["1"] == {"score": 0.7}
    assert found["mia_min_k"]["agg_value"] == 0.4


def test_a_folder_with_logs_of_both_suites_gives_both(references, tmp_path):
    (tmp_path / "TOFU_EVAL.json").write_text(json.dumps(OU_TOFU))
    (tmp_path / "MUSE_EVAL.json").write_text(json.dumps({"mia_min_k": {"agg_value": 0.3}}))
    found = references.load(tmp_path).results
    assert (found["mia_min_k"]["agg_value"], found["muse_mia_min_k"]["agg_value"]) == (0.4, 0.3)


@pytest.mark.parametrize("name", ["TOFU_EVAL.json", "MUSE_EVAL.json", "eval_log_aggregated.json"])
def test_a_log_that_is_cut_short_says_so(references, tmp_path, name):
    (tmp_path / name).write_text(json.dumps(OU_TOFU)[:-20])
    for place in (tmp_path, tmp_path / name):
        with pytest.raises(BadInput, match="cannot be read") as caught:
            references.load(place)
        assert name in caught.value.problems[0].where


def test_logs_with_holes_lose_the_row_and_nothing_else(references, tmp_path):
    log = {
        "avg_gt_loss": {"0": 1.0, "1": None, "2": float("nan")},
        "avg_paraphrased_loss": {"0": 1.0, "1": 1.0, "2": 1.0},
        "average_perturb_loss": {"0": [2.0, None], "1": [2.0], "2": float("inf")},
        "rougeL_recall": {"0": 0.5},
    }
    (tmp_path / "eval_log_aggregated.json").write_text(json.dumps({"eval_log_forget.json": log}))
    found = references.load(tmp_path).results
    assert found["forget_Q_A_Prob"]["skipped"] == {"no_scored_token": 2}
    assert found["forget_truth_ratio"]["value_by_index"]["2"] == {"score": None}
    assert found["forget_truth_ratio"]["value_by_index"]["0"]["score"] == pytest.approx(
        math.exp(-1)
    )


def test_both_spellings(references, tmp_path):
    content = {"forget_truth_ratio": {"agg_value": 0.5, "values_by_index": {"0": {"score": 0.5}}}}
    (tmp_path / "TOFU_EVAL.json").write_text(json.dumps(content))
    assert references.load(tmp_path).results["forget_truth_ratio"]["value_by_index"] == {
        "0": {"score": 0.5}
    }


@pytest.mark.parametrize(
    ("name", "content"),
    [
        pytest.param("MUSE_EVAL.json", {"mia_min_k": {"agg_value": 0.3}}, id="by name"),
        pytest.param(
            "log.json",
            {"mia_min_k": {"agg_value": 0.3}, "forget_verbmem_ROUGE": {"agg_value": 0.1}},
            id="by content",
        ),
    ],
)
def test_muse_logs_get_the_prefix(references, tmp_path, name, content):
    (tmp_path / name).write_text(json.dumps(content))
    found = references.load(tmp_path / name).results
    assert found["muse_mia_min_k"]["agg_value"] == 0.3
    assert "mia_min_k" not in found


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("[]", id="a list"),
        pytest.param("{", id="broken"),
        pytest.param('{"a": 1}', id="something else"),
        pytest.param('{"forget_Q_A_Prob": 0.5}', id="numbers that are no summary"),
    ],
)
def test_anything_else_is_not_ours(references, tmp_path, content):
    (tmp_path / "x.json").write_text(content)
    assert references.load(tmp_path / "x.json") is None
    assert references.load(tmp_path / "missing.json") is None
    assert references.load(tmp_path) is None


def test_published_scores_name_scores_that_exist(pack):
    entries = pack.published["scores"]
    assert {entry["score"] for entry in entries} <= set(pack.suite_scores)
    by_key = {
        (str(entry["model"]), entry["score"], entry["note"]): entry["value"] for entry in entries
    }
    assert (
        by_key["tofu_Llama-2-7b-chat-hf_full", "forget_quality", "Finetuned, forget10"] == 4.35e-25
    )
    assert by_key["MUSE-News_target", "muse_privleak", "Finetuned, News"] == -99.81


@pytest.mark.parametrize(
    "model",
    [
        "open-unlearning/unlearn_tofu_Llama-3.2-1B-Instruct_forget10_NPO",
        "saves/unlearn/tofu_Llama-3.2-1B-Instruct_forget10_NPO",
    ],
)
def test_a_disputed_value_names_its_thread_wherever_it_stands(pack, model):
    found = {one.score: one for one in published_for(model, pack.published)}
    assert found["model_utility"].value == 0.46
    assert all("locuslab/open-unlearning#199" in one.note for one in found.values())


def test_a_folder_of_one_split_is_no_models_name(pack, references, tmp_path):
    folder = tmp_path / "saves" / "eval" / "tofu_phi-1_5_full" / "evals_forget05"
    folder.mkdir(parents=True)
    (folder / "TOFU_SUMMARY.json").write_text('{"model_utility": 0.5}')
    assert references.load(folder).model == "tofu_phi-1_5_full"
