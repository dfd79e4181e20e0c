"""Names of outside sources in a text: RFC numbers, DOIs, arXiv ids, URLs, ids of notes. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_RFC = re.compile(r"\bRFC(?:[\s-]?|:`)(\d{1,5})\b", re.IGNORECASE)  # :rfc:`822` in documentation of Python
_DOI = re.compile(r"\b(10\.\d{4,9}/[^\s\"'<>\[\]{}|\\^`]+)")
_ARXIV = re.compile(
    r"\barxiv(?:\.org/(?:abs|pdf)/|:\s?)(\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Z]{2})?/\d{7})(?:v\d+)?", re.IGNORECASE
)
_URL = re.compile(r"\bhttps?://([^\s\"'<>()\[\]{}|\\^`]+)", re.IGNORECASE)
_UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.IGNORECASE)
_WIKI = re.compile(r"\[\[([^\]|#\n]{1,200})(?:#[^\]|\n]*)?(?:\|[^\]\n]*)?\]\]")
_RFC_URL = re.compile(
    r"(?:rfc-editor\.org/(?:rfc|info)/|datatracker\.ietf\.org/doc/html/|tools\.ietf\.org/html/)rfc(\d{1,5})"
)
_VALIDATED = re.compile(
    r"(?:validated|confirmed|verified|backed|recommended|proven)\s+(?:by|in)\s+(?:the\s+)?\Z", re.IGNORECASE
)
_REFERENCES = re.compile(
    r"^\W{0,4}(?:[\divx]{1,4}\.?\s+)?(?:references|bibliography|literature cited|works cited)\W{0,3}$",
    re.IGNORECASE | re.MULTILINE,
)
_QUOTED = re.compile(r"[\"“”]([^\"“”]{15,250}?)[,.]?[\"“”]")
_SENTENCE = re.compile(r"[^.?!]{15,250}(?=[.?!](?:\s|$))")
LONGEST = 20_000  # characters of an entry or message that are looked at
LONGEST_SOURCE = 3_000_000  # of a source: its references are at its end
MOST_CITED = 400  # titles in one list of references
LEAST_TITLE = 15  # letters: shorter titles are in many sentences
CUE = 40


@dataclass(frozen=True, slots=True)
class Named:
    """A key that a text names; `validated`: the words before it say that it was confirmed there."""

    key: str
    validated: bool = False


def named(text: str, longest: int = LONGEST) -> list[Named]:
    """Each key once, in the order of the text."""
    text = text[:longest]
    found: dict[str, Named] = {}
    for start, key in sorted(_found(text)):
        validated = bool(_VALIDATED.search(text[max(0, start - CUE) : start]))
        if key not in found or (validated and not found[key].validated):
            found[key] = Named(key, validated)
    return list(found.values())


def _found(text: str) -> Iterator[tuple[int, str]]:
    lowered = text.casefold()
    if "rfc" in lowered:
        for match in _RFC.finditer(text):
            yield match.start(), f"rfc:{int(match[1])}"
    if "10." in text:
        for match in _DOI.finditer(text):
            yield match.start(), doi_key(match[1])
    if "arxiv" in lowered:
        for match in _ARXIV.finditer(text):
            yield match.start(), f"arxiv:{match[1].lower()}"
    if "http" in lowered:
        for match in _URL.finditer(text):
            yield match.start(), url_key(match[0])
    for match in _UUID.finditer(text):
        yield match.start(), f"id:{match[0].lower()}"
    if "[[" in text:
        for match in _WIKI.finditer(text):
            yield match.start(), f"title:{title_key(match[1])}"


def cited(text: str) -> list[str]:
    """Keys of what may be titles in the list of references at the end of a text: quoted ones, and sentences."""
    starts = [found.end() for found in _REFERENCES.finditer(text)]
    if not starts:
        return []
    rest = " ".join(text[starts[-1] :][:LONGEST_SOURCE].split())
    found = (each.strip() for pattern in (_QUOTED, _SENTENCE) for each in pattern.findall(rest))
    return [*dict.fromkeys(key for each in found if (key := cited_key(each)))][:MOST_CITED]


def cited_key(title: str) -> str:
    """A title by its letters, as references print it; empty where it is too short to be known by that."""
    letters = "".join(each for each in title.casefold() if each.isalnum())
    return f"cited:{letters}" if len(letters) >= LEAST_TITLE and len(title.split()) > 2 else ""


def doi_key(doi: str) -> str:
    return f"doi:{doi.lower().rstrip('.,;:)')}"


def url_key(url: str) -> str:
    """Without scheme, `www.`, fragment and a closing slash; an RFC's page is the RFC."""
    bare = re.sub(r"^https?://(?:www\.)?", "", url, flags=re.IGNORECASE).partition("#")[0].rstrip(".,;:!?/)")
    if rfc := _RFC_URL.search(bare.casefold()):
        return f"rfc:{int(rfc[1])}"
    if arxiv := _ARXIV.search(bare):
        return f"arxiv:{arxiv[1].lower()}"
    if bare.casefold().startswith("doi.org/"):
        return doi_key(bare[8:])
    host, slash, rest = bare.partition("/")
    return f"url:{host.lower()}{slash}{rest}"


def title_key(title: str) -> str:
    return " ".join(title.casefold().split())


def keys_of(id: str, title: str, url: str, path: str = "", text_keys: tuple[str, ...] = ()) -> list[str]:
    """The keys that a source bears: its id, title, path, address and numbers."""
    keys = [f"id:{id.lower()}", f"title:{title_key(title)}"]
    place = title_key(path.removesuffix(".md"))
    keys += [f"title:{each}" for each in (place, place.rpartition("/")[2]) if each]
    keys += [known] if (known := cited_key(title)) else []
    keys += [url_key(url)] if url else []
    keys += [each.key for each in named(title) if each.key.startswith(("rfc:", "arxiv:", "doi:"))]
    return [*dict.fromkeys([*keys, *text_keys])]
