"""A tiny leaderboard: published samples of an invented model on invented questions, and its row.

Every leaf task of a benchmark can be written with a few rows, in lm-eval's own layout of files.
"""

import csv
import json
from pathlib import Path

from custom_metrics import openllm
from evalprep.samples import document_hash, text_hash

MODEL = "acme/tiny-1b"
SHA = "a1b2c3d4" * 5
STAMP = "2024-06-17T17-37-25.144953"
FOLDER = openllm.details_folder(MODEL)
RAW = {"IFEval": 0.5, "BBH": 0.55, "MATH Lvl 5": 0.5, "GPQA": 0.5, "MUSR": 0.5, "MMLU-PRO": 0.5}


def choice_line(at, doc, prompt, choices, gold, right, metric, *, strings=True):
    """One line of a multiple-choice task; the first maximum is the gold choice where it is right."""
    best = gold if right else (gold + 1) % len(choices)
    lls = [-1.0 if place == best else -9.0 - place for place in range(len(choices))]
    resps = [[[str(ll), "False"]] if strings else [[ll, False]] for ll in lls]
    target = choices[gold]
    return {
        "doc_id": at,
        "doc": doc,
        "target": target,
        "arguments": {
            f"gen_args_{place}": {"arg_0": prompt, "arg_1": f" {choice}"}
            for place, choice in enumerate(choices)
        },
        "resps": resps,
        "filtered_resps": [response[0] for response in resps],
        "filter": "none",
        "metrics": [metric],
        "doc_hash": document_hash(doc),
        "prompt_hash": text_hash(prompt),
        "target_hash": text_hash(target),
        metric: float(right),
    }


def text_line(at, doc, prompt, target, reply, metrics, until):
    """One line of a task with generated replies."""
    return {
        "doc_id": at,
        "doc": doc,
        "target": target,
        "arguments": {"gen_args_0": {"arg_0": prompt, "arg_1": {"until": until}}},
        "resps": [[reply]],
        "filtered_resps": [reply],
        "filter": "none",
        "metrics": list(metrics),
        "doc_hash": document_hash(doc),
        "prompt_hash": text_hash(prompt),
        "target_hash": text_hash(target),
        **metrics,
    }


def bbh_line(task, at, right):
    count = openllm.LEAVES[task].choices
    choices = [f"({chr(65 + place)})" for place in range(count)]
    doc = {"input": f"{task}: which option comes at place {at}?", "target": choices[at % count]}
    prompt = f"Pick an option.\n\nQ: {doc['input']}\nA:"
    return choice_line(at, doc, prompt, choices, at % count, right, "acc_norm")


def gpqa_line(task, at, right):
    doc = {"Question": f"{task}: a hard question, number {at}?"}
    doc |= {f"choice{place + 1}": f"option {at}-{(place + at) % 4}" for place in range(4)}
    doc |= {"answer": f"({chr(65 + at % 4)})"}
    options = "\n".join(f"({chr(65 + place)}) {doc[f'choice{place + 1}']}" for place in range(4))
    head = f"What is the correct answer to this question:{doc['Question']}\nChoices:\n"
    letters = ["(A)", "(B)", "(C)", "(D)"]
    return choice_line(at, doc, f"{head}{options}\nAnswer: ", letters, at % 4, right, "acc_norm")


def musr_line(task, at, right):
    choices = [f"person {place}" for place in range(openllm.LEAVES[task].choices)]
    gold = at % len(choices)
    doc = {
        "narrative": f"Story {at} of {task}.",
        "question": "Who did it?",
        "choices": str(choices),
        "answer_index": gold,
        "answer_choice": choices[gold],
    }
    listed = "\n".join(f"{place + 1} - {choice}" for place, choice in enumerate(choices))
    prompt = f"{doc['narrative']}\n\n{doc['question']}\n\n{listed}\n\nAnswer:"
    return choice_line(at, doc, prompt, choices, gold, right, "acc_norm")


