"""The list of the fields of a row against what is made of it."""

from dataclasses import fields
from typing import get_type_hints

import numpy as np

from evalprep.samples import Table
from evalprep.samples.schema import COLUMNS, FIELDS, SAMPLE_FIELDS

BESIDE = {
    "part_of_whole",
    "source",
    "filter",
    "ids",
    "id_source",
    "subtasks",
    "clusters",
    "filters",
    "damage",
}
BY_METRIC = {"metrics", "weights", "pairs", "documents"}


def test_a_table_has_the_columns_of_the_list_and_no_others():
    columns = {field.name for field in fields(Table)} - BESIDE - BY_METRIC
    assert columns == set(COLUMNS)
    hints = get_type_hints(Table)
    for name, dtype in COLUMNS.items():
        (of_table,) = hints[name].__args__[1].__args__
        assert np.dtype(of_table) == np.dtype(dtype), name


def test_each_field_stands_there_once_with_a_sentence():
    names = [field.name for field in FIELDS]
    assert len(set(names)) == len(names)
    assert all(field.meaning.endswith(".") for field in FIELDS)
    assert {"prompt", "replies", "score"} <= {field.name for field in SAMPLE_FIELDS}
