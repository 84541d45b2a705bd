"""Honest programmes pass: what they import and do, what they take, return and raise."""

import sys

import pytest

from evalprep.coderunner import Limits, Programme, run
from evalprep.coderunner.inside.plain import Decoder, MalformedError
from tests.evalprep.coderunner.test_attacks import ROOMS, needs_a_room

LIMITS = Limits(cpu_seconds=5, memory_mb=1024, idle_seconds=5.0, clock_seconds=120.0)

#: Name -> code of a function `f`, and assertions about `c`, its stand-in.
HONEST = {
    "standard library": (
        """
import bisect, collections, copy, datetime, functools, hashlib, heapq, itertools, math, random, re, statistics, string
from typing import List
open("notes", "w").write("own folder")
print("output is nobody's business")
def f():
    return hashlib.md5(b"x").hexdigest()
""",
        "assert c().startswith('9dd4e461268c')",
    ),
    "numpy": (
        "import numpy as np\ndef f(x): return float(np.dot(x, x))",
        "assert c([3, 4]) == 25",
    ),
    "numpy, a float of its own": (
        "import numpy as np\ndef f(x): return np.mean(x)",
        "assert c([1, 2]) == 1.5",
    ),
    "a thread": (
        ("import threading\ndef f(x):\n    r = []\n    t = threading.Thread(target=r.append, args=(x,))\n"
        "    t.start()\n    t.join()\n    return r"),
        "assert c(1) == [1]",
    ),
    "a pool of threads": (
        ("from concurrent.futures import ThreadPoolExecutor\n"
        "def f(x):\n    with ThreadPoolExecutor(8) as pool:\n        return list(pool.map(abs, x))"),
        "assert c([-1, 2]) == [1, 2]",
    ),
    "a thread that works while the main one waits": (
        ("import threading\n"
        "def work():\n    for _ in range(10**7): pass\n"
        "def f():\n    t = threading.Thread(target=work)\n    t.start()\n    t.join()\n    return 1"),
        "assert c() == 1",
    ),
    "asyncio": (
        ("import asyncio\nasync def g(x):\n    await asyncio.sleep(0.01)\n    return await asyncio.to_thread(abs, x)\n"
        "def f(x): return asyncio.run(g(x))"),
        "assert c(-2) == 2",
    ),
    "exit at the end": ("def f(): return 1\nif f() == 1:\n    exit()", "assert c() == 1"),
    "quit at the end": ("def f(): return 1\nquit(0)", "assert c() == 1"),
    "sys.exit at the end": ("import sys\ndef f(): return 1\nsys.exit(0)", "assert c() == 1"),
    "pickling an own class": (
        ("import pickle\nclass Point:\n    def __init__(self, x): self.x = x\n"
        "def f(x): return pickle.loads(pickle.dumps(Point(x))).x"),
        "assert c(5) == 5",
    ),
    "a data class": (
        ("from __future__ import annotations\nfrom dataclasses import dataclass, asdict\n"
        "@dataclass\nclass P:\n    x: int\ndef f(x): return asdict(P(x))"),
        "assert c(5) == {'x': 5}",
    ),
    "a demonstration that reads input": (
        "def f(): return 1\nif __name__ == '__main__':\n    print(input())",
        "assert c() == 1",
    ),
    "recursion": ("def f(n): return n and 1 + f(n - 1)", "assert c(900) == 900"),
    "a cache between calls": (
        "from functools import lru_cache\n@lru_cache\ndef f(n): return n if n < 2 else f(n-1) + f(n-2)",
        "assert [c(n) for n in range(300)][-1] == c(299)",
    ),
    "temporary files": (
        ("import tempfile\ndef f(x):\n    with tempfile.NamedTemporaryFile('w+') as g:\n"
        "        g.write(x)\n        g.seek(0)\n        return g.read()"),
        "assert c('x') == 'x'",
    ),
    "no call": ("def f(): pass", "pass"),
    "a keyword": ("def f(x, *, y=2): return x * y", "assert c(3, y=5) == 15"),
    "an expected exception": (
        "class Own(ValueError): pass\ndef f(x):\n    raise Own('bad ' + x)",
        ("try:\n        c('x')\n    except ValueError as error:\n        assert str(error) == 'bad x'\n"
        "    else:\n        assert False"),
    ),
    "an exception that takes more than a text": (
        "def f(x): return x.decode()",
        "try:\n        c(b'\\xff')\n    except ValueError:\n        return\n    assert False",
    ),
    "work in place": ("def f(x): x.sort()", "x = [2, 1]\n    c(x)\n    assert x == [1, 2]"),
    "work in place on a shared row": (
        "def f(m): m[0][0] = 7",
        "m = [[0]] * 2\n    c(m)\n    assert m == [[7], [7]] and m[0] is m[1]",
    ),
    "work in place on all kinds": (
        "def f(a, b, d):\n    a.append(b)\n    b.add(4)\n    d['new'] = [a]",
        "a, b, d = [1], {3}, {}\n    c(a, b, d)\n    assert a == [1, {3, 4}] and a[1] is b and d['new'][0] is a",
    ),
}  # fmt: skip


