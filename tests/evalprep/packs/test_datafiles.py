"""The files with the rows of a task: one, or several in a folder of their own."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from evalprep.packs.datafiles import (
    DataFiles,
    file_names,
    matching_files,
    names_below,
    stated_files,
    task_of,
)
from tests.loops import each


def filled(folder, count):
    """A folder of so many files, of one row each, written last file first."""
    folder.mkdir(parents=True)
    for number, name in reversed(list(enumerate(file_names(count)))):
        pq.write_table(pa.table({"sample_id": [f"r{number}"]}), folder / name)
    return folder


def test_names_sort_as_their_numbers():
    for count in each([1, 3, 99_999, 100_001]):
        names = list(file_names(count))
        assert names == sorted(names)
        assert len(set(map(len, names))) == 1


def test_datasets_reads_the_list_and_the_pattern_in_order(tmp_path):
    import datasets

    files = DataFiles(filled(tmp_path / "p/data/t", 12))
    for stated in each([files.stated_in(tmp_path / "p"), [str(files.pattern)]]):
        options = {"data_files": {"test": stated}, "cache_dir": str(tmp_path / "cache")}
        rows = datasets.load_dataset("parquet", split="test", **options)
        assert rows["sample_id"] == [f"r{number}" for number in range(12)]


def test_what_a_task_file_names(tmp_path):
    one = DataFiles.of_task("t", tmp_path, several=False)
    several = DataFiles.of_task("t", tmp_path, several=True)
    there = Path("/there/p")
    assert one.stated_in(there) == "/there/p/data/t.parquet"
    assert several.stated_in(there) == ["/there/p/data/t/*-of-*.parquet"]
    filled(several.path, 2)
    names = ["00000-of-00002.parquet", "00001-of-00002.parquet"]
    assert several.stated_in(there) == [f"/there/p/data/t/{name}" for name in names]


def test_a_missing_file_is_missed(tmp_path):
    several = DataFiles(filled(tmp_path / "t", 3))
    names = list(file_names(3))
    assert [file.name for file in several.files()] == names
    for name in names[1:]:
        (tmp_path / "t" / name).unlink()
    assert several.files() == []
    assert [file.name for file in matching_files(several.pattern)] == names[:2]
    assert DataFiles(tmp_path / "none").files() == []
    assert DataFiles(tmp_path / "none.parquet").files() == []


def test_a_name_of_very_many_files_costs_nothing(tmp_path):
    name = f"{7:0100d}-of-{10**99}.parquet"
    (tmp_path / name).touch()
    files = matching_files(tmp_path / "*-of-*.parquet")
    assert [file.name for file in files] == [f"{0:0100d}-of-{10**99}.parquet", name]


def test_numbers_of_other_files_are_their_own(tmp_path):
    for name in ("1-of-3.parquet", "2-of-3.parquet"):
        (tmp_path / name).touch()
    assert len(matching_files(tmp_path / "*.parquet")) == 2


def test_what_a_task_file_may_name_for_a_split(tmp_path):
    filled(tmp_path / "t", 2)
    paths = [tmp_path / "t" / name for name in file_names(2)]
    cases = [
        (str(paths[0]), paths[:1]),
        ([str(paths[1]), str(paths[0])], paths[::-1]),
        (str(tmp_path / "t" / "*.parquet"), paths),
        (None, []),
        ({"path": "x"}, []),
    ]
    for stated, files in each(cases):
        assert list(stated_files(stated)) == files


def test_whose_file_it_is():
    names = ["p/data/t/00000-of-00001.parquet", "p/data/t.parquet", "p/data/tt.parquet", "p/t.yaml"]
    assert [task_of(name) for name in names] == ["t", "t", "tt", "t"]
    assert names_below("p/data/t", names) == names[:1]
    assert names_below("p/data/t.parquet", names) == names[1:2]
    assert names_below("", names) == []
