"""Edges between code, history and sources: asserted and derived, gone and back, forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lithos.errors import InvalidInput, NotFound
from lithos.settings import CodeRoot, CodeSettings, LithosConfig, StorageSettings
from lithos.tools.caller import Caller
from tests.conftest import PATIENT
from tests.flows.test_history import ANN, BEN, Desk
from tests.support.code_repos import SHOP, repository

OPERATOR = Caller(operator=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("graph")
    repository(folder / "shop", SHOP)
    return folder


def opened(folder: Path) -> Desk:
    from lithos.app import open_lithos

    lithos = open_lithos(
        LithosConfig(
            storage=StorageSettings(data_dir=folder / "data"),
            code=CodeSettings(roots=(CodeRoot(name="shop", path=folder / "shop"),)),
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


def edges(answer: dict[str, Any]) -> set[tuple[str, str, str]]:
    return {(each["direction"], each["edge"], each["other_id"]) for each in answer["edges"]}


def test_an_edge_is_asserted_once_and_shown_from_both_ends(desk: Desk) -> None:
    entry = desk("store_entry", content="Carts keep what was chosen.", category="insight")["id"]
    made = desk("link_nodes", source_id=entry, target_id="Cart.add", edge_type="referenced", reason="it is about it")
    assert (made["target_id"], made["changed"]) == ("shop:shop/cart.py#Cart.add", "created")
    again = desk("link_nodes", BEN, source_id=entry, target_id="Cart.add", edge_type="109", weight=0.5, reason="sure")
    assert again["changed"] == "updated"
    edge, made_by = desk("get_edges", id="Cart.add")["edges"]
    assert (made_by["edge"], made_by["how"], made_by["node"]["title"]) == ("created", "commit", "first")
    assert (edge["how"], edge["weight"], edge["agent"], edge["reason"]) == ("asserted", 0.5, "ben", "sure")
    assert edges(desk("get_edges", id=entry)) == {("out", "referenced", "shop:shop/cart.py#Cart.add")}
    events = desk("events_query", OPERATOR, type="graph")["rows"]
    assert [each["op"] for each in events][:2] == ["link", "link"]
    removed = {"source_id": entry, "target_id": "shop:shop/cart.py#Cart.add", "edge_type": "referenced"}
    assert desk("unlink_nodes", **removed)["changed"] == "removed"
    with pytest.raises(NotFound):
        desk("unlink_nodes", **removed)
    desk("link_nodes", source_id=entry, target_id="Cart.add", edge_type="referenced", reason="it is about it")
    named = desk("unlink_nodes", source_id=entry, target_id="Cart.add", edge_type="referenced")
    assert (named["target_id"], named["changed"]) == ("shop:shop/cart.py#Cart.add", "removed")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"edge_type": "implements_pattern"}, InvalidInput),  # from code to a source
        ({"edge_type": "loves"}, InvalidInput),
        ({"target_id": "Nothing.here"}, NotFound),
        ({"source_id": "00000000-0000-7000-8000-000000000000"}, NotFound),
        ({"reason": " "}, InvalidInput),
        ({"weight": 0}, InvalidInput),
    ],
)
def test_a_wrong_edge_is_refused(desk: Desk, arguments: dict[str, Any], error: type[Exception]) -> None:
    entry = desk("store_entry", content="Stores save.", category="insight")["id"]
    right = {"source_id": entry, "target_id": "Store.save", "edge_type": "referenced", "reason": "because"}
    before = desk.lithos.graph.asserted.count()
    with pytest.raises(error):
        desk("link_nodes", **{**right, **arguments})
    assert desk.lithos.graph.asserted.count() == before


def test_an_end_that_vanished_dangles_and_comes_back(desk: Desk, folder: Path) -> None:
    entry = desk("store_entry", content="The base has a total.", category="insight")["id"]
    desk("link_nodes", source_id=entry, target_id="Base.total", edge_type="referenced", reason="about it")
    path = folder / "shop/shop/cart.py"
    text = path.read_text()
    (root,) = desk.lithos.code.roots()
    path.write_text(text.replace("def total", "def sum_up"))
    root.index.reconcile()
    (edge,) = desk("get_edges", id=entry)["edges"]
    assert edge["dangling"] and edge["other_id"] == "shop:shop/cart.py#Base.total"
    path.write_text(text)
    root.index.reconcile()
    (edge,) = desk("get_edges", id=entry)["edges"]
    assert "dangling" not in edge and edge["node"]["title"] == "total"


def test_what_is_hidden_is_neither_shown_nor_called_dangling(desk: Desk) -> None:
    desk.session("hidden things", BEN)
    private = desk("store_entry", BEN, content="hidden plan", category="decision", code_references=["Store.save"])
    assert ("in", "referenced", private["id"]) in edges(desk("get_edges", BEN, id="Store.save"))
    assert private["id"] not in str(desk("get_edges", id="Store.save"))
    with pytest.raises(NotFound):
        desk("get_edges", id=private["id"])


def test_edges_are_derived_from_thoughts_and_the_board(desk: Desk) -> None:
    one = desk("record_pattern", category="tests", name="Fakes", pattern="Use fakes of equal rank")["id"]
    two = desk("record_pattern", category="tests", name="Fakes", pattern="Prefer a fake to a mock")["id"]
    assert ("out", "similar_to", one) in edges(desk("get_edges", id=two))
    session = desk.session("derived", ANN)
    first = desk("store_summary", content="first", summary_type="feature", files_modified=["shop/store.py"])
    second = desk("store_summary", content="second", summary_type="feature", code_references=["Store.save"])
    found = edges(desk("get_edges", id=first["id"]))
    assert ("out", "produced_by", f"session:{session}") in found
    assert ("out", "followed_by", second["id"]) in found
    assert ("out", "modified", "shop:shop/store.py") in found
    desk("session_complete", session_id=session, summary="done")
    replaced = desk(
        "tool_call",
        name="mentisdb_append",
        arguments={
            "chain_key": "history",
            "thought_type": "Correction",
            "content": "not a fake: a stub",
            "relations": [{"kind": "Corrects", "target": desk.lithos.ledger.chain("history").find_id(two)}],
        },
    )["thought"]["id"]
    assert ("out", "supersedes", two) in edges(desk("get_edges", id=replaced))
    task = desk("task_create", title="Count penguins", agent="ann")["task_id"]
    desk("task_complete", task_id=task, agent="ann")
    assert ("out", "resulted_in", f"outcome:{task}") in edges(desk("get_edges", id=f"task:{task}"))


def test_a_forgotten_thought_leaves_no_byte_in_the_graph(desk: Desk, folder: Path) -> None:
    secret = "https://example.org/quetzalcoatl"
    stored = desk("store_summary", content=f"see {secret}", summary_type="feature", code_references=["Store.save"])
    assert ("in", "referenced", stored["id"]) in edges(desk("get_edges", id="Store.save"))
    files = [*(folder / "data/.graph").glob("knowledge.db*")]
    assert any(b"quetzalcoatl" in each.read_bytes() for each in files)
    forget = {"chain_key": "history", "thought_id": stored["id"], "reason": "asked to"}
    desk("ledger_forget", OPERATOR, **forget)
    assert stored["id"] not in str(desk("get_edges", id="Store.save"))
    for each in (folder / "data/.graph").glob("knowledge.db*"):
        assert b"quetzalcoatl" not in each.read_bytes(), each.name


def test_without_its_files_the_graph_says_the_same(folder: Path, desk: Desk) -> None:
    """Last in this module: it closes what the others use."""
    import shutil

    entry = desk("store_entry", content="Saved things.", category="insight", code_references=["Store.save"])["id"]
    desk("link_nodes", source_id=entry, target_id="Cart", edge_type="referenced", reason="about it")
    asked = ["Store.save", "Cart", entry]
    before = [desk("get_edges", id=each) for each in asked]
    desk.lithos.close()
    shutil.rmtree(folder / "data/.graph")
    again = opened(folder)
    try:
        assert [again("get_edges", id=each) for each in asked] == before
    finally:
        again.lithos.close()
