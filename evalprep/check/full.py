"""The whole check: files, then lm-eval's own loading, prompts, tokens and scoring.

No model is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from evalprep.check.chat import chat_template, check_template
from evalprep.check.files import is_stock, spare_stock
from evalprep.check.finding import Findings
from evalprep.check.functions import function_refs
from evalprep.check.loading import LoadedTask, import_nltk, load_tasks
from evalprep.check.prompts import UnlikeSampleError, check_prompts, check_stops
from evalprep.check.requests import build_requests
from evalprep.check.scorer import Scorer
from evalprep.check.scoring import check_scoring
from evalprep.check.settings import RunSettings
from evalprep.check.silence import stdout_is_ours
from evalprep.check.static import StaticCheck, check_static
from evalprep.model import Tokenizer, load_tokenizer, model_folder


@dataclass
class FullCheck:
    """The result of the whole check.

    Attributes:
        static: The part from files alone.
        loaded: Tasks that lm-eval could load, with their requests.
        scorers: Task -> its filters and scorer, for tasks whose scoring was checked.
        tokenizer: The model's tokenizer, None when it is not here.
    """

    static: StaticCheck
    loaded: list[LoadedTask]
    scorers: dict[str, Scorer]
    tokenizer: Tokenizer | None

    @property
    def samples(self) -> list[str]:
        """One line per task of which not every row was built and scored."""
        return [
            f"{task.name}: {len(task.instances):,} of {task.rows.count:,} rows built and scored; "
            "ids, empty cells, prompt lengths, begin-of-text and chat markup looked at in all"
            for task in self.loaded
            if task.rows is not None and task.is_sample
        ]


def find_tokenizer(settings: RunSettings) -> Tokenizer | None:
    """The tokenizer that the run will use, when it is on this machine."""
    return load_tokenizer(model_folder(settings.tokenizer or settings.model, settings.folder))


def check_full(
    roots: Sequence[Path],
    requested: Sequence[str] | None,
    settings: RunSettings,
    findings: Findings,
    *,
    rows: int | None = None,
    scored: int | None = None,
    hard: bool = False,
    every_row: bool = False,
    progress: Callable[[str], None] = lambda _: None,
    after_files: Callable[[], None] = lambda: None,
) -> FullCheck:
    """Checks everything that can be known without the model.

    Args:
        roots: Include paths.
        requested: Names for `--tasks`, None for all tasks.
        settings: The run.
        findings: Gets what is found.
        rows: Look at the first rows of each task only.
        scored: Try the scoring of the first rows of each task only.
        hard: Also score replies on which extraction and parsing get slow; seconds to minutes per
            task.
        every_row: Build and score the requests of every row, also of large tasks.
        progress: Told what is being looked at.
        after_files: Called when the files are checked and nothing is loaded yet; may raise, which
            ends the check.
    """
    with stdout_is_ours():
        every_row = every_row or rows is not None
        progress("files")
        static = check_static(roots, requested, settings, findings)
        after_files()
        tokenizer = find_tokenizer(settings)
        if tokenizer is None:
            asks_model = any(leaf.name not in settings.stored_tasks for leaf in static.leaves)
            if asks_model and settings.has_model:
                name = settings.tokenizer or settings.model or "no model named"
                findings.add("EP601", "tokenizer", name)
        progress("loading tasks")
        loaded = load_tasks(static, settings, findings, every_row=every_row)
        # The template is looked at once, where some task gets it.
        some_chat = settings.apply_chat_template or bool(settings.chat_tasks)
        of_some = replace(settings, apply_chat_template=some_chat)
        generates = any(leaf.output_type == "generate_until" for leaf in static.leaves)
        check_template(tokenizer, of_some, generates, findings)
        refs = chain.from_iterable(function_refs(leaf.config) for leaf in static.leaves)
        if any("ifeval" in ref.spec for ref in refs):
            import_nltk()
        scorers: dict[str, Scorer] = {}
        for task in loaded:
            progress(f"{task.name}: prompts")
            _check_requests(task, settings, tokenizer, findings, rows, scored)
            count = len(task.instances)
            progress(f"{task.name}: scoring {min(count, scored or count)} rows")
            scorer = check_scoring(task, findings, rows=scored, hard=hard)
            if scorer is not None:
                scorers[task.name] = scorer
            if task.name not in settings.stored_tasks:
                check_stops(task, tokenizer, scorer, findings)
        spare_stock(findings, named=all(map(is_stock, static.tree.roots)))
        return FullCheck(static, loaded, scorers, tokenizer)


def _check_requests(
    task: LoadedTask,
    settings: RunSettings,
    tokenizer: Tokenizer | None,
    findings: Findings,
    rows: int | None,
    scored: int | None,
) -> None:
    """Builds a task's requests and checks its prompts.

    Of a sample too: but where a row of the others has what only its requests tell, all are built.
    """
    own = settings.of(task.name)
    if task.name in settings.stored_tasks:
        # Its prompts reach no model: only rows that are scored matter.
        build_requests(task, own, None, findings, scored or rows)
        return
    of_sample = Findings()
    try:
        _build_and_check(task, own, tokenizer, of_sample, rows)
    except UnlikeSampleError:
        task.take_every_row()
        of_sample = Findings()
        _build_and_check(task, own, tokenizer, of_sample, rows)
    findings.extend(of_sample.sorted())


def _build_and_check(
    task: LoadedTask,
    settings: RunSettings,
    tokenizer: Tokenizer | None,
    findings: Findings,
    rows: int | None,
) -> None:
    """Builds requests under the chat template, which may drop a system message, and looks at them.

    Raises:
        UnlikeSampleError: the requests of every row must be built.
    """
    template = chat_template(tokenizer, settings)
    build_requests(task, settings, template, findings, rows)
    if template is not None and template.dropped:
        task.report(findings, "EP614", "description", "no system message")
    check_prompts(task, settings, tokenizer, findings)
