"""Every list can be read to its end, and says when it is not complete."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lithos.app import Lithos
from lithos.errors import InvalidInput
from lithos.settings import LithosConfig
from lithos.tools.catalogue import catalogue
from tests.conftest import CallTool
from tests.support.skill_text import SKILL

# A ranking ends where nothing is near; a walk or a context is made to fit, and is narrowed instead of continued.
NO_LISTS = {
    "lithos_find_similar_symbols": "a ranking",
    "lithos_tool_find": "a ranking",
    "lithos_note_graph": "one picture of the most linked notes; narrowed by path_prefix and tags",
    "lithos_inbox_take": "a queue; what is left is counted in `waiting`",
    "lithos_topic_follow": "`since` is its cursor",
    "mentisdb_memory_markdown": "a text made to fit",
    "mentisdb_recent_context": "a text made to fit",
    "lithos_ledger_context": "a walk",
    "lithos_get_dependencies": "a walk",
    "lithos_get_dependents": "a walk",
    "lithos_detect_patterns": "a summary",
    "lithos_lint_tokens": "a report of the first findings, counted whole",
    "lithos_validate": "a report, counted whole in `counts`",
    "lithos_read": "one note; truncated by max_length",
    "lithos_get_file": "one file; read on by start_line",
    "lithos_read_file": "one file; read on by start_line",
    "lithos_work_read": "one file; read on by start_line",
    "lithos_work_run": "output kept head and tail",
    "lithos_work_result": "output kept head and tail",
    "lithos_work_diff": "one diff, cut and counted",
    "lithos_work_check": "findings, counted whole",
    "lithos_work_test": "failures, counted whole",
    "lithos_preview_edit": "one diff; make a smaller edit",
}


def test_every_tool_that_cuts_a_list_takes_a_cursor() -> None:
    for tool in catalogue():
        inputs, outputs = set(tool.input_schema["properties"]), set(tool.output_schema.get("properties", ()))
        cuts = "limit" in inputs or "truncated" in outputs
        assert not cuts or "cursor" in inputs or tool.name in NO_LISTS, tool.name


def pages(call: CallTool, tool: str, **arguments: Any) -> list[dict[str, Any]]:
    read = [call(tool, **arguments)]
    while "next_cursor" in read[-1]:
        assert len(read) < 50
        read.append(call(tool, **arguments, cursor=read[-1]["next_cursor"]))
    return read


@pytest.fixture
def vault(config: LithosConfig) -> Path:
    folder = config.storage.data_dir / "knowledge"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def test_all_links_of_a_hub_are_read(lithos: Lithos, vault: Path, call: CallTool) -> None:
    names = [f"n{number:04}" for number in range(1_203)]
    (vault / "hub.md").write_text("# Hub\n\n" + " ".join(f"[[{name}]]" for name in names[:700]))
    for name in names:
        (vault / f"{name}.md").write_text(f"# {name}\n\n[[hub]]\n")
    lithos.notes.reindex()
    first = call("lithos_links", id="hub.md")
    assert (len(first["outgoing"]), len(first["incoming"]), first["total"]) == (700, 1_000, 1_903)
    assert first["truncated"] and not first["degraded"]
    for limit in (1_000, 97):
        read = pages(call, "lithos_links", id="hub.md", limit=limit)
        outgoing = [each["path"] for page in read for each in page["outgoing"]]
        incoming = [each["path"] for page in read for each in page["incoming"]]
        assert outgoing == [f"{name}.md" for name in names[:700]]
        assert incoming == [f"{name}.md" for name in names]
        assert all(len(page["incoming"]) <= limit for page in read) and "truncated" not in read[-1]


def test_a_page_goes_on_behind_the_last_place_when_notes_come_and_go(
    lithos: Lithos, vault: Path, call: CallTool
) -> None:
    for number in range(9):
        (vault / f"n{number}.md").write_text("# N\n\n[[hub]]\n")
    (vault / "hub.md").write_text("# Hub\n\ntext\n")
    lithos.notes.reindex()
    first = call("lithos_links", id="hub.md", limit=4)
    (vault / "n1.md").unlink()
    (vault / "a-new.md").write_text("# New\n\n[[hub]]\n")
    lithos.notes.reindex()
    second = call("lithos_links", id="hub.md", limit=4, cursor=first["next_cursor"])
    assert [each["path"] for each in second["incoming"]] == [f"n{number}.md" for number in range(4, 8)]


@pytest.mark.parametrize("limit", [1, 3, 50])
def test_lists_of_notes_tags_and_agents_are_read_to_the_end(call: CallTool, limit: int) -> None:
    for number in range(7):
        call("lithos_write", title=f"N{number}", content="x", tags=["all", f"t{number}"], agent=f"a{number}")
    notes = [each["path"] for page in pages(call, "lithos_list", limit=limit) for each in page["items"]]
    assert len(notes) == 7 and len(set(notes)) == 7
    tags = [tag for page in pages(call, "lithos_tags", limit=limit) for tag in page["tags"]]
    assert tags == ["all", *(f"t{number}" for number in range(7))]
    agents = [each["id"] for page in pages(call, "lithos_agent_list", limit=limit) for each in page["agents"]]
    assert sorted(agents) == sorted({*agents}) and len(agents) == 7


@pytest.mark.parametrize("limit", [1, 2, 50])
def test_histories_and_conflicts_are_read_to_the_end(call: CallTool, limit: int) -> None:
    note = call("lithos_write", title="N", content="0", agent="ann")
    for number in range(1, 5):
        call("lithos_write", id=note["id"], content=str(number), agent="ann")
    versions = [
        each for page in pages(call, "lithos_note_history", id=note["id"], limit=limit) for each in page["versions"]
    ]
    assert [each["op"] for each in versions] == ["update"] * 4 + ["create"]
    for number in range(3):
        for twice in range(2):
            call("lithos_write", title=f"C{number} {twice}", content=f"{number}", claim_id=f"c{number}", agent="ann")
    disputed = [each["about"] for page in pages(call, "lithos_conflicts", limit=limit) for each in page["conflicts"]]
    assert {"c0", "c1", "c2"} <= set(disputed) and len(disputed) == len(set(disputed))


@pytest.mark.parametrize("tool", ["lithos_list", "lithos_tags", "lithos_agent_list", "lithos_conflicts"])
def test_a_cursor_that_is_none_is_refused(call: CallTool, tool: str) -> None:
    assert call(tool, cursor="")
    for cursor in ("x", "1", "W10", "WzEsMl0", "💥", "A" * 3_000):
        with pytest.raises(InvalidInput, match="cursor") as refused:
            call(tool, cursor=cursor)
        assert "next_cursor" in refused.value.hint, cursor


def test_a_cursor_of_another_list_is_refused(call: CallTool) -> None:
    for number in range(3):
        call("lithos_write", title=f"N{number}", content="x", tags=["a"], agent="ann")
    cursor = call("lithos_list", limit=1)["next_cursor"]
    with pytest.raises(InvalidInput, match="other arguments"):
        call("lithos_list", limit=1, tags=["a"], cursor=cursor)


def test_links_and_search_say_that_they_are_incomplete_until_they_are_not(
    lithos: Lithos, vault: Path, call: CallTool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asked from inside the first scan: before files are read, while they are, and while links are resolved."""
    for number in range(300):
        (vault / f"n{number:03}.md").write_text(f"# N{number}\n\nrain [[n000|zeppelin]]\n")
    seen: list[tuple[bool, bool, str]] = []
    index, settle = lithos.notes.index, lithos.notes.catalogue.settle
    advance = index._advance

    def look() -> None:
        monkeypatch.setattr(lithos.notes, "ensure_scanned", lambda: None)  # the scan that it would wait for is ours
        links = call("lithos_links", id="n000.md") if seen else {"degraded": True, "degraded_reason": ""}
        search = call("lithos_search", query="zeppelin")
        seen.append((links["degraded"], search["degraded"], search.get("degraded_reason", "")))

    def advancing(count: int) -> None:
        advance(count)
        look()

    def settling() -> list[str]:
        look()
        called = settle()
        look()
        return called

    monkeypatch.setattr(index, "_advance", advancing)
    monkeypatch.setattr(lithos.notes.catalogue, "settle", settling)
    assert replace(index.progress).behind == "the files were not looked at yet"
    lithos.notes.reindex()
    assert len(seen) >= 4 and all(links and search for links, search, _ in seen[:-2])
    assert any("not read yet" in reason for *_, reason in seen) and any("links" in reason for *_, reason in seen)
    links, search = call("lithos_links", id="n000.md"), call("lithos_search", query="zeppelin")
    assert (links["degraded"], search["degraded"], len(links["incoming"])) == (False, False, 299)


