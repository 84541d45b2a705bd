"""What `evalprep check --estimate` says before a run, beside what vLLM then takes.

    python -m benchmarks.estimate [--shape 135m|1b|8b] [--rows N] [--reply N] [--model DIR] [--log
    FILE]

The weights are random (`load_format: dummy`), in the shape of a known model, so that nothing is
fetched and every reply has its full length: the tokens are known, and what is left to be wrong is
the pace. The model folder gives the tokenizer. The printed command is run as it is; times are those
of vLLM's own log and of the whole process.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml

from evalprep.model.hardware import gpu_names
from evalprep.tables import Column, Kind, Table, table_lines

ROOT = Path(__file__).resolve().parents[1]
MODEL = ROOT / "models" / "SmolLM2-135M-Instruct"
# layers, hidden, heads, key-value heads, intermediate, vocabulary, tied embeddings
SHAPES: dict[str, tuple[int, int, int, int, int, int, bool]] = {
    "135m": (30, 576, 9, 3, 1536, 49152, True),
    "1b": (16, 2048, 32, 8, 8192, 128256, True),
    "8b": (32, 4096, 32, 8, 14336, 128256, False),
}
LENGTHS = (40, 120, 300, 600)  # words of a prompt
WORDS = [
    "time",
    "year",
    "people",
    "way",
    "day",
    "thing",
    "world",
    "life",
    "hand",
    "part",
    "child",
    "place",
    "week",
]
TASK = {
    "dataset_path": "json",
    "test_split": "test",
    "output_type": "generate_until",
    "doc_to_text": "{{question}}",
    "doc_to_target": "{{answer}}",
    "metric_list": [{"metric": "exact_match"}],
    "num_fewshot": 0,
    "fewshot_config": {"sampler": "first_n", "samples": []},
}
PACK = "name: pace\ntasks:\n  pace_qa: {template: pace_qa.yaml, source: data.jsonl}\n"


def write_model(folder: Path, shape: str, tokenizer: Path) -> None:
    """A model folder without weights.

    config.json of the shape, and the files of another model's tokenizer.
    """
    folder.mkdir()
    for file in tokenizer.iterdir():
        if file.name.startswith(("tokenizer", "special_tokens", "vocab", "merges")):
            shutil.copy(file, folder)
    layers, hidden, heads, kv_heads, between, vocabulary, tied = SHAPES[shape]
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_act": "silu",
        "rms_norm_eps": 1e-5,
        "initializer_range": 0.02,
        "max_position_embeddings": 8192,
        "num_hidden_layers": layers,
        "hidden_size": hidden,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "head_dim": hidden // heads,
        "intermediate_size": between,
        "vocab_size": vocabulary,
        "tie_word_embeddings": tied,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "dtype": "bfloat16",
    }
    (folder / "config.json").write_text(json.dumps(config, indent=1), encoding="utf-8")


def write_pack(folder: Path, rows: int, reply: int) -> None:
    """One task: rows of words without sense, of four lengths in turn, and replies of one length."""
    folder.mkdir(parents=True)
    rng = random.Random(7)
    texts = [
        " ".join(rng.choice(WORDS) for _ in range(LENGTHS[row % len(LENGTHS)]))
        for row in range(rows)
    ]
    lines = [
        json.dumps({"question": f"{row}. {text}?", "answer": "x"}) for row, text in enumerate(texts)
    ]
    (folder / "data.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    generation = {"until": [], "do_sample": False, "temperature": 0.0, "max_gen_toks": reply}
    files = {
        "dataset_kwargs": {"data_files": {"test": "${data_file}"}},
        "generation_kwargs": generation,
    }
    task = {"task": "${task}", **TASK, **files, "dataset_path": "parquet"}
    (folder / "pace_qa.yaml").write_text(yaml.safe_dump(task, sort_keys=False), encoding="utf-8")
    (folder / "pack.yaml").write_text(PACK, encoding="utf-8")


def seconds_of(log: str) -> float | None:
    """Time of vLLM's own bar when it was full."""
    bars = re.findall(r"Processed prompts: 100%\S* *\| *(\d+)/\1 \[(?:(\d+):)?(\d+):(\d+)<", log)
    return (
        None
        if not bars
        else float(int(bars[-1][1] or 0) * 3600 + int(bars[-1][2]) * 60 + int(bars[-1][3]))
    )


