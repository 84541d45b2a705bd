r"""Write a task pack that renders, checks and runs as it is: on two examples, or on rows of your own.

    evalprep new-pack capitals --data capitals.csv --prompt 'Capital of {country}?' --target capital
    evalprep new-pack sums --data sums.jsonl --prompt question --target answer --kind number

--prompt is a column, or a text with columns in braces (or a Jinja text); \n in it is a line break.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalprep.data.inside import column_of, paths_in, value_at
from evalprep.data.packed import unpacked_name
from evalprep.errors import BadInput, Problems, near
from evalprep.packs.numbered import first_number
from evalprep.terminal import counted, shortlist

if TYPE_CHECKING:
    from evalprep.data.sources import Source
    from evalprep.packs.skeleton import Questions

_KINDS = ("exact", "choice", "number", "math", "regex", "json", "judge")
_COMMAND_OF_LATEX = re.compile(r"\\[A-Za-z]+\{[^{}]*\}")
_PLACE = re.compile(r"\{([^{}\n]+)\}")
MAX_HEAD = 100_000  # characters of the first line that are looked at
LOOKED_INTO = 100  # rows whose columns are looked into, and listed where they are nested
MAX_COPIED = 50_000_000  # bytes; a larger file is read where it is


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    add("name", help="lower-case letters, digits and _")
    add("--data", metavar="FILE", help="rows: CSV, TSV, JSON, JSON Lines or parquet (.gz too), a folder, or a hub id")
    add("--prompt", metavar="TEXT", help="a column, or a text with columns in braces")
    add("--target", metavar="COLUMN", help="the column with the right answer")
    add("--kind", choices=_KINDS, default="exact", help="how replies are scored (exact)")
    add("--choices", metavar="COLUMNS", help="for --kind choice: columns of the options, or one column with a list")
    add("--pattern", metavar="REGEX", help="for --kind regex: its first group is the answer")
    add("--config", metavar="NAME", help="configuration of the data set")
    add("--split", metavar="NAME", help="split of the data set, or parts: train[:100], train+test[10%%:20%%]")
    add("--template_dir", type=Path, default=None, help="folder of packs to write into")
    add("--json", action="store_true", help="print the result as JSON")


def main(args: argparse.Namespace) -> int:
    """Write the folder."""
    from evalprep.config.schema import Core
    from evalprep.packs.finding import TEMPLATES, find_packs
    from evalprep.packs.skeleton import skeleton

    templates: Path = (args.template_dir or _own_folder(TEMPLATES)).resolve()
    folder = templates / args.name
    problems = Problems()
    if not re.fullmatch(r"[a-z][a-z0-9_]*", args.name) or args.name in Core.model_fields:
        problems.add(
            f"{args.name!r} is no pack name",
            where="NAME",
            allowed="lower-case letters, digits and _, and no key of eval_config.yaml",
        )
    elif folder.exists():
        problems.add("exists already", where=str(folder), fix="choose another name")
    elif args.name in find_packs():
        problems.add(f"{args.name!r} is a pack of the project", where="NAME", fix="choose another name")
    given, copied = _questions(args, problems)
    problems.raise_if_any()
    folder.mkdir(parents=True)
    for name, text in skeleton(args.name, args.kind, given).items():
        file = folder / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    if copied is not None:
        (folder / "data").mkdir(exist_ok=True)
        copy = folder / "data" / copied.name
        if sign := _other_separator(copied):
            _with_commas(copied, sign, copy)
        else:
            shutil.copyfile(copied, copy)
    program = ["python", "prepare_eval.py"] if Path("prepare_eval.py").is_file() else ["evalprep", "prepare"]
    command = [*program, "--set", f"tasks={args.name}_all"]
    if templates != TEMPLATES:
        command += ["--set", f"template_dir={json.dumps(str(templates))}"]
    if args.json:
        print(json.dumps({"folder": str(folder), "next": command}, indent=2))
    else:
        print(f"wrote {folder}\nnext: {shlex.join(command)}")
    return 0


def _own_folder(templates: Path) -> Path:
    """Where a pack goes that nobody gave a place: beside those of a clone, else into ./packs."""
    return templates if (templates.parent / "pyproject.toml").is_file() else Path("packs")


def _questions(args: argparse.Namespace, problems: Problems) -> tuple[Questions | None, Path | None]:
    """What the arguments say of the rows, and the file that goes into the pack; every mistake is a problem."""
    from evalprep.data.sources import open_source
    from evalprep.packs.skeleton import Questions

    needed = {"--data": args.data, "--prompt": args.prompt, "--target": args.target}
    if not any(needed.values()):
        if args.choices or args.pattern or args.kind == "choice":
            problems.add("needs rows", where=f"--kind {args.kind}", fix="give --data, --prompt and --target")
        return None, None
    for name, value in needed.items():
        if not value:
            problems.add("is missing", where=name, allowed="--data FILE --prompt TEXT --target COLUMN")
    if problems.found:
        return None, None
    sign = _other_separator(Path(args.data).expanduser())
    options = [one.strip() for one in (args.choices or "").split(",") if one.strip()]
    try:
        source = open_source(args.data, config=args.config, split=args.split, where="--data")
        if sign:  # its own columns, as the copy in the pack will have them
            source.options = {"given": {"sep": sign}}
        columns = source.columns
        first_rows = list(islice(source.rows(), LOOKED_INTO))
        wanted = {column_of(name, columns) for name in (args.target, *options)} & {*columns}
        rows = list(source.rows(sorted(wanted))) if wanted else []
    except BadInput as error:
        problems.extend(error.problems)
        return None, None
    if not first_rows:
        problems.add("holds no rows", where=f"--data {args.data}")
    columns = list(dict.fromkeys([*columns, *(path for row in first_rows for path in paths_in(row))]))
    gold = [value_at(row, args.target) for row in rows]
    if source.has(args.target):
        _all_answered(args, gold, problems)
    prompt, renamed = _prompt(args.prompt, columns, problems)
    for where, names in (("--target", [args.target]), ("--choices", options)):
        for name in names:
            if not source.has(name):
                problems.add(
                    f"there is no column {name!r}", where=where, allowed=", ".join(columns), fix=near(name, columns)
                )
    first = None
    if not problems.found:
        _texts_alone(args, prompt, renamed, first_rows, problems)
        first = _first_number(args, gold, options, rows, problems) if options else None
    if options and args.kind != "choice":
        problems.add("is for --kind choice", where="--choices")
    pattern = {"pattern": _pattern(args.pattern, problems)} if args.pattern else {}
    if options and "listed" not in prompt and not any(f"{{{{{name}}}}}" in prompt for name in options):
        prompt = f"{{{{{prompt}}}}}" if prompt in columns else prompt
        prompt += "\n{{listed}}\nAnswer with the letter of the right option."
    location, copied = _location(args, source)
    target = args.target
    if options:  # prepare.py of the pack reads columns
        named = {one: re.sub(r"\W+", "_", one) for one in (target, *options) if one not in source.columns}
        renamed |= {new: old for old, new in named.items()}
        target, options = named.get(target, target), [named.get(one, one) for one in options]
    given = Questions(location, prompt, target, columns, options, renamed=renamed, first=first, **pattern)
    return given, copied


def _all_answered(args: argparse.Namespace, gold: Sequence[Any], problems: Problems) -> None:
    """Tell of rows without a right answer."""
    empty = [str(number) for number, value in enumerate(gold, 1) if value is None]
    if empty:
        what = f"{counted(len(empty), 'row')} without a right answer: {shortlist(empty, 10)}"
        fix = "fill them in, or take these rows out (the head not counted)"
        if unpacked_name(Path(args.data)).endswith((".csv", ".tsv")):
            fix += "; in CSV, NA, None, null and nan are nothing, too: JSON Lines keeps such words"
        problems.add(what, where=f"--target {args.target}", fix=fix)


def _texts_alone(
    args: argparse.Namespace,
    prompt: str,
    renamed: Mapping[str, str],
    rows: Sequence[Mapping[str, Any]],
    problems: Problems,
) -> None:
    """Refuse lists and mappings where a text is meant: they would be printed the way Python writes them."""
    inside = [renamed.get(name, name) for name in re.findall(r"\{\{\s*(\w+)\s*\}\}", prompt)] or [prompt]
    for name in inside:
        value = next((found for row in rows if (found := value_at(row, name)) is not None), None)
        if isinstance(value, list | Mapping):
            first = value[0] if isinstance(value, list) and value else None
            shown = ": ".join(f"{{{{one.{key}}}}}" for key in first) if isinstance(first, Mapping) else "{{one}}"
            kind, fix = ("list", f"{{% for one in {name} %}}{shown}\\n{{% endfor %}}")
            if isinstance(value, Mapping):
                kind, fix = "mapping", f"name what is inside of it: {', '.join(f'{{{name}.{key}}}' for key in value)}"
            problems.add(f"{name} holds a {kind}, not a text", where="--prompt", fix=fix)
    value = next((found for row in rows if (found := value_at(row, args.target)) is not None), None)
    if isinstance(value, bytes) or (isinstance(value, Mapping) and args.kind != "json"):
        inner = "".join(f" {args.target}.{key}" for key in value) if isinstance(value, Mapping) else ""
        fix = f"name what is inside of it:{inner}, or --kind json" if inner else ""
        kind = "bytes" if isinstance(value, bytes) else "a mapping"
        problems.add(f"{args.target} holds {kind}, not a text", where="--target", fix=fix)


def _first_number(
    args: argparse.Namespace,
    gold: Sequence[Any],
    options: Sequence[str],
    rows: Sequence[Mapping[str, Any]],
    problems: Problems,
) -> int | None:
    """From which number the right answers count, where they are numbers of options."""
    listed = [
        value_at(row, options[0]) if len(options) == 1 else [value_at(row, one) for one in options] for row in rows
    ]
    if wrong := next((one for one in listed if not isinstance(one, list | None)), None):
        inner = ", ".join(f"{options[0]}.{key}" for key in wrong) if isinstance(wrong, Mapping) else ""
        fix = f"name the list in it: {inner}" if inner else "name all columns of the options: --choices a,b,c"
        problems.add(f"{options[0]} holds no list", where="--choices", fix=fix)
        return None
    try:
        texts = [[str(one) for one in row or () if one is not None] for row in listed]
        return first_number([str(one).strip() for one in gold], texts)
    except ValueError as error:
        problems.add(
            f"{args.target} {error}", where="--target", fix="write the letter of the right option, or its text"
        )
        return None


def _location(args: argparse.Namespace, source: Source) -> tuple[str | dict[str, str], Path | None]:
    """How pack.yaml names the source, and the file that is copied into the pack."""
    path = Path(args.data).expanduser()
    if path.is_file() and path.stat().st_size <= MAX_COPIED:
        copy = f"data/{path.name}"
        return {"path": copy, "split": str(source.split)} if source.parts else copy, path
    location = str(path.resolve()) if path.exists() else args.data
    chosen = {"config": source.config, "split": source.split}
    return {"path": location, **{key: value for key, value in chosen.items() if value}}, None


def _other_separator(path: Path) -> str:
    """What stands between the cells of a CSV file whose head has no comma, as spreadsheets save it; or nothing."""
    if path.suffix.lower() != ".csv" or not path.is_file() or path.stat().st_size > MAX_COPIED:
        return ""
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        head = file.readline(MAX_HEAD)
    return "" if "," in head else next((sign for sign in ";\t" if sign in head), "")


def _with_commas(path: Path, sign: str, copy: Path) -> None:
    """Write a CSV file anew, with the separator that every reader expects."""
    with path.open(encoding="utf-8-sig", newline="") as file, copy.open("w", encoding="utf-8", newline="") as target:
        csv.writer(target, lineterminator="\n").writerows(csv.reader(file, delimiter=sign))


def _pattern(text: str, problems: Problems) -> str:
    try:
        if not re.compile(text).groups:
            problems.add("has no group", where="--pattern", fix="put the answer in brackets: 'answer is (.+)'")
    except re.error as error:
        problems.add(f"is no regular expression: {error}", where="--pattern")
    return text


def _prompt(text: str, columns: list[str], problems: Problems) -> tuple[str, dict[str, str]]:
    """The prompt as a column's name or a Jinja text, and new names for columns whose own cannot stand in one."""
    if text in columns:
        return text, {}
    text = text.replace("\\n", "\n").replace("\\t", "\t") if "\n" not in text else text
    renamed: dict[str, str] = {}
    if "{{" not in text and "{%" not in text:
        latex = {one.start() + one[0].index("{") for one in _COMMAND_OF_LATEX.finditer(text)}
        for one in reversed([one for one in _PLACE.finditer(text) if one.start() not in latex]):
            name = one[1] if one[1].isidentifier() else re.sub(r"\W+", "_", f"column {one[1]}")
            renamed |= {name: one[1]} if name != one[1] else {}
            text = f"{text[: one.start()]}{{{{{name}}}}}{text[one.end() :]}"
    used = _variables(text, problems)
    for name in sorted({renamed.get(name, name) for name in used} - {*columns, "listed"}):
        problems.add(
            f"there is no column {name!r}", where="--prompt", allowed=", ".join(columns), fix=near(name, columns)
        )
    if not used:
        problems.add(
            f"{text!r} names no column, so all prompts would be equal",
            where="--prompt",
            allowed=f"a column ({', '.join(columns)}), or a text with columns in braces",
            fix=near(text, columns),
        )
    return text, renamed


def _variables(text: str, problems: Problems) -> set[str]:
    from jinja2 import Environment, TemplateSyntaxError, meta

    try:
        return meta.find_undeclared_variables(Environment(autoescape=False).parse(text))  # noqa: S701 - no HTML
    except TemplateSyntaxError as error:
        problems.add(f"is no Jinja text: {error.message}", where="--prompt", fix="or write columns in single braces")
        return {"listed"}
