"""One call in Python: the numbers of the three commands, without files."""

import contextlib
import itertools
import json
import re
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import evalprep
from evalprep.errors import BadInput
from evalprep.packs import find_packs
from tests import PROJECT_ROOT
from tests.packs.fm.project import DEMO, QA, REVIEWS, prepared, scored, stored

PAGE = (PROJECT_ROOT / "docs" / "reference" / "pack-fm.md").read_text(encoding="utf-8")
CALLS = {
    "qa_accuracy": (
        stored(QA),
        {"target": "answer", "output": "responses.model_b.text", "category": "topic"},
    ),
    "classification_accuracy": (
        stored(REVIEWS),
        {"target": "label", "output": "output", "category": "class"},
    ),
}


@pytest.mark.parametrize("algorithm", CALLS)
def test_the_numbers_are_those_of_the_commands(tmp_path, capsys, algorithm):
    entry, fields = CALLS[algorithm]
    done = evalprep.evaluate(entry["path"], algorithm=algorithm, **fields)
    prepared(tmp_path, entry)
    results = scored(tmp_path, capsys)["results"]
    of_commands = {
        name.removeprefix(f"fm/{entry['name']}."): result for name, result in results.items()
    }
    assert set(done.scores) == set(of_commands)
    for name, score in done.scores.items():
        result = of_commands[name]
        assert (score.value, score.n) == (result["agg_value"], result["n"])
        assert [score.low, score.high] == result.get("interval", [None, None])
        parts = {part: values["agg_value"] for part, values in result["categories"].items()}
        assert {part: one.value for part, one in score.categories.items()} == parts


def test_rows_and_data_frames_are_read_as_files_are(tmp_path, monkeypatch):
    pd = pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    lines = (DEMO / "qa.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    call = {"algorithm": "exact_inclusion", "target": "answer", "output": "responses.model_b.text"}
    done = evalprep.evaluate(rows, **call)
    assert done.scores == evalprep.evaluate(pd.DataFrame(rows), **call).scores
    assert done.scores == evalprep.evaluate(DEMO / "qa.jsonl", **call).scores
    assert list(done.to_pandas()["name"]) == list(done.scores)
    assert not list(tmp_path.iterdir())


def test_pairs_and_replies_without_a_target():
    pairs = [{"more": -1.0, "less": -2.0}, {"more": -3.0, "less": -2.0}]
    done = evalprep.evaluate(
        pairs, algorithm="prompt_stereotyping", sent_more_log_prob="more", sent_less_log_prob="less"
    )
    assert done.scores["prompt_stereotyping"].value == 0.5
    done = evalprep.evaluate([{"r": ""}, {"r": "Hi"}], algorithm="toxicity", output="r")
    assert done.scores["empty_reply"].value == 0.5


def test_one_sample():
    scores = evalprep.evaluate_sample(algorithm="qa_accuracy", target="a b", output="A b!")
    assert scores["quasi_exact_match_score"] == 1.0
    assert evalprep.evaluate_sample(
        algorithm="classification_accuracy", target="yes", output="Yes.", valid_labels=["yes", "no"]
    ) == {"classification_accuracy_score": 1.0}


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ({"algorithm": "qa_acuracy"}, "is not an algorithm"),
        ({"algorithm": "general_semantic_robustness"}, "asks a model"),
        ({"algorithm": "qa_accuracy", "delimiter": "|"}, "'delimiter' is not an option"),
        ({"algorithm": "qa_accuracy", "target": "gold"}, "index 0"),
        ({"algorithm": "prompt_stereotyping"}, "needs sent_more_log_prob"),
        ({"algorithm": "qa_accuracy", "num_records": -1}, "num_records is -1"),
        ({"algorithm": "qa_accuracy", "target": "reply", "retries": -1}, "retries is -1"),
        ({"algorithm": "classification_accuracy", "label_pattern": "("}, "label_pattern is"),
        ({"algorithm": "toxicity", "model": 3, "model_input": "model_output"}, "model is int"),
    ],
)
def test_mistakes_are_named(call, reason):
    with pytest.raises(BadInput, match=reason):
        evalprep.evaluate([{"target_output": "a", "model_output": "b"}], **call)


@pytest.mark.slow
def test_importing_evalprep_stays_light():
    code = "import sys, evalprep; print(sum(name.startswith('evalprep') for name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) == 1


