"""`lithos --help`: every verb with one line and the module that has it, in the order in which a person meets them.

Imports nothing: the overview is printed without typer (0.03 s instead of 0.24 s CPU), and a verb imports its own
module alone. `tests/flows/test_every_verb.py` compares the table with the modules.
"""

from __future__ import annotations

import sys

GROUPS: tuple[tuple[str, tuple[tuple[str, str, str], ...]], ...] = (
    (
        "Begin",
        (
            ("setup", "setup", "Connect your MCP clients to this memory."),
            ("status", "status", "One screen: what runs, how big, how current, problems."),
            ("doctor", "doctor", "Check everything; say what is wrong and how to repair it."),
            ("open", "page", "Open the page of this memory in a browser, signed in."),
            ("serve", "serve", "Serve the memory to MCP clients, over stdio or HTTP."),
            ("service", "service", "Run the HTTP server as a service (systemd, launchd)."),
            ("ps", "host", "List your hosts on this machine and their guests."),
            ("stop", "host", "End the host of this memory; clients start a new one."),
            ("uninstall", "uninstall", "Take Lithos out of clients and services; keep the knowledge."),
        ),
    ),
    (
        "Notes",
        (
            ("note", "note", "Read, write, edit, move, delete and restore notes."),
            ("search", "search", "Find notes, by words or by meaning."),
            ("brief", "log", "What an agent reads first: claims, tasks, changes."),
            ("log", "log", "What changed, and who changed it."),
            ("undo", "log", "Take back one change; shows first what it will do."),
            ("validate", "vault", "Look for broken links, bad frontmatter, duplicate ids."),
            ("reindex", "vault", "Compare all files with the index."),
            ("inspect", "search", "Look inside the index."),
        ),
    ),
    (
        "Agents at work",
        (
            ("board", "board", "Open tasks with their claims, live."),
            ("task", "task", "Tasks, claims and findings."),
            ("session", "session", "Undertakings that can be left and taken up again."),
            ("work", "work", "Worktrees of sessions: run, check, test, commit, merge."),
            ("inbox", "message", "Who wrote to you, newest first."),
            ("message", "message", "Messages between agents and people."),
            ("dead-letter", "message", "Messages that could not be delivered or handled."),
        ),
    ),
    (
        "Bring in and take out",
        (
            ("import", "import_memory", "Bring in a vault, Markdown, another memory, or chats."),
            ("export", "backup", "Write a folder of Markdown and JSON."),
            ("backup", "backup", "Write one file with everything that cannot be derived."),
            ("restore", "backup", "Bring a backup or an export back."),
        ),
    ),
    (
        "Code",
        (
            ("code", "code", "Repositories whose code agents ask about."),
            ("graph", "graph", "Answers over code, history and sources."),
        ),
    ),
    (
        "What knowledge is worth",
        (
            ("conflicts", "lifecycle", "List notes that may contradict each other."),
            ("feedback", "lifecycle", "Say which notes of a search helped."),
            ("decay", "lifecycle", "Mark notes stale whose time has passed."),
            ("promote", "lifecycle", "Record that knowledge may become a rule."),
        ),
    ),
    (
        "The record",
        (
            ("history", "garden", "A file's changes: who, when, why, with diffs."),
            ("events", "events", "The audit: what was changed, by whom, is it whole."),
            ("ledger", "ledger", "Chains of thoughts: verify, prove, forget, convert."),
            ("garden", "garden", "Files that agents tend within bounds."),
            ("fs", "garden", "For maintainers: move files of the garden."),
            ("keys", "keys", "The keys that seal the audit."),
        ),
    ),
    (
        "For programs",
        (
            ("call", "call", "Call a tool; its answer is printed as JSON."),
            ("tools", "call", "List the tools and what they cost a context window."),
            ("token", "token", "Bearer tokens for clients on other machines."),
            ("config", "config", "The settings in force, and where each comes from."),
            ("stats", "stats", "Counts and sizes."),
            ("db", "db", "The database: status, migrate, copy to PostgreSQL."),
            ("hook", "hook", "Run one hook of Claude Code."),
            ("completion", "completion", "Print a completion script for bash, zsh or fish."),
        ),
    ),
)
MODULES = {name: module for _, verbs in GROUPS for name, module, _ in verbs} | {"complete": "completion"}

_HEAD = """\
Usage: lithos [OPTIONS] COMMAND [ARGS]...

  Shared memory and coordination for teams of AI agents.

Options:
  --version   Print the version and exit.
  -h, --help  Show this message and exit.
"""
_FOOT = "`lithos VERB -h` explains a verb and shows examples. Begin with `lithos setup`."


def overview(bold: bool = False) -> str:
    """The whole text; headlines in bold where a person looks."""
    start, end = ("\x1b[1m", "\x1b[0m") if bold else ("", "")
    lines = [_HEAD]
    for title, verbs in GROUPS:
        width = max(len(name) for name, _, _ in verbs)
        lines += [f"{start}{title}:{end}", *(f"  {name:{width}}  {about}" for name, _, about in verbs), ""]
    return "\n".join([*lines, _FOOT])


def show_overview(arguments: list[str]) -> int | None:
    """Print what `lithos`, `-h`, `--help` or `--version` asks for; None: a verb is meant."""
    import os

    from lithos import __version__

    if arguments == ["--version"]:
        print(f"lithos {__version__}")
    elif arguments in (["-h"], ["--help"]):
        print(overview(bold=sys.stdout.isatty() and not os.environ.get("NO_COLOR")))
    elif not arguments:
        print(overview(), file=sys.stderr)
        return 2  # a script that forgot its verb must notice
    else:
        return None
    return 0
