"""One scanner of Markdown: blocks (headings, code, lists, quotes) and what is inline text in them."""

from __future__ import annotations

from lithos.core.markdown.blocks import (
    BEGINS,
    CONTINUES,
    RAW,
    Heading,
    Kind,
    Scan,
    front_matter_end,
    rescan,
    scan,
    split_lines,
)
from lithos.core.markdown.inline import InlineText

__all__ = [
    "BEGINS",
    "CONTINUES",
    "RAW",
    "Heading",
    "InlineText",
    "Kind",
    "Scan",
    "front_matter_end",
    "rescan",
    "scan",
    "split_lines",
]
