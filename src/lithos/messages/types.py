"""Types of messages: the payload of each, who may send it, and the type of its reply."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lithos.core.text import nearest
from lithos.errors import InvalidInput

Senders = Literal["agents", "persons", "parts"]
_OWN = re.compile(r"[a-z0-9_-]{1,64}(\.[a-z0-9_-]{1,64}){1,7}\Z")
Texts = Annotated[list[str], Field(default_factory=list)]


class Payload(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, defer_build=True)  # 60 models: 0.1 s of each start


class Text(Payload):
    body: str = Field(min_length=1)
    subject: str | None = Field(None, max_length=300)
    refs: Texts
    ack_required: bool | None = None


class Asked(Payload):
    """A question to a role."""

    query: str = Field(min_length=1)
    context: dict[str, Any] | None = None


class ResearchAsked(Asked):
    depth: int | None = Field(None, ge=1, le=3)
    focus_areas: Texts


class ContextAsked(Asked):
    paths: Texts


class PlanAsked(Payload):
    objective: str = Field(min_length=1)
    constraints: Texts
    context: dict[str, Any] | None = None


class InspectionAsked(Payload):
    files: Texts
    scope: str | None = None
    context: dict[str, Any] | None = None


class StoreAsked(Payload):
    content: str = Field(min_length=1)
    category: str | None = None
    title: str | None = None
    refs: Texts


class Answered(Payload):
    """An answer of a role."""

    summary: str = Field(min_length=1)
    details: dict[str, Any] | None = None
    refs: Texts


class Said(Payload):
    """A person's words to an agent or a pipeline."""

    text: str = Field(min_length=1)
    pipeline_id: str | None = None
    task_id: str | None = None


class OfSession(Payload):
    session_id: str
    name: str | None = None
    reason: str | None = None


class Plan(Payload):
    plan_id: str | None = None
    summary: str | None = None
    changes: Texts
    plan: dict[str, Any] | None = None


class Dag(Payload):
    dag_id: str
    status: str | None = None
    dag: dict[str, Any] | None = None


class Work(Payload):
    task_id: str
    summary: str | None = None
    error: str | None = None
    question: str | None = None
    details: dict[str, Any] | None = None


class Checked(Payload):
    """Results of inspector or tester."""

    passed: bool | None = None
    summary: str | None = None
    task_id: str | None = None
    issues: list[dict[str, Any]] = []
    failures: list[dict[str, Any]] = []


class OfPipeline(Payload):
    pipeline_id: str
    reason: str | None = None
    summary: str | None = None
    issues: list[dict[str, Any]] = []
    failures: list[dict[str, Any]] = []


class Overridden(Payload):
    issue_id: str | None = None
    pipeline_id: str | None = None
    reason: str | None = None


class Handoff(Payload):
    state: dict[str, Any]
    close_pipeline: str | None = None
    summary: str | None = None


class HandedOff(Payload):
    pipeline_id: str | None = None
    summary: str | None = None


@dataclass(frozen=True, slots=True)
class MessageType:
    payload: type[Payload]
    senders: Senders = "parts"
    reply: str = "text"
    tool: str = ""  # that does what the type announces, with its own checks, and sends the message itself


