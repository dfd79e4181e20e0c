"""Hostile texts through every tool that keeps a text; `hostile_repository` has those that need a repository."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from lithos.errors import LithosError
from lithos.tools.caller import Caller
from lithos.tools.catalogue import catalogue
from tests.web.conftest import Site
from tests.web.memory import ANN, BOB, OPERATOR

Put = Callable[..., dict[str, Any] | None]

# What keeps no text of its caller, and why. `test_hostile` calls each with hostile strings for all that it takes as
# text: they are refused.
NO_TEXT = {
    "finds a thing by its id and refuses every other text": frozenset(
        """
        lithos_note_revert lithos_undo mentisdb_revoke_agent_key mentisdb_disable_agent lithos_ledger_checkpoint
        lithos_ledger_convert lithos_session_restore lithos_message_forget lithos_inbox_renew lithos_dead_letter_replay
        lithos_dead_letter_drop lithos_token_revoke lithos_md_snapshot_history lithos_code_remove lithos_code_rebuild
        lithos_mistake_outcome lithos_resume_task lithos_unlink_nodes
        """.split()  # noqa: SIM905 - read as a list of words
    ),
    "takes switches alone": frozenset(
        {"lithos_reindex", "lithos_doctor", "lithos_keys_rotate", "lithos_session_close_all"}
    ),
    "calls one of the other tools": frozenset({"lithos_tool_call"}),
}
EXCUSED = frozenset().union(*NO_TEXT.values())
ROOT = Caller(operator=True, agent="root")
SHELF = "users/vera/parts/shelf/notes.md"


def writing_tools() -> set[str]:
    return {tool.name for tool in catalogue() if not tool.reads}


def texts_of(name: str) -> list[str]:
    """The arguments of a tool that take any string, but for those that every tool has."""
    [tool] = [each for each in catalogue() if each.name == name]
    every = {"agent", "idempotency_key", "tool_call_id", "transaction_id", "agent_action_id"}
    fields = tool.arguments.model_json_schema()["properties"].items()
    return [field for field, schema in fields if field not in every and any(map(_free, _choices(schema)))]


def _choices(schema: dict[str, Any]) -> list[dict[str, Any]]:
    return list(schema.get("anyOf", [schema]))


def _free(schema: dict[str, Any]) -> bool:
    return schema.get("type") == "string" and "enum" not in schema


class Store:
    """Calls tools and counts what each one took: some refuse a text, which is fine."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.took: Counter[str] = Counter()

    def put(self, tool: str, caller: Caller = ANN, /, **arguments: Any) -> dict[str, Any] | None:
        try:
            answer = self.site.call(tool, caller, **arguments)
        except LithosError:
            return None
        if answer.get("success") is not False:
            self.took[tool] += 1
        return answer


def store_everywhere(store: Store, text: str, number: int) -> None:
    for part in (_notes, _board, _ledger, _skills, _sessions, _habits, _garden, _mail, _operator):
        part(store, text, number)


def _notes(store: Store, text: str, number: int) -> None:
    put = store.put
    note = put("lithos_write", Caller(agent=text), title=text, content=text, tags=[text], path="hostile")
    note = note or put("lithos_write", title=f"Hostile {number}", content=text, path="hostile", claim_id=text)
    if note is None:
        return
    put("lithos_move", id=note["id"], to=f"hostile/{number} {text.replace('/', '')[:60]}.md")
    put("lithos_feedback", used_ids=[note["id"]], outcome="helped", query=text)
    put("lithos_decay", policy=text)
    put("lithos_promote", source_entry_id=note["id"], evidence_refs=[text], approved_by=text, actor="x", reason=text)
    spare = put("lithos_write", title=f"Spare {number}", content=text, path="hostile") if number % 10 == 0 else None
    if spare:
        put("lithos_delete", Caller(agent=text), id=spare["id"])
        put("lithos_note_restore", Caller(agent=text), note=spare["id"])


