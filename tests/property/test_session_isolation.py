"""Property: whatever is called, no private marker of a session reaches another one, through any tool of the registry.

Each session has two secrets, one in its context and one in its entries, beside a handle that questions may use. Every
tool is called with random arguments by callers outside; what comes back, errors included, holds no secret. A tool
without a ruling fails.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import orjson
import pytest

from lithos.app import Lithos
from lithos.ledger.scopes import ChainScopes
from lithos.messages.readers import Reader
from lithos.sessions.sessions import Sessions
from lithos.tools.answers.errors import as_lithos_error
from lithos.tools.caller import Caller
from lithos.tools.catalogue import catalogue
from lithos.tools.registry import Tool

Ruling = Literal["shared", "scoped", "entries", "operator"]

# A new tool needs a line here. shared: of notes, garden, board, skills, code, agents; nothing of a session is in it.
# scoped: shows a session's things to those who are in it. entries: shows entries of others where it is asked to.
RULED: dict[Ruling, str] = {
    "scoped": """
lithos_work_diff lithos_work_commit lithos_work_merge lithos_work_read lithos_work_write lithos_work_edit
lithos_tools_choose lithos_tools_discover lithos_work_check lithos_work_test
lithos_work_run lithos_work_result lithos_worktree_open lithos_worktree_list lithos_worktree_close
lithos_session_snapshot lithos_session_restore lithos_session_summary lithos_store_checkpoint lithos_latest_checkpoint
lithos_session_promote lithos_session_demote
lithos_scratchpad_write lithos_scratchpad_read lithos_get_preferences lithos_set_preference lithos_preference_feedback
lithos_save_checkpoint lithos_resume_task lithos_check_mistakes lithos_report_mistake lithos_mistake_outcome
lithos_store_summary lithos_store_entry lithos_record_file lithos_record_pattern lithos_record_failure
lithos_link_nodes lithos_unlink_nodes lithos_get_edges lithos_get_history_for_code lithos_get_code_for_history
lithos_find_patterns lithos_find_failures lithos_get_decisions lithos_get_session_history lithos_extract_facts
lithos_synthesize_with_codebase lithos_get_code_for_academic lithos_get_history_for_academic
lithos_get_academic_for lithos_search_all lithos_smart_search
lithos_ask lithos_build_context lithos_check_answer lithos_get_provenance lithos_graph_conflicts
lithos_graph_conflict_resolve lithos_conflicts
lithos_recall lithos_changes lithos_get_briefing lithos_undo lithos_feedback mentisdb_bootstrap
mentisdb_append mentisdb_append_retrospective mentisdb_search mentisdb_list_chains mentisdb_recent_context
mentisdb_memory_markdown mentisdb_get_thought mentisdb_get_genesis_thought mentisdb_traverse_thoughts
mentisdb_head lithos_ledger_context lithos_ledger_prove mentisdb_list_agents mentisdb_get_agent
mentisdb_list_agent_registry mentisdb_upsert_agent mentisdb_set_agent_description mentisdb_add_agent_alias
mentisdb_add_agent_key mentisdb_revoke_agent_key mentisdb_disable_agent lithos_session_create
lithos_session_activate lithos_session_suspend lithos_session_resume lithos_session_complete
lithos_session_fail lithos_session_close lithos_session_switch lithos_session_join lithos_session_leave
lithos_session_invite lithos_session_get lithos_session_list lithos_session_context
lithos_message_send lithos_message_request lithos_inbox_list lithos_inbox_take lithos_inbox_ack lithos_inbox_renew
lithos_inbox_reply lithos_inbox_fail lithos_message_get lithos_message_status lithos_message_cancel
lithos_message_thread lithos_message_trace lithos_topic_follow lithos_dead_letter_list lithos_dead_letter_replay
lithos_dead_letter_drop lithos_thread_list
lithos_session_context_update lithos_session_stats lithos_session_wait lithos_tool_call lithos_events_query
""",
    "entries": """
