# ruff: noqa: RUF001 - sentence marks and quotes of other scripts are what the pattern is about
r"""Instruction following (IFEval) with lm-eval's own checkers, made safe to run over a whole data set.

The checkers and their registry are those of `lm_eval.tasks.ifeval`; the verdicts are theirs. Around them stands what
a run needs: arguments that came through parquet (nulls for absent ones, whole numbers as floats) are mended, an
unknown instruction or bad arguments fail that one instruction and are reported instead of ending the run, nothing is
ever downloaded, language detection gives the same answer every time, and the two checkers whose expressions need
quadratic time on odd replies are counted in linear time.

Reference: Zhou et al., 2023, "Instruction-Following Evaluation for Large Language Models".
"""

from __future__ import annotations

import contextlib
import functools
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

MAX_CHARS = 60_000
"""A longer reply fails every instruction and is reported: NLTK needs seconds to split it, and no answer is so long."""

PUNKT_HINT = (
    "NLTK's punkt_tab is not installed, so sentences are counted by a simpler rule; put the folder "
    "tokenizers/punkt_tab into a folder that NLTK searches (NLTK_DATA, or nltk_data inside the environment)"
)

_IMPORT_LOCK = threading.Lock()
# Several of the checkers' expressions start with \s*, which takes quadratic time on long runs of blank lines.
_LONG_BLANK = re.compile(r"(\s{500})\s+")
# A full stop, question or exclamation mark with closing quotes, then a blank and something that can start a sentence.
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])[\"'”’)\]*_]{0,4}\s+(?=[\"'“‘(\[*_#-]{0,4}[A-Z0-9\u00c0-\u00de])")
_ABBREVIATION = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|vs|etc|e\.g|i\.e|cf|al|No|Fig|Inc|Ltd|Co|[A-Z])\.$")


@contextlib.contextmanager
def _no_download() -> Iterator[None]:
    """Keep lm-eval's module from calling `nltk.download` while it is imported."""
    import nltk

    download = nltk.download
    nltk.download = lambda *_args, **_kwargs: False
    try:
        yield
    finally:
        nltk.download = download


@functools.cache
def _registry() -> Mapping[str, Any]:
    with _IMPORT_LOCK, _no_download():
        from lm_eval.tasks.ifeval import instructions_registry

        return instructions_registry.INSTRUCTION_DICT  # type: ignore[no-any-return]  # lm-eval has no stubs


@functools.lru_cache(maxsize=8)
def _punkt_in(search_path: tuple[str, ...]) -> bool:
    import nltk

    try:
        nltk.data.find("tokenizers/punkt_tab/english/", paths=list(search_path))
    except (LookupError, OSError):
        return False
    return True


def punkt_available() -> bool:
    """Tell whether NLTK finds its sentence data, without any network call."""
    import nltk

    return _punkt_in(tuple(str(path) for path in nltk.data.path))


def count_sentences(text: str) -> int:
    """Count sentences without NLTK data: by end marks that a capital or a digit follows, minding abbreviations.

    >>> count_sentences("Dr. Lee paid 3.5 dollars. Was it much? No!")
    3
    """
    parts = _SENTENCE_END.split(text.strip())
    merged = sum(1 for part in parts[:-1] if _ABBREVIATION.search(part[-12:]))
    return max(len(parts) - merged, 1) if text.strip() else 0


def _compare(count: int, relation: str, threshold: int) -> bool:
    # The checkers know two relations: "less than" and, for everything else, "at least".
    return count < threshold if relation == "less than" else count >= threshold


def _sentences_without_data(checker: Any, text: str) -> bool:
    arguments = checker.get_instruction_args()
    return _compare(count_sentences(text), arguments["relation"], arguments["num_sentences"])


def _capitals_without_data(checker: Any, text: str) -> bool:
    import nltk

    # preserve_line skips the sentence split, which only moves full stops and so changes no capital word.
    words = sum(word.isupper() for word in nltk.word_tokenize(text, preserve_line=True))
    arguments = checker.get_instruction_args()
    return _compare(words, arguments["capital_relation"], arguments["capital_frequency"])


def _placeholders(checker: Any, text: str) -> bool:
    r"""Count what `re.findall(r"\[.*?\]")` finds, in linear time."""
    count = 0
    for line in text.split("\n"):
        start = line.find("[")
        while start != -1:
            end = line.find("]", start + 1)
            if end == -1:
                break
            count += 1
            start = line.find("[", end + 1)
    return bool(count >= checker.get_instruction_args()["num_placeholders"])


def _title(_checker: Any, text: str) -> bool:
    r"""Find what `re.findall(r"<<[^\n]+>>")` finds, in linear time: per line, from its first << to its last >>."""
    for line in text.split("\n"):
        start, end = line.find("<<"), line.rfind(">>")
        if start != -1 and end >= start + 3 and line[start : end + 2].lstrip("<").rstrip(">").strip():
            return True
    return False


_LINEAR: dict[str, Callable[[Any, str], bool]] = {
    "detectable_content:number_placeholders": _placeholders,
    "detectable_format:title": _title,
}
_WITHOUT_PUNKT: dict[str, Callable[[Any, str], bool]] = {
    "length_constraints:number_sentences": _sentences_without_data,
    "change_case:capital_word_frequency": _capitals_without_data,
}


