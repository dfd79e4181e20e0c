"""History through the tools: entries are written, resolved to code, and found again by those who may see them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lithos.app import Lithos, open_lithos
from lithos.errors import Forbidden, InvalidInput, LithosError, NotFound
from lithos.settings import CodeRoot, CodeSettings, LithosConfig, StorageSettings
from lithos.tools.caller import Caller
from lithos.tools.catalogue import catalogue
from tests.conftest import PATIENT
from tests.support.code_repos import SHOP, repository

ANN = Caller(agent="ann", toolsets=("all",))
BEN = Caller(agent="ben", toolsets=("all",))


class Desk:
    def __init__(self, lithos: Lithos) -> None:
        self.lithos = lithos

    def __call__(self, name: str, who: Caller = ANN, /, **arguments: Any) -> dict[str, Any]:
        return catalogue().call(self.lithos, f"lithos_{name}", arguments, who)

    def session(self, name: str, who: Caller = ANN) -> str:
        made = self("session_create", who, name=name)["session_id"]
        self("session_activate", who, session_id=made)
        return str(made)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    folder: Path = tmp_path_factory.mktemp("history")
    shop = repository(folder / "shop", SHOP)
    lithos = open_lithos(
        LithosConfig(
            storage=StorageSettings(data_dir=folder / "data"),
            code=CodeSettings(roots=(CodeRoot(name="shop", path=shop),)),
            search=PATIENT,
        )
    )
    for root in lithos.code.roots():
        root.index.reconcile()
    yield Desk(lithos)
    lithos.close()


def ids(answer: dict[str, Any]) -> list[str]:
    return [each["id"] for each in answer["results"]]


def test_a_summary_is_one_thought_with_the_code_that_it_names(desk: Desk) -> None:
    stored = desk(
        "store_summary",
        content="Cart.add checks each item before it is saved, which fixed the empty orders.",
        summary_type="bug_fix",
        code_references=["Cart.add", "shop/store.py:2", "Nothing.here"],
        files_modified=["shop/cart.py", "gone.py"],
        tags=["orders"],
        metadata={"task_id": "t1", "confidence": 0.9},
    )
    links = {(each["edge"], each["id"]) for each in stored["links"]}
    assert links == {
        ("modified", "shop:shop/cart.py"),
        ("modified", "shop:shop/cart.py#Cart.add"),  # in a modified file
        ("referenced", "shop:shop/store.py#Store.save"),
    }
    assert [each["reference"] for each in stored["unresolved"]] == ["gone.py", "Nothing.here"]
    thought = desk(
        "tool_call", name="mentisdb_get_thought", arguments={"chain_key": "history", "thought_id": stored["id"]}
    )
    assert thought["thought"]["thought_type"] == "TaskComplete"
    assert thought["thought"]["confidence"] == 0.9
    (found,) = [row for row in desk("search_history", query="empty orders")["results"] if row["id"] == stored["id"]]
    assert (found["category"], found["summary_type"], found["source"]) == ("timeline", "bug_fix", "thoughts")
    assert stored["id"] in ids(desk("search_history", query="empty orders", summary_type="bug_fix"))
    assert stored["id"] not in ids(desk("search_history", query="empty orders", summary_type="feature"))
    assert stored["id"] not in ids(
        desk("search_history", query="empty orders", summary_type="bug_fix", categories=["decision"])
    )


@pytest.mark.parametrize(
    ("category", "thought"),
    [
        ("decision", "Decision"),
        ("insight", "Insight"),
        ("pattern", "PatternDetected"),
        ("failure", "Mistake"),
        ("task_state", "StateSnapshot"),
        ("timeline", "ActionTaken"),
        ("user_voice", "PreferenceUpdate"),
        ("hypothesis", "Hypothesis"),
        ("open_thread", "Question"),
        ("general", "Summary"),
    ],
)
def test_each_category_has_its_thought_and_is_kept(desk: Desk, category: str, thought: str) -> None:
    stored = desk("store_entry", content=f"zebra crossing number {category}", category=category, title="Zebras")
    assert (stored["thought_type"], stored["category"]) == (thought, category)
    found = desk("search_history", query="zebra crossing", categories=[category], limit=50)
    assert {each["category"] for each in found["results"]} == {category}
    assert stored["id"] in ids(found)


def test_decisions_come_with_their_rationale(desk: Desk) -> None:
    desk("store_entry", content="We chose JWT over sessions because the API must stay stateless.", category="decision")
    best = desk("get_decisions", query="why JWT over sessions")["results"][0]
    assert best["rationale"] == "because the API must stay stateless"


def test_patterns_are_counted_by_name_and_by_meaning(desk: Desk) -> None:
    for text in ("Retry with exponential backoff and jitter", "Back off exponentially, with jitter, before a retry"):
        desk("record_pattern", category="Network", name="Backoff", pattern=text)
    desk("record_pattern", category="network", name="Once", pattern="Open sockets lazily")
    (group,) = desk("find_patterns", query="retry with backoff", category="network")["patterns"]
    assert (group["name"], group["occurrences"], group["category"]) == ("backoff", 2, "network")
    assert desk("find_patterns", query="retry with backoff", min_occurrences=3)["patterns"] == []


def test_failures_know_whether_and_how_they_were_resolved(desk: Desk) -> None:
    solved = desk("record_failure", approach="cache invoices by name", reason="names repeat", resolution="cache by id")
    open_one = desk("record_failure", approach="cache invoices for a day", reason="they change hourly")
    later = desk("record_failure", approach="cache invoices in a file", reason="two writers")
    desk(
        "tool_call",
        name="mentisdb_append",
        arguments={
            "chain_key": "history",
            "thought_type": "LessonLearned",
            "content": "lock the file of invoices",
            "refs": [later["index"]],
        },
    )
    rows = {each["id"]: each for each in desk("find_failures", query="cache invoices")["results"]}
    assert rows[solved["id"]]["resolution"] == "cache by id"
    assert rows[later["id"]]["resolution"] == "lock the file of invoices"
    assert not rows[open_one["id"]]["resolved"]
    assert open_one["id"] not in ids(desk("find_failures", query="cache invoices", resolved_only=True))


def test_findings_and_outcomes_of_the_board_are_history(desk: Desk) -> None:
    task = desk("task_create", title="Measure the walrus latency", agent="ann")["task_id"]
    desk("finding_post", task_id=task, agent="ann", summary="walrus latency doubles above 400 callers")
    kinds = {each["type"] for each in desk("search_history", query="walrus latency")["results"]}
    assert kinds == {"finding"}
    desk("task_complete", task_id=task, agent="ann")
    found = desk("search_history", query="walrus latency", sources=["board"])["results"]
    assert {each["type"] for each in found} == {"finding", "outcome"}
    assert desk("search_history", query="walrus latency", sources=["thoughts"])["results"] == []
    assert desk("search_history", query="walrus latency", until="2020-01-01")["results"] == []


def test_a_short_answer_is_the_beginning_of_a_long_one(desk: Desk) -> None:
    """Findings that score less than the last thought are not fetched; those between are."""
    task = desk("task_create", title="Rotate the lantern wicks", description="Weekly", agent="ann")["task_id"]
    about = "The lantern wick smokes when the oil is cold"
    for number, rest in enumerate(
        ("", " and wet", " and old, and nobody trims it", " in the cellar, the attic, the hall")
    ):
        desk("store_entry", content=f"{about}{rest}.", category="insight")
        desk("finding_post", task_id=task, agent="ann", summary=f"{about}{rest}, seen {'again ' * number}today.")
    long = desk("search_history", query="does the lantern wick smoke?", limit=20)["results"]
    sources = [row["source"] for row in long]
    assert {"thoughts", "board"} <= {*sources[:6]} and len(long) >= 8
    for limit in range(1, 8):
        assert desk("search_history", query="does the lantern wick smoke?", limit=limit)["results"] == long[:limit]


def test_a_session_keeps_its_entries_until_they_are_promoted(desk: Desk) -> None:
    session = desk.session("tapirs", BEN)
    stored = desk("store_entry", BEN, content="tapir decision: use two queues", category="decision")
    assert stored["session_id"] == session
    public = desk("store_entry", content="tapir decision of nobody's session: use one queue", category="decision")
    assert ids(desk("search_history", BEN, query="tapir decision", current_only=True)) == [stored["id"]]
    outside = ids(desk("search_history", query="tapir decision"))
    assert public["id"] in outside and stored["id"] not in outside
    assert stored["id"] in ids(desk("search_history", query="tapir decision", cross_session=True))
    assert public["id"] in ids(desk("search_history", query="tapir decision", cross_session=True))
    assert ids(desk("search_history", query="tapir decision", session_ids=[session])) == [stored["id"]]
    without = ids(desk("search_history", BEN, query="tapir decision", exclude_sessions=[session]))
    assert public["id"] in without and stored["id"] not in without
    assert ids(desk("search_history", BEN, query="tapir decision", session_id=session)) == [stored["id"]]
    with pytest.raises(Forbidden):
        desk("search_history", Caller(agent="eve", bound=True), query="tapir", session_id=session)
    assert desk("get_session_history", Caller(agent="eve", bound=True), session_id=session)["results"] == []
    assert ids(desk("get_session_history", BEN)) == [stored["id"]]
    assert desk("get_session_history", BEN, include="failures")["results"] == []
    desk("session_complete", BEN, session_id=session, summary="done")
    assert stored["id"] in ids(desk("search_history", query="tapir decision"))
    history = desk("get_session_history", session_id=session)
    assert (ids(history), history["complete"]) == ([stored["id"]], False)


@pytest.mark.parametrize("empty", ["", "  "])
def test_an_empty_session_is_the_current_one(desk: Desk, empty: str) -> None:
    session = desk.session("private")
    made = desk("store_entry", category="insight", content="Quokkas are private here.", session_id=empty)
    assert made["session_id"] == session
    assert made["id"] not in ids(desk("search_history", BEN, query="quokkas private"))


def test_from_within_a_session_no_entry_goes_to_a_session_that_is_not_there(desk: Desk) -> None:
    session = desk.session("private")
    wrong = session[:-1] + ("0" if session[-1] != "0" else "1")
    with pytest.raises(NotFound) as refused:
        desk("store_entry", category="insight", content="Wombats are private here.", session_id=wrong)
    assert session in refused.value.hint
    assert ids(desk("search_history", BEN, query="wombats private")) == []


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("search_history", {"query": "x", "since": "lately"}),
        ("search_history", {"query": "x", "since": "2999-01-01"}),
        ("search_history", {"query": "x", "until": "never"}),
        ("search_history", {"query": "x", "current_only": True, "cross_session": True}),
        ("store_summary", {"content": " ", "summary_type": "feature"}),
        ("store_entry", {"content": "x", "category": "gossip"}),
        ("record_file", {"path": "shop/cart.py", "operation": "deleted"}),
    ],
)
def test_bad_input_is_refused_and_writes_nothing(desk: Desk, tool: str, arguments: dict[str, Any]) -> None:
    before = desk.lithos.ledger.chain("history").size
    with pytest.raises(InvalidInput):
        desk(tool, **arguments)
    assert desk.lithos.ledger.chain("history").size == before


def test_a_credential_is_refused_and_a_retry_stores_once(desk: Desk) -> None:
    with pytest.raises(LithosError) as refused:
        desk("record_failure", approach="AKIA" + "IOSFODNN7EXAMPLQ", reason="in the log")
    assert refused.value.code == "secret_refused"
    asked = {"content": "once only", "category": "general", "idempotency_key": "k1"}
    assert desk("store_entry", **asked)["id"] == desk("store_entry", **asked)["id"]


def test_files_that_were_touched_are_recorded(desk: Desk) -> None:
    made = desk("record_file", path="shop/store.py", operation="created", summary="A store of its own")
    read = desk("record_file", path="shop/store.py", operation="read")
    for changes in (["a lock", "a test"], "a lock; a test"):
        desk("record_file", path="shop/store.py", operation="modified", summary="Locked", changes=changes)
    lines = [row["content"] for row in desk("search_history", query="Locked: a lock; a test", limit=2)["results"]]
    assert lines == ["Locked\nChanges: a lock; a test"] * 2
    assert [each["edge"] for each in made["links"]] == ["created"]
    assert [each["edge"] for each in read["links"]] == ["referenced"]
