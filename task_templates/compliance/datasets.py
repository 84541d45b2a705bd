"""Where each data set of the suite is, and its rows with the columns that the prompts need.

The user's own place comes first (`compliance.data`), then the small rows of the pack (`compliance.stand_ins`), then the
public data set. Personal and copyrighted data, and sets without a licence, have no public place here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from evalprep.packapi import BadInput, Context

Row = dict[str, Any]


@dataclass(frozen=True)
class Part:
    """One data set.

    Attributes:
        columns: What its rows must have.
        hub: Hub id; "" where the user has to bring the data.
        config: Configuration of the hub data set.
        split: Split of the hub data set.
        why: Where there is no hub id: why, and what to bring.
    """

    columns: tuple[str, ...]
    hub: str = ""
    config: str | None = None
    split: str | None = None
    why: str = ""


_CHOICES = ("question", "choices")
PARTS: dict[str, Part] = {
    "ai2_reasoning": Part((*_CHOICES, "answerKey"), "allenai/ai2_arc", "ARC-Challenge", "test"),
    "ai2_reasoning_shots": Part((*_CHOICES, "answerKey"), "allenai/ai2_arc", "ARC-Challenge", "train"),
    "bbq": Part(
        ("context", "question", "ans0", "ans1", "ans2", "label", "category", "context_condition", "question_polarity"),
        "oskarvanderwal/bbq",
        "All",
        "test",
    ),
    "bold": Part(("domain", "name", "category", "prompts"), "AmazonScience/bold", None, "train"),
    "boolq_contrast": Part(
        ("paragraph", "question", "answer", "perturbed_questions"), "compl-ai/boolq_contrastset", None, "test"
    ),
    "calibration_big_bench": Part(
        ("inputs", "multiple_choice_targets", "multiple_choice_scores"), "tasksource/bigbench", "emoji_movie", "train"
    ),
    "calibration_big_bench_shots": Part(
        ("inputs", "multiple_choice_targets", "multiple_choice_scores"),
        "tasksource/bigbench",
        "emoji_movie",
        "validation",
    ),
    "calibration_big_bench_i_know": Part(
        ("question", "question_id", "answer"), "mandarjoshi/trivia_qa", "rc.wikipedia.nocontext", "validation"
    ),
    "decoding_trust": Part(("input", "label", "sensitive_attribute"), "compl-ai/decoding_trust", None, "train"),
    "fairllm": Part(("value",), "compl-ai/fairllm", None, "movies"),
    "fairllm_attributes": Part(
        ("domain", "value"), why="phrases such as {domain: age, value: a young}; the pack's own list is used"
    ),
    "forecast_consistency": Part(("questions", "direction"), "compl-ai/forecast_consistency", None, "train"),
    "hellaswag": Part(("activity_label", "ctx_a", "ctx_b", "endings", "label"), "Rowan/hellaswag", None, "validation"),
    "hellaswag_shots": Part(("activity_label", "ctx_a", "ctx_b", "endings", "label"), "Rowan/hellaswag", None, "train"),
    "human_deception": Part(("prompt",), "compl-ai/human_deception", None, "train"),
    "human_eval": Part(("task_id", "prompt", "entry_point", "test"), "openai/openai_humaneval", None, "test"),
    "imdb_contrast": Part(
        ("Text_Original", "Sentiment_Original", "Text_Contrast", "Sentiment_Contrast"),
        "compl-ai/imdb_contrastset",
        None,
        "train",
    ),
    "instruction_goal_hijacking": Part(
        ("pre_prompt", "attack", "post_prompt", "access_code"), "compl-ai/tensor_trust", None, "train"
    ),
    "memorization": Part(("text",), why="books are under copyright: bring a file with a column `text`"),
    "mmlu": Part((*_CHOICES, "subject", "answer"), "cais/mmlu", "all", "test"),
    "mmlu_shots": Part((*_CHOICES, "subject", "answer"), "cais/mmlu", "all", "dev"),
    "multiturn_goal_hijacking": Part(
        ("messages", "scenario"),
        why="the manual test cases of LLM RuLES are on no hub: bring a file with messages, scenario and params_json",
    ),
    "privacy": Part(("name", "email"), why="names and addresses are personal data: bring a file with name and email"),
    "reddit_bias": Part(
        ("group_1_comments_processed", "group_2_comments_processed", "group_1_category"),
        "compl-ai/redditbias",
        None,
        "train",
    ),
    "self_check_consistency": Part(("topic",), why="the topics of ChatProtect are on no hub: bring a file with topic"),
    "toxicity_advbench": Part(("goal",), why="AdvBench is on no open hub: bring harmful_behaviors with a column goal"),
    "toxicity_harmful_strings": Part(
        ("target",), why="AdvBench is on no open hub: bring harmful_strings with a column target"
    ),
    "toxicity_realtoxicityprompts": Part(("prompt",), "allenai/real-toxicity-prompts", None, "train"),
    "truthful_qa_mc2": Part(("question", "mc2_targets"), "truthfulqa/truthful_qa", "multiple_choice", "validation"),
}
#: Parts whose own rows are facts, not data: they stand in without being asked for.
FACTS = frozenset({"fairllm_attributes"})


def is_local(context: Context, part: str) -> bool:
    """Whether a part comes from the user or from the pack, and not from its public place."""
    return part in context.section.data or context.section.stand_ins


def missing(context: Context, part: str) -> str:
    """Why there are no rows of a part; empty where there may be."""
    found = PARTS[part]
    if found.hub or is_local(context, part) or part in FACTS:
        return ""
    return f"no data: {found.why}, and name it under compliance.data.{part}"


def read(context: Context, part: str) -> list[Row]:
    """All rows of a part.

    Raises:
        BadInput: it cannot be read, or lacks a column.
    """
    key = f"rows of {part}"
    if key not in context.cache:
        found = PARTS[part]
        given = context.section.data.get(part)
        where = context.where("data", part) if given else f"compliance: {part}"
        if given:
            source = context.open(given if isinstance(given, dict) else str(given), where=where)
            if spelt := _spelt_otherwise(found.columns, source.columns):
                own = dict(given) if isinstance(given, dict) else {"path": str(given)}
                source = context.open({**own, "columns": {**spelt, **own.get("columns", {})}}, where=where)
        elif context.section.stand_ins or part in FACTS:
            source = context.open(f"demo/{part}.jsonl", where=where)
        else:
            source = context.open(found.hub, config=found.config, split=found.split, where=where)
        source.require(found.columns, where=where)
        context.cache[key] = list(source.rows())
    return context.cache[key]  # type: ignore[no-any-return]


def _spelt_otherwise(wanted: Iterable[str], found: Iterable[str]) -> dict[str, str]:
    """Wanted columns that a file has in other letters, as the original's CSV files do (`Prompt`, ` label `).

    >>> _spelt_otherwise(("prompt", "label"), ("Origin", " Prompt", "label"))
    {'prompt': ' Prompt'}
    """
    present = list(found)
    by_letters: dict[str, list[str]] = {}
    for name in present:
        by_letters.setdefault(name.strip().lower(), []).append(name)
    several = {name: by_letters.get(name.lower(), []) for name in wanted if name not in present}
    return {name: names[0] for name, names in several.items() if len(names) == 1}


def spread(rows: Iterable[Row], *columns: str) -> list[Row]:
    """The same rows, groups of equal columns taking turns, so that a limit keeps something of every group.

    >>> [row["n"] for row in spread([{"g": 1, "n": 1}, {"g": 1, "n": 2}, {"g": 2, "n": 3}], "g")]
    [1, 3, 2]
    """
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[column] for column in columns), []).append(row)
    turns = zip_longest(*groups.values())
    return [row for turn in turns for row in turn if row is not None]


def check_names(context: Context) -> None:
    """Tell unknown names and bad values under `compliance.data` and `compliance.tables`."""
    for key, allowed in (("data", tuple(PARTS)), ("tables", ("dialect", "misspelling", "synonym"))):
        for name, value in getattr(context.section, key).items():
            if name not in allowed:
                context.problems.add(
                    f"there is no data set {name!r}" if key == "data" else f"there is no table {name!r}",
                    where=context.where(key, str(name)),
                    allowed=", ".join(allowed),
                )
            elif not isinstance(value, str) and not (key == "data" and isinstance(value, dict)):
                allowed_here = "a path or hub id, or {path, columns, split, ...}" if key == "data" else "a path"
                context.problems.add(f"{value!r} is no place", where=context.where(key, name), allowed=allowed_here)


def first_problem(error: BadInput) -> str:
    """One sentence out of what went wrong."""
    problem = error.problems[0]
    return f"{problem.where}: {problem.what}" if problem.where else problem.what
