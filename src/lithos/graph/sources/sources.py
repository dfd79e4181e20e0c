"""Sources: questions over what was read elsewhere. Answers are evidence with citations; no model is asked."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, NotRequired, Protocol, cast

from typing_extensions import TypedDict

from lithos.core.call import Call
from lithos.core.cursor import NextPage, ShownBefore
from lithos.errors import InvalidInput
from lithos.graph.code import Code
from lithos.graph.code import search as search_code
from lithos.graph.history.grouping import words
from lithos.graph.knowledge import Knowledge, NodeShown, SourceNodes, code_for_academic, code_shown, source_facts
from lithos.graph.sources.texts import KINDS
from lithos.notes import NoteSearch, ScopeRequest
from lithos.search import Hit, Query, Where

DEPTHS = {"quick": 1, "standard": 2, "deep": 3}
PER_DEPTH = 10
DOCS = ("documentation", "best_practice", "tutorial", "rfc")
PRACTICES = ("best_practice", "documentation")
CURRENT = ScopeRequest()
PAGES = 3  # of one source in the answer of a research
STEM = 6  # letters that two words of one stem have in common
NOTHING = ShownBefore()
NEAR = 0.3  # cosine of a criterion and a passage that speaks of it: as lithos_semantic has it
MOST_NEAR = 50
CELL = 2  # pieces of evidence for one approach and criterion


class SourceRow(TypedDict):
    id: str
    kind: str
    title: str
    path: str
    heading: str  # page or section
    passage: str
    score: float
    cite: str
    status: NotRequired[str]
    authors: NotRequired[list[str]]
    published_at: NotRequired[str]
    venue: NotRequired[str]
    url: NotRequired[str]
    library: NotRequired[str]
    superseded_by: NotRequired[str]
    focus: NotRequired[list[str]]


class SourcePage(NextPage):
    results: list[SourceRow]
    summary: NotRequired[str]
    degraded: bool
    degraded_reason: NotRequired[str]


class Cell(TypedDict):
    approach: str
    criterion: str
    evidence: list[SourceRow]  # empty: no source speaks of it


class Comparison(TypedDict):
    cells: list[Cell]
    missing: list[str]  # "approach: criterion" without evidence
    summary: NotRequired[str]
    degraded: bool
    degraded_reason: NotRequired[str]


class Practice(TypedDict):
    practice: SourceRow
    code: list[NodeShown]
    gap: NotRequired[bool]  # nothing of ours speaks of it


class Synthesis(TypedDict):
    topic: str
    practices: list[Practice]
    gaps: NotRequired[list[str]]
    summary: NotRequired[str]
    degraded: bool
    degraded_reason: NotRequired[str]


class Prose(Protocol):
    """Writes a text over evidence: a model, or the scripted one here."""

    def write(self, question: str, evidence: Sequence[SourceRow]) -> str: ...


class ScriptedProse:
    """One sentence per source, in order, each cited; says nothing that a source does not say."""

    def write(self, question: str, evidence: Sequence[SourceRow]) -> str:
        lines = [f"{_sentence(each['passage'])} [{place}]" for place, each in enumerate(evidence[:5], 1)]
        cited = [f"[{place}] {each['cite']}" for place, each in enumerate(evidence[:5], 1)]
        return "\n".join([*lines, *cited]) if lines else f"No source here speaks of {question[:200]!r}."


class Sources:
    def __init__(
        self, search: NoteSearch, nodes: SourceNodes, graph: Knowledge, code: Code, prose: Prose | None = None
    ) -> None:
        self._search = search
        self._nodes = nodes
        self._graph = graph
        self._code = code
        self._prose = prose or ScriptedProse()

    def find(
        self,
        text: str,
        limit: int,
        kinds: Sequence[str] = KINDS,
        *,
        since: float | None = None,
        tag: str | None = None,
        pages: int = 1,
    ) -> tuple[list[SourceRow], str]:
        """The best passages, at most so many `pages` of one source, and why some may be missing. Superseded sources are
        left out."""
        rows, relevant, behind = self.candidates(text, limit, kinds, since=since, tag=tag, pages=pages)
        return (rows if relevant else []), behind

    def candidates(
        self,
        text: str,
        limit: int,
        kinds: Sequence[str] = KINDS,
        *,
        since: float | None = None,
        tag: str | None = None,
        scope: ScopeRequest = CURRENT,
        pages: int = 1,
    ) -> tuple[list[SourceRow], bool, str]:
        """As `find`; with whether any of them is likely to answer."""
        if not kinds:
            return [], False, ""
        where = Where(
            tags=(tag,) if tag else (),
            any_of={"kind": tuple(kinds)},
            between={"published": (since, None)} if since is not None else {},
        )
        deeper = limit if pages == 1 else 2 * limit  # several passages of one page are one result
        query = Query(text, limit=deeper, where=where, per_document=1 if pages == 1 else 2 * pages)
        found, _ = self._search.find(query, scope)
        rows: dict[str, SourceRow] = {}
        for hit in found.hits:
            row = self._row(hit) if hit.score > 0 else None
            if row is not None:
                rows.setdefault(place_of(row), row)
        said = _without_heads([*rows.values()])
        return _spread(said, pages)[:limit], found.relevant, found.degraded

    def _row(self, hit: Hit) -> SourceRow | None:
        row = self._nodes.row(hit.id)
        if row is None:
            return None
        shown: SourceRow = {
            "id": hit.id,
            "kind": row["kind"],
            "title": row["title"],
            "path": row["path"],
            "heading": hit.heading,
            "passage": hit.passage,
            "score": round(hit.score, 6),
            "cite": f"{row['title']}, {hit.heading}" if hit.heading else str(row["title"]),
        }
        return cast(SourceRow, {**shown, **source_facts(row)})

    def research(
        self,
        text: str,
        depth: int,
        focus: Sequence[str],
        *,
        papers: bool,
        docs: bool,
        prose: bool,
        after: ShownBefore = NOTHING,
    ) -> SourcePage:
        kinds = [kind for kind in KINDS if (papers or kind != "paper") and (docs or kind not in DOCS)]
        limit = PER_DEPTH * depth
        rows, behind = self.find(text, after.depth(limit), kinds, pages=PAGES)
        found = {place_of(row): row for row in rows}
        for area in focus:
            more, _ = self.find(f"{text} {area}", after.depth(limit), kinds, pages=PAGES)
            for row in more:
                known = found.setdefault(place_of(row), row)
                if words(area) & words(f"{row['title']} {row['heading']} {row['passage']}"):
                    known["focus"] = [*known.get("focus", []), area]
        ordered = sorted(found.values(), key=lambda row: (-len(row.get("focus", [])), -row["score"]))
        return self._page(text, ordered, behind, prose, after, limit)

    def best_practices(
        self, topic: str, technology: str | None, limit: int, after: ShownBefore = NOTHING
    ) -> SourcePage:
        text = f"{technology} {topic} best practices" if technology else topic
        depth = after.depth(limit)
        tagged, behind = self.find(text, depth, PRACTICES, tag=technology) if technology else ([], "")
        rest, more = self.find(text, depth, PRACTICES)
        found = {row["id"]: row for row in (*tagged, *rest)}
        return self._page(text, [*found.values()], behind or more, False, after, limit)

    def papers(
        self, text: str, limit: int, min_year: int | None, venues: Sequence[str], after: ShownBefore = NOTHING
    ) -> SourcePage:
        """Preferred venues come first."""
        since = None if min_year is None else datetime(min_year, 1, 1, tzinfo=UTC).timestamp()
        rows, behind = self.find(text, after.depth(limit) * (3 if venues else 1), ("paper",), since=since)
        wanted = [each.casefold() for each in venues]
        rows.sort(key=lambda row: not any(each in row.get("venue", "").casefold() for each in wanted))
        return self._page(text, rows, behind, False, after, limit)

    def compare(
        self, approaches: Sequence[str], context: str | None, criteria: Sequence[str], *, prose: bool
    ) -> Comparison:
        """Evidence for each approach and criterion: passages that name the approach, and name the criterion or are near
        it in meaning."""
        if not 2 <= len({each.strip().casefold() for each in approaches}) == len(approaches):
            raise InvalidInput("two different approaches are the least", hint="Name 2 to 4 different ones.")
        cells: list[Cell] = []
        behind = ""
        near = {criterion: self._near(criterion) for criterion in criteria}
        for approach in approaches:
            for criterion in criteria or ("overview",):
                asked = " ".join(each for each in (approach, "" if not criteria else criterion, context or "") if each)
                rows, behind = self.find(asked, 10)
                own = words(approach) or {approach.casefold()}
                named = [row for row in rows if _speaks(row, own)]
                if criterion in near:
                    named = [row for row in named if _names(row, criterion) or place_of(row) in near[criterion]]
                cells.append({"approach": approach, "criterion": criterion, "evidence": named[:CELL]})
        missing = [f"{each['approach']}: {each['criterion']}" for each in cells if not each["evidence"]]
        answer: dict[str, Any] = {"cells": cells, "missing": missing, **_degraded(behind)}
        if prose:
            evidence = [row for cell in cells for row in cell["evidence"]]
            answer["summary"] = self._prose.write(" or ".join(approaches), evidence)
        return cast(Comparison, answer)

    def _near(self, criterion: str) -> set[str]:
        """Places of passages that mean nearly the same."""
        where = Where(any_of={"kind": tuple(KINDS)})
        query = Query(criterion, by="meaning", limit=MOST_NEAR, where=where, threshold=NEAR, per_document=2 * PAGES)
        found, _ = self._search.find(query, CURRENT)
        return {f"{hit.id}#{hit.heading}" for hit in found.hits}

    def synthesize(self, call: Call, topic: str, *, show_gaps: bool, prose: bool) -> Synthesis:
        """Each practice beside our code that is linked to it, or speaks of the same; a gap where there is none."""
        rows, behind = self.find(topic, 5)
        ours = (
            search_code(self._code, call, topic, 10, "any", None, None)["results"] if self._code.visible(call) else []
        )
        practices: list[Practice] = []
        for row in rows:
            linked = code_for_academic(self._graph, call, row["id"], 5)["results"]
            code: list[NodeShown] = [_node(each) for each in linked] or [
                code_shown(each) for each in ours if _about(each, row, topic)
            ]
            practice: Practice = {"practice": row, "code": code[:5]}
            if show_gaps:
                practice["gap"] = not code
            practices.append(practice)
        answer: dict[str, Any] = {"topic": topic, "practices": practices, **_degraded(behind)}
        if show_gaps:
            answer["gaps"] = [each["practice"]["cite"] for each in practices if not each["code"]]
        if prose:
            answer["summary"] = self._prose.write(topic, rows)
        return cast(Synthesis, answer)

    def _page(
        self, text: str, rows: list[SourceRow], behind: str, prose: bool, after: ShownBefore, limit: int
    ) -> SourcePage:
        shown, more = after.page(rows, limit, place_of)
        answer: dict[str, Any] = {"results": shown, **_degraded(behind), **more}
        if prose:
            answer["summary"] = self._prose.write(text, shown)
        return cast(SourcePage, answer)


def place_of(row: SourceRow) -> str:
    """A source and its page or section: passages of the same one are one result."""
    return f"{row['id']}#{row['heading']}"


def _without_heads(rows: list[SourceRow]) -> list[SourceRow]:
    """The line on where a source comes from is no passage of it, where another one of it was found."""
    counts = Counter(row["id"] for row in rows)
    kept: list[SourceRow] = []
    for row in rows:
        head, _, rest = row["passage"].partition("\n\n")
        if row["heading"] or not head.startswith("> ") or "\n" in head:
            kept.append(row)
        elif rest.strip():
            kept.append({**row, "passage": rest.strip()})
        elif counts[row["id"]] == 1:
            kept.append(row)
    return kept


def _spread(rows: Iterable[SourceRow], pages: int) -> list[SourceRow]:
    counts: dict[str, int] = {}
    kept = []
    for row in rows:
        counts[row["id"]] = counts.get(row["id"], 0) + 1
        if counts[row["id"]] <= pages:
            kept.append(row)
    return kept


def _degraded(reason: str) -> dict[str, Any]:
    return {"degraded": True, "degraded_reason": reason} if reason else {"degraded": False}


def _speaks(row: SourceRow, own: frozenset[str] | set[str]) -> bool:
    said = words(f"{row['title']} {row['heading']} {row['passage']}")
    text = f"{row['title']} {row['passage']}".casefold()
    return all(each in said or each in text for each in own)


def _names(row: SourceRow, criterion: str) -> bool:
    """Whether it has a word of the criterion, in any ending."""
    said = words(f"{row['heading']} {row['passage']}")
    return any(each[:STEM] == other[:STEM] for each in words(criterion) for other in said)


def _about(symbol: dict[str, Any], row: SourceRow, topic: str) -> bool:
    """A symbol speaks of a practice if it shares a word with it beyond the topic's own, or bears the topic's name."""
    own = words(re.sub(r"(?<=[a-z])(?=[A-Z])|[_./]", " ", f"{symbol['name']} {symbol['path']}"))
    return bool(own & words(topic)) or len(own & words(f"{row['title']} {row['passage']}")) > 1


def _node(row: Any) -> NodeShown:
    return cast(NodeShown, {key: value for key, value in row.items() if key not in ("how", "weight")})


def _sentence(passage: str) -> str:
    flat = " ".join(passage.split())
    end = re.search(r"[.!?](?:\s|$)", flat)
    return flat[: end.start() + 1] if end and end.start() < 300 else flat[:300]
