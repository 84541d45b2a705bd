"""EP303, EP304 and what else the requests show that lm-eval would send for each row."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from typing import Any

from evalprep.check.bound import TimeBoundError, cpu_bound
from evalprep.check.data import listed
from evalprep.check.finding import Findings
from evalprep.check.loading import LoadedTask, first_line
from evalprep.check.quiet import quiet
from evalprep.check.settings import RunSettings
from evalprep.errors import near

ChatTemplate = Callable[..., str]
MARKS = ("####", "\\boxed", "<answer>", "[[")
"""Marks that a model writes where it is told to, and hardly ever of its own accord."""
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
            findings.add(
                "EP304",
                leaf.where("doc_to_text"),
                f"{leaf.name}: building the prompts does not end within {BUILDING_SECONDS:g} s of CPU",
                task=leaf.name,
            )
            return
        except Exception as error:  # noqa: BLE001 - templates and functions of tasks raise anything
            findings.add(
                "EP304",
                leaf.where("doc_to_text"),
                f"{leaf.name}, {_failing_row(task)}: {type(error).__name__}: {first_line(error)}",
                task=leaf.name,
            )
            return
    for instance in task.instances:
        loaded.instances.setdefault(instance.doc_id, []).append(instance)
    for requests in loaded.instances.values():
        requests.sort(key=lambda instance: instance.idx)
    kinds = {instance.request_type for instance in task.instances}
    loaded.own = leaf.file.kind == "class" or not kinds <= {"generate_until", "loglikelihood", "loglikelihood_rolling"}
    _check_prompts(loaded, findings)


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
    leaf, rows = loaded.leaf, loaded.instances
    prompts = {number: loaded.prompt(number) for number in rows}
    generates = all(requests[0].request_type == "generate_until" for requests in rows.values())
    empty = [loaded.row_name(number) for number, text in prompts.items() if not text.strip()]
    if generates and empty:
        findings.add(
            "EP404",
            leaf.where("doc_to_text"),
            f"{leaf.name}: empty prompts in {listed(empty, len(empty))}",
            task=leaf.name,
        )
    text = leaf.config.get("doc_to_text")
    constant = len(prompts) > 1 and len(set(prompts.values())) == 1
    if isinstance(text, str) and constant and generates and not empty and "{{" not in text and "{%" not in text:
        columns = list(getattr(loaded.task, "features", []) or [])
        if text not in columns:
            findings.add(
                "EP303",
                leaf.where("doc_to_text"),
                f"{text!r} is no column",
                task=leaf.name,
                fix=near(text, columns) or f"columns: {', '.join(columns)}",
            )
    if not loaded.own:
        _check_targets(loaded, findings)
        _check_examples(loaded, findings)
        _check_repeated(loaded, findings)
        _check_continuations(loaded, findings)
        if generates and prompts:
            _check_extraction(loaded, findings)
        if leaf.output_type == "multiple_choice":
            _check_choices(loaded, findings)


def _check_targets(loaded: LoadedTask, findings: Findings) -> None:
    """A rendered gold answer that looks like a list becomes one; the first row decides how all are compared."""
    kinds: dict[str, str] = {}
    for number, requests in loaded.instances.items():
        with contextlib.suppress(Exception):  # reported as EP304
            target = loaded.task.doc_to_target(requests[0].doc)
            kinds.setdefault("a list" if isinstance(target, list) else "no list", loaded.row_name(number))
    if len(kinds) > 1:
        found = ", ".join(f"{kind} (first in {row})" for kind, row in kinds.items())
        findings.add(
            "EP409", loaded.leaf.where("doc_to_target"), f"{loaded.name}: the gold answer is {found}", task=loaded.name
        )


def _check_examples(loaded: LoadedTask, findings: Findings) -> None:
    """A row among its own few-shot examples.

    lm-eval leaves a row out of its examples only where `fewshot_split` is the test split; not where the examples come
    from the evaluated split by default, or where that split is the validation split.
    """
    if not loaded.task.get_config("num_fewshot"):
        return
    leaking = []
    for number, requests in loaded.instances.items():
        text = None
        with contextlib.suppress(Exception):  # reported as EP304
            text = loaded.task.doc_to_text(requests[0].doc)
        if isinstance(text, str) and text.strip():
            whole = re.compile(re.escape(text.strip()) + r"(?!\w)")
            if len(whole.findall(loaded.prompt(number))) > 1:
                leaking.append(loaded.row_name(number))
    if leaking:
        findings.add(
            "EP413",
            loaded.leaf.where("fewshot_split"),
            f"{loaded.name}: {listed(leaking, len(leaking))}",
            task=loaded.name,
        )


def _check_repeated(loaded: LoadedTask, findings: Findings) -> None:
    """Rows that send the same requests and have the same gold answer."""
    seen: set[tuple[str, ...]] = set()
    repeated = []
    for number, requests in loaded.instances.items():
        with contextlib.suppress(Exception):  # reported as EP304
            texts = (one for request in requests for one in request.args if isinstance(one, str))
            key = (*texts, str(loaded.task.doc_to_target(requests[0].doc)))
            if key in seen:
                repeated.append(loaded.row_name(number))
            seen.add(key)
    if repeated:
        findings.add(
            "EP414",
            loaded.leaf.where("dataset_path"),
            f"{loaded.name}: as before in {listed(repeated, len(repeated))}",
            task=loaded.name,
        )


def _check_continuations(loaded: LoadedTask, findings: Findings) -> None:
    """Likelihood requests: what is to be continued with nothing, and how both parts meet."""
    where, task = loaded.leaf.where("target_delimiter"), loaded.name
    empty, blanks, joined = [], [], []
    for number, requests in loaded.instances.items():
        pairs = [one.args for one in requests if one.request_type == "loglikelihood" and len(one.args) > 1]
        if any(not continuation for _, continuation in pairs):
            empty.append(loaded.row_name(number))
        if any(
            continuation.startswith("  ") or (context.endswith(" ") and continuation.startswith(" "))
            for context, continuation in pairs
        ):
            blanks.append(loaded.row_name(number))
        if any(_is_word(context[-1:]) and _is_word(continuation[:1]) for context, continuation in pairs):
            joined.append(loaded.row_name(number))
    if empty:
        findings.add("EP415", where, f"{task}: {listed(empty, len(empty))}", task=task)
    if blanks:
        findings.add("EP612", where, f"{task}: two blanks in {listed(blanks, len(blanks))}", task=task)
    if joined:
        findings.add("EP612", where, f"{task}: no blank between two words in {listed(joined, len(joined))}", task=task)


def _check_extraction(loaded: LoadedTask, findings: Findings) -> None:
    """Filters that look for what no prompt asks for, and letters that nothing takes out of the reply."""
    leaf, task = loaded.leaf, loaded.name
    prompts = [loaded.prompt(number) for number in loaded.instances]
    entries = leaf.config.get("filter_list")
    steps = [
        (str(entry.get("name")), step)
        for entry in (entries if isinstance(entries, list) else [])
        if isinstance(entry, dict)
        for step in entry.get("filter") or []
        if isinstance(step, dict)
    ]
    for name, step in steps:
        pattern = str(step.get("regex_pattern") or "").replace("\\\\", "\\")
        marks = [mark for mark in MARKS if mark in pattern]
        if marks and not any(mark in prompt for mark in marks for prompt in prompts):
            what = f"{task}: the filter {name} looks for {marks[0]}, which is in none of {len(prompts)} prompts"
            findings.add("EP237", leaf.where("filter_list"), what, task=task)
    takes = [step for _, step in steps if step.get("function") not in {"take_first", "remove_whitespace"}]
    scored = leaf.config.get("process_results") is not None or takes
    metrics = leaf.config.get("metric_list")
    own = any(isinstance(entry, dict) and "regexes_to_ignore" in entry for entry in metrics or [])
    if scored or own or len(loaded.instances) < SEVERAL:
        return
    golds = set()
    for requests in loaded.instances.values():
        with contextlib.suppress(Exception):  # reported as EP304
            golds.add(str(loaded.task.doc_to_target(requests[0].doc)).strip())
    length = (leaf.generation.get("max_gen_toks") or 0) if isinstance(leaf.generation.get("max_gen_toks"), int) else 256
    if golds and all(re.fullmatch(r"\(?[A-Z]\)?", gold) for gold in golds) and length > SHORT_REPLY:
        what = f"{task}: gold answers are {', '.join(sorted(golds)[:4])}, and replies have up to {length} tokens"
        findings.add("EP238", leaf.where("filter_list"), what, task=task)


def _is_word(character: str) -> bool:
    """Letters of scripts that part words with blanks; others write them without."""
    return character.isascii() and character.isalnum()


def _check_choices(loaded: LoadedTask, findings: Findings) -> None:
    bad, twice = [], []
    golds: list[tuple[Any, int]] = []
    for number, requests in loaded.instances.items():
        try:
            choices = loaded.task.doc_to_choice(requests[0].doc)
            # Where the choices are contexts (as in Winogrande), doc_to_text is the place of the right one.
            place = loaded.task.doc_to_text if loaded.task.multiple_input else loaded.task.doc_to_target
            gold = place(requests[0].doc)
        except Exception:  # noqa: BLE001, S112 - reported as EP304
            continue
        if len(set(map(str, choices))) < len(choices):
            twice.append(loaded.row_name(number))
        golds.append((gold, len(choices)))
        for one in gold if isinstance(gold, list) else [gold]:
            if not (one in choices if isinstance(one, str) else isinstance(one, int) and 0 <= one < len(choices)):
                bad.append(loaded.row_name(number))
                break
    where = loaded.leaf.where("doc_to_target")
    numbers = [(gold, count) for gold, count in golds if isinstance(gold, int)]
    from_one = len(numbers) == len(golds) and bool(bad) and all(1 <= gold <= count for gold, count in numbers)
    if from_one:
        what = f"{loaded.name}: the gold index is from 1 to {max(gold for gold, _ in numbers)}"
        findings.add("EP419", where, what, task=loaded.name)
    elif not bad and len(golds) >= SEVERAL and len({str(gold) for gold, _ in golds}) == 1 and golds[0][1] > 1:
        what = f"{loaded.name}: the gold answer is {golds[0][0]!r} in all {len(golds)} rows"
        findings.add("EP418", where, what, task=loaded.name)
    if bad and not from_one:
        findings.add(
            "EP411",
            loaded.leaf.where("doc_to_target"),
            f"{loaded.name}: the gold answer is no choice in {listed(bad, len(bad))}",
            task=loaded.name,
        )
    if twice:
        findings.add(
            "EP416", loaded.leaf.where("doc_to_choice"), f"{loaded.name}: {listed(twice, len(twice))}", task=loaded.name
        )
