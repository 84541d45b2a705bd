"""Rescored samples in lm-eval's own layout, so that every verb reads them like a run."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from evalprep.errors import BadInput, Problem
from evalprep.files import as_mapping
from evalprep.rescore.scorer import Outcome
from evalprep.rescore.tally import OF_SCORER
from evalprep.results import Run, Sample, TaskRun


class RunWriter:
    """Writes rescored samples in lm-eval's own layout, so that every verb reads them like a run."""

    def __init__(self, run: Run, folder: Path) -> None:
        self.run, self.folder = run, folder
        self.stamp = datetime.now().isoformat().replace(":", "-")  # noqa: DTZ005 - as lm-eval names its files
        self.results: dict[str, Any] = {
            key: {} for key in ("results", "configs", "higher_is_better", "versions", "n-samples")
        }
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadInput(
                Problem(what=f"cannot write: {error.strerror}", where=str(folder), fix="name another place with --out")
            ) from error

    def write(self, known: TaskRun, task: Any, pairs: Iterator[tuple[Sample, Outcome]]) -> None:
        """Write the samples of a task of the run as another one of lm-eval scores them, and keep its scores."""
        name = known.name
        filters = [ensemble.name for ensemble in task._filters]  # noqa: SLF001 - the harness offers no public access
        parts = [self.folder / f".{self.stamp}_{at}.part" for at in range(len(filters))]
        values: dict[tuple[str, str], list[Any]] = {}
        files = [part.open("w", encoding="utf-8", errors="surrogatepass") for part in parts]
        count = 0
        try:
            for sample, outcome in pairs:
                count += 1
                for file, filter_name in zip(files, filters, strict=True):
                    metrics = outcome.metrics.get(filter_name, {})
                    file.write(_line(sample, outcome, filter_name, metrics))
                    for metric, value in metrics.items():
                        values.setdefault((metric, filter_name), []).append(value)
        except BaseException:
            for part in parts:
                part.unlink(missing_ok=True)
            raise
        finally:
            for file in files:
                file.close()
        with (self.folder / f"samples_{name}_{self.stamp}.jsonl").open("wb") as target:
            for part in parts:
                with part.open("rb") as source:
                    shutil.copyfileobj(source, target)
                part.unlink()
        scores: dict[str, Any] = {"alias": name, "sample_len": count}
        aggregation = task.aggregation()
        for (metric, filter_name), column in values.items():
            try:
                scores[f"{metric},{filter_name}"] = aggregation[metric](column)
            except Exception as error:  # noqa: BLE001 - an aggregation that fails leaves its score out, not the run
                scores[f"{metric},{filter_name}"] = f"{type(error).__name__}: {error}"
        self.results["results"][name] = scores
        self.results["configs"][name] = _config(known, task)
        self.results["higher_is_better"][name] = task.higher_is_better()
        self.results["versions"][name] = as_mapping(self.run.results.get("versions")).get(name)
        counts = as_mapping(as_mapping(self.run.results.get("n-samples")).get(name))
        self.results["n-samples"][name] = {"original": counts.get("original", count), "effective": count}

    def discard(self) -> None:
        """Take back the folder, where nothing was written into it."""
        with contextlib.suppress(OSError):
            self.folder.rmdir()

    def finish(self, left_out: Mapping[str, str]) -> None:
        """Write the results file: the run's own, with the new scores in it.

        Args:
            left_out: Task -> why it could not be rescored.
        """
        # Answers of judges are kept under the run that made the replies, however often these were scored.
        folder, stamp = self.run.rescored_from or (self.run.files.folder.resolve(), self.run.files.stamp)
        kept = {key: value for key, value in self.run.results.items() if key not in {*self.results, "groups"}}
        content = (
            kept
            | self.results
            | {
                "rescored": {
                    "from": str(folder),
                    "stamp": stamp,
                    "run": self.run.files.run,
                    "left_out": dict(left_out),
                }
            }
        )
        path = self.folder / f"results_{self.stamp}.json"
        path.write_text(json.dumps(content, indent=2, default=str, ensure_ascii=False), encoding="utf-8")


def _config(known: TaskRun, task: Any) -> dict[str, Any]:
    """The configuration of the run with the scorer of today in it; the id is the run's own and is not carried over."""
    fresh = task.dump_config()
    metadata = {**as_mapping(fresh.get("metadata")), **as_mapping(known.config.get("metadata"))}
    metadata = {key: value for key, value in metadata.items() if key not in {"run", "command"}}
    parts = {key: fresh[key] for key in OF_SCORER if key in fresh} if known.config else fresh
    return {**known.config, **parts, "metadata": metadata}


def _line(sample: Sample, outcome: Outcome, filter_name: str, metrics: dict[str, Any]) -> str:
    fields = {
        "doc_id": sample.doc_id,
        "doc": sample.doc,
        "target": sample.target,
        "arguments": sample.arguments,
        "resps": sample.resps,
        "filtered_resps": _as_logged(outcome.filtered.get(filter_name, [])),
        "filter": filter_name,
        "metrics": list(metrics),
        "doc_hash": sample.doc_hash,
        "prompt_hash": sample.prompt_hash,
        "target_hash": hashlib.sha256(sample.target.encode("utf-8", "surrogatepass")).hexdigest(),
    }
    if outcome.error:
        fields["error"] = outcome.error
    return json.dumps(fields | metrics, default=_plain, ensure_ascii=False) + "\n"


def _as_logged(value: Any) -> Any:
    """Nested lists with every leaf as text, as the harness logs filtered replies."""
    return [_as_logged(one) for one in value] if isinstance(value, (list, tuple)) else str(value)


def _plain(value: Any) -> Any:
    if hasattr(value, "item"):
        return value.item()  # numpy scalars
    return list(value) if isinstance(value, (set, frozenset, tuple)) else str(value)
