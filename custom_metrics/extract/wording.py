# ruff: noqa: RUF001 - replies use typographic marks and other scripts; the patterns name them
"""Wording that several extractors look for: how replies announce an answer, and where an answer has ended."""

from __future__ import annotations

import re

FOREIGN_ANSWER = (
    r"(?:antwort|lösung|richtig|réponse|respuesta|opción\s+correcta|risposta|resposta|ответ|antwoord|odpowiedź|jawaban|"
    r"cevap|đáp\s+án|उत्तर|উত্তর|คำตอบ|الإجابة)"
)
"""The noun "answer" in languages that put blanks between words."""
# Up to three words between noun and verb ("la respuesta correcta es"), none of them a negation.
FOREIGN_WORDS = r"(?:ที่ถูกต้อง|\s{1,2}(?!(?:no|nicht|non|não|не|pas|keine?|không)\s)[^\W\d_]{2,14}(?=\s)){0,3}"
FOREIGN_IS = r"(?:\s{0,2}(?:[:：=]|คือ)|\s{1,2}(?:[–—-]|ist|lautet|est|es|sería|è|é|is|to|adalah|là|هي)(?=\s))"
EASTERN_ANSWER = r"(?:答案|正解|答え|回答|解答|정답|답변)(?:은|는|이|は|应该|应当|应)?(?:是|为|為|选|選|[:：=]){0,2}"
"""The same in languages without blanks, its verb included."""

END_TOKENS = re.compile(r"(?:\s{0,8}(?:</s>|<(?:end_of_turn|eos)>|<[|｜][\w▁]{1,30}[|｜]>)){1,8}\s{0,8}\Z")
"""Marks of the end of a turn, which back ends leave in the text."""
INVENTED_QUESTION = re.compile(r"\n\s{0,4}(?:\*\*)?(?:Q|Question|Problem|Exercise)(?:\s{1,2}\d{1,3})?(?:\*\*)?\s?[:.]")
"""Where a base model, having answered, goes on with a question of its own."""

BOX = re.compile(r"\\(?:boxed|fbox)\s{0,4}\{(?P<content>(?:[^{}]|\{(?:[^{}]|\{[^{}]{0,100}\}){0,200}\}){0,200})\}")
"""A box of LaTeX with its content, braces in it up to two levels deep."""
OPEN_BOX = re.compile(r"\\(?:boxed|fbox)\s{0,4}\{")
"""The beginning of a box, whose end may lack."""


def before_invented_question(text: str) -> tuple[str, str]:
    r"""Split off what follows the first invented question.

    Args:
        text: A reply.

    Returns:
        The part before the question, and the whole text; both the same where nothing was invented.

    >>> before_invented_question("5\n\nQuestion: 2 + 2?\nAnswer: 4")
    ('5', '5\n\nQuestion: 2 + 2?\nAnswer: 4')
    """
    invented = INVENTED_QUESTION.search(text)
    return (text[: invented.start()] if invented else text), text