_AGENTS: Mapping[str, tuple[type[Payload], str]] = {
    "text": (Text, "text"),
    "research_request": (ResearchAsked, "research_response"),
    "context_request": (ContextAsked, "context_response"),
    "history_request": (Asked, "history_response"),
    "store_request": (StoreAsked, "text"),
    "store_summary": (StoreAsked, "text"),
    "plan_request": (PlanAsked, "plan_response"),
    "inspection_request": (InspectionAsked, "inspection_results"),
    "test_plan_request": (PlanAsked, "test_plan_response"),
}
_PERSONS: Mapping[str, type[Payload]] = {
    "user_input": Said,
    "user_response": Said,
    "user_task_prompt": Said,
    "user_task_query": Said,
    "clarification_response": Said,
}
_PARTS: Mapping[str, tuple[type[Payload], str, str]] = {
    "session_create": (OfSession, "text", "lithos_session_create"),
    "session_switch": (OfSession, "text", "lithos_session_switch"),
    "session_suspend": (OfSession, "text", "lithos_session_suspend"),
    "session_resume": (OfSession, "text", "lithos_session_resume"),
    "session_complete": (OfSession, "text", "lithos_session_complete"),
    "research_response": (Answered, "text", "lithos_inbox_reply"),
    "context_response": (Answered, "text", "lithos_inbox_reply"),
    "history_response": (Answered, "text", "lithos_inbox_reply"),
    "plan_response": (Plan, "text", "lithos_inbox_reply"),
    "plan_approved": (Plan, "text", ""),
    "plan_modified": (Plan, "text", ""),
    "dag_execute": (Dag, "dag_status", ""),
    "dag_status": (Dag, "text", ""),
    "task_dispatch": (Work, "task_complete", "lithos_task_create"),
    "task_complete": (Work, "text", "lithos_task_complete"),
    "task_failed": (Work, "text", "lithos_task_update"),
    "task_help": (Work, "clarification_response", "lithos_finding_post"),
    "clarification_request": (Asked, "clarification_response", "lithos_message_send"),
    "validate_task": (Work, "validation_result", ""),
    "validation_result": (Checked, "text", "lithos_inbox_reply"),
    "validation_full": (Checked, "text", ""),
    "validation_corrections": (Checked, "text", ""),
    "test_plan_response": (Answered, "text", "lithos_inbox_reply"),
    "test_dag_request": (Dag, "dag_status", ""),
    "tests_ready": (Work, "text", ""),
    "test_results": (Checked, "text", "lithos_inbox_reply"),
    "test_corrections": (Checked, "text", ""),
    "user_override": (Overridden, "text", ""),
    "user_interrupt": (Said, "text", ""),
    "workflow_complete": (Answered, "text", ""),
    "inspector_feedback": (OfPipeline, "text", ""),
    "tester_feedback": (OfPipeline, "text", ""),
    "pipeline_complete": (OfPipeline, "text", ""),
    "pipeline_failed": (OfPipeline, "text", ""),
    "inspection_results": (Checked, "text", "lithos_inbox_reply"),
    "user_task_interrupt": (Said, "text", ""),
    "user_ignore_inspector": (Overridden, "text", ""),
    "user_ignore_tester": (Overridden, "text", ""),
    "handoff_request": (Handoff, "handoff_complete", "lithos_store_checkpoint"),
    "create_pipeline_with_state": (Handoff, "handoff_complete", ""),
    "handoff_complete": (HandedOff, "text", ""),
}
TYPES: Mapping[str, MessageType] = {
    **{name: MessageType(model, "agents", reply) for name, (model, reply) in _AGENTS.items()},
    **{name: MessageType(model, "persons") for name, model in _PERSONS.items()},
    **{name: MessageType(model, "parts", reply, tool) for name, (model, reply, tool) in _PARTS.items()},
}


def type_name(text: str) -> str:
    """A known type, or one of the caller's own, which carries a dot."""
    name = text.strip().lower()
    if name in TYPES or _OWN.match(name):
        return name
    meant = nearest(name, TYPES)
    hint = f"Did you mean {meant}?" if meant else "Use text, or a name of your own with a dot, such as acme.thing."
    raise InvalidInput(f"type: there is no {text[:80]!r}", hint=hint)


def may_send(name: str, *, person: bool) -> bool:
    """Whether an agent, or a person, may send this type on its own; parts may send every one."""
    known = TYPES.get(name)
    return known is None or known.senders == "agents" or (person and known.senders == "persons")


def reserved_hint(name: str) -> str:
    tool = TYPES[name].tool
    if tool:
        return f"{tool} does it, with its own checks. To write about it, send type text."
    if TYPES[name].senders == "persons":
        return "A person sends it. To write to someone, send type text."
    return "Lithos itself sends it. To write about it, send type text."


def reply_type(name: str) -> str:
    """A reply to a type of the caller's own has that type too."""
    return TYPES[name].reply if name in TYPES else name


def text_field(name: str) -> str:
    """The field of the payload that takes a plain text."""
    fields = TYPES[name].payload.model_fields if name in TYPES else {}
    return next((each for each in ("body", "summary", "text", "content", "query") if each in fields), "body")


def check_payload(name: str, payload: Mapping[str, Any]) -> None:
    """Nothing is converted, so it is stored as it was given; any object for a type of the caller's own."""
    refuse_controls(payload)
    known = TYPES.get(name)
    if known is None:
        return
    try:
        known.payload.__pydantic_validator__.validate_python(payload)  # skips a call per message
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "payload"
        fields = ", ".join(known.payload.model_fields)
        what = (
            "is missing" if first["type"] == "missing" else "is not a field" if first["type"] == _EXTRA else "is wrong"
        )
        raise InvalidInput(f"payload of {name}: {place} {what}", hint=f"Its fields are {fields}.") from None


def refuse_controls(payload: Mapping[str, Any]) -> None:
    """A terminal that prints a message must not obey it."""
    left: list[Any] = [payload]  # a list, not recursion: an attacker chooses the depth
    while left:
        value = left.pop()
        if isinstance(value, str):
            if _CONTROL.search(value):
                raise InvalidInput("payload contains a control character", hint="Send plain text, without ANSI codes.")
        elif isinstance(value, Mapping):
            left += value.keys()
            left += value.values()
        elif isinstance(value, (list, tuple)):
            left += value


_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")  # all but tab and line ends
_EXTRA = "extra_forbidden"
