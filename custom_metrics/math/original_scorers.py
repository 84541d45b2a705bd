r"""The scorers of other tools; everything that needs algebra runs inside the worker process only.

`llama`: the MATH scorer of the Llama evaluation recipe (llama-cookbook, commit 0e00335), written
from its behaviour. `minerva`, `leaderboard`: the installed lm-eval's own functions. They are here
for comparability, defects included; use `grade` to know whether an answer is right.
"""

from __future__ import annotations

import re
from typing import Any

_REPLACED = [
    ("an ", ""),
    ("a ", ""),
    (".$", "$"),
    ("\\$", ""),
    ("\\ ", ""),
    (" ", ""),
    ("mbox", "text"),
    (",\\text{and}", ","),
    ("\\text{and}", ","),
    ("\\text{m}", "\\text{}"),
]
_DELETED = [
    "square",
    "ways",
    "integers",
    "dollars",
    "mph",
    "inches",
    "ft",
    "hours",
    "km",
    "units",
    "\\ldots",
    "sue",
    "points",
    "feet",
    "minutes",
    "digits",
    "cents",
    "degrees",
    "cm",
    "gm",
    "pounds",
    "meters",
    "meals",
    "edges",
    "students",
    "childrentickets",
    "multiples",
    "\\text{s}",
    "\\text{.}",
    "\\text{\ns}",
    "\\text{}^2",
    "\\text{}^3",
    "\\text{\n}",
    "\\text{}",
    "\\mathrm{th}",
    "^\\circ",
    "^{\\circ}",
    "\\;",
    ",\\!",
    "{,}",
    '"',
    "\\dots",
]
_SHORT = 1_000  # characters; the normal form takes quadratic time
_TEMPLATE = "Final Answer: The final answer is"
_END = ". I hope it is correct."


def load() -> None:
    """Imports what the scorers need, outside of any measured case."""
    from lm_eval.tasks.leaderboard.math import utils as leaderboard  # noqa: F401
    from lm_eval.tasks.minerva_math import utils as minerva  # noqa: F401


def score(scorer: str, gold: str, response: str) -> dict[str, Any]:
    """Scores one reply with the named scorer.

    An exception that would end its run is reported and counts as wrong.
    """
    return {"llama": _llama, "minerva": _minerva, "leaderboard": _leaderboard}[scorer](
        gold, response
    )


def what_counts(scorer: str, response: str) -> str:
    """The part of a reply that a scorer looks at.

    It is the last box, the sentence of the template, or the whole reply.
    """
    if scorer == "leaderboard":
        return response
    if scorer == "minerva" and _TEMPLATE in response:
        start = response.find(_TEMPLATE)
        end = response.find(_END, start + len(_TEMPLATE))
        return response[start : end + len(_END) if end >= 0 else len(response)]
    return _last_box(response) or ""


def decided_by_text(scorer: str, gold: str, response: str) -> bool | None:
    """The verdict where no algebra is needed for it, else None.

    It is cheap enough for the caller's own process.
    """
    if scorer == "leaderboard" or (scorer == "minerva" and _TEMPLATE in response):
        return None
    boxed = _last_box(response)
    if boxed is None or boxed.startswith("\\fbox"):
        return False
    answer = _content(boxed)
    if scorer == "minerva":
        is_equal = answer == gold and bool(answer.strip())
    else:
        is_short = len(answer) < _SHORT
        is_equal = is_short and _normalise(answer).strip() == _normalise(gold).strip()
    return is_equal or None


def _content(boxed: str) -> str:
    if boxed.startswith("\\boxed "):
        return boxed.removeprefix("\\boxed ")
    return boxed[len("\\boxed{") : -1]


def _llama(gold: str, response: str) -> dict[str, Any]:
    boxed = _last_box(response)
    if boxed is None:
        return {"equal": False, "why": "no box"}
    if boxed.startswith("\\fbox"):
        return {"equal": False, "why": "the original stops the run at a frame box"}
    answer = _normalise(_content(boxed))
    reference = _normalise(gold)
    if answer.strip() == reference.strip():
        return {"equal": True, "why": "same text after its normalisation"}
    return {"equal": _simplifies_to_zero(answer, reference), "why": "sympy"}


def _last_box(text: str) -> str | None:
    if "\\boxed " in text:
        return "\\boxed " + text.rsplit("\\boxed ", maxsplit=1)[-1].split("$", maxsplit=1)[0]
    start = max(text.rfind("\\boxed"), -1)
    if start < 0:
        start = text.rfind("\\fbox")
    if start < 0:
        return None
    depth = 0
    for position in range(start, len(text)):
        if text[position] == "{":
            depth += 1
        elif text[position] == "}":
            depth -= 1
            if depth == 0:
                return text[start : position + 1]
    return None


def _normalise(answer: str) -> str:
    answer = answer.rsplit("=", maxsplit=1)[-1]
    for before, after in _REPLACED:
        answer = answer.replace(before, after)
    for literal in _DELETED:
        answer = answer.replace(literal, "")
    answer = re.sub(r"(.*?)(\$)(.*?)(\$)(.*)", r"$\3$", answer)
    for command in ("text", "textbf", "overline"):
        answer = re.sub(rf"\\{command}\{{(.*?)\}}", r"\1", answer)
    answer = re.sub(r"\\boxed\{(.*)\}", r"\1", answer)
    answer = re.sub(r"frac([^{])(.)", r"frac{\1}{\2}", answer)
    answer = re.sub(r"sqrt([^{])", r"sqrt{\1}", answer)
    answer = answer.replace("$", "")
    if answer.replace(",", "").isdigit():
        return answer.replace(",", "")
    return answer


def _simplifies_to_zero(answer: str, reference: str) -> bool:
    import sympy
    from sympy.parsing.latex import parse_latex

    try:
        return bool(sympy.simplify(parse_latex(answer) - parse_latex(reference)) == 0)
    except Exception:  # noqa: BLE001 - whatever it raises, the original calls the answers different
        return False


def _minerva(gold: str, response: str) -> dict[str, Any]:
    from lm_eval.tasks.minerva_math import utils

    if _TEMPLATE not in response:
        boxed = utils.last_boxed_only_string(response)
        if boxed is not None and boxed.startswith(("\\boxed{", "\\boxed ")):
            response = f"{_TEMPLATE} ${utils.remove_boxed(boxed)}$. I hope it is correct."
    document = {"solution": f"$\\boxed{{{gold}}}$", "answer": utils.normalize_final_answer(gold)}
    scores = utils.process_results(document, [response])
    return {"equal": bool(scores["exact_match"]), "why": f"math_verify {scores['math_verify']}"}


def _leaderboard(gold: str, response: str) -> dict[str, Any]:
    from lm_eval.tasks.leaderboard.math import utils

    scores = utils.process_results({"solution": f"$\\boxed{{{gold}}}$", "answer": gold}, [response])
    return {
        "equal": bool(scores["exact_match"]),
        "why": f"exact_match_original {scores['exact_match_original']}",
    }
