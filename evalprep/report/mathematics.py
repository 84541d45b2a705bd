"""Formulas in LaTeX as MathML, as data from which the page builds elements.

No text ever becomes markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any
from xml.etree import ElementTree as ET

#: A formula between its delimiters; `page/text.js` finds formulas by the same pattern. A single
#: dollar is a delimiter only where no blank stands inside of it and no digit behind it, so that
#: prices stay text.
FORMULA = re.compile(
    r"\$\$([^$]{1,400}?)\$\$"
    r"|\\\[([\s\S]{1,400}?)\\\]"
    r"|\\\(([\s\S]{1,400}?)\\\)"
    r"|\$(?!\s)([^$\n]{1,200}?)(?<!\s)\$(?!\d)"
)
_MOST = 3_000  # formulas that are converted for one page: about six seconds
_DEEPEST = 40
_PREFIX = "{http://www.w3.org/1998/Math/MathML}"
#: Elements of MathML Core that hold a formula, with the number of children where that is fixed.
_ELEMENTS: dict[str, int | None] = {
    **dict.fromkeys(("math", "mrow", "mi", "mo", "mn", "mtext", "mspace", "mstyle", "msqrt")),
    **dict.fromkeys(("mtable", "mtr", "mtd", "mpadded", "mphantom", "menclose")),
    **dict.fromkeys(("mfrac", "msup", "msub", "mroot", "mover", "munder"), 2),
    **dict.fromkeys(("msubsup", "munderover"), 3),
}
_ATTRIBUTES = frozenset(
    (
        *("display", "displaystyle", "mathvariant", "stretchy", "fence", "form", "separator"),
        *("lspace", "rspace", "linethickness", "scriptlevel", "columnalign", "minsize", "maxsize"),
        *(
            "accent",
            "movablelimits",
            "largeop",
            "symmetric",
            "width",
            "height",
            "depth",
            "notation",
        ),
    )
)

#: An element: its name, its attributes, its children; a text in place of children.
Tree = list[Any]


class Formulas:
    """Converts the formulas of a page, each once.

    Without the package latex2mathml, and beyond a number of formulas that takes seconds, formulas
    stay text.
    """

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._trees: dict[str, Tree | None] = {}

    def of(self, texts: Iterable[str | None]) -> dict[str, Tree]:
        """Returns each formula of some texts, with its delimiters, and its elements."""
        trees: dict[str, Tree] = {}
        # Most texts hold no delimiter; the pattern would be tried at each of their characters.
        candidates = [text for text in texts if text and ("$" in text or "\\" in text)]
        for text in candidates:
            for match in FORMULA.finditer(text):
                tree = self._tree(match)
                if tree is not None:
                    trees[match[0]] = tree
        return trees

    def _tree(self, match: re.Match[str]) -> Tree | None:
        source = match[0]
        if source not in self._trees:
            if len(self._trees) >= self._most:
                return None
            latex = next(group for group in match.groups() if group)
            is_block = source.startswith(("$$", "\\["))
            self._trees[source] = mathml_tree(latex, block=is_block)
        return self._trees[source]


def mathml_tree(latex: str, *, block: bool = False) -> Tree | None:
    """Returns a formula as a tree of MathML elements; None where it cannot be converted whole.

    >>> mathml_tree("x^2")
    ['math', {'display': 'inline'}, ['mrow', {}, ['msup', {}, ['mi', {}, 'x'], ['mn', {}, '2']]]]
    """
    try:
        from latex2mathml.converter import convert
    except ImportError:
        return None
    try:
        markup = convert(latex, display="block" if block else "inline")
        # The converter writes the root itself, so the text of a model can declare no entities.
        root = ET.fromstring(markup)  # noqa: S314
    except Exception:  # noqa: BLE001 - a formula of a model breaks the converter in any way it can
        return None
    return _element(root, 0)


def _element(node: ET.Element, depth: int) -> Tree | None:
    """An element with its children.

    None where one of them is unknown, incomplete or a command left over.
    """
    name = node.tag.removeprefix(_PREFIX)
    text = (node.text or "").strip()
    children = [_element(child, depth + 1) for child in node]
    if name not in _ELEMENTS or None in children:
        return None
    if _ELEMENTS[name] not in {None, len(children)} or depth > _DEEPEST or "\\" in text:
        return None
    attributes = {key: value for key, value in node.attrib.items() if key in _ATTRIBUTES}
    tree: Tree = [name, attributes, *children]
    if text and not children:
        tree.append(text)
    return tree
