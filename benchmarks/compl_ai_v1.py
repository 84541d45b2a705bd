"""Compares the prompts of the compliance pack with those of COMPL-AI v1's own builders.

    python -m benchmarks.compl_ai_v1 CHECKOUT [--json FILE] [--docs docs/reference/measured.md]

CHECKOUT is a checkout of https://github.com/compl-ai/compl-ai at 934d3f5. The original's modules
are imported from it with their heavy imports (transformers, datasets, ...) replaced, and run
with a model that records what it is asked. The pack prepares the suite with `v1_checkout:
CHECKOUT`; data sets that the checkout lacks are 200 rows made of the pack's small ones, on both
sides. Chat turns are rendered by one template, ChatML. Then the original's benchmarks are run on
drawn replies beside the pack's scores (`compl_ai_values`); decoding_trust needs the package
fairlearn for it. Exit code 1 where a prompt, a continuation, a token limit or a value differs.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import random
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import yaml

from benchmarks.compl_ai_original import Anything, Original, Recorder, Rows
from benchmarks.compl_ai_values import VALUES, Sides, pairs_of_values, same_value
from benchmarks.measuring import write_docs

PROJECT = Path(__file__).resolve().parent.parent
PACK = PROJECT / "task_templates" / "compliance"


@dataclass
class Asked:
    """What the original asks in a benchmark.

    Attributes:
        prompts: Prompts, or pairs of a prompt and a continuation.
        tokens: The limit of new tokens; None for log-likelihoods.
        part: Whether it asks a part of what the pack asks (drawn contrasts, the first rows).
    """

    prompts: set[Any]
    tokens: int | None = None
    part: bool = False


def generated(model: Recorder, *, part: bool = False) -> Asked:
    """What a recorder was asked to generate."""
    (tokens,) = model.tokens
    return Asked(set(model.asked), tokens, part)


def pairs_of(choices: Iterable[Iterable[tuple[str, str]]], *, part: bool = False) -> Asked:
    """Pairs of prompts and continuations."""
    return Asked({pair for several in choices for pair in several}, part=part)


def bbq(original: Original) -> Asked:
    module = original.module("fairness.bbq.bbq_benchmark")
    folder = Path(module.__file__).parent / "bbq_data"
    module.DATA_FILES = [name for name in module.DATA_FILES if (folder / name).is_file()]
    ids = [(row["example_id"], row["category"]) for row in original.data["bbq"]]
    frame = pd.DataFrame(ids, columns=["example_id", "category"]).assign(target_loc=0)
    module.pd = SimpleNamespace(read_csv=lambda _path: frame, read_json=pd.read_json)
    rows = module.BBQData(original.context(debug=True)).get_data()
    prompts = {prompt for category in rows.values() for prompt in category["prompt"]}
    return Asked(prompts, 8, part=True)


def bold(original: Original) -> Asked:
    module = original.module("fairness.bold.bold_benchmark")
    domains = module.BoldData(original.context()).get_data().values()
    return Asked(
        {prompt for domain in domains for rows in domain.values() for prompt in rows["context"]}, 25
    )


def human_deception(original: Original) -> Asked:
    module, model = original.module("human_deception.human_deception"), Recorder()
    model.generate(module.HumanDeceptionData(original.context()).get_data())
    return generated(model)


def decoding_trust(original: Original) -> Asked:
    module, model = original.module("fairness.decoding_trust"), Recorder("no")
    provider = module.DecodingTrustDataProvider.__new__(module.DecodingTrustDataProvider)
    provider.config = SimpleNamespace(debug=False, task_name="adult")
    folder = Path(module.__file__).parent / "fairness_data"
    provider.prompt_file = folder / "adult_0_200_test_base_rate_0.0.jsonl"
    chat = module.CustomFairChat(model, original.formatter, substring_mode=True)
    chat.do_classification(provider.get_dataset(), provider.get_task_message(), example_prefix=True)
    return generated(model)


def fairllm(original: Original) -> Asked:
    module, model = original.module("fairness.fairllm"), Recorder("1. A\n2. B")
    benchmark = module.FairLLM(original.context())
    benchmark.collect_num = 5  # of the 500 that it asks, it scores the first five
    benchmark.run(model)
    return generated(model)


def toxicity(original: Original, part: str) -> Asked:
    module = original.module("toxicity.toxicity")
    module.pd = SimpleNamespace(
        read_csv=lambda _place: pd.DataFrame(original.data["toxicity_harmful_strings"])
    )
    harmless = Rows.from_list(original.data["toxicity_realtoxicityprompts"])
    module.load_dataset = lambda *_, **__: harmless
    return Asked(set(module.ToxicityData(original.context()).get_data()[part]["prompt"]), 20)


def advbench(original: Original) -> Asked:
    module = original.module("toxicity.toxicity_advbench")
    module.pd = SimpleNamespace(
        read_csv=lambda _place: pd.DataFrame(original.data["toxicity_advbench"])
    )
    (rows,) = module.ToxicityAdvBenchData(original.context()).get_data().values()
    return Asked(set(rows["prompt"]), 20)


def goal_hijacking(original: Original) -> Asked:
    module, model = importlib.import_module("src.data.tensortrust_data"), Recorder()
    frame = pd.DataFrame(original.data["instruction_goal_hijacking"])
    frame["sample_id"] = range(len(frame))
    module.pd = SimpleNamespace(read_json=lambda *_, **__: frame)
    rows = module.TensortrustData(original.context()).get_prompts_and_access_codes()
    model.generate([row["prompt"] for row in rows])
    return generated(model)


def multiturn(original: Original) -> Asked:
    """The first turn of each dialogue; later ones hold replies."""
    module = original.module("cybersecurity.multiturn_goal_hijacking")
    module.HFLM = Anything
    model = Recorder("Hodor", base_model=Anything())
    for name in (
        "Hodor",
        "ForbiddenWord",
        "AnimalSounds",
        "Questions",
        "BinarySearch",
        "SimonSays",
    ):
        data = object.__new__(module.LanguageGameData)
        data.category, data.data_config = name, SimpleNamespace(debug=False)
        for row in data.get_data():
            module.evaluate_single(
                data.get_scenario_class()(param_dict=row["params"]),
                module.Message.unserialize(row["messages"]),
                model,
                True,
                None,
                None,
                None,
                original.formatter,
            )
    first = {prompt for prompt in model.asked if prompt.count("<|im_start|>assistant") == 1}
    return Asked(first, *model.tokens)


def forecast(original: Original) -> Asked:
    module, model = original.module("consistency.forecast_consistency"), Recorder()
    data = object.__new__(module.ForecastData)
    data.config, data.chat_formatter = SimpleNamespace(debug=False), original.formatter
    benchmark = object.__new__(module.ForecastConsistency)
    benchmark.dataset = data
    benchmark.run(model)
    return generated(model)


def self_check(original: Original) -> Asked:
    module, model = original.module("consistency.self_check_consistency"), Recorder()
    data = object.__new__(module.SelfCheckConsistencyData)
    data.config, data.prompt_formatter = SimpleNamespace(debug=False), original.formatter
    model.generate(data.get_data()["input"], max_length=100)
    return generated(model)


#: Subject, predicate, topic and text before, with which the second stage is asked on both sides.
_TRIPLES = (("Ada", "was born in", "Ada Quill", ""), ("It", "holds", "rice", "Rice is a grass."))


def self_check_alternative(original: Original) -> Asked:
    module, model = original.module("consistency.self_check_consistency"), Recorder()
    module.sent_tokenize = lambda text: [text]
    benchmark = object.__new__(module.SelfCheckConsistency)
    benchmark.model, benchmark.prompt_formatter = model, original.formatter
    for subject, predicate, topic, before in _TRIPLES:
        benchmark.generate_alternative_statement(subject, predicate, topic, before)
    return generated(model)


def human_eval(original: Original) -> Asked:
    module, model = original.module("capabilities.human_eval"), Recorder("    return 1\n")
    module.Problem = SimpleNamespace(
        load=lambda file: SimpleNamespace(**yaml.safe_load(file)), dump=lambda _problem: ""
    )
    with tempfile.TemporaryDirectory() as folder:
        module.run_generation(model, module.DATA_DIR, Path(folder))
    return generated(model)


def i_know(original: Original) -> Asked:
    model = Recorder()
    model.generate([row["question"] for row in original.data["calibration_big_bench_i_know"]])
    return generated(model)


def i_know_confidence(original: Original) -> Asked:
    module = original.module("calibration.calibration_mc_i_know")
    benchmark = object.__new__(module.IKnowCalibration)
    benchmark.config = SimpleNamespace(evaluate_api=False)
    benchmark.question = _assigned_constant(module.IKnowCalibration.__init__, "Question:")
    asked = (f"{row['question']} A reply." for row in original.data["calibration_big_bench_i_know"])
    return pairs_of([benchmark.yes_no_likelihoods(list, asked)])


def _assigned_constant(function: Any, start: str) -> str:
    """The constant of a function that begins so."""
    constants = function.__code__.co_consts
    return next(text for text in constants if isinstance(text, str) and text.startswith(start))


def choices_of(rows: Iterable[Any]) -> Iterator[Any]:
    """Pairs of the original's multiple-choice component."""
    module = importlib.import_module("src.components.multiple_choice")
    return module.MultipleChoiceFacade().context_continuation_generator(rows)  # type: ignore[no-any-return]


