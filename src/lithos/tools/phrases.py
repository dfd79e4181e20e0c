"""How people and models say what a tool is for, in other words than its description: `lithos_tool_find` reads these."""

from __future__ import annotations

from collections.abc import Mapping

PHRASES: Mapping[str, tuple[str, ...]] = {
    # notes
    "lithos_write": (
        "save knowledge, remember something, store a fact or decision for others",
        "create a new note or document",
        "update, edit or overwrite an existing page",
        "write down what I learned",
        "append text to a note",
        "tag a note, set its title",
    ),
    "lithos_read": (
        "open a note and see its whole text",
        "show the full content of a document or page",
        "get a file of the vault by path or id",
    ),
    "lithos_delete": ("delete a note", "remove or throw away a page", "get rid of a document"),
    "lithos_list": (
        "list notes in a folder",
        "browse all pages",
        "show documents by author, tag or date",
        "recently updated notes",
    ),
    "lithos_recall": (
        "what do we know about a subject",
        "ask the memory a question",
        "have we seen this before",
        "look something up in everything that is stored",
    ),
    "lithos_search": (
        "full-text keyword search in notes",
        "find pages that mention an exact phrase or error message",
        "search documents by words",
    ),
    "lithos_semantic": (
        "find notes by meaning, similar ideas in other words",
        "semantic vector similarity search of documents",
    ),
    "lithos_links": (
        "backlinks: which pages link to this one",
        "what is a note connected or related to",
        "follow wiki-links in and out of a page",
    ),
    "lithos_tags": ("all tags or labels with counts", "which categories and keywords are used"),
    "lithos_move": (
        "rename a note",
        "move a document into another folder, links keep working",
        "change the path of a page",
    ),
    "lithos_note_history": (
        "old versions of a note",
        "who edited a page and when",
        "revisions of a document",
    ),
    "lithos_note_diff": (
        "compare two versions of a note",
        "differences between revisions of a page",
        "what exactly changed in this document",
    ),
    "lithos_note_revert": (
        "go back to an earlier version of a document",
        "roll a note back to an old revision",
    ),
    "lithos_note_restore": (
        "bring back a deleted note",
        "undelete, recover a removed page from the trash",
    ),
    "lithos_note_passages": (
        "how a note is split into passages or chunks for search",
        "which paragraphs of a long note are indexed",
        "why is this note found or not found",
        "read only the part of a note that matters",
    ),
    "lithos_validate": (
        "check the vault for broken links and bad frontmatter",
        "find problems in the notes: duplicates, invalid metadata, clashing names",
    ),
    "lithos_reindex": (
        "rebuild the search index",
        "rescan all files",
        "a file that I added by hand is not found",
    ),
    "lithos_stats": (
        "how many notes, tasks and agents there are",
        "size of the memory, the index and the disk space used",
        "is the server healthy, is the index up to date",
    ),
    # what happened
    "lithos_changes": (
        "what changed since yesterday or since my last visit",
        "what happened while I was away",
        "what did others do recently, news",
        "recent activity of all agents",
    ),
    "lithos_undo": (
        "undo my last change",
        "take back a mistake, revert what I just did",
        "reverse an edit, a move or a deletion",
    ),
    "lithos_get_briefing": (
        "catch me up before I start work",
        "overview of where things stand",
        "summary of open tasks, my claims and changes at the start of a session",
    ),
    # board
    "lithos_task_create": (
        "create a task or todo for the team",
        "open a ticket or issue",
        "plan a piece of work with dependencies",
    ),
    "lithos_task_claim": (
        "take or reserve a task so that no one else does it",
        "lock a piece of work for some time",
        "I want to work on this ticket, assign it to me",
    ),
    "lithos_task_renew": (
        "extend my lease or claim, I need more time",
        "keep holding a task while I work, heartbeat",
    ),
    "lithos_task_release": (
        "give a task back, I stop working on it",
        "unlock or unassign a ticket so that others can have it",
        "hand the work over to a colleague",
    ),
    "lithos_task_complete": ("mark a task as done", "I finished the ticket", "close completed work"),
    "lithos_task_status": (
        "who is working on what right now",
        "state of a task and its claims",
        "how far is a job, which tasks are taken",
    ),
    "lithos_task_cancel": (
        "cancel a task that is not needed any more",
        "abort or drop a ticket nobody wants",
    ),
    "lithos_task_update": (
        "change the title, priority, tags or description of a task",
        "edit or reopen a ticket",
        "make a task depend on another",
    ),
    "lithos_task_ready": (
        "what should I work on next",
        "which tasks are free and not blocked",
        "give me something to do",
    ),
    "lithos_task_list": (
        "list all open or finished tickets",
        "show tasks by status, creator or tag",
        "completed tasks of last week",
    ),
    "lithos_board_wait": (
        "wait until a task changes, be notified",
        "block until something happens on the board",
        "watch for updates instead of polling",
    ),
    "lithos_finding_post": (
        "report an intermediate result to the team",
        "share a discovery on a task",
        "tell the other agents what I found out",
    ),
    "lithos_finding_list": (
        "read the findings or progress reports of a task",
        "what have others discovered on this ticket",
    ),
    # agents
    "lithos_agent_register": (
        "register or introduce myself as an agent",
        "sign up with a name and capabilities",
    ),
    "lithos_agent_info": ("who is this agent", "when was an agent last active", "profile of one agent"),
    "lithos_agent_list": ("which agents are there", "list everybody who works here"),
    # lifecycle
    "lithos_feedback": (
        "a search result helped, or was useless or wrong",
        "rate a hit, give feedback on what was found",
    ),
    "lithos_decay": ("expire old knowledge", "mark notes as stale when their time has passed"),
    "lithos_promote": (
        "approve knowledge so that it becomes an official rule or policy",
        "promote a proven insight to a procedure",
    ),
    "lithos_conflicts": (
        "notes that contradict each other",
        "find documents that disagree or say the same twice",
    ),
    # garden
    "lithos_fs_list": ("list files in a directory of the garden", "which files are there"),
    "lithos_fs_read": ("read a file of the garden", "open a text file in the audited folder, by lines"),
    "lithos_fs_search": (
        "grep through files",
        "find a regular expression in the garden's files",
    ),
    "lithos_fs_hash": ("checksum or hash of a file", "has this file been altered"),
    "lithos_fs_ensure_dir": ("make a directory", "create an empty folder"),
    "lithos_fs_write": ("write a whole file in the garden", "create a new audited text file"),
    "lithos_fs_append": (
        "add a line at the end of a file",
        "append to a log file",
    ),
    "lithos_fs_patch": (
        "apply a unified diff or patch to a file",
        "replace some lines or a string in a file",
    ),
    "lithos_fs_move": ("rename or move a file in the garden",),
    "lithos_md_list_sections": (
        "outline of a markdown document",
        "which headings or sections does a file have, table of contents",
    ),
    "lithos_md_patch_section": (
        "change one section or heading of a note and nothing else",
        "replace the text under a heading",
        "add a bullet or paragraph to a section",
    ),
    "lithos_md_curate_list": (
        "tidy a list of bullet points: add, remove, merge items",
        "remove duplicates from a list in a document",
    ),
    "lithos_md_snapshot_history": (
        "keep a copy of a file before editing it",
        "save a snapshot or backup of a document as it is now",
    ),
    "lithos_md_lint": ("lint a markdown file and fix its formatting", "check headings and white space"),
    "lithos_lint_check": ("check documents against the style rules", "lint diagnostics without changing anything"),
    "lithos_propose_change": (
        "propose an edit for review without doing it yet",
        "preview or dry-run a change over several files",
    ),
    "lithos_apply_change": (
        "apply a proposed or approved change",
        "carry out the edit that was proposed",
    ),
    "lithos_events_log": (
        "record an event in the audit",
        "state in the audit log what I did elsewhere and why",
    ),
    "lithos_events_query": (
        "search the audit log",
        "which writes did somebody make, when and with what outcome",
        "failed operations",
    ),
    "lithos_events_verify": (
        "verify the signatures of the audit trail",
        "prove that nobody tampered with the events",
    ),
    "lithos_file_history": (
        "history of a file with diffs: who changed it and why",
        "blame a garden file",
    ),
    "lithos_garden_check": (
        "may this path be written, what does the policy say",
        "would an operation on a garden file be allowed",
        "do the garden's files match the rules",
    ),
    "lithos_garden_undo": ("operator: undo a change of garden files by event",),
    # ledger
    "mentisdb_append": (
        "write a thought to the chain",
        "log a decision, hypothesis or constraint in the immutable ledger",
        "record reasoning that cannot be edited later",
    ),
    "mentisdb_append_retrospective": (
        "write a lesson learned after a failure",
        "retrospective or post-mortem of an incident",
    ),
    "mentisdb_bootstrap": ("start a new chain of thoughts", "create a memory with its first thought"),
    "mentisdb_search": (
        "find earlier thoughts or decisions in the ledger",
        "search past reasoning",
    ),
    "mentisdb_list_chains": ("which chains or ledgers exist",),
    "mentisdb_recent_context": (
        "the last thoughts, to resume work",
        "recent context of a chain as a prompt",
    ),
    "mentisdb_memory_markdown": ("export the chain's memory as a Markdown document",),
    "mentisdb_get_thought": ("fetch one thought by id, hash or index",),
    "mentisdb_get_genesis_thought": ("the first thought of a chain",),
    "mentisdb_traverse_thoughts": (
        "walk through a chain's thoughts one after another",
        "page forwards or backwards through thoughts",
    ),
    "mentisdb_head": (
        "newest thought, length and latest hash of a chain",
        "is the chain intact",
    ),
    "lithos_ledger_context": (
        "why was this decided: the thoughts that led to one and follow from it",
        "causal thread around a thought",
    ),
    "lithos_ledger_prove": ("prove that a thought is part of the chain, inclusion proof",),
    "lithos_ledger_checkpoint": ("sign the current state of the ledger, make a checkpoint",),
    "lithos_ledger_forget": ("erase personal data from the ledger", "redact or delete a thought's content"),
    "lithos_ledger_import": ("import existing notes or a MEMORY.md file as thoughts",),
    "lithos_ledger_convert": ("convert a chain to another file format, jsonl or binary",),
    "mentisdb_list_agents": ("who has written to a chain",),
    "mentisdb_get_agent": ("one agent on a chain: aliases, keys, status",),
    "mentisdb_list_agent_registry": ("all registered agents of a chain with keys and status",),
    "mentisdb_upsert_agent": ("register an agent on a chain, change its display name or owner",),
    "mentisdb_set_agent_description": ("describe what an agent is responsible for",),
    "mentisdb_add_agent_alias": ("give an agent another name, an alias",),
    "mentisdb_add_agent_key": ("add a public key with which an agent signs",),
    "mentisdb_revoke_agent_key": ("a key was stolen: invalidate or revoke it",),
    "mentisdb_disable_agent": ("ban or block an agent from a chain",),
    # skills
    "mentisdb_skill_md": ("guide: how to use this memory well",),
    "mentisdb_list_skills": ("list every skill",),
    "mentisdb_skill_manifest": ("format and fields of a skill file",),
    "mentisdb_upload_skill": (
        "publish a skill or how-to so that others can reuse it",
        "share reusable instructions",
    ),
    "mentisdb_search_skill": ("find a skill for a job", "is there a how-to for this"),
    "mentisdb_read_skill": ("load the text of a skill", "read the instructions of a how-to"),
    "mentisdb_skill_versions": ("versions of a skill",),
    "mentisdb_deprecate_skill": ("mark a skill as outdated",),
    "mentisdb_revoke_skill": ("withdraw a dangerous skill for good",),
    # the operator's
    "lithos_token_new": ("create an access token for a client on another machine",),
    "lithos_token_list": ("list access tokens",),
    "lithos_token_revoke": ("revoke an access token",),
    "lithos_keys_rotate": ("rotate the key that signs the audit",),
    # code
    "lithos_search_code": (
        "find a function or class in the code base",
        "where is this implemented",
        "grep the repository",
    ),
    "lithos_get_symbol": ("definition and signature of a function or class", "show the source of a method"),
    "lithos_get_dependencies": ("what does a function call or import", "which modules does this file need"),
    "lithos_get_dependents": (
        "who calls this function",
        "what breaks if I change this code",
        "find usages and references",
    ),
    "lithos_find_similar_symbols": ("duplicate or similar functions in the code",),
    "lithos_get_file_symbols": ("outline of a source file: its functions and classes",),
    "lithos_get_file": ("read lines of a source file of a repository",),
    "lithos_list_files": ("list source files of a repository by pattern",),
    "lithos_get_structure": ("overview of a repository: folders, languages, size",),
    "lithos_get_context": ("explain a function: callers, callees, tests",),
    "lithos_detect_patterns": ("coding conventions of a project", "how do we handle errors or logging in this code"),
}
