"""What the printed command takes beyond bare generation of the same replies.

    python -m benchmarks.command_overhead [--short] [--docs PAGE] [--shape 1b|8b]

The demo model replies to 200 prompts on the CPU: under `command.sh` of a prepared folder, and in a
script that loads the model with the same settings and generates. The first line of each engine is
the whole, with imports, the index of tasks, requests, scores and files. The second one, with a
goal, is the time from the beginning of the first call of the engine's `generate` to the end of the
last one, which both processes write down. Both are measured in turns, and of each the round with
the least CPU time counts. Engines that are not installed are left out.

With `--shape` vLLM generates with random weights in the shape of a known model: for a machine with
a GPU, where 2,000 prompts are asked once and wall time counts.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.estimate import SHAPES, write_model
from benchmarks.measuring import ROOT, Cost, Measure, Report, finish, measure
from benchmarks.scale_model import MODEL, prepare
from evalprep.model.hardware import gpu_names

PROMPTS, SHORT = 200, 16
ROUNDS = 2  # of both ways, in turns: other work on the machine only ever adds to a time
NEW_TOKENS = 32
#: The model goes on with a story; to a question it replies with the end of its turn alone.
STORY = "Story number {}{}. Once upon a time there was a mouse who"
BATCH = 8  # of transformers, left padded; vLLM schedules all prompts itself
GOAL = 1.05
OFFLINE = {"HF_HUB_OFFLINE": "1"}

#: Both processes import it, and write down when calls of `generate` begin and end.
HOOK = """
import functools, importlib.util, json, os, sys, time
def now():
    return [time.process_time(), time.perf_counter()]
def timed(generate):
    @functools.wraps(generate)
    def generate_timed(*words, **more):
        begun = now()
        try:
            return generate(*words, **more)
        finally:
            with open(os.environ["CALLS"], "a") as file:
                print(json.dumps([begun, now()]), file=file)
    return generate_timed
class Finder:
    def find_spec(self, name, path=None, target=None):
        module, _, owner = os.environ["GENERATES"].partition(":")
        if name != module:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        execute = spec.loader.exec_module
        def execute_and_change(module):
            execute(module)
            changed = getattr(module, owner)
            changed.generate = timed(changed.generate)
        spec.loader.exec_module = execute_and_change
        return spec
sys.meta_path.insert(0, Finder())
"""
HF = """
import json, sys
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
path, rows, tokens, batch = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
prompts = sorted((json.loads(line)["question"] for line in open(rows)), key=len, reverse=True)
tokenizer = AutoTokenizer.from_pretrained(path, padding_side="left")
tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32)
for first in range(0, len(prompts), batch):
    inputs = tokenizer(prompts[first : first + batch], return_tensors="pt", padding=True)
    with torch.inference_mode():
        replies = model.generate(**inputs, do_sample=False, max_new_tokens=tokens)
    tokenizer.batch_decode(replies[:, inputs["input_ids"].shape[1] :])
"""
VLLM = """
import json, sys
import yaml
from vllm import LLM, SamplingParams
rows, tokens = sys.argv[2], int(sys.argv[3])
with open("work_dir/run.yaml") as file:
    settings = yaml.safe_load(file)["model_args"]
