"""From reply to JSON value: what is found, what is not, and that text around an answer never matters."""

import json
import random
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custom_metrics.science.answer import read_answer
from custom_metrics.science.corpus import flat_metrics, task_metrics
from custom_metrics.science.reply import json_parse, strip_eos
from custom_metrics.science.rows import row_score, score_row
from custom_metrics.science.tasks import TASKS
from tests.custom_metrics.science.mutations import ASIDES, PROSE, mutated_reply
from tests.custom_metrics.science.references import TEXTS
from tests.tables import each_row

JSON_TASKS = sorted(TEXTS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A summary.</s>", "A summary."),
        ("A summary.</s></s>", "A summary."),
        ("A summary. <|im_end|>\n<|eot_id|> ", "A summary."),
        ("A summary.\n", "A summary.\n"),
        ("the </s> token ends", "the </s> token ends"),
        ("classes/s>", "classes/s>"),
        ("</s>", ""),
    ],
)
def test_only_whole_end_tokens_at_the_end_are_removed(text, expected):
    assert strip_eos(text) == expected


@pytest.mark.parametrize(
    ("text", "default", "value"),
    [
        pytest.param('note ] here: ["a"]', [], ["a"], id="closer before the answer"),
        pytest.param(
            'say ["x ] y", ["b"]]', [], ["x ] y", ["b"]], id="scan would take the inner list"
        ),
        pytest.param(
            'so {"a }": {"b": 1}}', {}, {"a }": {"b": 1}}, id="scan would take the inner object"
        ),
        pytest.param("[see [1] and [2]]", [], [1], id="outer span is prose"),
        pytest.param(
            '{bad {"a": 1}} then {"b": 2}', {}, {"b": 2}, id="the scan's own finding stands"
        ),
        pytest.param("[1" + "0" * 5000 + '] ["a"]', [], ["a"], id="number too long to convert"),
        pytest.param("[" * 100_000 + '"a"' + "]" * 99_998, [], None, id="nesting beyond the stack"),
    ],
)
def test_corrected_search(text, default, value):
    parsed = json_parse(text, default)
    if value is None:
        # How deep the interpreter can read depends on its stack; what counts is that it ends with a
        # list.
        assert isinstance(parsed["value"], list)
    else:
        assert parsed == {"status": "extract_success", "value": value}


def test_a_default_is_handed_out_as_a_copy():
    default = {"evidence": []}
    json_parse("no", default)["value"]["evidence"].append("x")
    assert default == {"evidence": []}


AROUND = [*PROSE, *ASIDES]


@each_row(("name", "before_after"), product(JSON_TASKS, AROUND))
def test_text_around_an_answer_changes_no_score(name, before_after):
    task = TASKS[name]
    before, after = before_after
    bare = [score_row(task, text, text) for text in TEXTS[name]]
    wrapped = [score_row(task, f"{before}{text}{after}", text) for text in TEXTS[name]]
    assert [row.pred for row in wrapped] == [row.pred for row in bare]
    unchanged = {key for key in flat_metrics(task, task_metrics(task, bare)) if key != "bleu"}
    assert {key: flat_metrics(task, task_metrics(task, wrapped))[key] for key in unchanged} == {
        key: flat_metrics(task, task_metrics(task, bare))[key] for key in unchanged
    }


