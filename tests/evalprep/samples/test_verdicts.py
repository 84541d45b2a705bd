"""lm-eval's digests and multiple-choice verdicts, derived anew from what a samples file stores."""

import json
import random

import pytest

from evalprep.cli import main
from evalprep.samples import (
    Sample,
    check_verdicts,
    document_hash,
    multiple_choice_verdicts,
    read_samples,
    read_table,
    text_hash,
)
from evalprep.samples.sample import parse
from evalprep.samples.verdicts import check_lines

CHOICES = ("red", "light green", "blue")


def choice_line(likelihoods, *, gold=0, number=0, leaf=str, **metrics):
    """Write one line of a multiple-choice task; `leaf` is the form of the stored numbers."""
    doc = {"question": f"Which colour is {number}?", "choices": CHOICES}
    prompt = f"{doc['question']}\nAnswer:"
    content = {
        "doc_id": number,
        "doc": doc,
        "target": str(gold),
        "arguments": {
            f"gen_args_{at}": {"arg_0": prompt, "arg_1": f" {choice}"}
            for at, choice in enumerate(CHOICES)
        },
        "resps": [[[leaf(value), leaf(at == 0)]] for at, value in enumerate(likelihoods)],
        "filtered_resps": [[leaf(value), leaf(at == 0)] for at, value in enumerate(likelihoods)],
        "filter": "none",
        "metrics": list(metrics),
        "doc_hash": document_hash(doc),
        "prompt_hash": text_hash(prompt),
        "target_hash": text_hash(gold),
    }
    return json.dumps(content | metrics, ensure_ascii=False)


def write_lines(path, lines):
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def samples_of(path):
    return [item for item in read_samples(path) if isinstance(item, Sample)]


def check_of(path):
    """What both looks at a file give: of its samples, and of its lines."""
    samples = read_samples(path, filter_name="none")
    outcome = check_verdicts(item for item in samples if isinstance(item, Sample))
    items = [parse(raw) for raw in path.read_bytes().splitlines() if raw.strip()]
    parsed = [item for item in items if isinstance(item, Sample) and item.filter == "none"]
    assert check_verdicts(parsed) == outcome
    with path.open("rb") as lines:
        assert check_lines(lines, "none") == outcome
    return outcome


@pytest.mark.parametrize(
    ("likelihoods", "choices", "gold", "expected"),
    [
        ([-1.0, -2.0], ["a", "b"], 0, (1.0, 1.0)),
        ([-2.0, -2.0], ["a", "b"], 0, (1.0, 1.0)),  # the first maximum
        ([-2.0, -3.0], ["a", "bbb"], 1, (0.0, 1.0)),
        ([-2.0, -5.9], [" a", " bbb"], 1, (0.0, 1.0)),  # a leading blank does not count
        (["-2.0", "-1.0"], ["a", "b"], 1, (1.0, 1.0)),
        ([-2.0, -1.0, -3.0], ["a", "b", "c"], [0, 1], (1.0, 1.0)),
        ([-2.0, -1.0], ["", ""], 1, (1.0, 0.0)),  # empty choices divide by zero, as in lm-eval
    ],
)
def test_verdicts_follow_from_likelihoods(likelihoods, choices, gold, expected):
    assert multiple_choice_verdicts(likelihoods, choices, gold) == expected


def test_a_line_altered_by_hand_is_named(tmp_path):
    lines = [
        choice_line([-3.0, -9.0, -8.0], number=0, acc=1.0, acc_norm=0.0),  # -9 / 11 is largest
        choice_line([-3.0, -9.0, -8.0], number=1, acc=0.0, acc_norm=0.0),
        choice_line([-1.0, -2.0, -4.0], number=2, gold=1, acc=0.0, acc_norm=1.0),
        choice_line([-1.0, -2.0, -4.0], number=3, gold=1, acc=0.0, acc_norm=0.0),
        choice_line([-1.0, -2.0, -4.0], number=4, exact_match=0.0),  # nothing to hold it against
    ]
    path = write_lines(tmp_path / "samples_colours.jsonl", lines)
    samples, outcome = samples_of(path), check_of(path)
    assert outcome.checked == 4
    assert outcome.disagreeing == [samples[1].sample_id, samples[3].sample_id]


@pytest.mark.parametrize(("logged", "disagreeing"), [(1.0, 0), (0.0, 1)])
def test_requests_without_the_question_are_no_choices(tmp_path, logged, disagreeing):
    """For `acc_mutual_info` lm-eval asks for each choice a second time."""
    content = json.loads(choice_line([-1.0, -2.0, -4.0], acc=logged, acc_mutual_info=0.0))
    for at, choice in enumerate(CHOICES):
        content["arguments"][f"gen_args_{at + 3}"] = {"arg_0": "", "arg_1": f" {choice}"}
        content["resps"].append([["-0.5", "False"]])
    path = write_lines(tmp_path / "samples_colours.jsonl", [json.dumps(content)])
    outcome = check_of(path)
    assert (outcome.checked, len(outcome.disagreeing)) == (1, disagreeing)


