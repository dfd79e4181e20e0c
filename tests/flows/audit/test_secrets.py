"""Secrets (point 4 of issue 15): every text argument of every tool that changes something, found in the registry."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lithos.app import Lithos, open_lithos
from lithos.errors import LithosError
from lithos.settings import LithosConfig, SecuritySettings, StorageSettings
from lithos.tools.caller import Caller
from lithos.tools.catalogue import catalogue
from lithos.tools.registry import Tool
from tests.conftest import CallTool
from tests.flows.audit.conftest import Refuse

OPERATOR = Caller(operator=True)
SKILL = "---\nname: s\ndescription: A skill.\n---\n# S\nDo it.\n"
ANA = {"user_id": "ana", "agent": "g"}
FILE = "users/ana/notes.md"

# Not tried, with the reason; everything else is.
NOT_STORED = {
    "lithos_tool_call": "its arguments are those of another tool, and judged as such",
    "lithos_doctor": "changes derived files alone, and takes many seconds",
    "lithos_keys_rotate": "every key of every later case would change",
    "lithos_ledger_checkpoint": "takes the key of a chain that must exist",
    "lithos_ledger_convert": "takes the key of a chain that must exist",
}
Ask = Callable[..., dict[str, Any]]


class World:
    """One Lithos for all cases. Each case gets things of its own to work on, so that none disturbs the next."""

    def __init__(self, lithos: Lithos) -> None:
        self.lithos = lithos
        self.number = 0
        self.refused: list[str] = []

    def ask(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        return catalogue().call(self.lithos, tool, arguments, OPERATOR)

    def note(self) -> dict[str, Any]:
        self.number += 1
        return self.ask("lithos_write", agent="a", title=f"N{self.number}", content="## Tasks\n\n- one\n")

    def task(self) -> str:
        return str(self.ask("lithos_task_create", agent="a", title="T")["task_id"])

    def arguments(self, tool: str) -> dict[str, Any]:
        """A call that succeeds."""
        self.number += 1
        unique = f"u{self.number}"
        path = f"users/ana/parts/{unique}/notes.md"
        if tool.startswith("lithos_fs_") or tool in ("lithos_propose_change", "lithos_apply_change"):
            self.ask("lithos_fs_write", path=path, content="# N\n\n- a\n", rationale="r", **ANA)
        if tool in ("lithos_task_renew", "lithos_task_release"):
            task = self.task()
            self.ask("lithos_task_claim", task_id=task, aspect="code", agent="a")
            return {"task_id": task, "aspect": "code", "agent": "a"}
        if tool.startswith("lithos_task_") or tool == "lithos_finding_post":
            own = {"lithos_task_claim": {"aspect": "code"}, "lithos_finding_post": {"summary": "s"}}
            own |= {"lithos_task_update": {"title": unique}}
            task = {"title": unique} if tool == "lithos_task_create" else {"task_id": self.task()}
            return {"agent": "a", **task, **own.get(tool, {})}
        if tool.startswith("lithos_session_"):
            return self._session(tool, unique)
        if tool == "lithos_note_restore":
            note = self.note()["id"]
            self.ask("lithos_delete", id=note, agent="a")
            return {"note": note, "agent": "a"}
        if tool == "lithos_note_revert":
            note = self.note()
            self.ask("lithos_write", id=note["id"], agent="a", content="other")
            return {"id": note["id"], "version": note["version"], "agent": "a"}
        if tool == "lithos_undo":
            return {"event": self._last_event(self.note()["path"]), "agent": "a"}
        if tool == "lithos_garden_undo":
            return {"event_id": self._last_event(self.note()["path"]), "rationale": "r", "agent": "a"}
        if tool == "lithos_apply_change":
            made = self.ask("lithos_propose_change", path=path, content=f"# N\n\n- {unique}\n", **ANA)
            return {"proposal_id": made["proposal_id"], "rationale": "r", **ANA}
        if tool == "lithos_ledger_forget":
            self.ask("mentisdb_append", thought_type="Insight", content=unique, agent_id="a", chain_key=unique)
            return {"thought_index": 0, "reason": "r", "chain_key": unique}
        if tool == "mentisdb_revoke_agent_key":
            self.ask("mentisdb_add_agent_key", **self.arguments("mentisdb_add_agent_key"))
            return {"agent_id": "a", "key_id": f"k{self.number}"}
        if tool in ("mentisdb_deprecate_skill", "mentisdb_revoke_skill"):
            self.ask("mentisdb_upload_skill", agent_id="a", skill_id=unique, content=SKILL)
            return {"skill_id": unique}
        if tool == "lithos_token_revoke":
            return {"id": self.ask("lithos_token_new", name=unique)["id"]}
        if tool == "mentisdb_disable_agent":
            self.ask("mentisdb_upsert_agent", agent_id=unique)
            return {"agent_id": unique}
        edit = {"path": FILE, "section_anchor": "Tasks"}
        if tool.startswith(("lithos_fs_", "lithos_md_")) or tool in ("lithos_propose_change", "lithos_events_log"):
            self.ask("lithos_fs_write", path=FILE, content="# N\n\n## Tasks\n\n- one\n", rationale="r", **ANA)
        note = self.note()["id"] if tool in ("lithos_delete", "lithos_move", "lithos_promote") else ""
        plain: dict[str, dict[str, Any]] = {
            "lithos_write": {"agent": "a", "title": unique, "content": "x", "path": "sub"},
            "lithos_delete": {"id": note, "agent": "a"},
            "lithos_move": {"id": note, "to": f"moved/{unique}.md", "agent": "a"},
            "lithos_feedback": {"used_ids": [], "outcome": "helped", "query": "q", "agent": "a"},
            "lithos_promote": {
                "source_entry_id": note, "evidence_refs": ["e"], "approved_by": "b", "actor": "c",
                "reason": "r",
            },
            "lithos_agent_register": {"id": unique},
            "mentisdb_bootstrap": {"content": "first", "chain_key": unique, "agent_id": "a"},
            "mentisdb_append": {"thought_type": "Insight", "content": unique, "agent_id": "a"},
            "mentisdb_append_retrospective": {"content": unique, "agent_id": "a"},
            "mentisdb_upsert_agent": {"agent_id": "a", "display_name": unique},
            "mentisdb_set_agent_description": {"agent_id": "a", "description": unique},
            "mentisdb_add_agent_alias": {"agent_id": "a", "alias": unique},
            "mentisdb_add_agent_key": {
                "agent_id": "a", "key_id": f"k{self.number}", "algorithm": "ed25519",
                "public_key_bytes": list(hashlib.sha256(unique.encode()).digest()),
            },
            "lithos_ledger_import": {"text": f"- {unique}\n", "agent_id": "a"},
            "mentisdb_upload_skill": {"agent_id": "a", "skill_id": unique, "content": SKILL},
            "lithos_token_new": {"name": unique},
            "lithos_fs_ensure_dir": {"path": f"users/ana/parts/{unique}", **ANA},
            "lithos_fs_write": {"path": FILE, "content": f"# {unique}\n", "rationale": "r", **ANA},
            "lithos_fs_append": {"path": FILE, "text": f"- {unique}", "rationale": "r", **ANA},
            "lithos_fs_patch": {"path": FILE, "diff_text": _diff(unique), "rationale": "r", **ANA},
            "lithos_fs_move": {"path": path, "new_path": f"users/ana/parts/{unique}-2/notes.md", "rationale": "r"},
            "lithos_md_patch_section": {**edit, "change": {"append": unique}, "rationale": "r", **ANA},
            "lithos_md_curate_list": {**edit, "ops": ["append"], "items": [unique], "reason": "r", **ANA},
            "lithos_md_snapshot_history": {"path": FILE, **ANA},
            "lithos_md_lint": {"path": FILE, **ANA},
            "lithos_propose_change": {"path": FILE, "content": f"# {unique}\n", **ANA},
            "lithos_events_log": {"type": "profile_update", "op": "note", "rationale": "r", "path": FILE, **ANA},
            "lithos_code_add": {"name": unique, "path": str(self.lithos.storage.data_dir.parent / "code")},
        }  # fmt: skip
        return plain.get(tool, {})

    def _session(self, tool: str, unique: str) -> dict[str, Any]:
        agent = f"agent {unique}"
        if tool == "lithos_session_create":
            return {"name": unique, "agent": agent}
        session = self.ask("lithos_session_create", name=unique, agent=agent)["session_id"]
        if tool not in ("lithos_session_activate", "lithos_session_join"):
            self.ask("lithos_session_activate", session_id=session, agent=agent)
        own = {"lithos_session_invite": {"agents": ["b"]}, "lithos_session_fail": {"reason": "r"}}
        own |= {"lithos_session_context_update": {"changes": {"current_step": "x"}}}
        own |= {"lithos_session_complete": {"summary": "s"}}
        return {"session_id": session, "agent": agent, **own.get(tool, {})}

    def _last_event(self, path: str) -> str:
        return str(self.ask("lithos_events_query", path=path)["rows"][0]["id"])


def _diff(line: str) -> str:
    return f"--- a/notes.md\n+++ b/notes.md\n@@ -1,5 +1,6 @@\n # N\n \n ## Tasks\n \n - one\n+- {line}\n"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("secrets")
    (folder / "code").mkdir()
    opened = open_lithos(LithosConfig(storage=StorageSettings(data_dir=folder / "data")))
    made = World(opened)
    made.ask("mentisdb_append", thought_type="Insight", content="first", agent_id="a")
    made.ask("lithos_fs_write", path=FILE, content="# N\n\n## Tasks\n\n- one\n", rationale="r", **ANA)
    yield made
    opened.close()
    for file in (folder / "data").rglob("*"):
        data = file.read_bytes() if file.is_file() else b""
        assert {*re.findall(rb"ghp_[0-9a-f]{36}", data)} & {secret.encode() for secret in made.refused} == set(), file


def _spots(schema: dict[str, Any], defs: dict[str, Any]) -> Iterator[Callable[[str], Any]]:
    """How a text can be put into an argument of this schema."""
    if "$ref" in schema:
        schema = defs[schema["$ref"].rpartition("/")[2]]
    for each in schema.get("anyOf", ()):
        yield from _spots(each, defs)
    if schema.get("type") == "string" and "enum" not in schema and "const" not in schema:
        yield lambda text: text
    elif schema.get("type") == "array" and "items" in schema:
        for inner in _spots(schema["items"], defs):
            yield lambda text, inner=inner: [inner(text)]
    elif schema.get("type") == "object" and schema.get("properties"):
        needed = {"path": FILE} if "path" in schema["properties"] else {}
        for name, value in schema["properties"].items():
            for inner in _spots(value, defs):
                more = {"content": "x"} if needed and name == "path" else {}
                more |= {"change": {"append": "x"}} if needed and name == "section_anchor" else {}
                yield lambda text, inner=inner, name=name, more=more: {**needed, **more, name: inner(text)}
    elif schema.get("type") == "object":
        yield lambda text: {"k": text}


MUTATING = [tool for tool in catalogue() if not tool.reads and tool.name not in NOT_STORED]


def _alternatives(tool: str, name: str, given: dict[str, Any]) -> dict[str, Any]:
    """Arguments that exclude each other."""
    if tool == "lithos_propose_change" and name in ("change", "content", "diff", "edits", "section_anchor"):
        own = {"change": {"section_anchor": "Tasks"}, "section_anchor": {"change": {"append": "x"}}}
        base = {} if name == "edits" else {"path": FILE}
        return {**ANA, **base, **own.get(name, {})}
    return given


@pytest.mark.parametrize("tool", MUTATING, ids=lambda tool: tool.name)
def test_a_secret_in_any_argument_is_refused_or_warned_of(world: World, tool: Tool) -> None:
    schema = tool.argument_schema
    for name, argument in schema["properties"].items():
        for spot in _spots(argument, schema.get("$defs", {})):
            _is_refused_or_warned_of(world, tool, name, spot)


def _is_refused_or_warned_of(world: World, tool: Tool, name: str, spot: Callable[[str], Any]) -> None:
    given = _alternatives(tool.name, name, world.arguments(tool.name))
    secret = "ghp_" + hashlib.sha256(f"{tool.name} {name} {world.number}".encode()).hexdigest()[:36]
    text = secret
    if isinstance(given.get(name), str) and "/" in given[name] and name != "diff_text":
        folder, _, file = given[name].rpartition("/")
        text = f"{folder}/{secret}{'.md' if file.endswith('.md') else ''}"
        if folder.startswith("users/ana") and file.endswith(".md"):
            text = f"users/ana/parts/{secret}/notes.md"
    if name == "changes" and tool.name == "lithos_session_context_update":
        spot = lambda text: {"current_step": text}  # noqa: E731
    if name in ("diff_text", "diff"):
        text = _diff(secret)
    if name == "content" and tool.name == "mentisdb_upload_skill":
        text = SKILL + secret
    try:
        answer = world.ask(tool.name, **{**given, name: spot(text)})
    except LithosError as error:
        assert secret[:12] not in json.dumps(error.as_dict()), (name, error.as_dict())
        world.refused.append(secret)
        return
    if answer.get("success") is False:
        assert secret[:12] not in json.dumps(answer)
        world.refused.append(secret)
        return
    warnings = [each for each in answer.get("warnings", ()) if "GitHub token" in each]
    assert warnings, (name, answer)
    assert not any(secret in each for each in answer["warnings"])
    ledger = tool.toolset in ("ledger", "skills") or tool.name == "lithos_promote"
    assert not ledger, "the ledger refuses"


@pytest.mark.parametrize("name", ["source_entry_id", "evidence_refs", "approved_by", "actor", "reason", "agent"])
def test_a_refusal_names_the_argument_that_holds_the_secret(call: CallTool, refused: Refuse, name: str) -> None:
    note = call("lithos_write", agent="a", title="T", content="x")["id"]
    wish: dict[str, Any] = {"source_entry_id": note, "approved_by": "eve", "actor": "ann", "reason": "r"}
    wish |= {"evidence_refs": ["ok"], "agent": "ann"}
    secret = "ghp_" + "a1B2" * 9
    refusal = refused("lithos_promote", **{**wish, name: [secret] if name == "evidence_refs" else secret})
    assert refusal["code"] == "secret_refused" and refusal["message"].startswith(name)


SECRETS = [
    "ghp_" + "a1B2" * 9, "sk-ant-" + "a1B2" * 9, "AKIA" + "A1B2" * 4, "xoxb-" + "a1B2" * 4,
    "https://bob:hunter2hunter2@example.org", "-----BEGIN RSA PRIVATE KEY-----",
]  # fmt: skip


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("lithos_read", {"id": "SECRET"}),
        ("lithos_read", {"path": "SECRET"}),
        ("lithos_search", {"query": "x", "tags": "SECRET", "mode": "SECRET"}),
        ("lithos_list", {"since": "SECRET"}),
        ("lithos_agent_info", {"id": "SECRET"}),
        ("lithos_write", {"agent": "a", "title": "T", "content": "x", "confidence": "SECRET"}),
        ("lithos_write", {"agent": "a", "title": "T", "content": "x", "SECRET": 1}),
        ("lithos_task_create", {"agent": "a", "title": "T", "depends_on": ["SECRET"]}),
        ("lithos_task_update", {"agent": "a", "task_id": "SECRET", "title": "T"}),
        ("mentisdb_append", {"thought_type": "SECRET", "content": "x", "agent_id": "a"}),
        ("mentisdb_head", {"chain_key": "SECRET"}),
        ("SECRET", {}),
        ("lithos_tool_call", {"name": "SECRET", "arguments": {}}),
        ("lithos_tool_call", {"name": "lithos_read", "arguments": {"id": "SECRET"}}),
        ("lithos_fs_read", {"path": "SECRET", "user_id": "SECRET"}),
    ],
)
def test_no_error_repeats_a_secret(call: CallTool, tool: str, arguments: dict[str, Any]) -> None:
    def filled(value: Any, secret: str) -> Any:
        if isinstance(value, dict):
            return {filled(key, secret): filled(each, secret) for key, each in value.items()}
        if isinstance(value, list):
            return [filled(each, secret) for each in value]
        return secret if value == "SECRET" else value

    for secret in SECRETS:
        try:
            answer = call(filled(tool, secret), **filled(arguments, secret))
        except LithosError as error:
            answer = error.as_dict()
        shown = json.dumps(answer)
        beginning = secret[:24] if "://" in secret else secret[:12]
        assert beginning not in shown, shown


def test_reading_stores_no_secret(lithos: Lithos, call: CallTool, data_dir: Path) -> None:
    secret = "ghp_" + "a1B2" * 9
    call("lithos_write", agent="a", title="T", content="some words")
    for tool in ("lithos_recall", "lithos_search", "lithos_changes", "lithos_list"):
        more = {"query": f"words {secret}"} if tool in ("lithos_recall", "lithos_search") else {"since": "2026-01-01"}
        call(tool, agent=secret, **more)
    lithos.close()
    kept = [file.name for file in data_dir.rglob("*") if file.is_file() and secret.encode() in file.read_bytes()]
    assert kept == []


@pytest.mark.parametrize("way", ["write", "path", "patch", "replace", "curate"])
def test_where_notes_refuse_secrets_no_way_in_stores_one(tmp_path: Path, way: str) -> None:
    secret = "ghp_" + "a1B2" * 9
    settings = LithosConfig(
        storage=StorageSettings(data_dir=tmp_path / "strict"), security=SecuritySettings(secrets="refuse")
    )
    opened = open_lithos(settings)
    try:
        ask = catalogue().call
        note = ask(opened, "lithos_write", {"agent": "a", "title": "T", "content": "## Tasks\n\n- one"})
        edit = {"id": note["id"], "section_anchor": "Tasks", **ANA}
        tool, arguments = {
            "write": ("lithos_write", {"agent": "a", "id": note["id"], "content": secret}),
            "path": ("lithos_write", {"agent": "a", "title": "U", "content": "x", "path": secret}),
            "patch": ("lithos_md_patch_section", {**edit, "change": {"append": secret}, "rationale": "r"}),
            "replace": ("lithos_md_patch_section", {**edit, "change": {"replace": secret}, "rationale": "r"}),
            "curate": ("lithos_md_curate_list", {**edit, "ops": ["append"], "items": [secret], "reason": "r"}),
        }[way]
        with pytest.raises(LithosError) as refusal:
            ask(opened, tool, arguments)
        assert refusal.value.code == "secret_refused"
        ask(opened, "lithos_write", {"agent": "a", "id": note["id"], "tags": ["fine"]})
    finally:
        opened.close()