@pytest.mark.parametrize(
    ("tool", "rows", "question"),
    [
        ("lithos_search", "results", {"query": "retry limits"}),
        ("lithos_semantic", "results", {"query": "retry limits", "threshold": 0}),
        ("lithos_recall", "results", {"query": "retry limits"}),
        ("mentisdb_search", "thoughts", {"text": "retry limits"}),
        ("mentisdb_search", "thoughts", {"tags_any": ["limits"]}),
        ("mentisdb_search_skill", "skills", {"text": "retry"}),
    ],
)
def test_a_ranking_is_read_to_its_end_without_repeats(
    call: CallTool, tool: str, rows: str, question: dict[str, Any]
) -> None:
    """Also when something that ranks first is written between two pages: it comes, and nothing else moves."""
    for number in range(13):
        text = f"The retry limits of service number {number}."
        call("lithos_write", title=f"Limits {number}", content=text, agent="ann")
        call("mentisdb_append", thought_type="Idea", content=text, tags=["limits"], agent_id="ann")
        content = SKILL.replace("Safe Deploys", f"Retry {number}")
        call("mentisdb_upload_skill", agent_id="ann", content=content, skill_id=f"s{number}")
    key = {"skills": "skill_id"}.get(rows, "id")
    first = call(tool, **question, limit=4)
    call("lithos_write", title="Retry limits", content="retry limits, retry limits", agent="ann")
    read = [first]
    while "next_cursor" in read[-1]:
        assert len(read[-1][rows]) == 4 and len(read) < 20
        read.append(call(tool, **question, limit=4, cursor=read[-1]["next_cursor"]))
    ids = [each[key] for page in read for each in page[rows]]
    least = 26 if tool == "lithos_recall" else 13
    assert len(set(ids)) == len(ids) >= least
    with pytest.raises(InvalidInput, match="other arguments"):
        call(
            tool,
            **{**question, next(iter(question)): "other" if "tags_any" not in question else ["x"]},
            cursor=first["next_cursor"],
        )
    for wrong in ("x", "!!", "A" * 3_999):
        with pytest.raises(InvalidInput, match="cursor"):
            call(tool, **question, cursor=wrong)
