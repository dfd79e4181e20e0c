"""Answers as models read them: specified fields always, everything else only where it says something.

Applied where a connection is answered. `detail: true`, the command line and the tests see whole answers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sized
from typing import Any

import orjson

from lithos.core.canonical import short_version
from lithos.core.text import cut, estimate_tokens

Answer = dict[str, Any]
DETAIL = "detail"
CURSOR = "cursor"
MOST_TOKENS = 4_000  # of a list whose limit the caller did not choose
SHORT_PASSAGE = 120  # characters of a hit after the first ones
LONG_HITS = 2
IRRELEVANT_HITS = 3
MOST_ALIKE = 10  # notes of one conflict

_FRACTION = re.compile(r"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.\d+Z$")
_VERSION = re.compile(r"^sha256:[0-9a-f]{64}$")
_MARK = re.compile(r"</?b>")
_TIMES = frozenset(
    {"at", "updated", "updated_at", "created_at", "expires_at", "new_expires_at", "until", "last_seen_at", "current_at"}
    | {"first_seen_at", "latest_uploaded_at", "uploaded_at"}
)
_VERSIONS = frozenset({"version", "replaced_version", "old", "new", "before_version", "after_version"})

# What the specifications name, by tool: kept even when it is empty or null.
_NOTE = {"id", "title", "path"}
_TASK = {"id", "title", "status", "claims", "agent", "aspect", "expires_at"}
SPECIFIED: Mapping[str, frozenset[str]] = {
    name: frozenset(fields)
    for name, fields in {
        "lithos_write": {"id", "path"},
        "lithos_read": {"id", "title", "content", "metadata", "links", "truncated"},
        "lithos_delete": {"success"},
        "lithos_search": _NOTE | {"results", "snippet", "score"},
        "lithos_semantic": _NOTE | {"results", "snippet", "similarity"},
        "lithos_list": _NOTE | {"items", "updated", "tags", "total"},
        "lithos_links": {"outgoing", "incoming", "id", "title"},
        "lithos_tags": {"tags"},
        "lithos_agent_info": {"id", "name", "type", "first_seen_at", "last_seen_at", "metadata"},
        "lithos_agent_list": {"agents", "id", "name", "type", "last_seen_at"},
        "lithos_task_status": _TASK | {"tasks"},
        "lithos_finding_list": {"findings", "id", "agent", "summary", "knowledge_id", "created_at"},
    }.items()
}
# Tools whose answers stay whole: hashed, signed, or shaped by the MentisDB specification.
_WHOLE = frozenset({"lithos_ledger_prove", "lithos_ledger_checkpoint", "lithos_tool_find", "lithos_events_verify"})


def lean(tool: str, answer: Answer) -> Answer:
    """The answer of a tool without what no model uses."""
    if tool in _WHOLE or "error" in answer:
        return answer
    shape = _SHAPES.get(tool)
    shaped = shape(answer) if shape is not None else answer
    if tool.startswith("mentisdb_"):
        return shaped
    kept = SPECIFIED.get(tool, frozenset())
    return {name: value for name, each in shaped.items() if (value := _pruned(name, each, kept)) is not _NOTHING}


_NOTHING = object()


def _pruned(name: str, value: Any, kept: frozenset[str]) -> Any:
    if isinstance(value, dict):
        if name in ("metadata", "bytes", "details", "trace"):
            return value  # the writer's own, or asked for
        inner = {key: each for key, item in value.items() if (each := _pruned(key, item, kept)) is not _NOTHING}
        return inner if inner or name in kept else _NOTHING
    if isinstance(value, list):
        rows = [each for item in value if (each := _pruned("", item, kept)) is not _NOTHING]
        return rows if rows or name in kept or name in _ROWS else _NOTHING
    if value is None or value == "":
        return value if name in kept else _NOTHING
    if value is False and name in _SAYS_NOTHING:
        return value if name in kept else _NOTHING
    if isinstance(value, str):
        return _shortened(name, value)
    return value


_SAYS_NOTHING = frozenset({"blocked", "truncated", "kept", "ready"})
_ROWS = frozenset({"results", "rows", "tasks", "findings", "items", "tools", "agents", "changes", "versions", "skills"})


def _shortened(name: str, value: str) -> str:
    if name in _TIMES and (found := _FRACTION.match(value)):
        return f"{found[1]}Z"
    if name in _VERSIONS and _VERSION.match(value):
        return short_version(value)
    return value


# ------------------------------------------------------------------- by tool
def _recall(answer: Answer) -> Answer:
    hits, hidden = answer["results"], {"tokens_used"}
    if answer.get("relevant") is False:
        hits, hidden = hits[:IRRELEVANT_HITS], {"tokens_used", "next_cursor"}
    shown = [_passage(hit, place, "passage") for place, hit in enumerate(hits)]
    return {**{key: each for key, each in answer.items() if key not in hidden}, "results": shown}


def _search(answer: Answer) -> Answer:
    return {**answer, "results": [_passage(hit, place, "snippet") for place, hit in enumerate(answer["results"])]}


def _passage(hit: Answer, place: int, field: str) -> Answer:
    text = _MARK.sub("", hit.get(field, "")) if field == "snippet" else hit.get(field, "")
    if place >= LONG_HITS and len(text) > SHORT_PASSAGE:
        text = cut(text, SHORT_PASSAGE).rstrip() + " …"
    return {**hit, field: text}


def _read(answer: Answer) -> Answer:
    metadata = {
        key: _shortened(key, each) if isinstance(each, str) else each
        for key, each in answer["metadata"].items()
        if key not in ("id", "title")
    }
    return _alike({**answer, "metadata": metadata, "links": [_link(each) for each in answer["links"]]})


def _alike(answer: Answer) -> Answer:
    """Notes that may say the same are named by id and title."""
    if "similar" not in answer:
        return answer
    rows = [{key: each for key, each in row.items() if key != "path"} for row in answer["similar"]]
    return {**answer, "similar": rows}


def _conflicts(answer: Answer) -> Answer:
    """The first notes of each; lithos_conflicts with detail shows all."""
    rows = [
        {**row, "notes": row["notes"][:MOST_ALIKE], "more": len(row["notes"]) - MOST_ALIKE}
        if len(row["notes"]) > MOST_ALIKE
        else row
        for row in answer["conflicts"]
    ]
    return {**answer, "conflicts": rows}


def _findings(answer: Answer) -> Answer:
    """All are of the task that was asked for."""
    rows = [{key: each for key, each in row.items() if key != "task_id"} for row in answer["findings"]]
    return {**answer, "findings": rows}


def _link(link: Answer) -> Answer:
    shown = {key: each for key, each in link.items() if key != "display" or each != link["target"]}
    return {key: each for key, each in shown.items() if (key, each) != ("status", "resolved")}


def _tasks(answer: Answer) -> Answer:
    """Who made a task and when is for one that is asked for by its id."""
    several = len(answer["tasks"]) > 1
    return {
        **answer,
        "tasks": [_task(each, {"created_by", "created_at"} if several else set()) for each in answer["tasks"]],
    }


def _task(task: Answer, hidden: set[str]) -> Answer:
    drop = {"ready", *hidden}  # an open task that is not blocked is ready
    if hidden:
        drop.add("updated_at")
    if task.get("updated_at") == task.get("created_at"):
        drop.add("updated_at")
    return {key: each for key, each in task.items() if key not in drop}


def _events(answer: Answer) -> Answer:
    """A row says who did what to which thing and how it ended; `detail` shows hashes, ids and details."""
    return {**answer, "rows": [_event(each) for each in answer["rows"]]}


def _event(row: Answer) -> Answer:
    shown = {name: row[name] for name in ("id", "at", "agent", "user", "type", "op", "thing", "path", "rationale")}
    if row["status"] != "committed":
        shown |= {"status": row["status"], "error": row["error"]}
    return shown


def _thoughts(answer: Answer) -> Answer:
    return {**answer, "thoughts": [_thought(each) for each in answer["thoughts"]]}


def _thought(thought: Answer) -> Answer:
    """A row of a list; mentisdb_get_thought shows hashes, keys and signatures."""
    hidden = ("prev_hash", "hash", "signing_key_id", "thought_signature", "score")
    return {
        key: _shortened("at", each) if key == "timestamp" else each
        for key, each in thought.items()
        if key not in hidden and each not in (None, [], "") and not _is_usual(key, each, thought["agent_id"])
    }


def _is_usual(key: str, value: Any, agent: str) -> bool:
    """The default of the tool that wrote it."""
    usual: dict[str, Any] = {"role": "Memory", "importance": 0.5, "agent_name": agent}
    return bool(key in usual and value == usual[key])


def _appended(answer: Answer) -> Answer:
    """The specified thought and head; a checkpoint only where one was asked about."""
    if "consistency" in answer:
        return answer
    return {key: each for key, each in answer.items() if key != "checkpoint"}


def _skills(answer: Answer) -> Answer:
    rows = [
        {key: _shortened(key, each) for key, each in row.items() if each not in (None, [])} for row in answer["skills"]
    ]
    return {**answer, "skills": rows}


_SHAPES: Mapping[str, Callable[[Answer], Answer]] = {
    "lithos_recall": _recall,
    "lithos_search": _search,
    "lithos_semantic": _search,
    "lithos_read": _read,
    "lithos_write": _alike,
    "lithos_finding_list": _findings,
    "lithos_conflicts": _conflicts,
    "lithos_task_status": _tasks,
    "lithos_task_list": _tasks,
    "lithos_task_ready": _tasks,
    "lithos_events_query": _events,
    "mentisdb_search": _thoughts,
    "mentisdb_traverse_thoughts": _thoughts,
    "mentisdb_append": _appended,
    "mentisdb_append_retrospective": _appended,
    "mentisdb_bootstrap": _appended,
    "mentisdb_list_skills": _skills,
    "mentisdb_search_skill": _skills,
}


def page(answer: Answer, fields: tuple[str, ...], start: int, most: int | None = MOST_TOKENS) -> Answer:
    """The rows of these fields, as one list, from `start` on and as many as fit; and where the next page begins."""
    rows = [(name, row) for name in fields for row in _rows(answer[name])]
    left = len(rows) if most is None else _fitting([row for _, row in rows[start:]], most)
    end = min(start + left, len(rows))
    shown: Answer = {**answer}
    for name in fields:
        chosen = [row for field, row in rows[start:end] if field == name]
        shown[name] = dict(chosen) if isinstance(answer[name], dict) else chosen
    if end < len(rows):
        shown |= {"truncated": True, "total": len(rows), "next_cursor": str(end)}
    return shown


def _rows(value: Any) -> list[Any]:
    return list(value.items()) if isinstance(value, dict) else value


def _fitting(rows: list[Any], most: int) -> int:
    """How many of the first rows fit; at least one."""
    size = 0
    for place, row in enumerate(rows):
        size += estimate_tokens(orjson.dumps(row).decode())
        if size > most and place:
            return place
    return len(rows)


def fitting_limit(answer: Answer) -> int | None:
    """How many rows of an answer fit the budget of a list; None: it fits as it is."""
    size = estimate_tokens(orjson.dumps(answer).decode())
    if size <= MOST_TOKENS:
        return None
    rows: Sized = max((each for each in answer.values() if isinstance(each, list | dict)), key=len, default=[])
    return max(1, len(rows) * MOST_TOKENS // size) if len(rows) > 1 else None