lithos_session_query lithos_search_history
""",
    "operator": """
lithos_session_rollback lithos_message_forget lithos_inbox_overview
lithos_reindex lithos_ledger_checkpoint lithos_ledger_forget lithos_ledger_convert lithos_ledger_import
lithos_session_close_all lithos_doctor lithos_token_new lithos_token_list lithos_token_revoke
lithos_brief_titles lithos_undo_preview
lithos_events_verify lithos_keys_rotate lithos_fs_move lithos_file_history lithos_garden_undo
lithos_garden_check lithos_code_add lithos_code_list lithos_code_remove lithos_code_rebuild
""",
    "shared": """
lithos_memory_policy lithos_onboarding
lithos_file_lock lithos_file_unlock
lithos_write lithos_read lithos_delete lithos_list lithos_links lithos_tags lithos_move lithos_note_history
lithos_note_graph lithos_proposal_list lithos_proposal_refuse
lithos_note_diff lithos_note_revert lithos_note_restore lithos_validate lithos_search lithos_semantic
lithos_note_passages lithos_decay lithos_promote lithos_agent_register lithos_agent_info
lithos_agent_list lithos_task_create lithos_task_claim lithos_task_renew lithos_task_release
lithos_task_complete lithos_task_status lithos_finding_post lithos_finding_list lithos_task_cancel
lithos_task_update lithos_task_ready lithos_task_list lithos_board_wait mentisdb_skill_md mentisdb_list_skills
mentisdb_skill_manifest mentisdb_upload_skill mentisdb_search_skill mentisdb_read_skill
mentisdb_skill_versions mentisdb_deprecate_skill mentisdb_revoke_skill lithos_stats lithos_tool_find
lithos_fs_list lithos_fs_read lithos_fs_search lithos_fs_hash lithos_fs_ensure_dir lithos_fs_write
lithos_fs_append lithos_fs_patch lithos_md_list_sections lithos_md_patch_section lithos_md_curate_list
lithos_md_snapshot_history lithos_md_lint lithos_lint_check lithos_propose_change lithos_apply_change
lithos_events_log lithos_search_code lithos_get_symbol lithos_get_dependencies lithos_get_dependents
lithos_find_similar_symbols lithos_get_file_symbols lithos_get_file lithos_list_files lithos_get_structure
lithos_get_context lithos_detect_patterns lithos_ingest_source lithos_research
lithos_find_best_practices lithos_find_papers lithos_compare_approaches lithos_read_file lithos_preview_edit
lithos_get_style_guide lithos_find_component lithos_check_dependency lithos_get_design_tokens lithos_find_design_token
lithos_lint_tokens
lithos_classify_query lithos_graph_stats
""",
}
RULINGS: dict[str, Ruling] = {name: ruling for ruling, names in RULED.items() for name in names.split()}
ABROAD = ("cross_session", "session_ids")


@dataclass(frozen=True)
class Secret:
    session: str
    owner: str
    handle: str
    context: str
    entry: str
    thoughts: tuple[str, ...]
    messages: tuple[str, ...] = ()


def bound(agent: str) -> Caller:
    return Caller(agent=agent, bound=True, toolsets=("all",))


def furnish(lithos: Lithos, number: int) -> Secret:
    """A session of a bound owner, with a secret wherever a session can have one."""
    owner, handle = f"owner{number}", f"topic{number}"
    context, entry = f"ctxsecret{number}q", f"entsecret{number}q"
    call, who = catalogue().call, bound(owner)
    session = call(
        lithos,
        "lithos_session_create",
        {"name": f"session {number}", "base_branch": context, "metadata": {context: context}},
        who,
    )["session_id"]
    call(lithos, "lithos_session_activate", {"session_id": session}, who)
    said = f"{handle} {context}"
    texts = ("current_task", "current_step", "current_objective", "conversation_id", "active_dag_id")
    changes: dict[str, Any] = dict.fromkeys(texts, said)
    changes |= {"branch_name": context, "worktree": context}
    lists = ("completed_steps", "next_steps", "blockers", "local_patterns", "local_failures", "user_wants")
    lists += ("user_rejects", "clarifications", "message_history", "dag_history")
    changes |= {name: {"add": [said]} for name in lists}
    maps = ("modified_files", "read_files", "created_files", "active_agents", "scratchpad")
    changes |= {name: {"add": {context: {"note": said}}} for name in maps}
    call(lithos, "lithos_session_context_update", {"changes": changes}, who)
    ids = []
    for chain, kind in ((None, "Decision"), (None, "Mistake"), ("design", "Plan")):
        given = {"thought_type": kind, "content": f"{handle} {entry}", "tags": [entry], "concepts": [entry]}
        thought = call(lithos, "mentisdb_append", given | ({"chain_key": chain} if chain else {}), who)["thought"]
        ids += [thought["id"], thought["hash"]]
    call(lithos, "mentisdb_append_retrospective", {"content": f"{handle} {entry}", "refs": [0]}, who)
    call(lithos, "lithos_scratchpad_write", {"key": handle, "note": said}, who)
    call(lithos, "lithos_scratchpad_write", {"key": f"our {handle}", "note": said, "shared": True}, who)
    mistake = {"pattern": f"{handle} {entry}", "error": entry, "fix": entry, "context": entry}
    ids += [call(lithos, "lithos_report_mistake", mistake, who)["id"], ""]
    told = {"category": handle, "preference": entry, "scope": "session", "user_id": "pat"}
    call(lithos, "lithos_set_preference", told, who)
    ids += [
        call(lithos, "lithos_save_checkpoint", {"summary": f"{handle} {entry}", "completed": [entry]}, who)["id"],
        "",
    ]
    sent = [
        call(lithos, "lithos_message_send", {"body": f"{handle} {context}", where: name}, who)["message_id"]
        for where, name in (("target", owner), ("topic", f"news.{handle}"))
    ]
    return Secret(session, owner, handle, context, entry, tuple(ids), tuple(sent))


class Arguments:
    """Random arguments for a tool, from its schema; names that mean a session's things get real ones."""

    def __init__(self, chance: random.Random, secrets: list[Secret]) -> None:
        self._chance = chance
        self._pools: dict[str, list[Any]] = {
            "session_id": [each.session for each in secrets],
            "session_ids": [each.session for each in secrets],
            "thought_id": [each for secret in secrets for each in secret.thoughts[::2]],
            "anchor_id": [each for secret in secrets for each in secret.thoughts[::2]],
            "thought_hash": [each for secret in secrets for each in secret.thoughts[1::2]],
            "anchor_hash": [each for secret in secrets for each in secret.thoughts[1::2]],
            "ids": [each for secret in secrets for each in secret.thoughts[::2]],
            "used_ids": [each for secret in secrets for each in secret.thoughts[::2]],
            "message_id": [each for secret in secrets for each in secret.messages],
            "correlation_id": [each for secret in secrets for each in secret.messages],
            "parent_id": [each for secret in secrets for each in secret.messages],
            "pattern": ["**"],
            "chain_key": ["history", "history", "design"],
            "text": [each.handle for each in secrets],
            "query": [each.handle for each in secrets],
            "topic": [each.handle for each in secrets],
            "approach": [each.handle for each in secrets],
            "key": ["all", *(each.handle for each in secrets)],
            "task_id": [None, "latest", *(each.thoughts[-2] for each in secrets)],
            "category": ["all"],
            "timeout": [0],
            "wait_seconds": [0],
            "since": ["2020-01-01T00:00:00Z", 0],
            "cursor": [None],
        }

    def for_tool(self, tool: Tool) -> dict[str, Any]:
        if tool.name == "lithos_tool_find":  # a question would embed every phrase of every tool: ten seconds
            return {"name": "lithos_recall"}
        schema = tool.argument_schema
        needed = schema.get("required", [])
        chosen = {}
        for name, field in schema["properties"].items():
            if name in (tool.agent_argument, "agent", "agent_id", "idempotency_key", "rationale", "user_id"):
                continue
            if name in needed or name in self._pools or self._chance.random() < 0.25:
                chosen[name] = self._value(name, field, schema.get("$defs", {}))
        return {name: value for name, value in chosen.items() if value is not None}

    def _value(self, name: str, field: dict[str, Any], named: dict[str, Any]) -> Any:
        kind = self._kind(field, named)
        if name in self._pools:
            value = self._chance.choice(self._pools[name])
            return [value] if kind.get("type") == "array" else value
        if "enum" in kind:
            return self._chance.choice(kind["enum"])
        if "const" in kind:
            return kind["const"]
        pool = {"boolean": [True, False], "integer": [0, 1, 2, 3], "number": [0.5], "object": [{}], "array": [[]]}
        return self._chance.choice(pool.get(kind.get("type", ""), ["word"]))

    def _kind(self, field: dict[str, Any], named: dict[str, Any]) -> dict[str, Any]:
        if "anyOf" in field:
            field = next(each for each in field["anyOf"] if each.get("type") != "null")
        return named[field["$ref"].rpartition("/")[2]] if "$ref" in field else field


