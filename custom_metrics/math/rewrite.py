r"""Rewriting of an answer's text before it is cut into tokens.

It handles other spellings of LaTeX, digit groups and conditions.

Everything here is about writing that is not quite LaTeX: Unicode characters, HTML entities, LaTeX
escaped twice, Markdown, digits in groups, intervals in ISO 31-11 brackets, and the conditions that
follow a general solution.
"""

from __future__ import annotations

import re

from custom_metrics.math import bare_units
from custom_metrics.math.notation import (
    CURRENCIES,
    FONTS,
    GREEK,
    SAME,
    SPACING,
    SUBSCRIPT,
    SUPERSCRIPT,
    TABLE,
    TEXTS,
    WORD_COMMANDS,
)

_COMMANDS = {
    name
    for name in SPACING | FONTS | TEXTS | set(SAME) | GREEK | set(WORD_COMMANDS) | set(CURRENCIES)
    if len(name) > 1 and name.isalpha()
} | {
    "begin",
    "end",
    "binom",
    "cup",
    "cap",
    "le",
    "ge",
    "ne",
    "in",
    "pm",
    "mp",
    "mathbb",
    "circ",
    "overline",
    "lfloor",
    "rfloor",
    "lceil",
    "rceil",
    "setminus",
    "emptyset",
    "pmod",
    "bmod",
    "mod",
    "equiv",
    "approx",
    "triangle",
    "angle",
    "choose",
    "over",
    "langle",
    "rangle",
    "sum",
    "prod",
    "int",
    "lim",
    "vec",
    "hat",
    "dot",
    "ldots",
    "land",
    "lor",
}
"""Commands by which LaTeX that was escaped twice is told from a `\\\\` that ends a row."""
_ENTITIES = {
    "lt": "<",
    "gt": ">",
    "le": r"\le ",
    "ge": r"\ge ",
    "ne": r"\ne ",
    "amp": "&",
    "nbsp": " ",
    "times": r"\times ",
    "middot": r"\cdot ",
    "minus": "-",
    "plusmn": r"\pm ",
    "radic": r"\sqrt ",
    "infin": r"\infty ",
    "deg": r"^{\circ}",
    "pi": r"\pi ",
    "theta": r"\theta ",
    "frac12": r"\frac{1}{2}",
    "frac14": r"\frac{1}{4}",
    "frac34": r"\frac{3}{4}",
    "sup2": "^{2}",
    "sup3": "^{3}",
    "divide": r"\div ",
    "cup": r"\cup ",
    "cap": r"\cap ",
    "isin": r"\in ",
    "empty": r"\emptyset ",
    "quot": '"',
    "apos": "'",
}
_ENTITY = re.compile(rf"&({'|'.join(_ENTITIES)});")

