"""What a verb prints for people is in its JSON too: each sentence, or the typed facts of it."""

import json
import re
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from evalprep.cli import main
from evalprep.numbers import number
from tests.evalprep.compare.small_runs import LATER, Task, write_small_run
from tests.evalprep.results.writing import Row, write_run
from tests.loops import each

RIGHT = [float(at % 3 > 0) for at in range(30)]
WRONG = [0.0] * 9 + RIGHT[9:]

#: What is no fact: titles of tables, legends, paths and the next command.
NO_FACT = (
    r"next: ",
    r"changed samples: ",
    r"no file of changed samples",
    r"written: ",
    r"=== \d+",
    r"(prompt|reply):",
    r".*, 95% interval$",
    r"(Tasks|Further metrics|Verdicts|Suite scores|Groups|Effort|in percent|percent$)",
    r"Stored scores, unpaired",
    r"without samples, in percent",
    r"Tasks as the results file has it",
    r"† and ‡: ",
    r"\* the best value",
    r"✓ done",
    r"\d+ models?, \d+ of \d+ columns",
    r"pairs that differ",
    r"model(, \w+)? +\S+.*$",  # the board's table
    r"─+$",
    r"documents\)$",  # the end of a wrapped title
)


def causes(match, data):
    (task,) = [task for task in data["tasks"] if task["task"] == match["task"]]
    items = re.split(r"(?<=\d\)), ", match["causes"])
    counts = dict(item.rstrip(")").rsplit(" (", 1) for item in items)
    changed = {cause: int(count) for cause, count in counts.items()}
    return (task["causes"], int(match["n"])) == (changed, sum(changed.values()))


#: A sentence whose facts are typed -> whether the JSON has them.
TYPED = {
    r"candidate (?P<run>.*)  against  baseline (?P<other>.*)": lambda match, data: (
        (match["run"], match["other"]) == (data["run"], data["other"])
    ),
    r"overall: not computed, because (?P<why>.*)": lambda match, data: (
        match["why"] == data["overall_reason"]
    ),
    r"(?P<task>\w+): (?P<n>\d+) changed samples?: (?P<causes>.*)": causes,
    r"(?P<shown>\d+) of (?P<all>\d+) samples \((?P<tasks>.*)\)": lambda match, data: (
        (int(match["shown"]), {int(match["all"])}) == (len(data), {sample["of"] for sample in data})
        and {f"{sample['task']} {sample['of_task']}" for sample in data}
        <= {*match["tasks"].split(", ")}
    ),
    r"score: (?P<value>\S+) \((?P<metric>.*)\)": lambda match, data: (
        match["metric"] in {sample["metric"] for sample in data}
        and (None if match["value"] == "unknown" else float(match["value"]))
        in {sample["score"] for sample in data}
    ),
    r"(?P<when>\d{4}-\d\d-\d\d \S+) +(?P<where>\S+)": lambda match, data: (
        match["where"] == data["where"]
    ),
    r"✓ +(?P<task>\w+) +(?P<score>\S+)": lambda match, data: (
        f"{match['task']} {match['score']}"
        in {f"{task['name']} {number(task['score'])}" for task in data["tasks"]}
    ),
    # A title is wrapped where its table is narrow.
    r"Candidate minus baseline(, in points)?, 95% interval \(\* rows( share)?( documents\))?": (
        lambda _, data: any(task["clusters"] for task in data["tasks"])
    ),
    r"(share )?documents\)": lambda _, data: any(task["clusters"] for task in data["tasks"]),
    r"Nothing is marked for (?P<names_and_why>.*)\.": lambda match, data: any(
        match["names_and_why"].endswith(f": {why}") for why in data["unmarked"].values()
    ),
    r"answer read:": lambda _, data: any(sample["answer"] == "" for sample in data),
    r"answer read: none": lambda _, data: any(sample["unread"] for sample in data),
}


def printed(*words):
    out, errors = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(errors):
        main([str(word) for word in words])
    return out.getvalue(), errors.getvalue()


