"""Instruction checks against lm-eval's own scorer, and what that scorer does not survive."""

import copy
import json
import random
from pathlib import Path

import nltk
import pytest

from custom_metrics import ifeval
from custom_metrics.ifeval import check_instructions, count_sentences, headline, loose_variants

REPLIES_FILE = Path(__file__).parents[1] / "data/replies/ifeval.jsonl"
REPLIES = (
    "Hello, World! A B C. [x] [y]\n\n***\n\n* a\n* b\n<<title>> *one* *two* P.S. ok",
    "HELLO THERE. ALL CAPS! REALLY?",
    "all lower, text here. two. ******",
    '"Quoted. My answer is yes."',
    '```json\n{"a": [1, 2]}\n```',
    "Erste Zeile. Das ist ein deutscher Satz über nichts.\nZweite Zeile.\nDritte Zeile.",
    "Section 1\nx\n\nSection 2\ny\n\nfinally. P.P.S none",
    "\n\n\n",
    "*",
)


@pytest.fixture(scope="module")
def ground_truth(shared):
    folder = shared / "vectors/meta_evals/ground_truth/instruction-following-eval"
    lines = [line for path in sorted(folder.rglob("*.jsonl")) for line in path.read_text().splitlines()]
    rows = [json.loads(line) for line in lines]
    assert rows
    return rows


def test_verdicts_equal_those_of_lm_eval(ground_truth):
    if not ifeval.punkt_available():
        pytest.skip(ifeval.PUNKT_HINT)
    from lm_eval.tasks.ifeval import utils

    for row in ground_truth:
        for reply in REPLIES:
            theirs = utils.process_results(row, [reply])
            ours = check_instructions(
                prompt=row["prompt"], instruction_id_list=row["instruction_id_list"], kwargs=row["kwargs"],
                response=reply,
            )  # fmt: skip
            assert ours["errors"] == []
            assert ours["strict"] == [bool(passed) for passed in theirs["inst_level_strict_acc"]], row["key"]
            assert ours["loose"] == [bool(passed) for passed in theirs["inst_level_loose_acc"]], row["key"]


def check(name, kwargs, response, prompt="p"):
    return check_instructions(prompt=prompt, instruction_id_list=[name], kwargs=[kwargs], response=response)


LABELLED = [json.loads(line) for line in REPLIES_FILE.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("row", LABELLED, ids=[row["name"] for row in LABELLED])
def test_labelled_replies(row):
    from lm_eval.tasks.ifeval import utils

    name, kwargs, reply = row["instruction"], row["kwargs"], row["reply"]
    found = check(name, kwargs, reply)
    assert (found["strict"], found["loose"], found["errors"]) == ([row["strict"]], [row["loose"]], [])
    if ifeval.punkt_available():
        document = {"key": 1, "prompt": "p", "instruction_id_list": [name], "kwargs": [kwargs]}
        theirs = utils.process_results(document, [reply])
        assert (theirs["inst_level_strict_acc"], theirs["inst_level_loose_acc"]) == (found["strict"], found["loose"])


def test_every_instruction_is_labelled():
    from lm_eval.tasks.ifeval import instructions_registry

    assert {row["instruction"] for row in LABELLED} == set(instructions_registry.INSTRUCTION_DICT)


@pytest.mark.parametrize(
    ("name", "kwargs", "said"),
    [
        ("no:such_thing", {}, "unknown instruction"),
        ("length_constraints:number_words", {}, "missing arguments: num_words, relation"),
        ("length_constraints:number_words", None, "missing arguments"),
        ("punctuation:no_comma", {"surprise": 1}, "surprise"),
        ("length_constraints:number_words", {"num_words": 3, "relation": "about"}, "about"),
    ],
)
def test_what_cannot_be_checked_fails_and_is_reported(name, kwargs, said):
    found = check(name, kwargs, "One two three four.")
    assert (found["strict"], found["loose"]) == ([False], [False])
    assert said in found["errors"][0]


def test_one_bad_instruction_leaves_the_others_alone():
    found = check_instructions(
        prompt="p", instruction_id_list=["no:such", "punctuation:no_comma"], kwargs=[{}, {}], response="fine"
    )
    assert found["strict"] == [False, True]


def test_too_few_arguments_are_reported():
    found = check_instructions(
        prompt="p", instruction_id_list=["punctuation:no_comma", "keywords:existence"], kwargs=[{}], response="fine"
    )
    assert found["strict"] == [True, False]
    assert len(found["errors"]) == 1


# Defect 33: the original drops zero and false arguments together with the nulls.
def test_zero_is_an_argument():
    arguments = {"capital_frequency": 0, "capital_relation": "at least", "num_words": None}
    assert check("change_case:capital_word_frequency", arguments, "none at all")["strict"] == [True]


def test_floats_from_a_table_are_whole_numbers():
    arguments = {"num_paragraphs": 2.0, "nth_paragraph": 2.0, "first_word": "then", "num_words": float("nan")}
    assert check("length_constraints:nth_paragraph_first_word", arguments, "First.\n\nThen more.")["strict"] == [True]


@pytest.mark.parametrize("reply", ["", " \n\t "])
def test_empty_reply_follows_nothing(reply):
    found = check("punctuation:no_comma", {}, reply)
    assert (found["strict"], found["loose"], found["errors"]) == ([False], [False], [])


def test_eight_loose_variants():
    assert loose_variants("a*\nb\n*c") == ["a*\nb\n*c", "a\nb\nc", "b\n*c", "b\nc", "a*\nb", "a\nb", "b", "b"]


def test_loose_passes_where_strict_does_not():
    found = check("startend:quotation", {}, 'Sure, here it is:\n"All of it."')
    assert (found["strict"], found["loose"]) == ([False], [True])


def test_language_detection_does_not_depend_on_earlier_calls():
    reply = "ok no si da 12"
    verdicts = set()
    for seed in range(8):
        random.seed(seed)
        verdicts.add(tuple(check("language:response_language", {"language": "en"}, reply)["strict"]))
    assert len(verdicts) == 1


def test_global_random_state_is_left_alone():
    before = random.getstate()
    check("length_constraints:number_words", {}, "x y")
    assert random.getstate() == before


@pytest.fixture
def without_punkt(monkeypatch, tmp_path):
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    monkeypatch.setattr(nltk, "download", lambda *_: pytest.fail("a download was tried"))


@pytest.mark.parametrize(
    ("name", "kwargs", "passed"),
    [
        ("length_constraints:number_sentences", {"num_sentences": 3, "relation": "at least"}, True),
        ("length_constraints:number_sentences", {"num_sentences": 3, "relation": "less than"}, False),
        ("change_case:capital_word_frequency", {"capital_frequency": 2, "capital_relation": "at least"}, True),
        ("change_case:capital_word_frequency", {"capital_frequency": 2, "capital_relation": "less than"}, False),
    ],
)
def test_sentences_without_nltk_data(without_punkt, name, kwargs, passed):
    found = check(name, kwargs, "NASA paid Dr. Lee 3.5 dollars. Was it MUCH? No!")
    assert (found["strict"], found["errors"], found["approximated"]) == ([passed], [], [name])


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("", 0), ("one", 1), ("One. Two.", 2), ("Dr. Lee came. He left.", 2), ("It is 3.5 m. Fine?", 2),
        ('He said "Go." Then he went.', 2), ("e.g. this one", 1), ("Wait... What?! Yes.", 3), ("J. R. Smith ran.", 1),
        ("no capital. after it", 1),
    ],
)  # fmt: skip
def test_counting_sentences_without_data(text, sentences):
    assert count_sentences(text) == sentences


