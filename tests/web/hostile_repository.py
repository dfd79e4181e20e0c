"""Hostile texts through the tools that need more than a call: a repository, a document, a session, a conflict."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lithos.settings import AcademicSettings, LithosConfig, WorkshopSettings
from lithos.workshop.sandbox.bubblewrap import bubblewrap_works
from tests.support.workbench import change, make_project
from tests.web.hostile import CORPUS
from tests.web.hostile_tools import Store
from tests.web.memory import ANN, OPERATOR

# They run a program: a machine without user namespaces refuses them.
SANDBOXED = frozenset({"lithos_work_run", "lithos_work_check", "lithos_work_test"})
WORDS = "\n".join(CORPUS[::4])
TAG = "<img src=x onerror=window.hacked=1>"


def excused() -> frozenset[str]:
    return frozenset() if bubblewrap_works() else SANDBOXED


def with_projects(config: LithosConfig, folder: Path) -> LithosConfig:
    """A repository with hostile names, comments and commits, and a folder of documents."""
    code = f"class Hostile:\n    {WORDS!r}\n\n\ndef hacked_window():\n    # {TAG}\n    return {TAG!r}\n"
    project = make_project(folder / "project", {"hostile.py": code, f"{TAG}.py": "def tagged():\n    pass\n"})
    change(project, {"hostile.py": code + "\nMORE = 1\n"}, f"{TAG} window hacked\n\n{WORDS}")
    inbox = folder / "inbox"
    inbox.mkdir()
    for place, text in enumerate(CORPUS[::20]):
        (inbox / f"paper{place}.md").write_text(f"# {text}\n\nwindow hacked: {WORDS}\n", encoding="utf-8")
    return config.model_copy(
        update={
            "academic": AcademicSettings(inbox=inbox),
            "workshop": WorkshopSettings(enabled=True, projects={"project": project}),
        }
    )


def store_once(store: Store, folder: Path) -> None:
    _sources(store)
    _conflict(store)
    _sessions(store)
    _work(store)
    if store.put("lithos_code_add", OPERATOR, name="hostile", path=str(folder / "project")):
        for root in store.site.memory.lithos.code.roots():
            root.index.reconcile()


def _sources(store: Store) -> None:
    for place, text in enumerate(CORPUS[::20]):
        about = {"title": text, "authors": [text], "venue": text, "tags": [text]}
        store.put("lithos_ingest_source", source=f"paper{place}.md", **about)
    ends = {"source_id": store.site.ids["Retries"], "target_id": store.site.ids["Queues"]}
    for text in CORPUS[::20]:
        store.put("lithos_link_nodes", edge_type="similar_to", reason=text, **ends)


def _conflict(store: Store) -> None:
    for name in ("Redis", "Memcached"):
        store.put("lithos_store_entry", content=f"We use {name} for caching.", category="insight", title=TAG)
    store.site.memory.lithos.trust.follow()
    for row in store.site.call("lithos_graph_conflicts")["conflicts"]:
        answer = {"conflict_id": row["conflict_id"], "resolution": TAG, "winner": row["node_a"]}
        store.put("lithos_graph_conflict_resolve", **answer)


def _session(store: Store, name: str) -> dict[str, Any]:
    made = store.site.call("lithos_session_create", name=name)
    here = {"session_id": made.get("session_id") or made["session"]["id"]}
    store.site.call("lithos_session_activate", **here)
    return here


def _sessions(store: Store) -> None:
    here = _session(store, "promoting")
    entry = store.put("lithos_store_entry", content=TAG, category="decision", title=TAG)
    summary = {"directory_structure": WORDS, "tooling": {"linter": TAG}}
    store.put("lithos_store_checkpoint", role="librarian", summary=summary, context_usage=0.9)
    if entry:
        given = {"ids": [entry["id"]], "reason": TAG}
        store.put("lithos_session_promote", OPERATOR, evidence=[TAG], **given)
        store.put("lithos_session_demote", OPERATOR, **given)
        store.put("lithos_session_promote", OPERATOR, **given)
    store.put("lithos_session_complete", summary=TAG, **here)
    store.put("lithos_session_rollback", OPERATOR, reason=TAG, **here)


def _work(store: Store) -> None:
    put = store.put
    _session(store, "working")
    tree = put("lithos_worktree_open", ANN, project="project")
    put("lithos_work_write", path=f"{TAG}.txt", content=WORDS)
    put("lithos_work_edit", path="hostile.py", old_content="hacked_window", new_content="hacked_windows")
    put("lithos_tools_discover", category="linter", path="hostile.py")
    put("lithos_tools_choose", category="linter", language="python", tool="cat window.hacked=1")
    put("lithos_work_run", OPERATOR, argv=["echo", TAG], agent="ann")
    put("lithos_work_check", OPERATOR, paths=["hostile.py"], agent="ann")
    put("lithos_work_test", OPERATOR, agent="ann")
    put("lithos_work_commit", message=f"{TAG}\n\n{WORDS}")
    put("lithos_work_merge", OPERATOR, agent="ann")
    if tree:
        put("lithos_worktree_close", OPERATOR, worktree_id=tree.get("worktree_id") or tree["id"], force=True)
