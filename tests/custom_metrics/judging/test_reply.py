"""What a judge's words say; what is ambiguous is left unread."""

import pytest

from custom_metrics.judging.objects import MOST_BRACES, finite_number, json_objects
from custom_metrics.judging.reply import judge_ratings


@pytest.mark.parametrize(
    ("reply", "rating"),
    [
        ("**Rating:** 3", 3),
        ("Rating: **4**", 4),
        ("rating: 4", 4),
        ("Rating: [4]", 4),
        ("rating = 4/5", 4),
        ('{"rating": 4}', 4),
        ("```json\n{'rating': '2'}\n```", 2),
        ('{"result": [{"rating": {"score": 5}}]}', 5),
        ("3 or 4", None),
        ("Rating: 3-4", None),
        ("Rating: 4.5", None),
        ("Rating: 4/10", None),
        ("Rating: 3 ... Rating: 5", None),
        ("", None),
    ],
)
def test_ratings_on_a_scale_of_whole_numbers(reply, rating):
    found = judge_ratings(reply=reply, names=["rating"], low=1, high=5, whole=True)
    assert found["ratings"] == (None if rating is None else {"rating": rating})
    assert (found["status"] == "ok") is (rating is not None)


def test_objects_come_outer_first_and_from_few_braces():
    assert list(json_objects('x {"a": {"b": 1}} {broken {"c": 2}')) == [{"a": {"b": 1}}, {"b": 1}, {"c": 2}]
    assert list(json_objects("{" * MOST_BRACES + '{"a": 1}')) == []
    assert list(json_objects("{" * (MOST_BRACES - 1) + '{"a": 1}')) == [{"a": 1}]


@pytest.mark.parametrize(
    ("value", "number"), [(7, 7), ("7.5", 7.5), (True, None), ("inf", None), (None, None), ("x", None)]
)
def test_numbers(value, number):
    assert finite_number(value) == number
