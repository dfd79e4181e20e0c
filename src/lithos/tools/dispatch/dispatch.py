"""From a name and a JSON object to a checked call of a tool: decided here, without I/O, acted on by `Ready.run`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from lithos.core.call import Call, Correlation
from lithos.core.canonical import canonical_hash
from lithos.core.secrets import field_warnings, mask, suspicious
from lithos.errors import Forbidden, InvalidInput, LithosError, NotFound, TooLarge
from lithos.storage import Rebuilding
from lithos.tools.answers.lean import CURSOR, DETAIL, fitting_limit, lean, page
from lithos.tools.caller import Caller
from lithos.tools.dispatch.own_names import refuse_names_of_others
from lithos.tools.dispatch.references import is_whole_task, resolve
from lithos.tools.dispatch.refusals import refusal

if TYPE_CHECKING:
    from lithos.tools.registry import Tool

LARGEST_ARGUMENTS = 8 * 1024 * 1024
DEEPEST_ARGUMENTS = 64  # far above any tool's schema, far below Python's recursion limit
LEAST_INTEGER = -(2**63) + 1  # no table holds more

OPERATOR = "operator"  # the toolset of what only the person at the machine may do
USER = "user_id"
MESSAGES = "messages"  # the toolset whose answers show the inbox themselves
SUBJECT = "agent_id"  # whose record a call changes; where it is also the actor, the same rule holds
QUESTION = "query"
CORRELATION = ("tool_call_id", "transaction_id", "agent_action_id")
KEY = "idempotency_key"
LIMITS = ("limit", "chunk_size")  # how many rows a caller wants, by the names that tools have for it
IN_META = "lithos/"  # may stand before them in a request's `_meta`
LONGEST_ID = 200
LEDGER_TOOLSETS = ("ledger", "skills")  # what looks like a credential is refused there, and warned of elsewhere
LEDGER_WRITERS = ("lithos_promote",)  # a tool of another toolset that appends a thought
_BESIDE = ("agent", KEY, *CORRELATION)
UNKNOWN_TASK = "unknown_task"  # the board's reason to refuse
_NOTHING = nullcontext()


@dataclass(frozen=True, slots=True)
class Ready:
    """A call that has passed every check that needs no I/O."""

    tool: Tool
    call: Call
    values: dict[str, Any]
    notes: tuple[str, ...] = ()  # what was understood in a way that the caller should see
    limited: bool = False  # the caller chose how many rows it wants
    detail: bool = False  # the caller wants the whole answer
    stored: Mapping[str, Any] = field(default_factory=dict)  # by argument, if the call changes anything
    suspicious: bool = False  # something in `stored` may be a credential
    start: int = 0  # of the page that the caller wants

    def run(self, lithos: Any) -> Any:
        """The tool's answer, or the coroutine of one that waits."""
        answer = self._run(lithos)
        return page(answer, self.tool.pages, self.start, None) if self.start else answer

    def _run(self, lithos: Any) -> Any:
        if not self.tool.reads:
            lithos.finish_opening()
        if self.tool.notes:
            lithos.notes.ensure_scanned()
        try:
            with _NOTHING if self.tool.reads else lithos.embedding.writes:
                answer = self._checked_answer(lithos)
        except LithosError as error:
            hide_secrets(error, self.stored or self.values)
            raise
        if self.tool.waits:
            return self._awaited(lithos, answer)
        if self.call.agent is not None:
            lithos.agents.seen(self.call.agent)
        answer = {**answer, "notes": [*self.notes]} if self.notes else answer
        return self._with_mail(lithos, answer)

    def _checked_answer(self, lithos: Any) -> Any:
        """The function's answer, after the check of what the ledger may hold, with warnings of what else was stored."""
        if self.suspicious and self._writes_ledger:
            lithos.ledger.refuse_secrets(self.stored)
        if self.call.bound and not self.tool.reads:
            refuse_names_of_others(lithos, self.call, self.tool.name, self.values)
        try:
            answer = self._call_function(lithos)
        except Rebuilding:  # a damaged catalogue: a read is asked once more when the files have been read again
            if not self.tool.reads:
                raise
            lithos.notes.ensure_scanned()
            answer = self._call_function(lithos)
        return answer if self.tool.waits or not self.suspicious else self._warned(answer)

    async def _awaited(self, lithos: Any, answer: Awaitable[Any]) -> Any:
        try:
            if self.call.agent is not None:  # before it waits; in a thread, as the first call is written
                await asyncio.to_thread(lithos.agents.seen, self.call.agent)
            done = await answer
            return self._warned(done) if self.suspicious else done
        except LithosError as error:
            hide_secrets(error, self.stored or self.values)
            raise

    def _with_mail(self, lithos: Any, answer: Any) -> Any:
        """Mail is noticed: an agent's next answer says once how much has come."""
        if self.call.agent is None or self.tool.toolset == MESSAGES:
            return answer
        new = lithos.messages.arrivals(self.call)
        return {**answer, "inbox": new} if new else answer

    @property
    def _writes_ledger(self) -> bool:
        return not self.tool.reads and (self.tool.toolset in LEDGER_TOOLSETS or self.tool.name in LEDGER_WRITERS)

    def _warned(self, answer: Any) -> Any:
        """The answer with a warning for each stored field that looks like a credential; of a note's content the write
        itself names the lines."""
        if not answer.get("success", True):
            return masked(answer, self.stored)
        own = answer.get("warnings", [])
        skipped = "content" if self.tool.name == "lithos_write" else ""
        found = field_warnings({name: value for name, value in self.stored.items() if name != skipped})
        new = [each for each in found if each not in own]
        return {**answer, "warnings": [*own, *new]} if new else answer

    def _call_function(self, lithos: Any) -> Any:
        """The function's answer, given ids where the caller gave names."""
        if all(self.values[name] is None for name in self.tool.references):
            return self.tool.function(lithos, self.call, **self.values)
        if self.tool.waits:
            return self._wait(lithos)
        if self._names_whole_tasks():
            answer = self.tool.function(lithos, self.call, **self.values)
            if answer.get("reason") != UNKNOWN_TASK and answer.get("tasks") != []:
                return answer
        try:
            resolved = resolve(lithos, self.tool, self.values, self.call)
        except NotFound as unresolved:
            if self.call.idempotency_key is None and self.call.delivery is None:
                raise
            return self._repeated(lithos, unresolved)
        answer = self.tool.function(lithos, self.call, **resolved.values)
        if resolved.shown and self.tool.name != "lithos_read":  # which shows id and title anyway
            answer = {**answer, "resolved": resolved.shown}
        unknown = answer.get("success") is False or answer.get("tasks") == []
        return {**answer, "nearest": resolved.nearest} if resolved.nearest and unknown else answer

    def _names_whole_tasks(self) -> bool:
        given = ((mark, self.values[name]) for name, mark in self.tool.references.items())
        return all(value is None or is_whole_task(mark, value) for mark, value in given)

    async def _wait(self, lithos: Any) -> Any:
        resolved = await asyncio.to_thread(resolve, lithos, self.tool, self.values, self.call)
        return await self.tool.function(lithos, self.call, **resolved.values)

    def _repeated(self, lithos: Any, unresolved: NotFound) -> Any:
        """A retry may name what its first try has moved or deleted: then the first answer is there already."""
        try:
            return self.tool.function(lithos, self.call, **self.values)
        except NotFound:
            raise unresolved from None

    def run_lean(self, lithos: Any) -> Any:
        """As `run`, with the answer that a connection gets: without what says nothing, and a list of bounded size."""
        if self.detail or self.tool.waits:
            return self.run(lithos)
        short = lean(self.tool.name, self._run(lithos))
        if self.tool.pages:
            return page(short, self.tool.pages, self.start)
        limit = next((name for name in LIMITS if name in self.values), None)
        rows = fitting_limit(short) if limit and self.tool.reads and not self.limited else None
        if limit is None or rows is None:
            return short
        fewer = replace(self, values={**self.values, limit: rows}, limited=True)
        cut: dict[str, Any] = {**lean(self.tool.name, fewer.run(lithos)), "truncated": True}
        return {**cut, "next_offset": self.values["offset"] + rows} if "offset" in self.values else cut


