"""A model's card for the report.

Markdown with `# Metadata` and `# environment`, and energy by codecarbon.
"""

from __future__ import annotations

import csv
import math
import re
from pathlib import Path
from typing import Any

from custom_metrics.compliance.reporting import environment_amounts
from evalprep.packapi import open_file, read_file

CARD = "model_card.md"
EMISSIONS = "emissions.csv"  # as codecarbon writes it
_COMMENT = re.compile(r"<!--[^>]{0,4000}-->")


def read_card(text: str) -> dict[str, dict[str, str]]:
    r"""Top heading -> second heading -> text, headings in lower case, comments removed.

    >>> read_card("# Metadata\n## model_type\napi <!-- or local -->")
    {'metadata': {'model_type': 'api'}}
    """
    card: dict[str, dict[str, str]] = {}
    top, second = "", ""
    for line in _COMMENT.sub("", text).splitlines():
        if line.startswith("# "):
            top, second = line[2:].strip().lower(), ""
            card.setdefault(top, {})
        elif line.startswith("## ") and top:
            second = line[3:].strip().lower()
            card[top].setdefault(second, "")
        elif top and second and line.strip():
            card[top][second] = f"{card[top][second]} {line.strip()}".strip()
    return card


def card_of(folder: Path) -> dict[str, dict[str, Any]]:
    """The card beside a run's results, with energy and CO2; empty where there is none."""
    path = folder / CARD
    card: dict[str, dict[str, Any]] = {}
    if path.is_file():
        card = {
            name: dict(values)
            for name, values in read_card(read_file(path).decode("utf-8-sig")).items()
        }
        if "environment" in card:
            filled_in = {
                name: value for name, value in card["environment"].items() if value not in {"", "-"}
            }
            card["environment"] |= environment_amounts(environment=filled_in)
    if measured := _measured(folder / EMISSIONS):
        card["evaluation"] = measured
    return card


def _measured(path: Path) -> dict[str, Any]:
    """Energy and CO2 of the evaluation itself: codecarbon's sums over its runs.

    Nothing where its file cannot be read.

    A run that saves what it has so far (`flush`) has a row for each time, which holds all of it up
    to then.
    """
    if not path.is_file():
        return {}
    try:
        with open_file(path, "r", encoding="utf-8", newline="") as file:
            last = {row.get("run_id") or at: row for at, row in enumerate(csv.DictReader(file))}
        energy = math.fsum(float(row["energy_consumed"]) for row in last.values())
        co2 = math.fsum(float(row["emissions"]) for row in last.values())
    except (KeyError, TypeError, ValueError, OSError, csv.Error):
        return {}
    if not (math.isfinite(energy) and math.isfinite(co2)):
        return {}
    return {
        "energy": energy,
        "energy_unit": "kWh",
        "co2": 1000 * co2,
        "co2_unit": "g",
        "measured_by": "codecarbon",
    }
