"""One reader per kind of source; each yields items and reads no more than it needs at once."""

from __future__ import annotations

import hashlib
import os
import re
import urllib.parse
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lithos.core.text import slug
from lithos.errors import InvalidInput
from lithos.importing.items import Attachment, Extent, ImportedNote, ImportedThought, Item, Skipped
from lithos.importing.relations import Relations
from lithos.importing.streams import json_array, json_lines, opened

LARGEST_NOTE = 4 << 20  # as `notes.largest_kb`: larger files are not served
LARGEST_ATTACHMENT = 64 << 20
LONGEST_CHAT = 100_000  # characters of one note; a longer chat becomes several


def read_source(kind: str, path: Path, extent: Extent | None = None) -> Iterator[Item]:
    """The items of a source; `extent` says how far it is."""
    return _READERS[kind](path, extent or Extent())


def _markdown(path: Path, extent: Extent) -> Iterator[Item]:
    if path.is_file():
        name = (
            path.name if path.stem.lower() not in ("memory", "claude", "agents") else f"{path.parent.name}-{path.name}"
        )
        yield _file(path, name)
        return
    yield from _folder(path, lambda name: name, extent)


def _logseq(path: Path, extent: Extent) -> Iterator[Item]:
    """`pages/a___b.md` is the page a/b."""

    def renamed(name: str) -> str:
        head, slash, file = name.rpartition("/")
        return f"{head}{slash}{urllib.parse.unquote(file.replace('___', '/'))}" if file.endswith(".md") else name

    yield from _folder(path, renamed, extent, leave=("logseq",))


def _folder(path: Path, renamed: Callable[[str], str], extent: Extent, leave: tuple[str, ...] = ()) -> Iterator[Item]:
    extent.total = sum(len(files) for _, _, files in os.walk(path))
    for folder, folders, files in os.walk(path):
        top = Path(folder) == path
        folders[:] = sorted(each for each in folders if not each.startswith(".") and not (top and each in leave))
        for each in sorted(files):
            extent.done += 1
            found = Path(folder) / each
            name = found.relative_to(path).as_posix()
            if each.startswith("."):
                continue
            if found.is_symlink() or not found.is_file():
                yield Skipped(name, "it is a link or no file")
            elif each.lower().endswith((".md", ".markdown")):
                yield _file(found, renamed(name))
            elif found.stat().st_size <= LARGEST_ATTACHMENT:
                yield Attachment(name, found)
            else:
                yield Skipped(name, f"it is larger than {LARGEST_ATTACHMENT >> 20} MB")


def _file(path: Path, name: str) -> Item:
    if path.stat().st_size > LARGEST_NOTE:
        return Skipped(name, f"it is larger than {LARGEST_NOTE >> 20} MB")
    data = path.read_bytes()
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return Skipped(name, "it is not UTF-8 text")
    stem = name.rsplit(".", 1)[0]
    return ImportedNote(f"{stem}.md", raw=data)


def _memory_server(path: Path, extent: Extent) -> Iterator[Item]:
    """Entities become notes, relations links at the end of the note they start from."""
    extent.total = 2 * path.stat().st_size  # it is read twice
    relations = Relations()
    for row in json_lines(path, extent):
        if isinstance(row, dict) and row.get("type") == "relation":
            line = f"- {row.get('relationType') or 'relates to'} [[{row.get('to')}]]"
            relations.add(str(row.get("from")), line)
    for row in json_lines(path, extent):
        if isinstance(row, Skipped):
            yield row
        elif row.get("type") == "entity" and str(row.get("name") or "").strip():
            yield _entity(row, relations.take(str(row["name"])))
        elif row.get("type") != "relation":
            yield Skipped(str(row.get("name") or row)[:60], "it is neither an entity nor a relation")
    yield from (Skipped(name, "its relations start from no entity") for name in relations.names())


