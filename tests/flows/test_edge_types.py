"""Every edge type is derived from something, the right way round; without `.graph/` the answers are the same."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lithos.app import open_lithos
from lithos.core.call import Call
from lithos.graph.model import EDGE_RULES, KnowledgeEdge
from lithos.settings import AcademicSettings, CodeRoot, CodeSettings, LithosConfig, StorageSettings
from lithos.tools.caller import Caller
from tests.conftest import PATIENT
from tests.flows.test_history import Desk
from tests.support.code_repos import git, repository, write

OPERATOR = Caller(operator=True)
CALL = Call("test", agent="ann")
CHECK = '''import httpx


def check(token):
    """Validates a token as RFC 7519 demands."""
    return httpx.get(token)


def old(token):
    return token
'''
METADATA = "Metadata-Version: 2.1\nName: HTTPX\nVersion: 0.28.0\nSummary: A client.\n\nHTTPX is a client."
CLOCKS = "Time, Clocks, and the Ordering of Events"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("edges")
    auth = repository(folder / "auth", {"auth/jwt.py": CHECK, ".gitignore": ".venv\n"})
    site = folder / "auth/.venv/lib/python3.11/site-packages/httpx-0.28.0.dist-info"
    write(site, {"METADATA": METADATA, "top_level.txt": "httpx\n"})
    write(auth, {"auth/jwt.py": CHECK.partition("\n\ndef old")[0].replace("get(token)", "post(token)")})
    git(auth, "commit", "-qam", "Fix the check, closes #4")
    return folder


def opened(folder: Path) -> Desk:
    lithos = open_lithos(
        LithosConfig(
            storage=StorageSettings(data_dir=folder / "data"),
            code=CodeSettings(roots=(CodeRoot(name="auth", path=folder / "auth"),)),
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
    yield made
    made.lithos.close()


@pytest.fixture(scope="module")
def ids(desk: Desk, folder: Path) -> dict[str, str]:
    """Names of the nodes → their ids."""
    session = desk.session("edges")
    entries = {
        "decision": desk("store_entry", category="decision", content="Tokens, because RFC 7519 needs no store."),
        "insight": desk("store_entry", category="insight", content="See RFC 7519.", code_references=["check"]),
        "checked": desk("store_entry", category="insight", content="Confirmed by RFC 7519."),
        "pattern": desk("record_pattern", category="tests", name="Fakes", pattern="Fakes of equal rank"),
        "again": desk("record_pattern", category="tests", name="Fakes", pattern="No mocks of our code"),
        "made": desk("record_file", path="auth/jwt.py", operation="created", summary="the check"),
        "changed": desk("record_file", path="auth/jwt.py", operation="modified", summary="the check again"),
    }
    task = desk("task_create", title="Check tokens", agent="ann")["task_id"]
    desk("task_complete", task_id=task, agent="ann")
    commit = desk("search_history", query="fix the check", sources=["git"])["results"][0]["id"]
    named = {name: each["id"] for name, each in entries.items()}
    write(
        folder / "inbox",
        {
            "rfc7519.md": "# RFC 7519: JSON Web Token\n\nTokens expire.\n",
            "clocks.md": f"# {CLOCKS}\n\nEvents are ordered. First told in {named['insight']}.\n",
            "plain.md": "# Plain words\n\nSee auth/jwt.py and call auth.jwt.check(token). Neither check nor old/new.\n",
            "guide.md": "# Guide\n\n`auth.jwt.check` does it, see [[rfc-7519-json-web-token]].\n\n"
            f"{'Filler. ' * 4000}\n\n## References\n\nLamport, L. {CLOCKS}. CACM 21.\n",
        },
    )
    for name in ("rfc7519.md", "clocks.md", "guide.md", "plain.md", "library:httpx"):
        found = desk("ingest_source", source=name)["sources"][0]
        named[name.partition(".")[0]] = found["id"]
    (folder / "inbox/clocks.md").write_text(f"# {CLOCKS}\n\nEvents are ordered partially. See {named['insight']}.\n")
    named["newer"] = desk("ingest_source", source="clocks.md")["sources"][0]["id"]
    return {**named, "session": f"session:{session}", "task": f"task:{task}", "commit": commit}


def edges_of(desk: Desk, id: str) -> set[tuple[str, str, str]]:
    found = desk("get_edges", id=id, limit=500)["edges"]
    assert all(each["how"] and each["how"] != "asserted" for each in found)
    return {
        (id, each["edge"], each["other_id"]) if each["direction"] == "out" else (each["other_id"], each["edge"], id)
        for each in found
    }


def test_every_edge_type_is_filled_and_points_the_right_way(desk: Desk, ids: dict[str, str]) -> None:
    code = ["auth:auth/jwt.py", "auth:auth/jwt.py#check", "auth:auth/jwt.py#old"]
    found = {edge for id in (*ids.values(), *code) for edge in edges_of(desk, id)}
    check, file, rfc = code[1], code[0], ids["rfc7519"]
    commit = ids["commit"]
    wanted = {
        (ids["decision"], "produced_by", ids["session"]),
        (ids["task"], "resulted_in", ids["task"].replace("task:", "outcome:")),
        (ids["again"], "similar_to", ids["pattern"]),
        (ids["decision"], "followed_by", ids["insight"]),
        (ids["newer"], "supersedes", ids["clocks"]),
        (commit, "modified", check),
        (ids["changed"], "modified", file),
        (ids["made"], "created", file),
        (commit, "deleted", code[2]),
        (ids["decision"], "based_on", rfc),
        (ids["insight"], "references", rfc),
        (ids["checked"], "validated_by", rfc),
        (ids["guide"], "documents", check),
        (ids["plain"], "documents", check),
        (ids["plain"], "documents", file),
        (file, "uses_library", ids["library:httpx"]),
        (check, "implements_pattern", rfc),
        (ids["insight"], "referenced", check),
        (ids["newer"], "inspired_by", ids["insight"]),
        (ids["guide"], "cites", ids["newer"]),
        (ids["guide"], "related_to", rfc),
    }
    assert wanted <= found, wanted - found
    filled = {kind for _, kind, _ in found}
    for kind in KnowledgeEdge:
        assert kind.name.lower() in filled or EDGE_RULES[kind].derived_from == "asserted only", kind
    for source, kind, target in found:
        ends = tuple(desk.lithos.graph.nodes.find(CALL, each).shown["domain"] for each in (source, target))
        assert ends in PAIRS[kind], (source, kind, target)


PAIRS: dict[str, set[tuple[str, str]]] = {
    **{key: {("history", "history")} for key in ("produced_by", "resulted_in", "similar_to", "followed_by")},
    **{key: {("history", "code")} for key in ("modified", "created", "deleted", "referenced")},
    **{key: {("history", "academic")} for key in ("based_on", "references", "validated_by")},
    **{key: {("code", "academic")} for key in ("uses_library", "implements_pattern")},
    **{key: {("academic", "academic")} for key in ("cites", "related_to")},
    "supersedes": {("history", "history"), ("academic", "academic")},
    "documents": {("academic", "code")},
    "inspired_by": {("academic", "history")},
}


def test_what_names_a_source_is_joined_to_its_newest_version_alone(
    desk: Desk, ids: dict[str, str], folder: Path
) -> None:
    write(folder / "inbox", {"rfc9110.md": "# RFC 9110: HTTP Semantics\n\nMethods are safe.\n"})
    old = desk("ingest_source", source="rfc9110.md")["sources"][0]["id"]
    decision = desk("store_entry", category="decision", content="GET alone, because RFC 9110 says so.")["id"]
    write(folder / "inbox", {"rfc9110.md": "# RFC 9110: HTTP Semantics\n\nMethods are safe, or not.\n"})
    new = desk("ingest_source", source="rfc9110.md")["sources"][0]["id"]
    assert [each["id"] for each in desk("get_academic_for", id=decision)["results"]] == [new]
    assert desk("get_history_for_academic", academic_id=old)["results"] == []
    assert (new, "supersedes", old) in edges_of(desk, old)


def test_a_deleted_source_and_a_forgotten_thought_leave_no_byte(desk: Desk, ids: dict[str, str], folder: Path) -> None:
    write(folder / "inbox", {"secret.md": "# Zyzzyva talks\n\nOf `auth.jwt.check`; https://zyzzyva.example/page.\n"})
    note = desk("ingest_source", source="secret.md")["sources"][0]
    content = "As https://zyzzyva.example/page shows, because zyzzyva weevils agree."
    thought = desk("store_entry", category="decision", content=content, code_references=["check"])["id"]
    desk("link_nodes", source_id=thought, target_id=note["id"], edge_type="based_on", reason="it is about it")
    for tool, arguments in (
        ("search_all", {"query": "zyzzyva weevils"}),
        ("get_edges", {"id": note["id"]}),
        ("get_decisions", {"query": "zyzzyva weevils agree"}),
        ("ask", {"query": "why do zyzzyva weevils agree?"}),
    ):
        desk(tool, **arguments)
    graph = folder / "data/.graph"
    assert any(b"zyzzyva" in each.read_bytes().lower() for each in graph.rglob("*") if each.is_file())
    desk("delete", id=note["id"], agent="ann")
    desk("ledger_forget", OPERATOR, chain_key="history", thought_id=thought, reason="asked to")
    assert "yzzyva" not in str(desk("search_all", query="check a token"))
    for each in graph.rglob("*"):
        assert not each.is_file() or b"zyzzyva" not in each.read_bytes().lower(), each


def test_without_the_derived_graph_every_answer_is_the_same(desk: Desk, ids: dict[str, str], folder: Path) -> None:
    """Last in this module: it closes what the others use."""

    def answers(asked: Desk) -> list[Any]:
        academic = [ids[name] for name in ("rfc7519", "newer", "guide", "library:httpx")]
        history = [ids[name] for name in ("decision", "insight", "checked", "made", "changed", "commit")]
        found: list[Any] = [asked("get_edges", id=each, limit=500) for each in ids.values()]
        found += [asked("get_code_for_academic", academic_id=each) for each in academic]
        found += [asked("get_history_for_academic", academic_id=each) for each in academic]
        found += [asked("get_academic_for", id=each) for each in (*academic, *history, "check", "auth/jwt.py")]
        found += [asked("get_code_for_history", history_id=each) for each in history]
        found += [asked("get_history_for_code", symbol_id=each) for each in ("check", "auth:auth/jwt.py#old")]
        # Scores of what is in an index and of what waits for it differ a little, so places do not count here.
        everything = asked("search_all", query="check a token", limit_per_domain=20)
        found += [{row["id"]: row["related"] for row in everything[each]} for each in ("code", "history", "academic")]
        found.append({row["id"] for row in asked("search_history", query="the check")["results"]})
        return found

    before = answers(desk)
    desk.lithos.close()
    shutil.rmtree(folder / "data/.graph")
    again = opened(folder)
    try:
        for one, other in zip(answers(again), before, strict=True):
            assert one == other
    finally:
        again.lithos.close()
