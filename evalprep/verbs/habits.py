"""Options as people who know lm-eval type them."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

_OF_LM_EVAL = {
    "--task": "--tasks",
    "--output": "--out",
    "--output_path": "--out",
    "--apply_chat_template": "--set=apply_chat_template=true",
}


def in_our_words(words: Iterable[str], known: Container[str]) -> Iterator[str]:
    """Yields the words of a command line with underscores in options, and options by our names.

    Args:
        words: The words.
        known: Options of the verb; one of them keeps its name.
    """
    rest = iter(words)
    for word in rest:
        if word == "--":
            yield word
            yield from rest
            return
        name, equals, value = with_underscores(word).partition("=")
        own = _OF_LM_EVAL.get(name, name)
        if name in known or own.partition("=")[0] not in known:
            own = name
        yield f"{own}{equals}{value}"


def with_underscores(word: str) -> str:
    """Returns an option with underscores between its words; its value and others as they are.

    >>> with_underscores("--no-write"), with_underscores("--out=a-b"), with_underscores("a-b")
    ('--no_write', '--out=a-b', 'a-b')
    """
    if not word.startswith("--") or word == "--":
        return word
    name, equals, value = word[2:].partition("=")
    return f"--{name.replace('-', '_')}{equals}{value}"
