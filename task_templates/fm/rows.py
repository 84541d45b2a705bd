"""Prepared rows: fields out of the user's file, sampled, perturbed, put into prompts."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from string import Template
from typing import Any

from custom_metrics.fm.labels import alike, folded, without_zeros
from custom_metrics.fm.normalize import normalize, targets
from custom_metrics.fm.perturbation import perturb_records
from custom_metrics.fm.prompt import DEFAULT_TEMPLATE, prompt_multi
from custom_metrics.fm.sampling import sample_indices
from custom_metrics.fm.settings import probabilities
from custom_metrics.text.words import has_joined_words
from evalprep.packapi import (
    BadInput,
    Context,
    FieldRow,
    Problem,
    Repeats,
    as_jinja,
    is_jinja,
    kind_of,
    near,
    read_fields,
    unknown_names,
    with_places,
)

from .algorithms import Algorithm
from .helper_models import usable_meteor
from .settings import DataSet

Row = dict[str, Any]
Fill = Callable[[FieldRow, str], str]
WhereOf = Callable[[str], str]
"""Key of a data set -> its place, for messages."""
"""A record and its input, or a changed form of it -> the prompt."""
Gold = Callable[[str], str]
"""The right answers of a record, in one text -> a reply that is right."""
Chosen = Sequence[FieldRow]
"""The records of a data set that are evaluated."""
Record = tuple[FieldRow, str]
"""The fields of a record, and its id."""
_LISTED = 10  # problems of one kind that are listed
# Options that scoring needs; they travel with each row.
_SCORING: dict[str, tuple[str, ...]] = {
    "factual_knowledge": ("target_output_delimiter", "logical_operator"),
    "qa_accuracy": ("target_output_delimiter",),
    "summarization_accuracy": ("use_stemmer_for_rouge", "rouge_tokenizer", "meteor"),
    "classification_accuracy": ("valid_labels", "label_match", "multiclass_average_strategy"),
}


_OF_PATTERN = ("label_pattern", "label_pattern_match")


def chosen_rows(context: Context, data: DataSet) -> list[FieldRow]:
    """The records of a data set that are evaluated, in the order of evaluation.

    Read once for all algorithms.

    Raises:
        BadInput: a file with mistakes.
    """
    return context.once(f"rows {data.name}", partial(_chosen_rows, context, data))


def _chosen_rows(context: Context, data: DataSet) -> list[FieldRow]:
    where = context.where("data", data.index, "path")
    source = context.open(data.source, where=where)
    where_fields = context.where("data", data.index, "fields")
    locations = {**data.fields}
    if not data.stored:
        # What a model will reply is not read from the file.
        for name in _MADE_BY_MODELS:
            locations.pop(name, None)
    whole = data.prompt is not None or data.prompt_template is not None
    read = partial(
        read_fields, expressions=locations, where=where_fields, declared=data.format, whole=whole
    )
    rows = list(source.each(read))
    count, seed = data.num_records, data.sampling_seed
    indices = sample_indices(num_rows=len(rows), num_records=count, seed=seed)
    return [rows[index] for index in indices]


_LOGPROBS = ("sent_more_log_prob", "sent_less_log_prob")
_MADE_BY_MODELS = ("model_output", *_LOGPROBS)


def task_rows(
    context: Context, data: DataSet, algorithm: Algorithm
) -> tuple[Iterable[Row], list[str]]:
    """Prepared rows of one task, and notes for the user.

    Rows are made one by one, as a stored file may hold very many; those of perturbed prompts are
    looked at together first.

    Raises:
        BadInput: rows that cannot be scored, each with its place.
    """
    chosen = chosen_rows(context, data)
    where_of = partial(context.where, "data", data.index)
    fill = template_of(data, where_of)
    rows, notes = rows_of_records(chosen, data, algorithm, fill)
    if algorithm.robust:
        check_changes(list(rows), where_of)
    return rows, notes


def rows_of_records(
    chosen: Chosen, data: DataSet, algorithm: Algorithm, fill: Fill
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
    notes = []
    without = sum(row.fields.get("category") is None for row in chosen)
    if "category" in data.fields and without:
        counted = f"{without} of {len(chosen)} records have no category"
        notes.append(f"{data.name}: {counted}; they count in the scores over all records alone")
    options = scoring_options(chosen, data, algorithm, notes)
    ids = _record_ids(chosen)
    if algorithm.name == "prompt_stereotyping":
        _check_logprobs(chosen, data)
        pairs = (_pair(row, record_id, fill) for row, record_id in ids)
        return _with_options(pairs, options), notes
    if algorithm.robust:
        rows = list(_with_options(_variants(list(ids), data, algorithm, fill), options))
        unchanged = sum(row["variant"] > 0 and _has_original_prompt(row) for row in rows)
        if unchanged:
            about = f"{data.name}, {algorithm.name}"
            notes.append(
                f"{about}: the perturbation left {unchanged} of {len(rows)} prompts unchanged"
            )
        return rows, notes
    gold = _gold(data, algorithm)
    singles = (
        {
            "sample_id": record_id,
            "prompt": fill(row, row.fields.get("model_input", "")),
            **_answers(row, gold),
            **_common(row, record_id),
        }
        for row, record_id in ids
    )
    return _with_options(singles, options), notes


def _with_options(rows: Iterable[Row], options: Mapping[str, Any]) -> Iterator[Row]:
    """The rows with what their scorer needs, as JSON."""
    text = json.dumps(options, sort_keys=True, ensure_ascii=False)
    for row in rows:
        yield {**row, "options": text}


def _has_original_prompt(row: Row) -> bool:
    return bool(row["prompt"] == row["original_prompt"])


def _record_ids(chosen: Chosen) -> Iterator[Record]:
    """Records with their ids: the field `id`, else their number in the file, from 1."""
    repeats = Repeats()
    for row in chosen:
        record_id = row.fields.get("id")
        if record_id is None:
            record_id = f"r{row.number + 1}"
        yield row, repeats.unique(str(record_id))


def _common(row: FieldRow, record_id: str) -> Row:
    fields = row.fields
    category = fields.get("category")
    prepared: Row = {"record_id": record_id, "category": category, "subtask_name": category}
    for name, value in fields.items():
        if name not in ("id", "category", "target_output"):
            prepared[name] = value
    return prepared


def _answers(row: FieldRow, gold: Gold) -> Row:
    """The right answers in one text, and a reply that is right."""
    target = row.fields.get("target_output", "")
    return {"target": target, "gold": gold(target)}


def _gold(data: DataSet, algorithm: Algorithm) -> Gold:
    """Returns how a right reply comes out of the right answers.

    The first one, or all where all are asked for.
    """
    delimiter = _delimiter(data, algorithm)
    takes_all = False
    if algorithm.family == "factual_knowledge":
        takes_all = data.options["logical_operator"] == "AND"
    if takes_all:
        return lambda target: " ".join(targets(target, delimiter))
    return lambda target: targets(target, delimiter)[0]


def _delimiter(data: DataSet, algorithm: Algorithm) -> str | None:
    """Returns what stands between several right answers; None where the algorithm takes one."""
    name = "target_output_delimiter"
    is_used = name in _SCORING.get(algorithm.family, ())
    return data.options[name] if is_used else None


def _pair(row: FieldRow, record_id: str, fill: Fill) -> Row:
    fields = row.fields
    sentences = [fields.get(f"sent_{side}_input", "") for side in ("more", "less")]
    # The log-probabilities of both sentences, of each model whose replies are stored.
    more, less = _LOGPROBS
    logged = {}
    for name in fields:
        if kind_of(name) == more:
            model = name.removeprefix(more)
            pair = [fields[name], fields[f"{less}{model}"]]
            logged[f"model_log_probability{model}"] = pair
    return {
        "sample_id": record_id,
        "prompt": "",
        "choices": [fill(row, text) if text else text for text in sentences],
        "target": "0",
        **logged,
        **_common(row, record_id),
    }


def _variants(
    records: Sequence[Record], data: DataSet, algorithm: Algorithm, fill: Fill
) -> Iterator[Row]:
    """The original of each record and its perturbed forms, adjacent.

    Further draws of the original last.
    """
    options = data.options
    kind, seed = options["perturbation_type"], options["perturbation_seed"]
    seeding = options["perturbation_seeding"]
    number = options["num_perturbations"]
    draws = baseline_draws(data, algorithm)
    gold = _gold(data, algorithm)
    texts = ((record_id, row.fields["model_input"]) for row, record_id in records)
    settings: dict[str, Any] = {
        "seed": seed,
        "seeding": seeding,
        "num_perturbations": number,
        **probabilities(options),
    }
    perturbed = perturb_records(kind, texts, **settings)
    for (row, record_id), changed in zip(records, perturbed, strict=True):
        original = row.fields["model_input"]
        # The original, its changed forms, its further draws: variant, draw and input.
        prompts = [
            (0, 0, original),
            *((variant, 0, text) for variant, text in enumerate(changed, start=1)),
            *((0, draw, original) for draw in range(1, draws)),
        ]
        for variant, draw, text in prompts:
            further = f".{draw}" if draw else ""
            yield {
                "sample_id": f"{record_id}/{variant}{further}",
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
                "perturbation": kind,
                "perturbation_seed": seed,
                "perturbation_seeding": seeding,
            }


def baseline_draws(data: DataSet, algorithm: Algorithm) -> int:
    """Replies to each original prompt.

    Several where the model samples, to know how much it differs from itself.
    """
    sampling = data.varies or data.options["temperature"] > 0
    if sampling and algorithm.name == "general_semantic_robustness":
        return data.options["num_baseline_samples"]
    return 1


def rows_per_record(data: DataSet, algorithm: Algorithm) -> int:
    """Adjacent rows that belong together."""
    if algorithm.robust:
        return data.options["num_perturbations"] + baseline_draws(data, algorithm)
    return 1


# ---- prompts


def template_of(data: DataSet, where_of: WhereOf) -> Fill:
    """Returns how a record becomes a prompt, with its input or a changed form of it."""
    if data.prompt is not None:
        return _jinja(data, data.prompt, where_of("prompt"))
    template = data.prompt_template or DEFAULT_TEMPLATE
    if template == DEFAULT_TEMPLATE:
        return lambda _row, text: text
    where = where_of("prompt_template")

    def substitute(row: FieldRow, text: str) -> str:
        fields = row.fields.items()
        values = {name: value for name, value in fields if isinstance(value, str)}
        values |= dict.fromkeys(_inputs(row, data), text)
        own = with_places(template, values, "${", "}")
        strict = own == template and not Template(template).get_identifiers()
        _refuse_unknown(template, values, where, strict=strict)
        if not Template(own).get_identifiers():
            raise _without_fields(where, values)
        try:
            return prompt_multi(template=own, values=values)
        except (KeyError, ValueError) as error:
            reason = str(error)
            if isinstance(error, KeyError):
                reason = f"has no field {error}"
            problem = Problem(
                what=f"{template!r} {reason}",
                where=where,
                allowed=", ".join(f"${name}" for name in values),
            )
            raise BadInput(problem) from None

    return substitute


def _refuse_unknown(template: str, known: Collection[str], where: str, *, strict: bool) -> None:
    """Refuses names between single braces that are no field's.

    Args:
        template: The template.
        known: Names of fields.
        where: Its place.
        strict: Refuse every name; else those that are nearly a known one.

    Raises:
        BadInput: there is such a name.
    """
    problems = []
    for name in unknown_names(template, known, strict=strict):
        allowed = f"fields: {', '.join(known)}"
        what = f"{{{name}}} in the prompt names no field"
        problems.append(Problem(what=what, where=where, allowed=allowed, fix=near(name, known)))
    if problems:
        raise BadInput(problems)


def _without_fields(where: str, known: Iterable[str]) -> BadInput:
    """Returns the mistake of a prompt that would be the same for every record."""
    what = "the prompt names no field: it would be the same for every record"
    names = ", ".join(f"{{{name}}}" for name in known)
    fix = "write {model_input} where the input belongs"
    return BadInput(Problem(what=what, where=where, allowed=names, fix=fix))


def _inputs(row: FieldRow, data: DataSet) -> list[str]:
    """Every name of the input in a template.

    The field, others of the same place, and the column that it comes from.

    A changed input has to reach the prompt under each, or the prompts of a robustness task would
    all be the original.
    """
    place = data.fields.get("model_input")
    names = ["model_input"]
    names += [name for name, location in data.fields.items() if location == place]
    column = str(place).strip('"')
    if row.record.get(column) == row.fields.get("model_input"):
        names.append(column)
    return names


def _jinja(data: DataSet, template: str, where: str) -> Fill:
    from jinja2 import StrictUndefined, TemplateError, meta
    from jinja2.sandbox import SandboxedEnvironment

    environment = SandboxedEnvironment(undefined=StrictUndefined, keep_trailing_newline=True)

    @lru_cache(maxsize=8)
    def compiled(known: frozenset[str]) -> tuple[Any, dict[str, str]]:
        """The template with names between single braces as Jinja, and new names of columns."""
        _refuse_unknown(template, sorted(known), where, strict=not is_jinja(template))
        text, renamed = as_jinja(template, known)
        try:
            if not meta.find_undeclared_variables(environment.parse(text)):
                raise _without_fields(where, sorted(known))
            return environment.from_string(text), renamed
        except TemplateError as error:
            what = f"the template is not Jinja: {error}"
            raise BadInput(Problem(what=what, where=where)) from None

    def rendered(row: FieldRow, text: str) -> str:
        values = {str(name): value for name, value in row.record.items()}
        values |= row.fields
        values |= dict.fromkeys(_inputs(row, data), text)
        filled, renamed = compiled(frozenset(values))
        values |= {name: values[column] for name, column in renamed.items()}
        try:
            return str(filled.render(values))
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


def check_changes(rows: Sequence[Row], where_of: WhereOf) -> None:
    """Changed inputs that leave every prompt as it was: the model would look perfectly robust."""
    changed = [row for row in rows if row["perturbed"] != row["model_input"]]
    if changed and all(map(_has_original_prompt, changed)):
        raise BadInput(
            Problem(
                what=_NO_INPUT_IN_PROMPT,
                where=where_of("prompt"),
                allowed="{{ model_input }}, or the column that it comes from",
                fix="write {{ model_input }} where the input belongs",
            )
        )


_NO_INPUT_IN_PROMPT = (
    "the prompt does not hold the input that is changed, so that every prompt would be the original"
)


def _refuse(problems: list[Problem]) -> None:
    if not problems:
        return
    listed = problems[:_LISTED]
    more = len(problems) - _LISTED
    if more > 0:
        what = f"{more} more rows have the same mistake"
        listed.append(Problem(what=what))
    raise BadInput(listed)


def _check_targets(chosen: Chosen, data: DataSet, algorithm: Algorithm) -> None:
    """Refuses right answers that an empty reply would give.

    Such an answer is contained in every reply.
    """
    if "target_output" not in algorithm.fields:
        return
    delimiter = _delimiter(data, algorithm)
    places: dict[str, list[str]] = {}
    examples: dict[str, str] = {}
    for row in chosen:
        answers = targets(row.fields["target_output"], delimiter)
        for answer in answers:
            if reason := why_empty(answer, algorithm):
                places.setdefault(reason, []).append(row.where)
                examples.setdefault(reason, answer)
                break
    problems = []
    for reason, rows in places.items():
        what = f"the right answer {examples[reason]!r} is {reason}"
        shown = ", ".join(rows[:_LISTED])
        more = len(rows) - _LISTED
        problem = Problem(
            what=f"{what} ({len(rows)} of {len(chosen)} records have such an answer)",
            where=f"{shown} and {more} more" if more > 0 else shown,
            fix=fix_of_empty(reason, algorithm),
        )
        problems.append(problem)
    if problems:
        raise BadInput(problems)


def why_empty(answer: str, algorithm: Algorithm) -> str:
    """Returns why an empty reply would give a right answer; empty where it would not."""
    bare = answer.strip()
    if not bare:
        return "empty"
    is_normalised = algorithm.family in ("factual_knowledge", "qa_accuracy")
    return _EMPTY_WORDS if is_normalised and not normalize(text=bare) else ""


_EMPTY_WORDS = "empty but for articles and punctuation"


def fix_of_empty(reason: str, algorithm: Algorithm) -> str:
    """What to do about such an answer."""
    if reason == _EMPTY_WORDS and algorithm.family == "qa_accuracy":
        return (
            "an empty reply would be right; score letters and signs with classification_accuracy "
            "and valid_labels, or drop the records"
        )
    return "correct or drop the record; an empty answer would be found in every reply"


def scoring_options(
    chosen: Chosen, data: DataSet, algorithm: Algorithm, notes: list[str]
) -> dict[str, Any]:
    """The options of a data set that decide scores; what the user is to know joins the notes."""
    names = _SCORING.get(algorithm.family, ())
    options = {name: data.options[name] for name in names}
    if "meteor" in options:
        options["meteor"] = usable_meteor(options["meteor"])
    # Texts may have words that no blanks separate; all others stay as the original's rule needs.
    field = {"qa_accuracy": "target_output", "general": "model_input"}.get(algorithm.family)
    texts = [] if field is None else [row.fields[field] for row in chosen]
    if data.options["word_tokenizer"] == "unicode" and any(map(has_joined_words, texts)):
        options["word_tokenizer"] = "unicode"
    if algorithm.family == "classification_accuracy":
        options["valid_labels"] = _labels(chosen, data, notes)
        if data.options["label_pattern"]:
            options |= {name: data.options[name] for name in _OF_PATTERN}
    return options


def _labels(chosen: Chosen, data: DataSet, notes: list[str]) -> list[str]:
    """The labels: as given, else the distinct targets.

    A target that is none of them can never be right.
    """
    declared = data.options["valid_labels"]
    targets = list(dict.fromkeys(row.fields["target_output"] for row in chosen))
    labels = targets
    if declared is not None:
        labels = [str(label) for label in declared]
    if data.options["label_match"] != "fmeval":
        # Each row of labels that no reply can tell apart would be right or wrong by chance.
        pairs = [f"{first!r} and {second!r}" for first, second in alike(labels)]
        if pairs:
            named = f"the labels {', '.join(pairs)} of {data.name}"
            what = f"{named} cannot be told apart in a reply"
            _refuse([Problem(what=what, fix=_RENAME_OR_MERGE)])
        # Tables make `1.0` of `1` where a value is missing.
        floats = [target for target in targets if without_zeros(target) != target]
        if floats:
            counted = f"{len(floats)} of {len(targets)} labels are whole numbers with decimals"
            reply = without_zeros(floats[0])
            notes.append(
                f"{data.name}: {counted} ({floats[0]}); a reply of {reply} counts as the label"
            )
    if declared is not None:
        _refuse_other_targets(chosen, labels, data)
    elif len(targets) > max(2, len(chosen) // 2):
        counts = f"{len(targets)} different targets in {len(chosen)} records"
        notes.append(f"{data.name} has {counts}: are these labels?")
    return labels


def _refuse_other_targets(chosen: Chosen, labels: Sequence[str], data: DataSet) -> None:
    """Refuses targets that are none of the labels."""
    fix = "mend the record or valid_labels"
    allowed = ", ".join(labels[:30])
    is_exact = data.options["label_match"] == "fmeval"
    if is_exact:
        fix += "; label_match: robust ignores case"
        right = {label.lower().strip() for label in labels}
    else:
        right = {folded(label) for label in labels}
    problems = []
    for row in chosen:
        target = row.fields["target_output"]
        compared = target if is_exact else folded(target)
        if compared not in right:
            problem = Problem(
                what=f"the target {target!r} is none of the labels, so no reply can be right",
                where=row.where,
                allowed=allowed,
                fix=fix,
            )
            problems.append(problem)
    _refuse(problems)


_RENAME_OR_MERGE = "rename one of each pair in the data and in valid_labels, or merge them"


def _check_logprobs(chosen: Chosen, data: DataSet) -> None:
    if not data.stored:
        return
    problems = []
    for row in chosen:
        for name, value in row.fields.items():
            if kind_of(name) in _LOGPROBS and value > 0:
                problem = Problem(
                    what=f"{name} is {value}, above 0",
                    where=row.where,
                    allowed="log-probabilities, which are not above 0",
                    fix="give log-probabilities, not probabilities",
                )
                problems.append(problem)
    _refuse(problems)
