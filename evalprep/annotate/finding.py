"""The annotators of a pack, what they lack on this machine, and the rubrics that can be named."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Mapping
from pathlib import Path

from evalprep.annotate.promptfile import PromptFile, read_prompt_file
from evalprep.errors import BadInput, Problem, near
from evalprep.packs import Annotator, Pack, Rubric, read_rubric
from evalprep.results import TaskRun

#: Rubrics that fit any generation.
GENERAL = Path(__file__).parent / "rubrics"


def pack_annotators(pack: Pack) -> dict[str, Annotator]:
    """The annotators that a pack's `annotators.py` lists, by name.

    Raises:
        BadInput: it cannot be imported, or an annotator lacks what the contract asks for.
    """
    module = pack.module("annotators")
    if module is None:
        return {}
    listed = getattr(module, "ANNOTATORS", None)
    where = str(pack.folder / "annotators.py")
    if not isinstance(listed, (list, tuple)):
        raise BadInput(
            Problem(
                what="lists no annotators",
                where=where,
                allowed="ANNOTATORS = (...), see docs/appendix/contracts.md",
            )
        )
    annotators: dict[str, Annotator] = {}
    for annotator in listed:
        if not isinstance(annotator, Annotator):
            raise BadInput(
                Problem(
                    what=f"{annotator!r} does not follow the contract of an annotator",
                    where=where,
                    allowed="name, version, values, paid, needs, tasks, sampling, schema, items(), "
                    "read(); see docs/appendix/contracts.md",
                )
            )
        annotators[annotator.name] = annotator
    return annotators


def annotators_for(annotators: Mapping[str, Annotator], task: TaskRun) -> list[Annotator]:
    """The annotators of a task: its metadata or its plan name them, or they name the task."""
    named = task.metadata.get("annotators")
    names = set(named) if isinstance(named, list) else set()
    if task.planned is not None:
        names |= set(task.planned.annotators)
    return [
        annotator
        for annotator in annotators.values()
        if annotator.name in names or task.name in annotator.tasks
    ]


def lacks(annotator: Annotator) -> list[str]:
    """Packages among an annotator's `needs` that are not installed, and what its `lacks()` returns.

    An annotator that needs more than packages has such a method.

    An entry of `needs` that is no name of a package is for people; an annotator that needs more
    than packages tells by `lacks() -> Iterable[str]`.
    """
    names = [
        need for need in annotator.needs if all(part.isidentifier() for part in need.split("."))
    ]
    missing = [name for name in names if not _is_installed(name)]
    own = getattr(annotator, "lacks", None)
    if callable(own):
        try:
            missing += [str(requirement) for requirement in own()]
        except Exception as error:  # noqa: BLE001 - a pack's code must not end a check
            missing.append(f"its check of this machine failed: {type(error).__name__}: {error}")
    return missing


def _is_installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):  # a part of it is no package
        return False


def find_rubric(name: str, packs: Iterable[Pack]) -> Rubric | PromptFile:
    """A rubric by name, of a pack (`pack/name` too) or a general one, or from a file.

    The file is YAML, or Python of the user's.

    Raises:
        BadInput: there is none, or its file has mistakes.
    """
    path = Path(name)
    if path.suffix in {".yaml", ".yml"} and path.is_file():
        return read_rubric(path)
    if path.suffix == ".py":
        return read_prompt_file(path, packs)
    known: dict[str, Path] = {file.stem: file for file in sorted(GENERAL.glob("*.yaml"))}
    for pack in packs:
        for file in sorted((pack.folder / "rubrics").glob("*.yaml")):
            known.setdefault(file.stem, file)
            known[f"{pack.name}/{file.stem}"] = file
    if name in known:
        rubric = read_rubric(known[name])
        if not all(rubric.fields.values()):
            raise BadInput(
                Problem(
                    what=f"the rubric {name} is filled by its pack, for its own tasks",
                    where="--rubric",
                    fix="leave --rubric out: the pack uses this rubric by itself",
                )
            )
        return rubric
    raise BadInput(
        Problem(
            what=f"there is no rubric {name!r}",
            where="--rubric",
            allowed=f"a file, or one of {', '.join(sorted(known))}",
            fix=near(name, known) or "name a .yaml file, or a .py file with create_prompt",
        )
    )
