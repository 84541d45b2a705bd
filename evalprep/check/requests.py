"""EP303, EP304 and what else the requests show that lm-eval would send for each row."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from evalprep.check.bound import TimeBoundError, cpu_bound
from evalprep.check.data import listed
from evalprep.check.finding import Findings
from evalprep.check.loading import LoadedTask, first_line
from evalprep.check.settings import DEFAULT_LENGTH, RunSettings
from evalprep.check.silence import quiet
from evalprep.check.tree import Leaf
from evalprep.errors import near

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
        findings.add_at("EP304", leaf, "doc_to_text", f"{leaf.name}{failure}")
        return
    for instance in task.instances:
        loaded.instances.setdefault(instance.doc_id, []).append(instance)
    for requests in loaded.instances.values():
        requests.sort(key=lambda instance: instance.idx)
    kinds = {instance.request_type for instance in task.instances}
    loaded.generates = all(map(_is_generation, loaded.instances.values()))
    loaded.own = leaf.file.kind == "class" or not kinds <= _KINDS
    _check_prompts(loaded, findings)


def _is_generation(requests: list[Any]) -> bool:
    """Returns whether a row sends one request, for a text."""
    return len(requests) == 1 and requests[0].request_type == "generate_until"


def _build(
    task: Any, settings: RunSettings, chat_template: ChatTemplate | None, rows: int | None
) -> str:
    """Let the task build its requests; returns what went wrong, to stand behind the task's name."""
    with quiet():
        _configure(task, settings)
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
            return f", {_failing_row(task)}: {type(error).__name__}: {first_line(error)}"
    return ""


def _configure(task: Any, settings: RunSettings) -> None:
    """The changes that lm-eval makes to a task between loading and building requests."""
    if settings.core.gen_kwargs and task.get_config("output_type") == "generate_until":
        task.set_config(key="generation_kwargs", value=dict(settings.core.gen_kwargs), update=True)
    shots = task.get_config("num_fewshot")
    if shots is None or (settings.core.num_fewshot is not None and shots != 0):
        task.set_config(key="num_fewshot", value=settings.core.num_fewshot or 0)
    task.set_fewshot_seed(seed=1234)


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


def _check_prompts(loaded: LoadedTask, findings: Findings) -> None:
    texts = [loaded.prompt(number) for number in loaded.instances]
    if loaded.generates:
        _check_texts(loaded, texts, findings)
    if loaded.own:
        return
    _check_targets(loaded, findings)
    _check_examples(loaded, findings)
    _check_repeated(loaded, findings)
    _check_continuations(loaded, findings)
    if loaded.generates and texts:
        _check_patterns(loaded, texts, findings)
        _check_letters(loaded, findings)
    if loaded.leaf.output_type == "multiple_choice":
        _check_choices(loaded, findings)


def _check_texts(loaded: LoadedTask, texts: list[str], findings: Findings) -> None:
    """Prompts without text, and one prompt for all rows."""
    empty = _rows_where(loaded, lambda number, _: not loaded.prompt(number).strip())
    if empty:
        what = f"{loaded.name}: empty prompts in {listed(empty, len(empty))}"
        findings.add_at("EP404", loaded.leaf, "doc_to_text", what)
    elif len(texts) > 1 and len(set(texts)) == 1:
        _check_column(loaded, findings)


def _check_column(loaded: LoadedTask, findings: Findings) -> None:
    """A prompt that is the same in all rows.

    `doc_to_text` may be a column's name that no column has.
    """
    text = loaded.leaf.config.get("doc_to_text")
    if not isinstance(text, str) or "{{" in text or "{%" in text:
        return
    columns = list(getattr(loaded.task, "features", []) or [])
    if text not in columns:
        fix = near(text, columns) or f"columns: {', '.join(columns)}"
        findings.add_at("EP303", loaded.leaf, "doc_to_text", f"{text!r} is no column", fix=fix)


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
        return isinstance(loaded.task.doc_to_target(requests[0].doc), list)

    def is_no_list(number: int, requests: list[Any]) -> bool:
        return not is_list(number, requests)

    lists, others = _rows_where(loaded, is_list), _rows_where(loaded, is_no_list)
    if lists and others:
        what = (
            f"{loaded.name}: the gold answer is a list (first in {lists[0]}), no list (first in "
            f"{others[0]})"
        )
        findings.add_at("EP409", loaded.leaf, "doc_to_target", what)


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
        return len(whole.findall(loaded.prompt(number))) > 1

    leaking = _rows_where(loaded, leaks)
    if leaking:
        what = f"{loaded.name}: {listed(leaking, len(leaking))}"
        findings.add_at("EP413", loaded.leaf, "fewshot_split", what)


