"""A sentence is searched only for the mentions that it may hold: no sign may miss one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithos.graph.trust.claims import extraction

PROJECT = Path(__file__).parents[5]
SIGNS = [
    (sign, re.compile(pattern)) for sign, (_, pattern) in zip(extraction._SIGNS, extraction._MENTIONS, strict=True)
]
SAMPLES = [
    "`run(a, b)` returns None",
    "see ./src/a.py:12-14, ../lib and a/b/c; also setup.py, x-y.go:3",
    "call foo() or std::move() or a.b.c()",
    "std::vector, Foo::Bar, a.b, __init__, _private, snake_case, camelCase, CamelCase, HTTPServer, xY, X9aZ",
    "the class Foo, a function bar, method baz, module m1, named who, called what, imports re2",
    "foo class, bar  function, baz\tmethod, node struct, cached decorator",
    "Plain words begin with Capitals",
]


def missed(line: str) -> list[str]:
    return [found[0] for sign, pattern in SIGNS if (found := pattern.search(line)) and not sign.search(line)]


@pytest.mark.parametrize("line", SAMPLES)
def test_no_sign_misses_a_mention(line: str) -> None:
    assert not missed(line)


def test_no_sign_misses_a_mention_of_our_own_pages_and_sources() -> None:
    paths = [*(PROJECT / "docs").glob("*.md"), *(PROJECT / "src/lithos/graph").rglob("*.py")]
    lines = {line for path in paths for line in path.read_text(encoding="utf-8").splitlines()}
    assert len(lines) > 5_000 and not [line for line in lines if missed(line)]


@given(st.text(st.sampled_from("aZ9_é.:/`()- \tclass function"), max_size=40))
def test_no_sign_misses_a_mention_of_any_text(line: str) -> None:
    assert not missed(line)


def test_prose_without_a_mention_makes_no_claim() -> None:
    assert extraction.claims_in("the cart is pushed, and it never calls anything.") == []
