"""Reads a PDF: its text by page, its title and authors. Run in the child process; imports nothing of the package."""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Iterator
from typing import Any

MOST_PAGES = 2_000
HYPHEN = "\x02"  # pdfium's mark of a word that was divided at the end of a line
PLAIN = 0.6  # share of the lines in the largest letters: the title is not larger
LOGO = 3.0  # times the size of the next largest
MOST_LINES = 4  # of a title
_STAMP = re.compile(
    r"\s*(?:arxiv:|preprint|published (?:as|in)|(?:in )?proceedings of|vol(?:ume|\.)|issn|isbn|https?:|www\.|copyright|"
    r"technical report|this paper (?:is|was)|open access|research article|journal of|ieee trans|acm trans|appeared in|"
    r"to appear|draft|abstract|summary|introduction|contents|\d+\.? introduction|[0-9]+(?:st|nd|rd|th) usenix|usenix|"
    r"(?:master|bachelor|doctoral|ph\.?\s?d\.?)(?:[’']?s)? (?:thesis|dissertation)|"
    r"a (?:thesis|dissertation) (?:submitted|presented)|final year project|[c©] ?copyright|"
    r"running head|do not (?:quote|cite|distribute)|\d{4} usenix|session \d)",
    re.IGNORECASE,
)
MOST_TEXT = 5_000_000
LONGEST_TITLE = 300
_BAD_TITLE = re.compile(
    r"^\s*(?:untitled|microsoft word|powerpoint|document\d*|title|paper|main|article|draft|arxiv:.*)\b|\btemplate\b|"
    r"^https?:|\.(?:dvi|tex|docx?|pdf|ps|indd)\s*$|^[\W\d]*$|^\S{1,40}$",
    re.IGNORECASE,
)

_PEOPLE = re.compile(
    r"\b(?:university|universit\w{1,3}|department|institute|laborator\w+|school of|faculty of|college)\b|@|\binc\.|"
    r"^(?:[A-Z][\w.’'-]+ ){1,3}[A-Z][\w’'-]+(?:, (?:and )?(?:[A-Z][\w.’'-]+ ){1,3}[A-Z][\w’'-]+)+,?$",
    re.IGNORECASE,
)
_NAME = re.compile(r"[A-Z][a-z’'-]+ (?:[A-Z]\. ?){0,2}[A-Z][\w’'-]+[*∗†‡]?")
_SMALL = re.compile(r"\b[a-z]{3,}\b")
_TAG = re.compile(r"<[^<>]{1,200}>")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ue000-\uf8ff]")
_GOES_ON = re.compile(r"(?:[:,–—-]|\b(?:a|an|and|by|for|from|in|of|on|or|the|to|using|via|with))\s*$", re.IGNORECASE)


def read(data: bytes) -> dict[str, Any]:
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
    lines: list[tuple[float, str, int]] = []
    for number in range(len(document)):
        page = document[number]
        text_page = page.get_textpage()
        text = text_page.get_text_bounded().replace("\r\n", "\n").replace(HYPHEN, "").replace("\x00", "")
        if number == 0:
            lines = _lines(text_page)
        pages.append(text)
        size += len(text)
        text_page.close()
        page.close()
        if size > MOST_TEXT:
            return {"error": "too_large"}
    if _is_garbled(pages):
        return {"title": "", "authors": "", "pages": []}
    first = _largest(lines, frozenset(_SMALL.findall(" ".join(pages[:10]))))
    meta = document.get_metadata_dict()
    said = " ".join(_TAG.sub("", str(meta.get("Title", ""))).split())
    if not said or _BAD_TITLE.search(said) or (first and not _is_said(said, pages)):
        said = first or _first_line(pages)
    return {"title": _cleaned(said)[:LONGEST_TITLE], "authors": str(meta.get("Author", "")), "pages": pages}


def _is_garbled(pages: list[str]) -> bool:
    """Fonts without a table of characters come out as single letters or as signs: nothing can be found there."""
    text = " ".join(pages[:4])
    words = [each for each in text.split() if each.isalpha()]
    if len(words) > 200 and sum(len(each) == 1 for each in words) > 0.6 * len(words):
        return True
    shown = [each for each in text if not each.isspace() and each not in "._-…·"]  # leaders of a table of contents
    return len(shown) > 1_000 and sum(not each.isalnum() for each in shown) > 0.35 * len(shown)


