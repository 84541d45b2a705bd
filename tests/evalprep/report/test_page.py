from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalprep.report import build_report
from evalprep.report.align import UNPARSED
from evalprep.report.page import render
from evalprep.report.text import common_start, pack, preview, shorten
from evalprep.results import load_run
from tests.evalprep.report.runs import HOSTILE, capitals, line, write_run
from tests.loops import each


@pytest.fixture(scope="module")
def page(two_report) -> str:
    return "".join(render(two_report))


def block(page, pattern):
    return re.search(rf"<script {pattern}>(.*?)</script>", page, re.DOTALL).group(1)


def unpack(text):
    return json.loads(gzip.decompress(base64.b64decode(text)))


def test_the_embedded_document_is_the_document(page, two_report):
    assert json.loads(block(page, 'type="application/json" id="document"')) == two_report.document


def test_the_policy_allows_this_script_and_this_style_and_nothing_else(page):
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', page).group(1))
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == rules["connect-src"] == "'none'"
    for kind, text in (
        ("script-src", page.rsplit("<script>", 1)[1].split("</script>")[0]),
        ("style-src", block_style(page)),
    ):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[kind] == f"'sha256-{digest}'"
    assert rules["require-trusted-types-for"] == "'script'"


def block_style(page):
    return re.search(r"<style>(.*?)</style>", page, re.DOTALL).group(1)


def test_nothing_in_the_page_loads_anything(page):
    outside = re.sub(r"<script[^>]*>.*?</script>|<style>.*?</style>", "", page, flags=re.DOTALL)
    assert re.findall(r"(?:src|href)\s*=\s*[\"']?([^\"'> ]+)", outside) == ["data:,", "#main"]
    assert "url(" not in block_style(page)
    assert "@import" not in block_style(page)


def test_the_script_never_makes_markup_of_text(page):
    script = page.rsplit("<script>", 1)[1]
    for forbidden in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "Function(",
    ):
        assert forbidden not in script


def test_hostile_texts_meet_the_html_parser_nowhere(page):
    assert page.count("<script") == page.count("</script>") == 3 + page.count('class="chunk"')
    assert (
        "window.hacked"
        not in page.replace("\\u003c", "<")
        .split('<script type="text/plain"')[0]
        .split("<title>")[1]
        .split("</title>")[0]
    )
    for character in ("\u202e", "\u2067", "\x07", "\x00", "\x1b", "\u200b"):
        assert character not in page


def test_every_sample_is_in_the_chunks_with_its_texts(page, two_runs, two_report):
    index = unpack(block(page, 'type="text/plain" id="index"'))
    chunks = [unpack(text) for text in re.findall(r'class="chunk">(.*?)</script>', page)]
    assert len(index["id"]) == two_report.document["samples"]["rows"] == 40 + 20 + len(HOSTILE)
    by_id = {
        one: chunks[chunk][at]
        for one, chunk, at in zip(index["id"], index["chunk"], index["at"], strict=True)
    }
    for sample in two_runs[0].tasks["capitals"].samples():
        shown = by_id[sample.sample_id]
        assert shown["prompt"] == sample.prompt
        assert shown["published"] == sample.previous_output
        assert shown["replies"][0]["output"] == sample.response
        assert shown["replies"][0]["answers"]["flexible-extract"] == sample.answer
        assert list(shown["replies"][0]["answers"]) == ["flexible-extract", "strict-match"]
        assert shown["columns"] == {"year": sample.doc["year"]}
    gone = by_id["capital-00000"]
    assert gone["replies"][1] is None


def test_hostile_texts_survive_unchanged_as_data(page):
    index = unpack(block(page, 'type="text/plain" id="index"'))
    chunks = [unpack(text) for text in re.findall(r'class="chunk">(.*?)</script>', page)]
    task = index["task"].index(1)
    rows = [chunks[index["chunk"][task + at]][index["at"][task + at]] for at in range(len(HOSTILE))]
    for text, row in each(zip(HOSTILE.values(), rows, strict=True)):
        expected = text.replace("\ud83d", "?")  # half a character cannot be written as UTF-8
        assert row["target"] == expected
        assert row["replies"][0]["output"] == f"{expected} reply"


def test_flips_and_flags_agree_with_the_comparison(two_report, page):
    index = unpack(block(page, 'type="text/plain" id="index"'))
    for number, comparison in enumerate(two_report.document["comparisons"]):
        flips = index["flip"][number]
        assert flips.count(1) == sum(task["gained"] for task in comparison["tasks"])
        assert flips.count(2) == sum(task["lost"] for task in comparison["tasks"])
        for cause in {cause for task in comparison["tasks"] for cause in task["causes"]}:
            code = index["causes"][number].index(cause)
            expected = sum(task["causes"].get(cause, 0) for task in comparison["tasks"])
            assert (
                sum(
                    1
                    for one, flip in zip(index["cause"][number], flips, strict=True)
                    if flip and one == code
                )
                == expected
            )
    capitals_flags = [
        flags for flags, task in zip(index["flags"][1], index["task"], strict=True) if task == 0
    ]
    assert capitals_flags.count(-1) == 3
    assert sum(1 for flags in capitals_flags if flags >= 0 and flags & UNPARSED) == 2


