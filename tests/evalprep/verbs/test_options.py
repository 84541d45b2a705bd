"""Options over all verbs: how many, how they are written, and what `-h` shows of them."""

import json
import shlex
import shutil

import pytest

from evalprep.cli import main
from evalprep.verbs.options import complete, next_words
from evalprep.verbs.registry import VERBS, parser_of
from tests import PROJECT_ROOT
from tests.evalprep.results.writing import Row, write_run

PACKS = PROJECT_ROOT / "tests/data/packs"


def options_of(verb):
    actions = parser_of(verb)._actions
    return [action.option_strings[0] for action in actions if action.option_strings]


def test_there_are_at_most_105_option_names():
    names = {name for verb in VERBS for name in options_of(verb)} - {"-h"}
    assert len(names) <= 105


@pytest.mark.parametrize("verb", VERBS)
def test_the_short_help_shows_at_most_15_options(verb, capsys):
    assert len(parser_of(verb).short_options) <= 15
    for option in ("-h", "--help"):
        with pytest.raises(SystemExit) as ended:
            main([verb, option])
        assert ended.value.code == 0
    short, _, whole = capsys.readouterr().out.partition("prints all options.")
    assert "--help" in whole
    purpose = parser_of(verb).description.split("\n\n")[0].split()
    assert " ".join(purpose) in " ".join(short.split())


@pytest.mark.parametrize("verb", VERBS)
def test_options_are_shown_in_one_form(verb):
    assert [name for name in options_of(verb) if "-" in name.lstrip("-")] == []


@pytest.mark.parametrize(
    ("words", "name", "value"),
    [
        (["compare", "--tasks", "a,b", "X", "Y"], "tasks", ["a", "b"]),
        (["compare", "X", "Y", "--label", "new,old"], "label", ["new", "old"]),
        (["report", "X", "--label", "new", "--label", "old"], "label", ["new", "old"]),
        (["compare", "X", "--no-write"], "no_write", True),
        (["compare", "X", "--output-path", "f.csv"], "out", PROJECT_ROOT.__class__("f.csv")),
        (
            ["report", "X", "--template-dir=a,b"],
            "template_dir",
            [*map(PROJECT_ROOT.__class__, "ab")],
        ),
    ],
)
def test_how_options_may_be_written(words, name, value):
    args = parser_of(words[0]).parse_args(words[1:])
    assert getattr(args, name) == value


@pytest.mark.parametrize(
    ("words", "name", "value"),
    [
        (["compare", "X", "--task", "a"], "tasks", ["a"]),
        (
            ["gate", "X", "--policy", "p.yaml", "--output=g.json"],
            "out",
            PROJECT_ROOT.__class__("g.json"),
        ),
        (["check", "--apply-chat-template"], "set", ["apply_chat_template=true"]),
    ],
)
def test_names_of_lm_eval_are_accepted(words, name, value):
    assert getattr(parser_of(words[0]).parse_args(words[1:]), name) == value


def test_an_unknown_option_ends_with_the_nearest_one(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["run", "--modle", "x"])
    assert ended.value.code == 2
    assert capsys.readouterr().err.splitlines() == [
        "error: unknown: --modle; did you mean --model?",
        "`evalprep run -h` prints the usual options.",
    ]


def test_a_name_of_lm_eval_for_which_the_verb_has_none_is_unknown(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["status", "--apply_chat_template"])
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("error: unknown: --apply_chat_template")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--pairing", "positon"], "did you mean position"),
        (["--input_format", "inspekt"], "did you mean inspect"),
        (["--input_format", "inspect,helm"], "several formats: inspect, helm"),
    ],
)
def test_unknown_words_of_lists_are_refused(tmp_path, words, message, capsys):
    home = str(write_run(tmp_path, {"t": [Row("a")]}))
    assert main(["compare", home, home, "--no_write", *words]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("tasks=other", "no effect on tasks that are written already"),
        ("max_model_len=0", "a whole number >= 1"),
        ("max_model_length=9", "did you mean max_model_len"),
    ],
)
def test_settings_that_a_folder_of_tasks_cannot_have(tmp_path, setting, message, capsys):
    words = ["check", "--depth", "static", "--include_path", str(tmp_path), "--set", setting]
    assert main(words) == 2
    assert message in capsys.readouterr().err