def texts(value):
    """Every text of a document."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts(item)


def is_told(sentence, data):
    """Whether a sentence, or what it says of something (`t: ...`), is in a document."""
    if any(re.match(pattern, sentence) for pattern in NO_FACT):
        return True
    for pattern, has_facts in TYPED.items():
        match = re.fullmatch(pattern, sentence)
        if match and has_facts(match, data):
            return True
    every = "\n".join(texts(data))
    parts = [sentence]
    while ": " in parts[-1]:
        parts.append(parts[-1].partition(": ")[2])
    return any(part in every for part in [*parts, sentence.removeprefix("- ")])


def sentences(text):
    """The lines that are no line of a table."""
    for line in text.splitlines():
        if line.strip() and not line.startswith(" "):
            yield line.strip()


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    folder = tmp_path_factory.mktemp("facts")
    made = {}

    def small(name, task, stamp=LATER, **more):
        made[name] = write_small_run(folder / name, {"t": task, **more}, stamp=stamp)
        return made[name]

    def samples_of(name):
        (path,) = Path(made[name]).glob("samples_t_*")
        return path

    small("base", Task({"acc": RIGHT}))
    small("worse", Task({"acc": WRONG}), u=Task({"acc": WRONG}))
    small("stored", Task({"acc": WRONG, "acc_norm": WRONG}, stored={"acc,none": 0.9}))
    small("unscored", Task({"acc": [*RIGHT[:15], *[None] * 15]}))
    small("limited", Task({"acc": RIGHT}, original=90))
    small("replies", Task({"acc": WRONG}, response=""))
    for name in ("lost", "doubled", "damaged", "alone"):
        small(name, Task({"acc": RIGHT}))
    lines = samples_of("lost").read_text().splitlines(keepends=True)
    samples_of("lost").write_text("".join(lines[:20]))
    samples_of("doubled").write_text("".join([*lines, lines[0]]))
    samples_of("damaged").write_text("".join([*lines[:-1], '{"doc_id": 29, "doc"\n']))
    samples_of("alone").unlink()
    rows = [
        Row(
            str(at),
            metrics={"own": float(at > 1), "unparsed": float(at == 0), "scorer_error": at == 1},
            answer="[invalid]" if at == 0 else "A",
            previous=at % 2 == 0,
            cluster=f"d{at % 3}",
        )
        for at in range(12)
    ]
    made["judged"] = write_run(folder / "judged", {"t": rows}, metadata={"version": 1.0})
    policy = folder / "policy.yaml"
    policy.write_text("{defaults: {max_drop: 0.05}}")
    made["policy"] = policy
    return made


NAMES = [
    *("base", "worse", "stored", "unscored", "limited", "replies", "lost", "doubled", "damaged"),
    *("alone", "judged"),
]
VERBS = {
    "score": ("score", "{home}", "--no_write"),
    "compare": ("compare", "{home}", "{base}"),
    "gate": ("gate", "{home}", "{base}", "--policy", "{policy}"),
    "leaderboard": ("leaderboard", "{home}", "{base}"),
    "samples": ("samples", "{home}", "-n", "2"),
    "status": ("status", "{home}"),
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("name", NAMES)
def test_json_has_the_facts_of_each_sentence(places, monkeypatch, verb, name):
    if name == "alone" and verb == "samples":
        pytest.skip("the run has no samples")
    monkeypatch.setenv("COLUMNS", "1000")
    words = [word.format(home=places[name], **places) for word in VERBS[verb]]
    out, _ = printed(*words)
    text, errors = printed(*words, "--json")
    assert text, errors
    data = json.loads(text)
    untold = [sentence for sentence in sentences(out) if not is_told(sentence, data)]
    assert untold == []


@pytest.mark.parametrize("name", NAMES)
def test_score_names_the_rows_that_its_mean_is_over(places, name):
    if name == "alone":
        pytest.skip("the run has no samples")
    data = json.loads(printed("score", places[name], "--no_write", "--json")[0])
    for task in each(data["tasks"]):
        left_out = sum(task["micro"].get("skipped", {}).values())
        assert task["n"] == task["micro"]["n"] == task["rows"] - left_out
        assert task["expected"] is None or task["rows"] <= task["expected"] + (name == "doubled")
