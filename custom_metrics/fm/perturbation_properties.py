"""Properties of every perturbation, whatever the seed, as functions that check them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from custom_metrics.fm.perturbation import NEIGHBOURS, bound, perturb

Property = Callable[[str, str], bool]


def _same_length(text: str, changed: str) -> bool:
    return len(text) == len(changed)


def _differing(text: str, changed: str) -> list[tuple[str, str]]:
    """The characters at which two texts differ, place by place."""
    pairs = zip(text, changed, strict=False)
    return [(old, new) for old, new in pairs if old != new]


def _from_the_row(text: str, changed: str) -> bool:
    pairs = _differing(text, changed)
    return all(new.lower() in NEIGHBOURS.get(old.lower(), "") for old, new in pairs)


def _others_stay(text: str, changed: str) -> bool:
    pairs = _differing(text, changed)
    return all(old.lower() in NEIGHBOURS for old, _ in pairs)


def _case_stays(text: str, changed: str) -> bool:
    for old, new in zip(text, changed, strict=False):
        has_upper_case = new.isupper() or new.upper() == new
        if old.isupper() and not has_upper_case:
            return False
    return True


def _few_positions(text: str, changed: str, fraction: float = 0.1) -> bool:
    raised = [letter.upper() for letter in text]
    if len(changed) > len("".join(raised)):
        return True
    differing = _differing(text, changed)
    return len(differing) <= int(len(text) * fraction)


def _raised(text: str, changed: str) -> bool:
    return changed.upper() == text.upper()


def _lower_is_equal(text: str, changed: str) -> bool:
    return not text.isascii() or text.lower() == changed.lower()


def _without_gaps(text: str) -> str:
    return "".join(letter for letter in text if not letter.isspace())


def _same_without_gaps(text: str, changed: str) -> bool:
    return _without_gaps(text) == _without_gaps(changed)


def _behind_others(text: str, changed: str) -> bool:
    """White space beyond the text's own is blanks, each behind another character."""
    gaps = Counter(filter(str.isspace, text))
    changed_gaps = Counter(filter(str.isspace, changed))
    new_gaps = set(changed_gaps - gaps)
    starts_with_one = changed[:1].isspace() and not text[:1].isspace()
    return new_gaps <= {" "} and not starts_with_one


PROPERTIES: dict[str, dict[str, Property]] = {
    "butter_finger": {
        "same length as input": _same_length,
        "a changed character comes from the adjacency row of its lower-case letter": _from_the_row,
        "characters outside a-z and space never change": _others_stay,
        "upper-case positions stay upper-case where the letter has an upper case": _case_stays,
    },
    "random_upper_case": {
        "at most int(len*fraction) positions differ": _few_positions,
        "every differing position is the upper case of the original": _raised,
        "lower() of both texts is equal for ASCII": _lower_is_equal,
    },
    "whitespace_add_remove": {
        "removing all whitespace from both texts gives equal strings": _same_without_gaps,
        "added characters are spaces directly after a non-whitespace character": _behind_others,
    },
}


def perturb_property(
    *, kind: str, text: str, seeds: Sequence[int], num_perturbations: int = 5
) -> dict[str, list[str]]:
    """Names the properties of a perturbation that hold for all its changed texts.

    Args:
        kind: `butter_finger`, `random_upper_case` or `whitespace_add_remove`, at its own
            probabilities.
        text: Any text.
        seeds: Seeds to try.
        num_perturbations: Changed texts per seed.

    Returns:
        `properties`: all of them, unless the perturbation is wrong.

    Raises:
        ValueError: the kind is unknown.

    >>> held = perturb_property(kind="random_upper_case", text="Is it so?", seeds=[0, 1])
    >>> len(held["properties"])
    3
    """
    changed: list[str] = []
    for seed in seeds:
        changed += perturb(kind=kind, text=text, seed=seed, num_perturbations=num_perturbations)
    names = []
    for name, holds in PROPERTIES[kind].items():
        if all(holds(text, new) for new in changed):
            names.append(name)
    return {"properties": names}


METRICS: dict[str, Callable[..., Any]] = {
    f"fm.perturb_property.{kind}": bound(perturb_property, kind=kind) for kind in PROPERTIES
}
