"""The back end of lm-eval for local models that works on this machine.

`python -m evalprep.model.suited` prints its name.
"""

from __future__ import annotations

import ctypes
from importlib.metadata import PackageNotFoundError, version

from evalprep.backends import HF, VLLM, Backend
from evalprep.model.hardware import gpu_names


def suited_backend() -> tuple[Backend, str]:
    """The faster back end that works here, and in half a sentence why it is that one.

    vLLM is for machines with a GPU: its usual package is a CUDA build. Without a GPU it counts
    where it is installed, which is a build for the CPU then.
    """
    if gpus := gpu_names():
        return VLLM, f"this machine has {gpus[0]}"
    try:
        version(VLLM.package)
    except PackageNotFoundError:
        return HF, "this machine shows no GPU"
    try:
        # vLLM's CPU kernels are linked against it, and no wheel carries it.
        ctypes.CDLL("libnuma.so.1")
    except OSError:
        return HF, "vLLM lacks the system library libnuma (`apt-get install libnuma1`)"
    return VLLM, "vLLM is installed"


if __name__ == "__main__":
    print(suited_backend()[0].name)
