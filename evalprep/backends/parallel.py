"""The spread of a model over GPUs: the three sizes that vLLM takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evalprep.backends.record import EngineSettings
from evalprep.numbers import whole_number

TENSOR_PARALLEL, PIPELINE_PARALLEL, DATA_PARALLEL = (
    "tensor_parallel_size",
    "pipeline_parallel_size",
    "data_parallel_size",
)


@dataclass(frozen=True)
class ParallelSizes:
    """The spread of a model over GPUs.

    Attributes:
        tensor: Parts that each layer is split into.
        pipeline: Parts that the stack of layers is split into.
        data: Copies of the model.
    """

    tensor: int = 1
    pipeline: int = 1
    data: int = 1

    @property
    def gpus_per_copy(self) -> int:
        """GPUs that hold one copy of the model."""
        return self.tensor * self.pipeline

    @property
    def gpus(self) -> int:
        """GPUs that hold all copies."""
        return self.gpus_per_copy * self.data


def sizes_of_settings(core: EngineSettings) -> ParallelSizes:
    """Returns the sizes that a config asks for; pipelines stand among its `model_args`."""
    pipeline = _size(core.model_args, PIPELINE_PARALLEL)
    return ParallelSizes(core.tensor_parallel_size, pipeline, core.data_parallel_size)


def sizes_of_arguments(model_args: Mapping[str, Any]) -> ParallelSizes:
    """Returns the sizes that the arguments of a command ask for."""
    return ParallelSizes(
        tensor=_size(model_args, TENSOR_PARALLEL),
        pipeline=_size(model_args, PIPELINE_PARALLEL),
        data=_size(model_args, DATA_PARALLEL),
    )


def _size(arguments: Mapping[str, Any], name: str) -> int:
    """A size; 1, which is vLLM's default, where there is none or no number."""
    return whole_number(arguments.get(name)) or 1
