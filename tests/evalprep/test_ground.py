"""The ground: places that cannot be, writing that fails, keys set from the command line."""

import errno
import os

import pytest

from evalprep.files import write_atomically
from evalprep.places import exists, flaw, is_file, is_folder, place
from evalprep.yamlfile import load_yaml

LONG = "x" * 300


def test_a_name_that_cannot_be_is_a_flaw_and_no_crash(tmp_path):
    impossible = tmp_path / LONG
    assert flaw(impossible) == os.strerror(errno.ENAMETOOLONG)
    assert not any(check(impossible) for check in (exists, is_file, is_folder))


def test_what_speaks_against_a_place(tmp_path):
    (tmp_path / "file").write_text("x")
    assert flaw(tmp_path / "new/deeper") is None
    assert flaw(tmp_path / "file/below") == f"{tmp_path / 'file'} is not a folder"
    assert is_file(tmp_path / "file")
    assert is_folder(tmp_path)
    assert exists(tmp_path / "file")
    assert place("~nobody-of-this-name/x", tmp_path) == tmp_path / "~nobody-of-this-name/x"


def test_a_failed_write_names_the_place_and_leaves_nothing(tmp_path):
    (tmp_path / "taken").mkdir()
    for target in (tmp_path / "taken", tmp_path / "absent/file"):
        with pytest.raises(OSError, match=target.name) as caught:
            write_atomically(target, "text")
        assert caught.value.filename == str(target)
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_a_key_below_a_plain_value_is_refused_by_its_name(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text("a: {b: 1}\n")
    source = load_yaml(path)
    assert source.overrule(("a", "b", "c", "d"), 2) == "a.b"
    assert source.data == {"a": {"b": 1}}
    assert source.overrule(("a", "new", "c"), 2) is None
    assert source.data == {"a": {"b": 1, "new": {"c": 2}}}
