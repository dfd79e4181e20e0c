"""An item is added at the end of its list, and glued to nothing: point 9 of issue 15."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lithos.tools.caller import Caller
from tests.conftest import CallTool
from tests.flows.audit.conftest import Refuse

WHO = {"user_id": "ana", "agent": "g"}
TABLE = "| a | b |\n|---|---|\n| 1 | 2 |"


def section(call: CallTool, before: str, tool: str, **more: Any) -> str:
    note = call("lithos_write", agent="a", title="Log", content=f"## Tasks\n\n{before}\n\n## After\n\nend")
    call(tool, id=note["id"], section_anchor="Tasks", **WHO, **more)
    after = call("lithos_read", id=note["id"])["content"]
    return str(after).removeprefix("## Tasks\n\n").partition("\n\n## After")[0]


def test_an_item_is_added_at_the_end_of_the_list(call: CallTool) -> None:
    wish = {"ops": ["append"], "items": ["new"], "reason": "r"}
    for before, after in (
        ("- one\n> quote", "- one\n- new\n> quote"),
        ("- one\n\n> quote\n> more\nlazy", "- one\n- new\n\n> quote\n> more\nlazy"),
        ("- one\n  > inside\n\n> quote", "- one\n  > inside\n- new\n\n> quote"),
        (f"- one\n{TABLE}", f"- one\n- new\n\n{TABLE}"),
        (f"- one\n\n{TABLE}", f"- one\n- new\n\n{TABLE}"),
        ("- one\n<div>x</div>", "- one\n- new\n<div>x</div>"),
        ("- one\n<b>x</b>", "- one\n- new\n\n<b>x</b>"),
        ("- one\n<!-- note -->", "- one\n- new\n<!-- note -->"),
        ("- one\n\n<details>\n- no item\n</details>", "- one\n- new\n\n<details>\n- no item\n</details>"),
        ("- one\n```\n- no item\n```", "- one\n- new\n```\n- no item\n```"),
        ("- one\n---", "- one\n- new\n---"),
        ("- one\nlazy text", "- one\nlazy text\n- new"),
        ("- one\n\n  second paragraph", "- one\n\n  second paragraph\n- new"),
        ("- one\n  - a\n    - b\n  - c", "- one\n  - a\n    - b\n  - c\n- new"),
        ("- one\n  1. a\n  2. b\n\ntext", "- one\n  1. a\n  2. b\n- new\n\ntext"),
        ("1. one\n2. two", "1. one\n2. two\n3. new"),
        ("1. one\n1. two\n\ntext", "1. one\n1. two\n1. new\n\ntext"),
        ("1. one\n\ntext\n\n1. two", "1. one\n\ntext\n\n1. two\n2. new"),
        ("9) one\n   - in\n> q", "9) one\n   - in\n10) new\n> q"),
        ("3. one\n\n   more\n4. two", "3. one\n\n   more\n4. two\n5. new"),
        ("  - one\n  - two", "  - one\n  - two\n  - new"),
        ("* one\n* two\n\n> * quoted", "* one\n* two\n* new\n\n> * quoted"),
        ("> quoted", "> quoted\n\n- new"),
        (TABLE, f"{TABLE}\n\n- new"),
        ("<div>\nx\n</div>", "<div>\nx\n</div>\n\n- new"),
        ("- [ ] one\n- [x] two", "- [ ] one\n- [x] two\n- new"),
        ("+ one", "+ one\n+ new"),
        ("-\n- two", "-\n- two\n- new"),
    ):
        assert section(call, before, "lithos_md_curate_list", **wish) == after


def test_appended_text_is_glued_to_nothing(call: CallTool) -> None:
    for before, added, after in (
        ("- one\n> quote", "- new", "- one\n> quote\n\n- new"),
        ("- one\n> quote", "> more", "- one\n> quote\n> more"),
        (f"- one\n\n{TABLE}", "- new", f"- one\n\n{TABLE}\n\n- new"),
        (f"- one\n\n{TABLE}", "| 3 | 4 |", f"- one\n\n{TABLE}\n| 3 | 4 |"),
        ("<div>\nx\n</div>", "text", "<div>\nx\n</div>\n\ntext"),
        ("1. one\n   - in", "2. new", "1. one\n   - in\n2. new"),
        ("- one\n  more", "- new", "- one\n  more\n- new"),
        ("text", "> quote", "text\n\n> quote"),
        ("text", "| a |\n|---|", "text\n\n| a |\n|---|"),
        ("> quote", "text", "> quote\n\ntext"),
    ):
        wish = {"change": {"append": added}, "rationale": "r"}
        assert section(call, before, "lithos_md_patch_section", **wish) == after


@pytest.mark.parametrize("op", ["prune", "merge"])
@pytest.mark.parametrize("marker", ["-", "  *", "2.", "10)"])
def test_an_item_is_found_with_any_marker(call: CallTool, op: str, marker: str) -> None:
    wish = {"ops": [op], "items": ["two"], "reason": "r"}
    after = section(call, f"{marker} one\n{marker} two\n> quote", "lithos_md_curate_list", **wish)
    kept = f"{marker} two\n" if op == "merge" else ""
    assert after == f"{marker} one\n{kept}> quote"


@pytest.mark.parametrize(
    ("text", "contents"),
    [
        ("- one\n- two\n> quote\n", ["one", "two", "> quote"]),
        ("- one\n- two\n\n> quote\n", ["one", "two", "> quote"]),
        ("1. one\n2. two\n\nA paragraph.\n", ["one", "two", "A paragraph."]),
        ("- one\n<div>x</div>\n", ["one", "<div>x</div>"]),
        ("- one\n\n  more of it\n\nA paragraph.\n", ["one\n\nmore of it", "A paragraph."]),
        ("- one\n```\n- code\n```\n\nA paragraph.\n", ["one", "```\n- code\n```", "A paragraph."]),
        ("* one\n  * in\n\nA paragraph.\n", ["one", "in", "A paragraph."]),
        ("- one\nlazy\n\nA paragraph.\n\nAnother.\n", ["one\nlazy", "A paragraph.", "Another."]),
    ],
)
def test_an_import_glues_nothing_to_a_bullet(call: CallTool, text: str, contents: list[str]) -> None:
    call("lithos_ledger_import", _caller=Caller(operator=True), text=f"# Memory\n\n{text}", agent_id="a", chain_key="c")
    found = call("mentisdb_search", chain_key="c")["thoughts"]
    assert [each["content"] for each in sorted(found, key=lambda each: each["index"])] == contents


@pytest.mark.parametrize("text", ["", "\n", "  \n", "\u200b"])
def test_an_append_of_nothing_is_refused_and_writes_nothing(
    call: CallTool, refused: Refuse, data_dir: Path, text: str
) -> None:
    note = call("lithos_write", agent="a", title="Log", content="## Tasks\n\n- one")
    file = data_dir / "knowledge" / note["path"]
    before = file.read_bytes()
    wish = {"section_anchor": "Tasks", "change": {"append": text}, **WHO}
    refusal = refused("lithos_md_patch_section", id=note["id"], rationale="r", **wish)
    assert refusal["code"] == "invalid_input" and "nothing to append" in refusal["message"]
    assert file.read_bytes() == before
