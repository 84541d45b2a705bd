r"""Left sides that only name a value.

Examples are `BC^2`, `MRS_{S,C}`, `\frac{V_o(s)}{V_i(s)}`, `P(A \mid B)` and `\Delta H`.

The parser knows the short ones (`x`, `f(x)`, `AB`, `\angle A`). The longer ones are no expressions
to it, or such that must not be read as an equation, so they are replaced by one token before it
sees them; of a chain the last member stays.
"""

from __future__ import annotations

import re
from functools import cache

from custom_metrics.math import words
from custom_metrics.math.token_stream import spell
from custom_metrics.math.tokens import Token
from custom_metrics.patterns import any_of

MAX_NAME = 60
"""Tokens of a left side that may be a name."""
MAX_SPELLING = 240
"""Characters of such a name."""

_SYM = r"(?:[A-Za-z]|\\[A-Za-z]+)"
_SUB = r"(?:_(?:\{[^{}]{1,40}\}|\w|\"[^\"]{1,40}\"|\\[a-z]+))"
_LETTER = rf"{_SYM}(?:_(?:\{{[^{{}}]*\}}|\w|\\[a-z]+))?'*"
_VECTOR = r"<(?:vec|overline)>(?:\{[^{}]*\}|[A-Za-z])"
_PART = (
    rf"(?:{_LETTER}|[A-Z]{{2,4}}|<(?:angle|triangle)>[A-Z]+|\"[^\"]*\"|{_VECTOR}"
    rf"|\|{_LETTER}\||\|[A-Z]{{2}}\||\|\|{_LETTER}\|\||\|{_VECTOR}\||\|\|{_VECTOR}\|\|)"
)
_POINT = (
    rf"-?(?:{_LETTER}|\d+(?:\.\d+)?(?:/\d+)?|\d*<pi>(?:/\d+)?"
    rf"|<frac>\{{[^{{}}=]*\}}\{{[^{{}}=]*\}}|<infty>)"
)
"""Where a function is evaluated; `x(x+1)` is a product."""
_SHORT = (
    rf"m?<angle>(?:[A-Z]{{1,4}}|{_LETTER})",
    rf"{_LETTER}(?:\^\{{?-1\}}?)?\({_POINT}(?:,{_POINT})*\)",
    r"[f-hF-HQ-TVW](?:\^\{?-1\}?)?\([^()=]*\)",
    r"P\([^()]*\)",
    _PART,
    rf"<frac>\{{{_PART}\}}\{{{_PART}\}}",
    rf"{_PART}[/:]{_PART}",
    r"<frac>\{d[a-z]\}\{d[a-z]\}",
    rf"\({_PART}(?:,{_PART})+\)",
    rf"<(?:sin|cos|tan|cot|ln|log)>(?:{_LETTER}|\({_LETTER}\))",
    r"\[[A-Z]{3,6}\]",
    rf"\{{{_LETTER}\}}",
    r"«[^»]*»",
)
SHORT = re.compile("|".join(f"(?:{name})" for name in _SHORT))
r"""Names that the parser reads as the expressions they are, such as `x`, `f(x)`, `AB`, `\angle
A`, `S_1:S_2`."""

