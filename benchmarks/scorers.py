"""What scorers and the static check take, each against the one that it replaces.

    python -m benchmarks.scorers [--short] [--docs PAGE]

- ROUGE-1, -2, -L and -Lsum of summaries, and ROUGE-L of longer texts, against `rouge-score`.
- Math grading of boxed answers, against `math-verify`.
- IFEval's four verdicts, against lm-eval's own.
- `evalprep check --depth static` of a folder of tasks, against `lm_eval validate`.

Scorers are timed in processes of their own, after their imports and one call that warms them up; so
the memory is that of the process. The checks are commands as they are typed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import textwrap
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measuring import ROOT, Cost, Measure, Report, finish, measure

#: Comes before each piece of code below: the texts, and `timed`, which prints what a call takes.
HEAD = """
import json, random, resource, sys, time
count = int(sys.argv[1])
source = random.Random(3)
vocabulary = ["".join(source.choices("etaoinshrdlu", k=source.randint(2, 9))) for _ in range(4000)]
def text(words):
    sentences = (" ".join(source.choices(vocabulary, k=12)) for _ in range(words // 12))
    return ". ".join(sentences) + "."
def pair(words):
    reference = text(words)
    kept = [word if source.random() < 0.6 else source.choice(vocabulary)
            for word in reference.split()]
    return " ".join(kept), reference
def timed(score, cases):
    score(*cases[0])
    wall, cpu = time.perf_counter(), time.process_time()
    for case in cases:
        score(*case)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"cpu": cpu, "wall": wall, "peak_mb": peak}))
"""
ROUGE_OURS = """
from custom_metrics.text.rouge import rouge_scores
score = lambda prediction, reference: rouge_scores(prediction=prediction, reference=reference)
"""
ROUGE_PEER = """
from rouge_score.rouge_scorer import RougeScorer
scorer = RougeScorer(["rouge1", "rouge2", "rougeL", "rougeLsum"])
score = lambda prediction, reference: scorer.score(reference, prediction)
"""
ROUGE_L_OURS = """
from custom_metrics.text.rouge import rouge_scores
def score(prediction, reference):
    return rouge_scores(prediction=prediction, reference=reference, types=["rougeL"])
"""
ROUGE_L_PEER = """
from rouge_score.rouge_scorer import RougeScorer
scorer = RougeScorer(["rougeL"])
score = lambda prediction, reference: scorer.score(reference, prediction)
"""
SUMMARIES = "timed(score, [pair(96) for _ in range(count)])"
LONG = "timed(score, [pair(960) for _ in range(count)])"
MATH_CASES = r"""
forms = [r"\frac{%d}{%d}", "%d.%d", r"%d\sqrt{%d}", "(%d, %d)", "%dx+%d", "%d^{%d}"]
def case(number):
    answer = source.choice(forms) % (source.randint(2, 99), source.randint(2, 9))
    other = source.choice(forms) % (source.randint(2, 99), source.randint(2, 9))
    return answer, answer if number % 2 else other
cases = [(gold, f"So the answer is $\\boxed{{{reply}}}$.")
         for gold, reply in map(case, range(count))]
"""
MATH_OURS = """
from custom_metrics.math import grade
timed(lambda gold, reply: grade(gold, reply), cases)
"""
MATH_PEER = """
from math_verify import parse, verify
timed(lambda gold, reply: verify(parse(f"${gold}$"), parse(reply)), cases)
"""
IFEVAL_CASES = """
names = ["length_constraints:number_words", "punctuation:no_comma",
         "change_case:english_lowercase", "length_constraints:number_sentences",
         "keywords:existence", "startend:end_checker", "detectable_format:number_bullet_lists"]
kwargs = [{"num_words": 60, "relation": "at least"}, {}, {},
          {"num_sentences": 5, "relation": "at least"}, {"keywords": vocabulary[:2]},
          {"end_phrase": "That is all."}, {"num_bullets": 3}]
def case(number):
    chosen = source.sample(range(len(names)), k=1 + number % 3)
    doc = {"key": number, "prompt": "Write.", "instruction_id_list": [names[at] for at in chosen],
           "kwargs": [kwargs[at] for at in chosen]}
    return doc, [text(180)]
