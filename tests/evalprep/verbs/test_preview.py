"""Tokens of a prompt on the screen: all of a short one, both ends of a long one, everything on request."""

from evalprep.verbs.preview import _tokens


def test_only_long_prompts_lose_their_middle():
    short = [(number, "a") for number in range(5)]
    assert _tokens(short, whole=False).split() == [f"{number}:'a'" for number in range(5)]
    long = [(number, "a") for number in range(500)]
    cut = _tokens(long, whole=False)
    assert "more ..." in cut
    assert cut.split()[0] == "0:'a'"
    assert cut.split()[-1] == "499:'a'"
    assert len(_tokens(long, whole=True).split()) == 500
