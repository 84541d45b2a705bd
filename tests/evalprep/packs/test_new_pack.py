"""`evalprep new-pack` on rows of one's own: every kind renders, checks, and gives credit to a right reply."""

import contextlib
import gzip
import io
import json
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from evalprep.cli import main
from evalprep.config.file import load_config
from evalprep.export import task_id_in
from evalprep.packs.skeletons import KINDS
from evalprep.prepare.preparation import prepare
from evalprep.verbs.new_pack import _KINDS

OPTIONS = {"a": "two", "b": "three", "c": "four", "d": "five", "e": "six"}
ROWS = [
    {"question": "1 + 1?", "answer": "2", **OPTIONS, "My Text": "x"},
    {"question": "3 + 3?", "answer": "6", **OPTIONS, "My Text": "y"},
]


def write(folder, name, rows=None):
    rows = rows or ROWS
    path = folder / name
    head = list(rows[0])
    cells = [head, *([str(row[key]) for key in head] for row in rows)]
    quoted = "\n".join(",".join(f'"{cell}"' for cell in line) for line in cells)
    content = {
        "csv": quoted.encode(),
        "tsv": quoted.replace(",", "\t").encode(),
        "json": json.dumps(rows).encode(),
        "jsonl": "".join(json.dumps(row) + "\n" for row in rows).encode(),
    }
    if name.endswith("parquet"):
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        data = content[name.removesuffix(".gz").rpartition(".")[2]]
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def new_pack(folder, *arguments):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["new-pack", "mine", "--template_dir", str(folder / "packs"), *arguments])
    return SimpleNamespace(returncode=code, stdout=out.getvalue(), stderr=err.getvalue())


def loaded(folder):
    """The task as lm-eval has it, after a preparation by the command that `new-pack` prints."""
    from lm_eval.tasks import TaskManager

    path = folder / "eval_config.yaml"
    config = {"model_name": "a/b", "backend": "dummy", "tasks": "mine_all", "template_dir": "packs"}
    path.write_text(yaml.safe_dump(config))
    done = prepare(*load_config(path))
    manager = TaskManager(include_path=str(folder / "work_dir"), include_defaults=False)
    return done, manager.load(["mine_qa"])["tasks"]["mine_qa"]


@pytest.mark.parametrize(
    "name", ["q.csv", "q.tsv", "q.json", "q.jsonl", "q.parquet", "q.csv.gz", "q.jsonl.gz"]
)
def test_rows_in_any_format(tmp_path, name):
    data = write(tmp_path, name)
    made = new_pack(
        tmp_path,
        "--data",
        str(data),
        "--prompt",
        r"Q: {question}\nA ({My Text}):",
        "--target",
        "answer",
    )
    assert made.returncode == 0, made.stderr
    assert "next: evalprep run --model MODEL --tasks mine_all" in made.stdout
    _, task = loaded(tmp_path)
    assert [task.doc_to_text(doc) for doc in task.eval_docs] == [
        "Q: 1 + 1?\nA (x):",
        "Q: 3 + 3?\nA (y):",
    ]
    assert [str(task.doc_to_target(doc)) for doc in task.eval_docs] == ["2", "6"]


