"""Write runs in the formats of other tools and sites: logs, records, cards, trackers, CI.

Nothing asks the network: files are written, and sent only with --upload and the digest that
--dry_run prints. Texts of gated data sets are replaced by their sha256.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalprep.files import read_file
from evalprep.terminal import shortlist
from evalprep.verbs.ledgers import with_foreign_answers
from evalprep.verbs.options import Parser, add_options, timestamps_of_sides

if TYPE_CHECKING:
    from evalprep.compare import Quantities
    from evalprep.export import Format, Parcel, Settings, Subject, Written
    from evalprep.gate import Policy
    from evalprep.packs import Pack
    from evalprep.results import Run

_DATASTORE = "evaleval/EEE_datastore"
_NAMED = 4  # tasks that a message names


def configure(parser: Parser) -> None:
    """Adds the verb's arguments."""
    add = parser.add_argument
    add("runs", metavar="RUN", nargs="+", help="output folder, results_*.json, samples or a log")
    add(
        "--to",
        required=True,
        metavar="FORMAT",
        help="every-eval-ever (eee), inspect, hub (hf-eval-results), model-card (model-index), "
        "mlflow, wandb, github, junit, markdown, csv or parquet",
    )
    add(
        "--out",
        type=Path,
        metavar="DIR",
        help="where to write (default: export_<format>_<time stamp> beside the first run)",
    )
    add("--baseline", metavar="RUN", help="run to compare with (default: the published verdicts)")
    add_options(parser, "timestamp", "baseline_timestamp", "label", "tasks", "rule")
    add_options(parser, "accept_ledger", "template_dir")
    add("--dry_run", action="store_true", help="show what would be written and sent, and stop")
    add(
        "--upload",
        nargs="?",
        const="",
        metavar="DIGEST",
        help="send what --dry_run showed; the token comes from the environment",
    )
    add(
        "--with_gated_text",
        rare=True,
        action="store_true",
        help="keep texts of gated data sets, which their authors ask not to publish",
    )
    add("--policy", type=Path, metavar="FILE", help="junit, github: policy of `evalprep gate`")
    add(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a setting of the format, see docs/commands/export.md; may be repeated",
    )
    add("--force", action="store_true", help="hub: write a variant of the benchmark, too")
    add("--json", action="store_true", help="print what was written as JSON")


def main(args: argparse.Namespace) -> int:
    """Reads, scores, compares, writes, and sends where the user says so."""
    entry = _format_of(args)
    settings = _settings(args, entry)
    subjects = _subjects(args, entry, settings)
    job = _Job(entry, args, settings, subjects)
    outcome = job.show() if args.dry_run else job.write()
    if args.json:
        print(json.dumps(outcome.to_dict(), indent=2, ensure_ascii=False))
        return 0
    for line in outcome.lines:
        print(line)
    return 0


# --- what the user chose


def _format_of(args: argparse.Namespace) -> Format:
    from evalprep.errors import BadInput, Problem, near
    from evalprep.export import BY_NAME, FORMATS

    entry = BY_NAME.get(args.to.lower())
    if entry is None:
        raise BadInput(
            Problem(
                what=f"unknown format {args.to!r}",
                where="--to",
                allowed=", ".join(known.name for known in FORMATS),
                fix=near(args.to, BY_NAME),
            )
        )
    return entry


def _settings(args: argparse.Namespace, entry: Format) -> Settings:
    """The settings of an export; raises every mistake in the arguments at once."""
    from msgspec.structs import replace as with_fields

    from evalprep.errors import Problems
    from evalprep.export import read_settings, task_id_in

    problems = Problems()
    settings = read_settings(args.set, problems)
    if args.upload is not None and not entry.can_be_sent:
        problems.add(f"{entry.name} is a file and is sent nowhere", where="--upload")
    if args.upload is not None and args.dry_run:
        problems.add("--dry_run sends nothing", where="--upload", fix="leave one of them out")
    problems.raise_if_any()
    named = task_id_in(settings.eval_yaml) if settings.eval_yaml and not settings.task else ""
    return with_fields(settings, task=settings.task or named, force=settings.force or args.force)


# --- the runs


