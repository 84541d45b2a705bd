"""The part of evalprep meant for notebooks.

`prepare` and `run` do what the verbs of these names do; `load_run`, `compare_runs` and `score_run`
give data frames; `evaluate` works without any file.

>>> import evalprep                                             # doctest: +SKIP
>>> run = evalprep.load_run("eval_results")                     # doctest: +SKIP
>>> evalprep.samples_df(run, tasks=["meta_gpqa"])               # doctest: +SKIP
>>> evalprep.compare_runs(run).to_pandas()                      # doctest: +SKIP
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

from evalprep.compare import Comparison, Settings
from evalprep.compare import compare_runs as _compare_runs
from evalprep.errors import Problems
from evalprep.export import PAIR_FIELDS, with_columns
from evalprep.results import Run, load_run, open_run
from evalprep.samples import SAMPLE_FIELDS
from evalprep.score import Scores
from evalprep.score import score_run as _score_run

if TYPE_CHECKING:
    from evalprep.annotate import Model
    from evalprep.packs import Pack
    from evalprep.prepare import Preparation

__all__ = [
    "Comparison",
    "Run",
    "Scores",
    "compare_runs",
    "evaluate",
    "evaluate_sample",
    "load_run",
    "paired_df",
    "prepare",
    "run",
    "samples_df",
    "score_run",
]

RunOrPath = Run | str | os.PathLike[str]
#: One folder of packs, or several.
TemplateDirs = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def prepare(
    config: str | os.PathLike[str] = "eval_config.yaml", *, force: bool = False, **keys: Any
) -> Preparation:
    """Prepares the work folder of a config, as `evalprep prepare` does.

    Args:
        config: The file.
        force: Writes files anew that the user edited; the edited ones are kept as NAME.yours.
        keys: Keys of the config that are overruled, e.g. `limit=10`.

    Returns:
        The preparation: `work_dir`, `lines` (the commands), `tasks`, `findings`, `notes`.

    Raises:
        BadInput: every mistake of the config, the packs and the data; nothing is written then.
    """
    from evalprep.config import load_config
    from evalprep.prepare import prepare as prepared
    from evalprep.prepare import refuse_unknown_tasks

    known, packs = load_config(Path(config), options=keys)
    refuse_unknown_tasks(known, packs)
    return prepared(known, packs, force=force, full=True)


def run(
    place: str | os.PathLike[str] = "eval_config.yaml", *, restart: bool = False, **keys: Any
) -> Run:
    """Prepares what changed and runs the model, as `evalprep run` does, in a process of its own.

    Progress is written to `sys.stderr`. What is finished is not generated again.

    Args:
        place: A config, or a prepared folder.
        restart: Generates again what an earlier run finished.
        keys: Keys of the config that are overruled for this call, e.g. `model_name="org/model"`.

    Returns:
        The run.

    Raises:
        BadInput: a mistake in the config or the folder, as `prepare`.
        RuntimeError: a command failed; with what is known of the cause and the place of its log.
    """
    from evalprep.config import load_config
    from evalprep.verbs.running.conclusion import place_of

    if Path(place).is_file():
        load_config(Path(place), options=keys)  # mistakes, and secrets, before a process starts
    words = [os.fspath(place), "--json", *(["--restart"] if restart else [])]
    for key, value in keys.items():
        words += ["--set", f"{key}={json.dumps(value)}"]
    outcomes = _outcomes_of_run(words)
    folder, timestamp = place_of([Path(outcome["results"]) for outcome in outcomes])
    return load_run(folder, timestamp=timestamp)


def _outcomes_of_run(words: Sequence[str]) -> list[dict[str, Any]]:
    """What came of each command of `evalprep run`; raises as `run` does."""
    from evalprep.errors import BadInput, Problem
    from evalprep.files import as_mapping

    # Safe path: a module in the current folder stands for none of Python's own.
    command = [sys.executable, "-P", "-m", "evalprep", "run", *words]
    # Into a file: a full pipe would stop the process while its progress is read.
    with TemporaryFile("w+", encoding="utf-8", errors="replace") as printed:
        with subprocess.Popen(
            command, stdout=printed, stderr=subprocess.PIPE, text=True, errors="replace"
        ) as child:
            for line in child.stderr or ():
                print(line, end="", file=sys.stderr, flush=True)
        printed.seek(0)
        said = json.loads(printed.read() or "[]")
    # In place of outcomes an error is a mapping.
    problems = [Problem(**problem) for problem in as_mapping(said).get("problems") or ()]
    if problems and child.returncode == 2:
        raise BadInput(problems)
    if problems or child.returncode or not said:
        known = list(map(str, problems)) or [
            f"{outcome['message']} ({outcome['log']})" for outcome in said if outcome["message"]
        ]
        raise RuntimeError("; ".join(known) or f"the run ended with {child.returncode}")
    return list(said)


def _opened(run: RunOrPath) -> Run:
    from evalprep.packs import on_demand

    return run if isinstance(run, Run) else open_run(run, on_demand())


def compare_runs(
    run: RunOrPath,
    other: RunOrPath | None = None,
    *,
    tasks: Sequence[str] | None = None,
    confidence: float = 0.95,
    template_dir: TemplateDirs = (),
) -> Comparison:
    """Compares a run with its published verdicts, or with another run, as `evalprep compare` does.

    Args:
        run: A run, or its path.
        other: What it is held against; None for the published verdicts of its rows.
        tasks: Task or group names; by default all, with the suite scores of their packs.
        confidence: Of intervals and verdicts.
        template_dir: Folder of packs beside the shipped ones, or several.

    Returns:
        The comparison; `to_pandas()` has one row per task, `flips_to_pandas()` one per changed
        sample, `to_dict()` all.

    Raises:
        BadInput: no such run, or no such task.
    """
    settings = Settings(confidence=confidence)
    settings.check()
    return _compare_runs(
        _opened(run),
        _opened(other) if other is not None else None,
        None if other is None or tasks else _found_packs(template_dir),
        settings=settings,
        tasks=list(tasks) if tasks is not None else None,
    )


def _found_packs(template_dir: TemplateDirs) -> Mapping[str, Pack]:
    """The shipped packs and those of some folders."""
    from evalprep.packs import find_packs

    named = [template_dir] if isinstance(template_dir, str | os.PathLike) else template_dir
    return find_packs([Path(folder) for folder in named])


@with_columns(SAMPLE_FIELDS)
def samples_df(
    run: RunOrPath, reading: str | None = None, *, tasks: Sequence[str] | None = None
) -> Any:
    """Returns the samples of a run as a data frame of pandas, one row for each document of a task.

    Args:
        run: A run, or its path.
        reading: The filter whose answers and scores are taken, such as `strict-match`; by default
            that of each task's primary metric, beside the scores of all others.
        tasks: Task or group names; all by default.

    Raises:
        BadInput: no such run, task or filter.
    """
    from evalprep.export import frame_of, model_id_of, sample_records

    opened = _opened(run)
    records = sample_records(opened, model_id_of(opened), names=tasks or (), reading=reading)
    return frame_of(SAMPLE_FIELDS, records)


@with_columns(PAIR_FIELDS)
def paired_df(a: RunOrPath, b: RunOrPath | None = None, **options: Any) -> Any:
    """Returns the pairs of rows of two runs as a data frame of pandas, as `compare_runs` met them.

    Rows without a partner, and pairs that the comparison leaves out, are not in it.

    Args:
        a: The candidate: a run, or its path.
        b: The baseline; None for the published verdicts of the candidate's rows.
        options: `tasks` and `confidence`, as of `compare_runs`.

    Raises:
        BadInput: no such run, or no such task.
    """
    from evalprep.export import frame_of, pair_records

    return frame_of(PAIR_FIELDS, pair_records(compare_runs(a, b, **options)))


def score_run(
    run: RunOrPath,
    *,
    reference: RunOrPath | None = None,
    finetuned: RunOrPath | None = None,
    template_dir: TemplateDirs = (),
) -> Scores:
    """Scores a run: tasks, groups and the suite scores of its packs.

    Args:
        run: A run, or its path.
        reference: Run or log that scores compare with.
        finetuned: Run or log of the model before unlearning, by which scores are divided.
        template_dir: Folder of packs beside the shipped ones, or several.

    Raises:
        BadInput: no such run or reference, or a mistake in a pack.
    """
    from evalprep.score import open_reference

    packs = _found_packs(template_dir)

    def opened(other: RunOrPath | None, option: str) -> Run | None:
        if other is None or isinstance(other, Run):
            return other
        return open_reference(Path(other), packs.values(), option)

    return _score_run(
        _opened(run),
        packs,
        reference=opened(reference, "--reference"),
        finetuned=opened(finetuned, "--finetuned"),
    )


def evaluate(
    rows: Iterable[Mapping[str, Any]] | str | os.PathLike[str],
    *,
    algorithm: str,
    model: Model | None = None,
    model_input: str = "model_input",
    target: str = "target_output",
    output: str = "model_output",
    category: str | None = None,
    sent_more_input: str = "sent_more_input",
    sent_less_input: str = "sent_less_input",
    sent_more_log_prob: str | None = None,
    sent_less_log_prob: str | None = None,
    prompt: str | None = None,
    prompt_template: str | None = None,
    format: str | None = None,  # noqa: A002 - the key's name in a config
    num_records: int | None = None,
    sampling_seed: int = 1234,
    threads: int | None = None,
    retries: int = 2,
    **options: Any,
) -> Any:
    """Scores a model, or stored replies, by one algorithm of the pack fm, without files.

    >>> rows = [{"answer": "Paris", "reply": "Paris"}, {"answer": "Rome", "reply": "Oslo"}]
    >>> done = evaluate(rows, algorithm="qa_accuracy", target="answer", output="reply")
    >>> done.scores["f1_score"].value
    0.5

    Args:
        rows: Records as mappings, a data frame, or the path of a JSON, JSON Lines, parquet, CSV or
            TSV file.
        algorithm: One of the twelve algorithms, such as `qa_accuracy`.
        model: What is asked: an object whose `predict(prompt)` returns (reply, log-probability), a
            function of a prompt, the address of an OpenAI-compatible server, or a mapping with its
            `base_url` and `model`. None for stored replies.
        model_input: Column name or JMESPath expression of the input, for a model.
        target: The same of the right answer.
        output: The same of the stored reply.
        category: The same of the category, for scores by category.
        sent_more_input: For `prompt_stereotyping` of a model: the same of the stereotype.
        sent_less_input: The same of the other sentence.
        sent_more_log_prob: For `prompt_stereotyping` of stored values: the same of the
            log-probability of the stereotype.
        sent_less_log_prob: The same of the other sentence.
        prompt: A Jinja template over all columns, for a model.
        prompt_template: A template of fmeval, with `$model_input`; the input by default.
        format: The format of a file, where its name does not tell it.
        num_records: Records to draw; all by default.
        sampling_seed: Seed of the draw.
        threads: Prompts at a time; 8 for an address and 1 for other models by default.
        retries: Further attempts at a prompt that got no answer.
        options: Options of the pack, such as `valid_labels` (docs/packs/fm.md).

    Returns:
        An `Evaluation`: `scores` (name -> `value`, `low`, `high`, `n`, `categories`), `samples`,
        `notes`, and `to_pandas()`.

    Raises:
        BadInput: an unknown algorithm or option, records that cannot be scored, each with its
            place, or a model that answers no prompt.
    """
    fields = {
        "model_input": model_input,
        "target_output": target,
        "model_output": output,
        "category": category,
        "sent_more_input": sent_more_input,
        "sent_less_input": sent_less_input,
        "sent_more_log_prob": sent_more_log_prob,
        "sent_less_log_prob": sent_less_log_prob,
    }
    direct, defaults = _fm_module()
    return direct.evaluate(
        rows,
        defaults,
        algorithm=algorithm,
        fields=fields,
        options=options,
        ask_with=_asking(model, threads, retries),
        format=format,
        prompt=prompt,
        prompt_template=prompt_template,
        num_records=num_records,
        sampling_seed=sampling_seed,
    )


def evaluate_sample(
    *,
    algorithm: str,
    model: Model | None = None,
    model_input: str | None = None,
    target: str | None = None,
    output: str | None = None,
    sent_more_input: str | None = None,
    sent_less_input: str | None = None,
    sent_more_log_prob: float | None = None,
    sent_less_log_prob: float | None = None,
    prompt: str | None = None,
    prompt_template: str | None = None,
    retries: int = 2,
    **options: Any,
) -> dict[str, float | None]:
    """Scores one record by one algorithm of the pack fm.

    >>> evaluate_sample(algorithm="factual_knowledge", target="Rome", output="In Rome.")
    {'factual_knowledge': 1.0, 'factual_knowledge_quasi_exact': 1.0}

    Args:
        algorithm: One of the twelve algorithms, such as `qa_accuracy`.
        model: What is asked, as in `evaluate`; None where the reply is given.
        model_input: The input, for a model.
        target: The right answer.
        output: The reply.
        sent_more_input: For `prompt_stereotyping` of a model: the stereotype.
        sent_less_input: The other sentence.
        sent_more_log_prob: The log-probability of the stereotype, without a model.
        sent_less_log_prob: That of the other sentence.
        prompt: As in `evaluate`.
        prompt_template: As in `evaluate`.
        retries: As in `evaluate`.
        options: Options of the pack, such as `valid_labels` (docs/packs/fm.md).

    Returns:
        Score -> value.

    Raises:
        BadInput: an unknown algorithm or option, or a record that cannot be scored.
    """
    values = {
        "model_input": model_input,
        "target_output": target,
        "model_output": output,
        "sent_more_input": sent_more_input,
        "sent_less_input": sent_less_input,
        "sent_more_log_prob": sent_more_log_prob,
        "sent_less_log_prob": sent_less_log_prob,
    }
    known = {name: value for name, value in values.items() if value is not None}
    direct, defaults = _fm_module()
    scores: dict[str, float | None] = direct.evaluate_sample(
        defaults,
        algorithm=algorithm,
        values=known,
        options=options,
        ask_with=_asking(model, None, retries),
        prompt=prompt,
        prompt_template=prompt_template,
    )
    return scores


def _asking(model: Model | None, threads: int | None, retries: int) -> Callable[..., Any] | None:
    """Options of the pack fm -> what asks the model; None without a model.

    Raises:
        BadInput: a number of threads or retries that cannot be.
    """
    problems = Problems()
    if threads is not None and not (isinstance(threads, int) and threads >= 1):
        problems.add(f"threads is {threads!r}", where="threads", allowed="a number >= 1")
    if not (isinstance(retries, int) and retries >= 0):
        problems.add(f"retries is {retries!r}", where="retries", allowed="a number >= 0")
    problems.raise_if_any()
    if model is None:
        return None

    def ask_with(options: Mapping[str, Any]) -> Callable[..., Any]:
        from evalprep.annotate import OF_ENDPOINTS, Endpoint, predictions, predictor_of

        generation = {
            "max_tokens": options["max_gen_toks"],
            "temperature": options["temperature"],
            **({"stop": options["until"]} if options["until"] else {}),
        }
        predictor = predictor_of(model, generation, options["chat"])
        by_default = OF_ENDPOINTS if isinstance(predictor, Endpoint) else 1
        number = threads or by_default

        def ask(prompts: Sequence[str], log_probability: bool) -> list[Any]:
            return predictions(
                predictor, prompts, log_probability=log_probability, threads=number, retries=retries
            )

        return ask

    return ask_with


@functools.cache
def _fm_module() -> tuple[Any, dict[str, Any]]:
    """The module of the pack `fm` with scores of single rows, and the defaults of the options."""
    from evalprep.packs import find_packs

    pack = find_packs()["fm"]
    return pack.module("direct"), {name: option.default for name, option in pack.config.items()}