def test_packs_come_from_the_prepared_config_in_the_current_folder(tmp_path, monkeypatch, capsys):
    shutil.copytree(PACKS / "rivers", tmp_path / "packs/rivers")
    config = "model_name: a/b\nbackend: dummy\ntasks: rivers\ntemplate_dir: packs\n"
    (tmp_path / "eval_config.yaml").write_text(config)
    write_run(tmp_path / "out", {"rivers_mouth": [Row("a")]})
    monkeypatch.chdir(tmp_path)
    assert main(["prepare", "--quiet"]) == 0
    capsys.readouterr()
    assert main(["score", "out", "--no_write"]) == 0
    text = capsys.readouterr().out
    assert "by_continent" in text
    assert "next: evalprep report out\n" in text


def test_a_config_in_the_folder_of_a_run_is_not_the_users(tmp_path, monkeypatch, capsys):
    home = write_run(tmp_path, {"rivers_mouth": [Row("a")]})
    shutil.copytree(PACKS / "rivers", home / "packs/rivers")
    (home / "eval_config.yaml").write_text("template_dir: packs\n")
    monkeypatch.chdir(home)
    for place in (".", "..", next(home.glob("results_*")).name, str(home)):
        args = complete(parser_of("score").parse_args([place]))
        assert args.template_dir is None
    assert main(["score", ".", "--no_write"]) == 0
    assert "by_continent" not in capsys.readouterr().out


def test_a_next_step_repeats_packs_that_were_named():
    args = complete(parser_of("compare").parse_args(["X", "--template_dir", "a,b"]))
    assert next_words("report", ["X"], args) == ["evalprep", "report", "X", "--template_dir", "a,b"]


def test_a_next_step_reads_the_links_that_this_one_read(tmp_path, capsys):
    home = write_run(tmp_path / "out", {"t": [Row("a"), Row("b")]})
    (tmp_path / "linked").mkdir()
    for file in home.iterdir():
        (tmp_path / "linked" / file.name).symlink_to(file)
    assert main(["score", str(tmp_path / "linked"), "--no_write", "--follow_links"]) == 0
    (command,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("next:")]
    assert main([*shlex.split(command)[2:], "--out", str(tmp_path / "page")]) == 0


def test_status_looks_into_the_work_folder():
    assert str(parser_of("status").parse_args([]).dir) == "work_dir"


def test_a_margin_makes_equal_runs_equivalent(tmp_path, capsys):
    rows = [Row(str(at), correct=float(at % 2)) for at in range(400)]
    new, old = (str(write_run(tmp_path / name, {"t": rows})) for name in ("new", "old"))
    assert main(["compare", new, old, "--no_write", "--margin", "0.05"]) == 0
    assert "equivalent" in capsys.readouterr().out
    assert main(["compare", new, old, "--no_write", "--confidence", "1.5"]) == 2


@pytest.mark.parametrize("margin", ["5 points", "5points", "0.05"])
def test_a_margin_in_points(tmp_path, capsys, margin):
    rows = [Row(str(at), correct=float(at % 2)) for at in range(400)]
    new, old = (str(write_run(tmp_path / name, {"t": rows})) for name in ("new", "old"))
    assert main(["compare", new, old, "--no_write", "--json", "--margin", margin]) == 0
    comparison = json.loads(capsys.readouterr().out)
    (task,) = comparison["tasks"]
    assert (task["verdict"], task["words"]) == (
        "equivalent",
        "any difference is smaller than 5.0 points",
    )
    assert comparison["margin"] == (0.05 if margin == "0.05" else "5 points")
    assert main(["compare", new, old, "--no_write", "--margin", "100 points"]) == 2
    assert "margin 100 points calls every difference equivalent" in capsys.readouterr().err


