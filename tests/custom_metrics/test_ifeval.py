"""Instruction checks against lm-eval's own scorer, and what that scorer does not survive."""

import copy
import json
import random
from pathlib import Path

import pytest

from custom_metrics import ifeval
from custom_metrics.ifeval import (
    check_instructions,
    check_official,
    count_sentences,
    headline,
    loose_variants,
)
from tests.effort import examples
from tests.loops import each

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
    lines = [
        line for path in sorted(folder.rglob("*.jsonl")) for line in path.read_text().splitlines()
    ]
    rows = [json.loads(line) for line in lines]
    assert rows
    return rows


def test_verdicts_equal_those_of_lm_eval(ground_truth):
    if not ifeval.punkt_available():
        pytest.skip(ifeval.PUNKT_HINT)
    from lm_eval.tasks.ifeval import utils

    for row in each(ground_truth):
        for reply in REPLIES:
            theirs = utils.process_results(row, [reply])
            ours = check_instructions(
                prompt=row["prompt"], instruction_id_list=row["instruction_id_list"], kwargs=row["kwargs"],
                response=reply,
            )  # fmt: skip
            assert ours["errors"] == []
            assert ours["strict"] == [bool(passed) for passed in theirs["inst_level_strict_acc"]], (
                row["key"]
            )
            assert ours["loose"] == [bool(passed) for passed in theirs["inst_level_loose_acc"]], (
                row["key"]
            )


def check(name, kwargs, response, prompt="p"):
    return check_instructions(
        prompt=prompt, instruction_id_list=[name], kwargs=[kwargs], response=response
    )


LABELLED = [json.loads(line) for line in REPLIES_FILE.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("row", LABELLED, ids=[row["name"] for row in LABELLED])
def test_labelled_replies(row):
    from lm_eval.tasks.ifeval import utils

    name, kwargs, reply = row["instruction"], row["kwargs"], row["reply"]
    found = check(name, kwargs, reply)
    assert (found["strict"], found["loose"], found["errors"]) == (
        [row["strict"]],
        [row["loose"]],
        [],
    )
    if ifeval.punkt_available():
        document = {"key": 1, "prompt": "p", "instruction_id_list": [name], "kwargs": [kwargs]}
        theirs = utils.process_results(document, [reply])
        assert (theirs["inst_level_strict_acc"], theirs["inst_level_loose_acc"]) == (
            found["strict"],
            found["loose"],
        )


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
        prompt="p",
        instruction_id_list=["no:such", "punctuation:no_comma"],
        kwargs=[{}, {}],
        response="fine",
    )
    assert found["strict"] == [False, True]


def test_too_few_arguments_are_reported():
    found = check_instructions(
        prompt="p",
        instruction_id_list=["punctuation:no_comma", "keywords:existence"],
        kwargs=[{}],
        response="fine",
    )
    assert found["strict"] == [True, False]
    assert len(found["errors"]) == 1


# Defect 33: the original drops zero and false arguments together with the nulls.
def test_zero_is_an_argument():
    arguments = {"capital_frequency": 0, "capital_relation": "at least", "num_words": None}
    assert check("change_case:capital_word_frequency", arguments, "none at all")["strict"] == [True]


def test_floats_from_a_table_are_whole_numbers():
    arguments = {
        "num_paragraphs": 2.0,
        "nth_paragraph": 2.0,
        "first_word": "then",
        "num_words": float("nan"),
    }
    assert check("length_constraints:nth_paragraph_first_word", arguments, "First.\n\nThen more.")[
        "strict"
    ] == [True]


@pytest.mark.parametrize("reply", ["", " \n\t "])
def test_empty_reply_follows_nothing(reply):
    found = check("punctuation:no_comma", {}, reply)
    assert (found["strict"], found["loose"], found["errors"]) == ([False], [False], [])


def test_eight_loose_variants():
    assert loose_variants("a*\nb\n*c") == [
        "a*\nb\n*c",
        "a\nb\nc",
        "b\n*c",
        "b\nc",
        "a*\nb",
        "a\nb",
        "b",
        "b",
    ]


def test_loose_passes_where_strict_does_not():
    found = check("startend:quotation", {}, 'Sure, here it is:\n"All of it."')
    assert (found["strict"], found["loose"]) == ([False], [True])


def test_language_detection_does_not_depend_on_earlier_calls():
    reply = "ok no si da 12"
    verdicts = set()
    for seed in range(8):
        random.seed(seed)
        verdicts.add(
            tuple(check("language:response_language", {"language": "en"}, reply)["strict"])
        )
    assert len(verdicts) == 1


def test_profiles_are_those_of_langdetect():
    from langdetect.detector_factory import PROFILES_DIRECTORY, DetectorFactory

    from custom_metrics.ifeval.language import _load

    theirs, ours = DetectorFactory(), _load()
    theirs.load_profile(PROFILES_DIRECTORY)
    assert ours.langlist == theirs.langlist
    rows = theirs.word_lang_prob_map
    assert all(ours.word_lang_prob_map[piece] == rows[piece] for piece in list(rows)[::50])
    assert "no piece" not in ours.word_lang_prob_map
    with pytest.raises(KeyError):
        ours.word_lang_prob_map["no piece"]


