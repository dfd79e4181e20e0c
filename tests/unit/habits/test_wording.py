"""A plan that leaves out what failed, or does what was missing, is no repetition; other words for one thing are one."""

from __future__ import annotations

import pytest

from lithos.habits.wording import wording


@pytest.mark.parametrize(
    ("plan", "failed", "undoes"),
    [
        ("use pathlib in place of os.path", "os.path.join with a path of the user", True),
        ("retry with backoff", "retrying failed requests without backoff", True),
        ("write a Dockerfile with a non-root user", "running containers as root", True),
        ("write a linter rule that forbids console.log", "console left in production code", True),
        ("fetch in useEffect and leave the dependency array out", "useEffect without a dependency array", False),
        ("retry three times without backoff", "retrying failed requests without backoff", False),
        ("do not look at the error of file close", "ignoring the error returned by close", False),
        ("run the containers as root", "running containers as root", False),
    ],
)
def test_what_undoes_a_failure(plan: str, failed: str, undoes: bool) -> None:
    assert wording(plan).undoes(wording(failed)) is undoes


@pytest.mark.parametrize(
    ("plan", "failed"),
    [
        ("def add(item, items=[])", "using a mutable default argument"),
        ("try: load() except: pass", "swallowing every exception"),
        ("go func() { send(message) }()", "a goroutine for each message"),
        ("if token == expected", "comparing secrets"),
        ("read the db config from env", "database configuration in the environment"),
    ],
)
def test_code_and_abbreviations_share_the_key_words_of_a_report(plan: str, failed: str) -> None:
    assert wording(plan).all & wording(failed).all