RIGHT = {
    "exact": (["--prompt", "question"], "6", "7"),
    "number": (["--prompt", "question"], "The answer is 6.0", "It is 7"),
    "math": (["--prompt", r"{question} Answer in \boxed{}."], r"So \boxed{6}.", r"\boxed{7}"),
    "regex": (["--prompt", "question"], "The answer is 6.", "The answer is 7."),
    "json": (["--prompt", "{{question}} As JSON."], 'Sure: {"x": [6]}', "no"),
    "judge": (["--prompt", "question"], "6", "7"),
    "choice": (["--prompt", "question", "--choices", "a,b,c,d,e"], "The answer is (E).", "A"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_right_reply_has_credit(tmp_path, kind):
    arguments, right, wrong = RIGHT[kind]
    rows = [{**row, "answer": '{"x": [6]}'} for row in ROWS] if kind == "json" else ROWS
    rows = [{**row, "answer": "six"} for row in ROWS] if kind == "choice" else rows
    data = write(tmp_path, "q.jsonl", rows)
    made = new_pack(tmp_path, "--data", str(data), "--target", "answer", "--kind", kind, *arguments)
    assert made.returncode == 0, made.stderr
    done, task = loaded(tmp_path)
    assert [finding for finding in done.findings if finding.level != "note"] == []
    doc = task.eval_docs[1]
    assert (scored(task, doc, right), scored(task, doc, wrong)) == (1, 0)
    if kind == "choice":
        assert task.doc_to_text(doc).endswith("E. six\nAnswer with the letter of the right option.")


def scored(task, doc, reply):
    """What the task's own filters and scorer make of a reply."""
    from lm_eval.api.instance import Instance

    one = Instance(
        request_type="generate_until",
        doc=doc,
        arguments=("", {}),
        idx=0,
        metadata=("mine_qa", 0, 1),
    )
    one.resps = [reply]
    task._instances = [one]
    task.apply_filters()
    (filtered,) = one.filtered_resps.values()
    return task.process_results(doc, [filtered])["exact_match"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--prompt", "question", "--target", "answer"], ["--data: is missing"]),
        (["--data", "q.jsonl"], ["--prompt: is missing", "--target: is missing"]),
        (["--data", "q.jsonl", "--prompt", "{qestion}", "--target", "anwser"],
         ["no column 'qestion'", "did you mean question", "no column 'anwser'", "did you mean answer"]),
        (["--data", "q.jsonl", "--prompt", "Answer!", "--target", "answer"], ["names no column"]),
        (["--data", "q.jsonl", "--prompt", "It is ${question}.", "--target", "answer"],
         ["write {question} in place of ${question}"]),
        (["--data", "q.jsonl", "--prompt", "{{question", "--target", "answer"], ["is not valid Jinja"]),
        (["--data", "q.jsonl", "--prompt", "question", "--target", "answer", "--kind", "regex", "--pattern", "x"],
         ["has no group"]),
        (["--data", "nowhere.csv", "--prompt", "question", "--target", "answer"], ["no file or folder"]),
        (["--kind", "choice"], ["needs rows"]),
        (["--data", "q.jsonl", "--prompt", "question", "--target", "answer", "--kind", "choice"],
         ["with a right answer that is not a letter: 1 (", "--choices a,b,c"]),
    ],
)  # fmt: skip
def test_mistakes_are_told_at_once_and_nothing_is_written(tmp_path, arguments, said):
    write(tmp_path, "q.jsonl")
    made = new_pack(tmp_path, *arguments)
    assert made.returncode == 2
    for part in said:
        assert part in made.stderr
    assert not (tmp_path / "packs").exists()


def test_braces_of_json_are_text(tmp_path):
    write(tmp_path, "q.jsonl")
    prompt = '{question} Answer as {"answer": 1}, one of {a, b}.'
    made = new_pack(tmp_path, "--data", "q.jsonl", "--prompt", prompt, "--target", "answer")
    assert made.returncode == 0, made.stderr
    rows = (tmp_path / "packs/mine/pack.yaml").read_text()
    assert '{{question}} Answer as {"answer": 1}, one of {a, b}.' in rows.replace("\\", "")


def test_the_verb_offers_every_kind():
    assert set(_KINDS) == set(KINDS)


@pytest.mark.parametrize("sign", [";", "\t"])
def test_a_csv_of_a_spreadsheet_without_commas(tmp_path, sign):
    lines = [["Frage", "Antwort"], ["Peru, Hauptstadt?", "Lima"], ['"Wo; wo?"', "hier"]]
    text = "\r\n".join(sign.join(cells) for cells in lines)
    (tmp_path / "my.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    done = new_pack(tmp_path, "--data", "my.csv", "--prompt", "{Frage}", "--target", "Antwort")
    assert done.returncode == 0, done.stderr
    copy = (tmp_path / "packs/mine/data/my.csv").read_text(encoding="utf-8")
    assert copy == 'Frage,Antwort\n"Peru, Hauptstadt?",Lima\nWo; wo?,hier\n'


def test_rows_without_a_right_answer_are_told(tmp_path):
    (tmp_path / "my.jsonl").write_text(
        '{"q": "one"}\n{"q": "two", "a": 2}\n{"q": "three", "a": null}\n'
    )
    done = new_pack(tmp_path, "--data", "my.jsonl", "--prompt", "{q}", "--target", "a")
    assert done.returncode == 2
    assert "--target a: 2 rows without a right answer: 1, 3" in done.stderr
    assert not (tmp_path / "packs").exists()


def test_a_right_answer_that_reads_as_nothing_in_csv(tmp_path, capsys):
    (tmp_path / "codes.csv").write_text("country,code\nFrance,FR\nNamibia,NA\n")
    asked = ["--data", str(tmp_path / "codes.csv"), "--prompt", "country", "--target", "code"]
    assert written(tmp_path, *asked) == 2
    said = capsys.readouterr().err
    assert "1 row without a right answer: 2" in said
    assert "in CSV, NA, None, null and nan are nothing, too: JSON Lines keeps such words" in said


NESTED = [
    {
        "id": number,
        "ask": {"text": f"Which is {word}?", "level": number},
        "turns": [{"role": "user", "content": "hi"}, {"role": "bot", "content": "ho"}],
        "choices": {"text": ["sky", "blood", "sun"], "label": ["A", "B", "C"]},
        "key": key,
        "place": place,
        "raw": b"x",
    }
    for number, (word, key, place) in enumerate(
        [("red", "B", 1), ("blue", "1", 0), ("gold", "3", 2)]
    )
]


def written(folder, *arguments):
    """What `new-pack` exits with, on nested rows in parquet."""
    pq.write_table(pa.Table.from_pylist(NESTED), folder / "nested.parquet")
    data = [] if "--data" in arguments else ["--data", str(folder / "nested.parquet")]
    return main(["new-pack", "mine", "--template_dir", str(folder / "packs"), *data, *arguments])


def test_paths_into_nested_columns(tmp_path):
    prompt = "{ask.text} ({ask.level}, {turns.1.content})"
    assert written(tmp_path, "--prompt", prompt, "--target", "ask.level", "--kind", "number") == 0
    _, task = loaded(tmp_path)
    assert [task.doc_to_text(doc) for doc in task.eval_docs] == [
        "Which is red? (0, ho)",
        "Which is blue? (1, ho)",
        "Which is gold? (2, ho)",
    ]
    assert [task.doc_to_target(doc) for doc in task.eval_docs] == [0, 1, 2]


@pytest.mark.parametrize("target", ["key", "place"])
def test_options_in_a_nested_column_and_answers_by_number(tmp_path, target):
    asked = [
        "--prompt",
        "ask.text",
        "--target",
        target,
        "--kind",
        "choice",
        "--choices",
        "choices.text",
    ]
    assert written(tmp_path, *asked) == 0
    _, task = loaded(tmp_path)
    assert [task.doc_to_target(doc) for doc in task.eval_docs] == ["B", "A", "C"]
    assert "Which is red?\nA. sky\nB. blood\nC. sun\n" in task.doc_to_text(task.eval_docs[0])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--prompt", "turns", "--target", "key"], "{% for one in turns %}{{one.role}}: {{one.content}}"),
        (["--prompt", "Q: {ask}", "--target", "key"], "ask holds a mapping, not a text\n  fix: name what is inside of"),
        (["--prompt", "{ask.text}", "--target", "raw"], "raw holds bytes, not a text"),
        (["--prompt", "{ask.text}", "--target", "ask"], "or --kind json"),
        (["--prompt", "{ask.text}", "--target", "ask.levl"], "did you mean ask.level"),
        (["--prompt", "ask.text", "--target", "key", "--kind", "choice", "--choices", "choices"],
         "name the list in it: choices.text, choices.label"),
        (["--prompt", "ask.text", "--target", "id", "--kind", "choice", "--choices", "choices.text",
          "--split", "x[1:2]"],
         "nothing tells whether they count from 0 or from 1"),
    ],
)  # fmt: skip
def test_nested_columns_where_a_text_is_meant(tmp_path, capsys, arguments, said):
    assert written(tmp_path, *arguments) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "packs").exists()


