"""Sections of a Markdown file, of the garden or the vault: listed, patched, curated, linted."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from lithos.app import Lithos
from lithos.core.call import Call
from lithos.garden import Lint, Patched, Sections, Snapshot, for_user
from lithos.tools.garden.arguments import Anchor, Change, FilePath, IfMatch, NoteId, Rationale, User
from lithos.tools.registry import tool


@tool(toolset="garden", notes=True, reads=True, pages=("sections",))
def lithos_md_list_sections(
    lithos: Lithos, call: Call, path: FilePath = None, id: NoteId = None, user_id: User = None
) -> Sections:
    """The sections (H2 and deeper) of a file or note with anchor, heading path and lines: look before you patch."""
    return lithos.garden.sections(lithos.garden.target(for_user(call, user_id), path, id))


@tool(toolset="garden", notes=True, title="Edit one section")
def lithos_md_patch_section(
    lithos: Lithos,
    call: Call,
    section_anchor: Anchor,
    change: Annotated[Change, Field(description="replace: its whole text; append: after its last line")],
    rationale: Rationale,
    path: FilePath = None,
    id: NoteId = None,
    if_match: IfMatch = None,
    user_id: User = None,
) -> Patched:
    """Change one section of a note (id) or garden file (path) and nothing else. The heading stays."""
    call = for_user(call, user_id)
    target = lithos.garden.target(call, path, id)
    return lithos.garden.patch_section(call, target, section_anchor, change.as_given(), if_match)


@tool(toolset="garden", notes=True)
def lithos_md_curate_list(
    lithos: Lithos,
    call: Call,
    section_anchor: Anchor,
    ops: Annotated[list[Literal["append", "prune", "merge"]], Field(min_length=1, max_length=20)],
    items: Annotated[
        list[str] | list[list[str]], Field(max_length=100, description="For every op, or one list per op")
    ],
    reason: Annotated[str, Field(description="Why, in one line; kept in the event")],
    path: FilePath = None,
    id: NoteId = None,
    if_match: IfMatch = None,
    user_id: User = None,
) -> Patched:
    """Tend the list of a section, ops in order. append: adds items; prune: removes those of the same text or ev: token;
    merge: renews the item of the same text or token, or adds it."""
    call = for_user(call, user_id)
    target = lithos.garden.target(call, path, id)
    return lithos.garden.curate(lithos.garden.because(call, reason), target, section_anchor, ops, items, if_match)


@tool(toolset="garden", notes=True)
def lithos_md_snapshot_history(
    lithos: Lithos, call: Call, path: FilePath = None, id: NoteId = None, user_id: User = None
) -> Snapshot:
    """Keep a copy of a file as it is now. Every change keeps the version before it anyway."""
    call = for_user(call, user_id)
    return lithos.garden.snapshot(call, lithos.garden.target(call, path, id))


@tool(toolset="garden", notes=True)
def lithos_md_lint(
    lithos: Lithos,
    call: Call,
    path: FilePath = None,
    id: NoteId = None,
    fix: Annotated[bool, Field(description="Repair headings and white space, never words")] = False,
    if_match: IfMatch = None,
    user_id: User = None,
) -> Lint:
    """What is wrong with a file: warnings (over a cap, strange heading, item without ev: token) and blocks."""
    call = for_user(call, user_id)
    target = lithos.garden.target(call, path, id)
    if not fix:
        return lithos.garden.lint(target)
    return lithos.garden.fix(lithos.garden.because(call, "lint: headings and white space"), target, if_match)


@tool(toolset="garden", notes=True, reads=True)
def lithos_lint_check(
    lithos: Lithos, call: Call, path: FilePath = None, id: NoteId = None, user_id: User = None
) -> Lint:
    """As lithos_md_lint, without fix: diagnostics with the policy's severity for each rule."""
    return lithos.garden.lint(lithos.garden.target(for_user(call, user_id), path, id))
