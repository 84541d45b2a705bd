"""Results in the front matter of a model card: `model-index`.

Source: `model_index_to_eval_results` of huggingface_hub 2.4.0. Results of one task type, data set
type, config, split and revision are one entry there, so two tasks that share all of these are told
apart by the config.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from evalprep.errors import BadInput, Problem, Problems
from evalprep.export.settings import Settings
from evalprep.export.subject import Subject, Written
from evalprep.files import as_mapping, make_folder, read_file, resolve_typed, write_atomically
from evalprep.numbers import finite_number
from evalprep.results import TaskRun, part_of
from evalprep.score import Quantity, SuiteScore, of_suite_score
from evalprep.yamltext import NotYaml, compose, yaml_text, yaml_value

FILE = "model-index.yaml"
KEY = "model-index"
SOURCE = "evalprep, own run"
_ENTRIES = Path(__file__).with_name("card_entries.yaml")
_FRONT_MATTER = re.compile(
    r"\A\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE
)
_BOARDS = ("open-llm-leaderboard", "open llm leaderboard", "open_llm_leaderboard")
_DIGITS = 2


@dataclass(frozen=True)
class CardDataset:
    """A data set as a card names it; what is empty is left out."""

    name: str
    type: str
    config: str = ""
    split: str = ""
    revision: str = ""
    args: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class CardResult:
    """One result of a card.

    Attributes:
        dataset: Its data set.
        metric: The metric's type.
        metric_name: The metric as people read it.
        value: In percent with two decimals where the metric is a share.
        url: Address of a page about the run; without one the source is left out.
        stated: The same metric as the results file has it, where the rows give another value.
    """

    dataset: CardDataset
    metric: str
    metric_name: str
    value: float
    url: str = ""
    stated: CardResult | None = None

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """Returns what makes two results one entry."""
        dataset = self.dataset
        return dataset.type, dataset.config, dataset.split, dataset.revision

    def as_yaml(self) -> dict[str, Any]:
        """The entry by the hub's keys."""
        dataset = {key: value for key, value in vars(self.dataset).items() if value}
        results = [self] if self.stated is None else [self, self.stated]
        metrics = [
            {"type": result.metric, "value": result.value, "name": result.metric_name}
            for result in results
        ]
        entry: dict[str, Any] = {
            "task": {"type": "text-generation", "name": "Text Generation"},
            "dataset": dataset,
            "metrics": metrics,
        }
        if self.url:
            entry["source"] = {"url": self.url, "name": SOURCE}
        return entry


@lru_cache(maxsize=1)
def _established() -> Mapping[str, Mapping[str, Any]]:
    """Suite score -> its established entry."""
    entries = yaml_value(_ENTRIES.read_text(encoding="utf-8"))
    return {entry["score"]: entry for entry in entries}


def established_result(score: str, value: float, url: str = "") -> CardResult | None:
    """Returns a suite score in the form that cards show it in; None for any other score.

    Args:
        score: `pack/name`.
        value: Its value, as the cards have it.
        url: Address of a page about the run.
    """
    entry = _established().get(score)
    if entry is None:
        return None
    metric = entry["metric"]
    dataset = CardDataset(**entry["dataset"])
    value = round(value, _DIGITS)
    return CardResult(dataset, metric["type"], metric["name"], value, url)


def write_cards(subjects: Sequence[Subject], folder: Path, settings: Settings) -> Written:
    """Writes `model-index.yaml`, a block to paste, or merges it into the front matter of a card.

    Args:
        subjects: The runs, each of another model.
        folder: Where to.
        settings: `readme`, and how the result names itself.

    Raises:
        BadInput: the address is that of a leaderboard; a card of several models, without an
            address, or with front matter that is not valid YAML.
    """
    _check(subjects, settings)
    url, readme = settings.url, settings.readme
    index = []
    for subject in subjects:
        results = [result.as_yaml() for result in _results_of(subject, url)]
        if results:
            index.append({"name": subject.model_id, "results": results})
    if readme is not None and index:
        path = resolve_typed(readme)
        write_atomically(path, merged(readme, index[0], url))
        next_step = f"push {readme} to the model repository"
        return Written((path,), next_step=next_step)
    make_folder(folder, within=folder)
    path = folder / FILE
    write_atomically(path, yaml_text({KEY: index}))
    next_step = f"paste {path} between the two --- of the model's README.md"
    return Written((path,), next_step=next_step)


def _check(subjects: Sequence[Subject], settings: Settings) -> None:
    problems = Problems()
    url, readme = settings.url, settings.readme
    if any(board in url.lower() for board in _BOARDS):
        problems.add(
            "an own run may not name a leaderboard as its source",
            where="--set url",
            fix="name a page about this run",
        )
    if readme is not None and not url:
        problems.add(
            "entries of an earlier export are recognised by their address",
            where="--set readme",
            fix="--set url=URL names a page about the run",
        )
    if readme is not None and len(subjects) > 1:
        what = "a card is of one model"
        problems.add(what, where="--set readme", fix="export one run at a time")
    if readme is not None and not readme.is_file():
        problems.add("no such file", where=f"--set readme={readme}")
    problems.raise_if_any()


