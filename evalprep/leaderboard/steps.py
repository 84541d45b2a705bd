"""Checkpoints of one training, and their steps, by the model's path or its revision."""

from __future__ import annotations

import re

import msgspec

from evalprep.places import without_home
from evalprep.results import Run

# checkpoint-500, step_100, step3000-tokens6B, global_step200, iter_0000100, epoch-3, ckpt 7
_NAMES = "checkpoint|ckpt|global[-_ ]?step|step|iteration|iter|epoch"
_STEP = re.compile(rf"(?i)(?<![a-z])(?:{_NAMES})(?:s?[-_= ])?(\d{{1,12}})(?!\d)")
# step3000-tokens6B says the step twice.
_TOKENS = re.compile(r"(?i)^[-_]tokens?[-_]?[\d.]+[kmbt]?(?![a-z0-9])")
_SEPARATORS = "/-_@ "
_RATE = re.compile(r"(?i)(?<![a-z])lr[-_=]?\d")
# Parts of a path that may name a step: `global_step200/hf`. What lies above is where somebody keeps
# models.
_PARTS = 2


class Place(msgspec.Struct, frozen=True):
    """The place of a run in a training.

    Attributes:
        trajectory: What the checkpoints of one training share: the path without the step.
        step: The step; None for a model that is no checkpoint.
    """

    trajectory: str
    step: int | None


def place_of(run: Run) -> Place:
    """Finds the step in the revision, else in the last two parts of the path."""
    return place_in(without_home(run.model), str(run.arguments.get("revision") or ""))


def place_in(model: str, revision: str = "") -> Place:
    """The same for texts.

    >>> place_in("/saves/npo/checkpoint-50"), place_in("org/pythia", "step3000")
    (Place(trajectory='/saves/npo', step=50), Place(trajectory='org/pythia', step=3000))
    >>> place_in("x/global_step200/hf"), place_in("org/olmo", "step3000-tokens6B")
    (Place(trajectory='x/hf', step=200), Place(trajectory='org/olmo', step=3000))
    >>> place_in("/saves/retain90").step is None, place_in("/checkpoint-3/models/full").step is None
    (True, True)
    """
    name = model.replace("\\", "/").rstrip("/")
    last_parts = "/".join(name.split("/")[-_PARTS:])
    in_revision = _last_step(revision, 0)
    if in_revision is not None:
        head, tail = _around(in_revision)
        return Place(_joined(f"{name}@{head}", tail), int(in_revision[1]))
    in_name = _last_step(name, len(name) - len(last_parts))
    if in_name is not None:
        return Place(_joined(*_around(in_name)), int(in_name[1]))
    return Place(f"{name}@{revision}" if revision else name, None)


def _last_step(text: str, start: int) -> re.Match[str] | None:
    """The last step that a text names behind a place; None where it names none."""
    steps = [match for match in _STEP.finditer(text, start) if not _is_setting(match)]
    return steps[-1] if steps else None


def _around(match: re.Match[str]) -> tuple[str, str]:
    """Returns what stands in a text before and behind a match."""
    return match.string[: match.start()], match.string[match.end() :]


def _joined(head: str, tail: str) -> str:
    """Returns what stands around a step, without the separator that the step leaves doubled."""
    tail = _TOKENS.sub("", tail).rstrip(_SEPARATORS)
    if tail.startswith(tuple(_SEPARATORS)):
        return head.rstrip(_SEPARATORS) + tail
    return (head + tail).rstrip(_SEPARATORS)


def _is_setting(match: re.Match[str]) -> bool:
    """Returns whether a match is a setting and no point in a training, as in `ft_epoch5_lr1e-05`.

    There `epoch5` is how long the model was trained: a learning rate stands beside it.
    """
    if not match[0].lower().startswith("epoch"):
        return False
    before = match.string[: match.start()]
    behind = match.string[match.start() :]
    folder_name = before.rpartition("/")[2] + behind.partition("/")[0]
    return _RATE.search(folder_name) is not None
