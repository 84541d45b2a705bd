r"""Write a task pack that renders, checks and runs as it is.

It is made on two examples, or on rows of your own.

    evalprep new-pack capitals --data capitals.csv --prompt 'Capital of {country}?' --target capital
    evalprep new-pack sums --data sums.jsonl --prompt question --target answer --kind number

--prompt is a column, or a text with columns in braces (or a Jinja text); \n in it is a line break.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any, NamedTuple

from evalprep.data import column_of, paths_in, unpacked_name, value_at
from evalprep.errors import BadInput, Problems, near
from evalprep.files import open_file
from evalprep.packs import ONLY_LETTERS, AnswerForm, answer_form, as_jinja, is_jinja, named_in
from evalprep.places import CONFIG, nearby
from evalprep.terminal import counted, print_json, print_step, shortlist
from evalprep.verbs.init import PACK_SCHEMA, schema_line

if TYPE_CHECKING:
    from evalprep.data import Source
    from evalprep.packs import Questions

_Row = Mapping[str, Any]
_KINDS = ("exact", "choice", "number", "math", "regex", "json", "judge")
MAX_HEAD = 100_000  # characters of the first line that are looked at
LOOKED_INTO = 100  # rows whose columns are looked into, and listed where they are nested
MAX_COPIED = 50_000_000  # bytes; a larger file is read where it is


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    add("name", metavar="NAME", help="lower-case letters, digits and _")
    add(
        "--data",
        metavar="FILE",
        help="rows: CSV, TSV, JSON, JSON Lines or parquet (.gz too), a folder, or a hub id",
    )
    add("--prompt", metavar="TEXT", help="a column, or a text with columns in braces")
    add("--target", metavar="COLUMN", help="the column with the right answer")
    add("--kind", choices=_KINDS, default="exact", help="how replies are scored (exact)")
    add(
        "--choices",
        metavar="COLUMNS",
        help="for --kind choice: columns of the options, or one column with a list",
    )
    add("--pattern", metavar="REGEX", help="for --kind regex: its first group is the answer")
    add("--config", metavar="NAME", help="configuration of the data set")
    add(
        "--split",
        metavar="NAME",
        help="split of the data set, or parts: train[:100], train+test[10%%:20%%]",
    )
    add(
        "--out",
        "--template_dir",
        dest="template_dir",
        type=Path,
        default=None,
        metavar="FOLDER",
        help="folder of packs to write into",
    )
    add("--json", action="store_true", help="print the result as JSON")


def main(args: argparse.Namespace) -> int:
    """Write the folder."""
    from evalprep.config import CORE_KEYS
    from evalprep.packs import TEMPLATES, find_packs, skeleton

    templates: Path = (args.template_dir or _own_folder(TEMPLATES)).resolve()
    folder = templates / args.name
    problems = Problems()
    is_name = re.fullmatch(r"[a-z][a-z0-9_]*", args.name) is not None
    if not is_name or args.name in CORE_KEYS:
        problems.add(
            f"{args.name!r} is not a valid pack name",
            where="NAME",
            allowed="lower-case letters, digits and _, and no key of eval_config.yaml",
        )
    elif folder.exists():
        problems.add("exists already", where=str(folder), fix="choose another name")
    elif args.name in find_packs():
        problems.add(
            f"{args.name!r} is a pack of the project", where="NAME", fix="choose another name"
        )
    draft = _draft(args, problems)
    problems.raise_if_any()
    texts = {**skeleton(args.name, args.kind, draft.questions)}
    if Path(PACK_SCHEMA).is_file():
        place = os.path.relpath(PACK_SCHEMA, folder)
        texts["pack.yaml"] = f"{schema_line(place)}\n{texts['pack.yaml']}"
    _write_pack(folder, texts, draft.copied)
    own_templates = None if templates == TEMPLATES else templates
    command = _next_command(args.name, own_templates)
    if args.json:
        result = {"folder": str(folder), "next": command}
        print_json(result)
        return 0
    for note in draft.notes:
        print(f"note: {note}")
    print(f"wrote {nearby(folder)}")
    print_step(command)
    return 0


@dataclass(frozen=True)
class _Draft:
    """The facts of a pack that the arguments state.

    Attributes:
        questions: The rows and how they are asked; None for the example of the skeleton.
        copied: The file that goes into the pack; None where it stays in its place.
        notes: What was decided on the user's behalf.
    """

    questions: Questions | None = None
    copied: Path | None = None
    notes: tuple[str, ...] = ()


def _write_pack(folder: Path, texts: Mapping[str, str], copied: Path | None) -> None:
    """Writes the files of a pack, with a copy of the data where it is small."""
    folder.mkdir(parents=True)
    for name, text in texts.items():
        file = folder / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    if copied is None:
        return
    (folder / "data").mkdir(exist_ok=True)
    copy = folder / "data" / copied.name
    sign = _other_separator(copied)
    if not sign:
        shutil.copyfile(copied, copy)
        return
    # Anew, with the separator that every reader expects.
    with (
        open_file(copied, "r", own=True, encoding="utf-8-sig", newline="") as source,
        copy.open("w", encoding="utf-8", newline="") as target,
    ):
        rows = csv.reader(source, delimiter=sign)
        csv.writer(target, lineterminator="\n").writerows(rows)


def _next_command(name: str, templates: Path | None) -> list[str]:
    """The command that prepares a pack, or runs it where no config names a model yet.

    Args:
        name: The pack.
        templates: Its folder of packs; None for that of a clone.
    """
    group = f"{name}_all"
    if Path("prepare_eval.py").is_file():
        command = ["python", "prepare_eval.py", "--set", f"tasks={group}"]
    elif CONFIG.is_file():
        command = ["evalprep", "prepare", "--set", f"tasks={group}"]
    else:
        command = ["evalprep", "run", "--model", "MODEL", "--tasks", group]
    if templates is not None:
        text = nearby(templates)
        is_plain = re.fullmatch(r"[\w./-]+", text)  # what YAML and a shell take as it is
        if not is_plain:
            text = json.dumps(text)
        command += ["--set", f"template_dir={text}"]
    return command


def _own_folder(templates: Path) -> Path:
    """Returns the folder of a pack whose place nobody stated.

    It is beside the packs of a clone for a user who works in it, else ./packs.
    """
    clone = templates.parent
    is_clone = (clone / "pyproject.toml").is_file()
    if is_clone and Path.cwd().is_relative_to(clone):
        return templates
    return Path("packs")


def _draft(args: argparse.Namespace, problems: Problems) -> _Draft:
    """Returns what the arguments say of the rows; every mistake is a problem."""
    from evalprep.packs import Questions

    if not _names_rows(args, problems):
        return _Draft()
    names = [part.strip() for part in (args.choices or "").split(",")]
    options = [name for name in names if name]
    table = _read_table(args, options, problems)
    if table is None:
        return _Draft()
    _all_answered(args, table, problems)
    if args.kind in _ANSWERS and not options:
        _refuse_unread(args, table, _ANSWERS[args.kind], problems)
    prompt, renamed = _prompt(args.prompt, table.columns, problems)
    _columns_exist(args, options, table, problems)
    answers = ONLY_LETTERS
    if not problems.found:
        _texts_alone(args, prompt, renamed, table.first_rows, problems)
        answers = _answer_form(args, options, table, problems) or answers
    pattern = {}
    if args.pattern:
        pattern["pattern"] = args.pattern
        try:
            has_group = re.compile(args.pattern).groups > 0
        except re.error as error:
            what = f"is not a valid regular expression: {error}"
            problems.add(what, where="--pattern")
        else:
            if not has_group:
                fix = "put the answer in brackets: 'answer is (.+)'"
                problems.add("has no group", where="--pattern", fix=fix)
    location, copied = _location(args, table.source)
    target = args.target
    if options:
        prompt = _with_options(prompt, options, table.columns)
        paths = (target, *options)
        inner_paths = [path for path in paths if path not in table.source.columns]
        new_names = {path: re.sub(r"\W+", "_", path) for path in inner_paths}
        renamed |= {new: path for path, new in new_names.items()}
        target, *options = (new_names.get(path, path) for path in paths)
    questions = Questions(
        location,
        prompt,
        target,
        table.columns,
        options,
        renamed=renamed,
        answers=answers,
        id_column=table.id_column,
        **pattern,
    )
    notes = []
    if table.possible_ids and not table.id_column:
        (column,) = table.possible_ids
        notes.append(
            f"the column {column} does not hold a different value in every row, so evalprep makes "
            "the sample ids from the content of the rows"
        )
    return _Draft(questions, copied, tuple(notes))


def _names_rows(args: argparse.Namespace, problems: Problems) -> bool:
    """Returns whether the arguments name rows, and adds a problem for each that is missing then."""
    if args.choices and args.kind != "choice":
        problems.add("is for --kind choice", where="--choices")
    needed = {"--data": args.data, "--prompt": args.prompt, "--target": args.target}
    if not any(needed.values()):
        needs_rows = args.choices or args.pattern or args.kind == "choice"
        if needs_rows:
            fix = "give --data, --prompt and --target"
            problems.add("needs rows", where=f"--kind {args.kind}", fix=fix)
        return False
    allowed = "--data FILE --prompt TEXT --target COLUMN"
    for option, value in needed.items():
        if not value:
            problems.add("is missing", where=option, allowed=allowed)
    return not problems.found


@dataclass
class _Table:
    """The rows as far as they are looked into.

    Attributes:
        source: Where they come from.
        columns: Its columns, and paths to what is inside of them.
        first_rows: The first rows with all their columns.
        rows: All rows with the columns of the target and the options.
        gold: The right answer of each.
        possible_ids: The column that is called as one of ids is; none or one.
        id_column: The same column where its values tell the rows apart; else empty.
    """

    source: Source
    columns: list[str]
    first_rows: list[dict[str, Any]]
    rows: list[dict[str, Any]]
    gold: list[Any]
    possible_ids: Sequence[str] = ()
    id_column: str = ""


def _read_table(
    args: argparse.Namespace, options: Sequence[str], problems: Problems
) -> _Table | None:
    """The rows that --data names; None where they cannot be read."""
    from evalprep.data import open_source
    from evalprep.samples import ID_COLUMNS

    sign = _other_separator(Path(args.data).expanduser())
    try:
        source = open_source(args.data, config=args.config, split=args.split, where="--data")
        if sign:  # its own columns, as the copy in the pack will have them
            source.options = {"read_options": {"sep": sign}}
        columns = source.columns
        first_rows = list(islice(source.rows(), LOOKED_INTO))
        ids = [name for name in ID_COLUMNS if name in columns][:1]
        needed = {column_of(name, columns) for name in (args.target, *options, *ids)}
        used = sorted(needed & {*columns})
        rows = list(source.rows(used)) if used else []
    except BadInput as error:
        problems.extend(error.problems)
        return None
    if not first_rows:
        problems.add("holds no rows", where=f"--data {args.data}")
    # A column of ids has a value of its own in every row.
    telling_ids = []
    for name in ids:
        values = [row.get(name) for row in rows]
        texts = {str(value) for value in values if isinstance(value, str | int) and value != ""}
        if len(texts) == len(rows):
            telling_ids.append(name)
    # The columns, then the paths to what is inside of them.
    paths = dict.fromkeys(columns)
    for row in first_rows:
        paths.update(dict.fromkeys(paths_in(row)))
    return _Table(
        source=source,
        columns=list(paths),
        first_rows=first_rows,
        rows=rows,
        gold=[value_at(row, args.target) for row in rows],
        possible_ids=ids,
        id_column=telling_ids[0] if telling_ids else "",
    )


def _columns_exist(
    args: argparse.Namespace, options: Sequence[str], table: _Table, problems: Problems
) -> None:
    """Adds a problem for each column of the target and the options that is missing."""
    named = [("--target", args.target)]
    named += [("--choices", option) for option in options]
    for where, column in named:
        if not table.source.has(column):
            problems.add(
                f"there is no column {column!r}",
                where=where,
                allowed=", ".join(table.columns),
                fix=near(column, table.columns),
            )


def _with_options(prompt: str, options: Sequence[str], columns: Sequence[str]) -> str:
    """The prompt with its options below, where it does not show them itself."""
    shows_options = any(f"{{{{{option}}}}}" in prompt for option in options)
    if "listed" in prompt or shows_options:
        return prompt
    text = f"{{{{{prompt}}}}}" if prompt in columns else prompt
    return f"{text}\n{{{{listed}}}}\nAnswer with the letter of the right option."


_FILL_IN = "fill them in, or take these rows out (the head not counted)"
_WORDS_IN_CSV = "in CSV, NA, None, null and nan are nothing, too: JSON Lines keeps such words"


def _all_answered(args: argparse.Namespace, table: _Table, problems: Problems) -> None:
    """Adds a problem where rows have no right answer, though there is a column of them."""
    empty = [str(number) for number, value in enumerate(table.gold, 1) if value is None]
    if not empty or not table.source.has(args.target):
        return
    rows = counted(len(empty), "row")
    what = f"{rows} without a right answer: {shortlist(empty, 10)}"
    is_csv = unpacked_name(Path(args.data)).endswith((".csv", ".tsv"))
    fix = f"{_FILL_IN}; {_WORDS_IN_CSV}" if is_csv else _FILL_IN
    problems.add(what, where=f"--target {args.target}", fix=fix)


class _Answers(NamedTuple):
    """The right answers that a kind of scorer reads.

    Attributes:
        read: Returns whether a text is one.
        words: What each is.
        fix: What to do where one is none.
    """

    read: Callable[[str], bool]
    words: str
    fix: str


def _is_number(text: str) -> bool:
    from custom_metrics.extract.number import extract_number
    from custom_metrics.extract.numeral import canonical_number

    return bool(canonical_number(text) or extract_number(text))


def _is_letter(text: str) -> bool:
    from custom_metrics.extract.choice import extract_choice

    return extract_choice(text, ascii_uppercase) is not None


#: Kind of a scorer -> the right answers that it reads, where there are no options.
_ANSWERS = {
    "number": _Answers(
        _is_number,
        "a number",
        "write numbers with a decimal point, e.g. 1.5, or choose another --kind",
    ),
    "choice": _Answers(
        _is_letter,
        "a letter",
        "name the columns of the options: --choices a,b,c; or choose another --kind",
    ),
}


def _refuse_unread(
    args: argparse.Namespace, table: _Table, expected: _Answers, problems: Problems
) -> None:
    """Adds a problem for the right answers that the scorer cannot read."""
    answers = [
        (number, str(value)) for number, value in enumerate(table.gold, 1) if value is not None
    ]
    unread = [f"{number} ({text})" for number, text in answers if not expected.read(text)]
    if unread:
        rows = counted(len(unread), "row")
        problems.add(
            f"{rows} with a right answer that is not {expected.words}: {shortlist(unread, 5)}",
            where=f"--target {args.target}",
            fix=expected.fix,
        )


def _texts_alone(
    args: argparse.Namespace,
    prompt: str,
    renamed: Mapping[str, str],
    rows: Sequence[_Row],
    problems: Problems,
) -> None:
    """Refuses lists and mappings where a text is meant.

    The prompt would hold them the way Python prints them.
    """
    in_braces = re.findall(r"\{\{\s*(\w+)\s*\}\}", prompt)
    columns = [renamed.get(name, name) for name in in_braces]
    for column in columns or [prompt]:
        value = _first_value(rows, column)
        if isinstance(value, list):
            what = f"{column} holds a list, not a text"
            # A Jinja text that prints each item of a list.
            first = value[0] if value else None
            item_text = "{{one}}"
            if isinstance(first, Mapping):
                item_text = ": ".join(f"{{{{one.{key}}}}}" for key in first)
            fix = f"{{% for one in {column} %}}{item_text}\\n{{% endfor %}}"
            problems.add(what, where="--prompt", fix=fix)
        elif isinstance(value, Mapping):
            what = f"{column} holds a mapping, not a text"
            inner = ", ".join(f"{{{column}.{key}}}" for key in value)
            fix = f"name what is inside of it: {inner}"
            problems.add(what, where="--prompt", fix=fix)
    value = _first_value(rows, args.target)
    if isinstance(value, bytes):
        problems.add(f"{args.target} holds bytes, not a text", where="--target")
    elif isinstance(value, Mapping) and args.kind != "json":
        what = f"{args.target} holds a mapping, not a text"
        inner = ", ".join(f"{args.target}.{key}" for key in value)
        fix = f"name what is inside of it: {inner}; or --kind json" if inner else ""
        problems.add(what, where="--target", fix=fix)


def _first_value(rows: Sequence[_Row], column: str) -> Any:
    """The value of a column in the first row that has one."""
    values = (value_at(row, column) for row in rows)
    return next((value for value in values if value is not None), None)


def _answer_form(
    args: argparse.Namespace, options: Sequence[str], table: _Table, problems: Problems
) -> AnswerForm | None:
    """Returns how the right answers name options.

    None where there are no options, or nothing fits.
    """
    if not options:
        return None
    if len(options) == 1:
        listed = [value_at(row, options[0]) for row in table.rows]
    else:
        listed = [[value_at(row, option) for option in options] for row in table.rows]
    if no_list := next((value for value in listed if not isinstance(value, list | None)), None):
        column = options[0]
        fix = "name all columns of the options: --choices a,b,c"
        if isinstance(no_list, Mapping):
            inner = ", ".join(f"{column}.{key}" for key in no_list)
            fix = f"name the list in it: {inner}"
        problems.add(f"{column} holds no list", where="--choices", fix=fix)
        return None
    texts = [[str(option) for option in row or () if option is not None] for row in listed]
    answers = [str(answer).strip() for answer in table.gold]
    try:
        return answer_form(answers, texts)
    except ValueError as error:
        problems.add(
            f"{args.target} {error}",
            where="--target",
            fix="write the number of the right option in every row, counted from 1, "
            "or options that are not letters",
        )
        return None


def _location(args: argparse.Namespace, source: Source) -> tuple[str | dict[str, str], Path | None]:
    """Returns how pack.yaml names the source, and the file that is copied into the pack."""
    path = Path(args.data).expanduser()
    if _is_copied(path):
        copy = f"data/{path.name}"
        if not source.parts:
            return copy, path
        return {"path": copy, "split": str(source.split)}, path
    place = str(path.resolve()) if path.exists() else args.data
    named = {"path": place}
    if source.config:
        named["config"] = source.config
    if source.split:
        named["split"] = source.split
    return named, None


def _is_copied(path: Path) -> bool:
    """Returns whether a file goes into the pack."""
    return path.is_file() and path.stat().st_size <= MAX_COPIED


def _other_separator(path: Path) -> str:
    """Returns the separator of a CSV file whose head has no comma, as spreadsheets save it.

    Empty where there is none.
    """
    if path.suffix.lower() != ".csv" or not _is_copied(path):
        return ""
    with open_file(path, "r", own=True, encoding="utf-8-sig", errors="replace") as file:
        head = file.readline(MAX_HEAD)
    if "," in head:
        return ""
    return next((sign for sign in ";\t" if sign in head), "")


def _prompt(text: str, columns: list[str], problems: Problems) -> tuple[str, dict[str, str]]:
    """The prompt as a column's name or a Jinja text, and new names of columns in it.

    A column whose name is no name in Jinja gets another one.
    """
    if text in columns:
        return text, {}
    if "\n" not in text:
        text = text.replace("\\n", "\n").replace("\\t", "\t")
    renamed: dict[str, str] = {}
    if not is_jinja(text):
        text, renamed = as_jinja(text, {*columns, *named_in(text)})
    used = _variables(text, problems)
    named = {renamed.get(name, name) for name in used}
    for name in sorted(named - {*columns, "listed"}):
        problems.add(
            f"there is no column {name!r}",
            where="--prompt",
            allowed=", ".join(columns),
            fix=near(name, columns),
        )
    if not used:
        names = ", ".join(columns)
        # The first column that the text has as `${column}`.
        spelled = next((name for name in columns if f"${{{name}}}" in text), "")
        fix = f"write {{{spelled}}} in place of ${{{spelled}}}" if spelled else ""
        problems.add(
            f"{text!r} names no column, so all prompts would be equal",
            where="--prompt",
            allowed=f"a column ({names}), or a text with columns in braces",
            fix=fix or near(text, columns),
        )
    return text, renamed


def _variables(text: str, problems: Problems) -> set[str]:
    from jinja2 import Environment, TemplateSyntaxError, meta

    environment = Environment(autoescape=False)  # noqa: S701 - a prompt is no HTML
    try:
        return meta.find_undeclared_variables(environment.parse(text))
    except TemplateSyntaxError as error:
        problems.add(
            f"is not valid Jinja: {error.message}",
            where="--prompt",
            fix="or write columns in single braces",
        )
        return {"listed"}
