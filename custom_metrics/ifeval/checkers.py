"""The checkers: lm-eval's, and ours in their place.

Ours stand where those draw lots, read a keyword as an expression or take quadratic time.

Ours get the checker of lm-eval, set up with its arguments, and the reply.
"""

from __future__ import annotations

import contextlib
import functools
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

from custom_metrics.ifeval import language
from custom_metrics.ifeval.arguments import clean_arguments, official_refusal, refusal
from custom_metrics.ifeval.sentences import count_sentences, punkt_available

Rule = Literal["ours", "official"]
Follows = Callable[[str], bool]

_IMPORT_LOCK = threading.Lock()
_EXPRESSION = re.compile(r"[.^$*+?{}\[\]\\|()]")
_COSTLY = re.compile(r"[*+{]|\?(?:[^?]*\?){4}")
"""What can make an expression take exponential time; the official reading of such a keyword is
not run."""


@contextlib.contextmanager
def _no_download() -> Iterator[None]:
    """Keeps lm-eval's module from calling `nltk.download` while it is imported."""
    import nltk

    download = nltk.download
    nltk.download = lambda *_args, **_kwargs: False
    try:
        yield
    finally:
        nltk.download = download


@functools.cache
def registry() -> Mapping[str, Any]:
    """Returns lm-eval's checkers by instruction."""
    with _IMPORT_LOCK, _no_download():
        from lm_eval.tasks.ifeval import instructions_registry

        # lm-eval has no stubs.
        return instructions_registry.INSTRUCTION_DICT  # type: ignore[no-any-return]


def _compare(count: int, relation: str, threshold: int) -> bool:
    # The checkers know two relations: "less than" and, for everything else, "at least".
    if relation == "less than":
        return count < threshold
    return count >= threshold


def _sentences_without_data(checker: Any, text: str) -> bool:
    arguments = checker.get_instruction_args()
    count = count_sentences(text)
    return _compare(count, arguments["relation"], arguments["num_sentences"])


def _capitals_without_data(checker: Any, text: str) -> bool:
    import nltk

    # preserve_line skips the sentence split, which only moves full stops and so changes no capital
    # word.
    words = nltk.word_tokenize(text, preserve_line=True)
    count = sum(word.isupper() for word in words)
    arguments = checker.get_instruction_args()
    return _compare(count, arguments["capital_relation"], arguments["capital_frequency"])


def _placeholders(checker: Any, text: str) -> bool:
    r"""Counts what `re.findall(r"\[.*?\]")` finds, in linear time."""
    count = 0
    for line in text.split("\n"):
        start = line.find("[")
        while start != -1:
            end = line.find("]", start + 1)
            if end == -1:
                break
            count += 1
            start = line.find("[", end + 1)
    least = checker.get_instruction_args()["num_placeholders"]
    return bool(count >= least)


def _title(_checker: Any, text: str) -> bool:
    r"""Finds what `re.findall(r"<<[^\n]+>>")` finds, in linear time.

    In each line it is the text from the first << to the last >>.
    """
    for line in text.split("\n"):
        start = line.find("<<")
        end = line.rfind(">>")
        if start == -1 or end < start + 3:
            continue
        title = line[start : end + 2]
        if title.lstrip("<").rstrip(">").strip():
            return True
    return False


def _response_language(checker: Any, text: str) -> bool:
    return _may_be_in(checker.get_instruction_args()["language"], text)


def _may_be_in(expected: str, text: str) -> bool:
    # A text whose language cannot be told follows, as in lm-eval.
    return language.detect(text) in (None, expected)


def _english_capital(_checker: Any, text: str) -> bool:
    return text.isupper() and _may_be_in("en", text)


def _english_lowercase(_checker: Any, text: str) -> bool:
    return text.islower() and _may_be_in("en", text)


def _forbidden_texts(words: list[str], text: str) -> bool:
    for word in words:
        whole_word = rf"(?<!\w){re.escape(word)}(?!\w)"
        if re.search(whole_word, text, re.IGNORECASE):
            return False
    return True