def mmlu_pro_line(_, at, right):
    options = [f"{at + place}" for place in range(3 + at % 8)]
    doc = {"question_id": 70 + at, "question": f"What is {at} + 0?", "options": options}
    doc |= {"answer": "A", "answer_index": 0}
    letters = [chr(65 + place) for place in range(len(options))]
    listed = "\n".join(f"{x}. {y}" for x, y in zip(letters, options, strict=True))
    return choice_line(at, doc, f"{doc['question']}\n{listed}\nAnswer:", letters, 0, right, "acc")


def math_line(task, at, right):
    """A reply that today's scorer reads and the published one did not, where it is wrong."""
    doc = {"problem": f"{task}: what is {at} + 1?", "solution": f"It is $\\boxed{{{at + 1}}}$."}
    doc |= {"answer": str(at + 1)}
    reply = f"Final Answer: The final answer is ${at + 1}$. I hope it is correct."
    reply = reply if right else f"So the result is $\\boxed{{{at + 1}}}$."
    prompt = f"Problem:\n{doc['problem']}\n\nSolution:"
    metrics = {"exact_match": int(right)}
    return text_line(at, doc, prompt, doc["answer"], reply, metrics, ["Problem:"])


def ifeval_line(_, at, right):
    doc = {"key": 1000 + at, "prompt": f"Write about {at}, without commas."}
    doc |= {"instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]}
    reply = "Some words." if right else "Some, words."
    levels = {"prompt_level_strict_acc": right, "inst_level_strict_acc": [right]}
    levels |= {"prompt_level_loose_acc": right, "inst_level_loose_acc": [right]}
    return text_line(at, doc, doc["prompt"], "0", reply, levels, [])


LINES = {
    "ifeval": ifeval_line,
    "bbh": bbh_line,
    "math": math_line,
    "gpqa": gpqa_line,
    "musr": musr_line,
    "mmlu_pro": mmlu_pro_line,
}


def write_samples(folder, benchmarks=tuple(LINES), *, rows=4, right=2, stamp=STAMP, suffix="jsonl"):
    """Writes samples and results of some benchmarks; the first `right` rows of a task are right."""
    folder.mkdir(parents=True, exist_ok=True)
    results, sizes = {}, {}
    for board in openllm.BENCHMARKS:
        for leaf in board.leaves if board.name in benchmarks else ():
            lines = [LINES[board.name](leaf.task, at, at < right) for at in range(rows)]
            text = "\n".join(json.dumps(line, ensure_ascii=False) for line in lines)
            (folder / f"samples_{leaf.task}_{stamp}.{suffix}").write_text(text + "\n")
            results[leaf.task] = {"alias": leaf.task, f"{board.metric},none": right / rows}
            if board.name == "ifeval":
                results[leaf.task]["inst_level_strict_acc,none"] = right / rows
            sizes[leaf.task] = {"original": rows, "effective": rows}
    data = {"results": results, "n-samples": sizes, "model_name": MODEL}
    data |= {"config": {"model": "hf", "model_args": f"pretrained={MODEL}"}}
    data |= {"versions": dict.fromkeys(results, 1.0), "configs": {}}
    (folder / f"results_{stamp}.json").write_text(json.dumps(data))
    return folder


def contents_row(**changes):
    """A row of the published table."""
    row = {
        "eval_name": "acme_tiny-1b_bfloat16",
        "Precision": "bfloat16",
        "fullname": MODEL,
        "Model sha": SHA,
        "Average ⬆️": 20.0,
        "Flagged": False,
        "MoE": False,
        "Chat Template": False,
        "CO₂ cost (kg)": 0.1,
        "Merged": False,
    }
    for column, raw in RAW.items():
        row |= {f"{column} Raw": raw, column: 40 * raw}
    return row | changes


def write_contents(path, *rows):
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path
