"""The registry of tools, served over MCP. Importing this imports the SDK, which takes half a second."""

# ruff: noqa: E402 - the first calls must come before anything imports the SDK
from lithos.serving.mcp.sdk import build_models_late, defer_the_rest

defer_the_rest()
build_models_late()

from lithos.serving.http.app import http_app, require_token
from lithos.serving.http.guard import is_loopback
from lithos.serving.http.limits import ConnectionLimits
from lithos.serving.http.listener import Listener, bind
from lithos.serving.mcp.adapter import LithosServer, build_server
from lithos.serving.mcp.callers import Connection
from lithos.serving.mcp.start import BoundedLog, default_caller, set_up_log

__all__ = [
    "BoundedLog",
    "Connection",
    "ConnectionLimits",
    "Listener",
    "LithosServer",
    "bind",
    "build_server",
    "default_caller",
    "http_app",
    "is_loopback",
    "require_token",
    "set_up_log",
]