def test_a_limit_keeps_every_flip_and_says_what_it_left_out(tmp_path):
    run = load_run(
        write_run(tmp_path / "run", {"capitals": capitals(200, wrong=10, unread=0)}, model="m")
    )
    report = build_report([run], max_samples=70)
    index = unpack(report.index)
    comparison = report.document["comparisons"][0]["tasks"][0]
    assert report.document["samples"] == {"rows": 200, "shown": 70, "max_chars": 20_000}
    assert len(index["id"]) == len(set(index["id"])) == 70
    assert (
        sum(1 for flip in index["flip"][0] if flip)
        == comparison["gained"] + comparison["lost"]
        == 47
    )
    assert report.document["tasks"][0]["runs"][0]["rows"] == 200


def test_fewer_places_than_flips(tmp_path):
    run = load_run(
        write_run(tmp_path / "run", {"capitals": capitals(100, wrong=0, unread=0)}, model="m")
    )
    report = build_report([run], max_samples=3)
    assert len(unpack(report.index)["id"]) == 3


def test_long_texts_lose_their_middle(tmp_path):
    run = load_run(
        write_run(tmp_path / "run", {"capitals": capitals(5, wrong=0, unread=0)}, model="m")
    )
    report = build_report([run], max_chars=20)
    prompt = unpack(report.chunks[0])[0]["prompt"]
    assert prompt.startswith("Answer wit")
    assert "characters left out" in prompt


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda one: st.lists(one) | st.dictionaries(st.text(), one),
    )
)
def test_packing_keeps_every_value_that_utf8_can_hold(value):
    assert unpack(pack(value)) == value


def test_packing_into_room_replaces_what_was_there():
    room = bytearray(b"a longer value that was packed before")
    assert unpack(pack([1], room)) == [1]


def test_half_a_character_beside_a_value_that_is_no_number():
    assert unpack(pack(["half \ud83d", float("nan")])) == ["half ?", None]


@given(st.text(), st.text())
def test_previews_are_short_and_on_one_line(prompt, common):
    found = preview(prompt, common)
    assert len(found) <= 110
    assert "\n" not in found


@given(st.lists(st.text(alphabet="ab:\n", max_size=12), min_size=1, max_size=5))
def test_what_prompts_share_begins_all_of_them(prompts):
    shared = common_start(prompts)
    assert all(prompt.startswith(shared) for prompt in prompts)


@given(st.text(), st.integers(1, 50))
def test_shortening_keeps_beginning_and_end(text, limit):
    found = shorten(text, limit)
    assert found == text if len(text) <= limit else found.startswith(text[: limit - limit // 2])


def test_a_changed_prompt_of_any_length_has_its_original(tmp_path):
    long = "word " * 400
    rows = [
        {"sample_id": f"r/{at}", "prompt": text, "original_prompt": f"{long}end", "target": "a"}
        for at, text in enumerate((f"{long}end", f"{long}ebd"))
    ]
    sent = [{**line(at, row, "reply", "a", "none", exact_match=1.0)} for at, row in enumerate(rows)]
    for one in sent:  # with chat markup around it, as a model gets it
        one["arguments"]["gen_args_0"]["arg_0"] = f"<|user|>{one['doc']['prompt']}<|assistant|>"
    run = load_run(write_run(tmp_path, {"robust": iter(sent)}, model="org/model"))
    report = build_report([run], created="2026-01-02T00:00:00+00:00")
    (chunk,) = (unpack(text) for text in report.chunks)
    assert [one["changed"] for one in chunk] == [[], [f"{long}end", f"{long}ebd"]]
    assert all("original_prompt" not in one["columns"] for one in chunk)


def test_a_number_that_is_no_verdict_is_shown_as_a_number(page, two_report):
    """A cross means wrong: a difference of 0.3, where less is better, is not wrong."""
    tasks = {task["name"]: at for at, task in enumerate(two_report.document["tasks"])}
    assert two_report.document["tasks"][tasks["summaries"]]["graded"]
    assert not two_report.document["tasks"][tasks["capitals"]]["graded"]
    index = unpack(block(page, 'type="text/plain" id="index"'))
    for scores, texts in zip(index["score"], index["graded"], strict=True):
        graded = [row for row, task in enumerate(index["task"]) if task == tasks["summaries"]]
        assert {int(row) for row in texts} == {row for row in graded if scores[row] is not None}
        assert all(
            float(text) == pytest.approx(scores[int(row)], abs=1e-4) for row, text in texts.items()
        )


def test_without_scripts_the_numbers_are_there_as_text(page, two_report):
    text = re.search(r"<noscript>.*<pre>(.*)</pre></div></noscript>", page, re.DOTALL).group(1)
    assert "<" not in text
    read = html.unescape(text)
    for comparison in each(two_report.document["comparisons"]):
        assert all(f"| {task['name']} |" in read for task in comparison["tasks"])
    assert re.search(r"\| capitals \| [\d/]+ \| \d+\.\d \[", read)
