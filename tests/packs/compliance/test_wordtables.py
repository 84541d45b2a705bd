"""Which word table a version takes, which versions are left out without one, and what each changed."""

import json
import shutil

import pytest

from evalprep.cli import main
from tests import PROJECT_ROOT
from tests.packs.compliance.checkout import write, write_checkout
from tests.packs.compliance.project import prepared, rows_of, write_run
from tests.packs.compliance.test_prepare import PACK

DEMO = PROJECT_ROOT / "task_templates" / "compliance" / "demo"
TABLED = ("dialect", "misspelling", "synonym")


@pytest.fixture
def bare(tmp_path, monkeypatch):
    """A machine without any word table, and questions of one's own."""
    module = PACK.module("wordtables")
    monkeypatch.setattr(module, "_codespell", lambda: tmp_path / "dictionary.txt")
    monkeypatch.setattr(module, "_WORDNET", (str(tmp_path / "wordnet"),))
    for name in ("mmlu", "mmlu_shots"):
        shutil.copy(DEMO / f"{name}.jsonl", tmp_path / f"{name}.jsonl")
    return tmp_path


def prepare_versions(folder, **section):
    data = {name: f"{name}.jsonl" for name in ("mmlu", "mmlu_shots")}
    return prepared(
        folder, tasks="compliance_mmlu_robustness", compliance={"data": data, **section}
    )


def score_of(folder, capsys):
    run = write_run(folder, folder / "model")
    main(["score", str(run), "--json", "--out", str(folder / "scores")])
    capsys.readouterr()
    (final,) = (folder / "scores").rglob("mmlu_robustness/final_results.json")
    return json.loads(final.read_text())


def test_versions_without_a_full_table_are_left_out_and_counted(bare, capsys):
    done = prepare_versions(bare)
    assert {f"compliance_mmlu_robustness_{name}" for name in TABLED} == set(done.excluded)
    reason = done.excluded["compliance_mmlu_robustness_misspelling"].reason
    assert "pip install codespell" in reason
    final = score_of(bare, capsys)
    assert "mean of 8 of 11 versions, without dialect, misspelling, synonym" in final["notes"]
    raw = final["FinalResult"]["raw_metrics"]
    plain = raw["no perturbation"]
    assert plain["rows_changed"] == plain["words_changed"] == 0.0
    assert raw["lowercase perturbation"]["rows_changed"] > 0.9
    assert 0.0 < raw["typos perturbation"]["words_changed"] < 1.0


def test_tables_of_the_machine(bare):
    write(
        bare / "dictionary.txt",
        "Wich->which\nwich->which\nhte->the\nteh->the, ten,\nfo->of, a name\n",
    )
    line = "00001740 03 n 02 country 0 res_publica 0 001 @ 00001930 n 0000 | gloss  \n"
    for part in ("noun", "verb", "adj", "adv"):
        write(bare / "wordnet" / f"data.{part}", "  1 licence\n" + line)
    done = prepare_versions(bare, tables={"dialect": "dialect.json"} if write_dialect(bare) else {})
    assert not done.excluded
    for version, source in (
        ("misspelling", "codespell's dictionary turned round"),
        ("synonym", "WordNet"),
        ("dialect", "the user's table"),
    ):
        rows = rows_of(bare, f"compliance_mmlu_robustness_{version}")
        assert all(row["table"].startswith(source) for row in rows), version
    rows = rows_of(bare, "compliance_mmlu_robustness_misspelling")
    assert sum(row["words_changed"] for row in rows) > 0
    changed = [row["prompt"] for row in rows if row["text_changed"]]
    assert any(" hte " in prompt or " teh " in prompt for prompt in changed)


def write_dialect(folder):
    write(folder / "dialect.json", json.dumps({"the": ["da"]}))
    return True


def test_the_list_of_the_checkout_comes_before_the_package(bare):
    write(bare / "dictionary.txt", "hte->the\n")
    checkout = write_checkout(bare / "compl-ai")
    words = {"the": ["tha"], "The": ["Tha"]}
    write(checkout / "src/modifiers/perturbations/correct_to_misspelling.json", json.dumps(words))
    write_texts(checkout)
    prepare_versions(bare, v1_checkout="compl-ai")
    rows = rows_of(bare, "compliance_mmlu_robustness_misspelling")
    assert {row["table"] for row in rows} == {"version 1's list of 2 words"}
    assert any(" tha " in row["prompt"] for row in rows)
    manifest = json.loads((bare / "work_dir" / "manifest.json").read_text())
    names = {file["name"] for source in manifest["sources"] for file in source["files"]}
    assert "correct_to_misspelling.json" in names


def write_texts(checkout):
    """The sentences before the questions of MMLU."""
    source = """
class MMLUFacade:
    def context_continuation_generator(self, dataset):
        system_prompt = f"One letter of {','.join(self.choice_symbols)}. "
        description = f"About {self.format_subject(subject)}." + "\\n\\n"
"""
    write(checkout / "src/benchmarks/benchmark_implementations/capabilities/mmlu.py", source)


def test_a_table_that_is_none_is_told(bare):
    write(bare / "synonym.json", "[1, 2]")
    from evalprep.errors import BadInput

    with pytest.raises(BadInput, match="is not a JSON file of words"):
        prepare_versions(bare, tables={"synonym": "synonym.json"})
