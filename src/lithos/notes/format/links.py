"""The links in a Markdown text, found in one pass whose time is linear in the text, whatever the text."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple
from urllib.parse import unquote

# Everything else is plain to us; one character class keeps the search in C.
_SPECIAL = re.compile(r"[\\`~$%<\[\]]")
_WIKI = re.compile(r"\[\[([^\[\]\n]{1,512})\]\]")
# Destinations as CommonMark has them, one level of parentheses deep; lengths bounded so that a miss costs little.
_DESTINATION = re.compile(
    r"\]\([ \t]{0,8}(?:<([^<>\n]{1,512})>|((?:[^\s()<>]|\([^\s()]{0,128}\)){1,512}))"
    r"""(?:[ \t]{1,8}["'(][^\n]{0,256}?["')])?[ \t]{0,8}\)"""
)
_FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(?:`{3,}(?=[^`\n]*$)|~{3,})", re.MULTILINE)
_FENCE_END = {mark: re.compile(rf"^[ \t>]*({mark}{{3,}})[ \t]*$", re.MULTILINE) for mark in "`~"}
_UNQUOTED_LINE = re.compile(r"^(?![ \t]*>)", re.MULTILINE)
_BRACKETS = re.compile(r"\[+")
_TICKS = re.compile(r"`+")
_DOLLAR_END = re.compile(r"(?<![\s\\$])\$(?![\d$])")
_BLANK = re.compile(r"\n[ \t]*(?=\n)")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:|//")
_LONGEST_FENCE_INDENT = 200
_LONGEST_LINE = 1_000  # of a frontmatter that is looked back on: more would make one endless line quadratic
_ATTACHMENT = re.compile(
    r"\.(?:png|jpe?g|gif|svg|webp|bmp|avif|heic|tiff?|ico|pdf|mp[34]|m4a|wav|ogg|oga|ogv|flac|3gp|webm|mov|mkv|avi"
    r"|canvas|base|zip|gz|csv|tsv|xlsx?|docx?|pptx?|txt|html?|json|ya?ml|toml|py|js|ts|css|epub)$",
    re.IGNORECASE,
)


class Link(NamedTuple):
    """`target` names a note, without heading or block; `start`…`end` is where that name stands in the text."""

    target: str
    display: str
    start: int
    end: int
    heading: str = ""  # "#Heading" or "#^block", as written
    markdown: bool = False  # [text](other.md), relative to the folder of the note
    embed: bool = False


def find_links(text: str) -> list[Link]:
    """In the order of the text. Code, comments and math hold none; attachments and places in the same note are none."""
    if ("[[" not in text or "]]" not in text) and ("](" not in text or ".md" not in text.lower()):
        return []
    return list(_Scan(text).links())


def find_property_links(front: str, values: Iterable[str]) -> list[Link]:
    """`[[…]]` in the strings of a frontmatter, as Obsidian counts them; not in its comments, nor unquoted (a list)."""
    if "[[" not in front:
        return []
    meant = {found.group() for value in values for found in _WIKI.finditer(value)}
    scan = _Scan(front)
    found = [match for match in _WIKI.finditer(front) if match.group() in meant and _in_a_string(front, match.start())]
    return [link for match in found if (link := scan._wiki_link(match)) is not None]


def _in_a_string(front: str, at: int) -> bool:
    before = front[max(front.rfind("\n", 0, at) + 1, at - _LONGEST_LINE) : at].strip()
    return not before.startswith("#") and before[-1:] not in tuple(":-,[")