def _subjects(args: argparse.Namespace, entry: Format, settings: Settings) -> list[Subject]:
    """The runs with their scores, and with comparison and verdict where the format shows them."""
    from evalprep.compare import of_tasks
    from evalprep.export import Subject, model_id_of, without_gated_texts
    from evalprep.packs import find_packs
    from evalprep.results import by_rule, each_place, label_runs, open_run, with_other_files
    from evalprep.score import packs_of, score_by_rule

    packs = find_packs(args.template_dir)
    places = each_place(args.runs, packs.values())
    stamps = timestamps_of_sides(places, args.baseline, args)
    sides = [*places, args.baseline] if args.baseline else places
    runs = [
        open_run(side, packs.values(), timestamp=stamp)
        for side, stamp in zip(sides, stamps, strict=True)
    ]
    runs = label_runs(with_other_files(runs, args.runs, places), args.label)
    runs = of_tasks(by_rule(runs, args.rule, packs), args.tasks or [])
    _refuse_empty(runs, entry)
    runs, _ = with_foreign_answers(runs, accept=args.accept_ledger)
    ids = [*settings.model_ids, *[""] * len(runs)]
    subjects = []
    for run, model_id in zip(runs, ids, strict=False):
        # Scores are computed before texts are replaced.
        scores = score_by_rule(run, packs, args.rule)
        subject = Subject(
            run=run if args.with_gated_text else without_gated_texts(run),
            scores=scores,
            packs=packs_of(run, packs),
            model_id=model_id_of(run, model_id),
        )
        subjects.append(subject)
    baseline = subjects.pop() if args.baseline else None
    return _compared(subjects, baseline, entry, args)


def _refuse_empty(runs: Iterable[Run], entry: Format) -> None:
    """Refuses runs that have neither samples nor stored scores, or no samples where these count.

    Raises:
        BadInput: there are some.
    """
    from evalprep.errors import BadInput, Problem

    problems = []
    for run in runs:
        where = str(run.log or run.files.folder)
        if not run.tasks and not run.stored:
            what = "the run has neither samples files nor stored scores"
            reasons = shortlist([item.sentence(task) for task, item in run.unread.items()], _NAMED)
            fix = "run lm_eval with --log_samples"
            if reasons:
                what, fix = f"{what}: {reasons}", "name another run with --timestamp"
            problems.append(Problem(what=what, where=where, fix=fix))
        elif entry.of_samples and not run.tasks:
            what = f"{entry.name} holds samples, and the run has values alone"
            fix = "--to every-eval-ever, model-card or csv writes the values"
            problems.append(Problem(what=what, where=where, fix=fix))
    if problems:
        raise BadInput(problems)


def _compared(
    subjects: Sequence[Subject], baseline: Subject | None, entry: Format, args: argparse.Namespace
) -> list[Subject]:
    """The runs with what each is compared with, all as one page.

    A run stays alone where there is nothing to compare it with, or no format for it.
    """
    from evalprep.compare import conclude, tasks_without_mean

    sides = [*subjects, baseline] if baseline else subjects
    packs = {pack.name: pack for pack in chain.from_iterable(side.packs for side in sides)}
    without_mean = tasks_without_mean([side.run for side in sides], packs)
    policy = None
    if args.policy is not None:
        from evalprep.gate import decide, read_policy

        policy = read_policy(args.policy)
    measured: list[Quantities | None] = [None for _ in subjects]
    if entry.compares:
        measured = [_measured(each, baseline, packs, policy, without_mean) for each in subjects]
    comparisons = iter(conclude([quantities for quantities in measured if quantities is not None]))
    compared = []
    for subject, quantities in zip(subjects, measured, strict=True):
        side = None if quantities is None else baseline
        comparison = None if quantities is None else next(comparisons)
        verdict = None
        if policy is not None:
            other = None if side is None else side.run
            verdict = decide(subject.run, other, policy, packs, quantities=quantities)
        compared.append(
            replace(
                subject, baseline=side, measured=quantities, comparison=comparison, verdict=verdict
            )
        )
    return compared