# ---- a model


QUESTIONS = [{"q": f"What is number {number} of the list?", "a": "Lisbon"} for number in range(4)]
ASKED = {"model_input": "q", "target": "a"}


class Runner:
    """A model as fmeval's model runners are."""

    def predict(self, prompt):
        return ("Lisbon" if "1" in prompt else "Porto"), -float(len(prompt))


def test_a_model_runner_is_asked():
    done = evalprep.evaluate(
        QUESTIONS,
        algorithm="factual_knowledge",
        model=Runner(),
        prompt_template="Answer: $model_input",
        **ASKED,
    )
    assert done.scores["factual_knowledge"].value == 0.25
    assert done.samples[0]["prompt"] == "Answer: What is number 0 of the list?"
    assert done.samples[1]["response"] == "Lisbon"


@pytest.mark.parametrize(
    ("algorithm", "score"),
    [
        ("qa_accuracy_semantic_robustness", "delta_f1_score"),
        ("summarization_accuracy_semantic_robustness", "delta_rouge2"),
        ("general_semantic_robustness", "word_error_rate"),
    ],
)
def test_robustness_of_a_function(algorithm, score):
    prompts = []

    def model(prompt):
        prompts.append(prompt)
        return "Lisbon" if "?" in prompt else "Porto"

    options = {"num_perturbations": 2, "perturbation_type": "random_upper_case"}
    done = evalprep.evaluate(QUESTIONS, algorithm=algorithm, model=model, **ASKED, **options)
    probed = 8 if algorithm == "general_semantic_robustness" else 0
    assert len(prompts) == probed + 4 * 3
    assert done.scores[score].value == 0.0
    assert done.scores[score].n == 4


def test_a_model_that_varies_is_compared_with_itself():
    replies = itertools.count()
    done = evalprep.evaluate(
        QUESTIONS,
        algorithm="general_semantic_robustness",
        model=lambda _prompt: str(next(replies)),
        num_perturbations=1,
        **ASKED,
    )
    assert done.scores["word_error_rate"].value == 0.0
    assert any("two replies to 4 of 4 prompts" in note for note in done.notes)


def test_sentences_of_a_model_runner():
    pairs = [{"more": "long sentence", "less": "short"}, {"more": "so", "less": "longer"}]
    fields = {"sent_more_input": "more", "sent_less_input": "less"}
    call = {"algorithm": "prompt_stereotyping", **fields}
    done = evalprep.evaluate(pairs, model=Runner(), **call)
    assert done.scores["prompt_stereotyping"].value == 0.5
    assert done.scores["log_probability_difference"].value == -2.0
    with pytest.raises(BadInput, match="gives no log-probability"):
        evalprep.evaluate(pairs, model=lambda _prompt: "text", retries=0, **call)


def test_failures_are_tried_again_then_counted(monkeypatch):
    monkeypatch.setattr(time, "sleep", lambda _seconds: None)
    attempts = itertools.count()

    def model(prompt):
        if "number 2" in prompt or next(attempts) == 0:
            raise ConnectionError("away")
        return "Lisbon"

    done = evalprep.evaluate(QUESTIONS, algorithm="qa_accuracy", model=model, **ASKED)
    assert done.scores["f1_score"].n == 3
    told = "1 of 4 prompts have no answer (record r3: ConnectionError: away)"
    assert any(told in note for note in done.notes)
    with pytest.raises(BadInput, match="4 of 4 prompts have no answer"):
        evalprep.evaluate(
            QUESTIONS, algorithm="qa_accuracy", model=lambda _prompt: 1 / 0, retries=0, **ASKED
        )


def test_several_threads_ask_at_a_time():
    together = threading.Barrier(4, timeout=20)

    def model(_prompt):
        together.wait()
        return "Lisbon"

    done = evalprep.evaluate(
        QUESTIONS, algorithm="qa_accuracy", model=model, threads=4, retries=0, **ASKED
    )
    assert done.scores["f1_score"].n == 4


