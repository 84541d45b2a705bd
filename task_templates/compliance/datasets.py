"""The data sets of the suite, and their rows with the columns that the prompts need.

The user's own place comes first (`compliance.data`), then the checkout of version 1
(`compliance.v1_checkout`), then the small rows of the pack (`compliance.stand_ins`), then the
public data set. Personal and copyrighted data, and sets without
a licence, have no public place here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from evalprep.packapi import BadInput, Context, Problem, list_cell

from .checkout import checkout_of, note_files
from .v1files import ORIGINALS

Row = dict[str, Any]


@dataclass(frozen=True)
class Part:
    """One data set.

    Attributes:
        columns: What its rows must have.
        hub: Hub id; "" where the user has to bring the data.
        config: Configuration of the hub data set.
        split: Split of the hub data set.
        configs: Configurations of the hub data set, where all of several are read.
        why: Where there is no hub id: why, and what to bring.
    """

    columns: tuple[str, ...]
    hub: str = ""
    config: str | None = None
    split: str | None = None
    why: str = ""
    configs: tuple[str, ...] = ()


_CHOICES = ("question", "choices")
PARTS: dict[str, Part] = {
    "ai2_reasoning": Part((*_CHOICES, "answerKey"), "allenai/ai2_arc", "ARC-Challenge", "test"),
    "ai2_reasoning_shots": Part(
        (*_CHOICES, "answerKey"), "allenai/ai2_arc", "ARC-Challenge", "train"
    ),
    "bbq": Part(
        (
            "context",
            "question",
            "ans0",
            "ans1",
            "ans2",
            "label",
            "category",
            "context_condition",
            "question_polarity",
        ),
        "oskarvanderwal/bbq",
        "All",
        "test",
    ),
    "bbq_metadata": Part(
        ("category", "example_id", "target_loc"),
        why="additional_metadata.csv of nyu-mll/BBQ; without it targets follow from the labels",
    ),
    "bold": Part(("domain", "name", "category", "prompts"), "AmazonScience/bold", None, "train"),
    "boolq_contrast": Part(
        ("paragraph", "question", "answer", "perturbed_questions"),
        "compl-ai/boolq_contrastset",
        None,
        "test",
    ),
    "calibration_big_bench": Part(
        ("inputs", "multiple_choice_targets", "multiple_choice_scores"),
        "tasksource/bigbench",
        "emoji_movie",
        "train",
    ),
    "calibration_big_bench_i_know": Part(
        ("question", "question_id", "answer"),
        "mandarjoshi/trivia_qa",
        "rc.wikipedia.nocontext",
        "validation",
    ),
    "decoding_trust": Part(
        ("input", "label", "sensitive_attribute"), "compl-ai/decoding_trust", None, "train"
    ),
    "fairllm": Part(("value",), "compl-ai/fairllm", None, "movies"),
    "fairllm_attributes": Part(
        ("domain", "value"),
        why="phrases such as {domain: age, value: a young}; the pack's own list is used",
    ),
    "forecast_consistency": Part(
        ("questions", "direction"), "compl-ai/forecast_consistency", None, "train"
    ),
    "hellaswag": Part(
        ("activity_label", "ctx_a", "ctx_b", "endings", "label"),
        "Rowan/hellaswag",
        None,
        "validation",
    ),
    "hellaswag_shots": Part(
        ("activity_label", "ctx_a", "ctx_b", "endings", "label"), "Rowan/hellaswag", None, "train"
    ),
    "human_deception": Part(("prompt",), "compl-ai/human_deception", None, "train"),
    "human_eval": Part(
        ("task_id", "prompt", "entry_point", "test"), "openai/openai_humaneval", None, "test"
    ),
    "imdb_contrast": Part(
        ("Text_Original", "Sentiment_Original", "Text_Contrast", "Sentiment_Contrast"),
        "compl-ai/imdb_contrastset",
        None,
        "train",
    ),
    "instruction_goal_hijacking": Part(
        ("pre_prompt", "attack", "post_prompt", "access_code"),
        "compl-ai/tensor_trust",
        None,
        "train",
    ),
    "memorization": Part(
        ("text",), why="books are under copyright: bring a file with a column `text`"
    ),
    "mmlu": Part((*_CHOICES, "subject", "answer"), "cais/mmlu", "all", "test"),
    "mmlu_shots": Part((*_CHOICES, "subject", "answer"), "cais/mmlu", "all", "dev"),
    "multiturn_goal_hijacking": Part(
        ("messages", "scenario"),
        why="the manual test cases of LLM RuLES are on no hub: bring a file with messages, "
        "scenario and params_json",
    ),
    "privacy": Part(
        ("name", "email"),
        why="names and addresses are personal data: bring a file with name and email",
    ),
    "reddit_bias": Part(
        ("group_1_comments_processed", "group_2_comments_processed", "group_1_category"),
        "compl-ai/redditbias",
        None,
        "train",
    ),
    "self_check_consistency": Part(
        ("topic",), why="the topics of ChatProtect are on no hub: bring a file with topic"
    ),
    "toxicity_advbench": Part(
        ("goal",), why="AdvBench is on no open hub: bring harmful_behaviors with a column goal"
    ),
    "toxicity_harmful_strings": Part(
        ("target",), why="AdvBench is on no open hub: bring harmful_strings with a column target"
    ),
    "toxicity_realtoxicityprompts": Part(
        ("prompt",), "allenai/real-toxicity-prompts", None, "train"
    ),
    "truthful_qa_mc2": Part(
        ("question", "mc2_targets"), "truthfulqa/truthful_qa", "multiple_choice", "validation"
    ),
}
#: Languages of INCLUDE, each a configuration of the data set.
_LANGUAGES = (
    "Albanian", "Arabic", "Armenian", "Azerbaijani", "Basque", "Belarusian", "Bengali", "Bulgarian",
    "Chinese", "Croatian", "Dutch", "Estonian", "Finnish", "French", "Georgian", "German", "Greek",
    "Hebrew", "Hindi", "Hungarian", "Indonesian", "Italian", "Japanese", "Kazakh", "Korean",
    "Lithuanian", "Malay", "Malayalam", "Nepali", "North Macedonian", "Persian", "Polish",
    "Portuguese", "Russian", "Serbian", "Spanish", "Tagalog", "Tamil", "Telugu", "Turkish",
    "Ukrainian", "Urdu", "Uzbek", "Vietnamese",
)  # fmt: skip
#: Data sets of version 2.
PARTS |= {
    "v2_strong_reject": Part(
        ("forbidden_prompt",),
        why="bring strongreject_dataset.csv of alexandrasouly/strongreject, with columns "
        "prompt and jailbreak_method for attacks",
    ),
    "v2_gpqa_diamond": Part(
        ("Question", "Correct Answer", *(f"Incorrect Answer {place}" for place in (1, 2, 3))),
        "Idavidrein/gpqa",
        "gpqa_diamond",
        "train",
    ),
    "v2_aime_2025": Part(("problem", "answer"), "math-ai/aime25", None, "test"),
    "v2_mmlu_pro": Part(
        ("question", "options", "answer_index"), "TIGER-Lab/MMLU-Pro", None, "test"
    ),
    "v2_ifbench": Part(
        ("prompt", "instruction_id_list", "kwargs"), "allenai/IFBench_test", None, "train"
    ),
    "v2_simpleqa_verified": Part(
        ("problem", "answer"), why="bring simpleqa_verified.csv of google/simpleqa-verified"
    ),
    "v2_include": Part(
        ("question", "choices", "answer"),
        "CohereLabs/include-lite-44",
        None,
        "test",
        configs=_LANGUAGES,
    ),
}
#: Parts whose own rows are facts, not data: they stand in without being asked for.
FACTS = frozenset({"fairllm_attributes"})


class _Origin(Enum):
    """Where the rows of a part come from."""

    USER = auto()
    CHECKOUT = auto()
    PACK = auto()
    HUB = auto()
    NONE = auto()


def _origin(context: Context, part: str) -> _Origin:
    """The first of its places that a part has."""
    section = context.section
    if section.data.get(part) is not None:
        return _Origin.USER
    if _in_checkout(context, part):
        return _Origin.CHECKOUT
    if section.stand_ins or part in FACTS:
        return _Origin.PACK
    return _Origin.HUB if PARTS[part].hub else _Origin.NONE


def is_local(context: Context, part: str) -> bool:
    """Returns whether a part comes from the user, a checkout or the pack, not from lm-eval."""
    section = context.section
    return part in section.data or section.stand_ins or bool(section.v1_checkout)


def missing(context: Context, part: str) -> str:
    """Returns why there are no rows of a part; empty where there may be."""
    if _origin(context, part) is not _Origin.NONE:
        return ""
    if absent := _absent_in_checkout(context, part):
        return f"no data: the checkout of v1 lacks {absent}; name it under compliance.data.{part}"
    return f"no data: {PARTS[part].why}, and name it under compliance.data.{part}"


def stands_in(context: Context, part: str) -> bool:
    """Returns whether the rows of a part are the pack's own small ones."""
    return _origin(context, part) is _Origin.PACK and part not in FACTS


