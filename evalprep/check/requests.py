"""EP303, EP304, EP307 and what else the requests show that lm-eval would send for each row."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from evalprep.check.bound import TimeBoundError, cpu_bound
from evalprep.check.data import listed
from evalprep.check.finding import Findings
from evalprep.check.loading import LoadedTask, first_line
from evalprep.check.replies import position_of
from evalprep.check.settings import DEFAULT_LENGTH, RunSettings
from evalprep.check.silence import quiet
from evalprep.check.tree import Leaf
from evalprep.errors import near
from evalprep.packs import unknown_names, with_places

ChatTemplate = Callable[..., str]
MARKS = ("####", "\\boxed", "<answer>", "[[")
"""Marks that a model writes where it is told to, and hardly ever of its own accord."""
_KINDS = {"generate_until", "loglikelihood", "loglikelihood_rolling"}
SEVERAL = 8  # rows from which it says something that all of them agree
SHORT_REPLY = 4  # tokens up to which a reply is taken to be the letter alone
BUILDING_SECONDS = 300.0  # CPU seconds after which a task's templates are taken to run for ever


def build_requests(
    loaded: LoadedTask,
    settings: RunSettings,
    chat_template: ChatTemplate | None,
    findings: Findings,
    rows: int | None = None,
) -> None:
    """Let the task build its requests exactly as a run does, and look at the prompts."""
    task, leaf = loaded.task, loaded.leaf
    failure = _build(task, settings, chat_template, rows)
    if failure:
        what = f"{leaf.name}{failure}"
        findings.add_at("EP304", leaf, "doc_to_text", what)
        return
    for instance in task.instances:
        requests = loaded.instances.setdefault(instance.doc_id, [])
        requests.append(instance)
    for requests in loaded.instances.values():
        requests.sort(key=lambda instance: instance.idx)
    kinds = {instance.request_type for instance in task.instances}
    requests_of_rows = loaded.instances.values()
    loaded.generates = all(
        len(requests) == 1 and requests[0].request_type == "generate_until"
        for requests in requests_of_rows
    )
    loaded.own = leaf.file.kind == "class" or not kinds <= _KINDS
    texts = [loaded.prompt(number) for number in loaded.instances]
    if loaded.generates:
        _check_texts(loaded, texts, findings)
    if not loaded.own:
        _check_targets(loaded, findings)
        _check_examples(loaded, findings)
        _check_repeated(loaded, findings)
        _check_continuations(loaded, findings)
        if loaded.generates and texts:
            _check_patterns(loaded, texts, findings)
            _check_letters(loaded, findings)
        if loaded.leaf.output_type == "multiple_choice":
            _check_choices(loaded, findings)


def _build(
    task: Any, settings: RunSettings, chat_template: ChatTemplate | None, rows: int | None
) -> str:
    """Let the task build its requests; returns what went wrong, to stand behind the task's name."""
    with quiet():
        # The changes that lm-eval makes to a task between loading and building requests.
        core = settings.core
        if core.gen_kwargs and task.get_config("output_type") == "generate_until":
            gen_kwargs = dict(core.gen_kwargs)
            task.set_config(key="generation_kwargs", value=gen_kwargs, update=True)
        shots = task.get_config("num_fewshot")
        is_overridden = core.num_fewshot is not None and shots != 0
        if shots is None or is_overridden:
            task.set_config(key="num_fewshot", value=core.num_fewshot or 0)
        task.set_fewshot_seed(seed=1234)
        try:
            with cpu_bound(BUILDING_SECONDS):
                task.build_all_requests(
                    limit=rows,
                    rank=0,
                    world_size=1,
                    system_instruction=settings.core.system_instruction,
                    apply_chat_template=chat_template is not None,
                    chat_template=chat_template,
                    tokenizer_name="",
                    fewshot_as_multiturn=settings.core.fewshot_as_multiturn is not False,
                )
        except TimeBoundError:
            return f": building the prompts does not end within {BUILDING_SECONDS:g} s of CPU"
        except Exception as error:  # noqa: BLE001 - templates and functions of tasks raise anything
            row, kind = _failing_row(task), type(error).__name__
            return f", {row}: {kind}: {first_line(error)}"
    return ""


