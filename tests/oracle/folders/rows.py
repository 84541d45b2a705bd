"""Runs in lm-eval's present layout whose rows are whole: what scores, sides and settings can be."""

from __future__ import annotations

import gzip
import random
from pathlib import Path
from typing import Any

from tests.evalprep.compare.small_runs import LATER, Task, two_small_runs, verdicts, write_small_run
from tests.evalprep.leaderboard import runs as board
from tests.evalprep.results.writing import STAMP, Row, write_run
from tests.evalprep.test_several_replies import rows_of as rows_of_several_replies
from tests.oracle.folder import FORMATS, NON_INFERIORITY, POLICY, Folder, calls

FIRST, SECOND = "r00000000001", "r00000000002"
NOW, BEFORE = "now/org__model", "before/org__model"


def policy(home: Path, text: str = POLICY) -> None:
    (home / "policy.yaml").write_text(text, encoding="utf-8")


def share(count: int, part: float, seed: int) -> list[float]:
    """Right-or-wrong values of which about a part is right; hard rows are hard for every seed."""
    hard, own = random.Random(11), random.Random(seed)
    levels = [0.7 * hard.random() + 0.3 * own.random() for _ in range(count)]
    return [float(level < part) for level in levels]


def grades(count: int, seed: int, lift: float = 0.0) -> list[float]:
    """Values in eighths between 0 and 1."""
    hard, own = random.Random(13), random.Random(seed)
    levels = [0.6 * hard.random() + 0.4 * own.random() + lift for _ in range(count)]
    return [min(8, max(0, round(8 * level))) / 8 for level in levels]


def two(home: Path, now: dict[str, Task], before: dict[str, Task]) -> None:
    """Candidate and baseline, with the usual policy."""
    two_small_runs(home, now, before)
    policy(home)


def pair(home: Path, now: dict[str, list[Row]], before: dict[str, list[Row]], **more: Any) -> None:
    """Candidate and baseline of rows with ids, with the usual policy."""
    write_run(home / "now", now, stamp=LATER, **more)
    write_run(home / "before", before, **more)
    policy(home)


def rows(values: list[Any], **more: Any) -> list[Row]:
    return [Row(f"r{at}", value, **more) for at, value in enumerate(values)]


def two_runs(home: Path) -> None:
    two(
        home,
        {
            "words": Task({"acc": verdicts(60, lost=9, gained=2)}),
            "texts": Task({"f1": grades(40, 1)}),
        },
        {
            "words": Task({"acc": verdicts(60, lost=9, gained=2, right=True)}),
            "texts": Task({"f1": grades(40, 2, 0.05)}),
        },
    )


def non_inferior(home: Path) -> None:
    two_small_runs(
        home,
        {"words": Task({"acc": share(300, 0.7, 1)}), "more": Task({"acc": share(80, 0.6, 1)})},
        {"words": Task({"acc": share(300, 0.7, 2)}), "more": Task({"acc": share(80, 0.7, 2)})},
    )
    policy(home, NON_INFERIORITY)


def clearly_worse(home: Path) -> None:
    two(
        home,
        {"words": Task({"acc": share(200, 0.4, 1)}), "more": Task({"acc": share(90, 0.6, 5)})},
        {"words": Task({"acc": share(200, 0.7, 2)}), "more": Task({"acc": share(90, 0.6, 6)})},
    )


def equal_replies(home: Path) -> None:
    same = {"words": Task({"acc": share(100, 0.7, 1)})}
    two(home, same, same)


def graded(home: Path) -> None:
    def task(seed: int, lift: float) -> Task:
        return Task(
            {
                "rouge": grades(50, seed, lift),
                "errors": grades(50, seed + 1, -lift),
                "length": grades(50, seed + 2),
            },
            directions={"errors": False, "length": None},
        )

    two(home, {"texts": task(1, 0.2)}, {"texts": task(5, 0.0)})


