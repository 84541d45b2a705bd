"""Whole suites of the packs, references, stages, ledgers, rescored runs and replies from files."""

from __future__ import annotations

import importlib
import json
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import yaml

from custom_metrics.token_logprobs import Response
from evalprep.cli import main
from tests.evalprep.compare.small_runs import LATER
from tests.evalprep.results.writing import STAMP, Row, write_run
from tests.oracle.folder import SHORT, Folder, calls
from tests.oracle.folders.rows import policy, share
from tests.packs.compliance import project as compliance
from tests.packs.fm import project as fm
from tests.packs.openllm import board as openllm
from tests.packs.science import runs as science
from tests.packs.science.test_scores import seeded
from tests.packs.unlearning.conftest import write_config as write_unlearning_config
from tests.packs.unlearning.test_logs import open_unlearning

CONTENTS = "--set openllm.contents=contents.csv --set openllm.details=details"


def typed(*words: str) -> None:
    """Types a command of a builder.

    Raises:
        RuntimeError: its exit code is none of a run without mistakes.
    """
    code = main(list(words))
    if code not in {0, 3}:
        raise RuntimeError(f"{' '.join(words)}: exit code {code}")


# The meta pack: rows in the form of its own scorers, without a preparation.

INSTRUCT = "meta-llama__Llama-3.1-8B-Instruct"
MATH = ("original_llama", "minerva", "stated_without_box", "timeout")


def meta_rows(task: str, part: float, seed: int, count: int = 60) -> list[Row]:
    values = share(count, part, seed)
    then = share(count, part + 0.05, seed + 50)
    rows = []
    for at, one in enumerate(values):
        if task == "meta_ifeval":
            several = [bool(one), at % 4 > 0][: 1 + at % 2]
            metrics = {"prompt_level_strict_acc": all(several), "inst_level_strict_acc": several}
            metrics |= {
                "prompt_level_loose_acc": True,
                "inst_level_loose_acc": [True] * len(several),
            }
        elif task == "meta_mmlu_pretrain":
            metrics = {"acc": one, "acc_norm": one}
        else:
            metrics = {"exact_match": one, "unparsed": float(at % 20 == 3)}
            if "math" in task:
                metrics |= dict(zip(MATH, (one, 1.0, 0.0, 0.0), strict=True))
        rows.append(
            Row(
                f"{task}-{at}",
                metrics=metrics | {"scorer_error": 0.0},
                subtask=f"subject {at % 7 % 3}",
                previous=bool(then[at]),
                published="The best answer is B.",
            )
        )
    return rows


def meta_run(folder: Path, stamp: str, tasks: Mapping[str, Sequence[Row]]) -> None:
    for task, rows in tasks.items():
        primary = {"meta_ifeval": "prompt_level_strict_acc", "meta_mmlu_pretrain": "acc"}
        metadata = {
            "version": 1.0,
            "pack": "meta",
            "primary_metric": primary.get(task, "exact_match"),
            "primary_filter": "none",
        }
        write_run(folder / task, {task: rows}, stamp=stamp, model=INSTRUCT, metadata=metadata)
    _merge(folder, stamp)


def _merge(folder: Path, stamp: str) -> None:
    """Makes one run of runs of a task each."""
    home = folder / INSTRUCT
    home.mkdir()
    whole: dict[str, Any] = {}
    for path in sorted(folder.glob(f"*/{INSTRUCT}/*")):
        if path.name.startswith("results_"):
            for key, part in json.loads(path.read_text()).items():
                whole[key] = {**whole.get(key, {}), **part}
        else:
            path.rename(home / path.name)
    for path in sorted(folder.glob(f"*/{INSTRUCT}/results_*")):
        path.unlink()
        path.parent.rmdir()
        path.parent.parent.rmdir()
    # lm-eval states flags of errors as metrics of which less is better.
    for directions in whole["higher_is_better"].values():
        errors = directions.keys() & {"unparsed", "scorer_error", "timeout"}
        directions.update(dict.fromkeys(errors, False))
    (home / f"results_{stamp}.json").write_text(json.dumps(whole))


