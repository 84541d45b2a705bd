"""Seconds and memory that it takes to pair the rows of two tools, key by key.

`python -m benchmarks.pairing [ROWS]` writes two samples files of 12,032 rows, in different order,
whose rows have one key in common, and pairs them in a process for each key.
Exit code 1 where a key took 2 CPU seconds or 300 MB, or paired fewer than all rows.
"""

import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evalprep.samples import document_hash, pair_rows, read_table, text_hash

ROWS = 12_032
MOST_SECONDS, MOST_MB = 2.0, 300
LEVELS = ("doc_hash", "prompt_hash", "question+target", "question", "loose", "contained")
_EXAMPLES = "Question: Which one of these is a colour?\nAnswer: red\n\n" * 12
_LETTERS = "ABCDEFGHIJ"


def rows_of(level: str, side: str, count: int) -> Iterator[dict[str, Any]]:
    """Yield lines of one side; what both sides have in common is the key of the level alone."""
    places = list(range(count))
    if side == "other":
        random.Random(0).shuffle(places)
    for number, place in enumerate(places):
        question = f"What is the value of item {place} in list {place * 7919 % 10_007}?"
        if level == "loose" and side == "other":
            question = question.upper().replace("?", " ?")
        prompt = (
            f"{_EXAMPLES if level != 'prompt_hash' else ''}{side}\nQuestion: {question}\nAnswer:"
        )
        if level == "prompt_hash":
            prompt = question
        doc: dict[str, Any] = {"question": question, "note": "" if level == "doc_hash" else side}
        if level in {"doc_hash", "prompt_hash"} or (level == "contained" and side == "other"):
            del doc["question"]
        if level == "doc_hash":
            doc["number"] = place
        target = "" if level == "question" and side == "other" else f"option {place % 10}"
        yield {
            "doc_id": number,
            "doc": doc,
            "target": target,
            "arguments": {
                f"gen_args_{at}": {"arg_0": prompt, "arg_1": f" {letter}"}
                for at, letter in enumerate(_LETTERS if side == "ours" else "A")
            },
            "resps": [[["-1.5", "False"]]],
            "filtered_resps": [["-1.5", "False"]],
            "filter": "none",
            "metrics": ["acc"],
            "doc_hash": document_hash(doc),
            "prompt_hash": text_hash(prompt),
            "target_hash": "",
            "acc": 1.0,
        }


def measure(level: str, count: int) -> dict[str, Any]:
    """Pair two files in this process."""
    with tempfile.TemporaryDirectory() as folder:
        tables = []
        for side in ("ours", "other"):
            path = Path(folder) / f"samples_{side}.jsonl"
            with path.open("w", encoding="utf-8") as file:
                for row in rows_of(level, side, count):
                    file.write(json.dumps(row) + "\n")
            tables.append(read_table(path, "none"))
        before = time.process_time()
        match = pair_rows(tables[0], tables[1], tools=("lm-eval", "inspect"))
        seconds = time.process_time() - before
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"level": level, "ways": match.ways, "seconds": seconds, "peak_mb": peak}


def main() -> int:
    if len(sys.argv) == 3:
        print(json.dumps(measure(sys.argv[1], int(sys.argv[2]))))
        return 0
    count = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    print(f"{count} rows against {count}\n\n{'key':<16} {'paired':>7} {'CPU s':>6} {'peak MB':>8}")
    missed = False
    for level in LEVELS:
        command = [sys.executable, "-m", "benchmarks.pairing", level, str(count)]
        result = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        paired = result["ways"].get(level, 0)
        print(f"{level:<16} {paired:>7} {result['seconds']:>6.2f} {result['peak_mb']:>8.0f}")
        slow = result["seconds"] > MOST_SECONDS or result["peak_mb"] > MOST_MB
        missed = missed or slow or paired < count
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
