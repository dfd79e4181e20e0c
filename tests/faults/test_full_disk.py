"""A disk that is really full, as callers of tools see it: refused by name, nothing half done, all well afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lithos.app import Lithos, open_lithos
from lithos.settings import CodeRoot, CodeSettings, LithosConfig, StorageSettings
from lithos.tools.answers.errors import as_lithos_error
from lithos.tools.catalogue import catalogue
from tests.support.code_repos import SHOP, repository
from tests.support.small_disk import fill_the_disk, run_on_a_small_disk

CHANGES: list[tuple[str, dict[str, Any]]] = [
    ("lithos_write", {"title": "long", "content": "x" * 100_000, "agent": "ann"}),
    ("lithos_write", {"title": "short", "content": "later", "agent": "ann"}),
    ("lithos_task_create", {"title": "later", "description": "d" * 20_000, "agent": "ann"}),
    ("lithos_agent_register", {"id": "bob", "metadata": {"about": "y" * 30_000}}),
    ("mentisdb_append", {"thought_type": "Insight", "content": "c" * 30_000, "agent_id": "ann"}),
]


def outcome(lithos: Lithos, name: str, arguments: dict[str, Any]) -> str:
    """As a client is told it."""
    try:
        catalogue().call(lithos, name, arguments)
    except Exception as raised:
        error = as_lithos_error(raised, name)
        assert error.retryable and error.hint
        return error.code
    return "ok"


def use_a_full_disk() -> None:
    """Runs on the small disk."""
    lithos = open_lithos(LithosConfig(storage=StorageSettings(data_dir=Path("/mnt/data"))))
    call = catalogue().call
    call(lithos, "lithos_write", {"title": "before", "content": "kept", "agent": "ann"})
    call(lithos, "lithos_search", {"query": "kept"})
    fill_the_disk()
    assert [outcome(lithos, *change) for change in CHANGES] == ["storage_full"] * len(CHANGES)
    assert [note["title"] for note in call(lithos, "lithos_list", {})["items"]] == ["before"]
    assert [file.name for file in Path("/mnt/data/knowledge").rglob("*")] == ["before.md"]
    Path("/mnt/rest").unlink()
    assert [outcome(lithos, *change) for change in CHANGES] == ["ok"] * len(CHANGES)
    assert [hit["title"] for hit in call(lithos, "lithos_search", {"query": "later"})["results"]] == ["short"]
    lithos.close()


def ask_the_graph_on_a_full_disk(shop: Path) -> None:
    """Runs on the small disk; the repository is on another one."""
    roots = CodeSettings(roots=(CodeRoot(name="shop", path=shop),))
    lithos = open_lithos(LithosConfig(storage=StorageSettings(data_dir=Path("/mnt/data")), code=roots))
    for root in lithos.code.roots():
        root.index.reconcile()

    def history() -> tuple[list[str], str]:
        found = catalogue().call(lithos, "lithos_get_history_for_code", {"symbol_id": "Store.save", "limit": 200})
        return [each.get("title", each["content"]) for each in found["results"]], found.get("degraded_reason") or ""

    assert history() == (["first"], "")
    entry = {"content": "Saved again", "category": "insight", "code_references": ["Store.save"], "agent": "ann"}
    for _ in range(300):
        catalogue().call(lithos, "lithos_store_entry", entry)
    catalogue().call(lithos, "lithos_search", {"query": "kept"})  # makes the index of notes, which needs room
    fill_the_disk()  # before the edges of these entries are derived
    titles, reason = history()
    assert titles == ["first"] and "new edges are not derived: the disk" in reason
    edges = catalogue().call(lithos, "lithos_get_edges", {"id": "Store.save"})
    assert [each["edge"] for each in edges["edges"]] == ["created"]
    Path("/mnt/rest").unlink()
    titles, reason = history()
    assert (len(titles), reason) == (200, "")
    lithos.close()


def test_questions_to_the_graph_are_answered_on_a_full_disk(tmp_path: Path) -> None:
    shop = repository(tmp_path / "shop", SHOP)
    script = "from tests.faults.test_full_disk import ask_the_graph_on_a_full_disk as ask; from pathlib import Path; "
    run_on_a_small_disk(f"{script} ask(Path({str(shop)!r}))", megabytes=24)


def test_every_change_is_refused_by_name_reads_go_on_and_afterwards_all_is_well() -> None:
    run_on_a_small_disk("from tests.faults.test_full_disk import use_a_full_disk as use; use()", megabytes=24)
