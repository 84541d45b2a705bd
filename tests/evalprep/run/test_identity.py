"""Which run and which try results are of: other replies, another try, an edit, a second preparation, a copy."""

import json
import shutil

import pytest

from evalprep.results import run_calls
from tests import processes

from .conftest import HANG
from .server import Completions, completions

ROWS = 3


class Endpoint(Completions):
    """Answers each question by the word of its subject, and refuses some subjects."""

    def __init__(self, **answers):
        super().__init__()
        self.answers = answers
        self.refused = set()

    def answer(self, request):
        prompt = json.dumps(request["messages"])
        subject = next(name for name in self.answers if name in prompt)
        self.prompts.append(subject)
        if subject in self.refused:
            return 400, {"error": {"message": "no, says the test"}}
        message = {"role": "assistant", "content": self.answers[subject]}
        return 200, {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}


def inline(subject):
    return {
        "task": subject,
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": f"{subject}.jsonl"}},
        "test_split": "test",
        "output_type": "generate_until",
        "doc_to_text": "{{question}}",
        "doc_to_target": "{{answer}}",
        "generation_kwargs": {"until": ["\n\n"], "do_sample": False, "temperature": 0.0},
        "metric_list": [{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}],
        "num_fewshot": 0,
        "metadata": {"version": 1.0, "primary_metric": "exact_match", "primary_filter": "none"},
    }


class Project:
    """A folder with two tasks, each of three questions whose answer is `yes`."""

    def __init__(self, folder, **config):
        self.folder = folder
        self.out = folder / "eval_results"
        for subject in ("bio", "geo"):
            rows = [
                {"sample_id": f"{subject}{at}", "question": f"{subject} {at}?", "answer": "yes"}
                for at in range(ROWS)
            ]
            text = "".join(json.dumps(row) + "\n" for row in rows)
            (folder / f"{subject}.jsonl").write_text(text)
        self.write(**config)

    def write(self, **config):
        usual = {"model_name": "a-model", "backend": "dummy"}
        tasks = {"tasks": [inline("bio"), inline("geo")], "apply_chat_template": True}
        (self.folder / "eval_config.yaml").write_text(json.dumps({**usual, **tasks, **config}))

    def __call__(self, *words, code=0):
        ended = processes.run(*map(str, words), cwd=self.folder, timeout=HANG)
        assert ended.returncode == code, ended.stdout + ended.stderr
        return " ".join((ended.stdout + ended.stderr).split())

    @property
    def manifest(self):
        return json.loads((self.folder / "work_dir/manifest.json").read_text())

    def records(self):
        return {
            path.stem.removeprefix("run_"): json.loads(path.read_text())
            for path in self.out.glob("run_*.json")
        }

    def failures(self, run):
        return json.loads((self.out / f"failed_{run}.json").read_text())["tasks"]

    def tries(self, run):
        """What each results file of a run holds: its tasks and its try."""
        return [(sorted(call.rows), call.attempt) for call in run_calls(self.out, run)]


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


@pytest.fixture
def endpoint(tmp_path):
    """An endpoint that is always right, and a project that asks it."""
    here = Endpoint(bio="yes", geo="yes")
    with completions(here) as url:
        address = url.replace("/v1/", "/v1/chat/")
        yield here, Project(tmp_path, **_served(address))


def _served(address):
    arguments = {"base_url": address, "num_concurrent": 4, "max_retries": 1}
    return {"backend": "local-chat-completions", "model_args": arguments}


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_restart_that_fails_is_a_try_of_its_own_and_a_resume_completes_it(endpoint):
    here, project = endpoint
    project("run")
    run = project.manifest["run"]
    assert project.tries(run) == [(["bio", "geo"], 1)]
    here.answers["bio"] = "no"
    here.refused = {"geo"}
    project("run", "--restart", code=1)
    assert project.tries(run) == [(["bio", "geo"], 1), (["bio"], 2)]
    (failure,) = project.failures(run).items()
    assert failure[0] == "geo"
    assert failure[1].keys() == {"command", "try", "when", "reason"}
    assert (failure[1]["command"], failure[1]["try"]) == ("c1-chat", 2)
    assert "400" in failure[1]["reason"]
    assert project("status", "--left", "c1-chat", code=1) == "geo"
    project("run", code=1)  # a resume begins no try, and asks what is not finished
    assert project.failures(run)["geo"]["try"] == 2
    here.refused, here.prompts = set(), []
    project("run")
    assert set(here.prompts) == {"geo"}
    assert project.failures(run) == {}
    assert project.tries(run)[-1] == (["bio", "geo"], 2)
    assert project("status", "--left", "c1-chat") == ""


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_restart_that_was_cut_off_leaves_its_tasks_without_a_value(endpoint):
    """Also where not even a state was written: no later call takes the try before for this one."""
    here, project = endpoint
    project("run")
    run = project.manifest["run"]
    here.refused = {"bio", "geo"}
    project("run", "--restart", code=1)
    shutil.rmtree(project.out / ".evalprep")
    assert set(project("status", "--left", "c1-chat", code=1).split()) == {"bio", "geo"}
    here.refused, here.prompts = set(), []
    project("run")
    assert set(here.prompts) == {"bio", "geo"}
    assert project.tries(run) == [(["bio", "geo"], 1), (["bio", "geo"], 2)]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_port_of_a_local_server_is_no_part_of_a_run(endpoint):
    _, project = endpoint
    project("run")
    run = project.manifest["run"]
    other = Endpoint(bio="yes", geo="yes")
    with completions(other) as url:
        project.write(**_served(url.replace("/v1/", "/v1/chat/")))
        project("run")
    assert project.manifest["run"] == run
    assert not other.prompts
    project.write(**_served("http://10.0.0.1/v1/chat/completions"))
    project("prepare", "--check", "off", "--quiet")
    assert project.manifest["run"] != run


