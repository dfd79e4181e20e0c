"""Notes: what agents know, as Markdown that people can read and edit."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, cast

from pydantic import Field

from lithos.app import Lithos
from lithos.board import FindingShown, TaskRef
from lithos.core.call import Call
from lithos.core.since import absolute
from lithos.errors import InvalidInput, NotFound
from lithos.notes import (
    DEEPEST,
    LARGEST_PAGE,
    MOST_IN_GRAPH,
    MOST_TAGS,
    Deleted,
    Difference,
    Direction,
    Move,
    Moved,
    NoteGraph,
    NoteHistory,
    NoteLinks,
    NoteList,
    OnConflict,
    ReadNote,
    Restored,
    Status,
    StatusFilter,
    Tags,
    TtlPolicy,
    Validation,
    WriteRequest,
    Written,
)
from lithos.tools.arguments import Agent, Cursor
from lithos.tools.dispatch.references import Refers, deleted_note
from lithos.tools.dispatch.schemas import Rare
from lithos.tools.registry import tool
from lithos.tools.stats import Stats, stats

Related = Refers("note", needed=False)  # the vault says what is wrong with one that is not there
NoteId = Annotated[str, Field(description="Note: id, path or title"), Refers("note")]
IfMatch = Annotated[str | None, Field(description="version you read: conflict if it changed since")]
Limit = Annotated[int, Field(strict=True, ge=1, le=LARGEST_PAGE)]
UpdatedNote = Annotated[
    str | None, Field(description="Update this note (id, path or title); omit to create"), Refers("note")
]
Provenance = Annotated[str | None, Field(description="file:PATH#L1, url:…, cmd:…, commit:HEX, event:ID"), Rare]
Superseded = Annotated[str | None, Field(description="The note that this one replaces"), Rare, Refers("note")]
Successor = Annotated[str | None, Field(description="With id: the note that replaces it"), Rare, Refers("note")]


class NoteInContext(ReadNote):
    task: NotRequired[TaskRef]  # the task that its `source` names
    findings: NotRequired[list[FindingShown]]  # those that were posted with this note


@tool(toolset="notes", notes=True, title="Save or update a note")
def lithos_write(
    lithos: Lithos,
    call: Call,
    agent: Agent,
    title: Annotated[str | None, Field(description="Needed for a new note")] = None,
    content: Annotated[str | None, Field(description="Markdown without frontmatter; needed for a new note")] = None,
    tags: Annotated[list[str] | None, Field(description="[] clears them")] = None,
    confidence: Annotated[float | None, Field(ge=0, le=1)] = None,
    path: Annotated[str | None, Field(description='Folder of a new note, e.g. "procedures"')] = None,
    id: UpdatedNote = None,
    source_task: Annotated[str | None, Field(description="Task id or provenance")] = None,
    append: Annotated[bool, Field(description="Add content at the end instead of replacing it")] = False,
    if_match: IfMatch = None,
    claim_token: Annotated[int | None, Field(strict=True, description="Refused if you lost that claim"), Rare] = None,
    provenance: Provenance = None,
    claim_id: Annotated[str | None, Field(description="The claim it makes; several notes may make it"), Rare] = None,
    merge_key: Annotated[str | None, Field(description="At most one active note has it"), Rare] = None,
    on_conflict: Annotated[OnConflict, Field(description="If a note has the merge_key"), Rare] = "merge",
    status: Annotated[Status | None, Rare] = None,
    ttl_policy: Annotated[TtlPolicy | Literal[""] | None, Field(description='"" removes it'), Rare] = None,
    expires_at: Annotated[str | None, Field(description="ISO 8601; ttl_policy left out: decay"), Rare] = None,
    supersedes: Superseded = None,
    superseded_by: Successor = None,
    derived_from: Annotated[list[str] | None, Field(description="Notes it builds on"), Rare, Refers("note")] = None,
) -> Written:
    """Save knowledge as a Markdown note, or update one by id (what you omit stays). Link notes with [[name]]. Recall
    first and update what exists; `existing` and `similar` in the answer name notes that may say the same. conflict:
    it was changed; read again, merge, retry with its version as if_match. lithos_tool_find(name="lithos_write") shows
    lifecycle arguments."""
    fields = {
        "confidence": confidence,
        "source": source_task,
        "provenance": provenance,
        "claim_id": claim_id,
        "merge_key": merge_key,
        "status": status,
        "ttl_policy": ttl_policy,
        "expires_at": expires_at,
        "supersedes": supersedes,
        "derived_from": derived_from,
    }
    request = WriteRequest(
        agent,
        title,
        content,
        tags,
        fields,
        id=id,
        folder=path,
        append=append,
        if_match=if_match,
        claim_token=claim_token,
        on_conflict=on_conflict,
        superseded_by=superseded_by,
    )
    return lithos.notes.vault.write(call, request)


@tool(toolset="notes", notes=True, reads=True, title="Read a note")
def lithos_read(
    lithos: Lithos,
    call: Call,
    id: Annotated[str | None, Field(description="Id, path, title or [[link]]"), Refers("note")] = None,
    path: Annotated[str | None, Field(description="Path, instead of id")] = None,
    max_length: Annotated[int | None, Field(ge=1, description="Most characters of content")] = None,
) -> NoteInContext:
    """Read one note: title, content, metadata, links, and version for if_match."""
    try:
        note = cast(NoteInContext, lithos.notes.reader.read(id, path, max_length))
    except NotFound:
        if path is not None and (gone := lithos.notes.history.deleted(path)) is not None:
            raise deleted_note(path, gone) from None
        raise
    if task := lithos.board.named(str(note["metadata"].get("source", ""))):
        note["task"] = task
    if findings := lithos.board.findings_of_note(note["id"]):
        note["findings"] = findings
    return note


@tool(toolset="notes", notes=True, destructive=True, title="Delete a note")
def lithos_delete(
    lithos: Lithos,
    call: Call,
    id: Annotated[str, Field(description="Note: id, path or title"), Related],
    agent: Annotated[str | None, Field(description="Who deletes it")] = None,
    if_match: IfMatch = None,
) -> Deleted:
    """Delete a note; lithos_undo brings it back."""
    return lithos.notes.vault.delete(call, id, if_match)


@tool(toolset="notes", notes=True, reads=True, title="List notes")
def lithos_list(
    lithos: Lithos,
    call: Call,
    path_prefix: str | None = None,
    tags: Annotated[list[str] | None, Field(description="All of these")] = None,
    author: str | None = None,
    since: Annotated[str | None, Field(description='Changed since: ISO 8601, "1d", "yesterday"')] = None,
    limit: Limit = 50,
    offset: Annotated[int, Field(strict=True, ge=0)] = 0,
    status: Annotated[StatusFilter | None, Field(description="Default: what counts now"), Rare] = None,
    cursor: Cursor = None,
) -> NoteList:
    """List notes, newest first."""
    return lithos.notes.reader.list(
        path_prefix, tags, author, absolute(since, lithos.clock.now()), limit, offset, status, cursor
    )


@tool(toolset="notes", notes=True, reads=True, title="Links of a note")
def lithos_links(
    lithos: Lithos,
    call: Call,
    id: NoteId,
    direction: Direction = "both",
    depth: Annotated[int, Field(strict=True, ge=1, le=DEEPEST)] = 1,
    limit: Limit = LARGEST_PAGE,
    cursor: Cursor = None,
) -> NoteLinks:
    """The notes that a note links to (outgoing) and that link to it (incoming), up to depth steps away."""
    return lithos.notes.reader.links(id, direction, depth, limit, cursor)


@tool(toolset="notes", notes=True, reads=True, listed=False, title="Graph of the notes")
def lithos_note_graph(
    lithos: Lithos,
    call: Call,
    path_prefix: str | None = None,
    tags: Annotated[list[str] | None, Field(description="All of these")] = None,
    limit: Annotated[int, Field(strict=True, ge=1, le=MOST_IN_GRAPH)] = MOST_IN_GRAPH,
) -> NoteGraph:
    """All notes that count now and the links between them, as columns: for drawing. links holds pairs of places."""
    return lithos.notes.reader.graph(path_prefix, tags or (), limit)


@tool(toolset="notes", notes=True, reads=True, title="List tags")
def lithos_tags(
    lithos: Lithos,
    call: Call,
    prefix: Annotated[str, Field(description="Only tags that begin so")] = "",
    limit: Annotated[int, Field(strict=True, ge=1, le=MOST_TAGS)] = MOST_TAGS,
    cursor: Cursor = None,
) -> Tags:
    """All tags with the number of notes that have each. lithos_list(tags=[…]) shows the notes."""
    return lithos.notes.reader.tags(prefix, limit, cursor)


@tool(toolset="notes", notes=True, title="Move or rename a note")
def lithos_move(
    lithos: Lithos,
    call: Call,
    id: NoteId,
    to: Annotated[str, Field(description='New folder, or new path ending in .md; "/" is the top')],
    agent: Agent,
    rewrite_links: Annotated[bool, Field(description="Correct other notes' links to it")] = False,
    if_match: IfMatch = None,
) -> Moved:
    """Move or rename a note; its id stays. Links by title, alias or id keep working; rewrite_links corrects those that
    name the old path."""
    return lithos.notes.mover.move(call, Move(id, to, rewrite_links, if_match))


@tool(toolset="notes", notes=True, reads=True, title="Versions of a note")
def lithos_note_history(
    lithos: Lithos,
    call: Call,
    id: NoteId,
    limit: Annotated[int, Field(strict=True, ge=1, le=200)] = 50,
    cursor: Cursor = None,
) -> NoteHistory:
    """Who changed a note, when, from which version to which, newest first; of a deleted note too. `kept`: the replaced
    version can still be compared with or brought back."""
    return lithos.notes.history.of(id, limit, cursor)


@tool(toolset="notes", notes=True, reads=True, title="Compare versions of a note")
def lithos_note_diff(
    lithos: Lithos,
    call: Call,
    id: NoteId,
    old: Annotated[str | None, Field(description="A version; left out: the one before `new`")] = None,
    new: Annotated[str | None, Field(description="A version; left out: the note as it is")] = None,
) -> Difference:
    """What changed between two versions of a note, as a unified diff."""
    return lithos.notes.history.diff(id, old, new)


@tool(toolset="notes", notes=True, title="Bring an old version back")
def lithos_note_revert(
    lithos: Lithos,
    call: Call,
    id: NoteId,
    version: Annotated[str, Field(description="What lithos_note_history calls replaced_version")],
    agent: Agent,
    if_match: IfMatch = None,
) -> Written:
    """Bring an older version of a note back. What it replaces is kept, so that this can be undone too."""
    return lithos.notes.history.revert(call, id, version, if_match)


@tool(toolset="notes", notes=True, title="Restore a deleted note")
def lithos_note_restore(
    lithos: Lithos, call: Call, note: Annotated[str, Field(description="Id or path of a deleted note")], agent: Agent
) -> Restored:
    """Bring a deleted note back to its old path. conflict: another note is there now; move that one first."""
    return lithos.notes.history.restore(call, note)


@tool(toolset="notes", notes=True, reads=True, title="Check the vault")
def lithos_validate(
    lithos: Lithos,
    call: Call,
    duplicates: Annotated[bool, Field(description="Also compare all notes with each other; takes seconds")] = False,
    kind: Annotated[str | None, Field(description="Only this kind of `counts`", max_length=100)] = None,
    limit: Annotated[int | None, Field(description="Of each kind (3; 50 of one kind)", ge=1, le=1000)] = None,
    offset: Annotated[int, Field(ge=0), Rare] = 0,
) -> Validation:
    """Problems of the vault that a person should fix: broken, ambiguous and stale links, frontmatter, duplicate ids,
    clashing names, conflict copies, files that cannot be served, contradicting lifecycle fields, credentials. Counts,
    and the first of each kind; kind= lists one."""
    if offset and kind is None:
        raise InvalidInput("offset pages through one kind", hint="Name the kind too, for example broken_links.")
    return lithos.notes.validator.validate(duplicates=duplicates, kind=kind, limit=limit, offset=offset)


@tool(toolset="operator")
def lithos_reindex(lithos: Lithos, call: Call, clear: bool = False) -> Stats:
    """Rescan all files now. clear=true rebuilds every index. lithos_stats shows progress."""
    before = stats(lithos)
    lithos.notes.reindex_soon(clear=clear)
    return before