def test_a_filter_is_chosen_for_all_tasks(tmp_path, capsys):
    rows = {"t": [Row(str(at)) for at in range(3)]}
    home, other = (
        str(write_run(tmp_path / name, rows, filters=("strict", "flexible"))) for name in "ab"
    )
    assert main(["compare", home, other, "--no_write", "--metric", "@strict", "--json"]) == 0
    assert '"filter": "strict"' in capsys.readouterr().out
    assert main(["compare", home, other, "--no_write", "--metric", "@strickt"]) == 2
    assert "did you mean strict" in capsys.readouterr().err


@pytest.mark.parametrize("option", [["--depth", "hard"], ["--gpu", "H100"]])
def test_options_that_a_static_check_cannot_use(tmp_path, option, capsys):
    words = ["check", "--depth", "static", "--include_path", str(tmp_path), *option]
    assert main(words) == 2
    assert option[0] in capsys.readouterr().err


def test_the_next_steps_of_tables_and_reports_can_be_typed(tmp_path, capsys):
    home = str(write_run(tmp_path, {"t": [Row("a")]}))
    assert main(["leaderboard", home]) == 0
    assert f"next: evalprep leaderboard {home} --out leaderboard\n" in capsys.readouterr().out
    assert main(["report", home, "--out", str(tmp_path / "r")]) == 0
    assert f"next: open {tmp_path / 'r/report.html'} in a browser" in capsys.readouterr().out


@pytest.fixture
def two_stamps(tmp_path):
    """A place with an older run, all rows right, and a newer one, all wrong; and a run, all wrong."""
    right, wrong = ([Row(number, correct) for number in range(40)] for correct in (1.0, 0.0))
    baseline = tmp_path / "baseline"
    write_run(baseline, {"t": right}, stamp="2026-01-01T10-00-00.000001")
    write_run(baseline, {"t": wrong}, stamp="2026-02-01T10-00-00.000001")
    return str(write_run(tmp_path / "candidate", {"t": wrong})), str(baseline)


@pytest.mark.parametrize(("stamp", "delta"), [("newest", 0.0), ("2026-01", -1.0)])
def test_a_baseline_is_chosen_by_its_time_stamp(stamp, delta, two_stamps, capsys):
    words = ["compare", *two_stamps, "--no_write", "--baseline_timestamp", stamp, "--json"]
    main(words)
    (task,) = json.loads(capsys.readouterr().out)["tasks"]
    assert task["delta"] == delta


def test_a_comparison_may_end_well_although_a_task_got_worse(two_stamps, capsys):
    words = ["compare", *two_stamps, "--no_write", "--baseline_timestamp", "2026-01"]
    assert main(words) == 1
    assert main([*words, "--exit_zero"]) == 0
    assert "worse" in capsys.readouterr().out


@pytest.mark.parametrize("verb", ["compare", "gate"])
def test_the_baseline_may_be_named_as_in_report(tmp_path, capsys, verb):
    policy = tmp_path / "policy.yaml"
    policy.write_text("defaults: {max_drop: 0.1, min_n: 2}\n", encoding="utf-8")
    rows = {"new": 1.0, "old": 0.0}
    new, old = (
        str(write_run(tmp_path / name, {"task": [Row(f"r{at}", value) for at in range(9)]}))
        for name, value in rows.items()
    )
    extra = ["--policy", str(policy)] if verb == "gate" else ["--no_write"]
    shown = []
    for places in ([new, old], [new, "--baseline", old], ["--baseline", old, new]):
        main([verb, *places, *extra, "--json"])
        shown.append(json.loads(capsys.readouterr().out))
    assert shown[0] == shown[1] == shown[2]
    assert "old" in json.dumps(shown[0])


