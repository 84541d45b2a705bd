"""The evals data set that a run uses: its place, its family, and the tasks that it offers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import yaml

from evalprep.packapi import (
    BadInput,
    Context,
    Problem,
    SourceSpec,
    config_names,
    is_folder,
    near,
    source_spec,
)

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Dataset:
    """The evals data set of this run: where it is and what it offers."""

    location: str
    name: str
    family: dict[str, Any]
    configs: tuple[str, ...]
    source: SourceSpec

    def config_of(self, task: str) -> str:
        """Config name of a task."""
        return f"{self.name}__{self.family['tasks'][task]}__details"

    def offered(self) -> list[str]:
        """Tasks whose config exists."""
        return [task for task in self.family["tasks"] if self.config_of(task) in self.configs]


@cache
def families() -> dict[str, Any]:
    """The table of families."""
    with (HERE / "families.yaml").open(encoding="utf-8") as handle:
        # Either is a safe loader.
        return yaml.load(handle, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506


def known_names() -> list[str]:
    """Published data sets, for messages."""
    names = []
    for family in families()["families"]:
        if family.get("local_only") or family["name"] == "demo":
            continue
        pattern = family["pattern"].replace("\\", "")
        sizes = re.search(r"\(([^)]*)\)", pattern)
        if sizes is None:
            names.append(f"meta-llama/{pattern}")
            continue
        several_sizes = [pattern.replace(sizes[0], size) for size in sizes[1].split("|")]
        names += [f"meta-llama/{name}" for name in several_sizes]
    return names


def dataset_of(context: Context) -> Dataset:
    """Finds the evals data set and its family.

    Raises:
        BadInput: the name is none of the published ones and no local folder, or the data cannot be
            reached.
    """
    return context.once("dataset", partial(_find_dataset, context))


def _find_dataset(context: Context) -> Dataset:
    where = context.where("evals_dataset")
    source = source_spec(context.section.evals_dataset, where)
    for key in ("config", "data_files", "data_dir"):
        if getattr(source, key):
            raise BadInput(
                Problem(
                    what=(
                        f"evals_dataset.{key} is given, and each task has a config and "
                        "files of its own"
                    ),
                    where=where,
                    allowed="path, split, revision, columns",
                    fix=f"leave {key} out",
                )
            )
    location = source.path.rstrip("/")
    name = location.rsplit("/", 1)[-1]
    path = context.locate(location)
    family = _family_of(name, location, is_local=is_folder(Path(path)))
    if family is None:
        what = (
            f"there is no folder {context.folder / location}, and {location!r} is not a known "
            "evals data set"
        )
        raise BadInput(
            Problem(
                what=what,
                where=where,
                fix=near(location, known_names()) or "give the path of a local copy",
                allowed=f"a local folder named ...-evals, or {', '.join(known_names())}",
            )
        )
    revision = source.revision or revision_of(context, "evals")
    configs = config_names(path, folder=context.folder, revision=revision) or _configs_from_files(
        path, name
    )
    # What is no text is told with the other keys.
    pinned = revision if isinstance(revision, str) else None
    return Dataset(path, name, family, tuple(configs), source.changed(path=path, revision=pinned))


def _family_of(name: str, location: str, *, is_local: bool) -> dict[str, Any] | None:
    """The family of a data set by its name.

    None for an unknown data set, and for a strange one of the hub.

    Some families are known as local folders alone.
    """
    if not is_local and not location.startswith("meta-llama/"):
        return None
    for family in families()["families"]:
        needs_folder = family.get("local_only") or family["name"] == "demo"
        if re.fullmatch(family["pattern"], name) and (is_local or not needs_folder):
            return family
    return None


def _configs_from_files(location: str, name: str) -> list[str]:
    """Config names of a copy that lost its card, from the names of its files."""
    files = (
        re.match(r"Details_(.+?)_\d{4}-\d\d-\d\d", path.name)
        for path in Path(location).rglob("Details_*")
    )
    return sorted({f"{name}__{match[1]}__details" for match in files if match})


def revision_of(context: Context, which: str) -> str | None:
    """Pinned revision of one of the data sets."""
    revision = context.section.revision
    if not isinstance(revision, str):
        return revision.get(which)
    return revision if which == "evals" else None
