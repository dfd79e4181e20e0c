"""`lithos --help`: the verbs in groups, in the order in which a person meets them."""

from __future__ import annotations

from typing import Any

import typer.core

GROUPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Begin", ("setup", "status", "doctor", "open", "serve", "service", "ps", "stop", "uninstall")),
    ("Notes", ("note", "search", "brief", "log", "undo", "validate", "reindex", "inspect")),
    ("Agents at work", ("board", "task", "session", "work", "inbox", "message", "dead-letter")),
    ("Bring in and take out", ("import", "export", "backup", "restore")),
    ("Code", ("code", "graph")),
    ("What knowledge is worth", ("conflicts", "feedback", "decay", "promote")),
    ("The record", ("history", "events", "ledger", "garden", "fs", "keys")),
    ("For programs", ("call", "tools", "token", "config", "stats", "db", "hook", "completion")),
)


class Overview(typer.core.TyperGroup):
    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for title, names in GROUPS:
            known = [(name, self.commands[name]) for name in names if name in self.commands]
            width = formatter.width - 6 - max((len(name) for name, _ in known), default=0)
            with formatter.section(title):
                formatter.write_dl([(name, command.get_short_help_str(width)) for name, command in known])