def _check_repeated(loaded: LoadedTask, findings: Findings) -> None:
    """Rows that send the same requests and have the same gold answer.

    Rows of one cluster are variants of one question, and a variant may come out as the original
    was.
    """
    clusters_of: dict[tuple[str, ...], set[object]] = {}

    def is_repeated(number: int, requests: list[Any]) -> bool:
        doc = requests[0].doc
        parts = chain.from_iterable(request.args for request in requests)
        texts = [part for part in parts if isinstance(part, str)]
        question = (*texts, str(loaded.task.doc_to_target(doc)))
        cluster = doc.get("cluster_id") if isinstance(doc, Mapping) else None
        own_cluster = number if cluster is None else cluster
        clusters = clusters_of.setdefault(question, set())
        stands_elsewhere = bool(clusters - {own_cluster})
        clusters.add(own_cluster)
        return stands_elsewhere

    repeated = _rows_where(loaded, is_repeated)
    if repeated:
        what = f"{loaded.name}: as before in {listed(repeated, len(repeated))}"
        findings.add_at("EP414", loaded.leaf, "dataset_path", what)


def _pairs(requests: list[Any]) -> list[tuple[str, str]]:
    """Context and continuation of the likelihood requests of a row."""
    return [
        request.args
        for request in requests
        if request.request_type == "loglikelihood" and len(request.args) > 1
    ]


def _check_continuations(loaded: LoadedTask, findings: Findings) -> None:
    """Likelihood requests: what is to be continued with nothing, and how both parts meet."""

    def rows_with(holds: Callable[[str, str], bool]) -> str:
        rows = _rows_where(
            loaded, lambda _number, requests: any(holds(*pair) for pair in _pairs(requests))
        )
        return listed(rows, len(rows)) if rows else ""

    for code, words, holds in (
        ("EP415", "", _is_empty),
        ("EP612", "two blanks in ", _has_two_blanks),
        ("EP612", "no blank between two words in ", _joins_words),
    ):
        rows = rows_with(holds)
        if rows:
            what = f"{loaded.name}: {words}{rows}"
            findings.add_at(code, loaded.leaf, "target_delimiter", what)


def _is_empty(_context: str, continuation: str) -> bool:
    return not continuation


def _has_two_blanks(context: str, continuation: str) -> bool:
    return continuation.startswith("  ") or (context.endswith(" ") and continuation.startswith(" "))


def _joins_words(context: str, continuation: str) -> bool:
    return _is_word(context[-1:]) and _is_word(continuation[:1])


def _is_word(character: str) -> bool:
    """Letters of scripts that part words with blanks; others write them without."""
    return character.isascii() and character.isalnum()


def _check_patterns(loaded: LoadedTask, prompts: list[str], findings: Findings) -> None:
    """Filters that look for a mark that no prompt asks for."""
    for name, step in loaded.leaf.filter_steps:
        pattern = str(step.get("regex_pattern") or "").replace("\\\\", "\\")
        marks = [mark for mark in MARKS if mark in pattern]
        is_asked_for = any(mark in prompt for mark in marks for prompt in prompts)
        if marks and not is_asked_for:
            what = (
                f"{loaded.name}: the filter {name} looks for {marks[0]}, which is in none of "
                f"{len(prompts)} prompts"
            )
            findings.add_at("EP237", loaded.leaf, "filter_list", what)


