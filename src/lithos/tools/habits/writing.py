"""Habits of writing: preview before an edit."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from lithos.app import Lithos
from lithos.core.call import Call
from lithos.garden import for_user
from lithos.habits import EditPreview
from lithos.tools.dispatch.schemas import Rare
from lithos.tools.registry import tool


@tool(toolset="habits", reads=True, notes=True, title="Preview an edit")
def lithos_preview_edit(
    lithos: Lithos,
    call: Call,
    file_path: Annotated[str, Field(description="Of a root; vault:path or garden:path")],
    old_string: str,
    new_string: str,
    replace_all: bool = False,
    user_id: Annotated[str | None, Rare] = None,
) -> EditPreview:
    """See an edit before you make it: diff, how often it matches, broken syntax, dependents, style, secrets."""
    return lithos.habits.previews.preview(for_user(call, user_id), file_path, old_string, new_string, replace_all)
