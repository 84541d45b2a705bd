"""eval_config.yaml: what is accepted, and what every mistake is told."""

from itertools import pairwise
from pathlib import Path

import pytest

from evalprep.config.file import load_config
from evalprep.errors import BadInput
from tests import PROJECT_ROOT
from tests.loops import each

MINIMAL = {
    "model_name": "org/model",
    "tasks": "meta_ifeval",
    "evals_dataset": "meta-llama/Llama-3.1-8B-Instruct-evals",
}


def write(folder: Path, text: str) -> Path:
    path = folder / "eval_config.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def minimal(**changes) -> str:
    import yaml

    return yaml.safe_dump({**MINIMAL, **changes})


def messages(path, settings=()) -> str:
    with pytest.raises(BadInput) as caught:
        load_config(path, settings)
    return str(caught.value)


def test_defaults_of_a_minimal_config(tmp_path):
    config, _ = load_config(write(tmp_path, minimal()))
    core = config.core
    assert (core.backend, core.batch_size, core.seed, core.add_bos_token) == (
        "vllm",
        "auto",
        42,
        None,
    )
    assert core.work_dir == tmp_path / "work_dir"
    assert core.output_path == tmp_path / "eval_results"
    assert core.template_dir == ()


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ("meta_ifeval, meta_math", ("meta_ifeval", "meta_math")),
        (" meta_ifeval ,", ("meta_ifeval",)),
        (["meta_ifeval ", "meta_math"], ("meta_ifeval", "meta_math")),
    ],
)
def test_tasks_as_comma_text_or_list(tmp_path, value, names):
    config, _ = load_config(write(tmp_path, minimal(tasks=value)))
    assert config.core.tasks == names


