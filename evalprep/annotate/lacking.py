"""What an annotator needs and this machine lacks."""

from __future__ import annotations

import importlib.util

from evalprep.packs.annotator import Annotator


def lacks(annotator: Annotator) -> list[str]:
    """Packages among its `needs` that are not installed, and what its own `lacks()` says, if it has one.

    An entry of `needs` that is no name of a package is for people; an annotator that needs more than packages tells by
    `lacks() -> Iterable[str]`.
    """
    names = [one for one in annotator.needs if all(part.isidentifier() for part in one.split("."))]
    found = [one for one in names if not _is_installed(one)]
    own = getattr(annotator, "lacks", None)
    if callable(own):
        try:
            found += [str(one) for one in own()]
        except Exception as error:  # noqa: BLE001 - a pack's code must not end a check
            found.append(f"what its own look at this machine fails on: {type(error).__name__}: {error}")
    return found


def _is_installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):  # a part of it is no package
        return False