def _results_of(subject: Subject, url: str) -> list[CardResult]:
    """Every result of a run, no two of one identity."""
    of_suite: list[CardResult] = []
    covered: set[str] = set()
    for score in subject.scores.suite:
        value = finite_number(of_suite_score(score).value)
        if value is None:
            continue
        result = established_result(score.id, value, url)
        if result is not None:
            of_suite.append(_marked(result, _part_of_suite(subject, score)))
            covered.update(score.tasks)
    # The headline number of each task, and what the results file has where that is another one.
    items_of: dict[str, list[Quantity]] = {}
    for item in subject.headlines:
        if item.kind == "task" and item.primary and finite_number(item.value) is not None:
            items_of.setdefault(item.owner, []).append(item)
    of_tasks = [
        (name, _result_of_task(task, items_of[name], url))
        for name, task in subject.run.known_tasks.items()
        if name in items_of and name not in covered
    ]
    return [*of_suite, *_told_apart(of_tasks)]


def _part_of_suite(subject: Subject, score: SuiteScore) -> str:
    """The parts of the data that the tasks behind a suite score cover, where not all."""
    parts: dict[str, None] = {}
    for item in subject.headlines:
        task = subject.run.tasks.get(item.owner)
        if task is not None and item.owner in score.tasks and not item.beside:
            parts[_part_of(task, item)] = None
    return ", ".join(filter(None, parts))


def _result_of_task(task: TaskRun, items: Sequence[Quantity], url: str) -> CardResult:
    """The result of a task by the metric that stands for it."""
    settings, shots = task.logged.settings, task.logged.num_fewshot
    own = settings.dataset
    is_local = bool(own.files) or "/" not in own.path
    dataset = CardDataset(
        name=settings.title or task.name,
        type=task.name if is_local else own.path,
        config="" if is_local else own.name or "",
        split=own.split or "",
        revision=own.revision or "",
        args={} if shots is None else {"num_few_shot": shots},
    )
    results = []
    for item in items:
        value = round((item.value or 0.0) * (100 if item.is_share else 1), _DIGITS)
        results.append(CardResult(dataset, item.metric, item.name, value, url))
    first = _marked(results[0], _part_of(task, items[0]))
    if len(results) == 1:
        return first
    args = {**first.dataset.args, "notes": "; ".join(items[1].notes)}
    return replace(first, dataset=replace(first.dataset, args=args), stated=results[1])


def _part_of(task: TaskRun, item: Quantity) -> str:
    """`8 of 68 rows` of a run over a part of the data, and of one that lacks rows."""
    lacking = f"{item.rows} rows" if " of " in item.rows else ""
    return ", ".join(filter(None, (part_of(task), lacking)))


def _marked(result: CardResult, part: str) -> CardResult:
    """The result of a run over a part of the data with that part in its name, as cards show it."""
    if not part:
        return result
    dataset = replace(result.dataset, args={**result.dataset.args, "rows": part})
    return replace(result, dataset=dataset, metric_name=f"{result.metric_name} ({part})")


def _told_apart(results: Iterable[tuple[str, CardResult]]) -> Iterator[CardResult]:
    """The results, the task's name as config where two would be one entry."""
    taken = set()
    for name, result in results:
        if result.identity in taken:
            parts = filter(None, [result.dataset.config, name])
            other = replace(result.dataset, config=":".join(parts))
            yield replace(result, dataset=other)
        else:
            taken.add(result.identity)
            yield result


# --- the card


def merged(readme: Path, model: Mapping[str, Any], url: str) -> str:
    """Returns a card with the results of a run; everything else of it stays as it is.

    Args:
        readme: The card.
        model: Name and results.
        url: Address by which entries of an earlier export are recognised, and replaced.

    Raises:
        BadInput: the front matter is not valid YAML.
    """
    text = read_file(readme, own=True).decode("utf-8")
    match = _FRONT_MATTER.match(text)
    if match is None:
        return f"---\n{yaml_text({KEY: [model]})}---\n{text}"
    front = match[1]
    try:
        content, root = compose(front)
    except NotYaml as error:
        what = f"is not YAML: {error}"
        problem = Problem(what=what, where=str(readme), fix="correct its first part")
        raise BadInput(problem) from None
    former_index = as_mapping(content).get(KEY)
    block = yaml_text({KEY: _with_model(former_index, model, url)})
    start, end = _place_of_block(front, root)
    new_front = front[:start] + block + front[end:]
    before, after = text[: match.start(1)], text[match.end(1) :]
    return before + new_front + after


def _place_of_block(front: str, root: Any) -> tuple[int, int]:
    """Begin and end of the index in the front matter; its end where there is none."""
    keys_and_values = getattr(root, "value", ()) if front.strip() else ()
    for key, value in keys_and_values:
        if key.value == KEY:
            start = key.start_mark.index
            lines = front[start : value.end_mark.index].splitlines(keepends=True)
            # YAML counts the blank lines and comments behind a block to it.
            while lines and lines[-1].endswith("\n"):
                if lines[-1].strip() and not lines[-1].startswith("#"):
                    break
                lines.pop()
            return start, start + sum(map(len, lines))
    return len(front), len(front)


def _with_model(index: Any, model: Mapping[str, Any], url: str) -> list[Any]:
    """The index of a card with the results of a run in place of those with the same address."""
    if not isinstance(index, list) or not index:
        return [dict(model)]
    entries = list(index)
    names = [as_mapping(entry).get("name") for entry in entries]
    name = model["name"]
    place = names.index(name) if name in names else 0
    former = as_mapping(entries[place])
    results = former.get("results")
    if not isinstance(results, list):
        results = []
    sources = [as_mapping(as_mapping(result).get("source")) for result in results]
    others = [
        result for result, source in zip(results, sources, strict=True) if source.get("url") != url
    ]
    entries[place] = {**former, "results": [*others, *model["results"]]}
    return entries
