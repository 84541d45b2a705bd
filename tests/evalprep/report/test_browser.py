"""The page in a real browser: clicks, keys, filters, search, hostile texts, 50,000 samples."""

from __future__ import annotations

import contextlib
import itertools
import json
import re
import time

import pytest

from evalprep.report import build_report, write_report
from evalprep.report.shown import shown_of
from evalprep.results import load_run
from tests.evalprep.report import chromium
from tests.evalprep.report.runs import HOSTILE, line, many, write_run

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        chromium.find() is None, reason="no Chromium on this machine (apt-get install chromium)"
    ),
]
VIEWS = ("overview", "comparison", "subtasks", "scores", "extraction", "samples", "facts")
# Generous: a continuous-integration machine is slow and busy.
SECONDS_TO_OPEN = 20
SECONDS_TO_FILTER = 3
SECONDS_TO_SEARCH = 60


@pytest.fixture(scope="module")
def browser():
    page = chromium.Page()
    yield page
    page.close()


@pytest.fixture
def page(browser, report_file):
    """The report of two runs in a fresh tab; afterwards it must have asked for nothing and complained of nothing."""
    browser.requests.clear()
    browser.errors.clear()
    browser.size(1280)
    browser.scheme("light")
    browser.open(report_file)
    yield browser
    assert set(browser.requests) <= {report_file.resolve().as_uri()}
    assert browser.errors == []
    assert browser.js("window.hacked") is None


@pytest.fixture(scope="module")
def report_file(tmp_path_factory, two_report):
    document = two_report.document | {"scores": [SCORE], "title": f"Report {HOSTILE['script']}"}
    document["shown"] = shown_of(document)
    two_report = type(two_report)(document, two_report.index, two_report.chunks)
    return write_report(two_report, tmp_path_factory.mktemp("page"))[0]


SCORE = {
    "name": "quality",
    "title": "Quality",
    "pack": "pack",
    "better": "up",
    "range": [0.0, 1.0],
    "unit": "",
    "explain": f"One sentence. {HOSTILE['image']}",
    "published": [
        {
            "score": "quality",
            "value": 0.0625,
            "source": "https://example.invalid/paper",
            "note": "",
            "sanity": False,
        }
    ],
    "runs": [
        {
            "agg_value": 1.0966e-19,
            "few_read": "",
            "reference": 0.5,
            "interval": [0.0, 0.125],
            "n": 400,
            "parts": {"first": 0.25, HOSTILE["bidi"]: 0.75},
            "notes": [HOSTILE["script"]],
            "distributions": {
                "model": {"n": 3, "values": [0.1, 0.2, 0.4]},
                "reference": {"n": 2, "values": [0.6, 0.9]},
            },
        },
        {
            "agg_value": None,
            "few_read": "",
            "reference": None,
            "reason": "no reference run",
            "notes": [],
            "distributions": {},
        },
    ],
}


def view(page, name):
    page.click(f"#views a[data-view={name}]")
    page.wait(f"document.querySelector('main').dataset.view === '{name}'")
    if name == "samples":
        page.wait(
            "document.querySelector('.item') && (innerWidth < 800 || document.querySelector('#sample-title'))"
        )


def status(page):
    return page.js("document.querySelector('.status').textContent")


@pytest.mark.parametrize("name", VIEWS)
def test_every_number_is_that_of_the_json(page, name, report_file):
    view(page, name)
    document = json.loads(page.js("document.getElementById('document').textContent"))
    numbers = page.js(
        """[...document.querySelectorAll('main data')].map(
        (node) => [node.dataset.path, node.getAttribute('value'), node.textContent])"""
    )
    assert numbers or name == "samples"
    for path, full, text in numbers:
        value, shown = document, document["shown"]
        for key in json.loads(path):
            value, shown = value[key], shown[key]
        assert float(full) == value, path
        assert text == shown, path
    for path in page.js(
        "[...document.querySelectorAll('main .none[data-path]')].map((node) => node.dataset.path)"
    ):
        with contextlib.suppress(LookupError, TypeError):
            value = document
            for key in json.loads(path):
                value = value[key]
            assert value is None, f"{path} is known and shown as absent"