_SEEDED: dict[str, Callable[[Any, str], bool]] = {
    "language:response_language": _response_language,
    "change_case:english_capital": _english_capital,
    "change_case:english_lowercase": _english_lowercase,
}
_LINEAR: dict[str, Callable[[Any, str], bool]] = {
    "detectable_content:number_placeholders": _placeholders,
    "detectable_format:title": _title,
}
WITHOUT_PUNKT: dict[str, Callable[[Any, str], bool]] = {
    "length_constraints:number_sentences": _sentences_without_data,
    "change_case:capital_word_frequency": _capitals_without_data,
}
"""Checkers that need NLTK's sentence data, and what stands in for them without it."""
_TEXTS = ("keyword", "section_spliter", "postscript_marker")
"""Arguments of one text that lm-eval's checkers run as a regular expression."""
_EXACT_MARKERS = ("P.S.", "P.P.S")
"""Postscript markers that lm-eval's checker knows by name."""


def _plain(name: str, value: Any) -> Any:
    """Escape a text that lm-eval's checker would run as a regular expression."""
    if name == "keywords":
        return [re.escape(str(word)) if _EXPRESSION.search(str(word)) else word for word in value]
    if name not in _TEXTS:
        return value
    text = str(value)
    if name == "postscript_marker" and text.strip() in _EXACT_MARKERS:
        return value
    if _EXPRESSION.search(text):
        return re.escape(text.strip())
    return value


def _costly(arguments: Mapping[str, Any]) -> str | None:
    for name in ("keyword", "keywords", "forbidden_words", "section_spliter", "postscript_marker"):
        value = arguments.get(name) or ()
        texts = (value,) if isinstance(value, str) else value
        for text in texts:
            if _COSTLY.search(str(text)):
                return f"{name} {text!r} would be run as a regular expression"
    return None


def _own(instruction_id: str, cleaned: Mapping[str, Any]) -> Follows | None:
    """Returns our checker of an instruction whose official one is random or not literal."""
    if instruction_id == "keywords:letter_frequency":
        letter = cleaned["letter"].lower()
        relation = cleaned["let_relation"]
        times = cleaned["let_frequency"]
        return lambda text: _compare(text.lower().count(letter), relation, times)
    if instruction_id == "keywords:forbidden_words":
        words = [str(word) for word in cleaned["forbidden_words"]]
        if any(_EXPRESSION.search(word) for word in words):
            return functools.partial(_forbidden_texts, words)
    return None


def build(
    instruction_id: str, arguments: Mapping[str, Any] | None, prompt: str, rule: Rule = "ours"
) -> Follows:
    """Sets up one checker.

    Args:
        instruction_id: A name in lm-eval's registry.
        arguments: Its arguments; nulls are dropped.
        prompt: The prompt, which `combination:repeat_prompt` compares with.
        rule: `ours`, or `official` for lm-eval's reading of letters, keywords and zeros.

    Returns:
        A function of the reply, the same for every call.

    Raises:
        ValueError: unknown instruction, or arguments from which no verdict follows.
    """
    if instruction_id not in registry():
        raise ValueError("unknown instruction")
    checker = registry()[instruction_id](instruction_id)
    cleaned = clean_arguments(arguments)
    # lm-eval drops zeros and false together with the nulls.
    if rule == "official":
        cleaned = {name: value for name, value in cleaned.items() if value}
    missing = [name for name in checker.get_instruction_args_keys() if name not in cleaned]
    if missing:
        raise ValueError(f"missing arguments: {', '.join(missing)}")
    reason = refusal(cleaned) if rule == "ours" else official_refusal(cleaned) or _costly(cleaned)
    if reason:
        raise ValueError(reason)
    if rule == "ours":
        cleaned = {name: _plain(name, value) for name, value in cleaned.items()}
    # A checker takes its arguments where it builds the text of its instruction.
    described = cleaned
    is_lettered = instruction_id == "keywords:letter_frequency"
    if is_lettered and official_refusal(cleaned) is not None:
        # It would draw a letter; ours counts the real one.
        described = {**cleaned, "letter": "a"}
    checker.build_description(**described)
    built = checker.get_instruction_args()
    if built and "prompt" in built:
        checker.build_description(prompt=prompt)
    own_check = _own(instruction_id, cleaned) if rule == "ours" else None
    if own_check is not None:
        return own_check
    # One that is linear in time, seeded or without punkt, or the checker's own.
    ours = _LINEAR.get(instruction_id) or _SEEDED.get(instruction_id)
    if ours is None and not punkt_available():
        ours = WITHOUT_PUNKT.get(instruction_id)
    return functools.partial(ours, checker) if ours else checker.check_following
