"""Errors that `evalprep check` finds in task folders of others, each held against what lm-eval does with that task.

    python -m benchmarks.foreign_tasks FOLDER [FOLDER ...]

Every argument is a folder of lm-eval tasks. Each error of the static check is confirmed by lm-eval itself: it does not
register the task, fails to load it, would fetch a metric from the network, has no aggregation for one, or fills in the
stop string that the finding names. Data sets of a hub are replaced by three rows, as their content decides none of
these. Without arguments nothing is done: the folders are other people's.
"""

from __future__ import annotations

import logging
import os
import sys
import types
from collections import Counter
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"
_REAL: dict[str, Any] = {}  # lm-eval's own method, which every folder replaces anew
HEAD = ("folder", "tasks", "errors", "confirmed", "lines at 80 columns")


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
        evaluate.__spec__ = ModuleSpec("evaluate", None)  # else it would pass for a package that is not installed
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
                task, reason = None, f"{type(error).__name__}: {error}"
            self.loaded[name] = (task, reason, list(self.fetched))
        return self.loaded[name]

    def confirms(self, code: str, task: str, what: str) -> bool:
        """Whether lm-eval does what a finding says."""
        if code == "EP202":  # what TaskConfig makes of generation_kwargs without `until`
            from lm_eval.config.task import TaskConfig

            config = TaskConfig(task="t", output_type="generate_until", generation_kwargs={"do_sample": False})
            return config.generation_kwargs["until"] == ["\n\n"]
        if code == "EP222":
            return PathFinder.find_spec(what.split()[1].rstrip(",")) is None
        found, reason, fetched = self.load(task) if task else (None, "no task", [])
        if code == "EP208" and found is not None:
            return what.split("'")[1] in fetched
        if code == "EP209" and found is not None:
            return any(one is None for one in found.aggregation().values())
        return bool(reason)


def main(folders: list[str]) -> int:
    """Print a line per folder; 1 where lm-eval does not confirm an error."""
    from evalprep.check import Findings, RunSettings, check_static
    from evalprep.check.codes import HOUSE_STYLE
    from evalprep.check.folds import fold, paragraph
    from evalprep.terminal import fitted

    logging.disable(logging.CRITICAL)
    rows, denied = [HEAD], 0
    for folder in map(Path, folders):
        findings = Findings()
        done = check_static([folder], None, RunSettings.given(backend="hf", device="cpu"), findings)
        findings.take(lambda one: one.code in HOUSE_STYLE)
        found = findings.sorted()
        errors = [one for one in found if one.level == "error"]
        harness = _Harness(folder)
        true = Counter(harness.confirms(one.code, one.task, one.what) for one in errors)
        denied += true[False]
        lines = sum(len(paragraph(one, [str(folder)]).splitlines()) for one in fold(found))
        rows.append((folder.name, *(f"{count:,}" for count in (len(done.leaves), len(errors), true[True], lines))))
    print("\n".join(fitted(rows, None, [None] * len(HEAD))) if folders else __doc__)
    return int(bool(denied))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