def test_decimals_round_ties_as_the_terminal_does(page):
    """81.25 is exactly between 81.2 and 81.3; Python goes to the even one."""
    view(page, "scores")
    assert page.js("document.querySelector('[data-path*=published]').textContent") == "0.0625"
    view(page, "subtasks")
    shown = page.js(
        "[...document.querySelectorAll('main data[value=\"0.8125\"]')].map((node) => node.textContent)"
    )
    assert set(shown) == {f"{81.25:.1f}"}


def test_a_count_of_flips_opens_those_samples(page, two_report):
    view(page, "comparison")
    lost = two_report.document["comparisons"][0]["tasks"][0]["lost"]
    page.click("main a[href*='flip=lost'][href*='task=capitals']")
    page.wait("document.querySelector('.status') && document.querySelector('.item')")
    assert status(page).startswith(f"{lost} of ")
    assert page.js("document.querySelector('select[name=task]').value") == "capitals"
    assert page.js("document.querySelector('select[name=flip]').value") == "lost"


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        pytest.param({"task": "capitals"}, 40, id="task"),
        pytest.param({"task": "capitals", "subtask": "Europe"}, 16, id="subtask"),
        pytest.param({"reply": "unparsed"}, 2, id="no answer found"),
        pytest.param({"reply": "truncated"}, 2, id="cut off"),
        pytest.param({"task": "capitals", "verdict": "wrong"}, 6, id="wrong"),
        pytest.param(
            {"task": "capitals", "verdict": "right", "run": "1"}, 29, id="right in the other run"
        ),
        pytest.param({"task": "summaries", "verdict": "graded"}, 20, id="graded"),
        pytest.param({"comparison": "2", "flip": "gained"}, 5, id="gained over the other run"),
    ],
)
def test_filters_count_what_was_planted(page, filters, expected):
    view(page, "samples")
    for name, value in filters.items():
        page.choose(name, value)
    page.wait(f"document.querySelector('.status').textContent.startsWith('{expected} of ')", 10)
    page.click(".search button")
    page.wait(
        f"document.querySelector('.status').textContent.startsWith('{60 + len(HOSTILE)} of ')", 10
    )


def test_search_reads_prompts_outputs_and_answers(page):
    view(page, "samples")
    for text, expected in (
        ("Atlantis", 9),
        ("capital of NORWAY", 8),
        ("capital-00007", 1),
        ("nowhere at all", 0),
    ):
        page.js("document.querySelector('input[name=search]').value = ''")
        page.click("input[name=search]")
        page.type(text)
        page.wait(f"document.querySelector('.status').textContent.startsWith('{expected} of ')", 10)
    page.js("document.querySelector('input[name=search]').value = ''")
    page.click("input[name=search]")
    page.type("atlantis")
    page.wait("document.querySelector('.detail mark')?.textContent === 'Atlantis'")


def test_the_address_keeps_the_view(page, report_file):
    page.open(report_file, "#samples?task=capitals&flip=any&comparison=2&search=oslo")
    page.wait(
        "document.querySelector('.status') && !document.querySelector('.samples').hasAttribute('aria-busy')"
    )
    assert page.js("document.querySelector('input[name=search]').value") == "oslo"
    first = status(page)
    view(page, "overview")
    page.js("history.back()")
    page.wait(
        "document.querySelector('main').dataset.view === 'samples' && document.querySelector('.status')"
    )
    page.wait("!document.querySelector('.samples').hasAttribute('aria-busy')")
    assert status(page) == first