def test_missing_tasks_take_the_default_of_the_only_pack(tmp_path):
    text = "model_name: a/b\nevals_dataset: meta-llama/Llama-3.1-8B-Instruct-evals\n"
    config, _ = load_config(write(tmp_path, text))
    assert config.core.tasks == ("meta_instruct",)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        pytest.param(
            {"model_nam": "x"},
            ["unknown key 'model_nam'", "did you mean model_name"],
            id="misspelt key",
        ),
        pytest.param(
            {"tensor_parallel_size": 0}, ["tensor_parallel_size: 0", ">= 1"], id="zero GPUs"
        ),
        pytest.param(
            {"tensor_parallel_size": "two"},
            ["tensor_parallel_size: 'two'", "a whole number"],
            id="text for a number",
        ),
        pytest.param(
            {"tensor_parallel_size": True}, ["tensor_parallel_size: True"], id="a bool is no number"
        ),
        pytest.param(
            {"gpu_memory_utilization": 0},
            ["gpu_memory_utilization: 0", "0 < x <= 1"],
            id="no memory",
        ),
        pytest.param(
            {"gpu_memory_utilization": 1.01}, ["gpu_memory_utilization: 1.01"], id="too much memory"
        ),
        pytest.param(
            {"limit": 0}, ["limit: 0", "a number of samples >= 1"], id="limit 0 is not all"
        ),
        pytest.param({"limit": -3}, ["limit: -3"], id="negative limit"),
        pytest.param({"limit": 1.5}, ["limit: 1.5"], id="limit is no share"),
        pytest.param({"batch_size": "autos"}, ["batch_size: 'autos'", "auto:N"], id="batch size"),
        pytest.param({"batch_size": 0}, ["batch_size: 0"], id="empty batch"),
        pytest.param(
            {"log_samples": "yes"}, ["log_samples: 'yes'", "true or false"], id="text for a bool"
        ),
        pytest.param({"verbosity": "LOUD"}, ["verbosity: 'LOUD'", "DEBUG"], id="verbosity"),
        pytest.param({"backend": "vlm"}, ["backend: 'vlm'", "vllm"], id="backend"),
        pytest.param({"model_name": ""}, ["model_name: ''"], id="empty model"),
        pytest.param({"model_name": "x" * 4097}, ["model_name"], id="model longer than a path"),
        pytest.param({"tasks": ""}, ["tasks: ''"], id="no tasks"),
        pytest.param({"seed": -1}, ["seed: -1"], id="negative seed"),
        pytest.param({"model_args": "a=1"}, ["model_args: 'a=1'"], id="model_args is a mapping"),
        pytest.param(
            {"meta": {"max_gen_tok": 1}},
            ["unknown key 'meta.max_gen_tok'", "did you mean max_gen_toks"],
            id="pack key",
        ),
        pytest.param({"meta": ["a"]}, ["section 'meta' is not a mapping"], id="section as list"),
        pytest.param(
            {"meta": {"max_unmatched": 2}}, ["max_unmatched: 2"], id="pack key out of range"
        ),
        pytest.param({"meta": {"evals_dataset": "x"}}, ["given twice"], id="top level and section"),
        pytest.param(
            {"work_dir": "eval_results/x", "output_path": "eval_results/x/y"},
            ["lies in work_dir"],
            id="results in work_dir",
        ),
        pytest.param({"work_dir": "."}, ["holds other things"], id="work_dir is the project"),
        pytest.param(
            {"work_dir": ".."}, ["holds other things"], id="work_dir is above the project"
        ),
        pytest.param(
            {"work_dir": "/"}, ["work_dir / holds other things"], id="work_dir is the root"
        ),
        pytest.param(
            {"work_dir": "w" * 300}, ["cannot be written: File name too long"], id="no such name"
        ),
        pytest.param(
            {"work_dir": "a\tb"}, ["holds a control character"], id="a shell acts on a tab"
        ),
        pytest.param({"work_dir": 5}, ["work_dir: 5", "a path"], id="a number for a path"),
        pytest.param(
            {"output_path": "eval_config.yaml"},
            ["eval_config.yaml is not a folder"],
            id="results in place of a file",
        ),
        pytest.param(
            {"output_path": "eval_config.yaml/x"},
            ["eval_config.yaml is not a folder"],
            id="results below a file",
        ),
        pytest.param({"template_dir": "nowhere"}, ["is not a folder"], id="no templates"),
        pytest.param({"template_dir": "."}, ["holds no pack"], id="no packs in the templates"),
        pytest.param(
            {"model_name": "  "}, ["model_name: '  '", "without spaces"], id="blank model"
        ),
        pytest.param(
            {"model_name": "a/b\n"}, ["model_name: 'a/b\\n'"], id="line break in the model"
        ),
        pytest.param(
            {"model_args": {"a,b": 1}},
            ["model_args: {'a,b': 1}", "{name: value}"],
            id="no argument name",
        ),
        pytest.param({"seed": 2**32}, ["a whole number >= 0, < 4294967296"], id="seed too large"),
        pytest.param(
            {"tasks": [{"task": "a", "dataset_kwargs": {"token": "x"}}]},
            ["tasks.0.dataset_kwargs.token looks like a credential"],
            id="credential in an inline task",
        ),
        pytest.param(
            {"model_args": {"headers": [{"Authorization": "Bearer 0123456789"}]}},
            ["model_args.headers.0.Authorization looks like a credential"],
            id="credential deep in the arguments",
        ),
    ],
)
def test_mistakes(tmp_path, change, said):
    found = messages(write(tmp_path, minimal(**change)))
    for part in each(said):
        assert part in found


