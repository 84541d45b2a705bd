"""The documentation says what the code does."""

import re
import shlex

import pytest
import yaml

from evalprep.cli import main
from evalprep.config.file import load_config
from evalprep.config.schema import CORE_KEYS
from evalprep.packs.finding import find_packs
from evalprep.packs.skeletons import KINDS
from tests import PROJECT_ROOT
from tests.evalprep.results.writing import Row, write_run

DOCS = PROJECT_ROOT / "docs"


def test_every_pack_has_a_page():
    packs = find_packs(PROJECT_ROOT / "task_templates")
    assert {path.stem for path in (DOCS / "packs").glob("*.md")} == set(packs)


def test_shipped_config_is_valid_and_shows_every_common_key():
    config, _ = load_config(PROJECT_ROOT / "eval_config.yaml")
    assert config.core.tasks == ("meta_instruct",)
    hidden = {
        "model_revision",
        "models",
        "template_dir",
        "num_fewshot",
        "apply_chat_template",
        "system_instruction",
        "fewshot_as_multiturn",
        "add_bos_token",  # each task asks for its own, and the tokenizer knows the rest
    }
    assert set(CORE_KEYS) - hidden <= set(config.source.data)


def test_the_ten_line_pack_prepares_and_loads(tmp_path):
    page = (DOCS / "writing-a-pack.md").read_text()
    blocks = dict(re.findall(r"`(task_templates/[^`]+)`.*?```\w+\n(.*?)```", page, flags=re.DOTALL))
    assert len(blocks) == 3
    for name, text in blocks.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    config = tmp_path / "eval_config.yaml"
    config.write_text(
        yaml.safe_dump(
            {
                "model_name": "a/b",
                "tasks": "spelling_all",
                "template_dir": "task_templates",
                "backend": "dummy",
            }
        )
    )
    assert main(["--config_path", str(config)], prog="prepare_eval.py", verb="prepare") == 0
    from lm_eval.tasks import TaskManager

    manager = TaskManager(include_path=str(tmp_path / "work_dir"), include_defaults=False)
    task = manager.load(["spelling_qa"])["tasks"]["spelling_qa"]
    assert [task.doc_to_text(doc) for doc in task.eval_docs] == [
        "Spell the plural of mouse:",
        "Spell the plural of goose:",
    ]
    assert [task.doc_to_target(doc) for doc in task.eval_docs] == ["mice", "geese"]


@pytest.mark.parametrize(
    "page",
    sorted([*PROJECT_ROOT.glob("[CR]*.md"), *DOCS.rglob("*.md")]),
    ids=lambda page: page.name,
)
def test_links_lead_somewhere(page):
    prose = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    links = re.findall(r"\]\(([^)\s]+)\)", prose)
    inside = [link.partition("#") for link in links if "://" not in link]
    assert [name for name, _, _ in inside if not (page.parent / name).exists()] == []
    pages = [(page.parent / name if name else page, anchor) for name, _, anchor in inside if anchor]
    assert [anchor for target, anchor in pages if anchor not in anchors_of(target)] == []


def anchors_of(page):
    """The anchors of a page's headings, as GitHub and the site make them."""
    headings = [line.lstrip("#") for line in page.read_text().splitlines() if line[:1] == "#"]
    return {re.sub(r"[^\w\- ]", "", text).strip().lower().replace(" ", "-") for text in headings}


def test_changelog_and_citation_name_the_version():
    from evalprep import __version__

    assert f"## {__version__}" in (PROJECT_ROOT / "CHANGELOG.md").read_text()
    citation = yaml.safe_load((PROJECT_ROOT / "CITATION.cff").read_text())
    assert citation["version"] == __version__
    assert {"cff-version", "message", "title", "authors"} <= set(citation)


def test_contributing_names_places_that_exist():
    text = (PROJECT_ROOT / "CONTRIBUTING.md").read_text()
    places = re.findall(r"`((?:evalprep|custom_metrics|tests|docs|task_templates)/[\w./-]*)`", text)
    named = [place for place in places if "NAME" not in place]
    assert len(named) > 10
    assert [place for place in named if not (PROJECT_ROOT / place).exists()] == []


def test_the_tutorial_on_two_runs_shows_what_is_printed(capsys, monkeypatch):
    monkeypatch.chdir(PROJECT_ROOT)
    page = (DOCS / "is-the-new-model-worse.md").read_text(encoding="utf-8")
    commands = re.findall(r"^    evalprep (.+)$", page, flags=re.MULTILINE)
    assert [main(command.split()) for command in commands[:2]] == [1, 1]
    printed = " ".join(capsys.readouterr().out.split())
    quoted = "".join(block for block in re.findall(r"```\n(.*?)```", page, flags=re.DOTALL))
    for line in quoted.splitlines()[1:]:
        numbers = " ".join(line.replace("no difference shown", "no difference").split())
        assert numbers in printed, line


def test_from_a_spreadsheet_to_a_prepared_task(tmp_path, monkeypatch):
    page = (DOCS / "from-a-spreadsheet.md").read_text()
    (tmp_path / "capitals.csv").write_text(re.search(r"```csv\n(.*?)```", page, re.DOTALL)[1])
    config = yaml.safe_load(re.search(r"```yaml\n(.*?)```", page, re.DOTALL)[1])
    (tmp_path / "eval_config.yaml").write_text(yaml.safe_dump({**config, "backend": "dummy"}))
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    for line in "".join(blocks).splitlines():
        program, verb, *words = shlex.split(line)
        assert program == "evalprep"
        if verb == "score":
            write_run(tmp_path / "eval_results", {"capitals_qa": [Row("1", correct=0.0)]})
        assert main([verb, *words]) == 0
    assert (tmp_path / "work_dir/capitals/capitals_qa.yaml").is_file()
    for kind in KINDS:
        assert f"| `{kind}` |" in page