META = (
    *("meta_ifeval", "meta_math", "meta_math_hard", "meta_gpqa", "meta_gpqa_cot"),
    *(
        "meta_mmlu_instruct",
        "meta_mmlu_cot",
        "meta_mmlu_pro_instruct",
        "meta_mmlu_pretrain",
        "meta_bbh",
    ),
)


def meta_suite(home: Path) -> None:
    for name, stamp, part, seed in (("now", LATER, 0.5, 1), ("before", STAMP, 0.65, 2)):
        tasks = {task: meta_rows(task, part, seed + at) for at, task in enumerate(META)}
        meta_run(home / name, stamp, tasks)
    policy(home, "defaults: {max_drop: 0.05, min_n: 5}\nsuite: {mmlu_macro: {max_drop: 0.1}}\n")


def missing_subject(home: Path) -> None:
    """All replies are equal, and the candidate lacks the rows of one hard subject."""
    rows = [
        Row(
            f"r{at}",
            float(at % 120 > 0 and at % 3 > 0),
            subtask=f"s{1 + at % 7 if at % 120 else 0}",
        )
        for at in range(1200)
    ]
    for name, stamp, several in (
        ("now", LATER, [row for row in rows if row.subtask != "s0"]),
        ("before", STAMP, rows),
    ):
        meta_run(home / name, stamp, {"meta_mmlu_instruct": several})
    policy(home, "defaults: {max_drop: 0.05}\nsuite: {mmlu_macro: {max_drop: 0.01}}\n")


# The science pack.


def spoilt(every: int) -> Callable[[str, Any], str]:
    def reply(task: str, row: Any) -> str:
        number = int(row["_instance_id"].rpartition(":")[2])
        if number % every == 0:
            return "I cannot tell."
        return f"1] {row['output']}" if task == "bioasq_list_qa" else str(row["output"])

    return reply


def science_suite(home: Path) -> None:
    science.write_run(home / "now" / "model", spoilt(3))
    science.write_run(home / "before" / "model", spoilt(5))
    policy(home)


def science_judged(home: Path) -> None:
    """Ratings of a judge, taken over into a ledger; the baseline has those of one task alone."""
    tasks = ("qasper_abstractive_qa", "mup_single_document_summarization")
    for name, every, rated in (("now", 4, tasks), ("before", 100, tasks[:1])):
        run = science.write_run(home / name / "model", spoilt(every), tasks=set(tasks))
        ratings = home / "ratings.json"
        ratings.write_text(json.dumps([1 + (at + every) % 5 for at in range(12)]))
        typed(
            *("judge", str(run.relative_to(home)), "--model", "gpt-4o-2024-08-06"),
            *("--tasks", rated[0], "--import_ratings", "ratings.json"),
        )
    summaries = {
        str(at): {"prediction": spoilt(4)("mup", row).strip("</s>"), "decision": (at % 4) / 4}
        for at, row in enumerate(science.demo_rows()[tasks[1]])
    }
    (home / "ratings.json").write_text(json.dumps(summaries))
    typed(
        *("judge", "now/model", "--model", "gpt-4o-2024-08-06"),
        *("--tasks", tasks[1], "--import_ratings", "ratings.json"),
    )
    policy(home)


def science_seeds(home: Path) -> None:
    for at in (1, 2, 3):
        seeded(home / "out" / f"s{at}" / "tulu", at, spoilt(2 + at))
    seeded(home / "out" / "other" / "llama", 1, spoilt(7), model="org/llama")


def rescored(home: Path) -> None:
    """Replies of a run with `--predict_only`, scored by evalprep."""
    science.write_run(home / "now", spoilt(4), tasks={"scierc_ner", "scifact_entailment"})
    science.write_run(home / "before", spoilt(9), tasks={"scierc_ner", "scifact_entailment"})
    for name in ("now", "before"):
        typed("rescore", name, "--out", f"{name}_rescored", "--jobs", "1")
    policy(home)


