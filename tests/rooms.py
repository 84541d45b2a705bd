"""The rooms of evalprep/, read from the imports: the rule that a room imports only rooms below it, and their picture.

    python -m tests.rooms            # exit code 1 where a room imports upward, or docs/rooms.svg is not current
    python -m tests.rooms --write    # draw docs/rooms.svg anew

Imports inside functions count, and those for types alone. From outside, a room is imported by its
own name: its `__init__` offers what others may use, and its modules are its own affair.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from html import escape
from pathlib import Path

from tests import PROJECT_ROOT

PACKAGE = "evalprep"
PICTURE = PROJECT_ROOT / "docs" / "rooms.svg"
# From the roof to the ground; rooms of one floor may import those to their right.
FLOORS = (
    ("doors",),
    ("prepare",),
    ("check",),
    ("run", "status"),
    ("leaderboard", "export", "report", "gate", "rescore"),
    ("compare",),
    ("score",),
    ("annotate",),
    ("packapi",),
    ("results",),
    ("readers",),
    ("samples",),
    ("model", "coderunner"),
    ("data",),
    ("config",),
    ("backends",),
    ("packs", "tables"),
    ("ground",),
)
NOUNS = {
    "doors": "verbs, cli, api: one module per verb",
    "prepare": "config + packs -> work_dir, commands, later stages",
    "check": "findings about tasks and data, before any GPU time",
    "run": "run the commands of a manifest",
    "status": "follow any run",
    "leaderboard": "many runs in one table",
    "report": "pages and sheets",
    "export": "formats of other tools",
    "gate": "a policy applied to conclusions",
    "rescore": "samples scored anew",
    "compare": "pairs, differences, verdicts",
    "score": "suite scores",
    "annotate": "values computed after the run: judges, detectors",
    "packapi": "all that a pack may import",
    "results": "what a run is: Run, TaskRun, identity, facts, primary metric",
    "readers": "each layout of lm-eval and of other tools",
    "samples": "the rows of one task of one run, and of two: columns, store, pairs",
    "model": "what is known of a model without loading it",
    "coderunner": "model-written programmes, run where they can do no harm",
    "data": "sources, hub, row files, join, prepared rows",
    "config": "eval_config.yaml -> Config",
    "backends": "one record per way of running a model",
    "packs": "pack.yaml -> Pack; Plan; the manifest",
    "tables": "one table model, one renderer per medium",
    "ground": "errors, files, imports, YAML, structs, numbers, terminal, credentials, places",
}
_DOORS = {"verbs", "cli", "api", "__main__"}
_GROUND = {
    "errors",
    "files",
    "yamlfile",
    "yamltext",
    "numbers",
    "temporary",
    "terminal",
    "credentials",
    "hosts",
    "places",
    "structs",
    "surface",
}
# Rooms in a chain of imports; doors and ground count as one each. The longest goes from score through
# annotate down the three rooms of what a run left: results, readers, samples.
_LONGEST = 12


def room_of(module: str) -> str:
    """The room of a module; the package's own face (its version) is ground."""
    parts = module.split(".")
    if len(parts) == 1:
        return "ground"
    return "doors" if parts[1] in _DOORS else "ground" if parts[1] in _GROUND else parts[1]


def imports_of(path: Path) -> tuple[str, ...]:
    """Modules of the package that a file imports, at run time or for types."""
    return _imports_in(path.read_text(encoding="utf-8"))


@cache
def _imports_in(text: str) -> tuple[str, ...]:
    return tuple(_found_in(text))


def _found_in(text: str) -> Iterator[str]:
    waiting: list[ast.AST] = [ast.parse(text)]
    while waiting:
        node = waiting.pop()
        if (
            isinstance(node, ast.ImportFrom)
            and node.module
            and node.module.split(".")[0] == PACKAGE
        ):
            inside = (
                node.module == PACKAGE
            )  # `from evalprep import api` names a module or a fact of the face
            yield from (
                (f"{node.module}.{alias.name}" for alias in node.names)
                if inside
                else (node.module,)
            )
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == PACKAGE)
        waiting += ast.iter_child_nodes(node)


def room_imports(root: Path = PROJECT_ROOT) -> dict[str, dict[str, list[str]]]:
    """Room -> room that it imports -> `module -> module` of each such import."""
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for path in sorted((root / PACKAGE).rglob("*.py")):
        module = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
        if module == PACKAGE:
            continue  # hands the doors on, on first use
        for target in imports_of(path):
            known = target if "." in target and not target.endswith("__version__") else PACKAGE
            if room_of(module) != room_of(known):
                found[room_of(module)][room_of(known)].append(f"{module} -> {known}")
    return found


