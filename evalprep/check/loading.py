"""EP3: the tasks as lm-eval itself loads them, and the requests that it would send."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalprep.check.data import data_files, listed
from evalprep.check.finding import Findings
from evalprep.check.settings import RunSettings
from evalprep.check.static import StaticCheck
from evalprep.check.tree import Leaf

ChatTemplate = Callable[..., str]


@dataclass
class LoadedTask:
    """One task with the requests that a run would send.

    Attributes:
        leaf: What the files say.
        task: lm-eval's object.
        instances: Requests by row, in the order of the data.
        own: The task builds requests of its own, which nothing here understands.
    """

    leaf: Leaf
    task: Any
    instances: dict[int, list[Any]] = field(default_factory=dict)
    own: bool = False

    @property
    def name(self) -> str:
        """Task name."""
        return self.leaf.name

    @property
    def generates(self) -> bool:
        """Whether every request is one generation."""
        return all(len(row) == 1 and row[0].request_type == "generate_until" for row in self.instances.values())

    def row_name(self, number: int) -> str:
        """A row's sample id, else its position."""
        doc = self.instances[number][0].doc if number in self.instances else {}
        return str(doc.get("sample_id", number)) if isinstance(doc, Mapping) else str(number)

    def prompt(self, number: int) -> str:
        """The text that the first request of a row sends."""
        arguments = self.instances[number][0].args
        return arguments[0] if arguments and isinstance(arguments[0], str) else ""


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep lm-eval's and datasets' own messages and bars off the screen; what matters of them becomes findings."""
    names = ("lm_eval", "lm-eval", "datasets", "evalprep", "custom_metrics")
    before = {name: logging.getLogger(name).level for name in names}
    for name in names:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        with contextlib.redirect_stderr(io.StringIO()):  # progress bars of half a dozen libraries
            yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)


def import_nltk() -> None:
    """Import NLTK without the packages that it uses for its classifiers and collocations, if they are not there yet.

    NLTK treats scipy and scikit-learn as optional. Importing them is 80 % of importing NLTK, 1.6 s of CPU, and nothing
    that scores replies needs those parts.
    """
    absent = [name for name in ("scipy", "scipy.stats", "sklearn") if name not in sys.modules]
    if "nltk" in sys.modules or importlib.util.find_spec("nltk") is None:
        return
    for name in absent:
        sys.modules[name] = None  # type: ignore[assignment]  # Python's mark of a module that cannot be imported
    try:
        with contextlib.suppress(Exception):
            importlib.import_module("nltk")
    finally:
        for name in absent:
            sys.modules.pop(name, None)


def load_tasks(static: StaticCheck, settings: RunSettings, findings: Findings) -> list[LoadedTask]:
    """Load every task that has no error so far through lm-eval's TaskManager, without lm-eval's own 14,000 files."""
    with quiet():
        from lm_eval.tasks import TaskManager

        metadata = {
            key: value for key, value in settings.model_args.items() if isinstance(value, str | int | float | bool)
        }
        manager = TaskManager(
            include_path=[str(root) for root in static.tree.roots], include_defaults=False, metadata=metadata
        )
        objects: dict[str, Any] = {}
        for name in static.requested:
            # A group is loaded whole, as the run will; a failure is then looked for task by task.
            with contextlib.suppress(Exception):
                objects.update(manager.load([name])["tasks"])
        loaded = []
        for leaf in static.leaves:
            task = objects.get(leaf.name)
            if task is None:
                if not findings.has_errors(leaf.name):
                    task = _load_alone(manager, leaf, findings)
                if task is None:
                    continue
            loaded.append(LoadedTask(leaf, task))
    return loaded


def _load_alone(manager: Any, leaf: Leaf, findings: Findings) -> Any:
    try:
        return manager.load([leaf.name])["tasks"].get(leaf.name)
    except Exception as error:  # noqa: BLE001 - whatever a task's code raises is what we are here to report
        if _is_absent_data(error, leaf):
            findings.add(
                "EP302",
                leaf.where("dataset_path"),
                f"{leaf.config.get('dataset_path')}: {_first_line(error)}",
                task=leaf.name,
            )
        else:
            findings.add(
                "EP301", leaf.where(), f"{leaf.name}: {type(error).__name__}: {_first_line(error)}", task=leaf.name
            )
        return None


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:300] if lines else "no message"


def _is_absent_data(error: BaseException, leaf: Leaf) -> bool:
    """A hub data set that is not in the cache of a machine without network; local files are another matter."""
    names = {kind.__name__ for kind in type(error).__mro__}
    absent = {
        "ConnectionError",
        "OfflineModeIsEnabled",
        "DatasetNotFoundError",
        "LocalEntryNotFoundError",
        "HfHubHTTPError",
    }
    return bool(names & absent) and not data_files(leaf) and not Path(str(leaf.config.get("dataset_path"))).exists()


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
            task.build_all_requests(
                limit=rows,
                rank=0,
                world_size=1,
                system_instruction=settings.system_instruction,
                apply_chat_template=chat_template is not None,
                chat_template=chat_template,
                tokenizer_name="",
                fewshot_as_multiturn=settings.fewshot_as_multiturn is not False,
            )
        except Exception as error:  # noqa: BLE001 - templates and functions of tasks raise anything
            findings.add(
                "EP304",
                leaf.where("doc_to_text"),
                f"{leaf.name}, {_failing_row(task)}: {type(error).__name__}: {_first_line(error)}",
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
    if settings.gen_kwargs and task.get_config("output_type") == "generate_until":
        task.set_config(key="generation_kwargs", value=dict(settings.gen_kwargs), update=True)
    shots = task.get_config("num_fewshot")
    if shots is None or (settings.num_fewshot is not None and shots != 0):
        task.set_config(key="num_fewshot", value=settings.num_fewshot or 0)
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
            from evalprep.errors import near

            findings.add(
                "EP303",
                leaf.where("doc_to_text"),
                f"{text!r} is no column",
                task=leaf.name,
                fix=near(text, columns) or f"columns: {', '.join(columns)}",
            )
    if not loaded.own:
        _check_targets(loaded, findings)
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


def _check_choices(loaded: LoadedTask, findings: Findings) -> None:
    bad = []
    for number, requests in loaded.instances.items():
        try:
            choices = loaded.task.doc_to_choice(requests[0].doc)
            gold = loaded.task.doc_to_target(requests[0].doc)
        except Exception:  # noqa: BLE001, S112 - reported as EP304
            continue
        for one in gold if isinstance(gold, list) else [gold]:
            if not (one in choices if isinstance(one, str) else isinstance(one, int) and 0 <= one < len(choices)):
                bad.append(loaded.row_name(number))
                break
    if bad:
        findings.add(
            "EP411",
            loaded.leaf.where("doc_to_target"),
            f"{loaded.name}: the gold answer is no choice in {listed(bad, len(bad))}",
            task=loaded.name,
        )
