"""Values that every reader of a source yields."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class ImportedNote:
    """A note to be. `path` is relative to the folder of the import; `raw` is a Markdown file as it is."""

    path: str
    content: str = ""
    title: str = ""
    tags: tuple[str, ...] = ()
    source: str = ""  # import:KIND:ID, kept in the frontmatter
    created: str = ""
    raw: bytes | None = None
    second_path: str = ""  # where another entry has the first

    @property
    def names(self) -> list[str]:
        return [self.path, *filter(None, [self.second_path])]


@dataclass(frozen=True)
class Attachment:
    path: str
    file: Path


@dataclass(frozen=True)
class ImportedThought:
    chain: str
    arguments: dict[str, Any] = field(default_factory=dict)  # of mentisdb_append


@dataclass(frozen=True)
class Skipped:
    name: str
    why: str


Item = ImportedNote | Attachment | ImportedThought | Skipped


@dataclass
class Extent:
    """How far a source is read, in bytes, files or rows."""

    done: int = 0
    total: int = 0

    def share(self) -> float:
        return min(self.done / self.total, 1.0) if self.total else 0.0
