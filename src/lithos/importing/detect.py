"""Which program a file or folder comes from, detected from its content."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

from lithos.errors import InvalidInput, NotFound

KINDS = {
    "obsidian": "a vault of Obsidian",
    "logseq": "a graph of Logseq",
    "markdown": "a folder of Markdown, also of basic-memory, or one file: MEMORY.md, CLAUDE.md, AGENTS.md",
    "memory-server": "the official memory server's JSONL",
    "mcp-memory-service": "its SQLite database",
    "mentisdb": "a MentisDB chain as JSON lines",
    "claude": "exported chats of Claude: conversations.json or the zip",
    "chatgpt": "exported chats of ChatGPT: conversations.json or the zip",
}
PEEK = 1 << 16


def detect(path: Path) -> str:
    """The kind; InvalidInput where nothing is recognised."""
    if not path.exists():
        raise NotFound(f"there is no {path}", hint="Check the path.")
    kind = _of_folder(path) if path.is_dir() else _of_file(path)
    if kind is None:
        raise InvalidInput(f"{path} is of no kind that Lithos knows", hint=f"Name it: --from {' | '.join(KINDS)}.")
    return kind


def _of_folder(path: Path) -> str | None:
    if (path / "manifest.json").is_file() and (path / "tables").is_dir():
        raise InvalidInput(f"{path} is an export of Lithos", hint=f"`lithos restore {path}` brings it back.")
    if (path / ".obsidian").is_dir():
        return "obsidian"
    if (path / "logseq").is_dir() and ((path / "pages").is_dir() or (path / "journals").is_dir()):
        return "logseq"
    if (path / "conversations.json").is_file():
        return _of_file(path / "conversations.json")
    return "markdown" if next(path.rglob("*.md"), None) else None


def _of_file(path: Path) -> str | None:
    with open(path, "rb") as file:
        head = file.read(PEEK)
    if head.startswith(b"SQLite format 3\0"):
        return "mcp-memory-service"
    if head.startswith(b"PK") and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            name = next((each for each in archive.namelist() if each.endswith("conversations.json")), None)
            if name is None:
                return None
            with archive.open(name) as inner:
                return _of_text(inner.read(PEEK))
    if path.suffix.lower() in (".md", ".markdown", ".txt"):
        return "markdown"
    return _of_text(head)


def _of_text(head: bytes) -> str | None:
    text = head.decode("utf-8", "replace").lstrip("\ufeff \n")
    if text.startswith("["):
        return "claude" if '"chat_messages"' in text else "chatgpt" if '"mapping"' in text else None
    first = text.split("\n", 1)[0]
    try:
        row = json.loads(first)
    except ValueError:
        return None
    if isinstance(row, dict) and row.get("type") in ("entity", "relation"):
        return "memory-server"
    return "mentisdb" if isinstance(row, dict) and "thought_type" in json.dumps(row) else None
