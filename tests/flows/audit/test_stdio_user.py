"""The user over stdio (point 6 of issue 15): no event names the operating system's login, which no caller chose."""

from __future__ import annotations

import json
import os
import pwd
from typing import Any

from tests.support.guests import Household

TOOLS = ("--toolsets", "all")


def test_no_event_of_a_guest_names_the_login(house: Household) -> None:
    guest = house.guest(*TOOLS)
    guest.initialize()
    note = guest.call("lithos_write", agent="g", title="T", content="## Tasks\n\n- one")
    edit = {"id": note["id"], "section_anchor": "Tasks", "agent": "g"}
    guest.call("lithos_md_patch_section", change={"append": "- two"}, rationale="r", **edit)
    guest.call("lithos_md_curate_list", ops=["append"], items=["three"], reason="r", **edit)
    guest.call("lithos_events_log", type="profile_update", op="seen", rationale="r", agent="g")
    guest.call("lithos_task_create", agent="g", title="T")
    guest.call("lithos_fs_write", path="users/ana/notes.md", content="# N\n", rationale="r", user_id="ana", agent="g")
    login = pwd.getpwuid(os.getuid()).pw_name
    rows: list[dict[str, Any]] = guest.call("lithos_events_query", detail=True)["rows"]
    assert len(rows) >= 6
    assert {row.get("user") for row in rows} == {None, "ana"}, json.dumps(rows)
    assert login not in json.dumps([row.get("user") for row in rows])


def test_a_guest_that_names_no_user_is_asked_for_one(house: Household) -> None:
    guest = house.guest(*TOOLS)
    guest.initialize()
    guest.call("lithos_fs_write", path="users/bea/notes.md", content="# N\n", rationale="r", user_id="bea", agent="g")
    for tool, arguments in (
        ("lithos_fs_list", {}),
        ("lithos_fs_write", {"path": "users/bea/notes.md", "content": "x", "rationale": "r", "agent": "g"}),
        ("lithos_md_list_sections", {"path": "users/bea/notes.md"}),
        ("lithos_propose_change", {"path": "users/bea/notes.md", "content": "x", "agent": "g"}),
    ):
        error = guest.call(tool, **arguments)["error"]
        assert error["code"] == "invalid_input" and "user_id" in error["message"] and "bea" in error["hint"]
