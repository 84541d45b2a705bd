"""EP30x: the tasks as lm-eval itself loads them."""

from __future__ import annotations

import contextlib
import importlib
import re
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

from evalprep.check.bound import TimeBoundError, cpu_bound
from evalprep.check.data import data_files
from evalprep.check.finding import Findings
from evalprep.check.functions import refs_by_key
from evalprep.check.imports import absent, is_importable, postpone
from evalprep.check.sample import TaskRows, loaded_from, task_rows
from evalprep.check.selection import select_leaves
from evalprep.check.settings import RunSettings
from evalprep.check.silence import quiet
from evalprep.check.static import StaticCheck
from evalprep.check.tree import FunctionRef, Leaf
from evalprep.data import hub_problem, parquet_schema
from evalprep.errors import BadInput, near
from evalprep.packs import stated_files

_UNDEFINED = re.compile(r"'(\w+)' is undefined")  # as Jinja words a name that a row lacks

# CPU seconds after which code of a task is taken to run for ever.
IMPORT_SECONDS, LOADING_SECONDS = 60.0, 120.0


@dataclass
class LoadedTask:
    """One task with the requests that a run would send.

    Attributes:
        leaf: What the files say.
        task: lm-eval's object.
        instances: Requests by row, in the order of the data.
        own: The task builds requests of its own, which nothing here understands.
        generates: Every request is one generation.
        rows: The rows of the data in parquet files, where they are such; some may be loaded.
    """

    leaf: Leaf
    task: Any
    instances: dict[int, list[Any]] = field(default_factory=dict)
    own: bool = False
    generates: bool = True
    rows: TaskRows | None = None

    @property
    def name(self) -> str:
        """Task name."""
        return self.leaf.name

    def row_name(self, number: int) -> str:
        """A row's sample id, else its position."""
        doc = self.instances[number][0].doc if number in self.instances else {}
        place = self.rows.positions[number] if self.rows else number
        return str(doc.get("sample_id", place)) if isinstance(doc, Mapping) else str(place)

    @property
    def is_sample(self) -> bool:
        """Returns whether the requests are those of some rows only."""
        return self.rows is not None and self.rows.is_sample

    def take_every_row(self) -> None:
        """Loads the rows that were left out of the sample; requests are to be built anew."""
        if self.rows is not None:
            self.rows = self.rows.whole()
            self.task.dataset = {self.rows.split: self.rows.data_set()}
            self.task.task_docs = self.task.eval_docs
            self.instances = {}

    @property
    def row_count(self) -> int:
        """Rows of the data, or as many of them as were asked for."""
        if self.rows is not None and self.rows.is_sample:
            return self.rows.count
        return len(self.instances)

    def report(self, findings: Findings, code: str, key: str, what: str, *, fix: str = "") -> None:
        """Notes one finding on a key of the task, whose text begins with the task's name."""
        findings.add_at(code, self.leaf, key, f"{self.name}: {what}", fix=fix)

    def prompt(self, number: int) -> str:
        """The text that the first request of a row sends."""
        arguments = self.instances[number][0].args
        return arguments[0] if arguments and isinstance(arguments[0], str) else ""


def import_nltk() -> None:
    """Imports NLTK without the packages that it uses for its classifiers and collocations.

    Those that are imported already stay.

    NLTK treats scipy and scikit-learn as optional. Importing them is 80 % of importing NLTK, 1.6 s
    of CPU, and nothing that scores replies needs those parts.
    """
    if "nltk" in sys.modules or not is_importable("nltk"):
        return
    with absent("scipy", "scipy.stats", "sklearn"), contextlib.suppress(Exception):
        importlib.import_module("nltk")
        punkt: Any = importlib.import_module("nltk.tokenize.punkt")
        # Sentences and words are split by two tokenizers, and each reads the same tables.
        punkt.load_punkt_params = lru_cache(maxsize=4)(punkt.load_punkt_params)


