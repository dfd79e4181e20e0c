"""Nodes: from an id, or what a caller writes, to the thing that it means; each owner is asked, nothing is copied."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NotRequired, Protocol

from typing_extensions import TypedDict

from lithos.board import Board
from lithos.core.call import Call
from lithos.core.references import is_part_of_id
from lithos.errors import InvalidInput, LithosError, NotFound
from lithos.graph.code import Code, entry_by_id, find
from lithos.graph.history.thoughts import ThoughtEntries, as_row
from lithos.graph.history.values import HistoryRow
from lithos.graph.model import Domain
from lithos.sessions import Sessions

NodeDomain = Literal["code", "history", "academic"]
UUID_LENGTH = 36
_HINT = "Give an id from a search of code, history or sources, a path, path:line or a symbol."
_ONLY: dict[Domain, tuple[str, str]] = {
    Domain.HISTORY: ("entry of history", "lithos_search_history shows ids; a commit also goes by its SHA."),
    Domain.ACADEMIC: ("outside source", "lithos_research shows their ids."),
}
_SHA = re.compile(r"[0-9a-f]{7,64}")


class NodeShown(TypedDict):
    id: str
    domain: NodeDomain
    type: str
    title: str
    path: NotRequired[str]
    start_line: NotRequired[int]
    end_line: NotRequired[int]
    timestamp: NotRequired[str]
    category: NotRequired[str]
    summary_type: NotRequired[str]
    agent: NotRequired[str]
    url: NotRequired[str]
    removed: NotRequired[bool]  # a tombstone: the code is gone


@dataclass(frozen=True, slots=True)
class Node:
    id: str
    domain: Domain
    shown: NodeShown


class MoreNodes(Protocol):
    """Another owner of nodes: commits, sources."""

    def get(self, call: Call, id: str) -> NodeShown | None:
        """The node of exactly this id, if the caller may see it."""

    def exists(self, id: str) -> bool:
        """Whether there is such a node, seen or not."""


class Nodes:
    def __init__(
        self,
        code: Code,
        thoughts: ThoughtEntries,
        board: Board,
        sessions: Sessions,
        others: tuple[MoreNodes, ...] = (),
    ) -> None:
        self._code = code
        self._thoughts = thoughts
        self._board = board
        self._sessions = sessions
        self._others = others

    def find(self, call: Call, text: str, only: Domain | None = None) -> Node:
        """The node that a caller means: an id of any domain, the SHA of a commit, or a name of code. `only`: of this
        domain; a name of code is none of history."""
        given = text.strip()
        found = self.get(call, given) or self._commit(call, given)
        if found is not None and only in (None, found.domain):
            return found
        if only is not None:
            what, hint = _ONLY[only]
            if found is not None:
                raise InvalidInput(f"{given[:120]!r} is no {what}", hint=hint)
            raise NotFound(f"there is no {what} {given[:120]!r}", hint=hint)
        if len(given) == UUID_LENGTH and is_part_of_id(given):
            raise NotFound(f"there is no node {given!r}", hint=_HINT)
        symbol = find(self._code.visible(call), given)
        node = self.get(call, symbol.id)
        if node is None:
            raise NotFound(f"{given[:120]!r} is gone", hint=_HINT)
        return node

    def _commit(self, call: Call, sha: str) -> Node | None:
        """The commit that begins so, in the only root that has it."""
        roots = self._code.visible(call) if _SHA.fullmatch(sha) else []
        found = [each for root in roots if (each := self.get(call, f"commit:{root.spec.name}:{sha}")) is not None]
        return found[0] if len(found) == 1 else None

    def get(self, call: Call, id: str) -> Node | None:
        """The node of exactly this id that the caller may see."""
        return self.many(call, [id]).get(id)

    def many(self, call: Call, ids: Sequence[str]) -> dict[str, Node]:
        """Those of these nodes that the caller may see; thoughts are read together."""
        thoughts = self._thoughts.by_ids(call, [id for id in ids if len(id) == UUID_LENGTH and ":" not in id])
        found: dict[str, Node] = {}
        for id in ids:
            if id in thoughts:
                thought = thoughts[id]
                shown = None if thought is None else entry_shown(as_row(thought, ()))
            else:
                shown = self._shown(call, id)
            if shown is not None:
                found[id] = Node(id, Domain[shown["domain"].upper()], shown)
        return found

    def walk(self, call: Call, ids: Sequence[str], together: int) -> Iterator[tuple[str, Node | None]]:
        """Each id with its node, so many read together: a caller that stops early reads few."""
        for start in range(0, len(ids), together):
            part = ids[start : start + together]
            found = self.many(call, part)
            yield from ((id, found.get(id)) for id in part)

    def _shown(self, call: Call, id: str) -> NodeShown | None:
        prefix, _, rest = id.partition(":")
        shown: NodeShown | None = None
        if prefix in ("task", "outcome", "finding"):
            shown = self._of_board(prefix, rest)
        elif prefix == "session":
            shown = self._of_session(call, rest)
        elif rest:
            entry = entry_by_id(self._code.visible(call), id)
            shown = None if entry is None else code_shown(entry)
        for other in self._others:
            shown = shown or other.get(call, id)
        return shown

    def entry(self, call: Call, id: str) -> HistoryRow | None:
        """A thought in full."""
        return self.entries(call, [id]).get(id)

    def entries(self, call: Call, ids: Sequence[str]) -> dict[str, HistoryRow]:
        """Thoughts in full, read together."""
        found = self._thoughts.by_ids(call, [id for id in ids if len(id) == UUID_LENGTH])
        rows = self._thoughts.rows(each for each in found.values() if each is not None)
        return {row["id"]: row for row in rows}

    def is_gone(self, call: Call, id: str) -> bool:
        """Whether there is no such node for any caller; else it is hidden from this one."""
        if len(id) == UUID_LENGTH and self._thoughts.exists(id):
            return False
        if any(root.spec.name == id.partition(":")[0] for root in self._code.roots()):
            return entry_by_id(self._code.roots(), id) is None and not any(each.exists(id) for each in self._others)
        return not any(each.exists(id) for each in self._others)

    def _of_board(self, kind: str, id: str) -> NodeShown | None:
        if kind == "finding":
            row = self._board.finding_text(id)
        else:
            row = next((each for each in self._board.texts([id]) if each.kind == "task"), None)
        if row is None or (kind == "outcome" and row.status != "completed"):
            return None
        names = {"task": "workflow", "outcome": "outcome", "finding": "entry"}
        return {
            "id": f"{kind}:{id}",
            "domain": "history",
            "type": names[kind],
            "title": row.title if kind != "finding" else row.text[:120],
            "agent": row.agent,
        }

    def _of_session(self, call: Call, id: str) -> NodeShown | None:
        try:
            session = self._sessions.get(call, id)
        except LithosError:
            return None
        return {"id": f"session:{id}", "domain": "history", "type": "session", "title": session["name"]}


def entry_shown(row: HistoryRow) -> NodeShown:
    """An entry of history as a node."""
    shown: NodeShown = {
        "id": row["id"],
        "domain": "history",
        "type": row["type"],
        "title": row.get("title") or row["content"].strip().splitlines()[0][:160],
        "timestamp": row["timestamp"],
        "category": row["category"],
        "agent": row["agent"],
    }
    if "summary_type" in row:
        shown["summary_type"] = row["summary_type"]
    return shown


def code_shown(entry: dict[str, Any]) -> NodeShown:
    return {
        "id": entry["id"],
        "domain": "code",
        "type": entry["type"],
        "title": entry["name"],
        "path": entry["path"],
        "start_line": entry["start_line"],
        "end_line": entry["end_line"],
    }