def write_replies(project, name, text, rows):
    lines = [json.dumps({"id": row, "text": text}) for row in rows]
    (project.folder / name).write_text("\n".join(lines))


@pytest.fixture
def requests(project):
    """Ids of the requests of a prepared folder."""
    project("prepare", "--quiet")
    project("prompts", "work_dir", "--to", "openai-batch", "--out", "requests.jsonl")
    lines = (project.folder / "requests.jsonl").read_text().splitlines()
    return [json.loads(line)["custom_id"] for line in lines]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_replies_of_another_engine_are_another_run(project, requests):
    write_replies(project, "right.jsonl", "yes", requests)
    write_replies(project, "wrong.jsonl", "no", requests)
    assert "bio 3 100.0" in project("run", "work_dir", "--replies", "right.jsonl")
    (first,) = set(project.records()) - {project.manifest["run"]}
    assert "bio 3 0.0" in project("run", "work_dir", "--replies", "wrong.jsonl")
    text = project("run", "work_dir", "--replies", "right.jsonl")
    assert "bio 3 100.0" in text
    assert f"--timestamp {first}" in text
    assert "bio 3 0.0" in project("run", "work_dir")  # the model answers `lol`
    assert len(project.records()) == 3
    assert all(len(project.tries(run)) == 1 for run in project.records())
    assert project.records()[first]["replies"]["files"][0]["path"].endswith("right.jsonl")


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_replies_that_were_missing_continue_the_run(project, requests):
    write_replies(project, "some.jsonl", "yes", requests[:-2])
    write_replies(project, "rest.jsonl", "yes", requests[-2:])
    text = project("run", "work_dir", "--replies", "some.jsonl", code=1)
    assert "2 of 3 replies are missing (of geo1, geo2)" in text
    (run,) = set(project.records()) - {project.manifest["run"]}
    # With the file before or without it, which is read again.
    text = project("run", "work_dir", "--replies", "rest.jsonl", "--missing_to", "missing.jsonl")
    assert "geo 3 100.0" in text
    assert "no reply is missing" in text
    assert len(project.records()[run]["replies"]["files"]) == 2
    assert len(project.records()) == 2
    write_replies(project, "changed.jsonl", "no", requests[-1:])
    files = "some.jsonl,rest.jsonl,changed.jsonl"
    assert "geo 3 66.7" in project("run", "work_dir", "--replies", files)
    assert len(project.records()) == 3
    write_replies(project, "fewer.jsonl", "yes", requests[2:])
    text = project("run", "work_dir", "--replies", "fewer.jsonl", code=1)
    assert "2 of 3 replies are missing (of bio0, bio1)" in text


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_options_hold_for_one_call_and_the_next_follows_the_file(project):
    text = project("run", "--limit", "2")
    assert "bio 2 0.0" in text
    limited = project.manifest["run"]
    text = project("run")
    assert "prepare: the config differs from the prepared one in limit" in text
    assert "bio 3 0.0" in text
    whole = project.manifest["run"]
    assert "prepare: " not in project("run")
    project("run", "--model", "another", "--limit", "1")
    assert project("run").count("bio 3 0.0")
    assert project.manifest["run"] == whole
    assert {limited, whole} < set(project.records())
    assert "next: evalprep run work_dir" in project("prepare", "--set", "limit=1")
    assert "bio 1 0.0" in project("run", "work_dir")
    assert "bio 3 0.0" in project("run")


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_an_edit_of_a_filter_reads_the_saved_replies_and_one_of_a_question_asks(endpoint):
    here, project = endpoint
    here.answers["bio"] = "yes!"
    assert "bio 3 0.0" in project("run")
    run = project.manifest["run"]
    path = project.folder / "work_dir/inline/bio.yaml"
    regex = {"function": "regex", "regex_pattern": "(\\w+)"}
    filters = [{"name": "none", "filter": [regex, {"function": "take_first"}]}]
    asked = list(here.prompts)
    path.write_text(path.read_text() + f"filter_list: {json.dumps(filters)}\n")
    assert "bio 3 100.0" in project("run", "work_dir")
    assert here.prompts == asked
    assert {attempt for _, attempt in project.tries(run)} == {1}
    assert set(project.records()) == {run}
    path.write_text(path.read_text().replace("{{question}}", "Say: {{question}}"))
    project("run", "work_dir")
    assert len(here.prompts) > len(asked)
    assert len(set(project.records()) - {run}) == 1