def test_a_part_of_the_rows(tmp_path):
    assert (
        written(tmp_path, "--prompt", "ask.text", "--target", "key", "--split", "train[:33%]") == 0
    )
    done, task = loaded(tmp_path)
    assert [task.doc_to_text(doc) for doc in task.eval_docs] == ["Which is red?"]
    assert done.read == ["packs/mine/data/nested.parquet: split train[:33%], 1 row"]


def choice_pack(folder, rows):
    """What `new-pack` exits with for questions with the options a to d."""
    words = ["--data", str(write(folder, "q.jsonl", rows)), "--prompt", "question"]
    words += ["--kind", "choice", "--choices", "a,b,c,d", "--target", "answer"]
    return main(["new-pack", "mine", "--template_dir", str(folder / "packs"), *words])


def options_row(number, answer, options):
    return {"question": f"{number}?", "answer": answer, **dict(zip("abcd", options, strict=True))}


@pytest.mark.parametrize(
    ("options", "answers", "letters"),
    [
        (["B", "A", "C", "x"], ["A", "D"], ["A", "D"]),  # D is no text of an option
        (["red", "A", "blue", "B"], ["red", "A"], ["A", "B"]),  # red is no letter
        (["A", "B", "C", "D"], ["C", "A"], ["C", "A"]),  # both readings are one
        (["B", "A", "C", "D"], ["1", "4"], ["A", "D"]),
    ],
)
def test_letters_or_texts_are_decided_once_per_column(tmp_path, options, answers, letters):
    rows = [options_row(at, answer, options) for at, answer in enumerate(answers)]
    assert choice_pack(tmp_path, rows) == 0
    _, task = loaded(tmp_path)
    assert [task.doc_to_target(doc) for doc in task.eval_docs] == letters