def prepare(tool: Tool, arguments: Mapping[str, Any] | None, caller: Caller, largest: int) -> Ready:
    notes: list[str] = []
    given = tool.lenient.read(_with_readable_question(tool, _as_object(arguments)), notes)
    check_size(given, largest)
    _check_scope(tool, caller)
    agent = _agent(tool, given, caller)
    _check_subject(tool, given, caller)
    _fill_in_user(tool, given, caller)
    checked = _validate(tool, given)
    fields = checked.__dict__  # of `checked`, where each look-up would be a call
    values = {name: fields[name] for name in tool.parameters}
    detail = caller.operator or bool(fields.get(DETAIL))
    limited = not given.keys().isdisjoint(LIMITS)
    sent = None if tool.reads else checked.model_dump(mode="json")
    call, start = _call(tool, fields, sent, agent, caller), _start(fields.get(CURSOR) if tool.pages else None)
    stored = {} if sent is None else _stored(sent, call)
    return Ready(tool, call, values, tuple(notes), limited, detail, stored, bool(stored) and suspicious(stored), start)


def _stored(sent: dict[str, Any], call: Call) -> dict[str, Any]:
    """Everything that a call may leave in a file or a table, by the name of its argument."""
    ids = call.correlation
    beside = (call.agent, call.idempotency_key, ids.tool_call_id, ids.transaction_id, ids.agent_action_id)
    found = {name: value for name, value in zip(_BESIDE, beside, strict=True) if value is not None}
    return {**found, **{name: value for name, value in sent.items() if value is not None}}