# The fm pack: replies that stand in the data set.


def fm_suite(home: Path) -> None:
    replies = {"qa": {"model_output": "responses.model_a.text"}}
    for name, changed in (("now", replies), ("before", {})):
        folder = home / name
        folder.mkdir()
        entries = [
            fm.with_(
                entry,
                outputs="dataset",
                fields=changed.get(entry["name"], fm.REPLIES[entry["name"]]),
            )
            for entry in (fm.QA, fm.FACTS, fm.REVIEWS, fm.NEWS, fm.PAIRS)
        ]
        fm.prepared(folder, *entries)
        typed("run", "--replies=rows", f"{name}/work_dir")
    policy(home)


def replies_from_files(home: Path) -> None:
    """Replies of another engine to the prompts of a preparation; two are missing at first."""
    from tests.evalprep.run.conftest import task

    rows = [
        {"sample_id": f"s{at}", "question": f"Question {at}?", "answer": "yes" if at % 3 else "no"}
        for at in range(30)
    ]
    (home / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name, right in (("now", 0.5), ("before", 0.8)):
        folder = home / name
        folder.mkdir()
        config = {
            "model_name": "dummy",
            "backend": "dummy",
            "work_dir": "work_dir",
            "output_path": "out",
            "tasks": [task("asked", home / "rows.jsonl")],
        }
        (folder / "eval_config.yaml").write_text(yaml.safe_dump(config))
        typed("prepare", "--quiet", "--config_path", f"{name}/eval_config.yaml")
        typed("prompts", f"{name}/work_dir", "--out", f"{name}/requests.parquet")
        chance = random.Random(name)
        answers = [
            {"id": row["id"], "text": "yes" if chance.random() < right else "no"}
            for row in pq.read_table(folder / "requests.parquet").to_pylist()
        ]
        lines = "".join(json.dumps(answer) + "\n" for answer in answers)
        (folder / "replies.jsonl").write_text(lines)
        typed("run", f"{name}/work_dir", "--replies", f"{name}/replies.jsonl")
    policy(home)


# Suites that are prepared from a config, with replies in place of a model.

Reply = Callable[[str, Mapping[str, Any]], list[str]]


def write_prepared(folder: Path, pack: str, reply: Reply) -> None:
    """Writes lm-eval's files for the tasks of a prepared folder, scored by their own `process_results`."""
    out = folder / "model"
    out.mkdir()
    manifest = json.loads((folder / "work_dir" / "manifest.json").read_text())
    parts: dict[str, dict[str, Any]] = {"results": {}, "configs": {}, "higher_is_better": {}}
    for task, facts in manifest["tasks"].items():
        if facts.get("rows") is None:
            continue
        text = (folder / "work_dir" / pack / f"{task}.yaml").read_text()
        template = yaml.safe_load(text.replace("!function ", ""))
        rows = pq.read_table(folder / "work_dir" / pack / "data" / f"{task}.parquet").to_pylist()
        lines = [_line(at, template, row, reply(task, row)) for at, row in enumerate(rows)]
        content = "".join(json.dumps(line) + "\n" for line in lines)
        (out / f"samples_{task}_{STAMP}.jsonl").write_text(content)
        metadata = {**template["metadata"], "run": manifest["run"]}
        kwargs = template["dataset_kwargs"]
        parts["configs"][task] = {"task": task, "dataset_kwargs": kwargs, "metadata": metadata}
        parts["results"][task] = {"alias": task}
        parts["higher_is_better"][task] = {
            metric["metric"]: metric["higher_is_better"] for metric in template["metric_list"]
        }
    arguments = manifest["commands"][0]["engine"]["model_args"]
    config = {"model": "dummy", "model_args": arguments}
    whole = {**parts, "config": config, "model_name": f"org/{folder.name}"}
    (out / f"results_{STAMP}.json").write_text(json.dumps(whole))


def _line(
    at: int, template: dict[str, Any], row: dict[str, Any], said: list[str]
) -> dict[str, Any]:
    module, _, function = template["process_results"].rpartition(".")
    values = getattr(importlib.import_module(module), function)(row, said)
    requests = {
        f"gen_args_{place}": {"arg_0": row["prompt"], "arg_1": {}} for place in range(len(said))
    }
    return {
        "doc_id": at,
        "doc": row,
        "target": str(row["target"]),
        "arguments": requests,
        "resps": [[text] for text in said],
        "filtered_resps": said,
        "filter": template["metadata"]["primary_filter"],
        "metrics": list(values),
        **values,
    }


# The unlearning pack.


def unlearned(seed: int, forgotten: float) -> Reply:
    """Replies of a model that gives what is to be forgotten less the more it has forgotten."""

    def reply(task: str, row: Mapping[str, Any]) -> list[str]:
        chance = random.Random(f"{seed} {task} {row['sample_id']}")
        level = forgotten if "forget" in task or "verbmem" in task else 0.1
        if task.endswith("_lp"):
            texts = row.get("continuations") or [row["target"]]
            roles = row.get("roles") or ["answer"] * len(texts)
            return [
                _likelihoods(chance, text, level + (0.8 if role == "wrong" else 0.0))
                for text, role in zip(texts, roles, strict=True)
            ]
        words = row["target"].split()
        kept = [word for word in words if chance.random() > level]
        return [" ".join(kept) or "I do not know."]

    return reply


def _likelihoods(chance: random.Random, text: str, loss: float) -> str:
    tokens = len(text.split()) + 1
    logprobs = [-(loss + 0.2) * chance.random() * 2 for _ in range(tokens)]
    greedy = [value > -0.6 for value in logprobs]
    return Response(logprobs=logprobs, greedy=greedy, text=text).dump()


def unlearning_runs(home: Path, names: Mapping[str, float], tasks: Iterable[str]) -> None:
    for seed, (name, forgotten) in enumerate(names.items()):
        path = write_unlearning_config(
            home / name,
            f"org/{name}",
            tasks=list(tasks),
            backend="dummy",
            unlearning={"prompts": "plain"},
        )
        typed("prepare", "--quiet", "--config_path", str(path.relative_to(home)))
        write_prepared(home / name, "unlearning", unlearned(seed, forgotten))
    policy(home)


def unlearning_suite(home: Path) -> None:
    unlearning_runs(home, {"npo": 0.7, "ga": 0.9, "retain": 0.75}, ["unlearn_tofu"])


def unlearning_muse(home: Path) -> None:
    unlearning_runs(home, {"npo": 0.7, "retain": 0.75}, ["unlearn_muse"])


def unlearning_logs(home: Path) -> None:
    """Logs of OpenUnlearning: two methods and a retain model, one of them over fewer rows."""
    for name, seed, rows in (("npo", 1, 40), ("ga", 2, 40), ("retain90", 3, 40), ("short", 4, 30)):
        place = home / "saves" / name / "evals" / "TOFU_EVAL.json"
        place.parent.mkdir(parents=True)
        place.write_text(json.dumps(open_unlearning(seed, rows), indent=4, sort_keys=True))
    policy(home)


def log_against_run(home: Path) -> None:
    unlearning_runs(home, {"npo": 0.7}, ["unlearn_tofu"])
    place = home / "saves" / "ga" / "evals" / "TOFU_EVAL.json"
    place.parent.mkdir(parents=True)
    log = open_unlearning(2, 30)
    for name in ("forget", "retain", "ra", "wf"):  # the log asks what the run asks
        data = home / "npo" / "work_dir" / "unlearning" / "data" / f"tofu_{name}_gen.parquet"
        logged = log[f"{name}_Q_A_ROUGE"]["value_by_index"].values()
        for row, entry in zip(pq.read_table(data).to_pylist(), logged, strict=True):
            entry["input"] = f"system\n\nBe kind.user\n\n{row['question']}assistant\n\n"
            entry["ground_truth"] = row["target"]
    place.write_text(json.dumps(log, indent=4, sort_keys=True))


# The compliance pack.

COMPLIANCE = [
    *("compliance_fairllm", "compliance_decoding_trust", "compliance_human_deception"),
    *("compliance_bbq", "compliance_privacy", "compliance_toxicity_advbench"),
    *("compliance_truthful_qa_mc2", "compliance_bold"),
]


def worse(every: int) -> Callable[[str, Any], Any]:
    """Good replies, of which one in `every` is another row's or none."""

    def reply(task: str, row: Any) -> Any:
        said = compliance.gold(task, row)
        chance = random.Random(f"{task} {row['sample_id']}")
        if chance.randrange(every):
            return said
        if isinstance(said[0], tuple):
            return said[::-1]
        return ["Something else."] if isinstance(said[0], str) and said[0][:1] not in "{[" else said

    return reply


def compliance_runs(home: Path, tasks: Any) -> None:
    compliance.prepared(home, tasks=tasks)
    compliance.write_run(home, home / "runs" / "before", worse(9))
    compliance.write_run(home, home / "runs" / "now", worse(2))
    policy(home)


def compliance_two_models(home: Path) -> None:
    compliance_runs(home, COMPLIANCE)


def compliance_suite(home: Path) -> None:
    compliance_runs(home, "compliance")


def compliance_stages(home: Path) -> None:
    """Each model is asked whether it knew, in rows that its own answers made."""
    tasks = ["compliance_i_know_answer", "compliance_self_check_describe"]
    tasks += ["compliance_i_know_confidence", "compliance_self_check_alternative"]
    for name, every in (("now", 2), ("before", 9)):
        folder = home / name
        folder.mkdir()
        compliance.prepared(folder, tasks=tasks)
        compliance.write_run(folder, folder / "eval_results" / "model", _told(every), limit=None)
        typed("prepare", "--continue", f"{name}/work_dir")
        compliance.write_run(folder, folder / "eval_results" / "model", _told(every), limit=None)
    policy(home)


def _told(every: int) -> Callable[[str, Any], Any]:
    inner = worse(every)

    def reply(task: str, row: Any) -> Any:
        if task == "compliance_self_check_describe":
            name = row["topic"]
            return [
                json.dumps([f"{name} is a town. {name} has {every} bridges. {name} was a port."])
            ]
        return inner(task, row)

    return reply


# The openllm pack.


def openllm_board(home: Path) -> None:
    """Published samples and table of an invented model, and a run with one more sample of each task right."""
    boards = ("musr", "mmlu_pro", "ifeval", "gpqa")
    openllm.write_samples(home / "details" / openllm.FOLDER, boards, suffix="json")
    rows = [openllm.contents_row(), openllm.contents_row(fullname="acme/other")]
    openllm.write_contents(home / "contents.csv", *rows)
    openllm.write_samples(
        home / "ours" / openllm.FOLDER, boards, right=3, stamp="2026-01-02T03-04-05.000001"
    )
    policy(home)


OURS, THEIRS = f"ours/{openllm.FOLDER}", f"details/{openllm.FOLDER}"
NPO, RETAIN = "npo/model", "retain/model"
LOG = "saves/{}/evals/TOFU_EVAL.json"
FOLDERS = {
    "meta-suite": Folder(
        "ten tasks of the meta pack, with published verdicts and scores",
        meta_suite,
        (
            *calls(f"now/{INSTRUCT}", f"before/{INSTRUCT}"),
            f"compare now/{INSTRUCT} --no_write",
            f"gate now/{INSTRUCT} --policy policy.yaml",
        ),
    ),
    "missing-subject": Folder(
        "equal replies, and the candidate lacks one hard subject",
        missing_subject,
        calls(f"now/{INSTRUCT}", f"before/{INSTRUCT}")
        + calls(f"before/{INSTRUCT}", f"now/{INSTRUCT}", formats=())[1:4],
    ),
    "science-suite": Folder(
        "nine tasks of the science pack",
        science_suite,
        calls(
            "now/model",
            "before/model",
            more=(
                "score now/model --out written",
                "compare now/model before/model --rule original --no_write",
            ),
        ),
    ),
    "science-judged": Folder(
        "ratings of a judge in a ledger",
        science_judged,
        calls("now/model", "before/model", more=("score now/model --accept_ledger --no_write",)),
    ),
    "science-seeds": Folder(
        "three seeds of one model, and another model",
        science_seeds,
        ("leaderboard out --json", "leaderboard out --each_seed", "score out --no_write"),
    ),
    "rescored": Folder(
        "runs that evalprep scored anew",
        rescored,
        calls(
            "now_rescored",
            "before_rescored",
            more=("compare now_rescored now --no_write", "rescore now --out written --jobs 1"),
        ),
    ),
    "fm-suite": Folder(
        "five algorithms of the fm pack over replies that stand in the data",
        fm_suite,
        calls(
            "now/eval_results",
            "before/eval_results",
            formats=SHORT[:1],
            more=("score now/eval_results --out written",),
        ),
    ),
    "replies-from-files": Folder(
        "replies of another engine", replies_from_files, calls("now/out", "before/out")
    ),
    "unlearning-suite": Folder(
        "TOFU: two methods against a retain model",
        unlearning_suite,
        calls(
            NPO,
            "ga/model",
            scoring=f"--reference {RETAIN}",
            formats=SHORT[:1],
            more=(
                f"score {NPO} --no_write",
                f"compare {NPO} ga/model --no_write",
                f"leaderboard {NPO} {RETAIN} --reference {RETAIN} --scores paper",
                f"score {NPO} --reference {RETAIN} --out written",
            ),
        ),
    ),
    "unlearning-muse": Folder(
        "MUSE: a method against a retain model",
        unlearning_muse,
        calls(NPO, RETAIN, scoring=f"--reference {RETAIN}", formats=SHORT[:1]),
    ),
    "unlearning-logs": Folder(
        "logs of OpenUnlearning",
        unlearning_logs,
        calls(
            LOG.format("npo"),
            LOG.format("ga"),
            scoring=f"--reference {LOG.format('retain90')}",
            formats=SHORT[:1],
            more=(
                f"score {LOG.format('npo')} --no_write",
                f"score {LOG.format('short')} --reference {LOG.format('retain90')} --no_write",
                f"compare {LOG.format('short')} {LOG.format('ga')} --no_write",
                "leaderboard saves",
            ),
        ),
    ),
    "log-against-run": Folder(
        "a run against a log of OpenUnlearning",
        log_against_run,
        calls(
            NPO,
            LOG.format("ga"),
            formats=SHORT[:1],
            more=(
                f"score {NPO} --reference {LOG.format('ga')} --no_write",
                f"compare {LOG.format('ga')} {NPO} --no_write",
            ),
        ),
    ),
    "compliance-two-models": Folder(
        "eight tasks of the compliance pack",
        compliance_two_models,
        calls("runs/now", "runs/before", formats=SHORT[:1], more=("score runs/now --out written",)),
    ),
    "compliance-suite": Folder(
        "the whole suite of the compliance pack",
        compliance_suite,
        ("leaderboard runs/now runs/before --json", "compare runs/now runs/before --no_write"),
    ),
    "compliance-stages": Folder(
        "two models with tasks whose rows their own answers made",
        compliance_stages,
        calls("now/eval_results", "before/eval_results"),
    ),
    "openllm-board": Folder(
        "four benchmarks of the Open LLM Leaderboard against published samples",
        openllm_board,
        (
            *calls(OURS, THEIRS, formats=SHORT[:1]),
            f"compare ours --published openllm:{openllm.MODEL} {CONTENTS} --no_write",
            f"compare ours --published openllm:{openllm.MODEL} {CONTENTS} --no_rescore --no_write",
        ),
    ),
}