def main() -> None:
    """Estimate, run, and print both."""
    gpus = gpu_names()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shape", choices=sorted(SHAPES), default="8b" if gpus else "135m")
    parser.add_argument("--rows", type=int, default=4000 if gpus else 64)
    parser.add_argument(
        "--reply", type=int, default=256 if gpus else 64, help="tokens of every reply"
    )
    parser.add_argument(
        "--model", type=Path, default=MODEL, help="the folder whose tokenizer is used"
    )
    parser.add_argument("--log", type=Path, help="where what lm_eval prints is kept")
    args = parser.parse_args()
    if not (args.model / "tokenizer.json").is_file():
        sys.exit(f"{args.model} has no tokenizer.json; --model names a folder that has")
    with tempfile.TemporaryDirectory(prefix="evalprep-estimate-") as temporary:
        folder = Path(temporary)
        write_model(folder / args.shape, args.shape, args.model)
        write_pack(folder / "packs" / "pace", args.rows, args.reply)
        settings: dict[str, Any] = {
            "model_name": str(folder / args.shape),
            "template_dir": str(folder / "packs"),
            "tasks": "pace_qa",
            "max_model_len": 2048,
            "model_args": {"load_format": "dummy"},
            "work_dir": str(folder / "work"),
            "output_path": str(folder / "out"),
        }
        config = folder / "config.yaml"
        config.write_text(yaml.safe_dump(settings), encoding="utf-8")
        env = {**os.environ, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"}
        ours = [sys.executable, "-m", "evalprep"]
        made = subprocess.run(
            [*ours, "prepare", "--config_path", str(config)],
            env=env,
            check=False,
            capture_output=True,
            text=True,
        )
        if made.returncode:
            sys.exit(made.stderr)
        told = subprocess.run(
            [*ours, "check", "--config", str(config), "--estimate", "--json"],
            env=env,
            check=False,
            capture_output=True,
            text=True,
        )
        estimate = json.loads(told.stdout)["estimate"]
        start = time.monotonic()
        ran = subprocess.run(
            ["sh", str(folder / "work" / "command.sh")],
            env=env,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        wall = time.monotonic() - start
    if args.log is not None:
        args.log.write_text(ran.stdout, encoding="utf-8")
    if ran.returncode:
        sys.exit(f"lm_eval ended with code {ran.returncode}:\n{ran.stdout[-2000:]}")
    log = ran.stdout.replace("\r", "\n")
    took, room = seconds_of(log), re.search(r"KV cache size: ([\d,]+) tokens", log)
    task, memory = estimate["tasks"][0], estimate["memory"]
    print(f"{gpus[0] if gpus else 'CPU'}, shape {args.shape}: {args.rows:,} prompts of together")
    print(f"{task['prompt_tokens']:,} tokens, {task['reply_tokens']:,} tokens to generate")
    told_room = memory and memory["cache_tokens"]
    rows = [
        (
            "generation, s",
            f"{estimate['seconds']:.0f}",
            "unknown" if took is None else f"{took:.0f}",
        ),
        ("whole command, s", "-", f"{wall:.0f}"),
        (
            "room for cache, tokens",
            f"{told_room:,}" if told_room else "-",
            room.group(1) if room else "-",
        ),
    ]
    columns = [Column("", Kind.NAME), Column("said", Kind.MEASURE), Column("was", Kind.MEASURE)]
    print("\n".join(table_lines(Table("", columns, rows))))


if __name__ == "__main__":
    main()
