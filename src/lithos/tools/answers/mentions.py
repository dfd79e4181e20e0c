"""Names of tools in texts: a name that the reader cannot follow says how it can."""

from __future__ import annotations

import re
from collections.abc import Container
from typing import Any

MENTION = re.compile(r"\b(?:lithos|mentisdb)_[a-z0-9_]{2,39}\b")
CALL = "lithos_tool_call"
THROUGH = f" (through {CALL})"
# Arguments whose flag has another name than theirs, or that a hint names.
FLAGS = {
    "if_match": "--if-match",
    "path_prefix": "--path",
    "user_id": "--user",
    "claim_token": "--token",
    "ttl_minutes": "--minutes",
    "depends_on": "--needs",
    "as_of": "--as-of",
    "approved_by": "--approved-by",
    "rewrite_links": "--rewrite-links",
    "dry_run": "--dry-run",
    "chain_key": "--chain",
    "knowledge_id": "--note",
}
_WITH_ONE = re.compile(rf"({MENTION.pattern})" + r'(?: with \{"(\w+)": "([^"\s]*)"\})?')  # a call with one argument
_FLAG = re.compile(rf"`?\b({'|'.join(FLAGS)})\b`?")

# The verbs that do the same at the keyboard; a test holds them against the command line.
VERBS = {
    "lithos_read": "note show",
    "lithos_write": "note write",
    "lithos_move": "note move",
    "lithos_delete": "note delete",
    "lithos_note_restore": "note restore",
    "lithos_note_history": "note history",
    "lithos_note_diff": "note diff",
    "lithos_note_revert": "note revert",
    "lithos_note_passages": "inspect chunks",
    "lithos_search": "search",
    "lithos_semantic": "search --semantic",
    "lithos_recall": "search --hybrid",
    "lithos_task_list": "task list",
    "lithos_task_status": "task show",
    "lithos_task_ready": "task ready",
    "lithos_task_create": "task create",
    "lithos_task_update": "task update",
    "lithos_task_claim": "task claim",
    "lithos_task_renew": "task renew",
    "lithos_task_release": "task release",
    "lithos_task_complete": "task complete",
    "lithos_task_cancel": "task cancel",
    "lithos_finding_list": "task findings",
    "lithos_finding_post": "task post",
    "lithos_stats": "stats",
    "lithos_validate": "validate",
    "lithos_reindex": "reindex",
    "lithos_decay": "decay",
    "lithos_promote": "promote",
    "lithos_feedback": "feedback",
    "lithos_conflicts": "conflicts",
    "lithos_events_query": "events list",
    "lithos_events_verify": "events verify",
    "lithos_keys_rotate": "keys rotate",
    "lithos_file_history": "history",
    "lithos_garden_check": "garden check",
    "lithos_garden_undo": "garden undo",
    "lithos_fs_move": "fs move",
    "lithos_token_new": "token new",
    "lithos_token_list": "token list",
    "lithos_token_revoke": "token revoke",
    "lithos_ledger_prove": "ledger prove",
    "lithos_ledger_checkpoint": "ledger checkpoint",
    "lithos_ledger_forget": "ledger forget",
    "lithos_ledger_convert": "ledger convert",
    "lithos_ledger_import": "ledger import",
    "lithos_list": "note list",
    "lithos_board_wait": "board",
    "lithos_code_add": "code add",
    "lithos_code_list": "code list",
    "lithos_code_rebuild": "code rebuild",
    "lithos_code_remove": "code remove",
    "lithos_graph_stats": "graph stats",
    "lithos_message_send": "message send",
    "lithos_message_thread": "message list",
    "lithos_message_get": "message show",
    "lithos_message_trace": "message trace",
    "lithos_message_status": "message status",
    "lithos_message_forget": "message forget",
    "lithos_inbox_list": "inbox",
    "lithos_inbox_take": "inbox --take",
    "lithos_dead_letter_list": "dead-letter list",
    "lithos_dead_letter_replay": "dead-letter replay",
    "lithos_dead_letter_drop": "dead-letter drop",
    "lithos_session_create": "session new",
    "lithos_session_list": "session list",
    "lithos_session_get": "session show",
    "lithos_session_switch": "session switch",
    "lithos_session_suspend": "session suspend",
    "lithos_session_resume": "session resume",
    "lithos_session_complete": "session complete",
    "lithos_session_fail": "session fail",
    "lithos_session_close": "session close",
    "lithos_session_close_all": "session close-all",
    "lithos_session_promote": "session promote",
    "lithos_session_demote": "session demote",
    "lithos_session_rollback": "session rollback",
    "lithos_session_snapshot": "session snapshot",
    "lithos_session_restore": "session restore",
    "lithos_session_summary": "session summary",
    "lithos_worktree_open": "work open",
    "lithos_worktree_list": "work list",
    "lithos_worktree_close": "work close",
    "lithos_work_run": "work run",
    "lithos_work_result": "work result",
    "lithos_work_diff": "work diff",
    "lithos_work_commit": "work commit",
    "lithos_work_merge": "work merge",
    "lithos_work_check": "work check",
    "lithos_work_test": "work test",
    "lithos_tools_discover": "work discover",
    "lithos_tools_choose": "work choose",
    "lithos_changes": "log",
    "lithos_undo": "undo",
    "lithos_get_briefing": "brief",
    "lithos_tool_find": "tools",
    "lithos_tool_call": "call",
}


def followable(text: str, listed: Container[str]) -> str:
    """For a connection: a tool that it does not list is named with the way to call it, once."""
    said: set[str] = set()

    def followed(found: re.Match[str]) -> str:
        name = found.group()
        quoted = text[: found.start()].endswith('"') and text.startswith('"', found.end())  # an argument, as it is sent
        if name in listed or name in said or quoted or text.startswith(THROUGH, found.end()):
            return name
        said.add(name)
        return name + THROUGH

    return MENTION.sub(followed, text)


def described(value: Any, listed: Container[str]) -> Any:
    """A tool or a schema with each description in it followable."""
    if isinstance(value, dict):
        return {
            name: followable(each, listed)
            if name == "description" and isinstance(each, str)
            else described(each, listed)
            for name, each in value.items()
        }
    return [described(each, listed) for each in value] if isinstance(value, list) else value


def followable_answer(answer: dict[str, Any], listed: frozenset[str]) -> dict[str, Any]:
    """The hint of an expected refusal, for this connection."""
    hint = answer.get("hint")
    return {**answer, "hint": followable(hint, listed)} if isinstance(hint, str) else answer


def followable_error(shown: dict[str, Any], listed: frozenset[str], called: str) -> dict[str, Any]:
    """The `error` object of an answer, with its texts for this connection. The message may name the tool called."""
    message, hint = followable(shown["message"], listed | {called}), followable(shown["hint"], listed)
    return {**shown, "message": message, "hint": hint}


def at_the_keyboard(text: str) -> str:
    """For the command line: verbs instead of tools, flags instead of arguments."""
    shown, end = [], 0
    for found in _WITH_ONE.finditer(text):
        shown += [_flags(text[end : found.start()]), _verb(*found.groups())]
        end = found.end()
    return "".join([*shown, _flags(text[end:])])


def _verb(tool: str, argument: str | None, value: str | None) -> str:
    if tool in VERBS and argument in (None, "note"):  # verbs of notes take the note as their first word
        return f"`lithos {VERBS[tool]}{f' {value}' if value else ''}`"
    return f"`lithos call {tool}{f' {argument}={value}' if argument else ''}`"


def _flags(text: str) -> str:
    return _FLAG.sub(lambda found: FLAGS[found.group(1)], text)
