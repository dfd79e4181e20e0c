"""Every argument of every tool, in the forms that models send: the same as the strict form, or refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lithos.errors import InvalidInput
from lithos.tools.caller import Caller
from lithos.tools.catalogue import catalogue
from lithos.tools.dispatch.lenient import GUARDS
from lithos.tools.registry import CALL_BY_NAME, Tool

OPERATOR = Caller(operator=True)
TOOLS = [each for each in catalogue() if each.name != CALL_BY_NAME]
ARGUMENTS = [(each, name) for each in TOOLS for name in each.argument_schema.get("properties", {})]


def resolved(tool: Tool, schema: dict[str, Any]) -> dict[str, Any]:
    """The first alternative that is not null, references followed."""
    while "$ref" in schema or "anyOf" in schema:
        if "$ref" in schema:
            schema = tool.argument_schema["$defs"][schema["$ref"].rpartition("/")[2]]
        else:
            schema = next(each for each in schema["anyOf"] if each.get("type") != "null")
    return schema


def strict(tool: Tool, schema: dict[str, Any], text: str = "probe") -> Any:
    """One value that the schema accepts."""
    schema = resolved(tool, schema)
    if "enum" in schema or "const" in schema:
        return (schema.get("enum") or [schema["const"]])[0]
    match schema.get("type"):
        case "string":
            return text
        case "integer":
            return max(schema.get("minimum", 3), schema.get("exclusiveMinimum", 0) + 1)
        case "number":
            return schema.get("maximum", 1)
        case "boolean":
            return True
        case "array" if "prefixItems" in schema:
            return [1, 2]
        case "array":
            return [strict(tool, schema["items"], text)]
        case "object":
            needed = schema.get("required") or list(schema.get("properties", {}))[:1]
            return {name: strict(tool, schema["properties"][name], text) for name in needed}
    return text


def lenient(tool: Tool, schema: dict[str, Any], value: Any) -> Iterator[Any]:
    """The ways in which a model may send it instead."""
    takes_text = any(each.get("type") == "string" for each in schema.get("anyOf", ()))
    schema = resolved(tool, schema)
    if isinstance(value, bool):
        yield from (str(value), str(value).lower())
    elif isinstance(value, int | float):
        yield from (str(value), f" {value} ", float(value))
    elif isinstance(value, list | dict):
        yield json.dumps(value)
        if isinstance(value, list) and not isinstance(value[0], list) and not takes_text:
            yield value[0]
    elif "enum" in schema:
        yield from (value.upper(), value.lower(), value.capitalize())


def taken(tool: Tool, arguments: dict[str, Any]) -> Any:
    ready = catalogue().ready(tool.name, arguments, OPERATOR)
    return ready.values, ready.call


def required(tool: Tool) -> dict[str, Any]:
    schema = tool.argument_schema
    return {name: strict(tool, schema["properties"][name]) for name in schema.get("required", [])}


@pytest.mark.parametrize("tool", TOOLS, ids=lambda each: each.name)
def test_each_lenient_form_means_the_same_or_is_refused(tool: Tool) -> None:
    needed = required(tool)
    for name, schema in tool.argument_schema.get("properties", {}).items():
        value = "7" if name == "cursor" else strict(tool, schema)  # a page begins at a number, or another cursor
        right = taken(tool, {**needed, name: value})
        for form in lenient(tool, schema, value):
            given = {**needed, name: form}
            if name in GUARDS and type(form) is not type(value):
                with pytest.raises(InvalidInput):
                    taken(tool, given)
            else:
                assert taken(tool, given) == right, (name, form)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda each: each.name)
def test_null_is_not_given_and_no_way_around_a_guard(tool: Tool) -> None:
    needed = required(tool)
    without = taken(tool, needed)
    for name in tool.argument_schema.get("properties", {}):
        given = {**needed, name: None}
        if name in GUARDS or name in needed:
            with pytest.raises(InvalidInput):
                taken(tool, given)
        else:
            assert taken(tool, given) == without, name


@pytest.mark.parametrize("guard", sorted({name for _, name in ARGUMENTS} & GUARDS))
def test_an_empty_guard_is_not_no_guard(guard: str) -> None:
    for tool in (each for each, name in ARGUMENTS if name == guard):
        with pytest.raises(InvalidInput, match=guard):
            taken(tool, {**required(tool), guard: ""})


@given(text=st.text(max_size=40))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_text_stays_text_even_if_it_looks_like_json(text: str) -> None:
    tool = catalogue().get("lithos_md_patch_section")
    change = {"section_anchor": "A", "rationale": "r", "id": "n"}
    if any(character == "\0" or "\ud800" <= character <= "\udfff" for character in text):
        return
    values, _ = taken(tool, {**change, "change": {"replace": text}})
    assert values["change"].replace == text


def test_an_empty_text_is_a_value() -> None:
    values, _ = taken(catalogue().get("lithos_write"), {"agent": "a", "title": "t", "content": ""})
    assert values["content"] == ""
    tool = catalogue().get("lithos_md_patch_section")
    values, _ = taken(tool, {"section_anchor": "A", "rationale": "r", "id": "n", "change": {"replace": ""}})
    assert values["change"].replace == ""


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("lithos_md_patch_section", {"change": {"replace": "x", "with": "y"}}, "change.with"),
        ("mentisdb_append", {"relations": [{"kind": "Supports", "target": 0, "why": "x"}]}, "relations.0.why"),
        ("lithos_propose_change", {"edits": [{"path": "a", "chnge": {}}]}, "edits.0.chnge"),
        ("lithos_write", {"body": "x"}, "'body', did you mean 'content'"),
        ("mentisdb_append", {"agent": "x"}, "'agent', did you mean 'agent_id'"),
        ("lithos_md_patch_section", {"change": "x"}, "change: must be an object"),
        ("lithos_list", {"tags": "a, b"}, "tags: must be a list"),
        ("lithos_list", {"limit": True}, "limit: must be a whole number"),
    ],
)
def test_what_has_no_one_meaning_is_refused_in_plain_words(tool: str, arguments: dict[str, Any], said: str) -> None:
    found = catalogue().get(tool)
    with pytest.raises(InvalidInput) as refused:
        taken(found, {**{k: v for k, v in required(found).items() if k not in arguments}, **arguments})
    assert said in refused.value.message
    assert "valid dictionary" not in refused.value.message and "instance of" not in refused.value.message


def test_a_single_text_of_several_words_for_a_list_is_reported() -> None:
    ready = catalogue().ready("lithos_list", {"tags": "two words"}, OPERATOR)
    assert ready.values["tags"] == ["two words"]
    assert ready.notes == ("tags: taken as one item, 'two words'",)
