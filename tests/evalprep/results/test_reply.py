"""Whether a reply ended at its limit: told by the task, by tokens, by its form, or not known."""

import json

import pytest

from evalprep.packs.rubric import text_at
from evalprep.readers.logged import CallSettings
from evalprep.results import load_run
from evalprep.results.reply import (
    at_one_length,
    default_limit,
    ends_a_sentence,
    extraction_failed,
    knows_parsing,
    limit_of_reply,
    truncated,
)
from evalprep.samples.sample import INVALID, parse, response_of
from evalprep.samples.scan import read_table
from tests.evalprep.results.writing import STAMP, Row, write_run


def sample(tmp_path, text, *, limit=100, answer="A", metrics=None):
    home = write_run(tmp_path, {"t": [Row("1", response=text, answer=answer, metrics=metrics)]})
    path = home / f"samples_t_{STAMP}.jsonl"
    line = json.loads(path.read_text())
    arguments = line["arguments"]["gen_args_0"]["arg_1"]
    arguments.pop("max_gen_toks")
    if limit is not None:
        arguments["max_gen_toks"] = limit
    path.write_text(json.dumps(line) + "\n")
    (found,) = load_run(home).tasks["t"].samples()
    return found


@pytest.mark.parametrize(
    ("text", "limit", "answer", "cut"),
    [
        pytest.param("word " * 60, 100, "A", True, id="long, inside a sentence"),
        pytest.param("word " * 60 + "end.", 100, "A", False, id="long, a whole sentence"),
        pytest.param(
            "word " * 30, 100, "A", None, id="more bytes than tokens, and not at the limit for sure"
        ),
        pytest.param("word", 100, "A", False, id="fewer bytes than tokens"),
        pytest.param("word " * 60, 10, "A", False, id="a short budget, and an answer was found"),
        pytest.param("word " * 60, 10, "[invalid]", True, id="a short budget, and none was found"),
        pytest.param('{"a": "' + "word " * 25, 100, "A", True, id="JSON that does not close"),
        pytest.param('{"a": "' + "word " * 60 + '"}', 100, "A", False, id="JSON that does"),
        pytest.param(
            '["' + "word " * 4, None, "A", True, id="no limit known, and JSON that does not close"
        ),
        pytest.param("word " * 60, None, "A", None, id="no limit known"),
    ],
)
def test_by_its_form(text, limit, answer, cut, tmp_path):
    assert truncated(sample(tmp_path, text, limit=limit, answer=answer)) is cut


@pytest.mark.parametrize(("tokens", "cut"), [(100, True), (97, True), (96, False), (10, False)])
def test_by_its_tokens(tokens, cut, tmp_path):
    assert truncated(sample(tmp_path, "a whole sentence."), lambda _text: tokens) is cut


def test_the_task_knows_best(tmp_path):
    told = sample(tmp_path, "word " * 60, metrics={"exact_match": 1.0, "truncated": 0})
    assert truncated(told, lambda _text: 100) is False
    told = sample(tmp_path, "a whole sentence.", metrics={"exact_match": 1.0, "truncated": 1})
    assert truncated(told, lambda _text: 10) is True


def test_limits(tmp_path):
    assert limit_of_reply(sample(tmp_path, "x", limit=7), 256) == 7
    assert limit_of_reply(sample(tmp_path, "x", limit=None), 256) == 256
    assert default_limit(CallSettings(backend="vllm", arguments={"max_gen_toks": 99})) == 99
    assert default_limit(CallSettings(backend="nobody's", arguments={"a": "b"})) is None


@pytest.mark.parametrize(
    ("backend", "limit"),
    [
        *[(name, 256) for name in ("hf", "hf-auto", "huggingface", "vllm", "vllm-vlm", "sglang")],
        *[(name, 256) for name in ("local-completions", "openai-completions", "anthropic-chat")],
        *[(name, 256) for name in ("litellm", "azure-openai-chat-completions")],
        # Its requests ask for as much as its whole context.
        ("anthropic-completions", 2048),
        # Whatever answers there is no model.
        ("dummy", None),
        ("stored", None),
    ],
)
def test_the_limit_of_a_reply_that_no_request_names_is_that_of_the_back_end(backend, limit):
    assert default_limit(CallSettings(backend=backend)) == limit


@pytest.mark.parametrize(
    ("lengths", "cut", "found"),
    [
        pytest.param([100] * 6 + [20] * 60, [True] * 6, 6, id="many at the longest"),
        pytest.param([100] * 4 + [20] * 60, [True] * 4, 0, id="fewer than five"),
        pytest.param([100] * 5 + [20] * 200, [True] * 5, 0, id="less than a twentieth"),
        pytest.param(
            [100] * 12 + [20] * 60, [True] * 6 + [False] * 6, 0, id="half of them end well"
        ),
        pytest.param([60] * 6, [True] * 6, 0, id="all are short"),
        pytest.param([95, 100, 91, 90, 99, 89] + [20] * 30, [True] * 6, 5, id="within a tenth"),
        pytest.param([-1] * 9, [True] * 9, 0, id="nothing known"),
    ],
)
def test_many_that_end_at_one_length(lengths, cut, found):
    ended = [*(not one for one in cut), *[True] * (len(lengths) - len(cut))]
    assert at_one_length(lengths, ended) == found