#: Values that come back as they went, and how they are written.
SAME = [
    "None", "True", "0", "-1", "2**64", "-10**5000 + 7", "0.1", "float('inf')", "-0.0", "5e-324", "''", "'\\u00e9\\0'",
    "'\\ud800'", "'\\ud83d\\ude00'", "chr(0x1f600)", "b'\\xff\\0'", "[]", "()", "{}", "set()", "[1, [2, (3, {4: {5}})]]",
    "{(1, 'a'): None, 1.5: b'', None: ()}", "{1, 'a', (2, 3)}", "[[0] * 3] * 3", "'x' * 10**6", "list(range(10**5))",
]  # fmt: skip

#: What a programme returns, and what the test may compare it with.
RETURNED = [
    ("Counter('aab')", "{'a': 2, 'b': 1}"),
    ("defaultdict(int, {1: 2})", "{1: 2}"),
    ("OrderedDict(a=1)", "{'a': 1}"),
    ("Point(1, 2)", "(1, 2)"),
    ("Colour.RED", "1"),
    ("Flags.A | Flags.B", "3"),
    ("Word.HI", "'hi'"),
    ("[Colour.RED, {Point(1, 2): Word.HI}]", "[1, {(1, 2): 'hi'}]"),
]
NAMES = """
from collections import *
from enum import *
from typing import NamedTuple
class Point(NamedTuple):
    x: int
    y: int
class Colour(IntEnum):
    RED = 1
class Flags(IntFlag):
    A = 1
    B = 2
class Word(str, Enum):
    HI = "hi"
"""

#: What is no plain data: an expression, and the type that is named.
OTHER = [
    ("iter([])", "list_iterator"),
    ("(x for x in [1])", "generator"),
    ("range(3)", "range"),
    ("1j", "complex"),
    ("frozenset()", "frozenset"),
    ("bytearray(b'x')", "bytearray"),
    ("print", "builtin_function_or_method"),
    ("lambda: 1", "function"),
    ("object()", "object"),
    ("[1, {2: object()}]", "object"),
    ("{}.keys()", "dict_keys"),
    ("nested(300)", "value of more than 200 levels"),
    ("'x' * (17 << 20)", "value of more than 16 MB"),
]


@pytest.fixture(params=ROOMS, ids=[room.kind for room in ROOMS])
def room(request):
    return request.param


def programme(code, assertions, prompt=""):
    test = f"def check(c):\n    {assertions}\n"
    return Programme(code=code, entry_point="f", test=test, prompt=prompt)


@needs_a_room
@pytest.mark.parametrize("name", HONEST)
def test_an_honest_programme_passes(name, room):
    outcome = run(programme(*HONEST[name]), isolation=room, limits=LIMITS)
    assert outcome.status == "passed", outcome


@needs_a_room
def test_values_come_back_as_they_went(room):
    """In one run: the candidate sees the argument's own type, and the test gets it back unchanged."""
    code = "def f(x): return [x, type(x).__name__]"
    lines = [f"same(c, {text})" for text in SAME]
    test = (
        # The order of a set follows from its hashes and its history, and is no part of its value.
        "def text(x):\n    return sorted(map(repr, x)) if type(x) is set else repr(x)\n"
        "def same(c, x):\n    y, name = c(x)\n    assert y == x and text(y) == text(x), (x, y)\n"
        "    assert type(y) is type(x) and name == type(x).__name__\n"
        "def check(c):\n    import math, sys\n    sys.set_int_max_str_digits(0)\n"
        "    assert math.isnan(c(float('nan'))[0])\n    "
    ) + "\n    ".join(lines)
    outcome = run(Programme(code=code, entry_point="f", test=test), isolation=room, limits=LIMITS)
    assert outcome.status == "passed", outcome