def _entity(row: dict[str, Any], relations: list[str]) -> ImportedNote:
    name, kind = str(row["name"]), str(row.get("entityType") or "entity")
    facts = [f"- {' '.join(str(each).split())}" for each in row.get("observations") or []]
    content = "\n".join([*facts, *(["", "## Relations", "", *relations] if relations else [])])
    return _note(name, name, content, (kind,), f"import:memory-server:{name}")


def _memory_service(path: Path, extent: Extent) -> Iterator[Item]:
    import apsw

    try:
        address = f"file:{urllib.parse.quote(str(path))}?mode=ro"
        database = apsw.Connection(address, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
        columns = {row[0] for row in database.execute("SELECT name FROM pragma_table_info('memories')")}
        if not {"content", "content_hash"} <= columns:
            raise InvalidInput(f"{path} has no table of memories", hint="Name the database of mcp-memory-service.")
        wanted = [name if name in columns else f"NULL AS {name}" for name in _MEMORY_COLUMNS]
        alive = "WHERE deleted_at IS NULL" if "deleted_at" in columns else ""
        extent.total = sum(count for (count,) in database.execute(f"SELECT count(*) FROM memories {alive}"))
        rows = database.execute(f"SELECT {', '.join(wanted)} FROM memories {alive} ORDER BY content_hash")
        for row in rows:
            extent.done += 1
            yield _memory(dict(zip(_MEMORY_COLUMNS, row, strict=True)))
    except apsw.Error as error:
        raise InvalidInput(f"{path} cannot be read: {error}", hint="Is it a whole SQLite database?") from None


_MEMORY_COLUMNS = ("content_hash", "content", "tags", "memory_type", "created_at")


def _memory(row: dict[str, Any]) -> Item:
    content = str(row["content"] or "")
    if not content.strip():
        return Skipped(str(row["content_hash"]), "it is empty")
    title = _title_of(content)
    kinds = [str(row["memory_type"])] if row["memory_type"] else []
    tags = [tag.strip() for tag in str(row["tags"] or "").strip("[]").replace('"', "").split(",") if tag.strip()]
    source = f"import:mcp-memory-service:{row['content_hash']}"
    return _note(title, source, content, (*kinds, *tags), source, _day(row["created_at"]))


def _mentisdb(path: Path, extent: Extent) -> Iterator[Item]:
    """Thoughts keep agent, type, text, tags and importance; time and hash are those of the chain that they join."""
    chain = slug(path.stem) or "imported"
    extent.total = path.stat().st_size
    for row in json_lines(path, extent):
        if isinstance(row, Skipped):
            yield row
            continue
        thought = row.get("thought") if isinstance(row.get("thought"), dict) else row
        if not isinstance(thought, dict) or not thought.get("content") or not thought.get("thought_type"):
            yield Skipped(str(row)[:60], "it is no thought")
            continue
        kept = {name: thought[name] for name in _THOUGHT if thought.get(name) not in (None, [], "")}
        yield ImportedThought(str(thought.get("chain_key") or chain), kept)


_THOUGHT = ("agent_id", "thought_type", "content", "role", "importance", "confidence", "tags", "concepts")


def _claude(path: Path, extent: Extent) -> Iterator[Item]:
    with opened(path, "conversations.json", extent) as file:
        for chat in json_array(file, str(path), extent):
            turns = [(str(turn.get("sender") or "?"), _blocks(turn)) for turn in _dicts(chat, "chat_messages")]
            yield from _chat("claude", chat, "uuid", "name", turns, _get(chat, "created_at"))


def _blocks(turn: dict[str, Any]) -> str:
    content = turn.get("content")
    blocks = (
        [str(each.get("text") or "") for each in content if isinstance(each, dict)] if isinstance(content, list) else []
    )
    return "\n\n".join(filter(None, blocks)) or str(turn.get("text") or "")


def _chatgpt(path: Path, extent: Extent) -> Iterator[Item]:
    with opened(path, "conversations.json", extent) as file:
        for chat in json_array(file, str(path), extent):
            yield from _chat("chatgpt", chat, "conversation_id", "title", _branch(chat), _get(chat, "create_time"))


def _branch(chat: Any) -> list[tuple[str, str]]:
    """The branch that the chat shows: from its current node up to the root."""
    mapping = chat.get("mapping") if isinstance(chat, dict) else None
    if not isinstance(mapping, dict):
        return []
    node, turns, seen = chat.get("current_node") or next(reversed(mapping), None), [], set()
    while node in mapping and node not in seen:
        seen.add(node)
        entry = mapping[node] if isinstance(mapping[node], dict) else {}
        message = _object(entry, "message")
        content = _object(message, "content")
        parts = [each for each in content.get("parts") or [] if isinstance(each, str) and each.strip()]
        role = str(_object(message, "author").get("role") or "?")
        if parts and role in ("user", "assistant"):
            turns.append((role, "\n\n".join(parts)))
        node = entry.get("parent")
    return turns[::-1]


def _chat(kind: str, chat: Any, key: str, name: str, turns: list[tuple[str, str]], created: Any) -> Iterator[Item]:
    if not isinstance(chat, dict):
        yield Skipped(str(chat)[:60], "it is no chat")
        return
    identity = str(chat.get(key) or chat.get("id") or "")
    title = str(chat.get(name) or "").strip() or "Untitled chat"
    said = [f"## {who}\n\n{text}" for who, text in turns if text.strip()]
    if not said:
        yield Skipped(title, "nothing was said in it")
        return
    source = f"import:{kind}:{identity or _digest(title + said[0])}"
    for number, part in enumerate(_parts(said), 1):
        here = title if number == 1 else f"{title} ({number})"
        yield _note(here, f"{source} {number}", part, (kind, "chat"), source, _day(created))


def _parts(said: list[str]) -> Iterator[str]:
    part = ""
    for turn in said:
        for start in range(0, len(turn), LONGEST_CHAT):
            piece = turn[start : start + LONGEST_CHAT]
            if part and len(part) + len(piece) > LONGEST_CHAT:
                yield part
                part = ""
            part = f"{part}\n\n{piece}" if part else piece
    yield part


def _dicts(chat: Any, name: str) -> list[dict[str, Any]]:
    found = chat.get(name) if isinstance(chat, dict) else None
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _object(parent: dict[str, Any], name: str) -> dict[str, Any]:
    found = parent.get(name)
    return found if isinstance(found, dict) else {}


def _get(chat: Any, name: str) -> Any:
    return chat.get(name) if isinstance(chat, dict) else None


def _title_of(content: str) -> str:
    first = next(line for line in content.splitlines() if line.strip())
    plain = re.sub(r"^[#>*\-\s]+", "", first).strip() or first.strip()
    return plain if len(plain) <= 80 else f"{plain[:79].rstrip()}…"


def _note(title: str, key: str, content: str, tags: tuple[str, ...], source: str, created: str = "") -> ImportedNote:
    """Named after its title and a digest of its key: readable, and the same on every run."""
    name, digest = slug(title, 60) or "note", hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()
    path, second_path = f"{name}-{digest[:8]}.md", f"{name}-{digest[:24]}.md"
    return ImportedNote(path, content, title, tags, source, created, second_path=second_path)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:8]


def _day(moment: Any) -> str:
    if isinstance(moment, int | float):
        try:
            return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        except (OverflowError, OSError, ValueError):
            return ""
    return str(moment) if isinstance(moment, str) and re.match(r"\d{4}-\d\d-\d\d", moment) else ""


_READERS: dict[str, Callable[[Path, Extent], Iterator[Item]]] = {
    "obsidian": _markdown,
    "markdown": _markdown,
    "logseq": _logseq,
    "memory-server": _memory_server,
    "mcp-memory-service": _memory_service,
    "mentisdb": _mentisdb,
    "claude": _claude,
    "chatgpt": _chatgpt,
}