_BACKSLASHES = re.compile(r"\\+")
_DOUBLED = re.compile(r"(?<!\\)\\\\([A-Za-z]{2,})")
_DOUBLED_SIGN = re.compile(r"(?<!\\)\\\\(?:[%$]|\{[^{}]*\\\\\})")
_MARKDOWN = re.compile(r"\s*(\*\*|__)(?!\s)(?P<inner>[^*_]+)\1\s*", re.DOTALL)
_QUOTED = re.compile(r"(?:'|``)(?P<inner>[^'`]+)''?")
_ORDINAL = re.compile(r"(?:\\text\{)?\s*(?P<inner>\d{1,6})\s?(?:st|nd|rd|th)\s*\}?")
_SPELLINGS = [
    (re.compile(r"\\(?:left|right)\s*\."), " "),
    (re.compile(r"\\not\s*(?:=|\\equiv(?![A-Za-z]))"), r"\\ne "),
    (re.compile(r"\\not\s*\\in(?![A-Za-z])"), r"\\notin "),
    (re.compile(r"\+\s?/\s?-"), r"\\pm "),
    (re.compile(r"\.\.\.+"), r"\\ldots "),
    (re.compile(r"(?<!<)=<"), r"\\le "),
    (re.compile(r"(?<=\d)\s?[xX]\s?(?=10\s?\^)"), r"\\times "),
    (re.compile(r"\\(q?quad)(?=[a-z])"), r"\\\1 "),
    (re.compile(r"\\Bbb\s?\{?\s?([A-Z])\s?\}?"), r"\\mathbb{\1}"),
    (
        re.compile(r"\{\\(?:rm|text)\s+([^{}\\]*)\}|\\(?:rm|text)\s+(?=[A-Za-z])([A-Za-z]+)"),
        r"\\mathrm{\1\2}",
    ),
    (re.compile(r"\\rm\s*\{"), r"\\mathrm{"),
    (re.compile(r"\^\s*\{\s*\\prime\s*\}|\^\s*\\prime(?![A-Za-z])"), "'"),
    (re.compile(r"\^\s*\{\s*\\prime\s*\\prime\s*\}"), "''"),
    (re.compile(r"(?<![A-Za-z\\])(?:np|numpy|math)\.(?=[a-z])"), ""),
    (re.compile(r"\\AA(?![A-Za-z])|\\mathring\s*\{?\s*A\s*\}?"), r"\\text{angstrom}"),
]
_OPERATOR_AHEAD = r"(?=\s*(?:[/*+^)\]}]|-\s*[\dA-Za-z\\(]|\\(?:cdot|times|div)(?![A-Za-z])))"
_BARE_POINT = re.compile(r"(?<![\d.])(\d{1,400})\." + _OPERATOR_AHEAD)
"""A decimal point without digits behind it, `3./2`."""
_MICRO = re.compile(
    r"(?<=[\d)}])\s*(?:\\[ ,;:]|~)?\s*\\mu\s*"
    r"\\(?:mathrm|text|textrm)\s*\{\s*([A-Za-z]{1,3})\s*\}(?=\s*\.?\s*$)"
)
_FORMULAS = re.compile(r"(?<!\\)\$ *\n\s*\$")
"""One formula ends and the next one begins in another line."""
_PIECES = re.compile(
    r"\\left\s*\\\{\s*\\begin\{array\}\s*\{[a-z|\s]{0,12}\}"
    r"(?P<lines>.*?)\\end\{array\}\s*(?:\\right\s*\.)?",
    re.DOTALL,
)
_PRIME_BEFORE_INDEX = re.compile(r"(?<=[A-Za-z])('{1,4})(_(?:\{[^{}]{0,40}\}|\w))")
_SIGN_AS_INDEX = re.compile(r"_\s?([+-])(?=\s*(?:[-+=,.)\]}$^|]|\\|$))")
_ONE_INDEX = r"\s?(?:\{[^{}]{1,20}\}|\w)"
# A star above a name (a conjugate, an optimum), with its index before or behind it.
_CONJUGATE = re.compile(
    rf"(?P<name>\\[a-zA-Z]+|(?<![A-Za-z\\])[A-Za-z])\s?(?:_(?P<before>{_ONE_INDEX}))?"
    rf"\s?\^\s?(?:\{{\s?(?:\*|\\ast)\s?\}}|\*|\\ast(?![a-z]))(?:_(?P<behind>{_ONE_INDEX}))?(?!\()"
)
_TESLA = re.compile(
    r"(?<=[\d)}])\s*(?:\\[ ,;:]|~)?\s*\\(?:mathrm|text|textrm)\s*\{\s*T\s*\}(?=\s*\.?\s*$)"
)
"""A capital T behind a number, which is no tonne."""
_MEGA = re.compile(
    r"(\\(?:text|mathrm|textrm|mbox)\s*\{\s*)M"
    r"(?=(?:Hz|Pa|eV|cal|bar|ohm|[JNWVAFCTSLgms])\s*(?:[}^/]|\\cdot(?![A-Za-z])))"
)
"""Mega, which is not milli; nothing else in a unit depends on case."""
_UPRIGHT_UNIT = re.compile(
    r"(?<=[\d})])\s*(?:\\[ ,;:]|~|\\text\{\s+\})\s*"
    r"\\mathrm\s*\{\s*([AJKLNVWghms])\s*\}(?=\s*(?:\^|/|\.?\s*$))"
)
"""One upright letter behind a number and a space, as units are set."""
_OHM = re.compile(
    r"(?<=[\d})])\s*(?:"
    r"(?:\\[ ,;:]|~)?\s*\\(?:mathrm|text|textrm)\s*\{\s*(?P<prefix>[kM]?)\s*\\Omega\s*\}"
    r"|(?:\\[ ,;:]|~)?\s*\\(?:mathrm|text|textrm)\s*\{\s*(?P<before>[kM])\s*\}\s*\\Omega"
    r"|(?:\\[ ;]|~|\\text\{\s+\})\s*\\Omega)(?=\s*\.?\s*$)"
)

_EXPLICIT_GROUPS = re.compile(
    r"(?<=\d)(?<!(?<![\d.,])0)\s*(?:\{\s*,\s*\}|,\s*\\!|\\!\s*,|\\,)\s*(?=\d{3}(?!\d))"
)
_COMMA_GROUPS = re.compile(r"(?<![\d.,])([1-9]\d{0,2}(?:,\d{3})+)(?![\d,])")
_SPACE_GROUPS = re.compile(r"(?<![\d.,])([1-9]\d{0,2}(?:(?: |~|\\[ ;:>])\d{3})+)(?![\d])")
_BASE_GROUPS = re.compile(r"(?<![\d.,])\d{1,4}(?:(?: |~|\\[ ,;:>])\d{4})+(?=_)")
_DECIMAL_COMMA = re.compile(r"(?<=\d)\{,\}(?=\d)")

