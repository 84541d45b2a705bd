"""TOFU and MUSE from the config to the result files, on both back ends: two lm_eval starts in all."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from evalprep.packs.finding import find_packs
from evalprep.packs.manifest import read_manifest
from evalprep.results import load_run
from evalprep.score import export, open_reference, score_run

from .conftest import LIMIT

pytestmark = pytest.mark.slow

TOFU = (
    *(
        "forget_truth_ratio",
        "forget_Q_A_Prob",
        "forget_Q_A_ROUGE",
        "model_utility",
        "privleak",
        "extraction_strength",
    ),
    *(
        "exact_memorization",
        "mia_loss",
        "mia_zlib",
        "mia_min_k",
        "retain_Truth_Ratio",
        "ra_Q_A_Prob_normalised",
    ),
)
MUSE = (
    *("forget_knowmem_ROUGE", "retain_knowmem_ROUGE", "forget_verbmem_ROUGE", "muse_privleak"),
    *("muse_extraction_strength", "muse_exact_memorization", "muse_mia_loss", "muse_mia_zlib"),
)
HF_ONLY = ("mia_min_k_plus_plus", "mia_gradnorm", "muse_mia_min_k_plus_plus", "muse_mia_gradnorm")


def scored(folder, packs, reference=None):
    run = load_run(folder, timestamp="each")
    other = open_reference(reference, packs.values()) if reference else None
    scores = score_run(run, packs, reference=other)
    return run, scores, {score.name: score for score in scores.suite}


@pytest.mark.parametrize("backend", ["hf", "vllm"])
def test_every_default_metric_gets_a_value(run_of, packs, backend):
    _, _, by_name = scored(run_of(backend), packs)
    missing = {name: by_name[name].reason for name in (*TOFU, *MUSE) if by_name[name].value is None}
    assert not missing


def test_hf_adds_the_metrics_that_need_the_vocabulary_or_gradients(run_of, packs):
    _, _, by_name = scored(run_of("hf"), packs)
    missing = {name: by_name[name].reason for name in HF_ONLY if by_name[name].value is None}
    assert not missing


@pytest.mark.parametrize("backend", ["hf", "vllm"])
def test_token_sums_equal_stock_loglikelihood(run_of, backend):
    run = load_run(run_of(backend), timestamp="each")
    ours = {
        sample.sample_id: json.loads(sample.response)
        for sample in run.task("muse_verbmem_lp").samples()
    }
    stock = {sample.sample_id: sample.resps[0][0] for sample in run.task("stock_verbmem").samples()}
    assert ours.keys() == stock.keys()
    for sample_id, response in ours.items():
        total, greedy = stock[sample_id]
        assert response["sum"] == pytest.approx(float(total), abs=1e-4, rel=1e-6)
        assert all(response["greedy"]) == (greedy == "True")
        assert response["n"] == len(response["logprobs"]) > 20


def test_back_ends_agree(run_of, packs):
    _, _, hf = scored(run_of("hf"), packs)
    _, _, vllm = scored(run_of("vllm"), packs)
    compared = [name for name in vllm if vllm[name].value is not None]
    assert set(compared) >= {*TOFU, *MUSE}
    differing = {
        name: (hf[name].value, vllm[name].value)
        for name in compared
        if hf[name].value != pytest.approx(vllm[name].value, abs=1e-2, rel=1e-2)
    }
    assert not differing


def test_token_by_token_agreement(run_of):
    hf, vllm = (load_run(run_of(backend), timestamp="each") for backend in ("hf", "vllm"))
    for task in ("tofu_forget_lp", "muse_privleak_forget_lp"):
        rows = {sample.sample_id: sample for sample in vllm.task(task).samples()}
        for sample in hf.task(task).samples():
            for one, other in zip(replies(sample), replies(rows[sample.sample_id]), strict=True):
                assert one["n"] == other["n"]
                assert one["text"] == other["text"]
                assert one["logprobs"] == pytest.approx(other["logprobs"], abs=1e-3)


def replies(sample):
    found = sample.response if isinstance(sample.response, list) else [sample.response]
    return [json.loads(reply) for reply in found]


def retain_log(run_of, packs, folder):
    """A log of a retain model whose answers are those of the run."""
    run, scores, _ = scored(run_of("hf"), packs)
    export(scores, run, packs, folder / "retain90")
    return folder / "retain90" / "TOFU_EVAL.json"


def test_a_model_is_no_retain_model_of_itself(run_of, packs):
    _, _, by_name = scored(run_of("hf"), packs, reference=run_of("hf"))
    assert by_name["forget_quality"].value is None
    assert by_name["forget_quality"].reason == "the run is its own reference"


def test_a_retain_model_with_the_same_answers(run_of, packs, tmp_path):
    log = retain_log(run_of, packs, tmp_path)
    _, _, by_name = scored(run_of("hf"), packs, reference=log)
    assert by_name["forget_quality"].value == 1
    # Itself a p-value: it has no interval, least of all one by resampling.
    assert by_name["forget_quality"].made_of == "none"
    assert (by_name["forget_quality"].low, by_name["forget_quality"].high) == (None, None)
    assert by_name["privleak"].value == 0
    assert by_name["privleak"].result.returned["reference"] == "retain"
    assert by_name["mia_reference"].value == 0.5


def test_a_retain_log_added_later_adds_the_missing_metrics_and_keeps_the_others(
    run_of, packs, tmp_path
):
    run, scores, _ = scored(run_of("hf"), packs)
    export(scores, run, packs, tmp_path)
    first = json.loads((tmp_path / "TOFU_EVAL.json").read_text())
    assert first["forget_quality"]["agg_value"] is None
    assert first["privleak"]["reference"] == "default_0.5"
    # A mark in the file tells an entry that was kept from one that was written anew.
    for metric in ("forget_Q_A_Prob", "forget_truth_ratio", "model_utility"):
        first[metric]["mark"] = True
    # One that was computed from something else has another fingerprint, and may not be kept.
    first["retain_Q_A_Prob"]["mark"] = True
    first["meta"]["metrics"]["retain_Q_A_Prob"]["fingerprint"] = "of other samples"
    (tmp_path / "TOFU_EVAL.json").write_text(json.dumps(first))

    log = retain_log(run_of, packs, tmp_path)
    run, scores, _ = scored(run_of("hf"), packs, reference=log)
    export(scores, run, packs, tmp_path)
    second = json.loads((tmp_path / "TOFU_EVAL.json").read_text())
    assert second["forget_quality"]["agg_value"] == 1
    assert second["privleak"]["agg_value"] == 0
    for metric in ("forget_Q_A_Prob", "forget_truth_ratio", "model_utility"):
        assert second[metric]["mark"]
    assert "mark" not in second["retain_Q_A_Prob"]
    assert json.loads((tmp_path / "TOFU_SUMMARY.json").read_text())["forget_quality"] == 1


def test_an_interrupted_run_scores_what_it_has_and_completes_later(run_of, packs, tmp_path):
    whole = load_run(run_of("hf"), timestamp="each").files.folder
    part = tmp_path / "run"
    part.mkdir()
    late = [path for path in whole.iterdir() if "tofu_wf" in path.name]
    for path in whole.iterdir():
        if path not in late:
            shutil.copy(path, part)
    run, scores, by_name = scored(part, packs)
    assert by_name["model_utility"].value is None
    assert "wf_Q_A_Prob" in by_name["model_utility"].reason
    assert by_name["forget_truth_ratio"].value is not None
    export(scores, run, packs, tmp_path / "out")
    for path in late:
        shutil.copy(path, part)
    run, scores, by_name = scored(part, packs)
    assert by_name["model_utility"].value is not None
    export(scores, run, packs, tmp_path / "out")
    assert (
        json.loads((tmp_path / "out" / "TOFU_EVAL.json").read_text())["model_utility"]["agg_value"]
        is not None
    )


def test_result_files_are_reference_logs(run_of, packs, pack, tmp_path):
    run, scores, by_name = scored(run_of("hf"), packs)
    written = export(scores, run, packs, tmp_path)
    assert [path.name for path in written] == [
        *("TOFU_EVAL.json", "TOFU_SUMMARY.json", "MUSE_EVAL.json", "MUSE_SUMMARY.json"),
        "LMEval_SUMMARY.json",  # lm-eval's own task, which ran beside them
        "LMEval_EVAL.json",
    ]
    load = pack.module("references").load
    tofu, muse = (load(tmp_path / f"{name}_EVAL.json").results for name in ("TOFU", "MUSE"))
    assert tofu["mia_min_k"]["agg_value"] == by_name["mia_min_k"].value
    assert muse["muse_mia_min_k"]["agg_value"] == by_name["muse_mia_min_k"].value
    again = score_run(run, packs, reference={**tofu, **muse})
    values = {score.name: score.value for score in again.suite}
    assert (values["forget_quality"], values["privleak"], values["muse_privleak"]) == (1, 0, 0)


@pytest.mark.parametrize("backend", ["hf", "vllm"])
def test_a_metric_and_a_benchmark_of_ones_own(run_of, backend):
    folder = run_of(backend)
    _, _, by_name = scored(folder, find_packs(folder.parent / "packs"))
    length = by_name["forget_answer_length"]
    assert length.value > 0
    assert len(length.result.value_by_index) == LIMIT
    assert 0 <= by_name["secrets_recited"].value <= 1
    assert set(by_name["secrets_recited"].result.value_by_index) == {"0", "1"}


# lm-eval splits rows over processes where it counts several GPUs; all else of the run is its own.
SPLIT = """
import sys
import torch