def verdict_of(row, reply, check=check_instructions):
    found = check(
        prompt=row["prompt"],
        instruction_id_list=row["instruction_id_list"],
        kwargs=row["kwargs"],
        response=reply,
    )
    return str(found)


@pytest.mark.thorough
def test_every_checker_gives_one_verdict_in_a_hundred_calls(ground_truth):
    from lm_eval.tasks.ifeval import instructions_registry

    rows = [
        {"prompt": "p", "instruction_id_list": [row["instruction"]], "kwargs": [row["kwargs"]]}
        for row in LABELLED
    ]
    rows += [
        row for row in ground_truth if {"keywords:letter_frequency"} & {*row["instruction_id_list"]}
    ]
    rows += [letters("#", 4), letters("!", 10)]
    seen = set()
    for row in rows:
        if {*row["instruction_id_list"]} <= seen and "keywords:letter_frequency" not in row[
            "instruction_id_list"
        ]:
            continue
        seen |= {*row["instruction_id_list"]}
        for reply in ("ok no si da 12 # # # #", REPLIES[0]):
            verdicts = set()
            for seed in range(examples(100)):
                random.seed(seed)
                verdicts.add(verdict_of(row, reply))
            assert len(verdicts) == 1, row
    assert seen == set(instructions_registry.INSTRUCTION_DICT)


def letters(letter, frequency, relation="at least"):
    arguments = {"letter": letter, "let_frequency": frequency, "let_relation": relation}
    return {
        "prompt": "p",
        "instruction_id_list": ["keywords:letter_frequency"],
        "kwargs": [arguments],
    }


ODD = (-1, 0, "", [], " ", 3, "#", "ab", "C++", ["a.b", "("], 2.5, True)


def test_no_argument_is_drawn_and_no_state_is_shared():
    import langdetect
    from lm_eval.tasks.ifeval import instructions_registry

    seed, state = langdetect.DetectorFactory.seed, random.getstate()
    for row in LABELLED:
        for name in row["kwargs"]:
            for odd in ODD:
                check(row["instruction"], {**row["kwargs"], name: odd}, row["reply"])
    for name in instructions_registry.INSTRUCTION_DICT:
        check(name, {}, "one reply")
    assert random.getstate() == state
    assert langdetect.DetectorFactory.seed == seed


@pytest.mark.parametrize(
    ("letter", "frequency", "relation", "reply", "follows"),
    [
        ("#", 4, "at least", "#one #two #three #four", True),
        ("#", 4, "at least", "#one #two #three", False),
        ("!", 2, "less than", "No! Yes! Well!", False),
        ("!", 2, "less than", "No! Yes.", True),
        ("é", 2, "at least", "Été à la plage", True),
        ("B", 2, "at least", "Bob", True),
        (" ", 2, "at least", "a b c", True),
    ],
)
def test_the_given_character_is_counted(letter, frequency, relation, reply, follows):
    assert verdict_of(letters(letter, frequency, relation), reply).startswith(
        f"{{'strict': [{follows}]"
    )


@pytest.mark.parametrize(
    ("name", "kwargs", "said"),
    [
        (
            "keywords:letter_frequency",
            {"letter": "ab", "let_frequency": 1, "let_relation": "at least"},
            "one character",
        ),
        (
            "keywords:letter_frequency",
            {"letter": "", "let_frequency": 1, "let_relation": "at least"},
            "letter is empty",
        ),
        (
            "keywords:frequency",
            {"keyword": "", "frequency": 1, "relation": "at least"},
            "keyword is empty",
        ),
        ("keywords:existence", {"keywords": []}, "keywords is empty"),
        (
            "detectable_content:number_placeholders",
            {"num_placeholders": -2},
            "num_placeholders is -2, below zero",
        ),
        (
            "length_constraints:nth_paragraph_first_word",
            {"num_paragraphs": 2, "nth_paragraph": 3, "first_word": "x"},
            "nth_paragraph is 3 of 2 paragraphs",
        ),
    ],
)
def test_what_the_checkers_would_draw_is_refused(name, kwargs, said):
    found = check(name, kwargs, "One two.\n\nthree")
    assert found["strict"] == [False]
    assert said in found["errors"][0]


