"""The question within a prompt.

What stands between the marks of a chat template, or of plain tags.
"""

from __future__ import annotations

from evalprep.packapi import without_control

# What opens a turn of the user's and what may close it. Logs hold prompts as a tokenizer decodes
# them without special tokens, so that of a header only its word is left: "user\n\nWho
# ...?assistant\n\n".
_MARKS = (
    ("<|start_header_id|>user<|end_header_id|>", ("<|eot_id|>",)),
    ("<|im_start|>user\n", ("<|im_end|>",)),
    ("<start_of_turn>user\n", ("<end_of_turn>",)),
    ("<|user|>\n", ("<|end|>", "</s>", "<|assistant|>")),
    ("[INST]", ("[/INST]",)),
    ("Question: ", ("\nAnswer:",)),
)
_BARE_ENDS = ("assistant", "model")


def question_in(prompt: str) -> str:
    r"""The last question of a prompt without control tokens, headers of turns and tags.

    The prompt where none is known.

    >>> question_in("[INST] Who? [/INST]"), question_in("Be kind.user\n\nWho?assistant\n\n")
    ('Who?', 'Who?')
    """
    for opening, closings in _MARKS:
        start = prompt.rfind(opening)
        if start < 0:
            continue
        turn = prompt[start + len(opening) :]
        ends = [turn.find(closing) for closing in closings if closing in turn]
        if ends:
            return turn[: min(ends)].rpartition("<</SYS>>")[2].strip()
    bare = prompt.rstrip()
    start = bare.rfind("user\n")
    for ending in _BARE_ENDS:
        if bare.endswith(ending) and start >= 0:
            return bare[start + len("user\n") : -len(ending)].strip()
    return without_control(prompt)
