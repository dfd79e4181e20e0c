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
LARGEST = 5_000_000
_ENTRY = re.compile(r"@(\w+)\s*([{(])")
_CURLY, _ROUND = re.compile(r"[{}]"), re.compile(r"[{}()]")
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

_CSL_KINDS: Mapping[str, SourceKind] = {
    **dict.fromkeys(("article", "article-journal", "paper-conference", "chapter", "thesis"), "paper"),
    **dict.fromkeys(("report", "book", "manuscript", "dataset"), "paper"),
    **dict.fromkeys(("post-weblog", "post", "article-magazine", "article-newspaper"), "blog"),
}


def from_bibtex(text: str) -> list[SourceText]:
    _check_size(text)
    found = [_of_bibtex(kind, fields) for kind, fields in _entries(text)]
    return _checked(found, "BibTeX")


def from_csl(data: bytes) -> list[SourceText]:
    _check_size(data)
    try:
        rows = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise InvalidInput(f"this is no JSON: {error}", hint="CSL-JSON is a list of objects.") from None
    rows = rows if isinstance(rows, list) else [rows]
    found = [_of_csl(row) for row in rows if isinstance(row, dict) and _first_text(row.get("title"))]
    return _checked(found, "CSL-JSON")


def _check_size(data: bytes | str) -> None:
    if len(data) > LARGEST:
        raise TooLarge(f"this bibliography has {len(data)} bytes; {LARGEST} is the most", hint="Split it.")


def _checked(found: list[SourceText], form: str) -> list[SourceText]:
    found = [each for each in found if each.title != "Untitled"]
    if not found:
        raise InvalidInput(f"this {form} has no entry with a title", hint="Each entry needs at least a title.")
    if len(found) > MOST_ENTRIES:
        raise TooLarge(f"this bibliography has {len(found)} entries; {MOST_ENTRIES} is the most", hint="Split it.")
    return found


def _entries(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Each part of the text is looked at once: an entry without an end is given up at the next line with an @."""
    strings: dict[str, str] = {}
    place = 0
    while start := _ENTRY.search(text, place):
        kind = start[1].casefold()
        following = text.find("\n@", start.end())
        body = _balanced(text, start.end() - 1, len(text))
        if body is None:
            place = len(text) if following < 0 else following
            continue
        place = start.end() + len(body)
        if kind == "string":
            strings.update(_fields(body, strings))
        elif kind not in ("comment", "preamble"):
            yield kind, _fields(body.partition(",")[2], strings)


def _balanced(text: str, start: int, end: int) -> str | None:
    """From an opening bracket to its partner, without both; None where there is none."""
    depth = 0
    round_ones = text[start] == "("
    for found in (_ROUND if round_ones else _CURLY).finditer(text, start, end):
        depth += 1 if found[0] in "{(" else -1
        if depth == 0:
            return text[start + 1 : found.start()]
    return None


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
            inside = _balanced(body, place, len(body)) or ""
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
    """Fields as the CSL schema has them, and as Crossref writes them (lists of one); what is neither is left out."""
    authors = tuple(_person(each) for each in _list(row.get("author")) if isinstance(each, dict))
    doi = _first_text(row.get("DOI"))
    url = _first_text(row.get("URL")) or (f"https://doi.org/{doi}" if doi else "")
    fields = {name: _first_text(row.get(name)) for name in ("abstract", "note")}
    kind = _CSL_KINDS.get(_first_text(row.get("type")), "documentation")
    title, venue = _first_text(row.get("title")), _first_text(row.get("container-title"))
    return _source(title, fields, authors, _csl_date(row.get("issued")), venue, url, kind)


def _person(given: Mapping[str, Any]) -> str:
    parts = (_first_text(given.get("given")), _first_text(given.get("family")))
    return _first_text(given.get("literal")) or " ".join(each for each in parts if each)


def _csl_date(issued: Any) -> str:
    if not isinstance(issued, dict):
        return ""
    parts = _list((_list(issued.get("date-parts")) or [None])[0])
    numbers = [int(each) for each in parts[:3] if re.fullmatch(r"\d{1,4}", str(each))]
    if numbers and len(numbers) == len(parts[:3]):
        return "-".join(f"{each:02d}" for each in numbers)
    found = re.search(
        r"\d{4}(?:-\d{2}(?:-\d{2})?)?", _first_text(issued.get("raw")) or _first_text(issued.get("literal"))
    )
    return found[0] if found else ""


def _list(given: Any) -> list[Any]:
    return given if isinstance(given, list) else []


def _first_text(given: Any) -> str:
    """A text, or the first of a list of texts."""
    first = given[0] if isinstance(given, list) and given else given
    return first.strip() if isinstance(first, str) else ""


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