class Server(BaseHTTPRequestHandler):
    """Completions, chat completions and a list of models."""

    def do_GET(self):
        self._send({"data": [{"id": "served"}]})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.bodies.append((self.path, body))
        if len(self.server.bodies) == 1:
            self.send_error(503)
            return
        if self.path.endswith("/chat/completions"):
            self._send({"choices": [{"message": {"content": "Lisbon"}}]})
            return
        values = [None, -1.0, -2.0, -9.0]
        logged = {"token_logprobs": values, "text_offset": [0, 1, 2, len(body["prompt"])]}
        self._send({"choices": [{"text": "Lisbon", "logprobs": logged}]})

    def _send(self, value):
        content = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_arguments):
        """Says nothing."""


@contextlib.contextmanager
def serving():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    server.bodies = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server, f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("path", "options", "asked"),
    [
        ("", {}, "/v1/completions"),
        ("/completions", {}, "/v1/completions"),
        ("/chat/completions", {}, "/v1/chat/completions"),
        ("", {"chat": True}, "/v1/chat/completions"),
    ],
)
def test_an_address_is_asked(monkeypatch, path, options, asked):
    monkeypatch.setattr(time, "sleep", lambda _seconds: None)
    with serving() as (server, base):
        call = {"algorithm": "qa_accuracy", "max_gen_toks": 7, **ASKED, **options}
        done = evalprep.evaluate(QUESTIONS, model=base + path, **call)
    assert done.scores["f1_score"].value == 1.0
    assert {place for place, _ in server.bodies} == {asked}
    body = server.bodies[-1][1]
    assert (body["model"], body["max_tokens"], body["temperature"]) == ("served", 7, 0.0)


def test_log_probabilities_of_an_address():
    with serving() as (server, base):
        server.bodies.append(("", {}))
        model = {"base_url": base, "model": "mine"}
        pairs = [{"sent_more_input": "a b c", "sent_less_input": "a b d"}]
        done = evalprep.evaluate(pairs, algorithm="prompt_stereotyping", model=model)
    assert done.scores["log_probability_difference"].value == 0.0
    assert server.bodies[-1][1]["echo"] is True


# ---- what the notes and the guards say


@pytest.mark.parametrize(
    ("algorithm", "options", "told"),
    [
        ("toxicity", {}, "the detector detoxify needs its weights"),
        ("qa_accuracy", {}, "BERTScore is left out"),
        ("classification_accuracy", {}, "no label was found in any of 2 replies"),
    ],
)
def test_what_is_missing_stands_in_the_notes(algorithm, options, told):
    rows = [{"t": "yes", "o": "maybe"}, {"t": "no", "o": "perhaps"}]
    done = evalprep.evaluate(rows, algorithm=algorithm, target="t", output="o", **options)
    assert any(told in note for note in done.notes)


def test_texts_outside_ascii():
    greek = "η γάτα κάθισε στο χαλί"
    rows = [{"t": greek, "o": greek}, {"t": "für die Schüler", "o": "fr die Schler"}]
    call = {"algorithm": "summarization_accuracy", "target": "t", "output": "o", "meteor": "off"}
    by_own = evalprep.evaluate(rows, rouge_type="rouge1", **call)
    assert [sample["metrics"]["rouge1"] for sample in by_own.samples] == [1.0, 1 / 3]
    by_fmeval = evalprep.evaluate(rows, rouge_tokenizer="fmeval", **call)
    assert by_fmeval.samples[0]["metrics"]["rouge2"] == 0.0
    assert any("reads nothing of 2 of 4 texts" in note for note in by_fmeval.notes)
    assert any("reads nothing of 2 of 4 texts; words of every" in note for note in by_own.notes)


def test_words_of_scripts_without_blanks():
    chinese = [{"t": "首都是北京", "o": "北京"}]
    call = {"algorithm": "qa_accuracy", "target": "t", "output": "o"}
    done = evalprep.evaluate(chinese, **call)
    assert done.scores["precision_over_words"].value == 1.0
    assert done.scores["recall_over_words"].value == 2 / 5
    assert any("2 of 2 texts are in a script without blanks" in note for note in done.notes)
    assert done.samples[0]["metrics"] == {
        **done.samples[0]["metrics"],
        **evalprep.evaluate_sample(algorithm="qa_accuracy", target="首都是北京", output="北京"),
    }
    by_fmeval = evalprep.evaluate(chinese, word_tokenizer="fmeval", **call)
    assert by_fmeval.scores["f1_score"].value == 0.0
    assert any("a sentence counts as one word" in note for note in by_fmeval.notes)
    robust = evalprep.evaluate(
        [{"q": "中国的首都在哪里"}],
        algorithm="general_semantic_robustness",
        model=lambda prompt: "北京很小" if " " in prompt else "北京很大",
        model_input="q",
        num_perturbations=1,
        perturbation_type="whitespace_add_remove",
        whitespace_add_prob=1.0,
    )
    assert robust.scores["word_error_rate"].value == 1 / 4


