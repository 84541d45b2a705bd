"""Answers the requests of `evalprep prompts` with Ray Data and vLLM.

python examples/ray_answers.py REQUESTS.parquet REPLIES_FOLDER
"""

import json
import os
import sys

import pyarrow.parquet as pq
import ray

ENGINE = json.loads(os.environ.get("ENGINE", "{}"))  # e.g. {"tensor_parallel_size": 2}
ACTORS = int(os.environ.get("ACTORS", "1"))  # copies of the model
GPUS = float(os.environ.get("GPUS", "1"))  # of each copy


class Engine:
    def __init__(self, model):
        from vllm import LLM

        self.llm = LLM(model=model, **ENGINE)

    def __call__(self, batch):
        from vllm import SamplingParams, TokensPrompt

        prompts = [TokensPrompt(prompt_token_ids=ids.tolist()) for ids in batch["prompt_token_ids"]]
        sampling = [SamplingParams(**json.loads(text)) for text in batch["sampling"]]
        outputs = self.llm.generate(prompts, sampling)
        scores = [score(*pair) for pair in zip(outputs, batch["scored_from"], strict=True)]
        return {
            "id": batch["id"],
            "text": [output.outputs[0].text for output in outputs],
            "loglikelihood": [value for value, _ in scores],
            "is_greedy": [greedy for _, greedy in scores],
        }


def score(output, scored_from):
    """The log-likelihood of a continuation; not a number for a generated text."""
    if output.prompt_logprobs is None:
        return float("nan"), False
    tokens = list(zip(output.prompt_token_ids, output.prompt_logprobs, strict=True))
    scored = [(likeliest, token) for token, likeliest in tokens[int(scored_from) :]]
    total = sum(likeliest[token].logprob for likeliest, token in scored)
    return total, all(likeliest[token].rank == 1 for likeliest, token in scored)


requests, replies = sys.argv[1:]
model = pq.read_table(requests, columns=["model"])["model"][0].as_py()
rows = ray.data.read_parquet(
    requests, columns=["id", "prompt_token_ids", "scored_from", "sampling"]
)
rows.map_batches(
    Engine, fn_constructor_args=(model,), batch_size=512, concurrency=ACTORS, num_gpus=GPUS
).write_parquet(replies)
