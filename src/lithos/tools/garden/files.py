"""Files of the garden: list, read, search, write, append, patch; nothing deletes."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from lithos.app import Lithos
from lithos.core.call import Call
from lithos.errors import InvalidInput
from lithos.garden import Appended, Hashes, Made, Matches, Moved, Paths, Reading, ReplaceText, Search, Written, for_user
from lithos.tools.arguments import Cursor
from lithos.tools.dispatch.schemas import Rare
from lithos.tools.garden.arguments import IfMatch, Path, Rationale, User
from lithos.tools.registry import tool

Folder = Annotated[str | None, Field(max_length=1000, description="A folder of the user; left out: all of theirs")]


@tool(toolset="garden", notes=True, reads=True)
def lithos_fs_list(
    lithos: Lithos,
    call: Call,
    path: Folder = None,
    glob: Annotated[str | None, Field(max_length=200, description="For example *.md or parts/*/profile.md")] = None,
    user_id: User = None,
    cursor: Cursor = None,
) -> Paths:
    """List a user's files that you may read and tend."""
    return lithos.garden.files(for_user(call, user_id), path, glob, cursor)


@tool(toolset="garden", notes=True, reads=True)
def lithos_fs_read(
    lithos: Lithos,
    call: Call,
    path: Path,
    ranges: Annotated[
        list[tuple[int, int]] | None, Field(max_length=50, description="[[first line, last line], …], from 1")
    ] = None,
    user_id: User = None,
) -> Reading:
    """Read a file, whole (content) or by lines (slices). Keep version: it is what if_match takes."""
    return lithos.garden.read(lithos.garden.target(for_user(call, user_id), path), ranges)


@tool(toolset="garden", notes=True, reads=True)
def lithos_fs_search(
    lithos: Lithos,
    call: Call,
    pattern: Annotated[str, Field(max_length=1000, description="RE2 regular expression, matched line by line")],
    root: Folder = None,
    ignore_case: bool = False,
    context: Annotated[int, Field(ge=0, le=10, description="Lines around each match")] = 0,
    limit: Annotated[int, Field(ge=1, le=1000)] = 100,
    user_id: User = None,
    cursor: Cursor = None,
) -> Matches:
    """Find lines in a user's files by pattern: path, line number and the line."""
    wanted = Search(pattern, ignore_case, context, limit, cursor)
    return lithos.garden.search(for_user(call, user_id), root, wanted)


@tool(toolset="garden", notes=True, reads=True)
def lithos_fs_hash(
    lithos: Lithos,
    call: Call,
    path: Path,
    section_anchor: Annotated[str | None, Field(max_length=500, description="Only this section")] = None,
    user_id: User = None,
) -> Hashes:
    """hash: of the canonicalised text (file or section), to compare content. version: of the bytes, for if_match."""
    return lithos.garden.hash(lithos.garden.target(for_user(call, user_id), path), section_anchor)


@tool(toolset="garden", notes=True)
def lithos_fs_ensure_dir(lithos: Lithos, call: Call, path: Path, user_id: User = None) -> Made:
    """Make a folder of the user, with those above it; there already is fine."""
    return lithos.garden.ensure_folder(for_user(call, user_id), path)


@tool(toolset="garden", notes=True)
def lithos_fs_write(
    lithos: Lithos,
    call: Call,
    path: Path,
    content: str,
    rationale: Rationale,
    if_match: IfMatch = None,
    user_id: User = None,
) -> Written:
    """Write a whole file. To replace one that a person may have edited, read it and send if_match; better, change only
    a section. forbidden: an anchor or identity key would change. conflict: read again, nothing was written."""
    call = for_user(call, user_id)
    return lithos.garden.write(call, lithos.garden.target(call, path), content, if_match)


@tool(toolset="garden", notes=True)
def lithos_fs_append(
    lithos: Lithos,
    call: Call,
    path: Path,
    text: str,
    rationale: Rationale,
    if_match: IfMatch = None,
    user_id: User = None,
) -> Appended:
    """Add text at the end of a file; makes the file if it is not there. For a captured note or observation."""
    call = for_user(call, user_id)
    return lithos.garden.append(call, lithos.garden.target(call, path), text, if_match)


@tool(toolset="garden", notes=True)
def lithos_fs_patch(
    lithos: Lithos,
    call: Call,
    path: Path,
    rationale: Rationale,
    diff_text: Annotated[str | None, Field(description="Unified diff against the file as it is")] = None,
    old_string: Annotated[str | None, Field(description="Or the one passage to replace"), Rare] = None,
    new_string: Annotated[str | None, Rare] = None,
    replace_all: Annotated[bool, Rare] = False,
    if_match: IfMatch = None,
    user_id: User = None,
) -> Written:
    """Apply a unified diff exactly: a hunk that does not fit its line is refused with the place, nothing is guessed."""
    call = for_user(call, user_id)
    target = lithos.garden.target(call, path)
    if (diff_text is None) == (old_string is None):
        raise InvalidInput("give either diff_text or old_string", hint="diff_text: a unified diff of the file.")
    if diff_text is not None:
        return lithos.garden.patch(call, target, diff_text, if_match)
    edit = ReplaceText(old_string or "", new_string or "", replace_all)
    return lithos.garden.replace_text(call, target, edit, if_match)


@tool(toolset="operator", notes=True)
def lithos_fs_move(lithos: Lithos, call: Call, path: Path, new_path: Path, rationale: Rationale) -> Moved:
    """Give a file of the garden another path; never replaces one."""
    return lithos.garden.move(call, path, new_path)