@needs_a_room
def test_circular_values_keep_their_shape(room):
    code = "def f(x): return [x, x]"
    assertions = "x = []; x.append(x)\n    y, z = c(x)\n    assert y is z and y[0] is y"
    outcome = run(programme(code, assertions), isolation=room, limits=LIMITS)
    assert outcome.status == "passed", outcome


@needs_a_room
@pytest.mark.parametrize(("returned", "expected"), RETURNED)
def test_a_subclass_counts_as_its_base_class(returned, expected, room):
    code = f"{NAMES}\ndef f(): return {returned}"
    assertions = f"x = c()\n    assert x == {expected} and type(x) is type({expected})"
    outcome = run(programme(code, assertions), isolation=room, limits=LIMITS)
    assert outcome.status == "passed", outcome


@needs_a_room
@pytest.mark.parametrize(("returned", "name"), OTHER)
def test_other_values_fail_with_that_reason(returned, name, room):
    code = f"def nested(n):\n    x = []\n    for _ in range(n): x = [x]\n    return x\ndef f(): return {returned}"
    outcome = run(programme(code, "c()"), isolation=room, limits=LIMITS)
    assert outcome.status == "not plain", outcome
    assert outcome.detail == f"it returned a {name}, which is not plain data"


@needs_a_room
def test_helpers_of_the_prompt_are_the_data_sets_own(room):
    """A test may call a function of the prompt; the candidate's version of it does not count."""
    prompt = "def shift(s):\n    return s[1:] + s[:1]\n\ndef f(s):\n    pass\n"
    assertions = "for s in ('abc', 'x', 'hello'):\n        assert c(shift(s)) == s"
    honest = "def shift(s):\n    return s[1:] + s[:1]\ndef f(s):\n    return s[-1:] + s[:-1]"
    forged = "def shift(s):\n    return s\ndef f(s):\n    return s"
    assert run(programme(honest, assertions, prompt), isolation=room, limits=LIMITS).passed
    assert not run(programme(forged, assertions, prompt), isolation=room, limits=LIMITS).passed


@needs_a_room
def test_a_test_may_use_the_functions_own_name(room):
    assertions = "assert c(1) == f(1) == 2"
    code = "def f(x): return x + 1"
    assert run(programme(code, assertions, "def f(x): pass"), isolation=room, limits=LIMITS).passed


@needs_a_room
@pytest.mark.parametrize(
    ("test", "reason"),
    [
        ("def check(c):\n    c(len)", "an argument of the test is a builtin_function_or_method"),
        ("def check(c):", "IndentationError"),
        ("import no_such_module\ndef check(c): pass", "ModuleNotFoundError"),
        ("check = None", "TypeError"),
        ("", "KeyError"),
    ],
)
def test_a_test_that_cannot_be_run_gives_no_verdict(test, reason, room):
    programme = Programme(code="def f(x): return 1", entry_point="f", test=test)
    outcome = run(programme, isolation=room, limits=LIMITS)
    assert (outcome.status, outcome.passed) == ("given up", None)
    assert reason in outcome.detail


@needs_a_room
def test_many_calls_in_one_test(room):
    assertions = "for n in range(2000):\n        assert c(n) == n"
    outcome = run(programme("def f(x): return x", assertions), isolation=room, limits=LIMITS)
    assert outcome.status == "passed", outcome


@needs_a_room
def test_large_arguments_and_results(room):
    assertions = "x = ['x' * 1000] * 5000\n    assert c(x) == x"
    outcome = run(programme("def f(x): return x", assertions), isolation=room, limits=LIMITS)
    assert outcome.status == "passed", outcome


@pytest.mark.parametrize(
    "content", [b"l1:" * 201 + b"N", b"l1:" * 100_000 + b"N", b"t9:N", b"u1:l0:", b"s3:ab", b"x"]
)
def test_bytes_that_are_no_value_are_refused(content):
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(3000)  # as where programmes run
    try:
        with pytest.raises(MalformedError):
            Decoder(content).read()
    finally:
        sys.setrecursionlimit(before)