def _check_letters(loaded: LoadedTask, findings: Findings) -> None:
    """Reports gold answers that are letters, where no filter takes a letter out of a long reply."""
    leaf = loaded.leaf
    if len(loaded.instances) < SEVERAL or _extracts(leaf):
        return
    golds = _gold_words(loaded)
    limit = leaf.generation.get("max_gen_toks")
    length = limit if isinstance(limit, int) else DEFAULT_LENGTH
    are_letters = bool(golds) and all(re.fullmatch(r"\(?[A-Z]\)?", gold) for gold in golds)
    if are_letters and length > SHORT_REPLY:
        what = (
            f"{loaded.name}: gold answers are {', '.join(sorted(golds)[:4])}, and replies have up "
            f"to {length} tokens"
        )
        findings.add_at("EP238", leaf, "filter_list", what)


def _extracts(leaf: Leaf) -> bool:
    """Returns whether something takes the answer out of a reply.

    A scorer of its own, a filter, or what a metric ignores.
    """
    plain = {"take_first", "remove_whitespace"}
    filters = any(step.get("function") not in plain for _, step in leaf.filter_steps)
    metrics = [entry for entry in leaf.config.get("metric_list") or [] if isinstance(entry, dict)]
    ignores = any("regexes_to_ignore" in entry for entry in metrics)
    return leaf.config.get("process_results") is not None or filters or ignores


def _gold_words(loaded: LoadedTask) -> set[str]:
    golds = set()
    for requests in loaded.instances.values():
        with contextlib.suppress(Exception):  # reported as EP304
            golds.add(str(loaded.task.doc_to_target(requests[0].doc)).strip())
    return golds


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
        return not all(self._is_choice(gold) for gold in golds)

    @property
    def repeats(self) -> bool:
        """A choice that occurs twice."""
        return len(set(map(str, self.choices))) < len(self.choices)

    def _is_choice(self, gold: Any) -> bool:
        if isinstance(gold, str):
            return gold in self.choices
        return isinstance(gold, int) and 0 <= gold < len(self.choices)


def _check_repeated_choices(loaded: LoadedTask, rows: Sequence[Any], findings: Findings) -> None:
    twice = [row.row for row in rows if row.repeats]
    if twice:
        what = f"{loaded.name}: {listed(twice, len(twice))}"
        findings.add_at("EP416", loaded.leaf, "doc_to_choice", what)


def _check_choices(loaded: LoadedTask, findings: Findings) -> None:
    """Gold answers that are no choice, that count from one, that never vary.

    Choices that occur twice.
    """
    leaf, name = loaded.leaf, loaded.name
    rows = _choices(loaded)
    wrong = [row.row for row in rows if row.is_wrong]
    if wrong and _count_from_one(rows):
        what = f"{name}: the gold index is from 1 to {max(row.gold for row in rows)}"
        findings.add_at("EP419", leaf, "doc_to_target", what)
    elif wrong:
        what = f"{name}: the gold answer is no choice in {listed(wrong, len(wrong))}"
        findings.add_at("EP411", leaf, "doc_to_target", what)
    elif _never_varies(rows) and leaf.config.get("process_results") is None:
        # A scorer of the task's own may ask something else than which choice is right.
        what = f"{name}: the gold answer is {rows[0].gold!r} in all {len(rows)} rows"
        findings.add_at("EP418", leaf, "doc_to_target", what)
    _check_repeated_choices(loaded, rows, findings)


def _choices(loaded: LoadedTask) -> list[_Choice]:
    task = loaded.task
    # Where the choices are contexts (as in Winogrande), doc_to_text is the place of the right one.
    gold_of = task.doc_to_text if task.multiple_input else task.doc_to_target
    rows = []
    for number, requests in loaded.instances.items():
        doc = requests[0].doc
        with contextlib.suppress(Exception):  # reported as EP304
            rows.append(_Choice(loaded.row_name(number), task.doc_to_choice(doc), gold_of(doc)))
    return rows


def _count_from_one(rows: list[_Choice]) -> bool:
    numbers = all(isinstance(row.gold, int) for row in rows)
    return numbers and all(1 <= row.gold <= len(row.choices) for row in rows)


def _never_varies(rows: list[_Choice]) -> bool:
    golds = {str(row.gold) for row in rows}
    return len(rows) >= SEVERAL and len(golds) == 1 and len(rows[0].choices) > 1
