"""The SDK is imported in part, and whole when somebody wants it whole."""

from __future__ import annotations

import subprocess
import sys

import pytest

UNUSED = ("mcp.client", "mcp.client.client", "mcp.server.mcpserver", "httpx2", "cryptography", "jsonschema", "rich")


def _run(script: str) -> str:
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize("first", ["lithos.serving", "lithos.serving, lithos.host.server.host"])
def test_a_server_imports_neither_the_client_nor_the_framework(first: str) -> None:
    assert _run(f"import sys, {first}; print([m for m in {UNUSED!r} if m in sys.modules])") == "[]"


def test_models_of_the_protocol_are_built_on_need() -> None:
    built = "[m.__pydantic_complete__ for m in WireModel.__subclasses__()]"
    script = (
        f"import lithos.serving; from mcp_types._wire_base import WireModel; print(len({built}) > 50, any({built}))"
    )
    assert _run(script) == "True False"


@pytest.mark.parametrize(
    "use", ["import mcp; mcp.Client", "from mcp import Client", "from mcp.server import MCPServer", "import mcp.client"]
)
def test_the_rest_of_the_sdk_is_there_on_demand(use: str) -> None:
    assert _run(f"import lithos.serving; {use}; from mcp.server import Server; print(Server.__name__)") == "Server"


def test_an_sdk_that_is_imported_already_is_left_alone() -> None:
    assert (
        _run("import mcp, lithos.serving, sys; print(type(mcp).__name__, 'mcp.client' in sys.modules)") == "module True"
    )
