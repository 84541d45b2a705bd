"""The overview of many runs in headless Chromium: filter, order, paired bars, the worst word."""

import pytest

from evalprep.cli import main
from tests.evalprep.report import axe, chromium
from tests.evalprep.results.writing import Row, write_run
from tests.loops import each

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        chromium.find() is None, reason="no Chromium on this machine (apt-get install chromium)"
    ),
]
#: Task -> rows that the two candidates lose of 100; the baseline has all of them right.
LOST = {"arc": (40, 0), "math": (0, 10), "<b>quiz": (60, 30)}


def rows(lost):
    return [Row(f"q{at}", correct=float(at >= lost)) for at in range(100)]


@pytest.fixture(scope="module")
def report_file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("many")
    places = [
        write_run(folder / name, {task: rows(lost[at]) for task, lost in LOST.items()})
        for at, name in enumerate(("first", "second"))
    ]
    baseline = write_run(folder / "base", {task: rows(0) for task in LOST})
    words = ["--baseline", str(baseline), "--label", "step-1,step-2,base", "--out", str(folder)]
    assert main(["report", *map(str, places), *words]) == 0
    return folder / "report.html"


@pytest.fixture(scope="module")
def browser():
    page = chromium.Page()
    yield page
    page.close()


@pytest.fixture
def page(browser, report_file):
    browser.errors.clear()
    browser.size(1280)
    browser.open(report_file)
    yield browser
    assert browser.errors == []


def texts(page, selector):
    """The texts of the elements that are shown."""
    return page.js(
        f"[...document.querySelectorAll({selector!r})].filter((one) => one.offsetParent)"
        ".map((one) => one.textContent.trim())"
    )


def write(page, letters):
    page.js(
        "(() => { const box = document.querySelector('input[name=filter]');"
        f" box.value = {letters!r}; box.dispatchEvent(new Event('input')); }})()"
    )


def names(page):
    return texts(page, ".forest tbody .name")


def test_the_worst_word_is_a_badge(page):
    assert texts(page, "#top .badge .chip") == ["▼ Worse"]
    assert texts(page, ".card h3 .chip") == ["▼ Worse", "▼ Worse"]


def test_a_filter_leaves_runs_or_tasks(page):
    everything = names(page)
    assert sorted(everything) == sorted(LOST)
    write(page, "STEP-2")
    assert len(texts(page, ".card")) == 1
    assert names(page) == everything
    assert texts(page, ".legend .key") == ["step-2"]
    assert texts(page, ".filter [role=status]") == ["1 of 3 runs"]
    write(page, "mat")
    assert names(page) == ["math"]
    assert len(texts(page, ".card")) == 2
    assert texts(page, ".filter [role=status]") == ["1 of 3 rows"]
    write(page, "")
    assert names(page) == everything


def test_a_heading_sorts_by_its_column(page):
    """By the candidate that is shown: the first one, or what the filter leaves."""
    button = ".forest thead th:nth-child(4) .sort"
    page.click(button)
    assert names(page) == ["<b>quiz", "arc", "math"]
    page.click(button)
    assert names(page) == ["math", "arc", "<b>quiz"]
    order = page.js("document.querySelector('.forest thead th:nth-child(4)').ariaSort")
    assert order == "descending"
    write(page, "step-2")
    page.click(button)
    assert names(page) == ["<b>quiz", "math", "arc"]
    page.click(".forest thead th:nth-child(1) .sort")
    assert names(page) == ["<b>quiz", "arc", "math"]


def test_pairs_are_bars_from_zero(page):
    labels = page.js(
        "[...document.querySelectorAll('svg.differences')].map((one) => one.getAttribute('aria-label'))"
    )
    assert len(labels) == len(LOST)
    (of_arc,) = (label for label in labels if label.startswith("step-1 minus base: \u221240.0 ("))
    assert "), worse; step-2 minus base: 0.0" in of_arc
    bars = page.js("document.querySelectorAll('svg.differences rect').length")
    assert bars == 2 * len(LOST)
    assert page.js("document.querySelectorAll('.forest svg.intervals').length") == 0


def test_the_overview_is_accessible(page, report_file):
    for scheme in each(("light", "dark")):
        page.scheme(scheme)
        page.open(report_file)
        assert axe.violations(page) == []
