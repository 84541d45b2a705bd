"""A run folder of the oracle: how it is built, and what is typed about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

#: Formats of other tools that need no package beyond the environment.
FORMATS = (
    "every-eval-ever", "inspect", "model-card", "github", "junit", "markdown", "csv", "parquet",
)  # fmt: skip
#: Formats that hold values and words in a few lines.
SHORT = ("model-card", "junit")
POLICY = "defaults: {max_drop: 0.05, min_n: 5}\n"
NON_INFERIORITY = "mode: non-inferiority\non_unclear: pass\ndefaults: {max_drop: 0.1, min_n: 5}\n"


@dataclass(frozen=True)
class Folder:
    """One run folder: `build` writes it below the folder that it is given, which is the present one.

    Attributes:
        about: What is peculiar about the folder, in a few words.
        build: Writes runs, logs and policies.
        calls: Command lines without the name of the program.
    """

    about: str
    build: Callable[[Path], None]
    calls: tuple[str, ...]


def calls(
    run: str,
    other: str = "",
    *,
    options: str = "",
    scoring: str = "",
    pairing: str = "",
    samples: str = "",
    formats: Sequence[str] = SHORT,
    more: Iterable[str] = (),
) -> tuple[str, ...]:
    """The usual command lines about a run, and another one.

    Args:
        run: Folder or file of the run.
        other: Folder or file of the baseline; without one the published verdicts stand for it.
        options: Options of every verb, e.g. `--columns`.
        scoring: Options of the verbs that compute scores, e.g. `--reference`.
        pairing: Options of the verbs that pair two runs.
        samples: Options of `samples`.
        formats: Formats of `export`; where they are all, `report` gives its data and tables, too.
        more: Further command lines.
    """
    pair = f"{run} {other}".strip()
    baseline = f"--baseline {other}" if other else ""
    report = "--format md,csv --json" if len(formats) > len(SHORT) else "--format md"
    lines = [
        f"score {pair} {options} {scoring} --json --no_write",
        f"compare {pair} {options} {scoring} {pairing} --json --no_write",
        f"gate {pair} {options} {pairing} --policy policy.yaml --json",
        f"leaderboard {pair} {options} {scoring} --json",
        f"report {pair} {options} {scoring} {pairing} --out written {report}",
        f"samples {run} {options} {samples or '-n 2'} --json",
        *(f"export {run} {baseline} {options} --to {name} --out written" for name in formats),
        *more,
    ]
    return tuple(" ".join(line.split()) for line in lines)
