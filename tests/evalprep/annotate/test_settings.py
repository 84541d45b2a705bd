"""Keys, prices, and ratings of other tools: what the user brings."""

import json
import os

import pytest

from evalprep.annotate.prices import Price, read_prices, tokens_at_most
from evalprep.annotate.providers.secret import read_key
from evalprep.annotate.providers.wire import Request
from evalprep.errors import BadInput, Problems
from evalprep.packs.finding import find_packs
from evalprep.results import load_run
from evalprep.score import score_run
from tests import PROJECT_ROOT
from tests.evalprep.annotate.conftest import QA, SECRET, SUMMARY
from tests.evalprep.annotate.services import serve

PACKS = find_packs(PROJECT_ROOT / "task_templates")


class TestKeyFile:
    def read(self, file):
        problems = Problems()
        return read_key("X", file, problems, needed=True, named=False), [
            one.what for one in problems.found
        ]

    def test_that_nobody_else_may_read(self, tmp_path):
        file = tmp_path / "key"
        file.write_text(SECRET + "\n")
        file.chmod(0o600)
        assert self.read(file) == (SECRET, [])

    @pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o660])
    def test_that_others_may_read(self, tmp_path, mode):
        file = tmp_path / "key"
        file.write_text(SECRET)
        file.chmod(mode)
        key, problems = self.read(file)
        assert key is None
        assert problems == [f"others may read it (mode {mode:o})"]

    @pytest.mark.parametrize("content", ["", "two words", "a\nb", "schlüssel", "x" * 5_000])
    def test_that_holds_no_key(self, tmp_path, content):
        file = tmp_path / "key"
        file.write_text(content)
        file.chmod(0o600)
        assert self.read(file) == (None, ["holds no key"])

    def test_that_is_no_file(self, tmp_path):
        os.mkfifo(tmp_path / "pipe", 0o600)
        assert self.read(tmp_path / "pipe") == (None, ["is not a regular file"])
        assert "cannot be read" in self.read(tmp_path / "absent")[1][0]
        assert self.read(tmp_path)[0] is None

    def test_it_goes_into_the_header(self, science_run, judge, tmp_path, monkeypatch):
        monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
        file = tmp_path / "key"
        file.write_text(SECRET)
        file.chmod(0o600)
        with serve(lambda *_: "Rating: 3") as server:
            options = ("--api", "anthropic", "--key_from", file, "--tasks", SUMMARY, "--limit", 1)
            code, _, _ = judge(science_run, server.url, *options)
        assert code == 0
        assert [header["x-api-key"] for header in server.headers] == [SECRET]
        assert server.requests[0]["max_tokens"] == 1024


class TestPrices:
    def test_of_a_file(self, tmp_path):
        file = tmp_path / "prices.yaml"
        for text in (
            "m: {input: 0.4, output: 1.6}\n",
            "core: 1\nprices:\n  m: {input: 0.4, output: 1.6}\n",
        ):
            file.write_text(text)
            assert read_prices(file) == {"m": Price(0.4, 1.6)}
        assert Price(0.4, 1.6, batch=0.5).of(10**6, 10**6, batch=True) == 1

    @pytest.mark.parametrize(
        ("text", "what"),
        [
            ("[", "is not valid YAML"), ("m: &a [*a]", "inside of itself"), ("- 1", "holds no prices"),
            ("m: 3", "is not a price"),
            ("m: {input: 1}", "output is missing"), ("m: {input: yes, output: 1}", "input: True"),
            ("m: {input: -1, output: 1}", "input: -1"), ("m: {input: 1, output: .inf}", "output: inf"),
            ("m: {input: 1, output: 1, price: 2}", "unknown key 'price'"),
        ],
    )  # fmt: skip
    def test_mistakes(self, tmp_path, text, what):
        file = tmp_path / "prices.yaml"
        file.write_text(text)
        with pytest.raises(BadInput, match=what):
            read_prices(file)

    def test_a_bound_of_the_tokens_holds_for_any_text(self):
        for text in ("plain", "ünklar \U0001f600", "\u4e2d\u6587"):
            assert tokens_at_most(Request("m", [{"role": "user", "content": text}])) >= len(
                text.encode()
            )

    def test_a_limit_needs_a_price_and_a_bound(self, science_run, judge, tmp_path):
        code, outcome, _ = judge(science_run, "http://127.0.0.1:9/v1", "--max_cost", 1)
        assert (code, "is unknown" in outcome["problems"][0]["what"]) == (2, True)
        prices = tmp_path / "p.yaml"
        prices.write_text("the-judge: {input: 1, output: 1}\n")
        code, outcome, _ = judge(
            science_run, "http://127.0.0.1:9/v1", "--max_cost", 1, "--prices", prices
        )
        assert (code, "replies have no limit" in outcome["problems"][0]["what"]) == (2, True)

    def test_an_unknown_price_is_said_as_unknown(self, science_run, judge):
        _, plan, _ = judge(science_run, "http://127.0.0.1:9/v1", "--dry_run")
        assert plan["cost_about"] is None
        assert plan["tokens_in_about"] > 0


class TestImport:
    def test_ratings_in_row_order(self, science_run, judge, tmp_path):
        file = tmp_path / "lm_judge.json"
        file.write_text(json.dumps([4] * 6 + [2] * 5 + [None]))
        options = ("--tasks", QA, "--import_ratings", file)
        code, outcome, _ = judge(science_run, "http://127.0.0.1:9/v1", *options, model="upstream")
        assert (code, outcome["imported"]) == (0, 11)
        scores = {
            score.name: score.result.returned
            for score in score_run(load_run(science_run), PACKS).suite
        }
        found = scores["science_qasper_judge"]
        assert found["agg_value"] == pytest.approx((6 * 0.75 + 5 * 0.25) / 11)
        assert found["notes"] == ["rated by upstream: 11 of 12 questions"]
        assert (
            judge(science_run, "http://127.0.0.1:9/v1", *options, model="upstream")[0] == 3
        )  # nothing new

    @pytest.mark.parametrize(
        "content", ["{", "{}", "[1, 2]", "[9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9]", '["x"]']
    )
    def test_what_does_not_fit_is_refused(self, science_run, judge, tmp_path, content):
        file = tmp_path / "lm_judge.json"
        file.write_text(content)
        options = ("--tasks", QA, "--import_ratings", file)
        code, outcome, _ = judge(science_run, "http://127.0.0.1:9/v1", *options)
        assert (code, outcome["problems"][0]["where"]) == (2, str(file))
