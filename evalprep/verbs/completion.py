"""Print the completion of verbs, options and their values for a shell.

    evalprep completion bash > ~/.local/share/bash-completion/completions/evalprep
    evalprep completion zsh >> ~/.zshrc

The script holds every word, so that no Python starts while you type. Write it anew after an
upgrade.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from itertools import chain

SHELLS = ("bash", "zsh")
#: zsh reads the functions of bash once these are loaded.
_LIKE_BASH = "autoload -Uz compinit bashcompinit && compinit && bashcompinit\n"
_SCRIPT = """\
_evalprep() {{
    local cur="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}"
    local verb="${{COMP_WORDS[1]}}" offered="" option=""
    [ "$COMP_CWORD" = 1 ] && verb=help
    if [ "$cur" = "=" ]; then
        cur=""
    elif [ "$before" = "=" ]; then  # bash takes --option=value for three words
        before="${{COMP_WORDS[COMP_CWORD-2]}}"
    elif [ "${{cur#--*=}}" != "$cur" ]; then  # and zsh for one
        before="${{cur%%=*}}"
        option="$before="
        cur="${{cur#*=}}"
    fi
    case "$verb $before $cur" in
        "help "*) offered="{verbs}" ;;
{values}
{options}
{places}
    esac
    COMPREPLY=($(compgen -P "$option" -W "$offered" -- "$cur"))
}}
complete -o default -F _evalprep evalprep
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("shell", choices=SHELLS, help="the shell that reads the script")


def main(args: argparse.Namespace) -> int:
    """Print the script."""
    print(script(args.shell), end="")
    return 0


def script(shell: str) -> str:
    """Returns the completion script of a shell; file names stand where no word is known."""
    from evalprep.verbs.registry import VERBS, parser_of

    values: list[str] = []
    options: list[str] = []
    places: list[str] = []
    for verb in VERBS:
        actions = parser_of(verb)._actions  # noqa: SLF001 - argparse has no other list of them
        # A case for each option whose value is one of some words.
        for action in actions:
            if action.choices and action.option_strings:
                patterns = [f'"{verb} {name} "*' for name in action.option_strings]
                values.append(_case(" | ".join(patterns), action.choices))
        names = chain.from_iterable(action.option_strings for action in actions)
        named = [name for name in names if name.startswith("--")]
        options.append(_case(f'"{verb} "*" -"*', named))
        words = [action.choices for action in actions if not action.option_strings]
        places += [_case(f'"{verb} "*', choices) for choices in words if choices]
    text = _SCRIPT.format(
        verbs=" ".join([*VERBS, "help"]),
        values="\n".join(values),
        options="\n".join(options),
        places="\n".join(places),
    )
    return (_LIKE_BASH if shell == "zsh" else "") + text


def _case(pattern: str, words: Iterable[object]) -> str:
    """A line of the script: what is offered where the words so far match."""
    return f'        {pattern}) offered="{" ".join(map(str, words))}" ;;'
