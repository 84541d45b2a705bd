"""Ten tasks of a newcomer, typed from the docs alone: the files and commands of one section of a page, and nothing else.

A model of 1.6 MB has the names that the pages use, a server on this machine takes the place of theirs, and another one
the place of the hub.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field

import pytest
import yaml

from environment.tiny_model import build
from tests import PROJECT_ROOT, import_path, processes
from tests.docs.test_first_pages import OWN_TASK
from tests.evalprep.annotate.services import serve
from tests.evalprep.check.test_stock import TASKS as STOCK_ROWS
from tests.evalprep.check.test_stock import sums
from tests.evalprep.data.mirror import hub
from tests.loops import each
from tests.packs.meta.test_families import data_set

DOCS = PROJECT_ROOT / "docs"
BLOCK = re.compile(r"(?:`([^`\n]+)`:\n\n)?```(\w+)\n(.*?)```", re.DOTALL)
#: What a newcomer has beside the docs, in a shell of any system.
SHELL = {"sh", "sed"}
MODELS = {
    "checkpoints/old": "C",
    "checkpoints/new": "",
    "Qwen/Qwen2.5-0.5B-Instruct": "lima",
    "meta-llama/Llama-3.2-1B-Instruct": "The best answer is A.",
    "org/model-step-1000": "Nairobi",
    "org/model-step-2000": "Rome",
}


@dataclass
class Task:
    """Something that a newcomer wants to do.

    Attributes:
        page: Where the docs say how, below docs/.
        section: The beginning of its heading there; without one the whole page counts.
        promises: The beginning of a command -> what it prints; in `files`, what is there at the end.
        after: The task whose folder it goes on in, and the names that its run gets there.
        asks_the_hub: It downloads data.
    """

    page: str
    section: str = ""
    promises: dict[str, list[str]] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    after: tuple[str, dict[str, str]] = ("", {})
    asks_the_hub: bool = False


RUNS = ("checkpoint", {"new": "results", "old": "other_results"})
TASKS = {
    "published": Task(
        "how-tos.md",
        "5. ",
        {
            "evalprep prepare": ["prepared 2 tasks", "lm_eval --model hf"],
            "evalprep compare": ["published verdicts", "meta_gpqa", "100.0"],
        },
    ),
    "checkpoint": Task(
        "../README.md",
        "Is my new checkpoint worse?",
        {
            "evalprep run --model checkpoints/new": ["hellaswag", "report"],
            "evalprep compare": ["hellaswag", "verdict"],
            "evalprep samples": ["lost samples"],
            "evalprep gate": ["hellaswag"],
        },
        asks_the_hub=True,
    ),
    "own questions": Task(
        "../README.md",
        "How does it do on my own questions?",
        {"evalprep new-pack": ["packs/capitals"], "evalprep run": ["capitals_qa", "report.html"]},
        ("packs/capitals/capitals_qa.yaml",),
    ),
    "own results": Task(
        "existing-results.md",
        promises={
            "evalprep score": ["hellaswag"],
            "evalprep compare": ["hellaswag", "other_results"],
            "evalprep samples": ["prompt:", "gold answer"],
            "evalprep report": ["report.html"],
            "evalprep leaderboard": ["hellaswag"],
            "evalprep export": ["junit.xml"],
        },
        files=("report/report.html", "board/leaderboard.html", "junit/junit.xml"),
        after=RUNS,
    ),
    "stock": Task(
        "lm-eval-tasks.md",
        promises={
            "evalprep run --model checkpoints/new --tasks hella": [
                "hellaswag",
                "arc_easy",
                "report",
            ],
            "HF_HUB_OFFLINE=1 evalprep run": ["hellaswag", "arc_easy", "report"],
            "evalprep run --model checkpoints/new --tasks mytasks": ["mine", "report"],
            "evalprep run --model checkpoints/new --include_path": ["mine", "arc_easy", "report"],
        },
        asks_the_hub=True,
    ),
    "chat server": Task(
        "servers.md", promises={"evalprep run": ["gsm8k", "report"]}, asks_the_hub=True
    ),
    "edit and rescore": Task(
        "how-tos.md",
        "3. ",
        {"evalprep prepare": [], "evalprep rescore": ["before 0.5000, now 0.0000"]},
    ),
    "lost samples": Task(
        "commands/samples.md",
        promises={
            "evalprep samples results --wrong": ["wrong samples"],
            "evalprep samples results --lost --baseline": ["lost samples"],
        },
        after=RUNS,
    ),
    "judge": Task(
        "commands/judge.md",
        promises={
            "evalprep judge": ["capitals_qa", "2 of 2 rated"],
            "evalprep score": ["clarity"],
            "evalprep report": ["report.html"],
        },
        after=("own questions", {}),
    ),
    "many runs": Task(
        "how-tos.md",
        "6. ",
        {
            "evalprep prepare": ["for 2 models"],
            "evalprep compare": ["capitals_qa", "lost"],
            "evalprep leaderboard": ["step-1000", "step-2000"],
        },
        ("board/leaderboard.html",),
    ),
}


def section_of(task):
    """The text of a task's section, or of its page as far as it is shell and files."""
    text = (DOCS / task.page).read_text(encoding="utf-8")
    if not task.section:
        return text
    return next(part for part in text.split("\n## ") if part.startswith(task.section))