def test_all_mistakes_at_once_with_their_lines(tmp_path):
    path = write(tmp_path, "model_name: a/b\ntasks: x\nlimit: 0\nseed: nope\nbogus: 1\n")
    found = messages(path)
    assert f"{path}:3 (limit)" in found
    assert f"{path}:4 (seed)" in found
    assert f"{path}:5 (bogus)" in found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("a: [1\n", "is not valid YAML", id="not YAML"),
        pytest.param("- a\n- b\n", "not a mapping", id="a list"),
        pytest.param("seed: 1\nseed: 2\n", "given twice (first on line 1)", id="repeated key"),
        pytest.param("a: &x [*x]\n", "*x stands inside of itself", id="recursive alias"),
        pytest.param("a: " + "[" * 100_000, "nested more than 60 levels deep", id="deep"),
        pytest.param('a: "x\\0y"\n', "a NUL character", id="NUL"),
        pytest.param("a: !!set {x}\n", "constructor for the tag", id="a value that JSON has not"),
        pytest.param("a: 1" + "0" * 5000, "a value that cannot be read", id="endless number"),
        pytest.param(
            "x: !!python/object/apply:os.getcwd []\n", "is not valid YAML", id="code in YAML"
        ),
        pytest.param("", "model_name is missing", id="empty file"),
    ],
)
def test_broken_files(tmp_path, text, said):
    assert said in messages(write(tmp_path, text))


def test_missing_file_and_folder(tmp_path):
    assert "does not exist" in messages(tmp_path / "nothing.yaml")
    assert "is a folder" in messages(tmp_path)


def test_a_bomb_of_aliases_is_refused_before_it_is_built(tmp_path):
    lines = ["a: &a [x,x,x,x,x,x,x,x,x]"]
    lines += [
        f"{name}: &{name} [{','.join([f'*{before}'] * 9)}]"
        for before, name in pairwise("abcdefghi")
    ]
    assert "more than 1000000 values" in messages(write(tmp_path, "\n".join(lines)))


def test_a_date_is_the_text_that_it_is(tmp_path):
    config, _ = load_config(
        write(tmp_path, minimal() + "model_revision: 2024-07-23\nmodel_args: {d: 2024-07-23}\n")
    )
    assert (config.core.model_revision, config.core.model_args) == (
        "2024-07-23",
        {"d": "2024-07-23"},
    )


def test_a_mapping_without_entries_is_empty(tmp_path):
    """What is left when every line below a key is commented out."""
    config, _ = load_config(write(tmp_path, minimal() + "ground_truth:\nmodel_args:\nmeta:\n"))
    assert (config.core.model_args, config.sections["meta"].ground_truth) == ({}, {})


def test_an_unknown_home_is_a_folder_name(tmp_path):
    config, _ = load_config(write(tmp_path, minimal(work_dir="~nobody-of-this-name/work")))
    assert config.core.work_dir == tmp_path / "~nobody-of-this-name/work"


def test_not_utf8(tmp_path):
    path = tmp_path / "c.yaml"
    path.write_bytes(b"model_name: \xff\xfe\n")
    assert "is not UTF-8" in messages(path)


def test_settings_overrule_keys(tmp_path):
    path = write(tmp_path, minimal())
    config, _ = load_config(path, ["limit=10", "meta.max_unmatched=0.5", "model_args={a: 1}"])
    assert config.core.limit == 10
    assert config.sections["meta"].max_unmatched == 0.5
    assert config.core.model_args == {"a": 1}
    assert "is not key=value" in messages(path, ["limit"])


def test_work_dir_may_not_hold_the_templates(tmp_path):
    templates = PROJECT_ROOT / "task_templates"
    for work_dir in (templates, templates / "inside", templates.parent):
        assert "overlap" in messages(write(tmp_path, minimal(work_dir=str(work_dir))))


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("limit", "'limit' is not key=value"),
        ("=5", "'=5' is not key=value"),
        ("meta..x=1", "is not key=value"),
        ("limit=[", "the value '[' is not YAML"),
        ("limit=1" + "0" * 5000, "is not YAML"),
        ("limit=0", "--set limit: limit: 0 is not accepted"),
        ("meta.max_unmatched=2", "--set meta.max_unmatched: meta.max_unmatched: 2"),
        ("model_name.x=1", "model_name is not a section"),
    ],
)
def test_mistakes_in_settings(tmp_path, setting, said):
    assert said in messages(write(tmp_path, minimal()), [setting])


def test_a_setting_opens_an_empty_section(tmp_path):
    config, _ = load_config(write(tmp_path, minimal() + "meta:\n"), ["meta.max_unmatched=0.5"])
    assert config.sections["meta"].max_unmatched == 0.5