def _is_said(title: str, pages: list[str]) -> bool:
    """Whether the beginning says it: metadata are often those of a template or of another paper."""
    return _letters(title) in _letters(" ".join(pages[:2]))


def _letters(text: str) -> str:
    return "".join(each for each in text.casefold() if each.isalnum())


def _cleaned(title: str) -> str:
    """Without marks of footnotes."""
    return title.rstrip("*∗†‡§¶ ").strip()


def _largest(printed: list[tuple[float, str, int]], said: frozenset[str]) -> str:
    """The lines in the largest letters of the first page, which is where papers have their title. `said`: words that
    the text has in small letters."""
    lines = _without_logos([each for each in printed if _reads_like_a_title(each[1])])
    if not lines:
        return ""
    largest = max(size for size, _, _ in lines)
    # As a typewriter prints it: a title of no other size ends where the authors begin.
    is_plain = sum(size >= largest - 0.5 for size, _, _ in lines) > PLAIN * len(lines)
    start = next(number for number, each in enumerate(lines) if each[0] >= largest - 0.5)
    title: list[str] = []
    last = lines[start][2]
    for size, text, place in lines[start:]:
        goes_on = bool(title) and _GOES_ON.search(title[-1]) and size >= 0.7 * largest
        if (size < largest - 0.5 and not goes_on) or place - last > 1 or len(title) == MOST_LINES:
            break
        if is_plain and title and not goes_on and _is_name(text, said):
            break
        title.append(text)
        last = place
    return " ".join(" ".join(title).split())


def _is_name(text: str, said: frozenset[str]) -> bool:
    """Whether a line is a person: words of a title are in the text in small letters too, names are not."""
    return bool(_NAME.fullmatch(text)) and not any(each.casefold() in said for each in re.findall(r"\w{3,}", text))


def _without_logos(lines: list[tuple[float, str, int]]) -> list[tuple[float, str, int]]:
    """Without single words in letters that dwarf all others: the sign of a publisher or a report series."""
    others = [size for size, text, _ in lines if " " in text]
    return [each for each in lines if " " in each[1] or not others or each[0] < LOGO * max(others)]


def _lines(text_page: Any) -> list[tuple[float, str, int]]:
    """Size of most letters, text and number of each line at the beginning."""
    lines: list[tuple[float, str, int]] = []
    letters: list[tuple[str, float]] = []
    number = 0
    for letter, size in _letters_of(text_page):
        if letter not in "\r\n":
            letters.append(("-" if letter == HYPHEN else letter, size))
            continue
        if sizes := [each for sign, each in letters if sign.isalpha()]:
            usual = max(set(sizes), key=sizes.count)
            # Smaller signs behind a word are marks of footnotes.
            text = "".join(sign for sign, each in letters if sign.isalpha() or sign.isspace() or each > 0.8 * usual)
            lines.append((usual, " ".join(_CONTROL.sub("", text).split()), number))
            number += 1
        letters = []
    return lines


def _letters_of(text_page: Any) -> Iterator[tuple[str, float]]:
    """Each sign of the beginning with its size on paper: the size of its font times the scale of its matrix."""
    import pypdfium2.raw as raw

    matrix = raw.FS_MATRIX()
    for place in range(min(text_page.count_chars(), 10_000)):
        letter = chr(raw.FPDFText_GetUnicode(text_page.raw, place))
        size = raw.FPDFText_GetFontSize(text_page.raw, place)
        if raw.FPDFText_GetMatrix(text_page.raw, place, ctypes.byref(matrix)):
            size *= math.hypot(matrix.b, matrix.d) or 1.0
        yield letter, round(size, 1)
    yield "\n", 0.0


def _reads_like_a_title(text: str) -> bool:
    if len(text) < 5 or len(text) > 200 or not text.isprintable() or _STAMP.match(text) or _PEOPLE.search(text):
        return False
    return sum(each.isalpha() or each.isspace() for each in text) >= 0.7 * len(text)


def _first_line(pages: list[str]) -> str:
    lines = [line.strip() for line in (pages[0] if pages else "").splitlines()]
    return next((line for line in lines if len(line) > 8 and _reads_like_a_title(line)), "")
