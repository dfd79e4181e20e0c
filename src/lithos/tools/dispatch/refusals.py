"""Refusals of wrong arguments: the problem in one sentence, and the next call to make."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from lithos.core.text import nearest
from lithos.errors import InvalidInput

if TYPE_CHECKING:
    from lithos.tools.registry import Tool

MOST_PROBLEMS = 5  # a model corrects one call at a time; the sixth problem only costs tokens
MOST_MEMBERS = 8  # of an enum; more is a wall of text
LONGEST_SHOWN = 40

# Names that models use for ours, nearest meaning first.
SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "agent": ("agent_id", "asked_by", "id"),
    "agent_id": ("agent", "id"),
    "author": ("agent", "agent_id", "created_by"),
    "user": ("user_id", "agent"),
    "body": ("content", "text", "summary", "description"),
    "text": ("content", "query", "summary"),
    "markdown": ("content",),
    "message": ("summary", "content"),
    "finding": ("summary",),
    "details": ("description", "content", "summary"),
    "name": ("title", "id", "agent_name"),
    "subject": ("title",),
    "note": ("id", "knowledge_id"),
    "note_id": ("id", "note", "knowledge_id"),
    "document_id": ("id",),
    "doc_id": ("id",),
    "task": ("task_id",),
    "id": ("task_id", "note", "skill_id", "thought_id", "event_id", "agent_id"),
    "skill": ("skill_id",),
    "event": ("event_id",),
    "event_id": ("event",),
    "file": ("path",),
    "filename": ("path",),
    "folder": ("path_prefix", "path", "root"),
    "directory": ("path_prefix", "path"),
    "path": ("path_prefix", "id", "to"),
    "q": ("query", "text"),
    "question": ("query", "text"),
    "search": ("query", "text"),
    "keywords": ("query",),
    "query": ("text", "pattern"),
    "pattern": ("query",),
    "top_k": ("limit",),
    "k": ("limit",),
    "count": ("limit", "last_n"),
    "max_results": ("limit",),
    "page_size": ("limit",),
    "n": ("limit", "last_n"),
    "tag": ("tags", "tags_any"),
    "labels": ("tags",),
    "ttl": ("ttl_minutes",),
    "minutes": ("ttl_minutes",),
    "duration": ("ttl_minutes",),
    "token": ("claim_token",),
    "version": ("if_match",),
    "etag": ("if_match",),
    "section": ("section_anchor",),
    "heading": ("section_anchor",),
    "anchor": ("section_anchor", "anchor_id"),
    "reason": ("rationale",),
    "why": ("rationale", "reason"),
    "new_path": ("to",),
    "destination": ("to", "new_path"),
    "target": ("to",),
    "type": ("thought_type",),
    "kind": ("kinds", "type", "thought_type"),
    "kinds": ("kind",),
    "chain": ("chain_key",),
    "after": ("since",),
    "from": ("since", "old"),
    "dependencies": ("depends_on",),
    "blocked_by": ("depends_on",),
    "args": ("arguments",),
    "params": ("arguments",),
    "parameters": ("arguments",),
    "input": ("arguments",),
    "tool": ("name",),
    "tool_name": ("name",),
}
_TYPES = {
    "string_type": "must be text",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "list_type": 'must be a list, for example ["a", "b"]',
    "tuple_type": "must be a pair of numbers",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "finite_number": "must be a finite number",
}
_BOUNDS = {
    "greater_than_equal": ("ge", "at least"),
    "greater_than": ("gt", "more than"),
    "less_than_equal": ("le", "at most"),
    "less_than": ("lt", "less than"),
}


def refusal(tool: Tool, error: ValidationError, given: Mapping[str, Any]) -> InvalidInput:
    """One error for all problems of a call, each with its place."""
    found = _without_branches(error.errors(include_url=False))
    problems = list(dict.fromkeys(_problem(tool, each, given) for each in found))
    shown, rest = problems[:MOST_PROBLEMS], problems[MOST_PROBLEMS:]
    more = f"; and {len(rest)} more" if rest else ""
    return InvalidInput(f"{tool.name}: {'; '.join(shown)}{more}", hint=_next_call(tool, found, given))


def _without_branches(found: Iterable[Any]) -> list[Any]:
    """Pydantic reports each alternative of a union; the last one per argument says enough."""
    seen: dict[tuple[Any, ...], Any] = {}
    for each in found:
        place = tuple(part for part in each["loc"] if not _is_branch(part))
        seen.setdefault((place, each["type"] == "extra_forbidden"), {**each, "loc": place})
    return list(seen.values())


def _is_branch(part: int | str) -> bool:
    return isinstance(part, str) and ("[" in part or part in ("str", "int", "float", "bool", "function-after"))


def _problem(tool: Tool, each: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    place, kind, context = each["loc"], each["type"], each.get("ctx", {})
    name = ".".join(str(part) for part in place)[:120] or "arguments"
    if kind == "extra_forbidden":
        meant = suggested(name, tool.arguments.model_fields, given) if len(place) == 1 else None
        return f"unknown argument {name!r}" + (f", did you mean {meant!r}?" if meant else "")
    if kind in ("missing", "missing_argument"):
        return f"{name!r} is missing"
    if kind in ("literal_error", "enum"):
        return f"{name}: {_not_a_member(tool, place, each['input'])}"
    if kind in _TYPES:
        return f"{name}: {_TYPES[kind]}, not {_shape(each['input'])}"
    if kind in _BOUNDS:
        key, words = _BOUNDS[kind]
        return f"{name}: must be {words} {context[key]}"
    if kind == "string_too_long":
        return f"{name}: has {len(each['input'])} characters; {context['max_length']} is the most"
    if kind == "string_too_short":
        return f"{name}: is too short"
    if kind == "too_long":
        return f"{name}: has more than {context['max_length']} items"
    if kind == "too_short":
        return f"{name}: needs at least {context['min_length']} item"
    return f"{name}: {each['msg'].removeprefix('Value error, ')}"


def suggested(name: str, known: Iterable[str], given: Mapping[str, Any]) -> str | None:
    """The argument that a wrong name most likely means: a synonym first, then the nearest spelling."""
    names = list(known)
    free = [each for each in names if each not in given]
    return next((each for each in SYNONYMS.get(name.lower(), ()) if each in free), None) or nearest(name, names)


def _not_a_member(tool: Tool, place: tuple[int | str, ...], value: Any) -> str:
    members = _members(tool.argument_schema, place)
    shown = repr(value)[:LONGEST_SHOWN]
    if len(members) <= MOST_MEMBERS:
        return f"{shown} is none of {', '.join(members)}"
    near = nearest(value, members) if isinstance(value, str) else None
    few = ", ".join(members[: MOST_MEMBERS - 2])
    return f"{shown} is none of the {len(members)} values ({few}, …)" + (f", did you mean {near!r}?" if near else "")


def _members(schema: Mapping[str, Any], place: tuple[int | str, ...]) -> list[str]:
    """The members of the enum at a place of a schema."""
    named, here = schema.get("$defs", {}), [schema]
    for part in (*place, None):
        flat: list[Any] = []
        pending = list(here)
        while pending:
            each = pending.pop(0)
            if "$ref" in each:
                pending.insert(0, named[each["$ref"].rpartition("/")[2]])
            elif "anyOf" in each:
                pending = [*each["anyOf"], *pending]
            else:
                flat.append(each)
        if part is None:
            return [str(item) for each in flat for item in each.get("enum", [each["const"]] if "const" in each else [])]
        here = [each["items"] if isinstance(part, int) else each["properties"][part] for each in flat
                if ("items" in each if isinstance(part, int) else part in each.get("properties", {}))]  # fmt: skip
    return []


def _shape(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return f"the text {value[:LONGEST_SHOWN]!r}"
    return "a list" if isinstance(value, list | tuple) else "an object"


def _next_call(tool: Tool, found: list[Any], given: Mapping[str, Any]) -> str:
    """The same call with what it lacks, or the arguments that there are."""
    fields = tool.arguments.model_fields
    missing = [str(each["loc"][0]) for each in found if each["type"] == "missing" and len(each["loc"]) == 1]
    wrong = {str(each["loc"][0]) for each in found if each["loc"]}
    kept = [name for name in given if name in fields and name not in wrong]
    if missing:
        lacking = ", ".join(f"{name} ({fields[name].description or 'needed'})" for name in missing)
        also = f" besides {', '.join(kept)}" if kept else ""
        return f"Call {tool.name} again with {lacking}{also}."
    if any(each["type"] == "extra_forbidden" and len(each["loc"]) == 1 for each in found):
        names = [name for name in fields if name not in HIDDEN]
        return f"{tool.name} takes {', '.join(names)}."
    if any(each["type"] in ("literal_error", "enum") for each in found):
        return f'lithos_tool_find with {{"name": "{tool.name}"}} shows the values.'
    return f"Correct {', '.join(sorted(wrong)) or 'the arguments'} and call {tool.name} again."


HIDDEN = frozenset({"tool_call_id", "transaction_id", "agent_action_id"})
