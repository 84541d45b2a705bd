"""The page of the leaderboard in a real browser."""

import copy

import pytest

from evalprep.cli import main
from tests.evalprep.leaderboard import runs
from tests.evalprep.leaderboard.runs import make_pack, write_all
from tests.evalprep.report import chromium

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(chromium.find() is None, reason="no Chromium; CHROMIUM may name one"),
]


def test_the_page_draws_sorts_and_asks_for_nothing(tmp_path):
    results = write_all(tmp_path)
    packs = ["--template_dir", str(make_pack(tmp_path))]
    reference = ["--reference", str(results / "saves__retain90")]
    assert (
        main(["leaderboard", str(results), *reference, *packs, "--out", str(tmp_path / "out")]) == 0
    )
    page = chromium.Page()
    try:
        page.size(1280)
        page.open(tmp_path / "out" / "leaderboard.html")
        names = "[...document.querySelectorAll('#shown tbody th')].map(cell => cell.textContent)"
        page.click("#shown thead th:nth-child(3) button")
        first = page.js(names)
        assert first[0].endswith("(reference)")
        assert first[1] == "ga/checkpoint-100"  # the lowest share of secrets
        assert first[-1] == "saves/limited"
        page.click("#shown thead th:nth-child(3) button")
        assert page.js(names)[1].endswith("checkpoint-2")
        assert page.js("document.querySelectorAll('svg circle title').length") > 20
        page.size(400)
        assert page.js("document.documentElement.scrollWidth <= innerWidth")
        assert (
            page.js("document.querySelector('#shown tbody td').getBoundingClientRect().height") < 80
        )
        assert page.errors == []
        assert [
            request
            for request in page.requests
            if not request.startswith(("file:", "about:", "data:"))
        ] == []
    finally:
        page.close()


def test_rows_are_sorted_below_a_heat_map(tmp_path, monkeypatch):
    pack = copy.deepcopy(runs.PACK)
    for score, section in (("kept", "Knowledge"), ("secrets_recited", "Privacy")):
        pack["suite_scores"][score]["tags"] = {"principle": section, "requirement": score}
    monkeypatch.setattr(runs, "PACK", pack)
    results = write_all(tmp_path)
    packs = ["--template_dir", str(make_pack(tmp_path))]
    out = ["--out", str(tmp_path / "out"), "--format", "html"]
    assert main(["leaderboard", str(results), *packs, *out]) == 0
    page = chromium.Page()
    try:
        page.open(tmp_path / "out" / "leaderboard.html")
        headings = "[...document.querySelectorAll('#sections .level1')].map(row => row.textContent)"
        assert page.js(headings) == ["Privacy", "Knowledge"]
        page.click("#shown thead th:nth-child(3) button")
        assert page.js("document.querySelector('#shown tbody th').textContent").endswith("-100")
        assert page.errors == []
    finally:
        page.close()
