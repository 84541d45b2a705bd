# ruff: noqa: RUF001 - look-alikes of ASCII characters are what this table is about
r"""LaTeX, Unicode and plain notation -> one stream of tokens; the first normal form of an answer.

What does not change the meaning is gone afterwards: spacing, `\left` and `\right`, fonts, display style, dollar signs
around formulas, thousands separators. What may change it is kept as a token. Two answers with the same stream are the
same answer.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from custom_metrics.math import words


class Token(NamedTuple):
    """One token.

    Attributes:
        kind: `num`, `name` (a letter or Greek symbol), `cmd` (a LaTeX command with a meaning), `text`, or `op`.
        text: Digits, letter, command name without backslash, words, or the operator.
    """

    kind: str
    text: str


_UNICODE = {
    "−": "-", "–": "-", "‐": "-", "‑": "-", "﹣": "-", "－": "-", "＋": "+", "＝": "=", "×": r"\times ", "·": r"\cdot ",
    "⋅": r"\cdot ", "∙": r"\cdot ", "•": r"\cdot ", "∗": "*", "÷": r"\div ", "∕": "/", "⁄": "/", "±": r"\pm ",
    "∓": r"\mp ", "≤": r"\le ", "⩽": r"\le ", "≦": r"\le ", "≥": r"\ge ", "⩾": r"\ge ", "≧": r"\ge ", "≠": r"\ne ",
    "≈": r"\approx ", "≡": r"\equiv ", "∞": r"\infty ", "∪": r"\cup ", "∩": r"\cap ", "∈": r"\in ", "∉": r"\notin ",
    "∅": r"\emptyset ", "⌀": r"\emptyset ", "∖": r"\setminus ", "⊂": r"\subset ", "⊆": r"\subseteq ", "√": r"\sqrt ",
    "∛": r"\sqrt[3]", "∜": r"\sqrt[4]", "°": r"^{\circ}", "º": r"^{\circ}", "˚": r"^{\circ}", "∘": r"\circ ",
    "∠": r"\angle ", "△": r"\triangle ", "→": r"\to ", "⇒": r"\Rightarrow ", "⟹": r"\Rightarrow ", "′": "'", "’": "'",
    "″": "''", "“": '"', "”": '"', "⌊": r"\lfloor ", "⌋": r"\rfloor ", "⌈": r"\lceil ", "⌉": r"\rceil ",
    "⟨": r"\langle ", "⟩": r"\rangle ", "〈": r"\langle ", "〉": r"\rangle ", "‖": r"\| ", "∣": "|", "｜": "|",
    "…": r"\ldots ", "⋯": r"\cdots ", "ℝ": r"\mathbb{R}", "ℤ": r"\mathbb{Z}", "ℕ": r"\mathbb{N}", "ℚ": r"\mathbb{Q}",
    "ℂ": r"\mathbb{C}", "∑": r"\sum ", "∏": r"\prod ", "∫": r"\int ", "∂": r"\partial ", "∧": r"\land ", "∨": r"\lor ",
    "（": "(", "）": ")", "，": ",", "、": ",", "；": ";", "：": ":", "％": "%", "＜": "<", "＞": ">",
    "／": "/", "．": ".",
    "［": "[", "］": "]", "｛": r"\{", "｝": r"\}", "＊": "*", "＾": "^", "＿": "_", "＄": r"\$", "　": " ", "∶": ":",
    "\u00a0": " ", "\u2009": r"\,", "\u202f": r"\,", "\u2002": " ", "\u2003": " ", "\u200a": " ", "\u2005": " ",
    "\u200b": "", "\u200c": "", "\u200d": "", "\u2060": "", "\ufeff": "", "\u2061": "", "\u2062": "", "\u2063": ",",
    "½": r"\frac{1}{2}", "⅓": r"\frac{1}{3}", "⅔": r"\frac{2}{3}", "¼": r"\frac{1}{4}", "¾": r"\frac{3}{4}",
    "⅕": r"\frac{1}{5}", "⅖": r"\frac{2}{5}", "⅗": r"\frac{3}{5}", "⅘": r"\frac{4}{5}", "⅙": r"\frac{1}{6}",
    "⅚": r"\frac{5}{6}", "⅛": r"\frac{1}{8}", "⅜": r"\frac{3}{8}", "⅝": r"\frac{5}{8}", "⅞": r"\frac{7}{8}",
    "€": r"\text{euro}", "£": r"\text{pound sterling}", "¥": r"\text{yen}", "¢": r"\text{cent}",
    "α": r"\alpha ", "β": r"\beta ", "γ": r"\gamma ", "δ": r"\delta ", "ε": r"\epsilon ", "ζ": r"\zeta ",
    "η": r"\eta ", "θ": r"\theta ", "ι": r"\iota ", "κ": r"\kappa ", "λ": r"\lambda ", "μ": r"\mu ", "µ": r"\mu ",
    "ν": r"\nu ", "ξ": r"\xi ", "π": r"\pi ", "ρ": r"\rho ", "σ": r"\sigma ", "τ": r"\tau ", "φ": r"\phi ",
    "ϕ": r"\phi ", "χ": r"\chi ", "ψ": r"\psi ", "ω": r"\omega ", "Γ": r"\Gamma ", "Δ": r"\Delta ", "Θ": r"\Theta ",
    "Λ": r"\Lambda ", "Ξ": r"\Xi ", "Π": r"\Pi ", "Σ": r"\Sigma ", "Φ": r"\Phi ", "Ψ": r"\Psi ", "Ω": r"\Omega ",
    "𝑥": "x", "𝑦": "y", "𝑧": "z", "𝑎": "a", "𝑏": "b", "𝑛": "n", "𝑖": "i", "𝑒": "e", "ı": "i",
}  # fmt: skip
_TABLE = str.maketrans(_UNICODE | {chr(0xFF10 + digit): str(digit) for digit in range(10)})
_SUPERSCRIPT = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ⁿⁱˣ", "0123456789+-()nix")
_SUBSCRIPT = str.maketrans("₀₁₂₃₄₅₆₇₈₉₊₋₍₎ₙₓ", "0123456789+-()nx")

_SPACING = {
    ",", ";", ":", "!", " ", ">", "/", "\n", "\t", "quad", "qquad", "thinspace", "medspace", "thickspace",
    "enspace", "nobreak",
    "negthinspace", "left", "right", "middle", "big", "Big", "bigg", "Bigg", "bigl", "bigr", "Bigl", "Bigr", "biggl",
    "biggr", "Biggl", "Biggr", "bigm", "displaystyle", "textstyle", "scriptstyle", "limits", "nolimits", "hfill",
    "normalsize", "large", "Large", "small", "bf", "rm", "it", "sf", "tt", "bfseries", "itshape", "boldmath",
    "centering",
    "mathstrut", "strut", "notag", "nonumber", "(", ")", "[", "]", "ensuremath", "protect", "mathop", "mathrel",
    "mathbin",
    "mathord", "mathopen", "mathclose", "noindent", "par", "allowbreak", "linebreak", "newline", "relax", "hline",
}  # fmt: skip
_FONTS = {
    "mathbf", "mathit", "mathsf", "mathtt", "mathcal", "mathscr", "mathfrak", "boldsymbol", "bm", "pmb",
    "mathnormal", "cancel",
    "bcancel", "xcancel", "underline", "underbrace", "boxed", "fbox", "framebox", "smash", "bold", "emph", "mathds",
}  # fmt: skip
_TEXTS = {
    "text", "textbf", "textit", "textrm", "textsf", "texttt", "textnormal", "textup", "textsc", "mbox", "hbox",
    "mathrm", "operatorname", "textmd", "textsl",
}  # fmt: skip
_WITH_ARGUMENT = {
    "hspace",
    "vspace",
    "phantom",
    "hphantom",
    "vphantom",
    "color",
    "tag",
    "label",
    "kern",
    "mkern",
    "mspace",
}
_SAME = {
    "dfrac": "frac", "tfrac": "frac", "cfrac": "frac", "nicefrac": "frac", "sfrac": "frac", "dbinom": "binom",
    "tbinom": "binom",
    "leq": "le", "leqslant": "le", "leqq": "le", "geq": "ge", "geqslant": "ge", "geqq": "ge", "neq": "ne",
    "lt": "<", "gt": ">",
    "times": "*", "cdot": "*", "ast": "*", "star": "*", "div": "/", "varnothing": "emptyset", "empty": "emptyset",
    "lbrace": "{",
    "rbrace": "}", "backslash": "setminus", "smallsetminus": "setminus", "vert": "|", "lvert": "|", "rvert": "|",
    "mid": "|",
    "Vert": "||", "lVert": "||", "rVert": "||", "|": "||", "lbrack": "[", "rbrack": "]", "lparen": "(", "rparen": ")",
    "wedge": "land", "vee": "lor", "dots": "ldots", "cdots": "ldots", "dotsc": "ldots", "dotsb": "ldots",
    "vdots": "ldots",
    "bigcup": "cup", "bigcap": "cap", "simeq": "approx", "cong": "approx", "sim": "approx", "thickapprox": "approx",
    "imath": "i", "jmath": "j", "isin": "in", "colon": ":", "degree": "circ", "rightarrow": "to",
    "longrightarrow": "to",
    "implies": "Rightarrow", "iff": "Leftrightarrow", "Longrightarrow": "Rightarrow", "tg": "tan", "ctg": "cot",
    "cosec": "csc",
    "arctg": "arctan", "lg": "lg", "exponentialE": "e", "varphi": "phi", "varepsilon": "epsilon", "vartheta": "theta",
    "overrightarrow": "vec", "bar": "overline", "prime": "'", "lbrace*": "{",
}  # fmt: skip
_OPERATORS = {"<", ">", "*", "/", "|", "||", "{", "}", "[", "]", "(", ")", ":", "'"}
GREEK = frozenset(
    [
        "alpha",
        "beta",
        "gamma",
        "delta",
        "epsilon",
        "zeta",
        "eta",
        "theta",
        "iota",
        "kappa",
        "lambda",
        "mu",
        "nu",
        "xi",
        "rho",
        "sigma",
        "tau",
        "upsilon",
        "phi",
        "chi",
        "psi",
        "omega",
        "Gamma",
        "Delta",
        "Theta",
        "Lambda",
        "Xi",
        "Pi",
        "Sigma",
        "Upsilon",
        "Phi",
        "Psi",
        "Omega",
        "ell",
        "hbar",
    ]
)
_WORD_COMMANDS = {
    "sin": "sin", "cos": "cos", "tan": "tan", "cot": "cot", "sec": "sec", "csc": "csc", "arcsin": "arcsin",
    "arccos": "arccos",
    "arctan": "arctan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "log": "log", "ln": "ln", "exp": "exp",
    "sqrt": "sqrt",
    "pi": "pi", "infinity": "infty", "infty": "infty", "inf": "infty", "oo": "infty", "frac": "frac", "max": "max",
    "min": "min",
    "gcd": "gcd", "lcm": "lcm", "Re": "Re", "Im": "Im", "cis": "cis", "theta": "theta", "alpha": "alpha",
    "beta": "beta",
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "abs": "abs", "cot^{-1}": "arccot", "det": "det",
}  # fmt: skip

_SCAN = re.compile(
    r"""(?P<newline>\\\\(?:\s*\[[^\]]{0,20}\])?|\\cr(?![A-Za-z])|\\newline(?![A-Za-z]))
      | \\(?P<cmd>[A-Za-z]+\*?|.)
      | (?P<num>(?:\d+(?:\.\d+|\.(?=\s*\\(?:overline|bar|dot)\b))?|\.\d+)(?:[eE][+-]?\d+(?![\dA-Za-z]|\.\d))?)
      | (?P<word>[A-Za-z]+)
      | (?P<op><=|>=|!=|/=|==|\*\*|:=|->|=>|[^\sA-Za-z\d])
      | (?P<space>\s+)""",
    re.VERBOSE | re.DOTALL,
)
_ARGUMENT = re.compile(r"\s*\{")
_EXPLICIT_GROUPS = re.compile(r"(?<=\d)\s*(?:\{\s*,\s*\}|,\s*\\!|\\!\s*,|\\,)\s*(?=\d{3}(?!\d))")
_COMMA_GROUPS = re.compile(r"(?<![\d.,])([1-9]\d{0,2}(?:,\d{3})+)(?![\d,])")
_SPACE_GROUPS = re.compile(r"(?<![\d.,])([1-9]\d{0,2}(?: \d{3})+)(?![\d])")
_DECIMAL_COMMA = re.compile(r"(?<=\d)\{,\}(?=\d)")


_LETTERS = re.compile(r"\(?[A-Z]\)?(?:\s*(?:,\s*and|,|and|or)\s*\(?[A-Z]\)?)+")
"""Several choices in one text: `A, C and D`."""


class TooComplex(Exception):  # noqa: N818 - a verdict about the input, not a failure of the program
    """The answer is past a bound or not in the language of the parser."""


@lru_cache(maxsize=256)
def tokenise(answer: str, *, thousands: bool = True) -> tuple[Token, ...]:
    """Turn an answer into tokens.

    Args:
        answer: Content of a box.
        thousands: Read `1,234` outside brackets as one number; else as two.

    Returns:
        The tokens.

    Raises:
        TooComplex: An argument is missing, or braces do not match.
    """
    text = re.sub(r"[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ⁿⁱˣ]+", lambda m: "^{" + m.group().translate(_SUPERSCRIPT) + "}", answer)
    text = re.sub(r"[₀₁₂₃₄₅₆₇₈₉₊₋₍₎ₙₓ]+", lambda m: "_{" + m.group().translate(_SUBSCRIPT) + "}", text)
    text = text.translate(_TABLE)
    text = re.sub(r"\\(?:left|right)\s*\.", " ", text)
    text = _EXPLICIT_GROUPS.sub("", text)
    text = _DECIMAL_COMMA.sub(".", text)
    text = _SPACE_GROUPS.sub(lambda m: m.group().replace(" ", ""), text)
    if thousands and "," in text:
        text = _join_groups(text)
    return tuple(_scan(text))


def tidy(answer: str) -> str:
    """The answer in LaTeX for another parser: Unicode spelt out, no layout commands, no closing punctuation."""
    text = re.sub(r"\\(?:displaystyle|left|right|quad|qquad|[,;:! ])(?![A-Za-z])|[~$]", " ", answer.translate(_TABLE))
    return " ".join(text.replace(r"\dfrac", r"\frac").replace(r"\tfrac", r"\frac").split()).rstrip(".,; ")


def _join_groups(text: str) -> str:
    """Remove the commas of `1,234` where no bracket is open; inside brackets a comma separates."""
    depths: list[int] = []
    depth = 0
    for char in text:
        depth += (char in "([") - (char in ")]")
        depths.append(depth)
    # `\{` opens a set, `{` only a group
    in_set = [text.count(r"\{", 0, m.start()) > text.count(r"\}", 0, m.start()) for m in _COMMA_GROUPS.finditer(text)]
    found = iter(in_set)

    def join(match: re.Match[str]) -> str:
        inside = next(found) or depths[match.start()] > 0
        return match.group() if inside else match.group().replace(",", "")

    return _COMMA_GROUPS.sub(join, text)


def _scan(text: str) -> list[Token]:
    tokens: list[Token] = []
    position = 0
    while position < len(text):
        match = _SCAN.match(text, position)
        if match is None:  # a lone backslash at the end
            position += 1
            continue
        position = match.end()
        kind = match.lastgroup
        value = match.group(kind) if kind else ""
        if kind == "num":
            tokens.append(Token("num", value))
        elif kind == "newline":
            tokens.append(Token("op", "\\\\"))
        elif kind == "word":
            tokens.extend(_word(value))
        elif kind == "op":
            tokens.extend(_operator(value))
        elif kind == "cmd":
            position = _command(value, text, position, tokens)
    return tokens


def _operator(value: str) -> list[Token]:
    if value in {"$", "~", "`"}:
        return []
    same = {"<=": "le", ">=": "ge", "!=": "ne", "/=": "ne"}
    if value in same:
        return [Token("cmd", same[value])]
    return [Token("op", {"==": "=", ":=": "=", "**": "^", "->": "to", "=>": "to"}.get(value, value))]


def _word(value: str) -> list[Token]:
    """A run of letters is a function, a unit, a word or a product of letters."""
    if len(value) == 1:
        return [Token("name", value)]
    if value in _WORD_COMMANDS:
        return _named(_WORD_COMMANDS[value])
    lower = value.lower()
    if lower in words.CONNECTIVES or lower in words.PLAIN_UNITS or lower in words.SHORT_WORDS:
        return [Token("text", value)]
    product = set(lower) <= set("abcdkmnprstuvwxyz") - set("e") and len(value) < 4
    if not product and (len(value) >= 4 or len(set(lower)) < len(lower)) and not value.isupper():
        return [Token("text", value)]
    return [Token("name", letter) for letter in value]


def _named(name: str) -> list[Token]:
    return [Token("name", "\\" + name)] if name in GREEK else [Token("cmd", name)]


def _command(name: str, text: str, position: int, tokens: list[Token]) -> int:
    """Append the tokens of one command; returns where to go on."""
    name = name if name == "*" else name.rstrip("*")
    if name == "%":
        tokens.append(Token("op", "%"))
    elif name == "$":
        tokens.append(Token("text", "dollar"))
    elif name in {"_", "#", "&"}:
        tokens.append(Token("op", name))
    elif name in {"{", "}"}:
        tokens.append(Token("op", "\\" + name))
    elif name in _SPACING:
        pass
    elif name in _WITH_ARGUMENT or name in {"textcolor", "colorbox", "stackrel", "overset", "underset"}:
        return _argument(text, position)[1]
    elif name in _FONTS:
        pass
    elif name in _TEXTS:
        content, position = _argument(text, position)
        tokens.extend(_text(content, upright=name in {"mathrm", "operatorname"}))
    elif name in {"begin", "end", "mathbb"}:
        content, position = _argument(text, position)
        tokens.append(Token("cmd", f"{name}:{content.strip().rstrip('*')}"))
        if name == "begin" and content.strip() in {"array", "tabular"}:
            position = _argument(text, position)[1]
    else:
        same = _SAME.get(name, name)
        if same in {"{", "}"}:
            tokens.append(Token("op", "\\" + same))
        elif same in _OPERATORS:
            tokens.append(Token("op", same))
        elif same in GREEK or len(same) == 1:
            tokens.append(Token("name", same if len(same) == 1 else "\\" + same))
        else:
            tokens.append(Token("cmd", same))
    return position


def _argument(text: str, position: int) -> tuple[str, int]:
    opening = _ARGUMENT.match(text, position)
    if opening is None:
        following = re.compile(r"\s*(\S?)").match(text, position)
        assert following is not None
        return following.group(1), following.end()
    depth = 1
    for match in re.compile(r"\\.|[{}]", re.DOTALL).finditer(text, opening.end()):
        depth += (match.group() == "{") - (match.group() == "}")
        if depth == 0:
            return text[opening.end() : match.start()], match.end()
    raise TooComplex("an argument is not closed")


def _text(content: str, *, upright: bool) -> list[Token]:
    r"""Tokens of `\text{...}`: mathematics written in it is mathematics, the rest is one text token."""
    stripped = content.strip().strip("$").strip()
    if not stripped:
        return []
    if len(stripped) == 1 and (upright or not stripped.isalnum()):
        return _scan(stripped)
    if upright and stripped in _WORD_COMMANDS:
        return _named(_WORD_COMMANDS[stripped])
    if re.fullmatch(r"[-+]?[\d.,]+\s*(?:%|\\%)?", stripped) or re.match(r"[-+(]?\s*\d", stripped) or "\\" in stripped:
        return _scan(stripped)
    if _LETTERS.fullmatch(stripped):
        return _scan(stripped)
    return [Token("text", stripped)]