@pytest.mark.parametrize(
    ("name", "reply", "status", "value"),
    [
        pytest.param("bioasq", "As in [1] and [2]: [5]", "extract_success", [1], id="nothing fits: the first stands"),
        pytest.param("bioasq", '["a"]\n["a", "b"]', "extract_success", ["a"], id="of two answers the first"),
        pytest.param("bioasq", 'so [["a", "b"], ["c"]]', "extract_success", [["a", "b"], ["c"]], id="nested synonyms"),
        pytest.param("bioasq", '{"answers": ["a"]}', "valid_json", ["a"], id="list inside an object"),
        pytest.param("bioasq", '```\n{"answers": ["a"]}\n```', "extract_success", ["a"], id="the same in a fence"),
        pytest.param("bioasq", '"see [1]"', "valid_json", "see [1]", id="a string is no list"),
        pytest.param("bioasq", "~~~json\n null\n~~~", "null_json", [], id="null in a fence"),
        pytest.param("bioasq", "The answer is null.", "extract_failure", [], id="null in prose"),
        pytest.param("scifact", '[{"verdict": "SUPPORT"}]', "valid_json", {"verdict": "SUPPORT"}, id="one in a list"),
        pytest.param("scifact", '{"Verdict": "SUPPORT"}', "valid_json", {"Verdict": "SUPPORT"}, id="other keys"),
        pytest.param("evidence_inference", 'In [1]: ["a", null, "b", "c", "d"]', "extract_success",
                     ["a", None, "b", "c", "d"], id="one tuple by itself"),
        pytest.param("evidence_inference", 'In [1]: [["a"]}', "extract_success", [["a"]], id="closed by the wrong one"),
    ],
)  # fmt: skip
def test_which_value_is_scored(name, reply, status, value):
    task = next(task for task in TASKS.values() if task.alias == name)
    assert read_answer(task, reply) == {"status": status, "value": value}
    assert read_answer(task, reply, "compat") == json_parse(
        reply, task.default, task.original_class, "compat"
    )


def test_what_a_model_thinks_is_not_scored():
    task = TASKS["bioasq_list_qa"]
    row = score_row(task, '<think>["b"]?</think>\n["a"]</s>', '["a"]')
    assert (row.reply, row.text, row.pred) == ('<think>["b"]?</think>\n["a"]', '["a"]', ["a"])
    assert score_row(task, '<think>["b"]?</think>\n["a"]', '["a"]', "compat").pred == ["b"]
    assert score_row(task, '<think>Is it ["b"]?', '["a"]').status == "extract_failure"
    mup = TASKS["mup_single_document_summarization"]
    assert (
        row_score(
            mup, score_row(mup, "<think>Short?</think> Mice live longer.", "Mice live longer.")
        )
        == 1
    )


@pytest.mark.parametrize("reply", ["[1]", '"x"', "3", '{"a": 1}'])
@pytest.mark.parametrize("name", JSON_TASKS)
def test_json_of_another_type_is_no_right_answer_to_an_empty_gold(name, reply):
    task = TASKS[name]
    row = score_row(task, reply, json.dumps(task.default))
    assert row_score(task, row) == 0 or isinstance(row.pred, type(task.default))


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4)
    ),
    max_leaves=12,
)
_PROSE = st.text(max_size=30).filter(lambda text: not set(text) & set("[]{}"))


@given(value=st.lists(_JSON, max_size=5), before=_PROSE, after=_PROSE)
def test_any_list_survives_any_prose_without_brackets(value, before, after):
    assert json_parse(before + json.dumps(value) + after, [])["value"] == value


@given(value=st.dictionaries(st.text(max_size=6), _JSON, max_size=5), before=_PROSE, after=_PROSE)
def test_any_object_survives_any_prose_without_brackets(value, before, after):
    assert json_parse(before + json.dumps(value) + after, {})["value"] == value


@pytest.mark.parametrize("name", JSON_TASKS)
def test_damaged_replies_score_between_0_and_1(name):
    # The full count of 50,000 a task is in benchmarks/science_mutations.py.
    task, generator = TASKS[name], random.Random(7)
    rows = [
        score_row(task, mutated_reply(reference, generator), reference)
        for reference in TEXTS[name] * 200
    ]
    flat = flat_metrics(task, task_metrics(task, rows))
    shares = [value for key, value in flat.items() if not key.endswith("_parts")]
    assert all(value is None or 0 <= value <= 1 for value in shares), flat
    assert {row.status for row in rows} >= {"valid_json", "extract_success", "extract_failure"}
    json.dumps(flat, allow_nan=False)