_RAISED = re.compile(r"[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ⁿⁱˣ]+")
_LOWERED = re.compile(r"[₀₁₂₃₄₅₆₇₈₉₊₋₍₎ₙₓ]+")
_UNIT_ENDS = "⁰¹²³⁴⁵⁶⁷⁸⁹."
MAX_GROUPS = 3
"""Groups around a whole answer that are removed; the parser reads more."""

_BRACKET = re.compile(r"[()\[\]]")
_TAIL = 120
_GAP = r"(?:\s|[,;~]|\\q?quad(?![A-Za-z])|\\[,;:! ])*"
_WORDS = r"(?:where|for|for all|for any|for every|for each|for some|with|and)?"
_WHOLE = r"\\mathbb\s?\{?\s?[ZN]\s?\}?(?:_\{?[^{}\s]{1,6}\}?|\^\{?[+*]\}?)?"
_CONDITIONS = [
    # "for all n \in \mathbb{Z}"
    re.compile(
        rf"{_GAP}(?:\\text\{{[\s,]*{_WORDS}\s*\}}|\\forall|\()?"
        rf"{_GAP}(?P<name>[a-z])\s*\\in\s*{_WHOLE}\s*\)?\s*\.?\s*$"
    ),
    # "where n is an integer"
    re.compile(
        rf"{_GAP}\(?(?:\\text\{{[\s,]*{_WORDS}\s*\}})?{_GAP}(?P<name>[a-z])\s*"
        r"\\text\{[\s,]*(?:is )?(?:an|any) integer\s*\.?\s*\}\)?\s*\.?\s*$"
    ),
    # "for every integer n"
    re.compile(
        rf"{_GAP}\(?\\text\{{[\s,]*(?:where|for|with)?\s*(?:all|any|every|some|an|each)?\s*"
        rf"integers?\s*\}}{_GAP}(?P<name>[a-z])\)?\s*\.?\s*$"
    ),
]
_REALS = r"\s*\\in\s*\\mathbb\s?\{?\s?R\s?\}?"
_EVERY = (
    r"(?P<spoken>\\text\{[\s,]*for (?:all|any|every|each)\s*"
    r"(?:real(?: numbers?| values of)?)?\s*\}|\\forall)"
)
_FOR_ALL = re.compile(
    rf"{_GAP}\(?(?:{_EVERY}{_GAP})?(?P<name>[a-z])(?(spoken)(?:{_REALS})?|{_REALS})\s*\)?\s*\.?\s*$"
)
"""`for all x`, and `for all real x`: what a formula for a function says anyway."""
# Between two values; not before "(1)", the number of an equation, or a text.
_WIDE_SPACE = re.compile(
    r"(?<=[\d)\]}])\s*(?:\\q{1,2}uad(?![A-Za-z])\s*)+"
    r"(?=[-+]?\d|\((?!\s*(?:\d+\s*\)|\\text|\\mathrm))|[A-Za-z]\s*=)"
)
_ENDS_WITH_WORDS = re.compile(r"\\(?:text[a-z]{0,6}|mathrm|mbox)\s*\{[^{}]*\}\s*$")
_RELATION = re.compile(r"[<>|]|\\(?:le|ge|ne|leq|geq|neq|lt|gt|mid|leqslant|geqslant)(?![A-Za-z])")


def rewrite(answer: str, *, thousands: bool = True) -> str:
    r"""Brings an answer's text into LaTeX with plain digits.

    Args:
        answer: Content of a box.
        thousands: Read `1,234` outside brackets as one number; else as two.

    >>> rewrite("1,234 \N{MULTIPLICATION SIGN} 5")
    '1234 \\times  5'
    >>> rewrite(r"]1,2]"), rewrite(r"\frac\pi2+k\pi,\ k\in\mathbb{Z}")
    ('(1,2]', '\\frac\\pi2+k\\pi')
    """
    text = _single_backslashes(answer) if "\\\\" in answer else answer
    text = _spelt_in_latex(text)
    text = _without_wrapping(text)
    for pattern, replacement in _SPELLINGS:
        text = pattern.sub(replacement, text)
    text = _marked_units(_indices(_pieces(text)))
    text = _without_conditions(text)
    return _plain_digits(text, thousands=thousands)


