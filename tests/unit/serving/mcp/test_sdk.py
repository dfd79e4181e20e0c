"""The SDK is imported in part, and whole when somebody wants it whole."""

from __future__ import annotations

import subprocess
import sys

UNUSED = ("mcp.client", "mcp.client.client", "mcp.server.mcpserver", "httpx2", "cryptography", "jsonschema", "rich")


def _run(script: str) -> str:
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.strip()


def test_a_server_imports_neither_the_client_nor_the_framework_and_builds_models_on_need() -> None:
    built = "[m.__pydantic_complete__ for m in WireModel.__subclasses__()]"
    script = (
        "import sys, lithos.serving, lithos.host.server.host; from mcp_types._wire_base import WireModel; "
        f"print([m for m in {UNUSED!r} if m in sys.modules], len({built}) > 50, any({built}))"
    )
    assert _run(script) == "[] True False"


def test_the_rest_of_the_sdk_is_there_on_demand() -> None:
    """Each use in a process that has imported the server alone."""
    uses = ("import mcp; mcp.Client", "from mcp import Client", "from mcp.server import MCPServer", "import mcp.client")
    script = f"""
import os, lithos.serving
for use in {uses!r}:
    if not (child := os.fork()):
        exec(use + "; from mcp.server import Server; print(Server.__name__, flush=True)")
        os._exit(0)
    os.waitpid(child, 0)
"""
    assert _run(script).split() == ["Server"] * len(uses)


def test_an_sdk_that_is_imported_already_is_left_alone() -> None:
    assert (
        _run("import mcp, lithos.serving, sys; print(type(mcp).__name__, 'mcp.client' in sys.modules)") == "module True"
    )
