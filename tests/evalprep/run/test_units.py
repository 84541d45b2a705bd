"""Keys of responses, and what an earlier start of a run leaves to a later one."""

import shutil
from types import SimpleNamespace

import pytest

from evalprep.errors import BadInput
from evalprep.packs.manifest import versions
from evalprep.results import DONE, PENDING, State, Unit
from evalprep.run.interface import interface_of
from evalprep.run.merge import _results_file
from evalprep.run.request import Request
from evalprep.run.responses import Answer, ResponseFile, keys_of
from evalprep.run.stored import _mean_stderr
from evalprep.run.tasks import load_tasks
from evalprep.run.walk import _take_over
from evalprep.status import Job
from evalprep.status.folder import RunFolder
from evalprep.verbs.running.commands import _conclude


def test_every_request_has_the_key_of_its_row():
    requests = [SimpleNamespace(task_name="t", doc_id=row, idx=0) for row in (0, 0, 1, 2)]
    assert [key[2:] for key in keys_of("generate_until", requests)] == [
        (0, 0, 0),
        (0, 0, 1),
        (1, 0, 0),
        (2, 0, 0),
    ]
    later = [SimpleNamespace(task_name="t", doc_id=row, idx=0) for row in (0, 1)]
    assert [key[2] for key in keys_of("generate_until", later, first=40)] == [40, 41]


def test_a_folder_without_results_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=f"no results file in {tmp_path}"):
        _results_file(tmp_path)


def test_the_standard_error_of_stored_replies_is_that_of_lm_eval():
    from lm_eval.api import metrics as harness

    values = [0.0, 1.0, 1.0, 0.25, 0.5]
    assert _mean_stderr(values) == pytest.approx(harness.mean_stderr(values))


def test_vllm_gets_the_sampling_that_lm_eval_would_send():
    job = Job(model="vllm", model_args={"pretrained": "no/such-model"}, tasks=[], options={})
    arguments = {"until": ["\n"], "max_gen_toks": 7, "do_sample": False, "temperature": 0.0}
    request = Request("q", "c1", "t", 0, "", "generate_until", "2 + 2 =", arguments=arguments)
    assert interface_of(job).sampling(request) == {
        "skip_special_tokens": False,
        "spaces_between_special_tokens": False,
        "temperature": 0.0,
        "max_tokens": 7,
        "stop": ["\n"],
    }


TEMPLATE = (
    "{{ messages[0].content }}|{{ date }}|"
    "{% if enable_thinking is defined %}{{ enable_thinking }}{% endif %}"
)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        pytest.param({}, "Hi||None", id="nothing"),
        pytest.param({"enable_thinking": False}, "Hi||False", id="thinking is off"),
        pytest.param({"chat_template_args": {"date": "May"}}, "Hi|May|None", id="a variable"),
        pytest.param({"chat_template_args": "May"}, "Hi||None", id="no variables"),
    ],
)
def test_a_chat_is_rendered_with_the_variables_of_model_args(tmp_path, tiny_model, arguments, text):
    folder = shutil.copytree(tiny_model(), tmp_path / "model")
    (folder / "chat_template.jinja").write_text(TEMPLATE, encoding="utf-8")
    model_args = {"pretrained": str(folder), **arguments}
    interface = interface_of(Job(model="vllm", model_args=model_args, tasks=[], options={}))
    messages = [{"role": "user", "content": "Hi"}]
    prompt = interface.render(messages, add_generation_prompt=True)
    assert (prompt, interface.messages_of(prompt)) == (text, tuple(messages))


def test_a_chat_without_a_tokenizer_is_refused_with_the_fix():
    args = {"pretrained": "no/such-model"}
    interface = interface_of(Job(model="vllm", model_args=args, tasks=[], options={}))
    with pytest.raises(BadInput) as caught:
        interface.render([{"role": "user", "content": "Hi"}], add_generation_prompt=True)
    (problem,) = caught.value.problems
    assert "no/such-model has no tokenizer with a chat template" in problem.what
    assert "model_args: {tokenizer: ...}" in problem.fix


@pytest.mark.parametrize(
    ("state", "line"),
    [
        (State(phase="done", results="r.json"), "results: r.json\n"),
        (
            State(phase="done", units=[Unit("t", "t", 3, status=DONE)]),
            "finished 1 unit of this shard\n",
        ),
        (State(phase="failed", message="OSError: no such model"), ""),
    ],
)
def test_the_last_line_of_a_command(tmp_path, capsys, state, line):
    _conclude(state, RunFolder(tmp_path), 0)
    out, err = capsys.readouterr()
    assert out == line
    assert ("failed: OSError" in err) is (state.phase == "failed")


@pytest.fixture
def started(tmp_path):
    """A run of three units: one that is whole, one whose responses are damaged, and one that was not begun."""
    folder = RunFolder(tmp_path)
    for name in ("whole", "damaged"):
        unit = Unit(name, name, 3, status=DONE, score=0.5, versions={"lm_eval": "0.0.1"})
        folder.part(unit).mkdir(parents=True)
        ResponseFile(folder.part(unit)).add(
            {("generate_until", name, 0, 0, 0): Answer([], "A", "digest")}
        )
        folder.finish(unit)
    ResponseFile(folder.folder(Unit("damaged", "damaged", 3))).path.write_bytes(b"\x00")
    return folder, State(units=[Unit(name, name, 3) for name in ("whole", "damaged", "open")])


def test_an_earlier_start_leaves_what_can_still_be_read(started):
    folder, state = started
    _take_over(folder, state)
    assert [(unit.status, unit.score) for unit in state.units] == [
        (DONE, 0.5),
        (PENDING, None),
        (PENDING, None),
    ]
    assert not folder.folder(state.units[1]).exists()
    (note,) = state.notes
    assert note.startswith("some units were made with lm_eval 0.0.1, not ")


def test_units_of_todays_versions_need_no_note(started):
    folder, state = started
    done = Unit("open", "open", 3, status=DONE, versions=versions())
    folder.part(done).mkdir(parents=True)
    ResponseFile(folder.part(done)).add(
        {("generate_until", "open", 0, 0, 0): Answer([], "A", "digest")}
    )
    folder.finish(done)
    folder.discard(state.units[0])
    _take_over(folder, state)
    assert [unit.status for unit in state.units] == [PENDING, PENDING, DONE]
    assert state.notes == []


def test_a_task_that_cannot_be_loaded_costs_no_other_and_has_its_reason(tmp_path):
    class Manager:
        def load(self, names):
            if "broken" in names:
                raise ValueError("no such column: question")
            return {"tasks": dict.fromkeys(names, "loaded")}

    options = {"include_path": str(tmp_path)}
    job = Job(model="dummy", model_args={}, tasks=["broken", "whole"], options=options)
    loaded = load_tasks(Manager(), job)
    assert loaded.tasks == {"whole": "loaded"}
    assert loaded.failures == {"broken": "cannot be loaded: ValueError: no such column: question"}
