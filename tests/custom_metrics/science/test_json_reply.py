"""From reply to JSON value: what is found, what is not, and that text around an answer never matters."""

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custom_metrics.science.corpus import flat_metrics, task_metrics
from custom_metrics.science.reply import json_parse, strip_eos
from custom_metrics.science.rows import score_row
from custom_metrics.science.tasks import TASKS
from tests.custom_metrics.science.mutations import PROSE, mutated_reply
from tests.custom_metrics.science.references import TEXTS

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
        pytest.param('say ["x ] y", ["b"]]', [], ["x ] y", ["b"]], id="scan would take the inner list"),
        pytest.param('so {"a }": {"b": 1}}', {}, {"a }": {"b": 1}}, id="scan would take the inner object"),
        pytest.param("[see [1] and [2]]", [], [1], id="outer span is prose"),
        pytest.param('{bad {"a": 1}} then {"b": 2}', {}, {"b": 2}, id="the scan's own finding stands"),
        pytest.param("[1" + "0" * 5000 + '] ["a"]', [], ["a"], id="number too long to convert"),
        pytest.param("[" * 100_000 + '"a"' + "]" * 99_998, [], None, id="nesting beyond the stack"),
    ],
)
def test_corrected_search(text, default, value):
    parsed = json_parse(text, default)
    if value is None:
        # How deep the interpreter can read depends on its stack; what counts is that it ends with a list.
        assert isinstance(parsed["value"], list)
    else:
        assert parsed == {"status": "extract_success", "value": value}


def test_a_default_is_handed_out_as_a_copy():
    default = {"evidence": []}
    json_parse("no", default)["value"]["evidence"].append("x")
    assert default == {"evidence": []}


@pytest.mark.parametrize("before_after", PROSE, ids=range(len(PROSE)))
@pytest.mark.parametrize("name", JSON_TASKS)
def test_prose_and_fences_change_no_score(name, before_after):
    task = TASKS[name]
    before, after = before_after
    bare = [score_row(task, text, text) for text in TEXTS[name]]
    wrapped = [score_row(task, f"{before}{text}{after}", text) for text in TEXTS[name]]
    assert [row.pred for row in wrapped] == [row.pred for row in bare]
    unchanged = {key for key in flat_metrics(task, task_metrics(task, bare)) if key != "bleu"}
    assert {key: flat_metrics(task, task_metrics(task, wrapped))[key] for key in unchanged} == {
        key: flat_metrics(task, task_metrics(task, bare))[key] for key in unchanged
    }


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
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
    rows = [score_row(task, mutated_reply(reference, generator), reference) for reference in TEXTS[name] * 200]
    flat = flat_metrics(task, task_metrics(task, rows))
    assert all(value is None or 0 <= value <= 1 for value in flat.values()), flat
    assert {row.status for row in rows} >= {"valid_json", "extract_success", "extract_failure"}
    json.dumps(flat, allow_nan=False)