@pytest.mark.parametrize(
    ("options", "answers", "message"),
    [
        (
            ["B", "A", "C", "D"],
            ["C", "A"],
            "'A' in row 2 is the letter of the option 'B' and the text of the option 'A'",
        ),
        (["red", "green", "blue", "grey"], ["red", "blue", "B"], "row 3 holds 'B'"),
        (["red", "green", "blue", "grey"], ["A", "E", "B"], "row 2 holds 'E'"),
    ],
)
def test_a_column_that_fits_both_readings_or_none_is_refused(
    tmp_path, capsys, options, answers, message
):
    rows = [options_row(at, answer, options) for at, answer in enumerate(answers)]
    assert choice_pack(tmp_path, rows) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "packs").exists()


@pytest.mark.parametrize(("ids", "noted"), [(["a", "b"], False), (["a", "a"], True)])
def test_a_column_of_repeated_ids_is_named(tmp_path, ids, noted):
    rows = [{"question": f"Frage {at}?", "answer": "Wien", "id": ids[at]} for at in range(2)]
    file = write(tmp_path, "q.parquet", rows)
    done = new_pack(tmp_path, "--data", str(file), "--prompt", "question", "--target", "answer")
    assert done.returncode == 0
    assert ("note: the column id does not hold a different value" in done.stdout) is noted


def test_a_spreadsheet_with_a_mark_semicolons_and_decimal_commas(tmp_path):
    file = tmp_path / "fragen.csv"
    text = 'Nr;Frage;Lösung;Punkte\n1;"Wie heißt; was?";Tschüss;1,5\n1;Wo?;Wien;2\n'
    file.write_text(text, encoding="utf-8-sig")
    words = ["--data", str(file), "--prompt", "{Frage}", "--target"]
    refused = new_pack(tmp_path, *words, "Punkte", "--kind", "number")
    assert refused.returncode == 2
    assert "1 row with a right answer that is not a number: 1 (1,5)" in refused.stderr
    assert "write numbers with a decimal point" in refused.stderr
    made = new_pack(tmp_path, *words, "Lösung")
    assert made.stdout.splitlines() == [
        "wrote packs/mine",
        "next: evalprep run --model MODEL --tasks mine_all --set template_dir=packs",
    ]
    _, task = loaded(tmp_path)
    docs = [(task.doc_to_text(doc), task.doc_to_target(doc)) for doc in task.eval_docs]
    assert docs == [("Wie heißt; was?", "Tschüss"), ("Wo?", "Wien")]


