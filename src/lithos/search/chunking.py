"""A Markdown text cut into passages: along headings and paragraphs, ~500 characters each, never more than the model reads.

Pure. Every character of the text is in some passage; headings are kept beside their passages, as context.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from lithos.search.values import Passage

CountTokens = Callable[[str], int]

_HEADING = re.compile(r"^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_PARAGRAPH_END = re.compile(r"\n[ \t]*\n")
# From the gentlest cut to the roughest; what none of them can cut is cut between characters.
_CUTS = (
    re.compile(r"(?<=\n)(?=[ \t]*(?:[-*+>|]|\d{1,9}[.)])[ \t])"),
    re.compile(r"(?<=\n)"),
    re.compile(r"(?<=[.!?;])(?=\s)|(?<=[。！？；])"),
    re.compile(r"(?<=,)(?=\s)|(?<=[，、])"),
    re.compile(r"(?<=\s)(?=\S)"),
)
LONGEST_CONTEXT = 200  # characters of title and headings that go in front of a passage


@dataclass(frozen=True, slots=True)
class Limits:
    target: int = 500
    most: int = 1000
    tokens: int = 256  # context and the model's two marks included

    def __post_init__(self) -> None:
        object.__setattr__(self, "most", max(self.most, self.target))


@dataclass(frozen=True, slots=True)
class Section:
    heading: str
    body: str


def cut_passages(title: str, text: str, count: CountTokens, limits: Limits) -> list[Passage]:
    found: list[Passage] = []
    for section in sections(text):
        room = limits.tokens - 2 - count(context(title, section.heading))
        pieces = _pieces(section.body, Limits(limits.target, limits.most, max(room, 16)), count)
        found.extend(Passage(len(found) + at, section.heading, piece) for at, piece in enumerate(pieces))
    return found or [Passage(0, "", "")]


def context(title: str, heading: str) -> str:
    """What the model reads in front of a passage. Long ones lose their middle, which tells least."""
    joined = f"{title} > {heading}" if title and heading else title or heading
    if len(joined) <= LONGEST_CONTEXT:
        return joined
    half = LONGEST_CONTEXT // 2
    return f"{joined[:half].rstrip()} … {joined[-half:].lstrip()}"


def model_text(title: str, passage: Passage) -> str:
    """The words of a passage as the model reads them; a title that the passage begins with is not said twice."""
    before = context(title, passage.heading)
    if not before or passage.text.startswith(before):
        return passage.text
    return f"{before}\n{passage.text}"


def sections(text: str) -> Iterator[Section]:
    """Bodies under their headings, outermost first; a heading without a body counts when nothing is below it."""
    trail: list[tuple[int, str]] = []
    body: list[str] = []
    fence = ""
    unsaid = False  # the innermost heading has neither body nor sub-heading yet
    for line in text.splitlines(keepends=True):
        fence = _fence_after(line, fence)
        heading = None if fence else _HEADING.match(line.rstrip("\r\n"))
        if heading is None:
            body.append(line)
            continue
        level = len(heading.group(1))
        yield from _section(trail, body, unsaid and (not trail or level <= trail[-1][0]))
        body = []
        trail = [*(above for above in trail if above[0] < level), (level, (heading.group(2) or "").strip())]
        unsaid = True
    yield from _section(trail, body, unsaid)


def _fence_after(line: str, fence: str) -> str:
    """The mark that an open code fence waits for; empty outside of one. Its closing line still counts as inside."""
    found = _FENCE.match(line)
    if not fence:
        return found.group(1) if found else ""
    closed = found is not None and found.group(1).startswith(fence) and not line[found.end() :].strip()
    return "" if closed else fence


def _section(trail: list[tuple[int, str]], body: list[str], even_if_empty: bool) -> Iterator[Section]:
    text = "".join(body).strip("\r\n")
    if text.strip() or (even_if_empty and trail):
        yield Section(" > ".join(name for _, name in trail if name), text.strip() and text)


def _pieces(body: str, limits: Limits, count: CountTokens) -> list[str]:
    """Paragraphs, cut where they are too long, joined where they are short."""
    packed: list[str] = []
    for paragraph in _PARAGRAPH_END.split(body):
        for piece in _small_enough(paragraph.strip("\n"), limits, count):
            last = f"{packed[-1]}\n\n{piece}" if packed else ""
            if last and len(last) <= limits.target and count(last) <= limits.tokens:
                packed[-1] = last
            elif piece.strip():
                packed.append(piece)
    return packed or [""]


def _small_enough(piece: str, limits: Limits, count: CountTokens, level: int = 0) -> Iterator[str]:
    if len(piece) <= limits.most and count(piece) <= limits.tokens:
        yield piece
        return
    if level == len(_CUTS):
        yield from _by_characters(piece, limits, count)
        return
    parts = [part for part in _CUTS[level].split(piece) if part]
    for joined in _joined(parts, limits, count):
        yield from _small_enough(joined.strip("\n"), limits, count, level + 1)


def _joined(parts: list[str], limits: Limits, count: CountTokens) -> Iterator[str]:
    """Neighbours together again up to the target, so that a cut at sentences does not give one passage a sentence."""
    held, held_tokens = "", 0
    for part in parts:
        tokens = count(part)
        if held and (len(held) + len(part) > limits.target or held_tokens + tokens > limits.tokens):
            yield held
            held, held_tokens = "", 0
        held, held_tokens = held + part, held_tokens + tokens
    if held:
        yield held


def _by_characters(piece: str, limits: Limits, count: CountTokens) -> Iterator[str]:
    """A single word longer than the model reads (base64, a script without spaces)."""
    while piece:
        size = min(len(piece), limits.target)
        while size > 1 and count(piece[:size]) > limits.tokens:
            size //= 2
        yield piece[:size]
        piece = piece[size:]