def _board(store: Store, text: str, number: int) -> None:
    put = store.put
    put("lithos_agent_register", id=text, name=text, type=text, metadata={text[:50]: text})
    made = put("lithos_task_create", Caller(agent=text), title=text, description=text, agent=text, tags=[text])
    task = made["task_id"] if made else store.site.ids["Pick a name"]
    put("lithos_task_claim", Caller(agent=text), task_id=task, aspect=text, agent=text, ttl_minutes=30)
    put("lithos_finding_post", task_id=task, agent="ann", summary=text)
    if made:
        put("lithos_task_update", task_id=task, agent="ann", title=f"{text} x", description=text, tags=[text])
        put("lithos_task_update", task_id=task, agent="ann", title=text, tool_call_id=text, transaction_id=text)
        held = {"task_id": task, "aspect": text, "agent": text}
        put("lithos_task_renew", Caller(agent=text), **held, ttl_minutes=40)
        if number % 2:
            put("lithos_task_release", Caller(agent=text), **held)
        end = ("lithos_task_complete", "lithos_task_cancel")[number % 3 - 1] if number % 3 else None
        if end:
            put(end, Caller(agent=text), task_id=task, agent=text)


def _ledger(store: Store, text: str, number: int) -> None:
    put = store.put
    said = {"chain_key": "hostile", "content": text, "tags": [text], "concepts": [text]}
    put("mentisdb_bootstrap", agent_id="ann", **{**said, "chain_key": f"hostile-{number}"})
    made = put("mentisdb_append", agent_id="ann", thought_type="Idea", **said)
    put("mentisdb_append", agent_id=text, agent_name=text, agent_owner=text, thought_type="Idea", **said)
    put("mentisdb_append_retrospective", agent_id="ann", **said)
    about = {"agent_id": "ann", "chain_key": "hostile"}
    put("mentisdb_upsert_agent", display_name=text, agent_owner=text, description=text, **about)
    put("mentisdb_set_agent_description", description=text, **about)
    put("mentisdb_add_agent_alias", alias=f"{text} again", **about)
    put("mentisdb_add_agent_key", key_id=text, algorithm="ed25519", public_key_bytes=[number % 250] * 32, **about)
    if made and number % 40 == 0:
        put("lithos_ledger_forget", OPERATOR, chain_key="hostile", thought_index=made["thought"]["index"], reason=text)
    if number % 40 == 1:
        put("lithos_ledger_import", OPERATOR, text=f"- {text}\n", chain_key="hostile")


def _skills(store: Store, text: str, number: int) -> None:
    skill = f"---\nname: hostile {number}\ndescription: d\n---\n# Skill\n\n{text}\n"
    made = store.put("mentisdb_upload_skill", agent_id="ann", chain_key="hostile", content=skill)
    if made and number % 2:
        store.put("mentisdb_deprecate_skill", skill_id=made["skill"]["skill_id"], chain_key="hostile", reason=text)
    elif made:
        store.put("mentisdb_revoke_skill", skill_id=made["skill"]["skill_id"], chain_key="hostile", reason=text)


def _sessions(store: Store, text: str, number: int) -> None:
    put = store.put
    if number % 12:  # a session costs more than all others together
        return
    made = put("lithos_session_create", name=text[:90], metadata={"x": text})
    made = made or put("lithos_session_create", name=f"hostile {number}", metadata={"x": text})
    if made is None:
        return
    here = {"session_id": made.get("session_id") or made["session"]["id"]}
    put("lithos_session_activate", **here)
    put("lithos_session_invite", agents=[text], **here)
    put("lithos_session_context_update", changes={"current_task": text}, **here)
    lock = put("lithos_file_lock", path=f"src/{text}", **here)
    if lock:
        put("lithos_file_unlock", path=f"src/{text}", token=lock["token"])
    for verb in ("join", "switch", "leave"):
        put(f"lithos_session_{verb}", Caller(agent=text), **here)
    put("lithos_session_suspend", **here)
    put("lithos_session_resume", **here)
    if number % 24:
        put("lithos_session_fail", reason=text, **here)
    else:
        put("lithos_session_complete", summary=text, **here)
    put("lithos_session_close", **here)


