"""A Markdown text cut into passages along headings and paragraphs: ~500 characters, never more than the model reads.

Pure. Every character of the text is in some passage; headings are kept beside their passages, as context.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from lithos.core.markdown import Heading, scan
from lithos.search.values import Passage

CountTokens = Callable[[str], int]

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
class PassageLimits:
    target: int = 500
    most: int = 1000
    tokens: int = 256  # context and the model's two marks included

    def __post_init__(self) -> None:
        object.__setattr__(self, "most", max(self.most, self.target))


@dataclass(frozen=True, slots=True)
class Section:
    heading: str
    body: str


def cut_passages(title: str, text: str, count: CountTokens, limits: PassageLimits) -> list[Passage]:
    found: list[Passage] = []
    for section in sections(text):
        room = limits.tokens - 2 - count(context(title, section.heading))
        pieces = _pieces(section.body, PassageLimits(limits.target, limits.most, max(room, 16)), count)
        found += [Passage(len(found) + at, section.heading, piece) for at, piece in enumerate(pieces)]
    return found or [Passage(0, "", "")]


def context(title: str, heading: str) -> str:
    """Context that the model reads in front of a passage. Long ones lose their middle, which tells least."""
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
    """Bodies under their headings; a heading without a body counts when no heading is below it."""
    found = scan(text, front_matter=False)
    ends = [heading.first for heading in found.headings[1:]] + [len(found.lines)]
    yield from _section([], found.lines[: found.headings[0].first if found.headings else len(found.lines)])
    trail: list[Heading] = []
    for at, heading in enumerate(found.headings):
        trail = [*(above for above in trail if above.level < heading.level), heading]
        below = found.headings[at + 1].level if at + 1 < len(found.headings) else 0
        yield from _section(trail, found.lines[heading.after : ends[at]], even_if_empty=below <= heading.level)


def _section(trail: list[Heading], lines: list[str], even_if_empty: bool = False) -> Iterator[Section]:
    body = "".join(lines).strip("\r\n")
    if body.strip() or even_if_empty:
        yield Section(" > ".join(above.text for above in trail if above.text), body if body.strip() else "")


def _pieces(body: str, limits: PassageLimits, count: CountTokens) -> list[str]:
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


def _small_enough(piece: str, limits: PassageLimits, count: CountTokens, level: int = 0) -> Iterator[str]:
    if len(piece) <= limits.most and count(piece) <= limits.tokens:
        yield piece
        return
    if level == len(_CUTS):
        yield from _by_characters(piece, limits, count)
        return
    parts = [part for part in _CUTS[level].split(piece) if part]
    for joined in _joined(parts, limits, count) if len(parts) > 1 else parts:
        yield from _small_enough(joined.strip("\n"), limits, count, level + 1)


def _joined(parts: list[str], limits: PassageLimits, count: CountTokens) -> Iterator[str]:
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


def _by_characters(piece: str, limits: PassageLimits, count: CountTokens) -> Iterator[str]:
    """A single word longer than the model reads (base64, a script without spaces)."""
    while piece:
        size = min(len(piece), limits.target)
        while size > 1 and count(piece[:size]) > limits.tokens:
            size //= 2
        yield piece[:size]
        piece = piece[size:]