def of_one_log(seed: int) -> Task:
    chance = random.Random(seed)
    logs = [-float(chance.randrange(20, 60)) for _ in range(60)]
    return Task(
        {
            "word_perplexity": [[log, 5 + at % 3] for at, log in enumerate(logs)],
            "bits_per_byte": [[log, 25 + at % 3] for at, log in enumerate(logs)],
            "perplexity": [log / 10 for log in logs],
        },
        directions=dict.fromkeys(("word_perplexity", "bits_per_byte", "perplexity"), False),
        stored={"word_perplexity,none": 800.0, "bits_per_byte,none": 2.2, "perplexity,none": 60.0},
    )


def perplexity(home: Path) -> None:
    two(home, {"text": of_one_log(1)}, {"text": of_one_log(2)})


def over_all_rows(seed: int) -> Task:
    chance = random.Random(seed)
    said = [at % 2 if chance.random() < 0.8 else 1 - at % 2 for at in range(60)]
    sentences = ("the cat sat on the mat", "a dog ran far away", "it rains in the north")
    replies = [sentences[(at + (chance.random() < 0.2)) % 3] for at in range(60)]
    return Task(
        {
            "f1": [[at % 2, one] for at, one in enumerate(said)],
            "mcc": [[at % 2, one] for at, one in enumerate(said)],
            "bleu": [[[sentences[at % 3]], reply] for at, reply in enumerate(replies)],
        }
    )


def whole_metrics(home: Path) -> None:
    two(home, {"all": over_all_rows(1)}, {"all": over_all_rows(2)})


def filters(home: Path) -> None:
    def task(seed: int) -> Task:
        return Task(
            {
                "exact_match@strict-match": share(80, 0.5, seed),
                "exact_match@flexible-extract": share(80, 0.6, seed),
            }
        )

    two(home, {"sums": task(1)}, {"sums": task(2)})


def subtasks(home: Path) -> None:
    def several(seed: int) -> list[Row]:
        values = share(90, 0.6, seed)
        return [Row(f"r{at}", one, subtask="abc"[at % 7 % 3]) for at, one in enumerate(values)]

    pair(home, {"mixed": several(1)}, {"mixed": several(2)})


def documents(home: Path) -> None:
    def several(seed: int) -> list[Row]:
        values = share(120, 0.6, seed)
        topics = [{"topic": f"topic {at % 5}"} for at in range(120)]
        return [
            Row(f"r{at}", one, cluster=f"d{at // 4}", doc=topics[at])
            for at, one in enumerate(values)
        ]

    pair(home, {"passages": several(1)}, {"passages": several(2)})


def published(home: Path) -> None:
    now, then = share(150, 0.6, 1), share(150, 0.7, 2)
    several = [
        Row(f"r{at}", one, previous=bool(then[at]), published=f"It is {'AB'[at % 2]}.")
        for at, one in enumerate(now)
    ]
    unpublished = rows(share(30, 0.5, 1))
    write_run(home / "now", {"asked": several, "own": unpublished})
    policy(home)


def several_metrics(home: Path) -> None:
    def several(seed: int) -> list[Row]:
        values = zip(share(70, 0.6, seed), grades(70, seed), strict=True)
        return [
            Row(f"r{at}", metrics={"acc": one, "acc_norm": other})
            for at, (one, other) in enumerate(values)
        ]

    pair(home, {"choice": several(1)}, {"choice": several(2)})


def several_replies(home: Path) -> None:
    for name, chance, seed in (("now", 0.35, 1), ("before", 0.75, 2)):
        settings = {"task": "t", "repeats": 8, "output_type": "generate_until"}
        directions = dict.fromkeys(
            ("exact_match", "pass@2", "maj@2", "pass@8", "maj@8", "mean@8"), True
        )
        extra = {
            "higher_is_better": {"t": directions | {"var@8": None}},
            "configs": {"t": {**settings, "metadata": {"version": 1.0}}},
        }
        write_run(home / name, {"t": rows_of_several_replies(chance, seed)}, extra=extra)
    policy(home)