def _habits(store: Store, text: str, number: int) -> None:
    put = store.put
    put("lithos_scratchpad_write", key=f"k{number}", note=text)
    put("lithos_set_preference", category="ui", preference=text)
    put("lithos_preference_feedback", category="ui", suggestion=text, response="accepted")
    put("lithos_save_checkpoint", summary=text, completed=[text], next_steps=[text])
    if number % 12 == 0:  # each looks for all that are like it
        put("lithos_report_mistake", pattern=f"{number} {text}", error=text, fix=text, tags=[text])
    put("lithos_store_summary", content=text, summary_type="decision", tags=[text])
    put("lithos_store_entry", content=text, category="decision", title=text)
    put("lithos_record_file", path=f"src/{number}.py", operation="modified", summary=text, changes=text)
    put("lithos_record_pattern", category=text[:80], name=text[:100], pattern=text)
    put("lithos_record_failure", approach=text, reason=text)


def _garden(store: Store, text: str, number: int) -> None:
    put = store.put
    put("lithos_events_log", type="observation", op="say", rationale=text, user_id="vera", evidence_refs=[text])
    if number % 6:
        return
    file = {"path": SHELF, "user_id": "vera"}
    why = {"rationale": text[:200].replace("\n", " ")}
    put("lithos_fs_ensure_dir", path="users/vera/parts/shelf", user_id="vera")
    put("lithos_fs_write", content=f"# Shelf\n\n## List\n\n- one\n\n{text}\n", **file, **why)
    put("lithos_fs_append", text=f"\n{text}\n", **file, **why)
    put("lithos_fs_patch", old_string="- one", new_string=f"- one\n- {number}", **file, **why)
    put("lithos_md_patch_section", section_anchor="List", change={"append": text}, **file, **why)
    put("lithos_md_curate_list", section_anchor="List", ops=["append"], items=[text], reason=text, **file)
    put("lithos_md_lint", path=SHELF, user_id="vera", fix=True)
    made = put(
        "lithos_propose_change", path=f"users/vera/parts/p{number}/notes.md", content=f"{text}\n", user_id="vera"
    )
    if made and number % 12:
        put("lithos_apply_change", ROOT, proposal_id=made["proposal_id"], user_id="vera", **why)
    elif made and number % 24:
        put("lithos_proposal_refuse", ROOT, proposal_id=made["proposal_id"], **why)


def _mail(store: Store, text: str, number: int) -> None:
    put = store.put
    put("lithos_message_send", target="operator", payload={"subject": text, "body": text})
    put("lithos_message_send", target="bob", type="acme.thing", payload={text: text})
    if number % 8 == 0:
        put("lithos_message_request", target="bob", body=text, timeout=0)
    settled = {1: ("reply", {"body": text}), 9: ("fail", {"error": text, "retry": False}), 5: ("ack", {})}
    verb, more = settled.get(number % 16, ("", {}))
    for each in (put("lithos_inbox_take", BOB) or {"messages": ()})["messages"] if verb else ():
        put(f"lithos_inbox_{verb}", BOB, message_id=each["message"]["id"], token=each["token"], **more)
    if number % 8 == 2:
        sent = put("lithos_message_send", Caller(agent=text), target="bob", body=text)
        if sent:
            put("lithos_message_cancel", Caller(agent=text), message_id=sent["message_id"])


def _operator(store: Store, text: str, number: int) -> None:
    if number % 20:
        return
    store.put("lithos_token_new", OPERATOR, name=text[:60], scope="read")
    for each in store.site.call("lithos_events_query", OPERATOR, path=SHELF, limit=1)["rows"]:
        store.put("lithos_garden_undo", ROOT, event_id=each["id"], rationale=text)
    moved = {"path": SHELF, "new_path": f"users/vera/parts/s{number}/notes.md"}
    store.put("lithos_fs_move", ROOT, rationale=text, **moved)
