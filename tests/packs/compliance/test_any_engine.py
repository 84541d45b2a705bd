"""The suite by another engine: its prompts go out, a stub answers, and every benchmark is accounted for."""

import json

import pyarrow.parquet as pq
import pytest
import yaml

from tests import processes
from tests.packs.compliance.project import ALL
from tests.packs.compliance.test_end_to_end import REGISTRY

REPLY = "Yes. [Answer] 5. The river is long. It was named by people."


def answer(row):
    if row["kind"] == "generate_until":
        return {"id": row["id"], "text": REPLY}
    return {"id": row["id"], "loglikelihood": -1.0 - len(row["continuation"] or "") / 9}


def answered(requests, replies):
    rows = pq.read_table(requests).to_pylist()
    lines = [json.dumps(answer(row)) for row in rows]
    replies.write_text("\n".join(lines) + "\n")
    return rows


@pytest.mark.slow
def test_the_whole_suite_is_scored_or_named(tmp_path):
    config = {
        "model_name": "some/model",
        "tasks": "compliance",
        "backend": "dummy",
        "limit": 4,
        "compliance": ALL,
    }
    (tmp_path / "eval_config.yaml").write_text(yaml.safe_dump(config))
    processes.run("prepare", "--quiet", cwd=tmp_path, check=True)
    checked = processes.run("check", "work_dir", cwd=tmp_path).stdout
    words = " ".join(checked.split())
    assert "`evalprep prompts` leaves it out, as files of replies hold no log-prob" in words
    given, tasks = [], set()
    for number in range(8):
        known = ["--replies", ",".join(given)] if given else []
        file = f"requests{number}.parquet"
        asked = processes.run(
            "prompts", "work_dir", *known, "--out", file, cwd=tmp_path, check=True
        ).stdout
        assert "compliance_reddit_bias: left out; a file of replies holds no log-prob" in asked
        rows = answered(tmp_path / file, tmp_path / f"replies{number}.jsonl")
        tasks |= {row["task"] for row in rows}
        given.append(f"replies{number}.jsonl")
        done = processes.run("run", "work_dir", "--replies", ",".join(given), cwd=tmp_path)
        if not done.returncode:
            break
        assert f"next: evalprep prompts {tmp_path / 'work_dir'} --replies" in done.stdout
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert number, "the dialogues and the later stages take more than one round"
    assert {"compliance_multiturn_goal_hijacking", "compliance_i_know_confidence"} <= tasks
    status = processes.run("status", "eval_results", cwd=tmp_path, check=True).stdout
    assert "left out: compliance_reddit_bias: a file of replies holds no" in status
    assert "∙ " not in status.replace("∙ pending", "")
    (report,) = tmp_path.rglob("*_report.md")
    text = report.read_text()
    (results,) = tmp_path.glob("**/compl_ai/*_results.json")
    data = json.loads(results.read_text())
    scores = {key: data[key]["aggregate_score"] for key in REGISTRY.scored()}
    for key, one in REGISTRY.scored().items():
        (line,) = [line for line in text.splitlines() if line.startswith(f"| {one.label} |")]
        assert isinstance(scores[key], float) or "not evaluated: " in line, line
    assert "Error" not in text, "an error of Python is no reason for a reader"
    absent = {key for key, score in scores.items() if not isinstance(score, float)}
    # Replies at random may name no option, and no person.
    unread = {"self_check_consistency", "bold", "bbq", "fairllm", "human_deception"}
    assert absent <= {"reddit_bias", *unread}