prompts = [json.loads(line)["question"] for line in open(rows)]
engine = LLM(model=settings.pop("pretrained"), **settings)
engine.generate(prompts, SamplingParams(temperature=0.0, max_tokens=tokens), use_tqdm=False)
"""


@dataclass(frozen=True)
class Engine:
    """A way to load the model.

    Attributes:
        backend: Its name in the config.
        package: The package that it needs.
        generates: Module and class whose `generate` makes the replies.
        batch_size: In the config.
        bare: A script that generates with it alone.
        env: Variables that the printed command sets, too.
    """

    backend: str
    package: str
    generates: str
    batch_size: int | str
    bare: str
    env: tuple[tuple[str, str], ...] = ()


ENGINES = (
    Engine("hf", "transformers", "transformers.generation.utils:GenerationMixin", BATCH, HF),
    Engine(
        "vllm",
        "vllm",
        "vllm.entrypoints.llm:LLM",
        "auto",
        VLLM,
        (("VLLM_ENABLE_V1_MULTIPROCESSING", "0"), ("VLLM_CPU_KVCACHE_SPACE", "1")),
    ),
)


def with_generation(command: Sequence[str], engine: Engine, folder: Path) -> tuple[Cost, Cost]:
    """What a command takes, and what it takes from its first to its last call of `generate`."""
    hook, calls = folder / "hook", folder / "calls.jsonl"
    hook.mkdir(exist_ok=True)
    (hook / "sitecustomize.py").write_text(HOOK, encoding="utf-8")
    calls.unlink(missing_ok=True)
    env = {
        **OFFLINE,
        **({} if gpu_names() else dict(engine.env)),
        "PYTHONPATH": f"{hook}{os.pathsep}{ROOT}",
        "GENERATES": engine.generates,
        "CALLS": os.fspath(calls),
    }
    whole = measure(command, cwd=folder, env=env)
    times = [json.loads(line) for line in calls.read_text(encoding="utf-8").splitlines()]
    (cpu, wall), (cpu_end, wall_end) = times[0][0], times[-1][1]
    return whole, Cost(cpu_end - cpu, wall_end - wall, whole.peak_mb)


@dataclass(frozen=True)
class Load:
    """What the model is asked for.

    Attributes:
        prompts: Number of prompts.
        new_tokens: Tokens of each reply.
        rounds: Of both ways, in turns.
        shape: The shape of the random weights; None for the demo model.
    """

    prompts: int
    new_tokens: int
    rounds: int
    shape: str | None = None

    def settings(self, folder: Path) -> dict[str, Any]:
        """Settings of the config beside those of the engine."""
        settings: dict[str, Any] = {"gen_kwargs": {"max_gen_toks": self.new_tokens}}
        if gpu_names():
            settings |= {"device": "gpu", "dtype": "bfloat16"}
        if self.shape is not None:
            model = folder / self.shape
            write_model(model, self.shape, MODEL)
            settings |= {"model_name": str(model), "model_args": {"load_format": "dummy"}}
        return settings


LONG = Load(PROMPTS, NEW_TOKENS, ROUNDS)
BRIEF = Load(SHORT, NEW_TOKENS, rounds=1)
#: Enough to fill a GPU, once: most of the time goes into starting the engine.
ON_GPU = Load(prompts=2000, new_tokens=128, rounds=1)


def lines_of(engine: Engine, folder: Path, load: Load) -> Iterator[Measure]:
    """The lines of one engine."""
    folder.mkdir()
    settings = load.settings(folder)
    prepare(
        folder,
        load.prompts,
        question=STORY,
        backend=engine.backend,
        batch_size=engine.batch_size,
        **settings,
    )
    model = settings.get("model_name", os.fspath(MODEL))
    words = [model, os.fspath(folder / "rows.jsonl"), str(load.new_tokens), str(BATCH)]
    script = [sys.executable, "-c", engine.bare, *words]
    ours, theirs = [], []
    for _ in range(load.rounds):
        ours.append(with_generation(["sh", "work_dir/command.sh"], engine, folder))
        theirs.append(with_generation(script, engine, folder))
    name, against = engine.backend, f"bare {engine.package}"
    command, generation = least(ours)
    bare, bare_generation = least(theirs)
    yield Measure(f"{name}, {load.prompts} prompts", command, bare, against)
    first_to_last = Measure(f"{name}, first to last reply", generation, bare_generation, against)
    if gpu_names():
        yield replace(first_to_last, goal_wall=GOAL)
    else:
        yield replace(first_to_last, goal=GOAL)


def least(rounds: Sequence[tuple[Cost, Cost]]) -> tuple[Cost, Cost]:
    """The round whose generation took the least CPU time; on a GPU the least wall time."""
    return min(rounds, key=lambda costs: costs[1].wall if gpu_names() else costs[1].cpu)


def main() -> int:
    """Measure each engine that is installed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--short", action="store_true", help=f"{SHORT} prompts, nothing kept")
    parser.add_argument("--docs", type=Path, help="page whose table is replaced")
    parser.add_argument("--shape", choices=sorted(SHAPES), help="of random weights, with vLLM")
    args = parser.parse_args()
    load = BRIEF if args.short else LONG
    engines = [engine for engine in ENGINES if importlib.util.find_spec(engine.package)]
    if args.shape:
        load = replace(load if args.short else ON_GPU, shape=args.shape)
        engines = [engine for engine in engines if engine.backend == "vllm"]
    measures: list[Measure] = []
    with tempfile.TemporaryDirectory() as name:
        for engine in engines:
            measures += lines_of(engine, Path(name) / engine.backend, load)
    packages = {"lm_eval", "torch", "transformers"} | {engine.package for engine in engines}
    report = Report(
        "command_overhead",
        "python -m benchmarks.command_overhead" + (f" --shape {load.shape}" if load.shape else ""),
        measures,
        {"prompts": load.prompts, "new tokens": load.new_tokens},
        sorted(packages),
    )
    return finish(report, page=args.docs, keeps=load is LONG)


if __name__ == "__main__":
    raise SystemExit(main())
