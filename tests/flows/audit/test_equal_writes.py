"""What is searchable, and updates that change nothing: points 13 and 14 of issue 15."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lithos.app import Lithos
from lithos.core.clock import FakeClock
from tests.conftest import CallTool
from tests.flows.audit.conftest import Save

SIGNS = (
    "©️",
    "®️",
    "‼️",
    "〰️",
    "#️⃣",
    "3️⃣",
    "™",
    "©",
    "®",
    "™️",
    "∑",
    "→",
    "≠",
    "€",
    "£",
    "°",
    "½",
    "§",
    "•",
    "♠",
    "⚡",
    "∞",
    "…",
)


def test_a_sign_is_searchable(call: CallTool) -> None:
    call("lithos_write", agent="a", title="Plain", content="nothing of the kind 🐢, tm, c, 3")
    written: dict[str, set[str]] = {}
    for number, sign in enumerate(SIGNS):
        note = call("lithos_write", agent="a", title=f"Signs {chr(97 + number)}", content=f"We saw {sign} today")
        glued = call("lithos_write", agent="a", title=f"Glued {chr(97 + number)}", content=f"Lithos{sign}")
        written.setdefault(sign.rstrip("\ufe0f"), set()).update((note["id"], glued["id"]))
    for sign in SIGNS:
        found = {each["id"] for each in call("lithos_search", query=sign)["results"]}
        assert found == written[sign.rstrip("\ufe0f")], sign


@pytest.mark.parametrize("form", ["[{}]", "\n  - {}", "{}", "\n  - other\n  - {}"])
def test_provenance_in_any_form_is_searchable(call: CallTool, lithos: Lithos, save: Save, form: str) -> None:
    save("p.md", f"---\ntitle: P\nprovenance: {form.format('file:lib/zebra_module.py#L3')}\n---\ntext\n")
    lithos.notes.reindex()
    for word in ("zebra_module", "lib/zebra_module.py"):
        assert [each["path"] for each in call("lithos_search", query=word)["results"]] == ["p.md"]


@pytest.mark.parametrize(
    "front",
    [
        "title: [x\nsecret\n===\n",
        "\ntitle: [x\nsecret: 1\n",
        "title: [x\n# secret\n",
        "title: [x\n\nsecret\n---x\n",
        "a: [\n## secret\n\n## secret\n",
    ],
)
def test_broken_frontmatter_is_no_heading(call: CallTool, lithos: Lithos, save: Save, front: str) -> None:
    for number, body in enumerate(("Quokka text here.", "- quokka", "> quokka", "```\nquokka\n```", "1. quokka")):
        save(f"b{number}.md", f"---\n{front}---\n\n{body}\n")
    lithos.notes.reindex()
    for word in ("quokka", "secret"):
        for tool in ("lithos_search", "lithos_recall"):
            for hit in call(tool, query=word)["results"]:
                assert "secret" not in hit["heading"] and "title" not in hit["heading"], hit


WHOLE = {"title": "T", "content": "text", "tags": ["x"], "confidence": 1.0}


@pytest.mark.parametrize(
    ("made", "given"),
    [
        ({}, {"content": "", "append": True}),
        ({}, {"content": "\n\n", "append": True}),
        ({}, {"status": "active"}),
        ({}, {"ttl_policy": "persistent"}),
        ({}, {"confidence": 1}),
        ({}, {"title": " T "}),
        ({}, {"tags": ["#x", "x"]}),
        ({}, {"content": "# T\n\ntext"}),
        ({}, {"content": "text\n"}),
        ({}, {"content": "text\n\n"}),
        ({}, {"content": "\ntext"}),
        ({}, {"content": "text\r\n"}),
        ({"content": "one\n\ntwo"}, {"content": "one\r\n\r\ntwo\r\n"}),
        ({}, {"ttl_policy": ""}),
        ({}, {"merge_key": ""}),
        ({}, {"expires_at": "", "ttl_policy": ""}),
        ({}, {"source_task": "", "provenance": "", "claim_id": ""}),
        ({"expires_at": "2030-01-01T00:00:00Z"}, {"ttl_policy": "decay"}),
        ({"expires_at": "2030-01-01T00:00:00Z"}, {"expires_at": "2030-01-01T02:00:00+02:00"}),
        ({"expires_at": "2030-01-01T00:00:00Z"}, {"expires_at": "2030-01-01"}),
        ({"expires_at": "2030-01-01"}, {"expires_at": "2030-01-01T00:00:00Z", "ttl_policy": "decay"}),
        ({"ttl_policy": "ephemeral", "expires_at": "2030-01-01"}, {"ttl_policy": "ephemeral"}),
    ],
)
def test_an_update_with_equal_values_writes_nothing_and_says_so(
    call: CallTool, clock: FakeClock, data_dir: Path, made: dict[str, Any], given: dict[str, Any]
) -> None:
    first = call("lithos_write", agent="a", **WHOLE | made)
    before = (data_dir / "knowledge" / first["path"]).read_bytes()
    clock.advance(60)
    again = call("lithos_write", agent="b", id=first["id"], **given)
    assert (data_dir / "knowledge" / first["path"]).read_bytes() == before
    assert again["version"] == first["version"] and again["action"] == "unchanged"
    assert call("lithos_read", id=first["id"])["metadata"].get("contributors", []) == []
    assert call("lithos_list", since="2026-01-01T00:00:30Z")["items"] == []
    assert len(call("lithos_events_query", type="note")["rows"]) == 1


@pytest.mark.parametrize(
    ("made", "given"),
    [
        ({}, {"ttl_policy": "decay"}),
        ({"expires_at": "2030-01-01"}, {"ttl_policy": "persistent"}),
        ({}, {"status": "deprecated"}),
        ({"expires_at": "2030-01-01"}, {"expires_at": "2030-01-02"}),
        ({}, {"confidence": 0.9}),
        ({}, {"content": "x", "append": True}),
        ({}, {"content": "text."}),
        ({}, {"content": " text"}),
        ({"ttl_policy": "decay"}, {"ttl_policy": ""}),
    ],
)
def test_an_update_with_another_value_is_written(call: CallTool, made: dict[str, Any], given: dict[str, Any]) -> None:
    first = call("lithos_write", agent="a", **WHOLE, **made)
    again = call("lithos_write", agent="b", id=first["id"], **given)
    assert again["version"] != first["version"] and again["action"] == "updated"


@pytest.mark.parametrize(
    "same",
    [{"title": "T"}, {"description": "d"}, {"priority": 3}, {"tags": ["b", "a"]}, {"title": "T", "tags": ["a", "b"]}],
)
def test_a_task_update_with_equal_values_moves_nothing(call: CallTool, clock: FakeClock, same: dict[str, Any]) -> None:
    task = call("lithos_task_create", agent="a", title="T", description="d", priority=3, tags=["a", "b"])["task_id"]

    def state() -> Any:
        return call("lithos_task_status", task_id=task, agent="a")

    before, events = state(), len(call("lithos_events_query", type="task")["rows"])
    cursor = call("lithos_changes", since="2025-01-01")["cursor"]
    clock.advance(60)
    assert call("lithos_task_update", task_id=task, agent="b", **same)["success"] is True
    if same.get("tags") != ["b", "a"]:
        assert state() == before
        assert len(call("lithos_events_query", type="task")["rows"]) == events
        assert call("lithos_changes", since=cursor)["total"] == 0


@pytest.mark.parametrize(
    ("typed", "tags"), [("[null]", ["null"]), ("[~, a]", ["~", "a"]), ("null", []), ("[null, true]", ["null", "true"])]
)
def test_a_null_among_tags_is_a_word(call: CallTool, lithos: Lithos, save: Save, typed: str, tags: list[str]) -> None:
    save("t.md", f"---\ntitle: T\ntags: {typed}\n---\nbody\n")
    lithos.notes.reindex()
    assert (call("lithos_read", path="t")["metadata"].get("tags") or []) == tags
    assert call("lithos_tags")["tags"] == dict.fromkeys(tags, 1)


WORDS = (
    ".inf",
    "-.inf",
    "+.INF",
    ".nan",
    ".NaN",
    "12345678901234567890123",
    "-9223372036854775809",
    "0xFFFFFFFFFFFFFFFFFF",
)


@pytest.mark.parametrize("form", ["[{}]", "\n  - {}", "[other, {}]", "{}"])
def test_numbers_that_yaml_knows_and_json_does_not_stay_as_typed(
    call: CallTool, lithos: Lithos, save: Save, form: str
) -> None:
    for number, word in enumerate(WORDS):
        tags = form.format(word)
        save(
            f"t{number}.md", f"---\ntitle: {word}\nauthor: {word}\ntags: {tags}\nrank: 3\nid_long: {word}\n---\nbody\n"
        )
    lithos.notes.reindex()
    assert "frontmatter" not in call("lithos_validate")["counts"]
    for number, word in enumerate(WORDS):
        note = call("lithos_read", path=f"t{number}")
        assert note["title"] == word and note["metadata"]["author"] == word and note["metadata"]["rank"] == 3
        assert word in call("lithos_tags")["tags"]
        call("lithos_write", agent="a", id=note["id"], confidence=0.5)
        assert word in call("lithos_tags")["tags"] and call("lithos_read", path=f"t{number}")["title"] == word


@pytest.mark.parametrize("typed", ['""', "''", '" "', "", "null"])
def test_an_empty_ttl_policy_counts_as_none(call: CallTool, lithos: Lithos, save: Save, typed: str) -> None:
    save("t.md", f"---\ntitle: T\nttl_policy: {typed}\nexpires_at: 2025-01-01\n---\nbody\n")
    lithos.notes.reindex()
    assert call("lithos_validate")["counts"] == {}
    assert call("lithos_list")["items"] == []  # it ended: with a date, none means decay
    note = call("lithos_list", status="all")["items"][0]["id"]
    assert call("lithos_write", agent="b", id=note, ttl_policy="decay")["action"] == "unchanged"
    assert call("lithos_write", agent="b", id=note, ttl_policy="persistent")["action"] == "updated"
