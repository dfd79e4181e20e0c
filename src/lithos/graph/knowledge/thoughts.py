"""Edges that the thoughts of the chain `history` contribute."""

from __future__ import annotations

from collections.abc import Iterator

from lithos.graph.history.grouping import COMMON, common, name_of, words
from lithos.graph.history.values import CATEGORY_OF_THOUGHT, EDGE_OF_MARK
from lithos.graph.knowledge.edges import Edge
from lithos.graph.knowledge.mentions import named
from lithos.graph.knowledge.store import ENTRY, Derived, Mention
from lithos.graph.model import EDGE_RULES, KnowledgeEdge
from lithos.ledger import Thought

SUPERSEDING = frozenset({"Supersedes", "Corrects", "Invalidates"})
COMPARED = 200  # patterns and failures that a new one is compared with


def origin(thought_id: str) -> str:
    return f"t:{thought_id}"


class ThoughtEdges:
    """Reads thoughts in their order. What it remembers of earlier ones is rebuilt by reading them again."""

    def __init__(self) -> None:
        self._last: dict[str, str] = {}  # session → its newest entry
        self._said: dict[str, list[tuple[str, str, frozenset[str]]]] = {"pattern": [], "failure": []}
        self._ids: dict[int, str] = {}

    def note(self, thought: Thought) -> None:
        """Remember a thought whose edges are known."""
        self._ids[thought["index"]] = thought["id"]
        if "forgotten" in thought:
            return
        if thought["session_id"]:
            self._last[thought["session_id"]] = thought["id"]
        kind = CATEGORY_OF_THOUGHT[thought["thought_type"]]
        if kind in self._said:
            said = self._said[kind]
            said.append((thought["id"], name_of(thought["tags"]), words(thought["content"])))
            del said[:-COMPARED]

    def derive(self, thought: Thought) -> Derived:
        """Its edges; then it is remembered."""
        if "forgotten" in thought:
            self.note(thought)
            return Derived(origin(thought["id"]))
        edges = [
            *_of_code(thought),
            *self._of_session(thought),
            *self._of_relations(thought),
            *self._like(thought),
        ]
        found = Derived(
            origin(thought["id"]), edges, [*_of_sources(thought)], [(f"{ENTRY}{thought['id']}", thought["id"])]
        )
        self.note(thought)
        return found

    def _of_session(self, thought: Thought) -> Iterator[Edge]:
        session = thought["session_id"]
        if not session:
            return
        yield Edge(thought["id"], f"session:{session}", KnowledgeEdge.PRODUCED_BY, 1.0, "session of the thought")
        if before := self._last.get(session):
            yield Edge(before, thought["id"], KnowledgeEdge.FOLLOWED_BY, 1.0, "order within the session")

    def _of_relations(self, thought: Thought) -> Iterator[Edge]:
        for relation in thought["relations"]:
            target = self._ids.get(relation["target"])
            if relation["kind"] in SUPERSEDING and target:
                how = f"relation {relation['kind']}"
                yield Edge(thought["id"], target, KnowledgeEdge.SUPERSEDES, 1.0, how)

    def _like(self, thought: Thought) -> Iterator[Edge]:
        kind = CATEGORY_OF_THOUGHT[thought["thought_type"]]
        if kind not in self._said:
            return
        name, own = name_of(thought["tags"]), words(thought["content"])
        for id, other, said in self._said[kind]:
            share = common(own, said)
            if (name and name == other) or share >= COMMON:
                weight = max(0.8, round(share, 2))
                yield Edge(thought["id"], id, KnowledgeEdge.SIMILAR_TO, weight, f"the same {kind} in other words")


def _of_code(thought: Thought) -> Iterator[Edge]:
    for concept in thought["concepts"]:
        mark, _, target = concept.partition(":")
        kind = EDGE_OF_MARK.get(mark)
        if kind is not None and target:
            how = "code reference" if kind is KnowledgeEdge.REFERENCED else f"the entry says {mark}"
            yield Edge(thought["id"], target, kind, EDGE_RULES[kind].weight, how)


def _of_sources(thought: Thought) -> Iterator[Mention]:
    usual = KnowledgeEdge.REFERENCES
    if CATEGORY_OF_THOUGHT[thought["thought_type"]] == "decision":
        usual = KnowledgeEdge.BASED_ON
    for each in named(thought["content"]):
        kind = KnowledgeEdge.VALIDATED_BY if each.validated else usual
        yield Mention(thought["id"], kind, each.key, EDGE_RULES[kind].weight, f"its text names {each.key}")
