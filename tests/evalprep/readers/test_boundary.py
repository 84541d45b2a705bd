"""No key of lm-eval's results files is spelled outside the modules that decode them."""

import ast
import re
from functools import cache

from tests import PROJECT_ROOT

# Keys that mean nothing else. `results`, `groups`, `versions` and `config` are words of other files, too.
KEYS = {
    "configs",
    "n-samples",
    "n-shot",
    "group_subtasks",
    "task_hashes",
    "lm_eval_version",
    "transformers_version",
    "git_hash",
    "total_evaluation_time_seconds",
    "chat_template_sha",
    "system_instruction_sha",
    "model_name_sanitized",
    "numpy_seed",
    "torch_seed",
    "fewshot_seed",
}
# Files of other makers with a word of the same spelling.
ELSEWHERE = {"evalprep/data/card.py": {"configs"}}  # the card of a data set
# Of sample lines; digests and rows have the same names in tables of exports.
KEYS_OF_LINES = {"resps", "filtered_resps", "gen_args_0"}
FILE_NAMES = re.compile(r"^(?:samples_|results_)$")
METRIC_AND_FILTER = re.compile(r"_stderr,|,none\b")
ROOM = PROJECT_ROOT / "evalprep" / "readers"
AFTER_THE_RUN = {ROOM, ROOM.parent / "samples", ROOM.parent / "results"}


@cache
def texts_of(path):
    """Every text of a module but for its docstrings, with its line."""
    return list(_texts_of(path))


def _texts_of(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.lineno, node.value


MODULES = [
    path for path in sorted((PROJECT_ROOT / "evalprep").rglob("*.py")) if ROOM not in path.parents
]


def test_no_key_is_spelled_outside_the_boundary():
    spelled = []
    for path in MODULES:
        name = path.relative_to(PROJECT_ROOT).as_posix()
        keys = KEYS - ELSEWHERE.get(name, set())
        spelled += [f"{name}:{line} {text!r}" for line, text in texts_of(path) if text in keys]
    assert spelled == []


def test_no_key_of_sample_lines_is_spelled_outside_the_rows_and_runs():
    spelled = [
        f"{path.relative_to(PROJECT_ROOT)}:{line} {text!r}"
        for path in MODULES
        if path.parent not in AFTER_THE_RUN
        for line, text in texts_of(path)
        if text in KEYS_OF_LINES or FILE_NAMES.match(text)
    ]
    assert spelled == []


def test_no_metric_is_taken_apart_at_its_comma():
    spelled = [
        f"{path.relative_to(PROJECT_ROOT)}:{line} {text!r}"
        for path in MODULES
        if path.name != "logged.py"
        for line, text in texts_of(path)
        if METRIC_AND_FILTER.search(text)
    ]
    assert spelled == []