def outsiders(secrets: list[Secret]) -> Iterator[tuple[Caller, str | None]]:
    """Callers, and the session that each is in. The last is inside one, and may promote what is its own."""
    yield Caller(agent=secrets[1].owner, toolsets=("all",)), None  # the name without its token
    yield Caller(toolsets=("all",)), None
    yield bound("stranger"), None
    yield bound(secrets[0].owner), secrets[0].session


def leaks(lithos: Lithos, seed: int) -> Iterator[str]:
    """What every tool shows of a session to those outside it."""
    chance = random.Random(seed)
    secrets = [furnish(lithos, number) for number in range(2 + seed % 4)]
    arguments = Arguments(chance, secrets)
    for caller, inside in outsiders(secrets):
        for tool in catalogue():
            given = arguments.for_tool(tool)
            said = outcome(lithos, tool, given, caller)
            abroad = RULINGS[tool.name] == "entries" and any(given.get(name) for name in ABROAD)
            for secret in secrets:
                shown = secret.context in said or (secret.entry in said and not abroad)
                if shown and secret.session != inside:
                    yield f"{tool.name} {given}: {said[:200]}"


def outcome(lithos: Lithos, tool: Tool, given: dict[str, Any], caller: Caller) -> str:
    try:
        answer = catalogue().call(lithos, tool.name, given, caller)
    except Exception as raised:
        return orjson.dumps(as_lithos_error(raised, tool.name).as_dict(), default=str).decode()
    return orjson.dumps(answer, default=str).decode()