@pytest.mark.parametrize(
    ("name", "kwargs", "reply", "ours"),
    [
        ("keywords:existence", {"keywords": ["C++", "U.S."]}, "C++ is used in the U.S. army", True),
        ("keywords:existence", {"keywords": ["U.S."]}, "UKSA", False),
        (
            "keywords:frequency",
            {"keyword": "(sic)", "frequency": 2, "relation": "at least"},
            "a (sic) b (SIC)",
            True,
        ),
        ("keywords:forbidden_words", {"forbidden_words": ["C++"]}, "I like C++ a lot", False),
        ("keywords:forbidden_words", {"forbidden_words": ["C++"]}, "I like C a lot", True),
        (
            "detectable_content:postscript",
            {"postscript_marker": "(P.S.)"},
            "Bye.\n(p.s.) more",
            True,
        ),
        (
            "detectable_format:multiple_sections",
            {"section_spliter": "Nr.", "num_sections": 2},
            "Nr. 1 a Nr. 2 b",
            True,
        ),
        (
            "keywords:frequency",
            {"keyword": "(a+)+$", "frequency": 1, "relation": "at least"},
            "a" * 5_000 + "b",
            False,
        ),
    ],
)
def test_keywords_are_texts_and_no_expressions(name, kwargs, reply, ours):
    assert check(name, kwargs, reply)["strict"] == [ours]


def test_official_verdict_by_name(ground_truth):
    from lm_eval.tasks.ifeval import utils

    for row in each(ground_truth[:20]):
        theirs = utils.process_results(row, [REPLIES[0]])["inst_level_strict_acc"]
        found = check_official(
            prompt=row["prompt"], instruction_id_list=row["instruction_id_list"], kwargs=row["kwargs"],
            response=REPLIES[0],
        )  # fmt: skip
        if ifeval.punkt_available():
            assert found["strict"] == [bool(passed) for passed in theirs]


@pytest.mark.parametrize(
    ("name", "kwargs", "said"),
    [
        (
            "keywords:letter_frequency",
            {"letter": "#", "let_frequency": 1, "let_relation": "at least"},
            "outside a to z",
        ),
        (
            "detectable_content:number_placeholders",
            {"num_placeholders": 0},
            "missing arguments: num_placeholders",
        ),
        (
            "keywords:frequency",
            {"keyword": "(a+)+$", "frequency": 1, "relation": "at least"},
            "regular expression",
        ),
    ],
)
def test_where_the_official_rule_draws_it_has_no_verdict(name, kwargs, said):
    found = check_official(prompt="p", instruction_id_list=[name], kwargs=[kwargs], response="# a")
    assert found["strict"] == [False]
    assert said in found["errors"][0]


@pytest.fixture
def without_punkt(monkeypatch, tmp_path):
    import nltk

    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    monkeypatch.setattr(nltk, "download", lambda *_: pytest.fail("a download was tried"))


@pytest.mark.parametrize(
    ("name", "kwargs", "passed"),
    [
        ("length_constraints:number_sentences", {"num_sentences": 3, "relation": "at least"}, True),
        (
            "length_constraints:number_sentences",
            {"num_sentences": 3, "relation": "less than"},
            False,
        ),
        (
            "change_case:capital_word_frequency",
            {"capital_frequency": 2, "capital_relation": "at least"},
            True,
        ),
        (
            "change_case:capital_word_frequency",
            {"capital_frequency": 2, "capital_relation": "less than"},
            False,
        ),
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


@pytest.mark.parametrize(
    "piece", ["[", "<<", "\n", "\n ", "*", " p", "a\n\n", "***\n", "Section 1 "]
)
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
    found = check_instructions(
        prompt="p", instruction_id_list=list(names), kwargs=list(names.values()), response=reply
    )
    assert found["errors"] == []


def test_reply_beyond_the_bound_fails_and_is_reported():
    found = check("punctuation:no_comma", {}, "x" * (ifeval.MAX_CHARS + 1))
    assert found["strict"] == [False]
    assert "more than" in found["errors"][0]


def test_arguments_are_not_changed():
    arguments = [{"num_words": 3.0, "relation": "at least", "language": None}]
    before = copy.deepcopy(arguments)
    check_instructions(
        prompt="p",
        instruction_id_list=["length_constraints:number_words"],
        kwargs=arguments,
        response="a b c",
    )
    assert arguments == before


def test_two_headline_numbers():
    assert headline(
        prompt_strict=0.7431, inst_strict=0.8153, prompt_loose=0.7800, inst_loose=0.8400
    ) == {"recipe_mean": pytest.approx(0.7792), "published_mean": pytest.approx(0.7946)}


def test_sentence_data_that_nltk_refuses_to_open_are_not_there(tmp_path, monkeypatch):
    import nltk

    folder = tmp_path / "tokenizers" / "punkt_tab" / "english"
    folder.mkdir(parents=True)
    (folder / "collocations.tab").write_text("a\tb\n", encoding="utf-8")
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    assert ifeval.punkt_available()
    # As a package manager installs them; NLTK 3.10 finds such a file and does not open it.
    (folder / "abbrev_types.txt").hardlink_to(folder / "collocations.tab")
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path), str(tmp_path / "not-cached")])
    assert not ifeval.punkt_available()
    at_most = {"relation": "less than", "num_sentences": 4}
    counted = check("length_constraints:number_sentences", at_most, "One. Two.")
    assert (counted["strict"], counted["errors"]) == ([True], [])
    assert counted["approximated"] == ["length_constraints:number_sentences"]