def test_a_sample_shows_everything(page, two_runs, report_file):
    page.open(report_file, "#samples?task=capitals&search=capital-00005")
    page.wait("document.querySelector('#sample-title')")
    sample = next(
        sample
        for sample in two_runs[0].tasks["capitals"].samples()
        if sample.sample_id == "capital-00005"
    )
    text = page.js("document.querySelector('.detail').textContent")
    for part in (
        sample.prompt,
        sample.response,
        sample.previous_output,
        sample.target,
        "no answer could be extracted",
    ):
        assert part in text
    assert "flexible-extract" in text
    assert "strict-match" in text


def test_keyboard_alone_reaches_and_reads_samples(page):
    view(page, "samples")
    page.js("document.querySelector('.list').focus()")
    page.press("Home")
    first = page.js("document.querySelector('[aria-selected=true]').textContent")
    page.press("ArrowDown", 3)
    assert (
        page.js("document.querySelector('[aria-selected=true]').getAttribute('aria-posinset')")
        == "4"
    )
    page.press("End")
    page.wait(
        f"document.querySelector('[aria-selected=true]').getAttribute('aria-posinset') === '{60 + len(HOSTILE)}'"
    )
    page.press("Home")
    assert page.js("document.querySelector('[aria-selected=true]').textContent") == first
    page.press("Enter")
    page.wait("document.activeElement.id === 'sample-title'")
    page.press("j")
    page.wait(
        "document.querySelector('[aria-selected=true]').getAttribute('aria-posinset') === '2'"
    )
    page.press("/")
    assert page.js("document.activeElement.name") == "search"


def test_tab_visits_everything_with_a_visible_focus(page):
    seen = set()
    for _ in range(14):
        page.press("Tab")
        style = page.js(
            """(() => { const style = getComputedStyle(document.activeElement);
            const text = document.activeElement.textContent.slice(0, 30);
            return [text, style.outlineStyle, parseFloat(style.outlineWidth)]; })()"""
        )
        seen.add(style[0])
        assert style[1] == "solid", style
        assert style[2] >= 2, style
    assert {"Skip to the content", "Overview", "Comparison", "Samples"} <= seen
    assert any(text.startswith("Theme") for text in seen)