@pytest.mark.parametrize(
    ("likelihoods", "changes", "checked"),
    [
        (["nan", "-2.0", "-4.0"], {}, 1),  # not a number counts as the largest
        (["inf", "-inf", "-4.0"], {}, 1),
        (["-1.0", "-2.0", "-4.0"], {"filter": "other"}, 0),
        (["-1.0", "-2.0", "-4.0"], {"doc": None}, 0),  # a damaged line
        (["-1.0", "-2.0", "-4.0"], {"resps": [[["-1.0", "True"]]] * 2}, 0),
        (["-1.0", "-2.0", "-4.0"], {"resps": [[["-1.0", "True"]], [], [["-4.0", "False"]]]}, 0),
        (["-1.0", "-2.0", "-4.0"], {"resps": [[["low", "True"]]] * 3}, 0),
        (["-1.0", "-2.0", "-4.0"], {"target": "light green"}, 1),
        (["-1.0", "-2.0", "-4.0"], {"target": "yellow"}, 0),
        (["-1.0", "-2.0", "-4.0"], {"target": 1}, 1),
        (["-1.0", "-2.0", "-4.0"], {"metrics": ["f1"], "f1": 0.5}, 0),
        (["-1.0", "-2.0", "-4.0"], {"acc": float("nan")}, 1),
    ],
)
def test_lines_of_any_form_are_held_as_their_samples_are(tmp_path, likelihoods, changes, checked):
    line = json.dumps(json.loads(choice_line(likelihoods, acc=0.0, acc_norm=1.0)) | changes)
    path = write_lines(tmp_path / "samples_colours.jsonl", ["", line, "{"])
    assert check_of(path).checked == checked


@pytest.mark.parametrize("odd", [{}, {"target": "light green"}, {"acc": 2}, {"resps": []}])
def test_many_lines_are_held_at_once_as_their_samples_are_one_by_one(tmp_path, odd):
    source = random.Random(1)
    rows = []
    for number in range(600):
        values = [source.choice([-1.0, -2.0, -9.0, float("nan"), float("-inf")]) for _ in CHOICES]
        verdicts = {name: float(source.random() < 0.5) for name in ("acc", "acc_norm")}
        line = choice_line(values, gold=number % 4, number=number, **verdicts)
        rows.append(line if number % 97 else json.dumps(json.loads(line) | odd))
    outcome = check_of(write_lines(tmp_path / "samples_colours.jsonl", rows))
    assert 440 < outcome.checked < 460
    assert 100 < len(outcome.disagreeing) < outcome.checked


def test_numbers_and_texts_of_replies_give_equal_rows(tmp_path):
    values = [-1.25, -9.0, -4.5]
    paths = [
        write_lines(
            tmp_path / f"samples_{name}.jsonl",
            [choice_line(values, leaf=leaf, acc=1.0, acc_norm=0.0)],
        )
        for name, leaf in (("texts", str), ("numbers", lambda value: value))
    ]
    assert paths[0].read_text(encoding="utf-8") != paths[1].read_text(encoding="utf-8")
    texts, numbers = (samples_of(path) for path in paths)
    for one, other in zip(texts, numbers, strict=True):
        for part in ("doc", "arguments", "target", "resps", "filtered_resps", "metrics", "hashes"):
            assert getattr(one, part) == getattr(other, part)
    tables = [read_table(path, "none") for path in paths]
    assert tables[0].response_hash.tolist() == tables[1].response_hash.tolist()


def test_published_lines_reproduce_their_digests_and_verdicts(shared):
    files = sorted((shared / "vectors/published_data/lm_eval").glob("**/samples_*.jsonl"))
    if not files:
        pytest.skip("published_data is absent")
    samples = [sample for file in files for sample in samples_of(file)]
    assert [document_hash(sample.doc) for sample in samples] == [row.hashes.doc for row in samples]
    assert [text_hash(sample.prompt) for sample in samples] == [
        row.hashes.prompt for row in samples
    ]
    assert [text_hash(sample.target) for sample in samples] == [
        row.hashes.target for row in samples
    ]
    outcome = check_verdicts(samples)
    assert (len(samples), outcome.checked, outcome.disagreeing) == (46, 28, [])


def test_altered_verdicts_are_named_by_the_verbs(tmp_path, capsys):
    lines = [
        choice_line([-1.0 - at, -2.0, -4.0], number=at, acc=float(at < 1), acc_norm=1.0)
        for at in range(3)
    ]
    path = write_lines(tmp_path / "samples_colours_2026-03-01T10-00-00.jsonl", lines)
    altered = lines[0].replace('"acc": 1.0', '"acc": 0.0')
    other = write_lines(
        tmp_path / "other/samples_colours_2026-03-01T10-00-00.jsonl", [altered, *lines[1:]]
    )
    main(["compare", str(path), str(other), "--no_write"])
    shown = " ".join(capsys.readouterr().out.split())
    assert "the logged verdict does not follow from the log-likelihoods in 3 of 3 rows" in shown
    main(["score", str(other), "--no_write"])
    assert "does not follow from the log-likelihoods" in " ".join(capsys.readouterr().out.split())
