"""The jobs of `agents`: what a coding agent asks of a shared memory in a week, and the memory it asks."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from benchmarks.agents import Desk, Failed

Job = Callable[[Desk], Awaitable[None]]
ME = {"agent": "claude-code-anna"}
TOPICS = {
    "payments": "Stripe webhook idempotency refund ledger invoice retry signature settlement currency",
    "search": "tantivy tokenizer ranking snippet embedding recall fusion reindex query latency",
    "deploy": "container rollout canary health probe secret registry rollback blue-green pipeline",
    "auth": "OAuth token refresh session cookie scope audience expiry revocation PKCE",
    "database": "PostgreSQL migration vacuum index lock replication checkpoint deadlock pool",
    "frontend": "hydration bundle route component accessibility cache form validation suspense",
}
ASPECTS = ("overview", "runbook", "decision", "incident review", "conventions", "open questions", "limits", "setup")


def paragraph(words: list[str], rng: random.Random) -> str:
    verbs = ("depends on", "must not change", "is retried by", "was measured against", "breaks", "is owned by")
    lines = []
    for _ in range(5):
        one, two, three = rng.sample(words, 3)
        lines.append(f"The {one} {rng.choice(verbs)} the {two}, because the {three} took {rng.randint(2, 900)} ms.")
    return " ".join(lines)


async def fill(desk: Desk) -> dict[str, Any]:
    """48 notes, 30 tasks with findings, 60 thoughts, 3 skills, by three agents."""
    rng, stored = random.Random(7), {"notes": {}, "tasks": [], "thoughts": []}
    for topic, text in TOPICS.items():
        words = text.split()
        for place, aspect in enumerate(ASPECTS):
            title = f"{topic.capitalize()} {aspect}"
            parts = [f"# {title}", paragraph(words, rng), "## Rules", paragraph(words, rng)]
            other = f"{topic.capitalize()} {ASPECTS[(place + 1) % len(ASPECTS)]}"
            parts += ["## Steps", f"- first {words[0]}\n- then {words[1]}", "## See also", f"[[{other}]]"]
            note = {"title": title, "content": "\n\n".join(parts), "tags": [topic, aspect.replace(" ", "-")]}
            written = await desk.set_up("lithos_write", agent="codex-ben", path=topic, **note)
            stored["notes"][title] = written
    for number in range(30):
        topic = list(TOPICS)[number % len(TOPICS)]
        words = TOPICS[topic].split()
        made = await desk.set_up(
            "lithos_task_create",
            agent="codex-ben",
            title=f"{rng.choice(('Fix', 'Measure', 'Document', 'Rework'))} the {words[number % len(words)]} of {topic}",
            description=paragraph(words, rng),
            tags=[topic],
            priority=number % 5,
        )
        stored["tasks"].append(made["task_id"])
        for _ in range(number % 3):
            summary = paragraph(words, rng)[:160]
            await desk.set_up("lithos_finding_post", agent="codex-ben", task_id=made["task_id"], summary=summary)
    await desk.set_up("lithos_task_claim", task_id=stored["tasks"][0], aspect="work", agent="codex-ben")
    await desk.set_up("mentisdb_bootstrap", content="What the team has decided and learnt", agent_id="planner")
    kinds = ("Decision", "Constraint", "LessonLearned", "Finding", "Plan")
    for number in range(60):
        topic = list(TOPICS)[number % len(TOPICS)]
        thought = await desk.set_up(
            "mentisdb_append",
            agent_id="planner",
            thought_type=kinds[number % len(kinds)],
            content=paragraph(TOPICS[topic].split(), rng)[:200],
            tags=[topic],
        )
        stored["thoughts"].append(thought["thought"])
    await desk.set_up("mentisdb_upsert_agent", agent_id="planner", display_name="Planner")
    for name in ("review-pull-request", "write-migration", "handle-incident"):
        text = f"---\nname: {name}\ndescription: How we {name.replace('-', ' ')}\ntags: [team]\n---\n"
        text += "\n".join(f"{step}. {paragraph(TOPICS['deploy'].split(), rng)}" for step in range(1, 6))
        await desk.set_up("mentisdb_upload_skill", agent_id="planner", content=text)
    return stored


def jobs(stored: dict[str, Any]) -> list[tuple[str, Job]]:
    """Each with its name, in an order in which later ones do not spoil earlier ones."""
    return [
        (job.__name__.removeprefix("_").replace("_", " "), partial(_given, job, stored))
        for job in (*READING, *WRITING, *WORKING, *THINKING, *KEEPING)
    ]


async def _given(job: Callable[[Desk, dict[str, Any]], Awaitable[None]], stored: dict[str, Any], desk: Desk) -> None:
    await job(desk, stored)


# ------------------------------------------------------------------- finding and reading
async def _answer_a_question(desk: Desk, stored: dict[str, Any]) -> None:
    await desk.do("ask the memory", "lithos_recall", {"query": "why is the Stripe webhook retried"})


async def _find_an_error_text(desk: Desk, stored: dict[str, Any]) -> None:
    await desk.do("search notes by exact words", "lithos_search", {"query": "deadlock replication"})


async def _find_by_meaning(desk: Desk, stored: dict[str, Any]) -> None:
    await desk.do("search notes by meaning", "lithos_semantic", {"query": "logging in expires too early"})


async def _ask_what_is_not_there(desk: Desk, stored: dict[str, Any]) -> None:
    await desk.do("ask the memory", "lithos_recall", {"query": "recipe for sourdough bread with rye flour"})


async def _recall_then_read(desk: Desk, stored: dict[str, Any]) -> None:
    found = await desk.do("ask the memory", "lithos_recall", {"query": "deploy runbook rollback"})
    await desk.do("read a note", "lithos_read", {"id": found["results"][0]["id"]})


async def _read_by_title(desk: Desk, stored: dict[str, Any]) -> None:
    by_id = {"id": stored["notes"]["Auth conventions"]["id"]}
    await desk.do("read a note", "lithos_read", {"id": "Auth conventions"}, by_id)


async def _read_a_linked_note(desk: Desk, stored: dict[str, Any]) -> None:
    by_id = {"id": stored["notes"]["Search setup"]["id"]}
    note = await desk.do("read a note", "lithos_read", {"path": "search/search-limits.md"}, by_id)
    assert "[[Search setup]]" in note["content"] or "Search overview" in note["content"]
    await desk.do("read a note", "lithos_read", {"id": "[[Search setup]]"}, by_id)


async def _list_a_folder(desk: Desk, stored: dict[str, Any]) -> None:
    await desk.do("list notes of a folder", "lithos_list", {"path_prefix": "payments"})


async def _list_everything(desk: Desk, stored: dict[str, Any]) -> None:
    await desk.do("list all notes", "lithos_list")


async def _list_by_one_tag(desk: Desk, stored: dict[str, Any]) -> None:
    await desk.do("list notes by tag", "lithos_list", {"tags": "runbook"}, {"tags": ["runbook"]})


async def _see_the_tags(desk: Desk, stored: dict[str, Any]) -> None:
    await desk.do("list the tags", "lithos_tags")


async def _see_the_neighbours(desk: Desk, stored: dict[str, Any]) -> None:
    by_id = {"id": stored["notes"]["Database runbook"]["id"]}
    await desk.do("links to and from a note", "lithos_links", {"id": "database/database-runbook.md"}, by_id)


async def _what_changed_since_yesterday(desk: Desk, stored: dict[str, Any]) -> None:
    if "lithos_changes" in desk.known:
        await desk.do("what has changed since yesterday", "lithos_changes", {"since": "yesterday"})
        return
    await desk.do("notes changed since a day", "lithos_list", {"since": "yesterday"}, {"since": "2026-01-01"})
    await desk.do("tasks changed since a day", "lithos_task_list", {"status": "all", "since": "2026-01-01"})
    await desk.do("recent thoughts", "mentisdb_recent_context")


async def _begin_the_day(desk: Desk, stored: dict[str, Any]) -> None:
    if "lithos_get_briefing" in desk.known:
        await desk.do("catch me up before I start", "lithos_get_briefing")
        return
    await desk.do("what is going on", "lithos_stats")
    await desk.do("who works on what", "lithos_task_status")
    await desk.do("newest notes", "lithos_list", {"limit": 10})


async def _everything_on_a_topic(desk: Desk, stored: dict[str, Any]) -> None:
    await desk.do("ask the memory", "lithos_recall", {"query": "canary rollout decisions and tasks"})
    if "lithos_changes" not in desk.known:  # then recall knows notes only
        await desk.do("find thoughts", "mentisdb_search", {"text": "canary rollout", "limit": 5})
        await desk.do("list tasks by tag", "lithos_task_list", {"tags": ["deploy"]})


READING = (
    _answer_a_question,
    _find_an_error_text,
    _find_by_meaning,
    _ask_what_is_not_there,
    _recall_then_read,
    _read_by_title,
    _read_a_linked_note,
    _list_a_folder,
    _list_everything,
    _list_by_one_tag,
    _see_the_tags,
    _see_the_neighbours,
    _what_changed_since_yesterday,
    _begin_the_day,
    _everything_on_a_topic,
)


# ------------------------------------------------------------------- writing
async def _remember_something_new(desk: Desk, stored: dict[str, Any]) -> None:
    await desk.do("ask the memory", "lithos_recall", {"query": "feature flags service outage"})
    note = {"title": "Feature flags fail open", "content": "When the flag service is down, flags read as off."}
    await desk.do("save a note", "lithos_write", {**note, **ME, "tags": '["flags"]'}, {**note, **ME, "tags": ["flags"]})


async def _remember_with_wrong_names(desk: Desk, stored: dict[str, Any]) -> None:
    right = {"title": "Cache keys carry the tenant", "content": "Every cache key begins with the tenant's id."}
    wrong = {"title": right["title"], "body": right["content"]}
    await desk.do("save a note", "lithos_write", {**wrong, **ME}, {**right, **ME})


async def _correct_one_section(desk: Desk, stored: dict[str, Any]) -> None:
    note = stored["notes"]["Payments runbook"]["id"]
    change = {"section_anchor": "Rules", "change": {"append": "- refunds need two people"}, "rationale": "new rule"}
    forms = ({**change, "id": "Payments runbook"}, {**change, "id": note})
    await desk.do("change one section of a note", "lithos_md_patch_section", *forms)


async def _correct_a_note(desk: Desk, stored: dict[str, Any]) -> None:
    note = await desk.do("read a note", "lithos_read", {"id": stored["notes"]["Deploy limits"]["id"]})
    content = note["content"].replace("## Rules", "## Rules\n\nAt most two rollouts an hour.\n")
    change = {"id": note["id"], "content": content, "if_match": note["version"], **ME}
    await desk.do("update a note", "lithos_write", change)


async def _append_to_a_note(desk: Desk, stored: dict[str, Any]) -> None:
    line = {"content": "Second incident on 2026-11-02, same cause.", "append": True, **ME}
    by_id = {**line, "id": stored["notes"]["Database incident review"]["id"]}
    await desk.do("append to a note", "lithos_write", {**line, "id": "database/database-incident-review"}, by_id)


async def _tag_a_note(desk: Desk, stored: dict[str, Any]) -> None:
    await desk.do(
        "update a note",
        "lithos_write",
        {"id": stored["notes"]["Auth limits"]["id"], "tags": ["auth", "limits", "reviewed"], **ME},
    )


async def _move_a_note(desk: Desk, stored: dict[str, Any]) -> None:
    to = {"to": "archive", "rewrite_links": True, **ME}
    by_id = {**to, "id": stored["notes"]["Frontend setup"]["id"]}
    await desk.do("rename a note and keep links working", "lithos_move", {**to, "id": "Frontend setup"}, by_id)


async def _take_back_a_mistake(desk: Desk, stored: dict[str, Any]) -> None:
    note = stored["notes"]["Search decision"]["id"]
    await desk.do("update a note", "lithos_write", {"id": note, "content": "wrong file", **ME})
    if "lithos_undo" in desk.known:
        await desk.do("take back my last change", "lithos_undo", {})
        return
    past = await desk.do("old versions of a note", "lithos_note_history", {"id": note})
    rows = next(value for value in past.values() if isinstance(value, list))
    await desk.do(
        "bring an older version back", "lithos_note_revert", {"id": note, "version": rows[0]["replaced_version"], **ME}
    )


async def _delete_and_restore(desk: Desk, stored: dict[str, Any]) -> None:
    note = stored["notes"]["Search conventions"]["id"]
    await desk.do("delete a note", "lithos_delete", {"id": note, **ME})
    with contextlib.suppress(Failed):
        await desk.do("read a note", "lithos_read", {"id": note})
    if "lithos_undo" in desk.listed:  # as the description of lithos_delete says
        await desk.do("take back my last change", "lithos_undo", {})
        return
    await desk.do("bring back a deleted note", "lithos_note_restore", {"note": note, **ME})


async def _write_on_an_old_version(desk: Desk, stored: dict[str, Any]) -> None:
    note = stored["notes"]["Deploy setup"]
    stale = {"id": note["id"], "content": "# Deploy setup\n\nUse make deploy.", "if_match": "0" * 64, **ME}
    try:
        await desk.do("update a note", "lithos_write", stale)
    except Failed:
        fresh = await desk.do("read a note", "lithos_read", {"id": note["id"]})
        await desk.do("update a note", "lithos_write", {**stale, "if_match": fresh["version"]})


async def _see_who_changed_a_note(desk: Desk, stored: dict[str, Any]) -> None:
    await desk.do("who edited a note and when", "lithos_note_history", {"id": stored["notes"]["Deploy limits"]["id"]})


WRITING = (
    _remember_something_new,
    _remember_with_wrong_names,
    _correct_one_section,
    _correct_a_note,
    _append_to_a_note,
    _tag_a_note,
    _move_a_note,
    _take_back_a_mistake,
    _delete_and_restore,
    _write_on_an_old_version,
    _see_who_changed_a_note,
)


# ------------------------------------------------------------------- working together
async def _take_the_next_task(desk: Desk, stored: dict[str, Any]) -> None:
    ready = await desk.do("what can I work on next", "lithos_task_ready", {"limit": "5"}, {"limit": 5})
    task = ready["tasks"][0]["id"]
    taken = await desk.do("take a task", "lithos_task_claim", {"task_id": task, "aspect": "work", **ME})
    report = {"task_id": task, "summary": "The pool was too small; 20 connections suffice.", **ME}
    await desk.do("report a finding", "lithos_finding_post", report)
    done = {"task_id": task, "claim_token": taken["token"], **ME}
    await desk.do("finish a task", "lithos_task_complete", done)


async def _see_the_board(desk: Desk, stored: dict[str, Any]) -> None:
    await desk.do("who works on what", "lithos_task_status")


async def _look_at_one_task(desk: Desk, stored: dict[str, Any]) -> None:
    await desk.do("status of a task", "lithos_task_status", {"task_id": stored["tasks"][2]})


async def _read_reports(desk: Desk, stored: dict[str, Any]) -> None:
    await desk.do("findings of a task", "lithos_finding_list", {"task_id": stored["tasks"][5]})


async def _plan_work(desk: Desk, stored: dict[str, Any]) -> None:
    first = await desk.do(
        "create a task",
        "lithos_task_create",
        {"title": "Write the migration", **ME, "tags": "db"},
        {"title": "Write the migration", **ME, "tags": ["db"]},
    )
    then = {"title": "Run the migration", "depends_on": [first["task_id"]], "priority": "1", **ME}
    await desk.do("create a task", "lithos_task_create", then, {**then, "priority": 1})


async def _meet_a_taken_task(desk: Desk, stored: dict[str, Any]) -> None:
    await desk.do("take a task", "lithos_task_claim", {"task_id": stored["tasks"][0], "aspect": "work", **ME})
    await desk.do("who works on it", "lithos_task_status", {"task_id": stored["tasks"][0]})


async def _hand_over(desk: Desk, stored: dict[str, Any]) -> None:
    task = stored["tasks"][7]
    await desk.do("take a task", "lithos_task_claim", {"task_id": task, "aspect": "work", **ME})
    await desk.do(
        "report a finding", "lithos_finding_post", {"task_id": task, "summary": "Half done: see branch x.", **ME}
    )
    await desk.do("give a task back", "lithos_task_release", {"task_id": task, "aspect": "work", **ME})


async def _keep_a_claim(desk: Desk, stored: dict[str, Any]) -> None:
    task = stored["tasks"][9]
    await desk.do("take a task", "lithos_task_claim", {"task_id": task, "aspect": "tests", "ttl_minutes": 5, **ME})
    await desk.do("keep a claim longer", "lithos_task_renew", {"task_id": task, "aspect": "tests", **ME})
    await desk.do("give a task back", "lithos_task_release", {"task_id": task, "aspect": "tests", **ME})


async def _change_a_task(desk: Desk, stored: dict[str, Any]) -> None:
    await desk.do(
        "change the priority of a task", "lithos_task_update", {"task_id": stored["tasks"][11], "priority": 0, **ME}
    )


async def _cancel_a_task(desk: Desk, stored: dict[str, Any]) -> None:
    task = {"task_id": stored["tasks"][13], **ME}
    if "lithos_task_update" in desk.listed:  # its schema offers the status
        await desk.do("change a task", "lithos_task_update", {**task, "status": "cancelled"})
        return
    await desk.do("cancel a task that no one wants", "lithos_task_cancel", task)


async def _name_a_task_by_its_title(desk: Desk, stored: dict[str, Any]) -> None:
    title = "Audit the signature of payments"
    made = await desk.do("create a task", "lithos_task_create", {"title": title, **ME})
    forms = ({"task_id": title}, {"task_id": made["task_id"]})
    found = await desk.do("status of a task", "lithos_task_status", forms[0])
    if not found["tasks"]:
        desk.cost.wrong += 1
        await desk.do("status of a task", "lithos_task_status", forms[1])


async def _see_the_agents(desk: Desk, stored: dict[str, Any]) -> None:
    await desk.do("which agents are there", "lithos_agent_list")


WORKING = (
    _take_the_next_task,
    _see_the_board,
    _look_at_one_task,
    _read_reports,
    _plan_work,
    _meet_a_taken_task,
    _hand_over,
    _keep_a_claim,
    _change_a_task,
    _cancel_a_task,
    _name_a_task_by_its_title,
    _see_the_agents,
)


# ------------------------------------------------------------------- thinking
async def _log_a_decision(desk: Desk, stored: dict[str, Any]) -> None:
    thought = {"thought_type": "Decision", "content": "We keep one writer per ledger.", "agent_id": ME["agent"]}
    await desk.do("record a decision in the immutable ledger", "mentisdb_append", thought)


async def _log_with_the_wrong_case(desk: Desk, stored: dict[str, Any]) -> None:
    thought = {"thought_type": "lessonlearned", "content": "Never retry without a key.", "agent_id": ME["agent"]}
    right = {**thought, "thought_type": "LessonLearned"}
    await desk.do("record a lesson in the ledger", "mentisdb_append", thought, right)


async def _find_a_thought(desk: Desk, stored: dict[str, Any]) -> None:
    if "lithos_changes" in desk.known:  # then recall knows every kind
        await desk.do(
            "ask the memory", "lithos_recall", {"query": "migration deadlock", "kinds": "thought", "limit": 5}
        )
        return
    await desk.do("find earlier thoughts", "mentisdb_search", {"text": "migration deadlock", "limit": 5})


async def _resume_from_the_chain(desk: Desk, stored: dict[str, Any]) -> None:
    await desk.do("the latest thoughts to resume work", "mentisdb_recent_context")


async def _walk_back_from_a_thought(desk: Desk, stored: dict[str, Any]) -> None:
    start = {"anchor_id": stored["thoughts"][40]["id"], "direction": "backward", "chunk_size": 5}
    await desk.do("walk a chain of thoughts", "mentisdb_traverse_thoughts", start)


async def _use_a_skill(desk: Desk, stored: dict[str, Any]) -> None:
    if "lithos_changes" in desk.known:  # then recall knows every kind
        found = await desk.do(
            "ask the memory", "lithos_recall", {"query": "how we write a migration", "kinds": "skill"}
        )
        skill = found["results"][0]["id"]
    else:
        skill = (await desk.do("find a skill", "mentisdb_search_skill", {"text": "migration"}))["skills"][0]["skill_id"]
    await desk.do("read a skill", "mentisdb_read_skill", {"skill_id": skill})


THINKING = (
    _log_a_decision,
    _log_with_the_wrong_case,
    _find_a_thought,
    _resume_from_the_chain,
    _walk_back_from_a_thought,
    _use_a_skill,
)


# ------------------------------------------------------------------- keeping house
async def _check_the_vault(desk: Desk, stored: dict[str, Any]) -> None:
    await desk.do("check notes for broken links", "lithos_validate")


async def _see_the_audit(desk: Desk, stored: dict[str, Any]) -> None:
    await desk.do("which writes were made, from the audit", "lithos_events_query", {"agent": "codex-ben", "limit": 10})


async def _edit_a_garden_file(desk: Desk, stored: dict[str, Any]) -> None:
    line = {"text": "## Monday\n\n- began\n", "rationale": "daily log", "user_id": "anna"}
    places = ({"path": "log.md"}, {"path": "users/anna/notes.md"})
    await desk.do("append to a file", "lithos_fs_append", *({**line, **place} for place in places))
    await desk.do("read a file", "lithos_fs_read", {**places[1], "user_id": "anna"})


async def _see_how_big_it_is(desk: Desk, stored: dict[str, Any]) -> None:
    await desk.do("how big is the memory", "lithos_stats")


async def _report_what_helped(desk: Desk, stored: dict[str, Any]) -> None:
    found = await desk.do("ask the memory", "lithos_recall", {"query": "token refresh rules", "limit": 3})
    used = {"used_ids": [found["results"][0]["id"]], "outcome": "helped", "receipt": found["receipt"]}
    await desk.do("say that a search result helped", "lithos_feedback", used)


KEEPING = (_check_the_vault, _see_the_audit, _edit_a_garden_file, _see_how_big_it_is, _report_what_helped)
