"""A prepared project of choice questions with published verdicts, and runs of it as lm-eval logs them."""

import json
from pathlib import Path
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from evalprep.cli import main
from tests.evalprep.tiny_project import meta_row

TASK = "meta_mmlu_pro_instruct"
LETTERS = "ABCD"


def stated(letter):
    """A reply that both filters read."""
    return f"It follows that the best answer is {letter}."


class Project:
    """A project in a folder that is the current one: `rows` questions of which `right` have a right verdict."""

    def __init__(self, folder, *, rows=16, right=3, name="Tiny-Instruct-evals"):
        self.folder, self.rows, self.right = Path(folder), rows, right
        self.work_dir, self.results = self.folder / "work_dir", self.folder / "results"
        self.task_file = self.work_dir / "meta" / f"{TASK}.yaml"
        self.write_data(name, rows, right)

    def write_data(self, name, rows, right):
        """Writes a data set in Meta's layout, and the configuration that names it."""
        data = self.folder / "data" / name
        data.mkdir(parents=True)
        choices = {letter: f"option {letter}" for letter in "ABCDEFGHIJ"}
        lines = [
            meta_row(
                f"Question {at} of {rows}?",
                LETTERS[at % 4],
                "odd" if at % 2 else "even",
                at < right,
                choices=choices,
                output=stated(LETTERS[(at + (at >= right)) % 4]),
            )
            for at in range(rows)
        ]
        file = "Details_mmlu_pro_2026-01-01T00-00-00.0.parquet.gzip"
        pq.write_table(pa.Table.from_pylist(lines), data / file, compression="gzip")
        split = {"split": "latest", "path": [file]}
        part = {"config_name": f"{name}__mmlu_pro__details", "data_files": [split]}
        (data / "README.md").write_text(f"---\n{yaml.safe_dump({'configs': [part]})}---\n")
        config = {
            "model_name": "org/tiny",
            "evals_dataset": f"data/{name}",
            "tasks": TASK,
            "backend": "dummy",
            "output_path": "results",
        }
        (self.folder / "eval_config.yaml").write_text(yaml.safe_dump(config))

    def prepare(self):
        """Prepares the work folder; returns the id of its run."""
        assert main(["prepare"]) == 0
        return json.loads((self.work_dir / "manifest.json").read_text())["run"]

    def edit(self, *changes):
        """Edits the task file: each change is a text and what takes its place."""
        text = self.task_file.read_text()
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        self.task_file.write_text(text)

    def as_published(self, at):
        """The reply whose verdict is the published one."""
        return stated(LETTERS[(at + (at >= self.right)) % 4])

    def answer(self, run, replies=None, *, out=None, model="org/tiny"):
        """Runs lm-eval on the work folder as it stands, as the pasted command does; returns the model's folder.

        Args:
            run: Id of the run in the command.
            replies: Place of a row -> its reply; by default the one with the published verdict.
            out: Output folder, by default the project's.
            model: Name of the model.
        """
        from lm_eval import simple_evaluate
        from lm_eval.loggers import EvaluationTracker
        from lm_eval.tasks import TaskManager

        reply = replies or self.as_published
        metadata = {"run": run, "command": "c1-plain"}
        output = Path(out or self.results)
        tracker = EvaluationTracker(output_path=str(output))
        tracker.general_config_tracker.log_experiment_args(
            model_source="dummy",
            model_args=f"pretrained={model}",
            system_instruction=None,
            chat_template=None,
            fewshot_as_multiturn=False,
        )
        # What torch tells of the machine takes longer than the run.
        with mock.patch("torch.utils.collect_env.get_pretty_env_info", return_value=""):
            results = simple_evaluate(
                model=_answers(reply),
                tasks=[TASK],
                task_manager=TaskManager(
                    include_path=str(self.work_dir), include_defaults=False, metadata=metadata
                ),
                log_samples=True,
                evaluation_tracker=tracker,
                metadata=metadata,
                bootstrap_iters=0,
                random_seed=42,
                numpy_random_seed=42,
                torch_random_seed=42,
                fewshot_random_seed=42,
            )
        samples = results.pop("samples")
        results["config"] |= {"model": "dummy", "model_args": {"pretrained": model}}
        tracker.save_results_aggregated(results=results, samples=samples)
        for name in results["configs"]:
            tracker.save_results_samples(task_name=name, samples=samples[name])
        return max(output.glob("*/results_*.json"), key=lambda path: path.name).parent


def _answers(reply):
    """A model whose reply to each prompt is known by the place of its row."""
    from lm_eval.api.model import LM

    class Answers(LM):
        def generate_until(self, requests, **_):
            return [reply(request.doc_id) for request in requests]

        def loglikelihood(self, requests, **_):
            return [(-1.0, False) for _ in requests]

        def loglikelihood_rolling(self, requests, **_):
            return [-1.0 for _ in requests]

    return Answers()