CONTRAST = """(() => {
  const parse = (text) => { const n = text.match(/[\\d.]+/g).map(Number);
    const scale = text.startsWith('color(') ? 255 : 1; return [n[0] * scale, n[1] * scale, n[2] * scale, n[3] ?? 1]; };
  const light = ([r, g, b]) => [r, g, b].map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (node) => { for (; node; node = node.parentElement) {
    const c = parse(getComputedStyle(node).backgroundColor); if (c[3] === 1) return c; } return [255, 255, 255]; };
  const poor = [];
  for (const node of document.querySelectorAll('body *')) {
    if (![...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim())) continue;
    if (['SCRIPT', 'NOSCRIPT', 'STYLE', 'OPTION'].includes(node.tagName) || !node.getClientRects().length) continue;
    const style = getComputedStyle(node);
    const ink = parse(node instanceof SVGElement ? style.fill : style.color);
    const [a, b] = [light(ink), light(ground(node))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const name = node.className.baseVal ?? node.className;
    if (ratio < 4.5) poor.push([node.tagName, name, node.textContent.slice(0, 20), ratio]);
  }
  return poor;
})()"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", VIEWS)
def test_contrast_is_enough_everywhere(page, name, scheme):
    page.scheme(scheme)
    view(page, name)
    time.sleep(0.25)  # colours of links fade
    assert page.js(CONTRAST) == []


def test_theme_follows_the_system_and_the_button(page):
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    light = page.js(ground)
    page.scheme("dark")
    dark = page.js(ground)
    assert dark != light
    page.click("#theme")
    page.scheme("light")
    assert page.js(ground) == dark
    assert page.js("document.querySelector('#theme').textContent") == "Theme: dark"
    page.click("#theme")
    page.scheme("dark")
    assert page.js(ground) == light
    page.click("#theme")
    assert page.js(ground) == dark


@pytest.mark.parametrize("name", VIEWS)
def test_nothing_sticks_out_at_400_pixels(page, name):
    page.size(400, 800)
    view(page, name)
    assert page.js("document.documentElement.scrollWidth") == 400
    if name == "samples":
        assert page.js("document.querySelector('.list').clientHeight") > 300
        page.click(".item")
        page.wait("document.querySelector('.reading .detail')?.getClientRects().length")
        assert page.js("document.documentElement.scrollWidth") == 400
        page.click(".back")
        assert page.js("getComputedStyle(document.querySelector('.left')).display") != "none"


def test_the_means_above_subtasks_are_one_sentence(page):
    view(page, "subtasks")
    text = page.js("document.querySelector('main section .legend .key').innerText")
    assert re.fullmatch(r"\s*mean of subtasks [\d.]+, mean of rows [\d.]+", text)


def test_labels_of_the_differences_do_not_touch(page):
    page.size(1280, 900)
    view(page, "comparison")
    gaps = page.js(
        "[...document.querySelector('.axis').children].map((node) => {"
        " const range = document.createRange(); range.selectNodeContents(node);"
        " const box = range.getBoundingClientRect(); return [box.left, box.right]; })"
    )
    assert len(gaps) == 3
    assert all(before[1] < after[0] for before, after in itertools.pairwise(gaps))


@pytest.mark.parametrize("name", VIEWS)
def test_tables_and_pictures_are_named(page, name):
    view(page, name)
    for nodes, condition in (
        ("table", "node.caption && node.caption.textContent.trim()"),
        ("table", "node.querySelector('th[scope=col]') && node.querySelector('th[scope=row]')"),
        ("main svg", "node.getAttribute('aria-label') || node.getAttribute('aria-hidden')"),
        ("input, select", "node.labels.length || node.getAttribute('aria-label')"),
    ):
        assert page.js(f"[...document.querySelectorAll('{nodes}')].every((node) => {condition})"), (
            nodes
        )


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_stay_texts(page, name, report_file):
    page.open(report_file, "#samples?task=hostile")
    page.wait("document.querySelector('#sample-title')")
    position = list(HOSTILE).index(name)
    page.js("document.querySelector('.list').focus()")
    page.press("Home")
    page.press("ArrowDown", position)
    ending = json.dumps(f"prompt {name}")
    page.wait(f"document.querySelector('.prompt .text')?.textContent.endsWith({ending})")
    shown = page.js("document.querySelector('.prompt .text').textContent")
    for character in ("\u202e", "\u2067", "\u0007", "\u001b", "\u200b", "\ufeff"):
        assert character not in shown
        if character in HOSTILE[name]:
            assert f"U+{ord(character):04X}" in shown
    if name in {"script", "image", "comment", "formula", "entity", "template", "url", "emoji"}:
        assert shown == f"{HOSTILE[name]} prompt {name}"
    assert (
        page.js(
            "document.querySelectorAll('main script, main img, main iframe, main [onerror]').length"
        )
        == 0
    )
    assert page.js(
        "[...document.querySelectorAll('a')].every(a => /^(#|https?:)/.test(a.getAttribute('href')))"
    )


@pytest.fixture(scope="module")
def big_file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("big")
    run = load_run(write_run(folder / "run", {"many": many(50_000)}, model="org/Big-7B"))
    return write_report(build_report([run]), folder / "report")[0]


def test_fifty_thousand_samples_open_filter_and_search(browser, big_file):
    browser.requests.clear()
    browser.errors.clear()
    browser.size(1280)
    assert browser.open(big_file) < SECONDS_TO_OPEN
    start = time.monotonic()
    view(browser, "samples")
    assert time.monotonic() - start < SECONDS_TO_OPEN
    assert status(browser) == "50,000 of 50,000 samples"
    assert browser.js("document.querySelectorAll('.item').length") < 60, "only rows in sight exist"
    for name, value, expected in (
        ("verdict", "right", "37,500"),
        ("reply", "unparsed", "0"),
        ("verdict", "", "6,250"),
    ):
        start = time.monotonic()
        browser.choose(name, value)
        browser.wait(
            f"document.querySelector('.status').textContent.startsWith('{expected} of ')",
            SECONDS_TO_FILTER,
        )
        assert time.monotonic() - start < SECONDS_TO_FILTER
    browser.click(".search button")
    browser.wait(
        "document.querySelector('.status').textContent.startsWith('50,000 of ')", SECONDS_TO_FILTER
    )
    browser.js("document.querySelector('.list').focus()")
    browser.press("End")
    browser.wait(
        "document.querySelector('[aria-selected=true]')?.getAttribute('aria-posinset') === '50000'",
        SECONDS_TO_FILTER,
    )
    browser.wait(
        "document.querySelector('.detail').textContent.includes('row-49999')", SECONDS_TO_FILTER
    )
    browser.click("input[name=search]")
    browser.type("xylophon")
    browser.wait(
        "document.querySelector('.status').textContent.startsWith('1 of ') && !document.querySelector('[aria-busy]')",
        SECONDS_TO_SEARCH,
    )
    browser.wait(
        "document.querySelector('.detail').textContent.includes('row-43210')", SECONDS_TO_FILTER
    )
    assert browser.errors == []
    assert set(browser.requests) == {big_file.resolve().as_uri()}


def test_the_overview_names_the_tasks_that_moved(page, two_report, tmp_path):
    document = json.loads(json.dumps(two_report.document))
    against = next(
        comparison for comparison in document["comparisons"] if comparison["before"] == 1
    )
    against["overall"] = None  # graded tasks alone: there is no number for all samples
    against["tasks"][0]["verdict"], against["tasks"][1]["verdict"] = "worse", "better"
    report = type(two_report)(document, two_report.index, two_report.chunks)
    file = write_report(report, tmp_path)[0]
    page.open(file)
    page.requests.clear()
    cards = page.js("[...document.querySelectorAll('.card')].map((card) => card.innerText)")
    assert len(cards) == len(document["comparisons"])
    card = " ".join(cards[document["comparisons"].index(against)].split())
    first, second = (task["task"] for task in against["tasks"][:2])
    assert f"Worse {first}" in card
    assert f"Better {second}" in card
    for one, text in zip(document["comparisons"], cards, strict=True):
        moved = any(task["verdict"] != "no difference shown" for task in one["tasks"])
        assert ("No difference is shown in any of" in text) == (len(one["tasks"]) > 1 and not moved)


def test_what_was_changed_in_a_prompt_is_marked(browser, tmp_path):
    original = (
        "Explain in two sentences, <b>plainly</b>, why leaves change colour. " + "Rain fell. " * 40
    )
    changed = original.replace("leaves change", "lesves CHANGE").replace("Explain in", "Explainin")
    rows = [
        {"sample_id": f"r/{at}", "prompt": text, "original_prompt": original, "target": "a"}
        for at, text in enumerate((original, changed))
    ]
    lines = [line(at, row, "reply", "a", "none", exact_match=1.0) for at, row in enumerate(rows)]
    for one in lines:
        one["arguments"]["gen_args_0"]["arg_0"] = f"<|user|>{one['doc']['prompt']}<|assistant|>"
    run = load_run(write_run(tmp_path / "run", {"robust": iter(lines)}, model="org/model"))
    file = write_report(
        build_report([run], created="2026-01-02T00:00:00+00:00"), tmp_path / "page"
    )[0]
    browser.size(1280)
    browser.open(file)
    view(browser, "samples")
    browser.press("j")
    browser.wait("document.querySelector('.detail').textContent.includes('r/1')")
    marked = browser.js(
        "['del', 'ins'].map((kind) => [...document.querySelectorAll('.changes ' + kind)].map((one) => one.textContent))"
    )
    assert [" ".join(words).split() for words in marked] == [
        ["Explain", "in", "leaves", "change"], ["Explainin", "lesves", "CHANGE"],
    ]  # fmt: skip
    assert browser.errors == []
