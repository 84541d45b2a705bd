"""Data that hold control characters change nothing on a terminal, whatever verb prints them."""

import csv
import io
import json
import re
import sys
from types import SimpleNamespace

import pytest

from evalprep.cli import VERBS, main
from evalprep.tables import harmless
from evalprep.terminal import console, guarded, raw, visible
from tests.evalprep.results.writing import Row, write_run

ATTACK = "\x1b[2J\x1b]0;owned\x07\x9b31m\r\b\x00\u202eright\u2066"
ACTING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def attacked(name):
    row = {
        "response": f"reply {ATTACK}",
        "answer": f"A{ATTACK}",
        "prompt": f"Question {ATTACK}?",
        "subtask": f"s{ATTACK}",
    }
    return [
        Row(
            f"{name}{ATTACK}",
            correct=float(at % 2),
            previous=float(at % 3 == 0),
            published=f"p{ATTACK}",
            **row,
        )
        for at in range(6)
    ]


@pytest.fixture
def run(tmp_path):
    rows = [row for at, row in enumerate(attacked("r"))]
    for at, row in enumerate(rows):
        row.sample_id = f"{row.sample_id}{at}"
    metadata = {"version": 1.0, "pack": f"x{ATTACK}", "reference": f"/nowhere/{ATTACK}"}
    return write_run(
        tmp_path, {"t": rows}, metadata=metadata, model_args={"pretrained": f"org/{ATTACK}"},
        extra={"model_name": f"org/{ATTACK}"},
    )  # fmt: skip


@pytest.mark.parametrize(
    "words",
    [["compare"], ["compare", "--json"], ["score"], ["score", "--json"], ["report", "--out", "page"], ["status"],
     pytest.param(["rescore"], marks=pytest.mark.slow), ["gate", "SAME", "--policy", "policy.yaml"], ["judge", "--model", "m", "--dry_run"]],
    ids=" ".join,
)  # fmt: skip
def test_no_verb_prints_what_a_terminal_acts_on(run, tmp_path, monkeypatch, capsys, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policy.yaml").write_text("defaults: {max_drop: 0.5}\n")
    verb, *rest = words
    main([verb, str(run), *(str(run) if one == "SAME" else one for one in rest)])
    said = capsys.readouterr()
    assert said.out + said.err
    assert ACTING.findall(said.out + said.err) == []
    if "--json" in rest:
        json.loads(said.out)


def test_preview_shows_prompts_with_their_control_characters_written_out(tmp_path, capsys):
    rows = tmp_path / "rows.jsonl"
    rows.write_text(
        "".join(
            json.dumps({"question": f"{n} {ATTACK}?", "answer": f"{n}"}) + "\n" for n in range(2)
        )
    )
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "t.yaml").write_text(
        f"task: t\ndataset_path: json\ndataset_kwargs: {{data_files: {{test: {rows}}}}}\ntest_split: test\n"
        "output_type: generate_until\ndoc_to_text: question\ndoc_to_target: answer\nnum_fewshot: 0\n"
        'generation_kwargs: {until: ["\\n"], do_sample: false, temperature: 0.0, max_gen_toks: 8}\n'
        "metric_list:\n  - {metric: exact_match, aggregation: mean, higher_is_better: true}\n"
        "fewshot_config: {sampler: first_n, samples: []}\n"
    )
    assert main(["preview", "t", "--include_path", str(tmp_path / "tasks")]) == 0
    said = capsys.readouterr().out
    assert ACTING.findall(said) == []
    assert "\\u001b[2J" in said


def test_our_own_colours_reach_the_terminal_and_those_of_data_do_not():
    file = io.StringIO()
    console(file, force_terminal=True, width=60, highlight=False).print(
        "[red]fine[/red]", "\x1b[31mnot fine"
    )
    assert "\x1b[31mfine" in file.getvalue()
    assert "\\u001b[31mnot fine" in file.getvalue()


