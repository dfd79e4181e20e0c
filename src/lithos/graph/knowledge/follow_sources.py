"""Follows notes of outside sources: what they are called by, and which sources, code and entries they name."""

from __future__ import annotations

import re
from collections.abc import Iterator

import orjson

from lithos.errors import LithosError
from lithos.graph.knowledge.edges import Edge
from lithos.graph.knowledge.mentions import LONGEST_SOURCE, cited, keys_of, named
from lithos.graph.knowledge.store import ENTRY, Derived, KnowledgeStore, Mention
from lithos.graph.model import EDGE_RULES, KnowledgeEdge
from lithos.notes import Notes
from lithos.storage import Row

OWNER = "sources"
CODE = "code:"  # keys of names of code in a text: resolved when they are asked for
MOST_NAMES = 200
_BACKTICKS = re.compile(r"`([A-Za-z_][\w./:#-]{2,150}?)(?:\(\))?`")
# Outside of backticks only what is no word of a language: a path with a folder, a call with a dot.
_PATH = re.compile(r"(?<![\w/.:@-])(?:[\w.-]{1,80}/){1,20}[\w-][\w.-]{0,80}\.[A-Za-z]{1,6}(?![\w/])")
_CALL = re.compile(r"(?<![\w./:])([A-Za-z_]\w{0,80}(?:\.[A-Za-z_]\w{0,80}){1,10})\(")
_SHA = re.compile(r"\b[0-9a-f]{40}\b")


class SourceFollower:
    name = "sources"

    def __init__(self, store: KnowledgeStore, notes: Notes) -> None:
        self._store = store
        self._notes = notes
        self._stale = True
        self._restarts = store.restarts
        notes.index.changed.add(self.wake)

    def wake(self) -> None:
        self._stale = True

    def follow(self, until: float) -> bool:
        if self._restarts != self._store.restarts:
            self._stale, self._restarts = True, self._store.restarts
        if not self._stale:
            return True
        self._stale = False  # before the look: what changes meanwhile is looked at again
        rows = {row["id"]: row for row in self._notes.reader.sources()}
        before = self._store.projected(OWNER)
        now = {id: f"{row['version']} {row['path']} {row['superseded_by']}" for id, row in rows.items()}
        changed = [id for id, version in now.items() if before.get(id) != version]
        gone = [id for id in before if id not in now]
        if changed or gone:
            derived = [*(self._derived(rows[id]) for id in changed), *(Derived(_origin(id)) for id in gone)]
            self._store.project(OWNER, derived, {id: now[id] for id in changed}, gone)
        return True

    def _derived(self, row: Row) -> Derived:
        try:
            text = self._notes.reader.content(row["id"])
        except LithosError:  # it went while we looked; the next look drops it
            text = ""
        modules = orjson.loads(row["modules"]) if row["modules"] else []
        keys = keys_of(row["id"], row["title"], row["url"] or "", row["path"], tuple(f"lib:{each}" for each in modules))
        keys = keys[:1] if row["superseded_by"] else keys  # its successor bears the others; the id names it alone
        edges = []
        if row["supersedes"]:
            how = "the note supersedes it"
            edges.append(Edge(row["id"], str(row["supersedes"]), KnowledgeEdge.SUPERSEDES, 1.0, how))
        mentions = [*_of_sources(row["id"], text), *_of_code(row["id"], text), *_of_history(row["id"], text)]
        return Derived(_origin(row["id"]), edges, mentions, [(key, row["id"]) for key in keys])


def _origin(id: str) -> str:
    return f"n:{id}"


def _of_sources(id: str, text: str) -> Iterator[Mention]:
    for found in named(text, LONGEST_SOURCE):
        if found.key.startswith(("id:", "title:")):
            kind, how = KnowledgeEdge.RELATED_TO, "a link in its text"
        else:
            kind, how = KnowledgeEdge.CITES, f"its text names {found.key}"
        yield Mention(id, kind, found.key, EDGE_RULES[kind].weight, how)
        if found.key.startswith("id:"):  # of a source, or of an entry: the keys of the two differ
            kind, key = KnowledgeEdge.INSPIRED_BY, f"{ENTRY}{found.key[3:]}"
            yield Mention(id, kind, key, EDGE_RULES[kind].weight, "its text names the entry")
    for key in cited(text):
        kind = KnowledgeEdge.CITES
        yield Mention(id, kind, key, EDGE_RULES[kind].weight, "its references name the title")


def _of_history(id: str, text: str) -> Iterator[Mention]:
    kind = KnowledgeEdge.INSPIRED_BY
    for sha in dict.fromkeys(_SHA.findall(text)):
        yield Mention(id, kind, f"sha:{sha}", EDGE_RULES[kind].weight, "its text names the commit")


def _of_code(id: str, text: str) -> Iterator[Mention]:
    kind = KnowledgeEdge.DOCUMENTS
    text = text[:LONGEST_SOURCE]
    given = (*_BACKTICKS.findall(text), *_PATH.findall(text), *_CALL.findall(text))
    for name in [*dict.fromkeys(given)][:MOST_NAMES]:
        yield Mention(id, kind, f"{CODE}{name}", EDGE_RULES[kind].weight, f"its text names {name}")


def code_keys(path: str, local: str, name: str) -> list[str]:
    """The keys by which a text may name a symbol or file, from the fullest."""
    if not local:
        return [f"{CODE}{path}", f"{CODE}{path.rpartition('/')[2]}"]
    module = path.rpartition(".")[0].replace("/", ".")
    shorter = module.split(".")
    dotted = [f"{CODE}{'.'.join(shorter[start:])}.{local}" for start in range(len(shorter))]
    return [f"{CODE}{path}#{local}", *dotted, f"{CODE}{local}", *([f"{CODE}{name}"] if len(name) > 3 else [])]