cases = [case(number) for number in range(count)]
"""
IFEVAL_OURS = """
from custom_metrics.harness.results import ifeval
timed(ifeval, cases)
"""
IFEVAL_PEER = """
from lm_eval.tasks.ifeval.utils import process_results
timed(process_results, cases)
"""
TASK = """
task: {name}
dataset_path: json
dataset_kwargs: {{data_files: {{test: {rows}}}}}
test_split: test
output_type: generate_until
doc_to_text: "Question: {{{{question}}}}\\nAnswer:"
doc_to_target: "{{{{answer}}}}"
generation_kwargs: {{until: ["\\n"], max_gen_toks: 32, do_sample: false, temperature: 0.0}}
filter_list:
  - name: strict
    filter:
      - {{function: regex, regex_pattern: "(\\\\d+)"}}
      - {{function: take_first}}
metric_list:
  - {{metric: exact_match, aggregation: mean, higher_is_better: true}}
metadata: {{version: 1.0}}
"""


@dataclass(frozen=True)
class Scorer:
    """A scorer of ours against the one that it replaces.

    Attributes:
        what: What is scored, with `{}` for the number of cases.
        count: How many cases; with `--short` a tenth.
        cases: Code that makes `cases`, where that is not part of the last line.
        ours, peer: Code of the two.
        call: The line that times them, where it is the same for both.
        against: The other scorer.
        goal: The most that ours may take per CPU second of the other.
    """

    what: str
    count: int
    ours: str
    peer: str
    against: str
    goal: float
    cases: str = ""
    call: str = ""

    def measure(self, count: int, repeats: int) -> Measure:
        """What both take for so many cases."""
        ours, peer = (
            _timed(f"{HEAD}\n{self.cases}\n{code}\n{self.call}", count, repeats)
            for code in (self.ours, self.peer)
        )
        return Measure(self.what.format(f"{count:,}"), ours, peer, self.against, self.goal)


SCORERS = (
    Scorer(
        "ROUGE of {} summaries of 96 words",
        *(2000, ROUGE_OURS, ROUGE_PEER, "rouge-score", 1 / 49),
        call=SUMMARIES,
    ),
    Scorer(
        "ROUGE-L of {} pairs of 960 words",
        *(20, ROUGE_L_OURS, ROUGE_L_PEER, "rouge-score", 1 / 780),
        call=LONG,
    ),
    Scorer(
        "math grading of {} boxes",
        *(1000, MATH_OURS, MATH_PEER, "math-verify", 1 / 55),
        cases=MATH_CASES,
    ),
    Scorer(
        "IFEval of {} replies of 180 words",
        *(500, IFEVAL_OURS, IFEVAL_PEER, "lm-eval", 1 / 1.6),
        cases=IFEVAL_CASES,
    ),
)


def _timed(code: str, count: int, repeats: int) -> Cost:
    """What the timed call of a piece of code takes; of several runs that with least CPU time."""
    command = [sys.executable, "-c", code, str(count)]
    costs = []
    for _ in range(repeats):
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        costs.append(Cost(**json.loads(done.stdout.splitlines()[-1])))
    return min(costs, key=lambda cost: cost.cpu)


def static_check(count: int, repeats: int) -> Measure:
    """The static check of a folder of tasks against lm-eval's own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = folder / "rows.jsonl"
        lines = ({"question": f"What is {at} + 1?", "answer": str(at + 1)} for at in range(50))
        rows.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        names = [f"quiz_{number}" for number in range(count)]
        for task in names:
            content = textwrap.dedent(TASK).format(name=task, rows=rows)
            (folder / f"{task}.yaml").write_text(content, encoding="utf-8")
        tasks = ",".join(names)
        where = ["--include_path", name, "--tasks", tasks]
        check = [sys.executable, "-m", "evalprep", "check", *where, "--depth", "static"]
        ours = measure(check, repeats=repeats)
        validate = [Path(sys.executable).with_name("lm_eval"), "validate", *where]
        peer = measure(validate, repeats=repeats)
    return Measure(f"static check of {count} tasks", ours, peer, "lm_eval validate", 1 / 16)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--short", action="store_true", help="a tenth of the cases, once")
    parser.add_argument("--docs", type=Path, help="page whose table is replaced")
    args = parser.parse_args()
    part, repeats = (10, 1) if args.short else (1, 3)
    measures = [scorer.measure(scorer.count // part, repeats) for scorer in SCORERS]
    measures.append(static_check(20 // part, repeats))
    packages = ("rouge-score", "math-verify", "lm_eval")
    report = Report("scorers", "python -m benchmarks.scorers", measures, packages=packages)
    return finish(report, page=args.docs, keeps=not args.short)


if __name__ == "__main__":
    raise SystemExit(main())
