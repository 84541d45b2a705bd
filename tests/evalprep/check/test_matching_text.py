"""Replies that are made for a filter's regular expression."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalprep.check.matching_text import can_write, text_with


@pytest.mark.parametrize(
    ("pattern", "answer"),
    [
        (r"capital is (\w+)", "Paris"),
        (r"<answer>(.*?)</answer>", "New York"),
        (r"\*\*(.+?)\*\*", "B"),
        (r"(?i)final answer:\s*(.+?)\s*$", "12"),
        (r"[Aa]nswer(?: is|:)\s*\(?([A-D])\)?", "C"),
        (r"####\s*(-?[0-9.,]+)", "-1,200"),
        (r"^\s*([A-D])\b", "D"),
        (r"(?<=So )(\w+)(?= done)", "x"),
        (r'"answer":\s*"([^"]*)"', "a b"),
        (r"(?:no (\w+)|yes (\w+))", "z"),
        (r"([\"'])(?:x)\1", '"'),
        (r"(?:step \d+\. )*=> (.*)", "7"),
        (r"[^a-z]{3}(\S+)", "q"),
    ],
)
def test_a_text_that_the_pattern_reads_as_the_answer(pattern, answer):
    text = text_with(pattern, answer)
    groups = [group for group in re.search(pattern, text).groups() if group]
    assert groups[0].strip() == answer
    assert can_write(pattern)


@pytest.mark.parametrize(
    ("pattern", "answer"),
    [(r"answer is (\d+)", "Paris"), (r"no group", "x"), (r"(unclosed", "x"), (r"(a{9})", "a")],
)
def test_no_text_gives_the_answer(pattern, answer):
    assert text_with(pattern, answer) is None


@given(
    st.lists(st.sampled_from(["a", ".", r"\d", "[x-z]", "(?:q|r)", r"\s*", "b+", "^", r"\b"])),
    st.sampled_from([r"(\w+)", "(.*)", "([A-Z])", r"(-?\d+)"]),
    st.sampled_from(["A", "Paris", "-3", "a b"]),
)
def test_a_made_text_is_always_read_as_the_answer(before, group, answer):
    pattern = "".join(before) + group
    text = text_with(pattern, answer)
    if text is not None:
        assert re.search(pattern, text).group(1).strip() == answer
