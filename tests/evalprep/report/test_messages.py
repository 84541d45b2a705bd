"""Chats as messages, formulas as elements, and neither from what is no chat and no formula."""

from __future__ import annotations

import csv
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalprep.cli import main
from evalprep.packs import messages_of, readable_prompt
from evalprep.report import build_report, write_report
from evalprep.report.mathematics import FORMULA, Formulas
from evalprep.results import load_run
from tests.effort import examples
from tests.evalprep.report import chromium
from tests.evalprep.report.runs import line, write_run
from tests.evalprep.report.test_page import unpack

CHAT = json.dumps(
    [
        {"role": "system", "content": "Answer\nbriefly."},
        {"role": "user", "content": [{"type": "text", "text": "What is $\\frac{1}{2}$ of 4?"}]},
    ]
)


@pytest.fixture
def chat_runs(tmp_path):
    """Two runs of one chat question whose replies differ in one word."""
    folders = []
    for name, reply in (("new", "It is \\(2\\), of course."), ("old", "It is \\(3\\), of course.")):
        docs = [{"sample_id": "q", "prompt": CHAT, "target": "2", "subtask_name": None}]
        lines = [
            line(0, doc, reply, reply[7], "none", exact_match=float(name == "new")) for doc in docs
        ]
        folders.append(write_run(tmp_path / name, {"half": lines}, model=f"org/{name}"))
    return folders


def test_a_chat_is_messages_in_the_page_and_text_in_the_files(chat_runs, tmp_path):
    out = tmp_path / "page"
    assert main(["report", *map(str, chat_runs), "--out", str(out), "--format", "html,csv"]) == 0
    with (out / "samples.csv").open(newline="", encoding="utf-8") as file:
        (row,) = csv.DictReader(file)
    assert row["prompt"] == ("[system]\nAnswer\nbriefly.\n\n[user]\nWhat is $\\frac{1}{2}$ of 4?")
    report = build_report([load_run(path) for path in chat_runs])
    (sample,) = unpack(report.chunks[0])
    assert sample["messages"] == [
        ["system", "Answer\nbriefly."],
        ["user", "What is $\\frac{1}{2}$ of 4?"],
    ]
    assert "\\n" not in unpack(report.index)["preview"][0]


@pytest.mark.parametrize(
    "text", ["", "[", "[]", "[1]", '["a"]', '[{"role": 1, "content": ""}]', "[" * 10_000, "Hello"]
)
def test_what_is_no_chat_stays_as_it_is(text):
    assert messages_of(text) == []
    assert readable_prompt(text) == text


def test_formulas_are_found_between_their_delimiters_and_prices_are_not():
    text = r"$5 and $10; $x$, $$y$$, \(z\) and \[w\]; $ a $"
    assert [match[0] for match in FORMULA.finditer(text)] == ["$x$", "$$y$$", r"\(z\)", r"\[w\]"]


@pytest.mark.parametrize(
    "latex",
    [r"\frac{1}", r"\left( x", "}{", r"\unknowncommand x", r"\text{<b>a</b>}", "{" * 300, "&", "<"],
)
def test_what_cannot_be_converted_whole_stays_text(latex):
    trees = json.dumps(list(Formulas().of([f"${latex}$"]).values()))
    assert '"b"' not in trees
    assert "unknowncommand" not in trees
    assert '["mfrac", {}, ["mrow", {}, ["mn", {}, "1"]]]' not in trees, "half a fraction"


def test_formulas_carry_no_address_and_no_style():
    pytest.importorskip("latex2mathml")
    found = Formulas().of([r"$\href{javascript:alert(1)}{x}$ $\color{red}{y}$ $\class{a}{z}$"])
    tree = json.dumps(found)
    assert "javascript" not in json.dumps(list(found.values()))
    assert '"style"' not in tree
    assert '"href"' not in tree


@settings(max_examples=examples(150), deadline=None)
@given(st.text(alphabet="\\{}^_&$ab1<>%#~[]()\n", max_size=60))
def test_no_text_breaks_the_conversion(text):
    trees = Formulas().of([f"\\({text}\\)"])
    assert all(source and tree[0] == "math" for source, tree in trees.items())


def test_a_page_converts_a_limited_number_of_formulas():
    pytest.importorskip("latex2mathml")
    formulas = Formulas(most=2)
    assert len(formulas.of(["$a$ $b$ $c$ $a$"])) == 2


@pytest.mark.browser
def test_the_page_shows_roles_formulas_and_the_words_that_differ(chat_runs, tmp_path):
    pytest.importorskip("latex2mathml")
    if chromium.find() is None:
        pytest.skip("no chromium")
    report = build_report([load_run(path) for path in chat_runs])
    (page_file,) = write_report(report, tmp_path / "page", ("html",))
    page = chromium.Page()
    try:
        page.open(page_file, "#samples?task=half")
        page.wait("document.querySelector('.item') !== null")
        page.click(".item")
        page.wait("document.querySelector('.message') !== null")
        roles = page.js("[...document.querySelectorAll('.role')].map((node) => node.textContent)")
        assert roles == ["system", "user"]
        assert page.js("document.querySelectorAll('.message math mfrac').length") == 1
        words = page.js("document.querySelector('.changes pre ins').textContent")
        assert "2" in words
        assert page.errors == []
    finally:
        page.close()
