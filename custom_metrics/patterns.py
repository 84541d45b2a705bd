"""Regular expressions that are composed of lists of words."""


def any_of(*words: str) -> str:
    r"""Returns a group that matches any of several alternatives, the first of them that fits.

    Args:
        words: Alternatives, each a regular expression without blanks; blanks separate them.

    >>> any_of("is are", r"equals? comes\s+to")
    '(?:is|are|equals?|comes\\s+to)'
    """
    return f"(?:{'|'.join(' '.join(words).split())})"
