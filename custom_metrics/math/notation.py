# ruff: noqa: RUF001 - look-alikes of ASCII characters are what these tables are about
"""The tables of notation: Unicode characters, LaTeX commands and plain words, and what they mean to the grader."""

from __future__ import annotations

UNICODE = {
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
    "₹": r"\text{rupee}", "₩": r"\text{won}", "₽": r"\text{ruble}", "\N{SOFT HYPHEN}": "",
    "α": r"\alpha ", "β": r"\beta ", "γ": r"\gamma ", "δ": r"\delta ", "ε": r"\epsilon ", "ζ": r"\zeta ",
    "η": r"\eta ", "θ": r"\theta ", "ι": r"\iota ", "κ": r"\kappa ", "λ": r"\lambda ", "μ": r"\mu ", "µ": r"\mu ",
    "ν": r"\nu ", "ξ": r"\xi ", "π": r"\pi ", "ρ": r"\rho ", "σ": r"\sigma ", "τ": r"\tau ", "φ": r"\phi ",
    "ϕ": r"\phi ", "χ": r"\chi ", "ψ": r"\psi ", "ω": r"\omega ", "Γ": r"\Gamma ", "Δ": r"\Delta ", "Θ": r"\Theta ",
    "Λ": r"\Lambda ", "Ξ": r"\Xi ", "Π": r"\Pi ", "Σ": r"\Sigma ", "Φ": r"\Phi ", "Ψ": r"\Psi ", "Ω": r"\Omega ",
    "\N{OHM SIGN}": r"\Omega ", "\N{ANGSTROM SIGN}": r"\text{angstrom}", "Å": r"\text{angstrom}",
    "℃": r"^{\circ}C", "℉": r"^{\circ}F", "∼": r"\sim ",
    "𝑥": "x", "𝑦": "y", "𝑧": "z", "𝑎": "a", "𝑏": "b", "𝑛": "n", "𝑖": "i", "𝑒": "e", "ı": "i",
}  # fmt: skip
_INVISIBLE = {chr(code): "" for code in (*range(9), 11, 12, *range(14, 32), 127)}
TABLE = str.maketrans(UNICODE | _INVISIBLE | {chr(0xFF10 + digit): str(digit) for digit in range(10)})
SUPERSCRIPT = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ⁿⁱˣ", "0123456789+-()nix")
SUBSCRIPT = str.maketrans("₀₁₂₃₄₅₆₇₈₉₊₋₍₎ₙₓ", "0123456789+-()nx")

SPACING = {
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
FONTS = {
    "mathbf", "mathit", "mathsf", "mathtt", "mathcal", "mathscr", "mathfrak", "boldsymbol", "bm", "pmb",
    "mathnormal", "cancel",
    "bcancel", "xcancel", "underline", "underbrace", "boxed", "fbox", "framebox", "smash", "bold", "emph", "mathds",
}  # fmt: skip
TEXTS = {
    "text", "textbf", "textit", "textrm", "textsf", "texttt", "textnormal", "textup", "textsc", "mbox", "hbox",
    "mathrm", "operatorname", "textmd", "textsl",
}  # fmt: skip
WITH_ARGUMENT = {
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
SAME = {
    "dfrac": "frac", "tfrac": "frac", "cfrac": "frac", "nicefrac": "frac", "sfrac": "frac", "dbinom": "binom",
    "tbinom": "binom",
    "leq": "le", "leqslant": "le", "leqq": "le", "geq": "ge", "geqslant": "ge", "geqq": "ge", "neq": "ne",
    "lt": "<", "gt": ">",
    "times": "*", "cdot": "*", "ast": "*", "star": "*", "div": "/", "varnothing": "emptyset", "oslash": "emptyset",
    "empty": "emptyset",
    "lbrace": "{",
    "rbrace": "}", "backslash": "setminus", "smallsetminus": "setminus", "vert": "|", "lvert": "|", "rvert": "|",
    "mid": "|",
    "Vert": "||", "lVert": "||", "rVert": "||", "|": "||", "lbrack": "[", "rbrack": "]", "lparen": "(", "rparen": ")",
    "wedge": "land", "vee": "lor", "dots": "ldots", "cdots": "ldots", "dotsc": "ldots", "dotsb": "ldots",
    "vdots": "ldots",
    "bigcup": "cup", "bigcap": "cap", "simeq": "approx", "cong": "approx", "thickapprox": "approx",
    "imath": "i", "jmath": "j", "isin": "in", "colon": ":", "degree": "circ", "rightarrow": "to",
    "longrightarrow": "to",
    "implies": "Rightarrow", "iff": "Leftrightarrow", "Longrightarrow": "Rightarrow", "tg": "tan", "ctg": "cot",
    "cosec": "csc",
    "arctg": "arctan", "lg": "lg", "exponentialE": "e", "varphi": "phi", "varepsilon": "epsilon", "vartheta": "theta",
    "textdegree": "circ", "infin": "infty", "inf": "infty", "top": "T", "intercal": "T",
    "overrightarrow": "vec", "bar": "overline", "prime": "'", "lbrace*": "{",
}  # fmt: skip
CURRENCIES = {
    "$": "dollar", "textdollar": "dollar", "euro": "euro", "texteuro": "euro", "pounds": "pound sterling",
    "textsterling": "pound sterling", "yen": "yen", "textyen": "yen", "textcent": "cent",
}  # fmt: skip
OPERATORS = {"<", ">", "*", "/", "|", "||", "{", "}", "[", "]", "(", ")", ":", "'"}
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
WORD_COMMANDS = {
    "sin": "sin", "cos": "cos", "tan": "tan", "cot": "cot", "sec": "sec", "csc": "csc", "arcsin": "arcsin",
    "arccos": "arccos",
    "arctan": "arctan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "log": "log", "ln": "ln", "exp": "exp",
    "sqrt": "sqrt",
    "pi": "pi", "infinity": "infty", "infty": "infty", "inf": "infty", "oo": "infty", "frac": "frac", "max": "max",
    "min": "min",
    "gcd": "gcd", "lcm": "lcm", "Re": "Re", "Im": "Im", "cis": "cis", "theta": "theta", "alpha": "alpha",
    "beta": "beta",
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "abs": "abs", "cot^{-1}": "arccot", "det": "det",
    "choose": "choose", "arccot": "arccot", "arcsec": "arcsec", "arccsc": "arccsc", "coth": "coth",
}  # fmt: skip