def run_ids(home: Path) -> None:
    """One folder with a first call of two tasks, two tries of one of them, and a run of another id."""
    for stamp, run, tasks, seed in (
        (STAMP, FIRST, ("a", "b"), 1),
        ("2026-03-01T11-00-00.000001", FIRST, ("b",), 2),
        ("2026-03-01T12-00-00.000001", FIRST, ("b",), 3),
        (LATER, SECOND, ("a", "b"), 4),
    ):
        several = {name: rows(share(50, 0.6, seed)) for name in tasks}
        write_run(home / "now", several, stamp=stamp, metadata={"version": 1.0, "run": run})
    write_run(home / "before", {name: rows(share(50, 0.6, 9)) for name in "ab"})
    policy(home)


def shards(home: Path) -> None:
    values = share(100, 0.6, 1)
    for stamp, part in ((STAMP, range(60)), (LATER, range(60, 100))):
        counts = {"n-samples": {"t": {"original": 100, "effective": len(part)}}}
        several = [Row(f"r{at}", values[at]) for at in part]
        write_run(home / "now", {"t": several}, stamp=stamp, extra=counts)
    write_run(home / "before", {"t": rows(share(100, 0.7, 2))})
    policy(home)


def several_models(home: Path) -> None:
    for at, (model, part) in enumerate((("org/one", 0.5), ("org/two", 0.6), ("lab/two", 0.7))):
        write_run(
            home / "out",
            {"t": rows(share(80, part, at)), "u": rows(share(40, part, at + 5))},
            model=model.replace("/", "__"),
            stamp=STAMP,
        )
    policy(home)


def six_models(home: Path) -> None:
    """Six models over three tasks; the last was asked other questions of one of them."""
    for at in range(6):
        write_run(
            home / "out",
            {
                "easy": rows(share(90, 0.8 - 0.02 * at, at)),
                "hard": rows(share(90, 0.3 + 0.05 * at, at + 10)),
                "other": rows(
                    share(60, 0.5, at + 20), prompt="Another question?" if at == 5 else ""
                ),
            },
            model=f"org__model-{at}",
        )
    policy(home)


def toy_pack(home: Path) -> None:
    """A pack of one's own with a mean, a score of which less is better, and a function of both."""
    board.write_all(home)
    (home / "packs").mkdir()
    board.make_pack(home)
    policy(home, f"{POLICY}suite: {{kept: {{max_drop: 0.1}}}}\n")


def groups(home: Path) -> None:
    parts = {"group_subtasks": {"both": ["t", "u"]}, "groups": {"both": {"exact_match,none": 0.55}}}
    pair(
        home,
        {"t": rows(share(80, 0.5, 1)), "u": rows(share(40, 0.7, 2))},
        {"t": rows(share(80, 0.6, 3)), "u": rows(share(40, 0.6, 4))},
        extra=parts,
    )


def packed(home: Path) -> None:
    clearly_worse(home)
    for path in sorted(home.rglob("samples_*.jsonl")):
        raw = gzip.compress(path.read_bytes(), mtime=0)
        path.with_name(f"{path.name}.gz").write_bytes(raw)
        path.unlink()


def limited(home: Path) -> None:
    """The first 30 of 200 rows on one side."""
    two(
        home,
        {"words": Task({"acc": share(30, 0.6, 1)}, original=200)},
        {"words": Task({"acc": share(200, 0.6, 2)})},
    )


def few_shots(home: Path) -> None:
    several = [
        {"words": Task({"acc": share(100, 0.6, shots)}, config={"num_fewshot": shots})}
        for shots in (5, 0)
    ]
    two(home, *several)


def other_prompts(home: Path) -> None:
    """Ten rows were asked in other words, and ten have another gold answer."""
    two(
        home,
        {
            "words": Task(
                {"acc": share(100, 0.6, 1)},
                prompt=lambda at: f"Please: question {at}?" if at < 10 else f"Question {at}?",
                gold=lambda at: "B" if 10 <= at < 20 else "A",
            )
        },
        {"words": Task({"acc": share(100, 0.6, 2)})},
    )