def steps(task):
    """Files and command lines, in the order of the page."""
    for file, language, block in BLOCK.findall(section_of(task)):
        if file:
            yield file, block
        elif language == "sh":
            yield from (("", line.partition("  #")[0].strip()) for line in block.splitlines())


@pytest.mark.parametrize("name", TASKS)
def test_a_step_is_one_command_of_documented_options(name):
    commands = [text for file, text in steps(TASKS[name]) if not file]
    settings = (DOCS / "reference/config.md").read_text(encoding="utf-8")
    for command in each(commands):
        words = [word for word in shlex.split(command) if word != "HF_HUB_OFFLINE=1"]
        assert not {"|", "&&", "||", ";", ">"} & set(words), command
        if words[0] in SHELL:
            continue
        assert words[0] == "evalprep"
        reference = (DOCS / f"reference/{words[1]}.md").read_text(encoding="utf-8")
        for option in [word for word in words if word.startswith("-")]:
            assert option in reference, command
        for key in re.findall(r"--set (\w+)=", command):
            assert f"`{key}`" in settings, command
    promises = TASKS[name].promises
    assert [
        start for start in promises if not any(text.startswith(start) for text in commands)
    ] == []


@dataclass
class Newcomer:
    """A person with a shell, the docs, and a network of this machine alone."""

    home: object
    environment: dict
    network: dict
    service: str
    folders: dict = field(default_factory=dict)

    def folder_of(self, name):
        """The folder where a task is done; its commands are typed the first time."""
        if name not in self.folders:
            self.folders[name] = self.home / name.replace(" ", "_")
            self.start(name)
            self.type_all(name)
        return self.folders[name]

    def start(self, name):
        folder = self.folders[name]
        before, names = TASKS[name].after
        if before:
            shutil.copytree(self.folder_of(before), folder)
        folder.mkdir(exist_ok=True)
        for old, new in names.items():
            (folder / old).rename(folder / new)
        for path in (*MODELS, "data", "mytasks"):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            if not (folder / path).exists():
                (folder / path).symlink_to(self.home / "given" / path)

    def type_all(self, name):
        folder, task = self.folders[name], TASKS[name]
        for file, text in each(steps(task)):
            if file:
                (folder / file).parent.mkdir(parents=True, exist_ok=True)
                (folder / file).write_text(self.with_stand_ins(file, text), encoding="utf-8")
                continue
            printed = self.type(folder, text, network=task.asks_the_hub)
            start = max(
                (start for start in task.promises if text.startswith(start)), key=len, default=""
            )
            for words in task.promises.get(start, []):
                assert words in printed, (text, printed)
        for file in task.files:
            assert (folder / file).is_file()

    def with_stand_ins(self, file, text):
        """A file of the page; a config without a back end takes the one that loads the small model fastest."""
        text = text.replace("http://127.0.0.1:8000/v1", self.service)
        if file != "eval_config.yaml":
            return text
        stand_ins = {"backend": "hf", "max_model_len": 2048}
        return yaml.safe_dump({**stand_ins, **yaml.safe_load(text)}, sort_keys=False)

    def type(self, folder, line, *, network):
        """What a command prints; 1 and 3 are verdicts, not errors."""
        started = self.network if network else processes.quick_starts()
        if line.startswith("HF_HUB_OFFLINE=1"):  # which the libraries read as they are imported
            line = f"{processes.SERVER}= {line}"
        line = line.replace("http://127.0.0.1:8000/v1", self.service)
        # Results of a local model have its whole path in their name.
        line = line.replace("eval_results/org__", "eval_results/*org__")
        if "evalprep run --model" in line:
            line += " --backend hf"
        done = subprocess.run(
            line,
            shell=True,
            cwd=folder,
            env=self.environment | started,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        printed = done.stdout + done.stderr
        assert done.returncode in {0, 1, 3}, (line, printed)
        assert "Traceback" not in printed, (line, printed)
        return printed


def write_hub(folder):
    """Small data sets under the names that lm-eval's tasks have."""
    arc = STOCK_ROWS["arc/arc_easy.yaml"]
    rows = {
        "hellaswag": dict.fromkeys(
            ("train", "validation"), STOCK_ROWS["hellaswag/hellaswag.yaml"] * 8
        ),
        "ai2_arc/ARC-Easy": dict.fromkeys(("train", "validation", "test"), arc),
        "gsm8k/main": {"train": sums(0, 8), "test": sums(100, 106)},
    }
    for path, splits in rows.items():
        name, _, config = path.partition("/")
        (folder / path).mkdir(parents=True)
        files = [
            {"split": split, "path": f"{config}/{split}.jsonl".lstrip("/")} for split in splits
        ]
        card = {"configs": [{"config_name": config or "default", "data_files": files}]}
        (folder / name / "README.md").write_text(f"---\n{yaml.safe_dump(card)}---\n")
        for split, lines in splits.items():
            text = "".join(json.dumps({"ind": at, **line}) + "\n" for at, line in enumerate(lines))
            (folder / path / f"{split}.jsonl").write_text(text)


@pytest.fixture(scope="module")
def newcomer(tmp_path_factory):
    home = tmp_path_factory.mktemp("newcomer")
    write_hub(home / "hub")
    for path, says in MODELS.items():
        build(home / "given" / path, says)
    data_set(home / "given/data", "Llama-3.2-1B-Instruct-evals", "gpqa", "mmlu")
    (home / "given/data/hellaswag").mkdir()
    shutil.copy(home / "hub/hellaswag/validation.jsonl", home / "given/data/hellaswag")
    shutil.copy(home / "hub/ai2_arc/ARC-Easy/test.jsonl", home / "given/data/arc_easy.jsonl")
    own = home / "given/mytasks"
    own.mkdir()
    (own / "a.yaml").write_text(OWN_TASK)
    (own / "group.yaml").write_text("group: my_group\ntask: [mine]\n")
    (home / "bin").mkdir()
    for program, module in (("evalprep", "evalprep"), ("lm_eval", "lm_eval")):
        script = home / "bin" / program
        script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m {module} "$@"\n')
        script.chmod(0o755)
    with (
        hub(home / "hub", home) as (_, hub_environment),
        processes.quick_starts_in(hub_environment) as network,
        serve(lambda *_: "It is clear. Rating: 4") as server,
    ):
        environment = {
            **os.environ,
            **import_path(),
            "PATH": f"{home / 'bin'}:{os.environ['PATH']}",
            "OPENAI_API_KEY": "none",
        }
        person = Newcomer(home, environment, network, server.url)
        yield person


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_a_task_is_done_with_the_docs_alone(name, newcomer):
    newcomer.folder_of(name)