def _failing_row(task: Any) -> str:
    for number, doc in enumerate(task.eval_docs):
        try:
            task.doc_to_text(doc)
            task.doc_to_target(doc)
            if task.get_config("doc_to_choice") is not None:
                task.doc_to_choice(doc)
        except Exception:  # noqa: BLE001 - only its place is wanted
            return f"row {number}"
    return "some row"


def _check_texts(loaded: LoadedTask, texts: list[str], findings: Findings) -> None:
    """Prompts without text, and one prompt for all rows."""

    def is_empty(number: int, _requests: list[Any]) -> bool:
        return not loaded.prompt(number).strip()

    empty = _rows_where(loaded, is_empty)
    if empty:
        loaded.report(findings, "EP404", "doc_to_text", f"empty prompts in {listed(empty)}")
    elif len(texts) > 1 and len(set(texts)) == 1:
        _check_column(loaded, "EP303", "doc_to_text", findings)


def _check_column(loaded: LoadedTask, code: str, key: str, findings: Findings) -> None:
    """Reports a template that is meant as a column's name, but that no column has.

    lm-eval takes it as the text itself, which is then the same in all rows.
    """
    text = loaded.leaf.config.get(key)
    if not isinstance(text, str) or "{{" in text or "{%" in text:
        return
    columns = list(getattr(loaded.task, "features", []) or [])
    if text in columns:
        return
    what = f"{text!r} is not a column"
    fix = near(text, columns) or f"columns: {', '.join(columns)}"
    as_jinja = with_places(text, columns, "{{", "}}")
    if as_jinja != text:
        fix = f"write {as_jinja!r}: lm-eval reads columns between two braces on each side"
    elif misspelt := unknown_names(text, columns, strict=False):
        name = misspelt[0]
        fix = f"{{{name}}}: {near(name, columns)}; write a column between two braces on each side"
    findings.add_at(code, loaded.leaf, key, what, fix=fix)


def _rows_where(loaded: LoadedTask, holds: Callable[[int, list[Any]], bool]) -> list[str]:
    """The names of the rows for which something holds; a row that raises is reported as EP304."""
    names = []
    for number, requests in loaded.instances.items():
        with contextlib.suppress(Exception):
            if holds(number, requests):
                names.append(loaded.row_name(number))
    return names


def _check_targets(loaded: LoadedTask, findings: Findings) -> None:
    """A rendered gold answer that looks like a list becomes one.

    The first row decides how all are compared.
    """

    def is_list(_number: int, requests: list[Any]) -> bool:
        target = loaded.task.doc_to_target(requests[0].doc)
        return isinstance(target, list)

    def is_no_list(number: int, requests: list[Any]) -> bool:
        return not is_list(number, requests)

    lists = _rows_where(loaded, is_list)
    others = _rows_where(loaded, is_no_list)
    if lists and others:
        places = f"a list (first in {lists[0]}), no list (first in {others[0]})"
        what = f"the gold answer is {places}"
        loaded.report(findings, "EP409", "doc_to_target", what)
    word = loaded.leaf.config.get("doc_to_target")
    options = loaded.leaf.config.get("doc_to_choice")
    is_option = isinstance(options, list) and word in options
    if len(loaded.instances) > 1 and str(word).isidentifier() and not is_option:
        _check_column(loaded, "EP307", "doc_to_target", findings)


def _check_examples(loaded: LoadedTask, findings: Findings) -> None:
    """A row among its own few-shot examples.

    lm-eval leaves a row out of its examples only where `fewshot_split` is the test split; not where
    the examples come from the evaluated split by default, or where that split is the validation
    split.
    """
    if not loaded.task.get_config("num_fewshot"):
        return

    def leaks(number: int, requests: list[Any]) -> bool:
        text = loaded.task.doc_to_text(requests[0].doc)
        if not isinstance(text, str) or not text.strip():
            return False
        whole = re.compile(re.escape(text.strip()) + r"(?!\w)")
        occurrences = whole.findall(loaded.prompt(number))
        return len(occurrences) > 1

    leaking = _rows_where(loaded, leaks)
    if leaking:
        loaded.report(findings, "EP413", "fewshot_split", listed(leaking))