def big_bench(original: Original) -> Asked:
    rows = [
        {"input": row["inputs"].splitlines()[0], "choices": row["multiple_choice_targets"]}
        for row in original.data["calibration_big_bench"]
    ]
    return pairs_of(choices_of(rows))


def contrast(original: Original, name: str, provider: str) -> Asked:
    module = original.module(f"robustness.{name}")
    data = object.__new__(getattr(module, provider))
    data.config = SimpleNamespace(debug=True, subset_size=1000, k_shot_split=None)
    data.prompt_formatter = module.ChatFormatterLight()
    random.seed(36)
    return pairs_of(choices_of(data.get_data().normal), part=name.startswith("boolq"))


def mmlu(original: Original) -> Asked:
    module = original.module("capabilities.mmlu")
    data = object.__new__(module.MMLUData)
    questions, shots = (
        data.normalize_data(Rows.from_list(original.data[name])) for name in ("mmlu", "mmlu_shots")
    )
    facade = module.MMLUFacade(None, shots)
    return pairs_of(facade.context_continuation_generator(questions))


def solved_choices(original: Original, name: str, provider: str, shots: int, seed: str) -> Asked:
    """HellaSwag and ARC, whose shots are drawn for each row."""
    os.environ["PL_GLOBAL_SEED"] = seed
    module = original.module(f"capabilities.{name}")
    data = object.__new__(getattr(module, provider))
    data.data_context = SimpleNamespace(get_data_config=lambda: SimpleNamespace(k_shot=shots))
    rows, pool = (
        data.normalize_data(Rows.from_list(original.data[part])) for part in (name, f"{name}_shots")
    )
    data.data_context = original.context(k_shot=min(shots, len(pool)))
    benchmark = original.module("capabilities.hellaswag").Hellaswag(original.context(data))
    benchmark.k_shot_dataset = list(pool)
    return pairs_of([benchmark.context_cont_pairs_generator(rows)])


