"""Tasks that ship with lm-eval work; the check must not say otherwise."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from evalprep.check import Findings, RunSettings, check_full, check_static
from evalprep.check.codes import CODES
from evalprep.check.files import spare_stock, stock_folder
from evalprep.check.generation import check_generation

# What is wrong with lm-eval 0.4.13's own tasks: members that cannot exist, sampling by omission,
# arguments that vLLM refuses, metrics without aggregation, data on somebody's disk, packages that
# are not here, names registered twice.
TRUE_ERRORS = {"EP109", "EP110", "EP201", "EP204", "EP207", "EP215", "EP222", "EP223"}

# What only the author of a published definition could mend.
FOR_AUTHORS = {
    *(
        "EP107",
        "EP113",
        "EP118",
        "EP122",
        "EP202",
        "EP203",
        "EP205",
        "EP206",
        "EP208",
        "EP211",
        "EP212",
    ),
    *("EP227", "EP228", "EP231", "EP232", "EP612"),
}


def test_users_of_a_published_task_hear_no_advice_to_its_author():
    findings = Findings()
    for code in CODES:
        findings.add(code, f"{stock_folder()}/tasks/x/x.yaml:3 (some_key)", "is so", task=code)
        findings.add(code, "mine.yaml:3 (some_key)", "is so", task=code)
    spare_stock(findings, named=True)
    found = findings.sorted()
    assert {one.code for one in found if one.where.startswith("mine")} == {*CODES}
    spared = {one.task for one in found if one.code == "EP120" and "elsewhere" in one.what}
    assert spared == FOR_AUTHORS


@pytest.mark.slow
def test_all_tasks_of_lm_eval_from_their_files():
    findings = Findings()
    done = check_static(
        [stock_folder() / "tasks"],
        None,
        RunSettings.without_config(backend="vllm", device="cpu"),
        findings,
    )
    assert len(done.leaves) > 13_000
    levels = {level: Counter() for level in ("error", "warning", "note")}
    for one in findings.sorted():
        levels[one.level][one.code] += 1
    assert set(levels["error"]) <= TRUE_ERRORS
    # They do run code that the model writes, and name arguments that nothing reads.
    assert set(levels["warning"]) <= {"EP213", "EP239"}
    # On a back end that fills in temperature 0, most of them are gone.
    greedy, settings = Findings(), RunSettings.without_config(backend="hf", device="cpu")
    for leaf in done.leaves:
        check_generation(leaf, settings, greedy)
    assert greedy.sorted()
    assert not {"EP201", "EP204"} & {one.code for one in greedy.sorted()}


def sums(first, last):
    return [
        {
            "question": f"Ann has {n} pens and buys 2 more. How many?",
            "answer": f"{n} + 2 = {n + 2}.\n#### {n + 2}",
        }
        for n in range(first, last)
    ]


def doubles(first, last):
    return [
        {
            "question": f"What is {n} times 2?",
            "choices": [str(2 * n + k) for k in (0, 50, 60, 70)],
            "answer": 0,
        }
        for n in range(first, last)
    ]


NUMBERED = {"text": ["hot", "cold", "wet", "blue"], "label": list("ABCD")}
TASKS = {
    "gsm8k/gsm8k.yaml": (sums(0, 6), sums(100, 106)),
    "gsm8k/gsm8k-cot.yaml": (sums(0, 6), sums(100, 106)),
    "mmlu/default/mmlu_anatomy.yaml": (doubles(1, 7), doubles(101, 107)),
    "arc/arc_easy.yaml": [
        {"question": f"Star {n} is", "choices": NUMBERED, "answerKey": "A"} for n in range(4)
    ],
    "openbookqa/openbookqa.yaml": [
        {"question_stem": f"Star {n} is", "choices": NUMBERED, "answerKey": "A"} for n in range(4)
    ],
    "hellaswag/hellaswag.yaml": [
        {
            "activity_label": "Cooking",
            "ctx_a": f"A man holds {n} eggs.",
            "ctx_b": "he",
            "endings": ["cooks them.", "flies away.", "sings.", "sleeps."],
            "label": str(n % 4),
        }
        for n in range(4)
    ],
    "winogrande/default.yaml": [
        {
            "sentence": f"Cup {n} does not fit in the case because _ is too big.",
            "option1": "the cup",
            "option2": "the case",
            "answer": "1",
        }
        for n in range(4)
    ],
    "super_glue/boolq/default.yaml": [
        {"passage": f"River {n} is long.", "question": f"is river {n} long", "label": n % 2}
        for n in range(4)
    ],
    "piqa/piqa.yaml": [
        {"goal": f"Boil {n} eggs", "sol1": "Use water.", "sol2": "Use sand.", "label": 0}
        for n in range(4)
    ],
    "truthfulqa/truthfulqa_mc1.yaml": [
        {
            "question": f"What if {n}?",
            "mc1_targets": {"choices": ["Nothing", "Rain"], "labels": [1, 0]},
        }
        for n in range(4)
    ],
    "triviaqa/default.yaml": [
        {"question": f"Who was king {n}?", "answer": {"aliases": ["Charles"], "value": "Charles"}}
        for n in range(4)
    ],
    "lambada/lambada_openai.yaml": [
        {"text": f"He saw {n} birds and kept the book"} for n in range(4)
    ],
    "blimp/adjunct_island.yaml": [
        {
            "sentence_good": f"Who should {n} men hug?",
            "sentence_bad": f"Who should {n} men hug that?",
        }
        for n in range(4)
    ],
    "wikitext/wikitext.yaml": [{"page": f"= Title {n} =\n\nText of page {n}."} for n in range(4)],
}
# Advice to the author of such a task.
ADVICE = {"EP202", "EP203", "EP206", "EP211", "EP212"}


@pytest.fixture(scope="module")
def checked(tmp_path_factory, tiny_model):
    """All of them in one folder, checked at once: what lm-eval loads first costs more than the rows."""
    folder = tmp_path_factory.mktemp("stock")
    (folder / "tasks").mkdir()
    for number, (file, rows) in enumerate(TASKS.items()):
        tested, examples = rows if isinstance(rows, tuple) else (rows, rows)
        splits = set(re.findall(r"_split: *[\"']?(\w+)", source(file)))
        paths = {}
        for split in splits:
            paths[split] = str(folder / f"{number}_{split}.jsonl")
            content = tested if split in {"validation", "test"} else examples
            Path(paths[split]).write_text("".join(json.dumps(row) + "\n" for row in content))
        task = {
            "include": str(stock_folder() / "tasks" / file),
            "task": f"stock_{number}",
            "tag": None,
            "dataset_path": "json",
            "dataset_name": None,
            "dataset_kwargs": {"data_files": paths},
        }
        (folder / "tasks" / f"{number}.yaml").write_text(json.dumps(task))  # JSON is YAML
    findings = Findings()
    settings = RunSettings.without_config(
        backend="hf", device="cpu", model=str(tiny_model()), max_model_len=4096
    )
    done = check_full([folder / "tasks"], None, settings, findings)
    return {one.name: len(one.instances) for one in done.loaded}, findings.sorted()


def source(file):
    """The text of one of lm-eval's task files and of what it includes."""
    path = stock_folder() / "tasks" / file
    text = path.read_text()
    included = re.findall(r"^[\"']?include[\"']?: *[\"']?([^\s\"']+)", text, re.MULTILINE)
    return text + "".join(
        source((path.parent / one).relative_to(stock_folder() / "tasks")) for one in included
    )


@pytest.mark.parametrize(("number", "file"), list(enumerate(TASKS)), ids=TASKS)
def test_a_published_task_on_rows_of_its_form(number, file, checked):
    loaded, findings = checked
    rows = TASKS[file]
    assert loaded[f"stock_{number}"] == len(rows[0] if isinstance(rows, tuple) else rows)
    told = [
        finding
        for finding in findings
        if finding.level != "note" and finding.code not in ADVICE | {"EP711"}
    ]
    assert [one for one in told if one.task in {"", f"stock_{number}"}] == []
