"""The GPUs that a process started here would see, as a real command on the path tells them."""

import pytest

from evalprep.model import hardware


@pytest.fixture
def tool(tmp_path, monkeypatch):
    """A function that puts an nvidia-smi with this script on the path."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    hardware.gpu_names.cache_clear()

    def put(script):
        path = tmp_path / "nvidia-smi"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path))
        return hardware.gpu_names()

    yield put
    hardware.gpu_names.cache_clear()


def test_names_in_order(tool):
    assert tool("echo 'NVIDIA H100'; echo 'NVIDIA A100'") == ("NVIDIA H100", "NVIDIA A100")


def test_a_driver_that_fails_shows_none(tool):
    assert tool("echo 'NVIDIA-SMI has failed'; exit 9") == ()


def test_no_tool(tmp_path, monkeypatch):
    hardware.gpu_names.cache_clear()
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert hardware.gpu_names() == ()
    hardware.gpu_names.cache_clear()


@pytest.mark.parametrize(("visible", "count"), [("0", 1), ("0,1", 2), ("", 0), ("-1", 0)])
def test_hidden_ones_are_not_counted(tool, monkeypatch, visible, count):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert len(tool("echo one; echo two; echo three")) == count