_STAR = r"(?:\^(?:\{(?:<circ>|[*+-])\}|<circ>|[*+-]))"
_ACCENT = r"<(?:hat|overline|tilde|dot|vec|widehat)>(?:\{[^{}]{1,12}\}|[A-Za-z])"
_LONG = r"(?:[A-Z]{2,5}|\"[^\"]{1,60}\"|\\Delta [A-Za-z]{1,2})"
_INSIDE = r"\((?:[^()]|\((?:[^()]|\([^()]{0,40}\)){0,60}\)){1,120}\)"
_ARGUMENTS = rf"\((?:{_SYM}{_SUB}?|\d{{1,6}})(?:,(?:{_SYM}{_SUB}?|\d{{1,6}})){{0,5}}\)"
_FUNCTION = any_of(
    r"[f-hF-HPQRSTVWE] \\(?:phi|psi|Phi|Psi|Gamma|zeta) Pr Var Cov",
    r"<(?:Pr|Re|Im|arg|gcd|det|mathbb:[EP])> \"[^\"]{1,30}\"",
)
_CALL = (
    rf"(?:{_FUNCTION}{_SUB}?'{{0,3}}(?:{_INSIDE}|\[[^\[\]=]{{1,80}}\])"
    rf"|{_SYM}{_SUB}'{{0,3}}{_ARGUMENTS})"
)
_TERM = (
    rf"(?:{_CALL}|{_LONG}{_SUB}?{_STAR}?|{_SYM}{_SUB}?{_STAR}{_SUB}?|{_ACCENT}{_SUB}?"
    rf"|{_SYM}{_SUB}?)"
)
# BC, \overline{BC}, |x_1|, |BC|, ||v||, |\vec{v}|
_LENGTH = (
    r"(?:[A-Z]{2}|<overline>\{[A-Z]{2}\}"
    rf"|\|{_SYM}{_SUB}?\||\|[A-Z]{{2}}\||\|\|[^|=]{{1,20}}\|\||\|<vec>\{{[^{{}}]{{1,6}}\}}\|)"
)
_LONGER = (
    _CALL,  # V_o(s), P(A|B), E[X]
    rf"{_LONG}{_SUB}{_STAR}?",  # MRS_{S,C}
    rf"{_LONG}{_STAR}{_SUB}?",  # \Delta H^\circ
    rf"\\Delta {_SYM}{_SUB}?{_STAR}?{_SUB}?",
    rf"{_SYM}{_SUB}?{_STAR}{_SUB}?",  # E^\circ_{cell}, x^*
    rf"{_LENGTH}\^\{{?\d\}}?",  # BC^2
    r"m?<angle>[A-Z]{1,3}(?:[+-]m?<angle>[A-Z]{1,3}){1,3}",
    r"[A-Z]{2}(?:\^\{?2\}?)?(?:[-+*][A-Z]{2}(?:\^\{?2\}?)?){1,3}",  # AB+BC, AB*CD
    rf"<(?:sin|cos|tan)>\^\{{?2\}}?(?:{_SYM}|\({_SYM}\)|<angle>[A-Z]{{1,3}})",
    rf"<frac>\{{{_TERM}\}}\{{{_TERM}\}}",
    rf"{_TERM}/{_TERM}",
    r"[A-Z](?:<(?:cup|cap|setminus)>[A-Z]'?){1,3}",  # sets
    r"[A-Z](?:'|\^c|\^\{c\})",
    rf"<(?:hat|overline|tilde)>(?:\{{[^{{}}]{{1,12}}\}}|[a-z]){_SUB}?",
    r"\[(?:[A-Z]|\"[^\"]{1,20}\")[A-Za-z0-9_^{}+-]{0,20}\]",  # concentrations
    r"\\sigma\^\{?2\}?",
    r"p(?:H|OH|K_\{?[abw]\}?)",
    rf"{_ACCENT}\*{_ACCENT}",
    rf"\|{_ACCENT}[+-]{_ACCENT}\|",
)
_COMPUTED = {"lim", "sum", "int", "prod", "iint", "oint"}
_CALCULUS = _COMPUTED | {"partial"}
_SEPARATORS = {"<", ">", "le", "ge", "ne", "in", ",", ";", "\\\\", "Rightarrow", "Leftrightarrow"}
_EQUALS = Token("op", "=")
_ABOUT = Token("cmd", "approx")


def shorten(tokens: list[Token]) -> None:
    r"""Replaces a left side that only names the value by one token.

    The middle of its chain is left out.

    Limits, sums, integrals and derivatives name their values too. An equation whose left side is to
    be solved (`x^2`, `2x+1`, `x(x+1)`) stays as it is.
    """
    if _EQUALS not in tokens[: MAX_NAME + 1]:
        _equate_rounded_value(tokens)
    if _EQUALS not in tokens[: MAX_NAME + 1]:
        return
    places = _top_level(tokens)
    if not places or not 0 < places[0] <= MAX_NAME or places[-1] + 1 >= len(tokens):
        return
    side = tokens[: places[0]]
    last = tokens[places[-1] + 1 :]
    if len(places) > 1 and _is_name(last):
        return  # `2 = ... = x`: the value stands before
    label = flat(side)
    is_named = _holds_no_calculus(last) if _is_computed(side) else _is_long_name(label)
    if is_named:
        label = label.replace("«", "").replace("»", "")
        tokens[:] = [Token("name", f"«{label}»"), _EQUALS, *last]


def _is_name(side: list[Token]) -> bool:
    return len(side) == 1 and side[0].kind == "name"