def _check_repeated(loaded: LoadedTask, findings: Findings) -> None:
    """Rows that send the same requests and have the same gold answer.

    Rows of one cluster are variants of one question, and a variant may come out as the original
    was.
    """
    clusters_of: dict[tuple[str, ...], set[object]] = {}

    def is_repeated(number: int, requests: list[Any]) -> bool:
        doc = requests[0].doc
        target = str(loaded.task.doc_to_target(doc))
        texts: list[str] = []
        for request in requests:
            texts += [part for part in request.args if isinstance(part, str)]
        question = (*texts, target)
        cluster = doc.get("cluster_id") if isinstance(doc, Mapping) else None
        own_cluster = number if cluster is None else cluster
        clusters = clusters_of.setdefault(question, set())
        stands_elsewhere = bool(clusters - {own_cluster})
        clusters.add(own_cluster)
        return stands_elsewhere

    repeated = _rows_where(loaded, is_repeated)
    if repeated:
        what = f"as before in {listed(repeated)}"
        loaded.report(findings, "EP414", "dataset_path", what)


def _check_continuations(loaded: LoadedTask, findings: Findings) -> None:
    """Likelihood requests: what is to be continued with nothing, and how both parts meet."""

    def rows_with(holds: Callable[[str, str], bool]) -> list[str]:
        def holds_for_pair(_number: int, requests: list[Any]) -> bool:
            pairs = [request.args for request in requests if _is_likelihood(request)]
            return any(holds(*pair) for pair in pairs)

        return _rows_where(loaded, holds_for_pair)

    for code, words, holds in (
        ("EP415", "", _is_empty),
        ("EP612", "two spaces in ", _has_two_blanks),
        ("EP612", "no blank between two words in ", _joins_words),
    ):
        rows = rows_with(holds)
        if rows:
            loaded.report(findings, code, "target_delimiter", f"{words}{listed(rows)}")


def _is_likelihood(request: Any) -> bool:
    """Returns whether a request has a context and a continuation."""
    return request.request_type == "loglikelihood" and len(request.args) > 1


def _is_empty(_context: str, continuation: str) -> bool:
    return not continuation


def _has_two_blanks(context: str, continuation: str) -> bool:
    if continuation.startswith("  "):
        return True
    return context.endswith(" ") and continuation.startswith(" ")


def _joins_words(context: str, continuation: str) -> bool:
    return _is_word(context[-1:]) and _is_word(continuation[:1])


def _is_word(character: str) -> bool:
    """Letters of scripts that part words with blanks; others write them without."""
    return character.isascii() and character.isalnum()


def _check_patterns(loaded: LoadedTask, prompts: list[str], findings: Findings) -> None:
    """Filters that look for a mark that no prompt asks for."""
    for name, step in loaded.leaf.filter_steps:
        pattern = str(step.get("regex_pattern") or "")
        pattern = pattern.replace("\\\\", "\\")
        marks = [mark for mark in MARKS if mark in pattern]
        if not marks:
            continue
        is_asked_for = any(mark in prompt for mark, prompt in product(marks, prompts))
        if not is_asked_for:
            absence = f"which is in none of {len(prompts)} prompts"
            what = f"the filter {name} looks for {marks[0]}, {absence}"
            loaded.report(findings, "EP237", "filter_list", what)


