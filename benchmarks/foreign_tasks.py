"""Errors that `evalprep check` finds in task folders of others.

Each is held against what lm-eval does with that task.

    python -m benchmarks.foreign_tasks FOLDER [FOLDER ...]

Every argument is a folder of lm-eval tasks. Each error of the static check is confirmed by lm-eval
itself: it does not register the task or member, fails to load it or its module, would fetch a
metric from the network, has no aggregation for one, or makes of the task's own file a config with a
stop string that the file lacks. Data sets of a hub are replaced by three rows, as their content
decides none of these; a column that these rows lack confirms nothing. Errors that lm-eval does not
confirm are named, and so are tasks that it does not load while no error speaks of them or of their
module. Without arguments nothing is done: the folders are other people's.
"""

from __future__ import annotations

import logging
import os
import sys
import traceback
import types
from collections import Counter
from collections.abc import Callable
from dataclasses import fields
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"
_REAL: dict[str, Any] = {}  # lm-eval's own method, which every folder replaces anew
LISTED = 5  # causes that are named for each folder
COUNTS = ("tasks", "errors", "confirmed", "lines at 80 columns")


class _Splits(dict[str, Any]):
    """A data set that has every split, with three rows."""

    def __missing__(self, split: str) -> Any:
        from datasets import Dataset

        return Dataset.from_list([{"text": "1"}] * 3)


class _Harness:
    """lm-eval over one folder, with what would go to the network noted instead."""

    def __init__(self, folder: Path) -> None:
        import lm_eval.api.task
        from lm_eval.tasks import TaskManager

        self.fetched: list[str] = []
        evaluate = types.ModuleType("evaluate")
        evaluate.__spec__ = ModuleSpec(
            "evaluate", None
        )  # else it would pass for a package that is not installed
        evaluate.load = self._fetch  # type: ignore[attr-defined]
        sys.modules["evaluate"] = evaluate
        task = lm_eval.api.task.ConfigurableTask
        real = _REAL.setdefault("download", task.download)

        def download(one: Any, kwargs: Any = None, **more: Any) -> None:
            if (kwargs or {}).get("data_files") or one.DATASET_PATH in {"json", "csv", "parquet"}:
                real(one, kwargs, **more)
            else:
                one.dataset = _Splits()

        task.download = download
        self.manager = TaskManager(include_path=[str(folder)], include_defaults=False)
        self.loaded: dict[str, tuple[Any, str, list[str]]] = {}

    def _fetch(self, name: str, *_: Any, **__: Any) -> None:
        self.fetched.append(name)
        raise ConnectionError(name)

    def load(self, name: str) -> tuple[Any, str, list[str]]:
        """The task, why it cannot be loaded, and the metrics that would have been fetched."""
        if name not in self.loaded:
            self.fetched.clear()
            try:
                task, reason = next(iter(self.manager.load([name])["tasks"].values()), None), ""
            except Exception as error:  # noqa: BLE001 - whatever it raises is what a user would see
                task, reason = (
                    None,
                    "" if _of_the_rows(error) else f"{type(error).__name__}: {error}",
                )
            self.loaded[name] = (task, reason, list(self.fetched))
        return self.loaded[name]

    def confirms(self, code: str, task: str, what: str, where: str) -> bool:
        """Whether lm-eval does what a finding says."""
        from lm_eval.api.registry import get_aggregation
        from lm_eval.tasks._yaml_loader import _load_module_with_cache

        if code == "EP202":
            return self._stops_at_a_delimiter(task)
        if code == "EP222":
            return _raises(lambda: _load_module_with_cache(Path(where.partition(":")[0])))
        if code == "EP106":
            asked = what.split("'")[1]
            return (
                asked in self.manager.task_index and task not in self.manager.load([asked])["tasks"]
            )
        if code == "EP110":
            return what.split("'")[-2] not in self.manager.task_index
        found, reason, fetched = self.load(task) if task else (None, "no task", [])
        if code == "EP208" and (found is not None or fetched):
            return what.split("'")[1] in fetched
        if code == "EP209":
            return get_aggregation(what.split("'")[1]) is None
        return bool(reason)

    def _stops_at_a_delimiter(self, task: str) -> bool:
        """Whether lm-eval gives a task its delimiter as stop string.

        The task's own file makes the config.
        """
        from lm_eval.config.task import TaskConfig
        from lm_eval.tasks._yaml_loader import load_yaml

        content = load_yaml(self.manager.task_index[task].yaml_path, resolve_func=False)
        written = "until" in content["generation_kwargs"]
        config = TaskConfig(
            **{
                field.name: content[field.name]
                for field in fields(TaskConfig)
                if field.name in content
            }
        )
        return not written and config.generation_kwargs["until"] == [config.fewshot_delimiter]


def _raises(call: Callable[[], object]) -> bool:
    try:
        call()
    except Exception:  # noqa: BLE001 - that it fails is the question
        return True
    return False


def _of_the_rows(error: BaseException) -> bool:
    """Whether the three rows in place of a data set of a hub made it fail.

    There was an asking for a column.
    """
    asks = {"eval_docs", "test_docs", "validation_docs", "training_docs", "fewshot_docs"}
    asks |= {"doc_to_text", "doc_to_target", "doc_to_choice", "process_docs"}
    return type(error).__name__ in {
        "KeyError",
        "UndefinedError",
        "IndexError",
        "TypeError",
        "ValueError",
    } and any(frame.name in asks for frame in traceback.extract_tb(error.__traceback__))


def main(folders: list[str]) -> int:
    """Print a line per folder; 1 where lm-eval does not confirm an error."""
    from evalprep.check import Findings, RunSettings, check_static
    from evalprep.check.codes import HOUSE_STYLE
    from evalprep.check.folds import fold, paragraph
    from evalprep.tables import Column, Kind, Table, table_lines

    logging.disable(logging.CRITICAL)
    columns = [Column("folder", Kind.NAME), *(Column(name, Kind.MEASURE) for name in COUNTS)]
    table, denied = Table("", columns), 0
    for folder in map(Path, folders):
        findings = Findings()
        done = check_static(
            [folder], None, RunSettings.without_config(backend="hf", device="cpu"), findings
        )
        findings.take(lambda one: one.code in HOUSE_STYLE)
        found = findings.sorted()
        errors = [one for one in found if one.level == "error"]
        harness = _Harness(folder)
        refuted = [
            error
            for error in errors
            if not harness.confirms(error.code, error.task, error.what, error.where)
        ]
        denied += len(refuted)
        for (code, what), count in Counter((one.code, one.what) for one in refuted).most_common(
            LISTED
        ):
            print(f"not confirmed: {count} of {code}: {what}")
        told = {error.task for error in errors}
        known = {
            "",
            *(harness.load(task)[1] for task in told if task),
        }  # a module is told once, for all its tasks
        reasons = (
            harness.load(name)[1] for name in harness.manager.all_subtasks if name not in told
        )
        for reason, count in Counter(
            reason for reason in reasons if reason not in known
        ).most_common(LISTED):
            print(f"not told: {count} tasks: {reason}")
        lines = sum(len(paragraph(one, [str(folder)]).splitlines()) for one in fold(found))
        counts = (len(done.leaves), len(errors), len(errors) - len(refuted), lines)
        table.add(folder.name, *(f"{count:,}" for count in counts))
    print("\n".join(table_lines(table)) if folders else __doc__)
    return int(bool(denied))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
