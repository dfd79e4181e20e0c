"""Knowledge: the part that keeps the derived edges equal to their owners, joins the asserted ones, and answers."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal, NotRequired, Protocol

from typing_extensions import TypedDict

from lithos.core.call import Call
from lithos.core.cursor import NextPage
from lithos.core.listeners import Listeners
from lithos.core.part import Part
from lithos.errors import InvalidInput, LithosError, NotFound, ReadOnly, StorageFull
from lithos.graph.code import Code, find
from lithos.graph.history.question import GIT, Answered, HistoryQuestion
from lithos.graph.history.values import HistoryRow
from lithos.graph.knowledge.asserted import AssertedEdges, LinkAnswer
from lithos.graph.knowledge.edges import Edge, edge_type
from lithos.graph.knowledge.follow_commits import NO_REPOSITORY, CommitFollower
from lithos.graph.knowledge.follow_sources import CODE, code_keys
from lithos.graph.knowledge.nodes import UUID_LENGTH, Node, Nodes, NodeShown
from lithos.graph.knowledge.store import KnowledgeStore
from lithos.graph.model import EDGE_RULES, KnowledgeEdge
from lithos.storage import Rebuilding

WAIT_SECONDS = 2.0  # how long a question waits for what was not derived yet
ALONE_SECONDS = 600.0
PAUSE_SECONDS = 1.0
LOOK_SECONDS = 5.0
TOGETHER = 50  # nodes of a list that are read at once
_log = logging.getLogger(__name__)
Direction = Literal["out", "in", "both"]


class EdgeShown(TypedDict):
    edge: str
    direction: str  # out: from the node asked for; in: to it
    node: NotRequired[NodeShown]  # left out where the other end is gone
    other_id: str
    weight: float
    how: str
    agent: NotRequired[str]
    reason: NotRequired[str]
    dangling: NotRequired[bool]


class EdgePage(NextPage):
    node: NodeShown
    edges: list[EdgeShown]
    degraded: bool
    degraded_reason: NotRequired[str]


class Follower(Protocol):
    """Derives the edges of one owner."""

    @property
    def name(self) -> str: ...

    def follow(self, until: float) -> bool:
        """Derive what is new, and stop at this time of `time.monotonic`; True: all is derived."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A node at the other end of an edge."""

    node: Node
    edge: Edge