def test_streams_are_given_back():
    before = sys.stdout
    with guarded():
        assert raw(sys.stdout) is before
    assert sys.stdout is before
    assert visible("tab\tline\nß東") == "tab\tline\nß東"


FORMULAS = [
    "=1+1",
    " =1+1",
    "\n=1",
    "\u00a0=1",
    "\u3000+1",
    "\ufeff@SUM(1)",
    "\t",
    "\r=1",
    "-1+1",
    "\uff1d1+1",
    "\x00=1",
]


@pytest.mark.parametrize("cell", FORMULAS, ids=repr)
def test_no_cell_is_a_formula_also_after_blanks(cell):
    assert harmless(cell) == f"'{cell}"


@pytest.mark.parametrize("cell", ["", "text", "a=1", " 1", "1-1", "(=1)", -1.5, None], ids=repr)
def test_other_cells_stay_as_they_are(cell):
    assert harmless(cell) == cell


def test_reports_hold_no_formulas(tmp_path, capsys):
    rows = [
        Row(str(at), response=cell or "x", answer=cell, previous=1.0)
        for at, cell in enumerate(FORMULAS)
    ]
    home = write_run(tmp_path, {"t": rows})
    assert main(["report", str(home), "--format", "csv,xlsx", "--out", str(tmp_path / "page")]) == 0
    tables = list((tmp_path / "page").rglob("*.csv"))
    assert tables
    for table in tables:
        with table.open(encoding="utf-8", newline="") as file:
            cells = [cell for row in csv.reader(file) for cell in row]
        assert not [cell for cell in cells if re.match(r"[\s\x00-\x20\ufeff]*[=+@\uff1d]", cell)]


@pytest.mark.parametrize("verb", VERBS)
def test_whatever_a_verb_prints_is_made_visible(verb, monkeypatch, capsys):
    """All of them, also those of which no data of others could be made up here."""

    def said(_args):
        print(ATTACK)
        print(ATTACK, file=sys.stderr)
        return 0

    module = SimpleNamespace(configure=lambda _: None, main=said)
    monkeypatch.setattr("evalprep.cli.module_of", lambda _: module)
    monkeypatch.setattr("evalprep.verbs.registry.module_of", lambda _: module)
    assert main([verb]) == 0
    printed = capsys.readouterr()
    assert "owned" in printed.out
    assert "owned" in printed.err
    assert ACTING.findall(printed.out + printed.err) == []


COMMANDS = ["::error::no gate", "  ::stop-commands::x", "fine ##[error]bad", "a\n##vso[task.x]y"]


@pytest.mark.parametrize("name", ["GITHUB_ACTIONS", "TF_BUILD", "CI"])
def test_a_reply_holds_no_command_to_the_runner_of_ci(tmp_path, monkeypatch, capsys, name):
    rows = [Row(f"{at}", response=text, answer=text) for at, text in enumerate(COMMANDS)]
    home = write_run(tmp_path, {"t": rows})
    for other in ("GITHUB_ACTIONS", "TF_BUILD", "CI"):
        monkeypatch.delenv(other, raising=False)
    main(["samples", str(home)])
    assert "##[error]bad" in capsys.readouterr().out
    monkeypatch.setenv(name, "true")
    main(["samples", str(home)])
    shown = capsys.readouterr().out
    assert "\\u003a:error::no gate" in shown
    assert "fine \\u0023#[error]bad" in shown
    assert re.search(r"(?m)^\s*::|##\[|##vso\[", shown) is None


def test_json_in_ci_means_the_same(tmp_path, monkeypatch, capsys):
    rows = [Row(f"{at}", response=text, answer=text) for at, text in enumerate(COMMANDS)]
    home = write_run(tmp_path, {"t": rows})
    monkeypatch.setenv("CI", "true")
    main(["samples", str(home), "--json"])
    assert "##[error]bad" in json.dumps(json.loads(capsys.readouterr().out))