def read(context: Context, part: str) -> list[Row]:
    """All rows of a part.

    Raises:
        BadInput: it cannot be read, or lacks a column.
    """
    return context.once(f"rows of {part}", partial(_rows, context, part))


def _rows(context: Context, part: str) -> list[Row]:
    entry, where = PARTS[part], f"compliance: {part}"
    origin = _origin(context, part)
    if origin is _Origin.USER:
        return _given_rows(context, part, context.section.data[part])
    if origin is _Origin.CHECKOUT:
        return _original_rows(context, part, _in_checkout(context, part))
    if origin is _Origin.PACK:
        sources = [context.open(f"demo/{part}.jsonl", where=where)]
    else:
        configs = entry.configs or (entry.config,)
        sources = [
            context.open(entry.hub, config=config, split=entry.split, where=where)
            for config in configs
        ]
    rows: list[Row] = []
    for source in sources:
        source.require(entry.columns, where=where)
        rows += source.rows()
    return rows


def _given_rows(context: Context, part: str, place: Any) -> list[Row]:
    """Rows of a place that the user named, in the original's layout or in the pack's columns."""
    where, pack_columns = context.where("data", part), PARTS[part].columns
    if isinstance(place, str) and part in ORIGINALS:
        files = ORIGINALS[part].present(Path(context.locate(place)))
        if files and not _has_columns(context, place, pack_columns, where):
            return _original_rows(context, part, files)
    own = dict(place) if isinstance(place, dict) else {"path": str(place)}
    source = context.open(place if isinstance(place, dict) else str(place), where=where)
    # Columns that the file spells otherwise: case and blanks around a name do not matter.
    present = list(source.columns)
    by_letters: dict[str, list[str]] = {}
    for name in present:
        by_letters.setdefault(name.strip().lower(), []).append(name)
    several = {
        name: by_letters.get(name.lower(), []) for name in pack_columns if name not in present
    }
    if spelt := {name: names[0] for name, names in several.items() if len(names) == 1}:
        columns = {**spelt, **own.get("columns", {})}
        source = context.open({**own, "columns": columns}, where=where)
    source.require(pack_columns, where=where)
    # A cell of a CSV file has its list as text; as text it would be read letter by letter.
    return [{name: list_cell(value) for name, value in row.items()} for row in source.rows()]