def test_what_asks_and_who_answers_decide_the_id(project):
    project("prepare", "--quiet")
    first = project.manifest["run"]
    for setting in (
        "seed=7",
        "limit=2",
        "max_model_len=512",
        "dtype=float16",
        "model_revision=step100",
        "model_name=another",
        "backend=hf",
        "gen_kwargs={max_gen_toks: 4}",
    ):
        project("prepare", "--quiet", "--check", "off", "--set", setting)
        assert project.manifest["run"] != first, setting
    for setting in ("batch_size=4", "show_config=true", "device=cpu"):
        project("prepare", "--quiet", "--set", setting)
        assert project.manifest["run"] == first, setting


def test_other_weights_under_one_path_are_another_run(project):
    model = project.folder / "model"
    model.mkdir()
    (model / "config.json").write_text("{}")
    (model / "model.safetensors").write_bytes(bytes(9_000_000))
    project.write(model_name="./model")
    ids = []
    for place in (None, 0, 4_500_000, 8_999_999):
        if place is not None:
            with (model / "model.safetensors").open("r+b") as file:
                file.seek(place)
                file.write(b"\1" * 70_000)
        project("prepare", "--quiet", "--check", "off")
        ids.append(project.manifest["run"])
    assert len(set(ids)) == 4
    (stated,) = project.manifest["fingerprints"].items()
    assert stated[0] == str(model.resolve())
    (model / "optimizer.pt").write_bytes(b"1")
    (project.folder / "README.md").write_text("no part of the model")
    project("prepare", "--quiet", "--check", "off")
    assert project.manifest["run"] == ids[-1]


def test_a_second_preparation_names_the_command_that_it_replaces(project):
    project("prepare", "--quiet")
    first = project.manifest["run"]
    assert "replaces" not in project("prepare")
    text = project("prepare", "--set", "limit=2")
    assert f"replaces run {first} of a-model, with no results yet from command c1-chat" in text
    assert "other tasks" not in text
    project.write(tasks=[inline("bio"), {**inline("geo"), "doc_to_text": "Now {{question}}"}])
    second = project.manifest["run"]
    text = project("prepare")
    assert f"--metadata run={second},command=c1-chat): it would measure other tasks" in text


@pytest.mark.slow
def test_the_launcher_refuses_a_replaced_command(project):
    import subprocess
    import sys

    project("prepare", "--quiet")
    first = project.manifest["run"]
    shutil.copyfile(project.folder / "work_dir/run.yaml", project.folder / "old.yaml")
    project("prepare", "--quiet", "--set", "limit=2")
    words = [sys.executable, "-m", "evalprep.run.launcher", "run", "--config", "old.yaml"]
    ended = subprocess.run(
        words, cwd=project.folder, check=False, capture_output=True, text=True, timeout=HANG
    )
    assert ended.returncode == 2
    assert f"this command is of run {first}" in ended.stderr
    assert not list(project.out.glob("*/results_*.json"))


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_copied_project_is_read_in_its_own_place(project):
    project("run")
    place = project.folder.parent / f"{project.folder.name} copied"
    shutil.copytree(project.folder, place)
    copy = Project(place)
    shutil.rmtree(project.out)
    (project.folder / "work_dir/manifest.json").unlink()
    text = copy("status", "work_dir")
    assert "✓ bio" in text
    assert "✓ geo" in text
    text = copy("status", "eval_results")
    assert "✓ geo" in text
    assert str(project.folder) + "/" not in text
    assert str(copy.folder) in copy("rescore", "eval_results")


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_status_shows_all_tasks_of_a_run_whose_last_start_was_for_some(endpoint):
    here, project = endpoint
    here.refused = {"geo"}
    project("run", code=1)
    shutil.rmtree(project.out / ".evalprep")
    here.refused = set()
    project("run")  # geo alone
    for place in ("eval_results", "work_dir"):
        text = project("status", place)
        assert "✓ bio" in text
        assert "✓ geo" in text
        assert "older runs" not in text