def _places() -> dict[str, tuple[int, int]]:
    return {
        room: (floor, seat) for floor, rooms in enumerate(FLOORS) for seat, room in enumerate(rooms)
    }


def problems(root: Path = PROJECT_ROOT) -> list[str]:
    """What breaks the rule: rooms without a floor, imports upward, a chain that is too long."""
    places, imports = _places(), room_imports(root)
    rooms = {*imports, *(target for targets in imports.values() for target in targets)}
    told = [
        f"the room {room} has no floor: give it one in {Path(__file__).name}"
        for room in sorted(rooms - {*places})
    ]
    for room, targets in sorted(imports.items()):
        for target, lines in sorted(targets.items()):
            if room in places and target in places and places[target] < places[room]:
                told += [f"{room} imports {target}, which is above it: {line}" for line in lines]
    if not told and len(chain := longest_chain(imports)) > _LONGEST:
        told.append(f"a chain of {len(chain)} rooms, at most {_LONGEST}: {' > '.join(chain)}")
    return told


def deep_imports(root: Path = PROJECT_ROOT) -> list[str]:
    """Imports of a module of another room, past what that room offers."""
    return [
        f"{line}: import it from {PACKAGE}.{target}, which offers what others may use"
        for room, targets in sorted(room_imports(root).items())
        for target, lines in sorted(targets.items())
        if target not in {"doors", "ground"}
        for line in lines
        if line.partition(" -> ")[2] != f"{PACKAGE}.{target}"
    ]


def longest_chain(imports: dict[str, dict[str, list[str]]]) -> list[str]:
    """The longest way down through the rooms, where no import goes up."""
    known: dict[str, list[str]] = {}

    def down(room: str) -> list[str]:
        if room not in known:
            known[room] = [
                room,
                *max(
                    (down(target) for target in sorted(imports.get(room, ()))), key=len, default=[]
                ),
            ]
        return known[room]

    return max((down(room) for room in sorted(imports)), key=len)


def picture(root: Path = PROJECT_ROOT) -> str:
    """The rooms as SVG: one line per room from roof to ground, an arc from each room to those that it imports."""
    imports = room_imports(root)
    rooms = [room for floor in FLOORS for room in floor if room in imports or room == "ground"]
    step, left, width, top = 34, 20, 520, 46
    y = {room: top + number * step for number, room in enumerate(rooms)}
    reach = 30 + 15 * len(rooms)
    size = (left + width + reach, top + step * len(rooms) + 10)
    lines = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{size[0]}" height="{size[1]}" '
            f'viewBox="0 0 {size[0]} {size[1]}" font-family="sans-serif" font-size="13">'
        ),
        "<title>The rooms of evalprep: each imports only rooms below it</title>",
        f'<rect width="{size[0]}" height="{size[1]}" fill="#ffffff"/>',
        (
            f'<text x="{left}" y="24" font-size="15" fill="#222222">A room imports only rooms below it. '
            "An arc starts at the room that imports.</text>"
        ),
    ]
    for room in rooms:
        for target in sorted(imports.get(room, ()), key=rooms.index):
            bulge = 26 + 13 * abs(rooms.index(target) - rooms.index(room))
            start, end, x = y[room] + 15, y[target] + 11, left + width
            lines.append(
                f'<path d="M{x} {start} C{x + bulge} {start} {x + bulge} {end} {x} {end}" '
                'fill="none" stroke="#5b7fa6" stroke-opacity="0.45"/>'
            )
    for number, floor in enumerate(FLOORS):
        for room in (one for one in floor if one in rooms):
            shade = "#eef3f8" if number % 2 else "#f8fafc"
            lines += [
                (
                    f'<rect x="{left}" y="{y[room]}" width="{width}" height="{step - 8}" rx="4" fill="{shade}" '
                    'stroke="#9db3c9"/>'
                ),
                f'<text x="{left + 10}" y="{y[room] + 17}" font-weight="bold" fill="#1d3a57">{escape(room)}</text>',
                f'<text x="{left + 95}" y="{y[room] + 17}" fill="#333333">{escape(NOUNS[room])}</text>',
            ]
    return "\n".join([*lines, "</svg>", ""])


def main() -> int:
    """Check the rule and the picture, or draw it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="draw docs/rooms.svg anew")
    args = parser.parse_args()
    told = problems() + deep_imports()
    if args.write:
        PICTURE.write_text(picture(), encoding="utf-8")
    elif not PICTURE.is_file() or PICTURE.read_text(encoding="utf-8") != picture():
        told.append("docs/rooms.svg is not current: python -m tests.rooms --write")
    print("\n".join(told) or "every room imports only rooms below it")
    return int(bool(told))


if __name__ == "__main__":
    sys.exit(main())
