"""The parts of a reply in IFBench's rules: words, tokens, sentences, paragraphs."""

from __future__ import annotations

import string
import unicodedata

MARKS = string.punctuation
_NO_MARKS = str.maketrans("", "", MARKS)


def without_marks(text: str) -> str:
    """The text without ASCII punctuation."""
    return text.translate(_NO_MARKS)


def bare_words(text: str) -> list[str]:
    """Returns what blanks part in the text without punctuation."""
    return without_marks(text).split()


def trimmed(text: str) -> str:
    """The text without punctuation and blanks at its edges."""
    return text.strip(MARKS + " ")


def sentences(text: str) -> list[str]:
    """Sentences as NLTK's punkt splits them."""
    import nltk

    return list(nltk.sent_tokenize(text))


def tokens(text: str) -> list[str]:
    """Words and marks as NLTK splits them."""
    import nltk

    # As `nltk.word_tokenize(text)`, but each sentence once: a model that repeats itself writes
    # thousands of equal ones.
    known: dict[str, list[str]] = {}
    words: list[str] = []
    for sentence in sentences(text):
        if sentence not in known:
            known[sentence] = nltk.word_tokenize(sentence, preserve_line=True)
        words += known[sentence]
    return words


def plain_letters(text: str) -> str:
    """The text in ASCII: letters without their accents, nothing for other signs."""
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")