def import_lm_eval() -> None:
    """Imports lm-eval's tasks without packages that few tasks need.

    `datasets` loads data that are no plain parquet file, `requests` asks servers, and sacrebleu
    computes metrics over a whole run: together 1.1 s of the 1.3 s of CPU that the import takes.
    `dill` is for lm-eval's own cache of requests.
    """
    postpone("datasets", "requests", "sacrebleu", "dill")
    importlib.import_module("lm_eval.tasks")


def load_tasks(
    static: StaticCheck, settings: RunSettings, findings: Findings, *, every_row: bool = True
) -> list[LoadedTask]:
    """Loads every task that has no error so far through lm-eval's TaskManager.

    lm-eval's own 14,000 files are not read.

    Args:
        static: The task files.
        settings: The run.
        findings: Gets what cannot be loaded.
        every_row: Load all rows, through `datasets`; else those of large tasks in part.
    """
    with quiet():
        import_lm_eval()
        from evalprep.packs import RequestedTasks

        # lm-eval makes these metadata of the arguments of a model.
        metadata = {
            key: value
            for key, value in settings.core.model_args.items()
            if isinstance(value, str | int | float | bool)
        }
        roots = [str(root) for root in static.tree.roots]
        manager = RequestedTasks(include_path=roots, metadata=metadata)
        failing = _import_functions(static.leaves, findings)
        rows = {} if every_row else _rows_of(static, settings)
        with loaded_from(rows.values()):
            objects = _load_together(manager, static, failing, findings)
        loaded = []
        for leaf in static.leaves:
            task = objects.get(leaf.name)
            is_reported = leaf.name in failing or findings.has_errors(leaf.name)
            if task is None and not is_reported:
                rows.pop(leaf.name, None)
                task = _load_alone(manager, leaf, findings)
            if task is not None:
                loaded.append(LoadedTask(leaf, task, rows=rows.get(leaf.name)))
    return loaded


def _rows_of(static: StaticCheck, settings: RunSettings) -> dict[str, TaskRows]:
    """Task -> its rows, of tasks whose data are parquet files that no other task has."""
    rows = {
        leaf.name: task_rows(leaf, settings, static.rows[leaf.name])
        for leaf in static.leaves
        if static.rows.get(leaf.name)
    }
    stated = chain.from_iterable(data_files(leaf).values() for leaf in static.leaves)
    uses = Counter(chain.from_iterable(map(stated_files, stated)))
    own = {name: part for name, part in rows.items() if part is not None}
    return {name: part for name, part in own.items() if all(uses[path] == 1 for path in part.paths)}


def _load_together(
    manager: Any, static: StaticCheck, failing: set[str], findings: Findings
) -> dict[str, Any]:
    """Loads each requested name whole, as the run will.

    A failure is later looked for task by task.
    """
    objects: dict[str, Any] = {}
    for name in static.requested:
        leaves = select_leaves(static.tree, [name], Findings())
        if {leaf.name for leaf in leaves} & failing:
            continue
        try:
            with contextlib.suppress(Exception), cpu_bound(LOADING_SECONDS):
                objects.update(manager.load([name])["tasks"])
        except TimeBoundError:
            for leaf in leaves[:1]:
                _report_endless(leaf, findings)
            failing.update(leaf.name for leaf in leaves)
    return objects


def _import_functions(leaves: list[Leaf], findings: Findings) -> set[str]:
    """Imports what the tasks name with !function, as lm-eval does, each module once.

    Returns the tasks for which that fails.

    lm-eval turns every AttributeError of a module into "has no function"; here the module's own
    error is told.
    """
    failures: dict[tuple[Path, str], str] = {}
    failing: set[str] = set()
    for leaf in leaves:
        if findings.has_errors(leaf.name):
            failing.add(leaf.name)  # already reported, and lm-eval will not load it
            continue
        for key, ref in refs_by_key(leaf):
            module = (ref.folder, ref.spec.rpartition(".")[0])
            if module not in failures:
                failures[module] = _import_failure(ref)
            failure = failures[module]
            if failure and leaf.name not in failing:
                failing.add(leaf.name)
                what = f"{leaf.name}: importing {ref.spec}: {failure}"
                findings.add_at("EP301", leaf, key, what)
    return failing


