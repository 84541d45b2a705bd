"""`evalprep score` with ratings: those of the predictions it sees, by the judge that was asked last."""

import json
import shutil

import pytest

from evalprep.annotate.answers import Judgement
from evalprep.annotate.attachment import together
from evalprep.cli import main
from evalprep.packs.finding import find_packs
from evalprep.results import load_run
from evalprep.score import score_run
from tests import PROJECT_ROOT
from tests.evalprep.annotate.conftest import QA, SUMMARY, change_reply, lines, write_tofu_run
from tests.evalprep.annotate.services import Said
from tests.evalprep.annotate.services import serve as chat
from tests.loops import each

PACKS = find_packs(PROJECT_ROOT / "task_templates")
FORGET = {"KNOWLEDGE_REMOVAL": 8, "VERBATIM_REMOVAL": 6.5, "FLUENCY": 10}


def results(folder):
    scores = score_run(load_run(folder), PACKS)
    return {score.name: score.result.returned for score in scores.suite}, scores.notes


def scaled(ratings):
    return sum((rating - 1) / 4 for rating in ratings) / len(ratings)


def rate(_, number, __):
    """Ratings 1 to 5 in turn; every sixth reply has none."""
    return "no idea" if number % 6 == 0 else f"Rating: {number % 5 + 1}"


class TestScience:
    def test_ratings_fill_the_judged_columns(self, science_run, judge):
        with chat(rate) as server:
            options = ["--tasks", SUMMARY, "--model_args", "num_concurrent=1,max_retries=0"]
            code, outcome, _ = judge(science_run, server.url, *options)
        expected = [number % 5 + 1 for number in range(1, 13) if number % 6]
        assert 1 in expected  # the lowest rating counts
        assert code == 0
        (task,) = outcome["tasks"]
        assert (task["n_ok"], task["n_total"], task["reasons"]) == (10, 12, {"parse_error": 2})
        assert task["means"]["judge_rating"] == pytest.approx(sum(expected) / 10)
        found, _ = results(science_run)
        mup = found["science_mup_judge"]
        assert mup["agg_value"] == pytest.approx(scaled(expected))
        assert (mup["n"], mup["skipped"]) == (10, {"parse_error": 2})
        assert mup["notes"] == ["rated by the-judge: 10 of 12 questions"]
        assert "evalprep judge RUN --model NAME" in found["science_qasper_judge"]["reason"]

    @pytest.mark.slow  # lm-eval is imported, and asked for its own tasks
    def test_ratings_stay_where_the_reply_is_the_same_when_a_run_is_rescored(
        self, science_run, judge, tmp_path
    ):
        with chat(lambda prompt, *_: f"Rating: {5 if 'Question:' in prompt else 2}") as server:
            judge(science_run, server.url)
        before = results(science_run)[0]["science_qasper_judge"]
        change_reply(science_run, QA, 3, json.dumps({"answer": "another", "evidence": []}))
        for source, folder in ((science_run, "elsewhere"), (tmp_path / "elsewhere", "again")):
            assert main(["rescore", str(source), "--out", str(tmp_path / folder)]) == 0
            after = results(tmp_path / folder)[0]["science_qasper_judge"]
            assert (before["n"], after["n"], after["skipped"]) == (12, 11, {"not asked": 1})
            assert after["agg_value"] == before["agg_value"]

    def test_a_rating_of_an_earlier_prediction_does_not_count(self, science_run, judge):
        with chat(lambda prompt, *_: f"Rating: {5 if 'Question:' in prompt else 2}") as server:
            judge(science_run, server.url)
        change_reply(science_run, QA, 3, json.dumps({"answer": "another", "evidence": []}))
        qasper = results(science_run)[0]["science_qasper_judge"]
        assert (qasper["agg_value"], qasper["n"], qasper["skipped"]) == (1, 11, {"not asked": 1})

    def test_the_judge_that_was_asked_last_counts(self, science_run, judge):
        for model, rating in (("strict", 1), ("mild", 5), ("strict", 3)):
            with chat(lambda *_, rating=rating: f"Rating: {rating}") as server:
                judge(science_run, server.url, model=model)
        mup = results(science_run)[0]["science_mup_judge"]
        assert (mup["agg_value"], mup["notes"]) == (0, ["rated by strict: 12 of 12 questions"])

    @pytest.mark.parametrize(
        "said", [Said("no such model", status=404), Said("hm"), Said("x", status=400)]
    )
    def test_a_judge_without_ratings_leaves_the_former_in_place(self, science_run, judge, said):
        change_reply(science_run, QA, 0, "null")  # rated without a call, by either
        for model, says in (("first", "Rating: 5"), ("second", said)):
            with chat(lambda *_, says=says: says) as server:
                judge(science_run, server.url, model=model)
        assert results(science_run)[0]["science_mup_judge"]["agg_value"] == 1

    def test_a_judge_counts_for_the_tasks_that_it_rated(self, science_run, judge):
        says = {
            "first": lambda *_: "Rating: 5",
            "second": lambda prompt, *_: "hm" if "Question:" in prompt else "Rating: 1",
        }
        for model, answer in says.items():
            with chat(answer) as server:
                judge(science_run, server.url, "--model_args", "max_retries=0", model=model)
        found, _ = results(science_run)
        judged = {name: found[f"science_{name}_judge"] for name in ("qasper", "mup")}
        assert {name: score["agg_value"] for name, score in judged.items()} == {
            "qasper": 1,
            "mup": 0,
        }
        assert judged["qasper"]["notes"] == ["rated by first: 12 of 12 questions"]
        assert judged["mup"]["notes"] == ["rated by second: 12 of 12 questions"]

    def test_a_broken_judge_takes_no_other_score_with_it(self, science_run, judge, monkeypatch):
        with chat(rate) as server:
            judge(science_run, server.url)
        monkeypatch.setattr(
            type(PACKS["science"].module("annotators").ANNOTATORS[0]), "items", lambda *_: 1 / 0
        )
        found, notes = results(science_run)
        assert found["science_mup"]["agg_value"] == pytest.approx(1)
        assert found["science_mup_judge"]["agg_value"] is None
        assert any("are not used: ZeroDivisionError" in note for note in notes)

    def test_damaged_files_are_as_none(self, science_run, judge):
        with chat(rate) as server:
            judge(science_run, server.url)
        (science_run / "annotations.sqlite").write_bytes(b"SQLite format 3\0" + b"x" * 5_000)
        found, _ = results(science_run)
        assert found["science_mup_judge"]["agg_value"] is None

    def test_authored_predictions(self, shared, tmp_path, judge):
        """Replies with every fault seen in practice, among them such without an answer."""
        for source in each(sorted((shared / "vectors" / "sciriff_predictions").glob("*-standin"))):
            folder = shutil.copytree(source, tmp_path / source.name, copy_function=shutil.copy)
            folder.chmod(0o755)
            with chat(lambda *_: "Explanation: so.\nRating: 4") as server:
                code, outcome, _ = judge(folder, server.url)
            assert code == 0
            by_task = {task["task"]: task for task in outcome["tasks"]}
            fixed = by_task[QA]["n_fixed"]
            assert by_task[QA]["n_ok"] == by_task[SUMMARY]["n_ok"] == 12
            found, notes = results(folder)
            assert found["science_qasper_judge"]["agg_value"] == pytest.approx(
                (12 - fixed) * 0.75 / 12
            )
            assert found["science_mup_judge"]["agg_value"] == 0.75
            assert not [note for note in notes if "ratings" in note]


