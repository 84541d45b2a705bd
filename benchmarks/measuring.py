"""What a benchmark measures, how it is kept, and how a page of the docs quotes it.

A script measures commands as a user types them, each in a process of its own with its children, and
holds them against a peer that does the same work in the same run. Its `Report` is kept as JSON
below `benchmarks/measured`, and the page with the script's marks shows it as a table.
"""

from __future__ import annotations

import compileall
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "benchmarks" / "measured"
_MB = 1024 * 1024


@dataclass(frozen=True)
class Cost:
    """What a command took.

    Attributes:
        cpu: User plus system seconds of the process and its children.
        wall: Seconds from its start to its end.
        peak_mb: Most resident memory at once, of the process and its children together, in MB.
    """

    cpu: float
    wall: float
    peak_mb: float


@dataclass(frozen=True)
class Measure:
    """One line of a benchmark: a way of ours against its peer.

    Attributes:
        what: What is measured, in words of a user.
        ours: What our command took.
        peer: What the other way took; None where there is none.
        against: The other way, in words.
        goal: The most that `ratio` may be; None without a goal.
        most_mb: The most memory that our command may take; None without such a goal.
        most_cpu: The most CPU seconds that our command may take; None without such a goal.
        goal_wall: The most that `wall_ratio` may be; None without such a goal.
    """

    what: str
    ours: Cost
    peer: Cost | None = None
    against: str = ""
    goal: float | None = None
    most_mb: float | None = None
    most_cpu: float | None = None
    goal_wall: float | None = None

    @property
    def ratio(self) -> float | None:
        """CPU seconds of ours per CPU second of the peer."""
        return None if self.peer is None else self.ours.cpu / max(self.peer.cpu, 1e-9)

    @property
    def wall_ratio(self) -> float | None:
        """Wall seconds of ours per wall second of the peer."""
        return None if self.peer is None else self.ours.wall / max(self.peer.wall, 1e-9)

    @property
    def missed(self) -> bool:
        """Whether a goal is not met."""
        pairs = (
            (self.ratio, self.goal),
            (self.ours.peak_mb, self.most_mb),
            (self.ours.cpu, self.most_cpu),
            (self.wall_ratio, self.goal_wall),
        )
        return any(most is not None and (value or 0) > most for value, most in pairs)


@dataclass(frozen=True)
class Report:
    """All that a script measured in one run.

    Attributes:
        name: The script's name without `.py`.
        command: How the script was called.
        measures: Its lines.
        parameters: Sizes that decide what was measured, such as the number of rows.
        packages: Packages whose versions are kept beside the figures.
    """

    name: str
    command: str
    measures: Sequence[Measure]
    parameters: Mapping[str, int | float | str] = field(default_factory=dict)
    packages: Iterable[str] = ()

    def record(self) -> dict[str, Any]:
        """The report as plain JSON values, with versions and the machine."""
        versions = {name: importlib.metadata.version(name) for name in self.packages}
        return {
            "name": self.name,
            "command": self.command,
            "parameters": dict(self.parameters),
            "versions": {"python": platform.python_version(), **versions},
            "cores": os.cpu_count(),
            "measures": [{**asdict(line), "ratio": line.ratio} for line in self.measures],
        }

    def beside_kept(self, folder: Path = KEPT) -> dict[str, Any]:
        """The record with the kept lines that were not measured now, for a part of a script.

        A line takes the place of the kept one that is called the same.
        """
        record = self.record()
        before = kept(self.name, folder)["measures"]
        measured = {line["what"]: line for line in record["measures"]}
        lines = [measured.pop(line["what"], line) for line in before]
        return {**record, "measures": [*lines, *measured.values()]}