def _measured(
    subject: Subject,
    baseline: Subject | None,
    packs: Mapping[str, Pack],
    policy: Policy | None,
    without_mean: Collection[str],
) -> Quantities | None:
    """The run beside the baseline, else beside its published verdicts; None where it has none.

    With a policy as its gate measures them: the tables beside a verdict are those that it follows.
    """
    from evalprep.compare import Settings, measure
    from evalprep.gate import measure_for

    run = subject.run
    if baseline is None and not run.judged:
        return None
    other = None if baseline is None else baseline.run
    scores = None if baseline is None else (subject.scores, baseline.scores)
    if policy is not None:
        return measure_for(run, other, policy, packs, scores=scores)
    tasks = run.judged if baseline is None else None
    return measure(
        run, other, packs, Settings(), scores=scores, tasks=tasks, without_mean=without_mean
    )


# --- writing and sending


@dataclass(frozen=True)
class _Outcome:
    """The outcome of an export: what was written, shown or sent, for people and as data."""

    files: Sequence[str] = ()
    notes: Sequence[str] = ()
    text: str = ""
    shown: Sequence[tuple[str, int, str]] = ()
    destination: str = ""
    digest: str = ""
    sent: Sequence[str] = ()
    next_step: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The same as data."""
        would_be = [
            {"path": path, "bytes": size, "sha256": sha256} for path, size, sha256 in self.shown
        ]
        return {
            "files": self.files,
            "notes": self.notes,
            "would_be_written": would_be,
            "destination": self.destination,
            "digest": self.digest,
            "sent": self.sent,
            "next": self.next_step,
        }

    @property
    def lines(self) -> list[str]:
        """The same for people."""
        lines = [f"note: {note}" for note in self.notes]
        lines += [f"would write: {path} ({size} bytes)" for path, size, _ in self.shown]
        if self.destination:
            count = f"{len(self.shown)} files, {sum(size for _, size, _ in self.shown)} bytes"
            lines.append(f"would send: {count} to {self.destination}")
        lines += [f"written: {path}" for path in self.files]
        if self.text:
            lines.append(self.text)
        lines += self.sent
        if self.next_step:
            lines.append(f"next: {self.next_step}")
        return lines


@dataclass(frozen=True)
class _Job:
    """One export."""

    entry: Format
    args: argparse.Namespace
    settings: Settings
    subjects: Sequence[Subject]

    def show(self) -> _Outcome:
        """Writes into a folder that is removed again, and returns what it held."""
        from evalprep.credentials import redacted

        with tempfile.TemporaryDirectory() as place:
            folder = Path(place).resolve()
            parcel = self._parcel(folder, self._trial(folder))
            outcome = _Outcome(notes=self._notes(), shown=parcel.entries)
            if not parcel.destination:
                return outcome
            return replace(
                outcome,
                destination=redacted(parcel.destination),
                digest=parcel.digest,
                next_step=f"the same command with --upload {parcel.digest} sends it",
            )

    def write(self) -> _Outcome:
        """Writes the files; sends them where the user says so."""
        if self.entry.tracker:
            self._check_tracker()
        if self.args.upload is not None:
            self._check_parcel()
        out = self._out()
        written = self.write_files(out)
        step = ""
        if self.entry.name == "github":
            from evalprep.export import append_summary

            step = append_summary(written.text)
        sent: list[str] = []
        if self.entry.tracker:
            sent = self._log(out)
        elif self.args.upload is not None:
            from evalprep.export import send_to_hub

            parcel = self._parcel(out, written)
            kind, _, repository = parcel.destination.partition(" ")
            sent = [send_to_hub(parcel, repository, kind)]
        return _Outcome(
            files=[*map(str, written.files), *([step] if step else [])],
            notes=[*self._notes(), *written.notes],
            text="" if step else written.text,  # without a running step a summary is printed
            sent=sent,
            next_step=written.next_step,
        )

    def write_files(self, folder: Path) -> Written:
        """Writes the files of the format into a folder."""
        from evalprep.errors import cannot_write

        try:
            return self.entry.write(self.subjects, folder, self.settings)
        except OSError as error:
            fix = "name another place with --out"
            raise cannot_write(error, f"--out {folder}", fix=fix) from error

    def _trial(self, folder: Path) -> Written:
        """Writes into a folder alone, a copy of the model card included."""
        from msgspec.structs import replace as with_fields

        card = self.settings.readme
        if card is None or not card.is_file():
            return self.write_files(folder)
        copy = folder / "README.md"
        copy.write_bytes(read_file(card, own=True))
        settings = with_fields(self.settings, readme=copy)
        return replace(self, settings=settings).write_files(folder)

    def _out(self) -> Path:
        """The folder that is written to; it is made."""
        from evalprep.errors import cannot_write
        from evalprep.files import make_folder, resolve_typed
        from evalprep.readers import EXPORT_FOLDER

        first = self.subjects[0].run.files
        default = first.folder / f"{EXPORT_FOLDER}{self.entry.name}_{first.output_name}"
        out = resolve_typed(self.args.out) if self.args.out else default
        try:
            make_folder(out, within=out if self.args.out else first.folder)
        except OSError as error:
            raise cannot_write(
                error, f"--out {out}", fix="name another place with --out"
            ) from error
        return out

    def _notes(self) -> list[str]:
        """Returns what of the runs the reader should know."""
        from evalprep.export import is_gated

        gated: list[str] = []
        if not self.args.with_gated_text:
            for subject in self.subjects:
                gated += [name for name, task in subject.run.tasks.items() if is_gated(task)]
        notes = [
            f"{name}: texts are replaced by their sha256, as its data set is gated "
            "(--with_gated_text keeps them)"
            for name in dict.fromkeys(gated)
        ]
        for subject in self.subjects:
            notes += [*subject.run.notes, *subject.notes_on_values]
        return list(dict.fromkeys(notes))

    # --- sending

    def _destination(self) -> str:
        """Returns where the files would go; empty for a format that stays here."""
        from evalprep.export import is_remote, store_of

        if self.entry.name == "mlflow":
            store = store_of(self.settings, Path.cwd())
            return store if is_remote(store) else ""
        if self.entry.name == "wandb":
            return "Weights & Biases"
        if not self.entry.repository:
            return ""
        default = _DATASTORE if self.entry.repository == "dataset" else self.subjects[0].model_id
        return f"{self.entry.repository} {self.settings.repo or default}"

    def _parcel(self, folder: Path, written: Written) -> Parcel:
        from evalprep.export import Parcel

        variables = {"mlflow": "", "wandb": "WANDB_API_KEY"}
        variable = variables.get(self.entry.name, "HF_TOKEN")
        inside = [path for path in written.files if path.is_relative_to(folder)]
        return Parcel(folder, inside, self._destination(), variable)

    def _check_parcel(self) -> None:
        """Refuses, before anything is written, to send what was not shown as it is now."""
        from evalprep.errors import BadInput, Problem

        if not self._destination():
            raise BadInput(
                Problem(
                    what="the store is on this machine, so nothing is sent",
                    where="--upload",
                    fix="leave --upload out, or name a server: --set tracking_uri=URI",
                )
            )
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place).resolve()
            self._parcel(folder, self._trial(folder)).check(self.args.upload)

    def _check_tracker(self) -> None:
        """Refuses a tracker that is not installed, and a server without --upload."""
        from evalprep.errors import BadInput, Problem
        from evalprep.export import need_mlflow, need_wandb

        if self.entry.name == "wandb":
            need_wandb()
            return
        need_mlflow()
        if self._destination() and self.args.upload is None:
            raise BadInput(
                Problem(
                    what="the store is a server, and nothing is sent without --upload",
                    where="--set tracking_uri or MLFLOW_TRACKING_URI",
                    fix="--dry_run shows what would be sent",
                )
            )

    def _log(self, out: Path) -> list[str]:
        """Logs the runs to a tracker: on this machine, or on a server where the user says so."""
        from evalprep.export import log_to_mlflow, log_to_wandb, store_of, tracked_run

        runs = [
            tracked_run(subject, out / str(number), self.settings)
            for number, subject in enumerate(self.subjects, start=1)
        ]
        if self.entry.name == "wandb":
            return log_to_wandb(runs, out, online=self.args.upload is not None)
        store = store_of(self.settings, out)
        return log_to_mlflow(runs, store, resume=self.settings.resume)
