"""Notes: what agents know, as Markdown that people can read and edit."""

from __future__ import annotations

from typing import Annotated, NotRequired, cast

from pydantic import Field

from lithos.app import Lithos
from lithos.board import FindingShown, TaskRef
from lithos.core.call import Call
from lithos.notes import (
    DEEPEST,
    LARGEST_PAGE,
    Deleted,
    Difference,
    Direction,
    Life,
    Move,
    Moved,
    NoteHistory,
    NoteLinks,
    NoteList,
    OnConflict,
    ReadNote,
    Request,
    Restored,
    Shown,
    Status,
    Tags,
    TtlPolicy,
    Validation,
    Write,
    Written,
)
from lithos.tools.registry import tool
from lithos.tools.stats import Stats, stats

NoteId = Annotated[str, Field(description="Note id")]
Agent = Annotated[str, Field(description="Your agent identifier")]
IfMatch = Annotated[str | None, Field(description="version you read: refused if the note changed since")]
Limit = Annotated[int, Field(strict=True, ge=1, le=LARGEST_PAGE)]


class NoteInContext(ReadNote):
    task: NotRequired[TaskRef]  # the task that its `source` names
    findings: NotRequired[list[FindingShown]]  # those that were posted with this note


@tool(toolset="core", notes=True)
def lithos_write(
    lithos: Lithos,
    call: Call,
    agent: Agent,
    title: Annotated[str | None, Field(description="Needed for a new note")] = None,
    content: Annotated[str | None, Field(description="Markdown without frontmatter; needed for a new note")] = None,
    tags: Annotated[list[str] | None, Field(description="[] clears them")] = None,
    confidence: Annotated[float | None, Field(ge=0, le=1, description="0-1 (default 1.0)")] = None,
    path: Annotated[str | None, Field(description='Folder of a new note, e.g. "procedures"')] = None,
    id: Annotated[str | None, Field(description="Update this note; omit to create")] = None,
    source_task: Annotated[str | None, Field(description="Task id or provenance")] = None,
    append: Annotated[bool, Field(description="Add content at the end of the note instead of replacing it")] = False,
    if_match: IfMatch = None,
    claim_token: Annotated[int | None, Field(strict=True, description="Refused if you lost that claim")] = None,
    provenance: Annotated[str | None, Field(description="file:PATH#L1, url:…, cmd:…, commit:HEX or event:ID")] = None,
    claim_id: Annotated[str | None, Field(description="The claim it makes; several notes may make it")] = None,
    merge_key: Annotated[str | None, Field(description="At most one active note has it")] = None,
    on_conflict: Annotated[OnConflict, Field(description="If a note has the merge_key")] = "merge",
    status: Status | None = None,
    ttl_policy: TtlPolicy | None = None,
    expires_at: Annotated[str | None, Field(description="ISO 8601; with ttl_policy decay or ephemeral")] = None,
    supersedes: Annotated[str | None, Field(description="Id of the note that this one replaces")] = None,
    superseded_by: Annotated[str | None, Field(description="With id: the note that replaces it")] = None,
    derived_from: Annotated[list[str] | None, Field(description="Ids of notes it builds on")] = None,
) -> Written:
    """Save knowledge as a Markdown note, or update one by id (what you omit stays). Link notes with [[name]]. Search
    first: `existing` and `similar` in the answer name notes that may say the same, so update one of them instead.
    Returns id, path, version, action, superseded_ids. conflict: somebody changed it; read again, then retry with its
    version as if_match."""
    fields = {name: value for name, value in (("confidence", confidence), ("source", source_task)) if value is not None}
    request = Request(agent, title, content, None if tags is None else tuple(tags), fields, append)
    ending = (status, ttl_policy, expires_at, supersedes, superseded_by)
    life = Life(provenance, claim_id, merge_key, on_conflict, *ending, derived_from)
    return lithos.notes.vault.write(call, Write(request, id, path, if_match, claim_token, life))


@tool(toolset="core", notes=True, reads=True)
def lithos_read(
    lithos: Lithos,
    call: Call,
    id: Annotated[str | None, Field(description="Note id, or give path")] = None,
    path: Annotated[str | None, Field(description="Path in the vault, with or without .md")] = None,
    max_length: Annotated[int | None, Field(strict=True, ge=1, description="Most characters of content")] = None,
) -> NoteInContext:
    """Read one note: title, content, metadata (frontmatter), links (each with the id it leads to, or null), version
    for if_match. With max_length it ends at a paragraph or sentence, and truncated is true."""
    note = cast(NoteInContext, lithos.notes.reader.read(id, path, max_length))
    if task := lithos.board.named(str(note["metadata"].get("source", ""))):
        note["task"] = task
    if findings := lithos.board.findings_of_note(note["id"]):
        note["findings"] = findings
    return note


