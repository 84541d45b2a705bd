"""The pages of docs/reference: of each verb from its parser, and those of `tests.lookups`.

python -m tests.reference            # exit code 1 where a page is not that of the code
python -m tests.reference --write    # write the pages anew
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from evalprep.verbs.registry import VERBS, module_of, parser_of
from tests import PROJECT_ROOT
from tests.lookups import lookup_pages, titles

FOLDER = PROJECT_ROOT / "docs" / "reference"


def pages() -> dict[Path, str]:
    """Path -> text of each page, of the list of all too."""
    lookups = lookup_pages(_path("measured").read_text(encoding="utf-8"))
    return {
        FOLDER / "README.md": _overview(),
        **{_path(verb): page_of(verb) for verb in VERBS},
        **{_path(name): text for name, text in lookups.items()},
    }


def _path(name: str) -> Path:
    return FOLDER / f"{name}.md"


def _overview() -> str:
    lines = [f"| [{verb}]({verb}.md) | {about} |" for verb, about in VERBS.items()]
    head = "# Verbs and options\n\nHyphens and underscores in options mean the same. Lists have commas."
    others = [f"| [{name}]({name}.md) | {about} |" for name, about in titles().items()]
    verbs = [head, "", "| verb | purpose |", "|---|---|", *lines]
    lookups = ["", "## Lists", "", "| page | content |", "|---|---|", *others, ""]
    return "\n".join([*verbs, *lookups])


def page_of(verb: str) -> str:
    """The page of a verb: what it does, its arguments and its options."""
    parser = parser_of(verb)
    actions = parser._actions  # argparse has no other list of them
    places = [action for action in actions if not action.option_strings]
    options = [action for action in actions if action.option_strings]
    parts = [f"# evalprep {verb}", _description(verb)]
    guide = PROJECT_ROOT / "docs" / "commands" / f"{verb}.md"
    if guide.is_file():
        parts.append(f"The guide: [{verb}](../commands/{verb}.md).")
    if places:
        parts.append(_table("argument", [(_place(action), action) for action in places]))
    parts.append(_table("option", [(_option(action), action) for action in options]))
    return "\n\n".join(parts) + "\n"


def _description(verb: str) -> str:
    """The verb's own description; examples in it become code blocks."""
    text = (module_of(verb).__doc__ or "").strip()
    return re.sub(r"(?m)^(?=<)", r"\\", text)


def _place(action: argparse.Action) -> str:
    name = str(action.metavar or action.dest)
    optional = action.nargs in {"?", "*"}
    return f"`[{name}]`" if optional else f"`{name}`"


def _option(action: argparse.Action) -> str:
    names = ", ".join(action.option_strings)
    value = "" if action.nargs == 0 else f" {_value(action)}"
    return f"`{names}{value}`"


def _value(action: argparse.Action) -> str:
    if action.choices is not None:
        return "|".join(map(str, action.choices))
    return str(action.metavar or action.dest.upper())


def _table(head: str, rows: list[tuple[str, argparse.Action]]) -> str:
    return "\n".join([f"| {head} | meaning |", "|---|---|", *_rows(rows)])


def _rows(rows: list[tuple[str, argparse.Action]]) -> Iterator[str]:
    for name, action in rows:
        text = str(action.help or "").replace("%%", "%").replace("|", "\\|")
        cell = name.replace("|", "\\|")
        yield f"| {cell} | {text} |"


def stale() -> list[Path]:
    """The pages that are not those of the code, and files that are no page."""
    texts = pages()
    differing = [path for path, text in texts.items() if not _is(path, text)]
    return differing + [path for path in FOLDER.glob("*.md") if path not in texts]


def _is(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8") == text


def main(words: list[str]) -> int:
    """Checks the pages, or writes them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the pages anew")
    if parser.parse_args(words).write:
        FOLDER.mkdir(exist_ok=True)
        for path, text in pages().items():
            path.write_text(text, encoding="utf-8")
        return 0
    for path in stale():
        print(
            f"{path.name} is not the page of the code; write it: python -m tests.reference --write"
        )
    return int(bool(stale()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
