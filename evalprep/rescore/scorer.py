"""A task's own filters and `process_results` over saved replies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from evalprep.rescore import limit
from evalprep.rescore.loading import load_task, row_of
from evalprep.rescore.place import ScorerPlace
from evalprep.samples import Sample


@dataclass
class Outcome:
    """The score of one document by today's scorer.

    Filter -> metrics, filter -> filtered replies, or an error.

    `stopped`: it took more time than a row may take, and has no score.
    """

    metrics: dict[str, dict[str, Any]] = field(default_factory=dict)
    filtered: dict[str, list[Any]] = field(default_factory=dict)
    replay: dict[str, dict[str, Any]] = field(default_factory=dict)
    error: str = ""
    stopped: bool = False


@dataclass(frozen=True)
class Scorer:
    """A loaded task of lm-eval, and where it is from."""

    task: Any
    place: ScorerPlace

    @classmethod
    def load(cls, place: ScorerPlace) -> Scorer:
        """Loads it.

        Raises:
            BadInput: the task cannot be loaded from there.
        """
        return cls(load_task(place), place)


def _kind(task: Any, arguments: tuple[Any, ...]) -> str:
    """The kind of a request.

    A task that generates may ask for likelihoods, too, as squadv2 does: a continuation then stands
    in the place of the generation arguments.
    """
    if task.OUTPUT_TYPE == "multiple_choice":
        return "loglikelihood"
    is_continuation = len(arguments) > 1 and isinstance(arguments[1], str)
    if task.OUTPUT_TYPE == "generate_until" and is_continuation:
        return "loglikelihood"
    return str(task.OUTPUT_TYPE)


def _replies(kind: str, resps: Sequence[Any]) -> list[Any]:
    """The replies of one request as the harness had them: it logs likelihoods as text."""
    if kind == "loglikelihood":
        return [
            (float(resp[0]), str(resp[1]) == "True") if isinstance(resp, list) else resp
            for resp in resps
        ]
    if kind == "loglikelihood_rolling":
        return [float(resp[0] if isinstance(resp, list) else resp) for resp in resps]
    return list(resps)


def _instances(task: Any, sample: Sample, row: dict[str, Any], resps: Sequence[Any]) -> list[Any]:
    from lm_eval.api.instance import Instance

    instances = []
    for number, request in enumerate(resps):
        arguments = tuple((sample.arguments.get(f"gen_args_{number}") or {}).values())
        kind = _kind(task, arguments)
        instance = Instance(kind, row, arguments, number, (task.config.task, sample.doc_id, 1))
        instance.resps = _replies(kind, request if isinstance(request, list) else [request])
        instances.append(instance)
    return instances


def _score(
    scorer: Scorer, sample: Sample, resps: Sequence[Any]
) -> tuple[dict[str, dict[str, Any]], dict[str, list[Any]]]:
    """Metrics and filtered replies per filter."""
    task, row = scorer.task, row_of(scorer.place, sample)
    instances = _instances(task, sample, row, resps)
    metrics, filtered = {}, {}
    for ensemble in task._filters:  # noqa: SLF001 - the harness offers no public access
        ensemble.apply(instances)
        replies = [instance.filtered_resps[ensemble.name] for instance in instances]
        metrics[ensemble.name] = dict(task.process_results(dict(row), list(replies)))
        filtered[ensemble.name] = replies
    return metrics, filtered


def score_sample(scorer: Scorer, sample: Sample) -> Outcome:
    """Scores one saved sample, and the output published for it where the row has one.

    Never raises, and ends.
    """
    outcome = Outcome()
    try:
        with limit.cpu_limit(limit.SECONDS):
            outcome.metrics, outcome.filtered = _score(scorer, sample, sample.resps)
            published = sample.previous_output
            if (
                published is not None
                and scorer.task.OUTPUT_TYPE == "generate_until"
                and len(sample.resps) == 1
            ):
                outcome.replay, _ = _score(scorer, sample, [[published]])
    except limit.Overtime:
        outcome.stopped = True
        outcome.error = f"stopped after {limit.SECONDS:g} s of CPU time"
    except Exception as error:  # noqa: BLE001
        # A scorer that fails on one reply must not hide the others.
        outcome.error = f"{type(error).__name__}: {error}"
    return outcome


def score_samples(scorer: Scorer, samples: Sequence[Sample]) -> list[Outcome]:
    """Scores several samples.

    After some on which the scorer had to be stopped, it is not tried on the others.
    """
    outcomes: list[Outcome] = []
    for sample in samples:
        if sum(outcome.stopped for outcome in outcomes) >= limit.MOST_STOPS:
            outcomes.append(
                Outcome(
                    error=f"not tried: the scorer was stopped {limit.MOST_STOPS} times",
                    stopped=True,
                )
            )
        else:
            outcomes.append(score_sample(scorer, sample))
    return outcomes