class _Scan:
    def __init__(self, text: str) -> None:
        self.text = text
        self.brackets: list[int] = []  # where link texts may have begun
        self.no_comment_end = False

    def links(self) -> Iterator[Link]:
        position = 0
        while found := _SPECIAL.search(self.text, position):
            at = found.start()
            mark = found.group()
            if mark == "[":
                link, position = self._wiki(at)
            elif mark == "]":
                link, position = self._markdown(at)
            else:
                link, position = None, self._behind(mark, at)
            if link is not None:
                yield link

    def _behind(self, mark: str, at: int) -> int:
        """Where to go on behind an escape, code, math or a comment that starts here (or behind the mark alone)."""
        if mark == "\\":
            return at + 2
        if mark == "`" or mark == "~":
            return self._behind_code(mark, at)
        if mark == "$":
            return self._behind_math(at)
        if mark == "%":
            return self._behind_pair("%%", "%%", at)
        return self._behind_pair("<!--", "-->", at)

    def _behind_code(self, mark: str, at: int) -> int:
        if self.text.startswith(mark * 3, at) and (fence := self._fence(at)):
            return fence
        if mark == "~":
            return at + 1
        end = _run_end(_TICKS, self.text, at)
        return self._next(self._ticks.get(end - at, []), end, end - at) or end

    def _fence(self, at: int) -> int | None:
        """Where the code block ends whose first line holds this mark; None when the line opens none."""
        line = self.text.rfind("\n", max(0, at - _LONGEST_FENCE_INDENT), at) + 1
        opened = _FENCE.match(self.text, line)
        if opened is None or not line <= at < opened.end():
            return None
        length = opened.end() - at
        body = self.text.find("\n", opened.end()) + 1
        if body == 0:
            return len(self.text)
        limit = len(self.text)
        if ">" in self.text[line:at] and (unquoted := _UNQUOTED_LINE.search(self.text, body)):
            limit = unquoted.start()  # code inside a quotation ends with it
        for closing in _FENCE_END[self.text[at]].finditer(self.text, body, limit):
            if len(closing.group(1)) >= length:
                return closing.end()
        return limit

    def _behind_math(self, at: int) -> int:
        if self.text.startswith("$$", at):
            return self._behind_pair("$$", "$$", at)
        if self.text[at + 1 : at + 2].isspace():
            return at + 1
        return self._next(self._dollars, at + 1, 1) or at + 1

    def _behind_pair(self, opening: str, closing: str, at: int) -> int:
        if not self.text.startswith(opening, at):
            return at + 1
        if closing == "-->" and self.no_comment_end:
            return at + len(opening)
        end = self.text.find(closing, at + len(opening))
        if end < 0:  # remembered for `<!--`, which could otherwise be searched for from every start
            self.no_comment_end = self.no_comment_end or closing == "-->"
            return at + len(opening)
        return end + len(closing)

    def _next(self, places: list[int], position: int, length: int) -> int | None:
        """Behind the first of `places` from here on, unless the paragraph ends before it."""
        index = bisect_left(places, position)
        if index == len(places):
            return None
        blank = bisect_left(self._blanks, position)
        if blank < len(self._blanks) and self._blanks[blank] < places[index]:
            return None
        return places[index] + length

    @cached_property
    def _ticks(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for run in _TICKS.finditer(self.text):
            found.setdefault(run.end() - run.start(), []).append(run.start())
        return found

    @cached_property
    def _dollars(self) -> list[int]:
        return [match.start() for match in _DOLLAR_END.finditer(self.text)]

    @cached_property
    def _blanks(self) -> list[int]:
        return [match.start() for match in _BLANK.finditer(self.text)]

    def _wiki(self, at: int) -> tuple[Link | None, int]:
        found = _WIKI.match(self.text, at)
        if found is None:
            # Of a run of brackets only the last two can open a link: the rest is stepped over at once.
            last = _run_end(_BRACKETS, self.text, at) - 1
            found = _WIKI.match(self.text, last - 1) if last - 1 > at else None
            if found is None:
                self.brackets.append(last)
                return None, last + 1
        return self._wiki_link(found), found.end()

    def _wiki_link(self, found: re.Match[str]) -> Link | None:
        target, bar, display = found[1].partition("|")
        if bar and target.endswith("\\"):  # in a table the bar is escaped
            target = target[:-1]
        name, mark, place = target.partition("#")
        stripped = name.strip()
        if not stripped or _ATTACHMENT.search(stripped):
            return None
        start = found.start() + 2 + len(name) - len(name.lstrip())
        embed = self.text[found.start() - 1 : found.start()] == "!"
        return Link(
            stripped, display.strip() or target.strip(), start, start + len(stripped), mark + place, False, embed
        )

    def _markdown(self, at: int) -> tuple[Link | None, int]:
        opened = self.brackets.pop() if self.brackets else None
        if opened is None or not self.text.startswith("](", at):
            return None, at + 1
        found = _DESTINATION.match(self.text, at)
        if found is None:
            return None, at + 1
        group = 1 if found.group(1) is not None else 2
        name, mark, place = found.group(group).partition("#")
        target = unquote(name)
        if not target.lower().endswith(".md") or _SCHEME.match(target) or "\0" in target:
            return None, found.end()
        start = found.start(group)
        embed = opened > 0 and self.text[opened - 1] == "!"
        shown = self.text[opened + 1 : min(at, opened + 513)]
        return Link(target, shown, start, start + len(name), mark + place, True, embed), found.end()


def _run_end(run: re.Pattern[str], text: str, at: int) -> int:
    found = run.match(text, at)
    return found.end() if found else at
