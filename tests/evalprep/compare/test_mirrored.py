"""Two runs are measured in one order, and the other order is the mirror of it."""

import json
import math
import random

import pytest

from evalprep.cli import main
from evalprep.compare import Settings, conclude_pairs, measure, mirrored
from evalprep.results import load_run
from tests.evalprep.results.writing import Row, write_run

WORDS = {"the candidate": "the baseline", "the baseline": "the candidate"}
VERDICTS = {"better": "worse", "worse": "better"}


def lines(seed, right, *, rows=60, lost=(), documents=False):
    """Rows with a right-or-wrong score, a graded one, a label, and likelihoods of texts."""
    rng = random.Random(seed)
    side = []
    for at in range(rows):
        is_right = rng.random() < right
        metrics = {
            "acc": None if at in lost else float(is_right),
            "loss": 1.0 + rng.random() * (2.0 - is_right),
            "f1": [at % 2, at % 2 if is_right else 1 - at % 2],
            "bits_per_byte": [-30.0 - 10 * rng.random() * (2 - is_right), 40 + at % 7],
            "word_perplexity": [-30.0 - 10 * rng.random() * (2 - is_right), 8 + at % 3],
        }
        side.append(Row(f"q{at}", metrics=metrics, cluster=f"d{at // 3}" if documents else None))
    return side


def concluded(run, other):
    measured = measure(run, other, {}, Settings(), with_suite=False)
    (comparison,) = conclude_pairs([measured], 1)
    return {item.name: item for item in comparison.conclusions if item.kind != "overall"}


def is_equal(value, other):
    if isinstance(value, float) and isinstance(other, float):
        return math.isclose(value, other, rel_tol=1e-9, abs_tol=1e-12)
    return value == other


def differing(item, other):
    """The numbers in which two conclusions differ."""
    plain, expected = item.difference.to_dict(), other.difference.to_dict()
    return {
        name: (value, expected[name])
        for name, value in plain.items()
        if not is_equal(value, expected[name])
    }


@pytest.mark.parametrize("seed", range(1, 9))
def test_the_mirror_of_a_pair_is_what_the_other_order_says(tmp_path, seed):
    extra = {"higher_is_better": {"t": {"acc": True, "loss": False, "f1": True}}}
    now = write_run(
        tmp_path / "a",
        {"t": lines(seed, 0.9, lost=(3,) if seed % 2 else (), documents=seed > 4)},
        extra=extra,
    )
    size = 57 if seed % 4 == 0 else 60
    rows = lines(seed + 100, 0.4 if seed % 3 else 0.9, rows=size, documents=seed > 4)
    if seed == 5:
        extra = extra | {"n-shot": {"t": 5}}
    before = write_run(tmp_path / "b", {"t": rows}, extra=extra)
    runs = load_run(now), load_run(before)
    one, other = concluded(*runs), concluded(*runs[::-1])
    assert one.keys() == other.keys()
    assert len(one) >= 4
    for name, item in one.items():
        mirror, direct = mirrored(item), other[name]
        assert differing(mirror, direct) == {}, name
        assert mirror.verdict == direct.verdict
        if not mirror.refusals:
            assert mirror.words == direct.words
        assert mirror.verdict == VERDICTS.get(item.verdict, item.verdict)
        assert [reason.kind for reason in mirror.reasons] == [
            reason.kind for reason in direct.reasons
        ]
        twice = mirrored(mirror)
        assert (twice.verdict, twice.words) == (item.verdict, item.words)
        assert differing(twice, item) == {}


def test_the_sides_of_a_reason_are_exchanged(tmp_path):
    """A sentence names the side that a value belongs to, in both orders."""
    now = write_run(tmp_path / "a", {"t": lines(1, 0.9)}, extra={"n-shot": {"t": 5}})
    before = write_run(tmp_path / "b", {"t": lines(2, 0.9)}, extra={"n-shot": {"t": 0}})
    item = concluded(load_run(now), load_run(before))["t"]
    assert "num_fewshot 5 / 0 (candidate / baseline)" in item.words
    assert "num_fewshot 5 / 0 (baseline / candidate)" in mirrored(item).words


def test_a_board_measures_each_pair_once(tmp_path, monkeypatch, capsys):
    places = [
        str(
            write_run(
                tmp_path / f"m{at}",
                {"t": lines(at, right), "u": lines(at, 1 - right)},
                model=f"org__m{at}",
            )
        )
        for at, right in enumerate((0.3, 0.6, 0.9))
    ]
    pairs = []

    def counted(run, other, *arguments, **options):
        pairs.append(frozenset({run.label, other.label}))
        return measure(run, other, *arguments, **options)

    monkeypatch.setattr("evalprep.leaderboard.pairs.measure", counted)
    assert main(["leaderboard", *places, "--json"]) == 0
    board = json.loads(capsys.readouterr().out)
    assert len(pairs) == len(set(pairs)) == 3
    assert {pair["verdict"] for pair in board["pairs"]} == {"better", "worse"}
    for pair in board["pairs"]:
        sides = [str(tmp_path / pair[name].split()[0]) for name in ("candidate", "baseline")]
        main(["compare", *sides, "--json"])
        compared = json.loads(capsys.readouterr().out)
        named = {
            item["name"]: item
            for item in [*compared["tasks"], *compared["metrics"], *compared["further"]]
        }
        item = named[pair["column"]]
        assert pair["delta"] == pytest.approx(item["delta"])
        assert (pair["low"], pair["high"]) == pytest.approx((item["low"], item["high"]))


def test_documents_that_one_side_names_count_in_both_orders(tmp_path, capsys):
    """A log of another tool, or rows that were prepared before, lack the column."""
    named = str(write_run(tmp_path / "a", {"t": lines(1, 0.9, documents=True)}))
    bare = str(write_run(tmp_path / "b", {"t": lines(2, 0.5)}, model="org__b"))
    orders = []
    for sides in ((named, bare), (bare, named)):
        main(["compare", *sides, "--json"])
        orders.append(json.loads(capsys.readouterr().out)["tasks"][0])
    assert [task["clusters"] for task in orders] == [20, 20]
    assert orders[0]["low"] == pytest.approx(-orders[1]["high"])
    main(["compare", bare, named, "--json", "--cluster", "cluster_id"])
    assert json.loads(capsys.readouterr().out)["tasks"][0]["clusters"] == 20