class Knowledge(Part):
    def __init__(
        self,
        store: KnowledgeStore,
        asserted: AssertedEdges,
        nodes: Nodes,
        code: Code,
        followers: Sequence[Follower],
        commits: CommitFollower,
        *,
        changed: Iterable[Listeners] = (),
    ) -> None:
        """`changed`: what wakes up when an owner has changed."""
        self.store = store
        self.asserted = asserted
        self.nodes = nodes
        self.commits = commits
        self.code = code
        self._followers = (*followers, commits)
        self._lock = threading.Lock()
        self._behind: dict[str, str] = {}
        self._stopping = threading.Event()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        for owner in changed:
            owner.add(self.wake)

    # Part

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="knowledge", daemon=True)
        self._thread.start()

    def busy(self) -> bool:
        return self._thread is not None and bool(self._behind)

    def sizes(self) -> dict[str, int]:
        files = self.store.path.parent.glob("knowledge.db*")
        return {"knowledge": sum(each.stat().st_size for each in files) + self.commits.entries.collection.size()}

    def problem(self) -> str | None:
        return self.commits.entries.collection.problem()

    def close(self) -> None:
        self._stopping.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
        self.commits.entries.projector.close()
        self.commits.entries.collection.close()
        self.store.close()

    def wake(self) -> None:
        """An owner changed."""
        if not self._wake.is_set():
            self._wake.set()

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._wake.clear()
            try:
                self.catch_up(30.0)
            except LithosError as error:
                _log.warning("edges could not be derived: %s", error.message)
            if not self._behind:
                self._wake.wait(LOOK_SECONDS)  # no event says that files or commits changed; a look costs a few stats
            self._stopping.wait(PAUSE_SECONDS)

    def catch_up(self, seconds: float = WAIT_SECONDS, *, alone: float = ALONE_SECONDS) -> str:
        """Derive what the owners have that the store lacks; why edges may be missing, or nothing. `alone`: how long it
        may take in a process without the background job."""
        seconds = seconds if self._thread is not None else alone
        deadline = time.monotonic() + seconds
        if not self._lock.acquire(timeout=seconds):
            return "edges of the graph are being derived"
        before = self.store.restarts
        try:
            with suppress(Rebuilding):
                self._follow_all(deadline)
            if self.store.restarts != before:  # damage made it start empty: also what was followed before is gone
                self._follow_all(deadline)
        except (StorageFull, ReadOnly) as error:  # what is known is served
            return "; ".join([*self._behind.values(), f"new edges are not derived: {error.message}"])
        finally:
            self._lock.release()
        return "; ".join(self._behind.values())

    def _follow_all(self, deadline: float) -> None:
        for each in self._followers:
            if each.follow(deadline):
                self._behind.pop(each.name, None)
            else:
                self._behind[each.name] = f"edges of {each.name} are being derived"
                self._wake.set()

    # Asserting

    def link(
        self, call: Call, source_id: str, target_id: str, kind: str | int, weight: float, reason: str
    ) -> LinkAnswer:
        edge = edge_type(kind)
        source, target = self.nodes.find(call, source_id), self.nodes.find(call, target_id)
        _check_direction(edge, source, target)
        if not 0 < weight <= 1:
            raise InvalidInput(f"weight is {weight}", hint="A number above 0, at most 1.")
        return self.asserted.link(call, source.id, target.id, edge, weight, reason)

    def unlink(self, call: Call, source_id: str, target_id: str, kind: str | int) -> LinkAnswer:
        """Ends are taken as they are written, since they may be gone; else as symbols and paths."""
        source, target, edge = source_id.strip(), target_id.strip(), edge_type(kind)
        try:
            return self.asserted.unlink(call, source, target, edge)
        except NotFound:
            ends = (self._end(call, source), self._end(call, target))
            if ends == (source, target):
                raise
        return self.asserted.unlink(call, *ends, edge)

    def _end(self, call: Call, given: str) -> str:
        try:
            return self.nodes.find(call, given).id
        except LithosError:
            return given

    # Asking

    def neighbours(
        self,
        call: Call,
        id: str,
        *,
        out: Sequence[KnowledgeEdge] = (),
        into: Sequence[KnowledgeEdge] = (),
        domain: str | None = None,
    ) -> list[Neighbour]:
        """Nodes that the caller may see at the other end of these edges, the heaviest first."""
        edges = self.out_of(id, out) if out else []
        edges += self.into(id, into) if into else []
        nodes = self.nodes.many(call, [*dict.fromkeys(edge.other(id) for edge in edges)])
        found: dict[tuple[str, KnowledgeEdge], Neighbour] = {}
        for edge in sorted(edges, key=lambda each: -each.weight):
            node = nodes.get(edge.other(id))
            if node is not None and domain in (None, node.shown["domain"]):
                found.setdefault((node.id, edge.type), Neighbour(node, edge))
        return list(found.values())

    def find(self, call: Call, question: HistoryQuestion, least: float = 0.0) -> Answered:
        """Commits, after those that are new were read."""
        if not question.asks(GIT):
            return Answered([])
        behind = self.catch_up()
        found = self.commits.entries.find(call, question, least)
        reasons = [behind, *self.unread_commits(call), found.degraded]
        return replace(found, degraded="; ".join(filter(None, reasons)))

    def unread_commits(self, call: Call) -> list[str]:
        """Why commits of a root cannot be read: an answer without them is not whole."""
        problems = {name: why for name, why in self.commits.problems().items() if why != NO_REPOSITORY}
        seen = [root.spec.name for root in self.code.visible(call)]
        return [f"commits of {name} are not read: {problems[name]}" for name in seen if name in problems]

    def out_of(self, id: str, kinds: Sequence[KnowledgeEdge] = ()) -> list[Edge]:
        """Asserted and derived edges that begin here."""
        return self.out_of_each([id], kinds)[id]

    def out_of_each(self, ids: Sequence[str], kinds: Sequence[KnowledgeEdge] = ()) -> dict[str, list[Edge]]:
        """The same of several nodes, in few reads."""
        found: dict[str, list[Edge]] = {id: [] for id in ids}
        for edge in (*self.asserted.out_of(ids, kinds), *self.store.out_of(ids, kinds)) if ids else ():
            found[edge.source].append(edge)
        for id in ids:
            found[id] += self._resolved_out(id, kinds)
        return found

    def _resolved_out(self, id: str, kinds: Sequence[KnowledgeEdge]) -> list[Edge]:
        """Edges to code: of commits, and of names that are resolved now."""
        found: list[Edge] = []
        if id.startswith("commit:"):
            _, root, sha = id.split(":", 2)
            open_root = next((each for each in self.code.roots() if each.spec.name == root), None)
            touched = self.commits.commits.edges_out(open_root, sha) if open_root is not None else []
            found += [each for each in touched if not kinds or each.type in kinds]
        if len(id) == UUID_LENGTH and (not kinds or KnowledgeEdge.DOCUMENTS in kinds):
            found += self._documented_by(id)
        return found

    def _documented_by(self, source: str) -> list[Edge]:
        """Code that a source names; names are resolved now, since code comes and goes."""
        found: dict[str, Edge] = {}
        for row in self.store.mentioned(source, KnowledgeEdge.DOCUMENTS):
            name = row["key"].removeprefix(CODE)
            try:
                target = find(self.code.roots(), name, offers=False).id if len(name) > 3 else ""
            except LithosError:
                continue
            if target:
                found.setdefault(target, Edge(source, target, KnowledgeEdge.DOCUMENTS, row["weight"], row["how"]))
        return list(found.values())

    def _documenting(self, root: str, inside: str) -> list[Edge]:
        path, _, local = inside.partition("#")
        name = local.rpartition(".")[2]
        keys = [*code_keys(path, local, name), *(f"{CODE}{root}:{inside}",)]
        rows = self.store.mentioning(keys, KnowledgeEdge.DOCUMENTS)
        target = f"{root}:{inside}"
        found: dict[str, Edge] = {}
        for row in rows:
            edge = Edge(row["node"], target, KnowledgeEdge.DOCUMENTS, row["weight"], row["how"])
            if row["node"] not in found and self._means(row["key"].removeprefix(CODE), target):
                found[row["node"]] = edge
        return list(found.values())

    def _means(self, name: str, target: str) -> bool:
        try:
            return find(self.code.roots(), name, offers=False).id == target
        except LithosError:
            return False

    def into(self, id: str, kinds: Sequence[KnowledgeEdge] = ()) -> list[Edge]:
        """Asserted and derived edges that end here."""
        return self.into_each([id], kinds)[id]

    def into_each(self, ids: Sequence[str], kinds: Sequence[KnowledgeEdge] = ()) -> dict[str, list[Edge]]:
        """The same of several nodes, in few reads."""
        found: dict[str, list[Edge]] = {id: [] for id in ids}
        for edge in (*self.asserted.into(ids, kinds), *self.store.into(ids, kinds)) if ids else ():
            found[edge.target].append(edge)
        for id in ids:
            found[id] += self._resolved_into(id, kinds)
        return found

    def _resolved_into(self, id: str, kinds: Sequence[KnowledgeEdge]) -> list[Edge]:
        """Edges to code: of commits, and of sources that name it."""
        found: list[Edge] = []
        root, _, inside = id.partition(":")
        if inside and any(each.spec.name == root for each in self.code.roots()):
            touched = self.commits.commits.edges_into(root, inside)
            found += [each for each in touched if not kinds or each.type in kinds]
            if not kinds or KnowledgeEdge.DOCUMENTS in kinds:
                found += self._documenting(root, inside)
        return found

    def entry_row(self, call: Call, id: str) -> HistoryRow | None:
        """A thought, commit, outcome or finding in full, if the caller may see it."""
        if id.startswith("commit:"):
            return self.commits.entries.row(id) if self.nodes.get(call, id) is not None else None
        return self.nodes.entry(call, id)

    def edges(self, call: Call, id: str, kind: str | int | None, direction: Direction, limit: int) -> EdgePage:
        """All edges of a node with their ends; an end that vanished is `dangling`."""
        behind = self.catch_up()
        node = self.nodes.find(call, id)
        kinds = () if kind is None else (edge_type(kind),)
        shown: list[EdgeShown] = []
        for way, ask in (("out", self.out_of), ("in", self.into)):
            if direction in (way, "both"):
                shown += self._shown(call, node.id, way, ask(node.id, kinds), limit - len(shown))
        page: EdgePage = {"node": node.shown, "edges": shown, "degraded": bool(behind)}
        return {**page, "degraded_reason": behind} if behind else page

    def _shown(self, call: Call, id: str, way: str, edges: Sequence[Edge], most: int) -> list[EdgeShown]:
        rows: dict[tuple[str, KnowledgeEdge], EdgeShown] = {}
        known = self.nodes.walk(call, [edge.other(id) for edge in edges], TOGETHER)
        for edge, (other, node) in zip(edges, known, strict=False):
            if len(rows) >= most:
                break
            if (other, edge.type) in rows or (node is None and not self.nodes.is_gone(call, other)):
                continue  # hidden from this caller
            row: EdgeShown = {
                "edge": edge.type.name.lower(),
                "direction": way,
                "other_id": other,
                "weight": edge.weight,
                "how": edge.how,
            }
            if node is not None:
                row["node"] = node.shown
            else:
                row["dangling"] = True
            if edge.agent:
                row["agent"], row["reason"] = edge.agent, edge.reason
            rows[other, edge.type] = row
        return list(rows.values())


_DOMAINS = {"code": "code", "academic": "academic"}


def _check_direction(edge: KnowledgeEdge, source: Node, target: Node) -> None:
    """Direction belongs to the type: a node of the wrong domain is refused."""
    rule = EDGE_RULES[edge]
    if edge is KnowledgeEdge.SUPERSEDES:
        wanted = (source.shown["domain"], source.shown["domain"])
    else:
        wanted = (_domain_of(rule.source), _domain_of(rule.target))  # type: ignore[assignment]
    given = (source.shown["domain"], target.shown["domain"])
    if given != wanted:
        swapped = (given[1], given[0]) == wanted
        raise InvalidInput(
            f"{edge.name.lower()} points from {rule.source} to {rule.target}, not from {given[0]} to {given[1]}",
            hint="Swap source_id and target_id." if swapped else "Choose another edge_type.",
        )


def _domain_of(word: str) -> str:
    return _DOMAINS.get(word, "history")
