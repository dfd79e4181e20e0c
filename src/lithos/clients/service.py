"""A server that starts with the machine: a systemd user unit on Linux, a launch agent on macOS."""

from __future__ import annotations

import plistlib
import shlex
from dataclasses import dataclass
from pathlib import Path

from lithos.clients.catalogue import Where

NAME, LABEL = "lithos", "memory.lithos.server"


@dataclass(frozen=True)
class ServiceFile:
    path: Path
    text: str
    start: tuple[tuple[str, ...], ...]  # commands after it was written
    stop: tuple[tuple[str, ...], ...]  # commands before it is removed
    state: tuple[str, ...]


def service_file(where: Where, command: list[str], uid: int) -> ServiceFile:
    return _launch_agent(where, command, uid) if where.platform == "darwin" else _unit(where, command)


def _unit(where: Where, command: list[str]) -> ServiceFile:
    words = " ".join(_quoted(word) for word in command)
    text = f"""\
[Unit]
Description=Lithos, shared memory of AI agents
After=network.target

[Service]
Type=exec
ExecStart={words}
Restart=on-failure
RestartSec=2
TimeoutStopSec=30
NoNewPrivileges=true

[Install]
WantedBy=default.target
"""
    control = ("systemctl", "--user")
    return ServiceFile(
        where.config_home() / f"systemd/user/{NAME}.service",
        text,
        start=((*control, "daemon-reload"), (*control, "enable", "--now", NAME)),
        stop=((*control, "disable", "--now", NAME),),
        state=(*control, "is-active", NAME),
    )


def _quoted(word: str) -> str:
    """As systemd reads it: quotes like a shell, and % and $ doubled."""
    return shlex.quote(word).replace("%", "%%").replace("$", "$$")


def _launch_agent(where: Where, command: list[str], uid: int) -> ServiceFile:
    facts = {
        "Label": LABEL,
        "ProgramArguments": command,
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "StandardErrorPath": str(where.home / "Library/Logs/lithos.log"),
    }
    path = where.home / f"Library/LaunchAgents/{LABEL}.plist"
    domain = f"gui/{uid}"
    return ServiceFile(
        path,
        plistlib.dumps(facts).decode(),
        start=(("launchctl", "bootstrap", domain, str(path)),),
        stop=(("launchctl", "bootout", f"{domain}/{LABEL}"),),
        state=("launchctl", "print", f"{domain}/{LABEL}"),
    )
