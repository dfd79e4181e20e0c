"""Import a MEMORY.md: what another memory, or our own `mentisdb_memory_markdown`, wrote as Markdown."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from lithos.core.markdown import BEGINS, CONTINUES, Kind, scan
from lithos.core.text import slug
from lithos.ledger.render import SECTIONS
from lithos.ledger.words import THOUGHT_TYPES

_OURS = re.compile(
    r"\[(?P<index>\d{1,12})\] (?:\d{4}-\d\d-\d\d )?\d\d:\d\d \*\*(?P<type>[A-Za-z]{3,30})\*\* "
    r"by (?P<who>[^:\n]{1,400}?)(?: \((?P<facts>[^()\n]{0,1000})\))?: (?P<text>.*)",
    re.S,
)
_NAMED = re.compile(r"(?P<name>.{1,200}) \((?P<id>.{1,200})\)\Z")
_BULLET = re.compile(r"\s{0,40}(?:[-*+]|\d{1,9}[.)])[ \t]+(?=\S)")
_TYPE_OF = {slug(title): kinds[0] for title, kinds in SECTIONS} | {slug(name): name for name in THOUGHT_TYPES}
_HINTS = (
    ("decision", "Decision"),
    ("constraint", "Constraint"),
    ("rule", "Constraint"),
    ("preference", "PreferenceUpdate"),
    ("lesson", "LessonLearned"),
    ("mistake", "Mistake"),
    ("plan", "Plan"),
    ("todo", "Plan"),
    ("question", "Question"),
    ("idea", "Idea"),
    ("insight", "Insight"),
    ("summary", "Summary"),
)


@dataclass(slots=True)
class MemoryItem:
    """One thought to be: where its text did not say more, from the heading above it."""

    content: str
    thought_type: str
    tags: list[str] = field(default_factory=list)
    agent_id: str | None = None
    agent_name: str | None = None
    importance: float | None = None
    confidence: float | None = None
    was: int | None = None  # its index in the memory that it comes from
    refs: list[int] = field(default_factory=list)  # indexes in that memory


def read_memory(text: str) -> list[MemoryItem]:
    """Every bullet and paragraph under its headings, in the order of the text."""
    items: list[MemoryItem] = []
    for heading, block in _blocks(text):
        found = _OURS.match(block)
        items.append(_ours(found) if found else _plain(heading, block))
    return [item for item in items if item.content]


def _blocks(text: str) -> list[tuple[str, str]]:
    """Heading above, and text: a bullet with its further lines, or a paragraph."""
    scanned = scan(text)
    headings = {place: heading for heading in scanned.headings for place in range(heading.first, heading.after)}
    blocks: list[tuple[str, list[str]]] = []
    current, blank, ended = "", False, True
    for place, (line, kind) in enumerate(zip(scanned.lines, scanned.kinds, strict=True)):
        if place in headings:
            current, ended = headings[place].text, True
        elif kind is Kind.BLANK:
            blank = True
        elif kind is not Kind.FRONT:
            is_item = kind is Kind.NESTED and scanned.inline[place] == BEGINS and _BULLET.match(line)
            if ended or is_item or _leaves(blocks[-1][1], line, blank, kind, scanned.inline[place]):
                blocks.append((current, [line]))
            else:
                blocks[-1][1].extend(["\n", line] if blank else [line])
            blank = ended = False
    return [(heading, _joined(lines)) for heading, lines in blocks]


def _leaves(block: list[str], line: str, blank: bool, kind: Kind, inline: int) -> bool:
    """Whether this line begins something else: after a blank line a new paragraph; below a bullet what is no part of
    it, by its indent or as the going on of its paragraph."""
    indented = line.startswith(("  ", "\t"))
    if _BULLET.match(block[0]) is None:
        return blank
    return not indented if blank else kind is not Kind.NESTED or not (indented or inline == CONTINUES)


def _joined(lines: list[str]) -> str:
    first = _BULLET.sub("", lines[0], count=1)
    return "".join([first, *(line.removeprefix("  ") for line in lines[1:])]).strip()


def _plain(heading: str, block: str) -> MemoryItem:
    tag = slug(heading)
    guess = _TYPE_OF.get(tag) or next((kind for word, kind in _HINTS if word in tag), "FactLearned")
    return MemoryItem(block, guess, [tag[:200]] if tag else [])


def _ours(found: re.Match[str]) -> MemoryItem:
    kind = found["type"] if found["type"] in THOUGHT_TYPES else "FactLearned"
    named = _NAMED.match(found["who"])
    item = MemoryItem(found["text"].strip(), kind, was=int(found["index"]))
    item.agent_id = named["id"] if named else found["who"].strip()
    item.agent_name = named["name"] if named else None
    for fact in (found["facts"] or "").split("; "):
        _take_fact(item, fact)
    return item


def _take_fact(item: MemoryItem, fact: str) -> None:
    if fact.startswith("importance "):
        item.importance = _number(fact)
    elif fact.startswith("confidence "):
        item.confidence = _number(fact)
    elif fact.startswith("refers to "):
        item.refs = [int(number) for number in re.findall(r"\[(\d{1,12})\]", fact)]
    elif fact.startswith("#"):
        item.tags = [tag.removeprefix("#") for tag in fact.split()]


def _number(fact: str) -> float | None:
    try:
        return float(fact.split(" ", 1)[1])
    except ValueError:
        return None
