"""What the printed command takes beyond bare generation of the same replies.

    python -m benchmarks.command_overhead [--short] [--docs PAGE]

The demo model replies to 200 prompts on the CPU: under `command.sh` of a prepared folder, and in a
script that loads the model with the same settings and generates. The first line of each engine is
the whole, with imports, the index of tasks, requests, scores and files. The second one, with a
goal, is the time from the beginning of the first call of the engine's `generate` to the end of the
last one, which both processes write down. Both are measured in turns, and of each the round with
the least CPU time counts. Engines that are not installed are left out.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measuring import ROOT, Cost, Measure, Report, finish, measure
from benchmarks.scale_model import MODEL, prepare

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
from vllm import LLM, SamplingParams
path, rows, tokens = sys.argv[1], sys.argv[2], int(sys.argv[3])
prompts = [json.loads(line)["question"] for line in open(rows)]
engine = LLM(model=path, dtype="float32", max_model_len=512, seed=42, enforce_eager=True,
    gpu_memory_utilization=0.2, distributed_executor_backend="uni")
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
        **dict(engine.env),
        "PYTHONPATH": f"{hook}{os.pathsep}{ROOT}",
        "GENERATES": engine.generates,
        "CALLS": os.fspath(calls),
    }
    whole = measure(command, cwd=folder, env=env)
    times = [json.loads(line) for line in calls.read_text(encoding="utf-8").splitlines()]
    (cpu, wall), (cpu_end, wall_end) = times[0][0], times[-1][1]
    return whole, Cost(cpu_end - cpu, wall_end - wall, whole.peak_mb)


def least(rounds: Sequence[tuple[Cost, Cost]]) -> tuple[Cost, Cost]:
    """The round whose generation took the least CPU time."""
    return min(rounds, key=lambda costs: costs[1].cpu)


def lines_of(engine: Engine, folder: Path, prompts: int, rounds: int) -> Iterator[Measure]:
    """The lines of one engine."""
    prepare(
        folder,
        prompts,
        question=STORY,
        backend=engine.backend,
        batch_size=engine.batch_size,
        gen_kwargs={"max_gen_toks": NEW_TOKENS},
    )
    words = [os.fspath(MODEL), os.fspath(folder / "rows.jsonl"), str(NEW_TOKENS), str(BATCH)]
    script = [sys.executable, "-c", engine.bare, *words]
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(with_generation(["sh", "work_dir/command.sh"], engine, folder))
        theirs.append(with_generation(script, engine, folder))
    command, generation = least(ours)
    bare, bare_generation = least(theirs)
    name, against = engine.backend, f"bare {engine.package}"
    yield Measure(f"{name}, {prompts} prompts", command, bare, against)
    yield Measure(f"{name}, first to last reply", generation, bare_generation, against, goal=GOAL)


def main() -> int:
    """Measure each engine that is installed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--short", action="store_true", help=f"{SHORT} prompts, nothing kept")
    parser.add_argument("--docs", type=Path, help="page whose table is replaced")
    args = parser.parse_args()
    prompts = SHORT if args.short else PROMPTS
    engines = [engine for engine in ENGINES if importlib.util.find_spec(engine.package)]
    measures: list[Measure] = []
    with tempfile.TemporaryDirectory() as name:
        for engine in engines:
            folder = Path(name) / engine.backend
            folder.mkdir()
            measures += lines_of(engine, folder, prompts, 1 if args.short else ROUNDS)
    report = Report(
        "command_overhead",
        "python -m benchmarks.command_overhead",
        measures,
        {"prompts": prompts, "new tokens": NEW_TOKENS},
        ("lm_eval", "torch", "transformers", *(["vllm"] if len(engines) == len(ENGINES) else [])),
    )
    return finish(report, page=args.docs, keep=not args.short)


if __name__ == "__main__":
    raise SystemExit(main())
