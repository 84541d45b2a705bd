"""Names of files and folders in a store of Every Eval Ever, and the record that a file belongs to.

A record lies at `data/<collection>/<developer>/<model>/<UUID4>.json`, its samples beside it at
`<UUID4>_samples.jsonl`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import product
from pathlib import PurePosixPath

ROOT = "data"
SAMPLES_SUFFIX = "_samples.jsonl"
_PARTS = 5
_UUID4 = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
_FILE = re.compile(rf"{_UUID4}(?:\.json|_samples\.jsonl)")
_UNPORTABLE = re.compile(r'[<>:"\\|?*\x00-\x1f]')
_RESERVED = frozenset(
    {"CON", "PRN", "AUX", "NUL"}
    | {f"{device}{number}" for device, number in product(("COM", "LPT"), range(1, 10))}
)


def is_portable(component: str) -> bool:
    """Returns whether every system can have a folder of this name."""
    return (
        not _UNPORTABLE.search(component)
        and not component.endswith((".", " "))
        and component.split(".", 1)[0].upper() not in _RESERVED
    )


def portable(text: str) -> str:
    """Returns a text as the name of a folder that every system can have.

    >>> portable("arc:challenge|25"), portable("data"), portable("CON.x")
    ('arc_challenge_25', 'data_', '_CON.x')
    """
    name = _UNPORTABLE.sub("_", text.replace("/", "_")).rstrip(". ") or "_"
    if name == ROOT:
        return f"{name}_"
    return name if is_portable(name) else f"_{name}"


def path_flaw(path: str) -> str:
    """Returns what is wrong with the place of a file in the store; empty where nothing is."""
    parts = path.split("/")
    if len(parts) != _PARTS:
        return f"expected data/collection/developer/model/file, got {len(parts)} parts"
    root, *folders, name = parts
    unportable = [folder for folder in folders if not is_portable(folder)]
    flaws = {
        "the path is not a clean relative one": "\\" in path or {"", ".", ".."} & {*parts},
        "the path does not begin with data/": root != ROOT,
        "no folder below data may be named data": ROOT in folders,
        f"the folder name {unportable[:1]} is not portable": unportable,
        "the file is not named <UUID4>.json or <UUID4>_samples.jsonl": not _FILE.fullmatch(name),
    }
    return next((flaw for flaw, is_so in flaws.items() if is_so), "")


def samples_beside(record: str) -> str:
    """Returns the place of the samples of a record."""
    path = PurePosixPath(record)
    return (path.parent / f"{path.stem}{SAMPLES_SUFFIX}").as_posix()


def record_beside(samples: str) -> str:
    """Returns the place of the record that samples belong to."""
    return f"{samples.removesuffix(SAMPLES_SUFFIX)}.json"


@dataclass(frozen=True)
class Identity:
    """A model as the store names it.

    Attributes:
        model_id: `org/name`, or a flat name.
        developer: Who made it; read for the path of a flat name alone.
    """

    model_id: str
    developer: str | None = None

    @property
    def folders(self) -> tuple[str, str] | None:
        """The folders of developer and model; None where the identity names none."""
        parts = self.model_id.strip().split("/")
        first = parts[0] if len(parts) > 1 else self.developer
        rest = parts[1:] or parts
        names = [_component(part) for part in (first, *rest)]
        if None in names:
            return None
        known = [name for name in names if name is not None]
        return known[0], "_".join(known[1:])


def _component(part: str | None) -> str | None:
    """A part of an identity as a folder; None where it cannot be one."""
    text = (part or "").strip()
    name = text.replace(":", "_")
    usable = name not in {"", ".", "..", ROOT} and name.lower() != "unknown"
    return name if usable and is_portable(name) else None
