"""Options by the names that earlier releases gave them."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

#: Former option -> what it is written as today. `{}` stands for the value that the user gives.
FORMER = {
    "--task": "--tasks",  # written by everybody who names one
    "--output": "--out",
    "--output_path": "--out",  # of lm_eval
    "--flips": "--out",
    "--export": "--out",
    "--no_flips": "--no_write",
    "--no_check": "--check=off",
    "--rows": "--limit",
    "--max_samples": "--limit",
    "--max_instances": "--limit",
    "--stored": "--replies=rows",
    "--shard_rows": "--shard",
    "--table": "--scores",
    "--done": "--left",
    "--force_new": "--force",
    "--static": "--depth=static",
    "--full": "--depth=full",
    "--hard": "--depth=hard",
    "--filter": "--metric=@{}",
    "--format": "--input_format",
    "--strict_verdicts": "--input_format=strict_verdicts",
    "--last_event": "--input_format=last_event",
    "--pair_by": "--pairing",
    "--same_ids": "--pairing=same_ids",
    "--allow_partial": "--pairing=partial",
    "--strict": "--pairing=same_choices",
    "--tokenizer": "--set=model_args.tokenizer={}",
    "--max_model_len": "--set=max_model_len={}",
    "--add_bos_token": "--set=add_bos_token={}",
    "--apply_chat_template": "--set=apply_chat_template=true",
    "--num_concurrent": "--model_args=num_concurrent={}",
    "--max_retries": "--model_args=max_retries={}",
    "--timeout": "--model_args=timeout={}",
    "--api_key_env": "--key_from",
    "--api_key_file": "--key_from",
}


def by_todays_names(words: Iterable[str], known: Container[str]) -> Iterator[str]:
    """Yields the words of a command line with former options by today's names.

    Args:
        words: The words.
        known: Options of the verb; one of them keeps its name, whatever it meant in another verb.
    """
    rest = iter(words)
    for word in rest:
        if word == "--":
            yield word
            yield from rest
            return
        name, equals, value = with_underscores(word).partition("=")
        today = name if name in known else _name_today(name, known)
        if "{}" not in today:
            yield f"{today}{equals}{value}"
            continue
        value = value if equals else next(rest, "")
        option, _, _ = today.partition("=")
        yield today.replace("{}", value) if value else option


def _name_today(name: str, known: Container[str]) -> str:
    """The present spelling of a former option; its own where the verb lacks the present one."""
    today = FORMER.get(name, name)
    return today if today.partition("=")[0] in known else name


def with_underscores(word: str) -> str:
    """Returns an option with underscores between its words; its value and others as they are.

    >>> with_underscores("--no-write"), with_underscores("--out=a-b"), with_underscores("a-b")
    ('--no_write', '--out=a-b', 'a-b')
    """
    if not word.startswith("--") or word == "--":
        return word
    name, equals, value = word[2:].partition("=")
    return f"--{name.replace('-', '_')}{equals}{value}"