def _check_letters(loaded: LoadedTask, findings: Findings) -> None:
    """Reports gold answers that are letters, where no filter takes a letter out of a long reply."""
    leaf = loaded.leaf
    if len(loaded.instances) < SEVERAL or _extracts(leaf):
        return
    limit = leaf.generation.get("max_gen_toks")
    length = limit if isinstance(limit, int) else DEFAULT_LENGTH
    golds = set()
    for requests in loaded.instances.values():
        with contextlib.suppress(Exception):  # reported as EP304
            target = loaded.task.doc_to_target(requests[0].doc)
            golds.add(str(target).strip())
    are_letters = bool(golds) and all(map(_LETTER.fullmatch, golds))
    if are_letters and length > SHORT_REPLY:
        letters = ", ".join(sorted(golds)[:4])
        replies = f"replies have up to {length} tokens"
        what = f"gold answers are {letters}, and {replies}"
        loaded.report(findings, "EP238", "filter_list", what)


_LETTER = re.compile(r"\(?[A-Z]\)?")


def _extracts(leaf: Leaf) -> bool:
    """Returns whether something takes the answer out of a reply.

    A scorer of its own, a filter, or what a metric ignores.
    """
    if leaf.config.get("process_results") is not None:
        return True
    functions = [step.get("function") for _, step in leaf.filter_steps]
    if any(function not in _PLAIN_FILTERS for function in functions):
        return True
    entries = leaf.config.get("metric_list") or []
    metrics = [entry for entry in entries if isinstance(entry, dict)]
    return any("regexes_to_ignore" in metric for metric in metrics)


_PLAIN_FILTERS = frozenset({"take_first", "remove_whitespace"})


@dataclass(frozen=True)
class _Choice:
    """The choices of one row and its gold answers."""

    row: str
    choices: list[Any]
    gold: Any

    @property
    def is_wrong(self) -> bool:
        """A gold answer that is no choice: another text, or a number outside of the list."""
        golds = self.gold if isinstance(self.gold, list) else [self.gold]
        return any(position_of(gold, self.choices) is None for gold in golds)

    @property
    def repeats(self) -> bool:
        """A choice that occurs twice."""
        different = set(map(str, self.choices))
        return len(different) < len(self.choices)


def _check_choices(loaded: LoadedTask, findings: Findings) -> None:
    """Reports gold answers that are no choice, count from one or never vary.

    Choices that occur twice are reported, too.
    """
    key = "doc_to_target"
    task = loaded.task
    # Where the choices are contexts (as in Winogrande), doc_to_text is the place of the right one.
    gold_of = task.doc_to_text if task.multiple_input else task.doc_to_target
    rows = []
    for number, requests in loaded.instances.items():
        doc = requests[0].doc
        with contextlib.suppress(Exception):  # reported as EP304
            name = loaded.row_name(number)
            row = _Choice(name, task.doc_to_choice(doc), gold_of(doc))
            rows.append(row)
    wrong = [row.row for row in rows if row.is_wrong]
    # A scorer of the task's own may ask something else than which choice is right.
    has_scorer = loaded.leaf.config.get("process_results") is not None
    if wrong and _count_from_one(rows):
        last = max(row.gold for row in rows)
        what = f"the gold index is from 1 to {last}"
        loaded.report(findings, "EP419", key, what)
    elif wrong:
        what = f"the gold answer is not among the choices in {listed(wrong)}"
        loaded.report(findings, "EP411", key, what)
    elif not has_scorer and _never_varies(rows):
        what = f"the gold answer is {rows[0].gold!r} in all {len(rows)} rows"
        loaded.report(findings, "EP418", key, what)
    twice = [row.row for row in rows if row.repeats]
    if twice:
        loaded.report(findings, "EP416", "doc_to_choice", listed(twice))


def are_choices_odd(loaded: LoadedTask) -> bool:
    """Returns whether something is to report on the choices of some rows, and how they are sent."""
    findings = Findings()
    _check_continuations(loaded, findings)
    _check_choices(loaded, findings)
    return bool(len(findings))


def _count_from_one(rows: list[_Choice]) -> bool:
    are_numbers = all(isinstance(row.gold, int) for row in rows)
    if not are_numbers:
        return False
    return all(1 <= row.gold <= len(row.choices) for row in rows)


def _never_varies(rows: list[_Choice]) -> bool:
    if len(rows) < SEVERAL or len(rows[0].choices) < 2:
        return False
    return len({str(row.gold) for row in rows}) == 1
