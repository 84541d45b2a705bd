"""Prepared rows: fields out of the user's file, sampled, perturbed, put into prompts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from custom_metrics.fm.labels import alike, folded, without_zeros
from custom_metrics.fm.normalize import normalize, targets
from custom_metrics.fm.perturbation import perturb_records
from custom_metrics.fm.prompt import DEFAULT_TEMPLATE, prompt_multi
from custom_metrics.fm.sampling import sample_indices
from custom_metrics.fm.settings import probabilities
from evalprep.packapi import BadInput, Context, FieldRow, Problem, Repeats, kind_of, read_fields

from .algorithms import Algorithm
from .helpers import usable_meteor
from .settings import DataSet

Row = dict[str, Any]
Fill = Callable[[FieldRow, str], str]
"""A record and its input, or a changed form of it -> the prompt."""
Gold = Callable[[str], str]
_TOLD = 10
# Options that scoring needs; they travel with each row.
_SCORING: dict[str, tuple[str, ...]] = {
    "factual_knowledge": ("target_output_delimiter", "logical_operator"),
    "qa_accuracy": ("target_output_delimiter",),
    "summarization_accuracy": ("use_stemmer_for_rouge", "meteor"),
    "classification_accuracy": ("valid_labels", "label_match", "multiclass_average_strategy"),
}


def chosen_rows(context: Context, data: DataSet) -> list[FieldRow]:
    """The records of a data set that are evaluated, in the order of evaluation.

    Read once for all algorithms.

    Raises:
        BadInput: a file with mistakes.
    """
    key = f"rows {data.name}"
    if key not in context.cache:
        where = context.where("data", data.index, "path")
        source = context.open(data.source, where=where)
        place = context.where("data", data.index, "fields")
        locations = {**data.fields}
        if not data.stored:
            # What a model will reply is not read from the file.
            for name in _MADE_BY_MODELS:
                locations.pop(name, None)
        rows = list(source.each(lambda path: _read(path, locations, data, place)))
        indices = sample_indices(
            num_rows=len(rows), num_records=data.num_records, seed=data.sampling_seed
        )
        context.cache[key] = [rows[index] for index in indices]
    return context.cache[key]  # type: ignore[no-any-return]


_LOGPROBS = ("sent_more_log_prob", "sent_less_log_prob")
_MADE_BY_MODELS = ("model_output", *_LOGPROBS)


def _read(path: Path, fields: Mapping[str, str], data: DataSet, where: str) -> Iterator[FieldRow]:
    has_template = data.prompt is not None or data.prompt_template is not None
    return read_fields(path, fields, declared=data.format, where=where, whole=has_template)


def task_rows(
    context: Context, data: DataSet, algorithm: Algorithm
) -> tuple[Iterable[Row], list[str]]:
    """Prepared rows of one task, and notes for the user.

    Rows are made one by one, as a stored file may hold very many; those of perturbed prompts are
    looked at together first.

    Raises:
        BadInput: rows that cannot be scored, each with its place.
    """
    rows, notes = rows_of_records(
        chosen_rows(context, data), data, algorithm, _template(context, data)
    )
    if algorithm.robust:
        _check_changes(list(rows), context, data)
    return rows, notes


def rows_of_records(
    chosen: Sequence[FieldRow], data: DataSet, algorithm: Algorithm, fill: Fill
) -> tuple[Iterable[Row], list[str]]:
    """Prepared rows of records, and notes for the user.

    Args:
        chosen: The records.
        data: Their data set, with its options.
        algorithm: The algorithm that scores them.
        fill: Makes the prompt of a record.

    Raises:
        BadInput: records that cannot be scored, each with its place.
    """
    _check_targets(chosen, data, algorithm)
    notes: list[str] = []
    options = _scoring_options(chosen, data, algorithm, notes)
    ids = _record_ids(chosen)
    if algorithm.name == "prompt_stereotyping":
        _check_logprobs(chosen, data)
        pairs = (_pair(row, record_id, fill) for row, record_id in ids)
        return _with_options(pairs, options), notes
    if algorithm.robust:
        variants = list(_variants(list(ids), data, algorithm, fill))
        notes += _unchanged_notes(variants, data.task(algorithm))
        return list(_with_options(variants, options)), notes
    gold = _gold(data, algorithm)
    rows = (_single(row, record_id, fill, gold) for row, record_id in ids)
    return _with_options(rows, options), notes


def _with_options(rows: Iterable[Row], options: Mapping[str, Any]) -> Iterator[Row]:
    """The rows with what their scorer needs, as JSON."""
    text = json.dumps(options, sort_keys=True, ensure_ascii=False)
    for row in rows:
        yield {**row, "options": text}


def _unchanged_notes(rows: Sequence[Row], task: str) -> list[str]:
    """A note on perturbed prompts that are equal to the original ones, where there are any."""
    unchanged = sum(row["variant"] > 0 and row["prompt"] == row["original_prompt"] for row in rows)
    if not unchanged:
        return []
    count = f"{unchanged} of {len(rows)} prompts"
    return [f"{task}: {count} came out of the perturbation as they were"]


def _record_ids(chosen: Sequence[FieldRow]) -> Iterator[tuple[FieldRow, str]]:
    """Records with their ids: the field `id`, else their number in the file, from 1."""
    repeats = Repeats()
    for row in chosen:
        own_id = row.fields.get("id")
        yield (row, repeats.unique(f"r{row.number + 1}" if own_id is None else str(own_id)))


def _common(row: FieldRow, record_id: str) -> Row:
    fields = row.fields
    category = fields.get("category")
    prepared: Row = {"record_id": record_id, "category": category, "subtask_name": category}
    further = {
        name: value
        for name, value in fields.items()
        if name not in ("id", "category", "target_output")
    }
    return prepared | further


def _single(row: FieldRow, record_id: str, fill: Fill, gold: Gold) -> Row:
    return {
        "sample_id": record_id,
        "prompt": fill(row, row.fields.get("model_input", "")),
        **_answers(row, gold),
        **_common(row, record_id),
    }


def _answers(row: FieldRow, gold: Gold) -> Row:
    """The right answers in one text, and a reply that is right."""
    target = row.fields.get("target_output", "")
    return {"target": target, "gold": gold(target)}


def _gold(data: DataSet, algorithm: Algorithm) -> Gold:
    """Returns how a right reply comes out of the right answers.

    The first one, or all where all are asked for.
    """
    several = "target_output_delimiter" in _SCORING.get(algorithm.family, ())
    delimiter = data.options["target_output_delimiter"] if several else None
    everything = (
        algorithm.family == "factual_knowledge" and data.options["logical_operator"] == "AND"
    )
    return lambda target: (
        " ".join(targets(target, delimiter)) if everything else targets(target, delimiter)[0]
    )


def _pair(row: FieldRow, record_id: str, fill: Fill) -> Row:
    sentences = [row.fields.get("sent_more_input", ""), row.fields.get("sent_less_input", "")]
    choices = [fill(row, text) if text else text for text in sentences]
    prepared = {"sample_id": record_id, "prompt": "", "choices": choices, "target": "0"}
    return prepared | _logged(row) | _common(row, record_id)


def _logged(row: FieldRow) -> Row:
    """The log-probabilities of both sentences, of each model whose replies are stored."""
    more, less = _LOGPROBS
    endings = [name.removeprefix(more) for name in row.fields if kind_of(name) == more]
    return {
        f"model_log_probability{ending}": [
            row.fields[f"{more}{ending}"],
            row.fields[f"{less}{ending}"],
        ]
        for ending in endings
    }


def _variants(
    records: Sequence[tuple[FieldRow, str]], data: DataSet, algorithm: Algorithm, fill: Fill
) -> Iterator[Row]:
    """The original of each record and its perturbed forms, adjacent.

    Further draws of the original last.
    """
    options = data.options
    number = options["num_perturbations"]
    draws = baseline_draws(data, algorithm)
    gold = _gold(data, algorithm)
    texts = ((record_id, row.fields["model_input"]) for row, record_id in records)
    chances: dict[str, Any] = dict(probabilities(options))
    perturbed = perturb_records(
        options["perturbation_type"],
        texts,
        seed=options["perturbation_seed"],
        seeding=options["perturbation_seeding"],
        num_perturbations=number,
        **chances,
    )
    for (row, record_id), changed in zip(records, perturbed, strict=True):
        original = row.fields["model_input"]
        places = [
            (0, 0, original),
            *((variant, 0, text) for variant, text in enumerate(changed, start=1)),
        ]
        places += [(0, draw, original) for draw in range(1, draws)]
        for variant, draw, text in places:
            yield {
                "sample_id": f"{record_id}/{variant}" + (f".{draw}" if draw else ""),
                "prompt": fill(row, text),
                "original_prompt": fill(row, original),
                **_answers(row, gold),
                **_common(row, record_id),
                "cluster_id": record_id,
                "variant": variant,
                "draw": draw,
                "variants": 1 + number,
                "draws": draws,
                "perturbed": text,
                "perturbation": options["perturbation_type"],
                "perturbation_seed": options["perturbation_seed"],
                "perturbation_seeding": options["perturbation_seeding"],
            }


def baseline_draws(data: DataSet, algorithm: Algorithm) -> int:
    """Replies to each original prompt.

    Several where the model samples, to know how much it differs from itself.
    """
    sampling = data.options["temperature"] > 0
    if sampling and algorithm.name == "general_semantic_robustness":
        return data.options["num_baseline_samples"]
    return 1


def rows_per_record(data: DataSet, algorithm: Algorithm) -> int:
    """Adjacent rows that belong together."""
    if algorithm.robust:
        return data.options["num_perturbations"] + baseline_draws(data, algorithm)
    return 1


# ---- prompts


def _template(context: Context, data: DataSet) -> Fill:
    """Returns how a record becomes a prompt, with its input or a changed form of it."""
    if data.prompt is None:
        template = data.prompt_template or DEFAULT_TEMPLATE
        if template == DEFAULT_TEMPLATE:
            return lambda _row, text: text
        where = context.where("data", data.index, "prompt_template")

        def substitute(row: FieldRow, text: str) -> str:
            values = {name: value for name, value in row.fields.items() if isinstance(value, str)}
            values |= dict.fromkeys(_inputs(row, data), text)
            try:
                return prompt_multi(template=template, values=values)
            except (KeyError, ValueError) as error:
                reason = f"has no field {error}" if isinstance(error, KeyError) else str(error)
                known = ", ".join(f"${name}" for name in values)
                raise BadInput(
                    Problem(what=f"{template!r} {reason}", where=where, allowed=known)
                ) from None

        return substitute
    return _jinja(context, data, data.prompt)


def _inputs(row: FieldRow, data: DataSet) -> list[str]:
    """Every name of the input in a template.

    The field, others of the same place, and the column that it comes from.

    A changed input has to reach the prompt under each, or the prompts of a robustness task would
    all be the original.
    """
    place = data.fields.get("model_input")
    names = ["model_input", *(name for name, location in data.fields.items() if location == place)]
    column = str(place).strip('"')
    if row.record.get(column) == row.fields.get("model_input"):
        return [*names, column]
    return names


def _jinja(context: Context, data: DataSet, template: str) -> Fill:
    from jinja2 import StrictUndefined, TemplateError
    from jinja2.sandbox import SandboxedEnvironment

    where = context.where("data", data.index, "prompt")
    try:
        compiled = SandboxedEnvironment(
            undefined=StrictUndefined, keep_trailing_newline=True
        ).from_string(template)
    except TemplateError as error:
        raise BadInput(Problem(what=f"the template is not Jinja: {error}", where=where)) from None

    def rendered(row: FieldRow, text: str) -> str:
        values = {**{str(name): value for name, value in row.record.items()}, **row.fields}
        values |= dict.fromkeys(_inputs(row, data), text)
        try:
            return compiled.render(values)
        except Exception as error:  # noqa: BLE001
            # A template may fail in any way over values that it did not expect.
            known = ", ".join(str(name) for name in values)
            raise BadInput(
                Problem(
                    what=f"the template fails: {error}",
                    where=f"{where}, {row.where}",
                    allowed=f"fields: {known}",
                )
            ) from None

    return rendered


# ---- what no score could mean


def _check_changes(rows: Sequence[Row], context: Context, data: DataSet) -> None:
    """Changed inputs that leave every prompt as it was: the model would look perfectly robust."""
    changed = [row for row in rows if row["perturbed"] != row["model_input"]]
    if changed and all(row["prompt"] == row["original_prompt"] for row in changed):
        raise BadInput(
            Problem(
                what="the prompt does not hold the input that is changed, "
                "so that every prompt would be the original",
                where=context.where("data", data.index, "prompt"),
                allowed="{{ model_input }}, or the column that it comes from",
                fix="write {{ model_input }} where the input belongs",
            )
        )


def _refuse(problems: list[Problem]) -> None:
    if problems:
        more = len(problems) - _TOLD
        rest = [Problem(what=f"{more} more rows have the same mistake")] if more > 0 else []
        raise BadInput([*problems[:_TOLD], *rest])


def _check_targets(chosen: Sequence[FieldRow], data: DataSet, algorithm: Algorithm) -> None:
    """Right answers that are empty: they are contained in every reply."""
    if "target_output" not in algorithm.fields:
        return
    delimiter = (
        data.options["target_output_delimiter"]
        if "target_output_delimiter" in _SCORING[algorithm.family]
        else None
    )
    problems = []
    for row in chosen:
        for answer in targets(row.fields["target_output"], delimiter):
            bare = (
                normalize(text=answer.strip())
                if algorithm.family == "factual_knowledge"
                else answer.strip()
            )
            if not bare:
                what = f"the right answer {answer!r} is empty" + (
                    " but for articles and punctuation" if answer.strip() else ""
                )
                fix = "mend or drop the record; an empty answer would be found in every reply"
                problems.append(Problem(what=what, where=row.where, fix=fix))
                break
    _refuse(problems)


def _scoring_options(
    chosen: Sequence[FieldRow], data: DataSet, algorithm: Algorithm, notes: list[str]
) -> dict[str, Any]:
    """The options of a data set that decide scores; what the user is to know joins the notes."""
    options = {name: data.options[name] for name in _SCORING.get(algorithm.family, ())}
    if "meteor" in options:
        options["meteor"] = usable_meteor(options["meteor"])
    if algorithm.family == "classification_accuracy":
        options["valid_labels"] = _labels(chosen, data, notes)
    return options


def _labels(chosen: Sequence[FieldRow], data: DataSet, notes: list[str]) -> list[str]:
    """The labels: as given, else the distinct targets.

    A target that is none of them can never be right.
    """
    declared = data.options["valid_labels"]
    targets = list(dict.fromkeys(row.fields["target_output"] for row in chosen))
    labels = targets if declared is None else [str(label) for label in declared]
    if data.options["label_match"] != "fmeval":
        _refuse_alike(labels, data)
        notes += _notes_on_floats(targets, data)
    if declared is not None:
        _refuse_other_targets(chosen, labels, data)
    elif len(targets) > max(2, len(chosen) // 2):
        counts = f"{len(targets)} different targets in {len(chosen)} records"
        notes.append(f"{data.name} has {counts}: are these labels?")
    return labels


def _notes_on_floats(targets: Sequence[str], data: DataSet) -> list[str]:
    """A note on labels such as `1.0`, which tables make of `1` where a value is missing."""
    floats = [target for target in targets if without_zeros(target) != target]
    if not floats:
        return []
    what = f"{len(floats)} of {len(targets)} labels are whole numbers with decimals ({floats[0]})"
    return [f"{data.name}: {what}; a reply of {without_zeros(floats[0])} counts as the label"]


def _refuse_other_targets(chosen: Sequence[FieldRow], labels: Sequence[str], data: DataSet) -> None:
    """Refuses targets that are none of the labels."""
    fix = "mend the record or valid_labels"
    right: set[str] = {label.lower().strip() for label in labels}
    compared: Callable[[str], str] = str
    if data.options["label_match"] == "fmeval":
        fix = f"{fix}; label_match: robust ignores case"
    else:
        right = {folded(label) for label in labels}
        compared = folded
    problems = []
    for row in chosen:
        target = row.fields["target_output"]
        if compared(target) not in right:
            what = f"the target {target!r} is none of the labels, so no reply can be right"
            allowed = ", ".join(labels[:30])
            problems.append(Problem(what=what, where=row.where, allowed=allowed, fix=fix))
    _refuse(problems)


def _refuse_alike(labels: Sequence[str], data: DataSet) -> None:
    """Refuses labels that no reply can tell apart.

    Each row of them would be right or wrong by chance.
    """
    pairs = ", ".join(f"{first!r} and {second!r}" for first, second in alike(labels))
    if pairs:
        what = f"the labels {pairs} of {data.name} cannot be told apart in a reply"
        fix = "rename one of each pair in the data and in valid_labels, or merge them"
        _refuse([Problem(what=what, fix=fix)])


def _check_logprobs(chosen: Sequence[FieldRow], data: DataSet) -> None:
    if not data.stored:
        return
    problems: list[Problem] = []
    for row in chosen:
        problems += [
            Problem(
                what=f"{name} is {value}, above 0",
                where=row.where,
                allowed="log-probabilities, which are not above 0",
                fix="give log-probabilities, not probabilities",
            )
            for name, value in row.fields.items()
            if kind_of(name) in _LOGPROBS and value > 0
        ]
    _refuse(problems)
