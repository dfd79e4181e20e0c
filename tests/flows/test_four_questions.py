"""The four questions of the specification (5294–5370), one call each and no model; and the same without `.graph/`."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lithos.app import open_lithos
from lithos.settings import AcademicSettings, CodeRoot, CodeSettings, LithosConfig, StorageSettings
from tests.conftest import PATIENT
from tests.flows.test_history import Desk
from tests.support.code_repos import git, repository, write

JWT = '''"""Bearer tokens."""


def validate_token(token):
    """Validates a bearer token as RFC 7519 demands."""
    return token.split(".")
'''
FIXED = JWT.replace("    return", "    if not token:\n        raise ValueError('expired')\n    return")
AGAIN = FIXED.replace("'expired'", "'no algorithm'")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("four")
    shop = repository(folder / "shop", {"auth/jwt.py": JWT, "shop/cart.py": "def add(item):\n    return item\n"})
    for text, said in ((FIXED, "Fix token expiry bypass, closes #5"), (AGAIN, "Fix algorithm confusion, closes #9")):
        write(shop, {"auth/jwt.py": text})
        git(shop, "commit", "-qam", said)
    write(shop, {"auth/refresh.py": "def refresh(token):\n    return token\n"})
    git(shop, "add", "-A")
    git(shop, "commit", "-qm", "Add refresh tokens to auth")
    write(folder / "inbox", {"rfc7519.md": "# RFC 7519 JWT\n\nTokens carry claims; a validator checks their expiry.\n"})
    return folder


def opened(folder: Path) -> Desk:
    lithos = open_lithos(
        LithosConfig(
            storage=StorageSettings(data_dir=folder / "data"),
            code=CodeSettings(roots=(CodeRoot(name="shop", path=folder / "shop"),)),
            academic=AcademicSettings(inbox=folder / "inbox"),
            search=PATIENT,
        )
    )
    for root in lithos.code.roots():
        root.index.reconcile()
    return Desk(lithos)


@pytest.fixture(scope="module")
def desk(folder: Path) -> Iterator[Desk]:
    made = opened(folder)
    made("ingest_source", source="rfc7519.md")
    made(
        "store_entry", category="decision", content="JWT over sessions, because RFC 7519 tokens keep the API stateless."
    )
    yield made
    made.lithos.close()


def titles(rows: list[dict[str, Any]]) -> list[str]:
    return [each["title"] for each in rows]


def test_what_patterns_does_our_auth_code_implement(desk: Desk) -> None:
    found = desk("search_all", query="validate a bearer token", domains=["code"])["code"]
    best = next(each for each in found if each["title"] == "validate_token")
    assert titles(best["related"]["academic"]) == ["RFC 7519 JWT"]


def test_why_did_we_choose_jwt_over_sessions(desk: Desk) -> None:
    best = desk("get_decisions", query="Why did we choose JWT over sessions?")["results"][0]
    assert best["rationale"] == "because RFC 7519 tokens keep the API stateless"
    assert titles(best["sources"]) == ["RFC 7519 JWT"] and best["sources"][0]["edge"] == "based_on"


def test_what_changes_did_we_make_to_auth_code_last_week(desk: Desk) -> None:
    found = desk("search_history", query="auth tokens", since="7d", sources=["git"])["results"]
    added = next(each for each in found if each["title"] == "Add refresh tokens to auth")
    code = {(each["id"], each["edge"]) for each in desk("get_code_for_history", history_id=added["id"])["results"]}
    assert code == {("shop:auth/refresh.py", "created"), ("shop:auth/refresh.py#refresh", "created")}
    assert desk("search_history", query="auth tokens", until="2020-01-01", sources=["git"])["results"] == []


def test_have_we_had_issues_with_this_function_before(desk: Desk) -> None:
    found = desk("get_history_for_code", symbol_id="validate_token")
    bugs = [each for each in found["results"] if each["was_bug"]]
    assert [(each["title"], each["issues"]) for each in bugs] == [
        ("Fix algorithm confusion, closes #9", ["9"]),
        ("Fix token expiry bypass, closes #5", ["5"]),
    ]


def test_a_result_shows_at_most_three_related_of_each_domain(desk: Desk) -> None:
    for lesson in ("expiry", "algorithm", "audience", "issuer"):
        note = f"validate_token must look at the {lesson}."
        desk("store_summary", content=note, summary_type="pattern", code_references=["validate_token"])
    found = desk("search_all", query="validate a bearer token", domains=["code"])["code"]
    best = next(each for each in found if each["title"] == "validate_token")
    assert len(best["related"]["history"]) == 3


def test_the_same_answers_without_the_derived_graph(desk: Desk, folder: Path) -> None:
    """Last in this module: it closes what the others use."""

    def answers(asked: Desk) -> list[Any]:
        decision = asked("get_decisions", query="JWT over sessions")["results"][0]
        rfc = decision["sources"][0]["id"]
        return [
            decision["sources"],
            asked("get_history_for_code", symbol_id="validate_token"),
            asked("get_history_for_code", symbol_id="auth/jwt.py"),
            asked("get_academic_for", id="validate_token"),
            asked("get_code_for_academic", academic_id=rfc),
            asked("get_history_for_academic", academic_id=rfc),
            asked("get_edges", id=rfc),
        ]

    before = answers(desk)
    desk.lithos.close()
    shutil.rmtree(folder / "data/.graph")
    again = opened(folder)
    try:
        assert answers(again) == before
    finally:
        again.lithos.close()
