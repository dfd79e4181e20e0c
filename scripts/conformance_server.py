"""The server that the official conformance suite talks to: our transport, guard and adapter, with the suite's fixtures.

The suite calls tools, resources and prompts by fixed names. The text tools go through our registry like any other; what
Lithos does not offer (images, resources, prompts) is mounted beside it on the same server, so that at least the
transport is put to the test with them. Never part of a release.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from pydantic import Field
from typing_extensions import TypedDict

from lithos.app import Lithos, open_lithos
from lithos.core.call import Call
from lithos.errors import Unavailable
from lithos.serving import Listener, bind, build_server, http_app
from lithos.settings import LithosConfig, StorageSettings
from lithos.tools.caller import Caller
from lithos.tools.catalogue import catalogue
from lithos.tools.registry import Registry, Tool, tool

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
SILENCE = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA=="
SCHEMA_2020_12: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


class Said(TypedDict):
    text: str


@tool(toolset="core", reads=True)
def test_simple_text(lithos: Lithos, call: Call) -> Said:
    """Answer with a text."""
    return {"text": "This is a simple text response for testing."}


@tool(toolset="core", reads=True)
def test_error_handling(lithos: Lithos, call: Call) -> Said:
    """Fail on purpose."""
    raise Unavailable("this tool intentionally returns an error for testing")


@tool(toolset="core", reads=True)
def test_header_tool(
    lithos: Lithos,
    call: Call,
    region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})] = "",
    priority: Annotated[int, Field(json_schema_extra={"x-mcp-header": "Priority"})] = 0,
    verbose: Annotated[bool, Field(json_schema_extra={"x-mcp-header": "Verbose"})] = False,
) -> Said:
    """Takes arguments that are mirrored in headers."""
    return {"text": f"{region} {priority} {verbose}"}


@tool(toolset="core", reads=True)
def test_missing_capability(lithos: Lithos, call: Call) -> Said:
    """Needs a client that can sample; `_mount` refuses the others, because no tool of Lithos needs one."""
    return {"text": "sampled"}


@tool(toolset="core", reads=True)
def json_schema_2020_12_tool(lithos: Lithos, call: Call, name: str = "") -> Said:
    """Has a schema with every keyword of 2020-12."""
    return {"text": name}


class WithSchema(Tool):
    @cached_property
    def input_schema(self) -> dict[str, Any]:
        return SCHEMA_2020_12


def _registry() -> Registry:
    plain = json_schema_2020_12_tool
    special = WithSchema(
        plain.name, plain.toolset, plain.function, plain.reads, plain.destructive, plain.agent_argument
    )
    return Registry(
        [*catalogue(), test_simple_text, test_error_handling, test_header_tool, test_missing_capability, special]
    )


# ---------------------------------------------------------------------- what Lithos itself does not offer
IMAGE = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
AUDIO = {"type": "audio", "data": SILENCE, "mimeType": "audio/wav"}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _resource(uri: str, text: str, kind: str = "text/plain") -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": text}}


CONTENTS: dict[str, list[dict[str, Any]]] = {
    "test_image_content": [IMAGE],
    "test_audio_content": [AUDIO],
    "test_embedded_resource": [_resource("test://embedded-resource", "This is an embedded resource content.")],
    "test_multiple_content_types": [
        _text("Multiple content types test:"),
        IMAGE,
        _resource("test://mixed-content-resource", '{"test":"data","value":123}', "application/json"),
    ],
}
RESOURCES: dict[str, dict[str, Any]] = {
    "test://static-text": {"mimeType": "text/plain", "text": "This is the content of the static text resource."},
    "test://static-binary": {"mimeType": "image/png", "blob": PIXEL},
    "test://watched-resource": {"mimeType": "text/plain", "text": "Watched."},
}
TEMPLATE = {"uriTemplate": "test://template/{id}/data", "name": "template", "description": "Data by id."}
PROMPTS: list[dict[str, Any]] = [
    {"name": "test_simple_prompt", "description": "Simple."},
    {
        "name": "test_prompt_with_arguments",
        "description": "With arguments.",
        "arguments": [{"name": name, "description": name, "required": True} for name in ("arg1", "arg2")],
    },
    {
        "name": "test_prompt_with_embedded_resource",
        "description": "With a resource.",
        "arguments": [{"name": "resourceUri", "description": "Which.", "required": True}],
    },
    {"name": "test_prompt_with_image", "description": "With an image."},
]


def _prompt(name: str, given: Mapping[str, str]) -> list[dict[str, Any]]:
    if name == "test_prompt_with_arguments":
        return [_text(f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'")]
    if name == "test_prompt_with_embedded_resource":
        embedded = _resource(given["resourceUri"], "Embedded resource content for testing.")
        return [embedded, _text("Please process the embedded resource above.")]
    if name == "test_prompt_with_image":
        return [IMAGE, _text("Please analyze the image above.")]
    return [_text("This is a simple prompt for testing.")]


def _read(uri: str) -> dict[str, Any]:
    if uri.startswith("test://template/"):
        number = uri.split("/")[3]
        text = f'{{"id":"{number}","templateTest":true,"data":"Data for ID: {number}"}}'
        return {"uri": uri, "mimeType": "application/json", "text": text}
    if uri not in RESOURCES:
        raise MCPError(code=types.INVALID_PARAMS, message="Resource not found", data={"uri": uri})
    return {"uri": uri, **RESOURCES[uri]}


def _mount(server: Server[Any]) -> None:
    ours = server.get_request_handler("tools/call")
    assert ours is not None

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> Any:
        if params.name in CONTENTS:
            return {"content": CONTENTS[params.name], **DONE}
        if params.name == "test_missing_capability":
            raise MCPError(
                code=types.MISSING_REQUIRED_CLIENT_CAPABILITY,
                message="this tool needs a client that can sample",
                data={"requiredCapabilities": {"sampling": {}}},
            )
        return await ours.handler(context, params)

    async def list_resources(context: Any, params: Any) -> Any:
        return {"resources": [{"uri": uri, "name": uri.rpartition("/")[2], **_kind(uri)} for uri in RESOURCES], **CACHE}

    async def list_templates(context: Any, params: Any) -> Any:
        return {"resourceTemplates": [TEMPLATE], **CACHE}

    async def read(context: Any, params: types.ReadResourceRequestParams) -> Any:
        return {"contents": [_read(str(params.uri))], **CACHE}

    async def list_prompts(context: Any, params: Any) -> Any:
        return {"prompts": PROMPTS, **CACHE}

    async def get_prompt(context: Any, params: types.GetPromptRequestParams) -> Any:
        said = _prompt(params.name, params.arguments or {})
        return {"messages": [{"role": "user", "content": content} for content in said], **DONE}

    async def complete(context: Any, params: Any) -> Any:
        return {"completion": {"values": ["paris", "park", "party"], "total": 3, "hasMore": False}, **DONE}

    async def nothing(context: Any, params: Any) -> Any:
        return {}

    for method, kind, handler in (
        ("tools/call", types.CallToolRequestParams, call_tool),
        ("resources/list", types.PaginatedRequestParams, list_resources),
        ("resources/templates/list", types.PaginatedRequestParams, list_templates),
        ("resources/read", types.ReadResourceRequestParams, read),
        ("resources/subscribe", types.SubscribeRequestParams, nothing),
        ("resources/unsubscribe", types.UnsubscribeRequestParams, nothing),
        ("prompts/list", types.PaginatedRequestParams, list_prompts),
        ("prompts/get", types.GetPromptRequestParams, get_prompt),
        ("completion/complete", types.CompleteRequestParams, complete),
        ("logging/setLevel", types.SetLevelRequestParams, nothing),
    ):
        server.add_request_handler(method, kind, handler)


DONE = {"resultType": "complete"}  # what the SDK adds to typed results and expects in plain ones
CACHE = {**DONE, "ttlMs": 60_000, "cacheScope": "private"}


def _kind(uri: str) -> dict[str, str]:
    return {"mimeType": RESOURCES[uri]["mimeType"]}


async def serve(folder: str, port: int) -> None:
    config = LithosConfig(storage=StorageSettings(data_dir=Path(folder)))
    lithos = open_lithos(config)
    registry = _registry()
    server = build_server(lithos, registry)
    _mount(server)
    app = http_app(server, registry, config.server, default=Caller(), tokens=lithos.tokens, health=lithos.health)
    listener = Listener(app, bind("127.0.0.1", port), server.in_flight, 1)
    print(listener.port, flush=True)
    await listener.serve()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        asyncio.run(serve(place, int(sys.argv[1]) if len(sys.argv) > 1 else 0))