@cache
def _longer() -> re.Pattern[str]:
    """The names that the parser does not read itself; few texts have one to compile it for."""
    return re.compile("|".join(f"(?:{name})" for name in _LONGER))


def _is_long_name(label: str) -> bool:
    """Tells whether a left side is a name that the parser does not read itself."""
    if len(label) > MAX_SPELLING or _is_short(label):
        return False
    return _longer().fullmatch(label) is not None


def _holds_no_calculus(side: list[Token]) -> bool:
    return all(token.kind != "cmd" or token.text not in _CALCULUS for token in side)


def _is_computed(side: list[Token]) -> bool:
    """Tells whether a side is a limit, a sum, an integral or a derivative."""
    if side[0].kind != "cmd":
        return False
    return side[0].text in _COMPUTED or (side[0].text == "frac" and holds_derivative(side[:8]))


def _equate_rounded_value(tokens: list[Token]) -> None:
    r"""Reads `\Delta E \approx 3` as `\Delta E = 3`.

    Behind a name the sign only says that the value is rounded.
    """
    place = next((at for at, token in enumerate(tokens[: MAX_NAME + 1]) if token == _ABOUT), 0)
    label = flat(tokens[:place])
    if place and len(label) <= MAX_SPELLING and _longer().fullmatch(label):
        tokens[place] = _EQUALS


def _is_short(label: str) -> bool:
    """Returns whether the parser reads the name itself.

    What is inside a probability is no expression.
    """
    return SHORT.fullmatch(label) is not None and not label.startswith("P(")


def holds_derivative(tokens: list[Token]) -> bool:
    r"""Returns whether the tokens hold `\frac{d}{dx}` or `d/dx`, for the algebra system alone."""
    return any(
        _is_fraction_derivative(tokens, place) or _is_line_derivative(tokens, place)
        for place, token in enumerate(tokens)
        if token.text in {"frac", "d"}
    )


def _is_fraction_derivative(tokens: list[Token], place: int) -> bool:
    r"""Tells whether `\frac{d}{dx}` or `\frac d{dx}` stands at a place."""
    if tokens[place] != Token("cmd", "frac"):
        return False
    following = [token.text for token in tokens[place + 1 : place + 8]]
    # `{d}{dx}` and `d{dx}`
    is_braced = following[:5] == ["{", "d", "}", "{", "d"] and following[6:] == ["}"]
    is_bare = following[:3] == ["d", "{", "d"] and following[4:5] == ["}"]
    return is_braced or is_bare


def _is_line_derivative(tokens: list[Token], place: int) -> bool:
    """Tells whether `d/dx` stands at a place, with one letter behind the second d."""
    if tokens[place] != Token("name", "d"):
        return False
    if [token.text for token in tokens[place + 1 : place + 3]] != ["/", "d"]:
        return False
    kinds = [token.kind for token in tokens[place + 3 : place + 5]]
    return kinds[:1] == ["name"] and kinds[1:] != ["name"]


def flat(tokens: list[Token]) -> str:
    r"""Returns tokens as one string in which `\lambda x` is not mistaken for one symbol."""
    pieces: list[str] = []
    for token in tokens:
        if (
            pieces
            and token.kind == "name"
            and pieces[-1].startswith("\\")
            and pieces[-1][-1].isalpha()
        ):
            pieces.append(" ")
        pieces.append(spell(token))
    return "".join(pieces)


def _top_level(tokens: list[Token]) -> list[int]:
    """Places of the equals signs outside brackets and environments.

    Empty where the answer is more than one chain of them.
    """
    depth = 0
    places = []
    for place, token in enumerate(tokens):
        depth += token.nesting + _environment_nesting(token)
        if depth:
            continue
        if token == _EQUALS:
            places.append(place)
        elif _separates(token):
            return []
    return places


def _environment_nesting(token: Token) -> int:
    r"""The change of depth at `\begin{...}` (1) and `\end{...}` (-1); else 0."""
    if token.kind != "cmd":
        return 0
    if token.text.startswith("begin:"):
        return 1
    return -1 if token.text.startswith("end:") else 0


def _separates(token: Token) -> bool:
    """Tells whether a token stands between two values, as "and" and a comma do."""
    if token.kind == "text":
        return token.text.strip(" ,").lower() in words.CONNECTIVES
    return token.text in _SEPARATORS
