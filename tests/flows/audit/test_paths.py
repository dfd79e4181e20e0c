"""A path of the machine is refused by every tool that takes a path: point 23 of issue 15."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest

from lithos.errors import LithosError
from lithos.tools.caller import Caller
from lithos.tools.catalogue import catalogue
from tests.conftest import CallTool
from tests.flows.audit.conftest import Refuse, Save

OF_A_MACHINE = (
    "/etc/passwd", "/sub", "//sub", "/sub/t.md", "C:/x", "c:\\x", "C:\\Users\\ann\\x.md", "\\\\server\\x", "\\x", "~/x",
    "~", "~\\x", "file:///etc/passwd", "http://h/x", " /sub",
)  # fmt: skip
NAMES = ("path", "path_prefix", "to", "new_path", "file_path", "root")
# No path beneath a folder of ours: a place that the operator chooses, a kind of chain, the name of a root.
# And what explains a policy: it answers that the path is not allowed.
NO_PATHS = {("lithos_code_add", "path"), ("lithos_ledger_convert", "to"), ("lithos_garden_check", "path")}
ROOT_NAMES = ("code", "history", "graph", "habits")  # toolsets where `root` names one, or a path is below one


def arguments() -> list[tuple[str, str]]:
    found = []
    for tool in catalogue():
        for name in tool.input_schema.get("properties", {}):
            is_root_name = name == "root" and (tool.toolset in ROOT_NAMES or tool.name == "lithos_file_history")
            if name in NAMES and (tool.name, name) not in NO_PATHS and not is_root_name:
                found.append((tool.name, name))
    return found


def filled(tool: str, name: str, note: str) -> dict[str, Any]:
    """The least arguments that the schema wants, besides the path."""
    schema = catalogue().get(tool).input_schema
    known = {"user_id": "ana", "agent": "a", "rationale": "r", "reason": "r", "id": note, "change": {"append": "x"}}
    known |= {"ops": ["append"], "items": ["x"], "query": "x", "since": "2025-01-01", "title": "T", "op": "write"}
    known |= {"type": "observation", "content": "x", "direction": "both", "diff": "@@", "new_path": "users/ana/n.md"}
    needed = {each for each in schema.get("required", []) if each != name}
    chosen = {each: known.get(each, "x") for each in needed}
    if "user_id" in schema["properties"]:
        chosen["user_id"] = "ana"
    if tool.startswith("lithos_md") or tool == "lithos_lint_check":
        chosen.pop("id", None)
    if tool == "lithos_propose_change":
        chosen["content"] = "x"
    if tool in ("lithos_fs_move", "lithos_fs_append", "lithos_fs_write", "lithos_fs_patch"):
        chosen["path"] = "users/ana/notes.md"
    chosen.pop(name, None)
    return chosen


def test_a_path_of_the_machine_is_refused(call: CallTool, save: Save, data_dir: Path) -> None:
    note = call("lithos_write", agent="a", title="T", content="x", path="sub")["id"]
    call("lithos_fs_append", path="users/ana/notes.md", text="- a", rationale="r", user_id="ana", agent="a")
    before = sorted(path for path in data_dir.rglob("*") if ".md" in path.name)
    for (tool, name), path in product(arguments(), OF_A_MACHINE):
        try:
            answer = call(tool, _caller=Caller(operator=True), **{**filled(tool, name, note), name: path})
        except LithosError as error:
            assert error.code in ("invalid_input", "forbidden", "not_found"), (tool, name, path, error.as_dict())
            if catalogue().get(tool).toolset not in ROOT_NAMES:
                assert error.code in ("invalid_input", "forbidden"), (tool, name, path, error.as_dict())
        else:
            raise AssertionError((tool, name, path, answer))
    assert sorted(path for path in data_dir.rglob("*") if ".md" in path.name) == before
    assert sorted(each.name for each in (data_dir / "knowledge").iterdir() if each.is_dir()) == ["sub"]


def test_the_walk_sees_every_kind_of_path() -> None:
    seen = arguments()
    assert {("lithos_list", "path_prefix"), ("lithos_move", "to"), ("lithos_fs_search", "root")} <= {*seen}
    assert len(seen) > 20


@pytest.mark.parametrize("tool", ["lithos_list", "lithos_search", "lithos_recall", "lithos_semantic", "lithos_changes"])
def test_a_prefix_means_the_same_in_every_tool(call: CallTool, refused: Refuse, tool: str) -> None:
    call("lithos_write", agent="a", title="In", content="zebra", path="sub")
    call("lithos_write", agent="a", title="Out", content="zebra")

    def found(prefix: str) -> set[str]:
        asked = (
            {"since": "2025-01-01"} if tool == "lithos_changes" else {} if tool == "lithos_list" else {"query": "zebra"}
        )
        answer = call(tool, path_prefix=prefix, **asked)
        rows = answer.get("items") or answer.get("results") or answer.get("changes", {}).get("note", [])
        return {path for path in ("sub/in.md", "out.md") if any(path in str(row) for row in rows)}

    assert found("/") == {"sub/in.md", "out.md"}
    assert found("sub") == found("sub/") == found("./sub") == found(" sub/ ") == {"sub/in.md"}
    for wrong in ("../sub", "sub/../../x"):
        asked = {"since": "2025-01-01"} if tool == "lithos_changes" else {} if tool == "lithos_list" else {"query": "x"}
        assert refused(tool, path_prefix=wrong, **asked)["code"] == "invalid_input"


def test_a_slash_alone_is_the_top_where_a_folder_is_asked_for(call: CallTool) -> None:
    note = call("lithos_write", agent="a", title="T", content="x", path="sub")["id"]
    assert call("lithos_move", agent="a", id=note, to="/")["path"] == "t.md"
    assert call("lithos_write", agent="a", title="U", content="x", path="/")["path"] == "u.md"


MACHINE = ["/proc/x.md", "/x.md", "/x", "~/x.md", "C:\\x.md", "file:///x.md", "\\\\h\\x.md", "[[/proc/x]]"]


@pytest.mark.parametrize("tool", ["lithos_read", "lithos_links", "lithos_note_history", "lithos_delete"])
def test_a_path_of_the_machine_names_no_note_by_its_id(call: CallTool, refused: Refuse, save: Save, tool: str) -> None:
    call("lithos_write", agent="a", title="Other", content="text", path="sub")
    save("x.md", "---\ntitle: X\n---\ntext\n")
    more = {} if catalogue().get(tool).reads else {"agent": "a"}
    for given in MACHINE:
        refusal = refused(tool, id=given, **more)
        assert "not_found" in (refusal.get("code"), refusal.get("reason")), (given, refusal)
        assert call("lithos_read", path="x")["title"] == "X"


def test_a_title_that_looks_like_a_path_names_its_note(call: CallTool) -> None:
    note = call("lithos_write", agent="a", title="/etc/hosts", content="text")
    assert call("lithos_read", id="/etc/hosts")["id"] == note["id"]


def test_a_forgetting_takes_every_argument_that_its_hint_names(call: CallTool, refused: Refuse) -> None:
    thought = call("mentisdb_append", thought_type="Insight", content="x", agent_id="a", detail=True)["thought"]
    operator = Caller(operator=True)
    hint = refused("lithos_ledger_forget", _caller=operator, reason="r")["hint"]
    assert all(name in hint for name in ("thought_id", "thought_hash", "thought_index"))
    done = call("lithos_ledger_forget", _caller=operator, reason="r", thought_hash=thought["hash"])
    assert done["index"] == thought["index"]