def hide_secrets(error: LithosError, arguments: Any) -> None:
    """An error repeats what is wrong in a call, but never a credential among its arguments."""
    if suspicious(arguments):
        error.message, error.hint = mask(error.message, arguments), mask(error.hint, arguments)
        error.details, error.args = masked(error.details, arguments), (error.message,)


def masked(value: Any, arguments: Any) -> Any:
    if isinstance(value, str):
        return mask(value, arguments)
    if isinstance(value, Mapping):
        return {key: masked(item, arguments) for key, item in value.items()}
    return [masked(item, arguments) for item in value] if isinstance(value, list) else value


def _start(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not cursor.isascii() or not cursor.isdigit():
        raise InvalidInput("cursor: this is none of ours", hint="Pass next_cursor unchanged, or leave cursor out.")
    return int(cursor)


def beside(caller: Caller, meta: Mapping[str, Any]) -> Caller:
    """The caller with the ids and the retry key of a request's `_meta`: for clients that hold arguments against the
    listed schemas, where these are left out to save tokens."""
    found = {name: _in_meta(meta, name) for name in (*CORRELATION, KEY)}
    key = found.pop(KEY)
    return replace(caller, correlation=Correlation(**found), idempotency_key=key)


def _in_meta(meta: Mapping[str, Any], name: str) -> str | None:
    value = meta.get(IN_META + name, meta.get(name))
    if value is None:
        return None
    if not isinstance(value, str) or not value or _text_weight(value) > LONGEST_ID:
        raise InvalidInput(f"_meta: {name} is not a text of 1 to {LONGEST_ID} bytes")
    return value


def _check_scope(tool: Tool, caller: Caller) -> None:
    if tool.toolset == OPERATOR and not caller.operator:
        raise Forbidden(f"{tool.name} is for the operator", hint="Use the lithos command on the server's machine.")
    if caller.read_only and not tool.reads:
        raise Forbidden(
            f"{tool.name} changes something, and this connection may only read",
            hint="Ask for a token with full scope, or start without --read-only.",
        )


def check_size(arguments: Mapping[str, Any], largest: int) -> None:
    """Refuse what no table or file should ever see: too much, too deep, half a character, NUL, endless numbers."""
    size = _weigh(arguments, 0)
    if size > largest:
        raise TooLarge(
            f"the arguments have {size:,} bytes; {largest:,} is the most", hint="Split the text into several calls."
        )


def _as_object(arguments: Mapping[str, Any] | None) -> dict[str, Any]:
    if arguments is None:
        return {}
    if not isinstance(arguments, Mapping):
        raise InvalidInput("the arguments are not a JSON object", hint='Send {"name": value, …}.')
    return dict(arguments)


def _with_readable_question(tool: Tool, given: dict[str, Any]) -> dict[str, Any]:
    """A question reaches no file and no table: what no text may have is a blank in it, and its words still count."""
    question = given.get(QUESTION)
    if not tool.reads or not isinstance(question, str):
        return given
    return {**given, QUESTION: question.encode("utf-8", "replace").decode().replace("\0", " ")}


def _weigh(value: Any, depth: int) -> int:
    if isinstance(value, str):
        return _text_weight(value)
    if depth > DEEPEST_ARGUMENTS:
        raise InvalidInput(f"the arguments are nested deeper than {DEEPEST_ARGUMENTS} levels")
    if isinstance(value, Mapping):
        size = 0
        for key, item in value.items():
            size += _text_weight(key) if type(key) is str else _weigh(key, depth)
            size += _text_weight(item) if type(item) is str else _weigh(item, depth + 1)
        return size
    if isinstance(value, list):
        return sum(_weigh(item, depth + 1) for item in value) + len(value)
    if isinstance(value, int) and not LEAST_INTEGER <= value <= -LEAST_INTEGER:
        raise InvalidInput("a number is too large", hint="Whole numbers have at most 64 bits.")
    return 8


def _text_weight(text: str) -> int:
    if "\0" in text:
        raise InvalidInput("text contains the character NUL", hint="Send text, not binary data.")
    if text.isascii():
        return len(text)
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        raise InvalidInput("text contains a lone surrogate", hint="Send valid Unicode text.") from None


def _agent(tool: Tool, given: dict[str, Any], caller: Caller) -> str | None:
    """The acting agent. A missing argument is filled in from the caller, so that a bound token need not repeat it."""
    field = tool.agent_argument
    named = given.get(field)
    if named is not None and not isinstance(named, str):
        return None  # validation says what is wrong with it
    agent = caller.acting_as(named, field) or _stand_in(tool, caller)
    if agent is not None and field in tool.required:
        given[field] = agent
    return agent


def _check_subject(tool: Tool, given: Mapping[str, Any], caller: Caller) -> None:
    """A caller bound to one agent changes the record of no other, whichever argument names it."""
    named = given.get(SUBJECT)
    if caller.bound and not tool.reads and isinstance(named, str):
        caller.acting_as(named, SUBJECT)


def _stand_in(tool: Tool, caller: Caller) -> str | None:
    """Whom a write is attributed to that names no agent. Never where the name is a right: a claim of one window of a
    client must not be another window's."""
    required = tool.required.get(tool.agent_argument)
    if tool.reads or tool.named or required is None or (tool.agent_argument != "agent" and not required):
        return None
    return caller.attributed


def _fill_in_user(tool: Tool, given: dict[str, Any], caller: Caller) -> None:
    if USER not in tool.required:
        return
    named = given.get(USER)
    if named is None or isinstance(named, str):
        user = caller.acting_for(named)
        if user is not None:
            given[USER] = user


def _validate(tool: Tool, given: dict[str, Any]) -> BaseModel:
    try:
        return tool.arguments.model_validate(given)
    except ValidationError as error:
        raise refusal(tool, error, given) from None


def _call(
    tool: Tool, fields: Mapping[str, Any], sent: Mapping[str, Any] | None, agent: str | None, caller: Caller
) -> Call:
    if sent is None or tool.bare:
        return Call(
            tool=tool.name,
            agent=agent,
            user=caller.user,
            login=caller.login,
            owner=caller.owner,
            reads_only=caller.read_only,
            operator=caller.operator,
            bound=caller.bound,
            user_bound=caller.user_bound,
            workshop=caller.workshop,
            connection=caller.agent or caller.attributed,
        )
    # The hash covers the tool's own arguments: a retry under the same key may carry other correlation ids.
    arguments = {name: sent[name] for name in tool.parameters}
    return Call(
        tool=tool.name,
        agent=agent,
        user=caller.user,
        login=caller.login,
        arguments_hash=canonical_hash(arguments),
        idempotency_key=_key(fields, caller),
        delivery=caller.delivery,
        rationale=fields.get("rationale"),
        correlation=_correlation(fields, caller.correlation),
        owner=caller.owner,
        operator=caller.operator,
        bound=caller.bound,
        user_bound=caller.user_bound,
        workshop=caller.workshop,
        connection=caller.agent or caller.attributed,
    )


def _key(fields: Mapping[str, Any], caller: Caller) -> str | None:
    given: str | None = fields.get(KEY)
    if given and caller.idempotency_key and given != caller.idempotency_key:
        raise InvalidInput(
            "idempotency_key differs between the arguments and _meta",
            hint="Send it in one of them, or the same in both.",
        )
    return given or caller.idempotency_key


def _correlation(fields: Mapping[str, Any], beside: Correlation) -> Correlation:
    """Ids among the arguments count before those beside them."""
    if not any(map(fields.get, CORRELATION)):
        return beside
    return Correlation(**{name: fields.get(name) or getattr(beside, name) for name in CORRELATION})