def other_settings(home: Path) -> None:
    """Another system instruction and another length of replies."""
    for place, at, tokens in (("now", 1, 64), ("before", 2, 512)):
        generation = {"until": ["\n"], "max_gen_toks": tokens, "do_sample": False}
        write_small_run(
            home / place,
            {"words": Task({"acc": share(100, 0.6, at)}, config={"generation_kwargs": generation})},
            system_instruction="Be brief." if place == "now" else None,
        )
    policy(home)


def cut_replies(home: Path) -> None:
    """Replies that end at their limit, are empty or hold no answer."""
    several = [
        Row(
            f"r{at}",
            one,
            response=("", "word " * 30, "A")[at % 3],
            answer=("", "[invalid]", "A")[at % 3],
        )
        for at, one in enumerate(share(90, 0.5, 1))
    ]
    pair(home, {"t": several}, {"t": rows(share(90, 0.5, 2))})


def stated_scores(home: Path) -> None:
    """A file of scores that evalprep wrote stands for the baseline."""
    from evalprep.cli import main

    two_runs(home)
    main(["score", BEFORE, "--out", "kept"])


MODELS = " ".join(f"out/org__model-{at}" for at in range(6))
SAVES = "eval_results/saves__npo__checkpoint"
FOLDERS = {
    "two-runs": Folder(
        "right or wrong, and graded; every format of export",
        two_runs,
        calls(
            NOW,
            BEFORE,
            formats=FORMATS,
            more=(
                f"samples {NOW} --baseline {BEFORE} --lost -n 3 --json",
                f"compare {NOW} {BEFORE} --no_write",
                f"score {NOW} --no_write",
                f"leaderboard {NOW} {BEFORE} --out written --format csv,md,json",
                f"compare {BEFORE} {NOW} --json --no_write --margin 0.1 --confidence 0.9",
                f"gate {NOW} {BEFORE} --policy policy.yaml --junit gate.xml",
            ),
        ),
    ),
    "non-inferior": Folder("a policy of non-inferiority", non_inferior, calls(NOW, BEFORE)),
    "clearly-worse": Folder("one of two tasks is worse", clearly_worse, calls(NOW, BEFORE)),
    "equal-replies": Folder("two runs with equal rows", equal_replies, calls(NOW, BEFORE)),
    "graded": Folder("three graded metrics: up, down, unknown", graded, calls(NOW, BEFORE)),
    "perplexity": Folder("sums of log-likelihoods", perplexity, calls(NOW, BEFORE)),
    "whole-metrics": Folder("F1, MCC and BLEU over all rows", whole_metrics, calls(NOW, BEFORE)),
    "filters": Folder(
        "two filters of one metric",
        filters,
        calls(
            NOW,
            BEFORE,
            more=(f"compare {NOW} {BEFORE} --metric @strict-match --json --no_write",),
        ),
    ),
    "subtasks": Folder(
        "three subtasks of different sizes",
        subtasks,
        calls(
            NOW,
            BEFORE,
            more=(
                f"score {NOW} --subtasks --json --no_write",
                f"compare {NOW} {BEFORE} --subtasks --json --no_write",
            ),
        ),
    ),
    "documents": Folder(
        "four rows of each document, and five topics",
        documents,
        calls(
            NOW,
            BEFORE,
            more=(
                f"score {NOW} --cluster topic --json --no_write",
                f"compare {NOW} {BEFORE} --cluster topic --json --no_write",
                f"gate {NOW} {BEFORE} --cluster topic --policy policy.yaml --json",
                f"leaderboard {NOW} {BEFORE} --cluster topic --json",
                f"report {NOW} {BEFORE} --cluster topic --out written --format md --json",
            ),
        ),
    ),
    "published": Folder(
        "published verdicts of one of two tasks", published, calls(NOW, formats=FORMATS)
    ),
    "several-metrics": Folder(
        "a right-or-wrong and a graded metric",
        several_metrics,
        calls(
            NOW, BEFORE, more=(f"compare {NOW} {BEFORE} --metric acc_norm --json --no_write",)
        ),
    ),
    "several-replies": Folder("eight replies to each prompt", several_replies, calls(NOW, BEFORE)),
    "run-ids": Folder(
        "two run ids, and three tries of one task, in one folder",
        run_ids,
        calls(
            "now",
            "before",
            more=(
                f"score now --timestamp {FIRST} --json --no_write",
                "score now --timestamp each --json --no_write",
                f"compare now before --timestamp {FIRST} --json --no_write",
                f"compare now now --timestamp {SECOND} --baseline_timestamp {FIRST} --json --no_write",
                "leaderboard now --json",
            ),
        ),
    ),
    "shards": Folder(
        "a task in two parts",
        shards,
        calls(
            "now",
            "before",
            options="--timestamp each",
            more=(
                "score now --json --no_write",
                "compare now before --json --no_write",
                "leaderboard now before --json",
            ),
        ),
    ),
    "several-models": Folder(
        "three models in one folder, two of one short name",
        several_models,
        (
            *calls("out", formats=("model-card", "csv")),
            "score out --models org/* --json --no_write",
            "compare out/org__one out/org__two --json --no_write",
            "report out --baseline out/lab__two --out written --format md,csv --json",
        ),
    ),
    "six-models": Folder(
        "a board of six models",
        six_models,
        (
            "leaderboard out --json",
            f"leaderboard {MODELS} --sort hard --json",
            "leaderboard out --out written --format csv,md",
            f"score {MODELS} --json --no_write",
            f"report {MODELS} --out written --format md",
            "export out --to csv --out written",
        ),
    ),
    "toy-pack": Folder(
        "checkpoints of two trainings, scored by a pack of the user",
        toy_pack,
        calls(
            f"{SAVES}-2",
            f"{SAVES}-100",
            options="--template_dir packs",
            more=(
                "leaderboard eval_results --template_dir packs --json",
                f"compare eval_results/saves__cut {SAVES}-2 --template_dir packs --json --no_write",
                f"compare eval_results/saves__limited {SAVES}-2 --template_dir packs --json --no_write",
            ),
        ),
    ),
    "groups": Folder("a group of lm-eval", groups, calls(NOW, BEFORE)),
    "packed": Folder("samples in gzip", packed, calls(NOW, BEFORE)),
    "limited": Folder("30 of 200 rows on one side", limited, calls(NOW, BEFORE, more=(
        f"score {BEFORE} --limit 30 --json --no_write",))),
    "few-shots": Folder(
        "five examples against none",
        few_shots,
        calls(
            NOW,
            BEFORE,
            more=(
                f"compare {NOW} {BEFORE} --allow num_fewshot --json --no_write",
                f"leaderboard {NOW} {BEFORE} --allow num_fewshot --json",
            ),
        ),
    ),
    "other-prompts": Folder(
        "ten rows asked in other words, ten with another gold answer",
        other_prompts,
        calls(
            NOW, BEFORE, more=(f"compare {NOW} {BEFORE} --allow prompt,gold --json --no_write",)
        ),
    ),
    "other-settings": Folder(
        "another system instruction and length of replies",
        other_settings,
        calls(
            NOW, BEFORE, more=(f"compare {NOW} {BEFORE} --allow system,generation --json --no_write",)
        ),
    ),
    "cut-replies": Folder(
        "replies that are cut, empty, or hold no answer",
        cut_replies,
        calls(NOW, BEFORE, more=(f"samples {NOW} --unread -n 2 --json",)),
    ),
    "stated-scores": Folder(
        "scores that evalprep wrote as the baseline",
        stated_scores,
        (
            f"compare {NOW} kept/scores.json --json --no_write",
            f"compare {NOW} kept --json --no_write",
            f"gate {NOW} kept/scores.json --policy policy.yaml --json",
            f"score {NOW} --reference kept/scores.json --json --no_write",
            "score kept --json --no_write",
            f"leaderboard {NOW} kept/scores.json --json",
            f"report {NOW} kept/scores.json --out written --format md --json",
            "export kept/scores.json --to junit --out written",
        ),
    ),
}  # fmt: skip