def keep(record: Mapping[str, Any], folder: Path = KEPT) -> Path:
    """Write a record as JSON, and return its file."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{record['name']}.json"
    file.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return file


def measure(
    command: Sequence[str | os.PathLike[str]],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    repeats: int = 1,
    ends: Iterable[int] = (0,),
) -> Cost:
    """What a command takes; of several repeats the one with the least CPU time.

    A busy machine only ever adds to the CPU time, so the least is the nearest to the truth.

    Raises:
        RuntimeError: the command ended with another exit code than one of `ends`.
    """
    costs = [_measured(command, cwd, env, frozenset(ends)) for _ in range(repeats)]
    return min(costs, key=lambda cost: cost.cpu)


def _measured(
    command: Sequence[str | os.PathLike[str]],
    cwd: Path | None,
    env: Mapping[str, str] | None,
    ends: frozenset[int],
) -> Cost:
    _compile()
    words = [os.fspath(word) for word in command]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **(env or {})}
    started = time.perf_counter()
    process = subprocess.Popen(
        words, cwd=cwd, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    peak = _PeakMemory(process.pid)
    peak.start()
    assert process.stderr is not None
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in ends:
        text = errors.decode("utf-8", "replace")[-2000:]
        raise RuntimeError(f"{' '.join(words)} ended with {process.returncode}:\n{text}")
    scale = 1 if sys.platform == "darwin" else 1024
    alone = usage.ru_maxrss * scale / _MB
    return Cost(usage.ru_utime + usage.ru_stime, wall, max(alone, peak.stop()))


@cache
def _compile() -> None:
    """Compiles our modules, as an installer compiles those of the peers."""
    for package in ("evalprep", "custom_metrics", "task_templates"):
        compileall.compile_dir(ROOT / package, quiet=1)


class _PeakMemory(threading.Thread):
    """Samples the memory of a process and its children, where psutil is installed."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._pid = pid
        self._over = threading.Event()
        self._peak = 0.0

    def run(self) -> None:
        try:
            import psutil
        except ImportError:
            return
        while not self._over.wait(0.05):
            try:
                parent = psutil.Process(self._pid)
                family = [parent, *parent.children(recursive=True)]
                sizes = [member.memory_info() for member in family]
            except psutil.Error:
                continue
            # Pages that processes share count once.
            shared = max(size.shared for size in sizes)
            alone = sum(size.rss - size.shared for size in sizes)
            self._peak = max(self._peak, (alone + shared) / _MB)

    def stop(self) -> float:
        """End the sampling and return the most that was seen, in MB."""
        self._over.set()
        self.join()
        return self._peak


def kept(name: str, folder: Path = KEPT) -> dict[str, Any]:
    """The last report of a script, as `Report.record` wrote it."""
    record: dict[str, Any] = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    return record


def marks(name: str) -> tuple[str, str]:
    """What stands before and after the table of a script on a page."""
    return f"<!-- benchmarks/{name}.py -->", "<!-- end -->"


def write_docs(page: Path, name: str, lines: Sequence[str]) -> None:
    """Replace what stands between the marks of a script on a page.

    Raises:
        ValueError: the page lacks the marks.
    """
    first, last = marks(name)
    text = page.read_text(encoding="utf-8")
    if first not in text or last not in text.partition(first)[2]:
        raise ValueError(f"{page} lacks {first} or {last} after it")
    before, _, rest = text.partition(first)
    after = rest.partition(last)[2]
    shown = "\n".join(lines)
    page.write_text(f"{before}{first}\n\n{shown}\n\n{last}{after}", encoding="utf-8")


HEAD = "| what | CPU s | wall s | peak MB | against | CPU s | ratio | goal |"


def table(record: Mapping[str, Any]) -> list[str]:
    """The lines of a kept report for a page: how it was called, versions, one line per measure."""
    sizes = [f"{name} {value:,}" for name, value in record["parameters"].items()]
    versions = [f"{name} {version}" for name, version in record["versions"].items()]
    head = f"`{record['command']}`, {record['cores']} cores: {', '.join([*sizes, *versions])}."
    lines = [head, "", HEAD, "|---|---:|---:|---:|---|---:|---:|---|"]
    return [*lines, *(_line(line) for line in record["measures"])]


def _line(line: Mapping[str, Any]) -> str:
    ours, peer = line["ours"], line["peer"]
    of_peer = "" if peer is None else f"{peer['cpu']:.2f}"
    ratio = "" if line["ratio"] is None else _ratio(line["ratio"])
    goals = [] if line["goal"] is None else [f"{line['goal']:.3g}"]
    if line["most_mb"] is not None:
        goals.append(f"{line['most_mb']:g} MB")
    if line["most_cpu"] is not None:
        goals.append(f"{line['most_cpu']:g} s")
    if line.get("goal_wall") is not None:  # records of earlier versions lack it
        goals.append(f"wall {line['goal_wall']:g} (is {ours['wall'] / peer['wall']:.2f})")
    cells = [line["what"], f"{ours['cpu']:.2f}", f"{ours['wall']:.2f}", f"{ours['peak_mb']:.0f}"]
    return "| " + " | ".join([*cells, line["against"], of_peer, ratio, ", ".join(goals)]) + " |"


def _ratio(ratio: float) -> str:
    """A ratio with two digits of those that count."""
    return f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.2g}"


def finish(
    report: Report, *, page: Path | None = None, keeps: bool = True, is_part: bool = False
) -> int:
    """Print a report, keep it and write its table; the exit code is 1 where a goal is missed.

    Args:
        report: What was measured.
        page: The page of the docs whose table is replaced; none by default.
        keeps: Also write the JSON; a short run does not, as its figures are of small inputs.
        is_part: Leave the kept lines that were not measured now as they are.
    """
    for line in table(report.record()):
        print(line)
    record = report.beside_kept() if is_part else report.record()
    if keeps:
        print(f"kept: {keep(record).relative_to(ROOT)}")
    if page is not None:
        write_docs(page, report.name, table(record))
    missed = [line.what for line in report.measures if line.missed]
    for what in missed:
        print(f"outside its goal: {what}")
    return int(bool(missed))
