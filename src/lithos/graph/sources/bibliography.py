"""Bibliographies: BibTeX and CSL-JSON, each entry one source. Pure; BibTeX is read by a small scanner here.

bibtexparser was left out: it brings pylatexenc, and eight fields of an entry are all that is needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from lithos.errors import InvalidInput, TooLarge
from lithos.graph.sources.texts import SourceKind, SourceText, one_line

MOST_ENTRIES = 2_000
_ENTRY = re.compile(r"@(\w+)\s*([{(])")
_ACCENTS = {"`": "\u0300", "'": "\u0301", "^": "\u0302", "~": "\u0303", '"': "\u0308", "c": "\u0327", "v": "\u030c"}
_ACCENT = re.compile(r"\\([`'^~\"]|[cv](?=\s|\{))\s*\{?(\w)\}?")
_WORDS = {
    "\\ss": "ß",
    "\\o": "ø",
    "\\O": "Ø",
    "\\ae": "æ",
    "\\aa": "å",
    "\\l": "ł",
    "\\&": "&",
    "\\%": "%",
    "\\_": "_",
    "--": "–",
}
_KINDS: Mapping[str, SourceKind] = {
    "manual": "documentation",
    "techreport": "paper",
    "online": "blog",
    "webpage": "blog",
}


def from_bibtex(text: str) -> list[SourceText]:
    found = [_of_bibtex(kind, fields) for kind, fields in _entries(text)]
    return _checked(found, "BibTeX")


def from_csl(data: bytes) -> list[SourceText]:
    try:
        rows = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise InvalidInput(f"this is no JSON: {error}", hint="CSL-JSON is a list of objects.") from None
    rows = rows if isinstance(rows, list) else [rows]
    found = [_of_csl(row) for row in rows if isinstance(row, dict) and row.get("title")]
    return _checked(found, "CSL-JSON")


def _checked(found: list[SourceText], form: str) -> list[SourceText]:
    found = [each for each in found if each.title != "Untitled"]
    if not found:
        raise InvalidInput(f"this {form} has no entry with a title", hint="Each entry needs at least a title.")
    if len(found) > MOST_ENTRIES:
        raise TooLarge(f"this bibliography has {len(found)} entries; {MOST_ENTRIES} is the most", hint="Split it.")
    return found


def _entries(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    strings: dict[str, str] = {}
    for start in _ENTRY.finditer(text):
        kind = start[1].casefold()
        if kind in ("comment", "preamble"):
            continue
        body = _balanced(text, start.end() - 1)
        if kind == "string":
            strings.update(_fields(body, strings))
        elif body:
            _, _, rest = body.partition(",")
            yield kind, _fields(rest, strings)


def _balanced(text: str, start: int) -> str:
    """From an opening bracket to its partner, without both; empty where there is none."""
    depth = 0
    close = "}" if text[start] == "{" else ")"
    for place in range(start, len(text)):
        if text[place] in "{(" and (text[place] == text[start] or text[place] == "{"):
            depth += 1
        elif text[place] in ("}", close):
            depth -= 1
            if depth == 0:
                return text[start + 1 : place]
    return ""


def _fields(body: str, strings: Mapping[str, str]) -> dict[str, str]:
    fields: dict[str, str] = {}
    place = 0
    while found := re.compile(r"\s*,?\s*([\w-]+)\s*=\s*").match(body, place):
        value, place = _value(body, found.end(), strings)
        fields[found[1].casefold()] = plain(value)
        comma = body.find(",", place)
        place = len(body) if comma < 0 else comma
    return fields


def _value(body: str, place: int, strings: Mapping[str, str]) -> tuple[str, int]:
    parts: list[str] = []
    while place < len(body):
        if body[place] == "{":
            inside = _balanced(body, place)
            parts.append(inside)
            place += len(inside) + 2
        elif body[place] == '"':
            end = place + 1
            depth = 0
            while end < len(body) and (body[end] != '"' or depth):
                depth += {"{": 1, "}": -1}.get(body[end], 0)
                end += 1
            parts.append(body[place + 1 : end])
            place = end + 1
        else:
            word = re.compile(r"[^\s,#]+").match(body, place)
            if word is None:
                break
            parts.append(strings.get(word[0].casefold(), word[0]))
            place = word.end()
        joined = re.compile(r"\s*#\s*").match(body, place)
        if joined is None:
            break
        place = joined.end()
    return "".join(parts), place


def plain(text: str) -> str:
    """LaTeX's usual accents and braces as Unicode."""
    import unicodedata

    text = _ACCENT.sub(lambda match: unicodedata.normalize("NFC", match[2] + _ACCENTS[match[1]]), text)
    for word, sign in _WORDS.items():
        text = text.replace(word, sign)
    return " ".join(re.sub(r"[{}]|\\[a-zA-Z]+\s*", "", text).split())


def _of_bibtex(kind: str, fields: Mapping[str, str]) -> SourceText:
    authors = tuple(_name(each) for each in re.split(r"\s+and\s+", fields.get("author", "")) if each)
    year = re.search(r"\d{4}", fields.get("date", "") or fields.get("year", ""))
    doi = fields.get("doi", "")
    url = fields.get("url", "") or (f"https://doi.org/{doi}" if doi else "")
    venue = fields.get("journal") or fields.get("booktitle") or fields.get("publisher") or ""
    return _source(
        fields.get("title", ""), fields, authors, year[0] if year else "", venue, url, _KINDS.get(kind, "paper")
    )


def _name(text: str) -> str:
    last, comma, first = text.partition(",")
    return f"{first.strip()} {last.strip()}" if comma else text.strip()


def _of_csl(row: Mapping[str, Any]) -> SourceText:
    people = [each for each in row.get("author", []) if isinstance(each, dict)]
    authors = tuple(
        each.get("literal") or f"{each.get('given', '')} {each.get('family', '')}".strip() for each in people
    )
    parts = (row.get("issued") or {}).get("date-parts") or [[]]
    date = "-".join(f"{int(part):02d}" for part in parts[0]) if parts and parts[0] else ""
    url = str(row.get("URL") or "") or (f"https://doi.org/{row['DOI']}" if row.get("DOI") else "")
    kind: SourceKind = (
        "paper" if str(row.get("type", "")).startswith(("article-j", "paper", "chapter", "thesis")) else "documentation"
    )
    fields = {"abstract": str(row.get("abstract") or ""), "note": str(row.get("note") or "")}
    return _source(str(row["title"]), fields, authors, date, str(row.get("container-title") or ""), url, kind)


def _source(
    title: str, fields: Mapping[str, str], authors: tuple[str, ...], date: str, venue: str, url: str, kind: SourceKind
) -> SourceText:
    text = "\n\n".join(each for each in (fields.get("abstract", ""), fields.get("note", "")) if each)
    return SourceText(
        one_line(plain(title)),
        text or f"{plain(title)}.",
        kind,
        url,
        "bibliography",
        tuple(each for each in authors if each),
        date,
        plain(venue),
    )
