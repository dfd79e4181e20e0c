"""Note: one Markdown file as readers see it (fields, title, content, links), made from its bytes and nothing else."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any

from lithos.core.canonical import version_of
from lithos.core.clock import micros, parse_time
from lithos.core.ids import is_uuid
from lithos.errors import InvalidInput
from lithos.notes.format.document import Document, Unreadable, read_document
from lithos.notes.format.frontmatter import Fields, Frontmatter, parse_frontmatter
from lithos.notes.format.links import WikiLink, find_links, find_property_links

_HEADING = re.compile(r"(?:[ \t]*\n)*#[ \t]([^\n]*)(?:\n|\Z)")
LONGEST_TITLE = 500
# Frontmatter keys that real vaults use for another name of the note: `aliases`, `subtitle`, `display-name`, `title_en`.
_NAMING_PROPERTY = re.compile(
    r"(?!title$)(?:.*(?:title|names?|alias(?:es)?|label)|title_.*|aka|also_known_as|acronyms?|abbr(?:eviation)?s?|synonyms?)"
)
LONGEST_DESCRIBED = 4000


@dataclass(frozen=True)
class Note:
    """`content` is the body without its title: what an agent sends is what it reads back."""

    path: str
    document: Document
    front: Frontmatter
    version: str

    @property
    def fields(self) -> Fields:
        return self.front.fields

    @cached_property
    def own_id(self) -> str | None:
        """The id that the file itself names, in its one spelling."""
        found = self.fields.get("id")
        return found.lower() if isinstance(found, str) and is_uuid(found) else None

    @property
    def has_id(self) -> bool:
        """Whether the file names any id, also one that is no UUID; `id:` or `id: null` names none."""
        return bool((self.text("id") or "").strip())

    @cached_property
    def title(self) -> str:
        """Of the frontmatter, else the heading that the text begins with, else the file's name."""
        named = self.fields.get("title")
        if named is not None and not isinstance(named, (list, dict)) and str(named).strip():
            return str(named).strip()
        heading = _HEADING.match(self.document.body)
        text = _without_marks(heading.group(1)) if heading else ""
        return text[:LONGEST_TITLE].strip() or PurePosixPath(self.path).stem

    @cached_property
    def heading(self) -> re.Match[str] | None:
        """The title's place in the body, if it has one."""
        return title_heading(self.document.body, self.title)

    @cached_property
    def content_start(self) -> int:
        """Behind the title, or behind the frontmatter, and one empty line."""
        start = self.heading.end() if self.heading else 0
        separated = self.heading is not None or self.document.front is not None
        return start + 1 if separated and self.document.body.startswith("\n", start) else start

    @cached_property
    def content(self) -> str:
        body = self.document.body
        return body[self.content_start :].removesuffix("\n")

    @cached_property
    def links(self) -> list[WikiLink]:
        """Those of the frontmatter, then those of the body. Places are those in `document.text`."""
        document = self.document
        front = find_property_links(document.front or "", _strings(self.fields))
        body = find_links(document.body)
        return [*_shifted(front, len(document.opening)), *_shifted(body, document.body_start)]

    @property
    def search_text(self) -> str:
        """The text that search indexes; broken frontmatter is part of it, so that it hides nothing."""
        if not self.front.problem:
            return self.content
        # Indented, it is code to every reader: its lines make no heading.
        front = "".join(f"    {line}\n" for line in (self.document.front or "").splitlines())
        return f"{self.content}\n\n{front}"

    @cached_property
    def tags(self) -> list[str]:
        found = self.fields.get("tags")
        listed = re.split(r"[,\s]+", found) if isinstance(found, str) else _texts(found)
        return list(dict.fromkeys(tag for each in listed if (tag := each.strip().removeprefix("#"))))

    @cached_property
    def aliases(self) -> list[str]:
        return list(dict.fromkeys(each.strip() for each in _texts(self.fields.get("aliases")) if each.strip()))

    @cached_property
    def other_names(self) -> list[str]:
        """Other names than its title: aliases, other naming properties, the file's name."""
        properties = [text for name, value in self.fields.items() if _is_naming(name) for text in _strings(value)]
        named = (each.strip() for each in (*self.aliases, *properties, PurePosixPath(self.path).stem))
        return list(dict.fromkeys(each for each in named if each and each != self.title))

    def described(self, known: Container[str]) -> str:
        """Text of the properties that are neither names nor `known`: description, keywords, url, author …"""
        others = (value for name, value in self.fields.items() if name not in known and not _is_naming(name))
        return "\n".join(text for value in others for text in _strings(value))[:LONGEST_DESCRIBED]

    @property
    def origins(self) -> list[str]:
        """Where it comes from: files, addresses, commits, tasks; one or a list."""
        return [each for name in ("provenance", "source") for each in _texts(self.fields.get(name)) if each.strip()]

    @property
    def contributors(self) -> list[str]:
        return _texts(self.fields.get("contributors"))

    def text(self, field: str) -> str | None:
        found = self.fields.get(field)
        return None if found is None or isinstance(found, (list, dict)) else str(found).strip()

    def number(self, field: str) -> float | None:
        found = self.fields.get(field)
        return float(found) if isinstance(found, (int, float)) and not isinstance(found, bool) else None

    def moment(self, field: str) -> int | None:
        """A time in microseconds since 1970; None where there is none or it cannot be read."""
        found = self.text(field)
        try:
            return micros(parse_time(found)) if found else None
        except (InvalidInput, OverflowError):
            return None

    def updated(self, mtime_ns: int) -> int:
        """Microseconds: what the note says, else the date of its file."""
        said = self.moment("updated_at")
        return mtime_ns // 1000 if said is None else said


def read_note(path: str, data: bytes) -> Note | Unreadable:
    document = read_document(data)
    if isinstance(document, Unreadable):
        return document
    return Note(path, document, parse_frontmatter(document.front), version_of(data))


def title_heading(body: str, title: str) -> re.Match[str] | None:
    """A first heading equal to the title is the title's place; any other is content."""
    found = _HEADING.match(body)
    if found and title in (found.group(1).strip(), _without_marks(found.group(1))):
        return found
    return None


def _without_marks(heading: str) -> str:
    """`# Title ##` names "Title", `# C#` names "C#"."""
    text = heading.strip()
    bare = text.rstrip("#")
    return bare.rstrip() if bare != text and bare[-1:] in (" ", "\t") else text


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _strings(item)


def _shifted(links: list[WikiLink], by: int) -> list[WikiLink]:
    return [link._replace(start=link.start + by, end=link.end + by) for link in links] if by else links


def _is_naming(name: str) -> bool:
    """In any case, with hyphens or spaces for underscores, or as one word."""
    plain = re.sub(r"[- ]", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)).lower()
    return _NAMING_PROPERTY.fullmatch(plain) is not None


def _texts(value: Any) -> list[str]:
    """A list, one value in place of a list, or nothing."""
    if value is None:
        return []
    if isinstance(value, list):
        return [str(item) for item in value if item is not None and not isinstance(item, (list, dict))]
    return [] if isinstance(value, dict) else [str(value)]
