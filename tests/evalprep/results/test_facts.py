"""Facts of a run: how many rows it was to answer, and how sentences repeat them."""

import pytest

from evalprep.results import load_run
from evalprep.results.facts import FactDifference, expected_rows, facts_of, incomplete
from tests.evalprep.results.writing import Row, write_run


@pytest.mark.parametrize(
    ("effective", "expected"),
    [(4, 4), (3, 3), (0, 0), (-1, None), (True, None), ("4", None), (None, None)],
)
def test_rows_that_were_to_be_answered(tmp_path, effective, expected):
    extra = {"n-samples": {"t": {"original": 9, "effective": effective}}}
    run = load_run(write_run(tmp_path, {"t": [Row(str(at)) for at in range(3)]}, extra=extra))
    assert expected_rows(run, run.tasks["t"]) == expected
    assert incomplete(run) == (["t: 1 of 4 expected rows are missing"] if expected == 4 else [])


def test_sentences_repeat_the_beginning_of_a_hash():
    difference = FactDifference("data", "question", "0123456789abcdef" * 4, None)
    assert difference.sentence() == "data 01234567 / unknown"


FUNCTION = "def text(doc):\n    return f\"{doc['n'] + 1}: {doc['q']}\"\n"


@pytest.mark.parametrize(
    ("template", "is_same"),
    [
        pytest.param(FUNCTION.replace(" + ", "+"), True, id="blanks"),
        pytest.param(FUNCTION.replace("\n    ", "\n    # from one\n    ", 1), True, id="comment"),
        pytest.param(FUNCTION.replace("1", "2"), False, id="another number"),
        pytest.param(FUNCTION.replace("return", "retrun"), False, id="not Python"),
        pytest.param("{{n}}: {{q}}", False, id="no function"),
    ],
)
def test_a_function_that_was_formatted_anew_is_the_same_template(tmp_path, template, is_same):
    hashes = set()
    for name, text in (("a", FUNCTION), ("b", template)):
        settings = {"configs": {"t": {"task": "t", "doc_to_text": text}}}
        run = load_run(write_run(tmp_path / name, {"t": [Row("r")]}, extra=settings))
        hashes.add(facts_of(run, run.tasks["t"])["template_hash"].value)
    assert len(hashes) == (1 if is_same else 2)
