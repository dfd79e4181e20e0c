"""The links in a Markdown text, found in one pass whose time is linear in any text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple
from urllib.parse import unquote

from lithos.core.markdown import InlineText, scan

_WIKI = re.compile(r"\[\[([^\[\]\n]{1,512})\]\]")
# Destinations as CommonMark has them, one level of parentheses deep; lengths bounded so that a miss costs little.
_DESTINATION = re.compile(
    r"\]\([ \t]{0,8}(?:<([^<>\n]{1,512})>|((?:[^\s()<>]|\([^\s()]{0,128}\)){1,512}))"
    r"""(?:[ \t]{1,8}["'(][^\n]{0,256}?["')])?[ \t]{0,8}\)"""
)
_BRACKETS = re.compile(r"\[+")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:|//")
LONGEST_CALL = 120  # characters of a link's text that count as a name of its note
_LONGEST_LINE = 1_000  # of a frontmatter that is looked back on: more would make one endless line quadratic
_ATTACHMENT = re.compile(
    r"\.(?:png|jpe?g|gif|svg|webp|bmp|avif|heic|tiff?|ico|pdf|mp[34]|m4a|wav|ogg|oga|ogv|flac|3gp|webm|mov|mkv|avi"
    r"|canvas|base|zip|gz|csv|tsv|xlsx?|docx?|pptx?|txt|html?|json|ya?ml|toml|py|js|ts|css|epub)$",
    re.IGNORECASE,
)


class WikiLink(NamedTuple):
    """`target` names a note, without heading or block; `start`…`end` is the place of that name in the text."""

    target: str
    display: str
    start: int
    end: int
    heading: str = ""  # "#Heading" or "#^block", as written
    markdown: bool = False  # [text](other.md), relative to the folder of the note
    embed: bool = False
    attachment: bool = False  # named like an attachment: a link only where a note has that name, such as p5.js.md

    @property
    def calls(self) -> str | None:
        """The text that the link shows, where that is more than the name it links by."""
        said = " ".join(self.display.split())[:LONGEST_CALL]
        if self.embed or not said or "](" in said or said.casefold() in self._spellings():
            return None
        return said

    def _spellings(self) -> set[str]:
        named = self.target.casefold()
        return {named, named.removesuffix(".md"), f"{named}{self.heading.casefold()}", named.rpartition("/")[2]}


def find_links(text: str) -> list[WikiLink]:
    """In the order of the text. Code, comments and math hold none; places in the same note are none."""
    if ("[[" not in text or "]]" not in text) and ("](" not in text or ".md" not in text.lower()):
        return []
    return list(_LinkFinder(text).links())


def find_property_links(front: str, values: Iterable[str]) -> list[WikiLink]:
    """`[[…]]` in the strings of a frontmatter, as Obsidian counts them; not in its comments, nor unquoted (a list)."""
    if "[[" not in front:
        return []
    meant = {found.group() for value in values for found in _WIKI.finditer(value)}
    finder = _LinkFinder(front)
    found = [match for match in _WIKI.finditer(front) if match.group() in meant and _in_a_string(front, match.start())]
    return [link for match in found if (link := finder.wiki_link(match)) is not None]


def _in_a_string(front: str, at: int) -> bool:
    before = front[max(front.rfind("\n", 0, at) + 1, at - _LONGEST_LINE) : at].strip()
    return not before.startswith("#") and before[-1:] not in tuple(":-,[")


class _LinkFinder:
    def __init__(self, text: str) -> None:
        self.text = text
        self.brackets: list[int] = []  # where link texts may have begun

    def links(self) -> Iterator[WikiLink]:
        inline = InlineText(self.text, scan(self.text, front_matter=False))
        position = 0
        while (at := inline.next_bracket(position)) is not None:
            link, position = self._wiki(at) if self.text[at] == "[" else self._markdown(at)
            if link is not None:
                yield link

    def _wiki(self, at: int) -> tuple[WikiLink | None, int]:
        found = _WIKI.match(self.text, at)
        if found is None:
            # Of a run of brackets only the last two can open a link: the rest is stepped over at once.
            run = _BRACKETS.match(self.text, at)
            last = (run.end() if run else at + 1) - 1
            found = _WIKI.match(self.text, last - 1) if last - 1 > at else None
            if found is None:
                self.brackets.append(last)
                return None, last + 1
        return self.wiki_link(found), found.end()

    def wiki_link(self, found: re.Match[str]) -> WikiLink | None:
        target, bar, display = found[1].partition("|")
        if bar and target.endswith("\\"):  # in a table the bar is escaped
            target = target[:-1]
        name, mark, place = target.partition("#")
        stripped = name.strip()
        if not stripped:
            return None
        start = found.start() + 2 + len(name) - len(name.lstrip())
        embed = self.text[found.start() - 1 : found.start()] == "!"
        return WikiLink(
            stripped,
            display.strip() or target.strip(),
            start,
            start + len(stripped),
            mark + place,
            embed=embed,
            attachment=_ATTACHMENT.search(stripped) is not None,
        )

    def _markdown(self, at: int) -> tuple[WikiLink | None, int]:
        opened = self.brackets.pop() if self.brackets else None
        if opened is None or not self.text.startswith("](", at):
            return None, at + 1
        found = _DESTINATION.match(self.text, at)
        if found is None:
            return None, at + 1
        group = 1 if found.group(1) is not None else 2
        name, mark, place = found.group(group).partition("#")
        target = unquote(name) if "%" in name else name
        if not target.lower().endswith(".md") or _SCHEME.match(target) or "\0" in target:
            return None, found.end()
        start = found.start(group)
        embed = opened > 0 and self.text[opened - 1] == "!"
        shown = self.text[opened + 1 : min(at, opened + 513)]
        return WikiLink(target, shown, start, start + len(name), mark + place, True, embed), found.end()
