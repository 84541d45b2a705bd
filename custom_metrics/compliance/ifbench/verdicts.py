"""Verdicts on a reply, rule by rule, strictly and loosely."""

from __future__ import annotations

import importlib.util
import inspect
import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from custom_metrics.compliance.ifbench import arrangement, counting, fixed, wording
from custom_metrics.ifeval.verdicts import MAX_CHARS, loose_variants
from custom_metrics.nltk_data import can_open
from custom_metrics.text.replies import first_reply

Rule = Callable[..., bool]
_LONG_BLANK = re.compile(r"(\s{500})\s+")  # NLTK takes quadratic time on long runs of blanks

#: Name in the data -> rule.
RULES: dict[str, Rule] = {
    "count:conjunctions": counting.conjunctions,
    "count:keywords_multiple": counting.keywords_multiple,
    "count:numbers": counting.numbers,
    "count:person_names": counting.person_names,
    "count:pronouns": counting.pronouns,
    "count:punctuation": counting.punctuation,
    "count:unique_word_count": counting.unique_word_count,
    "count:word_count_range": counting.word_count_range,
    "count:words_japanese": counting.words_japanese,
    "custom:character_reverse": fixed.character_reverse,
    "custom:csv_city": fixed.csv_city,
    "custom:csv_quotes": fixed.csv_quotes,
    "custom:csv_special_character": fixed.csv_special_character,
    "custom:date_format_list": fixed.date_format_list,
    "custom:european_capitals_sort": fixed.european_capitals_sort,
    "custom:mcq_count_length": fixed.mcq_count_length,
    "custom:multiples": fixed.multiples,
    "custom:reverse_newline": fixed.reverse_newline,
    "custom:sentence_alphabet": fixed.sentence_alphabet,
    "custom:word_reverse": fixed.word_reverse,
    "format:emoji": arrangement.emoji_ends,
    "format:line_indent": arrangement.line_indent,
    "format:list": arrangement.separated_list,
    "format:newline": wording.line_of_words,
    "format:no_bullets_bullets": arrangement.some_bullets,
    "format:no_whitespace": arrangement.no_whitespace,
    "format:options": arrangement.options,
    "format:output_template": arrangement.output_template,
    "format:parentheses": arrangement.parentheses,
    "format:quote_unquote": arrangement.quote_unquote,
    "format:quotes": arrangement.quotes,
    "format:sub-bullets": arrangement.sub_bullets,
    "format:thesis": arrangement.thesis,
    "format:title_case": arrangement.title_case,
    "ratio:overlap": counting.overlap,
    "ratio:sentence_balance": counting.sentence_balance,
    "ratio:sentence_type": counting.sentence_type,
    "ratio:sentence_words": arrangement.sentence_words,
    "ratio:stop_words": counting.stop_words,
    "repeat:repeat_change": fixed.repeat_change,
    "repeat:repeat_simple": fixed.repeat_simple,
    "repeat:repeat_span": fixed.repeat_span,
    "sentence:alliteration_increment": arrangement.alliteration_increment,
    "sentence:increment": arrangement.increment,
    "sentence:keyword": arrangement.keyword_in_sentence,
    "words:alphabet": wording.alphabet,
    "words:consonants": wording.consonants,
    "words:keywords_specific_position": wording.keywords_specific_position,
    "words:last_first": wording.last_first,
    "words:no_consecutive": wording.no_consecutive,
    "words:odd_even_syllables": wording.odd_even_syllables,
    "words:palindrome": wording.palindrome,
    "words:paragraph_last_first": wording.paragraph_last_first,
    "words:prime_lengths": wording.prime_lengths,
    "words:repeats": counting.repeats,
    "words:start_verb": wording.start_verb,
    "words:vowel": wording.vowel,
    "words:words_position": wording.words_position,
}
_PUNKT = "tokenizers/punkt_tab/english/"
_TAGGER = "taggers/averaged_perceptron_tagger_eng/"
_STOP_WORDS = "corpora/stopwords/"
#: Rule -> the data of NLTK that it reads.
_NLTK = {
    "count:pronouns": (_PUNKT,),
    "custom:sentence_alphabet": (_PUNKT,),
    "custom:word_reverse": (_PUNKT,),
    "format:emoji": (_PUNKT,),
    "format:no_bullets_bullets": (_PUNKT,),
    "format:title_case": (_PUNKT,),
    "ratio:sentence_balance": (_PUNKT,),
    "ratio:sentence_type": (_PUNKT,),
    "ratio:sentence_words": (_PUNKT,),
    "ratio:stop_words": (_STOP_WORDS,),
    "sentence:alliteration_increment": (_PUNKT,),
    "sentence:increment": (_PUNKT,),
    "sentence:keyword": (_PUNKT,),
    "words:keywords_specific_position": (_PUNKT,),
    "words:last_first": (_PUNKT,),
    "words:start_verb": (_PUNKT, _TAGGER),
    "words:words_position": (_PUNKT,),
}
#: Rule -> the package that it asks.
_PACKAGES = {"format:emoji": "emoji", "words:odd_even_syllables": "syllapy"}


