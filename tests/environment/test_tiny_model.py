import json

import pytest

from environment.tiny_model import AmbiguousTextError, build

ANSWER = "The best answer is B."


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("says", ["", ANSWER], ids=["random", "says"])
def test_one_seed_gives_one_model(tmp_path, says):
    first, second = (contents(build(tmp_path / name, says)) for name in "ab")
    other = contents(build(tmp_path / "c", says, seed=1))
    assert first == second
    assert [name for name in first if first[name] != other[name]] == ["model.safetensors"]
    assert sum(map(len, first.values())) < 2 * 2**20


def test_a_text_that_repeats_a_token_is_refused(tmp_path):
    with pytest.raises(AmbiguousTextError, match="twice"):
        build(tmp_path / "model", "no no no")
    assert not (tmp_path / "model").exists()


@pytest.mark.slow
@pytest.mark.parametrize("prompt", ["", "2 + 2 =", ANSWER, "Ünïcödé\n\n"])
def test_it_says_the_text_and_stops(tiny_model, prompt):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = tiny_model(ANSWER)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder)
    inputs = tokenizer(tokenizer.bos_token + prompt + "\n", return_tensors="pt")
    reply = model.generate(**inputs, max_new_tokens=40)[0, inputs["input_ids"].shape[1] :]
    assert tokenizer.decode(reply, skip_special_tokens=True) == ANSWER
    assert reply[-1] == json.loads((folder / "config.json").read_text())["eos_token_id"]
