"""Verdicts of a ledger that this user did not write: named everywhere, never taken unasked; and broken ledgers."""

import json
import sqlite3
import threading
from dataclasses import replace

import pytest

from evalprep.annotate import writer
from evalprep.annotate.ledger import Attempt, Ledger
from evalprep.annotate.place import FILE
from evalprep.annotate.seal import KEY, own_seal
from evalprep.annotate.writer import Writer
from evalprep.cli import main
from evalprep.errors import BadInput, Problem
from evalprep.gate import decide as real_decide
from evalprep.gate.decision import PASS
from evalprep.packs.ownership import state_folder
from tests.evalprep.annotate.conftest import lines
from tests.evalprep.annotate.services import Said, serve
from tests.packs.compliance.project import prepared, write_run

ELSEWHERE = "come from a ledger of another machine"


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    """A state folder of its own, whose key a test may lose."""
    monkeypatch.setenv("EVALPREP_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def judged(science_run, judge):
    with serve(lambda *_: "Rating: 5") as server:
        code, _, _ = judge(science_run, server.url)
    assert code == 0
    return science_run


def score(run, capsys, *more):
    capsys.readouterr()
    main(["score", str(run), "--json", *more])
    return json.loads(capsys.readouterr().out)


def forge(run, reply):
    """Writes a reply into every row, as somebody without the key can."""
    with sqlite3.connect(run / FILE) as connection:
        connection.execute("UPDATE attempts SET reply = ?", [reply])


def test_own_verdicts_are_not_named(judged, capsys):
    assert ELSEWHERE not in json.dumps(score(judged, capsys))


def test_the_key_is_readable_by_its_user_alone(judged, state):
    assert (state / KEY).stat().st_mode & 0o777 == 0o600
    assert list(state.glob(".ledger*")) == []


def test_changed_replies_are_named_by_every_verb(judged, capsys, tmp_path):
    forge(judged, "Rating: 1")
    note = f"24 verdicts {ELSEWHERE} (science_answer, science_summary)"
    assert note in json.dumps(score(judged, capsys))
    for verb in ("compare", "leaderboard", "report"):
        main(
            [verb, str(judged), str(judged), "--json", "--out", str(tmp_path / verb)][
                : 6 if verb != "compare" else 4
            ]
        )
        assert note in capsys.readouterr().out, verb
    accepted = json.dumps(score(judged, capsys, "--accept_ledger"))
    assert ELSEWHERE not in accepted
    assert "24 verdicts of a ledger of another machine accepted" in accepted


def test_a_gate_does_not_pass_on_them(judged, capsys, tmp_path, monkeypatch):
    policy = tmp_path / "policy.yaml"
    policy.write_text("on_unclear: pass\ndefaults: {max_drop: 0.5}\n")

    def decide(*sides):
        return replace(real_decide(*sides), status=PASS)

    monkeypatch.setattr("evalprep.gate.decide", decide)
    command = ["gate", str(judged), str(judged), "--policy", str(policy), "--json"]
    assert main(command) == 0
    forge(judged, "Rating: 5 ")
    capsys.readouterr()
    assert main(command) == 3
    outcome = json.loads(capsys.readouterr().out)
    assert any(ELSEWHERE in warning for warning in outcome["warnings"])
    assert main([*command, "--accept_ledger"]) == 0


def test_paid_replies_of_another_machine_are_not_asked_for_again(judged, judge, state):
    (state / KEY).unlink()
    with serve(lambda *_: "Rating: 1") as server:
        code, outcome, _ = judge(judged, server.url)
    assert (code, server.requests) == (0, [])
    assert [task["n_ok"] for task in outcome["tasks"]] == [12, 12]


def test_sign_adopts_them(judged, capsys, state):
    (state / KEY).unlink()
    assert ELSEWHERE in json.dumps(score(judged, capsys))
    assert main(["judge", str(judged), "--sign", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["signed"] == 24
    assert ELSEWHERE not in json.dumps(score(judged, capsys))


def test_a_ledger_from_before_the_digests_reads_as_unsigned(judged, capsys):
    with sqlite3.connect(judged / FILE) as connection:
        for table in ("attempts", "chosen"):
            connection.execute(f"ALTER TABLE {table} DROP COLUMN digest")
        connection.execute("PRAGMA user_version = 1")
    before = (judged / FILE).read_bytes()
    assert f"24 verdicts {ELSEWHERE}" in json.dumps(score(judged, capsys, "--no_write"))
    assert (judged / FILE).read_bytes() == before
    assert main(["judge", str(judged), "--sign"]) == 0
    assert ELSEWHERE not in json.dumps(score(judged, capsys))


def test_a_changed_choice_of_the_judge_is_named(judged, capsys):
    with sqlite3.connect(judged / FILE) as connection:
        connection.execute("UPDATE chosen SET settings = '{}'")
    assert f"2 verdicts {ELSEWHERE}" in json.dumps(score(judged, capsys))


def test_a_shared_key_is_used_as_it_is(judged, state, tmp_path, monkeypatch, capsys):
    other = tmp_path / "mounted"
    other.mkdir()
    (other / KEY).write_text((state / KEY).read_text())
    monkeypatch.setenv("EVALPREP_STATE", str(other))
    assert ELSEWHERE not in json.dumps(score(judged, capsys))


def test_two_processes_make_one_key():
    keys = []
    threads = [threading.Thread(target=lambda: keys.append(own_seal().key)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(keys)) == 1
    assert keys[0] is not None


def test_an_unwritable_home_is_named_once(science_run, judge, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("EVALPREP_STATE", str(tmp_path / "file" / "state"))
    with serve(lambda *_: "Rating: 5") as server:
        code, _, err = judge(science_run, server.url)
    assert code == 0
    assert err.count("EVALPREP_STATE names another folder") == 1


@pytest.mark.slow  # starts rooms, and the harness
class TestProgrammes:
    """Free verdicts, and who may start code."""

    TASK = "compliance_human_eval"

    @pytest.fixture
    def run(self, tmp_path):
        prepared(tmp_path, tasks=[self.TASK])
        half = [["    return None\n"] * 10, ["    return None\n"] * 10]
        return write_run(tmp_path, tmp_path / "model", lambda *_: half[:1], tasks={self.TASK})

    @staticmethod
    def value(scores):
        (suite,) = (
            score for score in scores["suite"] if score["name"] == "compliance_human_eval_score"
        )
        return suite["value"]

    def test_forged_passes_are_computed_again(self, run, capsys):
        assert self.value(score(run, capsys)) == 0.0
        forge(run, json.dumps({"passed": True, "status": "passed", "detail": ""}))
        again = score(run, capsys)
        assert self.value(again) == 0.0
        assert ELSEWHERE not in json.dumps(again)

    def test_a_received_run_starts_no_programme(self, run, capsys, state):
        assert self.value(score(run, capsys)) == 0.0
        forge(run, json.dumps({"passed": True, "status": "passed", "detail": ""}))
        for note in state.rglob("*.json"):  # of the preparation: it was another user's
            note.unlink()
        shown = score(run, capsys)
        assert "--run_code allows them" in json.dumps(shown)
        assert ELSEWHERE in json.dumps(shown)
        assert self.value(shown) == 1.0  # as it was received, and named
        allowed = score(run, capsys, "--run_code")
        assert self.value(allowed) == 0.0
        assert ELSEWHERE not in json.dumps(allowed)

    def test_nothing_runs_unless_the_user_says_so(self, run, capsys, state, monkeypatch):
        ran = []
        monkeypatch.setattr("evalprep.coderunner.runner.Session", lambda *_: ran.append(1))
        for note in state.rglob("*.json"):
            note.unlink()
        shown = score(run, capsys)
        assert ran == []
        assert "code_runner was not run on compliance_human_eval" in json.dumps(shown)

    def test_accepted_verdicts_are_not_computed_again(self, run, capsys):
        score(run, capsys)
        forge(run, json.dumps({"passed": True, "status": "passed", "detail": ""}))
        assert self.value(score(run, capsys, "--accept_ledger")) == 1.0


@pytest.mark.parametrize("content", ["", "header"])
def test_a_ledger_in_which_nothing_was_written_is_new(science_run, judge, capsys, content):
    """What a full disk leaves while the ledger is created."""
    with sqlite3.connect(science_run / FILE) as connection:
        if content:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("VACUUM")
    assert main(["score", str(science_run), "--no_write", "--json"]) in {0, 3}
    assert main(["judge", str(science_run), "--out", str(science_run / "x.jsonl")]) == 2
    assert "there is no ledger" in capsys.readouterr().err
    with serve(lambda *_: "Rating: 5") as server:
        code, outcome, _ = judge(science_run, server.url)
    assert code == 0
    assert [task["n_ok"] for task in outcome["tasks"]] == [12, 12]


def test_a_cut_ledger_is_refused_with_the_fix(science_run, judge):
    (science_run / FILE).write_bytes(b"SQLite format 3\0" + bytes(40))
    code, outcome, _ = judge(science_run, "http://127.0.0.1:9/v1")
    assert code == 2
    assert outcome["problems"][0]["fix"].startswith(f"delete {FILE}")


class TestFullDisk:
    def test_a_paid_answer_is_kept(self, science_run, judge, monkeypatch):
        """The disk is full from the fifth answer on, but for the space that was set aside."""
        full = threading.Event()
        whole = Ledger.put

        def put(self, attempts, uses=()):
            rows = list(attempts)
            if full.is_set() and not freed:
                raise BadInput(Problem(what="database or disk is full"))
            whole(self, rows, uses)

        freed = []
        give_back = writer.Reserve.give_back

        def counted(self):
            freed.append(1)
            return give_back(self)

        def answer(_prompt, number, _key):
            if number >= 5:
                full.set()
            return Said("Rating: 5")

        monkeypatch.setattr(Ledger, "put", put)
        monkeypatch.setattr(writer.Reserve, "give_back", counted)
        with serve(answer) as server:
            code, _, _ = judge(science_run, server.url, "--model_args", "num_concurrent=1")
            sent = len(server.requests)
        assert code == 2
        assert len(lines(science_run)) == sent
        monkeypatch.setattr(Ledger, "put", whole)
        with serve(lambda *_: "Rating: 5") as server:
            code, _, _ = judge(science_run, server.url)
        assert code == 0
        assert len(server.requests) == 24 - sent

    def test_nothing_is_sent_where_no_space_can_be_set_aside(self, science_run, judge, monkeypatch):
        def refuse(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("os.posix_fallocate", refuse)
        with serve(lambda *_: "Rating: 5") as server:
            code, outcome, _ = judge(science_run, server.url)
        assert (code, server.requests) == (2, [])
        assert "No space left" in json.dumps(outcome)

    def test_the_reserve_is_on_the_disk_and_leaves_nothing(self, tmp_path):
        with Ledger(tmp_path / FILE, write=True) as ledger:
            with Writer(ledger, requests=4) as open_writer:
                row = Attempt("k", 1, "a", "1", "m", "{}", "0", 0, "sent")
                open_writer.put(row).result()
            assert {
                path.name.partition("-")[0] for path in tmp_path.iterdir() if path.is_file()
            } == {FILE}


class TestOpenHttp:
    @pytest.mark.parametrize(
        ("url", "is_named"),
        [
            ("http://judge.example:8000/v1", True),
            ("http://10.0.0.7/v1", True),
            ("https://judge.example/v1", False),
            ("http://127.0.0.1:9/v1", False),
            ("http://localhost:9/v1", False),
            ("http://[::1]:9/v1", False),
        ],
    )
    def test_a_key_that_travels_openly_is_named(
        self, science_run, judge, monkeypatch, url, is_named
    ):
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef")
        monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.setattr("evalprep.annotate.session.ask_all", lambda *_, **__: None)
        _, _, err = judge(science_run, url)
        assert ("is sent unencrypted" in err) is is_named
        assert ("the proxy that the environment names" in err) is is_named

    def test_no_proxy_gets_the_key_of_a_service_on_this_machine(
        self, science_run, judge, monkeypatch
    ):
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef")
        monkeypatch.delenv("NO_PROXY", raising=False)
        with serve(lambda *_: "Rating: 1") as proxy, serve(lambda *_: "Rating: 5") as server:
            monkeypatch.setenv("http_proxy", proxy.url.removesuffix("/v1"))
            code, _, _ = judge(science_run, server.url)
        assert (code, proxy.requests) == (0, [])
        assert len(server.requests) == 24


def test_the_state_folder_is_the_users(state):
    assert state_folder() == state
