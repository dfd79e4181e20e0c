"""Argument types that tools of several nouns share; what one noun alone takes is in its own file."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from lithos.core.cursor import LONGEST
from lithos.tools.dispatch.schemas import Rare

Agent = Annotated[str, Field(description="Your agent identifier")]
ChainKey = Annotated[str | None, Field(description="Which chain; left out: the default one", max_length=200)]
LimitOf50 = Annotated[int | None, Field(description="Default 50", ge=1)]
Cursor = Annotated[str | None, Field(description="next_cursor of the page before")]
MoreCursor = Annotated[str | None, Field(description="next_cursor of the page before", max_length=LONGEST), Rare]
Texts = list[str] | None
Time = Annotated[str | None, Field(description="RFC 3339")]
