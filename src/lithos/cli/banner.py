"""How to connect to a server that was just started, for the person who started it."""

from __future__ import annotations

import json
import shlex
import socket
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lithos.settings import LithosConfig

TOKEN = "LITHOS_TOKEN"  # the variable; the token itself is shown once, by `lithos token new`


def banner(config: LithosConfig, port: int) -> str:
    from lithos.serving import is_loopback

    url = f"http://{_reachable_name(config)}:{port}"
    needs_token = not is_loopback(config.server.host)
    clients = _with_token(url) if needs_token else _without_token(url, config)
    data = config.storage.data_dir.expanduser().resolve()
    command = f"{_lithos()} token new --name NAME --data-dir {shlex.quote(str(data))}"
    ways = {"page": f"{url}/", "Streamable HTTP": f"{url}/mcp", "SSE": f"{url}/sse", "health": f"{url}/health"}
    token = f"A client needs a token in ${TOKEN}; `{command}` makes one. " if needs_token else ""
    lines = ["", f"Lithos is serving {data}", *_table(ways), "", f"{token}Connect a client:", *_table(clients)]
    return "\n".join([*lines, "", "Ctrl-C ends it."])


def _lithos() -> str:
    """This command with its path: neither a shell nor a client need have it on theirs."""
    from lithos.clients.catalogue import our_command

    command, arguments = our_command([])
    return shlex.join([command, *arguments])


def _reachable_name(config: LithosConfig) -> str:
    """The bound address; where every address is bound, one of this machine that the Host check accepts."""
    host = config.server.host
    if host not in ("0.0.0.0", "::"):  # noqa: S104 - compared only
        return f"[{host}]" if ":" in host else host
    allowed = config.server.allowed_hosts
    return allowed[0].partition(":")[0] if allowed else _own_address()


def _own_address() -> str:
    """The address from which this machine reaches others. Connecting a datagram socket sends nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # reserved for documentation
        except OSError:  # no network: only this machine can connect
            return "127.0.0.1"
        return str(probe.getsockname()[0])


def _without_token(url: str, config: LithosConfig) -> dict[str, str]:
    data = shlex.quote(str(config.storage.data_dir.expanduser().resolve()))
    return {
        "Claude Code": f"claude mcp add --transport http lithos {url}/mcp",
        "Codex": f"codex mcp add lithos -- {_lithos()} serve --data-dir {data}",
        "Cursor": _file(".cursor/mcp.json", "mcpServers", {"url": f"{url}/mcp"}),
        "VS Code": _file(".vscode/mcp.json", "servers", {"type": "http", "url": f"{url}/mcp"}),
        "Gemini CLI": _file("~/.gemini/settings.json", "mcpServers", {"httpUrl": f"{url}/mcp"}),
    }


def _with_token(url: str) -> dict[str, str]:
    """Each client reads the variable in its own way. Cursor and VS Code take `${env:NAME}`, Gemini CLI `$NAME`."""
    header = {"headers": {"Authorization": f"Bearer ${{env:{TOKEN}}}"}}
    gemini = {"httpUrl": f"{url}/mcp", "headers": {"Authorization": f"Bearer ${TOKEN}"}}
    return {
        "Claude Code": f'claude mcp add --transport http lithos {url}/mcp --header "Authorization: Bearer ${TOKEN}"',
        "Codex": f"codex mcp add lithos --url {url}/mcp --bearer-token-env-var {TOKEN}",
        "Cursor": _file(".cursor/mcp.json", "mcpServers", {"url": f"{url}/mcp", **header}),
        "VS Code": _file(".vscode/mcp.json", "servers", {"type": "http", "url": f"{url}/mcp", **header}),
        "Gemini CLI": _file("~/.gemini/settings.json", "mcpServers", gemini),
    }


def _file(path: str, key: str, entry: dict[str, Any]) -> str:
    return f"{path}   {json.dumps({key: {'lithos': entry}})}"


def _table(rows: dict[str, str]) -> list[str]:
    return [f"  {name:16} {text}" for name, text in rows.items()]
