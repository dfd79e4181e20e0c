"""From the bytes of a file or page to its text; PDF and HTML are read in a child process with limits."""

from __future__ import annotations

import signal
import subprocess
import sys
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson

from lithos.core.canonical import sha256_hex
from lithos.errors import InvalidInput, TooLarge, Unsupported
from lithos.graph.sources.texts import SourceText, decoded, from_plain, named_by, one_line

CHILD = Path(__file__).with_name("child.py")
LARGEST = 50 * 1024 * 1024
HTML_CPU = 10  # seconds: pages take milliseconds, and one that nests without end takes the square of its depth
LEAST_TEXT = 40  # letters: a scan has fewer
PLAIN = (".md", ".markdown", ".txt", ".rst", ".adoc", ".org", "")


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """Of the process that reads one file."""

    memory: int = 1024 * 1024 * 1024  # bytes of address space
    cpu: int = 60  # seconds
    seconds: float = 120.0


class NoText(InvalidInput):
    """The file holds pictures of pages, no text."""


def extracted(data: bytes, name: str, content_type: str = "", limits: ReadLimits = ReadLimits()) -> SourceText:
    """The text of a file; raises NoText for a scan, and refuses what cannot be read."""
    if len(data) > LARGEST:
        raise TooLarge(f"{name[:80]} has {len(data)} bytes; {LARGEST} is the most")
    suffix = f".{name.rpartition('.')[2].lower()}" if "." in name else ""
    if data.startswith(b"%PDF-") or suffix == ".pdf" or "pdf" in content_type:
        return _from_child("pdf", data, name, limits)
    if (
        "html" in content_type
        or suffix in (".html", ".htm", ".xhtml")
        or data[:200].lstrip().lower().startswith((b"<!doctype html", b"<html"))
    ):
        return _from_child("html", data, name, replace(limits, cpu=min(limits.cpu, HTML_CPU)))
    if suffix not in PLAIN and not content_type.startswith("text/"):
        raise InvalidInput(
            f"{name[:80]!r} is of no known form", hint="PDF, HTML, Markdown, plain text, BibTeX or CSL-JSON."
        )
    if b"\x00" in data[:8192] and not data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        raise InvalidInput(f"{name[:80]!r} is no text", hint="PDF, HTML, Markdown, plain text, BibTeX or CSL-JSON.")
    text = decoded(data)
    if not text.strip():
        raise NoText(f"{name[:80]} is empty")
    return from_plain(text, name)


def _from_child(kind: str, data: bytes, name: str, limits: ReadLimits) -> SourceText:
    head = orjson.dumps({"type": kind, "memory": limits.memory, "cpu": limits.cpu}) + b"\n"
    try:
        done = subprocess.run(  # noqa: S603 - our own interpreter and file
            [sys.executable, "-I", str(CHILD)],
            input=head + data,
            capture_output=True,
            timeout=limits.seconds,
            check=False,
            cwd="/",
            env={},  # it needs none, and a stranger's file could make it print some
        )
    except subprocess.TimeoutExpired:
        raise TooLarge(f"{name[:80]} took more than {limits.seconds:.0f} s", hint="Ingest a part of it.") from None
    if done.returncode == -signal.SIGXCPU:
        raise TooLarge(f"{name[:80]} took more than {limits.cpu} s of CPU to read", hint="Ingest a part of it.")
    if done.returncode or not done.stdout:
        raise InvalidInput(
            f"{name[:80]} could not be read: the reading process ended", hint="The file is damaged or a bomb."
        )
    return _source(orjson.loads(done.stdout), name, kind)


def _source(found: dict[str, Any], name: str, kind: str) -> SourceText:
    problem = found.get("error")
    if problem == "missing":
        raise Unsupported(
            f"reading {kind.upper()} needs {found['what']}",
            hint="Install the extra: pip install 'lithos-memory[research]'.",
        )
    if problem == "too_large":
        raise TooLarge(f"{name[:80]} is too large to read", hint="Ingest a part of it.")
    if problem is not None:
        hint = "Give a file that opens without a password." if problem == "encrypted" else "The file is damaged."
        raise InvalidInput(f"{name[:80]} is {problem}", hint=hint)
    pages: list[str] = found["pages"]
    if sum(each.isalpha() for page in pages for each in page[:2_000]) < LEAST_TEXT:
        raise NoText(f"{name[:80]} has no text: it is a scan or empty")
    if kind == "pdf":
        text = "\n\n".join(
            f"## Page {number}\n\n{page.strip()}" for number, page in enumerate(pages, 1) if page.strip()
        )
    else:
        text = pages[0]
    authors = tuple(each.strip() for each in found.get("authors", "").replace(" and ", ";").split(";") if each.strip())
    title = one_line(found.get("title") or named_by(name))
    return SourceText(title, text, authors=authors[:20], published_at=str(found.get("published_at", ""))[:40])


def hash_of(data: bytes) -> str:
    return f"sha256:{sha256_hex(data)}"