def test_what_ends_a_sentence():
    assert all(map(ends_a_sentence, ("", "  ", "It is so.", "(so)", "x = `y` ")))
    assert not ends_a_sentence("and then the")


def test_whether_a_task_tells_what_it_could_not_read(tmp_path):
    def task(place, **options):
        row = Row("1", answer=options.pop("answer", "A"), metrics=options.pop("metrics", None))
        return load_run(write_run(tmp_path / place, {"t": [row]}, **options)).tasks["t"].table()

    assert not knows_parsing(task("plain"))
    assert knows_parsing(task("filtered", filters=("strict",)))
    assert knows_parsing(task("invalid", answer="[invalid]"))
    assert knows_parsing(task("logged", metrics={"exact_match": 1.0, "unparsed": 0.0}))


def test_texts_of_a_row_by_place():
    row = {"doc": {"title": "On mice", "n": 0}, "response": ["a", "b"], "none": None}
    places = (
        "doc.title",
        "doc.n",
        "response",
        "none",
        "doc.gone",
        "doc.title.deeper",
        "gone.deeper",
    )
    assert [text_at(row, place) for place in places] == ["On mice", "0", "a\nb", "", "", "", ""]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({}, id="lm-eval's present layout"),
        pytest.param({"arguments": [["Q", {"max_gen_toks": 7}]]}, id="arguments as a list"),
        pytest.param({"arguments": {"gen_args_0": {"arg_0": "Q", "arg_1": " yes"}}}, id="a choice"),
        pytest.param({"metrics": None}, id="no list of metrics"),
        pytest.param({"prompt_hash": None}, id="no digest of the prompt"),
        pytest.param({"metrics": ["truncated"], "truncated": 1}, id="a metric of the task"),
        pytest.param({"metrics": ["not_parsed"], "not_parsed": True}, id="a parse rate"),
        pytest.param({"metrics": ["acc"], "acc": 1.0, "truncated": 1}, id="no metric of the task"),
        pytest.param({"resps": [["a", "b"], ["c"]]}, id="several replies"),
        pytest.param({"resps": [[["-1.5", "True"]]]}, id="a likelihood"),
        pytest.param({"resps": [["half a character \ud83d"]]}, id="half a character"),
        pytest.param({"other": float("nan")}, id="not a number"),
        pytest.param({"doc": {"prompt": "half \ud83d"}}, id="half a character in the document"),
        pytest.param({"doc": "a text"}, id="a document that is no object"),
        pytest.param({"resps": [[-1.5]], "filtered_resps": [[-1.5, False]]}, id="numbers"),
        pytest.param({"metrics": ["doc", "acc"], "acc": None}, id="a metric of a reserved name"),
        pytest.param({"metrics": ['a "b"'], 'a "b"': 1}, id="a metric with quotes"),
    ],
)
def test_a_sample_read_from_its_place_is_that_of_the_tolerant_reader(change, tmp_path):
    home = write_run(tmp_path, {"t": [Row("1", response="word " * 60)]})
    path = home / f"samples_t_{STAMP}.jsonl"
    line = json.dumps({**json.loads(path.read_text()), **change}) + "\n"
    path.write_text(line)
    (sample,) = load_run(home).tasks["t"].table("none").read([0])
    expected = parse(line.encode())
    names = ("sample_id", "doc_id", "doc", "target", "arguments", "resps", "filtered_resps")
    names += ("filter", "metrics", "hashes", "prompt", "response")
    assert {name: getattr(sample, name) for name in names} == {
        name: getattr(expected, name) for name in names
    }
    assert truncated(sample, default=100) is truncated(expected, default=100)


@pytest.mark.parametrize(
    ("answer", "metrics", "is_unread"),
    [
        ("A", {"exact_match": 0.0}, False),
        (INVALID, {"exact_match": 0.0}, True),
        ([INVALID], {"exact_match": 0.0}, True),
        ("A", {"exact_match": 0.0, "unparsed": 1.0}, True),
        ("A", {"exact_match": 0.0, "not_parsed": 1}, True),
        ("A", {"exact_match": 0.0, "not_parsed": 0}, False),
    ],
)
def test_tables_and_samples_count_unread_replies_by_one_rule(answer, metrics, is_unread, tmp_path):
    home = write_run(tmp_path, {"t": [Row("a", answer=answer, metrics=metrics)]})
    (path,) = home.glob("samples_t_*")
    table = read_table(path, "none")
    (sample,) = table.read([0])
    assert bool(table.unparsed[0] == 1) == extraction_failed(sample) == is_unread


@pytest.mark.parametrize(
    ("replies", "response"),
    [
        pytest.param([["a"]], "a", id="one request, one reply"),
        pytest.param(["a"], "a", id="without its list"),
        pytest.param([["a", "b"]], ["a", "b"], id="one request, two replies"),
        pytest.param([["a"], ["b"]], ["a", "b"], id="two requests"),
        pytest.param([[["-1.5", "False"]]], [["-1.5", "False"]], id="a likelihood"),
        pytest.param([], [], id="none"),
    ],
)
def test_the_only_reply_is_a_text_and_several_are_a_list(replies, response):
    assert response_of(replies) == response