@pytest.mark.parametrize(
    ("name", "kwargs", "pattern"),
    [
        ("detectable_content:number_placeholders", {"num_placeholders": 2}, "[]\nab"),
        ("detectable_format:title", {}, "<>\n a"),
    ],
)
def test_linear_counts_equal_the_checkers_expressions(name, kwargs, pattern):
    from lm_eval.tasks.ifeval import instructions_registry

    checker = instructions_registry.INSTRUCTION_DICT[name](name)
    checker.build_description(**kwargs)
    generator = random.Random(1)
    for _ in range(3_000):
        reply = "x" + "".join(generator.choices(pattern, k=generator.randint(0, 14)))
        assert check(name, kwargs, reply)["strict"] == [bool(checker.check_following(reply))], reply


@pytest.mark.parametrize("piece", ["[", "<<", "\n", "\n ", "*", " p", "a\n\n", "***\n", "Section 1 "])
def test_long_odd_replies_end(piece):
    names = {
        "detectable_content:number_placeholders": {"num_placeholders": 2},
        "detectable_format:title": {},
        "detectable_format:number_bullet_lists": {"num_bullets": 2},
        "detectable_content:postscript": {"postscript_marker": "P.P.S"},
        "detectable_format:number_highlighted_sections": {"num_highlights": 2},
        "detectable_format:multiple_sections": {"section_spliter": "Section", "num_sections": 2},
    }
    reply = "x" + piece * (50_000 // len(piece)) + "x"
    found = check_instructions(prompt="p", instruction_id_list=list(names), kwargs=list(names.values()), response=reply)
    assert found["errors"] == []


def test_reply_beyond_the_bound_fails_and_is_reported():
    found = check("punctuation:no_comma", {}, "x" * (ifeval.MAX_CHARS + 1))
    assert found["strict"] == [False]
    assert "more than" in found["errors"][0]


def test_arguments_are_not_changed():
    arguments = [{"num_words": 3.0, "relation": "at least", "language": None}]
    before = copy.deepcopy(arguments)
    check_instructions(
        prompt="p", instruction_id_list=["length_constraints:number_words"], kwargs=arguments, response="a b c"
    )
    assert arguments == before


def test_two_headline_numbers():
    assert headline(prompt_strict=0.7431, inst_strict=0.8153, prompt_loose=0.7800, inst_loose=0.8400) == {
        "recipe_mean": pytest.approx(0.7792),
        "published_mean": pytest.approx(0.7946),
    }
