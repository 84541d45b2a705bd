"""The annotators of a pack, and the rubrics that can be named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from evalprep.annotate.promptfile import PromptFile, read_prompt_file
from evalprep.errors import BadInput, Problem, near
from evalprep.packs.annotator import Annotator
from evalprep.packs.pack import Pack
from evalprep.packs.rubric import Rubric, read_rubric
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
        if (pack.folder / "judge.py").is_file() and not hasattr(pack.module("judge"), "ANNOTATORS"):
            _refuse_old(pack)
        return {}
    listed = getattr(module, "ANNOTATORS", None)
    where = str(pack.folder / "annotators.py")
    if not isinstance(listed, (list, tuple)):
        raise BadInput(
            Problem(what="lists no annotators", where=where, allowed="ANNOTATORS = (...), see docs/architecture.md")
        )
    found: dict[str, Annotator] = {}
    for one in listed:
        if not isinstance(one, Annotator):
            raise BadInput(
                Problem(
                    what=f"{one!r} does not follow the contract of an annotator",
                    where=where,
                    allowed="name, version, values, paid, needs, tasks, sampling, schema, items(), read(); see "
                    "docs/architecture.md",
                )
            )
        found[one.name] = one
    return found


def _refuse_old(pack: Pack) -> None:
    """Say that a pack written for 0.1.0 has to name its judge anew; its module may serve another purpose."""
    module = pack.module("judge")
    if module is not None and hasattr(module, "TASKS") and hasattr(module, "questions"):
        raise BadInput(
            Problem(
                what="judges are annotators now",
                where=str(pack.folder / "judge.py"),
                allowed="annotators.py with ANNOTATORS, see docs/architecture.md",
                fix="rename questions() to items() in an object as described there",
            )
        )


def annotators_for(annotators: Mapping[str, Annotator], task: TaskRun) -> list[Annotator]:
    """Those that are asked about a task: its metadata or its plan name them, or they name it."""
    named = task.metadata.get("annotators")
    wanted = set(named) if isinstance(named, list) else set()
    wanted |= set(task.planned.annotators) if task.planned is not None else set()
    return [one for one in annotators.values() if one.name in wanted or task.name in one.tasks]


def find_rubric(name: str, packs: Iterable[Pack]) -> Rubric | PromptFile:
    """A rubric by name, of a pack (`pack/name` too) or a general one, or from a file (YAML, or Python of the user's).

    Raises:
        BadInput: there is none, or its file has mistakes.
    """
    path = Path(name)
    if path.suffix in {".yaml", ".yml"} and path.is_file():
        return read_rubric(path)
    if path.suffix == ".py":
        return read_prompt_file(path)
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
                    fix="leave --rubric out: it is what the pack asks",
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
