"""The registry of tools, served over MCP. Importing this imports the protocol's SDK (about 0.7 s): do it in verbs."""

from lithos.mcp.adapter import build_server
from lithos.mcp.http import http_app
from lithos.mcp.stdio import serve_stdio

__all__ = ["build_server", "http_app", "serve_stdio"]