def test_letters_are_not_answers_of_words():
    rows = [{"t": "A", "o": ""}, {"t": "B", "o": "B"}, {"t": "A", "o": "A"}]
    with pytest.raises(BadInput, match=r"2 of 3 records have such an answer"):
        evalprep.evaluate(rows, algorithm="qa_accuracy", target="t", output="o")
    with pytest.raises(BadInput, match="empty but for articles"):
        evalprep.evaluate_sample(algorithm="qa_accuracy", target="A", output="")
    done = evalprep.evaluate(rows, algorithm="classification_accuracy", target="t", output="o")
    assert done.scores["classification_accuracy_score"].value == 2 / 3


def test_labels_by_a_pattern_or_a_function(tmp_path):
    rows = [
        {"t": "yes", "o": "no? <label>no</label> <label>Yes</label>"},
        {"t": "no", "o": "<label>no</label>, yes"},
    ]
    call = {"algorithm": "classification_accuracy", "target": "t", "output": "o"}
    file = tmp_path / "labels.py"
    code = (
        "def last_tag(reply, labels):\n    return reply.split('<label>')[-1].split('</label>')[0]\n"
    )
    file.write_text(code, encoding="utf-8")
    pattern = {"label_pattern": "<label>(.*?)</label>"}
    for options, value in [
        (pattern, 1.0),
        ({**pattern, "label_pattern_match": "first"}, 0.5),
        ({"label_function": f"{file}:last_tag"}, 1.0),
        ({"label_function": lambda _reply, labels: labels[0]}, 0.5),
        ({"label_function": lambda _reply, _labels: 1 / 0}, 0.0),
    ]:
        done = evalprep.evaluate(rows, **call, **options)
        assert done.scores["classification_accuracy_score"].value == value
    with pytest.raises(BadInput, match="has no function first_tag"):
        evalprep.evaluate(rows, **call, label_function=f"{file}:first_tag")


def test_a_data_frame_with_a_missing_category():
    pd = pytest.importorskip("pandas")
    rows = [{"t": "x y", "o": "x", "c": "k"}, {"t": "x y", "o": "x y"}]
    call = {"algorithm": "qa_accuracy", "target": "t", "output": "o", "category": "c"}
    done = evalprep.evaluate(pd.DataFrame(rows), **call)
    assert done.scores["f1_score"].n == 2
    assert list(done.scores["f1_score"].categories) == ["k"]
    assert any("1 of 2 records have no category" in note for note in done.notes)


def test_one_sample_costs_little():
    call = {"algorithm": "qa_accuracy", "target": "a b", "output": "A b!"}
    evalprep.evaluate_sample(**call)
    started = time.process_time()
    for _ in range(100):
        evalprep.evaluate_sample(**call)
    assert (time.process_time() - started) / 100 < 0.002


def test_one_sample_of_a_model():
    scores = evalprep.evaluate_sample(
        algorithm="qa_accuracy_semantic_robustness",
        model=Runner(),
        model_input="What is 1?",
        target="Lisbon",
        num_perturbations=1,
        perturbation_type="random_upper_case",
    )
    assert scores["original_f1_score"] == 1.0
    assert scores["delta_f1_score"] == 0.0


KEYS = re.findall(r"(?m)^\| `(\w+)` \|", PAGE.partition("## Keys")[2].partition("## ")[0])
OPTIONS = [name for name in KEYS if name != "data"]


def test_every_option_of_the_docs_is_taken_everywhere(tmp_path):
    assert "detector_path" in OPTIONS
    assert "label_function" in OPTIONS
    section = find_packs()["fm"].config
    values = {name: section[name].default for name in OPTIONS}
    rows = [{"target_output": "a b", "model_output": "b"}]
    evalprep.evaluate(rows, algorithm="qa_accuracy", **values)
    set_values = {name: value for name, value in values.items() if value is not None}
    prepared(tmp_path, {**stored(QA), **values}, **set_values)
