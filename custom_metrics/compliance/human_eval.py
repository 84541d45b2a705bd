"""HumanEval: from a reply to a programme, and from verdicts to pass@k.

Chen et al. 2021, arXiv 2107.03374.
"""

from __future__ import annotations

import re

from custom_metrics.repeats.formulas import pass_at_k

#: Begins of lines that end a completion in COMPL-AI v1, the same for each problem.
_STOPS = ("\ndef", "\n#", "\nif", "\nclass")
_FENCE = re.compile(r"```[A-Za-z0-9+]{0,12}[ \t]{0,4}\n")


def fenced_code(*, text: str) -> str:
    r"""Takes the code out of the first fence of a reply; a reply without one is code as it stands.

    >>> fenced_code(text="Sure:\n```python\nreturn 1\n```\nDone.")
    'return 1\n'
    """
    opening = _FENCE.search(text)
    if opening is None or (text[:1].isspace() and text[: opening.start()].strip()):
        # An indented body goes on with the prompt; the fence only closes one.
        return text.partition("```")[0]
    return text[opening.end() :].partition("```")[0]


def cut_completion(*, completion: str) -> str:
    r"""Cuts a completion after the function's body, as COMPL-AI v1.

    It first ends before a line that begins with `def`, `#`, `if` or `class`. In what remains before
    the first line break that is followed by a character that is no blank; without one, at the end
    of the line of the last `return`.

    >>> cut_completion(completion="    return 1\nprint(2)")
    '    return 1'
    """
    for stop in _STOPS:
        completion = completion.partition(stop)[0]
    end = completion.find("\n")
    while end != -1:
        if end + 1 < len(completion) and not completion[end + 1].isspace():
            return completion[:end]
        end = completion.find("\n", end + 1)
    last = completion.rfind("return ")
    after = completion.find("\n", last) if last != -1 else -1
    return completion if after == -1 else completion[:after]


def solution_code(*, prompt: str, reply: str, entry_point: str) -> str:
    """Puts a problem and a reply together into one Python programme, which defines the function.

    A reply that writes the function anew stands after the prompt, whose imports it may need; one
    that goes on with the body is cut after it and joined to the prompt.

    Args:
        prompt: Imports, signature and docstring of the problem.
        reply: The model's reply.
        entry_point: Name of the function.
    """
    code = fenced_code(text=reply)
    if f"def {entry_point}(" in code:
        return f"{closed_prompt(prompt=prompt)}\n\n{code}\n"
    return f"{prompt}{cut_completion(completion=code)}\n"


def closed_prompt(*, prompt: str) -> str:
    """Ends the function that a prompt begins, so that the prompt is a programme of its own."""
    return f"{prompt}    pass\n"


METRICS = {
    "compliance.closed_prompt": closed_prompt,
    "compliance.cut_completion": cut_completion,
    "compliance.fenced_code": fenced_code,
    "compliance.pass_at_k": pass_at_k,
    "compliance.solution_code": solution_code,
}
