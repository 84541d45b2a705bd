"""Detectors and BERTScore out of local folders: computed once, kept, read anew; random weights stand for real ones."""

import json
import math
import sqlite3

import pytest

import evalprep
from custom_metrics.fm.toxicity import DETOXIFY_NAMES
from evalprep.packs.finding import find_packs
from tests.loops import each
from tests.packs.fm import tiny
from tests.packs.fm.project import OPEN, PROMPTS, QA, prepared, scored, scores_of, stored, with_


@pytest.fixture(scope="module")
def models():
    return find_packs()["fm"].module("models")


@pytest.fixture(scope="module")
def annotators():
    return {one.name: one for one in find_packs()["fm"].module("annotators").ANNOTATORS}


def attempts(folder):
    with sqlite3.connect(next(folder.rglob("annotations.sqlite"))) as ledger:
        return ledger.execute("SELECT count(*) FROM attempts").fetchone()[0]


def test_bertscore_is_symmetric_and_one_for_equal_texts(models, tmp_path):
    encoder = models.Encoder(tiny.encoder(tmp_path / "encoder"), 2)
    pairs = [
        ("a cat", "a cat"),
        ("a cat", "the dog ran"),
        ("the dog ran", "a cat"),
        ("", "a"),
        ("a", ""),
        (" a cat ", "a cat"),
    ]
    same, one, other, empty, also_empty, stripped = encoder.f1(pairs)
    assert same == pytest.approx(1.0, abs=1e-5)
    assert one == pytest.approx(other, abs=1e-6)
    assert -1 <= one < 1
    assert (empty, also_empty) == (0.0, 0.0)
    assert stripped == pytest.approx(1.0, abs=1e-5)


def test_bertscore_is_the_formula_of_the_paper(models, tmp_path):
    """Greedy matching by cosine, written out."""
    encoder = models.Encoder(tiny.encoder(tmp_path / "encoder"), 1)
    (target, _), (output, _) = encoder.vectors(["b c d", "c e"])
    similar = [[float(first @ second) for second in target] for first in output]
    precision = sum(max(row) for row in similar[1:-1]) / 2
    recall = sum(max(column) for column in list(zip(*similar, strict=True))[1:-1]) / 3
    assert encoder.f1([("b c d", "c e")])[0] == pytest.approx(
        2 * precision * recall / (precision + recall), abs=1e-5
    )


def test_batches_give_what_single_texts_give(models, tmp_path):
    classifier = models.Classifier(tiny.classifier(tmp_path / "c"))
    texts = ["a", "a much longer text " * 20, "", "b c"]
    together = classifier.logits(texts)
    for text, row in each(zip(texts, together, strict=True)):
        assert classifier.logits([text])[0] == pytest.approx(row, abs=1e-4)


def test_detoxify_over_stored_replies(tmp_path, capsys):
    weights = tiny.classifier(tmp_path / "weights", labels=[*reversed(DETOXIFY_NAMES), "male"])
    done = prepared(tmp_path, stored(PROMPTS), detector_path=str(weights))
    assert not [name for name in done.excluded if "detoxify" in name]
    found = scored(tmp_path, capsys)["results"]
    for name in DETOXIFY_NAMES:
        result = found[f"fm/prompts.detoxify_{name}"]
        assert (result["n"], set(result["categories"])) == (20, {"work", "street", "home", "media"})
        assert 0 < result["agg_value"] < 1
    before = attempts(tmp_path)
    again = scores_of(tmp_path, capsys)["results"]
    assert attempts(tmp_path) == before  # nothing is computed twice
    assert (
        again["fm/prompts.detoxify_insult"]["agg_value"]
        == found["fm/prompts.detoxify_insult"]["agg_value"]
    )


def test_detoxify_goes_by_the_names_of_the_classes(annotators):
    logits = [float(number) for number in range(8)]
    labels = [*reversed(DETOXIFY_NAMES), "male"]
    status, values = annotators["detoxify"].read(
        None, json.dumps({"logits": logits, "labels": labels})
    )
    assert status == "ok"
    assert values["detoxify_toxicity"] == pytest.approx(1 / (1 + math.exp(-6)))
    assert values["detoxify_sexual_explicit"] == 0.5


def test_toxigen_is_the_probability_of_its_second_class(annotators):
    for logits, expected in (([0.0, 0.0], 0.5), ([0.0, 100.0], 1.0), ([math.log(3), 0.0], 0.25)):
        _, values = annotators["toxigen"].read(
            None, json.dumps({"logits": logits, "labels": ["LABEL_0", "LABEL_1"]})
        )
        assert values == {"toxigen_toxicity": pytest.approx(expected)}


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "{}",
        "nonsense",
        '{"logits": []}',
        '{"logits": [NaN], "labels": []}',
        '{"f1": []}',
        '{"f1": ["x"]}',
    ],
)
def test_replies_that_cannot_be_read(annotators, reply):
    from evalprep.packapi import Item, SampleRef

    item = Item((SampleRef("t", "s", 0),), "x")
    for one in each(annotators.values()):
        assert one.read(item, reply) == ("parse_error", None)


