"""What a judge is shown of a prompt: the words of a person, not those of a chat template."""

import pytest

from evalprep.annotate import find_rubric
from evalprep.packs import Rubric, asked_in

LLAMA_3 = (
    "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nBe kind.<|eot_id|>"
    "<|start_header_id|>user<|end_header_id|>\n\nWho?<|eot_id|>"
    "<|start_header_id|>assistant<|end_header_id|>\n\n"
)
TURNS = (
    "<|im_start|>user\nOne?<|im_end|>\n<|im_start|>assistant\n1<|im_end|>\n"
    "<|im_start|>user\nTwo?<|im_end|>\n<|im_start|>assistant\n"
)


@pytest.mark.parametrize(
    ("prompt", "asked"),
    [
        pytest.param(LLAMA_3, "Who?", id="llama 3"),
        pytest.param("<bos><start_of_turn>user\nWho?<end_of_turn>\n<start_of_turn>model\n", "Who?", id="gemma"),
        pytest.param("<|user|>\nWho?</s>\n<|assistant|>\n", "Who?", id="zephyr"),
        pytest.param("<s>[INST] <<SYS>>\nBe kind.\n<</SYS>>\n\nWho? [/INST]", "Who?", id="llama 2"),
        pytest.param(TURNS, "One?\n\n1\n\nTwo?", id="several turns"),
        pytest.param("Question: Who?\nAnswer:", "Question: Who?\nAnswer:", id="no template"),
        pytest.param('[{"role": "user", "content": "Who?"}]', "Who?", id="messages"),
        pytest.param('[{"a": 1}]', '[{"a": 1}]', id="other JSON"),
    ],
)  # fmt: skip
def test_the_words_of_a_template_are_not_shown(prompt, asked):
    assert asked_in(prompt) == asked


def row():
    return {
        "sample_id": "a",
        "index": 0,
        "prompt": LLAMA_3,
        "target": "Ada",
        "response": "Bob",
        "doc": {},
    }


def test_a_rubric_and_a_prompt_file_show_the_question_alone(tmp_path):
    rubric = Rubric(
        name="own",
        version="1",
        steps=("Asked: ${question}",),
        fields={"question": "prompt"},
        names=("rating",),
        low=0,
        high=10,
        whole=False,
    )
    assert rubric.fill(row()) == {"question": "Who?"}
    file = tmp_path / "own.py"
    file.write_text("def create_prompt(*texts):\n    return '|'.join(texts)\n")
    (item,) = find_rubric(str(file), ()).items({"t": [row()]}, {"t": {}})
    assert item.input == "t|Who?|Ada|Bob"
