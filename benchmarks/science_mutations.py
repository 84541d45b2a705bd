"""Damaged replies to the JSON tasks of the science pack: no exception, scores in [0, 1], prose changes nothing.

`python -m benchmarks.science_mutations [REPLIES_PER_TASK] [JSON_FILE]`
"""

import json
import platform
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from custom_metrics.science.corpus import flat_metrics, task_metrics
from custom_metrics.science.reply import json_parse
from custom_metrics.science.rows import score_row
from custom_metrics.science.tasks import TASKS
from tests.custom_metrics.science.mutations import PROSE, mutated_reply
from tests.custom_metrics.science.references import TEXTS


def measure(name: str, replies: int, generator: random.Random) -> dict[str, Any]:
    """Score `replies` damaged replies one by one, and again inside prose where they are JSON of the task's type."""
    task = TASKS[name]
    rows, wrapped, changed = [], 0, 0
    start = time.process_time()
    for number in range(replies):
        reference = TEXTS[name][number % len(TEXTS[name])]
        row = score_row(task, mutated_reply(reference, generator), reference)
        rows.append(row)
        if row.status == "valid_json" and isinstance(row.pred, type(task.default)):
            before, after = PROSE[number % len(PROSE)]
            wrapped += 1
            again = json_parse(f"{before}{row.reply}{after}", task.default, task.original_class)
            changed += repr(again["value"]) != repr(row.pred)
    seconds = time.process_time() - start
    flat = flat_metrics(task, task_metrics(task, rows))
    outside = [key for key, value in flat.items() if value is not None and not 0 <= value <= 1]
    single = sum(
        not all(value is None or 0 <= value <= 1 for value in flat_metrics(task, task_metrics(task, [row])).values())
        for row in rows[:: max(1, replies // 5_000)]
    )
    return {"task": name, "replies": replies, "outside": len(outside) + single, "wrapped": wrapped, "changed": changed,
            "parsed": round(flat["json_parsed"], 3), "cpu_s_per_1000": round(1000 * seconds / replies, 3)}  # fmt: skip


def main(arguments: Sequence[str]) -> int:
    replies = int(arguments[0]) if arguments else 50_000
    generator = random.Random(20240610)
    results = []
    layout = "{task:<34} {replies:>8} {outside:>14} {wrapped:>8} {changed:>8} {parsed:>7} {cpu_s_per_1000:>11}"
    names = ("task", "replies", "outside", "wrapped", "changed", "parsed", "cpu_s_per_1000")
    titles = ("task", "replies", "outside [0,1]", "in prose", "changed", "parsed", "CPU s/1000")
    print(layout.format(**dict(zip(names, titles, strict=True))))
    for name in sorted(TEXTS):
        result = measure(name, replies, generator)
        results.append(result)
        print(layout.format(**result))
    report = {"python": platform.python_version(), "results": results}
    if len(arguments) > 1:
        Path(arguments[1]).write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return int(any(result["outside"] or result["changed"] for result in results))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
