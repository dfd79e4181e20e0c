"""Ingesting a source: it becomes a readable note under `academic/`, once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NotRequired

from typing_extensions import TypedDict

from lithos.core.call import Call
from lithos.core.clock import parse_time
from lithos.core.keyed_lock import KeyedLock
from lithos.errors import InvalidInput
from lithos.graph.code import Code
from lithos.graph.sources import files
from lithos.graph.sources.bibliography import from_bibtex, from_csl
from lithos.graph.sources.crawls import Crawls, SourceState
from lithos.graph.sources.extraction import NoText, extracted, hash_of
from lithos.graph.sources.libraries import library
from lithos.graph.sources.texts import SourceText, dated, decoded, kind_of, merged, title_of, with_head
from lithos.graph.sources.web import Fetcher
from lithos.notes import Notes, WriteRequest
from lithos.storage import Row

FOLDER = "academic"
LIBRARY = "library:"
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


class IngestedNote(TypedDict):
    status: str  # created, duplicate, superseded: an earlier version was replaced, no_text, unchanged
    title: str
    kind: NotRequired[str]
    id: NotRequired[str]
    path: NotRequired[str]
    supersedes: NotRequired[str]


class Ingested(TypedDict):
    status: str
    sources: list[IngestedNote]


@dataclass(frozen=True, slots=True)
class Places:
    """Folders whose files may be ingested by everyone; roots of code are added for those who see them."""

    folders: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class IngestRequest:
    source: str
    given: SourceText = field(default_factory=lambda: SourceText("", ""))


class Ingest:
    def __init__(
        self, notes: Notes, code: Code, fetcher: Fetcher, places: Places, crawls: Crawls | None = None
    ) -> None:
        self._notes = notes
        self._code = code
        self._fetcher = fetcher
        self.places = places
        self._crawls = crawls
        self._writing = KeyedLock()  # by content and by place: two callers must not make two notes of one source

    def states(self) -> list[SourceState]:
        """The allowed hosts, and when each last answered."""
        return [] if self._crawls is None else self._crawls.states(self._fetcher.sources)

    def ingest(self, call: Call, request: IngestRequest) -> Ingested:
        """Read the source, then write one note for each; nothing is written before all was read."""
        given = replace(request.given, published_at=dated(request.given.published_at))
        if given.published_at:
            parse_time(given.published_at, "published_at")
        try:
            read = self._read(call, request.source.strip())
        except NoText:
            name = Path(request.source).name
            return {"status": "no_text", "sources": [{"status": "no_text", "title": name}]}
        found = [merged(each, given) if len(read) == 1 else replace(each, tags=given.tags) for each in read]
        found = [replace(each, published_at=_readable(each.published_at)) for each in found]
        written = [self._write(_numbered(call, place, len(found)), each) for place, each in enumerate(found)]
        states = {each["status"] for each in written}
        return {"status": states.pop() if len(states) == 1 else "mixed", "sources": written}

    # Reading

    def _read(self, call: Call, source: str) -> list[SourceText]:
        if not source:
            raise InvalidInput("source is empty", hint="Give a path, an https address or library:NAME.")
        if source.startswith(LIBRARY):
            roots = [Path(root.spec.path) for root in self._code.visible(call)]
            found = library(roots, source[len(LIBRARY) :], anywhere=call.operator)
            return [replace(found, content_hash=hash_of(found.text.encode()))]
        if _ADDRESS.match(source):
            return [self._from_web(source)]
        return self._from_disk(call, source)

    def _from_web(self, url: str) -> SourceText:
        known = [each for each in self._notes.reader.sources("url", url) if _is_current(each)]
        etag = next((str(each["etag"]) for each in known if each["etag"]), "")
        page = self._fetcher.fetch(url, etag)
        if page.unchanged:
            return SourceText(known[0]["title"], "", url=url, content_hash=known[0]["content_hash"] or "")
        name = page.url.rstrip("/").rpartition("/")[2] or page.source
        found = extracted(page.data, name, page.content_type)
        kind = kind_of(name, page.url, found.text)
        origin, digest = page.source, hash_of(page.data)
        return replace(found, url=url, origin=origin, etag=page.etag, content_hash=digest, kind=kind)

    def _from_disk(self, call: Call, source: str) -> list[SourceText]:
        folders = [*self.places.folders, *(Path(root.spec.path) for root in self._code.visible(call))]
        path = files.located(source, folders, anywhere=call.operator)
        if path.is_dir():
            return [self._repository(path, folders, call.operator)]
        data = files.read(path, folders, anywhere=call.operator)
        where = self._named(path)
        if path.suffix.lower() == ".bib":
            return [_with_hash(each) for each in from_bibtex(decoded(data))]
        if path.suffix.lower() == ".json":
            return [_with_hash(each) for each in from_csl(data)]
        found = extracted(data, path.name)
        kind = kind_of(path.name, "", found.text)
        return [replace(found, url=where, origin="file", content_hash=hash_of(data), kind=kind)]

    def _named(self, path: Path) -> str:
        """How a note names a file: relative to the folder that allowed it, so that no path of a machine is kept."""
        named = [(root.spec.name, Path(root.spec.path)) for root in self._code.roots()]
        named += [(folder.name, folder) for folder in self.places.folders]
        for name, folder in named:
            if path.is_relative_to(folder.resolve()):
                return f"file:{name}/{path.relative_to(folder.resolve()).as_posix()}"
        return f"file:{path.name}"

    def _repository(self, folder: Path, folders: Sequence[Path], anywhere: bool) -> SourceText:
        parts: list[str] = []
        size = 0
        for path in files.repository_files(folder):
            text = decoded(files.read(path, folders, anywhere=anywhere))
            size += len(text)
            if size > files.LARGEST_REPOSITORY:
                break
            parts.append(f"## {path.relative_to(folder).as_posix()}\n\n{text.strip()}")
        if not parts:
            raise InvalidInput(f"{folder.name} has no README, licence or documentation", hint="Name a file of it.")
        text = "\n\n".join(parts)
        title = title_of(parts[0].partition("\n")[2], folder.name)
        where, digest = self._named(folder), hash_of(text.encode())
        return SourceText(title, text, "documentation", where, "repository", content_hash=digest)

    # Writing

    def _write(self, call: Call, source: SourceText) -> IngestedNote:
        with self._writing.hold(f"content {source.content_hash}", f"place {source.library or source.url}"):
            return self._write_alone(call, source)

    def _write_alone(self, call: Call, source: SourceText) -> IngestedNote:
        reader = self._notes.reader
        same = [each for each in reader.sources("content_hash", source.content_hash) if _is_current(each)]
        if same:
            shown: IngestedNote = {"status": "duplicate", "title": same[0]["title"]}
            return {**shown, "id": same[0]["id"], "path": same[0]["path"]}
        column, value = ("library", source.library) if source.library else ("url", source.url)
        earlier = [each for each in reader.sources(column, value) if _is_current(each)] if value else []
        kind = source.kind or "documentation"
        request = WriteRequest(
            agent=call.agent or "lithos",
            title=source.title,
            content=with_head(source),
            tags=source.tags,
            fields={**_fields(source, kind), **({"supersedes": earlier[0]["id"]} if earlier else {})},
            folder=FOLDER,
        )
        written = self._notes.vault.write(call, request)
        note: IngestedNote = {
            "status": "superseded" if earlier else "created",
            "title": source.title,
            "kind": kind,
            "id": written["id"],
            "path": written["path"],
        }
        return {**note, "supersedes": earlier[0]["id"]} if earlier else note


def _fields(source: SourceText, kind: str) -> dict[str, object]:
    given: dict[str, object] = {
        "kind": kind,
        "url": source.url,
        "source": source.origin,
        "authors": list(source.authors),
        "published_at": source.published_at,
        "venue": source.venue,
        "library": source.library,
        "modules": list(source.keys),
        "content_hash": source.content_hash,
        "etag": source.etag,
    }
    return {name: value for name, value in given.items() if value}


def _is_current(row: Row) -> bool:
    return bool(row["effective_status"] == "active")


def _readable(date: str) -> str:
    """A date that a source gives; one that is none is left out."""
    try:
        parse_time(dated(date), "published_at")
    except InvalidInput:
        return ""
    return dated(date)


def _with_hash(source: SourceText) -> SourceText:
    said = "\n".join((source.title, *source.authors, source.published_at, source.venue, source.url, source.text))
    return replace(source, content_hash=hash_of(said.encode()))


def _numbered(call: Call, place: int, count: int) -> Call:
    """Each note of a bibliography is a write; a repeated call repeats each of them."""
    if count == 1 or call.idempotency_key is None:
        return call if count == 1 else replace(call, delivery=None)
    return replace(call, idempotency_key=f"{call.idempotency_key[:180]}/{place}", delivery=None)