def truthful_qa(original: Original) -> Asked:
    module = original.module("capabilities.truthful_qa.truthful_qa_mc")
    rows = [
        {"input": row["question"], "choices": row["mc2_targets"]["choices"]}
        for row in original.data["truthful_qa_mc2"]
    ]
    benchmark = object.__new__(module.TruthfulQAMC2)
    return pairs_of([benchmark.context_cont_pairs_generator(rows)])


def privacy(original: Original) -> Asked:
    module, model = original.module("privacy_protection.pii_leak"), Recorder()
    provider = module.PIIData(original.context())
    model.generate([prompt for prompt, _label in provider.get_data()], max_length=50)
    return generated(model)


#: Task of the pack -> what the original asks there.
BENCHMARKS: dict[str, Callable[[Original], Asked]] = {
    "human_eval": human_eval,
    "hellaswag_rows": lambda original: solved_choices(
        original, "hellaswag", "HellaswagData", 10, "42"
    ),
    "ai2_reasoning_rows": lambda original: solved_choices(
        original, "ai2_reasoning", "AI2ReasoningData", 25, "36"
    ),
    "truthful_qa_mc2_rows": truthful_qa,
    "mmlu_rows": mmlu,
    "mmlu_robustness_none": mmlu,
    "i_know_answer": i_know,
    "i_know_confidence": i_know_confidence,
    "calibration_big_bench": big_bench,
    "human_deception": human_deception,
    "instruction_goal_hijacking": goal_hijacking,
    "multiturn_goal_hijacking": multiturn,
    "self_check_describe": self_check,
    "self_check_alternative": self_check_alternative,
    "forecasting_consistency": forecast,
    "boolq_contrast_robustness": lambda original: contrast(
        original, "boolq_contrast", "BoolQContrastData"
    ),
    "imdb_contrast_robustness": lambda original: contrast(
        original, "imdb_contrast", "IMDBContrastData"
    ),
    "bold": bold,
    "bbq": bbq,
    "fairllm": fairllm,
    "decoding_trust": decoding_trust,
    "toxicity_harmful": lambda original: toxicity(original, "harmful_strings"),
    "toxicity_harmless": lambda original: toxicity(original, "real_toxicity_prompts"),
    "toxicity_advbench": advbench,
    "privacy": privacy,
}


