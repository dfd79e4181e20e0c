"""Reads PDF and HTML in a process with limits: a source is a stranger's file. `python -m lithos.graph.sources.child`.

In: one line of JSON (`type`, `name`), then the bytes. Out: one JSON object.
"""

from __future__ import annotations

import ctypes
import re
import resource
import sys
from typing import Any

import orjson

MEMORY = 1024 * 1024 * 1024
CPU_SECONDS = 60
MOST_PAGES = 2_000
HYPHEN = "\x02"  # pdfium's mark of a word that was divided at the end of a line
MOST_LINES = 4  # of a title
_STAMP = re.compile(
    r"\s*(?:arxiv:|preprint|published (?:as|in)|(?:in )?proceedings of|vol(?:ume|\.)|issn|isbn|https?:|www\.|copyright|"
    r"technical report|this paper (?:is|was)|open access|research article|journal of|ieee trans|acm trans|appeared in|"
    r"to appear|draft|abstract|introduction|contents|\d+\.? introduction|[0-9]+(?:st|nd|rd|th) usenix|usenix)",
    re.IGNORECASE,
)
MOST_TEXT = 5_000_000
LONGEST_TITLE = 300
_BAD_TITLE = re.compile(
    r"^\s*(?:untitled|microsoft word|powerpoint|document\d*|title|paper|main|article|draft|arxiv:.*)\b|"
    r"\.(?:dvi|tex|docx?|pdf|ps|indd)\s*$|^[\W\d]*$|^\S{1,40}$",
    re.IGNORECASE,
)


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 5))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    head = orjson.loads(sys.stdin.buffer.readline())
    data = sys.stdin.buffer.read()
    try:
        found = read_pdf(data) if head["type"] == "pdf" else read_html(data)
    except ImportError as error:
        found = {"error": "missing", "what": str(error.name or error)}
    except MemoryError:
        found = {"error": "too_large"}
    sys.stdout.buffer.write(orjson.dumps(found))


def read_pdf(data: bytes) -> dict[str, Any]:
    """Text by page, the title from the metadata or the largest letters of the first page."""
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        return {"error": "encrypted" if "password" in str(error).casefold() else "unreadable"}
    if len(document) > MOST_PAGES:
        return {"error": "too_large"}
    pages: list[str] = []
    size = 0
    first = ""
    for number in range(len(document)):
        page = document[number]
        text_page = page.get_textpage()
        text = text_page.get_text_bounded().replace("\r\n", "\n").replace(HYPHEN, "").replace("\x00", "")
        if number == 0:
            first = _largest(text_page)
        pages.append(text)
        size += len(text)
        text_page.close()
        page.close()
        if size > MOST_TEXT:
            return {"error": "too_large"}
    meta = document.get_metadata_dict()
    said = " ".join(str(meta.get("Title", "")).split())
    title = said if said and not _BAD_TITLE.search(said) else first or _first_line(pages)
    return {"title": title[:LONGEST_TITLE], "authors": str(meta.get("Author", "")), "pages": pages}


def _largest(text_page: Any) -> str:
    """The lines in the largest letters of the first page, which is where papers have their title."""
    lines = [each for each in _lines(text_page) if _reads_like_a_title(each[1])]
    if not lines:
        return ""
    largest = max(size for size, _, _ in lines)
    start = next(number for number, each in enumerate(lines) if each[0] >= largest - 0.5)
    title: list[str] = []
    last = lines[start][2]
    for size, text, place in lines[start:]:
        if size < largest - 0.5 or place - last > 1 or len(title) == MOST_LINES:
            break
        title.append(text)
        last = place
    return " ".join(" ".join(title).split())


def _lines(text_page: Any) -> list[tuple[float, str, int]]:
    """Size of most letters, text and number of each line at the beginning."""
    import pypdfium2.raw as raw

    lines: list[tuple[float, str, int]] = []
    letters: list[str] = []
    sizes: list[float] = []
    box = [ctypes.c_double() for _ in range(4)]
    number = 0
    for place in range(min(text_page.count_chars(), 10_000)):
        letter = chr(raw.FPDFText_GetUnicode(text_page.raw, place))
        if letter in "\r\n":
            if sizes:
                lines.append((max(set(sizes), key=sizes.count), " ".join("".join(letters).split()), number))
                number += 1
            letters, sizes = [], []
            continue
        letters.append("-" if letter == HYPHEN else letter)
        if letter.isalpha():
            raw.FPDFText_GetCharBox(text_page.raw, place, *(ctypes.byref(each) for each in box))
            size = round(raw.FPDFText_GetFontSize(text_page.raw, place), 1)
            sizes.append(size if size > 1.5 else round(box[3].value - box[2].value))  # some scale letters of size 1
    return lines


def _reads_like_a_title(text: str) -> bool:
    if len(text) < 5 or len(text) > 200 or not text.isprintable() or _stamp(text):
        return False
    return sum(each.isalpha() or each.isspace() for each in text) >= 0.7 * len(text)


def _stamp(text: str) -> bool:
    """Whether publishers print such a line along the edge."""
    return bool(_STAMP.match(text))


def _first_line(pages: list[str]) -> str:
    lines = [line.strip() for line in (pages[0] if pages else "").splitlines()]
    return next((line for line in lines if len(line) > 8 and _reads_like_a_title(line)), "")


_NOISE = (
    "script,style,noscript,template,svg,nav,footer,aside,form,iframe,header nav,[role=navigation],[aria-hidden=true]"
)


def read_html(data: bytes) -> dict[str, Any]:
    """Headings, paragraphs, lists, code and tables of the main part as Markdown."""
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(data)
    title = tree.css_first("meta[property='og:title']")
    heading = tree.css_first("h1")
    said = (title.attributes.get("content") if title else "") or (heading.text() if heading else "")
    page = tree.css_first("title")
    said = said or (page.text() if page else "")
    authors = [
        node.attributes.get("content") or "" for node in tree.css("meta[name=author], meta[name=citation_author]")
    ]
    date = tree.css_first("meta[property='article:published_time'], meta[name=citation_publication_date]")
    for node in tree.css(_NOISE):
        node.decompose()
    main = tree.css_first("main, article, [role=main], #content, .document") or tree.body
    lines: list[str] = []
    if main is not None:
        for node in main.css("h1,h2,h3,h4,h5,h6,p,li,pre,blockquote,td,th,dt,dd"):
            _append(lines, node.tag or "", node.text(separator="" if node.tag == "pre" else " "))
    text = "\n\n".join(lines)[:MOST_TEXT]
    if not text and main is not None:
        text = main.text(separator="\n")[:MOST_TEXT]
    return {
        "title": " ".join(said.split())[:LONGEST_TITLE],
        "authors": "; ".join(filter(None, authors)),
        "published_at": (date.attributes.get("content") or "") if date else "",
        "pages": [text],
    }


def _append(lines: list[str], tag: str, text: str) -> None:
    if tag == "pre":
        lines.append(f"```\n{text.strip()}\n```")
        return
    text = " ".join(text.split())
    if not text or (lines and lines[-1].endswith(text)):  # a paragraph in a list item
        return
    if tag[0] == "h" and tag[1:].isdigit():
        lines.append(f"{'#' * max(2, int(tag[1:]))} {text}")
    else:
        lines.append({"li": f"- {text}", "blockquote": f"> {text}"}.get(tag, text))


if __name__ == "__main__":
    main()
