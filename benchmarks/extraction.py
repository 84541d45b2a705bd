"""The share of labelled replies that the letter and number extractors read right.

`python -m benchmarks.extraction [REPLIES.jsonl ...]` reads the tables of `tests/data/replies`;
further files hold rows with `kind` (choice or number), `set`, `answer` (null for none), `reply` and
for letters `letters`. Of the rows, "invented" have no answer and got one, "missed" have one and got
none, "wrong" got another. `--list` prints these rows, `--json FILE` writes the table.
"""

import argparse
import json
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from custom_metrics.extract.choice import extract_choice
from custom_metrics.extract.number import extract_number, same_number
from custom_metrics.extract.thinking import strip_thinking
from evalprep.tables import Column, Kind, Table, table_lines

REPLIES = Path(__file__).parents[1] / "tests/data/replies"
TABLES = {
    "choice.jsonl": "choice",
    "choice_real.jsonl": "choice",
    "number.jsonl": "number",
    "number_real.jsonl": "number",
}
OUTCOMES = ("right", "wrong", "invented", "missed")


def rows_of(path: Path, kind: str | None = None) -> Iterable[dict[str, Any]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row.get("reader", "last") == "last":
            yield {"kind": kind, "set": path.stem, **row}


def found(row: Mapping[str, Any]) -> str | None:
    text = strip_thinking(row["reply"])[0]
    return extract_choice(text, row["letters"]) if row["kind"] == "choice" else extract_number(text)


def outcome(row: Mapping[str, Any], answer: str | None) -> str:
    gold = row["answer"]
    if gold is None or answer is None:
        return "right" if gold is answer else "invented" if gold is None else "missed"
    return (
        "right"
        if answer == gold or (row["kind"] == "number" and same_number(answer, gold))
        else "wrong"
    )


def shown(counts_by_set: Mapping[tuple[str, str], Mapping[str, float]]) -> Table:
    """The counts of each kind and set, with shares of its rows."""
    names = ("rows", *OUTCOMES, "unparsed", "ms each")
    columns = [Column("kind"), Column("table", Kind.NAME)]
    columns += [Column(name, Kind.MEASURE) for name in names]
    table = Table("", columns)
    for (kind, name), counts in counts_by_set.items():
        rows = counts["rows"]
        errors = [f"{counts[outcome]:.0f}" for outcome in OUTCOMES[1:]]
        unparsed = f"{counts['unparsed'] / rows:.1%}"
        milliseconds = f"{1000 * counts['seconds'] / rows:.2f}"
        right = f"{counts['right'] / rows:.1%}"
        table.add(kind, name, f"{rows:.0f}", right, *errors, unparsed, milliseconds)
    return table


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("replies", nargs="*", type=Path)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows = [row for name, kind in TABLES.items() for row in rows_of(REPLIES / name, kind)]
    rows += [row for path in arguments.replies for row in rows_of(path)]
    table: dict[tuple[str, str], dict[str, float]] = {}
    for row in rows:
        counts = table.setdefault(
            (row["kind"], row["set"]),
            dict.fromkeys(("rows", *OUTCOMES, "unparsed", "seconds"), 0.0),
        )
        start = time.process_time()
        answer = found(row)
        counts["seconds"] += time.process_time() - start
        result = outcome(row, answer)
        counts["rows"] += 1
        counts[result] += 1
        counts["unparsed"] += answer is None
        if arguments.list and result != "right":
            print(
                f"{row['set']} {row['name']}: {result}, found {answer}, label {row['answer']}: "
                f"{row['reply'][-300:]!r}"
            )
    print("\n".join(table_lines(shown(table))))
    if arguments.json:
        arguments.json.write_text(
            json.dumps(
                [{"kind": kind, "set": name, **counts} for (kind, name), counts in table.items()]
            )
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