def test_the_next_step_prepares_where_a_config_names_the_model(tmp_path):
    (tmp_path / "eval_config.yaml").write_text("model_name: org/m\ntasks: mine_all\n")
    done = new_pack(tmp_path)
    line = "next: evalprep prepare --set tasks=mine_all --set template_dir=packs"
    assert done.stdout.splitlines()[-1] == line


def test_a_config_that_is_not_there(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["prepare"]) == 2
    assert "fix: write a config: evalprep init" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["choice", "exact"])
@pytest.mark.parametrize(
    ("column", "ids"), [("id", ["q7", "q8"]), ("question_id", [7, 8]), ("id", ["q7", "q7"])]
)
def test_an_id_column_becomes_the_sample_id(tmp_path, column, ids, kind):
    rows = [
        {**options_row(at, "green", ["red", "green", "blue", "grey"]), column: row_id}
        for at, row_id in enumerate(ids)
    ]
    words = ["--data", str(write(tmp_path, "q.jsonl", rows)), "--prompt", "question"]
    words += ["--target", "answer", "--kind", kind]
    words += ["--choices", "a,b,c,d"] if kind == "choice" else []
    assert main(["new-pack", "mine", "--template_dir", str(tmp_path / "packs"), *words]) == 0
    _, task = loaded(tmp_path)
    sample_ids = [doc["sample_id"] for doc in task.eval_docs]
    assert (sample_ids == [str(row_id) for row_id in ids]) == (len({*ids}) == 2)
    assert len({*sample_ids}) == 2


@pytest.mark.parametrize(
    ("arguments", "fields", "scorer"),
    [
        ([], {"input": "question", "target": "answer"}, "exact"),
        (["--kind", "number"], {"input": "question", "target": "answer"}, "match"),
        (
            ["--kind", "choice", "--choices", "options"],
            {"input": "question", "target": "letter", "choices": "options"},
            "choice",
        ),
    ],
)
def test_a_pack_has_the_file_that_makes_its_data_a_benchmark(tmp_path, arguments, fields, scorer):
    rows = [
        {"question": f"Pick {n}", "answer": str(n), "options": ["x", "y", "z"], "letter": "ABA"[n]}
        for n in range(3)
    ]
    data = write(tmp_path, "rows.jsonl", rows)
    words = ["--data", str(data), "--prompt", "question", "--target", fields["target"]]
    new_pack(tmp_path, *words, *arguments)
    file = tmp_path / "packs" / "mine" / "eval.yaml"
    content = yaml.safe_load(file.read_text())
    (task,) = content["tasks"]
    assert (task["id"], task["config"], task["split"]) == ("mine_qa", "default", "train")
    assert task["field_spec"] == fields
    assert [item["name"] for item in task["scorers"]] == [scorer]
    assert content["evaluation_framework"] == "inspect-ai"
    assert task_id_in(file) == "mine_qa"


@pytest.mark.parametrize(
    "arguments",
    [
        ["--prompt", "Say: {question}"],
        ["--prompt", "question", "--kind", "math"],
        ["--prompt", "question", "--kind", "choice", "--choices", "a,b"],
    ],
)
def test_a_pack_that_the_file_cannot_describe_has_none(tmp_path, arguments):
    rows = [{"question": "Is it a?", "answer": "A", "a": "x", "b": "y"}]
    data = write(tmp_path, "rows.csv", rows)
    done = new_pack(tmp_path, "--data", str(data), "--target", "answer", *arguments)
    assert done.returncode == 0
    assert not (tmp_path / "packs" / "mine" / "eval.yaml").exists()


def test_a_pack_of_somebody_who_works_elsewhere_goes_there(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["new-pack", "places"]) == 0
    assert (tmp_path / "packs/places/pack.yaml").is_file()
    assert "--set template_dir=packs" in capsys.readouterr().out
