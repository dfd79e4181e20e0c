"""Outside sources as texts: what a file, page or entry of a bibliography says about itself. Pure."""

from __future__ import annotations

import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

SourceKind = Literal["paper", "documentation", "best_practice", "rfc", "stackoverflow", "blog", "tutorial"]
KINDS: tuple[str, ...] = get_args(SourceKind)
_RFC = re.compile(r"\brfc[\s_-]?(\d{1,5})\b", re.IGNORECASE)
_HEADING = re.compile(r"^\s{0,3}#\s+(.+?)\s*#*\s*$", re.MULTILINE)
_UNDERLINED = re.compile(r"^([^\n]{3,200})\n(?:=|-|~){3,}\s*$", re.MULTILINE)
LONGEST_TITLE = 200


@dataclass(frozen=True, slots=True)
class SourceText:
    """One source, before it is a note."""

    title: str
    text: str  # Markdown, with a heading per page or section
    kind: SourceKind | None = None
    url: str = ""
    origin: str = ""  # where it was read: a host, a root, a library
    authors: tuple[str, ...] = ()
    published_at: str = ""
    venue: str = ""
    library: str = ""
    keys: tuple[str, ...] = ()  # modules by which code imports the library
    etag: str = ""
    content_hash: str = ""
    tags: tuple[str, ...] = ()
    cites: tuple[str, ...] = field(default=())  # keys of other sources that it names


def title_of(text: str, fallback: str) -> str:
    """The first heading, or the name of the file."""
    for pattern in (_HEADING, _UNDERLINED):
        if (found := pattern.search(text[:5_000])) and found[1].strip():
            return one_line(found[1])
    return one_line(fallback)


def one_line(text: str) -> str:
    return " ".join(re.sub(r"[*_`#\[\]]", "", text).split())[:LONGEST_TITLE].strip() or "Untitled"


def kind_of(name: str, url: str, text: str) -> SourceKind:
    """A guess where the caller gave none: by address, name and beginning."""
    where = f"{url} {name}".casefold()
    if _RFC.search(where) or re.search(
        r"^\s*(?:internet engineering task force|request for comments)", text[:3_000], re.I | re.M
    ):
        return "rfc"
    if "stackoverflow.com" in where or "stackexchange.com" in where:
        return "stackoverflow"
    if re.search(r"arxiv\.org|doi\.org|acm\.org|\.pdf\b", where) or re.search(
        r"^\s*abstract\b", text[:5_000], re.I | re.M
    ):
        return "paper"
    if re.search(r"\bblog\b|medium\.com|dev\.to", where):
        return "blog"
    if re.search(r"tutorial|getting[-_ ]started|quickstart", where):
        return "tutorial"
    if re.search(r"best[-_ ]practices?|guidelines|style[-_ ]?guide", where):
        return "best_practice"
    return "documentation"


def dated(text: str) -> str:
    """A year, month or day as the day that it begins with; other texts as they are."""
    found = re.fullmatch(r"(\d{4})(?:[-/](\d{1,2}))?(?:[-/](\d{1,2}))?", text.strip())
    return f"{found[1]}-{int(found[2] or 1):02d}-{int(found[3] or 1):02d}" if found else text.strip()


def from_plain(text: str, name: str) -> SourceText:
    """Markdown, reStructuredText or plain text."""
    return SourceText(title_of(text, named_by(name)), text)


def named_by(file: str) -> str:
    """A title from the name of a file."""
    stem = file.rpartition(".")[0] or file
    return stem.replace("-", " ").replace("_", " ")


def decoded(data: bytes) -> str:
    """By its byte order mark, as UTF-8, or as Windows and older files write it."""
    for mark, encoding in ((BOM_UTF8, "utf-8"), (BOM_UTF16_LE, "utf-16-le"), (BOM_UTF16_BE, "utf-16-be")):
        if data.startswith(mark):
            return _lines(data[len(mark) :].decode(encoding, "replace"))
    text = data.decode("utf-8", "replace")
    damaged = text.count("\ufffd")
    if damaged and 2 * damaged > sum(not each.isascii() for each in text):  # few damaged ones: it is UTF-8
        text = data.decode("cp1252", "replace")
    return _lines(text)


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\x00", "")


def with_head(source: SourceText) -> str:
    """The text of the note: a line on where it comes from, then the source without its title, which the note has."""
    said = [", ".join(source.authors), source.venue, source.published_at[:10], source.url]
    head = " · ".join(each for each in said if each)
    text = _without_title(source)
    return f"> {head}\n\n{text}\n" if head else f"{text}\n"


def _without_title(source: SourceText) -> str:
    text = source.text.strip()
    for pattern in (_HEADING, _UNDERLINED):
        found = pattern.match(text)
        if found and found[1].strip() == source.title and not text.startswith("##"):  # no markup is lost
            return text[found.end() :].strip()
    return text


def merged(source: SourceText, given: SourceText) -> SourceText:
    """The source, with the fields that the caller gave in place of those that were read."""
    return replace(
        source,
        title=one_line(given.title) if given.title else source.title,
        kind=given.kind or source.kind,
        authors=given.authors or source.authors,
        published_at=given.published_at or source.published_at,
        venue=given.venue or source.venue,
        tags=tuple(dict.fromkeys((*source.tags, *given.tags))),
    )
