"""List packs, their tasks and groups, suite scores, or metrics."""

from __future__ import annotations

import argparse
import sys
from itertools import chain
from typing import TYPE_CHECKING, Any

from evalprep.errors import BadInput, Problem, near
from evalprep.tables import Column, Kind, Table, table_lines
from evalprep.terminal import line_width, print_json
from evalprep.verbs.options import Parser, add_options

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from evalprep.packs import Pack


_KINDS = ("tasks", "packs", "scores", "metrics")


def configure(parser: Parser) -> None:
    """Adds the arguments."""
    parser.add_argument(
        "what",
        nargs="*",
        metavar="WHAT",
        help="tasks, packs, scores or metrics (default: tasks); and the packs to show, e.g. "
        "compliance",
    )
    parser.add_argument(
        "--by",
        metavar="TAG",
        help="group tasks by a tag, e.g. family, area, principle, requirement",
    )
    parser.add_argument(
        "--published",
        metavar="QUERY",
        help="list models with published samples whose name contains QUERY, "
        "for compare --published and openllm.reference",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="with --published: a key of the pack, e.g. openllm.contents=FILE",
    )
    add_options(parser, "template_dir")
    parser.add_argument("--json", action="store_true", help="print JSON")


def main(args: argparse.Namespace) -> int:
    """Prints the list."""
    kinds = [word for word in args.what if word in _KINDS]
    what = kinds[0] if kinds else "tasks"
    if what == "metrics":
        from custom_metrics import METRICS

        lines = {
            name: (function.__doc__ or "").strip().splitlines()[0]
            for name, function in METRICS.items()
        }
        if args.json:
            print_json(lines)
        else:
            _print_list(_list_of(lines.items()))
        return 0
    packs = _chosen_packs([word for word in args.what if word not in kinds], args.template_dir)
    if args.published is not None:
        return _published(args, packs)
    _check_tag(args.by, packs)
    data = [_pack_data(pack) for pack in packs.values()]
    if args.json:
        print_json(data)
        return 0
    for pack in data:
        print(f"{pack['name']}: {pack['title']}. {pack['description']}")
        if what == "tasks":
            _print_tasks(pack, args.by)
        elif what == "scores":
            scores = pack["scores"].items()
            _print_list(_list_of((name, score.get("title", "")) for name, score in scores))
    return 0


def _chosen_packs(names: list[str], template_dir: list[Path]) -> dict[str, Pack]:
    """The packs of some names; all where none is named.

    Raises:
        BadInput: a word is neither a pack nor a kind of list.
    """
    from evalprep.packs import find_packs

    packs = find_packs(template_dir)
    unknown = [name for name in names if name not in packs]
    if unknown:
        allowed = [*_KINDS, *packs]
        what = f"{unknown[0]!r} is neither a kind of list nor a pack"
        fix = near(unknown[0], allowed)
        raise BadInput(Problem(what=what, where="WHAT", allowed=", ".join(allowed), fix=fix))
    return {name: pack for name, pack in packs.items() if not names or name in names}


def _published(args: argparse.Namespace, packs: Mapping[str, Pack]) -> int:
    """Prints the published rows that match; 3 where none does."""
    from evalprep.verbs.publications import search_published

    rows = search_published(args.published, args.set, packs)
    if args.json:
        print_json(rows)
    else:
        for name, lines in rows.items():
            print(f"{name}: {len(lines)} published rows match {args.published!r}")
            for line in lines:
                print(f"  {line}")
    return 0 if any(rows.values()) else 3


def _check_tag(tag: str | None, packs: Mapping[str, Pack]) -> None:
    """Refuses a tag that no task has."""
    tasks = chain.from_iterable(pack.tasks.values() for pack in packs.values())
    tags = sorted(set(chain.from_iterable(task.tags for task in tasks)))
    if tag and tag not in tags:
        raise BadInput(
            Problem(
                what=f"no task has the tag {tag!r}",
                where="--by",
                allowed=", ".join(tags),
                fix=near(tag, tags),
            )
        )


def _pack_data(pack: Pack) -> dict[str, Any]:
    from evalprep.packs import shown

    return {
        "name": pack.name,
        "title": pack.title,
        "description": pack.description,
        "groups": {
            name: {
                "tasks": list(group.tasks),
                "aliases": list(group.aliases),
                "description": group.description,
            }
            for name, group in pack.groups.items()
        },
        "tasks": {
            name: {
                "description": task.description,
                "aliases": list(task.aliases),
                "tags": dict(task.tags),
            }
            for name, task in pack.tasks.items()
        },
        "scores": {name: shown(score) for name, score in pack.suite_scores.items()},
        "config": {
            key.name: {
                "type": list(key.types),
                "default": key.default,
                "required": key.required,
                "doc": key.doc,
            }
            for key in pack.config.values()
        },
    }


def _print_tasks(pack: dict[str, Any], tag: str | None) -> None:
    """Prints the groups of a pack and its tasks, by the values of a tag where one is given."""
    tasks = pack["tasks"]
    table = _list_of(())
    for name, group in pack["groups"].items():
        members = f"group: {', '.join(group['tasks'])}"
        table.add(name, _about({**group, "description": group["description"] or members}))
    if tag is None:
        for name, task in tasks.items():
            table.add(name, _about(task))
    else:
        # Value of the tag, `-` where a task has none -> its tasks; in the order of the values.
        names_by_value: dict[str, list[str]] = {}
        for name, task in tasks.items():
            names_by_value.setdefault(str(task["tags"].get(tag, "-")), []).append(name)
        for value, names in sorted(names_by_value.items()):
            table.add_heading(f"[{tag}: {value}]")
            for name in names:
                table.add(name, _about(tasks[name]))
    _print_list(table)


def _about(entry: dict[str, Any]) -> str:
    """The description, with the other names that the config may use."""
    aliases = ", ".join(entry["aliases"])
    return f"{entry['description']} (also: {aliases})" if aliases else str(entry["description"])


def _list_of(rows: Iterable[tuple[str, str]]) -> Table:
    """A list of names, each with a sentence."""
    return Table("", [Column("", Kind.NAME), Column("", wraps=True)], list(rows))


def _print_list(table: Table) -> None:
    for line in table_lines(table, line_width(sys.stdout), indent="  "):
        print(line)