def test_other_weights_never_count(tmp_path, capsys, annotators):
    weights = tiny.classifier(tmp_path / "weights")
    prepared(tmp_path, stored(PROMPTS), detector_path=str(weights))
    scored(tmp_path, capsys)
    other = tiny.classifier(tmp_path / "other", seed=1)
    for file in other.iterdir():
        (weights / file.name).write_bytes(file.read_bytes())
    (next(tmp_path.rglob("annotations.sqlite"))).unlink()
    annotators["detoxify"].models.clear()  # as in another process
    scores = scores_of(tmp_path, capsys)
    assert scores["results"]["fm/prompts.detoxify_insult"]["agg_value"] is None
    assert any("are others than at preparation" in note for note in scores["notes"])


def test_bertscore_of_answers_counts_the_best(tmp_path, capsys):
    encoder = tiny.encoder(tmp_path / "encoder")
    prepared(tmp_path, stored(QA), bertscore_path=str(encoder), bertscore_layer=2)
    result = scored(tmp_path, capsys)["results"]["fm/qa.bertscore"]
    assert result["n"] == 20
    assert result["agg_value"] == pytest.approx(
        1.0, abs=1e-4
    )  # every reply is one of the right answers


def test_a_layer_that_the_encoder_lacks_is_told(tmp_path):
    done = prepared(tmp_path, QA, bertscore_path=str(tiny.encoder(tmp_path / "encoder")))
    assert "has 2 layers, and bertscore_layer is 40" in done.excluded["qa.bertscore"].reason


def test_pickled_weights_are_not_loaded(tmp_path):
    weights = tiny.classifier(tmp_path / "weights")
    (weights / "model.safetensors").rename(weights / "pytorch_model.bin")
    done = prepared(tmp_path, PROMPTS, detector_path=str(weights))
    assert "pickled weights are not loaded" in done.excluded["prompts.detoxify_toxicity"].reason


def test_pairs_of_general_robustness(annotators):
    """Perturbed replies with the original one; further ones with the later ones and the original."""
    places = [(0, 0), (1, 0), (2, 0), (0, 1), (0, 2)]
    rows = [
        {"sample_id": str(index), "index": index, "response": text,
         "doc": {"record_id": "r", "variant": variant, "draw": draw}}
        for index, ((variant, draw), text) in enumerate(zip(places, "opqxy", strict=True))
    ]  # fmt: skip
    metadata = {"t": {"algorithm": "general_semantic_robustness"}}
    asked = [
        json.loads(item.input)["pairs"]
        for item in annotators["bertscore"].items({"t": rows}, metadata)
    ]
    assert asked == [[["o", "p"]], [["o", "q"]], [["x", "y"], ["x", "o"]], [["y", "o"]]]


def test_tasks_name_their_helpers(tmp_path):
    encoder = tiny.encoder(tmp_path / "encoder")
    prepared(
        tmp_path, with_(OPEN, num_perturbations=1), bertscore_path=str(encoder), bertscore_layer=2
    )
    manifest = json.loads((tmp_path / "work_dir" / "manifest.json").read_text())
    assert manifest["tasks"]["fm_open_general_semantic_robustness"]["plan"]["annotators"] == [
        "bertscore"
    ]
    assert "fm/open.bertscore_dissimilarity" in manifest["scores"]


def test_helper_models_from_python(tmp_path):
    rows = [{"t": "a cat", "o": "a cat"}, {"t": "a dog", "o": "the cat"}]
    call = {"target": "t", "output": "o"}
    detector = tiny.classifier(tmp_path / "detector", DETOXIFY_NAMES)
    done = evalprep.evaluate(rows, algorithm="toxicity", detector_path=detector, **call)
    assert len(done.scores) == len(DETOXIFY_NAMES) + 2
    assert done.scores["detoxify_toxicity"].n == 2
    assert done.notes == ()
    encoder = {"bertscore_path": str(tiny.encoder(tmp_path / "encoder")), "bertscore_layer": 2}
    done = evalprep.evaluate(rows, algorithm="qa_accuracy", **encoder, **call)
    assert done.samples[0]["metrics"]["bertscore"] == pytest.approx(1.0, abs=1e-5)
    assert done.scores["bertscore"].n == 2
