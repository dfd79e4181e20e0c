"""Writing history: an entry is one thought of the chain `history`, with the code that it names resolved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lithos.core.call import Call
from lithos.core.names import is_blank, one_line
from lithos.core.validators import LONGEST_TERM, MOST_TERMS
from lithos.errors import InvalidInput, LithosError
from lithos.graph.code import Code, Symbol, find
from lithos.graph.history.values import (
    MARK_OF_EDGE,
    CodeLink,
    EntryGate,
    NewEntry,
    StoredEntry,
    Unresolved,
)
from lithos.graph.model import KnowledgeEdge
from lithos.ledger import Draft, Ledger
from lithos.sessions import HISTORY, Sessions

LONGEST_TITLE = 200
MOST_LINKS = MOST_TERMS


class HistoryWriter:
    def __init__(self, ledger: Ledger, sessions: Sessions, code: Code, gate: EntryGate) -> None:
        self._ledger = ledger
        self._sessions = sessions
        self._code = code
        self._gate = gate

    def store(self, call: Call, entry: NewEntry) -> StoredEntry:
        """Append the entry; durable when this returns. References that cannot be resolved are returned, not kept."""
        if entry.title is not None:
            one_line(entry.title, "title", LONGEST_TITLE)
        if is_blank(entry.content):
            raise InvalidInput("content is empty", hint="Say what is worth keeping.")
        session = self._sessions.scope_of_entry(call, entry.session_id)
        links, unresolved = self.resolve(call, entry)
        admission = self._gate.admit(call, entry, links)
        draft = Draft(
            thought_type=entry.thought_type,
            content=entry.text,
            agent_id=call.agent,
            confidence=entry.confidence if admission.confidence is None else admission.confidence,
            tags=[*dict.fromkeys((*entry.tags, *admission.tags))],
            concepts=[f"{MARK_OF_EDGE[link.edge]}:{link.id}" for link in links],
            session_id=session,
        )
        thought = self._ledger.append(call, draft, chain_key=HISTORY)["thought"]
        answer: StoredEntry = {
            "stored": True,
            "id": thought["id"],
            "index": thought["index"],
            "category": entry.category,
            "thought_type": thought["thought_type"],
            "links": [{"id": link.id, "edge": link.edge.name.lower()} for link in links],
            "unresolved": unresolved,
        }
        if session:
            answer["session_id"] = session
        if admission.answer:
            answer["verification"] = dict(admission.answer)
        return answer

    def resolve(self, call: Call, entry: NewEntry) -> tuple[tuple[CodeLink, ...], list[Unresolved]]:
        """The code that an entry names. A reference in a modified file counts as modified."""
        links: dict[tuple[str, KnowledgeEdge], CodeLink] = {}
        unresolved: list[Unresolved] = []
        files: dict[str, KnowledgeEdge] = {}
        given = (
            *((each, KnowledgeEdge.CREATED) for each in entry.created),
            *((each, KnowledgeEdge.MODIFIED) for each in entry.modified),
            *((each, KnowledgeEdge.REFERENCED) for each in entry.references),
        )
        roots = self._code.visible(call) if given else []
        for text, edge in given:
            try:
                symbol = find(roots, text, offers=False)
            except LithosError as error:
                unresolved.append({"reference": text[:LONGEST_TERM], "reason": error.message})
                continue
            file = f"{symbol.root.spec.name}:{symbol.path}"
            if edge is KnowledgeEdge.REFERENCED:
                edge = files.get(file, edge)
            else:
                files[file] = edge
            _keep(links, unresolved, CodeLink(text, symbol.id, edge), symbol)
        return tuple(links.values()), unresolved


def _keep(
    links: dict[tuple[str, KnowledgeEdge], CodeLink], unresolved: list[Unresolved], link: CodeLink, symbol: Symbol
) -> None:
    id = link.id
    if len(f"{MARK_OF_EDGE[link.edge]}:{id}") > LONGEST_TERM:  # the file is named where the symbol is too long
        id = f"{symbol.root.spec.name}:{symbol.path}"
    if len(links) == MOST_LINKS or len(f"{MARK_OF_EDGE[link.edge]}:{id}") > LONGEST_TERM:
        reason = f"an entry names at most {MOST_LINKS} places" if len(links) == MOST_LINKS else "its id is too long"
        unresolved.append({"reference": link.given[:LONGEST_TERM], "reason": reason})
        return
    links.setdefault((id, link.edge), CodeLink(link.given, id, link.edge))


def labelled(parts: Sequence[tuple[str, str | None]]) -> str:
    """`Label: text` lines of those that are given."""
    return "\n".join(_labelled(parts))


def _labelled(parts: Sequence[tuple[str, str | None]]) -> Iterator[str]:
    for name, text in parts:
        if text is not None and text.strip():
            yield f"{name}: {text.strip()}" if name else text.strip()