def clean_arguments(arguments: Mapping[str, Any] | None) -> dict[str, Any]:
    """Mend checker arguments that came through a table: drop nulls (not zeros or false), floats back to integers.

    >>> clean_arguments({"nth_paragraph": 2.0, "num_words": None, "capital_frequency": 0})
    {'nth_paragraph': 2, 'capital_frequency': 0}
    """
    return {
        name: int(value) if isinstance(value, float) and value.is_integer() else value
        for name, value in (arguments or {}).items()
        if value is not None and value == value  # noqa: PLR0124 - NaN, which pandas writes for an absent number
    }


def _build(instruction_id: str, arguments: Mapping[str, Any] | None, prompt: str) -> Callable[[str], bool]:
    """Set up one checker.

    Raises:
        ValueError: unknown instruction, or missing arguments (lm-eval would draw random ones).
    """
    if instruction_id not in _registry():
        raise ValueError("unknown instruction")
    checker = _registry()[instruction_id](instruction_id)
    given = clean_arguments(arguments)
    missing = [name for name in checker.get_instruction_args_keys() if name not in given]
    if missing:
        raise ValueError(f"missing arguments: {', '.join(missing)}")
    checker.build_description(**given)
    built = checker.get_instruction_args()
    if built and "prompt" in built:
        checker.build_description(prompt=prompt)
    if instruction_id in _LINEAR:
        return functools.partial(_LINEAR[instruction_id], checker)
    if instruction_id in _WITHOUT_PUNKT and not punkt_available():
        return functools.partial(_WITHOUT_PUNKT[instruction_id], checker)
    return checker.check_following  # type: ignore[no-any-return]  # lm-eval has no stubs


def loose_variants(response: str) -> list[str]:
    """Return the eight readings of a reply that the loose score allows, the reply itself first.

    As it is, and without its first line, its last line, or both; each also without asterisks.
    """
    lines = response.split("\n")
    cut = ["\n".join(part).strip() for part in (lines[1:], lines[:-1], lines[1:-1])]
    return [text for variant in (response, *cut) for text in (variant, variant.replace("*", ""))]


def check_instructions(
    *,
    prompt: str,
    instruction_id_list: Sequence[str],
    kwargs: Sequence[Mapping[str, Any] | None],
    response: str,
) -> dict[str, Any]:
    """Check one reply against the instructions of its prompt, strictly and loosely.

    Args:
        prompt: The prompt, which `combination:repeat_prompt` compares with.
        instruction_id_list: Names in lm-eval's instruction registry.
        kwargs: Arguments of each instruction; nulls are dropped.
        response: The reply; an empty one follows no instruction.

    Returns:
        `strict` and `loose`: one bool per instruction; `errors`: a line for each instruction that could not be
        checked, which counts as not followed; `approximated`: names of instructions that were checked without NLTK's
        sentence data.

    >>> check_instructions(prompt="No commas, please.", instruction_id_list=["punctuation:no_comma"], kwargs=[{}],
    ...                    response="Gladly")["strict"]
    [True]
    """
    ids = list(instruction_id_list)
    arguments = list(kwargs) + [None] * (len(ids) - len(kwargs))
    strict, loose = [False] * len(ids), [False] * len(ids)
    errors: list[str] = []
    approximated = [] if punkt_available() else [name for name in ids if name in _WITHOUT_PUNKT]
    if len(response) > MAX_CHARS:
        errors.append(f"the reply has {len(response)} characters, more than {MAX_CHARS}")
    if not response.strip() or errors:
        return {"strict": strict, "loose": loose, "errors": errors, "approximated": approximated}

    import langdetect

    # The detector draws random starting points; a fixed seed makes its verdict a function of the text.
    langdetect.DetectorFactory.seed = 0
    variants = list(dict.fromkeys(_LONG_BLANK.sub(r"\1", text) for text in loose_variants(response) if text.strip()))
    for position, name in enumerate(ids):
        try:
            follows = _build(name, arguments[position], prompt)
            strict[position] = bool(follows(variants[0]))
            loose[position] = strict[position] or any(follows(text) for text in variants[1:])
        except Exception as error:  # noqa: BLE001 - any failure of a checker is this instruction's and is reported
            errors.append(f"{name}: {error or type(error).__name__}")
    return {"strict": strict, "loose": loose, "errors": errors, "approximated": approximated}


def headline(prompt_strict: float, inst_strict: float, prompt_loose: float, inst_loose: float) -> dict[str, float]:
    """Combine the four accuracies into the two numbers that circulate under the name IFEval, which do not compare.

    Args:
        prompt_strict: Share of prompts with every instruction followed, strictly.
        inst_strict: Share of instructions followed, strictly.
        prompt_loose: The same for prompts, loosely.
        inst_loose: The same for instructions, loosely.

    Returns:
        `recipe_mean` = (inst_strict + prompt_strict) / 2, the number of the Llama recipe and of leaderboards;
        `published_mean` = mean of all four, the number in Meta's model cards.

    >>> headline(0.5, 0.6, 0.7, 0.8)
    {'recipe_mean': 0.55, 'published_mean': 0.65}
    """
    return {
        "recipe_mean": (inst_strict + prompt_strict) / 2,
        "published_mean": (prompt_strict + inst_strict + prompt_loose + inst_loose) / 4,
    }


METRICS = {"ifeval.check": check_instructions, "ifeval.headline": headline}
