"""By what a table of tasks is sorted: principle, family or category of a task, else its pack."""

import json

import pytest

from evalprep.packs import require_prepared
from evalprep.status.reading import _categories


@pytest.mark.parametrize(
    ("tags", "category"),
    [
        ({}, "quiz"),
        ({"area": "science"}, "quiz"),
        ({"family": "instruct"}, "instruct"),
        ({"family": "instruct", "principle": "transparency"}, "transparency"),
        ({"category": "law"}, "law"),
    ],
)
def test_categories(tmp_path, tags, category):
    tasks = {"t": {"pack": "quiz", "plan": {"name": "t", "tags": tags}}}
    (tmp_path / "manifest.json").write_text(json.dumps({"schema": 2, "tasks": tasks}))
    assert _categories(require_prepared(tmp_path)) == {"t": category}
