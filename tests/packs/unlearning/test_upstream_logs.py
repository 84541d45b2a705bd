"""Numbers of OpenUnlearning's public logs, where a folder of them is named.

EVALPREP_OPENUNLEARNING_LOGS is what its `setup_data.py --eval_logs` fetches into `saves/eval`.
"""

import json
import os
from pathlib import Path

import pytest

from evalprep.cli import main

FOLDER = os.environ.get("EVALPREP_OPENUNLEARNING_LOGS", "")
#: Base model -> memorisation and utility of the retain model, divided by the finetuned one.
DIVIDED = {
    "Llama-2-7b-chat-hf": (0.307, 0.977),
    "Llama-3.2-1B-Instruct": (0.346, 0.987),
    "Llama-3.2-3B-Instruct": (0.339, 0.976),
    "Llama-3.1-8B-Instruct": (0.349, 1.030),
}
pytestmark = pytest.mark.skipif(not FOLDER, reason="EVALPREP_OPENUNLEARNING_LOGS names no folder")


@pytest.mark.parametrize("base", DIVIDED)
def test_the_divided_values_of_the_retain_models(base, capsys):
    logs = Path(FOLDER)
    subject = logs / f"tofu_{base}_retain90"
    arguments = ["--finetuned", str(logs), "--no_write", "--json"]
    assert main(["score", str(subject), *arguments]) == 0
    suite = {score["name"]: score for score in json.loads(capsys.readouterr().out)["suite"]}
    memorization, utility = DIVIDED[base]
    assert suite["memorization_after_paper"]["value"] == pytest.approx(memorization, abs=1e-3)
    assert suite["utility_after_paper"]["value"] == pytest.approx(utility, abs=1e-3)
    (against,) = suite["memorization_after_paper"]["against"]
    assert (against["role"], against["model"]) == ("finetuned", f"tofu_{base}_full")