def _spelt_in_latex(text: str) -> str:
    """Writes entities and Unicode signs in LaTeX, and puts plain units into a text macro."""
    if text[-1:].isalpha() or text[-1:] in _UNIT_ENDS or "^" in text[-6:] or not text.isascii():
        text = bare_units.mark(text)
    if "&" in text:
        text = _ENTITY.sub(lambda match: _ENTITIES[match.group(1)], text)
    if text.isascii():
        return text.translate(TABLE)
    text = _RAISED.sub(lambda match: "^{" + match.group().translate(SUPERSCRIPT) + "}", text)
    text = _LOWERED.sub(lambda match: "_{" + match.group().translate(SUBSCRIPT) + "}", text)
    return text.translate(TABLE)


def _without_wrapping(text: str) -> str:
    """Removes what stands around a whole answer.

    That is Markdown, groups, quotes, and an equals sign before it.
    """
    bold = _MARKDOWN.fullmatch(text)
    text = (bold["inner"] if bold else text).strip()
    for _ in range(MAX_GROUPS):
        text = _without_group(text)
    quoted = _QUOTED.fullmatch(text) or _ORDINAL.fullmatch(text)
    text = quoted["inner"] if quoted else text
    is_value = text.startswith("=") and not text.startswith(("==", "=<", "=>"))
    return text[1:] if is_value else text


def _pieces(text: str) -> str:
    """Separate formulas in lines of their own, and write the pieces of a function in one way."""
    if "$" in text:
        text = _FORMULAS.sub(", ", text)
    if r"\left\{" in text:
        text = _PIECES.sub(r"\\begin{cases}\g<lines>\\end{cases}", text)
    return text


def _indices(text: str) -> str:
    """Writes primes behind the index, a sign as index in a group, and no bare decimal point."""
    if "'_" in text:
        text = _PRIME_BEFORE_INDEX.sub(r"\2\1", text)
    if "_-" in text or "_+" in text:
        text = _SIGN_AS_INDEX.sub(r"_{\1}", text)
    if "^" in text and ("*" in text or "ast" in text):
        text = _CONJUGATE.sub(_starred_name, text)
    return _BARE_POINT.sub(r"\1", text) if "." in text else text


def _starred_name(match: re.Match[str]) -> str:
    r"""Writes a star above a name as part of its index: `\psi_+^*` as `\psi_{+star}`."""
    index = match["before"] or match["behind"] or ""
    return f"{match['name']}_{{{index.strip('{} ')}star}}"


def _marked_units(text: str) -> str:
    """Writes units in a text macro where case, a Greek letter or an upright letter shows them."""
    if "T" in text:
        text = _TESLA.sub(r"\\text{ tesla}", text)
    if "{M" in text or "{ M" in text:
        text = _MEGA.sub(r"\1mega", text)
    if r"\mu" in text:
        text = _MICRO.sub(r"\\text{ micro\1}", text)
    if "Omega" in text or "mathrm" in text:
        text = _UPRIGHT_UNIT.sub(r"\\text{ \1}", text)
        text = _OHM.sub(
            lambda match: rf"\text{{ {match['prefix'] or match['before'] or ''}ohm}}", text
        )
    return text


def _without_conditions(text: str) -> str:
    """Drops conditions that change nothing.

    Wide spaces and reversed brackets are written in the usual way.
    """
    if r"\mathbb" in text or "integer" in text or "for " in text or r"\forall" in text:
        text = _without_condition(text)
    if "quad" in text and r"\begin" not in text:
        text = _WIDE_SPACE.sub(_comma_unless_after_words, text)
    return _iso_brackets(text) if "]" in text or "[" in text else text


def _plain_digits(text: str, *, thousands: bool) -> str:
    """Joins digits that are written in groups."""
    if "_" in text:
        text = _BASE_GROUPS.sub(_digits_of, text)
    text = _EXPLICIT_GROUPS.sub("", text)
    text = _DECIMAL_COMMA.sub(".", text)
    text = _SPACE_GROUPS.sub(_digits_of, text)
    return _join_groups(text) if thousands and "," in text else text


def _digits_of(groups: re.Match[str]) -> str:
    return re.sub(r"\D", "", groups.group())


def tidy(answer: str) -> str:
    """The answer in LaTeX for another parser.

    Unicode is spelt out; layout commands and closing punctuation are gone.
    """
    text = re.sub(
        r"\\(?:displaystyle|left|right|quad|qquad|[,;:! ])(?![A-Za-z])|[~$]",
        " ",
        answer.translate(TABLE),
    )
    return " ".join(text.replace(r"\dfrac", r"\frac").replace(r"\tfrac", r"\frac").split()).rstrip(
        ".,; "
    )


