"""Copies of a model (`data_parallel_size`) that stay loaded between requests and between tasks.

lm-eval's class for vLLM gives each copy to a function of Ray that loads the model, answers one list
of requests and ends. Here a copy is an actor of Ray that lives as long as lm-eval's object.
"""

from __future__ import annotations

import os
from functools import wraps
from typing import Any
from weakref import WeakKeyDictionary

_copies: WeakKeyDictionary[Any, list[Any]] = WeakKeyDictionary()
#: Ray hands a copy the variables of the process that asks, in which vLLM may have noted its place.
_PLACE = ("RANK", "RANK_LOCAL", "SIZE", "MASTER_IP", "MASTER_PORT")


def keep_copies(model_class: Any) -> Any:
    """Lets lm-eval's class for vLLM keep its copies loaded; returns the class, as any other one."""
    if model_class.__module__ != "lm_eval.models.vllm_causallms":
        return model_class
    original = model_class._model_generate  # noqa: SLF001 - lm-eval has no other place for it

    @wraps(original)
    def answer(lm: Any, requests: Any, generate: bool = False, sampling_params: Any = None) -> Any:
        if lm.data_parallel_size <= 1:
            return original(lm, requests, generate, sampling_params)
        return _ask(lm, requests, sampling_params if generate else None)

    if not hasattr(original, "__wrapped__"):
        model_class._model_generate = answer  # noqa: SLF001
    return model_class


def forget_prefixes(lm: Any) -> None:
    """Empties the caches of prefixes of the copies, where there are some."""
    copies = _copies.get(lm, [])
    if copies:
        import ray

        ray.get([copy.forget_prefixes.remote() for copy in copies])


def _ask(lm: Any, requests: list[Any], sampling: Any) -> Any:
    """The outputs for some prompts, which the copies take in turns, as in lm-eval."""
    import ray
    from lm_eval.models.utils import undistribute
    from more_itertools import distribute
    from vllm import SamplingParams

    if sampling is None:
        sampling = SamplingParams(temperature=0, prompt_logprobs=1, max_tokens=1, detokenize=False)
    each = sampling if isinstance(sampling, list) else [sampling] * len(requests)
    count = lm.data_parallel_size
    shares = zip(distribute(count, requests), distribute(count, each), strict=True)
    if lm not in _copies:
        actor = ray.remote(num_gpus=lm.tensor_parallel_size)(_copy_class())
        # A copy inside of Ray must not use Ray itself.
        arguments = {**lm.model_args}
        arguments.pop("distributed_executor_backend", None)
        _copies[lm] = [actor.remote(arguments) for _ in range(count)]
    try:
        return undistribute(
            ray.get(
                [
                    copy.answer.remote(list(prompts), list(settings), lm.lora_request)
                    for copy, (prompts, settings) in zip(_copies[lm], shares, strict=True)
                ]
            )
        )
    except Exception:
        del _copies[lm]  # the next requests get others
        raise


def _copy_class() -> Any:
    """The class of a copy; Ray sends it whole, as nodes of a cluster need not have this package."""

    class Copy:
        def __init__(self, arguments: dict[str, Any]) -> None:
            for name in _PLACE:
                os.environ.pop(f"VLLM_DP_{name}", None)
            from vllm import LLM

            self.engine = LLM(**arguments)

        def answer(self, prompts: list[list[int]], settings: list[Any], adapter: Any) -> Any:
            from vllm import TokensPrompt

            texts = [TokensPrompt(prompt_token_ids=ids) for ids in prompts]
            return self.engine.generate(texts, sampling_params=settings, lora_request=adapter)

        def forget_prefixes(self) -> None:
            self.engine.reset_prefix_cache()

    return Copy
