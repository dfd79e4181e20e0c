"""Habits of writing: preview, style, components, dependencies, design tokens."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from lithos.app import Lithos
from lithos.core.call import Call
from lithos.errors import InvalidInput
from lithos.garden import for_user
from lithos.habits import (
    MOST_FINDINGS,
    SHOWN_FINDINGS,
    ComponentsFound,
    ComponentType,
    DependencyChecked,
    DesignTokens,
    EditPreview,
    StyleGuide,
    TokenCategory,
    TokenFound,
    TokenLint,
    lint_tokens,
)
from lithos.tools.dispatch.schemas import Rare
from lithos.tools.registry import tool

RootName = Annotated[str | None, Rare]


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


@tool(toolset="habits", reads=True, title="Style guide")
def lithos_get_style_guide(
    lithos: Lithos,
    call: Call,
    language: Annotated[str, Field(description='python, typescript, …; "all": in short')] = "all",
    path: Annotated[str, Field(description="File or folder that you will write")] = "",
    root: RootName = None,
) -> StyleGuide:
    """How this repository names, formats and orders things, before you write code: from its settings, else counted."""
    return lithos.habits.styles.guide(call, language, path, root)


@tool(toolset="habits", reads=True, title="Find a component")
def lithos_find_component(
    lithos: Lithos,
    call: Call,
    need: Annotated[str | None, Field(description="modal dialog, date formatting, auth hook, …")] = None,
    type: ComponentType = "any",
    query: Annotated[str | None, Rare] = None,
    root: RootName = None,
) -> ComponentsFound:
    """Before you write a component, hook or helper: is there one? With props, variants, a real use, number of uses."""
    wanted = need if need is not None else query
    if wanted is None:
        raise InvalidInput("need is missing", hint='For example "modal dialog".')
    return lithos.habits.components.find(call, wanted, type, root)


@tool(toolset="habits", reads=True, title="Check dependencies")
def lithos_check_dependency(
    lithos: Lithos,
    call: Call,
    need: Annotated[str, Field(description="date formatting, HTTP client, …")],
    root: Annotated[str | None, Field(description="Name of the repository")] = None,
) -> DependencyChecked:
    """Before you add a package: does the standard library or a package of this project do it already?"""
    return lithos.habits.dependencies.check(call, need, root)


@tool(toolset="habits", reads=True, title="Design tokens")
def lithos_get_design_tokens(
    lithos: Lithos,
    call: Call,
    category: TokenCategory = "all",
    theme: Annotated[str | None, Field(description="dark, …")] = None,
    name: Annotated[str | None, Rare] = None,
    root: RootName = None,
) -> DesignTokens:
    """Colours, spacing, typography, shadows and radii that this project names: use these, not raw values."""
    return lithos.habits.design.get(call, category, theme, name, root)


@tool(toolset="habits", reads=True, title="Find a design token")
def lithos_find_design_token(
    lithos: Lithos,
    call: Call,
    value: Annotated[str, Field(description="#3B82F6, 16px, …")],
    root: RootName = None,
) -> TokenFound:
    """The token of a raw value, or the nearest one with its distance."""
    return lithos.habits.design.find(call, value, root)


@tool(toolset="habits", reads=True, listed=False, title="Lint raw values")
def lithos_lint_tokens(
    lithos: Lithos,
    call: Call,
    path: str,
    limit: Annotated[int, Field(ge=1, le=MOST_FINDINGS)] = SHOWN_FINDINGS,
) -> TokenLint:
    """Raw colours and lengths of a file or folder for which a design token exists."""
    return lint_tokens(lithos.code, lithos.habits.design, call, path, limit)