@tool(toolset="core", notes=True, destructive=True)
def lithos_delete(
    lithos: Lithos,
    call: Call,
    id: NoteId,
    agent: Annotated[str | None, Field(description="Who deletes it")] = None,
    if_match: IfMatch = None,
) -> Deleted:
    """Delete a note. A person can restore it. success false: there is no such note."""
    return lithos.notes.vault.delete(call, id, if_match)


@tool(toolset="core", notes=True, reads=True)
def lithos_list(
    lithos: Lithos,
    call: Call,
    path_prefix: str | None = None,
    tags: Annotated[list[str] | None, Field(description="All of these")] = None,
    author: str | None = None,
    since: Annotated[str | None, Field(description="Updated since (ISO 8601)")] = None,
    limit: Limit = 50,
    offset: Annotated[int, Field(strict=True, ge=0)] = 0,
    status: Annotated[Shown | None, Field(description="Default: what counts now")] = None,
) -> NoteList:
    """List notes, newest first: {items: [{id, title, path, updated, tags}], total}."""
    return lithos.notes.reader.list(path_prefix, tags, author, since, limit, offset, status)


@tool(toolset="core", notes=True, reads=True)
def lithos_links(
    lithos: Lithos,
    call: Call,
    id: NoteId,
    direction: Direction = "both",
    depth: Annotated[int, Field(strict=True, ge=1, le=DEEPEST)] = 1,
) -> NoteLinks:
    """The notes that a note links to (outgoing) and that link to it (incoming), up to depth steps away."""
    return lithos.notes.reader.links(id, direction, depth)


@tool(toolset="core", notes=True, reads=True)
def lithos_tags(
    lithos: Lithos, call: Call, prefix: Annotated[str, Field(description="Only tags that begin so")] = ""
) -> Tags:
    """All tags with the number of notes that have each. lithos_list(tags=[…]) shows the notes."""
    return lithos.notes.reader.tags(prefix)


@tool(toolset="notes", notes=True)
def lithos_move(
    lithos: Lithos,
    call: Call,
    id: NoteId,
    to: Annotated[str, Field(description='New folder, or the whole new path ending in .md; "/" is the top')],
    agent: Agent,
    rewrite_links: Annotated[bool, Field(description="Mend the links of other notes to it, as one change")] = False,
    if_match: IfMatch = None,
) -> Moved:
    """Move or rename a note; its id stays. Without rewrite_links, links that name the old path become broken (links by
    title, alias or id do not). Returns path, old_path, version, rewritten. conflict: the new path is taken."""
    return lithos.notes.mover.move(call, Move(id, to, rewrite_links, if_match))


@tool(toolset="notes", notes=True, reads=True)
def lithos_note_history(
    lithos: Lithos, call: Call, id: NoteId, limit: Annotated[int, Field(strict=True, ge=1, le=200)] = 50
) -> NoteHistory:
    """Who changed a note, when, from which version to which, newest first; of a deleted note too. `kept`: the replaced
    version can still be compared with or brought back."""
    return lithos.notes.history.of(id, limit)


@tool(toolset="notes", notes=True, reads=True)
def lithos_note_diff(
    lithos: Lithos,
    call: Call,
    id: NoteId,
    old: Annotated[str | None, Field(description="A version; left out: the one before `new`")] = None,
    new: Annotated[str | None, Field(description="A version; left out: the note as it is")] = None,
) -> Difference:
    """What changed between two versions of a note, as a unified diff."""
    return lithos.notes.history.diff(id, old, new)


@tool(toolset="notes", notes=True)
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


@tool(toolset="notes", notes=True)
def lithos_note_restore(
    lithos: Lithos, call: Call, note: Annotated[str, Field(description="Id or path of a deleted note")], agent: Agent
) -> Restored:
    """Bring a deleted note back to its old path. conflict: another note is there now; move that one first."""
    return lithos.notes.history.restore(call, note)


@tool(toolset="notes", notes=True, reads=True)
def lithos_validate(
    lithos: Lithos,
    call: Call,
    duplicates: Annotated[bool, Field(description="Also compare all notes with each other; takes seconds")] = False,
) -> Validation:
    """What a person should mend in the vault: broken, ambiguous and stale links, frontmatter, duplicate ids, clashing
    names, conflict copies, files that cannot be served, fields of a note's life that contradict others, credentials."""
    return lithos.notes.validator.validate(duplicates=duplicates)


@tool(toolset="operator")
def lithos_reindex(lithos: Lithos, call: Call, clear: bool = False) -> Stats:
    """Compare all files with the index now; clear builds every index anew. lithos_stats tells how far it is."""
    before = stats(lithos)
    lithos.notes.reindex_soon(clear=clear)
    return before