# --- the pack


@dataclass
class Prepared:
    """The suite as the pack prepares it."""

    folder: Path
    context: Any
    pack: Any

    def task(self, name: str) -> dict[str, Any]:
        """The YAML of a task."""
        text = (self.folder / f"compliance_{name}.yaml").read_text(encoding="utf-8")
        return yaml.safe_load(text.replace("!function ", ""))  # type: ignore[no-any-return]

    def stops(self, name: str) -> list[str]:
        """The stop strings of a task."""
        return list(self.task(name).get("generation_kwargs", {}).get("until") or ())

    def rows(self, name: str) -> list[dict[str, Any]]:
        """The rows of a task; those of a second stage are made here."""
        if name == "i_know_confidence":
            return list(self._confidence())
        if name == "self_check_alternative":
            return list(self._alternatives())
        return pq.read_table(self.folder / "data" / f"compliance_{name}.parquet").to_pylist()

    def _confidence(self) -> Iterator[dict[str, Any]]:
        before = [
            {
                "sample_id": row["sample_id"],
                "doc": row,
                "response": "A reply.",
                "metrics": {"acc": 1.0, "acc_v1": 1.0},
            }
            for row in self.rows("i_know_answer")
        ]
        yield from self.pack.module("prepare").continue_rows(
            self.context, "compliance_i_know_confidence", {"compliance_i_know_answer": before}
        )

    def _alternatives(self) -> Iterator[dict[str, Any]]:
        module = self.pack.module("dialogues")
        for subject, predicate, topic, before in _TRIPLES:
            asked = module.gap(self.context, topic, before, subject, predicate)
            messages = [*module.gap_shots(self.context), {"role": "user", "content": asked}]
            yield {"messages": messages, "prompt": asked}


#: Data sets that the checkout lacks -> the column whose text tells the made rows apart.
_EXTENDED = {
    "ai2_reasoning": "question",
    "calibration_big_bench": "inputs",
    "calibration_big_bench_i_know": "question",
    "hellaswag": "ctx_a",
    "instruction_goal_hijacking": "attack",
    "mmlu": "question",
    "toxicity_advbench": "goal",
    "toxicity_harmful_strings": "target",
    "toxicity_realtoxicityprompts": "prompt",
    "truthful_qa_mc2": "question",
}
ROWS = 200


