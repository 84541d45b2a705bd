"""Stop strings of nothing but white space: only those warn that the model's first white space holds."""

import pytest

from evalprep.check.prompts import _begins_reply

CHATML = "<|im_start|>user\nCapital of Peru?<|im_end|>\n<|im_start|>assistant"
LLAMA3 = "<|start_header_id|>assistant<|end_header_id|>"


@pytest.mark.parametrize(
    ("prompt", "stop", "warns"),
    [
        pytest.param(CHATML, "\n", True, id="the line break of ChatML"),
        pytest.param(CHATML, "\n\n", False, id="an empty line, which ChatML does not write"),
        pytest.param(CHATML + "\n", "\n", False, id="the line break is in the prompt"),
        pytest.param("<|user|>\nHi\n<|assistant|>", "\n\n", False, id="an empty line after a turn marker alone"),
        pytest.param("<|user|>\nHi\n<|assistant|>", " ", True, id="a blank"),
        pytest.param(LLAMA3, "\n\n", True, id="the empty line of Llama 3"),
        pytest.param(LLAMA3 + "\n\n", "\n\n", False, id="the empty line is in the prompt"),
        pytest.param("<start_of_turn>model", "\n", True, id="Gemma"),
        pytest.param(CHATML + "\nThe answer is", "\n", False, id="the reply is begun for the model"),
        pytest.param("Question: 1 + 1?\nAnswer:", "\n", False, id="no chat"),
    ],
)
def test_white_space_that_the_model_writes_first(prompt, stop, warns):
    assert _begins_reply(stop, prompt) is warns
