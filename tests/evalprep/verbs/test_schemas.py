"""The JSON schemas that `evalprep init` writes accept what the readers accept, and no misspelt key."""

import copy
import json
from itertools import chain

import pytest
import yaml
from jsonschema import Draft7Validator

from evalprep.cli import main
from evalprep.gate import policy
from tests import PROJECT_ROOT
from tests.loops import each

PACKS = sorted(PROJECT_ROOT.glob("*/*/pack.yaml")) + sorted(PROJECT_ROOT.glob("*/*/*/pack.yaml"))
#: Sections of pack.yaml whose entries have names of their own.
NAMED = ("config", "tasks", "groups", "suite_scores")
#: What the keys take beside their plain form.
CONFIGS = [
    {"models": ["a/b", {"adapter": "runs/c-1"}], "tasks": "gsm8k, meta_all", "limit": 0.1},
    {"models": "runs/*", "tasks": [{"task": "mine", "doc_to_text": "{{q}}"}], "pass_at": 4},
    {"model_name": None, "adapter": "lora", "template_dir": ["a", "b"], "repeats": {"gsm8k": 8}},
    {"model_name": "m", "meta": None, "ground_truth": {"ifeval": {"path": "x"}}, "batch_size": 8},
    {"model_name": "m", "science": {"context": 8192}, "model_args": None, "batch_size": "auto:4"},
    {"model_name": "m", "target": {"gpus": 8, "gpu_memory": 80}, "limit": None},
]
WRONG = [
    {"batch_size": "automatic"},
    {"limit": 0},
    {"target": {"gpu": "H100"}},
    {"backend": "vlm"},
    {"models": [{"model": "a"}]},
    {"science": {"contxt": 8192}},
    {"tasks": []},
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("schemas") / "project"
    assert main(["init", str(place)]) == 0
    return place


@pytest.fixture(scope="module")
def schemas(folder):
    found = {}
    for name in ("eval_config", "pack", "policy"):
        schema = json.loads((folder / f"schemas/{name}.schema.json").read_text())
        Draft7Validator.check_schema(schema)
        found[name] = Draft7Validator(schema)
    return found


def whole_policy():
    """The example at the head of the module that reads policies, which has every key."""
    return yaml.safe_load(policy.__doc__.split("\n\n")[1])


def test_init_names_the_schema_where_editors_look(folder):
    first = (folder / "eval_config.yaml").read_text().splitlines()[0]
    word, _, place = first.partition("$schema=")
    assert word == "# yaml-language-server: "
    assert (folder / place).is_file()


def test_configs_are_valid(schemas, folder):
    files = [PROJECT_ROOT / "eval_config.yaml", folder / "eval_config.yaml"]
    of_files = [yaml.safe_load(file.read_text()) for file in files]
    for config in each([*of_files, *CONFIGS]):
        assert list(schemas["eval_config"].iter_errors(config)) == []
    for config in WRONG:
        assert not schemas["eval_config"].is_valid(config), config


def test_policies_are_valid(schemas):
    short = {
        "defaults": {"max_drop": "2 %", "slack": "2 points"},
        "tasks": {"a": None},
        "overall": None,
    }
    for content in (whole_policy(), short, {"mode": None}):
        assert list(schemas["policy"].iter_errors(content)) == []
    for content in ({"defaults": {"max_drop": -1}}, {"defaults": {"max_drop": "2 parts"}}):
        assert not schemas["policy"].is_valid(content)


@pytest.mark.parametrize("file", PACKS, ids=lambda file: file.parent.name)
def test_packs_are_valid(schemas, file):
    assert list(schemas["pack"].iter_errors(yaml.safe_load(file.read_text()))) == []


def misspelt(content, paths):
    """The content with one key of each path written with a letter too many."""
    for *above, key in paths:
        wrong = copy.deepcopy(content)
        part = wrong
        for step in above:
            part = part[step]
        part[f"{key}e"] = part.pop(key)
        yield (*above, key), wrong


def keys_of_pack(content):
    """Paths of the declared keys of a pack.yaml."""
    yield from ((key,) for key in content)
    for section in NAMED:
        for name, entry in (content.get(section) or {}).items():
            if isinstance(entry, dict):
                yield from ((section, name, key) for key in entry)


def test_each_misspelt_key_is_refused(schemas):
    config = yaml.safe_load((PROJECT_ROOT / "eval_config.yaml").read_text())
    rules = whole_policy()
    of_rules = [(part, key) for part in ("defaults", "overall") for key in rules[part]]
    of_rules += [("tasks", name, key) for name, rule in rules["tasks"].items() for key in rule]
    tried = {
        "eval_config": [(config, [(key,) for key in config])],
        "policy": [(rules, [*((key,) for key in rules), *of_rules])],
        "pack": [],
    }
    seen = set()
    for file in PACKS:
        content = yaml.safe_load(file.read_text())
        # One entry with a key stands for all of them.
        paths = [path for path in keys_of_pack(content) if (path[0], path[-1]) not in seen]
        seen |= {(path[0], path[-1]) for path in paths}
        small = {key: value for key, value in content.items() if key not in NAMED}
        for path in paths:
            if len(path) > 1:
                small.setdefault(path[0], {})[path[1]] = content[path[0]][path[1]]
        tried["pack"].append((small, [path for path in paths if path[0] in small]))
    accepted = [
        (name, path)
        for name, contents in tried.items()
        for path, wrong in chain.from_iterable(misspelt(*content) for content in contents)
        if schemas[name].is_valid(wrong)
    ]
    assert accepted == []
    assert len(seen) > 50


def test_schemas_are_written_anew_with_own_packs(tmp_path, monkeypatch):
    pack = tmp_path / "packs/mine/pack.yaml"
    pack.parent.mkdir(parents=True)
    pack.write_text("config: {depth: {type: int, default: 1, min: 1}}\n")
    (tmp_path / "eval_config.yaml").write_text("template_dir: packs\n")
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        assert main(["init", "--schemas"]) == 0
    schema = json.loads((tmp_path / "schemas/eval_config.schema.json").read_text())
    validator = Draft7Validator(schema)
    assert validator.is_valid({"mine": {"depth": 2}})
    assert not validator.is_valid({"mine": {"depth": 0}})
    assert not validator.is_valid({"mine": {"dept": 2}})


def test_a_new_pack_names_its_schema(folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert main(["new-pack", "mine", "--template_dir", "packs"]) == 0
    pack = folder / "packs/mine/pack.yaml"
    place = pack.read_text().splitlines()[0].partition("$schema=")[2]
    assert (pack.parent / place).resolve() == (folder / "schemas/pack.schema.json").resolve()