def extend(rows: list[dict[str, Any]], column: str) -> list[dict[str, Any]]:
    """Returns 200 rows out of a few: each in turn, with its number before the text."""
    extended = []
    for number in range(ROWS):
        row = dict(rows[number % len(rows)])
        text = row[column]
        if isinstance(text, dict):
            row[column] = {**text, "text": f"Case {number}: {text['text']}"}
        else:
            row[column] = f"Case {number}: {text}"
        row.update({name: f"case-{number}" for name in ("question_id", "id", "idx") if name in row})
        extended.append(row)
    return extended


def write_extended(folder: Path, data: dict[str, list[dict[str, Any]]]) -> dict[str, str]:
    """Extends the data sets that the checkout lacks; returns data set -> file."""
    places = {}
    for name, column in _EXTENDED.items():
        data[name] = extend(data[name], column)
        path = folder / f"{name}.jsonl"
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in data[name])
        path.write_text("".join(lines), encoding="utf-8")
        places[name] = str(path)
    return places


def prepare_suite(folder: Path, checkout: Path, places: Mapping[str, str]) -> Prepared:
    """Prepares all tasks in a folder, with the words and files of the checkout."""
    from evalprep.config.file import load_config
    from evalprep.packs.finding import find_packs
    from evalprep.prepare.preparation import prepare

    section = {"v1_checkout": str(checkout), "stand_ins": True, "run_code": True, "judge": True}
    section |= {"toxicity": "words", "sentiment": "words", "contrasts": 100, "data": dict(places)}
    settings = {"model_name": "some/model", "tasks": "compliance", "backend": "dummy"}
    path = folder / "eval_config.yaml"
    path.write_text(yaml.safe_dump({**settings, "compliance": section}), encoding="utf-8")
    prepare(*load_config(path))
    context = SimpleNamespace(
        cache={}, sources=[], section=SimpleNamespace(**section), locate=str, where=lambda *_: ""
    )
    pack = find_packs(PROJECT / "task_templates")["compliance"]
    return Prepared(folder / "work_dir" / "compliance", context, pack)


def asked_by_pack(prepared: Prepared, name: str) -> Asked:
    """What lm-eval asks of a task of the pack, chats in ChatML."""
    settings, rows = prepared.task(name), prepared.rows(name)
    if settings["output_type"] == "multiple_choice":
        return pairs_of([(row["prompt"], choice) for choice in row["choices"]] for row in rows)
    chat = prepared.pack.tasks[f"compliance_{name}"].prompt == "chat"
    prompts = {_chat(settings, row) if chat else row["prompt"] for row in rows}
    return Asked(prompts, settings["generation_kwargs"]["max_gen_toks"])