class TestUnlearning:
    def test_contexts_of_the_suite(self, tmp_path, judge):
        run = write_tofu_run(tmp_path / "run")

        def answer(prompt, *_):
            if "Question 1" in prompt:
                return (
                    "```json\n{'KNOWLEDGE_REMOVAL': 11, 'VERBATIM_REMOVAL': 1, 'FLUENCY': 1}\n```"
                )
            return f"Reasons.\n{json.dumps(FORGET)}" if "Question 0" in prompt else '{"FLUENCY": 3}'

        with chat(answer) as server:
            code, outcome, _ = judge(run, server.url, "--model_args", "max_retries=1")
        assert code == 0
        assert all(
            request["temperature"] == 0.3 and request["max_tokens"] == 512
            for request in server.requests
        )
        assert all("Question: more" not in prompt for prompt in server.prompts)  # cut as for ROUGE
        (task,) = outcome["tasks"]
        assert (task["n_ok"], task["reasons"]) == (1, {"invalid_score": 1, "incomplete": 1})
        assert task["means"] == FORGET
        found = results(run)[0]["forget_Q_A_judge"]
        assert found["agg_value"] == pytest.approx(24.5 / 3)
        assert found["skipped"] == {"invalid_score": 1, "incomplete": 1}
        assert found["parts"]["VERBATIM_REMOVAL_mean"] == 6.5

    def test_summary_of_each_metric(self, tmp_path, judge):
        run = write_tofu_run(tmp_path / "run")
        with chat(
            lambda prompt, *_: json.dumps(
                {**FORGET, "FLUENCY": int(prompt.split("Question ")[1][0]) * 3}
            )
        ) as chatting:
            judge(run, chatting.url)
        parts = results(run)[0]["forget_Q_A_judge"]["parts"]
        found = {name: parts[f"FLUENCY_{name}"] for name in ("mean", "median", "std", "min", "max")}
        assert found == {"mean": 3, "median": 3, "std": 3, "min": 0, "max": 6}

    def test_ratings_count_where_a_second_command_came_later(self, tmp_path, judge):
        run = write_tofu_run(tmp_path / "run")
        with chat(lambda *_: json.dumps(FORGET)) as server:
            judge(run, server.url)
        (samples,) = run.glob("samples_*.jsonl")
        later = "2099-01-01T00-00-00"
        (run / f"samples_tofu_forget_moments_{later}.jsonl").write_text(samples.read_text())
        (run / f"results_{later}.json").write_text("{}")
        scores = score_run(load_run(run, timestamp="each"), PACKS)
        found = {score.name: score.value for score in scores.suite}
        assert found["forget_Q_A_judge"] == pytest.approx(24.5 / 3)

    def test_a_prompt_of_ones_own(self, tmp_path, judge):
        file = tmp_path / "mine.py"
        file.write_text("def create_prompt(context_type, input_text, ground_truth, generation):\n"
                        "    return f'{context_type}|{input_text}|{ground_truth}|{generation}'\n")  # fmt: skip
        run = write_tofu_run(tmp_path / "run", prompt_file=file, replies=["said"])
        with chat(lambda *_: json.dumps(FORGET)) as server:
            judge(run, server.url)
        asked = (
            "forget_Q_A_ROUGE|Question 0: where does the author write?|He writes in Baku, 0.|said"
        )
        assert server.prompts == [asked]
        assert results(run)[0]["forget_Q_A_judge"]["agg_value"] == pytest.approx(24.5 / 3)
        file.unlink()
        found, notes = results(run)
        assert found["forget_Q_A_judge"]["agg_value"] is None
        assert any("no such Python file" in note for note in notes)

    @pytest.mark.parametrize(
        ("content", "what"),
        [
            (None, "no such Python file"),
            ("def create_prompt(:", "cannot be imported: SyntaxError"),
            ("", "has no create_prompt"),
            (
                "def create_prompt(*_):\n    return 1 / 0\n",
                "create_prompt fails: ZeroDivisionError",
            ),
            ("def create_prompt(*_):\n    return None\n", "create_prompt returns NoneType"),
        ],
        ids=["missing", "broken", "empty", "fails", "no text"],
    )
    def test_a_prompt_file_that_does_not_work(self, tmp_path, judge, content, what):
        file = tmp_path / "mine.py"
        if content is not None:
            file.write_text(content)
        code, outcome, _ = judge(
            write_tofu_run(tmp_path / "run", prompt_file=file), "http://127.0.0.1:9/v1"
        )
        assert code == 2
        assert what in outcome["problems"][0]["what"]

    def test_result_files_follow_the_ratings(self, tmp_path, judge, capsys):
        run, out = write_tofu_run(tmp_path / "run"), tmp_path / "out"
        for model, fluency in (("one", 4), ("two", 7)):
            with chat(
                lambda *_, fluency=fluency: json.dumps(dict.fromkeys(FORGET, fluency))
            ) as server:
                judge(run, server.url, model=model)
            assert main(["score", str(run), "--out", str(out)]) == 0
            capsys.readouterr()
            content = json.loads((out / "TOFU_EVAL.json").read_text())
            assert content["forget_Q_A_judge"]["agg_value"] == fluency
            assert content["forget_Q_A_judge"]["value_by_index"]["2"] == dict.fromkeys(
                FORGET, fluency
            )
        assert len(lines(run)) == 6


def test_several_questions_about_one_sample_are_put_together():
    """Aspects keep their names, votes count by their mean, and one that failed is not hidden by the next."""
    said = [
        Judgement("ok", {"vote": 1, "style": 3}, "yes"), Judgement("parse_error", None, "?", "no number"),
        Judgement("ok", {"vote": 0}, "no"),
    ]  # fmt: skip
    one = together(said)
    assert (one.status, one.values, one.reason) == (
        "parse_error",
        {"vote": 0.5, "style": 3},
        "no number",
    )
    assert one.reply == "yes\n\n?\n\nno"