torch.cuda.device_count = lambda: 2

from lm_eval.__main__ import cli_evaluate

sys.exit(cli_evaluate())
"""
SPLIT_TASKS = ("tofu_forget_lp", "tofu_forget_moments", "tofu_holdout_gradient")


@pytest.mark.long  # two loads more, as `accelerate launch` makes them
def test_two_processes_measure_what_one_measures(run_of, tmp_path):
    whole = run_of("hf")
    (tmp_path / "split.py").write_text(SPLIT)
    argv = list(read_manifest(whole.parent / "work_dir").commands[0].argv)[1:]
    # An odd number of rows: the processes have other shares, and other numbers of requests.
    for option, value in (
        ("--tasks", ",".join(SPLIT_TASKS)),
        ("--limit", "5"),
        ("--output_path", str(tmp_path / "out")),
    ):
        argv[argv.index(option) + 1] = value
    # What `accelerate launch` starts on several GPUs.
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    with (tmp_path / "log.txt").open("w") as log:
        done = subprocess.run(
            [sys.executable, *launch, str(tmp_path / "split.py"), *argv],
            env=os.environ | {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "ACCELERATE_USE_CPU": "true"},
            stdout=log, stderr=subprocess.STDOUT, timeout=600, check=False,
        )  # fmt: skip
    assert done.returncode == 0, (tmp_path / "log.txt").read_text()[-3000:]
    one, two = load_run(whole, timestamp="each"), load_run(tmp_path / "out", timestamp="each")
    for task in SPLIT_TASKS:
        expected = {
            sample.sample_id: parsed(sample.response) for sample in one.task(task).samples()
        }
        found = {sample.sample_id: parsed(sample.response) for sample in two.task(task).samples()}
        assert len(found) == 5
        doc_ids = [sample.doc["index"] for sample in two.task(task).samples()]
        assert doc_ids == [0, 2, 4, 1, 3]  # one process after the other: both had a share
        for sample_id, responses in found.items():
            for response, other in zip(responses, expected[sample_id], strict=True):
                assert response.keys() == other.keys()
                assert response.pop("text", None) == other.pop("text", None)
                assert response == {
                    name: pytest.approx(one, abs=1e-4, rel=1e-4) for name, one in other.items()
                }, task
    assert all(
        "grad_norm" in parsed(sample.response)[0]
        for sample in two.task("tofu_holdout_gradient").samples()
    )
    assert all(
        parsed(sample.response)[0]["var"] for sample in two.task("tofu_forget_moments").samples()
    )


def parsed(response):
    return [json.loads(one) for one in ([response] if isinstance(response, str) else response)]