def _single_backslashes(text: str) -> str:
    r"""LaTeX that was escaped once too often: `\\frac` is `\frac`. A `\\` that ends a row stays."""
    known = any(match.group(1) in _COMMANDS for match in _DOUBLED.finditer(text))
    if not known and not _DOUBLED_SIGN.search(text):
        return text
    if all(len(match.group()) % 2 == 0 for match in _BACKSLASHES.finditer(text)):
        return _BACKSLASHES.sub(lambda m: m.group()[: len(m.group()) // 2], text)
    if r"\begin" in text:
        return text
    return _DOUBLED.sub(lambda m: m.group()[1:] if m.group(1) in _COMMANDS else m.group(), text)


def _without_group(text: str) -> str:
    """The inside of a group around the whole answer."""
    if not (text.startswith("{") and text.endswith("}")) or text.endswith(r"\}"):
        return text
    depth = 0
    for match in re.finditer(r"\\.|[{}]", text, re.DOTALL):
        if match.group() == "{":
            depth += 1
        elif match.group() == "}":
            depth -= 1
        if depth == 0:
            if match.end() == len(text):
                return text[1:-1].strip()
            return text
    return text


def _without_condition(text: str) -> str:
    r"""Drops `, k \in \mathbb{Z}` after a general solution in k.

    Behind an inequality it is part of the answer.
    """
    start = max(0, len(text) - _TAIL)
    for pattern in _CONDITIONS:
        match = pattern.search(text, start)
        before = text[: match.start()] if match else ""
        if match and _solves_for(match["name"], before):
            is_domain = match["name"] in "xyz" and _is_formula(before, match["name"])
            return text if is_domain else before
    return _without_domain(text, start)


def _without_domain(text: str, start: int) -> str:
    """Drops `for all x` behind `f(x) = ...`, from a place on."""
    match = _FOR_ALL.search(text, start)
    before = text[: match.start()] if match else ""
    is_said_anyway = match and _is_formula(before, match["name"]) and not _RELATION.search(before)
    return before if is_said_anyway else text


def _solves_for(name: str, solution: str) -> bool:
    """Tells whether a general solution is one in a letter, and no inequality."""
    letters = re.sub(r"\\[A-Za-z]+", " ", solution)
    return name in letters and not _RELATION.search(solution)


def _is_formula(text: str, name: str) -> bool:
    """Returns whether the text begins with `f(x) =`, x being the name.

    Then its domain belongs to it.
    """
    return re.match(rf"\s*[A-Za-z]\({name}\)\s*(?:=|\\equiv)", text) is not None


def _comma_unless_after_words(match: re.Match[str]) -> str:
    r"""A wide space separates two values: `(1,2) \quad (3,4)`.

    Behind words it only sets off the value.
    """
    if _ENDS_WITH_WORDS.search(match.string[max(0, match.start() - 80) : match.start()]):
        return match.group()
    return ", "


def _iso_brackets(text: str) -> str:
    """Intervals with reversed brackets for open ends, `]0,1[`, in the usual notation."""
    brackets = list(_BRACKET.finditer(text))
    is_reversed = brackets[0].group() == "]" or brackets[-1].group() == "["
    if len(brackets) % 2 or not is_reversed or r"\sqrt[" in text:
        return text
    pieces = []
    end = 0
    for index, match in enumerate(brackets):
        mark = match.group()
        before = text[end : match.start()]
        is_closing = index % 2 == 1
        if mark == "()"[not is_closing]:
            return text
        if is_closing and not re.search("[,;]", before):
            return text
        usual = mark.replace("[", ")") if is_closing else mark.replace("]", "(")
        pieces += [before, usual]
        end = match.end()
    return "".join([*pieces, text[end:]])


def _join_groups(text: str) -> str:
    """Removes the commas of `1,234` where no bracket is open; inside brackets a comma separates."""
    depths: list[int] = []
    depth = 0
    for char in text:
        if char in "([":
            depth += 1
        elif char in ")]":
            depth -= 1
        depths.append(depth)
    # `\{` opens a set, `{` only a group
    in_set = [
        text.count(r"\{", 0, m.start()) > text.count(r"\}", 0, m.start())
        for m in _COMMA_GROUPS.finditer(text)
    ]
    are_in_set = iter(in_set)

    def join(match: re.Match[str]) -> str:
        inside = next(are_in_set) or depths[match.start()] > 0
        if inside:
            return match.group()
        return match.group().replace(",", "")

    return _COMMA_GROUPS.sub(join, text)