def test_every_tool_has_a_ruling() -> None:
    """A new tool: say above whether it can show what belongs to a session; then the property below calls it too."""
    assert {each.name for each in catalogue()} == set(RULINGS)


@pytest.mark.parametrize("seed", [0, 1, 3])
def test_no_secret_of_a_session_reaches_another(lithos: Lithos, seed: int) -> None:
    assert [*leaks(lithos, seed)] == []


LEAKS: dict[str, list[tuple[Any, ...]]] = {
    "a search that does not filter": [
        ("lithos.ledger.search._only_for", lambda viewer: {}),
        ("lithos.ledger.ledger.visible", lambda row, viewer: True),
    ],
    "a list that does not filter": [(ChainScopes, "seen", lambda self, viewer: None)],
    "one thought by its index": [("lithos.ledger.ledger.visible", lambda row, viewer: True)],
    "messages for all": [(Reader, "sees", lambda self, message: True)],
    "private parts for all": [(Sessions, "_is_member", lambda self, tx, call, session_id: True)],
}


@pytest.mark.parametrize("leak", LEAKS)
def test_a_planted_leak_is_found(lithos: Lithos, leak: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for patch in LEAKS[leak]:
        monkeypatch.setattr(*patch)
    assert next(leaks(lithos, 0), None) is not None
