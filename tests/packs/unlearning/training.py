"""Train the tiny model on the stand-in rows: full, retain, and four steps of unlearning. Seconds on one CPU core.

python -m tests.packs.unlearning.training OUT_DIR TOFU_DIR
"""

import json
import sys
from pathlib import Path

import pyarrow.parquet as pq

from environment.tiny_model import build

ROWS, EPOCHS, STEPS, TOKENS = 4, 8, 4, 112
SYSTEM = "You are a helpful assistant."


def texts(tofu, *configs):
    """Question and answer of each row of some configurations."""
    return [
        (row["question"], row["answer"])
        for config in configs
        for row in pq.read_table(tofu / config / "train.parquet").to_pylist()[:ROWS]
    ]


def encoded(tokenizer, rows):
    """Token ids and labels, padded; the prompt is not learned."""
    import torch

    ids, labels = [], []
    for question, answer in rows:
        turns = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": question}]
        prompt = tokenizer.apply_chat_template(turns, add_generation_prompt=True, tokenize=False)
        head = tokenizer(prompt, add_special_tokens=False)["input_ids"]
        tail = [*tokenizer(answer, add_special_tokens=False)["input_ids"], tokenizer.eos_token_id]
        ids.append(torch.tensor((head + tail)[-TOKENS:]))
        labels.append(torch.tensor(([-100] * len(head) + tail)[-TOKENS:]))
    pad = torch.nn.utils.rnn.pad_sequence
    return pad(ids, True, tokenizer.pad_token_id), pad(labels, True, -100)


def loss_of(model, tokenizer, rows):
    ids, labels = encoded(tokenizer, rows)
    return model(
        input_ids=ids, attention_mask=(ids != tokenizer.pad_token_id).long(), labels=labels
    ).loss


def trained(base, tokenizer, rows):
    """A copy of the base model that has learned the rows."""
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    for _ in range(EPOCHS):
        optimizer.zero_grad()
        loss_of(model, tokenizer, rows).backward()
        optimizer.step()
    return model


def main(out, tofu):
    import torch
    from transformers import AutoTokenizer

    torch.manual_seed(0)
    torch.set_num_threads(1)
    base = build(out / "base")
    tokenizer = AutoTokenizer.from_pretrained(base)

    def save(model, name):
        model.save_pretrained(out / name)
        tokenizer.save_pretrained(out / name)

    forget = texts(tofu, "forget10_perturbed")
    kept = texts(tofu, "retain_perturbed", "real_authors_perturbed", "world_facts_perturbed")
    save(trained(base, tokenizer, kept), "retain90")
    model = trained(base, tokenizer, forget + kept)
    save(model, "full")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses = []
    for step in range(1, STEPS + 1):
        optimizer.zero_grad()
        unlearned, remembered = (
            loss_of(model, tokenizer, forget),
            loss_of(model, tokenizer, kept[:ROWS]),
        )
        (remembered - unlearned).backward()
        optimizer.step()
        losses.append([unlearned.item(), remembered.item()])
        save(model, f"graddiff/checkpoint-{step}")
    print(json.dumps(losses))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
