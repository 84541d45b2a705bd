"""A model's card for the report.

Markdown with `# Metadata` and `# environment`, and energy by codecarbon.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from custom_metrics.compliance.reporting import environment_amounts
from evalprep.packapi import open_file, read_file

from .origin import last_part

CARD = "model_card.md"
EMISSIONS = "emissions.csv"  # as codecarbon writes it
_SHOWN_LINES = 3
_COMMENT = re.compile(r"<!--[^>]{0,4000}-->")


@dataclass(frozen=True)
class Card:
    """A model's card.

    Attributes:
        sections: Top heading -> second heading -> text, headings in lower case.
        notes: What of the file is not used, and why.
    """

    sections: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def read_card(text: str) -> tuple[dict[str, dict[str, str]], list[str]]:
    r"""Top heading -> second heading -> text, comments removed; and the lines that are not read.

    A line is read where it stands below a top heading (`# Metadata`) and a second one
    (`## model_name`), which names what it says.

    >>> read_card("# Metadata\n## model_type\napi <!-- or local -->")
    ({'metadata': {'model_type': 'api'}}, [])
    >>> read_card("# Metadata\nmodel_type: api")
    ({'metadata': {}}, ['line 2: model_type: api'])
    """
    card: dict[str, dict[str, str]] = {}
    unread = []
    top, second = "", ""
    # The line breaks of comments stay, so that the lines behind them keep their numbers.
    without_comments = _COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), text)
    for number, line in enumerate(without_comments.splitlines(), 1):
        if line.startswith("# "):
            top, second = line[2:].strip().lower(), ""
            card.setdefault(top, {})
        elif line.startswith("## ") and top:
            second = line[3:].strip().lower()
            card[top].setdefault(second, "")
        elif not line.strip():
            continue
        elif top and second and not line.startswith("#"):
            card[top][second] = f"{card[top][second]} {line.strip()}".strip()
        else:
            unread.append(f"line {number}: {line.strip()}")
    return card, unread


def card_of(folder: Path, model: str) -> Card:
    """The card of a model beside its results or in the folder above them, with energy and CO2.

    Args:
        folder: The folder of the results.
        model: The model of the run; a card of another one is not used.
    """
    path = next(
        (place / CARD for place in (folder, folder.parent) if (place / CARD).is_file()), None
    )
    sections: dict[str, dict[str, Any]] = {}
    notes = []
    if path is not None:
        read, unread = read_card(read_file(path).decode("utf-8-sig"))
        named = read.get("metadata", {}).get("model_name", "")
        # A card may call its model by the last part of the name.
        own, other = (last_part(name.strip()).casefold() for name in (model, named))
        if named and own != other:
            notes.append(f"{CARD} is of {named}, not of {model}: it is not used")
        else:
            sections = {name: dict(values) for name, values in read.items()}
            if unread:
                shown = [line[:60] for line in unread[:_SHOWN_LINES]]
                if len(unread) > _SHOWN_LINES:
                    shown.append(f"and {len(unread) - _SHOWN_LINES} more")
                notes.append(
                    f"{CARD}: {len(unread)} lines are not read ({'; '.join(shown)}); each entry "
                    "needs a heading of its own, as evalprep init --model_card writes them"
                )
            if environment := sections.get("environment"):
                environment |= _amounts(environment)
    if measured := _measured(folder / EMISSIONS):
        sections["evaluation"] = measured
    return Card(sections, tuple(notes))


def _amounts(environment: Mapping[str, str]) -> dict[str, Any]:
    """Energy and CO2 with their units; nothing of an amount that is not known."""
    stated = {name: value for name, value in environment.items() if value not in {"", "-"}}
    amounts = environment_amounts(environment=stated)
    known = [name for name in ("energy", "co2") if amounts[name] is not None]
    with_units = [*known, *(f"{name}_unit" for name in known)]
    return {name: amounts[name] for name in with_units}


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