def obstacle(*, name: str, arguments: Mapping[str, Any]) -> str:
    """Returns why a rule cannot be checked here.

    It is unknown, or lacks an argument or its resource.

    "" where it can.

    >>> obstacle(name="count:numbers", arguments={})
    'count:numbers lacks N'
    """
    rule = RULES.get(name)
    if rule is None:
        return f"no rule {name}"
    expected = list(inspect.signature(rule).parameters)[1:]
    absent = [argument for argument in expected if arguments.get(argument) is None]
    if absent:  # the original draws them
        return f"{name} lacks {', '.join(absent)}"
    resource = _absent_resource(name)
    return f"{name} needs {resource}" if resource else ""


@cache
def _absent_resource(name: str) -> str:
    """The package or the data of NLTK that a rule needs and that is not installed."""
    package = _PACKAGES.get(name, "")
    if package and importlib.util.find_spec(package) is None:
        return f"the package {package}"
    for place in _NLTK.get(name, ()):
        if not can_open(place):
            return f"NLTK's {place.strip('/')}"
    return ""


def check(
    *, instruction_id_list: Sequence[str], kwargs: Sequence[Mapping[str, Any]], response: str
) -> dict[str, list[bool]]:
    """Checks one reply against the rules of its prompt, strictly and in any of eight readings.

    An empty reply follows no rule, nor does one of more than 60,000 characters. A rule that cannot
    be checked counts as not followed; `obstacle` tells which before a model is asked.

    Returns:
        `strict` and `loose`, one verdict per rule.

    >>> check(instruction_id_list=["format:no_whitespace"], kwargs=[{}], response="*a*")["strict"]
    [True]
    """
    readings = _readings(response)
    itself, others = readings[:1], readings[1:]
    strict, loose = [], []
    for name, arguments in zip(instruction_id_list, kwargs, strict=True):
        known = {key: value for key, value in arguments.items() if value is not None}
        follows = any(_follows(name, known, text) for text in itself)
        strict.append(follows)
        follows = follows or any(_follows(name, known, text) for text in others)
        loose.append(follows)
    return {"strict": strict, "loose": loose}


def _readings(response: str) -> list[str]:
    """The readings of a reply, the reply itself first; none of an empty or overlong one."""
    if len(response) > MAX_CHARS or not response.strip():
        return []
    texts = [text for text in loose_variants(response) if text.strip()]
    shortened = [_LONG_BLANK.sub(r"\1", text) for text in texts]
    return list(dict.fromkeys(shortened))


def _follows(name: str, arguments: Mapping[str, Any], text: str) -> bool:
    """Returns whether a text follows a rule; what the rule cannot read does not follow it."""
    try:
        return bool(RULES[name](text, **arguments))
    except Exception:  # noqa: BLE001 - a malformed reply or argument is no verdict for it
        return False


def ifbench_reply(doc: Mapping[str, Any], results: Sequence[Any]) -> dict[str, float]:
    """`acc`: all rules are followed, strictly; `loose`; `unparsed` for an empty reply."""
    reply = first_reply(results)
    rules = json.loads(doc["rules"])
    verdicts = check(
        instruction_id_list=[rule["name"] for rule in rules],
        kwargs=[rule["arguments"] for rule in rules],
        response=reply,
    )
    return {
        "acc": float(all(verdicts["strict"])),
        "loose": float(all(verdicts["loose"])),
        "unparsed": float(not reply.strip()),
    }


METRICS = {"compliance.ifbench_check": check, "compliance.ifbench_obstacle": obstacle}