def test_two_baselines_are_refused(tmp_path, capsys):
    assert main(["compare", "X", "Y", "--baseline", "Z"]) == 2
    assert "two baselines: Y and Z" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["compare", "X", "--baseline_t", "S"], "--baseline_timestamp"),
        (["score", "X", "--timest", "S"], "--timestamp"),
    ],
)
def test_a_cut_option_is_refused_by_name(capsys, words, meant):
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert meant in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["compare", "a", "--margin", "2%"], "--margin: '2%' is not a margin; write '2 points'"),
        (["compare", "a", "--margin", "x"], "--margin: 'x' is not a margin; write '2 points'"),
        (["compare", "a", "--margin", "-1"], "--margin: '-1' is not a margin; write '2 points'"),
        (["compare", "a", "--margin", "nan"], "--margin: 'nan' is not a margin; write '2 points'"),
        (
            ["compare", "a", "--confidence", "95%"],
            "--confidence: '95%' is not a number; write 0.95",
        ),
        (["compare", "a", "--confidence", "x"], "--confidence: 'x' is not a number\n"),
        (["report", "a", "--limit", "1.5"], "--limit: '1.5' is not a whole number\n"),
        (["new-pack", "x", "--kind", "choise"], "'choise' is none of exact, choice, "),
        (["new-pack", "x", "--kind", "choise"], "; did you mean choice?\n"),
        (["prepare", "my.yaml"], "unknown: my.yaml; did you mean --config_path my.yaml?\n"),
        (["prepare", "my"], "unknown: my\n"),
    ],
)
def test_what_a_wrong_argument_is_answered_with(words, message, capsys):
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def test_tasks_that_lack_a_metric_share_a_message(tmp_path, capsys):
    rows = {name: [Row(str(at)) for at in range(3)] for name in "abcde"}
    home = str(write_run(tmp_path / "run", rows))
    assert main(["compare", home, home, "--no_write", "--metric", "acc"]) == 2
    message = capsys.readouterr().err
    assert "error: 1 mistake" in message
    assert "--metric, tasks a, b, c and 2 more: no metric 'acc'" in message


def test_an_unknown_time_stamp_is_answered_with_those_of_the_folder(tmp_path, capsys):
    home = str(write_run(tmp_path / "run", {"t": [Row("0")]}))
    assert main(["score", home, "--timestamp", "1999"]) == 2
    message = capsys.readouterr().err
    assert "no run with time stamp '1999'\n  fix: name newest, each, 2" in message


def test_a_column_of_means_is_not_headed_as_a_count(tmp_path, capsys):
    home = str(write_run(tmp_path / "run", {"t": [Row("0"), Row("1", correct=0.0)]}))
    assert main(["score", home, "--no_write"]) == 0
    head = next(line for line in capsys.readouterr().out.splitlines() if "95% interval" in line)
    assert head.split() == ["task", "n", "mean", "95%", "interval", "subtasks", "unparsed"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["merge", "nowhere"], "nowhere: no such folder\n"),
        (["check", "nowhere"], "nowhere: no such folder\n"),
        (["check", "nowhere.yaml"], "nowhere.yaml: no such file\n"),
        (["merge", "."], "holds no manifest of a preparation\n"),
        (["score", "nowhere"], "no such file or folder\n"),
        (["score", "nowhere"], "fix: correct the path; lm_eval writes such a folder with"),
    ],
)
def test_a_place_that_is_not_there(words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    assert message in capsys.readouterr().err


def test_more_labels_than_runs_are_counted(tmp_path, capsys):
    home = str(write_run(tmp_path / "run", {"t": [Row("0")]}))
    assert main(["report", home, "--label", "a,b", "--out", str(tmp_path / "out")]) == 2
    assert "--label: 2 labels for 1 run\n" in capsys.readouterr().err


def test_a_place_that_cannot_be_written_is_answered_with_the_option(tmp_path, capsys):
    home = str(write_run(tmp_path / "run", {"t": [Row("0")]}))
    (tmp_path / "file").write_text("")
    assert main(["report", home, "--out", str(tmp_path / "file/below")]) == 2
    assert "name another place with --out\n" in capsys.readouterr().err