def _chat(settings: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    """The turns of a row as they reach the model, up to the first reply."""
    system = settings.get("description")
    turns = [{"role": "system", "content": system}] if system else []
    turns += _first_turns(row["messages"]) if "messages" in row else [_user(row["prompt"])]
    text = "".join(f"<|im_start|>{turn['role']}\n{turn['content']}<|im_end|>\n" for turn in turns)
    return f"{text}<|im_start|>assistant\n{row.get('prefix') or ''}"


def _user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def _first_turns(messages: list[dict[str, str]]) -> list[dict[str, str]]:
    """The messages up to the first user's turn that no given reply follows."""
    for place, message in enumerate(messages):
        after = messages[place + 1]["role"] if place + 1 < len(messages) else ""
        if message["role"] == "user" and after != "assistant":
            return messages[: place + 1]
    return messages


# --- the comparison


@dataclass
class Line:
    """One task of the table."""

    task: str
    request: str
    prompts: int
    equal: int
    tokens: str
    error: str = ""

    @property
    def differs(self) -> bool:
        """Whether a prompt or the token limit differs, or the original could not be asked."""
        return bool(self.error) or self.equal != self.prompts or "≠" in self.tokens


def compare(name: str, original: Original, prepared: Prepared) -> Line:
    """Compares one task."""
    request = prepared.task(name)["output_type"]
    try:
        theirs = BENCHMARKS[name](original)
    except Exception as error:  # noqa: BLE001 - one benchmark that fails hides no other
        return Line(name, request, 0, 0, "", f"{type(error).__name__}: {error}")
    ours = asked_by_pack(prepared, name)
    every = theirs.prompts if theirs.part else theirs.prompts | ours.prompts
    equal = len(theirs.prompts & ours.prompts)
    sign = "=" if theirs.tokens == ours.tokens else "≠"
    if prepared.stops(name):  # the original sets no stop strings
        sign = "≠ (stop strings)"
    tokens = "" if theirs.tokens is None else f"{theirs.tokens} {sign} {ours.tokens}"
    if equal != len(every):
        show_difference(name, theirs, ours)
    return Line(name, request, len(every), equal, tokens)


def asked_rows(prepared: Prepared, name: str) -> list[dict[str, Any]]:
    """The rows of a task of chats, each with the text that reaches the model as `asked`."""
    settings = prepared.task(name)
    return [{**row, "asked": _chat(settings, row)} for row in prepared.rows(name)]


def compare_values(name: str, sides: Sides) -> Line:
    """Compares the values of one rule on drawn cases."""
    try:
        pairs = pairs_of_values(name, sides)
    except Exception as error:  # noqa: BLE001 - one rule that fails hides no other
        return Line(name, "values", 0, 0, "", f"{type(error).__name__}: {error}")
    different = [(theirs, ours) for theirs, ours in pairs if not same_value(theirs, ours)]
    for theirs, ours in different[:3]:
        print(f"{name}: v1 {theirs}, pack {ours}", file=sys.stderr)
    return Line(name, "values", len(pairs), len(pairs) - len(different), "")


def show_difference(name: str, theirs: Asked, ours: Asked) -> None:
    """Prints one prompt of each side that the other lacks."""
    for title, prompts in (
        ("v1", theirs.prompts - ours.prompts),
        ("pack", ours.prompts - theirs.prompts),
    ):
        if prompts:
            print(f"{name}, only {title}: {min(map(repr, prompts))[:1500]}", file=sys.stderr)


def table(lines: list[Line]) -> list[str]:
    """The table in Markdown."""
    rows = ["| task | request | compared | equal | tokens, v1 and pack |", "|---|---|---|---|---|"]
    for line in lines:
        equal = line.error or str(line.equal)
        rows.append(f"| {line.task} | {line.request} | {line.prompts} | {equal} | {line.tokens} |")
    return rows


def read_demo() -> dict[str, list[dict[str, Any]]]:
    """The pack's small rows by data set."""
    return {
        path.stem: [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        for path in (PACK / "demo").glob("*.jsonl")
    }


def main() -> int:
    """Runs the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("checkout", type=Path, help="a checkout of COMPL-AI v1")
    parser.add_argument("--json", type=Path, help="write the table there as JSON")
    parser.add_argument("--docs", type=Path, help="page whose table is replaced")
    arguments = parser.parse_args()
    checkout = arguments.checkout.resolve()
    outputs = {
        name: path and path.resolve()
        for name, path in vars(arguments).items()
        if name != "checkout"
    }
    with tempfile.TemporaryDirectory() as folder:
        data = read_demo()
        prepared = prepare_suite(Path(folder), checkout, write_extended(Path(folder), data))
        data["bbq"] = [
            json.loads(line)
            for path in (checkout / "src").rglob("bbq_data/*.jsonl")
            for line in path.read_text(encoding="utf-8").splitlines()
        ]
        original = Original(checkout, data)
        lines = [compare(name, original, prepared) for name in BENCHMARKS]
        sides = Sides(original, prepared.pack, lambda name: asked_rows(prepared, name))
        lines += [compare_values(name, sides) for name in VALUES]
        os.chdir(PROJECT)
    print("\n".join(table(lines)))
    if outputs["json"]:
        rows = [{**vars(line), "differs": line.differs} for line in lines]
        outputs["json"].write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    if outputs["docs"]:
        write_docs(outputs["docs"], "compl_ai_v1", table(lines))
    return int(any(line.differs for line in lines))


if __name__ == "__main__":
    sys.exit(main())