def _import_failure(ref: FunctionRef) -> str:
    """Imports the module of a function; returns what went wrong, nothing where all is well."""
    from lm_eval.tasks._yaml_loader import _import_func_in_yml

    try:
        with cpu_bound(IMPORT_SECONDS):
            _import_func_in_yml(ref.spec, ref.folder)
    except TimeBoundError:
        return f"does not end within {IMPORT_SECONDS:g} s of CPU"
    except Exception as error:  # noqa: BLE001 - a module may raise anything
        cause = error.__cause__ or error
        return f"{type(cause).__name__}: {first_line(cause)}"
    return ""


def _load_alone(manager: Any, leaf: Leaf, findings: Findings) -> Any:
    """Loads one task with what its groups override; a finding says why it cannot be loaded."""
    spec: Any = leaf.name
    if leaf.override:
        # lm-eval completes a mapping by the task's own file only as a member of a group.
        spec = {"group": "evalprep_alone", "task": [{**leaf.override, "task": leaf.name}]}
    try:
        with cpu_bound(LOADING_SECONDS):
            return manager.load([spec])["tasks"].get(leaf.name)
    except TimeBoundError:
        _report_endless(leaf, findings)
    except Exception as error:  # noqa: BLE001
        # Whatever a task's code raises is what we are here to report.
        if _is_absent_data(error, leaf):
            location = str(leaf.config.get("dataset_path"))
            problem = hub_problem(error, location)
            what = problem.what if problem else f"{location}: {first_line(error)}"
            fix = problem.fix if problem else ""
            findings.add_at("EP302", leaf, "dataset_path", what, fix=fix)
        else:
            what, fix = _why_not_loaded(error, leaf)
            findings.add_at("EP301", leaf, "", f"{leaf.name}: {what}", fix=fix)
    return None


def _why_not_loaded(error: Exception, leaf: Leaf) -> tuple[str, str]:
    """Returns why lm-eval cannot load a task, and the fix where it is known."""
    if isinstance(error, KeyError) and error.args and isinstance(error.args[0], str):
        what = f"its code looks up {error.args[0]!r}, which is not there"
        return what, "compare the columns and splits of the data with those that the task reads"
    absent_name = _UNDEFINED.fullmatch(str(error))
    if absent_name is None:
        return f"{type(error).__name__}: {first_line(error)}", ""
    name = absent_name[1]
    columns = _columns_of(leaf)
    known = f"the columns are {', '.join(columns)}" if columns else ""
    return f"a template uses {name!r}, which is not a column", near(name, columns) or known


def _columns_of(leaf: Leaf) -> list[str]:
    """The columns of a task's first parquet file; empty where there is none."""
    path = next(chain.from_iterable(data_files(leaf).values()), "")
    with contextlib.suppress(OSError, BadInput):
        return list(parquet_schema(Path(path)).names) if path.endswith(".parquet") else []
    return []


def _report_endless(leaf: Leaf, findings: Findings) -> None:
    """Loading builds the first prompt too, so that its template may be what does not end."""
    bound = f"{LOADING_SECONDS:g} s of CPU"
    what = f"{leaf.name}: loading, with the first prompt, does not end within {bound}"
    findings.add_at("EP301", leaf, "", what)


def first_line(error: BaseException) -> str:
    """The first line of a message, cut to what one finding can hold."""
    lines = str(error).strip().splitlines()
    return lines[0][:300] if lines else "no message"


def _is_absent_data(error: BaseException, leaf: Leaf) -> bool:
    """A hub data set that is not in the cache of a machine without network.

    Local files are another matter.
    """
    names = {kind.__name__ for kind in type(error).__mro__}
    absent = {
        "ConnectionError",
        "OfflineModeIsEnabled",
        "DatasetNotFoundError",
        "LocalEntryNotFoundError",
        "HfHubHTTPError",
    }
    return (
        bool(names & absent)
        and not data_files(leaf)
        and not Path(str(leaf.config.get("dataset_path"))).exists()
    )
