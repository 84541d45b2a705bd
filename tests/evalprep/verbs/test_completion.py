"""What a shell offers after `evalprep completion bash`."""

import shutil
import subprocess

import pytest

from evalprep.cli import main
from evalprep.verbs.registry import VERBS

ASK = """
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_evalprep
echo "${COMPREPLY[*]}"
"""


@pytest.fixture(scope="module")
def script():
    from evalprep.verbs.completion import script

    return script("bash")


def offered(script, *words):
    """What bash offers for the last of some words."""
    command = ["bash", "-c", script + ASK, "bash", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["evalprep", ""], [*VERBS, "help"]),
        (["evalprep", "comp"], ["compare", "completion"]),
        (["evalprep", "help", "ga"], ["gate"]),
        (["evalprep", "compare", "a", "b", "--al"], ["--allow"]),
        (["evalprep", "compare", "run", "--engi"], []),
        (["evalprep", "init", "--backend", ""], ["hf", "vllm"]),
        (["evalprep", "init", "--backend", "=", "v"], ["vllm"]),
        (["evalprep", "init", "--backend=v"], ["--backend=vllm"]),
        (["evalprep", "completion", "z"], ["zsh"]),
        (["evalprep", "compare", ""], []),
    ],
    ids=" ".join,
)
def test_words_are_completed(script, words, names):
    assert offered(script, *words) == names


def test_zsh_reads_the_same_script(script, capsys):
    assert main(["completion", "zsh"]) == 0
    first, _, rest = capsys.readouterr().out.partition("\n")
    assert "bashcompinit" in first
    assert rest == script


@pytest.mark.skipif(shutil.which("zsh") is None, reason="no zsh on this machine")
def test_zsh_offers_the_same_words(tmp_path, capsys):
    assert main(["completion", "zsh"]) == 0
    lines = (
        capsys.readouterr().out,
        "emulate -L zsh; setopt ksharrays",
        'COMP_WORDS=(evalprep completion ""); COMP_CWORD=2; _evalprep; print "${COMPREPLY[@]}"',
    )
    script = tmp_path / "words.zsh"
    script.write_text("\n".join(lines), encoding="utf-8")
    done = subprocess.run(["zsh", script], capture_output=True, text=True, check=False)
    assert (done.stdout.split(), done.stderr) == (["bash", "zsh"], "")
