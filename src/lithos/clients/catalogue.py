"""The MCP clients that `lithos setup` knows: where each keeps its servers, and in which form.

Formats as their documentation has them: Claude Code (code.claude.com/docs/en/mcp), Claude Desktop
(modelcontextprotocol.io), Cursor (cursor.com/docs/mcp), VS Code (code.visualstudio.com/docs, MCP configuration
reference), Codex (github.com/openai/codex, docs/config.md), Gemini CLI (geminicli.com/docs/tools/mcp-server),
Windsurf (docs.windsurf.com), Zed (zed.dev/docs/ai/mcp).
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Scope = Literal["user", "project"]
Format = Literal["json", "toml"]
SERVER = "lithos"  # the name of our entry in every client


@dataclass(frozen=True)
class Where:
    """The environment of one setup: tests give their own."""

    home: Path
    project: Path
    variables: Mapping[str, str]
    platform: str = sys.platform

    @classmethod
    def here(cls) -> Where:
        return cls(Path.home(), Path.cwd(), os.environ)

    def config_home(self) -> Path:
        return Path(self.variables.get("XDG_CONFIG_HOME") or self.home / ".config")

    def app_folder(self, name: str) -> Path:
        """Where a desktop program keeps its settings."""
        if self.platform == "darwin":
            return self.home / "Library/Application Support" / name
        return self.config_home() / name


@dataclass(frozen=True)
class Client:
    name: str  # as `--client` takes it
    title: str
    key: tuple[str, ...]  # the object that holds the servers
    commands: tuple[str, ...] = ()  # programs that show that it is installed
    form: Format = "json"
    typed: bool = False  # the entry says `"type": "stdio"`
    project_file: str | None = None
    instructions: str | None = None  # the file of standing instructions in a project
    after: str = "Restart it."

    def file(self, scope: Scope, where: Where) -> Path | None:
        if scope == "project":
            return where.project / self.project_file if self.project_file else None
        return _USER_FILES[self.name](where)

    def entry(self, command: str, arguments: list[str]) -> dict[str, Any]:
        kind = {"type": "stdio"} if self.typed else {}
        return {**kind, "command": command, "args": arguments}

    def is_installed(self, where: Where) -> bool:
        """Its program is on the PATH, or it has left a configuration."""
        file = _USER_FILES[self.name](where)
        own_folder = file.parent if file.parent != where.home else file
        found = [shutil.which(each, path=where.variables.get("PATH")) for each in self.commands]
        return own_folder.exists() or any(found)


_USER_FILES: dict[str, Callable[[Where], Path]] = {
    "claude-code": lambda where: Path(where.variables.get("CLAUDE_CONFIG_DIR") or where.home) / ".claude.json",
    "claude-desktop": lambda where: where.app_folder("Claude") / "claude_desktop_config.json",
    "cursor": lambda where: where.home / ".cursor/mcp.json",
    "vscode": lambda where: where.app_folder("Code") / "User/mcp.json",
    "codex": lambda where: Path(where.variables.get("CODEX_HOME") or where.home / ".codex") / "config.toml",
    "gemini": lambda where: where.home / ".gemini/settings.json",
    "windsurf": lambda where: where.home / ".codeium/windsurf/mcp_config.json",
    "zed": lambda where: where.config_home() / "zed/settings.json",
}

CLIENTS = (
    Client(
        "claude-code",
        "Claude Code",
        ("mcpServers",),
        commands=("claude",),
        typed=True,
        project_file=".mcp.json",
        instructions="CLAUDE.md",
        after="Start a new session; /mcp shows the connection.",
    ),
    Client("claude-desktop", "Claude Desktop", ("mcpServers",), after="Quit it and open it again."),
    Client(
        "cursor",
        "Cursor",
        ("mcpServers",),
        commands=("cursor",),
        project_file=".cursor/mcp.json",
        instructions=".cursor/rules/lithos.mdc",
        after="Restart it, then switch lithos on under Customize, MCPs.",
    ),
    Client(
        "vscode",
        "VS Code",
        ("servers",),
        commands=("code",),
        typed=True,
        project_file=".vscode/mcp.json",
        instructions=".github/copilot-instructions.md",
        after="Run the command “MCP: List Servers” and start lithos.",
    ),
    Client(
        "codex",
        "Codex",
        ("mcp_servers",),
        commands=("codex",),
        form="toml",
        project_file=".codex/config.toml",
        instructions="AGENTS.md",
        after="Start a new session; /mcp shows the connection.",
    ),
    Client(
        "gemini",
        "Gemini CLI",
        ("mcpServers",),
        commands=("gemini",),
        project_file=".gemini/settings.json",
        instructions="GEMINI.md",
        after="Start a new session; /mcp shows the connection.",
    ),
    Client(
        "windsurf",
        "Windsurf",
        ("mcpServers",),
        commands=("windsurf",),
        instructions=".windsurf/rules/lithos.md",
        after="Refresh the servers in Cascade.",
    ),
    Client(
        "zed",
        "Zed",
        ("context_servers",),
        commands=("zed", "zeditor"),
        project_file=".zed/settings.json",
        instructions="AGENTS.md",
        after="The agent panel's settings show the server.",
    ),
)


def client_named(name: str) -> Client | None:
    wanted = name.lower().replace(" ", "-").replace("_", "-")
    aliases = {"claude": "claude-code", "vs-code": "vscode", "code": "vscode", "gemini-cli": "gemini"}
    return next((each for each in CLIENTS if each.name == aliases.get(wanted, wanted)), None)


def our_command(arguments: list[str]) -> tuple[str, list[str]]:
    """The absolute command that starts this Lithos, and its arguments. A client's PATH is not the shell's."""
    launcher = Path(sys.prefix).parts
    uvx = shutil.which("uvx")
    if uvx and any(part.startswith(("archive-v", "environments-v")) for part in launcher):
        return uvx, ["lithos-memory", *arguments]  # uvx's own environment may be deleted any day
    beside = Path(sys.executable).parent / "lithos"
    if beside.exists():
        return str(beside), arguments
    found = shutil.which("lithos")
    return (
        (str(Path(found).absolute()), arguments) if found else (sys.executable, ["-m", "lithos.cli.entry", *arguments])
    )