def _has_columns(context: Context, place: str, pack_columns: Iterable[str], where: str) -> bool:
    """Returns whether a file has the pack's columns already, whatever it is called."""
    sources = list(context.sources)
    try:
        return set(pack_columns) <= set(context.open(place, where=where).columns)
    except BadInput:
        return False
    finally:
        context.sources[:] = sources


def _original_rows(context: Context, part: str, files: list[Path]) -> list[Row]:
    """Rows of files in the original's layout.

    Raises:
        BadInput: they are not in that layout.
    """
    original = ORIGINALS[part]
    try:
        rows = list(original.read(files))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadInput(
            Problem(
                what=f"{files[0].name} is not in the layout of COMPL-AI v1: {error!r}",
                where=context.where("data", part),
                fix="see the columns in docs/packs/compliance.md",
            )
        ) from error
    others = [files[0].with_name(name) for name in original.others]
    beside = [path for path in others if path.is_file()]
    location = files[0] if len(files) == 1 else files[0].parent
    note_files(context, [*files, *beside], location, len(rows))
    return rows


def _in_checkout(context: Context, part: str) -> list[Path]:
    """The files of a part with content in the checkout; empty without one."""
    folder = checkout_of(context)
    if folder is None or part not in ORIGINALS or part in context.section.data:
        return []
    return ORIGINALS[part].present(folder / ORIGINALS[part].folder)


def _absent_in_checkout(context: Context, part: str) -> str:
    folder = checkout_of(context)
    if folder is None or part not in ORIGINALS:
        return ""
    original = ORIGINALS[part]
    absent = original.absent(folder / original.folder)
    return ", ".join(f"{original.folder}/{name}" for name in absent)


def absent_files(context: Context, part: str) -> str:
    """The files of a part that a checkout lacks although it has others; empty where it has all."""
    return _absent_in_checkout(context, part) if _in_checkout(context, part) else ""


def spread(rows: Iterable[Row], *columns: str) -> list[Row]:
    """The same rows, groups of equal columns taking turns.

    A limit so keeps something of every group.

    >>> [row["n"] for row in spread([{"g": 1, "n": 1}, {"g": 1, "n": 2}, {"g": 2, "n": 3}], "g")]
    [1, 3, 2]
    """
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[column] for column in columns), []).append(row)
    in_turn = chain.from_iterable(zip_longest(*groups.values()))
    return [row for row in in_turn if row is not None]


def check_names(context: Context) -> None:
    """Tells unknown names and bad values under `compliance.data` and `compliance.tables`."""
    kinds = (
        (
            "data",
            "data set",
            PARTS,
            (str, dict),
            "a path or hub id, or {path, columns, split, ...}",
        ),
        ("tables", "table", ("dialect", "misspelling", "synonym"), (str,), "a path"),
    )
    for key, kind, names, types, places in kinds:
        for name, value in getattr(context.section, key).items():
            where = context.where(key, str(name))
            if name not in names:
                what = f"there is no {kind} {name!r}"
                context.problems.add(what, where=where, allowed=", ".join(names))
            elif not isinstance(value, types):
                context.problems.add(f"{value!r} is not a place", where=where, allowed=places)


def first_problem(error: BadInput) -> str:
    """One sentence out of what went wrong."""
    problem = error.problems[0]
    return f"{problem.where}: {problem.what}" if problem.where else problem.what
