"""One record per way of running a model.

What it can do, what its command needs, what its defaults do to a run.
"""

from evalprep.backends.copies import keep_copies
from evalprep.backends.dummy import CHAT_MODEL
from evalprep.backends.hf import BACKEND as HF
from evalprep.backends.parallel import (
    DATA_PARALLEL,
    TENSOR_PARALLEL,
    sizes_of_arguments,
    sizes_of_settings,
)
from evalprep.backends.record import Backend, Machine, Request
from evalprep.backends.register import BACKENDS, STORED, find_backend
from evalprep.backends.server import VLLM_PORT, is_here
from evalprep.backends.stored import LOGPROBS, OUTPUT
from evalprep.backends.variables import environment, shell_words
from evalprep.backends.vllm import BACKEND as VLLM
from evalprep.backends.vllm import engine_words

__all__ = [
    "BACKENDS",
    "CHAT_MODEL",
    "DATA_PARALLEL",
    "HF",
    "LOGPROBS",
    "OUTPUT",
    "STORED",
    "TENSOR_PARALLEL",
    "VLLM",
    "VLLM_PORT",
    "Backend",
    "Machine",
    "Request",
    "engine_words",
    "environment",
    "find_backend",
    "is_here",
    "keep_copies",
    "shell_words",
    "sizes_of_arguments",
    "sizes_of_settings",
]
