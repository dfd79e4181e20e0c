"""The registry of tools, served over MCP. Importing this imports the protocol's SDK (about 0.7 s): do it in verbs."""

from lithos.mcp.adapter import LithosServer, build_server, tool_result
from lithos.mcp.callers import Connection
from lithos.mcp.http import http_app, is_loopback
from lithos.mcp.listener import Listener, bind
from lithos.mcp.start import default_caller, require_token, set_up_log

__all__ = [
    "Connection",
    "Listener",
    "LithosServer",
    "bind",
    "build_server",
    "default_caller",
    "http_app",
    "is_loopback",
    "require_token",
    "set_up_log",
    "tool_result",
]
