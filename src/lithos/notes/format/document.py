"""A file's bytes as text (byte-order mark, line endings, frontmatter, body) and back, byte for byte."""

from __future__ import annotations

import re
from dataclasses import dataclass

_BOM = "\ufeff"
_OPENING = re.compile(r"---[ \t]*\r?\n")
_CLOSING = re.compile(r"^---[ \t]*\r?(?:\n|\Z)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Why a file in the vault is no note; shown by `validate`, never an exception."""

    reason: str


@dataclass(frozen=True, slots=True)
class Document:
    """`opening + front + closing + body` is the text; a file whose lines all end in CRLF is seen with LF."""

    body: str
    front: str | None = None
    opening: str = "---\n"
    closing: str = "---\n"
    newline: str = "\n"
    bom: bool = False

    @property
    def text(self) -> str:
        return self.body if self.front is None else self.opening + self.front + self.closing + self.body

    @property
    def body_start(self) -> int:
        """Where the body begins in the text."""
        return 0 if self.front is None else len(self.opening) + len(self.front) + len(self.closing)

    def encode(self) -> bytes:
        text = self.text if self.newline == "\n" else self.text.replace("\n", self.newline)
        return (_BOM + text if self.bom else text).encode("utf-8")


def read_document(data: bytes) -> Document | Unreadable:
    if b"\0" in data:
        return Unreadable("binary: it contains a NUL byte")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return Unreadable(f"not UTF-8: byte 0x{data[error.start]:02x} at offset {error.start}")
    bom = text.startswith(_BOM)
    text, newline = _with_line_feeds(text[1:] if bom else text)
    return _split(text, newline, bom)


def _with_line_feeds(text: str) -> tuple[str, str]:
    """CRLF is taken as the file's style only where it is the only line ending, so that `encode` can restore it."""
    pairs = text.count("\r\n")
    if pairs and pairs == text.count("\n") == text.count("\r"):
        return text.replace("\r\n", "\n"), "\r\n"
    return text, "\n"


def _split(text: str, newline: str, bom: bool) -> Document:
    opening = _OPENING.match(text)
    closing = _CLOSING.search(text, opening.end()) if opening else None
    if opening is None or closing is None:
        return Document(text, newline=newline, bom=bom)
    front = text[opening.end() : closing.start()]
    return Document(text[closing.end() :], front, opening.group(), closing.group(), newline, bom)
