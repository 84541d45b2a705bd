"""What vLLM's prefix caching spares on prompts of five examples.

    python -m benchmarks.prefix_caching [--shape 135m|1b|8b] [--prompts N] [--reply N]

All prompts begin with the same five examples, as those of a few-shot task do. The weights are
random, in the shape of a known model. The engine is started anew for each of both settings, and the
seconds of `generate` alone are printed, without loading.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.estimate import MODEL, SHAPES, WORDS, write_model
from evalprep.model.hardware import gpu_names
from evalprep.tables import Column, Kind, Table, table_lines

#: What vLLM's build for CPUs is started with, as by a prepared command.
_ON_CPU = {
    "dtype": "float32",
    "gpu_memory_utilization": 0.2,
    "enforce_eager": True,
    "distributed_executor_backend": "uni",
}
_CPU_VARIABLES = {"VLLM_ENABLE_V1_MULTIPROCESSING": "0", "VLLM_CPU_KVCACHE_SPACE": "1"}
SCRIPT = """
import json, random, sys, time
from vllm import LLM, SamplingParams
model, prompts, reply, caching, words, more = sys.argv[1:]
draw = random.Random(7)
def text(count):
    return " ".join(draw.choices(json.loads(words), k=count))
shots = "".join(f"Question: {text(60)}?\\nAnswer: {text(20)}.\\n\\n" for _ in range(5))
texts = [f"{shots}Question: {n} {text(60)}?\\nAnswer:" for n in range(int(prompts))]
engine = LLM(model, load_format="dummy", max_model_len=2048, seed=1,
             enable_prefix_caching=caching == "on", **json.loads(more))
sampling = SamplingParams(temperature=0, max_tokens=int(reply), ignore_eos=True)
begun = time.monotonic()
engine.generate(texts, sampling)
print(f"seconds {time.monotonic() - begun:.2f}", flush=True)
"""


def seconds(model: Path, prompts: int, reply: int, caching: str) -> float:
    """Seconds that an engine takes for all prompts."""
    has_gpu = bool(gpu_names())
    settings = {"dtype": "bfloat16"} if has_gpu else _ON_CPU
    words = [str(model), str(prompts), str(reply), caching, json.dumps(WORDS), json.dumps(settings)]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *words],
        check=False,
        capture_output=True,
        text=True,
        env=dict(os.environ) | ({} if has_gpu else _CPU_VARIABLES),
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("seconds ")]
    if not lines:
        sys.exit(done.stderr[-2000:])
    return float(lines[-1].split()[1])


def main() -> None:
    """Measure both settings, and print them."""
    has_gpu = bool(gpu_names())
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shape", choices=sorted(SHAPES), default="8b" if has_gpu else "135m")
    parser.add_argument("--prompts", type=int, default=2000 if has_gpu else 16)
    parser.add_argument("--reply", type=int, default=32 if has_gpu else 8, help="tokens of each")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / args.shape
        write_model(model, args.shape, MODEL)
        rows = [
            (caching, f"{seconds(model, args.prompts, args.reply, caching):.1f}")
            for caching in ("on", "off")
        ]
    print(f"shape {args.shape}: {args.prompts:,} prompts with the same five examples")
    columns = [Column("prefix caching", Kind.NAME), Column("generation, s", Kind.MEASURE)]
    print("\n".join(table_lines(Table("", columns, rows))))


if __name__ == "__main__":
    main()
