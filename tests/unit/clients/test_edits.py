"""Edits of people's configuration: our entry comes and goes, every other byte stays."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithos.clients import jsonc, toml_table
from lithos.clients.setup import BEGIN, END, hooks_edit, instructions_edit

KEY = ["mcpServers", "lithos"]
ENTRY = {"command": "/x/lithos", "args": ["serve"]}
COMMENTED = """\
// mine
{
  "a": 1, // x
  "mcpServers": {
    "other": {"command": "x"}, // keep
  },
}
"""


def test_comments_trailing_commas_and_the_order_of_others_stay() -> None:
    after = jsonc.put(COMMENTED, KEY, ENTRY)
    kept = [line for line in after.splitlines() if line in COMMENTED.splitlines()]
    assert kept == COMMENTED.splitlines()
    assert jsonc.plain(jsonc.parse(after))["mcpServers"]["lithos"] == ENTRY
    assert jsonc.drop(after, KEY) == COMMENTED
    assert jsonc.put(after, KEY, ENTRY) == after


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=5), values, max_size=4), st.sampled_from([None, 2, 4, "\t"]), st.booleans())
def test_any_json_gets_the_entry_and_loses_it_again(
    tree: dict[str, object], indent: int | str | None, has: bool
) -> None:
    if has:
        tree = {**tree, "mcpServers": {"other": tree}}
    elif "mcpServers" in tree:
        del tree["mcpServers"]
    text = json.dumps(tree, indent=indent)
    after = jsonc.put(text, KEY, ENTRY)
    assert json.loads(after) == {**tree, "mcpServers": {**(tree.get("mcpServers") or {}), "lithos": ENTRY}}  # type: ignore[dict-item]
    assert jsonc.put(after, KEY, ENTRY) == after
    assert json.loads(jsonc.drop(after, KEY)) == {"mcpServers": {}, **tree}


@pytest.mark.parametrize(
    "text", ['{"a": }', "{", '{"a": 1 "b": 2}', "nonsense", '{"a": 1} x', "[" * 5000, '{"mcpServers": 5}']
)
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(jsonc.NotJson):
        jsonc.put(text, KEY, ENTRY)


def test_a_table_of_toml_comes_and_goes() -> None:
    text = '# mine\nmodel = "x"\n\n[mcp_servers.other]\ncommand = "a"  # b\n\n[x]\ny = 1\n'
    after = toml_table.put(text, ["mcp_servers", "lithos"], ENTRY)
    assert tomllib.loads(after)["mcp_servers"]["lithos"] == ENTRY
    assert toml_table.put(after, ["mcp_servers", "lithos"], ENTRY) == after
    assert toml_table.drop(after, ["mcp_servers", "lithos"]) == text
    text = text.split("\n\n", 1)[1]
    middle = f"{toml_table.put('', ['mcp_servers', 'lithos'], ENTRY)}\n{text}"
    assert tomllib.loads(toml_table.drop(middle, ["mcp_servers", "lithos"])) == tomllib.loads(text)


@pytest.mark.parametrize("text", ["a =", "mcp_servers = {}\n", 'mcp_servers.lithos.command = "x"\n'])
def test_toml_that_only_a_person_can_edit_is_refused(text: str) -> None:
    with pytest.raises(toml_table.NotToml):
        toml_table.put(text, ["mcp_servers", "lithos"], ENTRY)


def test_hooks_of_others_stay() -> None:
    other = {"matcher": "x", "hooks": [{"type": "command", "command": "say hook stop"}]}
    text = json.dumps({"hooks": {"Stop": [other]}, "model": "m"}, indent=2)
    path = Path("settings.json")
    edit = hooks_edit(path, ["/x y/lithos", "--data-dir", "/d"], stop=True, remove=False).edit
    after = edit(text)
    hooks = json.loads(after)["hooks"]
    assert set(hooks) == {"Stop", "SessionStart", "PreCompact", "SessionEnd"} and hooks["Stop"][0] == other
    assert "compact" in hooks["SessionStart"][0]["matcher"]
    assert hooks["SessionStart"][0]["hooks"][0]["command"] == "'/x y/lithos' hook session-start --data-dir /d"
    assert edit(after) == after
    assert json.loads(hooks_edit(path, [], stop=False, remove=True).edit(after)) == json.loads(text)


@pytest.mark.parametrize("text", ["", "# Mine\n", "# Mine\n\nno end", "a\r\nb\r\n", f"x\n{BEGIN}\nold\n{END}\ny\n"])
def test_a_block_of_instructions_comes_once_and_goes(text: str) -> None:
    path = Path("AGENTS.md")
    put, drop = instructions_edit(path, remove=False).edit, instructions_edit(path, remove=True).edit
    after = put(text)
    assert after.count(BEGIN) == after.count(END) == 1 and put(after) == after
    assert drop(after).split() == text.replace(f"{BEGIN}\nold\n{END}\n", "").split()


def test_half_a_block_is_left_alone() -> None:
    with pytest.raises(ValueError, match="incomplete"):
        instructions_edit(Path("AGENTS.md"), remove=True).edit(f"a\n{BEGIN}\nb\n")


def test_an_entry_that_is_there_twice_is_taken_out_twice() -> None:
    twice = '{"mcpServers": {"lithos": {"command": "a"}, "x": 1, "lithos": {"command": "b"}}}'
    assert json.loads(jsonc.drop(twice, KEY)) == {"mcpServers": {"x": 1}}
