"""Argument types that the garden's tools share: file, user, reason."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

from lithos.tools.dispatch.references import Refers

User = Annotated[str | None, Field(max_length=128, description="Whose files")]
Path = Annotated[str, Field(max_length=1000, description="Relative to the garden: users/ana/parts/critic/profile.md")]
FilePath = Annotated[str | None, Field(max_length=1000, description="A file of the garden; or give id")]
NoteId = Annotated[
    str | None, Field(max_length=1000, description="A note (id, path or title), instead of path"), Refers("note")
]
Rationale = Annotated[str, Field(description="Why, in one line; kept in the event")]
IfMatch = Annotated[str | None, Field(description="version of your last read; another: conflict")]
Anchor = Annotated[str, Field(max_length=500, description="Anchor (concerns v1) or heading path (A > B)")]


class Change(BaseModel):
    """Exactly one of the two."""

    model_config = ConfigDict(extra="forbid")

    replace: str | None = None
    append: str | None = None

    @model_validator(mode="after")
    def _one(self) -> Change:
        if (self.replace is None) == (self.append is None):
            raise ValueError("give either replace or append")
        return self

    def as_given(self) -> dict[str, str]:
        return {"replace": self.replace} if self.replace is not None else {"append": self.append or ""}


class Edit(BaseModel):
    """A path, and one of change, content, diff."""

    model_config = ConfigDict(extra="forbid")

    path: str = Field(max_length=1000)
    section_anchor: str | None = Field(None, max_length=500)
    change: Change | None = None
    content: str | None = None
    diff: str | None = None
