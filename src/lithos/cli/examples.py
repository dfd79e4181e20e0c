"""One or two examples for every verb, shown at the end of its --help. A test runs those that need no other program."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

EXAMPLES: dict[str, tuple[str, ...]] = {
    "backup": ("lithos backup", "lithos backup ~/safe/monday.tar.gz --without-keys", "lithos backup --verify"),
    "board": ("lithos board", "lithos board --once"),
    "brief": ("lithos brief", "lithos brief 'the retry policy' --tier micro --agent ann"),
    "call": ("lithos call lithos_stats", "lithos call lithos_recall query='retry policy' limit=3"),
    "code add": ("lithos code add ~/src/app --name app",),
    "code list": ("lithos code list",),
    "code rebuild": ("lithos code rebuild app",),
    "code remove": ("lithos code remove app",),
    "code status": ("lithos code status",),
    "completion": (
        "lithos completion bash >> ~/.bashrc",
        "lithos completion zsh > ~/.zfunc/_lithos",
        "lithos completion fish > ~/.config/fish/completions/lithos.fish",
    ),
    "config show": ("lithos config show",),
    "conflicts": ("lithos conflicts --limit 10",),
    "db copy": ("lithos db copy --to postgresql://lithos@localhost/lithos",),
    "db migrate": ("lithos db migrate",),
    "db status": ("lithos db status",),
    "decay": ("lithos decay --dry-run",),
    "doctor": ("lithos doctor", "lithos doctor --full --repair"),
    "events list": ("lithos events list --since 1d --agent ann",),
    "events verify": ("lithos events verify",),
    "export": ("lithos export ~/lithos-export",),
    "feedback": ("lithos feedback 'retry policy' --outcome helped --used NOTE_ID",),
    "fs move": ("lithos fs move users/ana/notes.md users/ana/overview.md",),
    "garden check": ("lithos garden check users/ana/notes.md --op append",),
    "garden undo": ("lithos garden undo EVENT",),
    "history": ("lithos history users/ana/notes.md",),
    "hook": ("lithos hook session-start < /dev/null",),
    "import": ("lithos import ~/Obsidian/Work --dry-run", "lithos import conversations.json --from claude"),
    "inspect chunks": ("lithos inspect chunks retries.md",),
    "keys rotate": ("lithos keys rotate",),
    "ledger checkpoint": ("lithos ledger checkpoint",),
    "ledger convert": ("lithos ledger convert lithos --to jsonl",),
    "ledger export": ("lithos ledger export --out chain.json",),
    "ledger forget": ("lithos ledger forget THOUGHT_ID --reason 'a customer asked'",),
    "ledger import": ("lithos ledger import MEMORY.md --agent ann",),
    "ledger keygen": ("lithos ledger keygen ann.key",),
    "ledger prove": ("lithos ledger prove THOUGHT_ID --out proof.json",),
    "ledger sign": ("lithos ledger sign proof.json --key ann.key",),
    "ledger verify": ("lithos ledger verify --all",),
    "ledger verify-bundle": ("lithos ledger verify-bundle proof.json",),
    "log": ("lithos log --since 1d", "lithos log -f --agent ann"),
    "note delete": ("lithos note delete retries.md",),
    "note diff": ("lithos note diff retries.md",),
    "note edit": ("lithos note edit retries.md", "EDITOR=nano lithos note edit 'Retry policy'"),
    "note history": ("lithos note history retries.md",),
    "note list": ("lithos note list", "lithos note list --tag project --since 1w"),
    "note move": ("lithos note move retries.md archive --rewrite-links",),
    "note restore": ("lithos note restore retries.md",),
    "note revert": ("lithos note revert retries.md 3f9a2c",),
    "note show": ("lithos note show retries.md",),
    "note write": (
        "lithos note write --title Retries --content 'Retry three times.' --tag api",
        "git log -1 | lithos note write --note retries.md --append --content -",
    ),
    "promote": ("lithos promote NOTE_ID --evidence event:… --approved-by ana --actor bob --reason proven",),
    "open": ("lithos open", "lithos open --no-browser"),
    "ps": ("lithos ps",),
    "reindex": ("lithos reindex", "lithos reindex --clear"),
    "restore": ("lithos restore backup.tar.gz --data-dir ~/restored",),
    "search": ("lithos search 'retry policy'", "lithos search 'how often do we try again' --semantic"),
    "serve": ("lithos serve --transport http", "lithos serve --transport http --host 0.0.0.0 --read-only"),
    "service install": ("lithos service install",),
    "service remove": ("lithos service remove",),
    "service status": ("lithos service status",),
    "setup": (
        "lithos setup",
        "lithos setup --client cursor --project",
        "lithos setup --vault ~/Obsidian/Work --hooks",
        "lithos setup --remove",
    ),
    "stats": ("lithos stats",),
    "status": ("lithos status", "lithos status --follow"),
    "stop": ("lithos stop",),
    "task cancel": ("lithos task cancel TASK_ID",),
    "task claim": ("lithos task claim TASK_ID all --agent ann --minutes 30",),
    "task complete": ("lithos task complete TASK_ID --agent ann",),
    "task create": ("lithos task create 'Fix the pool' --priority 1 --tag backend",),
    "task findings": ("lithos task findings TASK_ID",),
    "task list": ("lithos task list", "lithos task list --status all --since 1w"),
    "task post": ("lithos task post TASK_ID 'The pool leaks under load.' --agent ann",),
    "task ready": ("lithos task ready",),
    "task release": ("lithos task release TASK_ID all --agent ann",),
    "task renew": ("lithos task renew TASK_ID all --minutes 30 --agent ann",),
    "task show": ("lithos task show TASK_ID",),
    "task update": ("lithos task update TASK_ID --priority 0",),
    "token list": ("lithos token list",),
    "token new": ("lithos token new --name laptop --scope read",),
    "token revoke": ("lithos token revoke laptop",),
    "tools": ("lithos tools", "lithos tools --toolsets ledger"),
    "undo": ("lithos undo --agent ann", "lithos undo EVENT --yes"),
    "uninstall": ("lithos uninstall --dry-run", "lithos uninstall"),
    "validate": ("lithos validate --all",),
}


def epilog(path: str, function: Callable[..., Any] | None) -> str:
    """The end of a verb's help; a verb without an entry gets its shortest form."""
    lines = EXAMPLES.get(path) or (f"lithos {path}{_required(function)}",)
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def _required(function: Callable[..., Any] | None) -> str:
    """Arguments and options that cannot be left out, in capitals."""
    words = []
    for name, parameter in inspect.signature(function).parameters.items() if function else ():
        if parameter.default is not inspect.Parameter.empty or name in ("context", "terminal"):
            continue
        declared = getattr((getattr(parameter.annotation, "__metadata__", None) or (None,))[0], "param_decls", None)
        flag = next((each for each in declared or () if each.startswith("--")), None)
        words.append(f" {flag} {name.upper()}" if flag else f" {name.upper()}")
    return "".join(words)
